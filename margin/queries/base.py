"""`Queries`: what every class of queries offers."""

import hashlib
import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..solvers import BestResponse
from .bits import BitTable

__all__ = ["MAX_QUERIES", "Queries", "random_attributes"]


MAX_QUERIES = 1 << 27
"""The most queries of one workload; 100 million take a few gigabytes."""

_FEW = 8


@dataclass(frozen=True, eq=False)
class Queries(ABC):
    """A workload of queries, each true or false of a row; its answer is the share of the rows of
    which it is true.

    Attributes
    ----------
    domain
        The attributes of the table.
    attributes
        The attributes that each query asks about, as positions in the domain: shape (queries, k),
        int32.
    """

    domain: Domain
    attributes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def k(self) -> int:
        """How many attributes each query asks about."""
        return int(self.attributes.shape[1])

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which attributes of the domain some query asks about: shape (attributes,)."""
        used = np.zeros(len(self.domain), np.bool_)
        used[self.attributes.ravel()] = True
        return used

    @cached_property
    def sizes(self) -> Integers:
        """The number of categories of each attribute of the domain: shape (attributes,)."""
        return np.asarray(self.domain.sizes, np.int64)

    @cached_property
    def digest(self) -> str:
        """A text that stands for the queries."""
        hashed = hashlib.sha256(
            f"{type(self).__name__} {self.attributes.shape} {len(self.domain)}".encode()
        )
        for array in self._arrays():
            hashed.update(np.ascontiguousarray(array).tobytes())
        return hashed.hexdigest()

    @abstractmethod
    def counts(self, table: BitTable) -> Integers:
        """Of how many rows of a table each query is true: shape (queries,)."""

    @abstractmethod
    def best_response(
        self, places: Integers, weights: Integers, *, constant: int = 0
    ) -> BestResponse:
        """The integer programme: which record makes the weighted number of some of the queries that
        hold largest?"""

    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """What makes the queries."""

    def _lines(self, table: BitTable, values: NDArray[Any]) -> Integers:
        """The lines of the literals, kept for the next table with its lines in the same places."""
        kept: tuple[Integers, Integers] | None = self.__dict__.get("_kept_lines")
        if kept is None or not np.array_equal(kept[0], table.start):
            kept = table.start, table.lines(self.attributes, values)
            self.__dict__["_kept_lines"] = kept
        return kept[1]

    def _check(self) -> None:
        """DomainError unless there are some queries, about distinct attributes of the domain."""
        given = np.asarray(self.attributes)
        if given.ndim != 2 or given.dtype.kind not in "iu" or not given.shape[1]:
            raise DomainError(
                "attributes must be integers of shape (queries, k): positions in the domain"
            )
        if not len(given):
            raise DomainError("a workload needs at least one query")
        if len(given) > MAX_QUERIES:
            raise DomainError(
                f"{len(given)} queries are too many: at most {MAX_QUERIES} can be held"
            )
        if given.min() < 0 or given.max() >= len(self.domain):
            raise DomainError(
                f"a query names an attribute that is not one of 0 ... {len(self.domain) - 1}"
            )
        if _has_repeats(given):
            raise DomainError(
                "a query names an attribute twice; the attributes of a query must be distinct"
            )
        object.__setattr__(self, "attributes", given.astype(np.int32))


def _has_repeats(rows: NDArray[Any]) -> bool:
    """Whether some row holds a number twice."""
    length = rows.shape[1]
    if length <= _FEW:  # quicker than sorting, for millions of rows
        return any(
            (rows[:, i] == rows[:, j]).any() for i, j in itertools.combinations(range(length), 2)
        )
    ordered = np.sort(rows, axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


def random_attributes(
    among: Integers, k: int, count: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Independent uniform sets of k of some attributes, shape (count, k); Floyd's algorithm, all
    sets at once."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(among):
        raise DomainError(
            f"k ({k}) must be an integer from 1 to the number of attributes ({len(among)})"
        )
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_QUERIES:
        raise DomainError(f"count ({count}) must be an integer from 1 to {MAX_QUERIES}")
    chosen = np.empty((count, k), np.int32)
    for place, last in enumerate(range(len(among) - k, len(among))):
        drawn = rng.integers(0, last + 1, count)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, drawn)
    return np.asarray(among, np.int32)[chosen]
