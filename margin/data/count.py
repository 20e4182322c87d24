"""`count`: the true contingency tables of some views, from any source of rows."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..counting import CountPlan
from ..domain.domain import Domain, GivenDomain, domain_of
from ..interrupts import watched
from ..interrupts.share import declaring, tell
from .opening import open_source

__all__ = ["Counts", "count"]


@runtime_checkable
class Counts(Protocol):
    """The interface of a source that counts its rows itself, such as on a cluster."""

    def count_views(
        self,
        domain: Domain,
        views: Iterable[Iterable[str]],
        /,
    ) -> list[NDArray[np.int64]]:
        """The tables of some views, equal to the tables of a `CountPlan` over all `batches`."""


def count(
    source: object,
    domain: GivenDomain,
    views: Iterable[Iterable[str]],
) -> list[NDArray[np.int64]]:
    """The true tables of some views, counted in one pass over the rows. The result is not private.

    Parameters
    ----------
    source
        The data, as `release` accepts it: a path, a data frame, an array of codes, or a `Source`.
    domain
        The attributes of the table.
    views
        The views to count.

    Returns
    -------
    list of numpy.ndarray
        One read-only int64 table for each view, with one axis for each attribute in the view's
        order.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `countable.MAX_CELLS` cells.
    DataError
        When the data does not fit the domain or cannot be read. The message names the source or the
        attribute, never a value.
    """
    declared = domain_of(domain)
    with watched(), declaring(declared.rows):
        plan = CountPlan(declared, views)
        opened = open_source(source)
        if isinstance(opened, Counts):
            tables = opened.count_views(declared, plan.views)
        else:
            for batch in opened.batches(declared):
                plan.accumulate(batch)
            tables = list(plan.tables)
        tell(1)
        return tables
