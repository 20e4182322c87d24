"""Cells of an array that must be zero, and what follows for its marginals and for single rows.

A *box* gives some axes, each with some of its categories. A cell must be zero if it lies in one of
the boxes. Boxes that have an axis in common belong to one *part*; different parts have no axis in
common and are independent. Two categories of an axis are in one *class* if every box holds both or
neither. So the tables of a part are small, even if its axes have many categories.

A marginal on some axes needs sums over all values of the other axes. The others are eliminated one
by one, which is exact (Dechter, Bucket elimination, Artificial Intelligence 113, 1999).
"""

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .limits import BOX_CATEGORIES, BOX_COMBINATIONS
from .types import Flags, Floats, Integers

__all__ = ["Box", "NoCellLeft", "Zeros"]

Axes = tuple[int, ...]
Box = tuple[tuple[int, tuple[int, ...]], ...]
"""Pairs (axis, categories), axes and categories ascending: the cells of all their combinations."""

_Factor = tuple[Axes, NDArray[Any]]
"""Some ascending axes, and a table of numbers by the classes of these axes."""

_Step = tuple[int, Axes, NDArray[Any]]
"""An eliminated axis, and the product of all factors that had it: its axes and its table."""

_Weights = Mapping[int, Floats]
"""For each axis the weights of its categories, > 0."""

T = TypeVar("T")

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

_LEAST = 1e-6
"""Number that is added to the share of each category, so that none is zero."""

_LEAST_WEIGHT = 1e-200
"""Smallest weight of a category, relative to the largest weight of its axis."""


class NoCellLeft(ValueError):
    """The error that `Zeros` raises if its boxes hold all cells of the array."""


