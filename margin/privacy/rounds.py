"""Rounds of query draws: sizes, bounded ranges and cost, all fixed before the first draw."""

import math
from dataclasses import dataclass
from fractions import Fraction

from .._checks import positive_integer
from .._numbers import UNIT, Number, exact, shown
from ..errors import BudgetError
from .budget import ApproxDP, Budget, PureDP
from .loss import certified_epsilon

__all__ = ["Rounds"]

_LARGEST = 1 << 40  # largest size, total number of records and total number of draws


@dataclass(
    frozen=True,
    kw_only=True,
)
class Rounds:
    """The plan of the rounds in which Dual Query (Gaboardi et al. 2014) draws queries at random.

    A round makes independent draws among the queries and their negations.

    Rounds t are numbered from 1. Round t draws a query q with a probability proportional to
    exp(step * (sum over the earlier rounds of (c_q / size - a_q))). Here c_q is the number of rows
    for which q is true. a_q is the average answer to q over the `records` published records of that
    earlier round. A negation has its own count: the number of rows for which q is false.

    An added row raises each c_q by zero or one. So, between tables that differ in m rows, the
    logarithms of the probabilities of round t change within an interval of length range_t = step
    (t - 1) m / size. This is a bounded range (Dong, Durfee and Rogers 2020); it is zero in the
    first round. If m rows are replaced by others, the tables differ in 2 m rows.

    Parameters
    ----------
    step
        The learning rate eta, > 0.
    samples
        Number of queries drawn in each round.
    size
        Divisor of the counts, about the number of rows. It must be public: do not take it from the
        data, unless the budget paid for it.
    records
        Number of records that answer in each round.

    Raises
    ------
    BudgetError
        When an argument is not as described.
    """

    step: Fraction
    samples: tuple[int, ...]
    size: int
    records: int = 1

    def __post_init__(self) -> None:
        step: Number = self.step
        object.__setattr__(self, "step", exact("step", step))
        if self.step <= 0:
            raise BudgetError(f"step ({shown(step)}) must be > 0; pass a larger number")
        samples = tuple(positive_integer("samples", number) for number in self.samples)
        object.__setattr__(self, "samples", samples)
        for name in ("size", "records"):
            object.__setattr__(self, name, positive_integer(name, getattr(self, name)))
        if not self.samples:
            raise BudgetError(
                "samples must hold the number of draws of at least one round, but it is empty; add "
                "a number for each round"
            )
        if max(self.size, self.records * len(self.samples), sum(self.samples)) > _LARGEST:
            raise BudgetError(
                f"size ({shown(self.size)}), records * (number of rounds) "
                f"({shown(self.records * len(self.samples))}) and the sum of samples "
                f"({shown(sum(self.samples))}) must each be at most 2**40; use smaller numbers"
            )

    @property
    def rate(self) -> Fraction:
        """The rate of the draws: a query is drawn with probability proportional to
        exp(rate * score).

        The score is the whole number multiplier * count - size * (sum of the records' answers).
        """
        return self.step / (self.size * self.records)

    def multiplier(self, place: int) -> int:
        """The multiplier of the counts in a round; `place` counts the rounds from 0."""
        return self.records * place

    def ranges(self, rows: int) -> tuple[tuple[Fraction, int], ...]:
        """For each round: the bounded range of one draw, and the number of draws.

        `rows` is `Budget.rows`: the number of rows in which neighbouring tables differ.
        """
        each = self.step * rows / self.size
        return tuple((each * place, draws) for place, draws in enumerate(self.samples))

    def cost(self, budget: Budget) -> Fraction:
        """The sum of the epsilons of all draws for a pure budget; otherwise the sum of their rhos.

        A draw of bounded range r has epsilon = r and rho = r**2 / 8 (Cesar and Rogers 2021).
        """
        each = self.step * budget.rows / self.size
        if isinstance(budget, PureDP):
            return each * sum(place * draws for place, draws in enumerate(self.samples))
        squares = sum(place**2 * draws for place, draws in enumerate(self.samples))
        return each**2 * squares / 8

    def units(self, budget: Budget) -> int:
        """The cost of all draws in whole units of 1e-12 of epsilon or rho: rounded up, at least
        1."""
        return max(1, math.ceil(self.cost(budget) / UNIT))

    def epsilon(self, budget: ApproxDP) -> Fraction:
        """An epsilon for which all rounds together are proved (epsilon, budget.delta)-private."""
        return certified_epsilon(self.ranges(budget.rows), budget.delta)
