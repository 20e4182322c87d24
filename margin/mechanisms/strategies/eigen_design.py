"""`EigenDesign`: the eigenvectors of the workload as queries, with the best weights."""

from dataclasses import dataclass

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...solvers.strategy.bounded_weights import bounded_weights
from .dense import Coordinates, Dense

__all__ = ["EigenDesign"]


@dataclass(frozen=True, kw_only=True)
class EigenDesign:
    """Measure the eigenvectors of W'W, weighted so that the error is least (Li and Miklau, VLDB
    2012, program 2).

    The weights solve a convex problem for Gaussian noise; Laplace noise is added to the same
    queries. Of marginals the eigenvectors are contrasts: where attributes are not binary several
    bases are possible, and Helmert contrasts are taken. Queries of single cells that fill up short
    columns at no cost are added where they help (the paper's step 4).

    Parameters
    ----------
    max_cells
        The most cells of the full table that are accepted.
    """

    max_cells: int = 1 << 10

    def prepare(self, domain: Domain, workload: Workload, budget: Budget) -> Dense:
        """The weighted eigenvectors; see `MatrixMechanism`."""
        coordinates = Coordinates("EigenDesign", domain, workload, most=self.max_cells)
        squares = coordinates.basis.T**2
        weights = bounded_weights(squares, coordinates.costs, power=1.0).weights
        plain = Dense(domain, workload, coordinates, np.sqrt(weights)[:, None] * coordinates.basis)
        slack = np.maximum(1 - squares @ weights, 0.0)
        if slack.max() < 1e-6:
            return plain
        everything = Coordinates(
            "EigenDesign", domain, workload, most=self.max_cells, everything=True
        )
        filled = Dense(
            domain, workload, everything, np.concatenate([plain.queries, np.diag(np.sqrt(slack))])
        )
        return min(plain, filled, key=lambda dense: dense.expected_error(budget))
