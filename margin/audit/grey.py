"""Record and replay: a mechanism is run on a table, then on a neighbour with the same noisy
answers.

What it then asks must be the same, the true answers must be as close as was declared, and what it
lets out must be equal bit by bit: only the answers may carry anything about the rows. See
`margin.audit`.
"""

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
from .cost import Apart, apart, check_costs, chooses, sparse_apart
from .law import Law
from .left import Outcome, outcome
from .look import Violation

__all__ = [
    "Player",
    "Recorder",
    "Reply",
    "Violation",
    "check_tape",
    "observed",
    "outcome",
    "replayed",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """One call through the gate: what was asked, what was true, and what was answered."""

    events: tuple[Event, ...]
    true: Sequence[Any]
    answer: Any


class _Watched:
    """Entropy that may be drawn from only while the gate answers."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self.answering = False

    @property
    def private(self) -> bool:
        """See `Entropy`."""
        return self._entropy.private

    def take(self, n: int) -> bytes:
        """See `Entropy`; Violation when the gate is not answering."""
        if not self.answering:
            raise Violation(
                "draws noise or chance before the charge, or besides the gate's answers"
            )
        return self._entropy.take(n)


class _Charged:
    """A ledger that keeps what it was charged."""

    def __init__(self) -> None:
        self.budgets: list[Budget] = []

    def charge(self, budget: Budget, /) -> None:
        """See `Chargeable`."""
        self.budgets.append(budget)


class _Audited(Private):
    """What a recorder and a player have in common: a ledger that is watched."""

    tape: list[Reply]

    def __init__(
        self,
        source: Source,
        *,
        domain: Domain,
        budget: Budget,
        entropy: Entropy,
        ledger: Any = None,
    ) -> None:
        self._watched = _Watched(entropy)
        # Rounds of draws are not certified where there is a ledger: there the charge is left to the
        # account.
        self._charged = None if isinstance(budget, ApproxDP) or ledger is not None else _Charged()
        super().__init__(
            source,
            domain=domain,
            budget=budget,
            entropy=self._watched,
            ledger=ledger or self._charged,
        )
        self.tape = []

    def _check_charged(self) -> None:
        if self._charged is not None and self._charged.budgets != [self.budget]:
            raise Violation(
                "draws before the whole budget was charged to the ledger, or charges it otherwise"
            )


class Recorder(_Audited):
    """Answers as `Private` does and keeps every reply.

    With `law` given, every answer is drawn some more times, and all draws are looked at.
    """

    law: Law | None = None

    def _answer(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], T],
    ) -> T:
        kept = [_kept(table) for table in true]

        def watched() -> T:
            self._check_charged()
            self._watched.answering = True
            try:
                return draw()
            finally:
                self._watched.answering = False

        answer = super()._answer(events, true, watched)
        self.tape.append(Reply(tuple(events), kept, copy.deepcopy(answer)))
        if self.law is not None:
            self.law.add(events, kept, answer)
            self.law.add_more(events, kept, watched)
        return answer


class Player(_Audited):
    """Gives the answers of a tape, after comparing what is asked and how far the true answers are
    from the tape's."""

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
                raise Violation("asks for more on a neighbouring table")
            reply = self.tape.pop(0)
            if reply.events != tuple(events):
                raise Violation(
                    f"asks something else on a neighbouring table, in {events[0].method}"
                )
            self.true.append([_kept(table) for table in true])
            _compare(reply, self.true[-1])
            answer: T = copy.deepcopy(reply.answer)
            return answer

        return super()._answer(events, true, play)


def _kept(table: Any) -> Any:
    """A copy of a true answer; of cells wherever they are held, their words and counts."""
    if callable(getattr(table, "blocks", None)):
        words, counts = zip(*table.blocks(), strict=True)
        return np.concatenate(words), np.concatenate(counts)
    return copy.deepcopy(table)


def replayed(
    mechanism: Any,
    pair: tuple[Callable[[], Source], Callable[[], Source]],
    *,
    domain: Domain,
    budget: Budget,
    workload: Any,
    entropy: Entropy,
    law: Law,
) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    """Run on the first table, replay on the second; Violation when anything but the answers depends
    on the rows.

    The second table is opened when the run on the first has ended: both may be written to the same
    file. Returns the true answers on both.
    """
    recorder = Recorder(
        pair[0](),
        domain=domain,
        budget=budget,
        entropy=entropy,
    )
    before = outcome(mechanism, recorder, workload)
    player = Player(
        pair[1](),
        domain=domain,
        budget=budget,
        entropy=entropy,
    )
    player.tape = list(recorder.tape)
    after = outcome(mechanism, player, workload)
    check_tape(recorder.tape, budget)
    for reply in recorder.tape:
        law.add(reply.events, reply.true, reply.answer)
    check_replay(player, before, after)
    return [reply.true for reply in recorder.tape], player.true


def check_replay(
    player: Player,
    before: Outcome,
    after: Outcome,
) -> None:
    """Violation unless a replay asked for all of its tape and let out the same."""
    if player.tape:
        raise Violation("asks for less on a neighbouring table")
    if before != after:
        raise Violation(
            "lets out something else although every answer was equal: "
            "rows, or other chance, went past the gate, "
            f"in {after.differs(before)}"
        )


def observed(
    mechanism: Any,
    source: Source,
    *,
    domain: Domain,
    budget: Budget,
    workload: Any,
    entropy: Entropy,
    law: Law,
) -> None:
    """Run on a table, only to look at the noise that comes through the gate."""
    recorder = Recorder(
        source,
        domain=domain,
        budget=budget,
        entropy=entropy,
    )
    recorder.law = law
    law.start_run()
    outcome(mechanism, recorder, workload)


def check_tape(tape: Sequence[Reply], budget: Budget) -> None:
    """The parameters of the noise, apart from the account: what they really cost must be within the
    charges."""
    for reply in tape:
        if reply.events[0].rounds is not None and np.size(reply.answer) != reply.events[0].draws:
            raise Violation(f"{reply.events[0].method}: draws another number than was declared")
        # One event may choose in several parts of the table: it has one array of scores for each.
        if (
            chooses(reply.events[0])
            and reply.events[0].rounds is None
            and np.size(reply.answer) != max(len(reply.events), len(reply.true))
        ):
            raise Violation(f"{reply.events[0].method}: chooses another number than was declared")
    check_costs([event for reply in tape for event in reply.events], budget)


def _compare(reply: Reply, true: Sequence[Any]) -> None:
    if len(reply.true) != len(true):
        raise Violation("the true answers have another shape on a neighbouring table")
    choices = chooses(reply.events[0])
    if choices and len(true) > 1:
        _compare_parts(reply, true)
        return
    if not choices and len(reply.events) != len(true):
        raise Violation(f"{reply.events[0].method}: there are not as many true answers as events")
    for place, event in enumerate(reply.events):
        ours, theirs = (tables[0 if choices else place] for tables in (reply.true, true))
        found = sparse_apart(ours, theirs) if isinstance(ours, tuple) else apart(ours, theirs)
        _within(event, found)


def _compare_parts(reply: Reply, true: Sequence[Any]) -> None:
    """Choices in several parts at once are one choice among all combinations, by the sum of the
    scores: the range of the change of the sum is the sum of the ranges."""
    if len(reply.events) != 1:
        raise Violation(f"{reply.events[0].method}: choices in parts must be one event")
    parts = [apart(ours, theirs) for ours, theirs in zip(reply.true, true, strict=True)]
    spread = sum(part.spread for part in parts)
    _within(reply.events[0], Apart(0, 0, spread))


def _within(event: Event, found: Apart) -> None:
    if chooses(event):
        if found.spread > event.spread:
            raise Violation(
                f"{event.method}: scores move {found.spread} apart, but {event.spread} was declared"
            )
    elif found.l1 > event.l1 or found.l2_squared > event.l2_squared:
        raise Violation(
            f"{event.method}: true answers differ by {found.l1} in L1 "
            f"and {found.l2_squared} in squared L2, "
            f"but {event.l1} and {event.l2_squared} were declared"
        )
