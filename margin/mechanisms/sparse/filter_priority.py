"""`FilterPriority`: a mechanism that drops noisy counts that are mostly noise, and keeps a priority
sample of the others."""

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
    """A mechanism that keeps a random sample of the large noisy counts of a huge table (Cormode et
    al., ICDT 2012).

    Only counts of absolute value theta or more take part. Those with the `size` largest random
    priorities are kept; see `PrioritySample`.

    Parameters
    ----------
    size
        The number of cells that are kept, >= 1. Fewer are kept if fewer pass the filter, or for the
        reason given at `PrioritySample`.
    theta
        The threshold of the filter, >= 1. None takes the smallest theta for which at most `size`
        empty cells are expected to pass, which depends on public numbers only.
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
        """Run the mechanism: add noise, filter and sample. The workload is not used."""
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """The rule that keeps cells, and its share of the budget; see `Summary.prepare`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            size = checked_target("size", self.size, cells)
            theta = self.theta or least_theta(cells, noise, size, two_sided=True)
            return Largest(size, theta)

        return rule, None
