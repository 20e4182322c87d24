"""Private draws of queries, round after round."""

import logging
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import positive_integer
from .._numbers import Number
from .._types import Integers
from ..domain.domain import Domain
from ..errors import BudgetError, DomainError
from ..noise.laws import ExponentialMechanism
from ..privacy.budget import ApproxDP
from ..privacy.event import Event, pure_epsilon
from ..privacy.rounds import Rounds
from ..privacy.split import split_units
from ..queries import BitTable, Conjunctions, Parities
from ..queries import Queries as Workload
from ..queries.bits import MAX_WORDS, Lines
from .counts import digest, whole
from .gate import Gate

__all__ = ["Queries", "QueryRounds", "pure_epsilon"]

log = logging.getLogger("margin")

_LARGEST = 1 << 59
"""Largest absolute value of each part of a score, so that no score is above 2**61. Larger arguments
are refused, larger counts are cut off: a refusal that depends on the rows would reveal their number
without a charge."""

_AT_ONCE = 1 << 20
"""Number of queries that are copied, checked and counted together."""


class Queries(Gate):
    """The part of `Private` that counts rows, draws queries, and measures errors of queries."""

    def count_rows(self, *, spend: Number | None = None) -> int:
        """Count the rows, with noise unless their number is public.

        If neighbours replace one row by one row, all neighbours have the same number of rows. Then
        the true number is returned, without a charge. Otherwise discrete Laplace noise is added. At
        most m rows of a person are added, removed, or replaced by at most m others, so the number
        changes by at most m: the sensitivity is m in the L1 norm and in the L2 norm. A budget of
        rho buys epsilon = sqrt(2 rho), rounded down.

        Parameters
        ----------
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Raises
        ------
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        if self.budget.number_of_rows_is_public:
            return self._number_of_rows()
        units = self._units(spend)
        l1 = self.budget.rows_per_person
        l2_squared = l1**2
        noise = self.budget.laplace(units, l1=l1)
        event = Event(
            method="count_rows",
            about=(),
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
        )
        true = np.array([self._number_of_rows()], np.int64)
        noisy = self._noisy([event], [true])[0]
        return int(noisy[0])

    def affords(
        self,
        rounds: Rounds,
        *,
        spend: Number | None = None,
    ) -> bool:
        """True if the budget holds enough for `sample_queries` with these arguments.

        No sensitivity: the result depends only on the budget, on the amount spent so far, and on
        the arguments, not on the rows.

        Parameters
        ----------
        rounds, spend
            See `sample_queries`.
        """
        played = _copied(rounds)
        try:
            self._charge_for(played, self._share(spend))
        except BudgetError:
            return False
        return True

    def sample_queries(
        self,
        queries: Workload,
        rounds: Rounds,
        *,
        spend: Number | None = None,
    ) -> "QueryRounds":
        """Prepare rounds of random draws among queries and their negations.

        Each draw is made by the exponential mechanism, which prefers queries that the records
        published so far answer badly.
        The score of query q in round t is multiplier_t * c_q - size * a_q, in whole numbers. Here
        c_q is the number of rows for which q is true, a_q is the sum of the answers to q of the
        records published so far, and multiplier_t = records * (t - 1). A negation has the same
        score with its own count: the number of rows for which q is false. (This is minus the score
        of q only if there are exactly `size` rows.) Adding a row raises each count by zero or one
        and lowers none. So the changes of two scores differ by at most multiplier_t for one row,
        and by at most `Budget.rows` times multiplier_t for neighbours.

        All rounds are charged together, before the first draw: the sum of their epsilons or rhos
        (`Rounds.cost`). If `spend` of an `ApproxDP` budget is less than this sum, there is a second
        way to pay: the rounds are certified as (epsilon', delta)-differentially private
        (`Rounds.epsilon`). Here epsilon' is the share `spend` of the budget's epsilon minus the
        epsilons of all earlier answers, which must have been purely private. All later answers must
        be purely private too, within the rest of epsilon, by basic composition. Certified rounds do
        not have the guarantee in rho that the budget promises. So they are refused if there is a
        ledger, which adds up rhos, and `Private.spent` becomes a `CertifiedDP` budget.

        Parameters
        ----------
        queries
            Queries over the domain of this object.
        rounds
            The number of draws in each round, and the step.
        spend
            Upper bound on the charge, as a share of the whole budget; by default all that is left.

        Returns
        -------
        QueryRounds
            An object whose `draw` makes the draws of one round after another.

        Raises
        ------
        BudgetError
            When the rounds cost more than is left. Nothing is charged.
        DomainError, DataError
            When the queries have another domain, or the rows do not fit it. Nothing is charged.
        """
        self._check_queries(queries)
        played = _copied(rounds)
        units = self._charge_for(played, self._share(spend))
        if max(played.multiplier(len(played.samples)), 1) * played.size > _LARGEST:
            raise DomainError(
                "the product of rounds, records and size must be at most 2**59, but it is larger; "
                "use fewer rounds or records, or a smaller size"
            )
        self._query_counts(queries)
        return QueryRounds(self, queries, played, units)

    def query_errors(
        self,
        queries: Workload,
        answered: npt.ArrayLike,
        *,
        records: int,
        size: int,
        spend: Number | None = None,
    ) -> tuple[float, float]:
        """The mean and the largest absolute error of published records on queries, with noise.

        In whole numbers the error of query q is |records * c_q - size * a_q|, where c_q is its
        count and a_q is the number of records for which it is true. Adding a row changes each error
        by at most `records`. So the sensitivity of the sum of the errors is `records` times the
        number of queries, and the sensitivity of the largest error is `records`, in L1 and in L2.
        Counts are cut off where the sum would exceed 2**59, which does not increase the difference
        of any two of them. Each of the two numbers gets discrete Laplace noise for half of the
        charge. A budget of rho buys epsilon = sqrt(2 rho), rounded down.

        If m rows are replaced by m others, each count changes by at most m in total. So each error
        changes by at most m times `records`, in L1 and in L2, which is within the declared bound.

        Parameters
        ----------
        queries
            Queries over the domain of this object.
        answered
            For each query, the number of records for which it is true: integers, shape (queries,).
        records
            Number of records.
        size
            The public number of rows.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        float, float
            The mean error and the largest error, as shares of the rows.

        Raises
        ------
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DomainError, DataError
            When an argument is not as described, or the rows do not fit the domain. Nothing is
            charged.
        """
        # Check copies of the arguments.
        self._check_queries(queries)
        true_counts, _ = self._query_counts(queries)
        known = whole("answered", answered, true_counts.shape)
        number = true_counts.size
        records = positive_integer("records", records)
        size = positive_integer("size", size)
        if max(records, int(np.abs(known).max())) * size * number > _LARGEST:
            raise DomainError(
                "the product of size, the number of queries, and the larger of records and answers "
                "must be at most 2**59, but it is larger; use smaller numbers"
            )

        # The noise of the sum and the noise of the largest error.
        events = []
        halves = split_units(self._units(spend), 2)
        for part, moved in zip(halves, (records * number, records), strict=True):
            l1, l2_squared = self.budget.sensitivity(
                l1=moved,
                l2_squared=moved**2,
            )
            noise = self.budget.laplace(part, l1=l1)
            about = (queries.digest, records, size, digest(known))
            events.append(
                Event(
                    method="query_errors",
                    about=about,
                    units=part,
                    sampler=noise,
                    l1=l1,
                    l2_squared=l2_squared,
                )
            )

        # True errors, charge, draw.
        counts = np.minimum(true_counts, _LARGEST // (records * number))
        errors = np.abs(records * counts - size * known)
        true = [errors.sum(keepdims=True), errors.max(keepdims=True)]
        noisy = self._noisy(events, true)
        mean = int(noisy[0][0]) / (records * size * number)
        largest = int(noisy[1][0]) / (records * size)
        return mean, largest

    def _check_queries(self, queries: Workload) -> None:
        """Raise DomainError unless the queries are `Conjunctions` or `Parities` over this domain.


        A subclass could count differently.
        """
        if type(queries) not in (Conjunctions, Parities):
            raise DomainError(
                "queries must be Conjunctions or Parities (and no subclass of them), not "
                f"{type(queries).__name__}; make the queries with one of these classes"
            )
        if queries.domain is not self.domain and queries.domain != self.domain:
            raise DomainError(
                "the queries must have the same domain as the data, but they have another; make "
                "the queries with the domain of the data"
            )

    def _charge_for(
        self,
        rounds: Rounds,
        share: Fraction | None,
    ) -> int:
        """The cost of the rounds in units; BudgetError when the budget does not hold enough."""
        most = self._units(share)
        units = rounds.units(self.budget)
        if units <= most:
            return units
        # Too expensive in rho: the rounds may be certified as a whole instead.
        if isinstance(self.budget, ApproxDP) and self._ledger is None and self._certified is None:
            before = pure_epsilon(self._events)
            allowed = self.budget.epsilon * (Fraction(1) if share is None else share)
            if before is not None and rounds.epsilon(self.budget) + before <= allowed:
                return most
        raise BudgetError(
            f"{len(rounds.samples)} rounds of up to {max(rounds.samples)} draws cost more than the "
            "budget has left, but it must pay for all of them; use fewer rounds or draws, a "
            "smaller step, or spend more"
        )

    def _query_counts(self, queries: Workload) -> tuple[Integers, int]:
        """The true counts of the queries, shape (queries,), and the true number of rows.

        They never leave this object.
        """
        if queries.digest not in self._counted_queries:
            log.info("counting the queries")
            self._counted_queries.clear()
            self._counted_queries[queries.digest] = counted(self._source, self.domain, queries)
        return self._counted_queries[queries.digest]

    def _number_of_rows(self) -> int:
        for _, rows in self._counted_queries.values():
            return rows
        if callable(getattr(self._source, "bits", None)):
            return int(self._source.rows)  # type: ignore[attr-defined]
        rows = 0
        for batch in self._source.batches(self.domain):
            column = next(iter(batch.values()))
            rows += len(column)
        return rows


class QueryRounds:
    """Rounds of random draws among queries, made one round at a time by `draw`.

    `Private.sample_queries` returns this object.
    """

    def __init__(
        self,
        gate: Queries,
        queries: Workload,
        rounds: Rounds,
        units: int,
    ) -> None:
        self._gate = gate
        self._queries = queries
        self._rounds = rounds
        self._units = units
        self._done = 0

    def draw(self, answered: npt.ArrayLike) -> Integers:
        """Make the draws of the next round.

        Parameters
        ----------
        answered
            For each query, the number of records published so far for which it is true: integers,
            shape (queries,).

        Returns
        -------
        numpy.ndarray
            Places from 0 to 2 * queries - 1, shape (draws,). Place q + queries is the negation of
            query q.

        Raises
        ------
        BudgetError
            When all rounds have been drawn, or the budget cannot pay for them any more.
        DomainError
            When `answered` is not as described.
        """
        # Two threads get different rounds.
        with self._gate._deciding:
            return self._draw(answered)

    def _draw(self, answered: npt.ArrayLike) -> Integers:
        gate = self._gate
        rounds = self._rounds
        counts, rows = gate._query_counts(self._queries)
        known = whole("answered", answered, counts.shape)
        if self._done >= len(rounds.samples):
            raise BudgetError(
                f"this call draws one more round, but all {len(rounds.samples)} rounds have been "
                "drawn; make Rounds with more samples"
            )
        multiplier = rounds.multiplier(self._done)
        draws = rounds.samples[self._done]
        if rounds.size * int(np.abs(known).max()) > _LARGEST:
            raise DomainError(
                "answers times size must be at most 2**59, but the largest product is more; use "
                "smaller numbers"
            )
        mechanism = ExponentialMechanism(rounds.rate)
        event = Event(
            method="sample_queries",
            about=(self._queries.digest, self._done, digest(known)),
            units=0 if self._done else self._units,
            sampler=mechanism,
            spread=gate.budget.rows * multiplier,
            draws=draws,
            rounds=rounds,
        )
        scores = scores_of(counts, rows, known, multiplier, rounds.size)

        # The first draw of rounds that cost more than their charge certifies them.
        first = not self._done and isinstance(gate.budget, ApproxDP)
        if first and rounds.units(gate.budget) > self._units:
            self._certify()

        drawn = gate._answer(
            [event], [scores], lambda: mechanism.draw(scores, draws, gate._entropy)
        )
        self._done += 1
        return drawn

    def _certify(self) -> None:
        """Tell the gate that these rounds are certified.

        From then on the gate limits all other answers to the epsilon that the rounds leave.
        """
        gate = self._gate
        assert isinstance(gate.budget, ApproxDP)
        if gate._certified is not None:
            raise BudgetError(
                "a budget certifies rounds only once, but other rounds have been certified "
                "already; draw from those, or use a new budget"
            )
        gate._certified = self._rounds, self._rounds.epsilon(gate.budget)


def scores_of(
    counts: Integers,
    rows: int,
    answered: Integers,
    multiplier: int,
    size: int,
) -> Integers:
    """The scores for the exponential mechanism: queries, then their negations, (2 * queries,).

    The score of a query is multiplier * count - size * answered. The score of its negation is
    multiplier * (rows - count) - size * (multiplier - answered), where `multiplier` is the number
    of all records. Counts are cut off such that the product stays below 2**59. A row changes the
    cut-off counts by no more than it changes the counts.
    """
    most = _LARGEST // max(multiplier, 1)
    scores = np.empty(2 * counts.size, np.int64)
    asked = scores[: counts.size]
    denied = scores[counts.size :]
    np.minimum(counts, most, out=asked)
    np.minimum(rows - counts, most, out=denied)
    scores *= multiplier
    asked -= size * answered
    denied -= size * (multiplier - answered)
    return scores


def counted(
    source: Any,
    domain: Domain,
    queries: Workload,
) -> tuple[Integers, int]:
    """Count the rows for which each query is true, shape (queries,), and all rows.

    Rows are counted in pieces that fit into memory, whose counts add up. Queries are counted in
    pieces too. Each piece is a copy that is checked again. So each query is true or false for a
    row, even if the arrays were changed after their first check.
    """
    counts = np.zeros(len(queries), np.int64)
    rows = 0
    for table in bit_tables(source, domain, queries.used):
        rows += table.rows
        for start in range(0, counts.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            counts[some] += _piece(queries, domain, some).counts(table)
    return counts, rows


def _piece(
    queries: Workload,
    domain: Domain,
    some: slice,
) -> Workload:
    """Copy a slice of the queries and check it; DomainError when it does not fit the domain."""
    attributes = np.array(queries.attributes[some])
    if isinstance(queries, Conjunctions):
        assert queries.negated is not None
        values = np.array(queries.values[some])
        negated = np.array(queries.negated[some])
        return Conjunctions(domain, attributes, values, negated)
    return Parities(domain, attributes)


def bit_tables(
    source: Any,
    domain: Domain,
    used: npt.NDArray[np.bool_],
) -> Iterator[BitTable]:
    """Read the used attributes of all rows as tables of bits.

    If all bits fit into memory, they come in one table from a source that holds them (`bits`).
    Otherwise they are made from batches of codes. There is always at least one table, possibly
    without rows.
    """
    ready = getattr(source, "bits", None)
    if callable(ready):
        words = Lines.of(domain, used).count * ((source.rows + 63) // 64)
        if words <= MAX_WORDS:
            yield ready(domain, used)
            return
    yield from BitTable.pieces(domain, used, source.batches(domain), words=MAX_WORDS)


def _copied(rounds: Rounds) -> Rounds:
    """Copy the plan of rounds and check it.

    Methods of a subclass, which could state another cost, are not called. The identity of the copy
    tells which events belong to these rounds.
    """
    if not isinstance(rounds, Rounds):
        raise DomainError(
            f"rounds must be a Rounds object, not {type(rounds).__name__}; pass Rounds(...)"
        )
    return Rounds(
        step=rounds.step,
        samples=rounds.samples,
        size=rounds.size,
        records=rounds.records,
    )
