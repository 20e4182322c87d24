"""The iteration of `JointProjection`: ADMM, by numpy and by compiled loops."""

from typing import Any

import numpy as np

from ...fitted import RELAXATION, WORTH_THREADS
from ...threads import in_parts, processors
from ...types import Floats
from ..consistency import Components

__all__ = ["CompiledSplitting", "Splitting"]


class Splitting:
    """The state of ADMM: two copies of the cells, and the scaled multipliers of their difference.

    `cells` is consistent, `positive` is non-negative, and `dual` are the multipliers; each has
    shape (n,). The method makes the two copies equal.
    """

    def __init__(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
    ) -> None:
        self.components = components
        self.observed = observed
        self.weight = weight
        self.cells = cells
        self.empty = np.zeros(0, np.bool_) if components.empty is None else components.empty
        self.positive = np.maximum(cells, 0.0)
        self.dual = np.zeros_like(cells)
        # What `Links.met` needs, for the penalty of the last step.
        self._rho = 0.0
        self._spread: Floats = np.empty(0)
        self._root: Any = None

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM with penalty `rho`.

        Returns
        -------
        distance, change
            The largest distance of the two copies, and the largest change of the non-negative one,
            in standard deviations.
        """
        components = self.components
        weight = self.weight
        before = self.positive
        # The consistent copy: each coefficient between its observed value and the other copy.
        pulled = components.average(components.analyse(before - self.dual))
        with np.errstate(invalid="ignore"):
            between = (weight * self.observed + rho * pulled) / (weight + rho)
        shared = np.where(np.isinf(weight), self.observed, between)
        if components.links is not None:
            if rho != self._rho:
                # One divided by the weight of each coefficient in this step.
                self._spread = 1 / ((weight + rho) * components.metric)
                self._root = components.links.root(self._spread)
                self._rho = rho
            shared = components.links.met(shared, self._spread, self._root)
        self.cells = components.synthesise(shared)
        if components.known_by_group:
            self.cells = components.fixed(self.cells)
        # The non-negative copy: over-relaxation, then a clip.
        relaxed = RELAXATION * self.cells + (1 - RELAXATION) * before + self.dual
        self.positive = np.maximum(relaxed, 0.0)
        if self.empty.size:
            self.positive[self.empty] = 0.0
        self.dual = relaxed - self.positive
        distance = np.abs(self.cells - self.positive) / components.deviation
        change = np.abs(self.positive - before) / components.deviation
        return float(np.max(distance)), float(np.max(change))


class CompiledSplitting(Splitting):
    """The same iteration by compiled loops, on all processors if there are enough cells."""

    def __init__(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
        loops: Any,
    ) -> None:
        super().__init__(components, observed, weight, cells.copy())
        self.loops = loops
        views = components.packed
        goals = components.goals(weight, observed)
        state = loops.State(
            cells=self.cells,
            positive=self.positive,
            dual=self.dual,
            empty=self.empty,
            deviation=components.deviation[views.bounds[:-1]],
            worst=np.zeros((len(views.bounds) - 1, 2)),
        )
        self._worst = state.worst
        self._shared = len(goals.weight)
        self._records = (tuple(views), tuple(goals), tuple(state))
        self._threads = processors() if cells.size > WORTH_THREADS else 1

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM in compiled loops; see `Splitting.step`."""
        loops = self.loops
        views, goals, state = self._records

        def analyse(start: int, stop: int) -> None:
            loops.analyse(start, stop, views, goals, state, rho)

        def agree(start: int, stop: int) -> None:
            loops.agree(start, stop, goals, state, rho)

        def clip(start: int, stop: int) -> None:
            loops.clip(start, stop, views, state, RELAXATION)

        in_parts(len(self._worst), self._threads, analyse)
        in_parts(self._shared, self._threads, agree)
        in_parts(len(self._worst), self._threads, clip)
        distance, change = self._worst.max(axis=0).tolist()
        return distance, change
