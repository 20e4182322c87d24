"""`Dyadic`: sums over dyadic intervals, summarised."""

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
from .filter_priority import FilterPriority
from .high_pass import HighPass
from .summaries import Chooser, Rule, Summary, chosen_axes, kept, least_theta

__all__ = ["Dyadic"]

_BEFORE_CHECK = 4


@dataclass(frozen=True)
class Dyadic:
    """A summary of the counts of all dyadic intervals (Cormode et al., ICDT 2012, section 5).

    Of each ordered attribute the intervals of 2**l codes are counted, for all l; of several
    attributes all combinations of intervals. A row is in one node a level, so that the sensitivity
    is the number of levels, multiplied over the attributes. A range is then the sum of at most two
    nodes a level.

    Parameters
    ----------
    inner
        The summary: `HighPass`, `ThresholdSample`, `PrioritySample` or `FilterPriority`. Its
        targets and sizes are of nodes.
    attributes
        Those whose codes are ordered; all when not given. The others are counted by category.
    check
        Whether a node is dropped when one that contains it did not pass the filter: its count
        cannot be larger. None does so after filters; a sample leaves nodes out by chance, so there
        it cannot be asked for. (With `FilterPriority` all nodes that pass are drawn before it
        samples: time then grows with their number.) Most of the empty nodes that pass have no such
        ancestors, so four times as many as the target or size says may pass. After `HighPass` the
        nodes of one tree that are left are fitted by least squares to be each other's sums.
    """

    inner: Summary
    attributes: Iterable[str] | None = None
    check: bool | None = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.inner, "prepare", None)):
            raise DomainError(
                "inner must be HighPass, ThresholdSample, PrioritySample or FilterPriority"
            )
        if self.check and not self._filters:
            raise DomainError("check needs a filter: HighPass or FilterPriority")
        if self.attributes is not None:
            names = (
                (self.attributes,) if isinstance(self.attributes, str) else tuple(self.attributes)
            )
            object.__setattr__(self, "attributes", names)

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Count, add noise, summarise, check. The workload has no say."""
        axes = chosen_axes(private.domain, self.attributes, Tree, Leaves)
        check = self._filters if self.check is None else self.check
        if not check:
            return kept(private, self.inner, axes)
        if isinstance(self.inner, FilterPriority):
            return kept(private, _Nested(self.inner), axes)
        assert isinstance(self.inner, HighPass)
        synopsis = kept(private, _widened(self.inner, axes), axes)
        inner = nested(axes, synopsis.codes)
        checked = replace(synopsis, codes=synopsis.codes[inner], values=synopsis.values[inner])
        return replace(checked, agreed=_agreed(checked))

    @property
    def _filters(self) -> bool:
        return isinstance(self.inner, HighPass | FilterPriority)


def _widened(inner: HighPass, axes: Sequence[Axis]) -> HighPass:
    """The filter with a target for before the check."""
    if inner.target is None:
        return inner
    return replace(
        inner, target=_before_check(inner.target, math.prod(axis.nodes for axis in axes))
    )


def _before_check(target: int, nodes: int) -> int:
    """How many empty nodes may pass for about `target` to be left, within what may be kept at all."""
    return max(target, min(_BEFORE_CHECK * target, nodes, MAX_KEPT))


def _agreed(synopsis: CellSynopsis) -> NDArray[np.float64] | None:
    """The counts of nodes fitted to be each other's sums; None where there is more than one tree.

    A node that is missing did not pass: its count is taken for zero, give or take a third of theta.
    """
    trees = [place for place, axis in enumerate(synopsis.axes) if isinstance(axis, Tree)]
    if len(trees) != 1:
        return None
    (along,) = trees
    tree, nodes = synopsis.axes[along], synopsis.codes[:, along]
    assert isinstance(tree, Tree)
    above = parents(synopsis.axes, along, synopsis.codes)
    lower = above != np.arange(len(nodes))
    given = np.bincount(above[lower], minlength=len(nodes))
    return agreeing(
        synopsis.values.astype(np.float64),
        above,
        tree.level(nodes),
        tree.children(nodes) - given,
        variance=max(synopsis.variance, LEAST_VARIANCE),
        missing_variance=(synopsis.theta / 3) ** 2,
    )


@dataclass(frozen=True)
class _Nested:
    """A `FilterPriority` that drops nodes whose ancestors did not pass, before it samples."""

    inner: FilterPriority

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """See `Summary`."""
        choose, spend = self.inner.prepare(private, levels)

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            chosen = choose(cells, noise)
            assert isinstance(chosen, Largest)
            if self.inner.theta is None:
                passing = _before_check(chosen.size, cells)
                chosen = replace(chosen, theta=least_theta(cells, noise, passing, two_sided=True))
            return replace(chosen, nested=True)

        return rule, spend
