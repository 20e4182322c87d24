"""Two gates: one records its answers, the other plays them back on a neighbouring table."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..data.source import Source
from ..domain.domain import Domain
from ..noise.entropy import Entropy
from ..privacy.budget import ApproxDP, Budget
from ..privacy.event import Event
from ..private import Private
from .distance import Distance, distance, sparse_distance
from .event_cost import is_choice
from .laws.law import Law
from .outputs.spark import gate_draws
from .violation import Violation

__all__ = ["Player", "Recorder", "Reply"]

T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """One call of the gate.

    Attributes
    ----------
    events
        What was asked.
    true
        The true answers.
    answer
        The noisy answer.
    """

    events: tuple[Event, ...]
    true: Sequence[Any]
    answer: Any


class _WatchedEntropy:
    """A source of entropy that may be used only while the gate answers."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self.answering = False

    @property
    def private(self) -> bool:
        """See `Entropy`."""
        return self._entropy.private

    def take(self, n: int) -> bytes:
        """See `Entropy`; Violation if the gate is not answering."""
        if not self.answering:
            raise Violation(
                "Random bytes are drawn before the charge, or besides the gate's answers. All "
                "noise must be drawn while the gate answers, after the charge."
            )
        return self._entropy.take(n)


class _RecordingLedger:
    """A ledger that keeps what it was charged."""

    def __init__(self) -> None:
        self.budgets: list[Budget] = []

    def charge(self, budget: Budget, /) -> None:
        """See `Chargeable`."""
        self.budgets.append(budget)


class _AuditedGate(Private):
    """A gate whose entropy and whose ledger are watched."""

    tape: list[Reply]

    def __init__(
        self,
        source: Source,
        *,
        domain: Domain,
        budget: Budget,
        entropy: Entropy,
        ledger: Any = None,
        watches_ledger: bool = False,
    ) -> None:
        self._watched = _WatchedEntropy(entropy)
        # `Private` certifies no answer if there is a ledger. So for an ApproxDP budget there is one
        # only if the caller asks for it.
        watches_ledger |= not isinstance(budget, ApproxDP)
        self._recorded = _RecordingLedger() if watches_ledger and ledger is None else None
        super().__init__(
            source,
            domain=domain,
            budget=budget,
            entropy=self._watched,
            ledger=ledger or self._recorded,
        )
        self.tape = []

    def _check_charged(self) -> None:
        """Check that the ledger was charged with the whole budget, once."""
        if self._recorded is not None and self._recorded.budgets != [self.budget]:
            raise Violation(
                "The ledger must be charged once, with the whole budget, before any noise is "
                f"drawn. Expected a charge of {self.budget!r}, found {self._recorded.budgets!r}."
            )


class Recorder(_AuditedGate):
    """A gate that answers as `Private` does and keeps every reply on its tape.

    If `law` is set, every answer is drawn again several times, and `law` looks at all draws.
    """

    law: Law | None = None

    def _answer(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], T],
    ) -> T:
        kept = [_copied(table) for table in true]

        def watched() -> T:
            self._check_charged()
            self._watched.answering = True
            try:
                with gate_draws():
                    return draw()
            finally:
                self._watched.answering = False

        answer = super()._answer(events, true, watched)
        self.tape.append(Reply(tuple(events), kept, copy.deepcopy(answer)))
        if self.law is not None:
            self.law.add(events, kept, answer)
            self.law.add_more(events, kept, watched)
        return answer


class Player(_AuditedGate):
    """A gate that gives the answers of a tape.

    Before each answer, it checks that the mechanism asks the same as on the first table, and that
    the true answers are as close as was declared.
    """

    table = "a neighbouring table"
    """The table of the replay, for messages."""

    def __init__(self, source: Source, **settings: Any) -> None:
        super().__init__(source, **settings)
        self.true: list[Sequence[Any]] = []

    def _answer(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], T],
    ) -> T:
        def play() -> T:
            self._check_charged()
            if not self.tape:
                raise Violation(
                    f"{events[0].method}: the mechanism asks for more answers on {self.table}, "
                    "although all earlier answers were equal."
                )
            reply = self.tape.pop(0)
            if reply.events != tuple(events):
                raise Violation(
                    f"{events[0].method}: the mechanism asks another question on {self.table}, "
                    "although all earlier answers were equal. In the first run it called "
                    f"{reply.events[0].method}; the call must be the same, with equal arguments."
                )
            self.true.append([_copied(table) for table in true])
            _check_distance(reply, self.true[-1])
            answer: T = copy.deepcopy(reply.answer)
            return answer

        return super()._answer(events, true, play)


