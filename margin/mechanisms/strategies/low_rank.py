"""`LowRank`: a strategy that writes the matrix of the workload as a product B L and measures L."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...solvers.strategy.low_rank import low_rank
from .dense import Coordinates, Dense

__all__ = ["LowRank"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class LowRank:
    """A strategy that writes the matrix W of the workload as a product B L and measures L: the
    low-rank mechanism (Yuan et al., VLDB 2012).

    The columns of L have a norm of at most 1, and B is small. The norm is L1 under pure
    differential privacy, else L2. Alternating steps find the product, which need not be the global
    optimum. The part of L that the workload does not depend on is left out. B is then computed
    again by least squares, so that answers are unbiased.

    Parameters
    ----------
    ratio
        The number of rows of L divided by the rank of the workload; the authors advise 1.2.
    max_cells
        The largest number of cells of the full table that is accepted.
    """

    prices_asked: ClassVar[bool] = True

    ratio: float = 1.2
    max_cells: int = 1 << 9

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> Dense:
        """Compute the right factor L, for `MatrixMechanism` to measure.

        Raises
        ------
        DomainError
            When the full table has more than `max_cells` cells.
        """
        return _factor(self, domain, workload, 1 if isinstance(budget, PureDP) else 2)


@lru_cache(maxsize=8)  # takes minutes, and depends on neither the data nor the size of the budget
def _factor(
    design: LowRank,
    domain: Domain,
    workload: Workload,
    order: int,
) -> Dense:
    coordinates = Coordinates("LowRank", domain, workload, max_cells=design.max_cells)
    # A matrix with the Gram matrix of W has the same solutions. The contrasts, scaled by the roots
    # of their costs, are such a matrix.
    root = np.sqrt(coordinates.costs)[:, None] * coordinates.basis
    rank = math.ceil(design.ratio * len(root))
    _, right = low_rank(root, rank, order=order)
    # The projection on the contrasts removes directions that the workload does not depend on.
    needed = right @ coordinates.basis.T @ coordinates.basis
    return Dense(domain, workload, coordinates, needed)
