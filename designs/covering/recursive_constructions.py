"""Constructions of covering designs from others, applied to a table until nothing changes."""

from functools import cache, partial
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np

from ..geometry.transversal import transversal_cover
from ..gf import prime_power
from ..subsets import Block
from ..types import Integers
from .design_table import MOST_POINTS, NONE, STRONGEST, WIDEST, Cell, Recipe, Table
from .parallel_classes import class_counts, joined_classes, parallel_classes

SHARED = 3  # largest number of points that belong to every group of a transversal design

Crossings = dict[tuple[bool, bool], Integers]


def close(table: Table) -> None:
    """Apply all constructions to a table until nothing changes.

    A cell only depends on cells with a smaller t, a smaller k, or another v.
    """
    for t in range(2, STRONGEST + 1):
        for k in range(t + 1, WIDEST + 1):
            for v in range(k + 1, MOST_POINTS + 1):
                _offer_narrower(
                    table,
                    v,
                    k,
                    t,
                )
                _offer_copies(
                    table,
                    v,
                    k,
                    t,
                )
            _close_row(table, k, t)


def _close_row(
    table: Table,
    k: int,
    t: int,
) -> None:
    """Apply the constructions that make a cell from other v, until nothing changes."""
    crossings = _crossings(table, k, t)
    classes = _class_crossings(k, t)
    before = None
    while before is None or (before != table.sizes[t, k]).any():
        before = table.sizes[t, k].copy()
        for v in range(k + 1, MOST_POINTS + 1):
            _offer_join(table, (v, k, t), crossings)
            if classes is not None:
                _offer_class_join(table, (v, k, t), classes)
            if t == 2:
                _offer_transversal(table, v, k)
        for v in reversed(range(k + 1, MOST_POINTS)):
            _offer_shortened(
                table,
                v,
                k,
                t,
            )


def _offer_narrower(
    table: Table,
    v: int,
    k: int,
    t: int,
) -> None:
    """Offer the design with blocks of k - 1 points: blocks of at most k points are allowed."""
    recipe = Recipe(f"blocks of {k - 1} points", partial(_built, (v, k - 1, t)))
    table.offer((v, k, t), int(table.sizes[t, k - 1, v]), recipe)


def _built(cell: Cell, table: Table) -> list[Block]:
    return table.build(*cell)


def _offer_shortened(
    table: Table,
    v: int,
    k: int,
    t: int,
) -> None:
    """Offer the design of v + 1 points, with the last point deleted."""
    provenance = f"a design of {v + 1} points, less one"
    recipe = Recipe(provenance, partial(_shortened, (v + 1, k, t)))
    table.offer((v, k, t), int(table.sizes[t, k, v + 1]), recipe)


def _shortened(cell: Cell, table: Table) -> list[Block]:
    last = cell[0] - 1
    return [tuple(p for p in block if p != last) for block in table.build(*cell)]


