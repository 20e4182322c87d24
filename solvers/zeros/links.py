"""Sums of cells that two views must have in common because of cells that must be zero.

Views that share no axis may tell the same numbers: if exactly the employed have an occupation, a
table with the status and a table with the occupation both tell how many people are employed. Let a
and b be the axes of two views that boxes of `Zeros` connect, F the other axes that both views have,
and g the common part of a and b (`margin.solvers.zeros.common`). Then both views tell the marginal
on F and g. No other equality between the cells of two views follows from the zeros, besides those
by shared axes. Equalities between the cells of three or more views may follow; they are not found
here (`margin.solvers.tables.implied` tells whether there are any).

In terms of the distinct coefficients c of `Components`, each equality is a row of B c = 0. Let f be
a basis function on F, and w_j the coefficients of the indicator of group j on a. The row of f and j
has the entry w_j(h) / sqrt(cells of a outside the component of h) for each function h on a, at the
coefficient of f h; and the same with a minus sign for b. A factor that depends on f alone is left
out. Rows of different f have no coefficient in common, so that B D B' is block-diagonal for each
diagonal D. The blocks are small.

If c has errors of the covariance D, the best linear estimate with B c = 0 is
c - D B' (B D B')^- B c. Its covariance is D - E E' with E = D B' R and R R' = (B D B')^-.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..basis import outside_roots, transform
from ..limits import LINKED_GROUPS, LINKED_NUMBERS, LINKED_PAIRS
from ..types import Floats, Integers
from .common import NO_GROUP, Common
from .factors import Axes
from .zeros import Zeros

__all__ = ["Link", "Links", "links_between", "numbers_on"]

_DEPENDENT = 1e-9
"""Eigenvalues below this number belong to equalities that follow from others, if the diagonal of
the matrix is one."""


class Link(NamedTuple):
    """Two views that have the same marginal on some axes and on groups of categories.

    Attributes
    ----------
    row, other
        The positions of the views.
    axes
        The axes that both views have, and that are not in the groups, ascending.
    common
        The groups; see `Common`.
    """

    row: int
    other: int
    axes: Axes
    common: Common


def links_between(zeros: Zeros, views: tuple[Axes, ...]) -> tuple[Link, ...]:
    """The links between views. Some of them may follow from others.

    If there are very many different sets of axes, only those between two axes are found.
    """
    return zeros.kept(("links", views), lambda: _found(zeros, views))


def _found(zeros: Zeros, views: tuple[Axes, ...]) -> tuple[Link, ...]:
    """What `links_between` gives."""
    # Views with the same axes of boxes have the same groups.
    holders: dict[Axes, list[int]] = {}
    for row, view in enumerate(views):
        bound = tuple(axis for axis in view if zeros.binding[axis])
        if bound:
            holders.setdefault(bound, []).append(row)
    if len(holders) ** 2 > 2 * LINKED_PAIRS:
        holders = {}
        for row, view in enumerate(views):
            for axis in view:
                if zeros.binding[axis]:
                    holders.setdefault((axis,), []).append(row)
    links = []
    for (one, rows), (other, others) in itertools.combinations(holders.items(), 2):
        common = zeros.common(one, other)
        if common is None:
            continue
        first = _free(views, rows, common.one, common.other)
        second = _free(views, others, common.other, common.one)
        pairs = {axes: (first[axes], second[axes]) for axes in first.keys() & second.keys()}
        # Two views whose other axes differ have in common what lies within both.
        for axes, own in itertools.product(first.keys() - pairs, second.keys() - pairs):
            pairs.setdefault(axes & own, (first[axes], second[own]))
        for axes, (row, partner) in pairs.items():
            links.append(Link(row, partner, tuple(sorted(axes)), common))
    # In an order that does not depend on hashes.
    return tuple(sorted(links, key=lambda link: (link.common.size, link.row, link.other)))


def _free(
    views: Sequence[Axes],
    rows: Sequence[int],
    own: Axes,
    other: Axes,
) -> dict[frozenset[int], int]:
    """The sets of axes of some views outside their groups, each with the first view that has it.

    Views with more axes of the other side are left out: they have the groups of this side too.
    """
    found: dict[frozenset[int], int] = {}
    for row in rows:
        axes = set(views[row]).difference(own)
        if not axes.intersection(other):
            found.setdefault(frozenset(axes), row)
    return found


class _Joined:
    """Marginals on axes and groups of which it is known that they tell the same numbers.

    For each set T of axes it holds a forest: marginals of one tree agree in the component T.
    """

    def __init__(self) -> None:
        self._parents: dict[Axes, dict[Any, Any]] = {}

    def joins(self, axes: Axes, common: Common) -> bool:
        """Note that a link makes the component on `axes` equal; whether this was not known yet."""
        parents = self._parents.setdefault(axes, {})
        ends = []
        for node in ((common.one, common.groups), (common.other, common.other_groups)):
            end: Any = (node[0], _partition(node[1]))
            while end in parents:
                end = parents[end]
            ends.append(end)
        if ends[0] == ends[1]:
            return False
        parents[ends[0]] = ends[1]
        return True


def _partition(groups: Integers) -> bytes:
    """The same for two numberings of the same groups, and only then."""
    flat = np.ravel(groups)
    _, first, number = np.unique(flat, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return bytes(np.where(flat == NO_GROUP, NO_GROUP, rank[number]).astype(np.int64))


@dataclass(
    frozen=True,
    eq=False,
)
class Links:
    """The equalities B c = 0 of the distinct coefficients c of some views; see the module.

    Attributes
    ----------
    matrix
        B, sparse, of shape (equalities, m).
    """

    matrix: Any

    @classmethod
    def of(
        cls,
        found: Sequence[Link],
        numbers: Sequence[tuple[Axes, Integers]],
        count: int,
    ) -> "Links | None":
        """The equalities of some links; None if there are none, or all are beyond the limits.

        Parameters
        ----------
        found
            The links.
        numbers
            For each view its axes in some order, and the numbers of its coefficients, with one axis
            for each of these axes.
        count
            The number of distinct coefficients m.
        """
        blocks = []
        joined = _Joined()
        groups: dict[tuple[Axes, Axes], int] = {}
        entries = 0
        for link in found:
            sides = (
                (link.row, link.common.one, link.common.groups, 1.0),
                (link.other, link.common.other, link.common.other_groups, -1.0),
            )
            # Keep what does not follow from the links before, component by component.
            component = transform(_shape(numbers[link.row], link.axes)).component
            kept = [
                bits
                for bits in np.unique(component).tolist()
                if joined.joins(_members(link.axes, bits), link.common)
            ]
            if not kept:
                continue
            is_kept = np.isin(component, kept)
            functions = [
                numbers_on(numbers[row], link.axes, axes)[is_kept] for row, axes, _, _ in sides
            ]
            size = link.common.size
            groups[link.common.one, link.common.other] = size
            entries += size * sum(own.size for own in functions)
            if sum(groups.values()) > LINKED_GROUPS or entries > LINKED_NUMBERS:
                break
            parts = [
                _equalities(own, groups_of, sign, size, count)
                for own, (_, _, groups_of, sign) in zip(functions, sides, strict=True)
            ]
            blocks.append(parts[0] + parts[1])
        if not blocks:
            return None
        matrix = scipy.sparse.csr_array(scipy.sparse.vstack(blocks))
        matrix.data[np.abs(matrix.data) < 1e-12] = 0.0
        matrix.eliminate_zeros()
        used = np.diff(matrix.indptr) > 0
        return cls(matrix[used]) if used.any() else None

    def root(self, spread: Floats) -> Any:
        """A sparse matrix R with R R' = (B D B')^-, for the diagonal D = `spread`, shape (m,)."""
        gram = (self.matrix * spread) @ self.matrix.T
        diagonal = gram.diagonal()
        scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
        # Blocks of one size are treated together.
        count, block = scipy.sparse.csgraph.connected_components(gram, directed=False)
        sizes = np.bincount(block)
        order = np.argsort(block, kind="stable")
        starts = np.cumsum([0, *sizes[:-1]])
        place = np.empty_like(block)
        place[order] = np.arange(len(block)) - np.repeat(starts, sizes)
        entries = scipy.sparse.coo_array(gram)
        rows, columns = entries.coords
        roots = []
        for size in np.unique(sizes).tolist():
            own = np.flatnonzero(sizes == size)
            number = np.full(count, -1)
            number[own] = np.arange(own.size)
            inside = number[block[rows]] >= 0
            dense = np.zeros((own.size, size, size))
            at = (number[block[rows[inside]]], place[rows[inside]], place[columns[inside]])
            dense[at] = entries.data[inside] * scale[rows[inside]] * scale[columns[inside]]
            values, vectors = np.linalg.eigh(dense)
            is_own = values > _DEPENDENT
            factors = np.where(is_own, 1 / np.sqrt(np.where(is_own, values, 1.0)), 0.0)
            members = order[starts[own][:, None] + np.arange(size)]
            shape = dense.shape
            where = (
                np.broadcast_to(members[:, :, None], shape).ravel(),
                np.broadcast_to(members[:, None, :], shape).ravel(),
            )
            found = (scale[members][:, :, None] * vectors * factors[:, None, :]).ravel()
            roots.append(scipy.sparse.coo_array((found, where), gram.shape))
        return scipy.sparse.csr_array(sum(roots))

    def met(self, shared: Floats, spread: Floats, root: Any) -> Floats:
        """The nearest coefficients with B c = 0, where `root` is that of the diagonal `spread`.

        The squared change of each coefficient counts by one divided by its entry of `spread`.
        """
        missed = root @ (root.T @ (self.matrix @ shared))
        return np.asarray(shared - spread * (self.matrix.T @ missed))


def _shape(numbers: tuple[Axes, Integers], axes: Axes) -> tuple[int, ...]:
    """The numbers of categories of some axes of a view."""
    held, table = numbers
    return tuple(table.shape[held.index(axis)] for axis in axes)


def _members(axes: Axes, bits: int) -> Axes:
    """The axes whose bits are set."""
    return tuple(axis for place, axis in enumerate(axes) if bits >> place & 1)


def numbers_on(
    numbers: tuple[Axes, Integers],
    axes: Axes,
    grouped: Axes,
) -> Integers:
    """The numbers of the coefficients of a view that vary on no axes but the given ones.

    The result has the shape (functions on `axes`, functions on `grouped`).
    """
    held, table = numbers
    kept = [*axes, *grouped]
    part = table[tuple(slice(None) if axis in kept else 0 for axis in held)]
    left = [axis for axis in held if axis in kept]
    turned = part.transpose([left.index(axis) for axis in kept])
    functions = int(np.prod(turned.shape[: len(axes)]))
    return turned.reshape(functions, -1)


def _equalities(
    numbers: Integers,
    groups: Integers,
    sign: float,
    count: int,
    coefficients: int,
) -> Any:
    """The part of B of one side of a link, of shape (functions x groups, coefficients).

    `numbers` are those of `numbers_on`.
    """
    shape = groups.shape
    indicators = np.ravel(groups) == np.arange(count)[:, None]
    weights = transform(shape).analyse(indicators.astype(np.float64))
    weights = sign * weights / outside_roots(shape)
    functions = len(numbers)
    full = (functions, count, len(weights[0]))
    rows = np.arange(functions * count).reshape(functions, count, 1)
    entries = (
        np.broadcast_to(weights, full).ravel(),
        (np.broadcast_to(rows, full).ravel(), np.broadcast_to(numbers[:, None], full).ravel()),
    )
    return scipy.sparse.csr_array(
        scipy.sparse.coo_array(entries, (functions * count, coefficients))
    )
