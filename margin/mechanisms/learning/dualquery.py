"""`DualQuery`: a million queries on thousands of attributes, answered by synthetic records; and
what it costs."""

import itertools
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from ..._checks import positive_integer
from ..._numbers import UNIT, Number, exact, probability, shown
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import BudgetError, DomainError, SolverError
from ...privacy.budget import ApproxDP, Budget, PureDP, epsilon_of
from ...privacy.loss import certified_epsilon, gaussian_epsilon
from ...privacy.rounds import Rounds
from ...private import Private
from ...queries import Conjunctions, Queries
from ...solvers import Anneal, ByComponents, Responder
from ...synopses.records import RecordSynopsis
from .game import Play, probe
from .parameters import chosen

__all__ = ["Accounting", "DualQuery", "privacy"]

log = logging.getLogger("margin")

Accounting = Literal["closed", "per_round", "zcdp", "exact"]

_DEFAULT_QUERIES = 100_000
_MOST_ROUNDS = 20_000
_FOR_ROWS = Fraction(1, 50)  # of epsilon, where the number of rows is not public
_FOR_ERROR = Fraction(1, 50)


def privacy(
    n: int,
    step: Number,
    rounds: int,
    samples: int | Sequence[int],
    delta: Number | None,
    accounting: Accounting = "exact",
    neighbours: Literal["replace", "add_remove"] = "replace",
) -> float:
    """The epsilon of Dual Query, for one row of a person.

    Parameters
    ----------
    n
        The public number of rows that counts are divided by.
    step
        The learning rate eta.
    rounds
        T.
    samples
        The draws s of each round: one number, or one a round.
    delta
        Above 0 and below 1; None for pure differential privacy, the sum of the epsilons of all
        draws, which for equal samples is Theorem 4.2, eta T (T - 1) s / n. `accounting` is then of
        no matter.
    accounting
        "closed": Theorem 4.3, as printed (equal samples only); "per_round": its proof round by
        round, epsilon_t = 2 eta (t - 1) / n, which the published experiments used; "zcdp":
        zero-concentrated privacy of choices of bounded range; "exact": the distribution of the
        privacy loss, a certified upper bound, which is what `DualQuery` pays.
    neighbours
        "replace": a row is replaced, and n is the number of rows. "add_remove": a row is added or
        removed, and n is any fixed number; every range is then half as large.

    Raises
    ------
    BudgetError
        When an argument is not such a value.

    Examples
    --------
    >>> kdd = {"n": 494_021, "step": 1.2, "rounds": 170, "samples": 1750, "delta": 0.001}
    >>> [round(privacy(**kdd, accounting=how), 3) for how in ("closed", "per_round", "zcdp")]
    [1.859, 1.029, 0.32]
    """
    if neighbours not in ("replace", "add_remove"):
        raise BudgetError(f"neighbours ({shown(neighbours)}) must be 'replace' or 'add_remove'")
    if accounting not in ("closed", "per_round", "zcdp", "exact"):
        raise BudgetError(
            f"accounting ({shown(accounting)}) must be 'closed', 'per_round', 'zcdp' or 'exact'"
        )
    each = (
        [samples] * positive_integer("rounds", rounds)
        if isinstance(samples, int)
        else list(samples)
    )
    if len(each) != rounds:
        raise BudgetError(f"{len(each)} samples are given for {rounds} rounds")
    played = Rounds(step=exact("step", step), samples=tuple(each), size=n)
    ranges = played.ranges(2 if neighbours == "replace" else 1)
    if delta is None:
        return _above(sum((reach * draws for reach, draws in ranges), Fraction(0)))
    small = probability("delta", delta)
    if accounting == "exact":
        return _above(certified_epsilon(ranges, small))
    if accounting == "zcdp":
        rho = sum((reach**2 * draws for reach, draws in ranges), Fraction(0)) / 8
        return epsilon_of(rho, small) if rho else 0.0
    if accounting == "closed":
        if len(set(each)) > 1:
            raise BudgetError("the closed form is for equal samples in all rounds")
        ranges = (ranges[-1],) * (len(ranges) - 1)
    return _advanced(ranges, float(small))


