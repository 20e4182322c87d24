"""`plan`: what each mechanism is expected to give, before anything is spent."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from . import mechanisms as _mechanisms
from .domain.domain import Domain
from .domain.workload import Workload
from .errors import BudgetError, MarginError
from .mechanisms import Auto, PriView
from .mechanisms.choosing.auto import Structure
from .privacy.budget import ZCDP, ApproxDP, Budget, PureDP

__all__ = ["Expectation", "Plan", "plan"]


@runtime_checkable
class Priced(Protocol):
    """A mechanism that can say what error it will give."""

    def expected_error(self, domain: Domain, workload: Workload, budget: Budget, /) -> float:
        """The expected squared error over all cells of all views of the workload, times their
        weights."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a mechanism is expected to give for a workload.

    Attributes
    ----------
    mechanism
        It, ready for `release`.
    error
        Expected squared error over all cells of all views of the workload, times their weights: of
        the noise, before negative counts are removed. None when the mechanism refuses.
    per_cell
        Root of the mean of that over the cells: how far off a count is.
    note
        Why it refuses; else what it would measure, where there is something to say.
    missed
        The part of `error` that is assumed to come from what is not measured: see `Auto`. Zero for
        closed forms.
    """

    mechanism: Any
    error: float | None
    per_cell: float | None
    note: str = ""
    missed: float = 0.0

    @property
    def name(self) -> str:
        """The name of the mechanism's class."""
        return type(self.mechanism).__name__


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What mechanisms are expected to give, the best first and those that refuse last; printed, it
    is a table.

    Attributes
    ----------
    domain, workload, budget
        What was asked.
    table
        A row for each mechanism.
    """

    domain: Domain
    workload: Workload
    budget: Budget
    table: tuple[Expectation, ...]

    @property
    def best(self) -> Any:
        """The recommended mechanism, to be passed to `release`.

        Raises
        ------
        MarginError
            When all refuse.
        """
        if self.table[0].error is None:
            raise MarginError(f"no mechanism can answer this workload: {self.table[0].note}")
        return self.table[0].mechanism

    def __str__(self) -> str:
        rows = [("mechanism", "squared error", "per count", "")]
        for row in self.table:
            rows.append((row.name, _short(row.error), _short(row.per_cell), row.note))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [
            f"{name:<{widths[0]}}  {error:>{widths[1]}}  {per_cell:>{widths[2]}}  {note}".rstrip()
            for name, error, per_cell, note in rows
        ]
        views = f"{len(self.workload)} view{'' if len(self.workload) == 1 else 's'}"
        return "\n".join(
            [f"{views} of {len(self.domain)} attributes; {self.budget.describe()}", "", *lines]
        )

    def plot(self, axes: Any = None) -> Any:
        """Draw the expected error of covering views against their cell limit, and mark what was
        chosen.

        Parameters
        ----------
        axes
            matplotlib axes to draw on; new ones when not given.

        Returns
        -------
        The matplotlib axes.

        Raises
        ------
        MarginError
            When matplotlib is not installed.
        """
        from .plots.plan import draw

        return draw(self, axes)


def plan(
    domain: Domain | Any,
    *,
    workload: Workload | Iterable[Iterable[str]] | None = None,
    budget: Budget,
    mechanisms: Sequence[Any] | None = None,
    rows: float | None = None,
    structure: Structure = "medium",
) -> Plan:
    """What each mechanism is expected to give for a workload, before anything is spent; no data is
    looked at.

    The errors are those of the noise, in closed form. What a mechanism gains from counts being
    non-negative is not accounted for, nor what it can answer beyond the workload: a release by
    `PriView` answers any marginal.

    Parameters
    ----------
    domain
        What the table may hold, as for `release`.
    workload
        Which views matter, and how much; all pairs of attributes when not given.
    budget
        What may be spent.
    mechanisms
        Which to compare, objects with a method `expected_error`; all that are installed when not
        given.
    rows
        About how many rows the table has, from public knowledge. With it the table also holds all
        that `Auto` considers with its prices: these count what is not measured, too, and what
        non-negative counts gain.
    structure
        What these prices assume, as for `Auto`.

    Raises
    ------
    MarginError
        When an argument is malformed. A mechanism that refuses the domain or the workload is listed
        with its reason.

    Examples
    --------
    >>> found = plan({"a": 2, "b": 3}, workload=[["a", "b"]], budget=PureDP(1), mechanisms=[PriView()])
    >>> print(found)
    1 view of 2 attributes; pure differential privacy, epsilon = 1, neighbours: add or remove one row
    <BLANKLINE>
    mechanism  squared error  per count
    PriView             11.0        1.4  1 view of 6 cells
    """
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise BudgetError(f"budget must be PureDP, ZCDP or ApproxDP, not {type(budget).__name__}")
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    pairs = Workload.all_kway(declared, min(2, len(declared)))
    asked = pairs if workload is None else Workload.of(declared, workload)
    compared = _available() if mechanisms is None else list(mechanisms)
    for mechanism in compared:
        if isinstance(mechanism, type) or not isinstance(mechanism, Priced):
            raise MarginError(
                f"{mechanism!r} is no mechanism that can say what error to expect, such as PriView()"
            )
    if not compared:
        raise MarginError("mechanisms is empty: name at least one, or leave it out")
    table = [_expectation(mechanism, declared, asked, budget) for mechanism in compared]
    if rows is not None:
        table += _priced(declared, asked, budget, Auto(structure=structure), rows)
    table.sort(key=lambda row: math.inf if row.error is None else row.error)
    return Plan(domain=declared, workload=asked, budget=budget, table=tuple(table))


def _available() -> list[Any]:
    """Every mechanism of this package that needs no parameter and can say what error to expect."""
    classes = [getattr(_mechanisms, name) for name in _mechanisms.__all__]
    found = []
    for kind in classes:
        if not callable(getattr(kind, "expected_error", None)):
            continue
        try:
            found.append(kind())
        except TypeError:  # it needs to be told something
            continue
    return found


def _expectation(mechanism: Any, domain: Domain, workload: Workload, budget: Budget) -> Expectation:
    note = ""
    try:
        if isinstance(mechanism, PriView):
            mechanism = mechanism.planned(domain, workload, budget)
            cells = [domain.cells(view) for view in mechanism.views or ()]
            sizes = (
                f"{max(cells):,}"
                if min(cells) == max(cells)
                else f"{min(cells):,} to {max(cells):,}"
            )
            note = f"{len(cells)} view{'s' if len(cells) > 1 else ''} of {sizes} cells"
        error = float(mechanism.expected_error(domain, workload, budget))
    except MarginError as problem:
        return Expectation(mechanism=mechanism, error=None, per_cell=None, note=str(problem))
    return Expectation(
        mechanism=mechanism, error=error, per_cell=_per_cell(domain, workload, error), note=note
    )


def _priced(
    domain: Domain, workload: Workload, budget: Budget, auto: Auto, rows: float
) -> list[Expectation]:
    """What `Auto` considers."""
    return [
        Expectation(
            mechanism=candidate.mechanism,
            error=candidate.error,
            per_cell=_per_cell(domain, workload, candidate.error),
            note=candidate.note
            + (
                f"; not measured: {candidate.missed / candidate.error:.0%} of the error"
                if candidate.missed
                else ""
            ),
            missed=candidate.missed,
        )
        for candidate in auto.prices(domain, workload, budget, rows=rows)
        if math.isfinite(candidate.error)
    ]


def _per_cell(domain: Domain, workload: Workload, error: float) -> float:
    weight = sum(w * domain.cells(view) for view, w in zip(workload, workload.weights, strict=True))
    return math.sqrt(error / weight)


def _short(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,.1f}" if number < 1e5 else f"{number:.3g}"
