"""`Plan`: the expected errors of several mechanisms, and how they are printed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..domain.domain import Domain
from ..domain.levels import LEVEL_MARK
from ..domain.workload import Workload
from ..errors import MarginError
from ..mechanisms.axis_queries import asked_queries
from ..mechanisms.by_table import asked_levels
from ..notebook import html_table
from ..privacy.budget import Budget
from ..privacy.statement import Statement
from ..privacy.strength import for_contents, given, strength
from ..privacy.words import change_of_odds, rows_not_declared
from .expected import (
    Expectation,
    PricedByCount,
    PricedByTable,
    TableExpectation,
    check_priced,
    counts_asked,
)

if TYPE_CHECKING:
    import pandas

__all__ = ["LEFT_OUT", "LONGEST", "Plan", "printed", "printed_tables"]

_LEGEND = (
    "squared error: the expected squared error of all counts that are asked, each times the weight "
    "of its table, added up",
    "per count: the typical error of one count, in rows (the root of the mean squared error)",
)
"""What the columns of a printed plan mean."""

_TWO_SCALES = (
    "the errors of what release chooses from allow for the removal of negative counts; those of "
    "other mechanisms do not"
)
"""How the errors of the candidates of `Auto` compare with those of other mechanisms."""

_TABLES_LEGEND = (
    "per count: the typical error of one count of the table (the root of the mean squared error)",
    "largest: the largest typical error of a count of the table: counts of a level that add up "
    "more categories have a larger error",
)
"""What the columns of the printed tables mean."""

_ASKED_LEGEND = (
    "counts: those of all levels, prefixes or ranges that --asked (asked= of Workload.of) asks; "
    "published: the lines of the table where it is published, one for each cell"
)
"""What the number of counts of a printed table means if it is not that of its lines."""

_SUMS_ALONE = (
    "{asked} is asked, but only LevelCounts measures it: the others measure the leaves of {name} "
    "and add them up; with --asked {name}=levels (asked={{'{name}': 'levels'}} of Workload.of), "
    "Residual measures all levels of {name}: compare the largest errors of both plans, by --tables"
)
"""What to do for smaller errors at upper levels."""

_NO_LEAVES = (
    "no table names {name} itself: if no reader needs its leaves, declare the categories of "
    "{asked} as values of an attribute, which then has less noise"
)
"""What to do if the lowest level is not asked."""

_SUMS_OF_CELLS = (
    "the workload asks {asked}: the default, Residual and MatrixMechanism choose what they measure "
    "for these; the others measure the same as if cells were asked, and add up cells"
)
"""Which mechanisms follow what a workload asks."""

_RECONSTRUCTED = (
    "row {number} would reconstruct {count} of {all} tables: {listed}; to measure every table of "
    "the workload, take a row that does not say 'not measured'"
)
"""What to know of the first choice of `release` before it is paid for."""

LEFT_OUT = (
    "the errors are those of the rows that are counted: a release with --unit (unit=) leaves out "
    "rows of a person beyond --rows-per-person (rows_per_person=), which no error here contains; "
    "a larger limit leaves out fewer rows, and has more noise"
)
"""What the errors of a plan do not contain, if a budget is for several rows of a person."""

_OTHER_ROWS = (
    "the public totals add up to {known:,} rows, but this plan is for about {rows:,.0f}: public "
    "totals must count the rows of the table, not a population of which the table is a sample"
)
"""What is wrong if the public totals are far from the number of rows that is expected."""

_FAR = 1.1
"""Factor between two numbers of rows above which one of them is no approximation of the other."""

_MOST_TOLD = 1_000
"""Largest number of tables of a workload of which the reconstructed ones are named."""

_NAMED = 3
"""Largest number of reconstructed tables that are named."""

LONGEST = 160
"""Largest number of letters of an expression that a printed plan shows."""


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
    rows
        The approximate number of rows, if `plan` was told one.
    table
        One row per mechanism, by increasing error (to four digits). After them come the mechanisms
        that cannot handle the workload.

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
    rows: float | None = None

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
        [(('a',), 1.15), (('b',), 0.81)]
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
                f"row {number} must be a mechanism that tells the error of each table "
                f"(table_errors), but {row.name} does not: most often, it chooses what it measures "
                "from the data; name another row"
            )
        check_priced(row.mechanism, self.domain, self.workload)
        errors = row.mechanism.table_errors(self.domain, self.workload, self.budget)
        largest = [math.inf] * len(errors)
        if isinstance(row.mechanism, PricedByCount):
            largest = row.mechanism.largest_errors(self.domain, self.workload, self.budget)
        cells = replace(self.workload, asked={})
        counts = counts_asked(self.domain, self.workload)
        published = counts_asked(self.domain, cells)
        rows = zip(self.workload.names, counts, published, errors, largest, strict=True)
        return tuple(
            TableExpectation(
                view=tuple(view),
                counts=count,
                published=lines,
                typical_error=_root(error / count),
                largest_error=_root(most),
            )
            for view, count, lines, error, most in rows
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about public totals, about rows of a person that are left out, about what is
        asked of attributes, and about tables that the first choice of `release` would not measure,
        as lines."""
        # With public totals, the budget alone says less than what it protects.
        protected = given(Statement(budget=self.budget), self.domain)
        left_out = LEFT_OUT if self.budget.rows_per_person > 1 else ""
        public = rows_not_declared(self.budget, self.domain)
        of_tables = [self._of_asked(), *self._of_levels(), self._of_reconstructed()]
        return tuple(filter(None, [protected, public, self._of_rows(), left_out, *of_tables]))

    @property
    def odds(self) -> str:
        """By which factor the results of a release with this budget change odds, as a line."""
        statement = Statement(budget=self.budget)
        found = strength(statement, self.domain)
        changed = change_of_odds(statement, found, for_contents(statement))
        return f"with this budget, the results {changed}"

    def _of_asked(self) -> str:
        """Which mechanisms follow what is asked, in a line; empty if cells alone are asked."""
        queries = asked_queries(self.domain, self.workload)
        asked = ", ".join(f"{own.kind} of {name}" for name, own in queries.items())
        return _SUMS_OF_CELLS.format(asked=asked) if asked else ""

    def _of_rows(self) -> str:
        """That the public totals are far from the expected number of rows, in a line; else empty.

        Both numbers are declared.
        """
        known = self.domain.rows
        if known is None or self.rows is None or self.rows / _FAR <= known <= self.rows * _FAR:
            return ""
        return _OTHER_ROWS.format(known=known, rows=self.rows)

    def _of_reconstructed(self) -> str:
        """Which tables the first choice of `release`, or else the first row, would reconstruct, in
        a line; empty if it measures all."""
        row = self.table[self.first - 1]
        told = isinstance(row.mechanism, PricedByTable) and len(self.workload) <= _MOST_TOLD
        if not (row.missed and told):
            return ""
        named = [f"({', '.join(one.view)})" for one in self.tables() if one.reconstructed]
        if not named:
            return ""
        listed = " and ".join(named[:_NAMED]) + (" and others" if len(named) > _NAMED else "")
        return _RECONSTRUCTED.format(
            number=self.first, count=len(named), all=len(self.workload), listed=listed
        )

    def _of_levels(self) -> tuple[str, ...]:
        """For each attribute that is asked at upper levels, lines on how these are measured."""
        if not self.workload.levels:
            return ()
        lowest: set[str] = set()
        upper: dict[str, str] = {}
        for view, levels in asked_levels(self.workload):
            for name, level in zip(view, levels, strict=True):
                tree = self.domain[name].levels
                if tree is None or level is None or level == tree.names[-1]:
                    lowest.add(name)
                else:
                    upper.setdefault(name, f"{name}{LEVEL_MARK}{level}")
        lines = []
        for name, asked in upper.items():
            if self.workload.asked.get(name) != "levels":
                lines.append(_SUMS_ALONE.format(name=name, asked=asked))
            if name not in lowest:
                lines.append(_NO_LEAVES.format(name=name, asked=asked))
        return tuple(lines)

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
        from ..plots.plan import draw

        return draw(self, axes)


