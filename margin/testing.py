"""Contract tests for a user's own mechanisms, data sources and solvers."""

import math
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .audit import BlackBox, audit
from .audit.neighbouring_tables import full_table
from .audit.sources import RawTables, Row
from .data.source import CodesSource
from .domain.domain import Domain, GivenDomain, domain_of
from .errors import MarginError
from .privacy.budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from .release import simulate
from .simulation import Simulation
from .solvers.testing import check_solver
from .store import load, release_digest
from .synopses.synopsis import Synopsis

__all__ = ["check_mechanism", "check_solver", "check_source"]

_BUDGETS = (
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(2, neighbours=Neighbours.REPLACE_ROW),
    ZCDP("0.5", rows_per_person=3),
)

_SMALL = Domain(
    {
        "a": 2,
        "b": {"size": 3, "ordered": True},
        "c": 2,
        "d": {"size": 4, "ordered": True},
    }
)

_ITEMS = 6
"""Largest number of items of the test tables for a mechanism that counts items."""


def check_mechanism(
    mechanism: Any,
    *,
    domain: GivenDomain | None = None,
    budgets: Sequence[Budget] = _BUDGETS,
    workload: Any = None,
    pairs: int = 40,
    seed: int = 0,
    black_box: BlackBox | None = None,
) -> str:
    """Check that a mechanism works and is private: run it and audit it under several budgets.

    The mechanism runs in a working folder of its own, so the files that it writes are deleted.

    Under at least one budget a simulated release must succeed. Where it does, the result must be a
    synopsis whose counts of single attributes have the right shape and are numbers. If it is of a
    form of `margin.synopses`, `save` must write it, and `load` must read it again. Under the other
    budgets the mechanism must refuse with a `MarginError`.

    Parameters
    ----------
    mechanism
        An object with a method ``run(private, workload)``.
    domain
        The domain of the test tables. By default, four small attributes, two of them ordered. If
        the mechanism refuses them all, it is tried on rows that hold several of up to six items:
        each item is an attribute of two categories, absent and present. So it is if `domain` is
        one attribute, as for `release` of a sparse matrix.
    budgets
        The budgets to test. By default five, of all kinds and both neighbouring relations.
    workload
        The workload that is passed to the mechanism. By default, none.
    pairs
        The number of random pairs of neighbouring tables per budget.
    seed
        The seed of everything random in the test.
    black_box
        The settings of the black-box test; see `audit`. By default, it is skipped.

    Returns
    -------
    str
        What was done, such as "5 budgets run, 200 pairs replayed, black box skipped".

    Raises
    ------
    AssertionError
        If the mechanism does not work, or a violation is found. The message lists what was found,
        with its budget.
    """
    declared, faults, refused = _tried(mechanism, domain, budgets, workload, seed)
    findings = []
    shown = []
    for budget in budgets:
        report = audit(
            mechanism,
            domain=declared,
            budget=budget,
            workload=workload,
            pairs=pairs,
            seed=seed,
            black_box=black_box,
        )
        findings += [f"{budget!r}: {finding}" for finding in report.findings]
        if not math.isnan(report.least_loss):
            shown.append(f"{budget!r}: the black box shows a loss >= {report.least_loss:.3g}")
    if findings:
        title = f"{type(mechanism).__name__} does not pass the audit; correct what it found:"
        raise AssertionError("\n".join([title, *findings, *shown]))
    if refused == len(budgets) and domain is None:
        faults.append(
            f"it was run on a table with the attributes {', '.join(declared)}; if it needs others, "
            "pass domain= and workload="
        )
    if faults:
        title = f"{type(mechanism).__name__} does not work; correct what was found:"
        raise AssertionError("\n".join([title, *faults]))
    run = f"{len(budgets) - refused} budgets run"
    refusals = f", {refused} refused" if refused else ""
    looked = "skipped" if black_box is None else "passed"
    # A mechanism that counts items is tested on another domain; see `_tried`.
    is_as_given = declared == (_SMALL if domain is None else domain_of(domain))
    where = "" if is_as_given else f", on rows of items: {', '.join(declared)}"
    return f"{run}{refusals}, {pairs * len(budgets)} pairs replayed, black box {looked}{where}"


def _tried(
    mechanism: Any,
    given: GivenDomain | None,
    budgets: Sequence[Budget],
    workload: Any,
    seed: int,
) -> tuple[Domain, list[str], int]:
    """The domain of the test tables, and what `_faults` finds on it.

    A mechanism that counts items refuses attributes of more than two categories. It is then tried
    on items, if the domain may stand for some.
    """
    declared = _SMALL if given is None else domain_of(given)
    found = _faults(mechanism, declared, budgets, workload, seed)
    if found[1] == len(budgets) and (given is None or len(declared) == 1):
        number = _ITEMS if given is None else min(declared.sizes[0], _ITEMS)
        items = Domain({f"item {place}": 2 for place in range(number)})
        other = _faults(mechanism, items, budgets, workload, seed)
        if other[1] < len(budgets):
            return items, *other
    return declared, *found


