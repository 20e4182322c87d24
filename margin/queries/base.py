"""`Queries`: the interface that every class of queries implements."""

import hashlib
import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import whole_number
from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..solvers import BestResponse
from .bits import BitTable

__all__ = ["MAX_QUERIES", "Queries", "random_attributes"]


MAX_QUERIES = 1 << 27
"""The largest number of queries in one workload. 100 million queries take a few gigabytes."""

_FEW = 8
"""Up to this many columns, comparing all pairs of columns is faster than sorting each row."""


@dataclass(
    frozen=True,
    eq=False,
)
class Queries(ABC):
    """A workload of queries over one domain. Each query is a condition on a row, and its answer is
    the share of the rows that satisfy it.

    Attributes
    ----------
    domain
        The attributes of the table.
    attributes
        The attributes in the condition of each query, as positions in the domain: int32, shape
        (queries, k).
    """

    domain: Domain
    attributes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def k(self) -> int:
        """The number of attributes in each query."""
        return int(self.attributes.shape[1])

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Whether each attribute of the domain occurs in a query: shape (attributes,)."""
        used = np.zeros(len(self.domain), np.bool_)
        used[self.attributes.ravel()] = True
        return used

    @cached_property
    def sizes(self) -> Integers:
        """The number of categories of each attribute of the domain: shape (attributes,)."""
        return np.asarray(self.domain.sizes, np.int64)

    @cached_property
    def digest(self) -> str:
        """A hash of the queries: SHA-256, in hexadecimal digits."""
        header = f"{type(self).__name__} {self.attributes.shape} {len(self.domain)}"
        hashed = hashlib.sha256(header.encode())
        for array in self._arrays():
            hashed.update(np.ascontiguousarray(array).tobytes())
        return hashed.hexdigest()

    @abstractmethod
    def counts(self, table: BitTable) -> Integers:
        """The number of rows of a table that satisfy each query: shape (queries,)."""

    @abstractmethod
    def best_response(
        self,
        places: Integers,
        weights: Integers,
        *,
        constant: int = 0,
    ) -> BestResponse:
        """State the search for a record that satisfies many queries as an integer programme.

        The objective is the sum of the weights of the satisfied queries, plus `constant`.

        Parameters
        ----------
        places
            The queries in the sum, as positions in this workload: shape (some,).
        weights
            The weight of each of these queries: integers, shape (some,).
        constant
            A number that is added to the objective.
        """

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that define the queries."""

    def _lines(
        self,
        table: BitTable,
        values: NDArray[Any],
    ) -> Integers:
        """Find the line of bits of each literal in a table; the result is kept for the next table
        of equal layout."""
        kept: tuple[Integers, Integers] | None = self.__dict__.get("_kept_lines")
        if kept is None or not np.array_equal(kept[0], table.start):
            kept = table.start, table.lines(self.attributes, values)
            self.__dict__["_kept_lines"] = kept
        return kept[1]

    def _check(self) -> None:
        """Raise DomainError unless there are queries, each about distinct attributes."""
        given = np.asarray(self.attributes)
        if given.ndim != 2 or given.dtype.kind not in "iu" or not given.shape[1]:
            raise DomainError(
                "attributes must be an array of integers with shape (queries, k), which are "
                f"positions in the domain; it has shape {given.shape} and type {given.dtype}, so "
                "make one row for each query"
            )
        if not len(given):
            raise DomainError(
                "a workload needs at least one query, but attributes is empty; add one row for "
                "each query"
            )
        if len(given) > MAX_QUERIES:
            raise DomainError(
                f"a workload may hold at most {MAX_QUERIES} queries, but {len(given)} are given; "
                "split them into several workloads"
            )
        if given.min() < 0 or given.max() >= len(self.domain):
            raise DomainError(
                f"each attribute of a query must be a position from 0 to {len(self.domain) - 1} in "
                f"the domain, but the positions given go from {given.min()} to {given.max()}; "
                "correct them"
            )
        if _has_repeats(given):
            raise DomainError(
                "the attributes of a query must differ, but a query names an attribute twice; name "
                "each attribute once"
            )
        object.__setattr__(self, "attributes", given.astype(np.int32))


def _has_repeats(rows: NDArray[Any]) -> bool:
    """Whether a row holds a number twice."""
    length = rows.shape[1]
    if length <= _FEW:
        pairs = itertools.combinations(range(length), 2)
        return any((rows[:, i] == rows[:, j]).any() for i, j in pairs)
    ordered = np.sort(rows, axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


def random_attributes(
    among: Integers,
    k: int,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw `count` independent uniform sets of `k` attributes: shape (count, k).

    `among` holds the positions of the attributes to draw from.

    Floyd's algorithm draws all sets at once.
    """
    k = whole_number("k", k, most=len(among))
    count = whole_number("count", count, most=MAX_QUERIES)
    chosen = np.empty((count, k), np.int32)
    for place, last in enumerate(range(len(among) - k, len(among))):
        # Draw one of the first last + 1 attributes. A set that holds it already takes `last`.
        drawn = rng.integers(0, last + 1, count)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, drawn)
    return np.asarray(among, np.int32)[chosen]
