"""The rule that sets the parameters of Dual Query from public numbers; docs/dualquery.md derives
it."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ..._numbers import UNIT
from ...privacy.budget import ApproxDP, Budget, PureDP
from ...privacy.loss import gaussian_epsilon
from ..fitted import (
    ALL_RECORDS,
    HEAT,
    HEAT_ATTRIBUTES,
    MOST_ROUNDS,
    MOST_ROUNDS_WIDE,
    POOL,
    POOL_WIDE,
    POOLED_DRAWS,
    RECORDS_A_ROUND,
    ROUNDS_A_ROOT_DRAW,
    WIDE_ATTRIBUTES,
)

__all__ = ["Guarantee", "Parameters", "chosen", "guarantee"]

_LEAST_DRAWS = 4.0
_MOST_DRAWS = 2e7


@dataclass(
    frozen=True,
    kw_only=True,
)
class Parameters:
    """A record of values for four parameters of `DualQuery`, which have the same names."""

    step: Fraction
    samples: int
    records: int
    pool: int


@dataclass(
    frozen=True,
    kw_only=True,
)
class Guarantee:
    """Values for the parameters of these names of `DualQuery`, from a bound on its error."""

    step: Fraction
    rounds: int
    samples: int


def guarantee(
    alpha: Fraction,
    beta: Fraction,
    *,
    queries: int,
    log_records: float,
) -> Guarantee:
    """Theorem 4.6: the parameters for errors of at most alpha, except with probability beta.

    For Q the queries with their negations, and X the possible records,

        T = 16 ln|Q| / alpha**2,  eta = alpha / 4,  s = 48 ln(2 |X| T / beta) / alpha**2.

    Proof. By a Chernoff bound and the choice of s (Lemma 4.5), the drawn queries of a round are,
    for each record, true with a frequency within alpha / 4 of their expectation: except with
    probability beta in all rounds together. The rows of the table have an average frequency, and
    the best response at least as much. So the expected payoff q(D) - q(x) of each round is at most
    alpha / 2. By the regret of multiplicative weights, the average payoff of any one query is at
    most eta + ln|Q| / (eta T) = alpha / 2 more. Negations bound the error from below.

    Parameters
    ----------
    alpha, beta
        The bound on the error, as a share of the rows, and the probability that it fails.
    queries
        The number of queries, without negations.
    log_records
        The natural logarithm of the number of possible records.
    """
    rounds = _at_least(16 * math.log(2 * queries) / float(alpha) ** 2)
    logarithm = math.log(2) + log_records + math.log(rounds) - math.log(beta)
    return Guarantee(
        step=alpha / 4,
        rounds=rounds,
        samples=_at_least(48 * logarithm / float(alpha) ** 2),
    )


def _at_least(number: float) -> int:
    """The next whole number, with room for rounding errors."""
    return math.ceil(number * (1 + 1e-12))


def chosen(
    budget: Budget,
    *,
    size: int,
    attributes: int,
) -> Parameters:
    """Set the parameters of Dual Query from public numbers.

    These are the budget, the number of rows (`size`), and the number of attributes that queries
    name.

    Let N be the number of all draws, and A = step * rounds, the factor of a query's error in the
    exponent at the end. The cost of N draws depends only on N A (pure) or N A**2 (rho), however
    they are divided into rounds. The budget thus leaves one choice. It is A = heat * sqrt(N),
    because errors fall like 1 / sqrt(N). The heat is less for many attributes, because each needs
    draws of its own.
    """
    heat = HEAT * (HEAT_ATTRIBUTES / max(attributes, HEAT_ATTRIBUTES)) ** 0.5
    shift = budget.rows / size
    # Solve the cost for N, with A = heat * sqrt(N); `factor` is A.
    if isinstance(budget, PureDP):  # epsilon = N A shift / 2
        product = 2 * float(budget.epsilon) / shift
        draws = _within((product / heat) ** (2 / 3))
        factor = product / draws
    else:  # rho = N (A shift)**2 / 24
        square = 24 * _rho(budget) / shift**2
        draws = _within(math.sqrt(square) / heat)
        factor = math.sqrt(square / draws)
    # Divide the draws into rounds.
    is_wide = attributes > WIDE_ATTRIBUTES
    most_rounds = MOST_ROUNDS_WIDE if is_wide else MOST_ROUNDS
    rounds = min(max(ROUNDS_A_ROOT_DRAW * math.sqrt(draws), 2.0), most_rounds)
    samples = max(1, round(draws / rounds))
    step = Fraction(f"{factor / rounds:.3g}")
    if is_wide:
        least_pool, most_pool = POOL_WIDE
        pool = min(max(least_pool, round(POOLED_DRAWS / samples)), most_pool)
        return Parameters(
            step=step,
            samples=samples,
            records=1,
            pool=pool,
        )
    least_records, most_records = RECORDS_A_ROUND
    records = min(max(least_records, round(ALL_RECORDS / rounds)), most_records)
    return Parameters(
        step=step,
        samples=samples,
        records=records,
        pool=POOL,
    )


def _within(draws: float) -> float:
    return min(max(draws, _LEAST_DRAWS), _MOST_DRAWS)


def _rho(budget: Budget) -> float:
    """The total rho of a budget; for `ApproxDP`, about the largest rho that can be certified."""
    rho = float(budget.units * UNIT)
    if not isinstance(budget, ApproxDP):
        return rho
    low, high = rho, 4 * rho
    for _ in range(30):
        middle = (low + high) / 2
        if gaussian_epsilon(middle, float(budget.delta)) <= budget.epsilon:
            low = middle
        else:
            high = middle
    return low
