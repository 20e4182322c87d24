"""The real queries among which the basis of an attribute is chosen."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..._types import Floats
from ...solvers.strategy.axis_rows import best_rows, natural_spread
from ..axis_queries import AxisQueries

__all__ = ["Option", "options"]

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the natural spread, the rest being uniform, that are tried."""

_MOST_OPTIMISED = 256
"""Largest number of values, or of blocks of values, for which queries are optimised directly."""


class Option(NamedTuple):
    """Real queries on one attribute, and their errors for the queries that are asked.

    Attributes
    ----------
    rows
        Real queries R, shape (n - 1, n).
    of_rows, of_total
        The summed error variances of the asked queries: by noise of variance one in the answers to
        R, and by noise of variance one in the total.
    """

    rows: Floats
    of_rows: float
    of_total: float


@lru_cache(maxsize=64)  # depends on neither the data nor the budget
def options(queries: AxisQueries, *, laplace: bool = False) -> tuple[Option, ...]:
    """List queries that may be measured for an attribute; one of them is best for a workload.

    The columns have norm at most one: Euclidean, or L1 if `laplace`.

    A component that lacks the attribute is spread over its values by the vector u. An uneven u
    lowers the error that the noise of such components causes, and raises that of the attribute's
    own queries. Between the uniform u and the one that is best for the attribute by itself, some
    are tried. For Laplace noise, the signed halves of a binary tree are tried too (Privelet).
    """
    gram = queries.gram
    width = -(-queries.size // _MOST_OPTIMISED)
    if width == 1:
        found = [_option(gram, share) for share in _SHARES]
    else:
        found = [_in_blocks(gram, share, width) for share in _SHARES]
    if laplace:
        found.append(_priced(_haar(queries.size), gram))
    return tuple(_scaled(option, laplace) for option in found)


def _option(gram: Floats, share: float) -> Option:
    size = len(gram)
    spread = np.full(size, 1 / size)
    if share:
        spread = (1 - share) * spread + share * _natural(gram.tobytes(), size)
    found = best_rows(gram, spread)
    return Option(found.rows, found.cost, float(spread @ gram @ spread))


@lru_cache(maxsize=4)
def _natural(gram: bytes, size: int) -> Floats:
    return natural_spread(np.frombuffer(gram).reshape(size, size))


def _in_blocks(
    gram: Floats,
    share: float,
    width: int,
) -> Option:
    """Queries on many values: optimised ones on sums over blocks, and others within each block.

    The values of a block that the sums do not divide are spread evenly. If the two parts have the
    errors c and d, and the squared lengths of their columns are in the ratio of the roots of c and
    d, the error of both together is (root c + root d) ** 2, which is the least.
    """
    size = len(gram)
    starts = np.arange(0, size, width)
    widths = np.diff(np.append(starts, size))
    block = np.repeat(np.arange(len(starts)), widths)
    evenly = (np.arange(len(starts)) == block[:, None]) / widths[block][:, None]
    outer = _option(evenly.T @ gram @ evenly, share)

    # Within blocks, the mean of the blocks' Gram matrices decides: one optimum for each width.
    inner = np.zeros((size - len(starts), size))
    lowest = 0
    of_inner = 0.0
    for wide in sorted(set(widths.tolist()) - {1}):
        chosen = [slice(start, start + wide) for start in starts[widths == wide].tolist()]
        own = np.mean([gram[cells, cells] for cells in chosen], axis=0)
        best = best_rows(own, np.full(wide, 1 / wide))
        of_inner += best.cost * len(chosen)
        for cells in chosen:
            inner[lowest : lowest + wide - 1, cells] = best.rows
            lowest += wide - 1

    parts = np.sqrt([outer.of_rows, of_inner])
    lengths = np.sqrt(parts / parts.sum())
    rows = np.concatenate([lengths[0] * outer.rows[:, block], lengths[1] * inner])
    return Option(rows, float(parts.sum() ** 2), outer.of_total)


def _haar(size: int) -> Floats:
    """The signed halves of each node of a binary tree of any size, shape (size - 1, size)."""
    rows = []
    nodes = [(0, size)]
    while nodes:
        first, end = nodes.pop()
        if end - first > 1:
            middle = (first + end + 1) // 2
            row = np.zeros(size)
            row[first:middle] = 1.0
            row[middle:end] = -1.0
            rows.append(row)
            nodes += [(first, middle), (middle, end)]
    return np.array(rows)


def _priced(rows: Floats, gram: Floats) -> Option:
    """The errors of some queries, from the inverse of their matrix."""
    inverse = np.linalg.inv(np.concatenate([np.ones((1, len(gram))), rows]))
    spread, estimate = inverse[:, 0], inverse[:, 1:]
    of_rows = float(((gram @ estimate) * estimate).sum())
    return Option(rows, of_rows, float(spread @ gram @ spread))


def _scaled(option: Option, laplace: bool) -> Option:
    """The same queries with columns of norm at most one."""
    longest = float(np.linalg.norm(option.rows, ord=1 if laplace else 2, axis=0).max())
    return Option(option.rows / longest, option.of_rows * longest**2, option.of_total)
