"""Answers to queries from marginals: the shares of the rows in some cells of the marginal on a
query's attributes."""

from collections.abc import Callable, Sequence

import numpy as np

from .._types import Floats, Integers
from ..domain.domain import View
from ..domain.marginal import Marginal
from ..errors import DomainError
from .base import Queries
from .conjunctions import Conjunctions
from .parities import Parities

__all__ = ["shares"]


_AT_ONCE = 1 << 12
"""So many marginals are asked for together: solvers are faster on many, and memory is bounded."""


def shares(queries: Queries, marginals: Callable[[Sequence[View]], list[Marginal]]) -> Floats:
    """What share of the rows each query is true of: shape (queries,), from 0 to 1.

    Queries about the same attributes are answered by one marginal, by its own total: what noise has
    left below zero, or above the total, is cut off. Zero where the total is not positive.

    Parameters
    ----------
    queries
        Conjunctions or parities.
    marginals
        Gives the marginals of views, in their order.

    Raises
    ------
    DomainError
        When the queries are of another kind.
    """
    order = np.argsort(queries.attributes, axis=1)
    attributes = np.take_along_axis(queries.attributes, order, axis=1)
    sets, which = np.unique(attributes, axis=0, return_inverse=True)
    rows = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(sets)))
    answers = np.zeros(len(queries))
    for start in range(0, len(sets), _AT_ONCE):
        views = [
            tuple(queries.domain.attributes[axis] for axis in some)
            for some in sets[start : start + _AT_ONCE]
        ]
        for place, marginal in enumerate(marginals(views), start):
            own = rows[ends[place - 1] if place else 0 : ends[place]]
            total = marginal.counts.sum()
            if total > 0:
                answers[own] = _counts(queries, own, order[own], marginal.counts) / total
    return np.clip(answers, 0.0, 1.0)


def _counts(queries: Queries, own: Integers, order: Integers, table: Floats) -> Floats:
    """How many rows of a table some queries about its attributes are true of; `order` sorts their
    attributes."""
    if isinstance(queries, Parities):
        signs = np.where(np.indices(table.shape).sum(axis=0) % 2, -1.0, 1.0)
        return np.full(len(own), (table.sum() + (signs * table).sum()) / 2)
    if not isinstance(queries, Conjunctions):
        raise DomainError(
            f"marginals answer Conjunctions and Parities, not {type(queries).__name__}"
        )
    assert queries.negated is not None
    places = np.take_along_axis(queries.values[own].astype(np.int64), order, axis=1)
    negated = np.take_along_axis(queries.negated[own], order, axis=1)
    for axis, size in enumerate(table.shape):
        if negated[:, axis].any():  # code + size stands for all other codes
            others = table.sum(axis=axis, keepdims=True) - table
            table = np.concatenate([table, others], axis=axis)
            places[:, axis] += size * negated[:, axis]
    counts: Floats = table[tuple(places.T)]
    return counts
