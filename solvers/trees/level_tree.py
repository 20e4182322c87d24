"""`LevelTree`: least squares over the levels of a tree, for many tables at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..types import Floats, Integers

__all__ = ["LevelTree"]


@dataclass(
    frozen=True,
    eq=False,
)
class LevelTree:
    """Several trees whose leaves all stand on the last level, each level measured everywhere.

    A table of level l has a row for each node of the level and a column for each independent
    problem, such as a combination of other attributes. Rows of all levels follow from the rows of
    the leaves by sums. Let y_l be measurements of level l with independent noise of variance s_l.
    The methods solve, in time linear in the number of nodes,

        minimise  sum over levels l of |y_l - (sums of the leaves x)|**2 / s_l.

    The upward pass finds for each node the estimate z and its variance a from the node and all
    below it; the downward pass divides what the levels above add among siblings in proportion to a
    (Hay et al., VLDB 2010, for any variances and numbers of children; see `Tree`).

    Parameters
    ----------
    groups
        For each level the node of each leaf, ascending from 0, shape (leaves,), from the largest
        nodes down. The last one is the leaves themselves: 0, 1, 2, ...

    Examples
    --------
    One node with two leaves, all measured with variance 1:

    >>> tree = LevelTree([np.array([0, 0]), np.array([0, 1])])
    >>> tree.least_squares([np.array([[10.0]]), np.array([[4.0], [3.0]])], [1.0, 1.0]).tolist()
    [[5.0], [4.0]]
    """

    groups: Sequence[Integers]

    def __post_init__(self) -> None:
        last = self.groups[-1]
        if not np.array_equal(last, np.arange(len(last))):
            raise ValueError("the last level must be the leaves, 0, 1, 2, ...; add this level")

    @cached_property
    def starts(self) -> tuple[Integers, ...]:
        """For each level but the last, the first child of each node in the next level."""
        found = []
        for upper, lower in zip(self.groups, self.groups[1:], strict=False):
            # The parent of each node of the lower level is that of its first leaf.
            first = np.flatnonzero(np.diff(lower, prepend=-1))
            found.append(np.flatnonzero(np.diff(upper[first], prepend=-1)).astype(np.int64))
        return tuple(found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(int(group[-1]) + 1 for group in self.groups)

    def sums(self, leaves: Floats) -> list[Floats]:
        """The tables of all levels, from that of the leaves: shapes (nodes, ...)."""
        tables = [leaves]
        for starts in reversed(self.starts):
            tables.append(np.add.reduceat(tables[-1], starts, axis=0))
        return tables[::-1]

    def least_squares(
        self,
        values: Sequence[Floats],
        variances: Sequence[float],
    ) -> Floats:
        """The least-squares estimate of the leaves, shape (leaves, columns).

        Parameters
        ----------
        values
            The measurements of each level, shape (nodes, columns).
        variances
            The variance of the noise of each level, > 0.
        """
        below = self._below(variances)
        # Upwards: the mean of a node's measurement and the sum of its children's estimates.
        estimates = [np.asarray(values[-1], np.float64)]
        gaps = []
        for level in range(len(self.starts) - 1, -1, -1):
            summed = np.add.reduceat(estimates[-1], self.starts[level], axis=0)
            spread = np.add.reduceat(below[level + 1], self.starts[level])
            gain = (spread / (spread + variances[level]))[:, None]
            estimates.append(summed + gain * (values[level] - summed))
            gaps.append(summed)
        estimates.reverse()
        gaps.reverse()
        # Downwards: the difference is divided in proportion to the variances.
        fitted = estimates[0]
        for level, starts in enumerate(self.starts):
            own = below[level + 1]
            parent = self._parents(level)
            share = own / np.add.reduceat(own, starts)[parent]
            moved = (fitted - gaps[level])[parent]
            moved *= share[:, None]
            moved += estimates[level + 1]
            fitted = moved
        return fitted

    def nonnegative(
        self,
        values: Sequence[Floats],
        variances: Sequence[float],
    ) -> Floats:
        """The solution of the same problem with leaves >= 0, shape (leaves, columns).

        Let g(t) be the least objective of the subtree of a node if its number is t. Then g' is
        continuous, increasing and linear in pieces. For a leaf t(m) = max(0, y + s m) is its
        inverse at the multiplier m = g'. The inverse of a sum of children is the sum of their
        inverses, and a measurement of the node adds (t - y) / s to the multiplier of each t. So
        each node keeps the breakpoints of t(m), sorted by m: as many as it has leaves. At the top
        the multiplier is zero. A node passes m - (t - y) / s on to its children. The solution is
        exact, in time n log n for each level.
        """
        from . import level_loops

        found = np.empty((self.sizes[-1], values[-1].shape[1]))
        sizes = np.array(self.sizes, dtype=np.int64)
        starts = np.concatenate([*self.starts, np.zeros(0, np.int64)])
        first = np.concatenate([np.flatnonzero(np.diff(g, prepend=-1)) for g in self.groups])
        own = np.array(variances, dtype=np.float64)
        for column in range(found.shape[1]):
            measured = np.concatenate([table[:, column] for table in values])
            found[:, column] = level_loops.nonnegative(sizes, starts, first, measured, own)
        return found

    def node_variances(self, variances: Sequence[float]) -> list[Floats]:
        """The error variances of `least_squares` for the nodes of each level, shapes (nodes,).

        The parameters are as in `least_squares`.
        """
        below = self._below(variances)
        found = [below[0]]
        for level, starts in enumerate(self.starts):
            own = below[level + 1]
            parent = self._parents(level)
            share = own / np.add.reduceat(own, starts)[parent]
            found.append(own * (1 - share) + share**2 * found[-1][parent])
        return found

    def variance_of(self, variances: Sequence[float], weights: Floats) -> float:
        """The error variance of a weighted sum of the leaves of `least_squares`.

        Let C be the covariance of the leaves below a node from all measurements at and below it.
        The upward pass carries a = 1'C1, b = 1'Cw and c = w'Cw; a measurement of the node
        subtracts C11'C / (a + s) from C.

        Parameters
        ----------
        variances
            As in `least_squares`.
        weights
            The weight of each leaf, shape (leaves,).
        """
        below = self._below(variances)
        cross = variances[-1] * weights
        square = cross * weights
        for level in range(len(self.starts) - 1, -1, -1):
            starts = self.starts[level]
            spread = np.add.reduceat(below[level + 1], starts)
            cross = np.add.reduceat(cross, starts)
            square = np.add.reduceat(square, starts)
            square = square - cross**2 / (spread + variances[level])
            cross = cross * (variances[level] / (spread + variances[level]))
        return max(float(square.sum()), 0.0)

    def _below(self, variances: Sequence[float]) -> list[Floats]:
        """The variance of each node's estimate from the measurements at and below it."""
        below = [np.full(self.sizes[-1], float(variances[-1]))]
        for level in range(len(self.starts) - 1, -1, -1):
            spread = np.add.reduceat(below[-1], self.starts[level])
            below.append(1 / (1 / spread + 1 / variances[level]))
        return below[::-1]

    def _parents(self, level: int) -> Integers:
        """For each node of the level below a level, its parent."""
        starts = self.starts[level]
        counts = np.diff(np.append(starts, self.sizes[level + 1]))
        return np.repeat(np.arange(len(starts)), counts)
