"""Subsets of t points, each with a number (its rank), so that arrays can count them by rank."""

from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from itertools import chain, combinations
from math import comb

import numpy as np

from .types import Integers

Block = tuple[int, ...]


@cache
def subsets(n: int, t: int) -> Integers:
    """All t-subsets of ``range(n)``, shape (comb(n, t), t), each row ascending; read-only.

    >>> subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    flat = np.fromiter(chain.from_iterable(combinations(range(n), t)), np.int64)
    array = flat.reshape(comb(n, t), t)
    array.flags.writeable = False
    return array


def ranks(rows: Integers, v: int) -> Integers:
    """Number the t-subsets in colexicographic order, shape (n,).

    A row p_1 < ... < p_t has the rank comb(p_1, 1) + ... + comb(p_t, t) (the combinatorial number
    system). For any v, the ranks of the t-subsets of ``range(v)`` are the integers 0, 1, ...,
    comb(v, t) - 1.

    Parameters
    ----------
    rows : array, shape (n, t)
        Each row is ascending.
    v : int
        A number larger than any entry.

    >>> ranks(np.array([[0, 1], [0, 2], [1, 2]]), 3).tolist()
    [0, 1, 2]
    """
    tables = _binomials(v, rows.shape[1])
    total = np.zeros(len(rows), np.int64)
    for column, table in zip(rows.T, tables, strict=True):
        total += table[column]
    return total


def unranked(
    numbers: Integers,
    t: int,
    v: int,
) -> Integers:
    """Find the t-subsets of ``range(v)`` with given ranks, shape (n, t); the inverse of `ranks`.

    >>> unranked(np.array([2, 0]), 2, 3).tolist()
    [[1, 2], [0, 1]]
    """
    rest = np.array(numbers, np.int64)
    rows = np.empty((len(rest), t), np.int64)
    tables = _binomials(v, t)
    for i in reversed(range(t)):
        rows[:, i] = np.searchsorted(tables[i], rest, side="right") - 1
        rest -= tables[i][rows[:, i]]
    return rows


def block_ranks(
    block: Block,
    v: int,
    t: int,
) -> Integers:
    """The ranks of the t-subsets of one block, shape (comb(len(block), t),)."""
    return ranks(np.array(block, np.int64)[subsets(len(block), t)], v)


def coverage(
    blocks: Iterable[Block],
    v: int,
    t: int,
) -> Integers:
    """Count the blocks that hold each t-subset of ``range(v)``, by rank, shape (comb(v, t),).

    >>> coverage([(0, 1, 2), (1, 2, 3)], 4, 2).tolist()
    [1, 1, 2, 0, 1, 1]
    """
    # Blocks of equal length are ranked together, a few at a time to limit the memory.
    by_length: dict[int, list[Block]] = {}
    for block in blocks:
        by_length.setdefault(len(block), []).append(block)
    counts = np.zeros(comb(v, t), np.int64)
    for length, group in by_length.items():
        picks = subsets(length, t)
        step = max(1, 2_000_000 // max(1, picks.size))
        for start in range(0, len(group), step):
            part = np.array(group[start : start + step], np.int64)
            rows = part[:, picks].reshape(-1, t)
            counts += np.bincount(ranks(rows, v), minlength=len(counts))
    return counts


def members_within(
    block: Block,
    family: Collection[Block],
    orders: Iterable[int],
) -> list[Block]:
    """The members of a family that lie within a block and have one of the given sizes.

    Either the family or the subsets of the block are searched, whichever are fewer.

    Parameters
    ----------
    block : tuple of int
    family : set or mapping
        Ascending tuples.
    orders : iterable of int
        The sizes of the members to return.

    >>> sorted(members_within((0, 2, 3), {(0, 1), (0, 3), (2,)}, [1, 2]))
    [(0, 3), (2,)]
    """
    possible, count = _possible_orders(len(block), frozenset(orders))
    if count <= len(family):
        return [s for order in possible for s in combinations(block, order) if s in family]
    return [s for s in filter(set(block).issuperset, family) if len(s) in possible]


@lru_cache
def _possible_orders(length: int, orders: frozenset[int]) -> tuple[list[int], int]:
    """The orders of subsets of a block of some length, ascending, and the number of subsets."""
    possible = sorted(order for order in orders if order <= length)
    return possible, sum(comb(length, order) for order in possible)


@cache
def _binomials(v: int, t: int) -> list[Integers]:
    """For i = 1..t an array of comb(p, i) for p = 0..v-1, each of shape (v,)."""
    tables = [np.arange(v, dtype=np.int64)]
    for _ in range(t - 1):
        tables.append(np.concatenate([[0], np.cumsum(tables[-1])[:-1]]))
    return tables[:t]
