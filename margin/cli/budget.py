"""How the command line is told a budget."""

import argparse
from typing import TYPE_CHECKING, Any

import margin

from ..errors import BudgetError

if TYPE_CHECKING:
    from ..privacy.budget import Budget

__all__ = ["add_budget", "add_unit", "budget_of"]


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add the options of which `budget_of` makes a budget."""
    parser.add_argument("--epsilon", metavar="E", help="alone: pure differential privacy")
    parser.add_argument(
        "--delta", metavar="D", help="with --epsilon: approximate differential privacy"
    )
    parser.add_argument(
        "--rho", metavar="R", help="instead of --epsilon: zero-concentrated differential privacy"
    )
    parser.add_argument(
        "--rows-per-person", type=int, default=1, metavar="M", help="protect all rows of a person"
    )
    parser.add_argument(
        "--replace-row",
        action="store_true",
        help="neighbours replace a row, or all rows of a person; with one row a person the number of rows is public",
    )


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a unit of protection other than a row."""
    parser.add_argument(
        "--unit",
        metavar="COLUMN",
        help="whose a row is: protects all rows of a person, not one row",
    )
    parser.add_argument(
        "--max-rows",
        type=int,
        metavar="M",
        help="with --unit: how many rows of a person are counted",
    )


def budget_of(parsed: argparse.Namespace) -> "Budget":
    """The budget that was given.

    Raises
    ------
    BudgetError
        When there is none, more than one, or one that cannot be.
    """
    unit: dict[str, Any] = {
        "neighbours": margin.Neighbours.REPLACE_ROW
        if parsed.replace_row
        else margin.Neighbours.ADD_REMOVE_ROW,
        "rows_per_person": parsed.rows_per_person,
    }
    if parsed.rho is not None:
        if parsed.epsilon is not None or parsed.delta is not None:
            raise BudgetError("give either --rho or --epsilon (with or without --delta), not both")
        return margin.ZCDP(parsed.rho, **unit)
    if parsed.epsilon is None:
        raise BudgetError("a budget is needed: --epsilon E, --epsilon E --delta D, or --rho R")
    if parsed.delta is None:
        return margin.PureDP(parsed.epsilon, **unit)
    return margin.ApproxDP(parsed.epsilon, parsed.delta, **unit)
