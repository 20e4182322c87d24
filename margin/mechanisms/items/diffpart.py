"""`DiffPart`: a mechanism that counts sets of items. It divides the rows along a taxonomy of the
items, as far as noisy counts allow."""

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
"""The items low, ..., high - 1, as (low, high)."""

Part = tuple[tuple[Node, ...], tuple[Node, ...]]
"""A set of rows, by two groups of nodes.

Each row holds an item of every node of the first group, and no item of the second group.
"""

Nodes = tuple[tuple[int, ...], ...]
"""Nodes as lists of their items."""

_MAX_PARTS = 1 << 14
"""Largest number of parts that are counted in a round."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class DiffPart:
    """A mechanism that counts the rows with exactly the same set of items (Chen et al., PVLDB
    4(11), 2011).

    All rows that hold at least one item start in one part, at the root of a taxonomy: a tree over
    the items in their order, where each node has `fanout` children. A part is divided at one of its
    nodes: rows that hold items of different children go to different parts. Parts whose noisy count
    is small are dropped. The others are divided further, until only items are left. In each round a
    row is in one part only, so all parts of a round share its charge.

    Parameters
    ----------
    fanout
        The number of children of a node of the taxonomy, >= 2.
    threshold
        The smallest noisy count of a part that is kept, in standard deviations of the noise.
    attributes
        See `DPSense`. Items that are alike should be neighbours.
    """

    fanout: int = 3
    threshold: float = 3.0
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("fanout", self.fanout - 1)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ItemsetCounts:
        """Run the mechanism: divide and count the rows round by round. The workload is not used."""
        domain = items_of(private.domain, self.attributes)
        items = domain.sizes[0]
        height = max(1, math.ceil(math.log(max(items, 2), self.fanout) - 1e-9))
        rounds = 2 * height
        parts: list[Part] = [(((0, items),), ())]
        # Sets of items with their noisy counts and the variances of these.
        done: list[tuple[tuple[int, ...], float, float]] = []
        for step in range(rounds):
            divided = [new for part in parts for new in self._divide(part)][:_MAX_PARTS]
            if not divided:
                break
            # The last round takes all that is left of the budget.
            spend = None if step == rounds - 1 else f"1/{rounds}"
            patterns = [_pattern(part) for part in divided]
            noisy, variance = private.pattern_counts(
                self.attributes,
                patterns,
                spend=spend,
            )
            least = self.threshold * math.sqrt(variance)
            parts = []
            for part, count in zip(divided, noisy.tolist(), strict=True):
                if count < least:
                    continue
                present, _ = part
                if all(high - low == 1 for low, high in present):
                    done.append((tuple(low for low, _ in present), float(count), variance))
                else:
                    parts.append(part)
        done.sort(key=lambda found: (-found[1], found[0]))
        return ItemsetCounts(
            domain=domain,
            itemsets=tuple(itemset for itemset, _, _ in done),
            counts=np.array([count for _, count, _ in done]),
            variance=np.array([variance for _, _, variance in done]),
        )

    def _divide(self, part: Part) -> list[Part]:
        """Divide a part at its largest node: one new part for each non-empty set of its children.

        Small sets come first.
        """
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


def _pattern(part: Part) -> tuple[Nodes, Nodes]:
    """Convert a part to the form that `Private.pattern_counts` takes: nodes as lists of items."""
    present, absent = part
    return (
        tuple(tuple(range(low, high)) for low, high in present),
        tuple(tuple(range(low, high)) for low, high in absent),
    )
