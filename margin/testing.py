"""What any mechanism, any source and any solver must pass: for the tests of a user's own class."""

from collections.abc import Callable, Sequence
from typing import Any

from .audit import audit
from .audit.raw import RawTables, Row
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
    runs: int = 0,
    seed: int = 0,
) -> None:
    """Audit a mechanism under several budgets; AssertionError with all that was found.

    Parameters
    ----------
    mechanism
        An object with a method ``run(private, workload)``.
    domain
        What it is run on; four small attributes when not given.
    budgets
        What it is run with.
    workload
        What it is asked for.
    pairs
        How many pairs of neighbouring tables are made up for each budget.
    runs
        Of the black box; see `audit`.
    seed
        For all that is random here.
    """
    declared = Domain({"a": 2, "b": 3, "c": 2, "d": 4}) if domain is None else domain
    findings = []
    for budget in budgets:
        found = audit(
            mechanism,
            domain=declared,
            budget=budget,
            workload=workload,
            pairs=pairs,
            runs=runs,
            seed=seed,
        ).findings
        findings += [f"{budget!r}: {finding}" for finding in found]
    if findings:
        raise AssertionError("\n".join([f"{type(mechanism).__name__} is not private:", *findings]))


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
    """Check that a kind of table is read row by row; AssertionError with what was found.

    Tables are made up of the rows, in any order. The counts of each must be the sum of those of its
    rows, each in a table of its own. With a unit, as many rows must be counted as follows from
    which units are the same, which two rows alone decide. Then a row, or a whole unit, is inserted
    anywhere, and what leaves the gate is recorded and replayed (see `audit`).

    Parameters
    ----------
    make
        Makes of rows, which are mappings from columns to values, what `release` reads: a data
        frame, a path, a source.
    domain
        What is declared; the table of all its attributes should be small.
    rows
        What tables are made of: values of every type that the source can hold, also such as must be
        refused.
    unit, max_rows
        As of `release`.
    tables
        How many pairs of tables are made up.
    beyond
        Whether every fourth table has more rows than are read at a time.
    seed
        For all that is random here.

    Examples
    --------
    >>> rows = [{"a": 0}, {"a": 1.0}, {"a": " 1"}, {"a": "unknown"}]
    >>> check_source(lambda rows: {"a": [row["a"] for row in rows]}, domain=Domain({"a": 2}), rows=rows, tables=5)
    """
    tried = RawTables(make=make, domain=domain, rows=rows, unit=unit, max_rows=max_rows, seed=seed)
    if found := tried.problems(tables, beyond=beyond):
        raise AssertionError("\n".join(["tables are not read row by row:", *found]))