@dataclass(frozen=True)
class Zeros:
    """The cells of an array that must be zero.

    Parameters
    ----------
    sizes
        The number of categories of every axis of the array.
    boxes
        Every cell in one of them must be zero; at least one box.

    Raises
    ------
    ValueError
        If a box does not fit the sizes, or the boxes connect too many axes to be treated exactly.
    NoCellLeft
        If the boxes hold all cells. It is a `ValueError` too.

    Examples
    --------
    >>> zeros = Zeros((2, 3), (((0, (1,)), (1, (0, 2))),))  # axis 0 is 1, and axis 1 is 0 or 2
    >>> zeros.cells((0, 1)).astype(int).tolist()
    [[0, 0, 0], [1, 0, 1]]
    """

    sizes: tuple[int, ...]
    boxes: tuple[Box, ...]
    _known: dict[Any, Any] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        if not self.boxes:
            raise ValueError("boxes must hold at least one box, but it is empty; add one")
        for box in self.boxes:
            self._check(box)
        if not all(part.possible(()).all() for part in self._parts):
            raise NoCellLeft(
                "some cell must be outside all boxes, but no cell is left; drop some boxes"
            )

    def _check(self, box: Box) -> None:
        """Refuse a box that does not fit the sizes."""
        axes = [axis for axis, _ in box]
        if not _ascending(axes, len(self.sizes)):
            raise ValueError(
                "the axes of a box of zero cells must be ascending numbers from 0 to "
                f"{len(self.sizes) - 1}, but they are {axes}; sort them and name each once"
            )
        for axis, codes in box:
            size = self.sizes[axis]
            if not _ascending(codes, size):
                raise ValueError(
                    f"the categories of axis {axis} in a box of zero cells must be ascending "
                    f"numbers from 0 to {size - 1}, but they are {codes}; sort them and name each "
                    "once"
                )
            if size > BOX_CATEGORIES:
                raise ValueError(
                    f"an axis of a box of zero cells must have at most {BOX_CATEGORIES} "
                    f"categories, but axis {axis} has {size}; merge categories, or leave the axis "
                    "out"
                )

    @cached_property
    def ruled(self) -> Flags:
        """Whether each axis occurs in some box, shape (axes,)."""
        ruled = np.zeros(len(self.sizes), np.bool_)
        ruled[[axis for box in self.boxes for axis, _ in box]] = True
        return ruled

    def cells(self, axes: Axes) -> Flags:
        """Whether each cell of a marginal must be zero, shape ``[sizes[a] for a in axes]``.

        The axes ascend. A cell of the marginal is a sum of cells of the array; it must be zero if
        all of these must be zero. The result is exact, unless a table of more than
        `limits.BOX_COMBINATIONS` entries would be needed. Boxes that have other axes are then
        ignored, so that some cells that must be zero may be missed.
        """
        possible = np.ones([self.sizes[axis] for axis in axes], np.bool_)
        for part, own in self._in(axes):
            by_class = self._kept(("possible", own), partial(part.possible, own))
            possible &= _spread(part.expanded(own, by_class), own, axes)
        return ~possible

    def cells_of_many(self, asked: Integers) -> Flags | None:
        """Compute `cells` for n marginals of k axes each, all of one shape.

        Parameters
        ----------
        asked
            The ascending axes of each marginal, shape (n, k).

        Returns
        -------
        ndarray of shape (n, cells), or None if no cell of any marginal must be zero
        """
        named = np.where(self.ruled[asked], asked, -1)
        if not len(asked) or (named < 0).all():
            return None
        shape = [self.sizes[axis] for axis in asked[0].tolist()]
        distinct, first, same = np.unique(
            named,
            axis=0,
            return_index=True,
            return_inverse=True,
        )
        masks = np.empty((len(distinct), math.prod(shape)), np.bool_)
        for row, place in enumerate(first.tolist()):
            masks[row] = self.cells(tuple(asked[place].tolist())).ravel()
        return masks[np.ravel(same)] if masks.any() else None

    def uniform(self, axes: Axes) -> Floats:
        """A marginal of the uniform distribution on all cells that need not be zero.

        The axes ascend.
        """
        return self._marginal(axes, "uniform", self._even)

    def positive(self, axes: Axes) -> Floats:
        """A marginal of a distribution that is positive on all cells that need not be zero.

        The axes ascend. All marginals belong to one distribution, so they are consistent. It is the
        mean of two distributions. The first is uniform; in it, a category for which boxes leave few
        cells has almost no share. In the second, each category has at least a tenth of an equal
        share, as far as that is possible.
        """
        return (self.uniform(axes) + self._marginal(axes, "lifted", self._lifted)) / 2

    def broken(self, rows: NDArray[Any]) -> Flags:
        """Whether each row of codes, shape (rows, axes), lies in some box: shape (rows,)."""
        broken = np.zeros(len(rows), np.bool_)
        for box in self.boxes:
            broken |= self.inside(rows, box)
        return broken

    def inside(
        self,
        rows: NDArray[Any],
        box: Box,
    ) -> Flags:
        """Whether each row of codes lies in one given box: shape (rows,)."""
        inside = np.ones(len(rows), np.bool_)
        for axis, codes in box:
            flags = np.zeros(self.sizes[axis], np.bool_)
            flags[list(codes)] = True
            inside &= flags[rows[:, axis]]
        return inside

    def mend(
        self,
        rows: NDArray[Any],
        rng: np.random.Generator,
    ) -> None:
        """Replace codes of the rows that lie in a box by random codes outside all boxes, in place.

        `rows` are codes of shape (rows, axes). In a row that lies in a box of some part, the codes
        of all axes of this part are drawn again. Among the distributions on the allowed
        combinations that give each category the same share as in these rows, the one of maximum
        entropy is used, as far as it can be fitted. If only one row of a part is in a box, each
        category that it does not have gets only a tiny weight, so that most codes stay.
        """
        for part in self._parts:
            own = [box for box in self.boxes if box[0][0] in part.classes]
            wrong = np.flatnonzero(np.any([self.inside(rows, box) for box in own], axis=0))
            if wrong.size:
                shares = {}
                for axis in part.classes:
                    counts = np.bincount(rows[wrong, axis], minlength=self.sizes[axis])
                    shares[axis] = counts / wrong.size + _LEAST
                weights = shares if wrong.size == 1 else part.weights(shares)
                part.draw(rows, wrong, weights, rng)

    @cached_property
    def _parts(self) -> list["_Part"]:
        """The parts: groups of boxes that are linked by common axes."""
        owner: dict[int, int] = {}
        groups: dict[int, list[Box]] = {}
        for number, box in enumerate(self.boxes):
            merged = [box]
            for before in {owner[axis] for axis, _ in box if axis in owner}:
                merged += groups.pop(before)
            groups[number] = merged
            owner.update((axis, number) for some in merged for axis, _ in some)
        return [_Part(self.sizes, boxes) for boxes in groups.values()]

    def _in(self, axes: Axes) -> list[tuple["_Part", Axes]]:
        """The parts that have any of the given axes, each with those of the axes that it has."""
        found = []
        for part in self._parts:
            own = tuple(axis for axis in axes if axis in part.classes)
            if own:
                found.append((part, own))
        return found

    @cached_property
    def _even(self) -> _Weights:
        """Equal weights of the categories of each axis."""
        return {axis: np.ones(self.sizes[axis]) for part in self._parts for axis in part.classes}

    @cached_property
    def _lifted(self) -> _Weights:
        """The weights of the second distribution of `positive`."""
        weights: dict[int, Floats] = {}
        for part in self._parts:
            weights |= part.lifted()
        return weights

    def _marginal(
        self,
        axes: Axes,
        name: str,
        weights: _Weights,
    ) -> Floats:
        """A marginal of the distribution with these weights; `name` identifies the weights."""
        table = np.ones([self.sizes[axis] for axis in axes])
        for part, own in self._in(axes):
            by_class = self._kept((name, own), partial(part.reduced, own, weights))
            table *= _spread(part.expanded(own, by_class), own, axes)
            for axis in own:
                table *= _spread(part.within_class(axis, weights[axis]), (axis,), axes)
        return np.asarray(table / table.sum())

    def _kept(
        self,
        key: Any,
        make: Callable[[], T],
    ) -> T:
        """Look up a key; if it is missing, compute its value by `make` and store it."""
        if key not in self._known:
            self._known[key] = make()
        known: T = self._known[key]
        return known


