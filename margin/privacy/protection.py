"""What every budget has in common: the unit that is protected, how it is split, and the noise that
a charge buys."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from .._checks import positive_integer
from .._numbers import Number, shown, text
from ..errors import BudgetError
from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from .split import split_units

__all__ = ["Budget", "Neighbours"]

_MOST_ROWS = 10**6


class Neighbours(Enum):
    """Which tables count as neighbours: the guarantee hides the difference between any two of them."""

    ADD_REMOVE_ROW = "add or remove one row"
    REPLACE_ROW = "replace one row"
    """With one row a person the number of rows is public. With more, all rows of a person, at most
    m, are replaced by at most m others: how many rows a person has, and how many there are in all,
    is protected."""


class Budget(ABC):
    """What a release may spend: PureDP, ZCDP or ApproxDP. Immutable; equal when all values are
    exactly equal."""

    kind: ClassVar[str]
    neighbours: Neighbours
    rows_per_person: int

    @property
    @abstractmethod
    def units(self) -> int:
        """The whole budget as a charge, rounded down."""

    @abstractmethod
    def noise(
        self, charge: int, *, l1: int = 1, l2_squared: int = 1
    ) -> DiscreteLaplace | DiscreteGaussian:
        """The noise that makes integer counts private at the cost of `charge` units, exactly.

        Parameters
        ----------
        charge
            Units to be spent on these counts.
        l1, l2_squared
            The L1 distance, and the square of the L2 distance, that the counts of two neighbouring
            tables have at most. A budget uses one of them; tell both.

        Raises
        ------
        BudgetError
            When an argument is not a positive whole number.
        MarginError
            When the noise would be larger than any count.
        """

    @abstractmethod
    def pure_epsilon(self, charge: int) -> Fraction:
        """The largest known epsilon such that every epsilon-differentially private answer costs at
        most `charge`."""

    @abstractmethod
    def range_epsilon(self, charge: int) -> Fraction:
        """The largest known epsilon such that every choice of bounded range epsilon costs at most
        `charge`."""

    @abstractmethod
    def cost_of(self, other: "Budget") -> int:
        """The units of this budget that cover a release which spends all of `other`, rounded up.

        Raises
        ------
        BudgetError
            When `other` protects another unit, or no rule is known by which it implies this kind of
            privacy.
        """

    @abstractmethod
    def describe(self) -> str:
        """The guarantee in plain words."""

    @property
    def rows(self) -> int:
        """How many rows are added or removed, in all, between one table and its neighbour, at most."""
        return self.rows_per_person * (2 if self.neighbours is Neighbours.REPLACE_ROW else 1)

    @property
    def number_of_rows_is_public(self) -> bool:
        """Whether all neighbours have the same number of rows: where one row is replaced by one
        row."""
        return self.neighbours is Neighbours.REPLACE_ROW and self.rows_per_person == 1

    def sensitivity(self, *, l1: int = 1, l2_squared: int = 1) -> tuple[int, int]:
        """The L1 distance and the squared L2 distance between the counts of neighbouring tables, at
        most.

        A person's rows, m at most, each adding a vector v >= 0 of L1 norm at most l1 and squared L2
        norm at most l2_squared, add one of at most m l1 and m**2 l2_squared: all may add the same.
        Replacing them by others, m at most, is adding a - b for two such sums a, b >= 0, and |a -
        b|_1 <= |a|_1 + |b|_1, |a - b|_2**2 = |a|_2**2 +
        |b|_2**2 - 2 a.b <= |a|_2**2 + |b|_2**2. The two sums need not be of equally many rows.

        Parameters
        ----------
        l1, l2_squared
            Bounds on what one row adds to the counts, nowhere negative.
        """
        rows = self.rows
        return rows * positive_integer("l1", l1), rows * self.rows_per_person * positive_integer(
            "l2_squared", l2_squared
        )

    def count_noise(self, charge: int) -> DiscreteLaplace | DiscreteGaussian:
        """The noise for the counts of the cells of a table, to which a row adds one: see `noise`."""
        l1, l2_squared = self.sensitivity()
        return self.noise(charge, l1=l1, l2_squared=l2_squared)

    def at_once(
        self, shares: Sequence[Number] | int, bounds: Sequence[tuple[int, int]]
    ) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noise of answers for which one call spends the whole budget, so that nothing else is
        ever answered.

        That of the pieces of the budget, one by one. `ApproxDP` buys less noise so.

        Parameters
        ----------
        shares
            See `split`.
        bounds
            Of each answer the L1 distance, and the squared L2 distance, between neighbouring
            tables, at most.

        Raises
        ------
        BudgetError, MarginError
            See `split` and `noise`.
        """
        asked = list(zip(self.split(shares), bounds, strict=True))
        noise = {
            (charge, l1, l2): self.noise(charge, l1=l1, l2_squared=l2)
            for charge, (l1, l2) in set(asked)
        }
        return tuple(noise[charge, l1, l2] for charge, (l1, l2) in asked)

    def counts_at_once(
        self, shares: Sequence[Number] | int
    ) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noise of tables of counts for which one call spends the whole budget: see `at_once`."""
        number = shares if isinstance(shares, int) else len(shares)
        return self.at_once(shares, [self.sensitivity()] * number)

    def laplace(self, charge: int, *, l1: int = 1) -> DiscreteLaplace:
        """Discrete Laplace noise for counts of L1 distance `l1` between neighbours, whatever the
        kind of the budget.

        epsilon-differential privacy implies rho-zCDP for rho = epsilon**2 / 2 (Bun and Steinke
        2016, Proposition 1.4), so that `charge` units of rho buy an epsilon of sqrt(2 rho), rounded
        down.
        """
        return DiscreteLaplace(positive_integer("l1", l1) / self.pure_epsilon(charge))

    def laplace_at_once(self, *, l1: int = 1) -> DiscreteLaplace:
        """The noise of `laplace` for an answer on which one call spends the whole budget: see
        `at_once`."""
        return self.laplace(self.units, l1=l1)

    def selection(self, charge: int, *, spread: int) -> ExponentialMechanism:
        """The exponential mechanism that costs `charge` units.

        With a rate r it chooses i with a probability proportional to exp(r s_i). Between two tables
        the logarithms of the probabilities change by r (s_i - s'_i) less a number that does not
        depend on i, so within an interval of length r times `spread`: it has bounded range epsilon
        = r spread (Dong, Durfee and Rogers 2020). That implies epsilon-differential privacy, and
        rho-zCDP for rho = epsilon**2 / 8 (Cesar and Rogers 2021, Lemma 3.4).

        Parameters
        ----------
        charge
            Units to be spent on one choice.
        spread
            A bound on max_i (s_i - s'_i) - min_i (s_i - s'_i) between neighbouring tables: twice
            the sensitivity of the scores, or once when a row added can move scores in one direction
            only.
        """
        return ExponentialMechanism(self.range_epsilon(charge) / positive_integer("spread", spread))

    @abstractmethod
    def _parameters(self) -> dict[str, Fraction]:
        """The numbers that make this budget, by name."""

    def split(self, shares: Sequence[Number] | int) -> tuple[int, ...]:
        """Charges in proportion to `shares`, each within one unit of its exact share, that together
        are exactly `units`.

        Parameters
        ----------
        shares
            Positive weights, or the number of equal pieces.

        Raises
        ------
        BudgetError
            When a share is not positive, there is none, or a piece would be below one unit.
        """
        return split_units(self.units, shares)

    def to_json(self) -> dict[str, str]:
        """The budget as texts, of which `budget_from_json` makes an equal one."""
        values = {name: text(value) for name, value in self._parameters().items()}
        person = {"rows_per_person": str(self.rows_per_person)}
        return {"kind": self.kind, **values, "neighbours": self.neighbours.value, **person}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={float(value)!r}" for name, value in self._parameters().items())
        if self.neighbours is not Neighbours.ADD_REMOVE_ROW:
            values += f", neighbours={self.neighbours}"
        if self.rows_per_person > 1:
            values += f", rows_per_person={self.rows_per_person}"
        return f"{type(self).__name__}({values})"

    def _set(self, neighbours: Neighbours, rows_per_person: int, **values: Fraction) -> None:
        if not isinstance(neighbours, Neighbours):
            raise BudgetError(
                "neighbours must be a member of Neighbours, such as Neighbours.ADD_REMOVE_ROW"
            )
        rows = positive_integer("rows_per_person", rows_per_person)
        if rows > _MOST_ROWS:
            raise BudgetError(f"rows_per_person ({shown(rows)}) must be at most {_MOST_ROWS}")
        for name, value in {**values, "neighbours": neighbours, "rows_per_person": rows}.items():
            object.__setattr__(self, name, value)

    def _unit(self) -> str:
        """What is protected, in plain words."""
        if self.rows_per_person == 1:
            return f"neighbours: {self.neighbours.value}"
        rows = self.rows_per_person
        if self.neighbours is Neighbours.REPLACE_ROW:
            return f"neighbours: replace all rows of a person, {rows} at most, by others, {rows} at most"
        return f"neighbours: add or remove all rows of a person, {rows} at most"

    def _check_unit(self, other: "Budget") -> None:
        if (other.neighbours, other.rows_per_person) != (self.neighbours, self.rows_per_person):
            raise BudgetError(
                f"a budget with {other._unit()} cannot be charged to one with {self._unit()}: "
                f"use the same neighbours and rows_per_person"
            )
