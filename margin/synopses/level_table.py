"""`LevelSynopsis`: a table with a tree of levels, from measurements of every level."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.level_views import LevelView
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from ..solvers import LevelTree
from .counts.sums import Sums
from .noisy_tables import check_finite, check_variances, in_view_order, negative_left
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["LevelSynopsis"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class LevelSynopsis(Synopsis):
    """A synopsis that holds an estimate of one table, of which every level of a tree was measured.

    It answers marginals and counts on the attributes of the table, at all levels, by sums of cells.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    view
        The attributes of the table, in the order of the domain.
    attribute
        The attribute with the tree.
    table
        The estimated counts, with one axis for each attribute of `view`.
    variances
        For each level of the tree, from the top, the variance of the noise in the measurement of
        each of its counts. This is before negative counts, and cells that the rules of the domain
        exclude, were removed.
    """

    view: View
    attribute: str
    table: Floats
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        check_finite(self, "table")
        check_variances(self, [self.variances], name="variances")

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer marginals on attributes of the table, with the exact variance of their noise."""
        answers = []
        for view in Workload.of(self.domain, workload):
            level = (None,) * len(view)
            counts, variance = self._answer(LevelView(self.domain, view, level))
            answers.append(self._answered(view, counts, variance))
        return answers

    def _rolled(self, view: LevelView) -> Marginal:
        """The marginal of a view with levels."""
        counts, variance = self._answer(view)
        possible = view.rolled_up(self.domain.possible(view.view).astype(np.float64)) > 0
        return Marginal(view.rolled, counts, np.where(possible, variance, 0.0))

    def _answer(self, view: LevelView) -> tuple[Floats, Floats]:
        """The counts of a view with levels, and the variances of their noise.

        Combinations of the other attributes have independent noise. So the variance of a node is
        that of one such combination, times the number of those that were summed.
        """
        self._check(view.view)
        dropped = tuple(axis for axis, name in enumerate(self.view) if name not in view.view)
        axes = [self.view.index(name) for name in view.view]
        counts = view.rolled_up(in_view_order(self._possible.sum(axis=dropped), axes))
        names = {self.view[axis] for axis in dropped} - {self.attribute}
        of_sums = float(math.prod(self.domain[name].size for name in names))
        if self.attribute not in view.view:
            of_sums *= self._tree.variance_of(self.variances, np.ones(self._tree.sizes[-1]))
        variance = np.full((), of_sums)
        for name, level, group in zip(view.view, view.levels, view.groups, strict=True):
            own = np.ones(self.domain[name].size) if group is None else np.bincount(group)
            if name == self.attribute:
                levels = self.domain[name].levels
                assert levels is not None
                place = -1 if level is None else levels.index(level)
                own = self._tree.node_variances(self.variances)[place]
            variance = np.multiply.outer(variance, own)
        return counts, variance

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes, by sums of cells.

        Two sums over boxes share the combinations of the other attributes that lie in both.
        """
        for codes in chosen:
            self._check(tuple(codes))
        estimates = []
        for codes in chosen:
            cells = self._possible
            for axis, name in enumerate(self.view):
                cells = cells if name not in codes else np.take(cells, codes[name], axis)
            estimates.append(cells.sum())
        noise = np.zeros((len(chosen), len(chosen)))
        for row, column in itertools.combinations_with_replacement(range(len(chosen)), 2):
            noise[row, column] = self._covariance(chosen[row], chosen[column])
            noise[column, row] = noise[row, column]
        return Sums(estimates=np.array(estimates), noise=noise, missed=np.zeros_like(noise))

    def _covariance(self, one: Chosen, other: Chosen) -> float:
        """The covariance of the noise in two counts."""
        common = 1
        weights = []
        for name in self.view:
            every = range(self.domain[name].size)
            first, second = one.get(name, every), other.get(name, every)
            if name != self.attribute:
                common *= len(set(first) & set(second))
                continue
            for codes in (first, second):
                weight = np.zeros(len(every))
                weight[list(codes)] = 1.0
                weights.append(weight)
        # The covariance of two sums follows from the variances of their sum and difference.
        more = self._tree.variance_of(self.variances, weights[0] + weights[1])
        less = self._tree.variance_of(self.variances, weights[0] - weights[1])
        return common * (more - less) / 4

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        measured = f"{len(self.variances)} levels of {self.attribute}"
        return {
            "table": f"{', '.join(self.view)}: {self.table.size:,} cells, {measured}",
            **negative_left([self.table]),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
        fields = {"view": self.view, "attribute": self.attribute, "variances": self.variances}
        return Packed(fields, {"table": self.table})

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        return {"table": domain.cells(domain.view(fields["view"]))}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        view = domain.view(packed.fields["view"])
        attribute = packed.fields["attribute"]
        table: NDArray[Any] = packed.arrays["table"]
        variances = tuple(float(variance) for variance in packed.fields["variances"])
        levels = domain[attribute].levels
        fits = levels is not None and len(levels.names) == len(variances) and attribute in view
        if not fits or table.shape != domain.shape(view) or table.dtype != np.float64:
            raise ValueError(
                f"the table must have shape {domain.shape(view)}, and each level of {attribute!r} "
                "a variance, but one of them does not fit; get a fresh copy of the file"
            )
        return cls(
            domain=domain,
            view=view,
            attribute=attribute,
            table=table,
            variances=variances,
            provenance=provenance,
        )

    def _check(self, names: Sequence[str]) -> None:
        """Refuse attributes that the table lacks."""
        missing = [name for name in names if name not in self.view]
        if missing:
            raise DomainError(
                f"this synopsis answers on {', '.join(self.view)}, but {missing[0]!r} was not "
                "measured; release it with a workload that names it"
            )

    @cached_property
    def _tree(self) -> LevelTree:
        levels = self.domain[self.attribute].levels
        assert levels is not None
        return LevelTree(levels.groups)

    @cached_property
    def _possible(self) -> Floats:
        """The table with zeros in excluded cells, and with the number of rows of the domain.

        The difference to this number goes to all possible cells: in proportion to their counts, or
        evenly if a count is negative.
        """
        if self.domain.zeros is None and self.domain.rows is None:
            return self.table
        possible = self.domain.possible(self.view)
        table = self.table * possible
        if self.domain.rows is None:
            return table
        is_proper = table.min() >= 0 and table.any()
        share = table / table.sum() if is_proper else possible / possible.sum()
        return np.asarray(table + (self.domain.rows - table.sum()) * share)
