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
"""Of each part of a score, so that no score is above 2**61. Arguments above it are refused, counts
above it cut off: a refusal that depends on the rows would tell their number for nothing."""

_AT_ONCE = 1 << 20
"""So many queries are copied, checked and counted together."""


class Queries(Gate):
    """The part of `Private` that draws queries."""

    def count_rows(self, *, spend: Number | None = None) -> int:
        """About how many rows there are.

        Where neighbours replace one row by one row, their number is the same in all neighbours, and
        given as it is, for nothing. Else with discrete Laplace noise: the rows of a person, m at
        most, are added, removed, or replaced by m at most, so the number changes by at most m; the
        sensitivity is m in L1 and in L2. A budget of rho buys epsilon = sqrt(2 rho), rounded down.

        Parameters
        ----------
        spend
            See `Private`.
        """
        if self.budget.number_of_rows_is_public:
            return self._number_of_rows()
        units = self._units(spend)
        l1 = self.budget.rows_per_person
        l2_squared = l1**2
        noise = self.budget.laplace(units, l1=l1)
        event = Event(
            method="count_rows", about=(), units=units, sampler=noise, l1=l1, l2_squared=l2_squared
        )
        true = np.array([self._number_of_rows()], np.int64)
        return int(self._answer([event], [true], lambda: self._add_noise([event], [true]))[0][0])

    def affords(self, rounds: Rounds, *, spend: Number | None = None) -> bool:
        """Whether `sample_queries` would find enough left of the budget. Says nothing about the
        rows.

        No sensitivity: only the budget, what has been spent of it and the arguments are looked at.
        """
        played = _copied(rounds)
        try:
            self._charge_for(played, self._share(spend))
        except BudgetError:
            return False
        return True

    def sample_queries(
        self, queries: Workload, rounds: Rounds, *, spend: Number | None = None
    ) -> "QueryRounds":
        """Rounds of independent draws among queries and their negations, by the exponential
        mechanism.

        The score of query q in round t is multiplier_t * c_q - size * a_q, in whole numbers: c_q is
        the number of rows of which q is true, a_q what the records published so far answered in
        sum, multiplier_t = records * (t - 1). Negations have the same score with *their* counts, of
        the rows of which q is false: not the score of q with the other sign, which it is only if
        there are `size` rows. So a row added raises each count by zero or one and lowers none: the
        changes of two scores are at most multiplier_t apart, `Budget.rows` times that for
        neighbours.

        All rounds are charged at once, before the first draw: the sum of their epsilons or rhos
        (`Rounds.cost`). Where `spend` of an `ApproxDP` budget cannot pay that, it does if the
        rounds are certified to be (epsilon', delta)-differentially private (`Rounds.epsilon`),
        epsilon' being that part of the budget's epsilon less the epsilons of all that was done
        before, which must have been purely private. So must be what is done afterwards, within what
        is left of epsilon: basic composition. The rounds are then not concentrated as the budget
        promises, so that a ledger, which adds up rho, is never charged so, and `Private.spent`
        tells.

        Parameters
        ----------
        queries
            Of the same domain.
        rounds
            How many are drawn in each round, and with which step.
        spend
            What the charge may be at most; see `Private`.

        Returns
        -------
        QueryRounds
            Whose `draw` makes the draws of one round after another.

        Raises
        ------
        BudgetError
            When the rounds cost more than is left. Nothing is charged.
        DomainError, DataError
            When the queries are of another domain, or the rows do not fit. Nothing is charged.
        """
        self._check_queries(queries)
        played = _copied(rounds)
        units = self._charge_for(played, self._share(spend))
        if max(played.multiplier(len(played.samples)), 1) * played.size > _LARGEST:
            raise DomainError("rounds times records times size must be at most 2**59: use fewer")
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
        """The mean and the largest absolute error of the answers of records, as shares of the rows,
        with noise.

        In whole numbers the error of query q is |records * c_q - size * a_q|, for its count c_q and
        the number a_q of the records of which it is true. A row added moves each by at most
        `records`, so the sensitivity of their sum is records times the number of queries, and that
        of the largest `records`, in L1 and L2. Counts are cut off where the sum would exceed 2**59,
        which moves no two of them apart. Discrete Laplace noise, half of what is spent on each; a
        budget of rho buys epsilon = sqrt(2 rho), rounded down.

        Where rows are replaced, the m rows that go and the m that come move each count by m at
        most, in one direction: each error by m times `records`, in L1 and L2, which is within what
        is declared.

        Parameters
        ----------
        queries
            Of the same domain.
        answered
            Of each query, how many of the records it is true of: integers, shape (queries,).
        records
            How many records there are.
        size
            The public number of rows.
        spend
            See `Private`.
        """
        self._check_queries(queries)
        true_counts, _ = self._query_counts(queries)
        known, number = whole("answered", answered, true_counts.shape), true_counts.size
        records, size = positive_integer("records", records), positive_integer("size", size)
        if max(records, int(np.abs(known).max())) * size * number > _LARGEST:
            raise DomainError("records, or answers, times size times queries must be at most 2**59")
        events = []
        for part, moved in zip(
            split_units(self._units(spend), 2), (records * number, records), strict=True
        ):
            l1, l2_squared = self.budget.sensitivity(l1=moved, l2_squared=moved**2)
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
        counts = np.minimum(true_counts, _LARGEST // (records * number))
        errors = np.abs(records * counts - size * known)
        true = [errors.sum(keepdims=True), errors.max(keepdims=True)]
        noisy = self._answer(events, true, lambda: self._add_noise(events, true))
        return int(noisy[0][0]) / (records * size * number), int(noisy[1][0]) / (records * size)

    def _check_queries(self, queries: Workload) -> None:
        """DomainError unless these are queries that the gate itself can count: a subclass would
        count as it likes."""
        if type(queries) not in (Conjunctions, Parities):
            raise DomainError("queries must be Conjunctions or Parities, and no subclass of them")
        if queries.domain is not self.domain and queries.domain != self.domain:
            raise DomainError("the queries are of another domain than the data")

    def _charge_for(self, rounds: Rounds, share: Fraction | None) -> int:
        """What the rounds are charged, or BudgetError."""
        most = self._units(share)
        units = rounds.units(self.budget)
        if units <= most:
            return units
        if isinstance(self.budget, ApproxDP) and self._ledger is None and self._certified is None:
            before = pure_epsilon(self._events)
            allowed = self.budget.epsilon * (Fraction(1) if share is None else share)
            if before is not None and rounds.epsilon(self.budget) + before <= allowed:
                return most
        raise BudgetError(
            f"{len(rounds.samples)} rounds of {max(rounds.samples)} draws cost more than the budget has left: "
            f"use fewer rounds or draws, a smaller step, or spend more"
        )

    def _query_counts(self, queries: Workload) -> tuple[Integers, int]:
        """The true counts of the queries, and the number of rows: kept from every eye."""
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
        return sum(len(next(iter(batch.values()))) for batch in self._source.batches(self.domain))


class QueryRounds:
    """The rounds of `Private.sample_queries`, which alone makes one."""

    def __init__(self, gate: Queries, queries: Workload, rounds: Rounds, units: int) -> None:
        self._gate = gate
        self._queries = queries
        self._rounds = rounds
        self._units = units
        self._done = 0

    def draw(self, answered: npt.ArrayLike) -> Integers:
        """The draws of the next round.

        Parameters
        ----------
        answered
            Of each query, how many of the records published so far it is true of: integers, shape
            (queries,).

        Returns
        -------
        numpy.ndarray
            Places from 0 to 2 * queries - 1, shape (draws,): place q + queries is the negation of
            query q.
        """
        with self._gate._deciding:  # of two threads each gets a round of its own
            return self._draw(answered)

    def _draw(self, answered: npt.ArrayLike) -> Integers:
        gate, rounds = self._gate, self._rounds
        counts, rows = gate._query_counts(self._queries)
        known = whole("answered", answered, counts.shape)
        if self._done >= len(rounds.samples):
            raise BudgetError("all rounds have been drawn")
        multiplier, draws = rounds.multiplier(self._done), rounds.samples[self._done]
        if rounds.size * int(np.abs(known).max()) > _LARGEST:
            raise DomainError("answers times size must be at most 2**59")
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
        if (
            not self._done
            and isinstance(gate.budget, ApproxDP)
            and rounds.units(gate.budget) > self._units
        ):
            if gate._certified is not None:
                raise BudgetError(
                    "rounds have been certified already, and only one play of them can be"
                )
            gate._certified = rounds, rounds.epsilon(gate.budget)
        drawn = gate._answer(
            [event], [scores], lambda: mechanism.draw(scores, draws, gate._entropy)
        )
        self._done += 1
        return drawn


def scores_of(
    counts: Integers, rows: int, answered: Integers, multiplier: int, size: int
) -> Integers:
    """The scores of the queries, then of their negations: shape (2 * queries,).

    A query's is multiplier * count - size * answered; its negation's has rows - count for the
    count, and what of the records, multiplier in all, does not answer yes. Counts are cut off at
    what keeps the product below 2**59, which moves them by no more than a row moves the counts
    themselves.
    """
    most = _LARGEST // max(multiplier, 1)
    scores = np.empty(2 * counts.size, np.int64)
    asked, denied = scores[: counts.size], scores[counts.size :]
    np.minimum(counts, most, out=asked)
    np.minimum(rows - counts, most, out=denied)
    scores *= multiplier
    asked -= size * answered
    denied -= size * (multiplier - answered)
    return scores


def counted(source: Any, domain: Domain, queries: Workload) -> tuple[Integers, int]:
    """Of how many rows of a source each query is true, shape (queries,), and how many rows there
    are.

    Rows are counted in pieces that fit into memory, whose counts add up; so are queries, each piece
    a copy that is checked anew: each query is of one row true or false, whatever became of the
    arrays after they were checked.
    """
    counts, rows = np.zeros(len(queries), np.int64), 0
    for table in bit_tables(source, domain, queries.used):
        rows += table.rows
        for start in range(0, counts.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            counts[some] += _piece(queries, domain, some).counts(table)
    return counts, rows


def _piece(queries: Workload, domain: Domain, some: slice) -> Workload:
    """Some of the queries, as copies that are checked; DomainError when they are not of the domain."""
    attributes = np.array(queries.attributes[some])
    if isinstance(queries, Conjunctions):
        assert queries.negated is not None
        return Conjunctions(
            domain, attributes, np.array(queries.values[some]), np.array(queries.negated[some])
        )
    return Parities(domain, attributes)


def bit_tables(source: Any, domain: Domain, used: npt.NDArray[np.bool_]) -> Iterator[BitTable]:
    """The bits of some attributes, all rows at once where they fit into memory: from a source that
    has them ready (`bits`), else from its batches of codes. There is always one table, if only of
    no rows."""
    ready = getattr(source, "bits", None)
    if callable(ready) and Lines.of(domain, used).count * ((source.rows + 63) // 64) <= MAX_WORDS:
        yield ready(domain, used)
    else:
        yield from BitTable.pieces(domain, used, source.batches(domain), words=MAX_WORDS)


def _copied(rounds: Rounds) -> Rounds:
    """The same rounds, made anew and checked: what a subclass says of their cost is not asked.
    Whose events are whose is told by the identity of the copy."""
    if not isinstance(rounds, Rounds):
        raise DomainError("rounds must be Rounds")
    return Rounds(
        step=rounds.step, samples=rounds.samples, size=rounds.size, records=rounds.records
    )
