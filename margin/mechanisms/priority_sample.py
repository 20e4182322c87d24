"""`PrioritySample`: a sample of noisy counts of a size that is given."""

from dataclasses import dataclass

from .._numbers import Number, positive_integer
from ..noise import DiscreteLaplace
from ..private import Largest, Private
from ..synopses.cells import CellSynopsis
from ..workload import Workload
from .summaries import Chooser, Rule, checked_target, kept

__all__ = ["PrioritySample"]


@dataclass(frozen=True, kw_only=True)
class PrioritySample:
    """The `size` noisy counts v of the largest priorities |v| / r, r uniform (Cormode et al., ICDT 2012, section 4).

    Weighted by max(|v|, t), t the largest priority that was not kept, sums over any set of cells are unbiased.

    Parameters
    ----------
    size
        How many cells are kept; fewer only if there are not as many with a noisy count other than zero.
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
