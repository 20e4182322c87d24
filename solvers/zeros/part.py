"""Boxes that are linked by common axes: what is possible, sums over axes, and random rows."""

import heapq
import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..limits import BOX_COMBINATIONS
from ..types import Flags, Floats, Integers
from .elimination import Elimination
from .factors import Axes, Box, Factor, Step, Weights, spread

__all__ = ["Part"]

_ROUNDS = 20
"""Largest number of rounds for each axis when weights are fitted to shares."""

_STEPS = 10_000
"""Largest number of eliminations in a fit of weights."""

_CLOSE = 0.005
"""Largest error of a share at which a fit of weights ends."""

_LIFTS = 3
"""Largest number of rounds for each axis when the weights of rare categories are raised."""

_ENOUGH = 0.1
"""A category is frequent enough if it has this part of an equal share."""

_LEAST_WEIGHT = 1e-200
"""Smallest weight of a category, relative to the largest weight of its axis."""


class Part:
    """Boxes that are linked by common axes, with the classes of the categories; see the module.

    Attributes
    ----------
    classes
        For each axis the class of each category, shape (size,).
    kinds
        For each axis the number of classes.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        boxes: Sequence[Box],
    ) -> None:
        self.classes: dict[int, Integers] = {}
        self.kinds: dict[int, int] = {}
        # For each axis the boxes that have it, each with its categories.
        held: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for number, box in enumerate(boxes):
            for axis, codes in box:
                held.setdefault(axis, []).append((number, codes))
        # Which classes lie in each box, for each of its axes.
        inside: dict[tuple[int, int], Flags] = {}
        for axis, own in sorted(held.items()):
            flags = np.zeros((len(own), sizes[axis]), np.bool_)
            for row, (_, codes) in enumerate(own):
                flags[row, list(codes)] = True
            by_class, classes = np.unique(
                flags,
                axis=1,
                return_inverse=True,
            )
            self.classes[axis] = np.ravel(classes).astype(np.int64)
            self.kinds[axis] = by_class.shape[1]
            for (number, _), in_box in zip(own, by_class, strict=True):
                inside[number, axis] = in_box
        # One factor per box: false inside the box, true elsewhere.
        self._factors: list[Factor] = []
        for number, box in enumerate(boxes):
            axes = tuple(axis for axis, _ in box)
            self._check_width(axes)
            within = np.ones((), np.bool_)
            for axis in axes:
                within = np.logical_and.outer(within, inside[number, axis])
            self._factors.append((axes, ~within))

    def possible(self, kept: Axes) -> Flags:
        """Whether each combination of the classes of some ascending axes is possible.

        If that would need too many combinations, boxes with other axes are left out.
        """
        try:
            return np.asarray(self.reduced(kept), np.bool_)
        except ValueError:
            if not kept:
                raise
        return np.asarray(self._within(kept).reduced(kept), np.bool_)

    def _within(self, axes: Collection[int]) -> "Part":
        """The same part with only those boxes all of whose axes are among `axes`."""
        part = object.__new__(Part)
        part.classes = self.classes
        part.kinds = self.kinds
        part._factors = [factor for factor in self._factors if set(factor[0]) <= set(axes)]
        return part

    def reduced(
        self,
        kept: Axes,
        weights: Weights | None = None,
    ) -> NDArray[Any]:
        """Sum out all axes except `kept`: the marginal of the possible combinations, by classes.

        With weights, each possible combination counts as the product of the weights of its
        categories. The sums are right up to a common factor. Without weights, the result tells for
        each combination of classes of the kept axes whether it can be completed. The kept axes
        ascend; the result has the shape ``[kinds[a] for a in kept]``.
        """
        factors, _ = self._eliminated(kept, weights)
        self._check_width(kept)
        kind = np.float64 if weights else np.bool_
        joint: NDArray[Any] = np.ones([self.kinds[axis] for axis in kept], kind)
        for axes, table in factors:
            joint = joint * spread(table, axes, kept)
        return joint

    def expanded(
        self,
        axes: Axes,
        table: NDArray[Any],
    ) -> NDArray[Any]:
        """Repeat a table by classes so that it becomes a table by categories."""
        return table[np.ix_(*(self.classes[axis] for axis in axes))]

    def weights(self, shares: Weights) -> dict[int, Floats]:
        """Fit weights of the categories so that each category gets nearly its given share.

        A possible combination has a probability in proportion to the product of the weights of its
        categories. The method is iterative proportional fitting. Each round fits the axis with the
        largest error. The number of rounds is limited.
        """
        weights = dict(shares)
        wanted = {axis: self._summed(axis, share) for axis, share in shares.items()}
        for _ in range(max(1, min(_ROUNDS * len(shares), _STEPS // len(shares)))):
            now = self._shares(weights)
            # The wanted shares of the classes that are possible.
            there = {}
            gaps = []
            for axis, share in now.items():
                possible = np.where(share > 0, wanted[axis], 0.0)
                there[axis] = possible / possible.sum()
                gaps.append((float(np.abs(there[axis] - share).max()), axis))
            gap, axis = max(gaps)
            if gap < _CLOSE:
                break
            share = now[axis]
            ratio = np.divide(
                there[axis],
                share,
                out=np.ones_like(share),
                where=share > 0,
            )
            weights[axis] = _scaled(weights[axis] * ratio[self.classes[axis]])
        return weights

    def lifted(self) -> dict[int, Floats]:
        """Fit weights of the categories so that each gets at least a tenth of an equal share.

        A possible combination has a probability in proportion to the product of the weights of its
        categories. The number of rounds is limited, so the goal may be reached only in part.
        """
        weights = {axis: np.ones(classes.size) for axis, classes in self.classes.items()}
        wanted = {}
        for axis, one in weights.items():
            equal = np.where(self.possible((axis,)), self._summed(axis, one), 0.0)
            wanted[axis] = equal / equal.sum()
        for _ in range(min(_LIFTS * len(weights), _STEPS // len(weights))):
            now = self._shares(weights)
            # The category that lacks most, by its share relative to an equal one.
            parts = []
            for axis, share in wanted.items():
                possible = share > 0
                parts.append((float((now[axis][possible] / share[possible]).min()), axis))
            least, axis = min(parts)
            if least >= _ENOUGH:
                break
            ratio = wanted[axis] / np.maximum(now[axis], _LEAST_WEIGHT)
            weights[axis] = _scaled(weights[axis] * ratio[self.classes[axis]])
        return weights

    def _shares(self, weights: Weights) -> dict[int, Floats]:
        """Compute the share of each class of each axis, for given weights of the categories.

        A possible combination has a probability in proportion to the product of its weights. The
        axes are treated in the reverse order of elimination: the distribution of an axis is known
        given the axes that are eliminated after it.
        """
        joint: dict[int, Factor] = {}
        shares: dict[int, Floats] = {}
        steps = self._eliminated((), weights)[1]
        turn = {axis: number for number, (axis, _, _) in enumerate(steps)}
        for axis, axes, table in reversed(steps):
            place = axes.index(axis)
            total = table.sum(
                axis=place,
                keepdims=True,
            )
            belief = np.divide(
                table,
                total,
                out=np.zeros_like(table),
                where=total > 0,
            )
            others = tuple(other for other in axes if other != axis)
            if others:
                known, outer = joint[min(others, key=turn.__getitem__)]
                outer = outer.sum(
                    axis=tuple(k for k, other in enumerate(known) if other not in others)
                )
                belief = belief * np.expand_dims(outer, place)
            joint[axis] = axes, belief
            shares[axis] = belief.sum(axis=tuple(k for k in range(len(axes)) if k != place))
        return shares

    def draw(
        self,
        rows: NDArray[Any],
        which: Integers,
        weights: Weights,
        rng: np.random.Generator,
    ) -> None:
        """Draw the codes of all axes of this part for the rows `which`, in place.

        A possible combination has a probability in proportion to the product of its weights. The
        axes are drawn in the reverse order of elimination, each given the axes drawn before.
        """
        for axis, axes, table in reversed(self._eliminated((), weights)[1]):
            by_category = np.moveaxis(table, axes.index(axis), -1)[..., self.classes[axis]]
            by_category = by_category * self.within_class(axis, weights[axis])
            others = tuple(other for other in axes if other != axis)
            if not others:
                rows[which, axis] = _drawn(by_category, which.size, rng)
                continue
            given = np.stack([self.classes[other][rows[which, other]] for other in others], axis=1)
            cases, case = np.unique(
                given,
                axis=0,
                return_inverse=True,
            )
            for number, place in enumerate(cases.tolist()):
                some = which[np.ravel(case) == number]
                rows[some, axis] = _drawn(by_category[tuple(place)], some.size, rng)

    def within_class(
        self,
        axis: int,
        weights: Floats,
    ) -> Floats:
        """The weight of each category of an axis, divided by the sum over its class."""
        return weights / self._summed(axis, weights)[self.classes[axis]]

    def _summed(
        self,
        axis: int,
        values: Floats,
    ) -> Floats:
        """Add up values of the categories of an axis by class, shape (kinds,)."""
        return np.bincount(self.classes[axis], values).astype(np.float64)

    def _eliminated(
        self,
        kept: Axes,
        weights: Weights | None,
    ) -> tuple[list[Factor], list[Step]]:
        """Eliminate all axes except `kept`, roughly in the order of the size of their tables.

        Returns
        -------
        factors, steps
            The factors that are left, and the steps in their order.
        """
        factors = list(self._factors)
        if weights is not None:
            factors += [((axis,), self._summed(axis, weights[axis])) for axis in self.classes]
        elimination = Elimination(self.kinds, factors, weighted=weights is not None)
        queue = []
        for axis in self.classes:
            if axis not in kept:
                queue.append((self._width(elimination.together(axis)), axis))
        heapq.heapify(queue)
        steps: list[Step] = []
        while queue:
            width, axis = heapq.heappop(queue)
            axes = elimination.together(axis)
            # The table may have grown since the axis was queued. Then the axis is queued again.
            now = self._width(axes)
            if queue and now > max(width, queue[0][0]):
                heapq.heappush(queue, (now, axis))
                continue
            self._check_width(axes)
            steps.append(elimination.eliminate(axis, axes))
        return list(elimination.factors.values()), steps

    def _width(self, axes: Axes) -> int:
        """The number of combinations of classes of some axes."""
        return math.prod(self.kinds[axis] for axis in axes)

    def _check_width(self, axes: Axes) -> None:
        """Raise ValueError if a table of some axes would be too large."""
        if self._width(axes) > BOX_COMBINATIONS:
            raise ValueError(
                f"at most {BOX_COMBINATIONS} combinations of categories can be treated exactly, "
                f"but the boxes connect {len(axes)} axes with {self._width(axes)} combinations; "
                "drop some boxes"
            )


def _scaled(weights: Floats) -> Floats:
    """Weights with a maximum of one, each at least `_LEAST_WEIGHT`."""
    return np.asarray(np.maximum(weights / weights.max(), _LEAST_WEIGHT))


def _drawn(
    weights: Floats,
    count: int,
    rng: np.random.Generator,
) -> Integers:
    """Draw `count` categories with probabilities in proportion to weights."""
    return rng.choice(weights.size, count, p=weights / weights.sum())
