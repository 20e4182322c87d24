"""The options of the command line that describe views and workloads."""

import argparse
import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import margin

from ...errors import DomainError, FileError
from ..common import did_you_mean

__all__ = ["FORMS", "USUAL", "add_workload", "names_in", "views_of", "workload_of"]

FORMS = (
    "2way, 3way and so on for all views of two or three attributes, without levels (or all:2, "
    "all:3); A,B,C or 'A B C' for one view, where A@LEVEL is a level of an attribute; or a JSON "
    "file with a list of lists of these; they may be mixed"
)
"""How the values of an option name views, for help texts."""


USUAL = "3way; 2way if there are more than 107 attributes"
"""The views for which `margin release` chooses if it is told none, for help texts."""


_NAMED = 12
"""Largest number of attributes that a message names."""


def add_workload(
    parser: argparse.ArgumentParser,
    *,
    default: str | None,
    words: str,
) -> None:
    """Add the option --workload, for the views that should be accurate, and --asked.

    `words` says in the help what is done without --workload.
    """
    parser.add_argument(
        "--workload",
        nargs="+",
        default=None if default is None else [default],
        metavar="W",
        help=f"the views to be accurate on: {FORMS}; default: {words}",
    )
    parser.add_argument(
        "--asked",
        nargs="+",
        default=[],
        metavar="A=KIND",
        help="what is asked of some attributes of these views: cells, prefixes, ranges or levels, "
        "as in age=ranges place=levels; default: cells",
    )


def workload_of(
    domain: "margin.Domain",
    given: Sequence[str] | None,
    asked: Sequence[str],
) -> "margin.Workload | None":
    """Make the workload from the values of --workload and --asked; None if there are none.

    Raises
    ------
    FileError
        If a JSON file cannot be read or does not hold a list of lists.
    DomainError
        If a view is not one of the domain, if something else is asked of an attribute, or if
        something is asked but no view is given.
    """
    if given is None:
        if asked:
            raise DomainError(
                "--asked is about the attributes of --workload, but there is no --workload; name "
                "the views, as in --workload 2way"
            )
        return None
    asks = dict(_asked(text) for text in asked)
    if len(given) == 1 and (size := _size(given[0])) is not None:
        every = margin.Workload.all_kway(domain, size)
        return margin.Workload.of(domain, every, asked=asks) if asks else every
    return margin.Workload.of(domain, views_of(domain, given), asked=asks)


def views_of(domain: "margin.Domain", given: Sequence[str]) -> list[tuple[str, ...]]:
    """The views that the values of an option name, each once.

    A value is such as 2way or all:2 (all views of two attributes), "age,sex" (one view), or the
    path of a JSON file. Values of several kinds may be mixed.

    Raises
    ------
    FileError
        If a JSON file cannot be read or does not hold a list of lists.
    DomainError
        If a view is not one of the domain.
    """
    views: dict[frozenset[str], tuple[str, ...]] = {}
    for text in given:
        if (size := _size(text)) is not None:
            workload = margin.Workload.all_kway(domain, size)
        else:
            listed = _listed(text) if text.endswith(".json") else [_names_of(domain, text)]
            workload = margin.Workload.of(domain, listed)
        workload.check_listed()
        for view in workload.names:
            views.setdefault(frozenset(view), view)
    return list(views.values())


def _names_of(domain: "margin.Domain", text: str) -> list[str]:
    """The attributes and levels that a value of an option names.

    Raises
    ------
    DomainError
        If it is one word that is no attribute, such as "2wya", or if "2way" stands among
        attributes. The message says what is accepted.
    """
    names = names_in(domain, text)
    known = {*domain, *domain.level_names, *domain.left_out}
    if len(names) > 1:
        _check_no_size_among(names, known)
    if len(names) != 1 or names[0] in known:
        return names
    start = re.match("[0-9]+", text)
    meant = f" (did you mean '{start[0]}way'?)" if start else did_you_mean(text, known)
    attributes = [repr(name) for name in list(domain)[:_NAMED]]
    more = f", ... ({len(domain)} in all)" if len(domain) > _NAMED else ""
    raise DomainError(
        f"unknown attribute {text!r}{meant}; views are named by 2way or 3way (all views of two or "
        "three attributes), by attributes with commas, as in A,B, or by a JSON file, where the "
        f"attributes are {', '.join(attributes)}{more}; correct it"
    )


def _check_no_size_among(names: Collection[str], known: Collection[str]) -> None:
    """Refuse `"2way A,B"`: a shell passes several values in quotes as one."""
    for name in names:
        if name not in known and _size(name) is not None:
            raise DomainError(
                f"expected attributes, but found {name!r} among {len(names)} words of one value; "
                f"give several values without quotes around all of them, as in {name} A,B"
            )


def names_in(domain: "margin.Domain", text: str) -> list[str]:
    """The attributes and levels that a text names, with commas or blanks between them.

    A name of the domain may hold commas and blanks itself: the longest name that fits is taken.
    """
    known = {*domain, *domain.level_names, *domain.left_out}
    by_commas = _longest(text.split(","), ",", known)
    names: list[str] = []
    for name in by_commas:
        names += [name] if name in known else _longest(name.split() or [name], " ", known)
    return names


def _longest(parts: Sequence[str], mark: str, known: Collection[str]) -> list[str]:
    """Join parts by a mark where this gives a known name, the longest one first."""
    names: list[str] = []
    start = 0
    while start < len(parts):
        for end in range(len(parts), start, -1):
            name = mark.join(parts[start:end])
            name = name if name in known else name.strip()
            if name in known or end == start + 1:
                names.append(name)
                start = end
                break
    return names


def _size(text: str) -> int | None:
    """The number k if a text stands for all views of k attributes."""
    found = re.fullmatch(r"([0-9]{1,3})-?way|all:([0-9]{1,3})", text)
    return int(found[1] or found[2]) if found else None


def _asked(text: str) -> tuple[str, str]:
    """The attribute and the kind of a value of --asked."""
    name, mark, kind = text.rpartition("=")
    if not mark:
        raise DomainError(
            f"--asked must be attributes, each with = and what is asked of it, but it is {text!r}; "
            "write it as in age=ranges"
        )
    return name, kind


def _listed(path: str) -> list[list[str]]:
    """The views that a JSON file lists."""
    try:
        views = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path!r} does not exist; check the path") from None
    except (OSError, ValueError):
        raise FileError(
            f"{path!r} must be a JSON file in UTF-8, but it cannot be read as one; correct the file"
        ) from None
    if not isinstance(views, list) or not all(isinstance(view, list) for view in views):
        raise FileError(
            f"{path!r} must hold a list of views, each a list of attribute names, but it holds "
            'something else; write it as in [["age", "sex"], ["region"]]'
        )
    return views
