"""Privacy budgets in exact integers: the total, its split into charges, and the noise they buy.

One unit is 10**-12 of epsilon (pure differential privacy) or 10**-12 of rho (zero-concentrated
differential privacy). A budget and a charge are whole numbers of units. So sums of charges are
exact, the pieces of a split always fit, and the parameter of the noise is the exact quotient of
sensitivity and charge. No charge is ever rounded.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from .._checks import positive_integer
from .._names import explains_calls
from .._numbers import UNIT, Number, amount, exact, probability, root_below, shown, text
from ..errors import BudgetError
from ..noise.laws import DiscreteGaussian, DiscreteLaplace, Noise
from .composition import Moved, composed_epsilon
from .conversion import epsilon_above, epsilon_of, rho_below, rho_of
from .loss import float_above
from .protection import Budget, Neighbours
from .purchase import at_once
from .split import split_units

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
    "check_budget",
    "epsilon_of",
    "rho_of",
]

_MOST_CHARGES = 200
"""Largest number of different charges whose privacy losses are composed."""


@dataclass(
    frozen=True,
    init=False,
    repr=False,
)
class PureDP(Budget):
    """A budget of pure differential privacy: a total epsilon, spent on discrete Laplace noise.

    The epsilons of all answers of a release add up to at most this total.

    Parameters
    ----------
    epsilon
        From 1e-12 to 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    neighbours
        Which tables count as neighbours.
    rows_per_person
        The largest number of rows of one person. The guarantee hides all of them together. You
        declare this number; the software does not check it.

    Raises
    ------
    BudgetError
        When an argument is not as described.

    Examples
    --------
    >>> import margin
    >>> budget = margin.PureDP("0.5", rows_per_person=3)
    >>> print(budget)
    PureDP(epsilon=0.5, rows_per_person=3)
    """

    kind = "pure"
    kurtosis = 3.0
    epsilon: Fraction
    neighbours: Neighbours
    rows_per_person: int

    @explains_calls(absent="pass it, as in PureDP(1)")
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
        """The whole epsilon in units of 1e-12, rounded down."""
        return math.floor(self.epsilon / UNIT)

    def noise(
        self,
        charge: int,
        *,
        l1: int = 1,
        l2_squared: int = 1,
    ) -> DiscreteLaplace:
        """Discrete Laplace noise of scale l1 / epsilon, where epsilon = charge * UNIT.

        `l2_squared` is checked but has no effect (see `Budget.noise`).
        """
        positive_integer("l2_squared", l2_squared)
        distance = positive_integer("l1", l1)
        epsilon = positive_integer("charge", charge) * UNIT
        return DiscreteLaplace(distance / epsilon)

    def pure_epsilon(self, charge: int) -> Fraction:
        """The epsilon of a charge: `charge` units of 1e-12."""
        return positive_integer("charge", charge) * UNIT

    def range_epsilon(self, charge: int) -> Fraction:
        """The bounded range that a charge buys: `charge` units of 1e-12 of epsilon.

        A choice of bounded range epsilon is epsilon-differentially private.
        """
        return positive_integer("charge", charge) * UNIT

    def cost_of(self, other: Budget) -> int:
        """The cost of another pure budget in units of this budget: its epsilon.

        No other kind of privacy implies pure differential privacy, so other kinds raise
        BudgetError (see `Budget.cost_of`).
        """
        self._check_unit(other)
        if not isinstance(other, PureDP):
            raise BudgetError(
                f"a release of kind {other.kind!r} cannot be charged to a pure budget, because it "
                "does not imply pure privacy; release with PureDP, or with ZCDP from a data set "
                "that is registered with ZCDP"
            )
        return other.units

    def describe(self) -> str:
        """The guarantee in words: kind, epsilon and neighbouring relation."""
        return f"pure differential privacy, epsilon = {text(self.epsilon)}, {self._unit()}"

    def _parameters(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon}


class _Concentrated(Budget):
    """Common base of the budgets that are spent in rho, in units of 10**-12."""

    def noise(
        self,
        charge: int,
        *,
        l1: int = 1,
        l2_squared: int = 1,
    ) -> DiscreteGaussian:
        """Discrete Gaussian noise of sigma2 = l2_squared / (2 rho), where rho = charge * UNIT.

        `l1` is checked but has no effect (see `Budget.noise`).
        """
        positive_integer("l1", l1)
        rho = positive_integer("charge", charge) * UNIT
        square = positive_integer("l2_squared", l2_squared)
        return DiscreteGaussian(square / (2 * rho))

    def pure_epsilon(self, charge: int) -> Fraction:
        """The largest epsilon such that an epsilon-DP answer costs at most `charge` units of rho.

        epsilon-DP implies rho-zCDP with rho = epsilon**2 / 2 (Bun and Steinke 2016). So the result
        is sqrt(2 rho), rounded down.
        """
        rho = positive_integer("charge", charge) * UNIT
        return root_below(2 * rho)

    def range_epsilon(self, charge: int) -> Fraction:
        """The largest bounded range of a choice that costs at most `charge` units of rho.

        Bounded range epsilon implies rho-zCDP with rho = epsilon**2 / 8 (Cesar and Rogers 2021). So
        the result is sqrt(8 rho), rounded down.
        """
        rho = positive_integer("charge", charge) * UNIT
        return root_below(8 * rho)

    def cost_of(self, other: Budget) -> int:
        """The cost of another budget, in units of 1e-12 of rho, rounded up.

        A budget in rho costs its rho; a pure epsilon costs rho = epsilon**2 / 2 (see
        `Budget.cost_of`).
        """
        self._check_unit(other)
        if isinstance(other, CertifiedDP):
            raise BudgetError(
                "a budget in rho pays for releases with zero-concentrated differential privacy "
                "(zCDP), but this release was certified as a whole, by its epsilon and delta only; "
                "release with ZCDP, or pass the ledger to the release itself"
            )
        if isinstance(other, PureDP):
            epsilon = other.units * UNIT
            rho = epsilon**2 / 2
            return math.ceil(rho / UNIT)
        return other.units


@dataclass(
    frozen=True,
    init=False,
    repr=False,
)
class ZCDP(_Concentrated):
    """A budget of zero-concentrated differential privacy: a total rho, spent on discrete Gaussian
    noise.

    The rhos of all answers of a release add up to at most this total.

    Parameters
    ----------
    rho
        From 1e-12 to 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    neighbours
        Which tables count as neighbours.
    rows_per_person
        The largest number of rows of one person. The guarantee hides all of them together. You
        declare this number; the software does not check it.

    Raises
    ------
    BudgetError
        When an argument is not as described.

    Examples
    --------
    >>> import margin
    >>> print(margin.ZCDP("0.1"))
    ZCDP(rho=0.1)
    """

    kind = "zcdp"
    rho: Fraction
    neighbours: Neighbours
    rows_per_person: int

    @explains_calls(absent='pass it, as in ZCDP("0.1")')
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
        """The whole rho in units of 1e-12, rounded down."""
        return math.floor(self.rho / UNIT)

    def measured_epsilon(self, delta: Number, *, shares: Sequence[Number] | int = 1) -> float:
        """The epsilon of tables with Gaussian noise that together spend this budget.

        It is smaller than `margin.epsilon_of`, which holds for everything that is rho-zCDP. It
        follows from the privacy loss of the noise itself (docs/proofs/composition.md), and is
        rounded up. It holds for `Private.measure` only, if the views may follow from earlier
        answers but the shares do not: a call that spends the whole budget, or several calls whose
        shares of the whole budget were fixed beforehand. `Private.select` and others have another
        loss, so a mechanism that uses them has the epsilon of `margin.epsilon_of`.

        Parameters
        ----------
        delta
            Above 0 and below 1.
        shares
            A positive weight for each view, as in `Private.measure`; or the number of views if
            these have equal shares.

        Raises
        ------
        BudgetError
            When an argument is not as described, or a share is less than 1e-12 of rho.

        Examples
        --------
        >>> import margin
        >>> budget = margin.ZCDP("0.1")
        >>> round(budget.measured_epsilon("1e-6", shares=[2, 1, 1]), 3)
        1.994
        >>> round(margin.epsilon_of("0.1", "1e-6"), 3)
        2.142
        """
        allowed = probability("delta", delta)
        of_any = epsilon_above(self.rho, allowed)
        charges = Counter(split_units(self.units, shares))
        if len(charges) > _MOST_CHARGES:
            return float_above(of_any)
        l1, l2_squared = self.sensitivity()
        answers = tuple(
            Moved(self.count_noise(charge), l1, l2_squared, views)
            for charge, views in sorted(charges.items())
        )
        of_noise = composed_epsilon(answers, allowed)
        return float_above(of_any if of_noise is None else min(of_any, of_noise))

    def describe(self) -> str:
        """The guarantee in words: kind, rho and neighbouring relation."""
        return f"zero-concentrated differential privacy, rho = {text(self.rho)}, {self._unit()}"

    def _parameters(self) -> dict[str, Fraction]:
        return {"rho": self.rho}


@dataclass(
    frozen=True,
    init=False,
    repr=False,
)
class ApproxDP(_Concentrated):
    """A budget of (epsilon, delta)-differential privacy, spent as zero-concentrated privacy (rho).

    Charges are in units of rho: the total is the largest rho that is proved to imply
    (epsilon, delta).

    When one call of `measure` or `measure_linear` spends the whole budget, nothing else is ever
    answered, so the distribution of the privacy loss is known beforehand. Such a call gets the
    least noise for which that distribution is proved to be (epsilon, delta)-differentially private.
    Its variance is usually 8 to 15 percent lower; see `at_once`.

    Parameters
    ----------
    epsilon
        From 1e-12 to 1e6. A float is read as its shortest decimal form: 0.1 is one tenth.
    delta
        Above 0 and below 1; at most 0.1 in a release. Choose it far below 1 / (number of rows).
    neighbours
        Which tables count as neighbours.
    rows_per_person
        The largest number of rows of one person. The guarantee hides all of them together. You
        declare this number; the software does not check it.

    Raises
    ------
    BudgetError
        When an argument is not as described, or when epsilon and delta allow less than one unit of
        rho.

    Examples
    --------
    >>> import margin
    >>> print(margin.ApproxDP(1, "1e-6"))
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    kind = "approx"
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    rows_per_person: int

    @explains_calls(absent='pass it, as in ApproxDP(1, "1e-6")')
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
                f"epsilon ({shown(epsilon)}) and delta ({shown(delta)}) must allow at least 1e-12 "
                "of rho, the smallest amount that can be spent, but they allow less; pass a larger "
                "epsilon"
            )

    @cached_property
    def units(self) -> int:
        """The budget in units of 1e-12 of rho: the largest rho proved to imply (epsilon, delta)."""
        return math.floor(rho_below(self.epsilon, self.delta) / UNIT)

    def at_once(
        self,
        shares: Sequence[Number] | int,
        bounds: Sequence[tuple[int, int]],
    ) -> tuple[Noise, ...]:
        """The noise of answers when one call spends the whole budget: discrete Gaussian, with a
        variance found from the distribution of the privacy loss.

        `shares` and `bounds` are those of `Budget.at_once`; the result has one noise for each
        answer.

        All answers together are (epsilon, delta)-differentially private. They have no guarantee in
        rho. So nothing else may be answered, and a ledger, which adds up rhos, refuses such a
        charge. The proof is in docs/proofs/composition.md.
        """
        self.split(shares)  # checks the shares
        if isinstance(shares, int):
            weights = [Fraction(1)] * shares
        else:
            weights = [exact("a share", share) for share in shares]
        limits = (self.epsilon, self.delta)
        known = self.units * UNIT
        return at_once(tuple(weights), tuple(bounds), limits, known)

    def laplace_at_once(self, *, l1: int = 1) -> DiscreteLaplace:
        """Discrete Laplace noise for one answer of L1 sensitivity `l1` that spends the whole
        budget.

        The noise uses the full epsilon, because epsilon-DP implies (epsilon, delta)-DP for every
        delta.
        """
        epsilon = max(self.epsilon, self.pure_epsilon(self.units))
        return DiscreteLaplace(positive_integer("l1", l1) / epsilon)

    def describe(self) -> str:
        """The guarantee in words: kind, epsilon, delta, the rho it is spent as, and neighbouring
        relation."""
        return (
            f"approximate differential privacy, epsilon = {text(self.epsilon)},"
            f" delta = {text(self.delta)}, spent as zero-concentrated with"
            f" rho = {text(self.units * UNIT)}, {self._unit()}"
        )

    def _parameters(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon, "delta": self.delta}


