"""The forms in which quadratic solvers take a `Model`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...types import Floats
from ..models.model import Model

__all__ = ["Boxed", "boxed", "dual_of_equations", "equations"]

FAR = 1e20
"""A bound beyond this number means no bound."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Boxed:
    """A quadratic programme: x' square x / 2 + cost . x subject to lower <= matrix x <= upper.

    Attributes
    ----------
    square
        The diagonal of the quadratic part, sparse columns of shape (n, n).
    cost
        The linear part, shape (n,).
    matrix
        The rows of the model, and then one row for each column with a bound; sparse columns.
    lower, upper
        The bounds of the rows.
    """

    square: Any
    cost: Floats
    matrix: Any
    lower: Floats
    upper: Floats


def boxed(model: Model) -> Boxed:
    """The continuous model with the bounds of its columns as rows; cones are left out."""
    bounded = np.flatnonzero(np.isfinite(model.least) | np.isfinite(model.most))
    rows = sparse.eye_array(model.columns, format="csr")[bounded]
    return Boxed(
        square=sparse.diags_array(model.square).tocsc(),
        cost=model.cost,
        matrix=sparse.vstack([model.matrix, rows]).tocsc(),
        lower=np.concatenate([model.lower, model.least[bounded]]),
        upper=np.concatenate([model.upper, model.most[bounded]]),
    )


def equations(model: Model) -> tuple[Any, Floats, Any, Floats, Floats]:
    """The rows of the model apart: equations, and rows with bounds.

    Returns
    -------
    equal, right
        The rows of the equations, sparse columns, and their right sides.
    rows, lower, upper
        The other rows, sparse columns, and their bounds.
    """
    same = model.lower == model.upper
    matrix = model.matrix.tocsr()
    return (
        matrix[same].tocsc(),
        model.lower[same],
        matrix[~same].tocsc(),
        model.lower[~same],
        model.upper[~same],
    )


def dual_of_equations(model: Model, equal: Floats, others: Floats) -> Floats:
    """The multipliers of all rows, from those of the two parts of `equations`."""
    same = model.lower == model.upper
    whole = np.zeros(model.rows)
    whole[same] = equal
    whole[~same] = others
    return whole
