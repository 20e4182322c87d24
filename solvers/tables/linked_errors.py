"""How much smaller errors are because views share more than their axes; and tables that do so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..basis import outside_roots, transform
from ..limits import NUMBERS_AT_ONCE
from ..types import Floats, Integers
from ..zeros import Links, numbers_on
from .consistency import Components, ResidualConsistency
from .covered_sums import WeightedSum, grouped
from .nonnegativity import JointProjection
from .tables import Axes, Tables

__all__ = ["LinkedErrors", "linked"]

_MET = 1e-6
"""Largest difference of sums that must be equal, as a share of the total, by errors of rounding."""


@dataclass(
    frozen=True,
    eq=False,
)
class LinkedErrors:
    """The part of the error of tables that their links remove.

    Without links, the errors of the distinct coefficients of the best linear estimate are
    independent. With links, their covariance is less by E E' (`margin.solvers.zeros.links`). So
    that of sums of cells with the coefficients W is less by (W E)(W E)'. Cells that must be zero
    are ignored, as in `Tables.covered_variances`: their zeros can only lower the errors further.

    Attributes
    ----------
    tables
        The tables of the views, which meet their links.
    patterns
        E, sparse, of shape (distinct coefficients, patterns).
    """

    tables: Tables
    patterns: Any
    _numbers: Sequence[tuple[Axes, Integers]]

    @classmethod
    def of(cls, tables: Tables) -> "LinkedErrors | None":
        """The errors of tables; None if they have no links, or do not meet them."""
        if not tables.links:
            return None
        components = Components(tables)
        links = components.links
        if links is None or not _is_met(components, links, tables):
            return None
        # One divided by the precision; known coefficients have no error.
        errors = np.where(components.known, 0.0, 1 / components.precision)
        factors = scipy.sparse.diags_array(errors)
        patterns = scipy.sparse.csr_array(factors @ links.matrix.T @ links.root(errors))
        return cls(tables, patterns, components.numbers)

    def covariance(self, sums: Sequence[WeightedSum]) -> Floats:
        """The reduction of the covariance of q sums of cells within views, shape (q, q)."""
        parts = []
        for one in sums:
            shape = one.weights.shape
            weights = transform(shape).analyse(one.weights.reshape(-1)) / outside_roots(shape)
            parts.append(self._patterns_on(one.axes).T @ weights)
        together = np.stack(parts)
        return np.asarray(together @ together.T)

    def variances(
        self,
        axes: Axes,
        groups: Sequence[Integers | None] | None = None,
    ) -> Floats:
        """The reduction of the variance of each cell of a marginal within a view.

        Parameters
        ----------
        axes
            The axes of the marginal, ascending.
        groups
            For sums of cells, the group of each category; see `covered_group_variances`.
        """
        shape = tuple(self.tables.sizes[axis] for axis in axes)
        possible = None if self.tables.zeros is None else ~self.tables.zeros.cells(axes)
        found: Floats | float = 0.0
        for part in self._cells(axes, shape):
            if groups is not None:
                part = part if possible is None else part * possible
                for place, group in enumerate(groups):
                    part = grouped(part, group, place + 1)
            found = found + (part**2).sum(axis=0)
        return np.asarray(found)

    def _cells(self, axes: Axes, shape: tuple[int, ...]) -> Iterator[Floats]:
        """The patterns in the cells of a marginal: tables, some at a time."""
        patterns = self._patterns_on(axes).tocsc()
        used = np.flatnonzero(np.diff(patterns.indptr))
        step = max(1, NUMBERS_AT_ONCE // max(patterns.shape[0], 1))
        yield np.zeros((1, *shape))
        for start in range(0, used.size, step):
            some = patterns[:, used[start : start + step]].toarray().T
            yield transform(shape).synthesise(some / outside_roots(shape)).reshape(-1, *shape)

    def _patterns_on(self, axes: Axes) -> Any:
        """The rows of E of the coefficients of a marginal within a view."""
        row = self.tables.covering(axes)
        assert row is not None  # the caller has checked this
        return self.patterns[numbers_on(self._numbers[row], axes, ()).ravel()]


def linked(tables: Tables) -> Tables:
    """The same tables if they meet their links; otherwise the nearest ones that do.

    They were made consistent, but perhaps not by a step that knows of links.
    """
    if not tables.links or not tables.total > 0:
        return tables
    components = Components(tables)
    if components.links is None or _is_met(components, components.links, tables):
        return tables
    is_positive = min(value.min() for value in tables.values) >= 0
    found = JointProjection()(tables) if is_positive else ResidualConsistency()(tables)
    return tables.with_values(found.values)


def _is_met(components: Components, links: Links, tables: Tables) -> bool:
    """Whether tables meet their links up to errors of rounding."""
    shared = components.average(components.analyse(components.flatten(tables.values)))
    missed = np.abs(links.matrix @ shared)
    return bool(missed.max() <= _MET * max(1.0, abs(tables.total)))
