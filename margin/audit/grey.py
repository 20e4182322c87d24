"""Record and replay: a mechanism is run on a table, then on a neighbour with the same noisy answers.

What it then asks must be the same, the true answers must be as close as was declared, and what it returns must be equal
bit by bit: only the answers may carry anything about the rows. See `margin.audit`.
"""

import contextlib
import copy
import dataclasses
import hashlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from .._numbers import UNIT
from ..budget import ApproxDP, Budget
from ..domain import Domain
from ..entropy import Entropy
from ..errors import MarginError
from ..event import Event, pure_epsilon
from ..exact.loss import certified_epsilon
from ..private import Private
from ..source import CodesSource
from .law import Law, cost

__all__ = ["Reply", "Violation", "observed", "outcome", "replayed"]

T = TypeVar("T")


class Violation(Exception):
    """What a mechanism did that it must not do."""


@dataclass(frozen=True)
class Reply:
    """One call through the gate: what was asked, what was true, and what was answered."""

    events: tuple[Event, ...]
    true: Sequence[Any]
    answer: Any


class Recorder(Private):
    """Answers as `Private` does and keeps every reply."""

    tape: list[Reply]

    def _answer(self, events: Sequence[Event], true: Sequence[Any], draw: Callable[[], T]) -> T:
        kept = copy.deepcopy(list(true))
        answer = super()._answer(events, true, draw)
        self.tape.append(Reply(tuple(events), kept, copy.deepcopy(answer)))
        return answer


class Player(Private):
    """Gives the answers of a tape, after comparing what is asked and how far the true answers are from the tape's."""

    tape: list[Reply]

    def _answer(self, events: Sequence[Event], true: Sequence[Any], draw: Callable[[], T]) -> T:
        self._check_certified(events)
        if units := sum(event.units for event in events):
            self._charge(units)
        if not self.tape:
            raise Violation("asks for more on a neighbouring table")
        reply = self.tape.pop(0)
        if reply.events != tuple(events):
            raise Violation(f"asks something else on a neighbouring table, in {events[0].method}")
        _compare(reply, true)
        self._events += events
        answer: T = copy.deepcopy(reply.answer)
        return answer


def replayed(
    mechanism: Any,
    pair: tuple[Any, Any],
    *,
    domain: Domain,
    budget: Budget,
    workload: Any,
    entropy: Entropy,
    law: Law,
) -> None:
    """Run on the first table, replay on the second; Violation when anything but the answers depends on the rows."""
    first, second = (CodesSource(np.asarray(codes)) for codes in pair)
    recorder = Recorder(first, domain=domain, budget=budget, entropy=entropy)
    recorder.tape = []
    before = outcome(mechanism, recorder, workload)
    tape = list(recorder.tape)
    _check_cost(tape, budget)
    for reply in tape:
        law.add(reply.events, reply.true, reply.answer)
    player = Player(second, domain=domain, budget=budget, entropy=entropy)
    player.tape = list(tape)
    after = outcome(mechanism, player, workload)
    if player.tape:
        raise Violation("asks for less on a neighbouring table")
    if before != after:
        raise Violation(
            "returns something else although every answer was equal: rows, or other chance, went past the gate"
        )


def observed(
    mechanism: Any, codes: Any, *, domain: Domain, budget: Budget, workload: Any, entropy: Entropy, law: Law
) -> None:
    """Run on a table, only to look at the noise that comes through the gate."""
    recorder = Recorder(CodesSource(np.asarray(codes)), domain=domain, budget=budget, entropy=entropy)
    recorder.tape = []
    outcome(mechanism, recorder, workload)
    for reply in recorder.tape:
        law.add(reply.events, reply.true, reply.answer)


def outcome(mechanism: Any, private: Private, workload: Any) -> str:
    """All that a run lets out, as a text: the synopsis, or the error; what it printed and what it warned of.

    An error that is not one of this package's is a violation: it may say anything, and shows that something is broken.
    """
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            result: object = mechanism.run(private, workload)
        except MarginError as error:
            result = (type(error).__name__, str(error))
        except Violation:
            raise
        except Exception as error:
            raise Violation(f"raises {type(error).__name__}, which is no MarginError: {error}") from error
    digest = hashlib.sha256()
    _feed(digest.update, (result, printed.getvalue(), [str(w.message) for w in warned]), 0)
    return digest.hexdigest()


