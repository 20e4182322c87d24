"""`plan`: computes the expected error of each mechanism from the domain, without any data."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from . import mechanisms as _mechanisms
from ._names import explains_calls
from .domain.domain import Domain
from .domain.levels import LEVEL_MARK
from .domain.workload import Workload
from .errors import MarginError
from .mechanisms import Auto, LevelCounts, PriView, Residual
from .mechanisms.asked import usual_workload
from .mechanisms.by_table import asked_levels, counts_of, weighted
from .mechanisms.choosing.auto import Structure
from .mechanisms.choosing.candidates import nearly
from .mechanisms.expressions import expression
from .mechanisms.query_bases.queries import asked_queries
from .notebook import html_table
from .privacy.budget import Budget, check_budget

if TYPE_CHECKING:
    import pandas

__all__ = [
    "LONGEST",
    "Expectation",
    "Plan",
    "TableExpectation",
    "plan",
    "printed",
    "printed_tables",
]

_LEGEND = (
    "squared error: the expected squared error of all counts of the workload, added up",
    "per count: the typical error of one count, in rows (the root of the mean squared error)",
)
"""What the columns of a printed plan mean."""

_CELLS_ALONE = "for cells alone, not for the ranges or levels that are asked"
"""The note of a row whose error cannot be compared with those above it."""

LONGEST = 160
"""Largest number of letters of an expression that a printed plan shows."""


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
        summed over the views of the workload."""


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
        cells of each view, times the view's weight, summed over the views. None if the mechanism
        cannot handle the domain or the workload.
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
        no mechanism is named: `Adaptive(rounds=0)` measures it, unless what it learns speaks for
        another one. Only a plan with `rows` can tell.
    cells_alone
        Whether the workload asks prefixes, ranges or levels, but `error` is that of the cells of
        its views alone.
    plain
        The mechanism as it is written: without the views that it chooses itself.
    """

    mechanism: Any
    error: float | None
    per_cell: float | None
    note: str = ""
    missed: float = 0.0
    default: bool = False
    cells_alone: bool = False
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
        The number of counts of the table.
    typical_error
        The typical error of one count, in rows: the root of the mean squared error of the noise,
        before negative counts are removed. None if the table is reconstructed.
    """

    view: tuple[str, ...]
    counts: int
    typical_error: float | None

    @property
    def reconstructed(self) -> bool:
        """Whether the mechanism does not measure the table, but estimates it from others: its error
        depends on the data, so that it has no closed form."""
        return self.typical_error is None


