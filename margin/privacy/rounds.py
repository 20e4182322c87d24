"""`Rounds`: how many queries are drawn in each round, and what that costs, before anything is
drawn."""

import math
from dataclasses import dataclass
from fractions import Fraction

from .._checks import positive_integer
from .._numbers import UNIT, Number, exact, shown
from ..errors import BudgetError
from .budget import ApproxDP, Budget, PureDP
from .loss import certified_epsilon

__all__ = ["Rounds"]

_LARGEST = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Rounds of independent draws among queries and their negations, as in Dual Query (Gaboardi et
    al. 2014).

    In round t, from 1, a query q is drawn with a probability proportional to exp(step * sum over
    the rounds before of (c_q / size - a_q)), where c_q counts the rows of which q is true, and a_q
    is what `records` published records answered in that round on average. A negation has counts of
    its own, of the rows of which q is false.

    A row added moves each c_q up by zero or one, so the logarithms of the probabilities of round t
    lie, between tables that differ in m rows, in an interval of length range_t = step (t - 1) m /
    size: a bounded range (Dong, Durfee and Rogers 2020), zero in the first round. Where m rows are
    replaced by others, m counts twice.

    Parameters
    ----------
    step
        The learning rate eta, > 0.
    samples
        How many queries are drawn in each round.
    size
        What counts are divided by: about the number of rows, but public, not learnt from them
        unless that was paid for.
    records
        How many records answer in each round.

    Raises
    ------
    BudgetError
        When one of them is not such a number.
    """

    step: Fraction
    samples: tuple[int, ...]
    size: int
    records: int = 1

    def __post_init__(self) -> None:
        step: Number = self.step
        object.__setattr__(self, "step", exact("step", step))
        if self.step <= 0:
            raise BudgetError(f"step ({shown(step)}) must be > 0")
        object.__setattr__(
            self, "samples", tuple(positive_integer("samples", number) for number in self.samples)
        )
        for name in ("size", "records"):
            object.__setattr__(self, name, positive_integer(name, getattr(self, name)))
        if not self.samples:
            raise BudgetError("there must be at least one round")
        if max(self.size, self.records * len(self.samples), sum(self.samples)) > _LARGEST:
            raise BudgetError("size, records and samples must be at most 2**40 in all")

    @property
    def rate(self) -> Fraction:
        """The factor of the whole numbers multiplier * count - size * (sum of the records' answers)
        in the exponent."""
        return self.step / (self.size * self.records)

    def multiplier(self, place: int) -> int:
        """The multiplier of the round in that place, from 0."""
        return self.records * place

    def ranges(self, rows: int) -> tuple[tuple[Fraction, int], ...]:
        """Of each round the bounded range of a draw and the number of draws; `rows` as of
        `Budget.rows`."""
        each = self.step * rows / self.size
        return tuple((each * place, draws) for place, draws in enumerate(self.samples))

    def cost(self, budget: Budget) -> Fraction:
        """The epsilons of all draws for a pure budget, else their rhos: range**2 / 8 (Cesar and
        Rogers 2021)."""
        each = self.step * budget.rows / self.size
        if isinstance(budget, PureDP):
            return each * sum(place * draws for place, draws in enumerate(self.samples))
        return each**2 * sum(place**2 * draws for place, draws in enumerate(self.samples)) / 8

    def units(self, budget: Budget) -> int:
        """`cost` as a charge, rounded up; at least one."""
        return max(1, math.ceil(self.cost(budget) / UNIT))

    def epsilon(self, budget: ApproxDP) -> Fraction:
        """An epsilon such that all rounds together are (epsilon, budget.delta)-differentially
        private, proved."""
        return certified_epsilon(self.ranges(budget.rows), budget.delta)
