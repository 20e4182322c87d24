"""`margin count` of two files: the change of a number from one release to another."""

import argparse
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileError
from ..arguments.categories import is_done
from ..arguments.conditions import where_of
from ..common import Said, left_out, opened, printable, titled
from .asking import not_in_order, ratio_of, shown, signed_lines

if TYPE_CHECKING:
    import margin

    from ...synopses.count import Count

__all__ = ["change_of"]

_INDEPENDENT = (
    "Measured in both releases, whose noise is independent: with about 95 % probability, the true "
    "change lies between the bounds. They are for the rows of both tables: for a sample, its error "
    "comes on top."
)
"""What the bounds of a change mean."""

_NO_NOISE = "Both numbers are declared, so the change has no noise."

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
    from ...synopses.count import Difference
    from ...synopses.source import Source

    paths = [parsed.file, Path(parsed.conditions[0])]
    parsed.conditions = parsed.conditions[1:]
    releases = [_opened(parsed, path) for path in paths]
    _check_independent(releases)
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
    change = Difference.between_releases(*numbers)
    low, high = change.interval(0.95)
    has_bounds = not math.isnan(low)

    lines = signed_lines("change", change, is_share=is_share)
    for title, path, number in zip(("from", "to"), paths, numbers, strict=True):
        lines[title] = f"{shown(number.estimate, is_share=is_share)} ({path})"
    meaning = _INDEPENDENT if change.variance else _NO_NOISE
    about = [meaning if has_bounds else _NO_BOUNDS]
    limits = list(dict.fromkeys(filter(None, map(left_out, releases))))
    about += limits
    domains = [synopsis.domain for synopsis in releases]
    other = _declared_differently(domains, wheres[0])
    if other:
        about.append(_OTHER_FORM.format(names=", ".join(map(repr, other))))
    outside = not_in_order(domains[1], parsed.conditions, bases, parsed.of or [])
    filled = [textwrap.fill(printable(part), 88) for part in about]
    values = {
        "where": wheres[1],
        "change": change.estimate,
        "low": low if has_bounds else None,
        "high": high if has_bounds else None,
        "noise_sd": math.sqrt(change.variance) if has_bounds else None,
        # Other numbers were refused.
        "missed_sd": 0.0,
        "reconstructed": False,
        "source": Source.MEASURED.value if change.variance else Source.KNOWN.value,
        "from": {"file": str(paths[0]), name: numbers[0].estimate},
        "to": {"file": str(paths[1]), name: numbers[1].estimate},
        "declared_differently": other,
        "left_out": " ".join(limits) or None,
        **outside.values,
    }
    return Said("\n".join([titled(lines), *filled, *outside.lines]), values)


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
