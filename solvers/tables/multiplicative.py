"""Multiplicative weights: move a table towards given marginals by factors on its cells."""

from collections.abc import Sequence

import numpy as np

from ..types import Floats

_MOST = 50.0
"""Largest absolute exponent (nats); with more, a factor would overflow."""


def replayed(
    table: Floats,
    views: Sequence[Sequence[int]],
    targets: Sequence[Floats],
    *,
    times: int,
) -> Floats:
    """Apply several rounds of multiplicative weights updates to a positive table.

    For each marginal, every cell is multiplied by exp((t - s) / (2 n)), where t is the target of
    the marginal's cell that contains it, s the current sum there, and n the total. The table is
    then scaled back to its total (Hardt, Ligett and McSherry, NIPS 2012, Figure 1).

    Parameters
    ----------
    table
        Positive, of any shape.
    views
        The axes of each marginal, in the order of its own axes.
    targets
        The marginals.
    times
        The number of rounds through all marginals.

    Returns
    -------
    ndarray
        A positive table of the same shape and total.
    """
    cells = np.array(table, np.float64)
    total = float(cells.sum())
    plans = [_plan(cells.shape, view, target) for view, target in zip(views, targets, strict=True)]
    for _ in range(times):
        for dropped, target in plans:
            now = cells.sum(
                axis=dropped,
                keepdims=True,
            )
            exponent = np.clip((target - now) / (2 * total), -_MOST, _MOST)
            factor = np.exp(exponent)
            cells *= factor * (total / float((now * factor).sum()))
    return cells


def _plan(
    shape: tuple[int, ...],
    view: Sequence[int],
    target: Floats,
) -> tuple[tuple[int, ...], Floats]:
    """The axes to sum over, and the target with length one along these axes."""
    dropped = tuple(axis for axis in range(len(shape)) if axis not in view)
    spread = [size if axis in view else 1 for axis, size in enumerate(shape)]
    return dropped, target.transpose(np.argsort(view)).reshape(spread)
