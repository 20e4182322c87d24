"""Measures of how well the most frequent itemsets are found.

Itemsets are read from marginals. If all attributes of a marginal have two categories, it gives one
itemset: its count is that of the cell where every attribute has its second category. Otherwise each
cell is one item.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._checks import whole_number
from .._types import Floats
from ..domain.marginal import Marginal

__all__ = ["F1", "NDCG", "ndcg"]


@dataclass(frozen=True)
class NDCG:
    """The normalised discounted cumulative gain of the first k itemsets, from 0 to 1, for each run;
    see `ndcg`.

    The itemsets of all views are ordered by their answers. Source: Jaervelin and Kekaelaeinen, ACM
    TOIS 20 (2002); Day and Li, *DPSense*, ASIACCS 2015, with the true counts as gains.

    Parameters
    ----------
    k
        The number of itemsets, >= 1; all of them if there are fewer.

    Raises
    ------
    DomainError
        If `k` is not a whole number >= 1.
    """

    k: int = 10
    larger_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("k", self.k)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"NDCG@{self.k}"

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        return [ndcg(_itemsets(truths), _first(_itemsets(answers), self.k))]


@dataclass(frozen=True)
class F1:
    """The F1 score of the k most frequent itemsets, from 0 to 1, for each run.

    F1 = 2 precision recall / (precision + recall). The set that is found and the true set both have
    k itemsets, so precision, recall and F1 are equal: the share of the k itemsets with the largest
    answers that are truly among the k most frequent. One that ties with the k-th counts as such.
    1 - F1 is the false negative rate of Li et al., *PrivBasis*, PVLDB 5 (2012).

    Parameters
    ----------
    k
        The number of itemsets, >= 1; all of them if there are fewer.

    Raises
    ------
    DomainError
        If `k` is not a whole number >= 1.
    """

    k: int = 10
    larger_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("k", self.k)

    @property
    def name(self) -> str:
        """The heading of its column in a table."""
        return f"F1@{self.k}"

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        true = _itemsets(truths)
        found = true[_first(_itemsets(answers), self.k)]
        least = true[_first(true, self.k)[-1]]
        return [float((found >= least).mean())]


def ndcg(truth: NDArray[np.generic], order: NDArray[np.integer]) -> float:
    """The normalised discounted cumulative gain of an order of items, from 0 to 1.

    The gain of an item is its true count, divided by log2(1 + its position), where the first
    position is 1. The sum over the order is divided by that of the best order of the same length.
    It is 1 if all true counts are zero.

    Parameters
    ----------
    truth : array, shape (items,)
        The true counts.
    order : array of int, shape (k,)
        The places in `truth` of the items that were found, the most frequent first.

    Examples
    --------
    >>> ndcg(np.array([8, 4, 2]), np.array([0, 1]))
    1.0
    """
    gains = np.asarray(truth, np.float64)
    discount = 1 / np.log2(np.arange(2, len(order) + 2))
    best = float((np.sort(gains)[::-1][: len(order)] * discount).sum())
    return float((gains[order] * discount).sum()) / best if best > 0 else 1.0


def _itemsets(tables: Sequence[Marginal]) -> Floats:
    """The counts of the itemsets of some marginals, shape (itemsets,)."""
    counts = []
    for table in tables:
        cells = table.counts.ravel()
        binary = set(table.counts.shape) == {2}
        counts.append(cells[-1:] if binary else cells)
    return np.concatenate(counts)


def _first(counts: Floats, k: int) -> NDArray[np.intp]:
    """The places of the k largest counts, in falling order; equal counts in their own order."""
    return np.argsort(-counts, kind="stable")[:k]
