"""The options of the command line that describe views and workloads."""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

import margin

from ..errors import DomainError, FileError

__all__ = ["add_workload", "views_of", "workload_of"]


def add_workload(parser: argparse.ArgumentParser, *, default: str | None = "2way") -> None:
    """Add the option --workload, for the views that should be accurate."""
    shown = "" if default is None else f"; default: {default}"
    parser.add_argument(
        "--workload",
        nargs="+",
        default=None if default is None else [default],
        metavar="W",
        help="the views to be accurate on: 2way, 3way and so on for all views of two or three "
        "attributes; or A,B,C for each view; or a JSON file with a list of lists of attributes"
        f"{shown}",
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
    given: Sequence[str],
    asked: Sequence[str],
) -> "margin.Workload":
    """Make the workload from the values of --workload and --asked.

    Raises
    ------
    FileError
        If a JSON file cannot be read or does not hold a list of lists.
    DomainError
        If a view is not one of the domain, or something else is asked of an attribute.
    """
    asks = dict(_asked(text) for text in asked)
    if len(given) == 1 and (kway := re.fullmatch(r"([0-9]{1,3})-?way", given[0])):
        every = margin.Workload.all_kway(domain, int(kway[1]))
        return margin.Workload.of(domain, every, asked=asks) if asks else every
    return margin.Workload.of(domain, views_of(given), asked=asks)


def _asked(text: str) -> tuple[str, str]:
    """The attribute and the kind of a value of --asked."""
    name, mark, kind = text.rpartition("=")
    if not mark:
        raise DomainError(
            f"--asked must be attributes, each with = and what is asked of it, but it is {text!r}; "
            "write it as in age=ranges"
        )
    return name, kind


def views_of(given: Sequence[str]) -> list[list[str]]:
    """Make views from texts such as "age,sex", or from the path of a JSON file.

    Raises
    ------
    FileError
        If the file cannot be read or does not hold a list of lists.
    """
    if len(given) != 1 or not given[0].endswith(".json"):
        return [view.split(",") for view in given]
    try:
        views = json.loads(Path(given[0]).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FileError(
            f"{given[0]!r} must be a JSON file in UTF-8, but it cannot be read as one; check the "
            "path and the file"
        ) from None
    if not isinstance(views, list) or not all(isinstance(view, list) for view in views):
        raise FileError(
            f"{given[0]!r} must hold a list of views, each a list of attribute names, but it holds "
            'something else; write it as in [["age", "sex"], ["region"]]'
        )
    return views
