"""`margin count` of two files: the change of a number, or of that of each category, between two
releases."""

import argparse
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DomainError, FileError
from ..arguments.categories import is_done
from ..arguments.conditions import where_of
from ..common import Said, left_out, opened, printable, titled
from .asking import not_in_order, ratio_of, shown, signed_lines
from .each import categories_inside, check_conditions, columns

if TYPE_CHECKING:
    import margin

    from ...synopses.counts.count import Count, Difference

__all__ = ["change_of"]

_INDEPENDENT = (
    "Measured in both releases, whose noise is independent: with about 95 % probability, the true "
    "change lies between the bounds. They are for the rows of both tables: for a sample, its error "
    "comes on top."
)
"""What the bounds of a change mean."""

_NO_NOISE = "Both numbers are declared, or follow from the question, so the change has no noise."

_NO_BOUNDS = (
    "The change has no bounds: the error of a number is not known, or a share is of too few rows."
)

_OTHER_FORM = (
    "The two releases declare {names} differently: make sure that the chosen categories mean the "
    "same in both."
)
"""What to know if a change may be one of the declaration."""


def change_of(parsed: argparse.Namespace) -> Said:
    """The change of a number, or of a share, from the first release to the second."""
    paths = [parsed.file, Path(parsed.conditions[0])]
    parsed.conditions = parsed.conditions[1:]
    releases = [_opened(parsed, path) for path in paths]
    _check_independent(releases)
    if parsed.by is not None:
        return _changes(parsed, paths, releases)
    is_share = parsed.of is not None
    asked = [*parsed.conditions, *(parsed.of or [])]
    wheres = [where_of(synopsis.domain, asked) for synopsis in releases]
    numbers: Sequence[Count]
    name = "share" if is_share else "count"
    bases = {}
    if is_share:
        found = [ratio_of(synopsis, parsed.conditions, parsed.of) for synopsis in releases]
        numbers = [ratio for _, _, ratio in found]
        bases = {"--of": found[1][1]}
    else:
        pairs = zip(releases, wheres, strict=True)
        numbers = [synopsis.count(where) for synopsis, where in pairs]
    change, values = _change(*numbers)

    lines = signed_lines("change", change, is_share=is_share)
    for title, path, number in zip(("from", "to"), paths, numbers, strict=True):
        lines[title] = f"{shown(number.estimate, is_share=is_share)} ({path})"
    domains = [synopsis.domain for synopsis in releases]
    notes = _notes(releases, [change], wheres[0])
    outside = not_in_order(domains[1], parsed.conditions, bases, parsed.of or [])
    document = {
        "where": wheres[1],
        **values,
        "from": {"file": str(paths[0]), name: numbers[0].estimate},
        "to": {"file": str(paths[1]), name: numbers[1].estimate},
        **notes.values,
        **outside.values,
    }
    return Said("\n".join([titled(lines), *notes.lines, *outside.lines]), document)


def _changes(
    parsed: argparse.Namespace,
    paths: Sequence[Path],
    releases: "Sequence[margin.Synopsis]",
) -> Said:
    """The change of the number, or of the share, of each category that both releases have."""
    check_conditions(parsed.conditions, parsed.of)
    is_share = parsed.of is not None
    asked = [*parsed.conditions, *(parsed.of or [])]
    domains = [synopsis.domain for synopsis in releases]
    wheres = [where_of(domain, asked) for domain in domains]
    bases = [where_of(domain, parsed.of or []) for domain in domains]
    pairs = list(zip(domains, wheres, strict=True))
    labels = [categories_inside(domain, where, parsed.by) for domain, where in pairs]
    both = [label for label in labels[0] if label in labels[1]]
    if not both:
        raise DomainError(
            f"a change needs a category of {parsed.by!r} that both releases have, but there is "
            "none; put categories together by --categories, or take another attribute"
        )
    rows, changes, categories = [], [], []
    for label in both:
        own = {parsed.by: [label]}
        numbers: list[Count] = []
        for synopsis, where, base in zip(releases, wheres, bases, strict=True):
            inside = {**where, **own}
            number = synopsis.ratio(inside, {**base, **own}) if is_share else synopsis.count(inside)
            numbers.append(number)
        change, values = _change(*numbers)
        ends = [None if math.isnan(one.estimate) else one.estimate for one in numbers]
        changes.append(change)
        categories.append({"category": label, **values, "from": ends[0], "to": ends[1]})
        rows.append([str(label), *_texts(ends, change, is_share=is_share)])
    table = columns([parsed.by, "from", "to", "change", "95 %"], rows)
    files = [f"{title}: {path}" for title, path in zip(("from", "to"), paths, strict=True)]
    alone = [label for own in labels for label in own if label not in both]
    only = [f"Only one release has: {', '.join(map(repr, alone))}."] if alone else []
    notes = _notes(releases, changes, {**wheres[0], parsed.by: both})
    of_rows = {"--of": {**bases[1], parsed.by: both}} if is_share else {}
    outside = not_in_order(domains[1], parsed.conditions, of_rows, parsed.of or [])
    document = {
        "where": wheres[1],
        "by": parsed.by,
        "categories": categories,
        "in_one_release": alone,
        "from": {"file": str(paths[0])},
        "to": {"file": str(paths[1])},
        **notes.values,
        **outside.values,
    }
    if is_share:
        document["of"] = bases[1]
    lines = [*map(printable, files), *table, *only, *notes.lines, *outside.lines]
    return Said("\n".join(lines), document)


