"""Optimisation over tables: consistency, non-negativity, reconstruction. Nothing here knows of privacy."""

if __name__ != "margin.solvers":
    raise ImportError("this package is imported as margin.solvers")

from .batch import Batch, Solutions
from .clarabel_direct import ClarabelDirect
from .cone import Cone
from .consistency import Consistency, LatticeConsistency, ResidualConsistency
from .context import Reconstruction
from .coverage import coverage_error
from .ipf import IPF
from .ladder import Ladder
from .lbfgs import LBFGS
from .least_squares import LeastSquares
from .minimax import MinimaxLP
from .mirror_descent import MirrorDescent
from .newton import Newton
from .nonnegativity import Clip, JointProjection, NonNegativity, Ripple, Simplex
from .population import Population, Rows
from .problem import Problem, Solution, Solver, Status
from .projection_qp import ProjectionQP
from .tables import Tables
from .trust_exact import TrustExact

__all__ = [
    "IPF",
    "LBFGS",
    "Batch",
    "ClarabelDirect",
    "Clip",
    "Cone",
    "Consistency",
    "JointProjection",
    "Ladder",
    "LatticeConsistency",
    "LeastSquares",
    "MinimaxLP",
    "MirrorDescent",
    "Newton",
    "NonNegativity",
    "Population",
    "Problem",
    "ProjectionQP",
    "Reconstruction",
    "ResidualConsistency",
    "Ripple",
    "Rows",
    "Simplex",
    "Solution",
    "Solutions",
    "Solver",
    "Status",
    "Tables",
    "TrustExact",
    "coverage_error",
]
