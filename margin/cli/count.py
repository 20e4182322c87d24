"""The command `margin count`, which prints the number of rows that satisfy some conditions."""

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arguments.conditions import outside_order, where_of
from .common import Said, add_command, add_synopsis, explained, left_out, opened, titled

if TYPE_CHECKING:
    import margin

    from ..synopses.count import Count
    from ..synopses.source import Source

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin count` to the parser of the command line."""
    count = add_command(
        commands,
        "count",
        _count,
        does="print the number of rows that satisfy some conditions, with bounds",
        examples=[
            "margin count people.margin",
            "margin count people.margin region=north sex=F,M",
            "margin count people.margin 'age>=18' 'age<65' --json",
            "margin count visits.margin place@state=CA 'visited>=2020-03'",
        ],
    )
    add_synopsis(count)
    conditions: Any = count.add_argument(
        "conditions",
        nargs="*",
        metavar="CONDITION",
        help="an attribute, one of = >= < <= > and a value, in quotes if it holds > or <; several "
        "values after = have commas between them; bins are compared by >= and < at their edges. "
        "place@state is a level of an attribute. "
        "All conditions must hold; without any, all rows are counted",
    )
    conditions.completer = _started


def _started(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """The beginnings of conditions that a shell offers after the name of the file."""
    parsed_args.allow_simulation = True
    domain = opened(parsed_args).domain
    return [f"{name}=" for name in (*domain.attributes, *domain.level_names)]


def _count(parsed: argparse.Namespace) -> Said:
    synopsis = opened(parsed)
    where = where_of(synopsis.domain, parsed.conditions)
    count = synopsis.count(where)
    source = _source(synopsis, where, count)
    low, high = count.interval(0.95)
    lines = {"count": f"{count.estimate:,.1f}"}
    has_bounds = not math.isnan(low)
    if has_bounds:
        lines["95 %"] = f"{low:,.1f} to {high:,.1f}"
    meaning = explained(synopsis, source, has_bounds=has_bounds)
    numbers = {
        "count": count.estimate,
        "low": low,
        "high": high,
        "noise_sd": math.sqrt(count.noise_variance),
        "missed_sd": math.sqrt(count.missed_variance),
    }
    outside = outside_order(synopsis.domain, parsed.conditions)
    for name, labels in outside.items():
        listed = ", ".join(map(repr, labels))
        meaning += f"\nNot in the order of {name!r}, and so not counted: {listed}."
    known = {name: None if math.isnan(number) else number for name, number in numbers.items()}
    made = {
        "reconstructed": count.reconstructed,
        "source": source.value,
        "left_out": left_out(synopsis) or None,
        "not_in_order": outside,
    }
    values = {"where": where, **known, **made}
    return Said(f"{titled(lines)}\n{meaning}", values)


def _source(
    synopsis: "margin.Synopsis",
    where: Mapping[str, Any],
    count: "Count",
) -> "Source":
    """How the number was made. A number without error is one that the domain declares."""
    from ..domain.where import chosen_codes
    from ..synopses.source import Source

    if count.variance == 0 and synopsis.domain.constraints is not None:
        return Source.KNOWN
    return synopsis.source(chosen_codes(synopsis.domain, where))
