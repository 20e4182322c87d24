"""`intersection_lattice`: the sets of axes that views share, ordered by inclusion."""

from collections.abc import Iterable
from typing import Any

from .tables import Axes

__all__ = ["intersection_lattice"]


def intersection_lattice(views: Iterable[Axes]) -> Any:
    """Make the graph of all intersections of views, ordered by inclusion.

    Its nodes are the views, all their intersections, and the empty set. Qardaji, Yang and Li,
    SIGMOD 2014, section 4.4, make views consistent on each of them, smaller sets first.

    Parameters
    ----------
    views
        The axes of each view, in any order.

    Returns
    -------
    networkx.DiGraph
        The nodes are the sets, as tuples of ascending axes. An edge leads from a set to each of its
        maximal proper subsets in the lattice. Each node has two attributes. Its `level` is the
        number of edges of the longest path down to the empty set, and `holders` is the number of
        views that contain it. `margin.plots.plot_lattice` draws the graph.

    Examples
    --------
    >>> lattice = intersection_lattice([(0, 1, 2), (1, 2, 3), (2, 4)])
    >>> sorted(lattice)
    [(), (0, 1, 2), (1, 2), (1, 2, 3), (2,), (2, 4)]
    >>> sorted(lattice.successors((0, 1, 2)))
    [(1, 2)]
    >>> sorted(lattice.edges((1, 2)))
    [((1, 2), (2,))]
    >>> lattice.nodes[(1, 2)]
    {'level': 2, 'holders': 2}
    """
    import networkx

    masks = [frozenset(view) for view in views]
    # Every intersection is the intersection of a smaller number of views with one more view.
    sets = {frozenset[int]()}
    fresh = set(masks)
    while fresh:
        sets |= fresh
        fresh = {common & mask for common in fresh for mask in masks} - sets
    lattice: Any = networkx.DiGraph()
    by_size = sorted(sets, key=lambda members: (len(members), sorted(members)))
    lattice.add_nodes_from(_axes(members) for members in by_size)
    for members in sets:
        for smaller in _maximal_subsets(members, masks):
            lattice.add_edge(_axes(members), _axes(smaller))
    # Smaller sets come first, so the levels of all subsets are known.
    for members in by_size:
        node = _axes(members)
        below = [lattice.nodes[other]["level"] for other in lattice.successors(node)]
        lattice.nodes[node]["level"] = 1 + max(below) if below else 0
        lattice.nodes[node]["holders"] = sum(members <= mask for mask in masks)
    return lattice


def _maximal_subsets(members: frozenset[int], masks: list[frozenset[int]]) -> set[frozenset[int]]:
    """The maximal proper subsets of a set in the lattice.

    A proper subset in the lattice lies in a view that does not contain the set. So it lies in the
    intersection of the set and this view, which is in the lattice, too.
    """
    smaller = {members & mask for mask in masks if not members <= mask}
    if not smaller and members:
        smaller = {frozenset[int]()}  # the empty set is in the lattice without being such a meet
    return {one for one in smaller if not any(one < other for other in smaller)}


def _axes(members: frozenset[int]) -> Axes:
    """A set as a tuple of ascending axes."""
    return tuple(sorted(members))
