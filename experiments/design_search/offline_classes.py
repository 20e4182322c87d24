"""The long search for parallel classes."""

from collections.abc import Iterable, Iterator
from random import Random

from margin.designs.covering.annealing import anneal_classes
from margin.designs.covering.parallel_classes import Classes, class_counts
from margin.designs.groups import Group

TRIES = 40
MOST_POINTS = 700  # in all base classes together
SLACK = 8  # classes more than there must be


def search_classes(cells: Iterable[tuple[int, int]], moves: int, seed: int) -> Iterator[Classes]:
    """Fewer parallel classes than are known for numbers of points and widths, with so many moves
    for each try."""
    random = Random(seed)
    for v, width in cells:
        least = -(-(v - 1) // (width - 1))
        for count in range(least, min(int(class_counts()[width, v]), least + SLACK)):
            found = _search(v, width, count, moves, random)
            if found is not None:
                yield found
                break


def _search(v: int, width: int, count: int, moves: int, random: Random) -> Classes | None:
    """Try the groups whose order divides the number of classes and which fix no more points than a
    block holds."""
    orders = [
        n
        for n in range(1, count + 1)
        if count % n == 0 and v % n <= width and count // n * v <= MOST_POINTS
    ]
    for _ in range(TRIES if orders else 0):
        order = random.choice(orders)
        found = anneal_classes(
            Group(v=v, order=order),
            width,
            bases=count // order,
            moves=moves,
            seed=random.getrandbits(30),
        )
        if found is not None:
            return found
    return None
