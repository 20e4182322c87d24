"""`TableSynopsis`: a synopsis with a table over all attributes, whose sums are the answers."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats, Integers
from ..domain.domain import Domain
from ..domain.level_views import LevelView
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from .counts.sums import Sums
from .noisy_tables import (
    check_finite,
    check_kurtosis,
    check_variances,
    in_view_order,
    negative_left,
    packed_kurtosis,
    read_kurtosis,
)
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["TableSynopsis"]

_Codes = tuple[int, ...] | None
"""Some codes of an attribute; None for all."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class TableSynopsis(Synopsis):
    """A synopsis that holds an estimate of the full table.

    It answers any marginal, and any product of ranges, by sums of cells.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    table
        The estimated counts, with one axis for each attribute, in the order of the domain.
    variance
        The scale of the covariance of the noise, in squared rows: the noise in two cells x and y
        has the covariance ``variance * prod_a C_a[x_a, y_a]``. This is before negative counts, and
        cells that the rules of the domain exclude, were removed. NaN where it is not known.
    covariances
        The matrices C_a by the place of attribute a in the domain, arrays of shape (size, size). An
        attribute that is left out has the identity: the noise of two cells that differ in it is
        independent.
    kurtosis
        The excess kurtosis of the noise of a cell if the noise of all cells is independent; 0
        otherwise.
    """

    table: Floats
    variance: float
    covariances: Mapping[int, Floats]
    kurtosis: float = 0.0

    def __post_init__(self) -> None:
        check_finite(self, "table")
        check_variances(self, [self.variance], say="put NaN if it is not known", nan=True)
        check_kurtosis(self, [self.kurtosis])
        if not all(np.isfinite(matrix).all() for matrix in self.covariances.values()):
            raise DomainError(
                "covariances of a TableSynopsis must hold finite numbers, but one is NaN or "
                "infinite, which no file can hold; leave them out, with NaN as the variance"
            )

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer marginals by sums of cells.

        They have the exact variance of their noise if it is known, otherwise NaN.
        """
        answers = []
        for view in Workload.of(self.domain, workload):
            axes = self.domain.axes(view)
            dropped = tuple(axis for axis in range(len(self.domain)) if axis not in axes)
            counts = in_view_order(self._possible.sum(axis=dropped), axes)
            # The covariance is a product over the attributes: a factor for each attribute that is
            # summed out, and a vector for each that is kept.
            of_sums = math.prod(self._covariance(axis) for axis in dropped)
            variance = np.full((), self.variance * of_sums)
            for axis in axes:
                variance = np.multiply.outer(variance, self._cell_variances(axis))
            summed = math.prod(self.domain.sizes[axis] for axis in dropped)
            answers.append(self._answered(view, counts, variance, self.kurtosis / summed))
        return answers

    def _rolled(self, view: LevelView) -> Marginal:
        """The marginal of a view with levels. The variance of a sum over products of groups is a
        product over the attributes, too."""
        (cells,) = self._marginals([view.view])
        axes = self.domain.axes(view.view)
        dropped = [axis for axis in range(len(self.domain)) if axis not in axes]
        of_sums = math.prod(self._covariance(axis) for axis in dropped)
        variance = np.full((), self.variance * of_sums)
        summed = np.full((), float(math.prod(self.domain.sizes[axis] for axis in dropped)))
        for axis, group in zip(axes, view.groups, strict=True):
            variance = np.multiply.outer(variance, self._group_variances(axis, group))
            own = np.ones(self.domain.sizes[axis]) if group is None else np.bincount(group)
            summed = np.multiply.outer(summed, own)
        # A sum of cells that must all be zero is known.
        possible = view.rolled_up(self.domain.possible(view.view).astype(np.float64)) > 0
        variance = np.where(possible, variance, 0.0)
        return Marginal(
            view.rolled,
            view.rolled_up(cells.counts),
            variance,
            noise_kurtosis=self.kurtosis / summed,
        )

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes, by sums of cells.

        The covariance of the noise in two cells is a product over the attributes. So the covariance
        of two boxes is the product of the sums of the blocks of the matrices C_a.
        """
        boxes = [[codes.get(name) for name in self.domain] for codes in chosen]
        noise = np.full((len(boxes), len(boxes)), self.variance)
        for axis in range(len(self.domain)):
            for row, column in itertools.product(range(len(boxes)), repeat=2):
                noise[row, column] *= self._covariance(axis, boxes[row][axis], boxes[column][axis])
        estimates = []
        kurtosis = []
        for codes in boxes:
            cells = self._possible
            for axis, own in enumerate(codes):
                cells = cells if own is None else np.take(cells, own, axis)
            estimates.append(cells.sum())
            kurtosis.append(self.kurtosis / cells.size)
        return Sums(
            estimates=np.array(estimates),
            noise=noise,
            missed=np.zeros_like(noise),
            kurtosis=np.array(kurtosis),
        )

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        return {
            "table": f"all {len(self.domain)} attributes, {self.table.size:,} cells",
            **negative_left([self.table]),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
        # JSON has no NaN.
        variance = None if math.isnan(self.variance) else self.variance
        covariances = {f"covariance{axis}": array for axis, array in self.covariances.items()}
        fields = {"variance": variance, **packed_kurtosis(self.kurtosis)}
        return Packed(fields, {"table": self.table, **covariances})

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        covariances = {f"covariance{axis}": size**2 for axis, size in enumerate(domain.sizes)}
        return {"table": math.prod(domain.sizes), **covariances}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        arrays = {name: _floats(array) for name, array in packed.arrays.items()}
        table = arrays.pop("table")
        covariances = {
            int(name.removeprefix("covariance")): array for name, array in arrays.items()
        }
        shapes = {axis: (size, size) for axis, size in enumerate(domain.sizes)}
        fits = all(array.shape == shapes[axis] for axis, array in covariances.items())
        if table.shape != domain.sizes or not fits:
            raise ValueError(
                f"the table must have shape {domain.sizes} and each covariance be a square matrix "
                f"of the size of its attribute, but the table has shape {table.shape} or a "
                "covariance does not fit; get a fresh copy of the file"
            )
        written = packed.fields["variance"]
        variance = math.nan if written is None else float(written)
        return cls(
            domain=domain,
            table=table,
            variance=variance,
            covariances=covariances,
            provenance=provenance,
            kurtosis=read_kurtosis(packed.fields),
        )

    @cached_property
    def _possible(self) -> Floats:
        """The table with zeros in excluded cells, and with the number of rows of the domain.

        The difference to this number goes to all possible cells: in proportion to their counts, or
        evenly if a count is negative.
        """
        if self.domain.zeros is None and self.domain.rows is None:
            return self.table
        possible = self.domain.possible(self.domain.attributes)
        table = self.table * possible
        if self.domain.rows is None:
            return table
        if table.min() >= 0 and table.any():
            share = table / table.sum()
        else:
            share = possible / possible.sum()
        return np.asarray(table + (self.domain.rows - table.sum()) * share)

    def _cell_variances(self, axis: int) -> Floats:
        """The factor that one attribute contributes to the variance of each cell: shape (codes,).

        The variance of a cell is the product of these factors over the attributes, times
        `variance`.
        """
        covariance = self.covariances.get(axis)
        if covariance is None:
            return np.ones(self.domain.sizes[axis])
        return covariance.diagonal()

    def _group_variances(self, axis: int, group: Integers | None) -> Floats:
        """The factor that one attribute contributes to the variance of the sum of each group of its
        codes: shape (groups,). None stands for groups of one code."""
        covariance = self.covariances.get(axis)
        if group is None:
            return self._cell_variances(axis)
        if covariance is None:
            return np.bincount(group).astype(np.float64)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        blocks = np.add.reduceat(np.add.reduceat(covariance, starts, axis=0), starts, axis=1)
        return np.asarray(blocks.diagonal())

    def _covariance(
        self,
        axis: int,
        one: _Codes = None,
        other: _Codes = None,
    ) -> float:
        """The factor that one attribute contributes to the covariance of two sums of cells.

        The sums run over some codes of the attribute; None stands for all codes. See
        `_cell_variances` for the product.
        """
        every = range(self.domain.sizes[axis])
        first = every if one is None else one
        second = every if other is None else other
        covariance = self.covariances.get(axis)
        if covariance is None:
            return float(len(set(first) & set(second)))
        return float(covariance[np.ix_(first, second)].sum())


def _floats(array: NDArray[np.generic]) -> Floats:
    if array.dtype != np.float64:
        raise ValueError(
            f"each array must hold 64-bit floats, but this one holds {array.dtype}; get a fresh "
            "copy of the file"
        )
    return array.astype(np.float64)
