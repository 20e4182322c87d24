"""The command `margin count`, which prints the number of rows that satisfy some conditions, or the
change of this number from one release to another."""

import argparse
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DomainError, FileError
from .arguments.conditions import outside_order, where_of
from .common import (
    Said,
    add_command,
    add_synopsis,
    explained,
    left_out,
    opened,
    printable,
    titled,
)

if TYPE_CHECKING:
    import margin

    from ..domain.attribute import Value
    from ..synopses.count import Count, Ratio
    from ..synopses.source import Source

__all__ = ["add_commands"]

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


def add_commands(commands: Any) -> None:
    """Add `margin count` to the parser of the command line."""
    count = add_command(
        commands,
        "count",
        _count,
        does="print the number, or the share, of rows that satisfy some conditions, with bounds; "
        "of two releases, the change from the first to the second",
        examples=[
            "margin count people.margin",
            "margin count people.margin region=north sex=F,M",
            "margin count people.margin 'age>=18' 'age<65' --json",
            "margin count people.margin sex=F --of",
            "margin count people.margin sex=F --of region=north",
            "margin count last_year.margin people.margin sex=F",
            "margin count last_year.margin people.margin sex=F --of region=north",
            "margin count visits.margin place@state=CA 'visited>=2020-03'",
        ],
    )
    add_synopsis(count)
    conditions: Any = count.add_argument(
        "conditions",
        nargs="*",
        metavar="CONDITION",
        help="an attribute, one of = >= < <= > and a value, in quotes if it holds > or <; several "
        "values after = have commas between them; < and > compare numbers, dates, and the "
        "categories of attributes that are declared as ordered; bins are compared by >= and < at "
        "their edges, and by <= at the last edge, which belongs to the last bin. "
        "place@state is a level of an attribute. "
        "All conditions must hold; without any, all rows are counted. "
        "Before them may stand a second .margin file, of a later release: then the change from the "
        "first to the second is printed",
    )
    conditions.completer = _started
    of: Any = count.add_argument(
        "--of",
        nargs="*",
        metavar="CONDITION",
        help="print the share of the rows of these conditions (of all rows, if none follow) that "
        "satisfy those before --of, too; its bounds allow for the errors that both numbers have in "
        "common",
    )
    of.completer = _started


