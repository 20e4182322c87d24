"""Strategies of linear queries, and the mechanisms that measure them.

`MatrixMechanism` and `DataCubes` are mechanisms: pass them to `margin.release`. The others are
strategies: pass one to `MatrixMechanism(strategy=...)`.
"""

from .data_cubes import DataCubes
from .eigen_design import EigenDesign
from .low_rank import LowRank
from .matrix_mechanism import MatrixMechanism
from .optimised_marginals import OptimisedMarginals
from .semidefinite import Semidefinite
from .weighted_marginals import WeightedMarginals

__all__ = [
    "DataCubes",
    "EigenDesign",
    "LowRank",
    "MatrixMechanism",
    "OptimisedMarginals",
    "Semidefinite",
    "WeightedMarginals",
]
