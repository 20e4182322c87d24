"""The base class of budgets: neighbouring tables, the split into charges, and the noise that a
charge buys."""

import html
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

_MOST_ROWS = 10**6  # largest rows_per_person


class Neighbours(Enum):
    """The neighbouring relation: which pairs of tables the guarantee makes hard to distinguish.

    Examples
    --------
    >>> import margin
    >>> print(margin.PureDP(1, neighbours=margin.Neighbours.REPLACE_ROW))
    PureDP(epsilon=1.0, neighbours=Neighbours.REPLACE_ROW)
    """

    ADD_REMOVE_ROW = "add or remove one row"
    REPLACE_ROW = "replace one row"
    """With one row per person the number of rows is public. With more, all rows of a person, at
    most m, are replaced by at most m others. Then the number of rows of each person, and the total
    number of rows, are protected."""


class Budget(ABC):
    """The total privacy loss that a release may spend: the base of PureDP, ZCDP and ApproxDP.

    A charge is a whole number of units, each 1e-12 of epsilon (PureDP) or of rho (the others).

    Budgets are immutable. Two budgets are equal when all their values are exactly equal.
    """

    kind: ClassVar[str]
    kurtosis: ClassVar[float] = 0.0
    """The excess kurtosis of the noise of `noise`, up to rounding to whole numbers."""
    neighbours: Neighbours
    rows_per_person: int

    @property
    @abstractmethod
    def units(self) -> int:
        """The whole budget in units of 1e-12 of epsilon or rho, rounded down."""

    @abstractmethod
    def noise(
        self,
        charge: int,
        *,
        l1: int = 1,
        l2_squared: int = 1,
    ) -> DiscreteLaplace | DiscreteGaussian:
        """The noise to add to integer counts so that publishing them costs exactly `charge` units.

        Parameters
        ----------
        charge
            Units to be spent on these counts.
        l1, l2_squared
            Upper bounds on the L1 distance, and on the square of the L2 distance, between the
            counts of two neighbouring tables. Each kind of budget uses one of them; give both.

        Raises
        ------
        BudgetError
            When an argument is not a positive whole number.
        MarginError
            When the noise would be larger than any count.
        """

    @abstractmethod
    def pure_epsilon(self, charge: int) -> Fraction:
        """The largest epsilon of an answer that costs at most `charge` units.

        The answer must be epsilon-differentially private, such as a count with Laplace noise.
        """

    @abstractmethod
    def range_epsilon(self, charge: int) -> Fraction:
        """The largest bounded range of a choice that costs at most `charge` units.

        The logarithms of the probabilities of a choice of bounded range epsilon change, between
        neighbours, within an interval of length epsilon.
        """

    @abstractmethod
    def cost_of(self, other: "Budget") -> int:
        """The cost of a release that spends all of `other`, in units of this budget, rounded up.

        Raises
        ------
        BudgetError
            When `other` protects another unit, or no rule is known by which `other` implies this
            kind of privacy.
        """

    @abstractmethod
    def describe(self) -> str:
        """The guarantee in words: its kind, its numbers and the neighbouring relation."""

    @property
    def rows(self) -> int:
        """Largest number of rows that are added or removed, in total, between two neighbouring
        tables."""
        return self.rows_per_person * (2 if self.neighbours is Neighbours.REPLACE_ROW else 1)

    @property
    def number_of_rows_is_public(self) -> bool:
        """Whether all neighbouring tables have the same number of rows.

        True if neighbours replace rows and a person has a single row.
        """
        return self.neighbours is Neighbours.REPLACE_ROW and self.rows_per_person == 1

    def sensitivity(
        self,
        *,
        l1: int = 1,
        l2_squared: int = 1,
    ) -> tuple[int, int]:
        """Upper bounds on the L1 distance and the squared L2 distance between the counts of
        neighbouring tables.

        A person has m rows at most. Each row adds a vector v >= 0 of L1 norm at most l1 and squared
        L2 norm at most l2_squared. Together they add a vector of L1 norm at most m l1 and squared
        L2 norm at most m**2 l2_squared; the bound is reached when all rows add the same vector.

        Replacing these rows by at most m others adds a - b for two such sums a, b >= 0. Then
        |a - b|_1 <= |a|_1 + |b|_1, and |a - b|_2**2 = |a|_2**2 + |b|_2**2 - 2 a.b
        <= |a|_2**2 + |b|_2**2. The two sums may have different numbers of rows.

        Parameters
        ----------
        l1, l2_squared
            Bounds on the vector that one row adds to the counts. It must be nowhere negative.

        Returns
        -------
        int, int
            The bound on the L1 distance, and the bound on the squared L2 distance.
        """
        rows = self.rows
        distance = rows * positive_integer("l1", l1)
        square = rows * self.rows_per_person * positive_integer("l2_squared", l2_squared)
        return distance, square

    def count_noise(self, charge: int) -> DiscreteLaplace | DiscreteGaussian:
        """The noise to add to every cell of a table of counts, at a cost of `charge` units.

        Each row adds one to one cell.
        """
        l1, l2_squared = self.sensitivity()
        return self.noise(
            charge,
            l1=l1,
            l2_squared=l2_squared,
        )

    def at_once(
        self,
        shares: Sequence[Number] | int,
        bounds: Sequence[tuple[int, int]],
    ) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noise of each answer when a single call spends the whole budget.

        After such a call nothing else is ever answered. By default each answer gets the noise that
        its piece of the budget buys. `ApproxDP` needs less noise in this case.

        Parameters
        ----------
        shares
            The share of each answer; see `split`.
        bounds
            For each answer: upper bounds on the L1 distance, and on the squared L2 distance,
            between neighbouring tables.

        Raises
        ------
        BudgetError, MarginError
            See `split` and `noise`.
        """
        asked = list(zip(self.split(shares), bounds, strict=True))
        # Equal answers share one noise object.
        noise = {
            (charge, l1, l2): self.noise(
                charge,
                l1=l1,
                l2_squared=l2,
            )
            for charge, (l1, l2) in set(asked)
        }
        return tuple(noise[charge, l1, l2] for charge, (l1, l2) in asked)

    def counts_at_once(
        self, shares: Sequence[Number] | int
    ) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noise of each table of counts when a single call spends the whole budget.

        `shares` has a weight for each table, or is the number of tables; see `at_once`.
        """
        number = shares if isinstance(shares, int) else len(shares)
        return self.at_once(shares, [self.sensitivity()] * number)

    def laplace(
        self,
        charge: int,
        *,
        l1: int = 1,
    ) -> DiscreteLaplace:
        """The discrete Laplace noise that costs `charge` units, whatever the kind of budget.

        `l1` is the L1 sensitivity: the largest L1 distance between the true counts of two
        neighbouring tables. The scale of the noise is l1 / epsilon, where epsilon is
        `pure_epsilon(charge)`. epsilon-differential privacy implies rho-zCDP for rho = epsilon**2 /
        2 (Bun and Steinke 2016, Proposition 1.4). So `charge` units of rho buy epsilon = sqrt(2
        rho), rounded down.
        """
        distance = positive_integer("l1", l1)
        return DiscreteLaplace(distance / self.pure_epsilon(charge))

    def laplace_at_once(self, *, l1: int = 1) -> DiscreteLaplace:
        """The discrete Laplace noise of one answer of L1 sensitivity `l1` that spends the whole
        budget."""
        return self.laplace(self.units, l1=l1)

    def selection(
        self,
        charge: int,
        *,
        spread: int,
    ) -> ExponentialMechanism:
        """The exponential mechanism: a random choice of a high score that costs `charge` units.

        With a rate r it chooses i with a probability proportional to exp(r s_i). Between two tables
        the logarithm of the probability of i changes by r (s_i - s'_i) minus a number that does not
        depend on i. So all changes lie within an interval of length r times `spread`: the mechanism
        has bounded range epsilon = r spread (Dong, Durfee and Rogers 2020). That implies
        epsilon-differential privacy, and rho-zCDP for rho = epsilon**2 / 8 (Cesar and Rogers 2021,
        Lemma 3.4).

        Parameters
        ----------
        charge
            Units to be spent on one choice.
        spread
            A bound on max_i (s_i - s'_i) - min_i (s_i - s'_i) between neighbouring tables. It is
            twice the sensitivity of the scores, or once the sensitivity if an added row can move
            scores in one direction only.
        """
        epsilon = self.range_epsilon(charge)
        return ExponentialMechanism(epsilon / positive_integer("spread", spread))

    @abstractmethod
    def _parameters(self) -> dict[str, Fraction]:
        """The numbers that define this budget, by name."""

    def split(self, shares: Sequence[Number] | int) -> tuple[int, ...]:
        """Divide the whole budget into charges that are proportional to `shares`.

        The charges are whole numbers and sum to exactly `units`. Each is within one unit of its
        exact share.

        Parameters
        ----------
        shares
            Positive weights, or the number of equal pieces.

        Raises
        ------
        BudgetError
            When a share is not positive, there is no share, or a piece would be below one unit.
        """
        return split_units(self.units, shares)

    def to_json(self) -> dict[str, str]:
        """The budget as a dictionary of texts; `budget_from_json` reads it back."""
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

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.describe())}</p>"

    def _set(self, neighbours: Neighbours, rows_per_person: int, **values: Fraction) -> None:
        if not isinstance(neighbours, Neighbours):
            raise BudgetError(
                f"neighbours must be a member of Neighbours, but it is {shown(neighbours)}; pass "
                "Neighbours.ADD_REMOVE_ROW or Neighbours.REPLACE_ROW"
            )
        rows = positive_integer("rows_per_person", rows_per_person)
        if rows > _MOST_ROWS:
            raise BudgetError(
                f"rows_per_person ({shown(rows)}) must be at most {_MOST_ROWS}; pass a smaller "
                "number"
            )
        for name, value in {**values, "neighbours": neighbours, "rows_per_person": rows}.items():
            object.__setattr__(self, name, value)

    def _unit(self) -> str:
        """The neighbouring relation in words."""
        if self.rows_per_person == 1:
            return f"neighbours: {self.neighbours.value}"
        most = f"{self.rows_per_person} at most"
        if self.neighbours is Neighbours.REPLACE_ROW:
            return f"neighbours: replace all rows of a person, {most}, by others, {most}"
        return f"neighbours: add or remove all rows of a person, {most}"

    def _check_unit(self, other: "Budget") -> None:
        if (other.neighbours, other.rows_per_person) != (self.neighbours, self.rows_per_person):
            raise BudgetError(
                f"a budget with {other._unit()} cannot be charged to one with {self._unit()}; use "
                "the same neighbours and rows_per_person"
            )