class CertifiedDP(ApproxDP):
    """The guarantee of a release that is (epsilon, delta)-differentially private only as a whole.

    It is proved by the distribution of the release's privacy loss.

    An `ApproxDP` budget becomes a `CertifiedDP` budget when it buys rounds of draws
    (`Private.sample_queries`) or the noise of all answers in one call (`ApproxDP.at_once`). Neither
    of the two has the guarantee in rho that `ApproxDP` promises. So such a release composes with
    others as (epsilon, delta) only, and a ledger, which adds up rhos, refuses it.
    """

    kind = "certified"

    def describe(self) -> str:
        """The guarantee in words: kind, epsilon, delta and neighbouring relation."""
        return (
            f"approximate differential privacy, epsilon = {text(self.epsilon)},"
            f" delta = {text(self.delta)}, certified for the whole release, {self._unit()}"
        )


def certified(budget: Budget) -> CertifiedDP:
    """The `CertifiedDP` guarantee with the numbers and neighbouring relation of an `ApproxDP`."""
    assert isinstance(budget, ApproxDP)
    unit: dict[str, Any] = {
        "neighbours": budget.neighbours,
        "rows_per_person": budget.rows_per_person,
    }
    return CertifiedDP(budget.epsilon, budget.delta, **unit)


def budget_from_json(record: object) -> Budget:
    """Read a budget from the dictionary of texts that `Budget.to_json` wrote.

    Raises
    ------
    BudgetError
        When `record` is anything else.
    """
    if not isinstance(record, dict):
        raise BudgetError(_NOT_TEXTS)
    if not all(isinstance(part, str) for item in record.items() for part in item):
        raise BudgetError(_NOT_TEXTS)
    for kind, names in _KINDS.items():
        keys = {"kind", "neighbours", "rows_per_person", *names}
        if record.get("kind") != kind.kind or record.keys() != keys:
            continue
        unit: dict[str, Any] = {
            "neighbours": _neighbours(record["neighbours"]),
            "rows_per_person": _rows(record["rows_per_person"]),
        }
        return kind(
            **{name: record[name] for name in names},
            **unit,
        )
    kinds = ", ".join(kind.kind for kind in _KINDS)
    raise BudgetError(
        f"the record of a budget must have a kind (one of {kinds}), the numbers of that kind, "
        "neighbours and rows_per_person, and nothing else, but it has the kind "
        f"{shown(record.get('kind'))} and the keys {shown(sorted(record))}; correct it"
    )


