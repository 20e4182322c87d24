"""Bounds of columns that the exponential cones of a `Model` imply."""

import numpy as np

from ...types import Floats
from .model import Model

__all__ = ["least_needed"]


def least_needed(model: Model) -> Floats:
    """The lower bounds of the columns, shape (columns,); minus infinity where a cone implies one.

    The entries b and c of a cone { b > 0, b exp(a / b) <= c } cannot be negative. If such an entry
    is v x_i + s with v > 0, then x_i >= -s / v, so a lower bound of x_i up to this number says
    nothing new. An interior-point method is better off without it: the bound and the cone become
    tight together, and their rows are then nearly the same. ECOS fails at this.

    Examples
    --------
    Minimise t subject to x = 1, x >= 0 and x exp(-t / x) <= 1:

    >>> cone = [[0, -1], [1, 0], [0, 0]]
    >>> fixed = {"matrix": [[1, 0]], "lower": [1], "upper": [1]}
    >>> model = Model(cost=[0, 1], least=[0, -5], cone=cone, shift=[0, 0, 1], **fixed)
    >>> least_needed(model)
    array([-inf,  -5.])
    """
    least = np.array(model.least)
    entries = model.cone
    # The rows with one entry, in the places of b and c.
    single = np.diff(entries.indptr) == 1
    single[::3] = False
    rows = np.flatnonzero(single)
    columns = entries.indices[entries.indptr[rows]]
    values = entries.data[entries.indptr[rows]]
    for column, value, shift in zip(columns, values, model.shift[rows], strict=True):
        # A column with equal bounds is fixed: its bound is an equation.
        is_fixed = model.least[column] == model.most[column]
        if value > 0 and not is_fixed and model.least[column] <= -shift / value:
            least[column] = -np.inf
    return least
