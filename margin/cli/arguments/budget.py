"""The options of the command line that describe a privacy budget."""

import argparse
from typing import TYPE_CHECKING, Any

import margin

from ...errors import BudgetError

if TYPE_CHECKING:
    from ...privacy.budget import Budget

__all__ = ["add_budget", "add_unit", "budget_of", "unit_of"]


def add_budget(parser: argparse.ArgumentParser, *, rows: str = "") -> None:
    """Add the options --epsilon, --delta, --rho, --rows-per-person and --replace-row.

    `rows` is what the help of --rows-per-person says of --unit, if the command has that too.
    """
    if rows:
        rows += "; without --unit, you declare that nobody has more rows, and this is not checked"
    group = parser.add_argument_group("privacy budget")
    group.add_argument(
        "--epsilon",
        metavar="E",
        help="the epsilon of pure differential privacy; with --delta, of approximate "
        "differential privacy",
    )
    group.add_argument(
        "--delta",
        metavar="D",
        help="the delta of approximate differential privacy; needs --epsilon",
    )
    group.add_argument(
        "--rho",
        metavar="R",
        help="the rho of zero-concentrated differential privacy; give it instead of --epsilon",
    )
    group.add_argument(
        "--rows-per-person",
        type=int,
        metavar="M",
        help=f"protect up to M rows of a person together, instead of one row{rows}; default: 1",
    )
    group.add_argument(
        "--max-rows",  # the former name
        dest="rows_per_person",
        type=int,
        help=argparse.SUPPRESS,
    )
    group.add_argument(
        "--replace-row",
        action="store_true",
        help="neighbouring tables differ by replacing a row (or all rows of a person), "
        "instead of adding or removing it; if M is 1, the number of rows is then public: declare "
        'it as "$rows" in the domain, and totals are exact',
    )


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Add the option --unit, which protects all rows with one value of a column."""
    parser.add_argument(
        "--unit",
        metavar="COLUMN",
        help="protect all rows with the same value of this column (such as a person's id) "
        "together, instead of one row; --rows-per-person, which is then required, limits how many "
        "of them are counted; further rows are left out, so totals may be too low",
    )

    parser.add_argument(
        "--no-more-rows",
        action="store_true",
        help="declare that nobody has more rows than --rows-per-person, for example because the "
        "query keeps one row of each person: readers are told that you state this, and not that "
        "totals may be too low; nothing checks it, and --unit protects as without it; public "
        "totals (--known, $rows) need it if --rows-per-person is above 1",
    )


def unit_of(parsed: argparse.Namespace) -> dict[str, Any]:
    """The arguments `unit`, `rows_per_person` and `no_more_rows` from the parsed options."""
    if parsed.unit is None:
        # A release refuses the declaration without a unit.
        return {"no_more_rows": parsed.no_more_rows}
    return {
        "unit": parsed.unit,
        "rows_per_person": parsed.rows_per_person,
        "no_more_rows": parsed.no_more_rows,
    }


def budget_of(parsed: argparse.Namespace) -> "Budget":
    """Make the budget from the parsed options.

    Raises
    ------
    BudgetError
        If no budget is given, if both --epsilon and --rho are, or if a number is malformed.
    """
    kinds = margin.Neighbours
    neighbours = kinds.REPLACE_ROW if parsed.replace_row else kinds.ADD_REMOVE_ROW
    rows = 1 if parsed.rows_per_person is None else parsed.rows_per_person
    unit: dict[str, Any] = {"neighbours": neighbours, "rows_per_person": rows}
    if parsed.rho is not None:
        if parsed.epsilon is not None or parsed.delta is not None:
            raise BudgetError(
                "a budget is either --epsilon (with or without --delta) or --rho, but both are "
                "given; leave one of them out"
            )
        return margin.ZCDP(parsed.rho, **unit)
    if parsed.epsilon is None:
        raise BudgetError(
            "a budget must be given, but none is; add --epsilon E, --epsilon E --delta D, or "
            "--rho R"
        )
    if parsed.delta is None:
        return margin.PureDP(parsed.epsilon, **unit)
    return margin.ApproxDP(parsed.epsilon, parsed.delta, **unit)
