"""`residuals`: how far a point and its multipliers are from the optimum of a continuous `Model`."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...types import Floats
from .model import Model

__all__ = ["Residuals", "residuals"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Residuals:
    """The errors of a point and of its multipliers, in the units of the model.

    Attributes
    ----------
    primal
        The largest violation of a constraint; see `Model.violation`. NaN without a point.
    dual
        The largest error of the multipliers; see `residuals`. NaN without a point and multipliers,
        and with exponential cones.
    bound
        The lower bound that the multipliers prove; see `Model.lower_bound`. NaN without them.
    """

    primal: float = math.nan
    dual: float = math.nan
    bound: float = math.nan


def residuals(
    model: Model,
    point: ArrayLike | None,
    dual: ArrayLike | None,
    *,
    box: ArrayLike = math.inf,
) -> Residuals:
    """Compute the residuals of a point x and of the multipliers y of the rows.

    The slope of the Lagrangian is g = cost + square x - matrix' y. At an optimum, x is the nearest
    point within the bounds of the columns to x - g, and y_i is not positive without a lower bound
    of row i, nor negative without an upper one. The dual residual is the largest entry by which
    this fails.

    Parameters
    ----------
    point
        Shape (columns,), or None. What has another shape or is not finite counts as none.
    dual
        Shape (rows,), or None; `Ended.dual` says which sign the multipliers have.
    box
        See `Model.lower_bound`.

    Examples
    --------
    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> residuals(model, [0, 1], [0.5])
    Residuals(primal=0.0, dual=0.0, bound=1.0)
    """
    x = _numbers(point, model.columns)
    y = _numbers(dual, model.rows)
    return Residuals(
        primal=math.nan if x is None else model.violation(x),
        dual=math.nan if x is None or y is None or model.cones else _dual(model, x, y),
        bound=math.nan if y is None else model.lower_bound(y, box=box),
    )


def _dual(model: Model, x: Floats, y: Floats) -> float:
    """The dual residual; see `residuals`."""
    slope = model.cost + model.square * x - model.matrix.T @ y
    missed = np.abs(x - np.clip(x - slope, model.least, model.most))
    is_wrong = ((y > 0) & np.isinf(model.lower)) | ((y < 0) & np.isinf(model.upper))
    return float(np.concatenate([missed, np.abs(y[is_wrong])]).max(initial=0.0))


def _numbers(values: ArrayLike | None, length: int) -> Floats | None:
    """The values as finite numbers of this length; None if they are none."""
    if values is None:
        return None
    array = np.asarray(values, np.float64)
    return array if array.shape == (length,) and np.isfinite(array).all() else None
