"""Axes that cells which must be zero link, so that rows change their categories together."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ..types import Floats
from .tables import Axes, Tables

if TYPE_CHECKING:
    from .row_loops import Linked

__all__ = ["linked_axes", "linked_lines", "put_back", "with_few"]


def linked_axes(tables: Tables) -> list[Axes]:
    """The sets of two or more axes that boxes of `Tables.zeros` link, directly or through others.

    Whether a row lies in a box depends on the axes of one such set alone, or on a single axis. Sets
    of which no view holds any axis are left out, since they do not change the objective.

    Examples
    --------
    >>> from margin.solvers import Zeros
    >>> zeros = Zeros((2, 2, 2, 2), (((0, (1,)), (1, (0,))), ((1, (1,)), (3, (1,)))))
    >>> values = (np.ones((2, 2)),)
    >>> linked_axes(
    ...     Tables(sizes=(2,) * 4, views=((0, 2),), values=values, variances=(1.0,), zeros=zeros)
    ... )
    [(0, 1, 3)]
    """
    if tables.zeros is None:
        return []
    graph = nx.Graph()
    for box in tables.zeros.boxes:
        nx.add_path(graph, [axis for axis, _ in box])
    sets = [tuple(sorted(part)) for part in nx.connected_components(graph) if len(part) > 1]
    return sorted(part for part in sets if _holders(tables, part))


def linked_lines(
    tables: Tables,
    linked: Axes,
    combinations: NDArray[np.int32],
    excess: Sequence[Floats],
    weights: Floats,
) -> "Linked":
    """What `descend_together` needs to know about linked axes.

    Parameters
    ----------
    tables
        The views.
    linked
        The linked axes.
    combinations
        The categories that a row may get on them, shape (combinations, axes).
    excess, weights
        For each view, the counts less the target, and its weight.
    """
    from .row_loops import Linked

    holders = _holders(tables, linked)
    flat = [_lines(tables, row, linked, excess[row]) for row in holders]
    others: list[int] = []
    steps: list[int] = []
    ends = []
    cells = []
    strides = np.zeros((len(holders), len(linked)), np.int64)
    for place, row in enumerate(holders):
        outer, inner = _split(tables.views[row], linked)
        shape = [tables.sizes[axis] for axis in [*outer, *inner]]
        distances = [math.prod(shape[later:]) for later in range(1, len(shape) + 1)]
        others += outer
        steps += distances[: len(outer)]
        ends.append(len(others))
        cells.append(math.prod(shape[len(outer) :]))
        for axis, distance in zip(inner, distances[len(outer) :], strict=True):
            strides[place, linked.index(axis)] = distance
    return Linked(
        columns=np.array(linked, np.int64),
        combinations=np.ascontiguousarray(combinations),
        excess=np.concatenate([part.ravel() for part in flat]),
        weights=weights[holders],
        starts=np.cumsum([0, *[part.size for part in flat[:-1]]]),
        ends=np.array(ends, np.int64),
        others=np.array(others, np.int64),
        steps=np.array(steps, np.int64),
        places=strides @ combinations.T.astype(np.int64),
        strides=strides,
        cells=np.array(cells, np.int64),
    )


def with_few(
    lines: "Linked",
    most: int,
    rng: np.random.Generator,
) -> "Linked":
    """The same with `most` of the combinations: half of them lack most rows, the others are random.

    A combination lacks rows if its cells in the views are below their targets, in the mean over the
    lines of a view.
    """
    slope = np.zeros(len(lines.combinations))
    ends = [*lines.starts[1:], lines.excess.size]
    parts = zip(lines.starts, ends, lines.weights, lines.places, lines.cells, strict=True)
    for start, end, weight, places, cells in parts:
        means = lines.excess[start:end].reshape(-1, cells).mean(axis=0)
        slope += weight * means[places]
    order = np.argsort(slope)
    lacking, others = np.split(order, [most // 2])
    chosen = np.concatenate([lacking, rng.choice(others, most - len(lacking), replace=False)])
    return lines._replace(
        combinations=lines.combinations[chosen],
        places=np.ascontiguousarray(lines.places[:, chosen]),
    )


def put_back(
    tables: Tables,
    linked: Axes,
    changed: Floats,
    excess: Sequence[Floats],
) -> None:
    """Keep in `excess` what `descend_together` changed in the lines of linked axes."""
    start = 0
    for row in _holders(tables, linked):
        last = _lines(tables, row, linked, excess[row])
        end = start + last.size
        last[...] = changed[start:end].reshape(last.shape)
        start = end


def _holders(tables: Tables, linked: Axes) -> list[int]:
    """The views that hold some of the linked axes."""
    held: list[int] = np.flatnonzero(tables.member[:, list(linked)].any(axis=1)).tolist()
    return held


def _split(view: Axes, linked: Axes) -> tuple[list[int], list[int]]:
    """The axes of a view that are not linked, and those that are."""
    return (
        [axis for axis in view if axis not in linked],
        [axis for axis in view if axis in linked],
    )


def _lines(
    tables: Tables,
    row: int,
    linked: Axes,
    table: Floats,
) -> Floats:
    """A table with its linked axes last; it shares the memory of `table`."""
    view = tables.views[row]
    outer, inner = _split(view, linked)
    return np.transpose(table, [view.index(axis) for axis in [*outer, *inner]])
