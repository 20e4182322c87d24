"""Instances of consistency and joint non-negativity: noisy tables of views."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

from ...tables.tables import Tables
from .draws import Draws
from .recipe import Recipe
from .records import KINDS, counts_of, records
from .shapes import check_cells, sizes_of

__all__ = ["noisy_views", "recipes", "seeded"]


class _Case(NamedTuple):
    """Attributes, views, rows, and the scale of the noise."""

    name: str
    size: str
    sizes: tuple[int, ...]
    kind: str
    views: int
    """The number of random views; 0 for all sets of this many attributes."""
    width: int
    rows: int
    scale: int
    unequal: bool = False


def noisy_views(case: _Case, seed: int) -> Tables:
    """Tables of views with independent integer noise, of equal or of three different scales."""
    draws = Draws(seed + 3000)
    table = records(case.kind, case.sizes, case.rows, seed)
    count = len(case.sizes)
    if case.views:
        views = sorted({draws.subset(count, case.width) for _ in range(case.views)})
    else:
        views = list(combinations(range(count), case.width))
    values = []
    variances = []
    for number, view in enumerate(views):
        scale = case.scale * (1 + number % 3) if case.unequal else case.scale
        counts = counts_of(table, case.sizes, view)
        noise = draws.noise(scale, counts.size).reshape(counts.shape)
        values.append(counts + noise)
        variances.append(16.0 * scale**2)
    return Tables(
        sizes=case.sizes,
        views=tuple(views),
        values=tuple(values),
        variances=tuple(variances),
    )


_MIXED = (2, 3, 4, 5, 2, 7, 3, 2)

_CASES = [
    *(
        _Case(f"b{d}-{kind}-{views}x{width}", "small", (2,) * d, kind, views, width, 1000, 6, odd)
        for d, views, width in ((6, 4, 3), (8, 6, 4), (10, 8, 5))
        for kind, odd in (("chain", False), ("clicks", False), ("classes", True))
    ),
    *(
        _Case(f"m8-{kind}-pairs", "small", _MIXED, kind, 0, 2, 2000, 8, odd)
        for kind, odd in (("chain", False), ("clicks", False), ("rules", True))
    ),
    *(
        _Case(f"b12-{kind}-pairs", "small", (2,) * 12, kind, 0, 2, 2000, 20)
        for kind in ("independent", "chain", "clicks")
    ),
    *(
        _Case(f"b{d}-{kind}-{views}x{width}", "medium", (2,) * d, kind, views, width, 5000, 10, odd)
        for d, views, width in ((16, 12, 6), (16, 20, 7), (24, 12, 8))
        for kind, odd in (("chain", False), ("clicks", False), ("classes", True))
    ),
    *(
        _Case(f"m12-{kind}-triples", "medium", (*_MIXED, 2, 3, 4, 2), kind, 0, 3, 20_000, 10)
        for kind in ("chain", "clicks")
    ),
    *(
        _Case(f"b{d}-{kind}-{views}x{width}", "large", (2,) * d, kind, views, width, 20_000, 10)
        for d, views, width in ((32, 20, 8), (32, 32, 9), (45, 60, 8))
        for kind in ("chain", "clicks")
    ),
]  # fmt: skip


_SHAPES = {"m8": _MIXED, "m12": (*_MIXED, 2, 3, 4, 2)}

_WIDTHS = {"pairs": 2, "triples": 3}

_ROWS_AND_SCALES = {case.sizes: (case.rows, case.scale) for case in _CASES}
"""The number of records and the scale of the noise, by the sizes of the axes."""

_OTHER_ROWS_AND_SCALE = 20_000, 10


def seeded(family: str, parts: list[str], seed: int) -> Callable[[], Tables] | None:
    """A function that makes the problem of the parts of a name; None if they do not fit."""
    unequal = parts[3:] == ["unequal"]
    if len(parts) != 3 + unequal:
        return None
    shape, kind, views = parts[:3]
    sizes = sizes_of(shape, _SHAPES)
    drawn = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", views)
    count, width = map(int, drawn.groups()) if drawn else (0, _WIDTHS.get(views, 0))
    if sizes is None or kind not in KINDS or not 1 <= width <= len(sizes):
        return None
    # No view is larger than that of the largest axes.
    check_cells(tuple(sorted(sizes)[-width:]))
    rows, scale = _ROWS_AND_SCALES.get(sizes, _OTHER_ROWS_AND_SCALE)
    name = "-".join(parts[:3])
    case = _Case(name, "large", sizes, kind, count, width, rows, scale, unequal)
    return partial(noisy_views, case, seed)


def recipes() -> Iterator[Recipe]:
    """The recipes of the two families of projections."""
    for family in ("consistency", "nonnegativity"):
        for number, case in enumerate(_CASES, start=1):
            unequal = "-unequal" if case.unequal else ""
            yield Recipe(
                name=f"{family}-{case.name}{unequal}",
                family=family,
                size=case.size,
                make=partial(noisy_views, case, number),
            )
