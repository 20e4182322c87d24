"""`DualQuery`: a mechanism that answers a million queries on thousands of attributes by synthetic
records; and the privacy that it costs."""

import itertools
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from ..._checks import positive_integer
from ..._numbers import UNIT, Number, exact, probability, shown
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import BudgetError, DomainError
from ...privacy.budget import ApproxDP, Budget, PureDP, epsilon_of
from ...privacy.loss import certified_epsilon, gaussian_epsilon
from ...privacy.rounds import Rounds
from ...private import Private
from ...queries import Conjunctions, Queries
from ...solvers import Anneal, ByComponents, Pulp, Responder
from ...synopses.records import RecordSynopsis
from ..fitted import RECORD_WEIGHT
from .game import Play, probe
from .parameters import chosen, guarantee

__all__ = ["Accounting", "DualQuery", "privacy"]

log = logging.getLogger("margin")

Accounting = Literal["closed", "per_round", "zcdp", "exact"]

_ACCOUNTINGS = ("closed", "per_round", "zcdp", "exact")

_DEFAULT_QUERIES = 100_000
"""Number of random queries if all cells of three attributes are more."""

_MOST_ROUNDS = 20_000

_FOR_ROWS = Fraction(1, 50)
"""Share of epsilon for the number of rows, where it is not public."""

_FOR_ERROR = Fraction(1, 50)
"""Share of epsilon for the estimates of the error."""

_PAPER_SECONDS = 20.0
"""Seconds for each integer programme of the published method (section 6.4).

The authors' own program has 30.
"""

_MARGIN = 1.03
"""Factor on the least budget that a message names, so that this budget is accepted after rounding.
"""


def privacy(
    n: int,
    step: Number,
    rounds: int,
    samples: int | Sequence[int],
    delta: Number | None,
    accounting: Accounting = "exact",
    neighbours: Literal["replace", "add_remove"] = "replace",
) -> float:
    """Compute the privacy cost of Dual Query: its epsilon for tables that differ in one row.

    Parameters
    ----------
    n
        The public number of rows that counts are divided by.
    step
        The learning rate eta.
    rounds
        The number of rounds T.
    samples
        The number of draws s of each round: one number for all rounds, or one for each.
    delta
        The delta of approximate differential privacy, > 0 and < 1. None gives pure differential
        privacy: the sum of the epsilons of all draws, which for equal samples is eta T (T - 1) s /
        n (Theorem 4.2). `accounting` then makes no difference.
    accounting
        "closed" is Theorem 4.3 as printed, for equal samples only. "per_round" is its proof round
        by round, with epsilon_t = 2 eta (t - 1) / n; the published experiments used it. "zcdp" is
        zero-concentrated privacy of choices of bounded range. "exact" is a certified upper bound
        from the distribution of the privacy loss; `DualQuery` pays this.
    neighbours
        "replace": one row is replaced, and n is the number of rows. "add_remove": one row is added
        or removed, and n is any fixed number; every range is then half as large.

    Returns
    -------
    float
        Epsilon, rounded up.

    Raises
    ------
    BudgetError
        When an argument has none of these values.

    Examples
    --------
    >>> kdd = {"n": 494_021, "step": 1.2, "rounds": 170, "samples": 1750, "delta": 0.001}
    >>> [round(privacy(**kdd, accounting=how), 3) for how in ("closed", "per_round", "zcdp")]
    [1.859, 1.029, 0.32]
    """
    if neighbours not in ("replace", "add_remove"):
        raise BudgetError(
            f"neighbours ({shown(neighbours)}) must be 'replace' or 'add_remove'; pass one of these"
        )
    _check_accounting(accounting)
    if isinstance(samples, int):
        each = [samples] * positive_integer("rounds", rounds)
    else:
        each = list(samples)
    if len(each) != rounds:
        raise BudgetError(
            f"samples has {len(each)} numbers, but rounds is {rounds}; give one number for each "
            "round"
        )
    played = Rounds(
        step=exact("step", step),
        samples=tuple(each),
        size=n,
    )
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
            raise BudgetError(
                "accounting='closed' needs equal samples in all rounds, but they differ; use "
                "'per_round', 'zcdp' or 'exact'"
            )
        ranges = (ranges[-1],) * (len(ranges) - 1)
    return _advanced(ranges, float(small))


