"""The solvers that can be named: ours, and those of libraries, each with its families."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...backends import available
from ...reconstruct.convex.clarabel_direct import ClarabelDirect
from ...reconstruct.convex.cone import Cone
from ...reconstruct.convex.ladder import Ladder
from ...reconstruct.convex.lbfgs import LBFGS
from ...reconstruct.convex.least_squares import LeastSquares
from ...reconstruct.convex.minimax import MinimaxLP
from ...reconstruct.convex.trust_exact import TrustExact
from ...reconstruct.ipf import IPF
from ...reconstruct.newton import Newton
from ...response.anneal import Anneal
from ...response.apart import CpSat, MaxSat
from ...response.components import ByComponents
from ...response.enumerate import Enumerate
from ...response.greedy import Greedy
from ...response.highs import Highs
from ...response.milp import Milp
from ...response.pulp import Pulp
from ...tables.consistency import LatticeConsistency, ResidualConsistency
from ...tables.nonnegativity import JointProjection
from ...tables.projection_qp import ProjectionQP
from ..engines.apart import CpSatEngine, Rc2Engine
from ..engines.built import CvxpyEngine, PulpEngine
from ..engines.clarabel import ClarabelEngine
from ..engines.daqp import DaqpEngine
from ..engines.ecos import EcosEngine
from ..engines.highs import HighsEngine
from ..engines.osqp import OsqpEngine
from ..engines.pdlp import PdlpEngine
from ..engines.piqp import PiqpEngine
from ..engines.proxqp import ProxQpEngine
from ..engines.qpalm import QpalmEngine
from ..engines.scip import ScipEngine
from ..engines.scs import ScsEngine
from .by_model import ByModel
from .ipfn import Ipfn
from .mbi import Mbi
from .trust_constr import TrustConstr

__all__ = ["ROSTER", "Listed", "families_of", "solvers"]

_PENALISED = ("penalised-entropy",)
_EXACT = ("exact-entropy",)
_ENTROPY = (*_EXACT, *_PENALISED)
_SQUARES = ("least-squares", "consistency", "nonnegativity")
_LINEAR = ("minimax",)
_WHOLE = ("response", "cover")


@dataclass(
    frozen=True,
    kw_only=True,
)
class Listed:
    """A solver of the roster.

    Attributes
    ----------
    make
        Makes the solver.
    families
        The names of the families that it solves.
    needs
        The module that must be installed; empty if none but margin's own.
    """

    make: Callable[[], Any]
    families: tuple[str, ...]
    needs: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the module that it needs is installed."""
        return not self.needs or available(self.needs)


def _by(engine: Any, families: tuple[str, ...], needs: str) -> Listed:
    """A library that solves the models of some families."""
    return Listed(make=lambda: ByModel(engine=engine), families=families, needs=needs)


