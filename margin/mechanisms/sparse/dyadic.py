"""`Dyadic`: a mechanism for ranges that keeps some noisy counts of dyadic intervals."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._numbers import Number
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Largest, Private
from ...private.sparse_noise import MAX_KEPT
from ...solvers import agreeing
from ...sparse.axes import Axis, Leaves, Tree, nested, parents
from ...synopses.cells import CellSynopsis
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..fitted import BEFORE_CHECK, MISSING_NODE
from .filter_priority import FilterPriority
from .high_pass import HighPass
from .summaries import (
    Chooser,
    Rule,
    Summary,
    checked_summary,
    chosen_axes,
    kept,
    least_theta,
    listed,
)

__all__ = ["Dyadic"]


@dataclass(frozen=True)
class Dyadic:
    """A mechanism for ranges over huge tables: it counts all dyadic intervals with noise and keeps
    some of the counts (Cormode et al., ICDT 2012, section 5).

    The nodes of an ordered attribute are the intervals of 2**l codes, for all l. With several
    attributes, a node is a combination of one interval of each. A row is in one node of each level,
    so the sensitivity is the number of levels, multiplied over the attributes. A range is then the
    sum of at most two nodes of each level.

    Parameters
    ----------
    inner
        The mechanism that decides which counts are kept: `HighPass`, `ThresholdSample`,
        `PrioritySample` or `FilterPriority`. Its targets and sizes are numbers of nodes.
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are counted
        by category.
    check
        Whether a node is dropped if a node that contains it did not pass the filter: its count
        cannot be larger. None checks after filters. A check is refused for samples, which leave
        nodes out by chance. With `FilterPriority` all nodes that pass are drawn before sampling, so
        time grows with their number. Most of the empty nodes that pass have an ancestor that did
        not pass, so up to four times the target or size may pass. After `HighPass` the remaining
        nodes of a single tree are fitted by least squares, so that each node is nearer to the sum
        of its children.
    published
        Whether nothing is added to the check of the paper: as many nodes pass as without it, and
        their counts are not fitted.
    """

    inner: Summary
    attributes: Iterable[str] | None = None
    check: bool | None = None
    published: bool = False

    def __post_init__(self) -> None:
        checked_summary(self.inner)
        if self.check and not self._filters:
            raise DomainError(
                f"check needs a filter, but inner is {type(self.inner).__name__}; pass HighPass or "
                "FilterPriority as inner, or leave check out"
            )
        object.__setattr__(self, "attributes", listed(self.attributes))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Run the mechanism: count, add noise, keep some nodes, and check them. The workload is not
        used."""
        axes = chosen_axes("Dyadic", private.domain, self.attributes, Tree, Leaves)
        check = self._filters if self.check is None else self.check
        if not check:
            return kept(private, self.inner, axes)
        if isinstance(self.inner, FilterPriority):
            return kept(private, _Nested(self.inner, widened=not self.published), axes)
        assert isinstance(self.inner, HighPass)
        inner = self.inner if self.published else _widened(self.inner, axes)
        synopsis = kept(private, inner, axes)
        # Keep the nodes whose ancestors all passed.
        inside = nested(axes, synopsis.codes)
        checked = replace(
            synopsis,
            codes=synopsis.codes[inside],
            values=synopsis.values[inside],
        )
        return checked if self.published else replace(checked, agreed=_agreed(checked))

    @property
    def _filters(self) -> bool:
        return isinstance(self.inner, HighPass | FilterPriority)


def _widened(inner: HighPass, axes: Sequence[Axis]) -> HighPass:
    """Raise the target of a filter, because the check drops many of the nodes that pass."""
    if inner.target is None:
        return inner
    nodes = math.prod(axis.nodes for axis in axes)
    return replace(inner, target=_before_check(inner.target, nodes))


def _before_check(target: int, nodes: int) -> int:
    """The number of empty nodes that may pass, so that about `target` remain after the check."""
    return max(target, min(BEFORE_CHECK * target, nodes, MAX_KEPT))


def _agreed(synopsis: CellSynopsis) -> NDArray[np.float64] | None:
    """Fit the counts of the nodes of a single tree, so that a parent is near the sum of its
    children: shape (nodes,). None if there are several trees.

    A missing node did not pass. Its count is taken as zero, with a standard deviation of a third of
    theta.
    """
    trees = [place for place, axis in enumerate(synopsis.axes) if isinstance(axis, Tree)]
    if len(trees) != 1:
        return None
    (along,) = trees
    tree = synopsis.axes[along]
    nodes = synopsis.codes[:, along]
    assert isinstance(tree, Tree)
    # A node without a parent is its own parent here.
    above = parents(synopsis.axes, along, synopsis.codes)
    lower = above != np.arange(len(nodes))
    given = np.bincount(above[lower], minlength=len(nodes))
    return agreeing(
        synopsis.values.astype(np.float64),
        above,
        tree.level(nodes),
        tree.children(nodes) - given,
        variance=max(synopsis.variance, LEAST_VARIANCE),
        missing_variance=(synopsis.theta / MISSING_NODE) ** 2,
    )


@dataclass(frozen=True)
class _Nested:
    """A variant of `FilterPriority` that drops nodes whose ancestors did not pass the filter, and
    then samples."""

    inner: FilterPriority
    widened: bool

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """The rule that keeps nodes, and its share of the budget; see `Summary.prepare`."""
        choose, spend = self.inner.prepare(private, levels)

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            chosen = choose(cells, noise)
            assert isinstance(chosen, Largest)
            if self.widened and self.inner.theta is None:
                passing = _before_check(chosen.size, cells)
                chosen = replace(
                    chosen,
                    theta=least_theta(
                        cells,
                        noise,
                        passing,
                        two_sided=True,
                    ),
                )
            return replace(chosen, nested=True)

        return rule, spend
