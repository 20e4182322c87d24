"""Contract tests for a user's own mechanisms, data sources and solvers."""

from collections.abc import Callable, Sequence
from typing import Any

from .audit import BlackBox, audit
from .audit.sources import RawTables, Row
from .domain.domain import Domain
from .privacy.budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from .solvers.testing import check_solver

__all__ = ["check_mechanism", "check_solver", "check_source"]

_BUDGETS = (
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(2, neighbours=Neighbours.REPLACE_ROW),
    ZCDP("0.5", rows_per_person=3),
)


def check_mechanism(
    mechanism: Any,
    *,
    domain: Domain | None = None,
    budgets: Sequence[Budget] = _BUDGETS,
    workload: Any = None,
    pairs: int = 40,
    seed: int = 0,
    black_box: BlackBox | None = None,
) -> None:
    """Check that a mechanism is private: audit it under several budgets.

    Parameters
    ----------
    mechanism
        An object with a method ``run(private, workload)``.
    domain
        The domain of the test tables. By default, four small attributes.
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

    Raises
    ------
    AssertionError
        If a violation is found. The message lists every violation with its budget.
    """
    declared = Domain({"a": 2, "b": 3, "c": 2, "d": 4}) if domain is None else domain
    findings = []
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
    if findings:
        title = f"{type(mechanism).__name__} is not private; correct what the audit found:"
        raise AssertionError("\n".join([title, *findings]))


def check_source(
    make: Callable[[Sequence[Row]], Any],
    *,
    domain: Domain,
    rows: Sequence[Row],
    unit: str | None = None,
    max_rows: int = 1,
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
    unit, max_rows
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
        domain=domain,
        rows=rows,
        unit=unit,
        max_rows=max_rows,
        seed=seed,
    )
    if found := tried.problems(tables, beyond=beyond):
        title = "the source does not treat each row by itself; correct what was found:"
        raise AssertionError("\n".join([title, *found]))
