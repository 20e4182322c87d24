"""`ThresholdSample`: noisy counts, sampled in proportion to their size."""

import math
from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number, exact
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept

__all__ = ["ThresholdSample"]

_WORD = 1 << 62


@dataclass(frozen=True, kw_only=True)
class ThresholdSample:
    """Each noisy count v with probability min(1, |v| / tau) (Cormode et al., ICDT 2012, section 4).

    Weighted by max(|v|, tau), sums over any set of cells are unbiased.

    Parameters
    ----------
    tau
        At least one; chosen without looking at the data.
    target
        In place of tau: how many cells should be kept, on average: tau = (|M|_1 + 2 m a / (1 -
        a**2)) / target, m the number of cells and |M|_1 the number of rows (times the nodes that a
        row is in), which is private.
    rows
        With a target: a number of rows that is public, or a guess; nothing is then spent on it.
    share
        With a target and no `rows`: the part of the budget that is spent on a noisy number of rows.
    """

    tau: int | None = None
    target: int | None = None
    rows: int | None = None
    share: Number = "0.05"

    def __post_init__(self) -> None:
        if (self.tau is None) == (self.target is None):
            raise DomainError("give either tau or target")
        positive_integer(
            "target" if self.tau is None else "tau", self.target if self.tau is None else self.tau
        )
        if self.rows is not None:
            positive_integer("rows", self.rows)
        if not 0 < exact("share", self.share) < 1:
            raise DomainError("share must be above 0 and below 1")

    def run(self, private: Private, workload: Workload | None) -> CellSynopsis:
        """Sample. The workload has no say."""
        return kept(private, self)

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """See `Summary`."""
        rows = self.rows or 0
        if self.target is not None and self.rows is None:
            checked_target("target", self.target, math.prod(private.domain.sizes))
            smallest = min(private.domain, key=lambda name: private.domain[name].size)
            (measured,) = private.measure([[smallest]], spend=self.share)
            rows = max(0, round(measured.total))

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            tau = self.tau
            if tau is None:
                target = checked_target("target", self.target, cells)
                a = math.exp(-float(1 / noise.scale))
                magnitude = 2 * a / -math.expm1(-2 * float(1 / noise.scale))
                tau = max(1, math.ceil((rows * max(levels, 1) + cells * magnitude) / target))
                tau = tau if tau <= _WORD else 1 << (tau - 1).bit_length()
            return Keep(1, tau, True)

        return rule, None
