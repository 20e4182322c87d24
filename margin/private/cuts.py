"""Private choices of the codes at which boxes of cells are cut in two."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._numbers import Number
from .._types import Integers
from ..errors import DomainError
from .counts import digest
from .gate import Gate

__all__ = ["Cuts"]


class Cuts(Gate):
    """The method of `Private` that cuts boxes near their medians."""

    def select_cuts(
        self,
        view: Iterable[str],
        boxes: npt.ArrayLike,
        along: Sequence[int],
        *,
        spend: Number | None = None,
    ) -> Integers:
        """Cut each of some boxes in two, near the median of its rows along one attribute.

        A box is a product of ranges of codes. Boxes share no cell. A cut c divides a box into the
        rows with codes below c and the other rows; let there be `low` and `high` of them. The score
        of c is -max(low, high). All boxes are cut at once: this is one exponential mechanism whose
        candidates are all combinations of cuts, one for each box, and whose score is the sum of
        their scores. It is drawn box by box, because the probability of a combination is a product.

        Adding a row changes the scores of one box only, and each of them by 0 or -1. So the change
        of the sum is -1 or 0 for every combination, and the changes of two combinations differ by
        at most one. For neighbours they differ by at most `Budget.rows`.

        Parameters
        ----------
        view
            The attributes, whose codes are ordered.
        boxes
            For each box and each attribute of the view the first code, and one more than the last:
            integers of shape (boxes, attributes, 2). They must not depend on the data, except
            through results of `Private`.
        along
            For each box the place in the view of the attribute along which it is cut. The box holds
            at least two of its codes.
        spend
            See `Private`.

        Returns
        -------
        numpy.ndarray
            The first code of the upper part of each box, shape (boxes,).

        Raises
        ------
        DomainError
            When the boxes are not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        # Check copies of the arguments.
        (names,) = self._views([view])
        shape = self.domain.shape(names)
        places = _integers("boxes", boxes, 3)
        axes = _integers("along", along, 1)
        _check_boxes(places, axes, shape)

        # Count, charge, draw.
        about = (names, digest(places, axes))
        spread = self.budget.rows
        (event,) = self._choices("select_cuts", about, [self._units(spend)], spread)
        (table,) = self._tables([names])
        scores = [_scores(table, box, int(axis)) for box, axis in zip(places, axes, strict=True)]
        mechanism = self.budget.selection(event.units, spread=spread)

        def draw() -> Integers:
            drawn = [mechanism.draw(each, 1, self._entropy) for each in scores]
            return np.concatenate(drawn)

        chosen = self._answer([event], scores, draw)
        first: Integers = places[np.arange(len(places)), axes, 0]
        return first + 1 + chosen


def _scores(
    table: Integers,
    box: Integers,
    axis: int,
) -> Integers:
    """The score of each cut of a box: less the number of rows in the larger part."""
    rows = table[tuple(slice(first, end) for first, end in box)]
    others = tuple(other for other in range(table.ndim) if other != axis)
    below = rows.sum(axis=others).cumsum()
    low = below[:-1]
    scores: Integers = -np.maximum(low, below[-1] - low)
    return scores


def _integers(name: str, value: npt.ArrayLike, dimensions: int) -> Integers:
    """A copy of an argument as an array of integers of some number of dimensions."""
    array: npt.NDArray[Any] = np.array(value)
    if array.ndim != dimensions or not array.size or array.dtype.kind != "i":
        raise DomainError(
            f"{name} must be a non-empty array of signed integers with {dimensions} dimensions, but"
            f" it has shape {array.shape} and type {array.dtype}; pass such an array"
        )
    return array.astype(np.int64)


def _check_boxes(
    boxes: Integers,
    along: Integers,
    shape: tuple[int, ...],
) -> None:
    """DomainError unless the boxes are disjoint, within the view, and can be cut."""
    if boxes.shape[1:] != (len(shape), 2) or along.shape != boxes.shape[:1]:
        raise DomainError(
            f"boxes and along must have shapes (boxes, {len(shape)}, 2) and (boxes,), but have"
            f" {boxes.shape} and {along.shape}; pass one box for each entry of along"
        )
    first = boxes[:, :, 0]
    end = boxes[:, :, 1]
    if (first < 0).any() or (first >= end).any() or (end > shape).any():
        raise DomainError(
            "each box must hold at least one code of each attribute, from 0 to less than its size,"
            f" which is {shape}, but some box does not; pass boxes within the view"
        )
    if (along < 0).any() or (along >= len(shape)).any():
        raise DomainError(
            f"along must hold places of attributes, from 0 to {len(shape) - 1}, but it holds"
            f" {along.min()} to {along.max()}; correct them"
        )
    widths = (end - first)[np.arange(len(boxes)), along]
    if widths.min() < 2:
        raise DomainError(
            "each box must hold at least two codes of the attribute that is cut, but some box holds"
            " one; leave it out"
        )
    taken = np.zeros(shape, np.bool_)
    for box in boxes:
        cells = tuple(slice(low, high) for low, high in box)
        if taken[cells].any():
            raise DomainError(
                "boxes must share no cell, because a row may be in one of them at most, but two of"
                " them do; pass disjoint boxes"
            )
        taken[cells] = True
