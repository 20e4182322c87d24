"""`PrioritySample`: a mechanism that keeps a random sample of noisy counts, of a given size."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.workload import Workload
from ...noise.laws import DiscreteLaplace
from ...private import Largest, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept

__all__ = ["PrioritySample"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class PrioritySample:
    """A mechanism that keeps a random sample, of a given size, of the noisy counts of a huge table
    (Cormode et al., ICDT 2012, section 4).

    A noisy count v has the priority |v| / U, where U is uniform on (0, 1). The counts with the
    largest priorities are kept. Priorities are rounded down to a public grid of 20 significant
    binary digits. The cut t is the least point of the grid that at most `size` priorities reach.
    With the weights max(|v|, t), sums over any set of cells are unbiased.

    Parameters
    ----------
    size
        The number of cells that are kept, >= 1. Fewer are kept if fewer have a noisy count other
        than zero. A few fewer (on average less than size / 2**19) are kept where priorities around
        the cut are equal on the grid.
    """

    size: int

    def __post_init__(self) -> None:
        positive_integer("size", self.size)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Run the mechanism: add noise and sample. The workload is not used."""
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """The rule that keeps cells, and its share of the budget; see `Summary.prepare`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            return Largest(checked_target("size", self.size, cells))

        return rule, None
