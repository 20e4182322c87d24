"""The rules that make covering designs of others: what closes a table of them."""

from collections.abc import Callable
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np

from ..geometry.transversal import transversal_cover
from ..gf import prime_power
from ..subsets import Block
from ..types import Integers
from .design_table import MOST_POINTS, NONE, STRONGEST, WIDEST, Cell, Table
from .parallel_classes import class_counts, joined_classes, parallel_classes

SHARED = 3  # points that may belong to every group of a transversal design

Build = Callable[[Table], list[Block]]


def close(made: Table) -> None:
    """Apply all rules until nothing changes; a cell needs others of less t, less k or other v only."""
    for t in range(2, STRONGEST + 1):
        for k in range(t + 1, WIDEST + 1):
            for v in range(k + 1, MOST_POINTS + 1):
                _offer_narrower(made, v, k, t)
                _offer_copies(made, v, k, t)
            crossings, classes = _crossings(made, k, t), _class_crossings(k, t)
            before = None
            while before is None or (before != made.sizes[t, k]).any():
                before = made.sizes[t, k].copy()
                for v in range(k + 1, MOST_POINTS + 1):
                    _offer_join(made, (v, k, t), crossings)
                    if classes is not None:
                        _offer_class_join(made, (v, k, t), classes)
                    if t == 2:
                        _offer_transversal(made, v, k)
                for v in reversed(range(k + 1, MOST_POINTS)):
                    words = f"a design of {v + 1} points, less one"
                    made.offer(
                        (v, k, t),
                        int(made.sizes[t, k, v + 1]),
                        (words, partial(_shortened, (v + 1, k, t))),
                    )


def _offer_narrower(made: Table, v: int, k: int, t: int) -> None:
    made.offer(
        (v, k, t),
        int(made.sizes[t, k - 1, v]),
        (f"blocks of {k - 1} points", partial(_built, (v, k - 1, t))),
    )


def _built(cell: Cell, made: Table) -> list[Block]:
    return made.build(*cell)


def _shortened(cell: Cell, made: Table) -> list[Block]:
    last = cell[0] - 1
    return [tuple(p for p in block if p != last) for block in made.build(*cell)]


