"""Exact maximum entropy over tables of pairs of axes that have a small junction tree."""

import heapq
import math
import string
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...limits import CLIQUE_CELLS, JUNCTION_CELLS
from ...tables.tables import Axes, Tables
from ...types import Floats
from .sweeps import cell_changes

__all__ = ["JunctionTree", "has_junction_tree"]

_SWEEPS = 200
"""Largest number of sweeps over all cliques."""

_TOLERANCE = 1e-7
"""Sweeps end when no table of the model is further from its target, as a share of all rows."""

_SMALL_PRODUCT = 1 << 13
"""Largest number of cells of a product of tables that is summed at once."""

_KEPT_CELLS = 1 << 22
"""About the largest number of cells of all tables that are kept for other marginals."""

_PATIENCE = 10
"""Sweeps also end if this many of them did not halve the distance from the targets."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Clique:
    """A node of the junction tree: axes, of which some also belong to its parent.

    Attributes
    ----------
    axes
        The axes, ascending.
    parent
        The number of its parent, which is smaller than its own; None for a root.
    shared
        The axes that it shares with its parent, ascending.
    """

    axes: Axes
    parent: int | None = None
    shared: Axes = ()


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class JunctionTree:
    """The distribution of maximum entropy with given tables of pairs of axes, by a junction tree.

    Two axes are neighbours if a view holds both. Axes are eliminated one after another, each time
    the one that makes the smallest clique, and the cliques are joined to a tree (Lauritzen and
    Spiegelhalter 1988). The distribution is a product over cliques C and the axes S that neighbours
    in the tree share,

        p(x) = prod_C p_C(x_C) / prod_S p_S(x_S).

    If each clique is held by a view, this is a closed form: of a forest of pairs it is the
    distribution of Chow and Liu (1968). Otherwise iterative proportional fitting scales one view
    after another on its clique, and passes the change on along the tree (Jirousek and Preucil
    1995). Each marginal is a sum of products along the branches that connect its axes. The work
    depends on the cells of the cliques, not on the number of cells of the whole array.

    Attributes
    ----------
    sizes
        The number of categories of every axis of the whole array.
    cliques
        The nodes of the tree, each after its parent.
    shares
        For each clique its marginal, of sum one.

    Examples
    --------
    >>> agree = np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> tables = Tables(
    ...     sizes=(2, 2, 2),
    ...     views=((0, 1), (1, 2)),
    ...     values=(agree, agree),
    ...     variances=(1.0, 1.0),
    ... )
    >>> tree = JunctionTree.of(tables)
    >>> tree.marginal((0, 2)).round(2).tolist()
    [[0.34, 0.16], [0.16, 0.34]]
    """

    sizes: tuple[int, ...]
    cliques: tuple[_Clique, ...]
    shares: tuple[Floats, ...]

    @classmethod
    def of(
        cls,
        tables: Tables,
        strength: float = 0.0,
    ) -> "JunctionTree | None":
        """The distribution with consistent, non-negative tables of positive total.

        None if a table has more than two axes of several categories, if the cliques have too many
        cells, or if cells of the array must be zero.

        Parameters
        ----------
        strength
            How far tables of pairs that make a cycle may be missed, >= 0: `Newton.strength`.
            One-way tables are met exactly.
        """
        sizes = tables.sizes
        if tables.zeros is not None or tables.total <= 0:
            return None
        varying = [sum(sizes[axis] > 1 for axis in view) for view in tables.views]
        if max(varying) > 2 or any(value.min() < 0 for value in tables.values):
            return None
        cliques = _cliques(sizes, tables.views)
        if cliques is None:
            return None
        shares = _Fit(cliques, tables, strength).shares
        return cls(
            sizes=sizes,
            cliques=cliques,
            shares=tuple(shares),
        )

    def marginal(self, asked: Axes) -> Floats:
        """The marginal on some ascending axes, of sum one, shape ``[sizes[a] for a in asked]``."""
        # Branches of different roots are independent.
        branches: dict[int, list[int]] = {}
        for axis in asked:
            branches.setdefault(self._roots[self._top[axis]], []).append(axis)
        table = np.ones(())
        order: list[int] = []
        for axes in branches.values():
            table = np.multiply.outer(table, self._in_branch(axes))
            order += axes
        return np.ascontiguousarray(table.transpose(np.argsort(order)))

    def _in_branch(self, asked: list[int]) -> Floats:
        """The marginal on ascending axes of one tree of cliques.

        From the highest clique of each axis on, each clique passes to its parent the shares of the
        asked axes below, given the axes that both share. The last one has them all.
        """
        waiting: dict[int, list[tuple[Floats, Axes]]] = {self._top[axis]: [] for axis in asked}
        while len(waiting) > 1:
            # Children have higher numbers than their parents.
            place = max(waiting)
            received = waiting.pop(place)
            clique = self.cliques[place]
            assert clique.parent is not None  # the root has the lowest number of all
            below = {axis for _, axes in received for axis in axes} | set(clique.axes)
            kept = [axis for axis in asked if axis in below and axis not in clique.shared]
            result = (*clique.shared, *kept)
            # What is passed depends on the clique and on the asked axes at or below it.
            passed = self._passed.get((place, *kept))
            if passed is None:
                passed = _product([(self._given[place], clique.axes), *received], result)
                self._keep(place, kept, passed)
            waiting.setdefault(clique.parent, []).append((passed, result))
        ((place, received),) = waiting.items()
        own = (self.shares[place], self.cliques[place].axes)
        return _product([own, *received], tuple(asked))

    def _keep(self, place: int, kept: list[int], passed: Floats) -> None:
        """Keep what a clique passes of one axis, for other marginals, if there is room."""
        few = len(self._passed) * passed.size <= _KEPT_CELLS
        if few and len(kept) == 1:
            self._passed[place, kept[0]] = passed

    @cached_property
    def _passed(self) -> dict[tuple[int, ...], Floats]:
        """What cliques, by their places, passed of one axis."""
        return {}

    @cached_property
    def _top(self) -> dict[int, int]:
        """For each axis the highest clique that holds it."""
        return _highest(self.cliques)

    @cached_property
    def _roots(self) -> list[int]:
        """For each clique the root of its tree."""
        roots: list[int] = []
        for place, clique in enumerate(self.cliques):
            roots.append(place if clique.parent is None else roots[clique.parent])
        return roots

    @cached_property
    def _given(self) -> list[Floats]:
        """For each clique its shares, given the axes that it shares with its parent."""
        return [
            _ratio(shares, _margin(shares, clique.axes, clique.shared))
            for shares, clique in zip(self.shares, self.cliques, strict=True)
        ]


@dataclass(
    kw_only=True,
    eq=False,
)
class _Target:
    """A table that a clique is scaled to.

    Attributes
    ----------
    view
        The axes of the table.
    shares
        Its cells, of sum one.
    ridge
        How far a cell is missed for each unit of its dual variable.
    dual
        The dual variables of its cells, in nats: logarithms of what the clique was scaled by.
    """

    view: Axes
    shares: Floats
    ridge: float
    dual: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.dual = np.zeros(self.shares.shape)


class _Fit:
    """Iterative proportional fitting on a junction tree.

    It minimises KL(p || uniform) + sum_i (E_p[f_i] - t_i)**2 / (2 ridge_i) by the dual, over the
    cells of one table after another.

    Attributes
    ----------
    shares
        For each clique its marginal, of sum one.
    """

    def __init__(
        self,
        cliques: tuple[_Clique, ...],
        tables: Tables,
        strength: float,
    ) -> None:
        self.cliques = cliques
        sizes = tables.sizes
        shapes = [[sizes[axis] for axis in clique.axes] for clique in cliques]
        self.shares = [np.full(shape, 1 / math.prod(shape)) for shape in shapes]
        # What a clique and its parent last told each other about the axes that both hold.
        self.told = [
            shares.sum(axis=_others(clique.axes, clique.shared))
            for shares, clique in zip(self.shares, cliques, strict=True)
        ]
        # The highest clique of the axis that was eliminated first holds the whole view.
        highest = _highest(cliques)
        held: list[list[int]] = [[] for _ in cliques]
        for number, view in enumerate(tables.views):
            if view:
                held[max(highest[axis] for axis in view)].append(number)
        # Cliques that are views determine everything: what they say is met exactly.
        closed = all(
            not numbers or any(tables.views[number] == clique.axes for number in numbers)
            for clique, numbers in zip(cliques, held, strict=True)
        )
        relaxed = 0.0 if closed else strength
        self.targets = [
            _targets(tables, numbers, clique, relaxed)
            for clique, numbers in zip(cliques, held, strict=True)
        ]
        self._sweep_until_met(1 if closed else _SWEEPS)

    def _sweep_until_met(self, most: int) -> None:
        """Sweep until the tables are met or get no nearer, at most some times."""
        tour = _tour(self.cliques)
        distances: list[float] = []
        while len(distances) < most:
            distances.append(self._sweep(tour))
            before = distances[max(0, len(distances) - 1 - _PATIENCE)]
            slow = len(distances) > _PATIENCE and 2 * distances[-1] > before
            if slow or distances[-1] <= _TOLERANCE:
                break
        # All cliques learn of the last changes.
        for place, clique in enumerate(self.cliques):
            if clique.parent is not None:
                self._pass(clique.parent, place)
        self.shares = [shares / shares.sum() for shares in self.shares]

    def _sweep(self, tour: Sequence[tuple[int, int]]) -> float:
        """Visit all cliques, depth first, and scale each to its targets.

        Each step of the tour passes on what changed. So each clique is scaled from the true
        marginal of the product. The result is the largest distance before scaling, as a share of
        all rows.
        """
        largest = 0.0
        for source, place in tour:
            if source != place:
                self._pass(source, place)
            # On the way back nothing is scaled.
            if source <= place:
                largest = max(largest, self._scale(place))
        return largest

    def _scale(self, place: int) -> float:
        """Scale a clique to its targets; the largest distance before that."""
        axes = self.cliques[place].axes
        shares = self.shares[place]
        largest = 0.0
        for target in self.targets[place]:
            found = _margin(shares, axes, target.view)
            error = found + target.ridge * target.dual - target.shares
            largest = max(largest, float(np.abs(error).sum()) / 2)
            if target.ridge == 0:
                shares *= _ratio(target.shares, found)
                continue
            change = cell_changes(found, error, target.ridge)
            target.dual += change
            # A cell without mass has none to be scaled.
            shares *= np.exp(np.where(found > 0, change, 0.0))
        return largest

    def _pass(self, source: int, place: int) -> None:
        """Scale a clique to what its neighbour in the tree says of the axes that both hold."""
        child = max(source, place)
        shared = self.cliques[child].shared
        new = self.shares[source].sum(axis=_others(self.cliques[source].axes, shared))
        change = _ratio(new, self.told[child])
        self.told[child] = new
        shares = self.shares[place]
        axes = self.cliques[place].axes
        shape = [
            size if axis in shared else 1 for axis, size in zip(axes, shares.shape, strict=True)
        ]
        shares *= change.reshape(shape)


def has_junction_tree(sizes: Sequence[int], views: Sequence[Axes]) -> bool:
    """Whether the cliques of some views have few enough cells; for `sizes` see `Tables`."""
    return _cliques(sizes, views) is not None


def _cliques(
    sizes: Sequence[int],
    views: Sequence[Axes],
) -> tuple[_Clique, ...] | None:
    """The cliques of a junction tree of some views; None if they have too many cells."""
    eliminated = _eliminated(sizes, views)
    if eliminated is None:
        return None
    # Joined to a tree in the opposite order: the neighbours of an axis are already in a clique.
    cliques: list[_Clique] = []
    highest: dict[int, int] = {}
    for axis in reversed(eliminated):
        neighbours = eliminated[axis]
        together = tuple(sorted((axis, *neighbours)))
        # The neighbour that was eliminated first is in a clique with all others.
        parent = max((highest[other] for other in neighbours), default=None)
        highest[axis] = len(cliques)
        if parent is None:
            cliques.append(_Clique(axes=together))
        elif len(cliques[parent].axes) == len(neighbours):
            # The parent holds nothing else: it takes in the axis.
            highest[axis] = parent
            cliques[parent] = replace(cliques[parent], axes=together)
        else:
            shared = tuple(sorted(neighbours))
            cliques.append(_Clique(axes=together, parent=parent, shared=shared))
    cells = sum(math.prod(sizes[axis] for axis in clique.axes) for clique in cliques)
    return tuple(cliques) if cells <= JUNCTION_CELLS else None


def _eliminated(
    sizes: Sequence[int],
    views: Sequence[Axes],
) -> dict[int, set[int]] | None:
    """The axes in the order in which they are eliminated, each with its neighbours at that time.

    Next is always the axis that makes the smallest clique. None if a clique has too many cells.
    """
    near: dict[int, set[int]] = {axis: set() for axis in range(len(sizes))}
    for view in views:
        for axis in view:
            near[axis].update(view)
            near[axis].discard(axis)

    logs = [math.log(size) for size in sizes]

    def cost(axis: int) -> float:
        # The exact sum does not depend on the order of the neighbours.
        return math.fsum([logs[axis], *[logs[other] for other in near[axis]]])

    queue = [(cost(axis), axis) for axis in near]
    heapq.heapify(queue)
    eliminated: dict[int, set[int]] = {}
    while queue:
        least, axis = heapq.heappop(queue)
        # An entry is out of date if the axis is gone, or has other neighbours by now.
        if axis in eliminated or least != cost(axis):
            continue
        if least > math.log(CLIQUE_CELLS):
            return None
        eliminated[axis] = near.pop(axis)
        for other in eliminated[axis]:
            near[other] |= eliminated[axis]
            near[other] -= {axis, other}
        for other in eliminated[axis]:
            heapq.heappush(queue, (cost(other), other))
    return eliminated


def _highest(cliques: Sequence[_Clique]) -> dict[int, int]:
    """For each axis the highest clique that holds it."""
    found: dict[int, int] = {}
    for place, clique in enumerate(cliques):
        for axis in clique.axes:
            found.setdefault(axis, place)
    return found


def _targets(
    tables: Tables,
    numbers: Sequence[int],
    clique: _Clique,
    strength: float,
) -> list[_Target]:
    """What some views tell their clique: themselves, met nearly, and last their one-way tables,
    which are met exactly."""
    found: dict[Axes, _Target] = {}
    for number in numbers:
        view = tables.views[number]
        value = tables.values[number]
        shares = np.expand_dims(value / value.sum(), _others(clique.axes, view))
        varying = tuple(axis for axis in view if tables.sizes[axis] > 1)
        for own in {varying, *((axis,) for axis in varying)}:
            found[own] = _Target(
                view=own,
                shares=_margin(shares, clique.axes, own),
                ridge=strength * _ridge(tables, number) if len(own) > 1 else 0.0,
            )
    return sorted(found.values(), key=lambda target: (-len(target.view), target.view))


def _ridge(tables: Tables, number: int) -> float:
    """The ridge of the moments on both axes of a pair (`Newton`), for cells instead of moments."""
    view = tables.views[number]
    cells = tables.values[number].size
    if tables.precisions is None:
        variance = cells * tables.variances[number]
    else:
        both = sum(1 << place for place, axis in enumerate(view) if tables.sizes[axis] > 1)
        variance = 1 / float(tables.precisions[number][both])
    return 2**2 * variance / tables.total**2 / cells


def _tour(cliques: Sequence[_Clique]) -> list[tuple[int, int]]:
    """The steps from clique to clique that visit all of them, depth first, and return.

    A step from a clique to itself begins at a root.
    """
    children: list[list[int]] = [[] for _ in cliques]
    for place, clique in enumerate(cliques):
        if clique.parent is not None:
            children[clique.parent].append(place)
    steps: list[tuple[int, int]] = []
    waiting = [(place, place) for place, clique in enumerate(cliques) if clique.parent is None]
    while waiting:
        source, place = waiting.pop()
        steps.append((source, place))
        if source > place:
            continue
        for child in children[place]:
            waiting += [(child, place), (place, child)]
    return steps


def _margin(
    shares: Floats,
    axes: Axes,
    kept: Axes,
) -> Floats:
    """The sums of a table over all axes but some, which have length one in the result."""
    return np.asarray(shares.sum(axis=_others(axes, kept), keepdims=True))


def _others(axes: Axes, kept: Axes) -> tuple[int, ...]:
    """The places of all axes but some."""
    return tuple(place for place, axis in enumerate(axes) if axis not in kept)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient of two tables; zero where the denominator is zero."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), 0.0)


def _product(
    tables: Sequence[tuple[Floats, Axes]],
    kept: Axes,
) -> Floats:
    """The product of tables over some axes, summed over all axes but the kept ones."""
    # `einsum` has 52 names for axes.
    every = sorted({axis for _, axes in tables for axis in axes})
    names = dict(zip(every, string.ascii_letters, strict=False))
    terms = ["".join(names[axis] for axis in axes) for _, axes in tables]
    result = "".join(names[axis] for axis in kept)
    arrays = [table for table, _ in tables]
    lengths = {
        axis: size for table, axes in tables for axis, size in zip(axes, table.shape, strict=True)
    }
    # A small product is summed at once: the search for a better order would take longer.
    is_small = math.prod(lengths.values()) <= _SMALL_PRODUCT
    optimize = False if is_small else "greedy"
    return np.asarray(np.einsum(f"{','.join(terms)}->{result}", *arrays, optimize=optimize))
