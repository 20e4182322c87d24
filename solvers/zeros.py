"""`Zeros`: cells of an array that must be zero, and what follows for marginals and for rows.

A cell must be zero when it lies in one of several *boxes*. Axes that boxes link make up a *part*;
parts have nothing to do with each other. Within a part, categories that every box treats alike are
one *class*, so that parts are small however many categories their axes have. What follows for some
of the axes, whatever the others are, is found exactly by eliminating the others one by one
(Dechter, Bucket elimination, Artificial Intelligence 113, 1999).
"""

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .types import Flags, Floats, Integers

__all__ = ["Box", "Zeros"]

Axes = tuple[int, ...]
Box = tuple[tuple[int, tuple[int, ...]], ...]
"""Axes, ascending, each with some of its categories, ascending: all combinations of these."""

_Factor = tuple[Axes, NDArray[Any]]
"""A function of some axes, ascending, by the classes of each."""

_Weights = Mapping[int, Floats]
"""For each axis numbers for its categories, > 0."""

T = TypeVar("T")

_WIDEST = 1 << 22
"""How many combinations of classes are looked at together."""

_LONGEST = 1 << 24
"""How many categories an axis in a box may have."""

_ROUNDS = 20
_STEPS = 10_000
_CLOSE = 0.005
"""For how many rounds an axis weights are fitted to shares, how many eliminations that may take,
and what is near."""

_LIFTS = 3
_ENOUGH = 0.1
"""For how many rounds an axis categories are lifted that are lost, and from which part of an equal
share they are not.
"""

_LEAST = 1e-6
_LEAST_WEIGHT = 1e-200
"""The share of a category that no row has, and the least weight beside the largest of an axis."""


