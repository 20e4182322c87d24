"""What any mechanism, and any solver, must pass: for the tests of a user's own class."""

from collections.abc import Sequence
from typing import Any

from .audit import audit
from .budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from .domain import Domain
from .solvers.testing import check_solver

__all__ = ["check_mechanism", "check_solver"]

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
            mechanism, domain=declared, budget=budget, workload=workload, pairs=pairs, runs=runs, seed=seed
        ).findings
        findings += [f"{budget!r}: {finding}" for finding in found]
    if findings:
        raise AssertionError("\n".join([f"{type(mechanism).__name__} is not private:", *findings]))