def _faults(
    mechanism: Any,
    domain: Domain,
    budgets: Sequence[Budget],
    workload: Any,
    seed: int,
) -> tuple[list[str], int]:
    """What does not work in simulated releases of a table, one under each budget; and the number
    of budgets that the mechanism refuses."""
    refusals = []
    faults = []
    for budget in budgets:
        seen = _Seen(mechanism)
        simulated = None
        try:
            simulated = simulate(
                CodesSource(full_table(domain)),
                domain=domain,
                budget=budget,
                mechanism=seen,
                workload=workload,
                seed=seed,
            )
        except MarginError as error:
            if not seen.has_returned:
                refusals.append(f"{budget!r}: {error}")
                continue
        except Exception as error:  # the mechanism is anybody's code
            faults.append(f"{budget!r}: run raises {type(error).__name__}: {error}")
            continue
        found = _faults_of(seen.returned, domain)
        if simulated is not None and not found:
            found = _faults_of_file(simulated)
        faults += [f"{budget!r}: {fault}" for fault in found]
    if refusals and len(refusals) == len(budgets):
        return ["it refuses every budget that was tried:", *refusals], len(refusals)
    return faults, len(refusals)


class _Seen:
    """A mechanism whose result is kept, whatever `simulate` makes of it."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism
        self.has_returned = False
        self.returned: Any = None

    def run(self, private: Any, workload: Any) -> Any:
        """Run the mechanism."""
        self.returned = self._mechanism.run(private, workload)
        self.has_returned = True
        return self.returned


def _faults_of(synopsis: Any, domain: Domain) -> list[str]:
    """What is wrong with the result of a simulated release."""
    if not isinstance(synopsis, Synopsis):
        return [f"run must return a synopsis, but it returns a {type(synopsis).__name__}"]
    faults = []
    for name, attribute in domain.items():
        try:
            counts = np.asarray(synopsis.marginal([name]).counts)
        except MarginError:  # a synopsis may hold other answers only, and say so
            continue
        if counts.shape != (attribute.size,):
            faults.append(
                f"the counts of {name} must have shape ({attribute.size},), but they have shape "
                f"{counts.shape}"
            )
        elif not np.isfinite(counts).all():
            faults.append(f"a count of {name} is not finite")
    return faults


def _faults_of_file(simulated: Simulation[Any]) -> list[str]:
    """What is wrong with the file of a simulated release, if it is of a form that has files."""
    try:
        if release_digest(simulated.synopsis) is None:
            return []
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # `load` warns of a solver of the user's own, which no file can hold.
            warnings.simplefilter("ignore")
            path = Path(folder) / "simulation.margin"
            simulated.synopsis.save(path)
            load(path, allow_simulation=True)
    except Exception as error:  # what a synopsis holds is anybody's code
        return [f"its result cannot be saved and loaded again: {type(error).__name__}: {error}"]
    return []


def check_source(
    make: Callable[[Sequence[Row]], Any],
    *,
    domain: GivenDomain,
    rows: Sequence[Row],
    unit: str | None = None,
    rows_per_person: int = 1,
    tables: int = 20,
    beyond: bool = False,
    seed: int = 0,
) -> None:
    """Check that a data source treats its rows independently of each other.

    Random tables are made of the rows, in random order. The test checks three properties:

    - The counts of a table are the sum of the counts of its rows, each in a table of its own.
    - With a unit, two rows belong to the same unit exactly if their ids mean the same (see
      `BoundedSource`), both in tables of these two rows alone and in larger tables. The test
      computes the meaning of an id itself.
    - One row, or all rows of a unit, are inserted at a random place. The answers with noise that a
      mechanism receives from both tables must be as hard to tell apart as the budget says (see
      `audit`).

    Parameters
    ----------
    make
        A function from a list of rows to something that `release` can read: a data frame, a path or
        a source. A row is a mapping from column names to values.
    domain
        The declared domain. The table of all its attributes should be small.
    rows
        The rows to draw from. They should hold values of every type that the source supports,
        including values that must be refused.
    unit, rows_per_person
        As for `release`.
    tables
        The number of random pairs of tables.
    beyond
        Whether every fourth table is larger than one batch of rows.
    seed
        The seed of everything random in the test.

    Raises
    ------
    AssertionError
        If a property fails. The message lists the failures.

    Examples
    --------
    >>> rows = [{"a": 0}, {"a": 1.0}, {"a": " 1"}, {"a": "unknown"}]
    >>> def columns(rows):
    ...     return {"a": [row["a"] for row in rows]}
    >>> check_source(columns, domain=Domain({"a": 2}), rows=rows, tables=5)
    """
    tried = RawTables(
        make=make,
        domain=domain_of(domain),
        rows=rows,
        unit=unit,
        rows_per_person=rows_per_person,
        seed=seed,
    )
    if found := tried.problems(tables, beyond=beyond):
        title = "the source does not treat each row by itself; correct what was found:"
        raise AssertionError("\n".join([title, *found]))
