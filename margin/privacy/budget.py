"""Privacy budgets as exact integers: what may be spent, how it is split, and which noise a charge
buys.

A budget is a whole number of units of 10**-12 of epsilon (pure differential privacy) or of rho
(zero-concentrated). A charge is such a number too: sums of charges are exact, a piece of a split
always fits, and the parameter of the noise is the exact quotient of sensitivity and charge. No
charge is ever rounded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from .._checks import positive_integer
from .._numbers import UNIT, Number, amount, exact, probability, root_below, shown, text
from ..errors import BudgetError
from ..noise.laws import DiscreteGaussian, DiscreteLaplace, Noise
from .conversion import epsilon_of, rho_below, rho_of
from .protection import Budget, Neighbours
from .purchase import at_once

__all__ = [
    "UNIT",
    "ZCDP",
    "ApproxDP",
    "Budget",
    "CertifiedDP",
    "Neighbours",
    "PureDP",
    "budget_from_json",
    "certified",
    "epsilon_of",
    "rho_of",
]


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Budget):
    """epsilon-differential privacy: the epsilons of charges add up, and buy discrete Laplace noise.

    Parameters
    ----------
    epsilon
        At least 1e-12, at most 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    neighbours
        Which tables count as neighbours.
    rows_per_person
        How many rows a person may have at most: the guarantee then hides all of them together. That
        nobody has more is declared, not checked.

    Raises
    ------
    BudgetError
        When epsilon is not such a number.
    """

    kind = "pure"
    epsilon: Fraction
    neighbours: Neighbours
    rows_per_person: int

    def __init__(
        self,
        epsilon: Number,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW,
        rows_per_person: int = 1,
    ) -> None:
        self._set(neighbours, rows_per_person, epsilon=amount("epsilon", epsilon))

    @property
    def units(self) -> int:
        """See `Budget.units`."""
        return math.floor(self.epsilon / UNIT)

    def noise(self, charge: int, *, l1: int = 1, l2_squared: int = 1) -> DiscreteLaplace:
        """Discrete Laplace noise of scale l1 / epsilon, where epsilon = charge * UNIT; see
        `Budget.noise`."""
        positive_integer("l2_squared", l2_squared)
        return DiscreteLaplace(
            positive_integer("l1", l1) / (positive_integer("charge", charge) * UNIT)
        )

    def pure_epsilon(self, charge: int) -> Fraction:
        """See `Budget.pure_epsilon`."""
        return positive_integer("charge", charge) * UNIT

    def range_epsilon(self, charge: int) -> Fraction:
        """See `Budget.range_epsilon`: bounded range epsilon implies epsilon-differential privacy."""
        return positive_integer("charge", charge) * UNIT

    def cost_of(self, other: Budget) -> int:
        """See `Budget.cost_of`: only pure differential privacy implies pure differential privacy."""
        self._check_unit(other)
        if not isinstance(other, PureDP):
            raise BudgetError(
                f"a {other.kind} release cannot be charged to a pure budget: concentrated privacy does not imply pure "
                f"privacy; use PureDP, or register the data set with ZCDP"
            )
        return other.units

    def describe(self) -> str:
        """See `Budget.describe`."""
        return f"pure differential privacy, epsilon = {text(self.epsilon)}, {self._unit()}"

    def _parameters(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon}


class _Concentrated(Budget):
    """A budget that is spent in units of rho."""

    def noise(self, charge: int, *, l1: int = 1, l2_squared: int = 1) -> DiscreteGaussian:
        """Discrete Gaussian noise of sigma2 = l2_squared / (2 rho), where rho = charge * UNIT; see
        `Budget.noise`."""
        positive_integer("l1", l1)
        rho = positive_integer("charge", charge) * UNIT
        return DiscreteGaussian(positive_integer("l2_squared", l2_squared) / (2 * rho))

    def pure_epsilon(self, charge: int) -> Fraction:
        """See `Budget.pure_epsilon`: epsilon**2 / 2 is the rho of epsilon (Bun and Steinke 2016)."""
        return root_below(2 * positive_integer("charge", charge) * UNIT)

    def range_epsilon(self, charge: int) -> Fraction:
        """See `Budget.range_epsilon`: epsilon**2 / 8 is the rho of a bounded range (Cesar and
        Rogers 2021)."""
        return root_below(8 * positive_integer("charge", charge) * UNIT)

    def cost_of(self, other: Budget) -> int:
        """See `Budget.cost_of`: rho for rho; epsilon**2 / 2 for a pure epsilon."""
        self._check_unit(other)
        if isinstance(other, CertifiedDP):
            raise BudgetError(
                "a release that was certified as a whole cannot be charged in rho: it is not concentrated; "
                "release with a ledger, or with ZCDP"
            )
        if isinstance(other, PureDP):
            return math.ceil((other.units * UNIT) ** 2 / 2 / UNIT)
        return other.units


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(_Concentrated):
    """rho-zero-concentrated differential privacy: the rhos of charges add up, and buy discrete
    Gaussian noise.

    Parameters
    ----------
    rho
        At least 1e-12, at most 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    neighbours
        Which tables count as neighbours.
    rows_per_person
        How many rows a person may have at most: the guarantee then hides all of them together. That
        nobody has more is declared, not checked.

    Raises
    ------
    BudgetError
        When rho is not such a number.
    """

    kind = "zcdp"
    rho: Fraction
    neighbours: Neighbours
    rows_per_person: int

    def __init__(
        self,
        rho: Number,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW,
        rows_per_person: int = 1,
    ) -> None:
        self._set(neighbours, rows_per_person, rho=amount("rho", rho))

    @property
    def units(self) -> int:
        """See `Budget.units`."""
        return math.floor(self.rho / UNIT)

    def describe(self) -> str:
        """See `Budget.describe`."""
        return f"zero-concentrated differential privacy, rho = {text(self.rho)}, {self._unit()}"

    def _parameters(self) -> dict[str, Fraction]:
        return {"rho": self.rho}


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(_Concentrated):
    """(epsilon, delta)-differential privacy, spent as the largest rho of zero-concentrated privacy
    that implies it.

    Where one call of `measure` or `measure_linear` spends all of it, that call is all that is ever
    answered, and the distribution of its privacy loss is known beforehand. It then gets the least
    noise for which that distribution is proved to be (epsilon, delta)-differentially private, a
    tenth to a fifth less variance; see `at_once`.

    Parameters
    ----------
    epsilon
        At least 1e-12, at most 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    delta
        Above 0 and below 1; far below one over the number of rows.
    neighbours
        Which tables count as neighbours.
    rows_per_person
        How many rows a person may have at most: the guarantee then hides all of them together. That
        nobody has more is declared, not checked.

    Raises
    ------
    BudgetError
        When epsilon or delta is not such a number, or they are so small that not even one unit of
        rho is left.
    """

    kind = "approx"
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows_per_person: int

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE_ROW,
        rows_per_person: int = 1,
    ) -> None:
        self._set(
            neighbours,
            rows_per_person,
            epsilon=amount("epsilon", epsilon),
            delta=probability("delta", delta),
        )
        if self.units < 1:
            raise BudgetError(
                f"epsilon ({shown(epsilon)}) and delta ({shown(delta)}) allow less than 1e-12 of rho: raise epsilon"
            )

    @cached_property
    def units(self) -> int:
        """The rho that is spent, as a charge, rounded down."""
        return math.floor(rho_below(self.epsilon, self.delta) / UNIT)

    def at_once(
        self, shares: Sequence[Number] | int, bounds: Sequence[tuple[int, int]]
    ) -> tuple[Noise, ...]:
        """See `Budget.at_once`: discrete Gaussian noise by the distribution of the privacy loss.

        All answers together are (epsilon, delta)-differentially private. No rho follows: nothing
        else may be answered, and a ledger, which adds up rho, takes no such charge. The proof is
        in docs/proofs/composition.md.
        """
        self.split(shares)
        weights = (
            [Fraction(1)] * shares
            if isinstance(shares, int)
            else [exact("a share", share) for share in shares]
        )
        limits, known = (self.epsilon, self.delta), self.units * UNIT
        return at_once(tuple(weights), tuple(bounds), limits, known)

    def laplace_at_once(self, *, l1: int = 1) -> DiscreteLaplace:
        """See `Budget.laplace_at_once`: epsilon-differential privacy is more than (epsilon, delta)."""
        epsilon = max(self.epsilon, self.pure_epsilon(self.units))
        return DiscreteLaplace(positive_integer("l1", l1) / epsilon)

    def describe(self) -> str:
        """See `Budget.describe`."""
        return (
            f"approximate differential privacy, epsilon = {text(self.epsilon)}, delta = {text(self.delta)}, "
            f"spent as zero-concentrated with rho = {text(self.units * UNIT)}, {self._unit()}"
        )

    def _parameters(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon, "delta": self.delta}


class CertifiedDP(ApproxDP):
    """(epsilon, delta)-differential privacy of a release as a whole, by the distribution of its
    privacy loss.

    What `ApproxDP` became where it bought rounds of draws (`Private.sample_queries`), or the noise
    of all that is answered (`ApproxDP.at_once`): neither is concentrated as `ApproxDP` promises. So
    it adds up with others as (epsilon, delta) only, and a ledger, which adds up rho, takes none.
    """

    kind = "certified"

    def describe(self) -> str:
        """See `Budget.describe`."""
        return (
            f"approximate differential privacy, epsilon = {text(self.epsilon)}, delta = {text(self.delta)}, "
            f"certified for the whole release, {self._unit()}"
        )


def certified(budget: Budget) -> CertifiedDP:
    """The `CertifiedDP` of an `ApproxDP` budget's numbers."""
    assert isinstance(budget, ApproxDP)
    unit: dict[str, Any] = {
        "neighbours": budget.neighbours,
        "rows_per_person": budget.rows_per_person,
    }
    return CertifiedDP(budget.epsilon, budget.delta, **unit)


