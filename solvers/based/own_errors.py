"""The errors of the views' own tables, and what they allow a base to change."""

import dataclasses
from functools import cached_property

import numpy as np

from ..reconstruct.batch import Batch, Solutions
from ..reconstruct.sums import Sums
from ..tables.component_errors import ComponentErrors
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .held import own_covariance

__all__ = ["OwnErrors"]

_LEAST_SHARE = 1e-12
"""Eigenvalue, as a share of the largest one, below which it is a rounding error of zero."""


class OwnErrors:
    """The errors of marginals within views, before a base changes them.

    A base is weighed with noise that has one variance within each component. If attributes were
    measured in bases of their own, such as for the nodes of a tree, the noise has another
    covariance: sums that were asked have far less noise than the mean. The base would change them
    as if they had that of the mean. So its change is tempered in the directions of little noise.

    Let K be the covariance of the noise along an axis, k an eigenvalue of it, and m the mean of
    these. The change in the direction of the eigenvector is multiplied by min(1, k / m). If a base
    has the variance p in this direction, the best change moves the noisy number to that of the base
    by the share k / (p + k), and noise of the variance m gives the share m / (p + m). The tempered
    share k / (p + m) is at most the best one. A share between zero and the best one has at most the
    error variance k of the noisy number. So what is measured precisely does not lose by the base.

    Parameters
    ----------
    tables
        The tables, whose precisions are those of the mean over each component.
    errors
        The covariance of the noise; None if it has one variance within each component.
    """

    def __init__(
        self,
        tables: Tables,
        errors: ComponentErrors | None,
    ) -> None:
        if errors is not None and () in errors.variances:
            # The total may have been learnt with the base.
            total = float(1 / tables.component_precision(())[0])
            errors = dataclasses.replace(errors, variances={**errors.variances, (): total})
        self._tables = tables
        self._errors = errors

    def cell_variances(self, asked: Integers) -> Floats:
        """The variance of each cell of n marginals of one shape, shape (n, cells)."""
        if self._errors is not None:
            found = [self._errors.cell_variances(tuple(axes)).ravel() for axes in asked.tolist()]
            return np.stack(found)
        means = self._tables.covered_variances(asked)
        cells = int(np.prod([self._tables.sizes[axis] for axis in asked[0].tolist()]))
        return np.repeat(means[:, None], cells, axis=1)

    def covariance(
        self,
        axes: Axes,
        weights: Floats,
    ) -> Floats:
        """The covariance of q sums of the cells of a marginal; `weights`: shape (cells, q)."""
        if self._errors is not None:
            return self._errors.covariance_on(axes, weights)
        return own_covariance(Batch.of(self._tables, np.array([axes])), weights)

    def limited(
        self,
        asked: Integers,
        solutions: Solutions,
    ) -> Solutions:
        """Solutions with the base whose changes are tempered, and whose noise is at most that of
        the views' tables.

        Parameters
        ----------
        asked
            The axes of the marginals, shape (n, k).
        solutions
            Their solutions, with variances that assume one variance within each component.
        """
        if self._errors is None or solutions.variance is None:
            return solutions
        shape = solutions.table.shape
        own = self.cell_variances(asked).reshape(shape)
        means = own.reshape(len(own), -1).mean(axis=1).reshape(-1, *[1] * (own.ndim - 1))
        more = np.maximum(own / np.maximum(means, 1e-300), 1.0)
        pairs = zip(asked.tolist(), solutions.table, strict=True)
        undetermined = solutions.undetermined
        return dataclasses.replace(
            solutions,
            table=np.stack([self._tempered(tuple(axes), table) for axes, table in pairs]),
            variance=np.minimum(solutions.variance * more, own),
            undetermined=None if undetermined is None else undetermined * more,
        )

    def limited_sums(
        self,
        axes: Axes,
        weights: Floats,
        sums: Sums,
    ) -> Sums:
        """The same for sums of the cells of one marginal; see `limited`."""
        if self._errors is None or not sums.status.ok:
            return sums
        assumed = own_covariance(Batch.of(self._tables, np.array([axes])), weights).diagonal()
        own = self.covariance(axes, weights).diagonal()
        more = np.maximum(own / np.maximum(assumed, 1e-300), 1.0)
        noise = sums.variance.diagonal()
        # Correlations stay.
        less = np.minimum(1.0, own / np.maximum(noise * more, 1e-300))
        table = self._tempered(axes, sums.table)
        return dataclasses.replace(
            sums,
            table=table,
            estimate=table.ravel() @ weights,
            variance=sums.variance * np.sqrt(np.outer(more * less, more * less)),
            undetermined=sums.undetermined * np.sqrt(np.outer(more, more)),
        )

    def _tempered(
        self,
        axes: Axes,
        table: Floats,
    ) -> Floats:
        """A table with the base, with less of its change in directions of little noise."""
        row = self._tables.covering(axes)
        assert row is not None  # only marginals within views are asked for
        own = self._tables.project(row, axes)
        change = table.reshape(own.shape) - own
        for place, axis in enumerate(axes):
            if axis in self._factors:
                moved = np.tensordot(self._factors[axis], change, axes=(1, place))
                change = np.moveaxis(moved, 0, place)
        tempered = np.maximum(own + change, 0.0)
        if self._tables.zeros is not None:
            tempered[self._tables.zeros.cells(axes)] = 0.0
        # What is cut off is far less than noise; the total stays.
        left = tempered.sum()
        if left > 0:
            tempered = tempered * (table.sum() / left)
        return tempered.reshape(table.shape)

    @cached_property
    def _factors(self) -> dict[int, Floats]:
        """For each axis with a basis of its own, the matrix that tempers changes along it.

        A table along the axis is u t + z with its total t, the spread u of a total, and a rest z
        with the sum zero. The matrix keeps u t, and tempers z.
        """
        factors: dict[int, Floats] = {}
        if self._errors is None:
            return factors
        for axis, inverse in self._errors.inverses.items():
            spread, answers = inverse[:, 0], inverse[:, 1:]
            values, vectors = np.linalg.eigh(answers @ answers.T)
            # One eigenvalue is zero: that of the constant vector.
            is_rest = values > _LEAST_SHARE * values.max(initial=0.0)
            values, vectors = values[is_rest], vectors[:, is_rest]
            part = np.minimum(1.0, values / values.mean()) if len(values) else values
            totals = np.outer(spread, np.ones(len(spread)))
            rest = np.eye(len(spread)) - totals
            factors[axis] = totals + (vectors * part) @ vectors.T @ rest
        return factors