@dataclass(frozen=True)
class Zeros:
    """The cells of an array that must be zero.

    Parameters
    ----------
    sizes
        The number of categories of every axis of the array.
    boxes
        Every cell in one of them must be zero; at least one.

    Raises
    ------
    ValueError
        When a box does not fit the sizes, no cell is left, or the boxes are too entangled to tell.
    """

    sizes: tuple[int, ...]
    boxes: tuple[Box, ...]
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.boxes:
            raise ValueError("there must be at least one box")
        for box in self.boxes:
            axes = [axis for axis, _ in box]
            if (
                not axes
                or axes != sorted(set(axes))
                or not 0 <= axes[0] <= axes[-1] < len(self.sizes)
            ):
                raise ValueError(f"the axes of a box must be ascending and below {len(self.sizes)}")
            for axis, codes in box:
                if (
                    not codes
                    or list(codes) != sorted(set(codes))
                    or not 0 <= codes[0] <= codes[-1] < self.sizes[axis]
                ):
                    raise ValueError(
                        f"the categories of axis {axis} in a box must be ascending and below its size"
                    )
                if self.sizes[axis] > _LONGEST:
                    raise ValueError(
                        f"axis {axis} has more than {_LONGEST} categories, too many for a box"
                    )
        if not all(part.possible(()).all() for part in self._parts):
            raise ValueError("no cell is left that may hold anything: drop some boxes")

    @cached_property
    def ruled(self) -> Flags:
        """Which axes stand in a box, shape (axes,)."""
        ruled = np.zeros(len(self.sizes), np.bool_)
        ruled[[axis for box in self.boxes for axis, _ in box]] = True
        return ruled

    def cells(self, axes: Axes) -> Flags:
        """Which cells of the marginal on some ascending axes must be zero, of shape ``[sizes[a] for
        a in axes]``.

        Exact: a cell must be zero when every cell of the array that it sums must be. Only where
        that would look at too many combinations together are the boxes left out that have other
        axes.
        """
        possible = np.ones([self.sizes[axis] for axis in axes], np.bool_)
        for part, own in self._in(axes):
            by_class = self._kept(("possible", own), partial(part.possible, own))
            possible &= _spread(part.expanded(own, by_class), own, axes)
        return ~possible

    def cells_of_many(self, asked: Integers) -> Flags | None:
        """`cells` of many marginals of one shape, from (n, k) to (n, cells); None where there are
        none."""
        named = np.where(self.ruled[asked], asked, -1)
        if not len(asked) or (named < 0).all():
            return None
        shape = [self.sizes[axis] for axis in asked[0].tolist()]
        distinct, first, same = np.unique(named, axis=0, return_index=True, return_inverse=True)
        masks = np.empty((len(distinct), math.prod(shape)), np.bool_)
        for row, place in enumerate(first.tolist()):
            masks[row] = self.cells(tuple(asked[place].tolist())).ravel()
        return masks[np.ravel(same)] if masks.any() else None

    def uniform(self, axes: Axes) -> Floats:
        """The marginal on some ascending axes of the distribution in which all cells that may hold
        something are equally likely."""
        return self._marginal(axes, "uniform", self._even)

    def positive(self, axes: Axes) -> Floats:
        """The marginal on some ascending axes of a distribution that is positive wherever it may
        be.

        Of one distribution for all axes, so that all marginals agree. Where boxes leave few cells
        for a category, the uniform distribution all but loses it: this one is half that, and half
        one in which no category has less than a tenth of an equal share, as far as that can be.
        """
        return (self.uniform(axes) + self._marginal(axes, "lifted", self._lifted)) / 2

    def broken(self, rows: NDArray[Any]) -> Flags:
        """Which rows, codes of shape (rows, axes), lie in a box: shape (rows,)."""
        broken = np.zeros(len(rows), np.bool_)
        for box in self.boxes:
            broken |= self.inside(rows, box)
        return broken

    def inside(self, rows: NDArray[Any], box: Box) -> Flags:
        """Which rows lie in a box: shape (rows,)."""
        inside = np.ones(len(rows), np.bool_)
        for axis, codes in box:
            flags = np.zeros(self.sizes[axis], np.bool_)
            flags[list(codes)] = True
            inside &= flags[rows[:, axis]]
        return inside

    def mend(self, rows: NDArray[Any], rng: np.random.Generator) -> None:
        """Draw anew, in place, what rows, codes of shape (rows, axes), hold on the axes of a part
        that they break.

        From all that breaks nothing, with the products of weights for the categories, such that as
        many of the rows as before have each category, as far as that can be: the distribution of
        most entropy with these marginals. A row that is alone changes as little as it must.
        """
        for part in self._parts:
            own = [box for box in self.boxes if box[0][0] in part.classes]
            wrong = np.flatnonzero(np.any([self.inside(rows, box) for box in own], axis=0))
            if wrong.size:
                shares = {
                    axis: np.bincount(rows[wrong, axis], minlength=self.sizes[axis]) / wrong.size
                    + _LEAST
                    for axis in part.classes
                }
                part.draw(rows, wrong, shares if wrong.size == 1 else part.weights(shares), rng)

    @cached_property
    def _parts(self) -> list["_Part"]:
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
        """The parts that have some of the axes, each with these."""
        owns = (
            (part, tuple(axis for axis in axes if axis in part.classes)) for part in self._parts
        )
        return [(part, own) for part, own in owns if own]

    @cached_property
    def _even(self) -> _Weights:
        """Equal weights of the categories of each axis."""
        return {axis: np.ones(self.sizes[axis]) for part in self._parts for axis in part.classes}

    @cached_property
    def _lifted(self) -> _Weights:
        """The weights of the other half of `positive`."""
        weights: dict[int, Floats] = {}
        for part in self._parts:
            weights |= part.lifted()
        return weights

    def _marginal(self, axes: Axes, name: str, weights: _Weights) -> Floats:
        table = np.ones([self.sizes[axis] for axis in axes])
        for part, own in self._in(axes):
            by_class = self._kept((name, own), partial(part.reduced, own, weights))
            table *= _spread(part.expanded(own, by_class), own, axes)
            for axis in own:
                table *= _spread(part.within_class(axis, weights[axis]), (axis,), axes)
        return np.asarray(table / table.sum())

    def _kept(self, key: Any, make: Callable[[], T]) -> T:
        """What is known of a key, made when first asked for."""
        if key not in self._known:
            self._known[key] = make()
        known: T = self._known[key]
        return known


