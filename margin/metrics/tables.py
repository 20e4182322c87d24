"""Measures of the error of tables.

In the formulas a is an answer and t the true marginal, both arrays of counts, and N is the sum of
the true counts: the number of rows, or of items if rows are sets.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._checks import positive_number
from .._types import Floats
from ..domain.marginal import Marginal

__all__ = [
    "L1",
    "L2",
    "AbsoluteError",
    "JensenShannon",
    "LargestError",
    "RelativeError",
    "TotalVariation",
    "Usefulness",
    "jensen_shannon",
    "total_variation",
    "true_rows",
]


class _OfViews(ABC):
    """A metric that judges each view by itself."""

    @abstractmethod
    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return _by_view(self.of_view, answers, truths)


@dataclass(frozen=True)
class L2(_OfViews):
    """The L2 distance as a share of the rows: |a - t|_2 / N, for each view.

    Source: Qardaji, Yang and Li, SIGMOD 2014, sections 2 and 5 (error distance, normalised).
    """

    name: ClassVar[str] = "L2/N"
    larger_is_better: ClassVar[bool] = False

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        return float(np.linalg.norm(answer - truth)) / true_rows(truth)


@dataclass(frozen=True)
class L1(_OfViews):
    """The L1 distance as a share of the rows: sum_i |a_i - t_i| / N, for each view.

    Half of it is the total variation distance if the answer sums to N. Source: Barak et al., PODS
    2007, whose accuracy theorem bounds it.
    """

    name: ClassVar[str] = "L1/N"
    larger_is_better: ClassVar[bool] = False

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        return float(np.abs(answer - truth).sum()) / true_rows(truth)


@dataclass(frozen=True)
class AbsoluteError(_OfViews):
    """The mean absolute error of the cells: mean_i |a_i - t_i|, in rows, for each view; see
    `AskedError` for the queries that a workload asks."""

    name: ClassVar[str] = "abs. error"
    larger_is_better: ClassVar[bool] = False

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        return float(np.abs(answer - truth).mean())


@dataclass(frozen=True)
class JensenShannon(_OfViews):
    """The Jensen-Shannon divergence, for each view, in nats; see `jensen_shannon`.

    Source: Qardaji, Yang and Li, SIGMOD 2014, equation (1); Lin, IEEE Trans. Inf. Theory 37 (1991).
    """

    name: ClassVar[str] = "JS"
    larger_is_better: ClassVar[bool] = False

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        return jensen_shannon(answer, truth)


@dataclass(frozen=True)
class TotalVariation(_OfViews):
    """The total variation distance of the shares of the cells, for each view; see
    `total_variation`.

    Each table is divided by its own total, so an error of the total does not count. `L1` divides
    both by the true number of rows: half of it counts that error, too.
    """

    name: ClassVar[str] = "TV"
    larger_is_better: ClassVar[bool] = False

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        return total_variation(answer, truth)


@dataclass(frozen=True)
class LargestError:
    """The largest error of a cell as a share of the rows: max_i |a_i - t_i| / N over all cells of
    all views, one number for each run.

    Source: Gaboardi et al., *Dual Query*, ICML 2014, section 6 (maximum error over the queries).
    """

    name: ClassVar[str] = "largest/N"
    larger_is_better: ClassVar[bool] = False

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return [max(_by_view(_largest, answers, truths))]


@dataclass(frozen=True)
class RelativeError(_OfViews):
    """The mean relative error of the cells: mean_i |a_i - t_i| / max(t_i, sanity N), for each view.

    The sanity bound limits the weight of cells with small counts. Source: Xiao, Wang and Gehrke,
    *Differential privacy via wavelet transforms*, ICDE 2010, with a sanity bound of 0.1 % of the
    rows.

    Parameters
    ----------
    sanity
        The sanity bound as a share of the rows, > 0.

    Raises
    ------
    DomainError
        If `sanity` is not a number > 0.
    """

    sanity: float = 0.001
    larger_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive_number("sanity", self.sanity)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"relative({self.sanity:g})"

    def of_view(self, answer: Floats, truth: Floats) -> float:
        """The error of one table."""
        bound = self.sanity * true_rows(truth)
        return float((np.abs(answer - truth) / np.maximum(truth, bound)).mean())


@dataclass(frozen=True)
class Usefulness:
    """Whether all cells of all views have an error of at most alpha N: 1 or 0, for each run.

    A mechanism is (alpha, beta)-useful if this holds with probability 1 - beta at least. So the
    mean over the runs estimates 1 - beta; its standard error over r runs is sqrt(beta (1 - beta) /
    r). Source: Blum, Ligett and Roth, STOC 2008, for the queries of the workload.

    Parameters
    ----------
    alpha
        The largest error that is allowed, as a share of the rows, > 0.

    Raises
    ------
    DomainError
        If `alpha` is not a number > 0.
    """

    alpha: float = 0.01
    larger_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive_number("alpha", self.alpha)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"useful({self.alpha:g})"

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return [float(max(_by_view(_largest, answers, truths)) <= self.alpha)]


def total_variation(answer: Floats, truth: Floats) -> float:
    """The total variation distance of two tables, from 0 to 1: sum_i |p_i - q_i| / 2.

    The tables are normalised as in `jensen_shannon`: p is the answer with its negative cells set to
    zero, divided by its own sum, and q is the truth, divided by its own sum. An answer without a
    positive cell is at the largest distance, 1.

    Parameters
    ----------
    answer, truth : arrays of the same shape
        The counts of the cells.

    Examples
    --------
    >>> total_variation(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.25
    """
    shares = _shares(answer, truth)
    if shares is None:
        return 0.0 if truth.sum() <= 0 else 1.0
    p, q = shares
    return float(np.abs(p - q).sum()) / 2


def jensen_shannon(answer: Floats, truth: Floats) -> float:
    """The Jensen-Shannon divergence of two tables in nats, from 0 to log 2.

    Both tables are divided by their sums; p and q are the results and m = (p + q) / 2. The
    divergence is (KL(p | m) + KL(q | m)) / 2. Negative cells of the answer count as zero. An answer
    without a positive cell is at the largest distance, log 2.

    Parameters
    ----------
    answer, truth : arrays of the same shape
        The counts of the cells.

    Examples
    --------
    >>> jensen_shannon(np.array([1.0, 3.0]), np.array([2.0, 6.0]))
    0.0
    """
    shares = _shares(answer, truth)
    if shares is None:
        return 0.0 if truth.sum() <= 0 else math.log(2)
    middle = (shares[0] + shares[1]) / 2
    divergence = 0.0
    for p in shares:
        # Smaller cells contribute nothing, and their logarithms could overflow.
        some = p > 1e-300
        divergence += float(p[some] @ np.log(p[some] / middle[some])) / 2
    return max(0.0, divergence)


def _shares(answer: Floats, truth: Floats) -> tuple[Floats, Floats] | None:
    """Both tables as distributions of shape (cells,): without negative cells of the answer, and
    divided by their sums. None if one of them has no positive cell."""
    left, right = np.maximum(answer, 0.0).ravel(), truth.ravel()
    if left.sum() <= 0 or right.sum() <= 0:
        return None
    return left / left.sum(), right / right.sum()


def _by_view(
    distance: Callable[[Floats, Floats], float],
    answers: Sequence[Marginal],
    truths: Sequence[Marginal],
) -> list[float]:
    pairs = zip(answers, truths, strict=True)
    return [distance(answer.counts, truth.counts) for answer, truth in pairs]


def true_rows(truth: Floats) -> float:
    """N, or 1 for a table without rows."""
    return max(float(truth.sum()), 1.0)


def _largest(answer: Floats, truth: Floats) -> float:
    return float(np.abs(answer - truth).max()) / true_rows(truth)
