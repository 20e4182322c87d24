"""The command `margin count`, which prints the number of rows that satisfy some conditions, or what
follows from several such numbers."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DomainError
from ..arguments.categories import add_categories
from ..arguments.conditions import where_of
from ..common import Said, add_command, add_synopsis, opened
from .asking import not_in_order, ratio_of, told
from .averages import average_of, averages_asked
from .change import change_of
from .difference import difference_of
from .each import each_of

if TYPE_CHECKING:
    import margin

__all__ = ["add_commands"]


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
            "margin count people.margin sex=F --of --by region",
            "margin count people.margin sex=F --of region=north --minus region=south",
            "margin count last_year.margin people.margin sex=F",
            "margin count last_year.margin people.margin sex=F --of region=north",
            "margin count last_year.margin people.margin --by region",
            "margin count people.margin sex=F --median age --by region",
            "margin count visits.margin place@state=CA 'visited>=2020-03'",
        ],
    )
    add_synopsis(count)
    add_categories(count)
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
    minus: Any = count.add_argument(
        "--minus",
        nargs="*",
        metavar="CONDITION",
        help="print the difference: the number of rows of the conditions less that of these (of "
        "all rows, if none follow); with --of, the share of the rows of --of less that of the rows "
        "of these; its bounds allow for the errors that both have in common",
    )
    minus.completer = _started
    count.add_argument(
        "--mean",
        metavar="ATTRIBUTE",
        help="print the mean of an attribute with bins, such as income, from their middles",
    )
    count.add_argument(
        "--whole",
        action="store_true",
        help="with --mean: the values are whole numbers, such as nights, so that a bin of 1 to "
        "under 3 holds 1 and 2",
    )
    count.add_argument(
        "--median",
        metavar="ATTRIBUTE",
        help="print the median of an attribute with ordered categories: which of them may hold it",
    )
    count.add_argument(
        "--quantile",
        nargs=2,
        metavar=("SHARE", "ATTRIBUTE"),
        help="print another quantile, such as 0.9 income: below it lies this share of the rows",
    )
    count.add_argument(
        "--by",
        metavar="ATTRIBUTE",
        help="print the number, or with --of the share, for each category of an attribute or of a "
        "level, such as place@state: of the rows of this category; with a second file, the change "
        "of each",
    )


def _started(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """The beginnings of conditions that a shell offers after the name of the file."""
    parsed_args.allow_simulation = True
    domain = opened(parsed_args).domain
    return [f"{name}=" for name in (*domain.attributes, *domain.level_names)]


def _count(parsed: argparse.Namespace) -> Said:
    # A condition has an operator, and the name of a file has none.
    first = parsed.conditions[0] if parsed.conditions else ""
    two_files = first.endswith(".margin") and parsed.file.exists() and not set(first) & set("=<>")
    _check_one_form(parsed, two_files=two_files)
    if two_files:
        return change_of(parsed)
    synopsis = opened(parsed)
    if averages_asked(parsed):
        return average_of(synopsis, parsed)
    if parsed.minus is not None:
        return difference_of(synopsis, parsed.conditions, parsed.of, parsed.minus)
    if parsed.by is not None:
        return each_of(synopsis, parsed.conditions, parsed.of, parsed.by)
    if parsed.of is not None:
        return _share(synopsis, parsed)
    where = where_of(synopsis.domain, parsed.conditions)
    count = synopsis.count(where)
    source = count.source
    assert source is not None
    text, values = told(synopsis, count, source, "count")
    outside = not_in_order(synopsis.domain, parsed.conditions)
    values = {"where": where, **values, **outside.values}
    return Said("\n".join([text, *outside.lines]), values)


def _check_one_form(parsed: argparse.Namespace, *, two_files: bool) -> None:
    """Raise DomainError if two forms of the command are asked at once."""
    averages = averages_asked(parsed)
    others = [f"--{name}" for name in ("of", "minus") if getattr(parsed, name) is not None]
    others += ["a second file"] if two_files else []
    if averages and len(averages) + len(others) > 1:
        raise DomainError(
            f"{averages[0]} takes conditions and --by alone, but {' and '.join(averages + others)} "
            "are given; run the command once for each, or use Python, as in "
            'synopsis.mean("income", where={"sex": "F"}) - synopsis.mean("income")'
        )
    if parsed.whole and parsed.mean is None:
        raise DomainError(
            "--whole says how the middles of bins are taken, so it needs --mean with an attribute, "
            "but there is none; add --mean, or leave --whole out"
        )
    given = ["a second file"] if two_files else []
    given += [f"--{name}" for name in ("minus", "by") if getattr(parsed, name) is not None]
    if "--minus" in given and len(given) > 1:
        raise DomainError(
            "--minus asks for something else than a second file or --by, so give it alone, but "
            f"{' and '.join(given)} are given; run the command once for each"
        )


def _share(synopsis: "margin.Synopsis", parsed: argparse.Namespace) -> Said:
    """The share of the rows of --of that satisfy the conditions, too."""
    from ...domain.where import chosen_codes

    where, of, ratio = ratio_of(synopsis, parsed.conditions, parsed.of)
    # The rows of the numerator are chosen by all attributes of both conditions.
    source = ratio.source or synopsis.source(chosen_codes(synopsis.domain, where))
    text, values = told(synopsis, ratio, source, "share")
    outside = not_in_order(synopsis.domain, parsed.conditions, {"--of": of}, parsed.of)
    numbers = {"count": ratio.numerator.estimate, "of_count": ratio.denominator.estimate}
    values = {"where": where, "of": of, **numbers, **values, **outside.values}
    return Said("\n".join([text, *outside.lines]), values)