def _texts(
    ends: Sequence[float | None],
    change: "Difference",
    *,
    is_share: bool,
) -> list[str]:
    """Two numbers, their change and its bounds, each a dash if it is not known."""
    numbers = ["-" if end is None else shown(end, is_share=is_share) for end in ends]
    if None in ends:
        return [*numbers, "-", "-"]
    lines = signed_lines("change", change, is_share=is_share)
    return [*numbers, lines["change"], lines.get("95 %", "-")]


def _change(earlier: "Count", later: "Count") -> "tuple[Difference, dict[str, Any]]":
    """The change of a number, and its JSON values; None for what is not known."""
    from ...synopses.counts.count import Difference
    from ...synopses.source import Source

    change = Difference.between_releases(earlier, later)
    low, high = change.interval(0.95)
    has_bounds = not math.isnan(low)
    values = {
        "change": None if math.isnan(change.estimate) else change.estimate,
        "low": low if has_bounds else None,
        "high": high if has_bounds else None,
        "noise_sd": math.sqrt(change.variance) if has_bounds else None,
        # Other numbers were refused.
        "missed_sd": 0.0,
        "reconstructed": False,
        "source": Source.MEASURED.value if change.variance else Source.KNOWN.value,
    }
    return change, values


@dataclass(frozen=True, kw_only=True)
class _Notes:
    """What to know of changes: lines of text, and values for programs."""

    lines: Sequence[str]
    values: Mapping[str, Any]


def _notes(
    releases: "Sequence[margin.Synopsis]",
    changes: "Sequence[Difference]",
    where: Mapping[str, object],
) -> _Notes:
    """What the bounds of changes mean, which rows are left out, and which attributes of the
    condition the releases do not declare alike."""
    about = dict.fromkeys(map(_meaning, changes))
    limits = list(dict.fromkeys(filter(None, map(left_out, releases))))
    other = _declared_differently([synopsis.domain for synopsis in releases], where)
    lines = [*about, *limits]
    if other:
        lines.append(_OTHER_FORM.format(names=", ".join(map(repr, other))))
    return _Notes(
        lines=[textwrap.fill(printable(line), 88) for line in lines],
        values={"declared_differently": other, "left_out": " ".join(limits) or None},
    )


def _meaning(change: "Difference") -> str:
    """What the bounds of a change mean."""
    if math.isnan(change.variance):
        return _NO_BOUNDS
    return _INDEPENDENT if change.variance else _NO_NOISE


def _opened(parsed: argparse.Namespace, path: Path) -> "margin.Synopsis":
    """One of the releases, with the categories of --categories unless it declares them itself: a
    later release may have been made with them."""
    own = argparse.Namespace(**{**vars(parsed), "file": path})
    if parsed.categories is not None:
        as_released = opened(argparse.Namespace(**{**vars(own), "categories": None}))
        if is_done(as_released, parsed.categories):
            return as_released
    return opened(own)


def _check_independent(releases: "Sequence[margin.Synopsis]") -> None:
    """Raise FileError unless the noise of two releases is independent."""
    from ...store import release_digest

    earlier, later = map(release_digest, releases)
    if earlier == later:
        raise FileError(
            "a change needs two releases, but both files hold the same one; name that of another "
            "period"
        )
    for synopsis in releases:
        if synopsis.provenance is not None and synopsis.provenance.base is not None:
            raise FileError(
                "the bounds of a change need two releases with independent noise, but one of them "
                "has a base, towards which its numbers lean; release without --base if readers ask "
                "for changes"
            )


def _declared_differently(
    domains: "Sequence[margin.Domain]",
    where: Mapping[str, object],
) -> list[str]:
    """The attributes of a condition that two domains do not declare alike."""
    from ...domain.level_views import split_level

    names = dict.fromkeys(split_level(domains[0], name)[0] for name in where)
    earlier, later = domains
    return [name for name in names if later.get(name) != earlier[name]]
