"""Instances of covers: covering designs, and views that hold the wanted marginals."""

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

from ..families.cover import Cover
from .draws import Draws
from .recipe import Recipe
from .shapes import sizes_of

__all__ = ["covering_design", "recipes", "seeded", "views_for"]

Axes = tuple[int, ...]


def covering_design(v: int, k: int, t: int) -> Cover:
    """The fewest sets of k of v points that hold every t points.

    The items are the t-subsets and the sets are the k-subsets, both in lexicographic order.

    Parameters
    ----------
    v
        The number of points.
    k
        The number of points of a set, at most v.
    t
        The number of points of an item, at most k.

    Examples
    --------
    >>> cover = covering_design(7, 3, 2)  # the Fano plane is best, with 7 sets
    >>> cover.items, cover.sets
    (21, 35)
    """
    number = {items: place for place, items in enumerate(combinations(range(v), t))}
    sets = [
        [number[items] for items in combinations(block, t)] for block in combinations(range(v), k)
    ]
    return Cover.of(len(number), sets, [1] * len(sets))


def views_for(
    sizes: Axes,
    wanted: int,
    count: int,
    most: int,
    cost: str,
    seed: int,
) -> Cover:
    """The cheapest views, of at most `most` cells, that hold the wanted marginals.

    Parameters
    ----------
    sizes
        The number of categories of each attribute.
    wanted
        The number of attributes of a wanted marginal.
    count
        The number of wanted marginals, drawn at random; 0 for all.
    most
        The largest number of cells of a view.
    cost
        ``cells`` if a view costs its number of cells, ``one`` if every view costs one.
    seed
        The seed of the draws.
    """
    every = list(combinations(range(len(sizes)), wanted))
    if count:
        kept = sorted(Draws(seed + 5000).order(len(every))[:count].tolist())
        every = [every[place] for place in kept]
    candidates = list(_largest_views(sizes, most, wanted))
    number = {items: place for place, items in enumerate(every)}
    sets = []
    costs = []
    for view in candidates:
        held = [number[items] for items in combinations(view, wanted) if items in number]
        if held:
            sets.append(held)
            costs.append(math.prod(sizes[axis] for axis in view) if cost == "cells" else 1)
    return Cover.of(len(every), sets, costs)


def _largest_views(sizes: Axes, most: int, least: int) -> Iterator[Axes]:
    """All sets of at least `least` attributes with at most `most` cells that cannot be extended.

    Sets of exactly `least` attributes are in it even if they have more cells.
    """
    count = len(sizes)

    def extend(view: Axes, cells: int) -> Iterator[Axes]:
        room = [axis for axis in range(count) if axis not in view and cells * sizes[axis] <= most]
        if len(view) >= least and not room:
            yield view
        for axis in room:
            if not view or axis > view[-1]:
                yield from extend((*view, axis), cells * sizes[axis])

    yield from extend((), 1)
    for view in combinations(range(count), least):
        if math.prod(sizes[axis] for axis in view) > most:
            yield view


_DESIGNS = {
    "small": [(6, 3, 2), (7, 3, 2), (7, 4, 2), (7, 4, 3), (8, 4, 2), (9, 3, 2), (9, 5, 2),
              (10, 5, 2), (11, 6, 2), (12, 6, 2), (13, 4, 2)],
    "medium": [(8, 4, 3), (9, 4, 2), (8, 5, 3), (9, 5, 3), (10, 4, 2), (11, 5, 2),
               (13, 6, 2), (14, 7, 2)],
    "large": [(10, 5, 3), (10, 6, 3), (11, 4, 2), (11, 6, 3), (12, 4, 2), (12, 5, 2), (12, 6, 3),
              (14, 5, 2), (15, 6, 2), (16, 6, 2), (18, 6, 2)],
}  # fmt: skip
_MIXED = (2, 3, 4, 5, 2, 7, 3, 2, 9, 4, 2, 6, 3, 5, 8, 2)
_VIEWS = [
    ("small", _MIXED[:8], 2, 0, 60),
    ("small", _MIXED[:8], 3, 20, 240),
    ("small", (2,) * 10, 2, 20, 16),
    ("small", (3,) * 8, 2, 0, 81),
    ("medium", _MIXED[:10], 2, 0, 100),
    ("medium", _MIXED[:12], 2, 40, 200),
    ("medium", _MIXED[:10], 3, 40, 400),
    ("medium", (2,) * 14, 2, 50, 32),
    ("large", _MIXED[:12], 2, 0, 250),
    ("large", _MIXED[:14], 2, 0, 300),
    ("large", _MIXED[:12], 3, 0, 500),
    ("large", _MIXED, 2, 100, 300),
]


_SHAPES = {f"m{count}": _MIXED[:count] for count in range(2, len(_MIXED) + 1)}


_NAME = re.compile(r"(\w+)-(?:all|([1-9]\d*)of)([1-9]\d*)-([1-9]\d*)-(cells|one)")


def seeded(family: str, parts: list[str], seed: int) -> Callable[[], Cover] | None:
    """A function that makes the problem of the parts of a name; None if they do not fit."""
    found = _NAME.fullmatch("-".join(parts))
    sizes = sizes_of(found[1], _SHAPES) if found else None
    if not found or sizes is None:
        return None
    count, wanted, most = int(found[2] or 0), int(found[3]), int(found[4])
    if wanted > len(sizes) or count > math.comb(len(sizes), wanted):
        return None
    return partial(views_for, sizes, wanted, count, most, found[5], seed)


def recipes() -> Iterator[Recipe]:
    """The recipes of covers."""
    for size, designs in _DESIGNS.items():
        for v, k, t in designs:
            yield Recipe(
                name=f"cover-design-{v}-{k}-{t}",
                family="cover",
                size=size,
                make=partial(covering_design, v, k, t),
            )
    for number, (size, sizes, wanted, count, most) in enumerate(_VIEWS, start=1):
        kind = "b" if set(sizes) == {2} else "m"
        of = f"{count}of" if count else "all"
        for cost in ("cells", "one"):
            yield Recipe(
                name=f"cover-views-{kind}{len(sizes)}-{of}{wanted}-{most}-{cost}",
                family="cover",
                size=size,
                make=partial(views_for, sizes, wanted, count, most, cost, number),
            )
