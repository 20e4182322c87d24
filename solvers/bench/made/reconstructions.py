"""Instances of entropy and of reconstruction: a marginal, and what views tell about it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...basis import transform
from ...reconstruct.newton import Newton
from ...reconstruct.problem import Problem
from ...tables.consistency import ResidualConsistency
from ...tables.tables import Tables
from ...types import Floats, Integers
from .draws import Draws
from .recipe import Recipe
from .records import KINDS, counts_of, records
from .shapes import check_cells, sizes_of

__all__ = ["exact", "noisy", "observed", "recipes", "seeded"]

Axes = tuple[int, ...]

_SHAPES: dict[str, tuple[Axes, str]] = {
    "b4": ((2,) * 4, "small"),
    "b6": ((2,) * 6, "small"),
    "b8": ((2,) * 8, "small"),
    "m3": ((3, 4, 5), "small"),
    "m4": ((2, 3, 4, 5), "small"),
    "b10": ((2,) * 10, "medium"),
    "m5": ((2, 9, 2, 6, 5), "medium"),
    "b12": ((2,) * 12, "medium"),
    "m6": ((16, 7, 2, 5, 3), "medium"),
    "b14": ((2,) * 14, "large"),
    "m7": ((42, 16, 9, 5), "large"),
    "b16": ((2,) * 16, "large"),
}
"""The shapes of the marginals with the sizes of their instances, by the names in use."""


_MIXED = {name: sizes for name, (sizes, _) in _SHAPES.items()}


class _Case(NamedTuple):
    """A shape, a kind of table, the sets of axes that are known, and whether cells must be zero."""

    shape: str
    kind: str
    known: str
    zeros: bool = False


def _known_sets(known: str, count: int, draws: Draws) -> list[Axes]:
    """The known sets of axes: pairs, triples, or some sets of about half of the axes."""
    if known == "pairs":
        return list(combinations(range(count), 2))
    if known == "triples":
        return list(combinations(range(count), 3))
    half = max(2, (count + 1) // 2)
    return sorted({draws.subset(count, half) for _ in range(count)})


def _sizes(case: _Case) -> Axes:
    """The number of categories of each axis."""
    sizes = sizes_of(case.shape, _MIXED)
    assert sizes is not None
    return sizes


def _counts(case: _Case, seed: int) -> tuple[Floats, Floats | None]:
    """The counts of the marginal, and the cells that must be zero as ones, or None."""
    sizes = _sizes(case)
    cells = math.prod(sizes)
    table = records(case.kind, sizes, 20 * min(cells, 5000), seed)
    counts = counts_of(table, sizes, tuple(range(len(sizes))))
    if not case.zeros:
        # One record of each kind: the exact problem then has a table without zero cells.
        return counts + 1, None
    # The first two attributes exclude each other's last value.
    empty = np.zeros(sizes)
    empty[-1, -1] = 1.0
    return np.where(empty > 0, 0.0, counts + 1), empty


def _views(case: _Case, seed: int) -> list[Axes]:
    """The known sets of axes of a case."""
    return _known_sets(case.known, len(_sizes(case)), Draws(seed + 1000))


def exact(case: _Case, seed: int) -> Problem:
    """A problem whose known moments are those of a table of counts, without errors."""
    counts, empty = _counts(case, seed)
    basis = transform(counts.shape)
    masks = [sum(1 << axis for axis in view) for view in _views(case, seed)]
    index: Integers = np.array(
        [
            row
            for row, component in enumerate(basis.component.tolist())
            if component and any(component & mask == component for mask in masks)
        ],
        np.int64,
    )
    moments = basis.analyse(counts.ravel() / counts.sum()) * math.sqrt(counts.size)
    return Problem(
        shape=counts.shape,
        index=index,
        target=moments[index],
        variance=np.zeros(len(index)),
        total=float(counts.sum()),
        zeros=None if empty is None else empty.ravel() > 0,
    )


def _noisy_tables(case: _Case, seed: int) -> Tables:
    """The known marginals with independent integer noise."""
    counts, _ = _counts(case, seed)
    draws = Draws(seed + 2000)
    views = _views(case, seed)
    # The noise of a cell has a standard deviation of about a twentieth of a pair's mean cell.
    scale = max(1, int(counts.sum()) // (80 * 20))
    values = []
    for view in views:
        outside = tuple(axis for axis in range(counts.ndim) if axis not in view)
        marginal = counts.sum(axis=outside)
        noise = draws.noise(scale, marginal.size).reshape(marginal.shape)
        values.append(marginal + noise)
    return Tables(
        sizes=counts.shape,
        views=tuple(views),
        values=tuple(values),
        variances=(16.0 * scale**2,) * len(views),
    )


def noisy(case: _Case, seed: int) -> Problem:
    """A problem from consistent noisy marginals, with the ridges that `Newton` would take."""
    tables = ResidualConsistency()(_noisy_tables(case, seed))
    problem = Problem.of(tables, tuple(range(len(tables.sizes))))
    _, empty = _counts(case, seed)
    zeros = None if empty is None else empty.ravel() > 0
    return replace(problem, zeros=zeros, ridge=Newton().ridge(problem))


def observed(case: _Case, seed: int) -> Problem:
    """A problem from noisy marginals that disagree with each other."""
    tables = _noisy_tables(case, seed)
    return Problem.observed(tables, tuple(range(len(tables.sizes))))


_EXACT = [
    *(_Case(shape, kind, "pairs") for shape in ("b4", "b6", "b8", "m3", "m4") for kind in (
        "independent", "chain", "classes", "rules")),
    *(_Case(shape, kind, "triples") for shape in ("b6", "b8", "m4") for kind in (
        "chain", "clicks")),
    *(_Case(shape, kind, "half") for shape in ("b8", "b10") for kind in ("chain", "rules")),
    *(_Case(shape, "classes", "pairs", zeros=True) for shape in ("b4", "b6", "b8", "m3", "m4")),
    *(_Case(shape, kind, "pairs") for shape in ("b10", "m5", "b12", "m6") for kind in (
        "chain", "classes")),
    *(_Case(shape, "chain", "pairs") for shape in ("b14", "m7", "b16")),
    *(_Case(shape, "clicks", "triples") for shape in ("b10", "b12")),
]  # fmt: skip
_NOISY = [
    *(_Case(shape, kind, "pairs") for shape in ("b4", "b6", "b8", "m3", "m4") for kind in (
        "independent", "chain", "classes", "clicks")),
    *(_Case(shape, kind, "half") for shape in ("b6", "b8", "b10") for kind in ("chain", "rules")),
    *(_Case(shape, "classes", "pairs", zeros=True) for shape in ("b6", "b8", "m4")),
    *(_Case(shape, kind, "pairs") for shape in ("b10", "m5", "b12", "m6") for kind in (
        "chain", "classes")),
    *(_Case(shape, "chain", "triples") for shape in ("b8", "b10", "b12")),
    *(_Case(shape, "chain", "pairs") for shape in ("b14", "m7", "b16")),
]  # fmt: skip
_OBSERVED = [
    *(_Case(shape, kind, "pairs") for shape in ("b4", "b6", "b8", "m3", "m4") for kind in (
        "independent", "chain", "classes", "clicks")),
    *(_Case(shape, kind, "half") for shape in ("b6", "b8", "b10") for kind in ("chain", "rules")),
    *(_Case(shape, kind, "pairs") for shape in ("b10", "m5", "b12", "m6") for kind in (
        "chain", "classes")),
    *(_Case(shape, "chain", "triples") for shape in ("b8", "b10")),
    *(_Case(shape, "chain", "pairs") for shape in ("b14", "m7")),
]  # fmt: skip


_FAMILIES = {
    "exact-entropy": (exact, _EXACT),
    "penalised-entropy": (noisy, _NOISY),
    "least-squares": (noisy, _NOISY),
    "minimax": (observed, _OBSERVED),
}
"""What makes a problem of each family, and the cases of the catalogue."""

_LEAST_AXES = {"pairs": 2, "triples": 3, "half": 2}
"""The views that names have, and the least number of axes for each."""


def seeded(family: str, parts: list[str], seed: int) -> Callable[[], Problem] | None:
    """A function that makes the problem of the parts of a name; None if they do not fit."""
    zeros = parts[3:] == ["zeros"] and family != "minimax"
    if len(parts) != 3 + zeros:
        return None
    shape, kind, known = parts[:3]
    sizes = sizes_of(shape, _MIXED)
    if sizes is None or kind not in KINDS or len(sizes) < _LEAST_AXES.get(known, len(sizes) + 1):
        return None
    check_cells(sizes)
    return partial(_FAMILIES[family][0], _Case(shape, kind, known, zeros), seed)


def recipes() -> Iterator[Recipe]:
    """The recipes of the four families of entropy and reconstruction."""
    for family, (make, cases) in _FAMILIES.items():
        for number, case in enumerate(cases, start=1):
            words = [family, case.shape, case.kind, case.known]
            if case.zeros:
                words.append("zeros")
            yield Recipe(
                name="-".join(words),
                family=family,
                size=_SHAPES[case.shape][1],
                make=partial(make, case, number),
            )
