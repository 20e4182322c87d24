"""Accounts: the sum of the charges to a budget, by sequential and by parallel composition."""

from collections.abc import Sequence
from threading import Lock

from .._checks import positive_integer
from .._numbers import Number
from ..errors import BudgetError
from .budget import Budget, Neighbours, check_budget
from .split import split_units

__all__ = ["Account", "Parts"]


class Account:
    """A running sum of charges that never exceeds a budget.

    A charge is never given back. Several threads may share an account.

    The epsilons (or the rhos) of charges add up, even when each charge is chosen after seeing the
    results of the earlier ones. It is therefore enough to compare the sum with the budget before
    each charge.

    Parameters
    ----------
    budget
        The total that may be spent.

    Raises
    ------
    BudgetError
        When `budget` is no budget that a release can spend.
    """

    def __init__(self, budget: Budget) -> None:
        check_budget(budget)
        self._budget = budget
        self._spent = 0
        self._lock = Lock()

    @property
    def budget(self) -> Budget:
        """The total that may be spent."""
        return self._budget

    @property
    def spent(self) -> int:
        """Sum of the charges so far, in units of 1e-12 of epsilon or rho."""
        return self._spent

    @property
    def remaining(self) -> int:
        """Largest charge that is still possible, in units of 1e-12 of epsilon or rho."""
        return self._budget.units - self._spent

    def split(self, shares: Sequence[Number] | int) -> tuple[int, ...]:
        """Divide the remaining units in proportion to `shares`, without charging them.

        The result is one charge for each share. The charges sum to exactly `remaining`. `shares`
        are positive weights, or the number of equal pieces (see `Budget.split`).
        """
        return split_units(self.remaining, shares)

    def charge(self, units: int) -> None:
        """Add `units` (of 1e-12 of epsilon or rho) to the sum that is spent.

        Raises
        ------
        BudgetError
            When `units` is more than what remains. Nothing is spent then.
        """
        wanted = positive_integer("the charge", units)
        with self._lock:
            if wanted > self.remaining:
                raise BudgetError(
                    f"the charge ({wanted} units of 1e-12) must be at most what remains of the "
                    f"budget, {self.remaining} of {self._budget.units} units; charge less, or "
                    "declare a larger budget before anything is released"
                )
            self._spent += wanted

    def __repr__(self) -> str:
        return f"Account({self._budget!r}, spent={self._spent}, remaining={self.remaining})"


class Parts:
    """Charges for disjoint parts of a table: the account pays for the most expensive part only.

    This is parallel composition. A row is in one part, so two neighbouring tables differ in one
    part only. The results about all other parts have the same distribution for both tables. The
    cost is therefore the largest sum of charges to any one part. This holds for every order of the
    charges, and also when each charge is chosen after seeing the results of the earlier ones. Each
    charge raises the account by as much as it raises that largest sum, before any noise is drawn.

    The rule requires that neighbours differ by one row, added or removed. A replaced row, or the
    rows of one person, may touch two parts or more; such budgets are refused.

    Parameters
    ----------
    account
        The account that pays.

    Raises
    ------
    BudgetError
        When neighbours of the account's budget may differ in more than one row.

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
                "charging parts of a table in parallel needs neighbours that differ by one row, "
                f"added or removed, but this budget has {budget._unit()}; use a budget with "
                "neighbours=Neighbours.ADD_REMOVE_ROW and rows_per_person=1"
            )
        self._account = account
        self._sums: dict[object, int] = {}
        self._charged = 0
        self._lock = Lock()

    def charge(
        self,
        part: object,
        units: int,
    ) -> None:
        """Charge `units` (of 1e-12 of epsilon or rho) to one part of the table, given by its name.

        Raises
        ------
        BudgetError
            When the account does not hold enough. Nothing is spent then.
        """
        wanted = positive_integer("the charge", units)
        with self._lock:
            total = self._sums.get(part, 0) + wanted
            # The account pays only the increase of the largest sum, and before the part does.
            if total > self._charged:
                self._account.charge(total - self._charged)
                self._charged = total
            self._sums[part] = total
