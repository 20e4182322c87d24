"""The long search for induced designs: how many points each point of a base design stands for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from experiments.design_search.permutations import projective_maps, random_element
from margin.designs.covering.best_known import goal
from margin.designs.covering.classical_designs import NAMED
from margin.designs.covering.design_table import NONE, Cell, Table
from margin.designs.covering.induced_designs import TOO_WIDE
from margin.designs.covering.search_results import Copies, shipped
from margin.designs.covering.smallest_designs import table
from margin.designs.design import Design
from margin.designs.geometry.flats_and_circles import affine_geometry, projective_geometry
from margin.designs.subsets import Block
from margin.designs.types import Floats, Integers

LARGEST_BASE = 4000  # blocks
LARGEST_GEOMETRY = 3000  # flats of each dimension that sets of points are made of
NARROWEST, WIDEST = 0.55, 1.12  # times k: the mean number of points that a base block comes to hold
HOT_COLD = 1.0, 0.15
ORBITS_HOT_COLD = 5.0, 0.4  # the same for orbits
WARM_COLD = 0.5, 0.12  # and for points, after that
MOVES, MOST_MOVES = 4_000_000, 60_000  # the first divided by the number of blocks through a point
DRAWS = 60  # flats that are drawn to make up a set of points


@dataclass(frozen=True, kw_only=True)
class _Base:
    """A base design: its short name, what it covers, and what builds its blocks."""

    words: str
    v: int
    k: int
    t: int
    build: Callable[[], Sequence[Block]]

    def suits(self, cell: Cell) -> bool:
        """Whether its blocks would come to hold about as many points as they may."""
        v, k, t = cell
        return (
            t <= self.t
            and NARROWEST * k <= v * self.k / self.v <= WIDEST * k
            and not (v == self.v and self.k <= k)
        )


def search_copies(cells: Iterable[Cell], tries: int, seed: int) -> Iterator[Copies]:
    """Designs smaller than those of the table, as they are found, from so many starts for each base
    and cell."""
    random = Random(seed)
    made = table()
    sizes = {(v, k, t): int(made.sizes[t, k, v]) for v, k, t in cells}
    for base in _bases():
        suited = [cell for cell in sizes if base.suits(cell) and sizes[cell] > goal(*cell)]
        if not suited:
            continue
        blocks = base.build()
        flats = _flats(base.words, blocks, random)
        for v, k, t in suited:
            size, numbers = _search(base, blocks, flats, _costs(made, v, k, t), v, tries, random)
            if size < sizes[v, k, t]:
                sizes[v, k, t] = size
                yield Copies(v=v, k=k, t=t, size=size, words=base.words, numbers=numbers)


def _bases() -> Iterator[_Base]:
    """The named designs, and the shipped ones, of few enough blocks."""
    for v, k, t, size, words, design in NAMED:
        if size <= LARGEST_BASE:
            yield _Base(words=words, v=v, k=k, t=t, build=partial(_blocks, design))
    for (v, k, t), found in shipped().items():
        if found.size <= LARGEST_BASE:
            yield _Base(
                words=f"X {v} {k} {t}", v=v, k=k, t=t, build=partial(getattr, found, "blocks")
            )


def _blocks(build: Callable[[], Design]) -> Sequence[Block]:
    return build().blocks


def _flats(words: str, blocks: Sequence[Block], random: Random) -> list[frozenset[int]]:
    """The blocks, and of a geometry the flats of more dimensions too."""
    letter, *numbers = words.split(" ")
    kinds = [list(blocks)]
    if letter in "AP":
        m, q, s = map(int, numbers)
        geometry = affine_geometry if letter == "A" else projective_geometry
        kinds += [list(geometry(m, q, larger).blocks) for larger in range(s + 1, m)]
    chosen = [random.sample(kind, min(len(kind), LARGEST_GEOMETRY)) for kind in kinds]
    return [frozenset(flat) for kind in chosen for flat in kind]


def _costs(made: Table, v: int, k: int, t: int) -> Floats:
    """Blocks that it takes to cover a base block that holds 0, 1, ..., v points."""
    costs = np.full(v + 1, float(v**t))
    widest = min(TOO_WIDE * k, v - 1)
    costs[: widest + 1] = made.sizes[t, k, : widest + 1]
    return costs


def _search(
    base: _Base,
    blocks: Sequence[Block],
    flats: Sequence[frozenset[int]],
    costs: Floats,
    v: int,
    tries: int,
    random: Random,
) -> tuple[int, tuple[int, ...]]:
    """The least cost from so many starts, and how many points each base point then stands for.

    In a projective space every other start is a union of orbits of a random collineation.
    """
    alone = np.arange(base.v)
    points = np.array([p for block in blocks for p in block])
    owners = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    best: tuple[float, Integers] = float(NONE), np.zeros(base.v, np.int64)
    for number in range(tries):
        copies = None
        if base.words.startswith("P") and number % 2:
            orbit = _orbits(base.words, random)
            start = _united(np.bincount(orbit), v, base.v, random)
            if start is not None:
                copies = _annealed(points, owners, orbit, start, costs, ORBITS_HOT_COLD, random)[1][
                    orbit
                ]
        hot_cold = HOT_COLD if copies is None else WARM_COLD
        copies = _start(flats, base.v, v, random) if copies is None else copies
        cost, found = _annealed(points, owners, alone, copies, costs, hot_cold, random)
        if cost < best[0]:
            best = cost, found
    return int(best[0]), tuple(best[1].tolist())


def _annealed(
    points: Integers,
    owners: Integers,
    orbit: Integers,
    copies: Integers,
    costs: Floats,
    hot_cold: tuple[float, float],
    random: Random,
) -> tuple[float, Integers]:
    """The least cost found, and the copies of each orbit then.

    `points` are those of all blocks, one block after the other, `owners` the blocks' numbers;
    `orbit` tells that of each point.
    """
    from experiments.design_search.weighing import anneal_copies

    number = int(owners[-1]) + 1
    keys, parts = np.unique(orbit[points] * number + owners, return_counts=True)
    starts = np.searchsorted(keys, np.arange(len(copies) + 1) * number)
    holders = keys % number
    widths = np.bincount(holders, np.repeat(copies, np.diff(starts)) * parts, number).astype(
        np.int64
    )
    moves = min(MOST_MOVES, MOVES * len(copies) // len(keys))
    cost, found = anneal_copies(
        starts,
        holders,
        parts,
        np.bincount(orbit),
        copies,
        widths,
        costs,
        moves,
        *hot_cold,
        random.getrandbits(30),
    )
    return float(cost), found


def _orbits(words: str, random: Random) -> Integers:
    """The number of the orbit of each point under a random collineation of small period."""
    m, q, _ = map(int, words.split(" ")[1:])
    images = np.array(random_element(projective_maps(m, q, random), random))
    orbit, least = np.arange(len(images)), np.arange(len(images))
    while (images[least] != np.arange(len(images))).any():
        least = images[least]
        orbit = np.minimum(orbit, least)
    return np.unique(orbit, return_inverse=True)[1]


def _united(sizes: Integers, v: int, points: int, random: Random) -> Integers | None:
    """As many copies of each orbit, but one more for random ones, v points in all; None when they
    do not add up."""
    few, more = divmod(v, points)
    copies = np.full(len(sizes), few)
    for i in random.sample(range(len(sizes)), len(sizes)):
        if sizes[i] <= more:
            copies[i] += 1
            more -= int(sizes[i])
    return None if more else copies


def _start(flats: Sequence[frozenset[int]], points: int, v: int, random: Random) -> Integers:
    """As many copies of each point, but one more, or one less, for a union of intersections of
    flats.

    Such sets meet all blocks alike, which local search from random sets does not find.
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
    chosen |= {*random.sample(sorted({*range(points)} - chosen), wanted - len(chosen))}
    copies = np.full(points, few + less)
    copies[sorted(chosen)] += -1 if less else 1
    return copies
