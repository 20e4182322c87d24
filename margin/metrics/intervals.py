"""Measures of the intervals of answers: how often they hold, and how wide they are."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._types import Floats
from ..domain.bounds import check_level
from ..domain.marginal import Marginal
from .tables import true_rows

__all__ = ["Inside", "IntervalScore"]


@dataclass(frozen=True)
class _OfIntervals(ABC):
    """A measure of the intervals of one level, with one number for each view, over the cells that
    have an interval: NaN if none has one."""

    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        numbers = []
        for answer, truth in zip(answers, truths, strict=True):
            low, high = answer.interval(self.level)
            known = ~np.isnan(low)
            if not known.any():
                numbers.append(np.nan)
                continue
            rows = true_rows(truth.counts)
            numbers.append(self._measure(low[known], high[known], truth.counts[known], rows))
        return numbers

    @abstractmethod
    def _measure(
        self,
        low: Floats,
        high: Floats,
        truth: Floats,
        rows: float,
    ) -> float:
        """The number for a view that has `rows` rows. The bounds and the true counts are those of
        the cells that have an interval, shape (cells,)."""


@dataclass(frozen=True)
class Inside(_OfIntervals):
    """The share of the cells whose interval holds the true count, for each view.

    It should be near the level. A larger share says that intervals are too wide, not that a
    mechanism is better: `IntervalScore` weighs both. It is the share among the cells that have an
    interval, and NaN for a view without any. `margin.compare` takes the mean over the views that
    have some, and says how many counts have an interval.

    Parameters
    ----------
    level
        The level of the intervals, > 0 and < 1; see `Marginal.interval`.

    Raises
    ------
    DomainError
        If `level` is not > 0 and < 1.
    """

    larger_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"inside({self.level:g})"

    def _measure(
        self,
        low: Floats,
        high: Floats,
        truth: Floats,
        rows: float,
    ) -> float:
        holds = (low <= truth) & (truth <= high)
        return float(holds.mean())


@dataclass(frozen=True)
class IntervalScore(_OfIntervals):
    """The mean interval score of the cells as a share of the rows, for each view.

    The score of an interval from l to u of level 1 - alpha is u - l, and 2 / alpha times the
    distance of the true count if it lies outside: wide intervals cost, and so do those that do not
    hold. It is smallest in the mean for the true quantiles. Cells without an interval are left out;
    a view without any has NaN. `margin.compare` takes the mean over the views that have some, and
    says how many counts have an interval.
    Source: Gneiting and Raftery, *Strictly proper scoring rules, prediction, and estimation*, JASA
    2007, equation 43.

    Parameters
    ----------
    level
        The level of the intervals, > 0 and < 1; see `Marginal.interval`.

    Raises
    ------
    DomainError
        If `level` is not > 0 and < 1.
    """

    larger_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"interval({self.level:g})"

    def _measure(
        self,
        low: Floats,
        high: Floats,
        truth: Floats,
        rows: float,
    ) -> float:
        width = high - low
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        score = width + 2 / (1 - self.level) * outside
        return float(score.mean()) / rows
