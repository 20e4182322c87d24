"""Which library solves when a solver is called, and which solver is inside the library.

A row of a comparison names both with their versions.
"""

import importlib.metadata
from typing import Any

from ...reconstruct.convex.clarabel_direct import ClarabelDirect
from ...reconstruct.convex.cone import Cone
from ...reconstruct.convex.ladder import Ladder
from ...reconstruct.convex.lbfgs import LBFGS
from ...reconstruct.convex.least_squares import LeastSquares
from ...reconstruct.convex.minimax import MinimaxLP
from ...reconstruct.convex.trust_exact import TrustExact
from ...response.apart import CpSat, MaxSat
from ...response.highs import Highs
from ...response.milp import Milp
from ...response.pulp import Pulp
from ...tables.projection_qp import ProjectionQP
from ..engines.apart import CpSatEngine, Rc2Engine
from ..engines.built import CvxpyEngine, PulpEngine
from ..libraries.by_model import ByModel
from ..libraries.ipfn import Ipfn
from ..libraries.mbi import Mbi
from ..libraries.trust_constr import TrustConstr
from .inside import CBC, HIGHS, HIGHS_OF_SCIPY, SCIP
from .machine import LIBRARIES

__all__ = ["library_of", "solver_inside"]

_BY_CLASS: dict[type, str] = {
    **dict.fromkeys((LBFGS, TrustExact, Milp, TrustConstr), "scipy"),
    **dict.fromkeys((Cone, Ladder, LeastSquares, MinimaxLP, ProjectionQP, CvxpyEngine), "cvxpy"),
    **dict.fromkeys((Pulp, PulpEngine), "pulp"),
    **dict.fromkeys((CpSat, CpSatEngine), "ortools"),
    **dict.fromkeys((MaxSat, Rc2Engine), "pysat"),
    ClarabelDirect: "clarabel",
    Highs: "highspy",
    Ipfn: "ipfn",
    Mbi: "mbi",
}
"""The module that solves for a class of ours; cvxpy and PuLP where `_BY_OPTION` has no other."""

_BY_OPTION = {
    "CLARABEL": "clarabel",
    "ECOS": "ecos",
    "HIGHS": "highspy",
    "OSQP": "osqp",
    "PIQP": "piqp",
    "SCIP_PY": "pyscipopt",
    "SCIPY": "scipy",
    "SCS": "scs",
}
"""The module that solves for an option `solver` of our classes. CBC is a part of PuLP."""


def library_of(solver: Any) -> str:
    """The package that solves, with its version; empty if it is no installed package.

    A solver or an engine of your own may name it by an attribute `module`, the name under which it
    is imported. Otherwise it is the package of the class.

    Examples
    --------
    >>> from margin.solvers import LBFGS
    >>> library_of(LBFGS()).split()[0]
    'scipy'
    """
    module = _module_of(solver.engine if isinstance(solver, ByModel) else solver)
    package = LIBRARIES.get(module, module)
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def solver_inside(solver: Any) -> str:
    """The name of the solver inside the package of `library_of`; empty if it is the package itself.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> [solver_inside(bench.ROSTER[name].make()) for name in ("cbc", "scip", "pulp-highs", "scs")]
    ['CBC', 'SCIP', 'HiGHS', '']
    """
    asked = solver.engine if isinstance(solver, ByModel) else solver
    module = _module_of(asked)
    if module == "pulp":
        return CBC if getattr(asked, "solver", None) == "PULP_CBC_CMD" else ""
    if module == "scipy":
        return HIGHS_OF_SCIPY if isinstance(asked, Milp | MinimaxLP) else ""
    return {"highspy": HIGHS, "pyscipopt": SCIP}.get(module, "")


def _module_of(solver: Any) -> str:
    """The name under which the package that solves is imported."""
    stated = getattr(solver, "module", None)
    if isinstance(stated, str):
        return stated
    kind = type(solver)
    if kind in _BY_CLASS:
        option = str(getattr(solver, "solver", "")).upper()
        return _BY_OPTION.get(option, _BY_CLASS[kind])
    return kind.__module__.partition(".")[0]
