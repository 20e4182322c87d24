"""Whether the answers of the gate have the declared laws: noise, choices, and summaries of sparse
tables.

An answer is drawn again many times, and all draws are compared with the exact law of their declared
parameter. `margin.audit.laws.evidence` states the tests.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._types import Integers
from ...privacy.event import Event
from ..event_cost import is_choice
from ..thresholds import law_of_first
from .choices import ChoiceTest
from .evidence import Evidence
from .noise import NoiseTest
from .sparse_cells import SparseTest

__all__ = ["Law"]

# Largest number of numbers that are drawn again for each answer, about.
_DRAWS = 10_000

# In a run, the draws of one law are enough if there are `_ENOUGH` numbers in `_ANSWERS` answers.
_ENOUGH = 1000
_ANSWERS = 60

# Largest number of choices that are made again for each answer, about.
_CHOICES = 500

# Largest number of times that an answer is drawn again.
_REPEATS = 100

# Number of times that comparisons with a threshold are made again.
_PLACES = 1000

Key = tuple[object, ...]


class Law:
    """Everything that is known of the draws so far.

    Parameters
    ----------
    seed
        The seed of the random numbers of the tests.
    """

    def __init__(self, seed: int = 0) -> None:
        self._evidence = Evidence(seed)
        self._noise = NoiseTest(self._evidence)
        self._choices = ChoiceTest(self._evidence)
        self._sparse = SparseTest(self._evidence)
        # The number of answers of each law in this run.
        self._answered: Counter[Key] = Counter()

    def start_run(self) -> None:
        """Start a new run, in which each law may be drawn again as often as in the runs before."""
        self._answered.clear()

    def add(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        answer: Any,
    ) -> None:
        """Look at one answer of the gate."""
        if is_choice(events[0]):
            self._add_choices(events, true, np.atleast_1d(answer)[None])
        elif events[0].method == "above_threshold":
            self._add_place(events, true, answer)
        elif hasattr(answer, "words"):
            self._sparse.add(events[0], true[0], answer)
        elif isinstance(answer, list):
            parts = zip(events, answer, true, strict=True)
            noises = [
                self._noise.add(event, np.asarray(noisy), table) for event, noisy, table in parts
            ]
            self._noise.add_reuse(events, noises)

    def _add_choices(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        chosen: Integers,
    ) -> None:
        """Look at choices, array (answers, choices): all among the same scores, or one in each of
        several parts of the table, with an array of scores for each part."""
        if len(true) == 1:
            self._choices.add(events, true[0], chosen)
            return
        for part, scores in enumerate(true):
            self._choices.add(events, scores, chosen[:, [part]])

    def add_more(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], Any],
    ) -> None:
        """Draw the same answer again many times, and look at all draws and at their dependence.

        If a run gets several answers by one law, each is drawn again half as often as the one
        before.
        """
        law = _law_of(events, true)
        repeats = _repeats(events, true) >> self._answered[law]
        self._answered[law] += 1
        answers = [draw() for _ in range(repeats)]
        if not answers:
            return
        if is_choice(events[0]):
            # Answers with the same number of choices are looked at together.
            chosen = [np.atleast_1d(answer) for answer in answers]
            for size in sorted({choice.size for choice in chosen}):
                same = [choice for choice in chosen if choice.size == size]
                self._add_choices(events, true, np.stack(same))
        elif isinstance(answers[0], list):
            noises = []
            for place, (event, table) in enumerate(zip(events, true, strict=True)):
                noisy = np.stack([np.asarray(answer[place]) for answer in answers])
                noises.append(self._noise.add(event, noisy, np.broadcast_to(table, noisy.shape)))
            self._noise.add_dependence(events, noises)
        else:
            for answer in answers:
                self.add(events, true, answer)

    def _add_place(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        place: int,
    ) -> None:
        """Look at the place of the first score found above the threshold; -1 means none."""
        chances = law_of_first(events, true)
        edges = np.concatenate([[0.0], np.cumsum(chances)])
        start = place % chances.size
        uniform = edges[start] + self._evidence.random.random() * chances[start]
        self._evidence.add_uniform("above_threshold: places", np.array([uniform]))

    def judge(self) -> list[str]:
        """Everything that is wrong with what was added, in sentences."""
        return self._evidence.judge()


def _law_of(events: Sequence[Event], true: Sequence[Any]) -> Key:
    """What determines the law of an answer: methods, noise, the size of each table, and whether it
    has empty cells."""
    tables = []
    for table in true:
        counts = table[1] if isinstance(table, tuple) else table
        tables.append((np.shape(counts), bool(np.any(counts)), bool(np.all(counts))))
    return tuple((event.method, event.sampler, event.draws) for event in events), tuple(tables)


def _repeats(events: Sequence[Event], true: Sequence[Any]) -> int:
    """The number of times that an answer is drawn again."""
    if events[0].method == "above_threshold":
        return _PLACES
    size = sum(len(table[0]) if isinstance(table, tuple) else np.size(table) for table in true)
    enough = min(_REPEATS, max(_ANSWERS, _ENOUGH // max(size, 1)))
    repeats = max(8, min(enough, _DRAWS // max(size, 1)))
    if is_choice(events[0]):
        choices = sum(event.draws for event in events)
        repeats = max(1, min(repeats, _CHOICES // choices))
    return repeats