def _started(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """The beginnings of conditions that a shell offers after the name of the file."""
    parsed_args.allow_simulation = True
    domain = opened(parsed_args).domain
    return [f"{name}=" for name in (*domain.attributes, *domain.level_names)]


def _count(parsed: argparse.Namespace) -> Said:
    # A condition has an operator, and the name of a file has none.
    first = parsed.conditions[0] if parsed.conditions else ""
    if first.endswith(".margin") and parsed.file.exists() and not set(first) & set("=<>"):
        return _change(parsed)
    synopsis = opened(parsed)
    if parsed.of is not None:
        return _share(synopsis, parsed)
    where = where_of(synopsis.domain, parsed.conditions)
    count = synopsis.count(where)
    source = count.source
    assert source is not None
    text, values = _told(synopsis, count, source, "count", lambda number: f"{number:,.1f}")
    outside = outside_order(synopsis.domain, parsed.conditions)
    values = {"where": where, **values, "not_in_order": outside}
    return Said("\n".join([text, *_not_counted(outside)]), values)


def _share(synopsis: "margin.Synopsis", parsed: argparse.Namespace) -> Said:
    """The share of the rows of --of that satisfy the conditions, too."""
    from ..domain.where import chosen_codes

    where, of, ratio = _ratio(synopsis, parsed)
    # The rows of the numerator are chosen by all attributes of both conditions.
    source = ratio.source or synopsis.source(chosen_codes(synopsis.domain, where))
    text, values = _told(synopsis, ratio, source, "share", lambda number: f"{100 * number:.2f} %")
    outside = outside_order(synopsis.domain, [*parsed.conditions, *parsed.of])
    numbers = {"count": ratio.numerator.estimate, "of_count": ratio.denominator.estimate}
    values = {"where": where, "of": of, **numbers, **values, "not_in_order": outside}
    return Said("\n".join([text, *_not_counted(outside)]), values)


def _ratio(
    synopsis: "margin.Synopsis",
    parsed: argparse.Namespace,
) -> "tuple[dict[str, list[Value]], dict[str, list[Value]], Ratio]":
    """The share that --of asks, after the conditions of its two numbers of rows."""
    from ..domain.where import chosen_codes
    from ..synopses.counting import common

    if not parsed.conditions:
        raise DomainError(
            "--of needs conditions before it, whose share is asked, but there are none; write them "
            "as in margin count FILE.margin smoker=yes --of sex=F"
        )
    of = where_of(synopsis.domain, parsed.of)
    asked = where_of(synopsis.domain, parsed.conditions)
    chosen = [chosen_codes(synopsis.domain, each) for each in (asked, of)]
    if common(*chosen) is None:
        raise DomainError(
            "--of gives the share of its rows that satisfy the conditions before it, too, but no "
            "row can satisfy both; for any other ratio or a difference use Python, as in "
            'synopsis.ratio({"sex": "male"}, {"sex": "female"}) or synopsis.difference(...)'
        )
    where = where_of(synopsis.domain, [*parsed.conditions, *parsed.of])
    ratio = synopsis.ratio(where, of)
    if math.isnan(ratio.estimate):
        raise DomainError(
            "a share needs a positive number of rows that satisfy --of, but the estimate is not "
            "positive; drop some of its conditions"
        )
    return where, of, ratio


def _change(parsed: argparse.Namespace) -> Said:
    """The change of a number, or of a share, from the first release to the second."""
    from ..synopses.count import Difference
    from ..synopses.source import Source

    paths = [parsed.file, Path(parsed.conditions[0])]
    parsed.conditions = parsed.conditions[1:]
    releases = [opened(argparse.Namespace(**{**vars(parsed), "file": path})) for path in paths]
    _check_independent(releases)
    is_share = parsed.of is not None
    asked = [*parsed.conditions, *(parsed.of or [])]
    wheres = [where_of(synopsis.domain, asked) for synopsis in releases]
    numbers: Sequence[Count]
    name = "share" if is_share else "count"
    if is_share:
        numbers = [_ratio(synopsis, parsed)[2] for synopsis in releases]
    else:
        pairs = zip(releases, wheres, strict=True)
        numbers = [synopsis.count(where) for synopsis, where in pairs]
    change = Difference.between_releases(*numbers)
    low, high = change.interval(0.95)
    has_bounds = not math.isnan(low)

    # A change of shares is one of percentage points.
    unit = " points" if is_share else ""
    lines = {"change": f"{_signed(change.estimate, is_share)}{unit}"}
    if has_bounds:
        lines["95 %"] = f"{_signed(low, is_share)} to {_signed(high, is_share)}{unit}"
    for title, path, number in zip(("from", "to"), paths, numbers, strict=True):
        one = f"{number.estimate:.2%}" if is_share else f"{number.estimate:,.1f}"
        lines[title] = f"{one.replace('%', ' %')} ({path})"
    meaning = _INDEPENDENT if change.variance else _NO_NOISE
    about = [meaning if has_bounds else _NO_BOUNDS]
    limits = list(dict.fromkeys(filter(None, map(left_out, releases))))
    about += limits
    domains = [synopsis.domain for synopsis in releases]
    other = _declared_differently(domains, wheres[0])
    if other:
        about.append(_OTHER_FORM.format(names=", ".join(map(repr, other))))
    outside = outside_order(domains[1], asked)
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
        "not_in_order": outside,
    }
    return Said("\n".join([titled(lines), *filled, *_not_counted(outside)]), values)


def _signed(number: float, is_share: bool) -> str:
    """A change with its sign; that of a share in percentage points."""
    digits = 2 if is_share else 1
    scaled = round(100 * number if is_share else number, digits)
    return f"{scaled:+,.{digits}f}" if scaled else f"{0:.{digits}f}"


def _check_independent(releases: "Sequence[margin.Synopsis]") -> None:
    """Raise FileError unless the noise of two releases is independent."""
    from ..store import release_digest

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
    from ..domain.level_views import split_level

    names = dict.fromkeys(split_level(domains[0], name)[0] for name in where)
    earlier, later = domains
    return [name for name in names if later.get(name) != earlier[name]]


def _told(
    synopsis: "margin.Synopsis",
    count: "Count",
    source: "Source",
    name: str,
    shown: Callable[[float], str],
) -> tuple[str, dict[str, Any]]:
    """A number with its bounds and how it was made: as a text, and as JSON values. `name` says what
    it is, and `shown` writes it."""
    low, high = count.interval(0.95)
    lines = {name: shown(count.estimate)}
    has_bounds = not math.isnan(low)
    if has_bounds:
        lines["95 %"] = f"{shown(low)} to {shown(high)}"
    meaning = explained(synopsis, source, has_bounds=has_bounds)
    numbers = {
        name: count.estimate,
        "low": low,
        "high": high,
        "noise_sd": math.sqrt(count.noise_variance),
        "missed_sd": math.sqrt(count.missed_variance),
    }
    values = {title: None if math.isnan(number) else number for title, number in numbers.items()}
    made = {
        "reconstructed": count.reconstructed,
        "source": source.value,
        "left_out": left_out(synopsis) or None,
    }
    return f"{titled(lines)}\n{meaning}", {**values, **made}


def _not_counted(outside: "Mapping[str, Sequence[Value]]") -> list[str]:
    """A line for each attribute of which some categories are in no order."""
    lines = []
    for name, labels in outside.items():
        listed = ", ".join(map(repr, labels))
        lines.append(f"Not in the order of {name!r}, and so not counted: {listed}.")
    return lines
