"""Exact maximum entropy over tables of pairs of axes that form a forest."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..tables.tables import Axes, Tables
from ..types import Floats

__all__ = ["Forest"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Forest:
    """The distribution of maximum entropy whose one-way and two-way tables are given.

    The pairs of axes form a forest: they make no cycle. Then the distribution is a product over
    axes and pairs,

        p(x) = prod_a p_a(x_a) prod_ab p_ab(x_a, x_b) / (p_a(x_a) p_b(x_b)),

    and each marginal of it is a sum of products, computed along the branches that connect its axes
    (Chow and Liu 1968; the junction tree of a forest). The work does not depend on the number of
    the other axes, nor on the number of cells of the whole array.

    Attributes
    ----------
    sizes
        The number of categories of every axis of the whole array.
    alone
        For each axis, the shares of its categories, shape (size,).
    given
        For each pair (a, b) of axes with a table, in both orders, the shares of the categories of b
        among the rows with each category of a, shape (size of a, size of b).

    Examples
    --------
    >>> agree = np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> tables = Tables(
    ...     sizes=(2, 2, 2),
    ...     views=((0, 1), (1, 2)),
    ...     values=(agree, agree),
    ...     variances=(1.0, 1.0),
    ... )
    >>> forest = Forest.of(tables)
    >>> forest.shares((0, 2)).round(2).tolist()
    [[0.34, 0.16], [0.16, 0.34]]
    """

    sizes: tuple[int, ...]
    alone: tuple[Floats, ...]
    given: dict[tuple[int, int], Floats]

    @classmethod
    def of(cls, tables: Tables) -> "Forest | None":
        """The forest of consistent, non-negative tables of positive total.

        None if a table has more than two axes of several categories, if the pairs make a cycle, or
        if cells of the array must be zero.
        """
        sizes = tables.sizes
        if tables.zeros is not None or tables.total <= 0:
            return None
        alone = [np.full(size, 1 / size) for size in sizes]
        given: dict[tuple[int, int], Floats] = {}
        trees = list(range(len(sizes)))  # for each axis the name of its tree so far
        for view, value in zip(tables.views, tables.values, strict=True):
            axes = [axis for axis in view if sizes[axis] > 1]
            if len(axes) > 2 or value.min() < 0:
                return None
            table = value.reshape([sizes[axis] for axis in axes]) / value.sum()
            for place, axis in enumerate(axes):
                alone[axis] = table if len(axes) == 1 else table.sum(axis=1 - place)
            if len(axes) < 2:
                continue
            first, second = axes
            if trees[first] == trees[second]:
                return None
            joined, gone = trees[first], trees[second]
            trees = [joined if name == gone else name for name in trees]
            given[first, second] = _conditional(table)
            given[second, first] = _conditional(table.T)
        return cls(
            sizes=sizes,
            alone=tuple(alone),
            given=given,
        )

    def shares(self, asked: Axes) -> Floats:
        """The marginal on some ascending axes, of sum one, shape ``[sizes[a] for a in asked]``."""
        table = np.ones(1)
        order: list[int] = []
        while len(order) < len(asked):
            root = min(set(asked).difference(order))
            cells, axes = self._tree(root, set(asked))
            joint = self.alone[root][:, None] * cells
            # Different trees are independent.
            table = np.multiply.outer(table, joint).ravel()
            order += [root, *axes]
        shaped = table.reshape([self.sizes[axis] for axis in order])
        return np.ascontiguousarray(shaped.transpose(np.argsort(order)))

    def _tree(
        self,
        root: int,
        asked: set[int],
    ) -> tuple[Floats, list[int]]:
        """The shares of the categories of the other asked axes of a tree, among the rows with each
        category of its root, shape (size of the root, cells); and these axes.
        """
        # The axes of the tree, each after its parent.
        parents: dict[int, int] = {root: root}
        for axis in (reached := [root]):
            for child in self._neighbours[axis]:
                if child not in parents:
                    parents[child] = axis
                    reached.append(child)
        # From the leaves on, each axis passes what is asked on its branches to its parent.
        cells = {axis: np.ones((self.sizes[axis], 1)) for axis in reached}
        below: dict[int, list[int]] = {axis: [] for axis in reached}
        for child in reversed(reached[1:]):
            parent = parents[child]
            given = self.given[parent, child]
            if child in asked:
                passed = (given[:, :, None] * cells[child]).reshape(len(given), -1)
                below[parent] += [child, *below[child]]
            elif below[child]:
                passed = given @ cells[child]
                below[parent] += below[child]
            else:
                continue
            product = cells[parent][:, :, None] * passed[:, None, :]
            cells[parent] = product.reshape(len(product), -1)
        return cells[root], below[root]

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        """The axes that share a table with each axis."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for first, second in self.given:
            found[first].append(second)
        return found


def _conditional(table: Floats) -> Floats:
    """The rows of a table, each divided by its sum; a row of zeros becomes uniform."""
    sums = table.sum(axis=1, keepdims=True)
    return np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1 / table.shape[1])
