"""`MWEM`: a mechanism that measures the worst marginal in each round and updates a table by
multiplicative weights."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._checks import whole_number
from ..._types import Floats
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private, Strategy
from ...solvers import JointProjection, ResidualConsistency, Solver
from ...solvers.tables.multiplicative import replayed
from ...synopses import TableSynopsis, ViewSynopsis
from ...synopses.noisy_tables import in_view_order
from ..asked import asked, check_reach

__all__ = ["MWEM"]

log = logging.getLogger("margin")


@dataclass(
    frozen=True,
    kw_only=True,
)
class MWEM:
    """A mechanism that improves an estimate of the full table in rounds: multiplicative weights
    with the exponential mechanism (Hardt, Ligett and McSherry, NIPS 2012).

    In each of T rounds the exponential mechanism chooses a marginal of the workload for which the
    current table is far from the data. This marginal is measured, and the table is moved towards
    everything that has been measured so far. The paper takes the number of rows as public; here it
    is measured as well. Each choice and each measurement gets the share 1 / (2 T + 1) of the
    budget. Without a workload all pairs of attributes compete.

    Parameters
    ----------
    rounds
        T; None for ceil(4 log2 d) + 2 with d attributes, as in the comparison of Qardaji, Yang and
        Li, SIGMOD 2014.
    replays
        The number of passes over all measurements in each round. 0 uses each measurement once, in
        its own round.
    average
        Whether the answers come from the mean of the tables that the T rounds start from, not from
        the last table. It cannot be combined with `reconstruction`.
    reconstruction
        None answers from the last table. A solver answers from the measured marginals instead,
        which are made consistent and non-negative, as `PriView` does.
    max_cells
        The largest number of cells of the full table that is accepted.

    Raises
    ------
    DomainError
        If a parameter is out of range, or `average` is combined with `reconstruction`.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 1] * 50, "b": [0, 1] * 50}
    >>> mechanism = margin.MWEM(rounds=1)
    >>> made = margin.release(
    ...     table, domain={"a": 2, "b": 2}, budget=margin.PureDP(9), mechanism=mechanism
    ... )
    >>> made.marginal(["a"]).counts.shape
    (2,)
    """

    rounds: int | None = None
    replays: int = 100
    average: bool = False
    reconstruction: Solver | None = None
    max_cells: int = 1 << 22

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("replays", 0), ("max_cells", 1)):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole_number(name, value, least=least))
        if self.average and self.reconstruction is not None:
            raise DomainError(
                "average answers from tables and reconstruction answers from the measured "
                "marginals, but both are given; leave one of them out"
            )

    @classmethod
    def paper(cls, *, rounds: int | None = None) -> "MWEM":
        """Make the mechanism of the paper's Figure 1.

        Each measurement is used once, and the answers come from the mean of the tables. As in the
        class, the queries are marginals, and the number of rows is measured.

        Parameters
        ----------
        rounds
            T, as in the class.

        Raises
        ------
        DomainError
            If `rounds` is not a whole number >= 1.
        """
        return cls(rounds=rounds, replays=0, average=True)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis | ViewSynopsis:
        """Run the mechanism: choose a marginal, measure it and update the table, `rounds` times."""
        domain = private.domain
        self._check(domain)
        views = asked(domain, workload).views
        rounds = self.rounds or math.ceil(4 * math.log2(len(domain))) + 2
        part = Fraction(1, 2 * rounds + 1)
        # The first table spreads the noisy number of rows evenly.
        (total,) = private.measure_linear([Strategy.total(domain)], spend=part)
        rows = max(float(total.values.sum()), 1.0)
        table = np.full(domain.sizes, rows / math.prod(domain.sizes))
        mean = np.zeros_like(table)
        measured: list[Marginal] = []
        for number in range(rounds):
            log.info("round %d of %d", number + 1, rounds)
            if self.average:
                mean += table / rounds
            # The exponential mechanism takes the marginal that the table is furthest from.
            current = [_marginal(table, domain.axes(view)) for view in views]
            (place,) = private.select(views, current, spend=part)
            measured += private.measure([views[place]], spend=part)
            # Multiplicative weights go through all measurements so far, `replays` times.
            used = measured if self.replays else measured[-1:]
            axes = [domain.axes(marginal.attributes) for marginal in used]
            counts = [marginal.counts for marginal in used]
            table = replayed(table, axes, counts, times=max(self.replays, 1))
        if self.reconstruction is None:
            return TableSynopsis(
                domain=domain,
                table=mean if self.average else table,
                variance=math.nan,
                covariances={},
            )
        synopsis = ViewSynopsis.of(domain, measured, reconstruction=self.reconstruction)
        consistent = ResidualConsistency()(synopsis.held)
        return synopsis.with_tables(JointProjection()(consistent))

    def _check(self, domain: Domain) -> None:
        """Raise DomainError if the full table has more than `max_cells` cells, because memory must
        hold a few tables of this size."""
        instead = "PriView, Direct, Fourier or MatrixMechanism(), which do not hold it"
        check_reach(
            "MWEM",
            math.prod(domain.sizes),
            self.max_cells,
            instead=instead,
            limit="max_cells",
        )


def _marginal(table: Floats, axes: Sequence[int]) -> Floats:
    dropped = tuple(axis for axis in range(table.ndim) if axis not in axes)
    return np.asarray(in_view_order(table.sum(axis=dropped), axes))