@dataclass(
    frozen=True,
    kw_only=True,
)
class Plan:
    """The result of `plan`: the expected errors of several mechanisms on one workload.

    `print` shows them as a table.

    Attributes
    ----------
    domain, workload, budget
        The arguments of `plan`; `workload` is the one that was taken if none was given. Pass it to
        `release`, too.
    table
        One row per mechanism, by increasing error (to four digits). After them come the rows whose
        error is that of the cells alone, and then mechanisms that cannot handle the workload.

    Examples
    --------
    >>> import margin
    >>> found = margin.plan(margin.Domain({"a": 2, "b": 3}), budget=margin.PureDP(1))
    >>> bool((found.to_pandas()["error"].dropna() > 0).all())
    True
    """

    domain: Domain
    workload: Workload
    budget: Budget
    table: tuple[Expectation, ...]

    @property
    def best(self) -> Any:
        """The mechanism with the smallest expected error, ready to be passed to `release`.

        Raises
        ------
        MarginError
            If no mechanism can handle the workload.
        """
        first = self.table[0]
        if first.error is None:
            raise MarginError(
                "the best mechanism must be able to answer this workload, but none can "
                f"({first.note}); ask for other views, or pass other mechanisms"
            )
        return first.mechanism

    @property
    def first(self) -> int:
        """The number of the row that is the first choice of `release`, or 1 if none is marked."""
        marked = [number for number, row in enumerate(self.table, 1) if row.default]
        return marked[0] if marked else 1

    def tables(self, number: int | None = None) -> tuple[TableExpectation, ...]:
        """The expected error of each table of the workload, by one mechanism.

        Parameters
        ----------
        number
            The number of the mechanism's row, from 1. By default the first choice of `release` if
            the plan marks one; otherwise the first row.

        Raises
        ------
        MarginError
            If there is no such row, or its mechanism does not tell the errors: what
            `SpanningTree` measures, for example, is chosen from the data.

        Examples
        --------
        >>> import margin
        >>> found = margin.plan({"a": 2, "b": 8}, workload=[["a"], ["b"]], budget=margin.ZCDP(1))
        >>> [(table.view, round(table.typical_error, 2)) for table in found.tables()]
        [(('a',), 1.0), (('b',), 0.91)]
        """
        if number is None:
            number = self.first
        if not 1 <= number <= len(self.table):
            raise MarginError(
                f"number ({number}) must be that of a row of the plan, from 1 to "
                f"{len(self.table)}; print the plan to see its rows"
            )
        row = self.table[number - 1]
        if not isinstance(row.mechanism, PricedByTable):
            raise MarginError(
                f"row {number} must be a mechanism whose error is known for each table before a "
                f"release, but {row.name} chooses what it measures from the data; name another row"
            )
        errors = row.mechanism.table_errors(self.domain, self.workload, self.budget)
        counts = _counts(self.domain, self.workload, cells_alone=row.cells_alone)
        return tuple(
            TableExpectation(
                view=tuple(view),
                counts=count,
                typical_error=math.sqrt(error / count) if math.isfinite(error) else None,
            )
            for view, count, error in zip(self.workload.names, counts, errors, strict=True)
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about the levels that the workload asks, as lines."""
        lowest: set[str] = set()
        upper: dict[str, str] = {}
        for view, levels in asked_levels(self.workload):
            for name, level in zip(view, levels, strict=True):
                tree = self.domain[name].levels
                if tree is None or level is None or level == tree.names[-1]:
                    lowest.add(name)
                else:
                    upper.setdefault(name, f"{name}{LEVEL_MARK}{level}")
        return tuple(
            f"{asked} is asked, but the leaves of {name} are measured and added up, except by "
            f"LevelCounts; to measure {asked} alone, declare its categories as values of an "
            "attribute"
            for name, asked in upper.items()
            if name not in lowest
        )

    def __str__(self) -> str:
        return printed(self, _in_python, _PYTHON_HINTS)

    @property
    def title(self) -> str:
        """The question that the plan answers, as a line."""
        count = len(self.workload)
        views = f"{count} view{'' if count == 1 else 's'}"
        return f"{views} of {len(self.domain)} attributes; {self.budget.describe()}"

    def to_pandas(self) -> "pandas.DataFrame":
        """A `pandas.DataFrame` with one row per mechanism, in the order of `table`.

        Its columns are "mechanism" (the name), "error", "per_cell", "missed", "note", "default" and
        "python", as in `Expectation`. Numbers are NaN where a mechanism cannot handle the workload.
        """
        import pandas

        rows = [
            {
                "mechanism": row.name,
                "error": row.error,
                "per_cell": row.per_cell,
                "missed": row.missed,
                "note": row.note,
                "default": row.default,
                "python": row.python,
            }
            for row in self.table
        ]
        numbers = {"error": float, "per_cell": float}
        return pandas.DataFrame(rows).astype(numbers)

    def _repr_html_(self) -> str:
        heading = f"{self.title}; error: expected squared error, per_cell: its root per count"
        return html_table(heading, self.to_pandas(), index=False)

    def plot(self, axes: Any = None) -> Any:
        """Draw the expected error of each mechanism, the best at the top, at most 20.

        Parameters
        ----------
        axes
            The matplotlib axes to draw on. By default, new ones.

        Returns
        -------
        The matplotlib axes.

        Raises
        ------
        MarginError
            If matplotlib is not installed.
        """
        from .plots.plan import draw

        return draw(self, axes)


_PYTHON_HINTS = (
    "release(mechanism=...) takes the expressions; pass it the workload of the plan",
    "*: the first choice of release for this workload and number of rows, unless it learns better",
    "pass rows= to see the first choice of release",
)


def _in_python(row: Expectation, number: int) -> str:
    """The line of a printed plan with the Python expression of a mechanism."""
    written = row.python or ""
    return written if len(written) <= LONGEST else f"(long: see .table[{number - 1}].python)"


def printed(
    plan: Plan,
    words: Callable[[Expectation, int], str],
    hints: tuple[str, str, str],
) -> str:
    """A plan as text: two lines for each mechanism.

    Parameters
    ----------
    plan
        The plan.
    words
        What to copy for a row, given the row and its number from 1; an empty text for no line.
    hints
        Three lines: what to do with the words, what the star means, and how to get a star.
    """
    rows = [("", "mechanism", "squared error", "per count", "")]
    for number, row in enumerate(plan.table, 1):
        error = "-" if row.error is None else f"{row.error:.2e}"
        per_count = "-" if row.per_cell is None else f"{row.per_cell:,.1f}"
        place = f"{'*' if row.default else ''}{number}"
        rows.append((place, row.name, error, per_count, row.note))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [plan.title, ""]
    for number, (place, name, error, per_count, note) in enumerate(rows):
        start = f"{place:>{widths[0]}}  {name:<{widths[1]}}"
        line = f"{start}  {error:>{widths[2]}}  {per_count:>{widths[3]}}  {note}"
        lines.append(line.rstrip())
        copied = words(plan.table[number - 1], number) if number else ""
        if copied:
            lines.append(f"{'':{widths[0]}}    {copied}")
    use, star, no_star = hints
    starred = any(row.default for row in plan.table)
    ending = [*_LEGEND, *plan.remarks, use, star if starred else no_star]
    return "\n".join([*lines, "", *ending])


def printed_tables(plan: Plan, number: int | None = None) -> str:
    """The expected error of each table of a plan as text, by the mechanism of a row."""
    tables = plan.tables(number)
    rows = [("table", "counts", "per count")]
    for table in tables:
        error = table.typical_error
        shown = "reconstructed" if error is None else f"{error:,.1f}"
        rows.append((",".join(table.view), f"{table.counts:,}", shown))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{view:<{widths[0]}}  {counts:>{widths[1]}}  {error:>{widths[2]}}"
        for view, counts, error in rows
    )


@explains_calls()
def plan(
    domain: Domain | Any,
    *,
    workload: Workload | Iterable[Iterable[str]] | None = None,
    budget: Budget,
    mechanisms: Sequence[Any] | None = None,
    rows: float | None = None,
    structure: Structure = "medium",
) -> Plan:
    """Compute the expected error of each mechanism on a workload, without looking at any data.

    No budget is spent. The table holds the expected errors from noise alone, in closed form. The
    true error can be smaller, since mechanisms also use the fact that counts are not negative. The
    table covers the workload only. A release may answer other queries too: one by `PriView`, for
    example, answers any marginal.

    Parameters
    ----------
    domain
        The declared attributes and their values, as for `release`.
    workload
        The views to be answered, and their weights. By default those for which `release` chooses if
        it is told none: all triples of attributes, or all pairs of more than 107 attributes.
    budget
        The privacy budget of the release.
    mechanisms
        The mechanisms to compare: objects with a method `expected_error`. By default all mechanisms
        of this package that have one and need no parameter.
    rows
        The approximate number of rows, from public knowledge. If it is given, the table also lists
        the candidates of `Auto` with the errors that `Auto` expects. These errors also account for
        components that are not measured, and for the gain from non-negative counts. The candidate
        that is ranked first is the one that `release` with `Auto` measures for this workload and
        this number of rows.
    structure
        How strongly the attributes are assumed to depend on each other, as for `Auto`. Used only
        together with `rows`.

    Returns
    -------
    Plan
        The table of expected errors. A mechanism that cannot handle the domain or the workload is
        listed with its reason.

    Raises
    ------
    MarginError
        If an argument is malformed.

    Examples
    --------
    >>> from margin import PureDP
    >>> found = plan(
    ...     {"a": 2, "b": 3}, workload=[["a", "b"]], budget=PureDP(1), mechanisms=[PriView()]
    ... )
    >>> print(found)
    1 view of 2 attributes; pure differential privacy, epsilon = 1, neighbours: ...
    <BLANKLINE>
       mechanism  squared error  per count
    1  PriView         1.10e+01        1.4  1 view of 6 cells
         margin.mechanisms.PriView()
    <BLANKLINE>
    squared error: ...
    per count: ...
    release(mechanism=...) takes the expressions; pass it the workload of the plan
    pass rows= to see the first choice of release
    """
    check_budget(budget)
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    given = None if workload is None else Workload.of(declared, workload)
    asked = usual_workload(declared, given)
    compared = _available(declared) if mechanisms is None else list(mechanisms)
    for mechanism in compared:
        if isinstance(mechanism, type) or not isinstance(mechanism, Priced):
            raise MarginError(
                "each of mechanisms must be an object with a method expected_error, not "
                f"{mechanism!r}; pass one such as PriView()"
            )
    if not compared:
        raise MarginError(
            "mechanisms must hold at least one mechanism, but it is empty; pass one, or leave it "
            "out"
        )
    # The candidates of `Auto` come first, so that its choice is ranked before an equal one.
    table: list[Expectation] = []
    cells = _Cells(declared, asked)
    if rows is not None:
        table += _priced(declared, asked, budget, Auto(structure=structure), rows, cells)
    table += [_expectation(mechanism, declared, asked, budget, cells) for mechanism in compared]
    table.sort(key=_rank)
    return Plan(
        domain=declared,
        workload=asked,
        budget=budget,
        table=tuple(table),
    )


def _rank(row: Expectation) -> tuple[bool, bool, float]:
    """The place of a row in the table: only errors of the same queries are compared."""
    error = math.inf if row.error is None else nearly(row.error)
    return row.error is None, row.cells_alone, error


def _available(domain: Domain) -> list[Any]:
    """Every mechanism of this package that has an expected error and needs no parameter.

    `LevelCounts` is left out if no attribute has levels.
    """
    found = []
    for name in _mechanisms.__all__:
        if name == "LevelCounts" and not domain.level_names:
            continue
        kind = getattr(_mechanisms, name)
        if not callable(getattr(kind, "expected_error", None)):
            continue
        try:
            found.append(kind())
        except TypeError:  # a required parameter is missing
            continue
    return found


class _Cells:
    """The cells of a workload: they are counted once for all rows of a plan."""

    def __init__(self, domain: Domain, workload: Workload) -> None:
        self._domain = domain
        self._workload = workload

    def error_of_each(self, error: float, *, cells_alone: bool = False) -> float:
        """The root mean square error of a count, from the total squared error of the workload."""
        return math.sqrt(error / (self._cells if cells_alone else self._asked))

    @cached_property
    def _asked(self) -> float:
        """The number of all counts that are asked, each times the weight of its table."""
        return weighted(self._workload, _counts(self._domain, self._workload, cells_alone=False))

    @cached_property
    def _cells(self) -> float:
        """The same, if only cells were asked of each attribute."""
        return weighted(self._workload, _counts(self._domain, self._workload, cells_alone=True))


def _counts(domain: Domain, workload: Workload, *, cells_alone: bool) -> list[int]:
    """The number of counts of each table of a workload; with `cells_alone`, if prefixes, ranges
    and levels that are `asked` are not counted."""
    workload.check_listed()
    queries = {} if cells_alone else asked_queries(domain, workload)
    counts: dict[tuple[str, str | None], int] = {}
    found = []
    for view, levels in asked_levels(workload):
        count = 1
        for asked in zip(view, levels, strict=True):
            if asked not in counts:
                name, level = asked
                by_queries = level is None and name in queries
                counts[asked] = queries[name].count if by_queries else counts_of(domain, *asked)
            count *= counts[asked]
        found.append(count)
    return found


def _expectation(
    mechanism: Any,
    domain: Domain,
    workload: Workload,
    budget: Budget,
    cells: _Cells,
) -> Expectation:
    """Make the row of the table for one mechanism; it holds the reason if the mechanism fails."""
    note = ""
    plain = mechanism
    try:
        if isinstance(mechanism, PriView):
            mechanism = mechanism.planned(domain, workload, budget)
            note = _views_note(mechanism, domain)
        error = float(mechanism.expected_error(domain, workload, budget))
    except MarginError as problem:
        return Expectation(
            mechanism=mechanism,
            error=None,
            per_cell=None,
            note=str(problem),
            plain=plain,
        )
    cells_alone = bool(workload.asked) and not isinstance(mechanism, Residual | LevelCounts)
    if cells_alone:
        note = f"{note}; {_CELLS_ALONE}" if note else _CELLS_ALONE
    return Expectation(
        mechanism=mechanism,
        error=error,
        per_cell=cells.error_of_each(error, cells_alone=cells_alone),
        note=note,
        cells_alone=cells_alone,
        plain=plain,
    )


def _views_note(mechanism: PriView, domain: Domain) -> str:
    """The number of views that were planned, and their sizes in cells."""
    cells = [domain.cells(view) for view in mechanism.views or ()]
    least, most = min(cells), max(cells)
    sizes = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{len(cells)} view{'s' if len(cells) > 1 else ''} of {sizes} cells"


def _priced(
    domain: Domain,
    workload: Workload,
    budget: Budget,
    auto: Auto,
    rows: float,
    cells: _Cells,
) -> list[Expectation]:
    """Make a row of the table for each candidate of `Auto`, its choice first.

    Of several that measure the same single view, only the first has a row.
    """
    found: list[Expectation] = []
    candidates = auto.prices(domain, workload, budget, rows=rows)
    single: set[frozenset[str]] = set()
    for candidate in candidates:
        views = candidate.mechanism.views if isinstance(candidate.mechanism, PriView) else None
        if views is not None and len(views) == 1:
            if frozenset(views[0]) in single:
                continue
            single.add(frozenset(views[0]))
        known = math.isfinite(candidate.error)
        note = candidate.note
        if not known:
            note += "; its error is not computed, because its views have too many cells"
        elif candidate.missed:
            note += f"; not measured: {candidate.missed / candidate.error:.0%} of the error"
        row = Expectation(
            mechanism=candidate.mechanism,
            error=candidate.error if known else None,
            per_cell=cells.error_of_each(candidate.error) if known else None,
            note=note,
            missed=candidate.missed if known else 0.0,
            default=candidate is candidates[0] and auto == Auto(),
            plain=_unplanned(candidate.mechanism, domain, workload, budget),
        )
        found.append(row)
    return found


def _unplanned(
    mechanism: Any,
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Any:
    """The same mechanism without its views, if it would choose these views itself."""
    if not isinstance(mechanism, PriView) or mechanism.shares is None:
        return mechanism
    plain = dataclasses.replace(mechanism, views=None, shares=None)
    return plain if plain.planned(domain, workload, budget) == mechanism else mechanism
