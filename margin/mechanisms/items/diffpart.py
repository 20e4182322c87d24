"""`DiffPart`: rows that are sets of items, divided along a taxonomy of the items as far as noisy
counts allow."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer
from ...domain.workload import Workload
from ...private import Private
from ...synopses.itemsets import ItemsetCounts
from .dpsense import items_of

__all__ = ["DiffPart"]

Node = tuple[int, int]
"""The items low ... high - 1."""
Part = tuple[tuple[Node, ...], tuple[Node, ...]]
"""Nodes of each of which the rows hold an item, and nodes of which they hold none."""

_MAX_PARTS = 1 << 14


@dataclass(frozen=True, kw_only=True)
class DiffPart:
    """Counts of rows by the very set of items that they hold (Chen et al., PVLDB 4(11), 2011).

    All rows that hold something start in one part, for the root of a taxonomy: a tree over the
    items in their order, with `fanout` children a node. A part is divided by which children of one
    of its nodes its rows hold something of; parts whose noisy count is small are dropped, and the
    others divided further, until only items are left. Rows are in one part of a round only, so that
    all parts of a round share its charge.

    Parameters
    ----------
    fanout
        How many children a node of the taxonomy has.
    threshold
        In standard deviations of the noise: parts of smaller noisy counts are dropped.
    attributes
        See `DPSense`. Items that are alike should be neighbours.
    """

    fanout: int = 3
    threshold: float = 3.0
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("fanout", self.fanout - 1)

    def run(self, private: Private, workload: Workload | None) -> ItemsetCounts:
        """Divide, round by round. The workload has no say."""
        domain = items_of(private.domain, self.attributes)
        root = (0, domain.sizes[0])
        height = max(1, math.ceil(math.log(max(domain.sizes[0], 2), self.fanout) - 1e-9))
        rounds = 2 * height
        parts: list[Part] = [((root,), ())]
        done: list[tuple[tuple[int, ...], float, float]] = []
        for step in range(rounds):
            last = step == rounds - 1
            divided = [new for part in parts for new in self._divide(part)][:_MAX_PARTS]
            if not divided:
                break
            patterns = [
                tuple(tuple(tuple(range(*node)) for node in nodes) for nodes in part)
                for part in divided
            ]
            spend = None if last else f"1/{rounds}"
            noisy, variance = private.pattern_counts(self.attributes, patterns, spend=spend)  # type: ignore[arg-type]
            least = self.threshold * math.sqrt(variance)
            parts = []
            for part, count in zip(divided, noisy.tolist(), strict=True):
                if count < least:
                    continue
                if all(high - low == 1 for low, high in part[0]):
                    done.append((tuple(low for low, _ in part[0]), float(count), variance))
                else:
                    parts.append(part)
        done.sort(key=lambda it: (-it[1], it[0]))
        return ItemsetCounts(
            domain=domain,
            itemsets=tuple(items for items, _, _ in done),
            counts=np.array([count for _, count, _ in done]),
            variance=np.array([variance for _, _, variance in done]),
        )

    def _divide(self, part: Part) -> list[Part]:
        """The part by the children of its largest node: every choice of some of them, in order of
        size."""
        present, absent = part
        widest = max(present, key=lambda node: (node[1] - node[0], -node[0]))
        children = self._children(widest)
        rest = tuple(node for node in present if node != widest)
        divided = []
        for size in range(1, len(children) + 1):
            for chosen in itertools.combinations(children, size):
                others = tuple(child for child in children if child not in chosen)
                divided.append((tuple(sorted((*rest, *chosen))), (*absent, *others)))
        return divided

    def _children(self, node: Node) -> tuple[Node, ...]:
        low, high = node
        count = min(self.fanout, high - low)
        edges = [low + (high - low) * place // count for place in range(count + 1)]
        return tuple(itertools.pairwise(edges))