def _offer_copies(made: Table, v: int, k: int, t: int) -> None:
    """Each point of a design stands for several."""
    for copies in range(2, k // t + 1):
        n, width = -(-v // copies), k // copies
        words = f"a design of {n} points, each standing for {copies}"
        made.offer(
            (v, k, t),
            int(made.sizes[t, width, n]),
            (words, partial(_copied, (n, width, t), copies, v)),
        )


def _copied(cell: Cell, copies: int, v: int, made: Table) -> list[Block]:
    return [
        tuple(p for point in block for p in range(point * copies, min(point * copies + copies, v)))
        for block in made.build(*cell)
    ]


def _crossings(made: Table, k: int, t: int) -> dict[tuple[bool, bool], Integers]:
    """Blocks that a join takes, shape (MOST_POINTS + 1,) * 2, by the points of each part, without
    those in one part.

    One array for joins whose t-subsets of the second part are left to a cover of that part alone,
    or not; and the same for the first part.
    """
    points = np.arange(MOST_POINTS + 1)
    prices = {
        run: _price(made, k, t, run, points[:, None], points)[0]
        for run in combinations_with_replacement(range(t + 1), 2)
    }
    alone = (0, 0), (t, t)
    totals: dict[tuple[bool, bool], Integers] = {}
    for runs in _divisions(t):
        ends = alone[0] in runs, alone[1] in runs
        total = np.sum([prices[run] for run in runs if run not in alone], axis=0)
        totals[ends] = np.minimum(totals.get(ends, total), total)
    return totals


def _divisions(t: int) -> list[list[tuple[int, int]]]:
    """All ways to cut 0, 1, ..., t into runs, each told by its ends."""
    return [
        [(low, high - 1) for low, high in pairwise((0, *cuts, t + 1))]
        for number in range(t + 1)
        for cuts in combinations(range(1, t + 1), number)
    ]


def _price(
    made: Table, k: int, t: int, run: tuple[int, int], first: Integers | int, second: Integers | int
) -> tuple[Integers, Integers]:
    """How few blocks hold the t-subsets with `low` to `high` points, a run, in the first part; and
    their points there.

    They are the blocks of a cover of strength `high` of the first part, each with each block of a
    cover of strength ``t - low`` of the second.
    """
    low, high = run
    prices = np.array(
        [
            made.sizes[high, width, first] * made.sizes[t - low, k - width, second]
            for width in range(k + 1)
        ]
    )
    if (
        low < high
    ):  # a part of too few points for a cover of this strength would be taken to need no block
        prices = np.where((np.asarray(first) < high) | (np.asarray(second) < t - low), NONE, prices)
    return prices.min(axis=0), prices.argmin(axis=0)


def _offer_join(made: Table, cell: Cell, crossings: dict[tuple[bool, bool], Integers]) -> None:
    """Split the points in two; t of them are s in the first part and t - s in the second, for some
    s.

    D. Gordon, G. Kuperberg, O. Patashnik, J. Combin. Designs 3 (1995), 269-284, section 5 (dynamic
    programming).
    """
    v, k, t = cell
    firsts = np.arange(1, v // 2 + 1)
    first, second = made.sizes[t, k, firsts], made.sizes[t, k, v - firsts]
    total = np.min(
        [
            crossing[firsts, v - firsts] + (second if ends[0] else 0) + (first if ends[1] else 0)
            for ends, crossing in crossings.items()
        ],
        axis=0,
    )
    best = int(np.argmin(total))
    made.offer(
        cell, int(total[best]), ("a join of two parts", partial(_joined, cell, int(firsts[best])))
    )


def _joined(cell: Cell, first: int, made: Table) -> list[Block]:
    v, k, t = cell
    prices = {
        run: _price(made, k, t, run, first, v - first)
        for run in combinations_with_replacement(range(t + 1), 2)
    }
    blocks: list[Block] = []
    for low, high in min(_divisions(t), key=lambda runs: sum(int(prices[run][0]) for run in runs)):
        width = int(prices[low, high][1])
        left, right = made.build(first, width, high), made.build(v - first, k - width, t - low)
        blocks += [(*a, *(first + p for p in b)) for a in left for b in right]
    return blocks


def _class_crossings(k: int, t: int) -> tuple[Integers, Integers] | None:
    """As `_crossings`, but from parallel classes; and the widths of the blocks in the first part.

    For t = 3 class i of the one part is joined to class i of the other: two points lie in one of
    the classes, and each class holds any third point. For t = 2 class i is joined to the i-th of as
    few subsets of the other part as have points enough, which holds the pairs of the first part
    too.
    """
    if t not in (2, 3):
        return None
    points = np.arange(MOST_POINTS + 1)
    widths = np.arange(2, k - t + 2)
    totals = []
    for width in widths:
        first, blocks, parts = class_counts()[width], -(-points // width), -(-points // (k - width))
        if t == 2:
            totals.append(np.maximum.outer(first, parts) * blocks[:, None])
        else:
            totals.append(
                np.maximum.outer(first, class_counts()[k - width])
                * np.multiply.outer(blocks, parts)
            )
    return np.min(totals, axis=0), widths[np.argmin(totals, axis=0)]


def _offer_class_join(made: Table, cell: Cell, classes: tuple[Integers, Integers]) -> None:
    v, k, t = cell
    crossings, widths = classes
    firsts = np.arange(2, v - 1)
    total = crossings[firsts, v - firsts] + made.sizes[t, k, v - firsts]
    if t == 3:
        total += made.sizes[t, k, firsts]
    best = int(np.argmin(total))
    first = int(firsts[best])
    recipe = partial(_joined_by_classes, cell, first, int(widths[first, v - first]))
    made.offer(cell, int(total[best]), ("a join of two parts, class by class", recipe))


def _joined_by_classes(cell: Cell, first: int, width: int, made: Table) -> list[Block]:
    v, k, t = cell
    left = parallel_classes(first, width)
    if t == 2:
        rest = [[block] for block in made.build(v - first, k - width, 1)]
    else:
        rest = parallel_classes(v - first, k - width)
    blocks = joined_classes(left, rest, first)
    blocks += [tuple(first + p for p in block) for block in made.build(v - first, k, t)]
    return blocks + (made.build(first, k, t) if t == 3 else [])


def _offer_transversal(made: Table, v: int, k: int) -> None:
    sizes = made.sizes[2, k]
    for shared in range(SHARED + 1):
        groups = [(v - shared) * (i + 1) // k - (v - shared) * i // k for i in range(k)]
        q = _order(max(k - 1, max(groups)))
        size = q * q + sum(int(sizes[group + shared]) for group in groups)
        words = f"a transversal design of order {q}, groups covered"
        made.offer((v, k, 2), size, (words, partial(_transversal, (v, k, q), shared)))


@cache
def _order(least: int) -> int:
    return least if prime_power(least) else _order(least + 1)


def _transversal(about: tuple[int, int, int], shared: int, made: Table) -> list[Block]:
    v, k, q = about
    return transversal_cover(v, k, q, lambda n: made.build(n, k, 2), shared=shared)
