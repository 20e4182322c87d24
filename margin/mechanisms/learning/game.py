"""The game of Dual Query. In each round queries are drawn for which the records so far give wrong
answers, and new records are found that correct them."""

import logging
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Integers, Words
from ...domain.domain import Domain
from ...errors import SolverError
from ...privacy.rounds import Rounds
from ...private.queries import QueryRounds
from ...queries import BitTable, Queries
from ...queries.bits import Lines
from ...solvers import Anneal, BestResponse, Constraint, Responder, Status
from ...solvers.fitted import CHECK_SWEEPS
from ...synopses.rounds import RANDOM_RECORD, SolvedRound, clock_seconds

__all__ = ["Play", "probe"]

log = logging.getLogger("margin")


_Record = NDArray[np.unsignedinteger[Any]]
"""Codes of one record, or of several: shape (attributes,) or (records, attributes)."""

_Claims = tuple[Status, float | None]
"""The status of a solver and its bound, if it gives one."""

_GRAIN = 1 << 10
"""Scale of weights that are not whole numbers, before they are rounded."""

_CHECKED_BY_THEMSELVES = "margin.solvers."
"""Where the solvers are that check what their back-ends claim."""

_LOGGED = 50
"""Number of rounds between two messages of the log."""


@dataclass(
    kw_only=True,
    eq=False,
)
class Play:
    """The part of Dual Query that finds records for the drawn queries.

    It is post-processing: a function of the draws and of fixed seeds.

    Parameters
    ----------
    queries
        The queries; their negations are drawn as well.
    rounds
        The rounds, with the number of records of each.
    response
        The solver that finds a record for which most of the drawn queries are true.
    pool
        The number of rounds, up to the current one, whose draws are answered.
    weight
        The weight, within a round, of the errors of the round's earlier records.

    Attributes
    ----------
    failures
        The number of records for which the solver failed so far.
    solved
        How each record was found so far.
    """

    queries: Queries
    rounds: Rounds
    response: Responder
    pool: int
    weight: float
    failures: int = field(
        default=0,
        init=False,
    )
    solved: list[SolvedRound] = field(
        default_factory=list,
        init=False,
    )

    def run(self, draws: QueryRounds) -> BitTable:
        """Play all rounds: draw queries and find records for them; returns all records."""
        domain = self.queries.domain
        answered = np.zeros(len(self.queries), np.int64)
        asked = Lines.of(domain, self.queries.used)
        kept = _Kept(domain)
        recent: deque[Integers] = deque(maxlen=self.pool)
        for place in range(len(self.rounds.samples)):
            recent.append(draws.draw(answered))
            records = self._records(place, np.concatenate(recent), answered)
            answered += self.queries.counts(asked.table(records))
            kept.add(records)
            if place == 0 or (place + 1) % _LOGGED == 0:
                log.info("round %d of %d", place + 1, len(self.rounds.samples))
        if self.failures:
            log.warning(
                "%d of %d responses failed, and random records took their place",
                self.failures,
                kept.rows,
            )
        return kept.table()

    def _records(
        self,
        place: int,
        drawn: Integers,
        answered: Integers,
    ) -> _Record:
        """Find the records of one round: shape (records, attributes).

        The first record answers the draws. Each further record answers them too, but a draw counts
        exp(weight * e) times. Here e is how much less often the round's earlier records answer the
        query with yes than all records of earlier rounds, summed over these records.
        """
        # A draw of number + q is the negation of query q.
        number = len(self.queries)
        asked, which = np.unique(drawn % number, return_inverse=True)
        negative = drawn >= number
        ask = np.bincount(which[~negative], minlength=asked.size)
        deny = np.bincount(which[negative], minlength=asked.size)
        # How often the records of earlier rounds answer with yes.
        before = place * self.rounds.records
        usual = answered[asked] / before if before else np.zeros(asked.size)
        missed = np.zeros(asked.size)
        records = []
        for turn in range(self.rounds.records):
            scale = 1 if not missed.any() else _GRAIN
            up = _weights(scale * ask * np.exp(self.weight * missed))
            down = _weights(scale * deny * np.exp(-self.weight * missed))
            instance = self.queries.best_response(
                asked,
                up - down,
                constant=int(down.sum()),
            )
            if self._rules:
                instance = replace(instance, constraints=self._rules)
            record = self._answer(instance, (place, turn))
            records.append(record)
            missed += usual - instance.holds(record)
        return np.stack(records)

    def _answer(
        self,
        instance: BestResponse,
        seed: tuple[int, int],
    ) -> _Record:
        """Find a record for an instance. The rules of the domain allow it, whatever the solver
        does.

        It is random if the solver fails or finds none. A record that breaks a rule is changed until
        it keeps all of them. If a short run of annealing contradicts what a user's own solver
        claims, the better record is taken. All of it is post-processing of the draws.
        """
        record: NDArray[Any] | None = None
        claims: _Claims = (Status.FAILED, None)
        began = clock_seconds()
        # The solver may be a user's own. The budget is spent, so the round must go on after any
        # error.
        try:
            answer = self.response.solve(instance, seed=seed)
            found = answer.record
            claims = _claims(answer)
        except Exception as error:
            log.debug("a response failed: %s", type(error).__name__)
        else:
            record = None if found is None else np.asarray(found)
        seconds = clock_seconds() - began
        fits = record is not None and _fits(record, instance)
        if record is not None and fits and instance.feasible(record):
            kept = record.astype(instance.record_type)
            other = self._other(instance, claims, seed)
            better, solved = _solved(self._solver, instance, kept, claims, seconds, other)
            self.solved.append(solved)
            return better
        drawn = self._instead(instance, record if fits else None, seed)
        # A solver whose record cannot be used has proved nothing about the record in its place.
        failed = Status.FAILED if claims[0].ok else claims[0]
        _, solved = _solved(RANDOM_RECORD, instance, drawn, (failed, None), seconds)
        self.solved.append(solved)
        return drawn

    def _other(
        self,
        instance: BestResponse,
        claims: _Claims,
        seed: tuple[int, int],
    ) -> _Record | None:
        """A record that may contradict what a user's own solver claims; None if nothing is
        claimed, or if the solver is one of this library."""
        status, bound = claims
        claims_something = status is Status.OPTIMAL or bound is not None
        is_ours = type(self.response).__module__.startswith(_CHECKED_BY_THEMSELVES)
        if is_ours or not claims_something:
            return None
        return Anneal(sweeps=CHECK_SWEEPS).solve(instance, seed=seed).record

    def _instead(
        self,
        instance: BestResponse,
        record: NDArray[Any] | None,
        seed: tuple[int, int],
    ) -> _Record:
        """A record after the solver failed: random, or its record made to keep the rules."""
        self.failures += 1
        rng = np.random.default_rng(seed)
        drawn = instance.random(rng) if record is None else record.astype(instance.record_type)
        if self.queries.domain.zeros is not None:
            self.queries.domain.zeros.mend(drawn[None], rng)
        return drawn

    @property
    def _solver(self) -> str:
        """The name of the solver."""
        name = getattr(self.response, "name", None)
        return name if isinstance(name, str) else type(self.response).__name__

    @cached_property
    def _rules(self) -> tuple[Constraint, ...]:
        """The rules of the domain as constraints: each forbids a box of combinations."""
        zeros = self.queries.domain.zeros
        if zeros is None:
            return ()
        return tuple(map(Constraint.forbid_box, zeros.boxes))