def _check_accounting(accounting: object) -> None:
    if accounting not in _ACCOUNTINGS:
        raise BudgetError(
            f"accounting ({shown(accounting)}) must be 'closed', 'per_round', 'zcdp' or 'exact'; "
            "pass one of these"
        )


def _advanced(
    ranges: Iterable[tuple[Fraction, int]],
    delta: float,
) -> float:
    """The total epsilon of all rounds by advanced composition.

    `ranges` has the epsilon of one draw and the number of draws of each round. Lemma 2.4 of
    Gaboardi et al. 2014 (Dwork, Rothblum and Vadhan 2010).
    """
    floats = [(float(reach), draws) for reach, draws in ranges]
    squares = sum(draws * reach**2 for reach, draws in floats)
    growth = sum(draws * reach * math.expm1(min(reach, 700.0)) for reach, draws in floats)
    return math.sqrt(2 * math.log(1 / delta) * squares) + growth


@dataclass(
    frozen=True,
    kw_only=True,
)
class DualQuery:
    """A mechanism that generates synthetic records which answer many queries: Dual Query.

    It is a game between queries and records (Gaboardi, Gallego Arias, Hsu, Roth and Wu, ICML 2014).
    In each round the exponential mechanism draws queries on which the records so far are most
    wrong. A solver then finds records for which most of the drawn queries are true: an integer
    programme, solved without access to the data. The answer to a query is the share of all records
    for which it is true. The cost in privacy hardly grows with the number of attributes.

    The step and the numbers of draws are fixed before the first draw. Parameters that are None
    follow from public numbers by the rule of `docs/dualquery.md`: the number of rows, the number of
    attributes that queries name, and the budget. The number of rows is public where neighbours
    replace one row by one row; else it is `size`, or is measured with a fiftieth of the budget. As
    many rounds are played as the budget affords (`Private.sample_queries`). A failure of the solver
    does not change the privacy that is spent.

    With few rows or a small budget, the draws hardly depend on the data, and the answers are worse
    than those of `Uniform`. Errors can be corrected that are larger than about (2 m / (n epsilon))
    to the power of 1/3 under `PureDP`, as shares of the n rows, where neighbours differ in m rows:
    0.09 for n = 3,000 and epsilon = 1. `docs/dualquery.md` derives this.

    Parameters
    ----------
    queries
        The queries to answer well. None takes all cells of the views of the workload; without a
        workload, all cells of all views of three attributes, or 100,000 random ones if there are
        more.
    step
        The learning rate eta, > 0.
    rounds
        The number of rounds.
    samples
        The number of queries that are drawn in each round: one number for all, or one for each.
    response
        The solver of the integer programme. Ten sweeps of annealing are enough: with several
        records and a pool, better solvers gave no better answers. `ByComponents` proves optima
        where that is cheap. The published variant takes a solver of integer programmes.
    records
        The number of records of each round. More records cost no privacy: they answer the same
        draws.
    pool
        The number of rounds, up to the current one, whose draws are answered. A larger pool costs
        no privacy.
    size
        A public number of rows, where the true number is protected. None takes the number that the
        domain declares, if any.
    accounting
        The accounting that limits the rounds of an `ApproxDP` budget; see `privacy`. "exact" and
        "zcdp" use the whole budget. The published "closed" and "per_round" waste a part of it.
    estimate_error
        Whether a fiftieth of the budget is spent on estimates of the mean and the largest error
        over the queries.

    Examples
    --------
    >>> from margin import Neighbours, PureDP, release
    >>> table = {"a": [0, 1, 1] * 9, "b": [0, 0, 1] * 9, "c": [1, 1, 1] * 9}
    >>> budget = PureDP(1, neighbours=Neighbours.REPLACE_ROW)
    >>> sizes = {"a": 2, "b": 2, "c": 2}
    >>> release(table, domain=sizes, budget=budget, mechanism=DualQuery()).records(2).shape
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
                "queries must be None or an object such as margin.queries.Conjunctions(...), but "
                f"it is of type {type(self.queries).__name__}; make such an object"
            )
        has_method = callable(getattr(self.response, "solve", None))
        if isinstance(self.response, type) or not has_method:
            raise DomainError(
                "response must be an object with a method solve, but it is "
                f"{shown(self.response)}; pass one such as margin.solvers.ByComponents()"
            )
        for name in ("rounds", "records", "pool", "size"):
            if getattr(self, name) is not None:
                positive_integer(name, getattr(self, name))
        if self.step is not None and exact("step", self.step) <= 0:
            raise BudgetError(f"step ({shown(self.step)}) must be > 0; pass a larger number")
        if self.samples is not None:
            several = isinstance(self.samples, Sequence) and not isinstance(self.samples, str)
            given = tuple(self.samples) if several else (self.samples,)  # type: ignore[arg-type]
            checked = [positive_integer("samples", number) for number in given]
            object.__setattr__(self, "samples", tuple(checked) if several else checked[0])
            if several and self.rounds not in (None, len(given)):
                raise BudgetError(
                    f"samples has {len(given)} numbers, but rounds is {self.rounds}; give one "
                    "number for each round"
                )
        _check_accounting(self.accounting)

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
        """Make the mechanism as it was published.

        One record answers the draws of each round, with the parameters of section 6.1, for as many
        rounds as the per-round composition of the published experiments allows.

        Each round states the integer programme of section 5.2 and gives it to a solver, which has
        20 seconds. If the time is up, the best record so far is taken (section 6.4). If there is
        none, the record is random. `RecordSynopsis.rounds` says for each round which solver it was,
        how it ended, the record's value, a bound on all values, and the seconds. None of this
        depends on the rows in any other way than through the noisy draws, which are paid for. This
        includes the seconds: an instance follows from the draws and from earlier records.

        With a time limit, equal seeds of a simulation may give different records on another or
        busier machine. For equal results, give a solver with another limit or none, such as
        ``margin.solvers.Pulp(nodes=1000, published=True)``.

        Parameters
        ----------
        queries, step, rounds, samples, size
            See the class.
        response
            Any back-end of `margin.solvers`. None takes CBC through PuLP, as
            ``margin.solvers.Pulp(time_limit=20, published=True)``. The authors used CPLEX:
            ``Pulp(solver="CPLEX_CMD", time_limit=20, published=True)`` if it is installed.
        """
        if response is None:
            response = Pulp(time_limit=_PAPER_SECONDS, published=True)
        return cls(
            queries=queries,
            step=step,
            rounds=rounds,
            samples=samples,
            response=response,
            records=1,
            pool=1,
            size=size,
            accounting="per_round",
        )

    @classmethod
    def for_accuracy(
        cls,
        alpha: Number,
        beta: Number,
        *,
        queries: Queries,
        response: Responder | None = None,
        size: int | None = None,
    ) -> "DualQuery":
        """Theorem 4.6: parameters for errors of at most alpha, except with probability beta.

        They are step = alpha / 4, rounds = 16 ln|Q| / alpha**2 and samples = 48 ln(2 |X| rounds /
        beta) / alpha**2, rounded up. |Q| counts the queries and their negations; |X| counts the
        records on the attributes that queries name. They are worst-case parameters: with those of
        `DualQuery()` or `DualQuery.paper()`, the same budget gives smaller errors in practice. The
        budget must pay for all rounds.

        The theorem needs the best record of each round. If some are not proved to be best, the
        bound is alpha plus the average over the rounds of (bound - value) / samples, from
        `RecordSynopsis.rounds`. The number of rows by which counts are divided must be the true
        one.

        Parameters
        ----------
        alpha
            The largest error, as a share of the rows, > 0 and < 1.
        beta
            The probability that an error is larger, > 0 and < 1.
        queries, size
            See the class.
        response
            The solver. None takes `margin.solvers.ByComponents`.

        Raises
        ------
        BudgetError
            When alpha or beta is not between 0 and 1.
        DomainError
            When queries are not an object such as `margin.queries.Conjunctions`.

        Examples
        --------
        >>> from margin import Domain
        >>> from margin.queries import Conjunctions
        >>> queries = Conjunctions.random(Domain(dict.fromkeys("abcdef", 2)), 3, 160, seed=1)
        >>> mechanism = DualQuery.for_accuracy("0.2", "0.05", queries=queries)
        >>> mechanism.step, mechanism.rounds, mechanism.samples
        (Fraction(1, 20), 2308, 18711)
        """
        if not isinstance(queries, Queries):
            raise DomainError(
                f"queries must be Conjunctions or Parities, but it is of type "
                f"{type(queries).__name__}; make them with margin.queries.Conjunctions(...)"
            )
        given = {"alpha": exact("alpha", alpha), "beta": exact("beta", beta)}
        for name, number in given.items():
            if not 0 < number < 1:
                raise BudgetError(
                    f"{name} must be a number > 0 and < 1, but it is {shown(number)}; for example, "
                    f'{name}="0.1"'
                )
        sizes = np.array(queries.domain.sizes)[queries.used]
        rule = guarantee(
            given["alpha"],
            given["beta"],
            queries=len(queries),
            log_records=float(np.log(sizes).sum()),
        )
        return cls(
            queries=queries,
            step=rule.step,
            rounds=rule.rounds,
            samples=rule.samples,
            response=ByComponents() if response is None else response,
            records=1,
            pool=1,
            size=size,
        )

    @staticmethod
    def cells(
        domain: Domain,
        views: Iterable[Iterable[str]],
    ) -> Conjunctions:
        """Make the queries for all cells of some views.

        All queries name as many attributes as the largest view has: a smaller view is replaced by a
        view of that size that contains it.
        """
        return Conjunctions.cells(domain, _even(domain, Workload.of(domain, views).views))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> RecordSynopsis:
        """Run the mechanism: set the parameters, charge all rounds, and play them.

        Raises
        ------
        BudgetError
            When the budget does not pay for two rounds; the first does not use the data.
        DomainError
            When the queries are about another domain.
        SolverError
            When the solver fails on one public query; nothing is spent then.
        """
        queries = self._queries(private.domain, workload)
        log.info("trying the solver on one query, after its code is compiled or loaded")
        probe(self.response, queries)
        size = self._size(private)
        rounds, pool = self._rounds(private, queries, size)
        log.info("%d rounds of up to %d draws", len(rounds.samples), max(rounds.samples))
        draws = private.sample_queries(queries, rounds, spend=self._share)
        play = Play(
            queries=queries,
            rounds=rounds,
            response=self.response,
            pool=pool,
            weight=RECORD_WEIGHT,
        )
        synopsis = RecordSynopsis(
            domain=private.domain,
            table=play.run(draws),
            total=size,
            rounds=tuple(play.solved),
        )
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
        return replace(
            synopsis,
            mean_error=errors[0],
            largest_error=errors[1],
        )

    @property
    def _share(self) -> Fraction | None:
        """The share of the budget for the rounds; None for all that is left."""
        return 1 - _FOR_ROWS - _FOR_ERROR if self.estimate_error else None

    def _queries(
        self,
        domain: Domain,
        workload: Workload | None,
    ) -> Queries:
        if self.queries is not None:
            if self.queries.domain != domain:
                raise DomainError(
                    "the queries must have the domain of the data, but they have another domain; "
                    "make them with the domain of the release"
                )
            return self.queries
        if workload is not None:
            return self.cells(domain, workload.views)
        k = min(3, len(domain))
        views = []
        cells = 0
        for view in itertools.combinations(domain.attributes, k):
            views.append(view)
            cells += domain.cells(view)
            if cells > _DEFAULT_QUERIES:
                return Conjunctions.random(domain, k, _DEFAULT_QUERIES, 0)
        return Conjunctions.cells(domain, views)

    def _size(self, private: Private) -> int:
        if self.size is not None:
            return self.size
        if private.domain.rows is not None:
            return private.domain.rows
        if private.budget.number_of_rows_is_public:
            return max(1, private.count_rows())
        return max(1, private.count_rows(spend=_pure_share(private.budget, _FOR_ROWS)))

    def _rounds(
        self,
        private: Private,
        queries: Queries,
        size: int,
    ) -> tuple[Rounds, int]:
        """Set the parameters that were not given; return the plan of the rounds, and the pool."""
        rule = chosen(
            private.budget,
            size=size,
            attributes=int(queries.used.sum()),
        )
        step = rule.step if self.step is None else exact("step", self.step)
        records = rule.records if self.records is None else self.records
        pool = rule.pool if self.pool is None else self.pool
        samples = rule.samples if self.samples is None else self.samples

        def played(rounds: int) -> Rounds:
            each = (samples,) * rounds if isinstance(samples, int) else tuple(samples)[:rounds]
            return Rounds(
                step=step,
                samples=each,
                size=size,
                records=records,
            )

        wanted = self.rounds if isinstance(samples, int) else len(samples)
        if wanted is not None:
            return played(wanted), pool
        most = _most_rounds(private, played, self.accounting, self._share)
        if most < 2:
            raise BudgetError(
                "the budget must pay for two rounds, because the first does not use the data, but "
                f"it pays for fewer; {_least(private, played(2), self._share)}"
            )
        return played(most), pool


def _pure_share(budget: Budget, part: Fraction) -> Fraction:
    """The share of a budget that a purely private answer with `part` of its epsilon costs.

    For `ZCDP` the epsilon is sqrt(2 rho).
    """
    if isinstance(budget, PureDP):
        return part
    smallest = Fraction(1, budget.units)
    if isinstance(budget, ApproxDP):
        # Pure privacy of epsilon is rho = epsilon ** 2 / 2.
        rho = (budget.epsilon * part) ** 2 / 2
        return max(rho / (budget.units * UNIT), smallest)
    return max(part**2, smallest)


def _most_rounds(
    private: Private,
    played: Callable[[int], Rounds],
    accounting: Accounting,
    spend: Fraction | None,
) -> int:
    """The largest number of rounds that the budget affords and the accounting allows.

    It may be a few less for `ApproxDP` with exact accounting, where each check is slow.
    """
    budget = private.budget

    def allowed(rounds: int) -> bool:
        return private.affords(played(rounds), spend=spend)

    if not isinstance(budget, ApproxDP):
        return _bisected(allowed)
    delta = float(budget.delta)

    def within_rho(rounds: int) -> bool:
        return played(rounds).units(budget) <= budget.units and allowed(rounds)

    def within_published(rounds: int) -> bool:
        ranges = played(rounds).ranges(budget.rows)
        if accounting == "closed":
            ranges = (ranges[-1],) * (rounds - 1)
        return _advanced(ranges, delta) <= budget.epsilon

    def likely(rounds: int) -> bool:
        rho = float(played(rounds).cost(budget))
        return gaussian_epsilon(rho, delta) <= budget.epsilon * (spend or 1)

    if accounting == "zcdp":
        return _bisected(within_rho)
    if accounting in ("closed", "per_round"):
        return _bisected(within_published)
    # Start from a quick estimate, and step back by 1, 2, 4, ... rounds until the certified bound
    # holds.
    most = _bisected(likely)
    back = 1
    while most > 1 and not allowed(most):
        most -= back
        back *= 2
    return max(most, 1)


def _bisected(holds: Callable[[int], bool]) -> int:
    """The largest number of rounds from 1 to `_MOST_ROUNDS` for which a condition holds.

    If the condition holds for a number, it must hold for all smaller ones.
    """
    low, high = 1, 2
    while high <= _MOST_ROUNDS and holds(high):
        low, high = high, 2 * high
    high = min(high, _MOST_ROUNDS + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _least(private: Private, rounds: Rounds, share: Fraction | None) -> str:
    """The smallest budget that pays for some rounds from this share of it, as words for a message.

    The epsilon of an `ApproxDP` budget grows at most in proportion to what it buys, so dividing by
    the share is enough there too.
    """
    budget = private.budget
    if isinstance(budget, ApproxDP):
        name, cost = "epsilon", float(rounds.epsilon(budget))
    else:
        name = "epsilon" if isinstance(budget, PureDP) else "rho"
        cost = float(rounds.cost(budget))
    enough = cost * _MARGIN / float(share or 1)
    return f"{name} must be at least {enough:.2g}"


def _even(domain: Domain, views: Sequence[View]) -> list[View]:
    """Enlarge views to the same number of attributes, by the smallest attributes that they lack."""
    k = max(map(len, views))
    smallest = sorted(domain, key=lambda name: domain[name].size)
    enlarged = []
    for view in views:
        others = [name for name in smallest if name not in view]
        enlarged.append((*view, *others[: k - len(view)]))
    return enlarged


def _above(number: Fraction) -> float:
    """Round a number up to a float."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)