def _root(squared: float) -> float | None:
    """The square root; None for an error that is not finite."""
    return math.sqrt(squared) if math.isfinite(squared) else None


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
    # If more than cells is asked, no error allows for it.
    allows = starred and not asked_queries(plan.domain, plan.workload)
    scales = [_TWO_SCALES] if allows else []
    ending = [*_LEGEND, *scales, plan.odds, *plan.remarks, use, star if starred else no_star]
    return "\n".join([*lines, "", *ending])


def printed_tables(plan: Plan, number: int | None = None) -> str:
    """The expected error of each table of a plan as text, by the mechanism of a row."""
    tables = plan.tables(number)
    rows = [("table", "counts", "published", "per count", "largest")]
    for table in tables:
        typical = "reconstructed" if table.reconstructed else f"{table.typical_error:,.1f}"
        largest = "-" if table.largest_error is None else f"{table.largest_error:,.1f}"
        counts, published = f"{table.counts:,}", f"{table.published:,}"
        rows.append((",".join(table.view), counts, published, typical, largest))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for view, *numbers in rows:
        shown = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([f"{view:<{widths[0]}}", *shown]))
    differ = any(table.counts != table.published for table in tables)
    return "\n".join([*lines, *([_ASKED_LEGEND] if differ else []), *_TABLES_LEGEND])
