"""How far the true answers on two neighbouring tables are apart, in integers of any size."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .violation import Violation

__all__ = ["Distance", "distance", "sparse_distance"]


@dataclass(frozen=True)
class Distance:
    """The distance of two true answers.

    Attributes
    ----------
    l1
        The sum of the absolute changes.
    l2_squared
        The sum of the squared changes.
    spread
        The largest change less the smallest change.
    largest
        The largest absolute change.
    """

    l1: int
    l2_squared: int
    spread: int
    largest: int


def distance(ours: Any, theirs: Any) -> Distance:
    """The distance of two arrays of integers of the same shape.

    Raises
    ------
    Violation
        If they do not hold integers, or differ in shape or type.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Violation(
            "A true answer must have the same shape and type on neighbouring tables, but it has "
            f"shape {ours.shape} of {ours.dtype} on one table and shape {theirs.shape} of "
            f"{theirs.dtype} on the other."
        )
    if ours.dtype.kind not in "iu":
        raise Violation(
            f"A true answer must consist of integers, but it has the type {ours.dtype}."
        )
    places = np.flatnonzero(ours.ravel() != theirs.ravel())
    # Python's integers do not overflow.
    pairs = zip(ours.ravel()[places].tolist(), theirs.ravel()[places].tolist(), strict=True)
    changes = [after - before for before, after in pairs]
    if len(changes) < ours.size:
        changes.append(0)
    return _distance(changes)


def sparse_distance(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> Distance:
    """The distance of two sparse tables, each given by its non-empty cells.

    A table consists of the words of its cells, shape (cells, words), and their counts, shape
    (cells,).

    Raises
    ------
    Violation
        If the counts are not integers.
    """
    change: Counter[tuple[int, ...]] = Counter()
    for (words, counts), sign in ((ours, -1), (theirs, 1)):
        kind = np.asarray(counts).dtype
        if kind.kind not in "iu":
            raise Violation(f"A true answer must consist of integers, but it has the type {kind}.")
        cells = zip(np.asarray(words).tolist(), np.asarray(counts).tolist(), strict=True)
        for word, count in cells:
            change[tuple(word)] += sign * count
    return _distance([*change.values(), 0])


def _distance(changes: Sequence[int]) -> Distance:
    if not changes:
        return Distance(0, 0, 0, 0)
    l1 = sum(abs(change) for change in changes)
    l2_squared = sum(change * change for change in changes)
    largest = max(abs(change) for change in changes)
    return Distance(l1, l2_squared, max(changes) - min(changes), largest)
