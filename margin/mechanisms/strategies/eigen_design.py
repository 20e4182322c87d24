"""`EigenDesign`: a strategy that measures the eigenvectors of the workload with the best
weights."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...solvers.strategy.bounded_weights import bounded_weights
from .dense import Coordinates, Dense

__all__ = ["EigenDesign"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class EigenDesign:
    """A strategy that measures the eigenvectors of W'W, with the weights of least error (Li and
    Miklau, VLDB 2012, program 2). W is the matrix of the workload.

    The weights solve a convex problem for Gaussian noise; Laplace noise is added to the same
    queries. The eigenvectors of marginals are contrasts. Where attributes are not binary, several
    bases of contrasts are possible, and Helmert contrasts are taken. If the workload asks prefixes,
    ranges or levels of attributes (`Workload.asked`), W has these queries, and the eigenvectors are
    combinations of contrasts. Columns of a norm below 1 are filled up with queries of single cells
    of the attributes that the workload names, at no cost in privacy, where that lowers the error
    and all cells are then determined (step 4 of the paper).

    Parameters
    ----------
    max_cells
        The largest number of cells of the full table that is accepted.
    """

    prices_asked: ClassVar[bool] = True

    max_cells: int = 1 << 10

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> Dense:
        """Compute the weighted eigenvectors, for `MatrixMechanism` to measure.

        Raises
        ------
        DomainError
            When the full table has more than `max_cells` cells.
        """
        coordinates = Coordinates("EigenDesign", domain, workload, max_cells=self.max_cells)
        squares = coordinates.basis.T**2
        weights = bounded_weights(squares, coordinates.costs, power=1.0).weights
        weighted = np.sqrt(weights)[:, None] * coordinates.basis
        plain = Dense(domain, workload, coordinates, weighted)
        # Single cells fill up the columns whose squared norm is below 1.
        slack = np.maximum(1 - squares @ weights, 0.0)
        if slack.max() < 1e-6:
            return plain
        everything = Coordinates(
            "EigenDesign",
            domain,
            workload,
            max_cells=self.max_cells,
            everything=True,
        )
        # All columns of a cell of the attributes that the workload names are alike.
        named = sorted({axis for view in workload for axis in domain.axes(view)})
        codes = np.indices(domain.sizes).reshape(len(domain), -1)[named]
        _, first, cell = np.unique(codes, axis=1, return_index=True, return_inverse=True)
        cells = (np.arange(len(first))[:, None] == cell.ravel()) * np.sqrt(slack[first])[:, None]
        with_cells = np.concatenate([weighted, cells])
        filled = Dense(domain, workload, everything, with_cells)
        if not filled.is_complete:
            return plain
        return min(plain, filled, key=lambda dense: dense.expected_error(budget))