def _copied(table: Any) -> Any:
    """A copy of a true answer. A sparse table is copied as its words and counts, wherever they are
    held."""
    if callable(getattr(table, "blocks", None)):
        words, counts = zip(*table.blocks(), strict=True)
        return np.concatenate(words), np.concatenate(counts)
    return copy.deepcopy(table)


def _check_distance(reply: Reply, true: Sequence[Any]) -> None:
    """Check that the true answers on both tables are as close as was declared."""
    method = reply.events[0].method
    if len(reply.true) != len(true):
        raise Violation(
            f"{method}: there are {len(reply.true)} true answers on one table and {len(true)} on "
            "its neighbour; the number must be equal."
        )
    if method == "above_threshold":
        _check_scores(reply, true)
        return
    choices = is_choice(reply.events[0])
    if not choices and len(reply.events) != len(true):
        raise Violation(
            f"{method}: there are {len(true)} true answers but {len(reply.events)} events; each "
            "answer needs an event."
        )
    if choices and len(true) > 1:
        _check_parts(reply, true)
        return
    for place, event in enumerate(reply.events):
        # All choices of an answer are made among the same scores.
        ours, theirs = (tables[0 if choices else place] for tables in (reply.true, true))
        is_sparse = isinstance(ours, tuple)
        found = sparse_distance(ours, theirs) if is_sparse else distance(ours, theirs)
        _check_declared(event, found)


def _check_parts(reply: Reply, true: Sequence[Any]) -> None:
    """Check choices in several parts of a table, with an array of scores for each part.

    They are one choice among all combinations, by the sum of the scores. So the range of the change
    of the sum is the sum of the ranges.
    """
    event = reply.events[0]
    if len(reply.events) != 1:
        raise Violation(
            f"{event.method}: choices in {len(true)} parts of a table must be one event, but there "
            f"are {len(reply.events)}."
        )
    spread = sum(
        distance(ours, theirs).spread for ours, theirs in zip(reply.true, true, strict=True)
    )
    _check_declared(event, Distance(l1=0, l2_squared=0, spread=spread, largest=0))


def _check_scores(reply: Reply, true: Sequence[Any]) -> None:
    """Check that each score of comparisons moves by no more than the noise hides.

    Only comparisons leave, so the bounds are on the change of each score by itself: once in the
    threshold, twice in each comparison.
    """
    if int(np.ravel(reply.true[0])[0]) != int(np.ravel(true[0])[0]):
        raise Violation("above_threshold: the threshold must not depend on the rows.")
    found = distance(reply.true[1], true[1]).largest
    threshold, comparison = reply.events
    if found > threshold.l1 or 2 * found > comparison.l1:
        raise Violation(
            f"above_threshold: a score differs by {found} between neighbouring tables, but at most "
            f"{threshold.l1}, and half of {comparison.l1}, were declared."
        )


def _check_declared(event: Event, found: Distance) -> None:
    if is_choice(event):
        if found.spread > event.spread:
            raise Violation(
                f"{event.method}: the changes of two scores differ by {found.spread} between "
                f"neighbouring tables, but at most {event.spread} was declared."
            )
    elif found.l1 > event.l1 or found.l2_squared > event.l2_squared:
        raise Violation(
            f"{event.method}: the true answers differ by {found.l1} in L1 and {found.l2_squared} "
            f"in squared L2 between neighbouring tables, but at most {event.l1} and "
            f"{event.l2_squared} were declared."
        )
