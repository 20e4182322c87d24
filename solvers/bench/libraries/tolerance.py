"""`tolerance_of`: the tolerance at which a solver stops."""

from typing import Any

from ...backends import tolerance_in_cvxpy
from ...reconstruct.convex.cone import Cone
from ...reconstruct.convex.ladder import Ladder
from ...reconstruct.convex.least_squares import LeastSquares
from ...reconstruct.convex.minimax import MinimaxLP
from ...tables.projection_qp import ProjectionQP
from ..engines.built import CvxpyEngine
from .by_model import ByModel

__all__ = ["tolerance_of"]

_BY_CVXPY = (Cone, LeastSquares, ProjectionQP, CvxpyEngine)
"""Classes that solve by cvxpy, at the tolerances of `backends.run`."""

_DEFAULTS = (Ladder, MinimaxLP)
"""Classes that leave a library its own tolerance."""


def tolerance_of(solver: Any) -> float | None:
    """The number at which a solver stops; None if it has none, or leaves a library its own.

    What the number measures differs: a residual, a gap, or a change. So equal numbers do not make
    equal answers; `Instance.check` does.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> tolerance_of(bench.ROSTER["clarabel"].make())
    1e-10
    """
    chosen = solver.engine if isinstance(solver, ByModel) else solver
    if isinstance(chosen, _DEFAULTS):
        return None
    if isinstance(chosen, _BY_CVXPY):
        # These inherit the attribute `tolerance` of `Newton`, but do not use it.
        return tolerance_in_cvxpy(chosen.solver)
    stated = getattr(chosen, "tolerance", None)
    return float(stated) if isinstance(stated, int | float) else None
