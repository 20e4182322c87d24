"""A strategy that is one matrix over all cells: made of integers, measured, and inverted by least
squares."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...private.linear import linear_events, variance_of
from ...solvers.basis import transform
from ..asked import check_reach

__all__ = ["Coordinates", "Dense"]

_GRID = 1 << 20
_INSTEAD = "OptimisedMarginals(), which holds the workload's marginals only"


class Coordinates:
    """Orthonormal contrasts of the full table, those that a workload depends on.

    Attributes
    ----------
    basis
        One contrast a row, array (r, cells).
    costs
        What variance one in each contrast adds to the error of the workload, array (r,): the
        eigenvalues of W'W.
    """

    def __init__(
        self, name: str, domain: Domain, workload: Workload, *, most: int, everything: bool = False
    ) -> None:
        cells = math.prod(domain.sizes)
        check_reach(name, cells, most, instead=_INSTEAD)
        basis = transform(domain.sizes)
        costs = np.zeros(cells)
        for view, weight in zip(workload, workload.weights, strict=True):
            mask = sum(1 << axis for axis in domain.axes(view))
            costs[basis.component & ~mask == 0] += weight * cells / domain.cells(view)
        kept = (costs > 0) | everything
        self.basis: Floats = basis.analyse(np.eye(cells)).T[kept]
        self.costs: Floats = costs[kept]
        self.sets = np.unique(basis.component[kept])


@dataclass(frozen=True, eq=False)
class Dense:
    """Queries on the full table that have been chosen for a workload.

    They are integer combinations of an integer basis of the contrasts, so that rounding to whole
    numbers leaves no bias: what the workload does not need is not in them.

    Attributes
    ----------
    domain, workload, coordinates
        What is asked.
    queries
        Real numbers, one query a row, shape (p, cells), made of the contrasts of the coordinates.
    """

    domain: Domain
    workload: Workload
    coordinates: Coordinates
    queries: Floats

    @cached_property
    def _basis(self) -> Floats:
        """An integer basis of the contrasts: array (r, cells)."""
        rows: list[Floats] = []
        for mask in self.coordinates.sets.tolist():
            table = np.ones((1, 1))
            for axis, size in enumerate(self.domain.sizes):
                table = np.kron(table, _rows(size, bool(mask >> axis & 1))).astype(np.float64)
            rows.append(table)
        return np.concatenate(rows).astype(np.float64)

    @cached_property
    def _combinations(self) -> Floats:
        """The queries in that basis, rounded on a grid such that their numbers are at most 2**20."""
        exact = self.queries @ np.linalg.pinv(self._basis)
        room = _GRID - float(np.abs(self._basis).sum(axis=0).max())
        if room < _GRID / 2:
            raise DomainError(
                "this strategy needs numbers above 2**20 here: use OptimisedMarginals()"
            )
        return np.asarray(np.rint(exact * (room / np.abs(self.queries).max())))

    @cached_property
    def strategy(self) -> Strategy:
        """What is measured."""
        matrix = (self._combinations @ self._basis).astype(np.int64)
        return Strategy(self.domain.attributes, (matrix,))

    def answers(self, private: Private) -> list[Marginal]:
        """See `Prepared`."""
        (measured,) = private.measure_linear([self.strategy])
        basis_values = np.linalg.lstsq(self._combinations, measured.values, rcond=None)[0]
        counts, variances = self._workload @ basis_values, self._variances * measured.variance
        shapes = [self.domain.shape(view) for view in self.workload]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        return [
            Marginal(
                self.domain.restrict(view, checked=True),
                part.reshape(shape),
                variance.reshape(shape),
            )
            for view, shape, part, variance in zip(
                self.workload,
                shapes,
                np.split(counts, ends),
                np.split(variances, ends),
                strict=True,
            )
        ]

    def expected_error(self, budget: Budget) -> float:
        """See `Prepared`: trace(W (A'A)^+ W') times the variance of the noise."""
        (event,) = linear_events(budget, [self.strategy], units=budget.units, together=True)
        weights = np.repeat(
            self.workload.weights, [self.domain.cells(view) for view in self.workload]
        )
        return float(weights @ self._variances) * variance_of(event)

    @cached_property
    def _workload(self) -> Floats:
        """The cells of the workload's marginals from the integer basis."""
        identity = np.eye(math.prod(self.domain.sizes)).reshape(-1, *self.domain.sizes)
        cells = [_summed(identity, self.domain.axes(view)) for view in self.workload]
        return np.asarray(np.concatenate(cells) @ np.linalg.pinv(self._basis))

    @cached_property
    def _variances(self) -> Floats:
        """Of each cell of the workload, when the noise has variance one."""
        spread = np.linalg.solve(self._combinations.T @ self._combinations, self._workload.T)
        return np.asarray((self._workload * spread.T).sum(axis=1))


def _summed(identity: Floats, axes: Sequence[int]) -> Floats:
    """The matrix from the full table to a marginal, from the identity of shape (cells, *sizes)."""
    dropped = tuple(axis + 1 for axis in range(identity.ndim - 1) if axis not in axes)
    order = [sorted(axes).index(axis) + 1 for axis in axes]
    return np.asarray(identity.sum(axis=dropped).transpose(0, *order).reshape(len(identity), -1).T)


def _rows(size: int, varies: bool) -> Floats:
    """Rows that sum to zero and span all such, or the row of ones."""
    if not varies:
        return np.ones((1, size))
    return np.eye(size)[:-1] - np.eye(size)[1:]
