"""`Semidefinite`: the best strategy for Gaussian noise, by semidefinite programming."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import SolverError
from ...privacy.budget import Budget
from ...solvers.strategy.semidefinite import best_gram
from .dense import Coordinates, Dense

__all__ = ["Semidefinite"]


@dataclass(frozen=True, kw_only=True)
class Semidefinite:
    """The strategy of the least expected squared error with Gaussian noise (Li et al., PODS 2010).

    A semidefinite programme over the contrasts that the workload depends on (those of marginals are
    enough: averaging a strategy over all permutations of categories does it no harm). Laplace noise
    is added to the same queries.

    Parameters
    ----------
    max_cells
        The most cells of the full table that are accepted: time grows with their sixth power.
    """

    max_cells: int = 1 << 6

    def prepare(self, domain: Domain, workload: Workload, budget: Budget) -> Dense:
        """The root of the best Gram matrix; see `MatrixMechanism`."""
        return _root(self, domain, workload)


@lru_cache(maxsize=8)  # it takes long, and depends on neither data nor budget
def _root(design: Semidefinite, domain: Domain, workload: Workload) -> Dense:
    coordinates = Coordinates("Semidefinite", domain, workload, most=design.max_cells)
    try:
        gram = best_gram(coordinates.basis, coordinates.costs)
    except ValueError as error:
        problem = str(error)
    else:
        values, vectors = np.linalg.eigh(gram)
        root = np.sqrt(np.maximum(values, 1e-12 * values.max()))[:, None] * vectors.T
        return Dense(domain, workload, coordinates, root @ coordinates.basis)
    raise SolverError(problem)
