"""`PrioritySample`: a sample of noisy counts of a size that is given."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.workload import Workload
from ...noise.laws import DiscreteLaplace
from ...private import Largest, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept

__all__ = ["PrioritySample"]


@dataclass(frozen=True, kw_only=True)
class PrioritySample:
    """The noisy counts v of the largest priorities |v| / U, U uniform (Cormode et al., ICDT 2012,
    section 4).

    Priorities are rounded down to a public grid of 20 significant binary digits. The cut t is the
    least point of the grid that at most `size` priorities reach. Weighted by max(|v|, t), sums over
    any set of cells are unbiased.

    Parameters
    ----------
    size
        How many cells are kept. Fewer are if there are not as many with a noisy count other than
        zero, and a few fewer (on average less than size / 2**19) where priorities around the cut
        are equal on the grid.
    """

    size: int

    def __post_init__(self) -> None:
        positive_integer("size", self.size)

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Sample. The workload has no say."""
        return kept(private, self)

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """See `Summary`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            return Largest(checked_target("size", self.size, cells))

        return rule, None
