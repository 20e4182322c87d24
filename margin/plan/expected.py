"""One row of a plan: a mechanism, and its expected error on a workload and on each table."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..domain.domain import Domain
from ..domain.workload import Workload
from ..errors import MarginError
from ..mechanisms.axis_queries import asked_queries, queries_of
from ..mechanisms.by_table import asked_levels
from ..mechanisms.expressions import expression
from ..privacy.budget import Budget

__all__ = [
    "Expectation",
    "Priced",
    "PricedByCount",
    "PricedByTable",
    "TableExpectation",
    "check_priced",
    "counts_asked",
]


_NOT_PRICED = (
    "{name} has no expected_error: most often, the error depends on the data; measure it with "
    "margin.compare on a public table"
)
"""The reason of a row of a mechanism whose error is not known in advance."""

_NOT_OF_ASKED = (
    "the workload asks {asked}, but {name} does not say that its expected_error is of these: if it "
    "is, declare prices_asked = True in its class"
)
"""The reason of a row without an error: it may be of other counts than those of other rows."""


@runtime_checkable
class Priced(Protocol):
    """The interface of a mechanism whose expected error can be computed before it runs."""

    def expected_error(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
        /,
    ) -> float:
        """The expected squared error: summed over the cells of each view, times the view's weight,
        summed over the views of the workload.

        If the class has `prices_asked = True`, the cells are the counts that the workload asks: the
        prefixes, ranges or levels of `workload.asked`, and the products of those of several
        attributes. Without it, `plan` shows no error for a workload that asks more than cells.
        """


@runtime_checkable
class PricedByTable(Protocol):
    """The interface of a mechanism that also tells the expected error of each table."""

    def table_errors(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
        /,
    ) -> list[float]:
        """For each view of the workload the expected squared error, summed over its counts at the
        levels that are asked; infinite if the view is reconstructed."""


@runtime_checkable
class PricedByCount(Protocol):
    """The interface of a mechanism that also tells the largest expected error in each table."""

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
        /,
    ) -> list[float]:
        """For each view of the workload the largest expected squared error of a count at the levels
        that are asked; infinite if the view is reconstructed."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Expectation:
    """One row of a plan: a mechanism and its expected error on the workload.

    Attributes
    ----------
    mechanism
        The mechanism, ready to be passed to `release`.
    error
        The expected squared error of the noise, before negative counts are removed: summed over the
        counts that are asked of each view, times the view's weight, summed over the views. None if
        the mechanism cannot handle the domain or the workload, or does not say that its error is of
        what is asked.
    per_cell
        The root mean square of the error over the counts that are asked: the typical error of one
        count. None if `error` is.
    note
        If `error` is None, the reason. Otherwise a remark on what the mechanism would measure, or
        an empty text.
    missed
        The assumed part of `error` that comes from components that are not measured; see `Auto`.
        Zero if the error is a closed form.
    default
        Whether this is the first choice of `release` for the same workload and number of rows, if
        no mechanism is named: `Adaptive()` measures it, unless what it learns speaks for
        another one. Only a plan with `rows` can tell.
    plain
        The mechanism as it is written: without the views that it chooses itself.
    """

    mechanism: Any
    error: float | None
    per_cell: float | None
    note: str = ""
    missed: float = 0.0
    default: bool = False
    plain: Any = dataclasses.field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the mechanism's class."""
        return type(self.mechanism).__name__

    @property
    def python(self) -> str | None:
        """The Python expression that makes the mechanism; None for a class of your own.

        Pass its value to `release` with the workload of the plan.
        """
        return expression(self._written, modules=True)

    @property
    def command(self) -> str | None:
        """What `margin release --mechanism` takes for the mechanism; None for a class of your own.

        Give `--workload` as for the plan.
        """
        return expression(self._written, modules=False)

    @property
    def _written(self) -> Any:
        return self.mechanism if self.plain is None else self.plain


@dataclass(
    frozen=True,
    kw_only=True,
)
class TableExpectation:
    """The expected error of one table of a plan.

    Attributes
    ----------
    view
        The attributes and levels of the table, as the workload names them.
    counts
        The number of counts of the table that are asked: if the workload asks levels, prefixes or
        ranges of an attribute, all of these.
    published
        The number of lines of the table where it is published: one for each cell.
    typical_error
        The typical error of one count, in rows: the root of the mean squared error of the noise,
        before negative counts are removed. None if the table is reconstructed.
    largest_error
        The largest typical error of a count, in rows. Counts differ if nodes of a level add up
        different numbers of cells: most often, the largest node has the largest error. If there are
        many different numbers, it may be slightly too large. None if the table is reconstructed, or
        if the mechanism does not tell it (`largest_errors`).
    """

    view: tuple[str, ...]
    counts: int
    published: int
    typical_error: float | None
    largest_error: float | None = None

    @property
    def reconstructed(self) -> bool:
        """Whether the mechanism does not measure the table, but estimates it from others: its error
        depends on the data, so that it has no closed form."""
        return self.typical_error is None


def check_priced(mechanism: Any, domain: Domain, workload: Workload) -> None:
    """Raise MarginError if the error of a mechanism is not known in advance: it has none, or it may
    be of cells alone while more than cells is asked."""
    if not isinstance(mechanism, Priced):
        raise MarginError(_NOT_PRICED.format(name=type(mechanism).__name__))
    queries = asked_queries(domain, workload)
    if not queries or getattr(mechanism, "prices_asked", False):
        return
    asked = ", ".join(f"{own.kind} of {name}" for name, own in queries.items())
    raise MarginError(_NOT_OF_ASKED.format(asked=asked, name=type(mechanism).__name__))


def counts_asked(domain: Domain, workload: Workload) -> list[int]:
    """The number of counts of each table of a workload: cells, and prefixes, ranges or levels where
    these are asked."""
    workload.check_listed()
    queries = asked_queries(domain, workload)
    counts: dict[tuple[str, str | None], int] = {}
    found = []
    for view, levels in asked_levels(workload):
        count = 1
        for asked in zip(view, levels, strict=True):
            if asked not in counts:
                counts[asked] = queries_of(domain, *asked, queries).count
            count *= counts[asked]
        found.append(count)
    return found
