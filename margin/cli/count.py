"""The command `margin count`, which prints the number of rows that satisfy some conditions."""

import argparse
import math
from collections.abc import Sequence
from typing import Any

from .common import Said, add_command, add_synopsis, opened, titled
from .conditions import where_of

__all__ = ["add_commands"]

_MEASURED = (
    "The bounds contain the true number in about 95 % of releases. They allow for the noise that\n"
    "was added on purpose, whose law is known."
)

_RECONSTRUCTED = (
    "No published table holds all these attributes, so the number was reconstructed from smaller\n"
    "tables. The bounds allow for noise and for what these tables do not say, as far as it can be\n"
    "estimated: they contain the true number in about 95 % of many such answers on average."
)

_UNKNOWN = "The error of this number is not known, so there are no bounds."


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
    low, high = count.interval(0.95)
    lines = {"count": f"{count.estimate:,.1f}"}
    if math.isnan(low):
        meaning = _UNKNOWN
    else:
        lines["95 %"] = f"{low:,.1f} to {high:,.1f}"
        meaning = _RECONSTRUCTED if count.reconstructed else _MEASURED
    numbers = {
        "count": count.estimate,
        "low": low,
        "high": high,
        "noise_sd": math.sqrt(count.noise_variance),
        "missed_sd": math.sqrt(count.missed_variance),
    }
    known = {name: None if math.isnan(number) else number for name, number in numbers.items()}
    values = {"where": where, **known, "reconstructed": count.reconstructed}
    return Said(f"{titled(lines)}\n{meaning}", values)
