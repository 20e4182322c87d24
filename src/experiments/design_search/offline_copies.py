"""Long search for induced designs: how many points each point of a base design stands for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from experiments.design_search.permutations import projective_maps, random_element
from margin.designs.covering.best_known import goal
from margin.designs.covering.classical_designs import CLASSICAL_DESIGNS
from margin.designs.covering.design_table import NONE, Cell, Table
from margin.designs.covering.induced_designs import TOO_WIDE
from margin.designs.covering.search_results import InducedDesign, shipped_designs
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.design import Design
from margin.designs.geometry.flats_and_circles import affine_geometry, projective_geometry
from margin.designs.subsets import Block
from margin.designs.types import Floats, Integers

LARGEST_BASE = 4000  # largest number of blocks of a base
LARGEST_GEOMETRY = 3000  # largest number of flats of each dimension that make up sets of points
NARROWEST, WIDEST = 0.55, 1.12  # times k: limits of the mean number of points per base block
HOT_COLD = 1.0, 0.15  # first and last temperature for single points
ORBITS_HOT_COLD = 5.0, 0.4  # the same for orbits
WARM_COLD = 0.5, 0.12  # the same for single points that start from the result for orbits
MOVES, MOST_MOVES = 4_000_000, 60_000  # the first is divided by the blocks through a point
DRAWS = 60  # number of flats that are drawn to make up a set of points


@dataclass(frozen=True, kw_only=True)
class _Base:
    """A base design: its short name, its parameters, and the function that builds its blocks."""

    name: str
    v: int
    k: int
    t: int
    build: Callable[[], Sequence[Block]]

    def suits(self, cell: Cell) -> bool:
        """Whether its blocks would hold about k points, if its points were shared out over v."""
        v, k, t = cell
        mean = v * self.k / self.v
        solves_it_already = v == self.v and self.k <= k
        return t <= self.t and NARROWEST * k <= mean <= WIDEST * k and not solves_it_already


def search_copies(cells: Iterable[Cell], tries: int, seed: int) -> Iterator[InducedDesign]:
    """Yield designs smaller than those of the table, from `tries` starts for each base and cell."""
    random = Random(seed)
    table = smallest_designs()
    sizes = {(v, k, t): int(table.sizes[t, k, v]) for v, k, t in cells}
    for base in _bases():
        suited = [cell for cell in sizes if base.suits(cell) and sizes[cell] > goal(*cell)]
        if not suited:
            continue
        search = _Search(base, random)
        for cell in suited:
            size, copies = search.run(_costs(table, cell), cell[0], tries)
            if size < sizes[cell]:
                sizes[cell] = size
                v, k, t = cell
                yield InducedDesign(v=v, k=k, t=t, size=size, base_name=base.name, copies=copies)


def _bases() -> Iterator[_Base]:
    """The classical and the shipped designs that have few enough blocks."""
    for v, k, t, size, name, design in CLASSICAL_DESIGNS:
        if size <= LARGEST_BASE:
            yield _Base(name=name, v=v, k=k, t=t, build=partial(_blocks, design))
    for (v, k, t), found in shipped_designs().items():
        if found.size <= LARGEST_BASE:
            build = partial(getattr, found, "blocks")
            yield _Base(name=f"X {v} {k} {t}", v=v, k=k, t=t, build=build)


def _blocks(build: Callable[[], Design]) -> Sequence[Block]:
    return build().blocks


def _flats(name: str, blocks: Sequence[Block], random: Random) -> list[frozenset[int]]:
    """The blocks of a base, and the flats of larger dimension if it is a geometry."""
    letter, *numbers = name.split(" ")
    kinds = [list(blocks)]
    if letter in "AP":
        m, q, s = map(int, numbers)
        geometry = affine_geometry if letter == "A" else projective_geometry
        kinds += [list(geometry(m, q, larger).blocks) for larger in range(s + 1, m)]
    chosen = [random.sample(kind, min(len(kind), LARGEST_GEOMETRY)) for kind in kinds]
    return [frozenset(flat) for kind in chosen for flat in kind]


def _costs(table: Table, cell: Cell) -> Floats:
    """Number of blocks that cover a base block that holds 0, 1, ..., v points."""
    v, k, t = cell
    costs = np.full(v + 1, float(v**t))
    widest = min(TOO_WIDE * k, v - 1)
    costs[: widest + 1] = table.sizes[t, k, : widest + 1]
    return costs


class _Search:
    """Annealing of the copies of the points of one base.

    Parameters
    ----------
    base : _Base
    random : random.Random
    """

    def __init__(self, base: _Base, random: Random) -> None:
        blocks = base.build()
        self._base = base
        self._random = random
        self._flats = _flats(base.name, blocks, random)
        self._points = np.array([p for block in blocks for p in block])
        self._owners = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])

    def run(self, costs: Floats, v: int, tries: int) -> tuple[int, tuple[int, ...]]:
        """The lowest cost of all tries, and how many points each base point then stands for.

        In a projective space every other try starts from a union of orbits of a random
        collineation.
        """
        best: tuple[float, Integers] = float(NONE), np.zeros(self._base.v, np.int64)
        for number in range(tries):
            copies = None
            if self._base.name.startswith("P") and number % 2:
                copies = self._annealed_orbits(costs, v)
            if copies is None:
                copies = _start(self._flats, self._base.v, v, self._random)
                temperatures = HOT_COLD
            else:
                temperatures = WARM_COLD
            alone = np.arange(self._base.v)
            cost, found = self._annealed(alone, copies, costs, temperatures)
            if cost < best[0]:
                best = cost, found
        return int(best[0]), tuple(best[1].tolist())

    def _annealed_orbits(self, costs: Floats, v: int) -> Integers | None:
        """Copies of each point that are equal within each orbit of a random collineation."""
        orbit = orbits(self._base.name, self._random)
        start = _united(np.bincount(orbit), v, self._base.v, self._random)
        if start is None:
            return None
        return self._annealed(orbit, start, costs, ORBITS_HOT_COLD)[1][orbit]

    def _annealed(
        self, orbit: Integers, copies: Integers, costs: Floats, hot_cold: tuple[float, float]
    ) -> tuple[float, Integers]:
        points, owners = self._points, self._owners
        return annealed(points, owners, orbit, copies, costs, hot_cold, self._random)


def annealed(
    points: Integers,
    owners: Integers,
    orbit: Integers,
    copies: Integers,
    costs: Floats,
    hot_cold: tuple[float, float],
    random: Random,
) -> tuple[float, Integers]:
    """Anneal the copies of each orbit of points.

    Parameters
    ----------
    points, owners : array
        The points of all blocks, one block after the other; the number of the block of each.
    orbit : array, shape (points,)
        The number of the orbit of each point.
    copies : array, shape (orbits,)
        How many points each point of an orbit stands for, to begin with.
    costs : array
        Cost of a block by the number of points that it holds.
    hot_cold : tuple of two floats
        First and last temperature.
    random : random.Random

    Returns
    -------
    (lowest cost found, copies of each orbit with that cost)
    """
    from experiments.design_search.weighing import Incidence, anneal_copies

    # Each pair of an orbit and a block that meet, with the number of their common points.
    number = int(owners[-1]) + 1
    keys, parts = np.unique(orbit[points] * number + owners, return_counts=True)
    starts = np.searchsorted(keys, np.arange(len(copies) + 1) * number)
    holders = keys % number
    weights = np.repeat(copies, np.diff(starts)) * parts
    widths = np.bincount(holders, weights, number).astype(np.int64)
    incidence = Incidence(starts, holders, parts, np.bincount(orbit))
    moves = min(MOST_MOVES, MOVES * len(copies) // len(keys))
    seed = random.getrandbits(30)
    cost, found = anneal_copies(incidence, copies, widths, costs, moves, hot_cold, seed)
    return float(cost), found


def orbits(name: str, random: Random) -> Integers:
    """The number of the orbit of each point under a random collineation of small period."""
    m, q, _ = map(int, name.split(" ")[1:])
    images = np.array(random_element(projective_maps(m, q, random), random))
    orbit, least = np.arange(len(images)), np.arange(len(images))
    while (images[least] != np.arange(len(images))).any():
        least = images[least]
        orbit = np.minimum(orbit, least)
    return np.unique(orbit, return_inverse=True)[1]


def _united(sizes: Integers, v: int, points: int, random: Random) -> Integers | None:
    """Equal copies of each orbit, one more for random orbits, v points in all.

    Returns None if the sizes of the orbits do not add up to v.
    """
    few, more = divmod(v, points)
    copies = np.full(len(sizes), few)
    for i in random.sample(range(len(sizes)), len(sizes)):
        if sizes[i] <= more:
            copies[i] += 1
            more -= int(sizes[i])
    return None if more else copies


def _start(flats: Sequence[frozenset[int]], points: int, v: int, random: Random) -> Integers:
    """Equal copies of each point, one more or one less for a union of intersections of flats.

    Such a union meets all blocks in about as many points, which local search from random sets does
    not find.
    """
    few, more = divmod(v, points)
    less = random.random() < 0.5
    wanted = points - more if less else more
    chosen: set[int] = set()
    for _ in range(DRAWS):
        flat = random.choice(flats)
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            flat = (flat & random.choice(flats)) or flat
        new = flat - chosen
        if len(chosen) + len(new) <= wanted:
            chosen |= new
    others = sorted({*range(points)} - chosen)
    chosen |= {*random.sample(others, wanted - len(chosen))}
    copies = np.full(points, few + less)
    copies[sorted(chosen)] += -1 if less else 1
    return copies
