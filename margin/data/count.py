"""`count`: the true tables of some views, wherever the rows are."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..counting import CountPlan
from ..domain.domain import Domain
from .opening import open_source

__all__ = ["Counts", "count"]


@runtime_checkable
class Counts(Protocol):
    """A source that counts where its rows are, on a cluster."""

    def count_views(
        self, domain: Domain, views: Iterable[Iterable[str]], /
    ) -> list[NDArray[np.int64]]:
        """The tables of some views, exactly as a `CountPlan` over all `batches` would give them."""


def count(
    source: object, domain: Domain, views: Iterable[Iterable[str]]
) -> list[NDArray[np.int64]]:
    """The true tables of some views, in one pass over the rows, wherever these are. Not private.

    Parameters
    ----------
    source
        What `release` accepts as data: a path, a data frame, an array of codes, a `Source`.
    domain
        What the table may hold.
    views
        The views to count.

    Returns
    -------
    list of numpy.ndarray
        One table of int64 a view, one axis an attribute in the view's order; not to be written to.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `countable.MAX_CELLS` cells.
    DataError
        When the data does not fit the domain or cannot be read. Names the source or the attribute,
        never a value.
    """
    plan = CountPlan(domain, views)
    opened = open_source(source)
    if isinstance(opened, Counts):
        return opened.count_views(domain, plan.views)
    for batch in opened.batches(domain):
        plan.accumulate(batch)
    return list(plan.tables)
