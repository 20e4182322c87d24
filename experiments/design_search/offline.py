"""The long searches whose finds are shipped.

``python -m experiments.design_search.offline FILE --t 2 --v 20 50 --k 5 12 --moves 1e9`` anneals
random groups and numbers of starter blocks for the cells of the table that are above the best known
size, and appends what it finds to FILE, a line each; ``--search orbits`` makes them of whole orbits
under random groups. `kept` of these lines and those of ``starters.txt`` is the next
``starters.txt``. ``--search blocks`` starts from the designs of the table, leaves out a block and
anneals the others. ``--search copies`` finds lines of ``induced.txt``, and ``--search classes`` of
``classes.txt``, whose width is k. Each find makes others better through the rules, so the searches
are run in turns.
"""

import argparse
from collections.abc import Iterable, Iterator
from math import comb, gcd
from pathlib import Path
from random import Random

import numpy as np

from experiments.design_search.offline_blocks import search_blocks
from experiments.design_search.offline_classes import search_classes
from experiments.design_search.offline_copies import search_copies
from experiments.design_search.offline_orbits import search_orbits
from margin.designs.covering.annealing import anneal
from margin.designs.covering.best_known import goal
from margin.designs.covering.design_table import MOST_POINTS, WIDEST, Cell
from margin.designs.covering.greedy import greedy_cover, wanted_sets
from margin.designs.covering.parallel_classes import Classes
from margin.designs.covering.search_results import Copies, Shipped, read
from margin.designs.covering.smallest_designs import table
from margin.designs.groups import Group
from margin.designs.subsets import Block, coverage, unranked

MOST_FIXED = 6
MOST_STARTERS = 60
MOVES = 4000  # for each point of a starter block, in the first round; then twice as many in each
MISSES = 6  # times the t-subsets of a block: more uncovered ones are not covered by loose blocks


def search(cells: Iterable[Cell], moves: int, seed: int) -> Iterator[Shipped]:
    """Designs smaller than those of the table, as they are found, until so many moves are made."""
    random = Random(seed)
    sizes = {(v, k, t): int(table().sizes[t, k, v]) for v, k, t in cells}
    scale = 1
    while moves > 0 and (todo := [cell for cell in sizes if sizes[cell] > goal(*cell)]):
        for cell in todo:
            found, made = _trial(cell, sizes[cell], scale, random)
            moves -= made
            if found is not None and found.size < sizes[cell]:
                sizes[cell] = found.size
                yield found
        scale *= 2


def kept(lines: Iterable[str]) -> list[str]:
    """The lines of the smallest design of each cell, in order."""
    best: dict[Cell, Shipped] = {}
    for design in map(read, lines):
        cell = (design.group.v, design.k, design.t)
        if cell not in best or design.size < best[cell].size:
            best[cell] = design
    return [best[cell].line() for cell in sorted(best)]


def _trial(cell: Cell, above: int, scale: int, random: Random) -> tuple[Shipped | None, int]:
    """One annealing towards fewer than `above` blocks under a random group; and the moves it took."""
    v, k, t = cell
    group = _random_group(v, random)
    maps = len(group.factors()) * group.order
    size = random.randint(max(1, goal(*cell)), above - 1)
    full, rest = divmod(size, maps)
    divisors = (
        [w for w in range(2, min(k, group.order) + 1) if group.order % w == 0]
        if group.multiplier == 1
        else []
    )
    widths = [1] * full
    while short := [w for w in divisors if group.order // w <= rest]:
        widths.append(random.choice(short))
        rest -= group.order // widths[-1]
    if not 0 < len(widths) <= MOST_STARTERS:
        return None, 1
    moves = MOVES * len(widths) * k * scale
    uncovered, starters, made = anneal(
        group, k, t, widths=widths, moves=moves, seed=random.getrandbits(30)
    )
    if uncovered > MISSES * comb(k, t):
        return None, made
    blocks = group.expand(starters)
    loose = tuple(_remedy(blocks, cell))
    return (
        Shipped(
            group=group,
            k=k,
            t=t,
            size=len({*blocks, *loose}),
            starters=tuple(starters),
            loose=loose,
        ),
        made,
    )


def _random_group(v: int, random: Random) -> Group:
    order = random.choice([n for n in range(1, v + 1) if v % n <= MOST_FIXED])
    multipliers = [m for m in range(2, order) if gcd(m, order) == 1]
    multiplier = random.choice(multipliers) if multipliers and random.random() < 0.3 else 1
    return Group(v=v, order=order, multiplier=multiplier)


def _remedy(blocks: list[Block], cell: Cell) -> list[Block]:
    """Blocks that cover what others leave uncovered."""
    v, k, t = cell
    left = np.flatnonzero(coverage(blocks, v, t) == 0)
    if not len(left):
        return []
    sets: list[Block] = [tuple(row) for row in unranked(left, t, v).tolist()]
    fits = lambda block: np.full(v, len(block) < k)  # noqa: E731
    return greedy_cover(wanted_sets(sets, v), fits, np.ones(v), np.random.default_rng(0))


def main(arguments: list[str] | None = None) -> None:
    """Search, and append what is found to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--search",
        choices=["starters", "orbits", "blocks", "copies", "classes"],
        default="starters",
    )
    parser.add_argument("--t", type=int, default=2)
    parser.add_argument("--k", type=int, nargs=2, default=(5, WIDEST))
    parser.add_argument("--v", type=int, nargs=2, default=(6, MOST_POINTS))
    parser.add_argument(
        "--moves", type=float, default=1e9, help="of starters in all, of classes in a try"
    )
    parser.add_argument(
        "--tries",
        type=int,
        default=20,
        help="random groups of orbits, starts of copies, blocks left out",
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    ks, vs = range(asked.k[0], asked.k[1] + 1), range(asked.v[0], asked.v[1] + 1)
    cells = [(v, k, asked.t) for k in ks for v in vs if asked.t < k < v]
    found: Iterable[Shipped | Copies | Classes]
    if asked.search == "starters":
        found = search(cells, int(asked.moves), asked.seed)
    elif asked.search == "orbits":
        found = search_orbits(cells, asked.tries, asked.seed)
    elif asked.search == "blocks":
        found = search_blocks(cells, asked.tries, asked.seed)
    elif asked.search == "copies":
        found = search_copies(cells, asked.tries, asked.seed)
    else:
        found = search_classes([(v, k) for v, k, _ in cells], int(asked.moves), asked.seed)
    for design in found:
        with asked.file.open("a", encoding="utf-8") as file:
            file.write(design.line() + "\n")


if __name__ == "__main__":
    main()
