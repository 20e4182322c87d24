"""`PrefixTree`: counts of sequences, explored prefix by prefix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._checks import positive_integer
from ..._types import Floats, Integers
from ...domain.attribute import UNSEEN
from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Private, SparseCells
from ...solvers import agreeing
from ...sparse.axes import Leaves
from ...synopses.cells import CellSynopsis
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..fitted import MISSING_NODE
from .summaries import least_theta

__all__ = ["PrefixTree"]

_EMPTY_CHILDREN = 0.9
"""Largest expected number of empty children that pass below a node. It is below one, so that the
descendants of an empty node die out."""

_LEAST_COUNT = 1e-6
"""Smallest count of a sequence that is kept; less is the rounding error of a difference."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PrefixTree:
    """Counts of sequences, such as trajectories (Chen, Fung and Desai 2011, "Differentially private
    trajectory data publication").

    A row is a sequence: its attributes are its steps, in the order of the domain. A sequence that
    is over has the category `end` in all further steps. The nodes of the tree are the prefixes: a
    prefix of length j is a cell of the first j attributes. Level by level, the children of the
    nodes that were kept get noise, and those whose noisy count reaches a threshold are kept. So
    only a small part of a table of n**L cells is looked at. Empty children are not visited one by
    one; see `Private.sparse_cells`. Each level gets an equal share of the budget.

    The kept counts are then made consistent. Least squares brings each node near to the sum of its
    children; a child that did not pass counts as zero, with a standard deviation of a third of the
    threshold. From the root down, counts below zero become zero, and children that sum to more than
    their parent are scaled down. What a node has beyond its children is counted as sequences that
    end there, as in the paper. Standard errors of sums take the noise of one node for each kept
    sequence; they do not include the sequences that were dropped.

    Parameters
    ----------
    theta
        The threshold of all levels, >= 1. None takes for each level the smallest one for
        which at most 0.9 empty children are expected to pass below a node.
    end
        The category of steps after the end of a sequence. All attributes but the first need it.
    consistent
        Whether counts are fitted by least squares. Otherwise only the steps from the root down
        follow.

    Examples
    --------
    >>> PrefixTree(theta=20).end
    'end'
    """

    theta: int | None = None
    end: Any = "end"
    consistent: bool = True

    def __post_init__(self) -> None:
        if self.theta is not None:
            positive_integer("theta", self.theta)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Explore the tree from the root. The workload is not used."""
        domain = private.domain
        ends = self._ends(domain)
        levels: list[_Level] = []
        within: Integers | None = None
        for depth in range(1, len(domain) + 1):
            # The last level takes all that is left.
            spend = None if depth == len(domain) else f"1/{len(domain)}"
            found = private.sparse_cells(
                domain.attributes[:depth],
                keep=self._rule(domain.sizes[depth - 1]),
                within=within,
                spend=spend,
            )
            levels.append(_Level.of(found, levels))
            within = found.codes[found.codes[:, -1] != ends[depth - 1]]
            if not len(within):
                break
        counts = self._fitted(levels, domain)
        codes, values = _rows(levels, counts, domain, ends)
        return CellSynopsis(
            domain=domain,
            axes=tuple(Leaves(size) for size in domain.sizes),
            codes=codes,
            # A value of zero would mean that its cell was kept with probability zero.
            values=np.maximum(1, np.rint(values)).astype(np.int64),
            theta=min(level.theta for level in levels),
            tau=0.0,
            two_sided=False,
            variance=levels[0].variance,
            agreed=values,
        )

    def _rule(self, size: int) -> Any:
        """The filter of a level, from the number of cells and the noise."""

        def rule(cells: int, noise: DiscreteLaplace) -> Keep:
            theta = self.theta
            if theta is None:
                theta = least_theta(size, noise, _EMPTY_CHILDREN, two_sided=False)
            return Keep(theta, theta, False)

        return rule

    def _ends(self, domain: Domain) -> list[int]:
        """The code of the end for each attribute; -1 if the first step does not declare it."""
        codes = [attribute.code(self.end) for attribute in domain.values()]
        missing = [name for name, code in zip(domain, codes, strict=True) if code == UNSEEN]
        if missing and missing != [domain.attributes[0]]:
            raise DomainError(
                "every attribute but the first must declare a category for the end of a sequence, "
                f"but {missing[-1]!r} does not declare the category {self.end!r}; declare it, or "
                "set end="
            )
        return [-1 if code == UNSEEN else code for code in codes]

    def _fitted(
        self,
        levels: "list[_Level]",
        domain: Domain,
    ) -> list[Floats]:
        """The counts of all nodes by level, after least squares."""
        if not self.consistent:
            return [level.counts.astype(np.float64) for level in levels]
        sizes = [len(level.codes) for level in levels]
        starts = np.cumsum([0, *sizes])
        above = np.arange(starts[-1])
        height = np.repeat(np.arange(len(levels), 0, -1), sizes)
        missing = np.zeros(starts[-1], np.int64)
        for depth in range(1, len(levels)):
            parents = starts[depth - 1] + levels[depth].parents
            above[starts[depth] : starts[depth + 1]] = parents
            inner = slice(starts[depth - 1], starts[depth])
            given = np.bincount(levels[depth].parents, minlength=sizes[depth - 1])
            missing[inner] = domain.sizes[depth] - given
        fitted = agreeing(
            np.concatenate([level.counts for level in levels]).astype(np.float64),
            above,
            height,
            missing,
            variance=max(levels[0].variance, LEAST_VARIANCE),
            missing_variance=(levels[0].theta / MISSING_NODE) ** 2,
        )
        return np.split(fitted, starts[1:-1])


@dataclass(
    frozen=True,
    eq=False,
)
class _Level:
    """The kept prefixes of one length, and the place of each one's parent in the level above."""

    codes: Integers
    counts: Integers
    parents: Integers
    theta: int
    variance: float

    @classmethod
    def of(
        cls,
        found: SparseCells,
        above: "list[_Level]",
    ) -> "_Level":
        parents = np.zeros(len(found.codes), np.int64)
        if above:
            # Both are in ascending order, and each prefix has its parent in the level above.
            known = np.concatenate([above[-1].codes, found.codes[:, :-1]])
            _, rank = np.unique(known, axis=0, return_inverse=True)
            rank = rank.ravel()
            place = np.zeros(int(rank.max(initial=0)) + 1, np.int64)
            place[rank[: len(above[-1].codes)]] = np.arange(len(above[-1].codes))
            parents = place[rank[len(above[-1].codes) :]]
        assert isinstance(found.keep, Keep)
        return cls(found.codes, found.counts, parents, found.keep.theta, found.variance)


def _rows(
    levels: list[_Level],
    counts: list[Floats],
    domain: Domain,
    ends: list[int],
) -> tuple[Integers, Floats]:
    """The full sequences with their counts: no count is negative, and children sum to at most
    their parent."""
    totals = [np.maximum(level, 0.0) for level in counts]
    sequences = []
    values = []
    for depth, level in enumerate(levels):
        rest = totals[depth].copy()
        if depth + 1 < len(levels):
            below = levels[depth + 1].parents
            sums = np.bincount(below, totals[depth + 1], minlength=len(rest))
            scale = np.minimum(1.0, rest / np.maximum(sums, 1e-300))
            totals[depth + 1] *= scale[below]
            rest -= sums * scale
        # What is left of a prefix ends there.
        padded = np.tile(np.array(ends, np.int64), (len(rest), 1))
        padded[:, : depth + 1] = level.codes
        kept = rest > _LEAST_COUNT
        sequences.append(padded[kept])
        values.append(rest[kept])
    rows, place = np.unique(np.concatenate(sequences), axis=0, return_inverse=True)
    together = np.zeros(len(rows))
    np.add.at(together, place.ravel(), np.concatenate(values))
    return rows.reshape(-1, len(domain)), together
