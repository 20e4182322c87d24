"""Random rows that follow the tables of views: the start of a descent."""

import numpy as np
from numpy.typing import NDArray

from .tables import Axes, Tables

__all__ = ["drawn"]


def drawn(
    tables: Tables,
    rows: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw all rows, axis by axis, each axis given the already drawn axes of one view.

    Axes that no view holds are drawn uniformly. Rows in cells that must be zero are drawn again.

    Returns
    -------
    numpy.ndarray
        The categories, shape (rows, axes).
    """
    codes = np.zeros((rows, len(tables.sizes)), np.int32, order="F")
    done = np.zeros(len(tables.sizes), np.bool_)
    left = set(range(len(tables.sizes)))
    while left:
        axis, row = _next(tables, done, sorted(left))
        if row is None:
            codes[:, axis] = rng.integers(0, tables.sizes[axis], rows)
        else:
            given = tuple(other for other in tables.views[row] if done[other])
            codes[:, axis] = _conditional(tables, row, given, axis, codes, rng)
        done[axis] = True
        left.remove(axis)
    if tables.zeros is not None:
        tables.zeros.mend(codes, rng)
    return codes


def _next(
    tables: Tables,
    done: NDArray[np.bool_],
    left: list[int],
) -> tuple[int, int | None]:
    """Choose the axis to draw next, and the view to draw it from.

    The view is the one with the most axes already drawn. It is None if no view holds any of the
    axes that are left.
    """
    shared = tables.member @ done.astype(np.int64)
    best: tuple[int, int | None] = (left[0], None)
    most = -1
    for axis in left:
        for row in np.flatnonzero(tables.member[:, axis]).tolist():
            if shared[row] > most:
                most = int(shared[row])
                best = (axis, row)
    return best


def _conditional(
    tables: Tables,
    row: int,
    given: Axes,
    axis: int,
    codes: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw a category of one axis for each row, by the table of a view given its drawn axes.

    A group is the rows with equal categories on the drawn axes. In each group the draws are not
    independent (systematic sampling): the counts of the categories are as near as possible to their
    expected values.
    """
    from .row_loops import draw

    together = tuple(sorted((*given, axis)))
    positive = np.maximum(tables.project(row, together), 0)
    table = np.moveaxis(positive, together.index(axis), -1)
    size = tables.sizes[axis]
    shares = table.reshape(-1, size) + 1e-9 * max(tables.total, 1.0)
    cumulative = np.cumsum(
        shares
        / shares.sum(
            axis=1,
            keepdims=True,
        ),
        axis=1,
    )
    # A group is the rows with equal categories of the other axes.
    group = np.zeros(len(codes), np.int64)
    for other in given:
        group = group * tables.sizes[other] + codes[:, other]
    # In the order of memory that `draw` is compiled for.
    cumulative = np.ascontiguousarray(cumulative)
    return draw(group, rng.permutation(len(codes)), cumulative, rng.random(len(shares)))
