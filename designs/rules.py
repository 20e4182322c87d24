"""The rules that make covering designs of others: what closes a table of them."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from .classes import UNKNOWN, class_counts, joined_classes, parallel_classes
from .gf import prime_power
from .recipes import MOST_POINTS, NONE, STRONGEST, WIDEST, Cell, Table
from .subsets import Block, IntArray
from .transversal import transversal_cover

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
                    made.offer((v, k, t), int(made.sizes[t, k, v + 1]), (words, partial(_shortened, (v + 1, k, t))))


def _offer_narrower(made: Table, v: int, k: int, t: int) -> None:
    made.offer((v, k, t), int(made.sizes[t, k - 1, v]), (f"blocks of {k - 1} points", partial(_built, (v, k - 1, t))))


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
        made.offer((v, k, t), int(made.sizes[t, width, n]), (words, partial(_copied, (n, width, t), copies, v)))


def _copied(cell: Cell, copies: int, v: int, made: Table) -> list[Block]:
    return [
        tuple(p for point in block for p in range(point * copies, min(point * copies + copies, v)))
        for block in made.build(*cell)
    ]


def _crossings(made: Table, k: int, t: int) -> IntArray:
    """Blocks that hold the t-subsets with points in two parts, shape (MOST_POINTS + 1,) * 2, by the points of each."""
    total = np.zeros((MOST_POINTS + 1, MOST_POINTS + 1), np.int64)
    for s in range(1, t):
        total += np.min([_products(made, k, t, s, width) for width in range(s, k - (t - s) + 1)], axis=0)
    return total


def _products(made: Table, k: int, t: int, s: int, width: int) -> IntArray:
    """Blocks of `width` points that hold s in one part, each with blocks of the rest that hold t - s in the other."""
    products: IntArray = np.multiply.outer(made.sizes[s, width], made.sizes[t - s, k - width])
    return products


def _offer_join(made: Table, cell: Cell, crossings: IntArray) -> None:
    """Split the points in two; t of them are s in the first part and t - s in the second, for some s.

    D. Gordon, G. Kuperberg, O. Patashnik, J. Combin. Designs 3 (1995), 269-284, section 5 (dynamic programming).
    """
    v, k, t = cell
    firsts = np.arange(1, v // 2 + 1)
    total = made.sizes[t, k, firsts] + made.sizes[t, k, v - firsts] + crossings[firsts, v - firsts]
    best = int(np.argmin(total))
    made.offer(cell, int(total[best]), ("a join of two parts", partial(_joined, cell, int(firsts[best]))))


def _joined(cell: Cell, first: int, made: Table) -> list[Block]:
    v, k, t = cell
    blocks: list[Block] = []
    for s in range(t + 1):
        widths = range(s, k - (t - s) + 1)
        sizes = [made.sizes[s, w, first] * made.sizes[t - s, k - w, v - first] for w in widths]
        width = widths[int(np.argmin(sizes))]
        left, right = made.build(first, width, s), made.build(v - first, k - width, t - s)
        blocks += [(*a, *(first + p for p in b)) for a in left for b in right]
    return blocks


def _class_crossings(k: int, t: int) -> tuple[IntArray, IntArray] | None:
    """As `_crossings`, but from parallel classes; and the widths of the blocks in the first part.

    For t = 3 class i of the one part is joined to class i of the other: two points lie in one of the classes, and each
    class holds any third point. For t = 2 class i is joined to the i-th of as few subsets of the other part as have
    points enough, which holds the pairs of the first part too.
    """
    if t not in (2, 3):
        return None
    points = np.arange(MOST_POINTS + 1)
    totals = []
    for width in range(2, k - t + 2):
        first, rest = class_counts()[width], class_counts()[k - width]
        parts = -(-points // (k - width))
        known = first < UNKNOWN if t == 2 else np.logical_and.outer(first < UNKNOWN, rest < UNKNOWN)
        if t == 2:
            total = np.maximum.outer(first, parts) * -(-points // width)[:, None]
            known = known[:, None]
        else:
            total = np.maximum.outer(first, rest) * np.multiply.outer(-(-points // width), parts)
        totals.append(np.where(known, total, NONE))
    return np.min(totals, axis=0), np.argmin(totals, axis=0) + 2


def _offer_class_join(made: Table, cell: Cell, classes: tuple[IntArray, IntArray]) -> None:
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
        rest = [[tuple(range(i, min(i + k - width, v - first)))] for i in range(0, v - first, k - width)]
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
