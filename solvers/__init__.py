"""Optimisation over tables: consistency, non-negativity, reconstruction. Nothing here knows of privacy."""

if __name__ != "margin.solvers":
    raise ImportError("this package is imported as margin.solvers")

from .anneal import Anneal
from .apart import CpSat, MaxSat
from .batch import Batch, Solutions
from .clarabel_direct import ClarabelDirect
from .components import ByComponents
from .cone import Cone
from .consistency import Consistency, LatticeConsistency, ResidualConsistency
from .constraint import Constraint
from .context import Reconstruction
from .coverage import coverage_error
from .enumerate import Enumerate
from .evidence import Evidence
from .forest import agreeing
from .greedy import Greedy
from .highs import Highs
from .integer import BestResponse, Responder, Response
from .ipf import IPF
from .ladder import Ladder
from .lbfgs import LBFGS
from .least_squares import LeastSquares
from .linear_consistency import AbsoluteConsistency, MaximumConsistency
from .milp import Milp
from .minimax import MinimaxLP
from .mirror_descent import MirrorDescent
from .newton import Newton
from .nonnegativity import Clip, JointProjection, NonNegativity, Ripple, Simplex
from .population import Population, Rows
from .problem import Problem, Solution, Solver, Status
from .projection_qp import ProjectionQP
from .pulp import Pulp
from .tables import Tables
from .trust_exact import TrustExact
from .zeros import Zeros

__all__ = [
    "IPF",
    "LBFGS",
    "AbsoluteConsistency",
    "Anneal",
    "Batch",
    "BestResponse",
    "ByComponents",
    "ClarabelDirect",
    "Clip",
    "Cone",
    "Consistency",
    "Constraint",
    "CpSat",
    "Enumerate",
    "Evidence",
    "Greedy",
    "Highs",
    "JointProjection",
    "Ladder",
    "LatticeConsistency",
    "LeastSquares",
    "MaxSat",
    "MaximumConsistency",
    "Milp",
    "MinimaxLP",
    "MirrorDescent",
    "Newton",
    "NonNegativity",
    "Population",
    "Problem",
    "ProjectionQP",
    "Pulp",
    "Reconstruction",
    "ResidualConsistency",
    "Responder",
    "Response",
    "Ripple",
    "Rows",
    "Simplex",
    "Solution",
    "Solutions",
    "Solver",
    "Status",
    "Tables",
    "TrustExact",
    "Zeros",
    "agreeing",
    "coverage_error",
]
