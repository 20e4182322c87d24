"""`plan`: computes the expected error of each mechanism from the domain, without any data."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from .. import mechanisms as _mechanisms
from .._names import explains_calls
from ..domain.domain import Domain, GivenDomain, domain_of
from ..domain.workload import Workload
from ..errors import MarginError
from ..mechanisms import Auto, PriView
from ..mechanisms.asked import usual_workload
from ..mechanisms.by_table import weighted
from ..mechanisms.choosing.auto import Structure
from ..mechanisms.choosing.candidates import nearly
from ..privacy.budget import Budget, check_budget
from .expected import Expectation, Priced, check_priced, counts_asked
from .result import Plan

__all__ = ["plan"]


@explains_calls()
def plan(
    domain: GivenDomain,
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
        The mechanisms to compare: objects with a method `expected_error(domain, workload, budget)`;
        those without one are listed without an error. By default all mechanisms of this package
        that have one and need no parameter. If the workload asks prefixes, ranges or levels
        (`Workload.asked`), all errors are of these counts. A mechanism of your own whose
        `expected_error` is of them, too, declares `prices_asked = True` in its class. Without it,
        its row has no error.
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
    declared = domain_of(domain)
    given = None if workload is None else Workload.of(declared, workload)
    asked = usual_workload(declared, given)
    compared = _available(declared) if mechanisms is None else list(mechanisms)
    for mechanism in compared:
        is_one = isinstance(mechanism, Priced) or callable(getattr(mechanism, "run", None))
        if isinstance(mechanism, type) or not is_one:
            raise MarginError(
                f"each of mechanisms must be an object with a method expected_error or run, not "
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
    if mechanisms is None:
        # A candidate stands once, with the error that `Auto` expects.
        offered = [row.plain for row in table]
        compared = [mechanism for mechanism in compared if mechanism not in offered]
    table += [_expectation(mechanism, declared, asked, budget, cells) for mechanism in compared]
    table.sort(key=_rank)
    return Plan(
        domain=declared,
        workload=asked,
        budget=budget,
        table=tuple(table),
        rows=rows,
    )


def _rank(row: Expectation) -> tuple[bool, float]:
    """The place of a row in the table: by its error, and without one at the end."""
    return row.error is None, math.inf if row.error is None else nearly(row.error)


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

    def error_of_each(self, error: float) -> float:
        """The root mean square error of a count, from the total squared error of the workload."""
        return math.sqrt(error / self._asked)

    @cached_property
    def _asked(self) -> float:
        """The number of all counts that are asked, each times the weight of its table."""
        return weighted(self._workload, counts_asked(self._domain, self._workload))


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
        check_priced(mechanism, domain, workload)
        error = float(mechanism.expected_error(domain, workload, budget))
    except MarginError as problem:
        return Expectation(
            mechanism=mechanism,
            error=None,
            per_cell=None,
            note=str(problem),
            plain=plain,
        )
    return Expectation(
        mechanism=mechanism,
        error=error,
        per_cell=cells.error_of_each(error),
        note=note,
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
