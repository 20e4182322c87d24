"""Large marginals that a view holds, improved by a base cell by cell."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..reconstruct.batch import Solutions
from ..reconstruct.sums import Sums
from ..status import Status
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .base import Base, positive_shares

__all__ = ["large_solutions", "large_sums"]

_SCALES = 60
"""Number of values of 1 / (number of rows) that are tried."""

_LARGEST = 10.0
"""Largest value of 1 / (number of rows)."""

_SURE = 2.0
"""Log-likelihood by which moments must contradict a value, about two standard errors.

Set on Adult, of 2, 3 and 5.
"""

_EVEN = 0.25
"""Share of the variance of a table that is spread evenly over its cells."""


class _Cells(NamedTuple):
    """One marginal of a view, beside a base; every array has the shape (cells,).

    Attributes
    ----------
    noisy
        The counts before negative ones were removed.
    held
        The counts of the view.
    expected
        The counts of the base, scaled to the total.
    variance
        The variance of the noise of each count.
    total
        The number of rows.
    empty
        Which cells must be zero; None for no such cell.
    """

    noisy: Floats
    held: Floats
    expected: Floats
    variance: float
    total: float
    empty: NDArray[np.bool_] | None


class _Estimate(NamedTuple):
    """The estimate of one marginal; every array has the shape (cells,).

    Attributes
    ----------
    counts
        The estimates.
    noise
        The variance that noise causes.
    missed
        The rest of the variance of their errors.
    """

    counts: Floats
    noise: Floats
    missed: Floats


def large_solutions(
    tables: Tables,
    base: Base,
    asked: Integers,
) -> Solutions:
    """Improve marginals that views hold by a base, in time proportional to their cells.

    Let y be the noisy counts, v the variance of their noise, and c the counts of the base, scaled
    to the total N. If the base were n random rows of the truth, a true count would have the mean c
    and the variance N c / n. So its best linear estimate is x = c + g (y - c), where g = (N c / n)
    / (N c / n + v), and its expected squared error is g v. A cell that the base calls empty
    follows its noise hardly at all. Small cells follow the base, and large ones the view.

    One n is learnt from the marginal itself: it is the most likely one given the squares of y - c.
    But it is no larger than the moments allow, see `_most_by_moments`: the cells alone do not tell
    what the base misses in its empty cells.

    The result is the mixture z + w (x - z) with the view's own table z, which has no negative
    counts. Their expected squared errors are X = sum g v, and Z = |z - c| ** 2 - N ** 2 (1 - sum (c
    / N) ** 2) / n, since the error of the base is independent of the noise. The errors have the
    product C with X + Z - 2 C = |x - z| ** 2, and so w = (Z - C) / (X + Z - 2 C). If |x - z| ** 2
    is larger than X + Z, the base is worse than n says: X is made larger.

    Parameters
    ----------
    tables
        Consistent tables of positive total. `Tables.unbiased` gives y if it is there.
    base
        The base.
    asked
        The axes of the marginals, ascending and within views, shape (n, k).

    Returns
    -------
    Solutions
        `variance` is the part of the noise, and `undetermined` the rest of the variance.
    """
    estimates = [_estimate(tables, base, tuple(axes)) for axes in asked.tolist()]
    shape = (len(asked), *(tables.sizes[axis] for axis in asked[0].tolist()))
    count = len(estimates)
    return Solutions(
        table=np.stack([one.counts for one in estimates]).reshape(shape),
        statuses=np.full(count, list(Status).index(Status.OPTIMAL), dtype=np.int8),
        objective=np.full(count, math.nan),
        residual=np.zeros(count),
        iterations=np.zeros(count, dtype=np.int64),
        seconds=0.0,
        relaxation=np.zeros(count),
        variance=np.stack([one.noise for one in estimates]).reshape(shape),
        undetermined=np.stack([one.missed for one in estimates]).reshape(shape),
    )


def large_sums(
    tables: Tables,
    base: Base,
    axes: Axes,
    weights: Floats,
) -> Sums:
    """Weighted sums of the cells of one marginal of `large_solutions`.

    The errors of the cells are taken to be independent. `weights` has the shape (cells, q).
    """
    one = _estimate(tables, base, axes)
    return Sums(
        table=one.counts,
        status=Status.OPTIMAL,
        estimate=one.counts @ weights,
        variance=weights.T @ (weights * one.noise[:, None]),
        undetermined=weights.T @ (weights * one.missed[:, None]),
    )


def _estimate(
    tables: Tables,
    base: Base,
    axes: Axes,
) -> _Estimate:
    """Mix one marginal of a view with its estimate relative to the base."""
    cells = _cells(tables, base, axes)
    scale = max(_most_likely(cells, base), _most_by_moments(tables, base, cells, axes))
    # The best linear estimate with the base.
    prior = cells.total * scale * cells.expected
    gain = prior / (prior + cells.variance)
    with_base = np.maximum(cells.expected + gain * (cells.noisy - cells.expected), 0.0)
    # Rows that the base does not explain are spread like the view's own table.
    with_base *= min(cells.total / with_base.sum(), 1.0)
    with_base += cells.held * max(1 - with_base.sum() / cells.total, 0.0)
    weight, risk = _weight(cells, with_base, scale, float(gain.sum()) * cells.variance)
    counts = cells.held + weight * (with_base - cells.held)
    noise = cells.variance * (1 - weight + weight * gain**2)
    whole = cells.variance * (1 - weight + weight * gain)
    # At least the estimated error; small cells are less certain than in proportion to their size.
    whole *= max(risk / max(whole.sum(), 1e-300), 1.0)
    whole += _EVEN * (whole.mean() - whole)
    missed = np.maximum(whole - noise, 0.0)
    if cells.empty is not None:
        for part in (counts, noise, missed):
            part[cells.empty] = 0.0
    return _Estimate(counts, noise, missed)


def _cells(
    tables: Tables,
    base: Base,
    axes: Axes,
) -> _Cells:
    """The counts of one marginal of a view and of the base."""
    row = tables.covering(axes)
    assert row is not None  # only marginals within views are asked for
    held = tables.project(row, axes).ravel()
    noisy = held
    if tables.unbiased is not None:
        noisy = _unbiased(tables).project(row, axes).ravel()
    asked = np.array([axes], dtype=np.int64)
    shares = positive_shares(base, asked)[0]
    empty = None if tables.zeros is None else tables.zeros.cells_of_many(asked)
    if empty is not None:
        # The smallest number keeps logarithms and ratios finite.
        empty = empty.ravel()
        shares = np.where(empty, 1e-300, shares)
        shares /= shares.sum()
    return _Cells(
        noisy=noisy,
        held=held,
        expected=tables.total * shares,
        variance=tables.variance(axes),
        total=tables.total,
        empty=empty,
    )


def _unbiased(tables: Tables) -> Tables:
    """The tables before negative counts were removed."""
    assert tables.unbiased is not None
    return dataclasses.replace(tables, values=tables.unbiased, unbiased=None)


def _grid(base: Base, total: float) -> Floats:
    """The values of 1 / n that are tried; the least is that of another sample of the population."""
    least = min(1 / base.rows + 1 / total, 0.5)
    return np.geomspace(least, _LARGEST, _SCALES)


def _most_likely(cells: _Cells, base: Base) -> float:
    """The most likely 1 / n given the cells: y - c has the variance v + N c / n."""
    grid = _grid(base, cells.total)
    squares = (cells.noisy - cells.expected) ** 2
    unit = cells.total * cells.expected
    likelihood = []
    for scale in grid:
        variance = cells.variance + unit * scale
        likelihood.append(-float((squares / variance + np.log(variance)).sum()) / 2)
    return float(grid[int(np.argmax(likelihood))])


def _most_by_moments(
    tables: Tables,
    base: Base,
    cells: _Cells,
    axes: Axes,
) -> float:
    """The smallest 1 / n that the moments do not contradict.

    The mean square difference of the moments of a component has the variance of their noise, plus
    the mean variance of their functions over the rows of the base, divided by n.
    """
    grid = _grid(base, cells.total)
    basis = transform(tuple(tables.sizes[axis] for axis in axes))
    size = math.sqrt(len(cells.noisy))
    shares = cells.expected / cells.total
    expected = basis.analyse(shares) * size
    unit = np.maximum(basis.squares(shares) - expected**2, 0.0)
    squares = (basis.analyse(cells.noisy) * size / cells.total - expected) ** 2
    precision = tables.component_precision(axes)
    # Sums over the moments of each component; the constant tells nothing.
    counts, units, sums = (
        np.bincount(basis.component, values, len(precision))[1:]
        for values in (np.ones(len(unit)), unit, squares)
    )
    there = counts > 0
    counts, units, sums = counts[there], units[there], sums[there]
    noise = 1 / (precision[1:][there] * cells.total**2)
    variance = noise[:, None] + (units / counts)[:, None] * grid + 1e-300
    likelihood = -(sums[:, None] / variance + counts[:, None] * np.log(variance)).sum(axis=0) / 2
    return float(grid[np.flatnonzero(likelihood >= likelihood.max() - _SURE)[0]])


def _weight(
    cells: _Cells,
    with_base: Floats,
    scale: float,
    error: float,
) -> tuple[float, float]:
    """The weight of the estimate with the base, and the expected squared error of the mixture.

    `error` is the expected squared error of the estimate with the base; see `large_solutions`.
    """
    shares = cells.expected / cells.total
    of_base = cells.total**2 * scale * (1 - float(shares @ shares))
    own = max(float(((cells.held - cells.expected) ** 2).sum()) - of_base, 0.0)
    distance = float(((with_base - cells.held) ** 2).sum())
    error = max(error, distance - own)
    # Both follow the same noisy counts, so their errors do not oppose each other.
    product = min((error + own - distance) / 2, math.sqrt(error * own))
    both = max(error + own - 2 * product, 1e-300)
    weight = float(np.clip((own - product) / both, 0.0, 1.0))
    risk = weight**2 * error + (1 - weight) ** 2 * own + 2 * weight * (1 - weight) * product
    return weight, risk