def _offer_copies(
    table: Table,
    v: int,
    k: int,
    t: int,
) -> None:
    """Offer designs of fewer points in which each point is replaced by several points."""
    for copies in range(2, k // t + 1):
        n, width = -(-v // copies), k // copies
        provenance = f"a design of {n} points, each standing for {copies}"
        recipe = Recipe(
            provenance,
            partial(
                _copied,
                (n, width, t),
                copies,
                v,
            ),
        )
        table.offer((v, k, t), int(table.sizes[t, width, n]), recipe)


def _copied(
    cell: Cell,
    copies: int,
    v: int,
    table: Table,
) -> list[Block]:
    blocks = []
    for block in table.build(*cell):
        spans = [range(p * copies, min(p * copies + copies, v)) for p in block]
        blocks.append(tuple(point for span in spans for point in span))
    return blocks


def _crossings(
    table: Table,
    k: int,
    t: int,
) -> Crossings:
    """Number of blocks of a join that hold points of both parts, by the sizes of the parts.

    Each array has the shape (MOST_POINTS + 1, MOST_POINTS + 1). A key is a pair of booleans. The
    first one tells whether a separate cover of the second part holds the t-subsets within that
    part, the second one the same for the first part.
    """
    points = np.arange(MOST_POINTS + 1)
    prices = {
        run: _price(
            table,
            k,
            t,
            run,
            points[:, None],
            points,
        )[0]
        for run in _runs(t)
    }
    second_alone, first_alone = (0, 0), (t, t)
    totals: Crossings = {}
    for division in _divisions(t):
        ends = second_alone in division, first_alone in division
        inner = [prices[run] for run in division if run not in (second_alone, first_alone)]
        total = np.sum(inner, axis=0)
        totals[ends] = np.minimum(totals.get(ends, total), total)
    return totals


def _runs(t: int) -> list[tuple[int, int]]:
    """List all runs of consecutive numbers among 0, 1, ..., t, each as (first, last)."""
    return list(combinations_with_replacement(range(t + 1), 2))


def _divisions(t: int) -> list[list[tuple[int, int]]]:
    """All ways to cut 0, 1, ..., t into runs."""
    divisions = []
    for number in range(t + 1):
        for cuts in combinations(range(1, t + 1), number):
            ends = pairwise((0, *cuts, t + 1))
            divisions.append([(low, high - 1) for low, high in ends])
    return divisions


def _price(
    table: Table,
    k: int,
    t: int,
    run: tuple[int, int],
    first: Integers | int,
    second: Integers | int,
) -> tuple[Integers, Integers]:
    """Fewest blocks that hold the t-subsets of a run, and how many of their points are in part one.

    The points are split into two parts of `first` and `second` points. The t-subsets of the run
    (low, high) have `low` to `high` points in the first part. A cover of strength `high` of the
    first part is joined to a cover of strength ``t - low`` of the second part, each block with each
    block. The blocks of the first cover have w points, those of the second k - w; the best w is
    the second result.
    """
    low, high = run
    sizes = table.sizes
    prices = np.array(
        [sizes[high, width, first] * sizes[t - low, k - width, second] for width in range(k + 1)]
    )
    if low < high:
        # A part with fewer points than the strength has a cover of no blocks, but must not count
        # as covered for the other numbers of the run.
        too_small = (np.asarray(first) < high) | (np.asarray(second) < t - low)
        prices = np.where(too_small, NONE, prices)
    return prices.min(axis=0), prices.argmin(axis=0)


def _offer_join(
    table: Table,
    cell: Cell,
    crossings: Crossings,
) -> None:
    """Offer the best join of two parts.

    The points are split into two parts. Of any t points, s lie in the first part, for some s from 0
    to t. These numbers are cut into runs, and each run is covered as in `_price`.

    D. Gordon, G. Kuperberg, O. Patashnik, J. Combin. Designs 3 (1995), 269-284, section 5 (dynamic
    programming).
    """
    v, k, t = cell
    firsts = np.arange(1, v // 2 + 1)
    first = table.sizes[t, k, firsts]
    second = table.sizes[t, k, v - firsts]
    totals = []
    for (second_alone, first_alone), crossing in crossings.items():
        covers = (second if second_alone else 0) + (first if first_alone else 0)
        totals.append(crossing[firsts, v - firsts] + covers)
    total = np.min(totals, axis=0)
    best = int(np.argmin(total))
    recipe = Recipe("a join of two parts", partial(_joined, cell, int(firsts[best])))
    table.offer(cell, int(total[best]), recipe)


def _joined(
    cell: Cell,
    first: int,
    table: Table,
) -> list[Block]:
    v, k, t = cell
    second = v - first
    prices = {
        run: _price(
            table,
            k,
            t,
            run,
            first,
            second,
        )
        for run in _runs(t)
    }

    def total(division: list[tuple[int, int]]) -> int:
        return sum(int(prices[run][0]) for run in division)

    blocks: list[Block] = []
    for low, high in min(_divisions(t), key=total):
        width = int(prices[low, high][1])
        left = table.build(first, width, high)
        right = table.build(second, k - width, t - low)
        blocks += [(*a, *(first + p for p in b)) for a in left for b in right]
    return blocks


def _class_crossings(k: int, t: int) -> tuple[Integers, Integers] | None:
    """Like `_crossings`, for a join of parallel classes; also the best width of the first part.

    For t = 3, each block of class i of one part is joined to each block of class i of the other.
    Any two points of a part lie in a block of some class, and this class of the other part holds
    any third point. For t = 2, the other part is cut into subsets, and class i is joined to subset
    i. The result holds the pairs within the first part too. Both arrays have the shape
    (MOST_POINTS + 1, MOST_POINTS + 1). The result is None for other t.
    """
    if t not in (2, 3):
        return None
    points = np.arange(MOST_POINTS + 1)
    widths = np.arange(2, k - t + 2)
    totals = []
    for width in widths:
        classes = class_counts()[width]
        blocks = -(-points // width)
        parts = -(-points // (k - width))
        if t == 2:
            totals.append(np.maximum.outer(classes, parts) * blocks[:, None])
        else:
            rounds = np.maximum.outer(classes, class_counts()[k - width])
            totals.append(rounds * np.multiply.outer(blocks, parts))
    return np.min(totals, axis=0), widths[np.argmin(totals, axis=0)]


def _offer_class_join(
    table: Table,
    cell: Cell,
    classes: tuple[Integers, Integers],
) -> None:
    """Offer the best join of two parts by parallel classes; see `_class_crossings`."""
    v, k, t = cell
    crossings, widths = classes
    firsts = np.arange(2, v - 1)
    total = crossings[firsts, v - firsts] + table.sizes[t, k, v - firsts]
    if t == 3:
        total += table.sizes[t, k, firsts]
    best = int(np.argmin(total))
    first = int(firsts[best])
    build = partial(
        _joined_by_classes,
        cell,
        first,
        int(widths[first, v - first]),
    )
    recipe = Recipe("a join of two parts, class by class", build)
    table.offer(cell, int(total[best]), recipe)


def _joined_by_classes(
    cell: Cell,
    first: int,
    width: int,
    table: Table,
) -> list[Block]:
    v, k, t = cell
    second = v - first
    left = parallel_classes(first, width)
    if t == 2:
        right = [[block] for block in table.build(second, k - width, 1)]
    else:
        right = parallel_classes(second, k - width)
    blocks = joined_classes(left, right, first)
    blocks += [tuple(first + p for p in block) for block in table.build(second, k, t)]
    if t == 3:
        blocks += table.build(first, k, t)
    return blocks


def _offer_transversal(
    table: Table,
    v: int,
    k: int,
) -> None:
    """Offer a transversal design with the covers of its groups, which all hold shared points."""
    sizes = table.sizes[2, k]
    for shared in range(SHARED + 1):
        spread = v - shared
        groups = [spread * (i + 1) // k - spread * i // k for i in range(k)]
        q = _order(max(k - 1, max(groups)))
        size = q * q + sum(int(sizes[group + shared]) for group in groups)
        provenance = f"a transversal design of order {q}, groups covered"
        recipe = Recipe(provenance, partial(_transversal, (v, k, q), shared))
        table.offer((v, k, 2), size, recipe)


@cache
def _order(least: int) -> int:
    """The smallest prime power that is at least `least`."""
    return least if prime_power(least) else _order(least + 1)


def _transversal(
    parameters: tuple[int, int, int],
    shared: int,
    table: Table,
) -> list[Block]:
    v, k, q = parameters
    return transversal_cover(
        v,
        k,
        q,
        lambda n: table.build(n, k, 2),
        shared=shared,
    )
