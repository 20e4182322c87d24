"""`HighPass`: a mechanism that keeps the noisy counts above a threshold."""

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


@dataclass(
    frozen=True,
    kw_only=True,
)
class HighPass:
    """A mechanism for tables of any size that keeps all noisy counts of at least theta (Cormode et
    al., ICDT 2012, section 3).

    Noise is added to every cell of the table of all attributes. An empty cell passes with
    probability P = a**theta / (1 + a), where a = exp(-epsilon) for neighbours that differ in one
    row, or with twice this probability if both sides pass.

    Parameters
    ----------
    theta
        The threshold, >= 1, chosen without access to the data.
    target
        The largest expected number of empty cells that pass, in place of theta. Theta is then the
        least number with m P <= target, where m is the number of cells. It does not depend on the
        data; occupied cells that pass are additional.
    two_sided
        Whether counts of -theta and less pass as well. Their noise then cancels in large sums.

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
            raise DomainError(
                "exactly one of theta and target must be given, but "
                f"{'neither is' if self.theta is None else 'both are'}; give one of them"
            )
        if self.theta is not None:
            positive_integer("theta", self.theta)
        else:
            positive_integer("target", self.target)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Run the mechanism: add noise and keep the cells that pass. The workload is not used."""
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """The rule that keeps cells, and its share of the budget; see `Summary.prepare`."""

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            theta = self.theta
            if theta is None:
                target = checked_target("target", self.target, cells)
                theta = least_theta(cells, noise, target, two_sided=self.two_sided)
            return Keep(theta, theta, self.two_sided)

        return rule, None
