"""Long search for parallel classes."""

from collections.abc import Iterable, Iterator
from random import Random

from margin.designs.covering.annealing import anneal_classes
from margin.designs.covering.parallel_classes import Classes, class_counts
from margin.designs.groups import Group

TRIES = 40
MOST_POINTS = 700  # largest number of points of all base classes together
SLACK = 8  # largest number of classes above the lower bound that is tried


def search_classes(cells: Iterable[tuple[int, int]], moves: int, seed: int) -> Iterator[Classes]:
    """Yield fewer parallel classes than are known, for pairs (number of points, width).

    Each try makes at most `moves` moves.
    """
    random = Random(seed)
    for v, width in cells:
        least = -(-(v - 1) // (width - 1))
        for count in range(least, min(int(class_counts()[width, v]), least + SLACK)):
            found = _search(v, width, count, moves, random)
            if found is not None:
                yield found
                break


def _search(v: int, width: int, count: int, moves: int, random: Random) -> Classes | None:
    """Anneal under random cyclic groups.

    The order of a group divides the number of classes, and the group fixes at most `width` points.
    """
    orders = [
        n
        for n in range(1, count + 1)
        if count % n == 0 and v % n <= width and count // n * v <= MOST_POINTS
    ]
    if not orders:
        return None
    for _ in range(TRIES):
        order = random.choice(orders)
        group = Group(v=v, order=order)
        seed = random.getrandbits(30)
        found = anneal_classes(group, width, bases=count // order, moves=moves, seed=seed)
        if found is not None:
            return found
    return None