def _feed(update: Callable[[bytes], None], value: object, depth: int) -> None:
    """All that a value holds, as bytes that differ when it does."""
    update(type(value).__name__.encode())
    if depth > 20:
        return
    if isinstance(value, np.ndarray):
        update(f"{value.dtype}{value.shape}".encode())
        update(repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        for item in value.items():
            _feed(update, item, depth + 1)
    elif isinstance(value, list | tuple):
        update(str(len(value)).encode())
        for item in value:
            _feed(update, item, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _feed(update, getattr(value, field.name, None), depth + 1)
    elif isinstance(value, str | bytes | int | float | complex | Enum | type | None):
        update(repr(value).encode())
    elif hasattr(value, "__dict__") and not callable(value):
        _feed(update, vars(value), depth + 1)
    else:
        update(repr(value).split(" at 0x")[0].encode())


def _check_cost(tape: Sequence[Reply], budget: Budget) -> None:
    """The parameters of the noise, apart from the account: what they really cost must be within the charges."""
    events = [event for reply in tape for event in reply.events]
    for event in events:
        if event.rounds is None and cost(event, budget) > event.units * UNIT:
            raise Violation(f"{event.method} has less noise than was paid for")
    for reply in tape:
        if reply.events[0].rounds is not None and np.size(reply.answer) != reply.events[0].draws:
            raise Violation(f"{reply.events[0].method}: draws another number than was declared")
    for rounds in _rounds(events):
        _check_rounds(rounds, events, budget)
    if sum(event.units for event in events) > budget.units:
        raise Violation("spends more than the budget")


def _rounds(events: Sequence[Event]) -> list[list[Event]]:
    """The events of rounds that were charged together, each time."""
    groups: dict[int, list[Event]] = {}
    for event in events:
        if event.rounds is not None:
            groups.setdefault(id(event.rounds), []).append(event)
    return list(groups.values())


def _check_rounds(rounds: Sequence[Event], events: Sequence[Event], budget: Budget) -> None:
    """What rounds of draws cost by their own parameters: in sum, or certified with all else that was done."""
    if sum(cost(event, budget) for event in rounds) <= rounds[0].units * UNIT:
        return
    others = pure_epsilon([event for event in events if all(event is not one for one in rounds)])
    if isinstance(budget, ApproxDP) and others is not None:
        ranges = tuple((event.sampler.rate * event.spread, event.draws) for event in rounds)  # type: ignore[union-attr]
        if certified_epsilon(ranges, budget.delta) + others <= budget.epsilon:
            return
    raise Violation(f"{rounds[0].method} draws more than was paid for")


def _compare(reply: Reply, true: Sequence[Any]) -> None:
    if len(reply.true) != len(true):
        raise Violation("the true answers have another shape on a neighbouring table")
    for event, ours, theirs in zip(reply.events, reply.true, true, strict=False):
        difference = _difference(ours, theirs)
        if event.spread:
            apart = int(difference.max()) - int(difference.min())
            if apart > event.spread:
                raise Violation(f"{event.method}: scores move {apart} apart, but {event.spread} was declared")
            continue
        l1, l2_squared = int(np.abs(difference).sum()), int((difference**2).sum())
        if l1 > event.l1 or l2_squared > event.l2_squared:
            raise Violation(
                f"{event.method}: true answers differ by {l1} in L1 and {l2_squared} in squared L2, "
                f"but {event.l1} and {event.l2_squared} were declared"
            )


def _difference(ours: Any, theirs: Any) -> Any:
    if isinstance(ours, tuple):  # sparse: cells and counts
        cells, places = np.unique(np.concatenate([ours[0], theirs[0]]), axis=0, return_inverse=True)
        difference = np.zeros(len(cells), np.int64)
        np.subtract.at(difference, places.reshape(-1)[: len(ours[0])], ours[1])
        np.add.at(difference, places.reshape(-1)[len(ours[0]) :], theirs[1])
        return difference
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Violation("a true answer has another shape or type on a neighbouring table")
    return theirs - ours
