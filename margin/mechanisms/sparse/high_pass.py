"""`HighPass`: the noisy counts that reach a threshold."""

from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept, least_theta

__all__ = ["HighPass"]


@dataclass(frozen=True, kw_only=True)
class HighPass:
    """All noisy counts of at least theta, of a table of any size (Cormode et al., ICDT 2012,
    section 3).

    Noise is added to every cell of the table of all attributes; an empty one passes with
    probability a**theta / (1 + a), a = exp(-epsilon) for neighbours that differ in one row, or
    twice that when two-sided.

    Parameters
    ----------
    theta
        At least one; chosen without looking at the data.
    target
        In place of theta: how many empty cells should pass at most, on average. Theta is then the
        least for which m P <= target, m the number of cells: nothing of it depends on the data, and
        the cells of the data that pass come on top.
    two_sided
        Whether counts of -theta and less pass as well: their noise then cancels in large sums.

    Examples
    --------
    >>> HighPass(theta=5).theta
    5
    """

    theta: int | None = None
    target: int | None = None
    two_sided: bool = False

    def __post_init__(self) -> None:
        if (self.theta is None) == (self.target is None):
            raise DomainError("give either theta or target")
        positive_integer(
            "target" if self.theta is None else "theta",
            self.target if self.theta is None else self.theta,
        )

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Keep what passes. The workload has no say."""
        return kept(private, self)

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """See `Summary`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            theta = self.theta
            if theta is None:
                target = checked_target("target", self.target, cells)
                theta = least_theta(cells, noise, target, two_sided=self.two_sided)
            return Keep(theta, theta, self.two_sided)

        return rule, None
