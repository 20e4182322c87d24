"""The views and their coefficients in flat arrays, for the compiled loops of `JointProjection`."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...basis import transform
from ...types import Floats, Integers
from ..consistency import Components

__all__ = ["Goals", "Packed", "goals", "packed", "split_views"]

_SPLIT = 2
"""A view is split if it has at least this many cells for each of its sums over single axes."""


class Packed(NamedTuple):
    """The views and their blocks in flat arrays, for compiled loops.

    A *block* is a table whose coefficients are computed by a transform. Most views are one block.
    A view that is *split* has one block for each axis: the sums of its cells over this axis. Its
    full component belongs to no block (`split_views`).

    View v has the cells ``bounds[v]:bounds[v + 1]`` of the vector of all cells, the axis sizes
    ``sizes[axes[v]:axes[v + 1]]``, and the entries ``starts[v]:starts[v + 1]`` of the vector of all
    blocks. `split` tells which views are split, and `binary` which views have only axes of two
    categories. `widest` is the number of cells of the largest block, or of the largest part of a
    split view with one category of the first axis.
    """

    bounds: Integers
    axes: Integers
    sizes: Integers
    starts: Integers
    split: NDArray[np.bool_]
    binary: NDArray[np.bool_]
    widest: int


class Goals(NamedTuple):
    """The observed values of the coefficients and their weights, arranged for compiled loops.

    `JointProjection` minimises a sum of weight x (coefficient - observed value)**2. An *entry* is a
    coefficient of one block; there are e entries. The blocks of a split view have coefficients in
    common. One entry stands for each of these, and the others are left out. A coefficient that only
    one view holds is an entry alone. The k other coefficients, which several views hold, are called
    shared: their entries must become equal.

    Attributes
    ----------
    pull
        The weight of each entry that is alone; zero for entries of shared coefficients, and
        infinite for entries that are left out, shape (e,).
    pulled
        The weight times the observed value of each entry that is alone; else zero, shape (e,).
    bounds
        Shared coefficient i has the entries ``bounds[i]:bounds[i + 1]`` of the next four arrays,
        shape (k + 1,).
    places
        The positions of these entries among all e.
    into, out
        Factors of these entries: from the entry to its part of the mean, and from the mean back.
    holder
        The view that holds each of these entries.
    weight, observed
        The weights and the observed values of the shared coefficients, shape (k,).
    full
        The weight of the full component of each split view; zero for other views, shape (views,).
    whole
        The observed full components of the split views, in cells; zero in other views, shape (n,).
    """

    pull: Floats
    pulled: Floats
    bounds: Integers
    places: Integers
    into: Floats
    out: Floats
    holder: Integers
    weight: Floats
    observed: Floats
    full: Floats
    whole: Floats


def split_views(components: Components, weight: Floats) -> NDArray[np.bool_]:
    """Choose the views that the compiled loops split into sums over their axes, shape (views,).

    The full component of a view varies on all its axes. If no other view holds it, its coefficients
    have one weight, so an iteration needs it only in cells, without a transform: it is what the
    sums over the axes leave. This pays if the sums have far fewer cells than the view. Views with
    cells that must be zero are not split. `weight` is that of each distinct coefficient in the
    objective, shape (m,).
    """
    found = np.zeros(len(components.views), np.bool_)
    if components.empty is not None:
        return found
    holders = np.bincount(components.distinct)
    for row, (_, where, shape) in enumerate(components.views):
        cells = math.prod(shape)
        sums = sum(cells // size for size in shape)
        full = components.distinct[where.stop - 1]
        alone = holders[full] == 1 and bool(np.isfinite(weight[full]))
        found[row] = min(shape, default=1) > 1 and alone and _SPLIT * sums <= cells
    return found


def packed(components: Components, split: NDArray[np.bool_]) -> Packed:
    """Write the views and blocks to flat arrays, with some views `split`; see `Packed`."""
    shapes = [shape for _, _, shape in components.views]
    cells = [math.prod(shape) for shape in shapes]
    entries = cells.copy()
    widest = cells.copy()
    for row in np.flatnonzero(split).tolist():
        entries[row] = sum(cells[row] // size for size in shapes[row])
        # Axes are sorted by size, so the last axis leaves the largest sums.
        widest[row] = cells[row] // shapes[row][-1]
    return Packed(
        bounds=np.cumsum([0, *cells]).astype(np.int64),
        axes=np.cumsum([0, *map(len, shapes)]).astype(np.int64),
        sizes=np.array([size for shape in shapes for size in shape], dtype=np.int64),
        starts=np.cumsum([0, *entries]).astype(np.int64),
        split=split,
        binary=np.array([bool(shape) and set(shape) == {2} for shape in shapes]),
        widest=max(widest),
    )


def _entries(
    components: Components,
    split: NDArray[np.bool_],
) -> tuple[Integers, NDArray[np.bool_]]:
    """For each entry of all blocks the position of its coefficient among all n, and whether it
    stands for this coefficient, both of shape (e,)."""
    places = []
    counted = []
    for is_split, (_, where, shape) in zip(split.tolist(), components.views, strict=True):
        own = np.arange(where.start, where.stop).reshape(shape)
        if not is_split:
            places.append(own.ravel())
            counted.append(np.ones(own.size, np.bool_))
            continue
        component = transform(shape).component.reshape(shape)
        for axis in range(len(shape)):
            # The sums over the first axis on which a coefficient is constant stand for it.
            before = (1 << axis) - 1
            places.append(own.take(0, axis=axis).ravel())
            counted.append((component.take(0, axis=axis) & before == before).ravel())
    return np.concatenate(places), np.concatenate(counted)


def goals(
    components: Components,
    views: Packed,
    weight: Floats,
    observed: Floats,
) -> Goals:
    """Arrange weights and observed values for compiled loops; see `Goals`.

    Parameters
    ----------
    weight
        The weight of each distinct coefficient in the objective, shape (m,).
    observed
        Its observed value, shape (m,).
    """
    split = views.split
    position, counted = _entries(components, split)
    holder = np.repeat(np.arange(len(split)), np.diff(views.starts))
    number = components.distinct[position]
    spread = components.spread[position]
    precision = components.own_precision[position]
    # The loops' functions have mean square one. Hence the root of the number of cells.
    root = np.sqrt(np.diff(views.bounds))[holder]
    out = 1 / (spread * root)
    distinct, turn = np.unique(number, return_inverse=True)
    holders = np.bincount(turn[counted])
    weights = weight[distinct]
    values = observed[distinct]
    several = (holders > 1) | np.isinf(weights)
    alone = np.where(several, 0.0, weights)
    # The entries of shared coefficients, by coefficient.
    places = np.flatnonzero(several[turn] & counted)
    places = places[np.argsort(turn[places], kind="stable")]
    shared = number[places]
    # The full components of split views.
    last = components.distinct[views.bounds[1:] - 1]
    return Goals(
        pull=np.where(counted, alone[turn], np.inf),
        pulled=np.where(counted, (alone * values)[turn] * out, 0.0),
        bounds=np.concatenate([[0], np.cumsum(holders[several])]),
        places=places,
        into=(precision * spread * root)[places] / components.metric[shared],
        out=out[places],
        holder=holder[places],
        weight=weights[several],
        observed=values[several],
        full=np.where(split, weight[last], 0.0),
        whole=_full_components(components, observed, split),
    )


def _full_components(
    components: Components,
    observed: Floats,
    split: NDArray[np.bool_],
) -> Floats:
    """The full components of the split views, in cells; zero in other views, shape (n,)."""
    found = np.zeros(len(components.distinct))
    for is_split, (_, where, shape) in zip(split.tolist(), components.views, strict=True):
        if is_split:
            basis = transform(shape)
            full = basis.order == len(shape)
            coefficients = np.where(full, observed[components.distinct[where]], 0.0)
            found[where] = basis.synthesise(coefficients)
    return found