_NOT_TEXTS = (
    "the record of a budget must be an object whose keys and values are all texts, but it is not;"
    " write it with to_json"
)


_LARGEST_DELTA = Fraction(1, 10)
"""Largest delta of a release. Every table is large enough for a smaller one."""


def check_budget(budget: object) -> None:
    """Raise BudgetError if an object is not a budget that a release can spend."""
    if isinstance(budget, ApproxDP) and budget.delta > _LARGEST_DELTA:
        raise BudgetError(
            f"delta ({float(budget.delta):g}) must be at most {float(_LARGEST_DELTA)} in a "
            "release, since its guarantee allows that the rows are published as they are with "
            "this probability; pass far less than 1 / (number of rows), such as delta=1e-6"
        )
    if isinstance(budget, PureDP | ZCDP | ApproxDP):
        return
    if isinstance(budget, type):
        raise BudgetError(
            f"budget must be PureDP, ZCDP or ApproxDP with its numbers, but it is the class "
            f"{budget.__name__} without any; call it, as in PureDP(1)"
        )
    kind = type(budget).__name__
    example = ""
    if isinstance(budget, int | float) and not isinstance(budget, bool) and budget > 0:
        example = f", such as PureDP({budget})"
    raise BudgetError(
        f"budget must be PureDP, ZCDP or ApproxDP, not {kind}; pass one of these{example}"
    )


_KINDS: dict[type[PureDP] | type[ZCDP] | type[ApproxDP] | type[CertifiedDP], tuple[str, ...]] = {
    PureDP: ("epsilon",),
    ZCDP: ("rho",),
    ApproxDP: ("epsilon", "delta"),
    CertifiedDP: ("epsilon", "delta"),
}


def _neighbours(written: str) -> Neighbours:
    if written not in [n.value for n in Neighbours]:
        raise BudgetError(
            f"neighbours ({shown(written)}) must be one of: "
            f"{', '.join(n.value for n in Neighbours)}; name one of these"
        )
    return Neighbours(written)


def _rows(written: str) -> int:
    if not written.isascii() or not written.isdecimal() or len(written) > 7:
        raise BudgetError(
            f"rows_per_person ({shown(written)}) must be a whole number of at most 7 digits; pass "
            "such a number"
        )
    return int(written)
