"""The budget whose results change odds by at most a given factor."""

import math
from decimal import ROUND_FLOOR, Decimal

from .._numbers import shown
from ..errors import BudgetError
from .budget import ZCDP, Neighbours, PureDP
from .statement import Statement
from .strength import CHANCE, for_contents, strength

__all__ = ["budget_of_factor"]

_DIGITS = 4
"""Number of digits to which a budget is rounded down."""

_LARGEST = 1e300
"""Largest factor that can be asked."""


def budget_of_factor(
    factor: float,
    *,
    kind: type[PureDP] | type[ZCDP] = ZCDP,
    neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW,
    known_to_be_there: bool = True,
) -> PureDP | ZCDP:
    """The budget that changes odds by a factor of at most `factor`, rounded down to four digits.

    It is the inverse of what `margin ledger show` and `margin info` say of a budget. The largest
    log-ratio of probabilities l is the epsilon, or rho + 2 sqrt(rho ln(2 / q)), except with a
    probability of q = 1e-6 (docs/proofs/odds.md). Both grow with the budget. So epsilon = l, and
    rho = (sqrt(ln(2 / q) + l) - sqrt(ln(2 / q)))^2 for l = ln(factor), or half of this epsilon and
    a quarter of this rho for two steps. The budget is rounded down, and reduced further until its
    own factor, computed as for all statements, is not above the one that was asked.

    Parameters
    ----------
    factor
        The largest factor of the odds, above 1.
    kind
        `ZCDP` or `PureDP`. The number is the same if a person has several rows, which are protected
        together.
    neighbours
        As for `Budget`. Replaced rows are one step apart, also for what a row says.
    known_to_be_there
        Whether the factor is for any conclusion about the rows of somebody who is known to be in
        the table. Otherwise it is for the odds that the rows are there; this is not enough if a
        release declares public totals.

    Raises
    ------
    BudgetError
        If the factor is not above 1, or the budget would be below the smallest one.

    Examples
    --------
    >>> budget_of_factor(1000).describe()
    'zero-concentrated differential privacy, rho = 0.1675, neighbours: add or remove one row'
    >>> float(budget_of_factor(100, kind=PureDP).epsilon)
    2.302
    """
    if not (isinstance(factor, int | float) and 1 < factor <= _LARGEST):
        raise BudgetError(
            f"factor ({shown(factor)}) must be a number above 1 and at most {_LARGEST:g}, such as "
            "1000 if the odds may become a thousand times as large"
        )
    # The numbers of one step, from which those of two steps follow.
    loss = math.log(factor)
    tail = math.log(2 / CHANCE)
    # The difference of the roots, without cancellation.
    root = loss / (math.sqrt(tail + loss) + math.sqrt(tail))
    steps = 2 if known_to_be_there and neighbours is Neighbours.ADD_REMOVE_ROW else 1
    largest = Decimal(root**2 / steps**2 if kind is ZCDP else loss / steps)
    unit = Decimal(1).scaleb(largest.adjusted() + 1 - _DIGITS)
    amount = largest.quantize(unit, rounding=ROUND_FLOOR)
    while True:
        budget = kind(amount, neighbours=neighbours)
        statement = Statement(budget=budget)
        found = for_contents(statement) if known_to_be_there else strength(statement, None)
        if found.factor <= factor:
            return budget
        amount -= unit
