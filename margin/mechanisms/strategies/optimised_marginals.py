"""`OptimisedMarginals`: the residual components of a workload's marginals, each with its best share
of the budget."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...solvers.strategy.bounded_weights import bounded_weights
from ..components import Components, precise_shares

__all__ = ["OptimisedMarginals", "with_best_shares"]


@dataclass(frozen=True, kw_only=True)
class OptimisedMarginals:
    """The best way to measure marginals with Gaussian noise (ResidualPlanner, Xiao et al., NeurIPS
    2023).

    The components of all subsets of the marginals are measured apart, with the variances that make
    the weighted sum of the squared errors of all cells as small as possible: no unbiased way to
    answer the workload from linear queries with Gaussian noise has a smaller one. The cost of a
    component is c_S / share_S, so that the best shares go with the square roots of c_S. Under pure
    differential privacy it is c_S / share_S**2, and they go with the cube roots; this is then the
    best division of the budget, not the best of all strategies. The weights are those of the
    workload.

    Parameters
    ----------
    largest
        Make the largest weighted variance of a cell small, instead of the sum over all cells: a
        convex problem, solved to `tolerance`.
    tolerance
        The relative gap to the optimum that is left.
    """

    largest: bool = False
    tolerance: float = 1e-6

    def prepare(self, domain: Domain, workload: Workload, budget: Budget) -> Components:
        """The components to measure and their shares; see `MatrixMechanism`."""
        components = Components("OptimisedMarginals", domain, workload)
        return with_best_shares(components, budget, largest=self.largest, tolerance=self.tolerance)


def with_best_shares(
    components: Components, budget: Budget, *, largest: bool = False, tolerance: float = 1e-6
) -> Components:
    """Components with the shares that `OptimisedMarginals` describes."""
    bounds = [strategy.sensitivity(budget) for strategy in components.strategies]
    power = 2 if isinstance(budget, PureDP) else 1
    # The variance of a component's answers at share s is in proportion to steep / s ** power.
    steep = np.array([float(l1**2 if power == 2 else l2_squared) for l1, l2_squared in bounds])
    if largest:
        variances = bounded_weights(
            _cell_variances(components), steep ** (1 / power), power=1 / power, tolerance=tolerance
        ).weights
        shares = (steep / variances) ** (1 / power)
    else:
        shares = (steep * np.array(components.costs)) ** (1 / (1 + power))
    return components.with_shares(precise_shares(shares))


def _cell_variances(components: Components) -> sparse.csr_array:
    """The weighted variance of a cell of each marginal, for variance one in the answers of each
    component."""
    domain, workload = components.domain, components.workload
    place = {view: number for number, view in enumerate(components.sets)}
    entries = [
        (row, place[subset], weight * moment / domain.cells(view) ** 2)
        for row, (view, weight) in enumerate(zip(workload, workload.weights, strict=True))
        for subset, moment in components.moments(view)
    ]
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=(len(workload), len(place)))