def budget_from_json(record: object) -> Budget:
    """The budget that `Budget.to_json` wrote; BudgetError when `record` is anything else."""
    if not isinstance(record, dict) or not all(
        isinstance(part, str) for item in record.items() for part in item
    ):
        raise BudgetError("the record of a budget must be an object of texts")
    for kind, names in _KINDS.items():
        if record.get("kind") == kind.kind and record.keys() == {
            "kind",
            "neighbours",
            "rows_per_person",
            *names,
        }:
            unit: dict[str, Any] = {
                "neighbours": _neighbours(record["neighbours"]),
                "rows_per_person": _rows(record["rows_per_person"]),
            }
            return kind(**{name: record[name] for name in names}, **unit)
    kinds = ", ".join(kind.kind for kind in _KINDS)
    raise BudgetError(
        f"the record of a budget must have a kind of {kinds}, its own numbers, the neighbours and rows_per_person"
    )


_KINDS: dict[type[PureDP] | type[ZCDP] | type[ApproxDP] | type[CertifiedDP], tuple[str, ...]] = {
    PureDP: ("epsilon",),
    ZCDP: ("rho",),
    ApproxDP: ("epsilon", "delta"),
    CertifiedDP: ("epsilon", "delta"),
}


def _neighbours(written: str) -> Neighbours:
    if written not in [n.value for n in Neighbours]:
        raise BudgetError(f"neighbours must be one of: {', '.join(n.value for n in Neighbours)}")
    return Neighbours(written)


def _rows(written: str) -> int:
    if not written.isascii() or not written.isdecimal() or len(written) > 7:
        raise BudgetError("rows_per_person must be a whole number")
    return int(written)
