"""`Simulation`: a synopsis whose noise is known, beside the truth."""

import os
from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np

from .data.baskets import holders
from .data.count import count
from .data.source import Source
from .domain.domain import Domain
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import DomainError
from .privacy.budget import Budget
from .synopses.synopsis import Synopsis

__all__ = ["Simulation"]

S = TypeVar("S", bound=Synopsis)


class Simulation(Generic[S]):
    """A synopsis whose noise is known, beside the truth. It is not private, and never taken for a
    release.

    Attributes
    ----------
    synopsis
        What the mechanism made, marked as not private.
    """

    def __init__(self, synopsis: S, source: Source | None = None) -> None:
        self.synopsis = synopsis
        self._source = source

    @property
    def domain(self) -> Domain:
        """The attributes of the table."""
        return self.synopsis.domain

    @property
    def spent(self) -> Budget:
        """The budget that a release would have spent."""
        return self.synopsis.spent

    def marginal(self, view: Iterable[str]) -> Marginal:
        """See `Synopsis.marginal`."""
        return self.synopsis.marginal(view)

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """See `Synopsis.marginals`."""
        return self.synopsis.marginals(workload)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the simulated synopsis, marked as not private; `load` refuses it unless told to
        allow simulations."""
        self.synopsis.save(path)

    def truth(self, view: Iterable[str]) -> Marginal:
        """The true counts of a view; see `truths`."""
        return self.truths([self.domain.view(view)])[0]

    def truths(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The true counts of several views, in one pass over the data; of rows that are sets, how
        many hold each item.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or the simulation was loaded from a file, which
            holds no truth.
        """
        if self._source is None:
            raise DomainError(
                "a simulation that was loaded from a file does not hold the truth; simulate again"
            )
        views = Workload.of(self.domain, workload).views
        held = holders(self._source, self.domain)
        tables = count(self._source, self.domain, views) if held is None else [held] * len(views)
        return [
            Marginal(self.domain.restrict(view), table.astype(np.float64), np.zeros(table.shape))
            for view, table in zip(views, tables, strict=True)
        ]
