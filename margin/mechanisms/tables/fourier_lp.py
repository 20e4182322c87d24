"""`FourierLP`: the non-negative table whose Fourier coefficients are nearest to the noisy ones."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import SolverError
from ...private import Private
from ...solvers.tables.nearest_table import nearest_table
from ...synopses import TableSynopsis
from ..asked import asked, check_reach
from ..components import Components

__all__ = ["FourierLP"]


@dataclass(frozen=True, kw_only=True)
class FourierLP:
    """`Fourier`, then the non-negative full table whose coefficients differ least from the noisy
    ones, in the largest of their differences: a linear programme (Barak et al., PODS 2007).
    Marginals are sums of its cells.

    Parameters
    ----------
    max_cells
        The most cells of the full table that are accepted; the programme has a dense matrix of as
        many columns, and a row a coefficient.
    """

    max_cells: int = 1 << 12

    def run(self, private: Private, workload: Workload | None) -> TableSynopsis:
        """Measure the coefficients as one vector, and solve the programme; SolverError when that
        fails."""
        domain = private.domain
        instead = "Fourier, Direct, PriView or MatrixMechanism(), which do not hold it"
        check_reach("FourierLP", math.prod(domain.sizes), self.max_cells, instead=instead)
        components = Components("FourierLP", domain, asked(domain, workload))
        measured = private.measure_linear(components.strategies)
        rows = [
            _rows(domain, view, [factor.matrix for factor in strategy.factors])
            for view, strategy in zip(components.sets, components.strategies, strict=True)
        ]
        answers = np.concatenate([part.values.ravel() for part in measured])
        try:
            cells = nearest_table(np.concatenate(rows), answers)
        except ValueError as error:
            problem = str(error)
        else:
            return TableSynopsis(
                domain=domain, table=cells.reshape(domain.sizes), variance=math.nan, covariances={}
            )
        raise SolverError(problem)


def _rows(domain: Domain, view: View, factors: list[NDArray[np.int64]]) -> Floats:
    """The queries of a component on the full table."""
    table = np.ones((1, 1))
    for name in domain:
        factor = factors[view.index(name)] if name in view else np.ones((1, domain[name].size))
        table = np.kron(table, factor).astype(np.float64)
    return table
