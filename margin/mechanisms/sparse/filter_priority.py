"""`FilterPriority`: a filter that drops what is mostly noise, and then a priority sample of a size
that is given."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.workload import Workload
from ...noise.laws import DiscreteLaplace
from ...private import Largest, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept, least_theta

__all__ = ["FilterPriority"]


@dataclass(frozen=True, kw_only=True)
class FilterPriority:
    """The `size` largest priorities among noisy counts of theta or more in size (Cormode et al.,
    ICDT 2012).

    Parameters
    ----------
    size
        How many cells are kept; fewer if not as many pass the filter, or see `PrioritySample`.
    theta
        At least one. None takes the least for which no more than `size` empty cells are expected to
        pass: a public rule.
    """

    size: int
    theta: int | None = None

    def __post_init__(self) -> None:
        positive_integer("size", self.size)
        if self.theta is not None:
            positive_integer("theta", self.theta)

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Filter and sample. The workload has no say."""
        return kept(private, self)

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """See `Summary`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            size = checked_target("size", self.size, cells)
            return Largest(size, self.theta or least_theta(cells, noise, size, two_sided=True))

        return rule, None
