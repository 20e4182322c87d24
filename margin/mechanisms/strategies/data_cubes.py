"""`DataCubes`: the best few cuboids of the lattice, made consistent."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import Consistency, Newton, NonNegativity, ResidualConsistency, Solver, Tables
from ...solvers.tables.linear_consistency import MOST_CELLS, AbsoluteConsistency, MaximumConsistency
from ...synopses import ViewSynopsis
from ..asked import asked, check_reach

__all__ = ["DataCubes"]

_MOST_PAIRS = 1 << 26
_MOST_LEVELS = 64
_INSTEAD = "PriView, Direct, Fourier or MatrixMechanism(), which do not search the lattice"


@dataclass(frozen=True, kw_only=True)
class DataCubes:
    """Release a few cuboids that contain the marginals of the workload (Ding et al., SIGMOD 2011).

    A marginal is read from a measured cuboid that contains it, and each cell then is a sum of m of
    the cuboid's cells. For every limit on m, greedy set cover finds few cuboids that hold all
    marginals within the limit; of these choices that of the least noise in the worst marginal is
    taken (the paper's BMAX: within a logarithmic factor of the best). The cuboids share the budget
    evenly and are made consistent. What none covers is reconstructed.

    Parameters
    ----------
    consistency
        `ResidualConsistency()` is the least-squares method of the paper in closed form;
        `AbsoluteConsistency()` and `MaximumConsistency()` of `margin.solvers` are those in the L1
        and the max norm, for small domains.
    nonnegativity
        Removes negative counts; None, the default, leaves them.
    reconstruction
        Answers what no cuboid covers.
    """

    consistency: Consistency = ResidualConsistency()
    nonnegativity: NonNegativity | None = None
    reconstruction: Solver = Newton()

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Choose cuboids, measure them, make them consistent."""
        domain = private.domain
        if isinstance(self.consistency, AbsoluteConsistency | MaximumConsistency):
            name = f"DataCubes with {type(self.consistency).__name__}"
            check_reach(name, math.prod(domain.sizes), MOST_CELLS, instead="ResidualConsistency()")
        measured = private.measure(self.cuboids(domain, workload, private.budget))
        synopsis = ViewSynopsis.of(domain, measured, reconstruction=self.reconstruction)
        tables = self.consistency(synopsis.tables)
        if self.nonnegativity is not None:
            tables = self.nonnegativity(tables)
            if not self.nonnegativity.keeps_consistency:
                tables = self.consistency(tables)
        return synopsis.with_tables(tables)

    def cuboids(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> list[View]:
        """The cuboids that would be measured."""
        return _Lattice(domain, asked(domain, workload)).choice(
            2 if isinstance(budget, PureDP) else 1
        )

    def expected_error(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> float:
        """The expected squared error over all cells of all marginals of the workload, times their
        weights, with least-squares consistency and before negative counts are removed.

        Raises
        ------
        DomainError
            With another consistency, for which no closed form is known.
        """
        if not isinstance(self.consistency, ResidualConsistency):
            raise DomainError(
                "the error of DataCubes has a closed form with ResidualConsistency() only"
            )
        views = asked(domain, workload)
        chosen = [tuple(sorted(domain.axes(view))) for view in self.cuboids(domain, views, budget)]
        tables = Tables(
            sizes=domain.sizes,
            views=tuple(chosen),
            values=tuple(np.zeros([domain.sizes[axis] for axis in view]) for view in chosen),
            variances=tuple(noise.variance for noise in budget.counts_at_once(len(chosen))),
        )
        return sum(
            weight * domain.cells(view) * tables.variance(tuple(sorted(domain.axes(view))))
            for view, weight in zip(views, views.weights, strict=True)
        )


class _Lattice:
    """Which sets of attributes hold which marginals, and how many cells a cell of the marginal then
    is the sum of."""

    def __init__(self, domain: Domain, workload: Workload) -> None:
        check_reach(
            "DataCubes",
            len(workload) << len(domain),
            _MOST_PAIRS,
            what="pairs of the lattice",
            instead=_INSTEAD,
        )
        self.domain = domain
        masks = np.array(
            [sum(1 << axis for axis in domain.axes(view)) for view in workload], np.int32
        )
        sets = np.arange(1, 1 << len(domain), dtype=np.int32)
        holds = (masks & ~sets[:, None]) == 0
        # A set that is not the union of marginals it holds has more cells than that union, and
        # holds no more.
        union = np.bitwise_or.reduce(np.where(holds, masks, np.int32(0)), axis=1)
        self._sets: NDArray[np.int32] = sets[union == sets]
        self._holds: NDArray[np.bool_] = holds[union == sets]
        self._cells = _cells(domain, self._sets)
        self._sums = self._cells[:, None] / _cells(domain, masks)

    def choice(self, power: int) -> list[View]:
        """The cuboids of least noise in the worst marginal, when the noise grows as the number of
        cuboids ** power."""
        levels = np.unique(self._sums[self._holds])
        if len(levels) > _MOST_LEVELS:
            levels = levels[np.linspace(0, len(levels) - 1, _MOST_LEVELS).astype(int)]
        found = [(level, self._cover(level)) for level in levels.tolist()]
        _, best = min(found, key=lambda item: item[0] * len(item[1]) ** power)
        names = self.domain.attributes
        return [
            tuple(name for axis, name in enumerate(names) if self._sets[row] >> axis & 1)
            for row in best
        ]

    def _cover(self, level: float) -> list[int]:
        """Few sets that hold every marginal at the price of at most `level` cells a cell: greedily,
        the one that holds most of the rest, and of these the smallest."""
        holds = self._holds & (self._sums <= level)
        gain, left = holds.sum(axis=1), np.ones(holds.shape[1], np.bool_)
        chosen: list[int] = []
        while left.any():
            most = np.flatnonzero(gain == gain.max())
            chosen.append(int(most[np.argmin(self._cells[most])]))
            new = left & holds[chosen[-1]]
            gain -= holds[:, new].sum(axis=1)
            left &= ~new
        return chosen


def _cells(domain: Domain, masks: NDArray[np.int32]) -> NDArray[np.float64]:
    """The number of cells of each set of attributes."""
    cells = np.ones(len(masks))
    for axis, size in enumerate(domain.sizes):
        cells *= np.where(masks >> axis & 1, size, 1)
    return cells
