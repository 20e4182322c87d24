"""What two sets of axes have in common because of the cells that must be zero.

Draw a graph: a node for each combination of categories of the first axes, and one for each of the
second axes. Join two of them if some cell that need not be zero has both. All cells with the first
axes in a connected component of this graph have the second axes in the same component. So the
number of the component is a function of the first axes and also a function of the second axes. It
is the finest such function, the common part of Gacs and Koerner (Problems of Control and
Information Theory 2, 1973). Each of two marginals tells how many rows every component has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from ..types import Flags, Integers
from .factors import Axes

__all__ = ["NO_GROUP", "Common", "by_category", "common_groups", "product"]

_Side = tuple[Axes, Integers]
"""Some axes, and the group of each combination of their categories."""

NO_GROUP = -1
"""The group of a combination of categories that must be zero."""


class Common(NamedTuple):
    """Groups of categories of two sets of axes: each row is in the same group by either set.

    Attributes
    ----------
    one, groups
        The axes of the first set, ascending; and the group of each combination of their categories,
        from 0, or `NO_GROUP`. It has one axis for each of the axes.
    other, other_groups
        The same for the second set. The sets may share axes.
    size
        The number of groups.
    """

    one: Axes
    groups: Integers
    other: Axes
    other_groups: Integers
    size: int


def common_groups(
    possible: Flags,
    kept: Axes,
    one: Axes,
    other: Axes,
) -> tuple[Integers, Integers] | None:
    """The components of the graph; None if axes that both sets have tell as much.

    Parameters
    ----------
    possible
        Whether each combination on the axes `kept` need not be zero, one axis for each.
    kept
        The union of `one` and `other`. All three ascend.

    Returns
    -------
    groups, other_groups
        The component of each combination on `one` and on `other`, or `NO_GROUP`.
    """
    found = np.nonzero(possible)
    shapes = []
    nodes = []
    for axes in (one, other, tuple(axis for axis in one if axis in other)):
        places = [kept.index(axis) for axis in axes]
        shape = tuple(possible.shape[place] for place in places)
        shapes.append(shape)
        codes = tuple(found[place] for place in places)
        nodes.append(np.ravel_multi_index(codes, shape) if axes else np.zeros_like(found[0]))
    first, second, shared = nodes
    # The nodes of the second set are numbered after those of the first.
    start = int(np.prod(shapes[0]))
    count = start + int(np.prod(shapes[1]))
    edges = (np.ones(first.size, np.bool_), (first, second + start))
    graph = scipy.sparse.coo_array(edges, (count, count))
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    # Number the components that have cells.
    distinct, number = np.unique(component[first], return_inverse=True)
    if distinct.size == np.unique(shared).size:
        return None
    groups = np.full(count, NO_GROUP)
    groups[first] = number
    groups[second + start] = number
    return groups[:start].reshape(shapes[0]), groups[start:].reshape(shapes[1])


def by_category(common: Common, sizes: Sequence[int]) -> Common:
    """The same with groups that also tell the categories of the axes that both sets have.

    `sizes` are the numbers of categories of all axes.
    """
    shared = [axis for axis in common.one if axis in common.other]
    if not shared:
        return common
    fine = []
    for axes, groups in ((common.one, common.groups), (common.other, common.other_groups)):
        number = groups
        for axis in shared:
            codes = np.arange(sizes[axis]).reshape([-1 if own == axis else 1 for own in axes])
            number = number * sizes[axis] + codes
        fine.append(np.where(groups == NO_GROUP, NO_GROUP, number))
    first, second = fine
    # A group has cells on both sides, so both have the same numbers.
    distinct = np.unique(first[first != NO_GROUP])
    first, second = (
        np.where(one == NO_GROUP, NO_GROUP, np.searchsorted(distinct, one)) for one in fine
    )
    return Common(common.one, first, common.other, second, distinct.size)


def product(parts: Sequence[Common]) -> Common:
    """The common part of sets of axes that have a common part in each of several independent parts:
    a group is a combination of their groups."""
    first: _Side = (), np.zeros((), np.int64)
    second: _Side = (), np.zeros((), np.int64)
    count = 1
    for part in parts:
        first = _with(first, (part.one, part.groups), part.size)
        second = _with(second, (part.other, part.other_groups), part.size)
        count *= part.size
    return Common(*_ascending(first), *_ascending(second), count)


def _with(side: _Side, own: _Side, count: int) -> _Side:
    """The combinations of the groups of two disjoint sets of axes; `count` are those of `own`."""
    groups = np.add.outer(side[1] * count, own[1])
    excluded = np.logical_or.outer(side[1] == NO_GROUP, own[1] == NO_GROUP)
    return side[0] + own[0], np.where(excluded, NO_GROUP, groups)


def _ascending(side: _Side) -> _Side:
    """The same groups with their axes in ascending order."""
    order = np.argsort(side[0])
    return tuple(sorted(side[0])), np.transpose(side[1], order)
