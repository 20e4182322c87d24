"""The game of Dual Query: queries are drawn where the records so far are wrong, and the next
records answer them."""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Integers, Words
from ...domain.domain import Domain
from ...privacy.rounds import Rounds
from ...private.queries import QueryRounds
from ...queries import BitTable, Queries
from ...queries.bits import Lines
from ...solvers import BestResponse, Constraint, Responder

__all__ = ["Play", "probe"]

log = logging.getLogger("margin")


_GRAIN = 1 << 10
"""Weights are whole multiples of one over this, where they are not whole themselves."""


@dataclass(kw_only=True, eq=False)
class Play:
    """All that happens after queries are drawn, which is post-processing: a function of the draws
    and a fixed seed.

    Parameters
    ----------
    queries
        What is drawn from, with the negations.
    rounds
        How many records answer in each round.
    response
        Finds the record that most of the drawn queries are true of.
    pool
        Of how many rounds, this one and those before, the draws are answered.
    weight
        How much, within a round, a record makes of what the round's earlier records got wrong.
    """

    queries: Queries
    rounds: Rounds
    response: Responder
    pool: int
    weight: float
    failures: int = field(default=0, init=False)

    def run(self, draws: QueryRounds) -> BitTable:
        """Play all rounds; the records, of all rounds."""
        domain, number = self.queries.domain, len(self.queries)
        answered = np.zeros(number, np.int64)
        asked, kept = Lines.of(domain, self.queries.used), _Kept(domain)
        recent: deque[Integers] = deque(maxlen=self.pool)
        for place in range(len(self.rounds.samples)):
            recent.append(draws.draw(answered))
            records = self._records(place, np.concatenate(recent), answered)
            answered += self.queries.counts(asked.table(records))
            kept.add(records)
            if place % 50 == 49:
                log.info("round %d of %d", place + 1, len(self.rounds.samples))
        if self.failures:
            log.warning(
                "%d of %d responses failed and were drawn at random", self.failures, kept.rows
            )
        return kept.table()

    def _records(
        self, place: int, drawn: Integers, answered: Integers
    ) -> NDArray[np.unsignedinteger[Any]]:
        """The records of one round: shape (records, attributes).

        The first answers the draws. Each further one answers them too, but a draw counts exp(weight
        * e) times, where e sums up by how much the round's earlier records have answered the query
        less often than all records before.
        """
        number = len(self.queries)
        asked, which = np.unique(drawn % number, return_inverse=True)
        negative = drawn >= number
        ask = np.bincount(which[~negative], minlength=asked.size)
        deny = np.bincount(which[negative], minlength=asked.size)
        before = place * self.rounds.records
        usual = answered[asked] / before if before else np.zeros(asked.size)
        missed = np.zeros(asked.size)
        records = []
        for turn in range(self.rounds.records):
            scale = 1 if not missed.any() else _GRAIN
            up, down = (np.rint(scale * count * np.exp(sign * self.weight * missed)).astype(np.int64)
                        for count, sign in ((ask, 1), (deny, -1)))  # fmt: skip
            instance = self.queries.best_response(asked, up - down, constant=int(down.sum()))
            if self._rules:
                instance = replace(instance, constraints=self._rules)
            record = self._answer(instance, (place, turn))
            records.append(record)
            missed += usual - instance.holds(record)
        return np.stack(records)

    def _answer(
        self, instance: BestResponse, seed: tuple[int, int]
    ) -> NDArray[np.unsignedinteger[Any]]:
        """A record for an instance, whatever the solver does: at random when it has none, or fails;
        and one that the rules of the domain allow, whatever the solver makes of them."""
        try:
            record = self.response.solve(instance, seed=seed).record
        except (
            Exception
        ) as error:  # of a user's own solver; the budget is spent, and the round must end
            log.debug("a response failed: %s", type(error).__name__)
            record = None
        fits = record is not None and _fits(np.asarray(record), instance)
        if fits and instance.feasible(np.asarray(record)):
            return np.asarray(record).astype(instance.record_type)
        self.failures += 1
        rng = np.random.default_rng(seed)
        drawn = np.asarray(record).astype(instance.record_type) if fits else instance.random(rng)
        if self.queries.domain.zeros is not None:
            self.queries.domain.zeros.mend(drawn[None], rng)
        return drawn

    @cached_property
    def _rules(self) -> tuple[Constraint, ...]:
        """What the domain says of a record: of the attributes of a rule at most all but one are as
        it says."""
        zeros = self.queries.domain.zeros
        return () if zeros is None else tuple(map(Constraint.forbid_box, zeros.boxes))


def _fits(record: NDArray[Any], instance: BestResponse) -> bool:
    if record.shape != instance.sizes.shape or record.dtype.kind not in "iu":
        return False
    return bool((record >= 0).all() and (record < instance.sizes).all())


class _Kept:
    """Records, packed 64 at a time."""

    def __init__(self, domain: Domain) -> None:
        self._lines = Lines.of(domain)
        self._open: list[NDArray[np.unsignedinteger[Any]]] = []
        self._words: list[Words] = []
        self.rows = 0

    def add(self, records: NDArray[np.unsignedinteger[Any]]) -> None:
        self._open.extend(records)
        self.rows += len(records)
        while len(self._open) >= 64:
            self._pack(self._open[:64])
            self._open = self._open[64:]

    def table(self) -> BitTable:
        if self._open:
            self._pack(self._open)
            self._open = []
        return BitTable.of_words(self._lines.domain, np.concatenate(self._words, axis=1), self.rows)

    def _pack(self, records: Sequence[NDArray[np.unsignedinteger[Any]]]) -> None:
        self._words.append(self._lines.table(np.stack(records)).words)


def probe(response: Responder, queries: Queries) -> str:
    """What is wrong with a solver, found on one query, before anything is spent; or nothing."""
    instance = queries.best_response(np.zeros(1, np.int64), np.ones(1, np.int64))
    try:
        answer = response.solve(instance, seed=0)
    except Exception as error:  # of a user's own solver
        return f"it raises {type(error).__name__}"
    return (
        ""
        if answer.record is not None
        else str(getattr(answer.status, "value", "it finds no record"))
    )
