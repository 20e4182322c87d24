"""Long searches for covering designs, whose results are shipped in `margin.designs.covering`.

Run ``python -m experiments.design_search.offline FILE`` with the options below. Each design found
is appended to FILE, one line each. ``--search`` chooses among five searches:

starters
    Anneals random groups and numbers of starter blocks for the cells of the table that are above
    the best known size.
orbits
    Makes covers of whole orbits of blocks under random groups.
blocks
    Starts from the designs of the table, leaves out one block and anneals the others.
copies
    Finds lines for ``induced.txt``.
classes
    Finds lines for ``classes.txt``; the width of a class is k.

The first three find lines for ``starters.txt``: apply `kept` to these lines together with those of
``starters.txt`` and write the result as the next ``starters.txt``. Each line that is found improves
other cells through the constructions, so run the searches in turns.

Example: ``python -m experiments.design_search.offline found.txt --t 2 --v 20 50 --k 5 12 --moves
1e9``.
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
from margin.designs.covering.search_results import (
    InducedDesign,
    StarterDesign,
    read_starter_design,
)
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.groups import Group
from margin.designs.subsets import Block, coverage, unranked

MOST_FIXED = 6  # largest number of points that a random group leaves fixed
MOST_STARTERS = 60
MOVES = 4000  # moves per point of a starter block in the first round; each later round doubles them
MISSES = 6  # times the t-subsets of a block: if more are uncovered, no loose blocks are added
MULTIPLIED = 0.3  # how often a random group has a multiplier


def search(cells: Iterable[Cell], moves: int, seed: int) -> Iterator[StarterDesign]:
    """Yield designs smaller than those of the table, until `moves` moves are made."""
    random = Random(seed)
    sizes = {(v, k, t): int(smallest_designs().sizes[t, k, v]) for v, k, t in cells}
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
    """The line of the smallest design of each cell, sorted by cell."""
    best: dict[Cell, StarterDesign] = {}
    for line in lines:
        design = read_starter_design(line)
        cell = (design.group.v, design.k, design.t)
        if cell not in best or design.size < best[cell].size:
            best[cell] = design
    return [best[cell].line() for cell in sorted(best)]


def _trial(cell: Cell, above: int, scale: int, random: Random) -> tuple[StarterDesign | None, int]:
    """Anneal once, under a random group, towards fewer than `above` blocks.

    Returns the design, if any, and the number of moves made.
    """
    v, k, t = cell
    group = _random_group(v, random)
    size = random.randint(max(1, goal(*cell)), above - 1)
    widths = _random_widths(group, k, size, random)
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
    size = len({*blocks, *loose})
    design = StarterDesign(group=group, k=k, t=t, size=size, starters=tuple(starters), loose=loose)
    return design, made


def _random_group(v: int, random: Random) -> Group:
    order = random.choice([n for n in range(1, v + 1) if v % n <= MOST_FIXED])
    multipliers = [m for m in range(2, order) if gcd(m, order) == 1]
    multiplier = 1
    if multipliers and random.random() < MULTIPLIED:
        multiplier = random.choice(multipliers)
    return Group(v=v, order=order, multiplier=multiplier)


def _random_widths(group: Group, k: int, size: int, random: Random) -> list[int]:
    """Widths of starter blocks whose images are about `size` blocks, mostly full orbits."""
    full, rest = divmod(size, len(group.factors()) * group.order)
    widths = [1] * full
    divisors: list[int] = []
    if group.multiplier == 1:
        divisors = [w for w in range(2, min(k, group.order) + 1) if group.order % w == 0]
    while short := [w for w in divisors if group.order // w <= rest]:
        widths.append(random.choice(short))
        rest -= group.order // widths[-1]
    return widths


def _remedy(blocks: list[Block], cell: Cell) -> list[Block]:
    """Greedy blocks that cover the t-subsets that the given blocks leave uncovered."""
    v, k, t = cell
    left = np.flatnonzero(coverage(blocks, v, t) == 0)
    if not len(left):
        return []
    sets: list[Block] = [tuple(row) for row in unranked(left, t, v).tolist()]
    return greedy_cover(
        wanted_sets(sets, v),
        lambda block: np.full(v, len(block) < k),
        np.ones(v),
        np.random.default_rng(0),
    )


def main(arguments: list[str] | None = None) -> None:
    """Run one search and append each design found to a file."""
    asked = _parser().parse_args(arguments)
    ks = range(asked.k[0], asked.k[1] + 1)
    vs = range(asked.v[0], asked.v[1] + 1)
    cells = [(v, k, asked.t) for k in ks for v in vs if asked.t < k < v]
    for design in _found(asked, cells):
        with asked.file.open("a", encoding="utf-8") as file:
            file.write(design.line() + "\n")


def _found(
    asked: argparse.Namespace, cells: list[Cell]
) -> Iterable[StarterDesign | InducedDesign | Classes]:
    """The results of the search that was asked for."""
    if asked.search == "starters":
        return search(cells, int(asked.moves), asked.seed)
    if asked.search == "orbits":
        return search_orbits(cells, asked.tries, asked.seed)
    if asked.search == "blocks":
        return search_blocks(cells, asked.tries, asked.seed)
    if asked.search == "copies":
        return search_copies(cells, asked.tries, asked.seed)
    return search_classes([(v, k) for v, k, _ in cells], int(asked.moves), asked.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="file to which the lines are appended")
    parser.add_argument(
        "--search",
        choices=["starters", "orbits", "blocks", "copies", "classes"],
        default="starters",
    )
    parser.add_argument("--t", type=int, default=2, help="strength")
    parser.add_argument(
        "--k", type=int, nargs=2, default=(5, WIDEST), help="first and last number of block points"
    )
    parser.add_argument(
        "--v", type=int, nargs=2, default=(6, MOST_POINTS), help="first and last number of points"
    )
    parser.add_argument(
        "--moves", type=float, default=1e9, help="starters: moves in all; classes: moves per try"
    )
    parser.add_argument(
        "--tries",
        type=int,
        default=20,
        help="orbits: random groups; copies: starts; blocks: blocks left out",
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    main()
