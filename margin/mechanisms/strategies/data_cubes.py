"""`DataCubes`: a mechanism that measures a few large marginals (cuboids) instead of many small
ones.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._checks import positive_number
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import Consistency, Newton, NonNegativity, ResidualConsistency, Solver
from ...solvers.tables.linear_consistency import MOST_CELLS, AbsoluteConsistency, MaximumConsistency
from ...synopses import ViewSynopsis
from ..asked import asked, check_reach
from ..by_table import Precision, largest_errors, of_views, table_errors, weighted

__all__ = ["DataCubes"]

_MOST_PAIRS = 1 << 26
"""Largest number of pairs of a set of attributes and a marginal of the workload."""

_MOST_LEVELS = 64
"""Largest number of limits that are tried."""

_INSTEAD = "PriView, Direct, Fourier or MatrixMechanism(), which do not search the lattice"


@dataclass(
    frozen=True,
    kw_only=True,
)
class DataCubes:
    """A mechanism that measures a few cuboids that contain the marginals of the workload (Ding et
    al., SIGMOD 2011). A cuboid is a marginal on a set of attributes.

    A marginal is read from a measured cuboid that contains it: each of its cells is a sum of m
    cells of the cuboid. For every limit on m, greedy set cover finds a few cuboids that contain all
    marginals within the limit. The choice with the least noise in the worst marginal is taken (BMAX
    of the paper: within a logarithmic factor of the optimum). The cuboids share the budget evenly
    and are made consistent. Marginals that no cuboid covers are reconstructed.

    With `precise`, the choice is PMOST of the paper instead: as many marginals as possible are to
    have a noise variance of at most `precise` in each cell, as read from one cuboid. For every
    number s of cuboids, the noise fixes the limit on m. Greedy maximum coverage adds, s times, the
    cuboid that holds most further marginals within the limit; it finds at least 1 - 1/e of the
    largest possible number. The s with most marginals is taken; among equals, the smallest, which
    has the least noise.

    Parameters
    ----------
    precise
        The noise variance, in squared rows, up to which a marginal counts as precise, > 0; None for
        BMAX. A marginal that is not made precise is read from any cuboid that contains it, or is
        reconstructed.
    consistency
        The step that makes the cuboids agree on shared attributes. `ResidualConsistency()` is the
        least-squares method of the paper in closed form.
        `AbsoluteConsistency()` and `MaximumConsistency()` of `margin.solvers` are its methods in
        the L1 norm and the max norm, for small domains.
    nonnegativity
        The step that removes negative counts; None, the default, leaves them.
    reconstruction
        The solver for marginals that no cuboid covers.
    """

    prices_asked: ClassVar[bool] = True

    precise: float | None = None
    consistency: Consistency = ResidualConsistency()
    nonnegativity: NonNegativity | None = None
    reconstruction: Solver = Newton()

    def __post_init__(self) -> None:
        if self.precise is not None:
            positive_number("precise", self.precise)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: choose cuboids, measure them and make them consistent."""
        domain = private.domain
        if isinstance(self.consistency, AbsoluteConsistency | MaximumConsistency):
            name = f"DataCubes with {type(self.consistency).__name__}"
            check_reach(
                name,
                math.prod(domain.sizes),
                MOST_CELLS,
                instead="ResidualConsistency()",
            )
        measured = private.measure(self.cuboids(domain, workload, private.budget))
        synopsis = ViewSynopsis.of(domain, measured, reconstruction=self.reconstruction)
        tables = self.consistency(synopsis.held)
        if self.nonnegativity is not None:
            tables = self.nonnegativity(tables)
            if not self.nonnegativity.keeps_consistency:
                tables = self.consistency(tables)
        return synopsis.with_tables(tables)

    def cuboids(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[View]:
        """Choose the cuboids that `run` measures, without access to the data."""
        lattice = _Lattice(domain, asked(domain, workload))
        if self.precise is not None:
            return lattice.most(self.precise, budget)
        return lattice.choice(2 if isinstance(budget, PureDP) else 1)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal.

        Raises
        ------
        DomainError
            When `consistency` is not `ResidualConsistency()`: for others no closed form is known.
            Also when `precise` leaves a marginal of the workload without a cuboid that contains it.
        """
        views = asked(domain, workload)
        errors = self.table_errors(domain, views, budget)
        for view, error in zip(views, errors, strict=True):
            if math.isinf(error):
                raise DomainError(
                    "the error of DataCubes can be computed in advance only for marginals within "
                    f"a cuboid, but with precise= no cuboid contains {', '.join(view)}; raise "
                    "precise, or leave the marginal out"
                )
        return weighted(views, errors)

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows.

        It is infinite for a table that is not measured but reconstructed.

        Raises
        ------
        DomainError
            When `consistency` is not `ResidualConsistency()`: for others no closed form is known.
        """
        views = asked(domain, workload)
        return table_errors(domain, views, self._precision(domain, views, budget))

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        views = asked(domain, workload)
        return largest_errors(domain, views, self._precision(domain, views, budget))

    def _precision(self, domain: Domain, views: Workload, budget: Budget) -> Precision:
        if not isinstance(self.consistency, ResidualConsistency):
            name = type(self.consistency).__name__
            raise DomainError(
                "the error of DataCubes can be computed in advance only with "
                f"ResidualConsistency(), but consistency is {name}; use ResidualConsistency()"
            )
        chosen = [sorted(domain.axes(view)) for view in self.cuboids(domain, views, budget)]
        variances = [noise.variance for noise in budget.counts_at_once(len(chosen))]
        return of_views(domain, chosen, variances)


class _Lattice:
    """All sets of attributes that may be measured (the cuboids), and the marginals of the workload
    that each of them contains.

    For each such marginal it also holds how many cells of the cuboid are added up to get one cell
    of the marginal.
    """

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
    ) -> None:
        check_reach(
            "DataCubes",
            len(workload) << len(domain),
            _MOST_PAIRS,
            what="pairs of the lattice",
            instead=_INSTEAD,
        )
        self.domain = domain
        # Sets of attributes are bit masks.
        of_views = [sum(1 << axis for axis in domain.axes(view)) for view in workload]
        masks = np.array(of_views, np.int32)
        sets = np.arange(1, 1 << len(domain), dtype=np.int32)
        holds = (masks & ~sets[:, None]) == 0
        # Only unions of marginals are kept: another set has more cells than the union of the
        # marginals that it contains, and contains no more of them.
        union = np.bitwise_or.reduce(np.where(holds, masks, np.int32(0)), axis=1)
        self._sets: NDArray[np.int32] = sets[union == sets]
        self._holds: NDArray[np.bool_] = holds[union == sets]
        self._cells = _cells(domain, self._sets)
        self._sums = self._cells[:, None] / _cells(domain, masks)

    def choice(self, power: int) -> list[View]:
        """Choose the cuboids with the least noise in the worst marginal.

        The variance of the noise is proportional to (number of cuboids) ** `power`.
        """
        levels = np.unique(self._sums[self._holds])
        if len(levels) > _MOST_LEVELS:
            even = np.linspace(0, len(levels) - 1, _MOST_LEVELS).astype(int)
            levels = levels[even]
        # The noise of the worst marginal: the cells in a sum, times the noise of a cell.
        found = [(level, self._cover(level)) for level in levels.tolist()]
        _, best = min(found, key=lambda item: item[0] * len(item[1]) ** power)
        return self._views(best)

    def most(self, precise: float, budget: Budget) -> list[View]:
        """Choose the cuboids that leave most marginals with a variance of at most `precise`.

        Raises
        ------
        DomainError
            When no marginal can be that precise.
        """
        best: list[int] = []
        covered = 0
        for number in range(1, self._holds.shape[1] + 1):
            variance = budget.counts_at_once(number)[0].variance
            level = precise / variance if variance else math.inf
            chosen = self._cover(level, number)
            holds = self._holds[chosen] & (self._sums[chosen] <= level)
            count = int(holds.any(axis=0).sum())
            # More cuboids have more noise: without further marginals they are not taken.
            if count > covered:
                best, covered = chosen, count
            # Further cuboids have more noise: they make no marginal precise, or all are already.
            if level < 1 or covered == self._holds.shape[1]:
                break
        if not best:
            raise DomainError(
                f"precise ({precise:.6g}) must be at least the noise variance of one cuboid, which "
                f"is {budget.counts_at_once(1)[0].variance:.6g}; pass a larger number or a larger "
                "budget"
            )
        return self._views(best)

    def _views(self, rows: list[int]) -> list[View]:
        """The names of the attributes of some sets."""
        names = self.domain.attributes
        return [
            tuple(name for axis, name in enumerate(names) if self._sets[row] >> axis & 1)
            for row in rows
        ]

    def _cover(
        self,
        level: float,
        most_sets: int | None = None,
    ) -> list[int]:
        """Find a few cuboids from which every marginal can be computed, where each cell of a
        marginal is the sum of at most `level` cells of a cuboid.

        The search is greedy: each step takes the cuboid that contains most of the remaining
        marginals. If several contain equally many, it takes the one with the fewest cells. It ends
        after `most_sets` steps, or when a step would add no marginal.
        """
        holds = self._holds & (self._sums <= level)
        gain = holds.sum(axis=1)
        left = np.ones(holds.shape[1], np.bool_)
        chosen: list[int] = []
        while gain.any() and len(chosen) != most_sets:
            most = np.flatnonzero(gain == gain.max())
            chosen.append(int(most[np.argmin(self._cells[most])]))
            new = left & holds[chosen[-1]]
            gain -= holds[:, new].sum(axis=1)
            left &= ~new
        return chosen


def _cells(
    domain: Domain,
    masks: NDArray[np.int32],
) -> NDArray[np.float64]:
    """The number of cells of each set of attributes."""
    cells = np.ones(len(masks))
    for axis, size in enumerate(domain.sizes):
        cells *= np.where(masks >> axis & 1, size, 1)
    return cells
