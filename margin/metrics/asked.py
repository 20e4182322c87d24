"""The error of the queries that a workload asks: cells, prefixes, ranges or levels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .._types import Floats
from ..domain.levels import Levels
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError

__all__ = ["AskedError"]

_ASKS = ("cells", "prefixes", "ranges", "levels")

_MOST_SUMS = 1 << 26
"""Largest number of sums of one table; they take 512 MiB."""


@dataclass(frozen=True)
class AskedError:
    """The mean absolute error of the queries that are asked of each view, in rows.

    A query of a view is a product of one query of each attribute: a category; a prefix, which are
    all categories up to one; a range, which are all categories from one to another; or a node of a
    level. The error of a query is the sum of the errors of its cells. All queries of a view count
    equally.

    Parameters
    ----------
    asked
        What is asked of some attributes: "cells", "prefixes", "ranges" or "levels", as in
        `Workload.of`; cells of all others. None takes what the workload of `margin.compare` asks.

    Raises
    ------
    DomainError
        If `asked` is no mapping from names to these words; in a call, if the queries of a view need
        more than 2**26 sums, or levels are asked of an attribute without any.

    Examples
    --------
    >>> from margin import Domain
    >>> domain = Domain({"age": {"size": 3, "ordered": True}})
    >>> answer = Marginal(domain, np.array([1.0, 3.0, 2.0]), np.zeros(3))
    >>> truth = Marginal(domain, np.array([2.0, 2.0, 2.0]), np.zeros(3))
    >>> AskedError({"age": "prefixes"})([answer], [truth])
    [0.3333333333333333]
    >>> AskedError({"age": "ranges"})([answer], [truth])
    [0.5]
    """

    asked: Mapping[str, str] | None = field(default=None, hash=False)
    name: ClassVar[str] = "abs. error asked"
    larger_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        asked = {} if self.asked is None else self.asked
        if not isinstance(asked, Mapping) or not set(asked.values()) <= set(_ASKS):
            raise DomainError(
                "asked must be a mapping from attributes to cells, prefixes, ranges or levels, but "
                f"it is {asked!r}; pass one such as {{'age': 'ranges'}}"
            )

    def of(self, workload: Workload) -> Self:
        """The metric of what a workload asks, if the metric does not say what is asked."""
        return self if self.asked is not None else replace(self, asked=dict(workload.asked))

    def check(self, truths: Sequence[Marginal]) -> None:
        """Refuse tables with too many queries, before any mechanism is run.

        Raises
        ------
        DomainError
            If the queries of a view need more than 2**26 sums, or levels are asked of an attribute
            without any.
        """
        for truth in truths:
            axes = self._axes(truth)
            sums = math.prod(axis.sums for axis in axes)
            if sums > _MOST_SUMS:
                raise DomainError(
                    f"the metric asked needs {sums:,} sums of the table of "
                    f"({', '.join(truth.attributes)}), but at most {_MOST_SUMS:,} are possible; "
                    "ask ranges of fewer attributes, or leave this metric out"
                )

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        self.check(truths)
        return [
            _mean(answer.counts - truth.counts, self._axes(truth))
            for answer, truth in zip(answers, truths, strict=True)
        ]

    def _axes(self, table: Marginal) -> "list[_Axis]":
        """What is asked of each attribute of a table. Of the ranges of several attributes, those of
        the longest are not written out."""
        asked = self.asked or {}
        asks = [asked.get(name, "cells") for name in table.attributes]
        sizes = table.counts.shape
        ranged = [place for place, ask in enumerate(asks) if ask == "ranges"]
        sorted_place = max(ranged, key=lambda place: sizes[place], default=None)
        return [
            _Axis(
                ask="sorted ranges" if place == sorted_place else ask,
                size=sizes[place],
                levels=_levels(table, name) if ask == "levels" else None,
            )
            for place, (name, ask) in enumerate(zip(table.attributes, asks, strict=True))
        ]


@dataclass(frozen=True)
class _Axis:
    """What is asked of the `size` categories of one attribute."""

    ask: str
    size: int
    levels: Levels | None

    @property
    def sums(self) -> int:
        """The number of sums that are written out."""
        if self.ask == "ranges":
            return self.size * (self.size + 1) // 2
        if self.ask == "sorted ranges":
            return self.size + 1
        if self.levels is not None:
            return sum(len(starts) for starts in self._starts)
        return self.size

    @property
    def _starts(self) -> list[np.ndarray]:
        """For each level, the first code of each node; the codes of a node are neighbours."""
        assert self.levels is not None
        return [np.flatnonzero(np.diff(group, prepend=-1)) for group in self.levels.groups]

    def of(self, errors: Floats) -> Floats:
        """The errors of the queries from those of the cells, along the first axis."""
        if self.levels is not None:
            return np.concatenate([np.add.reduceat(errors, starts) for starts in self._starts])
        if self.ask == "cells":
            return errors
        sums = np.cumsum(errors, axis=0)
        if self.ask == "prefixes":
            return sums
        # A range is the difference of two of these sums, or of one and nothing.
        ends = np.concatenate([np.zeros((1, *sums.shape[1:])), sums])
        if self.ask == "sorted ranges":
            return ends
        first, last = np.triu_indices(self.size + 1, 1)
        return np.asarray(ends[last] - ends[first])


def _levels(table: Marginal, name: str) -> Levels:
    """The levels of an attribute of a table, which must have some."""
    levels = table.domain[name].levels
    if levels is None:
        raise DomainError(
            f"levels can be asked of attributes with levels only, but {name!r} has none; ask for "
            "cells, or declare levels"
        )
    return levels


def _mean(errors: Floats, axes: Sequence[_Axis]) -> float:
    """The mean absolute error of all queries, from the errors of the cells."""
    along = None
    for place, axis in enumerate(axes):
        errors = np.moveaxis(axis.of(np.moveaxis(errors, place, 0)), 0, place)
        along = place if axis.ask == "sorted ranges" else along
    if along is None:
        return float(np.abs(errors).mean())
    # The sum of |x - y| over all pairs of n + 1 numbers is that of (2 k - n) x_(k) over the sorted
    # numbers x_(0) ... x_(n), because x_(k) is the larger one of k pairs and the smaller one of
    # n - k.
    size = axes[along].size
    ends = np.sort(np.moveaxis(errors, along, -1), axis=-1)
    pairs = ends @ (2.0 * np.arange(size + 1) - size)
    return float(pairs.mean()) / (size * (size + 1) / 2)
