"""`Semidefinite`: a strategy that is optimal for Gaussian noise, by semidefinite programming."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import SolverError
from ...privacy.budget import Budget
from ...solvers.strategy.semidefinite import best_gram
from .dense import Coordinates, Dense

__all__ = ["Semidefinite"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Semidefinite:
    """A strategy with the least expected squared error for Gaussian noise (Li et al., PODS 2010).

    It is found by a semidefinite programme over the contrasts that the workload depends on. The
    contrasts of marginals are enough, because averaging a strategy over all permutations of
    categories does not raise its error. Laplace noise is added to the same queries.

    Parameters
    ----------
    max_cells
        The largest number of cells of the full table that is accepted. Time grows with the sixth
        power of the number of cells.
    """

    prices_asked: ClassVar[bool] = True

    max_cells: int = 1 << 6

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> Dense:
        """Compute the optimal queries, a root of the best Gram matrix, for `MatrixMechanism`.

        Raises
        ------
        DomainError
            When the full table has more than `max_cells` cells.
        SolverError
            When the solver of the programme fails.
        """
        return _root(self, domain, workload)


@lru_cache(maxsize=8)  # takes long, and depends on neither the data nor the budget
def _root(
    design: Semidefinite,
    domain: Domain,
    workload: Workload,
) -> Dense:
    coordinates = Coordinates("Semidefinite", domain, workload, max_cells=design.max_cells)
    try:
        gram = best_gram(coordinates.basis, coordinates.costs)
    except ValueError as error:
        problem = str(error)
    else:
        values, vectors = np.linalg.eigh(gram)
        roots = np.sqrt(np.maximum(values, 1e-12 * values.max()))
        root = roots[:, None] * vectors.T
        return Dense(domain, workload, coordinates, root @ coordinates.basis)
    raise SolverError(problem)
