"""The command `margin count`, which prints the number of rows that satisfy some conditions."""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DomainError
from .arguments.conditions import outside_order, where_of
from .common import Said, add_command, add_synopsis, explained, left_out, opened, titled

if TYPE_CHECKING:
    import margin

    from ..domain.attribute import Value
    from ..synopses.count import Count
    from ..synopses.source import Source

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin count` to the parser of the command line."""
    count = add_command(
        commands,
        "count",
        _count,
        does="print the number, or the share, of rows that satisfy some conditions, with bounds",
        examples=[
            "margin count people.margin",
            "margin count people.margin region=north sex=F,M",
            "margin count people.margin 'age>=18' 'age<65' --json",
            "margin count people.margin sex=F --of",
            "margin count people.margin sex=F --of region=north",
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
        "All conditions must hold; without any, all rows are counted",
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
    from ..synopses.counting import common

    if not parsed.conditions:
        raise DomainError(
            "--of needs conditions before it, whose share is asked, but there are none; write them "
            "as in margin count FILE.margin smoker=yes --of sex=F"
        )
    both = [*parsed.conditions, *parsed.of]
    of = where_of(synopsis.domain, parsed.of)
    asked = where_of(synopsis.domain, parsed.conditions)
    chosen = [chosen_codes(synopsis.domain, each) for each in (asked, of)]
    if common(*chosen) is None:
        raise DomainError(
            "--of gives the share of its rows that satisfy the conditions before it, too, but no "
            "row can satisfy both; for any other ratio or a difference use Python, as in "
            'synopsis.ratio({"sex": "male"}, {"sex": "female"}) or synopsis.difference(...)'
        )
    where = where_of(synopsis.domain, both)
    ratio = synopsis.ratio(where, of)
    if math.isnan(ratio.estimate):
        raise DomainError(
            "a share needs a positive number of rows that satisfy --of, but the estimate is not "
            "positive; drop some of its conditions"
        )
    # The rows of the numerator are chosen by all attributes of both conditions.
    source = ratio.source or synopsis.source(chosen_codes(synopsis.domain, where))
    text, values = _told(synopsis, ratio, source, "share", lambda number: f"{100 * number:.2f} %")
    outside = outside_order(synopsis.domain, both)
    numbers = {"count": ratio.numerator.estimate, "of_count": ratio.denominator.estimate}
    values = {"where": where, "of": of, **numbers, **values, "not_in_order": outside}
    return Said("\n".join([text, *_not_counted(outside)]), values)


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