def _weights(numbers: NDArray[Any]) -> Integers:
    """Weights of queries, rounded to whole numbers."""
    return np.asarray(np.rint(numbers).astype(np.int64))


def _fits(record: NDArray[Any], instance: BestResponse) -> bool:
    """Whether a record has a declared code for each attribute."""
    if record.shape != instance.sizes.shape or record.dtype.kind not in "iu":
        return False
    return bool((record >= 0).all() and (record < instance.sizes).all())


def _claims(answer: object) -> _Claims:
    """The status and the bound of a solver's answer, which may be anything."""
    status = getattr(answer, "status", None)
    bound = getattr(answer, "bound", None)
    if not isinstance(status, Status):
        return Status.FAILED, None
    return status, float(bound) if isinstance(bound, int | float | np.integer) else None


def _solved(
    solver: str,
    instance: BestResponse,
    record: _Record,
    claims: _Claims,
    seconds: float,
    other: _Record | None = None,
) -> tuple[_Record, SolvedRound]:
    """The record to take, and how it was found.

    The solver's claims are checked against its record and the `other` one, which is taken if it is
    better than a claimed bound.
    """
    status, bound = claims
    held = instance.respond(record, status=status, bound=bound, known=other)
    taken = record if held.record is None else held.record
    told = SolvedRound(
        solver=solver,
        status=held.status,
        value=instance.objective(taken),
        bound=held.bound,
        seconds=seconds,
    )
    return taken, told


class _Kept:
    """A growing table of records, packed as bits into words of 64 records."""

    def __init__(self, domain: Domain) -> None:
        self._lines = Lines.of(domain)
        self._open: list[_Record] = []
        self._words: list[Words] = []
        self.rows = 0

    def add(self, records: _Record) -> None:
        self._open.extend(records)
        self.rows += len(records)
        while len(self._open) >= 64:
            self._pack(self._open[:64])
            self._open = self._open[64:]

    def table(self) -> BitTable:
        if self._open:
            self._pack(self._open)
            self._open = []
        words = np.concatenate(self._words, axis=1)
        return BitTable.of_words(self._lines.domain, words, self.rows)

    def _pack(self, records: Sequence[_Record]) -> None:
        self._words.append(self._lines.table(np.stack(records)).words)


def probe(response: Responder, queries: Queries) -> None:
    """Try a solver on the first query, before the data are asked and before anything is spent.

    The query is public, and so is all that the solver is given. Therefore the text and the cause
    of its error may be shown.

    Raises
    ------
    SolverError
        If the solver raises an exception, which is the cause then, or finds no record.
    """
    tried = f"solver {type(response).__name__} cannot be used here: on one public query,"
    instance = queries.best_response(np.zeros(1, np.int64), np.ones(1, np.int64))
    try:
        answer = response.solve(instance, seed=0)
    except Exception as error:  # the solver may be a user's own, or a file that it imports be wrong
        told = traceback.TracebackException.from_exception(error)
        place = f"{Path(told.stack[-1].filename).name}, line {told.stack[-1].lineno}"
        first, _, _ = str(told).partition("\n")
        text = f" ({first})" if first else ""
        raise SolverError(
            f"{tried} it raised {type(error).__name__} in {place}{text}; correct the cause there, "
            "or choose another with response="
        ) from error
    if answer.record is None:
        # What to do is said here, so that the first part of the text of a status is enough.
        said, _, _ = str(getattr(answer.status, "value", "it found no record")).partition(";")
        detail = getattr(answer, "detail", "")
        problem = f"{said} ({detail})" if detail else said
        raise SolverError(f"{tried} {problem}; choose another with response=")
