"""`OptimisedMarginals`: a strategy that measures the residual components of the workload's
marginals, each with its best share of the budget."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...solvers.strategy.bounded_weights import bounded_weights
from ..components import Components, precise_shares

__all__ = ["OptimisedMarginals", "with_best_shares"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class OptimisedMarginals:
    """A strategy for marginals that is optimal with Gaussian noise (ResidualPlanner, Xiao et al.,
    NeurIPS 2023).

    The components of all subsets of the marginals are measured separately. Their variances minimise
    the sum of the squared errors of all cells, each times the weight of its marginal. With Gaussian
    noise no unbiased way to answer the workload from linear queries has a smaller sum. The cost of
    a component is c_S / share_S, so the best shares are in proportion to the square roots of c_S.
    Under pure differential privacy the cost is c_S / share_S**2, and the best shares are in
    proportion to the cube roots; this is then the best division of the budget among the components,
    but not the best of all strategies.

    Parameters
    ----------
    largest
        True minimises the largest weighted variance of a cell, instead of the sum over all cells: a
        convex problem, solved to `tolerance`.
    tolerance
        The relative gap to the optimum at which that solver stops.
    """

    prices_asked: ClassVar[bool] = True

    largest: bool = False
    tolerance: float = 1e-6

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> Components:
        """Find the components and their shares, for `MatrixMechanism` to measure.

        Raises
        ------
        DomainError
            When there are too many components, or an attribute has too many categories.
        """
        components = Components("OptimisedMarginals", domain, workload)
        return with_best_shares(
            components,
            budget,
            largest=self.largest,
            tolerance=self.tolerance,
        )


def with_best_shares(
    components: Components,
    budget: Budget,
    *,
    largest: bool = False,
    tolerance: float = 1e-6,
) -> Components:
    """Give components the shares of the budget that minimise the error; see
    `OptimisedMarginals`."""
    bounds = components.bounds(budget)
    # The variance of a component's answers at share s is in proportion to steep / s ** power.
    power = 2 if isinstance(budget, PureDP) else 1
    squares = [l1**2 if power == 2 else l2_squared for l1, l2_squared in bounds]
    steep = np.array([float(square) for square in squares])
    if largest:
        of_cells = _cell_variances(components)
        root = 1 / power
        solved = bounded_weights(
            of_cells,
            steep**root,
            power=root,
            tolerance=tolerance,
        )
        shares = (steep / solved.weights) ** root
    else:
        shares = (steep * np.array(components.costs)) ** (1 / (1 + power))
    return components.with_shares(precise_shares(shares))


def _cell_variances(components: Components) -> sparse.csr_array:
    """The variance that each component adds to a cell of each marginal, times the marginal's
    weight.

    The noise in the answers on each component has variance one. The matrix has shape (marginals,
    components).
    """
    domain = components.domain
    workload = components.workload
    place = {view: number for number, view in enumerate(components.sets)}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, (view, weight) in enumerate(zip(workload, workload.weights, strict=True)):
        for subset, moment in components.moments(view):
            if subset not in place:
                continue
            rows.append(row)
            columns.append(place[subset])
            values.append(weight * moment / domain.cells(view) ** 2)
    return sparse.csr_array((values, (rows, columns)), shape=(len(workload), len(place)))
