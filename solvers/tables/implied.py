"""Whether cells that must be zero imply equalities between views besides those by shared axes."""

import math
from collections.abc import Collection

import numpy as np

from ..limits import IMPLIED_NUMBERS, IMPLIED_ROWS, IMPLIED_SETS
from ..types import Floats
from ..zeros import Zeros
from .linked_axes import linked_axes
from .tables import Axes, Tables

__all__ = ["implied_axes"]


def implied_axes(tables: Tables) -> Axes:
    """The axes of boxes through which the zeros imply equalities between cells of several views.

    Equalities by shared axes, and the zeros within views, are not meant. Empty if there are no
    others. If this cannot be decided within the limits (`limits.IMPLIED_NUMBERS`), it is taken for
    granted that there are some.

    Let the axes of the boxes be bound, and the others free. A function on a view is a sum of parts,
    one for each set T of free axes on which it varies. An equality holds for each part by itself,
    and only views that hold T have one. So for each T, these views are looked at on their bound
    axes alone.

    Examples
    --------
    >>> from margin.solvers import Zeros
    >>> zeros = Zeros((2, 2), (((0, (0,)), (1, (1,))), ((0, (1,)), (1, (0,)))))
    >>> values = (np.ones(2), np.ones(2))
    >>> views = Tables(
    ...     sizes=(2, 2), views=((0,), (1,)), values=values, variances=(1.0, 1.0), zeros=zeros
    ... )
    >>> implied_axes(views)
    (0, 1)
    """
    zeros = tables.zeros
    if zeros is None:
        return ()
    bound: set[int] = set()
    for linked in linked_axes(tables):
        if not zeros.binding[linked[0]]:
            continue
        # If all views have the same of these axes, they are like one free axis.
        held = {frozenset(linked).intersection(view) for view in tables.views} - {frozenset()}
        if len(held) > 1:
            bound.update(linked)
    if not bound:
        return ()
    views = [(bound & set(view), set(view) - bound) for view in tables.views]
    seen: set[frozenset[Axes]] = set()
    intersections = _intersections({frozenset(free) for _, free in views})
    if intersections is None:
        return tuple(sorted(bound))
    for free in intersections:
        own = {tuple(sorted(axes)) for axes, others in views if axes and free <= others}
        # A function on some axes is one on more axes, too.
        largest = frozenset(one for one in own if not any(set(one) < set(more) for more in own))
        if len(largest) > 1 and largest not in seen:
            seen.add(largest)
            if _more_follows(zeros, largest):
                return tuple(sorted(bound))
    return ()


def _intersections(sets: Collection[frozenset[int]]) -> set[frozenset[int]] | None:
    """All intersections of one or more of some sets; None if there are too many."""
    found: set[frozenset[int]] = set()
    for one in sets:
        found |= {one & other for other in found} | {one}
        if len(found) > IMPLIED_SETS:
            return None
    return found


def _more_follows(zeros: Zeros, views: Collection[Axes]) -> bool:
    """Whether views satisfy more equalities than consistent tables with the same zeros.

    Both are linear spaces, one within the other, so that they are equal if their dimensions are.
    Categories of one class count as one.
    """
    axes = tuple(sorted(set().union(*views)))
    shape = zeros.kinds(axes)
    rows = [math.prod(shape[axes.index(axis)] for axis in view) for view in views]
    if sum(rows) > IMPLIED_ROWS or sum(rows) * math.prod(shape) > IMPLIED_NUMBERS:
        return True
    possible = zeros.possible_kinds(axes)
    codes = np.indices(shape).reshape(len(shape), -1)
    blocks = []
    empty = []
    for view in views:
        places = [axes.index(axis) for axis in view]
        own_shape = tuple(shape[place] for place in places)
        cell = np.ravel_multi_index(tuple(codes[places]), own_shape)
        # Which cell of the view each cell of the array belongs to.
        blocks.append((cell == np.arange(math.prod(own_shape))[:, None]).astype(np.float64))
        others = tuple(place for place in range(len(axes)) if place not in places)
        empty.append(~possible.any(axis=others).ravel())
    sums = np.concatenate(blocks)
    consistent = _rank(sums) - _rank(sums[np.concatenate(empty)])
    return _rank(sums[:, possible.ravel()]) < consistent


def _rank(matrix: Floats) -> int:
    """The rank of a matrix with more columns than rows, as a rule."""
    return int(np.linalg.matrix_rank(matrix @ matrix.T, hermitian=True)) if matrix.size else 0