class _Part:
    """Boxes that are linked, by classes of categories.

    Attributes
    ----------
    classes
        For each axis the class of each category, shape (size,).
    kinds
        For each axis the number of classes.
    """

    def __init__(self, sizes: Sequence[int], boxes: Sequence[Box]) -> None:
        self.classes: dict[int, Integers] = {}
        self.kinds: dict[int, int] = {}
        held: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for number, box in enumerate(boxes):
            for axis, codes in box:
                held.setdefault(axis, []).append((number, codes))
        inside: dict[tuple[int, int], Flags] = {}
        for axis, own in sorted(held.items()):
            flags = np.zeros((len(own), sizes[axis]), np.bool_)
            for row, (_, codes) in enumerate(own):
                flags[row, list(codes)] = True
            by_class, classes = np.unique(flags, axis=1, return_inverse=True)
            self.classes[axis] = np.ravel(classes).astype(np.int64)
            self.kinds[axis] = by_class.shape[1]
            inside.update(
                ((number, axis), row) for (number, _), row in zip(own, by_class, strict=True)
            )
        self._factors: list[_Factor] = []
        for number, box in enumerate(boxes):
            axes = tuple(axis for axis, _ in box)
            self._check_width(axes)
            within = np.ones((), np.bool_)
            for axis in axes:
                within = np.logical_and.outer(within, inside[number, axis])
            self._factors.append((axes, ~within))

    def possible(self, kept: Axes) -> Flags:
        """Which combinations of the classes of some ascending axes are possible."""
        try:
            return np.asarray(self.reduced(kept), np.bool_)
        except ValueError:
            if not kept:
                raise
        return np.asarray(self._within(kept).reduced(kept), np.bool_)

    def _within(self, axes: Collection[int]) -> "_Part":
        """The part without the boxes that have other axes."""
        part = object.__new__(_Part)
        part.classes = self.classes
        part.kinds = self.kinds
        part._factors = [factor for factor in self._factors if set(factor[0]) <= set(axes)]
        return part

    def reduced(self, kept: Axes, weights: _Weights | None = None) -> NDArray[Any]:
        """For the classes of some ascending axes, the sum over all others of the products of the
        categories' weights over what is possible, up to a factor; without weights, whether there is
        any."""
        factors, _ = self._eliminated(kept, weights)
        self._check_width(kept)
        joint: NDArray[Any] = np.ones(
            [self.kinds[axis] for axis in kept], np.float64 if weights else np.bool_
        )
        for axes, table in factors:
            joint = joint * _spread(table, axes, kept)
        return joint

    def expanded(self, axes: Axes, table: NDArray[Any]) -> NDArray[Any]:
        """A table by classes as one by categories."""
        return table[np.ix_(*(self.classes[axis] for axis in axes))]

    def weights(self, shares: _Weights) -> dict[int, Floats]:
        """For each axis the weights of its categories, such that with their products over what is
        possible each axis has nearly these shares, as far as that can be.

        Iterative proportional fitting, of the axis that is furthest off each time, for so many
        rounds.
        """
        weights = dict(shares)
        wanted = {axis: self._summed(axis, share) for axis, share in shares.items()}
        for _ in range(max(1, min(_ROUNDS * len(shares), _STEPS // len(shares)))):
            now = self._shares(weights)
            there = {axis: np.where(share > 0, wanted[axis], 0.0) for axis, share in now.items()}
            there = {axis: share / share.sum() for axis, share in there.items()}
            gap, axis = max((float(np.abs(there[axis] - now[axis]).max()), axis) for axis in now)
            if gap < _CLOSE:
                break
            ratio = np.divide(
                there[axis], now[axis], out=np.ones_like(now[axis]), where=now[axis] > 0
            )
            weights[axis] = weights[axis] * ratio[self.classes[axis]]
            weights[axis] = np.maximum(weights[axis] / weights[axis].max(), _LEAST_WEIGHT)
        return weights

    def lifted(self) -> dict[int, Floats]:
        """For each axis weights of its categories, such that with their products over what is
        possible no category has less than a tenth of an equal share, as far as that can be in so
        many rounds."""
        weights = {axis: np.ones(classes.size) for axis, classes in self.classes.items()}
        wanted = {
            axis: np.where(self.possible((axis,)), self._summed(axis, one), 0.0)
            for axis, one in weights.items()
        }
        wanted = {axis: share / share.sum() for axis, share in wanted.items()}
        for _ in range(min(_LIFTS * len(weights), _STEPS // len(weights))):
            now = self._shares(weights)
            least, axis = min(
                (float((now[axis][share > 0] / share[share > 0]).min()), axis)
                for axis, share in wanted.items()
            )
            if least >= _ENOUGH:
                break
            weights[axis] = (
                weights[axis] * (wanted[axis] / np.maximum(now[axis], 1e-200))[self.classes[axis]]
            )
            weights[axis] = np.maximum(weights[axis] / weights[axis].max(), _LEAST_WEIGHT)
        return weights

    def _shares(self, weights: _Weights) -> dict[int, Floats]:
        """The shares of the classes of each axis, in the distribution with the products of weights
        over what is possible: each axis given those that are eliminated after it, from the last to
        the first."""
        joint: dict[int, _Factor] = {}
        shares: dict[int, Floats] = {}
        steps = self._eliminated((), weights)[1]
        turn = {axis: number for number, (axis, _, _) in enumerate(steps)}
        for axis, axes, table in reversed(steps):
            place = axes.index(axis)
            total = table.sum(axis=place, keepdims=True)
            belief = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
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
        self, rows: NDArray[Any], which: Integers, weights: _Weights, rng: np.random.Generator
    ) -> None:
        """Draw all axes of some rows, in place, with the products of weights over what is possible:
        the axis that is eliminated last first, each given those that were eliminated after it."""
        for axis, axes, table in reversed(self._eliminated((), weights)[1]):
            by_category = np.moveaxis(table, axes.index(axis), -1)[..., self.classes[axis]]
            by_category = by_category * self.within_class(axis, weights[axis])
            others = tuple(other for other in axes if other != axis)
            if not others:
                rows[which, axis] = _drawn(by_category, which.size, rng)
                continue
            given = np.stack([self.classes[other][rows[which, other]] for other in others], axis=1)
            cases, case = np.unique(given, axis=0, return_inverse=True)
            for number, place in enumerate(cases.tolist()):
                some = which[np.ravel(case) == number]
                rows[some, axis] = _drawn(by_category[tuple(place)], some.size, rng)

    def within_class(self, axis: int, weights: Floats) -> Floats:
        """The share of each category of an axis in its class."""
        return weights / self._summed(axis, weights)[self.classes[axis]]

    def _summed(self, axis: int, values: Floats) -> Floats:
        """Values of the categories of an axis, added up by class."""
        return np.bincount(self.classes[axis], values).astype(np.float64)

    def _eliminated(
        self, kept: Axes, weights: _Weights | None
    ) -> tuple[list[_Factor], list[tuple[int, Axes, NDArray[Any]]]]:
        """Eliminate all axes but some, those first, by and large, that need the smallest tables.

        Returns the factors that are left; and for each axis, in this order, itself and the axes and
        the table of all factors that held it.
        """
        own = (
            []
            if weights is None
            else [((axis,), self._summed(axis, weights[axis])) for axis in self.classes]
        )
        factors: dict[int, _Factor] = dict(enumerate([*self._factors, *own]))
        holders: dict[int, set[int]] = {axis: set() for axis in self.classes}
        for number, (axes, _) in factors.items():
            for axis in axes:
                holders[axis].add(number)

        def together(axis: int) -> Axes:
            return tuple(sorted({axis}.union(*(factors[number][0] for number in holders[axis]))))

        steps: list[tuple[int, Axes, NDArray[Any]]] = []
        queue = [(self._width(together(axis)), axis) for axis in self.classes if axis not in kept]
        heapq.heapify(queue)
        while queue:
            width, axis = heapq.heappop(queue)
            axes = together(axis)
            if queue and self._width(axes) > max(width, queue[0][0]):
                heapq.heappush(queue, (self._width(axes), axis))
                continue
            self._check_width(axes)
            table: NDArray[Any] = np.ones(
                [self.kinds[a] for a in axes], np.bool_ if weights is None else np.float64
            )
            for number in sorted(holders[axis]):
                some, factor = factors.pop(number)
                table = table * _spread(factor, some, axes)
                for other in set(some) - {axis}:
                    holders[other].discard(number)
            summed = (
                table.any(axis=axes.index(axis))
                if weights is None
                else table.sum(axis=axes.index(axis))
            )
            if weights is not None and summed.max() > 0:
                summed = summed / summed.max()
            number = len(self._factors) + len(own) + len(steps)
            factors[number] = tuple(a for a in axes if a != axis), np.asarray(summed)
            for other in factors[number][0]:
                holders[other].add(number)
            steps.append((axis, axes, table))
        return list(factors.values()), steps

    def _width(self, axes: Axes) -> int:
        return math.prod(self.kinds[axis] for axis in axes)

    def _check_width(self, axes: Axes) -> None:
        if self._width(axes) > _WIDEST:
            raise ValueError(
                f"{len(axes)} axes of boxes hang together too much to be looked at together"
            )


def _spread(table: NDArray[Any], own: Axes, axes: Axes) -> NDArray[Any]:
    """A table of some axes with the other axes added, of length one."""
    sizes = dict(zip(own, table.shape, strict=True))
    return table.reshape([sizes.get(axis, 1) for axis in axes])


def _drawn(weights: Floats, count: int, rng: np.random.Generator) -> Integers:
    return rng.choice(weights.size, count, p=weights / weights.sum())
