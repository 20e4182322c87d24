"""`PrioritySample`: a sample of noisy counts, of a given size."""

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
    """The noisy counts v of the largest priorities |v| / U, where U is uniform (Cormode et al.,
    ICDT 2012, section 4).

    Priorities are rounded down to a public grid of 20 significant binary digits. The cut t is the
    least point of the grid that at most `size` priorities reach. With the weights max(|v|, t), sums
    over any set of cells are unbiased.

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
        """Sample. The workload is not used."""
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """See `Summary`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            return Largest(checked_target("size", self.size, cells))

        return rule, None
