"""`Haar`: differences of halves, summarised."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private
from ...sparse.axes import Halves, Leaves
from ...synopses.cells import CellSynopsis
from .high_pass import HighPass
from .summaries import Summary, chosen_axes, kept

__all__ = ["Haar"]


@dataclass(frozen=True)
class Haar:
    """A summary of integer Haar coefficients (Cormode et al., ICDT 2012, section 5; Xiao, Wang and
    Gehrke 2011).

    Of each ordered attribute: the sum of all, and of each interval of 2**l codes the first half
    less the second; of several attributes all products. A row changes one coefficient a level by
    one, and the sum.

    Parameters
    ----------
    inner
        The summary; a `HighPass` must be two-sided, for coefficients have both signs.
    attributes
        Those whose codes are ordered; all when not given. The others are counted by category.
    """

    inner: Summary
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.inner, "prepare", None)):
            raise DomainError(
                "inner must be HighPass, ThresholdSample, PrioritySample or FilterPriority"
            )
        if isinstance(self.inner, HighPass) and not self.inner.two_sided:
            raise DomainError("differences have both signs: pass HighPass(..., two_sided=True)")
        if self.attributes is not None:
            names = (
                (self.attributes,) if isinstance(self.attributes, str) else tuple(self.attributes)
            )
            object.__setattr__(self, "attributes", names)

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Transform, add noise, summarise. The workload has no say."""
        return kept(
            private, self.inner, chosen_axes(private.domain, self.attributes, Halves, Leaves)
        )
