"""`Dyadic`: sums over dyadic intervals, summarised."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .._numbers import Number
from ..axes import Leaves, Tree, nested
from ..errors import DomainError
from ..noise import DiscreteLaplace
from ..private import Largest, Private
from ..synopses.cells import CellSynopsis
from ..workload import Workload
from .filter_priority import FilterPriority
from .high_pass import HighPass
from .summaries import Chooser, Rule, Summary, chosen_axes, kept

__all__ = ["Dyadic"]


@dataclass(frozen=True)
class Dyadic:
    """A summary of the counts of all dyadic intervals (Cormode et al., ICDT 2012, section 5).

    Of each ordered attribute the intervals of 2**l codes are counted, for all l; of several attributes all combinations
    of intervals. A row is in one node a level, so that the sensitivity is the number of levels, multiplied over the
    attributes. A range is then the sum of at most two nodes a level.

    Parameters
    ----------
    inner
        The summary: `HighPass`, `ThresholdSample`, `PrioritySample` or `FilterPriority`. Its targets and sizes are of
        nodes.
    attributes
        Those whose codes are ordered; all when not given. The others are counted by category.
    check
        Whether a node is dropped when one that contains it did not pass the filter: its count cannot be larger. None
        does so after filters; a sample leaves nodes out by chance, so there it cannot be asked for. (With
        `FilterPriority` all nodes that pass are drawn before it samples: time then grows with their number.)
    """

    inner: Summary
    attributes: Iterable[str] | None = None
    check: bool | None = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.inner, "prepare", None)):
            raise DomainError("inner must be HighPass, ThresholdSample, PrioritySample or FilterPriority")
        if self.check and not self._filters:
            raise DomainError("check needs a filter: HighPass or FilterPriority")
        if self.attributes is not None:
            names = (self.attributes,) if isinstance(self.attributes, str) else tuple(self.attributes)
            object.__setattr__(self, "attributes", names)

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Count, add noise, summarise, check. The workload has no say."""
        axes = chosen_axes(private.domain, self.attributes, Tree, Leaves)
        check = self._filters if self.check is None else self.check
        if not check:
            return kept(private, self.inner, axes)
        if isinstance(self.inner, FilterPriority):
            return kept(private, _Nested(self.inner), axes)
        synopsis = kept(private, self.inner, axes)
        inner = nested(axes, synopsis.codes)
        return replace(synopsis, codes=synopsis.codes[inner], values=synopsis.values[inner])

    @property
    def _filters(self) -> bool:
        return isinstance(self.inner, HighPass | FilterPriority)


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
            return replace(chosen, nested=True)

        return rule, spend
