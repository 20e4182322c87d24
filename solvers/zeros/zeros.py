"""The cells of an array that must be zero: their marginals, and rows outside all boxes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..limits import BOX_CATEGORIES
from ..types import Flags, Floats, Integers
from .common import Common, by_category, common_groups, product
from .factors import Axes, Box, Weights, spread
from .part import Part

__all__ = ["NoCellLeft", "Zeros"]

T = TypeVar("T")

_LEAST = 1e-6
"""Number that is added to the share of each category, so that none is zero."""


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

    @cached_property
    def binding(self) -> Flags:
        """Whether boxes may imply equalities between marginals with and without each axis.

        An axis is binding unless each axis of its part has a category that no box holds. Such
        categories h make every possible cell x of a marginal possible together with h on the other
        axes of the part: a box that holds this cell would have all its axes in the marginal, and
        then x would be impossible. Let functions f_v of some marginals have the sum zero in all
        possible cells of the array. Then split each f_v into parts f_vU, one for each subset U of
        its axes in the part, that are zero if an axis of U has the category h. In the cells with h
        outside U, it follows by induction over the size of U that the sum of f_vU over all v that
        hold U is zero: no more than U is shared by these marginals makes equal.

        Shape (axes,).
        """
        binding = np.zeros(len(self.sizes), np.bool_)
        held: dict[int, set[int]] = {}
        for box in self.boxes:
            for axis, codes in box:
                held.setdefault(axis, set()).update(codes)
        for part in self._parts:
            own = list(part.classes)
            binding[own] = any(len(held[axis]) == self.sizes[axis] for axis in own)
        return binding

    def cells(self, axes: Axes) -> Flags:
        """Whether each cell of a marginal must be zero, shape ``[sizes[a] for a in axes]``.

        The axes ascend. A cell of the marginal is a sum of cells of the array; it must be zero if
        all of these must be zero. The result is exact, unless a table of more than
        `limits.BOX_COMBINATIONS` entries would be needed. Boxes that have other axes are then
        ignored, so that some cells that must be zero may be missed.
        """
        possible = np.ones([self.sizes[axis] for axis in axes], np.bool_)
        for part, own in self._in(axes):
            by_class = self.kept(("possible", own), partial(part.possible, own))
            possible &= spread(part.expanded(own, by_class), own, axes)
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

    def kinds(self, axes: Axes) -> tuple[int, ...]:
        """The number of classes of the categories of each axis; one if no box has the axis."""
        kinds = dict.fromkeys(axes, 1)
        for part, own in self._in(axes):
            kinds |= {axis: part.kinds[axis] for axis in own}
        return tuple(kinds.values())

    def possible_kinds(self, axes: Axes) -> Flags:
        """Whether each combination of classes need not be zero, of the shape ``kinds(axes)``.

        See `cells`.
        """
        possible = np.ones(self.kinds(axes), np.bool_)
        for part, own in self._in(axes):
            by_class = self.kept(("possible", own), partial(part.possible, own))
            possible &= spread(by_class, own, axes)
        return possible

    def common(self, one: Axes, other: Axes) -> Common | None:
        """What two ascending sets of axes have in common beyond the axes that both have.

        None if this is nothing. If a table of more than `limits.BOX_COMBINATIONS` entries would be
        needed, boxes with other axes are ignored. Groups may then be too large, never too small.

        Examples
        --------
        >>> box = ((0, (0,)), (1, (2,)))  # an employed person has an occupation
        >>> other_box = ((0, (1,)), (1, (0, 1)))  # nobody else has one
        >>> common = Zeros((2, 3), (box, other_box)).common((0,), (1,))
        >>> common.groups.tolist(), common.other_groups.tolist()
        ([0, 1], [0, 0, 1])
        """
        found = []
        for part, first in self._in(one):
            second = tuple(axis for axis in other if axis in part.classes)
            # If one set holds the other, what they have in common are the axes of the smaller one.
            if set(first) <= set(second) or set(second) <= set(first):
                continue
            kept = tuple(sorted({*first, *second}))
            groups = common_groups(
                self.kept(("possible", kept), partial(part.possible, kept)), kept, first, second
            )
            if groups is not None:
                expanded = (
                    part.expanded(axes, own)
                    for axes, own in zip((first, second), groups, strict=True)
                )
                count = int(groups[0].max()) + 1
                common = Common(first, next(expanded), second, next(expanded), count)
                found.append(by_category(common, self.sizes))
        return product(found) if found else None

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
    def _parts(self) -> list["Part"]:
        """The parts: groups of boxes that are linked by common axes."""
        owner: dict[int, int] = {}
        groups: dict[int, list[Box]] = {}
        for number, box in enumerate(self.boxes):
            merged = [box]
            for before in {owner[axis] for axis, _ in box if axis in owner}:
                merged += groups.pop(before)
            groups[number] = merged
            owner.update((axis, number) for some in merged for axis, _ in some)
        return [Part(self.sizes, boxes) for boxes in groups.values()]

    def _in(self, axes: Axes) -> list[tuple["Part", Axes]]:
        """The parts that have any of the given axes, each with those of the axes that it has."""
        found = []
        for part in self._parts:
            own = tuple(axis for axis in axes if axis in part.classes)
            if own:
                found.append((part, own))
        return found

    @cached_property
    def _even(self) -> Weights:
        """Equal weights of the categories of each axis."""
        return {axis: np.ones(self.sizes[axis]) for part in self._parts for axis in part.classes}

    @cached_property
    def _lifted(self) -> Weights:
        """The weights of the second distribution of `positive`."""
        weights: dict[int, Floats] = {}
        for part in self._parts:
            weights |= part.lifted()
        return weights

    def _marginal(
        self,
        axes: Axes,
        name: str,
        weights: Weights,
    ) -> Floats:
        """A marginal of the distribution with these weights; `name` identifies the weights."""
        table = np.ones([self.sizes[axis] for axis in axes])
        for part, own in self._in(axes):
            by_class = self.kept((name, own), partial(part.reduced, own, weights))
            table *= spread(part.expanded(own, by_class), own, axes)
            for axis in own:
                table *= spread(part.within_class(axis, weights[axis]), (axis,), axes)
        return np.asarray(table / table.sum())

    def kept(
        self,
        key: Any,
        make: Callable[[], T],
    ) -> T:
        """Look up a key; if it is missing, compute its value by `make` and store it."""
        if key not in self._known:
            self._known[key] = make()
        known: T = self._known[key]
        return known


def _ascending(numbers: Sequence[int], size: int) -> bool:
    """Whether numbers ascend, from 0 and below a size; there must be at least one."""
    if not numbers or list(numbers) != sorted(set(numbers)):
        return False
    return numbers[0] >= 0 and numbers[-1] < size
