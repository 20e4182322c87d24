"""`Tree`: least squares over the nodes of a tree in which each node is the sum of its children."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..types import Flags, Floats, Integers

__all__ = ["Below", "Tree"]


class Below(NamedTuple):
    """What the measurements of a node and of all nodes below it say about the node.

    Attributes
    ----------
    values
        The best linear unbiased estimate of each node from these measurements, shape (nodes,).
    variances
        Their variances, shape (nodes,).
    sums, spreads
        The same without the measurement of the node itself: the sum over its children of `values`
        and of `variances`; 0 and inf for a leaf.
    """

    values: Floats
    variances: Floats
    sums: Floats
    spreads: Floats


@dataclass(
    frozen=True,
    eq=False,
)
class Tree:
    """A rooted tree whose nodes have numbers: the number of rows in each.

    Let y_v be a measurement of node v with independent noise of variance s_v, and let the leaves x
    be unknown. The methods solve, in time linear in the number of nodes,

        minimise  sum over nodes v of (y_v - sum over leaves i below v of x_i)**2 / s_v.

    The weights are the inverse variances, so the solution is the best linear unbiased estimate, for
    any variances and any numbers of children. A node that was not measured has s_v = inf. A node
    that is known exactly has s_v = 0. Each leaf is measured.

    Parameters
    ----------
    parents
        The place of the parent of each node, shape (nodes,). Node 0 is the root and has parent -1.
        Nodes stand level by level, and parents never decrease: the children of a node follow each
        other.

    Raises
    ------
    ValueError
        When `parents` is not as described.

    Examples
    --------
    A root with two leaves, all measured with variance 1:

    >>> tree = Tree(np.array([-1, 0, 0]))
    >>> tree.least_squares(np.array([10.0, 4.0, 3.0]), np.ones(3))
    array([9., 5., 4.])
    """

    parents: Integers

    def __post_init__(self) -> None:
        parents = np.asarray(self.parents)
        places = np.arange(parents.size)
        if parents.ndim != 1 or not parents.size or parents.dtype.kind != "i" or parents[0] != -1:
            raise ValueError("parents must be integers, one for each node; that of node 0 is -1")
        later = parents[1:]
        if (later < 0).any() or (later >= places[1:]).any() or (np.diff(later) < 0).any():
            raise ValueError("the parent of a node must stand before it, and parents must ascend")

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """The places of the nodes of each level, from the root down."""
        levels = [slice(0, 1)]
        while levels[-1].stop < self.parents.size:
            # The children of a level are those whose parents are in it.
            end = int(np.searchsorted(self.parents, levels[-1].stop))
            levels.append(slice(levels[-1].stop, end))
        return tuple(levels)

    @cached_property
    def leaves(self) -> Integers:
        """The places of the nodes without children, in ascending order."""
        has_children = np.zeros(self.parents.size, np.bool_)
        has_children[self.parents[1:]] = True
        places: Integers = np.flatnonzero(~has_children)
        return places

    def above(self, is_divided: Flags) -> tuple["Tree", Integers]:
        """The tree of the nodes that remain if some nodes lose their children.

        Parameters
        ----------
        is_divided
            Whether each node keeps its children, shape (nodes,).

        Returns
        -------
        Tree
            The smaller tree.
        numpy.ndarray
            The places of its nodes in this tree, ascending.
        """
        remains = np.zeros(self.parents.size, np.bool_)
        remains[0] = True
        for level in self.levels[1:]:
            parent = self.parents[level]
            remains[level] = remains[parent] & is_divided[parent]
        kept: Integers = np.flatnonzero(remains)
        place = np.cumsum(remains) - 1
        return Tree(np.concatenate([[-1], place[self.parents[kept[1:]]]])), kept

    def totals(self, values: Floats) -> Floats:
        """The sum over the leaves below each node, from the values of the leaves, shape
        (nodes,)."""
        totals = np.zeros(self.parents.size)
        totals[self.leaves] = values[self.leaves]
        for level in reversed(self.levels[1:]):
            np.add.at(totals, self.parents[level], totals[level])
        return totals

    def below(
        self,
        values: Floats,
        variances: Floats,
    ) -> Below:
        """The upward pass: what the measurements below each node say about it.

        Parameters
        ----------
        values
            The measurements, shape (nodes,). They are not read where the variance is inf.
        variances
            The variances of their noise, shape (nodes,).
        """
        nodes = self.parents.size
        sums = np.zeros(nodes)
        spreads = np.zeros(nodes)
        spreads[self.leaves] = np.inf
        fitted = np.zeros(nodes)
        remaining = np.zeros(nodes)
        known = np.where(np.isfinite(variances), values, 0.0)
        for level in reversed(self.levels):
            # The mean of the measurement and of the sum of the children, by their precisions.
            gain = _gain(spreads[level], variances[level])
            fitted[level] = sums[level] + gain * (known[level] - sums[level])
            remaining[level] = _remaining(spreads[level], variances[level])
            if level.start:
                np.add.at(sums, self.parents[level], fitted[level])
                np.add.at(spreads, self.parents[level], remaining[level])
        return Below(fitted, remaining, sums, spreads)

    def least_squares(
        self,
        values: Floats,
        variances: Floats,
        *,
        nonnegative: bool = False,
    ) -> Floats:
        """The least-squares estimate of each node, shape (nodes,).

        Parameters
        ----------
        values, variances
            See `below`.
        nonnegative
            Whether no node may be negative. Then the downward pass solves for each node p with
            estimate X_p the problem: minimise the sum over its children c of (x_c - z_c)**2 / a_c,
            where z_c and a_c are the estimate and the variance of c by `below`, subject to x_c >= 0
            and to the sum X_p. Without x_c >= 0 these problems give the least-squares estimate.
        """
        below = self.below(values, variances)
        fitted = below.values.copy()
        if nonnegative:
            fitted[0] = max(fitted[0], 0.0)
        for level in self.levels[1:]:
            parent = self.parents[level]
            offered = below.values[level]
            spread = below.variances[level]
            if nonnegative:
                fitted[level] = _shared(offered, spread, parent, fitted)
                continue
            # The difference is divided among the children in proportion to their variances.
            of_all = below.spreads[parent]
            part = np.divide(spread, of_all, out=np.zeros_like(spread), where=of_all > 0)
            fitted[level] = offered + part * (fitted[parent] - below.sums[parent])
        return self.totals(fitted)

    def variance_of(
        self,
        variances: Floats,
        leaves: Integers,
        queries: Integers,
        weights: Floats,
    ) -> Floats:
        """The variance of weighted sums of the leaves of `least_squares`.

        Let C be the covariance of the leaves below a node, given the measurements at and below it,
        and w the weights of a query. The upward pass carries a = 1'C1, b = 1'Cw and c = w'Cw. For
        the children of a node these add up, because their noise is independent. A measurement of
        the node of variance s subtracts C11'C / (a + s) from C.

        Parameters
        ----------
        variances
            See `below`.
        leaves, queries, weights
            Query ``queries[k]`` holds leaf ``leaves[k]`` with weight ``weights[k]``: arrays of one
            shape (terms,). Queries are numbered from 0.

        Returns
        -------
        numpy.ndarray
            The variance of each query, shape (queries,).
        """
        below = self.below(np.zeros(self.parents.size), variances)
        number = int(queries.max(initial=-1)) + 1
        if not number:
            return np.zeros(0)
        # A term belongs to a pair of a node and a query.
        at = leaves
        asked = queries
        b = below.variances[leaves] * weights
        c = b * weights
        for level in reversed(self.levels):
            here = at >= level.start
            if not here.any():
                continue
            pair, inverse = np.unique(at[here] * number + asked[here], return_inverse=True)
            node = pair // number
            of_pair = pair % number
            b_sum = np.bincount(inverse, b[here], minlength=pair.size)
            c_sum = np.bincount(inverse, c[here], minlength=pair.size)
            # The terms of leaves hold the measurement already.
            inner = np.isfinite(below.spreads[node])
            a = np.where(inner, below.spreads[node], 0.0)
            gain = np.where(inner, _gain(a, variances[node]), 0.0)
            squares = b_sum**2 * gain
            c_sum -= np.divide(squares, a, out=np.zeros_like(a), where=a > 0)
            b_sum *= 1 - gain
            above = self.parents[node] if level.start else node
            at = np.concatenate([at[~here], above])
            asked = np.concatenate([asked[~here], of_pair])
            b = np.concatenate([b[~here], b_sum])
            c = np.concatenate([c[~here], c_sum])
        return np.maximum(np.bincount(asked, c, minlength=number), 0.0)


def _gain(spreads: Floats, variances: Floats) -> Floats:
    """The weight of a measurement against the sum of the children: spread / (spread + variance)."""
    gain = np.ones_like(spreads)
    inner = np.isfinite(spreads)
    total = spreads + variances
    # Where both are exact, the sum of the children is kept.
    np.divide(spreads, total, out=gain, where=inner & (total > 0))
    gain[inner & (total == 0)] = 0.0
    return gain


def _remaining(spreads: Floats, variances: Floats) -> Floats:
    """The variance of the mean of both: 1 / (1 / spread + 1 / variance)."""
    # Multiplication by the smaller part keeps inf and 0 apart.
    with np.errstate(divide="ignore"):
        precision = 1 / spreads + 1 / variances
    return 1 / precision


def _shared(
    offered: Floats,
    spread: Floats,
    parent: Integers,
    fitted: Floats,
) -> Floats:
    """Children >= 0 that add up to their parents: x_c = max(0, z_c - t_p a_c) for a number t_p.

    Parameters
    ----------
    offered, spread
        z_c and a_c for the nodes of one level, shape (children,).
    parent
        Their parents, in ascending order.
    fitted
        The nodes above, which are >= 0.
    """
    _, family, size = np.unique(parent, return_inverse=True, return_counts=True)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    total = fitted[parent[first]]
    # Children that are known exactly keep their values; a tiny spread orders them first.
    width = np.maximum(spread, 1e-12 * max(float(spread.max()), 1e-300))
    ratio = offered / width
    order = np.lexsort((-ratio, family))
    # t for the first k children of each family alone; the active ones are those above their t.
    z = np.cumsum(offered[order])
    a = np.cumsum(width[order])
    before_z = np.concatenate([[0.0], z])[first][family]
    before_a = np.concatenate([[0.0], a])[first][family]
    t = (z - before_z - total[family]) / (a - before_a)
    active = ratio[order] >= t
    active[first] = True
    last = np.full(size.size, -1)
    np.maximum.at(last, family[active], np.flatnonzero(active))
    shared: Floats = np.maximum(offered - t[last][family] * width, 0.0)
    return shared