ROSTER: Mapping[str, Listed] = {
    # Ours, in Python and compiled loops.
    "Newton": Listed(make=lambda: Newton(bars=False), families=_PENALISED),
    "IPF": Listed(make=IPF, families=_EXACT),
    "ResidualConsistency": Listed(make=ResidualConsistency, families=("consistency",)),
    "LatticeConsistency": Listed(make=LatticeConsistency, families=("consistency",)),
    # The instances have the weights without growth; see `families.projection`.
    "JointProjection": Listed(
        make=lambda: JointProjection(growth=0.0), families=("nonnegativity",)
    ),
    "ByComponents": Listed(make=ByComponents, families=("response",)),
    "Anneal": Listed(make=Anneal, families=("response",)),
    "Greedy": Listed(make=Greedy, families=("response",)),
    "Enumerate": Listed(make=Enumerate, families=("response",)),
    # Ours, by way of a library.
    "LBFGS": Listed(make=LBFGS, families=_PENALISED),
    "TrustExact": Listed(make=TrustExact, families=_PENALISED),
    "ClarabelDirect": Listed(make=ClarabelDirect, families=_PENALISED, needs="clarabel"),
    "Cone": Listed(make=Cone, families=_PENALISED),
    "Cone-SCS": Listed(make=lambda: Cone(solver="SCS"), families=_PENALISED, needs="scs"),
    "Ladder": Listed(make=Ladder, families=_EXACT),
    "LeastSquares": Listed(make=LeastSquares, families=("least-squares",)),
    "LeastSquares-OSQP": Listed(
        make=lambda: LeastSquares(solver="OSQP"), families=("least-squares",), needs="osqp"
    ),
    "LeastSquares-PIQP": Listed(
        make=lambda: LeastSquares(solver="PIQP"), families=("least-squares",), needs="piqp"
    ),
    "LeastSquares-SCIPY": Listed(
        make=lambda: LeastSquares(solver="SCIPY"), families=("least-squares",)
    ),
    "MinimaxLP": Listed(make=MinimaxLP, families=_LINEAR),
    "MinimaxLP-HIGHS": Listed(
        make=lambda: MinimaxLP(solver="HIGHS"), families=_LINEAR, needs="highspy"
    ),
    "ProjectionQP": Listed(
        make=lambda: ProjectionQP(growth=0.0), families=("nonnegativity",), needs="osqp"
    ),
    "Milp": Listed(make=Milp, families=("response",)),
    "Highs": Listed(make=Highs, families=("response",), needs="highspy"),
    "Pulp": Listed(make=Pulp, families=("response",)),
    "CpSat": Listed(make=CpSat, families=("response",), needs="ortools"),
    "MaxSat": Listed(make=MaxSat, families=("response",), needs="pysat"),
    # Libraries, on the model of the instance.
    "highs": _by(HighsEngine(), (*_SQUARES, *_LINEAR, *_WHOLE), "highspy"),
    "scip": _by(ScipEngine(), (*_LINEAR, *_WHOLE), "pyscipopt"),
    "clarabel": _by(ClarabelEngine(), (*_ENTROPY, *_SQUARES, *_LINEAR), "clarabel"),
    "scs": _by(ScsEngine(), (*_ENTROPY, *_SQUARES, *_LINEAR), "scs"),
    "ecos": _by(EcosEngine(), (*_ENTROPY, *_SQUARES, *_LINEAR), "ecos"),
    "osqp": _by(OsqpEngine(), (*_SQUARES, *_LINEAR), "osqp"),
    "piqp": _by(PiqpEngine(), (*_SQUARES, *_LINEAR), "piqp"),
    "proxqp": _by(ProxQpEngine(), (*_SQUARES, *_LINEAR), "proxsuite"),
    "qpalm": _by(QpalmEngine(), (*_SQUARES, *_LINEAR), "qpalm"),
    "daqp": _by(DaqpEngine(), _SQUARES, "daqp"),
    "pdlp": _by(PdlpEngine(), (*_SQUARES, *_LINEAR), "ortools"),
    "cpsat": _by(CpSatEngine(), _WHOLE, "ortools"),
    "rc2": _by(Rc2Engine(), _WHOLE, "pysat"),
    "cbc": _by(PulpEngine(solver="PULP_CBC_CMD"), (*_LINEAR, *_WHOLE), "pulp"),
    "pulp-highs": _by(PulpEngine(solver="HiGHS"), (*_LINEAR, *_WHOLE), "highspy"),
    "cvxpy-clarabel": _by(CvxpyEngine(solver="CLARABEL"), (*_ENTROPY, *_SQUARES), "clarabel"),
    # Libraries, on the problem itself.
    "trust-constr": Listed(make=TrustConstr, families=_ENTROPY),
    "ipfn": Listed(make=Ipfn, families=_EXACT, needs="ipfn"),
    "mbi": Listed(make=Mbi, families=_EXACT, needs="mbi"),
}
"""All solvers by their names on the command line."""


def solvers(family: str | None = None) -> dict[str, Any]:
    """The solvers of the roster that are installed, by name.

    Parameters
    ----------
    family
        The name of a family; by default, of all families.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> "IPF" in bench.solvers("exact-entropy")
    True
    """
    return {
        name: listed.make()
        for name, listed in ROSTER.items()
        if listed.is_installed and (family is None or family in listed.families)
    }


def families_of(solver: Any) -> tuple[str, ...] | None:
    """The families that a solver says that it solves, or those of its class in the roster.

    None if nothing is known. The method alone does not tell: many are named ``solve``.
    """
    stated = getattr(solver, "families", None)
    if stated is not None:
        return tuple(stated)
    known = _families_of_classes()
    found = [known[kind] for kind in _kind(solver).__mro__ if kind in known]
    return found[0] if found else None


@cache
def _families_of_classes() -> dict[type, tuple[str, ...]]:
    """The families of each class of the roster, and of each class of engines."""
    return {_kind(listed.make()): listed.families for listed in ROSTER.values()}


def _kind(solver: Any) -> type:
    """The class of a solver; the class of the engine if the solver is `ByModel`."""
    return type(solver.engine) if isinstance(solver, ByModel) else type(solver)
