"""Optimisation over tables of counts.

- Tables: make noisy marginals consistent with each other and non-negative (`ResidualConsistency`,
  `JointProjection`), and generate records from them (`Population`).
- Reconstruction: estimate a marginal that no measured marginal covers (`Reconstruction`, `Newton`).
- Best responses: find the record that satisfies most weighted queries (`BestResponse`).

Nothing here depends on privacy.
"""

if __name__ != "margin.solvers":
    raise ImportError(
        f"this package must be imported as margin.solvers, but it was imported as {__name__}; "
        "write import margin.solvers"
    )

from .asked.axis_metrics import AxisMetric, OrderMetric, TreeMetric
from .asked.query_projection import QueryProjection
from .based.base import Base, CountedBase
from .based.learnt import Learnt, learnt
from .based.reconstruction import BasedReconstruction, BasedStructure
from .based.total import with_total
from .based.trust import learnt_trust
from .known.known import Contradiction, Known
from .known.margin import KnownTable
from .reconstruct.bars import Bars
from .reconstruct.batch import Batch, Solutions
from .reconstruct.context import Reconstruction
from .reconstruct.convex.clarabel_direct import ClarabelDirect
from .reconstruct.convex.cone import Cone
from .reconstruct.convex.ladder import Ladder
from .reconstruct.convex.lbfgs import LBFGS
from .reconstruct.convex.least_squares import LeastSquares
from .reconstruct.convex.minimax import MinimaxLP
from .reconstruct.convex.trust_exact import TrustExact
from .reconstruct.coverage import coverage_error
from .reconstruct.ipf import IPF
from .reconstruct.mirror_descent import MirrorDescent
from .reconstruct.newton import Newton
from .reconstruct.problem import Problem, Solution, Solver
from .reconstruct.structure import STRUCTURE_RULE, Structure
from .reconstruct.sums import Sums
from .response.anneal import Anneal
from .response.apart import CpSat, MaxSat
from .response.best_response import BestResponse, Responder, Response
from .response.components import ByComponents
from .response.constraint import Constraint
from .response.enumerate import Enumerate
from .response.greedy import Greedy
from .response.highs import Highs
from .response.milp import Milp
from .response.pulp import Pulp
from .status import Status, UnsolvedError
from .tables.component_errors import ComponentErrors, errors_of_components
from .tables.consistency import Consistency, LatticeConsistency, ResidualConsistency
from .tables.covered_sums import WeightedSum, covered_covariance, covered_group_variances
from .tables.evidence import Evidence
from .tables.forest import agreeing
from .tables.lattice import intersection_lattice
from .tables.linear_consistency import AbsoluteConsistency, MaximumConsistency
from .tables.linked_errors import LinkedErrors, linked
from .tables.nonnegativity import Clip, JointProjection, NonNegativity, Ripple, Simplex
from .tables.population import Population, Rows
from .tables.projection_qp import ProjectionQP
from .tables.tables import Tables, concentration_of_component
from .tables.whole import WholeTables, agree
from .trees.level_tree import LevelTree
from .trees.tree import Tree
from .zeros import Zeros

__all__ = [
    "IPF",
    "LBFGS",
    "STRUCTURE_RULE",
    "AbsoluteConsistency",
    "Anneal",
    "AxisMetric",
    "Bars",
    "Base",
    "BasedReconstruction",
    "BasedStructure",
    "Batch",
    "BestResponse",
    "ByComponents",
    "ClarabelDirect",
    "Clip",
    "ComponentErrors",
    "Cone",
    "Consistency",
    "Constraint",
    "Contradiction",
    "CountedBase",
    "CpSat",
    "Enumerate",
    "Evidence",
    "Greedy",
    "Highs",
    "JointProjection",
    "Known",
    "KnownTable",
    "Ladder",
    "LatticeConsistency",
    "Learnt",
    "LeastSquares",
    "LevelTree",
    "LinkedErrors",
    "MaxSat",
    "MaximumConsistency",
    "Milp",
    "MinimaxLP",
    "MirrorDescent",
    "Newton",
    "NonNegativity",
    "OrderMetric",
    "Population",
    "Problem",
    "ProjectionQP",
    "Pulp",
    "QueryProjection",
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
    "Structure",
    "Sums",
    "Tables",
    "Tree",
    "TreeMetric",
    "TrustExact",
    "UnsolvedError",
    "WeightedSum",
    "WholeTables",
    "Zeros",
    "agree",
    "agreeing",
    "concentration_of_component",
    "coverage_error",
    "covered_covariance",
    "covered_group_variances",
    "errors_of_components",
    "intersection_lattice",
    "learnt",
    "learnt_trust",
    "linked",
    "with_total",
]
