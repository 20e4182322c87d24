"""Random pairs of neighbouring tables, and one table with many rows."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Integers
from ..domain.domain import Domain, GivenDomain, domain_of
from ..privacy.budget import Budget, Neighbours

__all__ = ["full_table", "neighbours"]

Row = list[int]

# The tables have 0, 1, ... rows, up to one less than this.
_SIZES = 25

# Largest number of cells of the table with many rows.
_MOST_CELLS = 150

# Number of rows of this table.
_MANY_ROWS = 300


def neighbours(
    domain: GivenDomain,
    budget: Budget,
    count: int,
    seed: int = 0,
) -> Iterator[tuple[Any, Any]]:
    """Random pairs of neighbouring tables, in the sense of a budget.

    In the first pair, a row enters an empty cell. In the others, it enters any cell, in both
    directions. The tables have from 0 to 24 shared rows in few cells. So neighbours differ in empty
    cells, in single rows, in all attributes at once, and around every small count.

    Parameters
    ----------
    domain
        The domain of the tables.
    budget
        Its neighbouring relation and its number of rows per person are used.
    count
        The number of pairs.
    seed
        The seed of the tables.

    Yields
    ------
    tuple
        Two arrays of codes, each of shape (rows, attributes).
    """
    rng = random.Random(seed)
    declared = domain_of(domain)
    for number in range(count):
        first, second = _pair(declared, budget, number, rng)
        yield (first, second) if number % 2 == 0 else (second, first)


def _pair(
    domain: Domain,
    budget: Budget,
    number: int,
    rng: random.Random,
) -> tuple[Integers, Integers]:
    """A table, and the table with the rows of one person more or replaced."""
    crowd = [_random_row(domain, rng) for _ in range(3)]
    shared = [rng.choice(crowd) for _ in range((number - 1) % _SIZES)]
    new, old = _random_row(domain, rng), _random_row(domain, rng)
    last = [size - 1 for size in domain.sizes]
    if number == 0:
        shared, new = [[0] * len(domain)] * 20, last
    elif number % 3 == 0:
        # From each small count of a cell to the next.
        new = crowd[0]
        shared = [row for row in shared if row != crowd[0]] + [crowd[0]] * (number // 3 % 8)
    elif number % 4 == 1:
        new = last
    most = budget.rows_per_person
    added = rng.randint(1, most) if number % 2 else most
    # The rows of a person may be replaced by another number of rows; a single row by one row.
    replaced = rng.randint(0, most) if most > 1 else 1
    removed = replaced if budget.neighbours is Neighbours.REPLACE_ROW else 0
    first = _inserted(shared, [old] * removed, rng)
    second = _inserted(shared, [new] * added, rng)
    return _codes(first, domain), _codes(second, domain)


def full_table(domain: Domain) -> Integers:
    """A table of 300 rows in about half of the cells, if the domain is small: array (rows,
    attributes)."""
    rng = random.Random(0)
    cells = math.prod(domain.sizes)
    random_cells = [tuple(_random_row(domain, rng)) for _ in range(min(_MOST_CELLS, cells))]
    held = [list(cell) for cell in dict.fromkeys(random_cells)]
    held = held[: max(1, cells // 2)]
    return _codes([rng.choice(held) for _ in range(_MANY_ROWS)], domain)


def _random_row(domain: Domain, rng: random.Random) -> Row:
    return [rng.randrange(size) for size in domain.sizes]


def _inserted(
    shared: list[Row],
    more: list[Row],
    rng: random.Random,
) -> list[Row]:
    """The shared rows with further rows inserted anywhere."""
    rows = list(shared)
    for row in more:
        rows.insert(rng.randint(0, len(rows)), row)
    return rows


def _codes(rows: list[Row], domain: Domain) -> Integers:
    return np.array(rows, np.int64).reshape(len(rows), len(domain))