class _Part:
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
        self._factors: list[_Factor] = []
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

    def _within(self, axes: Collection[int]) -> "_Part":
        """The same part with only those boxes all of whose axes are among `axes`."""
        part = object.__new__(_Part)
        part.classes = self.classes
        part.kinds = self.kinds
        part._factors = [factor for factor in self._factors if set(factor[0]) <= set(axes)]
        return part

    def reduced(
        self,
        kept: Axes,
        weights: _Weights | None = None,
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
            joint = joint * _spread(table, axes, kept)
        return joint

    def expanded(
        self,
        axes: Axes,
        table: NDArray[Any],
    ) -> NDArray[Any]:
        """Repeat a table by classes so that it becomes a table by categories."""
        return table[np.ix_(*(self.classes[axis] for axis in axes))]

    def weights(self, shares: _Weights) -> dict[int, Floats]:
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

    def _shares(self, weights: _Weights) -> dict[int, Floats]:
        """Compute the share of each class of each axis, for given weights of the categories.

        A possible combination has a probability in proportion to the product of its weights. The
        axes are treated in the reverse order of elimination: the distribution of an axis is known
        given the axes that are eliminated after it.
        """
        joint: dict[int, _Factor] = {}
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
        weights: _Weights,
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
        weights: _Weights | None,
    ) -> tuple[list[_Factor], list[_Step]]:
        """Eliminate all axes except `kept`, roughly in the order of the size of their tables.

        Returns
        -------
        factors, steps
            The factors that are left, and the steps in their order.
        """
        elimination = _Elimination(self, weights)
        queue = []
        for axis in self.classes:
            if axis not in kept:
                queue.append((self._width(elimination.together(axis)), axis))
        heapq.heapify(queue)
        steps: list[_Step] = []
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


class _Elimination:
    """State of variable elimination: the product of its factors is the distribution of a part."""

    def __init__(
        self,
        part: _Part,
        weights: _Weights | None,
    ) -> None:
        self._part = part
        self._weighted = weights is not None
        all_factors = list(part._factors)
        if weights is not None:
            all_factors += [((axis,), part._summed(axis, weights[axis])) for axis in part.classes]
        self.factors: dict[int, _Factor] = dict(enumerate(all_factors))
        self._next = len(all_factors)
        # For each axis the numbers of the factors that have it.
        self._holders: dict[int, set[int]] = {axis: set() for axis in part.classes}
        for number, (axes, _) in self.factors.items():
            for axis in axes:
                self._holders[axis].add(number)

    def together(self, axis: int) -> Axes:
        """An axis, and all axes with which it shares a factor, ascending."""
        axes = {axis}
        for number in self._holders[axis]:
            axes.update(self.factors[number][0])
        return tuple(sorted(axes))

    def eliminate(
        self,
        axis: int,
        axes: Axes,
    ) -> _Step:
        """Replace all factors that have an axis by one: their product, summed over this axis.

        `axes` are `together(axis)`. Without weights, the product is a logical and, and the sum a
        logical or.
        """
        kind = np.float64 if self._weighted else np.bool_
        table: NDArray[Any] = np.ones([self._part.kinds[other] for other in axes], kind)
        for number in sorted(self._holders[axis]):
            own, factor = self.factors.pop(number)
            table = table * _spread(factor, own, axes)
            for other in own:
                if other != axis:
                    self._holders[other].discard(number)
        place = axes.index(axis)
        if self._weighted:
            summed = table.sum(axis=place)
            # A common factor does not matter; without it products would underflow.
            if summed.max() > 0:
                summed = summed / summed.max()
        else:
            summed = table.any(axis=place)
        others = tuple(other for other in axes if other != axis)
        self.factors[self._next] = others, np.asarray(summed)
        for other in others:
            self._holders[other].add(self._next)
        self._next += 1
        return axis, axes, table


def _ascending(numbers: Sequence[int], size: int) -> bool:
    """Whether numbers ascend, from 0 and below a size; there must be at least one."""
    if not numbers or list(numbers) != sorted(set(numbers)):
        return False
    return numbers[0] >= 0 and numbers[-1] < size


def _scaled(weights: Floats) -> Floats:
    """Weights with a maximum of one, each at least `_LEAST_WEIGHT`."""
    return np.asarray(np.maximum(weights / weights.max(), _LEAST_WEIGHT))


def _spread(
    table: NDArray[Any],
    own: Axes,
    axes: Axes,
) -> NDArray[Any]:
    """Reshape a table of the axes `own` so that it can be multiplied by a table of `axes`.

    Each axis that is missing in `own` gets the length one.
    """
    sizes = dict(zip(own, table.shape, strict=True))
    return table.reshape([sizes.get(axis, 1) for axis in axes])


def _drawn(
    weights: Floats,
    count: int,
    rng: np.random.Generator,
) -> Integers:
    """Draw `count` categories with probabilities in proportion to weights."""
    return rng.choice(weights.size, count, p=weights / weights.sum())
