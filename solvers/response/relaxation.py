"""`upper_bound`: a bound on all values of a `BestResponse`, by its linear relaxation."""

import importlib
from typing import Any

import numpy as np
from scipy import sparse

from ..types import Floats
from .integer import BestResponse
from .programme import Programme


def upper_bound(instance: BestResponse) -> float:
    """A bound on the value of every record: the linear relaxation of `Programme`, by HiGHS.

    The bound does not trust the solver. For the programme "maximise c y, A y <= b, E y = f, 0 <= y
    <= top" and any multipliers u >= 0 and v, weak duality says

        c y <= u b + v f + sum over columns j of top_j max(0, c_j - (u A + v E)_j),

    and this right-hand side is computed here from the solver's multipliers. It is infinite if the
    solver returns none.
    """
    programme = Programme.of(instance)
    if programme.columns == 0 or not programme.matrix.shape[0]:
        return programme.offset + float(np.maximum(programme.cost, 0) @ programme.top)
    # Rows with two different bounds are written twice, once for each bound.
    equal = programme.lower == programme.upper
    below = np.isfinite(programme.upper) & ~equal
    above = np.isfinite(programme.lower) & ~equal
    rows = sparse.vstack([programme.matrix[below], -programme.matrix[above]], format="csr")
    limits = np.concatenate([programme.upper[below], -programme.lower[above]])
    # scipy.optimize is slow to load, and its types do not know sparse matrices.
    optimize: Any = importlib.import_module("scipy.optimize")
    found = optimize.linprog(
        -programme.cost,
        A_ub=rows,
        b_ub=limits,
        A_eq=programme.matrix[equal],
        b_eq=programme.upper[equal],
        bounds=np.stack([np.zeros(programme.columns), programme.top], axis=1),
        method="highs",
    )
    if found.status != 0:
        return np.inf
    # scipy minimises, so that its multipliers have the other sign.
    u: Floats = np.maximum(-found.ineqlin.marginals, 0)
    v: Floats = -found.eqlin.marginals
    left = programme.cost - rows.T @ u - programme.matrix[equal].T @ v
    bound = u @ limits + v @ programme.upper[equal] + programme.top @ np.maximum(left, 0)
    return float(programme.offset + bound)
