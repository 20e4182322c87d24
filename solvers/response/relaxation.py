"""`relaxed`: a bound on all values of a `BestResponse`, and a record, by its linear relaxation."""

import importlib
from typing import Any

import numpy as np
import scipy

from ..status import Status
from ..types import Floats
from .best_response import BestResponse, Response, Seed
from .programme import Programme


def relaxed(
    instance: BestResponse,
    *,
    seed: Seed = 0,
) -> Response:
    """The linear relaxation of `Programme`, by HiGHS: its bound, and its solution as a record.

    The solution is rounded. If it is whole, the record reaches the bound, and is proved to be best.

    The bound does not trust the solver. For the programme "maximise c y, A y <= b, E y = f, 0 <= y
    <= top" and any multipliers u >= 0 and v, weak duality says

        c y <= u b + v f + sum over columns j of top_j max(0, c_j - (u A + v E)_j),

    and this right-hand side is computed here from the solver's multipliers.
    """
    programme = Programme.of(instance)
    if not programme.matrix.shape[0]:
        # Nothing holds the columns together: each takes the bound that pays.
        point = np.where(programme.cost > 0, programme.top, 0.0)
        bound = programme.offset + float(programme.cost @ point)
        return _response(instance, programme, point, bound, seed)
    # Rows with two different bounds are written twice, once for each bound.
    equal = programme.lower == programme.upper
    below = np.isfinite(programme.upper) & ~equal
    above = np.isfinite(programme.lower) & ~equal
    rows = scipy.sparse.vstack([programme.matrix[below], -programme.matrix[above]], format="csr")
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
        return instance.respond(None, status=Status.FAILED, detail=f"relaxation: {found.message}")
    # scipy minimises, so that its multipliers have the other sign.
    u: Floats = np.maximum(-found.ineqlin.marginals, 0)
    v: Floats = -found.eqlin.marginals
    left = programme.cost - rows.T @ u - programme.matrix[equal].T @ v
    bound = u @ limits + v @ programme.upper[equal] + programme.top @ np.maximum(left, 0)
    return _response(instance, programme, found.x, programme.offset + float(bound), seed)


def _response(
    instance: BestResponse,
    programme: Programme,
    point: Floats,
    bound: float,
    seed: Seed,
) -> Response:
    """The response for a solution of the relaxation; without a record if it breaks a constraint."""
    rng = np.random.default_rng(seed)
    record = programme.record(instance, programme.rounded(point), rng)
    if record is not None and not instance.feasible(record):
        record = None
    return instance.respond(record, status=Status.UNPROVEN, bound=bound)