def _advanced(ranges: Iterable[tuple[Fraction, int]], delta: float) -> float:
    """Advanced composition, one epsilon a draw: Lemma 2.4 of Gaboardi et al. 2014 (Dwork, Rothblum
    and Vadhan 2010)."""
    floats = [(float(reach), draws) for reach, draws in ranges]
    squares = sum(draws * reach**2 for reach, draws in floats)
    growth = sum(draws * reach * math.expm1(min(reach, 700.0)) for reach, draws in floats)
    return math.sqrt(2 * math.log(1 / delta) * squares) + growth


@dataclass(frozen=True, kw_only=True)
class DualQuery:
    """Dual Query (Gaboardi, Gallego Arias, Hsu, Roth and Wu, ICML 2014): a game between queries and
    records.

    In each round queries are drawn where the records so far are most wrong, by the exponential
    mechanism, and records are sought of which most of the drawn queries are true: an integer
    programme, solved without looking at the data. A query's answer is the share of all records of
    which it is true. Cost hardly grows with the number of attributes.

    What is drawn, how often and with which step is settled before the first draw, by
    `docs/dualquery.md`'s rule from public numbers wherever a parameter is None: the number of rows
    (public where neighbours replace one row by one row; else `size`, or measured with a fiftieth of
    the budget), the numbers of attributes and queries, and the budget. As many rounds are played as
    the budget affords (`Private.sample_queries`). Solvers may fail: what is spent is the same.

    Parameters
    ----------
    queries
        What is to be answered well. None: all cells of the views of the workload; without one, all
        cells of all views of three attributes, or 100,000 of them at random where they are more.
    step
        The learning rate eta.
    rounds
        How many rounds to play.
    samples
        How many queries are drawn in each round: one number, or one a round.
    response
        The solver of the integer programme. Ten sweeps of annealing do: with several records and a
        pool, better ones answered no better. The published variant takes `ByComponents`, which
        proves optima where it can.
    records
        How many records answer in each round. More cost nothing: they answer the same draws.
    pool
        Of how many rounds, the last ones, the draws are answered. More cost nothing.
    size
        A public number of rows, where the number is protected; None takes the domain's, where it
        declares one.
    accounting
        Which accounting limits the rounds of an `ApproxDP` budget. "exact" and "zcdp" use all of
        it; with the published ones, "closed" and "per_round" (see `privacy`), some is spent in
        vain.
    estimate_error
        Whether a fiftieth of the budget is spent on estimates of the mean and largest error over
        the queries.

    Examples
    --------
    >>> from margin import Neighbours, PureDP, release
    >>> table = {"a": [0, 1, 1] * 9, "b": [0, 0, 1] * 9, "c": [1, 1, 1] * 9}
    >>> budget = PureDP(1, neighbours=Neighbours.REPLACE_ROW)
    >>> release(table, domain={"a": 2, "b": 2, "c": 2}, budget=budget, mechanism=DualQuery()).records(2).shape
    (2, 3)
    """

    queries: Queries | None = None
    step: Number | None = None
    rounds: int | None = None
    samples: int | Sequence[int] | None = None
    response: Responder = field(default_factory=lambda: Anneal(sweeps=10))
    records: int | None = None
    pool: int | None = None
    size: int | None = None
    accounting: Accounting = "exact"
    estimate_error: bool = False

    def __post_init__(self) -> None:
        if self.queries is not None and not isinstance(self.queries, Queries):
            raise DomainError(
                "queries must be queries, such as margin.queries.Conjunctions, or None"
            )
        if isinstance(self.response, type) or not callable(getattr(self.response, "solve", None)):
            raise DomainError(
                "response must be an object with a method solve, such as margin.solvers.ByComponents()"
            )
        for name in ("rounds", "records", "pool", "size"):
            if getattr(self, name) is not None:
                positive_integer(name, getattr(self, name))
        if self.step is not None and exact("step", self.step) <= 0:
            raise BudgetError(f"step ({shown(self.step)}) must be > 0")
        if self.samples is not None:
            several = isinstance(self.samples, Sequence) and not isinstance(self.samples, str)
            given = tuple(self.samples) if several else (self.samples,)  # type: ignore[arg-type]
            checked = [positive_integer("samples", number) for number in given]
            object.__setattr__(self, "samples", tuple(checked) if several else checked[0])
            if several and self.rounds not in (None, len(given)):
                raise BudgetError(
                    f"samples are given for {len(given)} rounds, but rounds is {self.rounds}"
                )
        if self.accounting not in ("closed", "per_round", "zcdp", "exact"):
            raise BudgetError("accounting must be 'closed', 'per_round', 'zcdp' or 'exact'")

    @classmethod
    def paper(
        cls,
        *,
        queries: Queries | None = None,
        step: Number = 2,
        rounds: int | None = None,
        samples: int = 1000,
        response: Responder | None = None,
        size: int | None = None,
    ) -> "DualQuery":
        """As published: one record a round for the draws of that round, parameters of section 6.1,
        and as many rounds as the per-round composition of the published experiments allows."""
        return cls(
            queries=queries,
            step=step,
            rounds=rounds,
            samples=samples,
            response=ByComponents(otherwise=Anneal(sweeps=30)) if response is None else response,
            records=1,
            pool=1,
            size=size,
            accounting="per_round",
        )

    @staticmethod
    def cells(domain: Domain, views: Iterable[Iterable[str]]) -> Conjunctions:
        """The cells of views; of those with fewer attributes than others, the cells of larger views
        that hold them."""
        return Conjunctions.cells(domain, _even(domain, Workload.of(domain, views).views))

    def run(self, private: Private, workload: Workload | None) -> RecordSynopsis:
        """Settle the parameters, charge for all rounds, play them; SolverError when the solver is
        of no use."""
        queries = self._queries(private.domain, workload)
        problem = probe(self.response, queries)
        if problem:
            raise SolverError(f"the solver {type(self.response).__name__} is of no use: {problem}")
        size = self._size(private)
        rounds, pool = self._rounds(private, queries, size)
        log.info("%d rounds of up to %d draws", len(rounds.samples), max(rounds.samples))
        draws = private.sample_queries(queries, rounds, spend=self._share)
        play = Play(queries=queries, rounds=rounds, response=self.response, pool=pool, weight=0.3)
        synopsis = RecordSynopsis(domain=private.domain, table=play.run(draws), total=size)
        if not self.estimate_error:
            return synopsis
        spend = _pure_share(private.budget, _FOR_ERROR / 2)
        errors = private.query_errors(
            queries,
            queries.counts(synopsis.table),
            records=synopsis.table.rows,
            size=size,
            spend=2 * spend,
        )
        return replace(synopsis, mean_error=errors[0], largest_error=errors[1])

    @property
    def _share(self) -> Fraction | None:
        """What of the budget is for the rounds: None for all that is left."""
        return 1 - _FOR_ROWS - _FOR_ERROR if self.estimate_error else None

    def _queries(self, domain: Domain, workload: Workload | None) -> Queries:
        if self.queries is not None:
            if self.queries.domain != domain:
                raise DomainError("the queries are of another domain than the data")
            return self.queries
        if workload is not None:
            return self.cells(domain, workload.views)
        k = min(3, len(domain))
        views = itertools.combinations(domain.attributes, k)
        few, cells = [], 0
        for view in views:
            few.append(view)
            cells += domain.cells(view)
            if cells > _DEFAULT_QUERIES:
                return Conjunctions.random(domain, k, _DEFAULT_QUERIES, 0)
        return Conjunctions.cells(domain, few)

    def _size(self, private: Private) -> int:
        if self.size is not None:
            return self.size
        if private.domain.rows is not None:
            return private.domain.rows
        if private.budget.number_of_rows_is_public:
            return max(1, private.count_rows())
        return max(1, private.count_rows(spend=_pure_share(private.budget, _FOR_ROWS)))

    def _rounds(self, private: Private, queries: Queries, size: int) -> tuple[Rounds, int]:
        """What is played: given, or by the rule; and the pool."""
        rule = chosen(private.budget, size=size, attributes=int(queries.used.sum()))
        step = rule.step if self.step is None else exact("step", self.step)
        records = rule.records if self.records is None else self.records
        pool = rule.pool if self.pool is None else self.pool
        samples = rule.samples if self.samples is None else self.samples

        def played(rounds: int) -> Rounds:
            each = (samples,) * rounds if isinstance(samples, int) else tuple(samples)[:rounds]
            return Rounds(step=step, samples=each, size=size, records=records)

        wanted = self.rounds if isinstance(samples, int) else len(samples)
        if wanted is not None:
            return played(wanted), pool
        most = _most_rounds(private, played, self.accounting, self._share)
        if most < 2:
            raise BudgetError(
                f"the budget does not pay for one round that looks at the data: {_least(private, played(2))}"
            )
        return played(most), pool


