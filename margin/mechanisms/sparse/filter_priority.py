"""`FilterPriority`: a filter drops counts that are mostly noise, and a priority sample keeps a
given number of the others."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.workload import Workload
from ...noise.laws import DiscreteLaplace
from ...private import Largest, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept, least_theta

__all__ = ["FilterPriority"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class FilterPriority:
    """The `size` largest priorities among noisy counts of absolute value theta or more (Cormode et
    al., ICDT 2012).

    Parameters
    ----------
    size
        The number of cells that are kept, >= 1. Fewer are kept if fewer pass the filter, or for the
        reason given at `PrioritySample`.
    theta
        The threshold of the filter, >= 1. None takes the least theta for which at most `size` empty
        cells are expected to pass: a public rule.
    """

    size: int
    theta: int | None = None

    def __post_init__(self) -> None:
        positive_integer("size", self.size)
        if self.theta is not None:
            positive_integer("theta", self.theta)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Filter and sample. The workload is not used."""
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """See `Summary`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            size = checked_target("size", self.size, cells)
            theta = self.theta or least_theta(cells, noise, size, two_sided=True)
            return Largest(size, theta)

        return rule, None
