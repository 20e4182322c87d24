"""Measures of the intervals of answers: how often they hold, and how wide they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._types import Floats
from ..domain.bounds import check_level
from ..domain.marginal import Marginal

__all__ = ["Inside", "IntervalScore"]


@dataclass(frozen=True)
class Inside:
    """The share of the cells whose interval holds the true count, for each view.

    It should be near the level. A larger share says that intervals are too wide, not that a
    mechanism is better: `IntervalScore` weighs both. NaN if answers have no intervals.

    Parameters
    ----------
    level
        The level of the intervals, > 0 and < 1; see `Marginal.interval`.

    Raises
    ------
    DomainError
        If `level` is not > 0 and < 1.
    """

    level: float = 0.95
    larger_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"inside({self.level:g})"

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return [
            self._share(answer, truth.counts) for answer, truth in zip(answers, truths, strict=True)
        ]

    def _share(self, answer: Marginal, truth: Floats) -> float:
        low, high = answer.interval(self.level)
        if np.isnan(low).any():
            return np.nan
        return float(((low <= truth) & (truth <= high)).mean())


@dataclass(frozen=True)
class IntervalScore:
    """The mean interval score of the cells as a share of the rows, for each view.

    The score of an interval from l to u of level 1 - alpha is u - l, and 2 / alpha times the
    distance of the true count if it lies outside: wide intervals cost, and so do those that do not
    hold. It is smallest in the mean for the true quantiles. NaN if answers have no intervals.
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

    level: float = 0.95
    larger_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"interval({self.level:g})"

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return [
            self._score(answer, truth.counts) for answer, truth in zip(answers, truths, strict=True)
        ]

    def _score(self, answer: Marginal, truth: Floats) -> float:
        low, high = answer.interval(self.level)
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        score = high - low + 2 / (1 - self.level) * outside
        rows = max(float(truth.sum()), 1.0)
        return float(score.mean()) / rows