def _pure_share(budget: Budget, part: Fraction) -> Fraction:
    """The part of a budget that buys this part of its epsilon, or of sqrt(2 rho), in pure
    differential privacy."""
    if isinstance(budget, PureDP):
        return part
    if isinstance(budget, ApproxDP):
        return max(
            (budget.epsilon * part) ** 2 / 2 / (budget.units * UNIT), Fraction(1, budget.units)
        )
    return max(part**2, Fraction(1, budget.units))


def _most_rounds(
    private: Private,
    played: Callable[[int], Rounds],
    accounting: Accounting,
    spend: Fraction | None,
) -> int:
    """As many rounds as the budget affords and the accounting allows; a few less where certificates
    are slow."""
    budget = private.budget
    published = accounting in ("closed", "per_round")

    def allowed(rounds: int) -> bool:
        return private.affords(played(rounds), spend=spend)

    if not isinstance(budget, ApproxDP):
        return _bisected(allowed)
    if accounting == "zcdp":
        return _bisected(
            lambda rounds: played(rounds).units(budget) <= budget.units and allowed(rounds)
        )
    if published:

        def within(rounds: int) -> bool:
            some = played(rounds)
            ranges = some.ranges(budget.rows)
            if accounting == "closed":
                ranges = (ranges[-1],) * (rounds - 1)
            return _advanced(ranges, float(budget.delta)) <= budget.epsilon

        return _bisected(within)

    def likely(rounds: int) -> bool:
        return gaussian_epsilon(
            float(played(rounds).cost(budget)), float(budget.delta)
        ) <= budget.epsilon * (spend or 1)

    most, back = _bisected(likely), 1
    while most > 1 and not allowed(most):
        most, back = most - back, 2 * back
    return max(most, 1)


def _bisected(holds: Callable[[int], bool]) -> int:
    """The largest number of rounds from 1 to `_MOST_ROUNDS` for which something holds that holds
    for all fewer."""
    low, high = 1, 2
    while high <= _MOST_ROUNDS and holds(high):
        low, high = high, 2 * high
    high = min(high, _MOST_ROUNDS + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _least(private: Private, rounds: Rounds) -> str:
    """What a budget must be at least."""
    budget = private.budget
    if isinstance(budget, ApproxDP):
        return f"epsilon must be at least {float(rounds.epsilon(budget)) * 1.03:.2g}"
    name = "epsilon" if isinstance(budget, PureDP) else "rho"
    return f"{name} must be at least {float(rounds.cost(budget)) * 1.03:.2g}"


def _even(domain: Domain, views: Sequence[View]) -> list[View]:
    """The views, each enlarged by the smallest attributes it lacks until all have equally many."""
    k = max(map(len, views))
    smallest = sorted(domain, key=lambda name: domain[name].size)
    return [
        (*view, *[name for name in smallest if name not in view][: k - len(view)]) for view in views
    ]


def _above(number: Fraction) -> float:
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)
