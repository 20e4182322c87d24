"""`FourierLP`: a mechanism that fits a non-negative table to noisy Fourier coefficients."""

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


@dataclass(
    frozen=True,
    kw_only=True,
)
class FourierLP:
    """A mechanism that measures Fourier coefficients, as `Fourier` does, and fits a non-negative
    full table to them (Barak et al., PODS 2007).

    The largest difference between its coefficients and the noisy ones is minimised: a linear
    programme. Marginals are sums of the cells of the table.

    Parameters
    ----------
    max_cells
        The largest number of cells of the full table that is accepted. The programme has a dense
        matrix with a column for each cell and a row for each coefficient.
    """

    max_cells: int = 1 << 12

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Run the mechanism: measure the coefficients as one vector, and solve the programme.

        Raises
        ------
        DomainError
            When the full table has more than `max_cells` cells.
        SolverError
            When the solver of the programme fails.
        """
        domain = private.domain
        instead = "Fourier, Direct, PriView or MatrixMechanism(), which do not hold it"
        check_reach(
            "FourierLP",
            math.prod(domain.sizes),
            self.max_cells,
            instead=instead,
            limit="max_cells",
        )
        # `nearest_table` needs it. It takes long to load, so load it before the budget is spent.
        import scipy.optimize  # noqa: F401

        components = Components("FourierLP", domain, asked(domain, workload))
        measured = private.measure_linear(components.strategies)
        rows = []
        for view, strategy in zip(components.sets, components.strategies, strict=True):
            factors = [factor.matrix for factor in strategy.factors]
            rows.append(_rows(domain, view, factors))
        answers = np.concatenate([part.values.ravel() for part in measured])
        try:
            cells = nearest_table(np.concatenate(rows), answers)
        except ValueError as error:
            problem = str(error)
        else:
            table = cells.reshape(domain.sizes)
            return TableSynopsis(
                domain=domain,
                table=table,
                variance=math.nan,
                covariances={},
            )
        raise SolverError(problem)


def _rows(
    domain: Domain,
    view: View,
    factors: list[NDArray[np.int64]],
) -> Floats:
    """Write the queries of a component as a matrix over the cells of the full table."""
    # A product of a matrix for each attribute; others are summed out by a row of ones.
    table = np.ones((1, 1))
    for name in domain:
        factor = factors[view.index(name)] if name in view else np.ones((1, domain[name].size))
        table = np.kron(table, factor).astype(np.float64)
    return table
