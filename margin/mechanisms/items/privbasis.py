"""`PrivBasis`: a mechanism that counts the most frequent sets of items by tables of a few bases."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import positive_integer
from ..._numbers import Number, exact, shown
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private
from ...synopses.itemsets import ItemsetCounts
from ...synopses.noisy_tables import LEAST_VARIANCE
from .dpsense import items_of

__all__ = ["PrivBasis"]

_Set = tuple[int, ...]
"""A set of items, as their places in ascending order."""

_LONGEST = 12
"""Largest number of items of a basis: its table has 2 ** 12 cells."""

_LONGEST_SET = 8
"""Largest number of items of a set that is counted."""

_MERGED = 6
"""Largest number of items of a basis that is the union of two."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PrivBasis:
    """A mechanism that finds and counts about the k most frequent sets of items (Li, Qardaji, Su
    and Cao, PVLDB 5(11), 2012).

    The exponential mechanism chooses frequent items, then frequent pairs of them. The maximal
    cliques of the graph of these pairs are bases, cut to at most twelve items. For each basis, rows
    are counted with noise by the items of the basis that they hold. The count of a set is the sum
    of the cells that hold it, averaged over the bases that contain it.

    A public rule sets the number of items; the paper spends a part of the budget on choosing it.

    Parameters
    ----------
    k
        The number of sets, >= 1.
    items
        The number of frequent items that are chosen; None takes min(k, ceil(2 sqrt(k)) + 4). Up to
        twelve items make one basis, and no pairs are chosen.
    shares
        Three numbers > 0, for items, pairs and counts; the budget is divided in proportion to them.
    attributes
        See `DPSense`.
    """

    k: int
    items: int | None = None
    shares: tuple[Number, Number, Number] = ("0.25", "0.25", "0.5")
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("k", self.k)
        if self.items is not None:
            positive_integer("items", self.items)
        if len(self.shares) != 3 or min(exact("a share", share) for share in self.shares) <= 0:
            raise DomainError(
                "shares must be three numbers > 0, for items, pairs and counts, but it is "
                f"{shown(self.shares)}; pass three such numbers"
            )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ItemsetCounts:
        """Run the mechanism: choose items and pairs, form bases, and count. The workload is not
        used."""
        domain = items_of(private.domain, self.attributes)
        wanted = self.items or min(self.k, math.ceil(2 * math.sqrt(self.k)) + 4)
        bases = self._bases(private, min(wanted, domain.sizes[0]))
        tables, variance = private.basis_tables(self.attributes, bases)
        # Each set has an estimate, with its variance, from every basis that it is in.
        found: dict[_Set, list[tuple[float, float]]] = {}
        for basis, table in zip(bases, tables, strict=True):
            for size in range(1, min(len(basis), _LONGEST_SET) + 1):
                # The count is a sum of 2 ** (other items) cells.
                noise = max(variance, LEAST_VARIANCE) * 2 ** (len(basis) - size)
                for axes in itertools.combinations(range(len(basis)), size):
                    items = tuple(basis[axis] for axis in axes)
                    estimate = (_holding(table, axes), noise)
                    found.setdefault(items, []).append(estimate)
        estimates = [(*_average(parts), items) for items, parts in found.items()]
        estimates.sort(key=lambda estimate: (-estimate[0], estimate[2]))
        best = estimates[: self.k]
        return ItemsetCounts(
            domain=domain,
            itemsets=tuple(items for _, _, items in best),
            counts=np.array([count for count, _, _ in best]),
            variance=np.array([noise for _, noise, _ in best]),
        )

    def _bases(
        self,
        private: Private,
        number: int,
    ) -> list[_Set]:
        """Choose `number` items privately and form bases of them; many items are grouped by
        pairs that are chosen privately too."""
        shares = [exact("a share", share) for share in self.shares]
        single = number <= _LONGEST
        total = shares[0] + shares[2] + (0 if single else shares[1])
        chosen = private.select_items(
            self.attributes,
            count=number,
            spend=shares[0] / total,
        )
        if single:
            return [tuple(sorted(chosen))]
        pairs = list(itertools.combinations(sorted(chosen), 2))
        count = min(len(pairs), max(self.k - number, number))
        places = private.select_sets(
            self.attributes,
            pairs,
            count=count,
            spend=shares[1] / total,
        )
        return _bases(chosen, [pairs[place] for place in places])


def _holding(table: NDArray[Any], axes: tuple[int, ...]) -> float:
    """The number of rows that hold the items on some axes of the table of a basis."""
    cells = tuple(1 if axis in axes else slice(None) for axis in range(table.ndim))
    return float(table[cells].sum())


def _average(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The mean of estimates weighted by the inverse of their variances, and its variance."""
    weight = sum(1 / noise for _, noise in parts)
    return sum(count / noise for count, noise in parts) / weight, 1 / weight


def _bases(
    items: Iterable[int],
    pairs: list[tuple[int, int]],
) -> list[_Set]:
    """The maximal cliques of the graph of pairs, cut to twelve items each.

    Items without a pair are put together.
    """
    import networkx

    graph = networkx.Graph(pairs)
    cliques = sorted(tuple(sorted(clique)) for clique in networkx.find_cliques(graph))
    bases = [part for clique in cliques for part in _cut(clique)]
    bases += _cut(tuple(sorted(set(items) - set(graph))))
    # Two small bases cost more noise than one of their union.
    merged: list[_Set] = []
    for basis in sorted(bases, key=len):
        for place, other in enumerate(merged):
            union = set(other) | set(basis)
            if len(union) <= _MERGED:
                merged[place] = tuple(sorted(union))
                break
        else:
            merged.append(basis)
    return merged


def _cut(items: _Set) -> list[_Set]:
    return [items[start : start + _LONGEST] for start in range(0, len(items), _LONGEST)]
