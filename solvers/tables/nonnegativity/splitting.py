"""The iteration of `JointProjection`: ADMM, by numpy and by compiled loops."""

from typing import Any

import numpy as np

from ...fitted import RELAXATION, WORTH_THREADS
from ...threads import in_parts, processors
from ...types import Floats
from ..consistency import Components
from .packing import goals, packed, split_views

__all__ = ["CompiledSplitting", "Splitting"]


class Splitting:
    """The state of ADMM: two copies of the cells, and the scaled multipliers of their difference.

    The first copy is consistent, and follows from the others (`consistent`). `positive` is
    non-negative, and `dual` are the multipliers; each has shape (n,). The method makes the two
    copies equal.
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
        self.empty = np.zeros(0, np.bool_) if components.empty is None else components.empty
        self.positive = np.maximum(cells, 0.0)
        self.dual = np.zeros_like(cells)
        self._deviation = components.deviation
        # What `Links.met` needs, for the penalty of the last step.
        self._rho = 0.0
        self._spread: Floats = np.empty(0)
        self._root: Any = None

    def consistent(self, rho: float) -> Floats:
        """The consistent copy for the penalty `rho`, shape (n,)."""
        components = self.components
        weight = self.weight
        # Each coefficient is between its observed value and that of the other copy.
        pulled = components.average(components.analyse(self.positive - self.dual))
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
        cells = components.synthesise(shared)
        return components.fixed(cells) if components.known_by_group else cells

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM with penalty `rho`.

        Returns
        -------
        distance, change
            The largest distance of the two copies, and the largest change of the non-negative one,
            in standard deviations.
        """
        before = self.positive
        cells = self.consistent(rho)
        # The non-negative copy: over-relaxation, then a clip.
        relaxed = RELAXATION * cells + (1 - RELAXATION) * before + self.dual
        self.positive = np.maximum(relaxed, 0.0)
        if self.empty.size:
            self.positive[self.empty] = 0.0
        self.dual = relaxed - self.positive
        deviation = self._deviation
        distance = np.abs(cells - self.positive) / deviation
        change = np.abs(self.positive - before) / deviation
        return float(np.max(distance)), float(np.max(change))

    def halve_dual(self) -> None:
        """Halve the scaled multipliers: the penalty has doubled."""
        self.dual /= 2


class CompiledSplitting:
    """The same iteration by compiled loops, on all processors if there are enough cells.

    `cells` are overwritten.
    """

    def __init__(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
        loops: Any,
    ) -> None:
        self.loops = loops
        views = packed(components, split_views(components, weight))
        aims = goals(components, views, weight, observed)
        empty = np.zeros(0, np.bool_) if components.empty is None else components.empty
        self._state = loops.State(
            relaxed=np.maximum(cells, 0.0, out=cells),
            blocks=np.empty(views.starts[-1]),
            empty=empty,
            deviation=components.deviations,
            worst=np.zeros((len(views.split), 2)),
        )
        self._shared = len(aims.weight)
        self._records = (tuple(views), tuple(aims), tuple(self._state))
        self._threads = processors() if cells.size > WORTH_THREADS else 1

    def consistent(self, rho: float) -> Floats:
        """The consistent copy for the penalty `rho`, shape (n,)."""
        cells: Floats = np.empty_like(self._state.relaxed)
        self._run(rho, cells)
        return cells

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM in compiled loops; see `Splitting.step`."""
        self._run(rho, np.empty(0))
        distance, change = self._state.worst.max(axis=0).tolist()
        return distance, change

    def halve_dual(self) -> None:
        """Halve the scaled multipliers: the penalty has doubled."""
        relaxed = self._state.relaxed
        is_dual = relaxed < 0
        if self._state.empty.size:
            is_dual |= self._state.empty
        np.divide(relaxed, 2, out=relaxed, where=is_dual)

    def _run(self, rho: float, cells: Floats) -> None:
        """Compute the consistent copy, and write it to `cells` or else finish the iteration."""
        loops = self.loops
        views, goals, state = self._records

        def analyse(start: int, stop: int) -> None:
            loops.analyse(start, stop, views, goals, state, rho)

        def agree(start: int, stop: int) -> None:
            loops.agree(start, stop, goals, state, rho)

        def clip(start: int, stop: int) -> None:
            loops.clip(start, stop, views, goals, state, rho, RELAXATION, cells)

        count = len(self._state.worst)
        in_parts(count, self._threads, analyse)
        in_parts(self._shared, self._threads, agree)
        in_parts(count, self._threads, clip)
