"""`PrivBasis`: the most frequent sets of items, through a few bases that hold them."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer
from ..._numbers import Number, exact
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private
from ...synopses.itemsets import ItemsetCounts
from ...synopses.noisy_tables import LEAST_VARIANCE
from .dpsense import items_of

__all__ = ["PrivBasis"]

_LONGEST = 12


@dataclass(frozen=True, kw_only=True)
class PrivBasis:
    """The k most frequent sets of items (Li, Qardaji, Su and Cao, PVLDB 5(11), 2012).

    Frequent items are chosen by the exponential mechanism, then frequent pairs of them; the maximal
    cliques of the graph of these pairs are bases, of at most twelve items. For each basis it is
    counted how many rows hold which of its items, with noise, and a set's count is the sum of the
    cells that hold it, averaged over the bases that it is in.

    How many items are looked at is a public rule here; the paper spends a part of the budget on
    choosing it.

    Parameters
    ----------
    k
        How many sets.
    items
        How many frequent items are chosen; min(k, ceil(2 sqrt(k)) + 4) when not given. Up to twelve
        make one basis.
    shares
        The parts of the budget for items, pairs and counts, in proportion.
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
            raise DomainError("shares must be three positive numbers")

    def run(self, private: Private, workload: Workload | None) -> ItemsetCounts:
        """Choose items and pairs, make bases, count. The workload has no say."""
        domain = items_of(private.domain, self.attributes)
        shares = [exact("a share", share) for share in self.shares]
        wanted = self.items or min(self.k, math.ceil(2 * math.sqrt(self.k)) + 4)
        number = min(wanted, domain.sizes[0])
        single = number <= _LONGEST
        total = shares[0] + shares[2] + (0 if single else shares[1])
        chosen = private.select_items(self.attributes, count=number, spend=shares[0] / total)
        bases = [tuple(sorted(chosen))]
        if not single:
            pairs = list(itertools.combinations(sorted(chosen), 2))
            count = min(len(pairs), max(self.k - number, number))
            places = private.select_sets(
                self.attributes, pairs, count=count, spend=shares[1] / total
            )
            bases = _bases(chosen, [pairs[place] for place in places])
        tables, variance = private.basis_tables(self.attributes, bases)
        found: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        for basis, table in zip(bases, tables, strict=True):
            for size in range(1, min(len(basis), 8) + 1):
                for axes in itertools.combinations(range(len(basis)), size):
                    held = table[
                        tuple(1 if axis in axes else slice(None) for axis in range(len(basis)))
                    ]
                    noise = max(variance, LEAST_VARIANCE) * 2 ** (len(basis) - size)
                    found.setdefault(tuple(basis[axis] for axis in axes), []).append(
                        (float(held.sum()), noise)
                    )
        estimates = sorted(
            ((*_average(parts), items) for items, parts in found.items()),
            key=lambda it: (-it[0], it[2]),
        )
        best = estimates[: self.k]
        return ItemsetCounts(
            domain=domain,
            itemsets=tuple(items for _, _, items in best),
            counts=np.array([count for count, _, _ in best]),
            variance=np.array([noise for _, noise, _ in best]),
        )


def _average(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The mean of estimates weighted by the inverse of their variances, and its variance."""
    weight = sum(1 / noise for _, noise in parts)
    return sum(count / noise for count, noise in parts) / weight, 1 / weight


def _bases(items: Iterable[int], pairs: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The maximal cliques of the graph of pairs, cut to twelve items; single items are taken
    together."""
    import networkx

    graph = networkx.Graph(pairs)
    cliques = sorted(tuple(sorted(clique)) for clique in networkx.find_cliques(graph))
    bases = [
        clique[start : start + _LONGEST]
        for clique in cliques
        for start in range(0, len(clique), _LONGEST)
    ]
    single = sorted(set(items) - set(graph))
    bases += [tuple(single[start : start + _LONGEST]) for start in range(0, len(single), _LONGEST)]
    merged: list[tuple[int, ...]] = []
    for basis in sorted(bases, key=len):  # two small bases cost more noise than one of their union
        for place, other in enumerate(merged):
            union = set(other) | set(basis)
            if len(union) <= 6:
                merged[place] = tuple(sorted(union))
                break
        else:
            merged.append(basis)
    return merged
