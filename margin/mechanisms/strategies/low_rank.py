"""`LowRank`: the workload as a product of two matrices, the right one measured."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...solvers.strategy.low_rank import low_rank
from .dense import Coordinates, Dense

__all__ = ["LowRank"]


@dataclass(frozen=True, kw_only=True)
class LowRank:
    """The low-rank mechanism (Yuan et al., VLDB 2012): W = B L with short columns of L, noise on L,
    and B small.

    Columns are short in the L1 norm under pure differential privacy, else in the L2 norm. The
    product is found by alternating steps and is not the best of all; what of L the workload does
    not depend on is left out, and B is then made anew by least squares, so that answers are
    unbiased.

    Parameters
    ----------
    ratio
        The number of rows of L over the rank of the workload; 1.2 as the authors advise.
    max_cells
        The most cells of the full table that are accepted.
    """

    ratio: float = 1.2
    max_cells: int = 1 << 9

    def prepare(self, domain: Domain, workload: Workload, budget: Budget) -> Dense:
        """The right factor; see `MatrixMechanism`."""
        return _factor(self, domain, workload, 1 if isinstance(budget, PureDP) else 2)


@lru_cache(maxsize=8)  # it takes long, and does not depend on the data or the size of the budget
def _factor(design: LowRank, domain: Domain, workload: Workload, order: int) -> Dense:
    coordinates = Coordinates("LowRank", domain, workload, most=design.max_cells)
    # Any matrix with the Gram matrix of W has the same products: the contrasts, by the roots of
    # their costs.
    root = np.sqrt(coordinates.costs)[:, None] * coordinates.basis
    _, right = low_rank(root, math.ceil(design.ratio * len(root)), order=order)
    return Dense(domain, workload, coordinates, right @ coordinates.basis.T @ coordinates.basis)
