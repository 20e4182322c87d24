"""Keeping the sum: what has been charged to a budget, in sequence and in parallel."""

from collections.abc import Sequence
from threading import Lock

from .._checks import positive_integer
from .._numbers import Number
from ..errors import BudgetError
from .budget import Budget, Neighbours
from .split import split_units

__all__ = ["Account", "Parts"]


class Account:
    """A running sum of charges that never exceeds a budget; nothing is ever given back. Threads may
    share one.

    The epsilons, or the rhos, of charges add up even when each charge is chosen after seeing what
    the ones before have bought: comparing the sum with the budget before each charge is all that is
    needed.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._spent = 0
        self._lock = Lock()

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._budget

    @property
    def spent(self) -> int:
        """Units charged so far."""
        return self._spent

    @property
    def remaining(self) -> int:
        """Units that may still be charged."""
        return self._budget.units - self._spent

    def split(self, shares: Sequence[Number] | int) -> tuple[int, ...]:
        """Charges that together are exactly what remains; nothing is charged yet. See
        `Budget.split`."""
        return split_units(self.remaining, shares)

    def charge(self, units: int) -> None:
        """Spend `units`; BudgetError, with nothing spent, when they are more than what remains."""
        wanted = positive_integer("the charge", units)
        with self._lock:
            if wanted > self.remaining:
                raise BudgetError(
                    f"a charge of {wanted} units (of 1e-12) exceeds the {self.remaining} that remain of "
                    f"{self._budget.units}: charge less, or declare a larger budget before anything is released"
                )
            self._spent += wanted

    def __repr__(self) -> str:
        return f"Account({self._budget!r}, spent={self._spent}, remaining={self.remaining})"


class Parts:
    """Charges for disjoint parts of a table, of which only the largest sum of a part counts
    (parallel composition).

    A row is in one part, so that a neighbouring table differs in one part only; what is released
    about the other parts has the same law. Whatever the order of the charges, and if each is chosen
    after seeing what the ones before have bought, the cost is therefore the largest sum of a part.
    Each charge raises the account by as much as it raises that largest sum, before anything is
    drawn.

    That holds when a neighbour has one row more or less. A row that is replaced, or the rows of one
    person, may touch two parts or more; for those there is no such rule here.

    Parameters
    ----------
    account
        What the charges are taken from.

    Raises
    ------
    BudgetError
        When the neighbours of the account's budget differ in more than one row.

    Examples
    --------
    >>> from margin.privacy.budget import PureDP
    >>> account = Account(PureDP(1))
    >>> parts = Parts(account)
    >>> parts.charge("north", 5)
    >>> parts.charge("south", 7)
    >>> account.spent
    7
    """

    def __init__(self, account: Account) -> None:
        budget = account.budget
        if budget.neighbours is not Neighbours.ADD_REMOVE_ROW or budget.rows_per_person > 1:
            raise BudgetError(
                "parts of a table are charged in parallel only when neighbours differ by one row, added or removed"
            )
        self._account = account
        self._sums: dict[object, int] = {}
        self._charged = 0
        self._lock = Lock()

    def charge(self, part: object, units: int) -> None:
        """Spend `units` on the part of that name; BudgetError, with nothing spent, when they do not
        fit."""
        wanted = positive_integer("the charge", units)
        with self._lock:
            total = self._sums.get(part, 0) + wanted
            if total > self._charged:
                self._account.charge(total - self._charged)
                self._charged = total
            self._sums[part] = total
