"""`ThresholdSample`: a mechanism that keeps noisy counts at random, with probabilities in
proportion to their size."""

import math
from dataclasses import dataclass

from ..._checks import positive_integer
from ..._numbers import Number, exact, shown
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Private
from ...synopses.cells import CellSynopsis
from .summaries import Chooser, Rule, checked_target, kept

__all__ = ["ThresholdSample"]

_WORD = 1 << 62
"""Largest tau that is not rounded; a larger one is rounded up to a power of two."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class ThresholdSample:
    """A mechanism that keeps each noisy count v of a huge table with probability min(1, |v| / tau)
    (Cormode et al., ICDT 2012, section 4).

    With the weights max(|v|, tau), sums over any set of cells are unbiased.

    Parameters
    ----------
    tau
        The size from which on all counts are kept, >= 1, chosen without access to the data.
    target
        The expected number of cells that are kept, in place of tau. Then
        tau = (|M|_1 + 2 m a / (1 - a**2)) / target, where m is the number of cells,
        a = exp(-1 / scale of the noise), and |M|_1 is the number of rows, times the number of nodes
        that a row is in.
    rows
        A public number of rows, or a guess, for `target`; nothing is then spent on it.
    share
        The share of the budget for a noisy number of rows, > 0 and < 1, if there is a target and no
        `rows`.
    """

    tau: int | None = None
    target: int | None = None
    rows: int | None = None
    share: Number = "0.05"

    def __post_init__(self) -> None:
        if (self.tau is None) == (self.target is None):
            raise DomainError(
                "exactly one of tau and target must be given, but "
                f"{'neither is' if self.tau is None else 'both are'}; give one of them"
            )
        if self.tau is not None:
            positive_integer("tau", self.tau)
        else:
            positive_integer("target", self.target)
        if self.rows is not None:
            positive_integer("rows", self.rows)
        if not 0 < exact("share", self.share) < 1:
            raise DomainError(
                f"share ({shown(self.share)}) must be a number > 0 and < 1; pass such a number"
            )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Run the mechanism: add noise to all cells, keep some at random, and return them.

        The workload is not used.
        """
        return kept(private, self)

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """The rule that keeps cells, and the share of the budget for the table; see
        `Summary.prepare`. With a target and without `rows`, the number of rows is measured."""
        rows = self.rows or 0
        if self.target is not None and self.rows is None:
            checked_target("target", self.target, math.prod(private.domain.sizes))
            # The number of rows is the total of any marginal; the smallest has the least noise.
            smallest = min(private.domain, key=lambda name: private.domain[name].size)
            (measured,) = private.measure([[smallest]], spend=self.share)
            rows = max(0, round(measured.total))

        def rule(cells: int, noise: DiscreteLaplace) -> Rule:
            tau = self.tau
            if tau is None:
                target = checked_target("target", self.target, cells)
                # The expected absolute noise of an empty cell: 2 a / (1 - a ** 2).
                rate = float(1 / noise.scale)
                a = math.exp(-rate)
                magnitude = 2 * a / -math.expm1(-2 * rate)
                expected = rows * max(levels, 1) + cells * magnitude
                tau = max(1, math.ceil(expected / target))
                if tau > _WORD:
                    tau = 1 << (tau - 1).bit_length()
            return Keep(1, tau, True)

        return rule, None
