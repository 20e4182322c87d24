"""`MWEM`: the worst marginal, again and again, and multiplicative weights."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private, Strategy
from ...solvers import JointProjection, ResidualConsistency, Solver
from ...solvers.tables.multiplicative import replayed
from ...synopses import TableSynopsis, ViewSynopsis
from ..asked import asked, check_reach

__all__ = ["MWEM"]

log = logging.getLogger("margin")


@dataclass(frozen=True, kw_only=True)
class MWEM:
    """Multiplicative weights with the exponential mechanism (Hardt, Ligett and McSherry, NIPS
    2012).

    In each round the exponential mechanism chooses the marginal of the workload that the current
    table is furthest from, it is measured, and the table is pulled towards all that has been
    measured so far. The paper takes the number of rows for public; here it is measured, with as
    large a part of the budget as every choice and every measurement: one of 2 T + 1. Without a
    workload all pairs of attributes compete.

    Parameters
    ----------
    rounds
        T; None for ceil(4 log2 d) + 2 with d attributes, as in the comparison of Qardaji, Yang and
        Li, SIGMOD 2014.
    replays
        How often each round goes through all that has been measured.
    reconstruction
        None answers from the last table. A solver answers from the measured marginals instead, made
        consistent and non-negative, as `PriView` does.
    max_cells
        The most cells of the full table that are accepted.
    """

    rounds: int | None = None
    replays: int = 100
    reconstruction: Solver | None = None
    max_cells: int = 1 << 22

    def __post_init__(self) -> None:
        for name in ("rounds", "replays", "max_cells"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < 1
            ):
                raise DomainError(f"{name} ({value!r}) must be a whole number >= 1")

    def run(self, private: Private, workload: Workload | None) -> TableSynopsis | ViewSynopsis:
        """Choose, measure, and update, `rounds` times."""
        domain = private.domain
        self._check(domain)
        views = asked(domain, workload).views
        rounds = self.rounds or math.ceil(4 * math.log2(len(domain))) + 2
        part = Fraction(1, 2 * rounds + 1)
        (total,) = private.measure_linear([Strategy.total(domain)], spend=part)
        table = np.full(domain.sizes, max(float(total.values.sum()), 1.0) / math.prod(domain.sizes))
        measured: list[Marginal] = []
        for number in range(rounds):
            log.info("round %d of %d", number + 1, rounds)
            current = [_marginal(table, domain.axes(view)) for view in views]
            (place,) = private.select(views, current, spend=part)
            measured += private.measure([views[place]], spend=part)
            table = replayed(table, [domain.axes(m.attributes) for m in measured], [m.counts for m in measured],
                             times=self.replays)  # fmt: skip
        if self.reconstruction is not None:
            synopsis = ViewSynopsis.of(domain, measured, reconstruction=self.reconstruction)
            return synopsis.with_tables(JointProjection()(ResidualConsistency()(synopsis.tables)))
        return TableSynopsis(domain=domain, table=table, variance=math.nan, covariances={})

    def _check(self, domain: Domain) -> None:
        """It holds the full table, and a few more of its size."""
        instead = "PriView, Direct, Fourier or MatrixMechanism(), which do not hold it"
        check_reach("MWEM", math.prod(domain.sizes), self.max_cells, instead=instead)


def _marginal(table: Floats, axes: Sequence[int]) -> Floats:
    dropped = tuple(axis for axis in range(table.ndim) if axis not in axes)
    return np.asarray(table.sum(axis=dropped).transpose(np.argsort(np.argsort(axes))))
