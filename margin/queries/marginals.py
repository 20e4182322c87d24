"""Answers to queries from marginals: the share of the rows in the cells that satisfy a query."""

from collections.abc import Callable, Sequence

import numpy as np

from .._types import Floats, Integers
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError
from .base import Queries
from .conjunctions import Conjunctions
from .parities import Parities

__all__ = ["check_queries", "shares"]


_AT_ONCE = 1 << 12
"""The number of marginals that are computed together. Solvers are faster on many marginals, and
memory stays bounded."""


def check_queries(queries: object, domain: Domain) -> None:
    """Raise DomainError unless an object is queries about a domain."""
    if isinstance(queries, Queries) and queries.domain == domain:
        return
    is_queries = isinstance(queries, Queries)
    found = "about another domain" if is_queries else f"of type {type(queries).__name__}"
    raise DomainError(
        f"answer needs queries about the domain of the synopsis, but these are {found}; make them "
        "as in Conjunctions(synopsis.domain, ...)"
    )


def shares(queries: Queries, marginals: Callable[[Sequence[View]], list[Marginal]]) -> Floats:
    """Answer queries from marginals: the share of the rows that satisfy each, shape (queries,).

    One marginal answers all queries about the same attributes; the share is of its own total. Noise
    may leave a share below 0 or above 1: it is set to 0 or 1. The share is 0 if the total is not
    positive.

    Parameters
    ----------
    queries
        Conjunctions or parities.
    marginals
        A function that returns the marginals of some views, in the order of the views.

    Raises
    ------
    DomainError
        When the queries are neither conjunctions nor parities.
    """
    # Group the queries by their set of attributes.
    order = np.argsort(queries.attributes, axis=1)
    attributes = np.take_along_axis(queries.attributes, order, axis=1)
    sets, group = np.unique(
        attributes,
        axis=0,
        return_inverse=True,
    )
    group = group.reshape(-1)
    by_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=len(sets))
    ends = np.cumsum(sizes)
    starts = ends - sizes

    answers = np.zeros(len(queries))
    names = queries.domain.attributes
    for start in range(0, len(sets), _AT_ONCE):
        some = sets[start : start + _AT_ONCE]
        views = [tuple(names[axis] for axis in axes) for axes in some]
        for place, marginal in enumerate(marginals(views), start):
            own = by_group[starts[place] : ends[place]]
            total = marginal.counts.sum()
            if total > 0:
                answers[own] = _counts(queries, own, order[own], marginal.counts) / total
    return np.clip(answers, 0.0, 1.0)


def _counts(
    queries: Queries,
    own: Integers,
    order: Integers,
    table: Floats,
) -> Floats:
    """The number of rows of a table that satisfy some queries about its attributes: shape (own,).

    `own` holds the positions of the queries, and `order` sorts the attributes of each.
    """
    if isinstance(queries, Parities):
        odd = np.indices(table.shape).sum(axis=0) % 2
        signs = np.where(odd, -1.0, 1.0)
        even_less_odd = (signs * table).sum()
        return np.full(len(own), (table.sum() + even_less_odd) / 2)
    if not isinstance(queries, Conjunctions):
        raise DomainError(
            "queries must be Conjunctions or Parities to be answered from marginals, but they are "
            f"{type(queries).__name__}; make them with one of these classes"
        )
    assert queries.negated is not None
    places = np.take_along_axis(queries.values[own].astype(np.int64), order, axis=1)
    negated = np.take_along_axis(queries.negated[own], order, axis=1)
    # Along an axis of n codes with a negated literal, entries n + v are added for "all but v".
    for axis, size in enumerate(table.shape):
        if negated[:, axis].any():
            others = (
                table.sum(
                    axis=axis,
                    keepdims=True,
                )
                - table
            )
            table = np.concatenate([table, others], axis=axis)
            places[:, axis] += size * negated[:, axis]
    counts: Floats = table[tuple(places.T)]
    return counts
