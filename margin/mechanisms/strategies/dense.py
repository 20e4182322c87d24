"""Strategies given as one matrix over all cells. The matrix is rounded to integers, measured, and
inverted by least squares."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._axes import times_along
from ..._types import Floats
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...private.linear import linear_variances
from ...solvers.basis import transform
from ..asked import check_reach
from ..axis_queries import asked_queries, queries_of
from ..by_table import asked_levels, weighted

__all__ = ["Coordinates", "Dense"]

_GRID = 1 << 20
"""Largest entry of a strategy, in absolute value, after rounding."""

_INSTEAD = "OptimisedMarginals(), which holds the workload's marginals only"


class Coordinates:
    """A basis of the linear queries on the full table that a workload depends on.

    Its vectors are orthonormal eigenvectors of W'W. If the workload asks cells alone, they are
    contrasts (see `margin.solvers.basis`). If it asks prefixes, ranges or levels, they are
    combinations of these.

    Attributes
    ----------
    basis
        The eigenvectors, one in each row, shape (r, cells).
    costs
        For each of them, the squared error of the workload that noise of variance one in it
        causes, shape (r,): the eigenvalues of W'W.
    sets
        The sets of attributes of the contrasts that they are made of, as bit masks, ascending. With
        `everything`, all contrasts of the attributes that the workload names are kept.
    """

    def __init__(
        self,
        name: str,
        domain: Domain,
        workload: Workload,
        *,
        max_cells: int,
        everything: bool = False,
    ) -> None:
        cells = math.prod(domain.sizes)
        check_reach(
            name,
            cells,
            max_cells,
            instead=_INSTEAD,
            limit="max_cells",
        )
        basis = transform(domain.sizes)
        costs = np.zeros(cells)
        for view, weight in zip(workload, workload.weights, strict=True):
            mask = sum(1 << axis for axis in domain.axes(view))
            within = basis.component & ~mask == 0
            costs[within] += weight * cells / domain.cells(view)
        named = {axis for view in workload for axis in domain.axes(view)}
        union = sum(1 << axis for axis in named)
        kept = (costs > 0) | (everything & (basis.component & ~union == 0))
        # One contrast a row, those that no view of the workload contains left out.
        self.basis: Floats = basis.analyse(np.eye(cells)).T[kept]
        self.costs: Floats = costs[kept]
        self.sets = np.unique(basis.component[kept])
        queries = asked_queries(domain, workload)
        if not queries:
            return
        # W'W joins only contrasts that are alike along all attributes of which cells are asked.
        codes = np.indices(domain.sizes).reshape(len(domain), -1)
        alike = [axis for axis, name in enumerate(domain) if name not in queries]
        _, blocks = np.unique(codes[alike][:, kept], axis=1, return_inverse=True)
        gram = self.basis @ _times_gram(domain, workload, self.basis).T
        for block in range(int(blocks.max()) + 1):
            own = np.flatnonzero(blocks.ravel() == block)
            self.costs[own], vectors = np.linalg.eigh(gram[np.ix_(own, own)])
            self.basis[own] = vectors.T @ self.basis[own]


@dataclass(
    frozen=True,
    eq=False,
)
class Dense:
    """A prepared strategy: linear queries on the full table that were chosen for a workload.

    They are rounded to integer combinations of an integer basis of the contrasts. Rounding thus
    leaves no bias: the queries contain nothing that the workload does not need.

    Attributes
    ----------
    domain, workload, coordinates
        The attributes, the marginals that are asked for, and their contrasts.
    queries
        Real numbers, one query in each row, shape (p, cells): combinations of the contrasts.
    """

    domain: Domain
    workload: Workload
    coordinates: Coordinates
    queries: Floats

    @cached_property
    def _basis(self) -> Floats:
        """An integer basis of the contrasts, shape (r, cells)."""
        blocks: list[Floats] = []
        for mask in self.coordinates.sets.tolist():
            table = np.ones((1, 1))
            for axis, size in enumerate(self.domain.sizes):
                varies = bool(mask >> axis & 1)
                table = np.kron(table, _rows(size, varies)).astype(np.float64)
            blocks.append(table)
        return np.concatenate(blocks).astype(np.float64)

    @cached_property
    def _combinations(self) -> Floats:
        """The queries as integer combinations of that basis, shape (p, r).

        They are rounded on the finest grid on which all entries of the queries are at most 2**20.
        """
        exact = self.queries @ np.linalg.pinv(self._basis)
        # Rounding moves an entry of a query by at most half of a column sum of the basis.
        room = _GRID - float(np.abs(self._basis).sum(axis=0).max())
        if room < _GRID / 2:
            raise DomainError(
                "the entries of a strategy must be at most 2**20, but this strategy needs larger "
                "ones on this domain; use OptimisedMarginals()"
            )
        scale = room / np.abs(self.queries).max()
        return np.asarray(np.rint(exact * scale))

    @cached_property
    def strategy(self) -> Strategy:
        """The linear queries that `answers` measures, with coefficients rounded to integers."""
        matrix = (self._combinations @ self._basis).astype(np.int64)
        return Strategy(self.domain.attributes, (matrix,))

    def answers(self, private: Private) -> list[Marginal]:
        """Measure the queries with the whole budget; estimate the workload's marginals by least
        squares."""
        (measured,) = private.measure_linear([self.strategy])
        basis_values = np.linalg.lstsq(self._combinations, measured.values, rcond=None)[0]
        counts = self._workload @ basis_values
        variances = self._variances * measured.variance
        kurtosis = np.zeros(counts.shape)
        if private.budget.kurtosis:
            kurtosis = private.budget.kurtosis * self._concentration()
        # One after another, the marginals take as many numbers as they have cells.
        answers = []
        start = 0
        for view in self.workload:
            shape = self.domain.shape(view)
            cells = slice(start, start + math.prod(shape))
            domain = self.domain.restrict(view, checked=True)
            answers.append(
                Marginal(
                    domain,
                    counts[cells].reshape(shape),
                    variances[cells].reshape(shape),
                    noise_kurtosis=kurtosis[cells].reshape(shape),
                )
            )
            start = cells.stop
        return answers

    def expected_error(self, budget: Budget) -> float:
        """The expected squared error of `answers`, in squared rows.

        The variances of all cells of the workload are added, each times the weight of its marginal.
        """
        return weighted(self.workload, self.table_errors(budget))

    def table_errors(self, budget: Budget) -> list[float]:
        """The expected squared error of each table of the workload, summed over its counts."""
        return [float(table.sum()) for table in self._count_errors(budget)]

    def largest_errors(self, budget: Budget) -> list[float]:
        """The largest expected squared error of a count of each table of the workload."""
        return [float(table.max()) for table in self._count_errors(budget)]

    def _count_errors(self, budget: Budget) -> list[Floats]:
        """The expected squared errors of the counts of each table, each of the shape of the
        table."""
        (variance,) = linear_variances([self.strategy], budget)
        queries = asked_queries(self.domain, self.workload)
        errors = []
        start = 0
        for view, levels in asked_levels(self.workload):
            cells = slice(start, start + self.domain.cells(view))
            # The covariance of the cells of the table, and of the counts that are asked: one
            # attribute after another, its two axes become one of the variances of its queries.
            covariance = self._roots[cells] @ self._roots[cells].T
            covariance = covariance.reshape(*self.domain.shape(view), *self.domain.shape(view))
            for place, pair in enumerate(zip(view, levels, strict=True)):
                pairs = np.moveaxis(covariance, (0, len(view) - place), (-2, -1))
                covariance = queries_of(self.domain, *pair, queries).variances(pairs)
            errors.append(covariance * variance)
            start = cells.stop
        return errors

    @cached_property
    def _workload(self) -> Floats:
        """The matrix that computes all cells of the marginals from the values on the integer
        basis."""
        identity = np.eye(math.prod(self.domain.sizes)).reshape(-1, *self.domain.sizes)
        cells = [_summed(identity, self.domain.axes(view)) for view in self.workload]
        return np.asarray(np.concatenate(cells) @ np.linalg.pinv(self._basis))

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """The matrices Q and R of the queries C = QR on the integer basis."""
        orthogonal, triangle = np.linalg.qr(self._combinations)
        return orthogonal, triangle

    @cached_property
    def _roots(self) -> Floats:
        """The matrix W R^-1, shape (cells, values on the basis): the weights of the answers in the
        cells W (C'C)^-1 C' are W R^-1 Q', and the covariance of the cells is W R^-1 (W R^-1)'."""
        return np.asarray(np.linalg.solve(self._factors[1].T, self._workload.T).T)

    @property
    def is_complete(self) -> bool:
        """Whether the queries determine the values on the integer basis."""
        queries, values = self._combinations.shape
        return bool(queries >= values and np.linalg.matrix_rank(self._factors[1]) == values)

    @cached_property
    def _variances(self) -> Floats:
        """The variance of each cell of the workload if the noise has variance one."""
        return np.asarray((self._roots**2).sum(axis=1))

    def _concentration(self) -> Floats:
        """For each cell of the workload, the sum of the squares of the answers' shares in its
        variance; see `margin.solvers.Tables.concentration`."""
        # The weight of each answer in each cell, by least squares.
        weights = self._roots @ self._factors[0].T
        return np.asarray((weights**4).sum(axis=1) / self._variances**2)


def _summed(identity: Floats, axes: Sequence[int]) -> Floats:
    """The matrix that sums the cells of the full table to a marginal: shape (cells of the marginal,
    cells of the table). `identity` is the identity matrix of shape (cells of the table, *sizes).
    """
    dropped = tuple(axis + 1 for axis in range(identity.ndim - 1) if axis not in axes)
    kept = sorted(axes)
    order = [kept.index(axis) + 1 for axis in axes]
    summed = identity.sum(axis=dropped).transpose(0, *order)
    return np.asarray(summed.reshape(len(identity), -1).T)


def _times_gram(domain: Domain, workload: Workload, rows: Floats) -> Floats:
    """The products of W'W and some rows, shape (n, cells), for the workload W of what is asked.

    W'W is the weighted sum over the views of Kronecker products: of the Gram matrices of what is
    asked of their attributes, and of J for the attributes that a view lacks. The cells of an
    attribute stand for a level that a view names: they are answered, too.
    """
    grams = {name: asked.gram for name, asked in asked_queries(domain, workload).items()}
    products = np.zeros_like(rows)
    weights = workload.weights
    for (view, levels), weight in zip(asked_levels(workload), weights, strict=True):
        level = dict(zip(view, levels, strict=True))
        tables = weight * rows.reshape(-1, *domain.sizes)
        for axis, (name, size) in enumerate(zip(domain.attributes, domain.sizes, strict=True)):
            if name not in level:
                tables = times_along(np.ones((size, size)), tables, axis + 1)
            elif name in grams and level[name] is None:
                tables = times_along(grams[name], tables, axis + 1)
        products += tables.reshape(rows.shape)
    return products


def _rows(size: int, varies: bool) -> Floats:
    """The rows that one attribute contributes to the basis: shape (rows, size).

    If `varies`, they are a basis of the vectors that sum to zero; otherwise a single row of ones.
    """
    if not varies:
        return np.ones((1, size))
    return np.eye(size)[:-1] - np.eye(size)[1:]
