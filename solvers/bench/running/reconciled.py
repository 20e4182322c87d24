"""`reconciled`: answers and claims of one solver, judged by the checked answers of all others."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..families.every import FAMILIES
from ..gaps import gap_to
from .rows import primal_gap
from .verdict import Outcome, accuracy

__all__ = ["reconciled"]

Row = dict[str, Any]

_CLAIMING = (
    *(Outcome.SOLVED, Outcome.FEASIBLE, Outcome.INACCURATE),
    *(Outcome.NOTHING, Outcome.TIME),
)
"""The outcomes of solves whose claims nothing has contradicted by more than their accuracy."""

_INTEGRAL = {family.name: family.integral for family in FAMILIES}


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Fact:
    """An objective that is reached, and the solver that did; no solver if it was known before."""

    objective: float
    solver: str = ""

    def __str__(self) -> str:
        told = f"{self.objective:.6g}"
        return f"an answer of {self.solver} has {told}" if self.solver else f"{told} is known"


def reconciled(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The rows, judged by the best that is known of each problem and the best answer in the rows.

    The objectives of feasible answers were recomputed, so they are facts, whoever found them.

    - A solver is ``wrong`` if it calls an answer optimal that is worse than one of them, claims a
      bound that one of them passes, or calls an instance infeasible that has one. This decides
      where no best value is known. It is ``inaccurate`` if the difference is as small as the
      solver's stated tolerance allows; see `accuracy`.
    - If an answer is better than the best known value by more than the tolerance, it takes the
      place of this value: as `reference`, with the solver as `reference_by`. Gaps are then to
      this answer, also those on the way, and an answer that is worse is not ``solved``.
    - Where no best value is known, gaps are to the best answer of the rows, which is named in the
      same way. Bounds that solvers claim are never a reference: nobody has checked them.

    An answer that is better than a proved bound is no fact: the check or the bound is wrong. Rows
    of files that have no `trace_objectives` lose their answers on the way where gaps change.

    Parameters
    ----------
    rows
        The rows of one or several comparisons. They are not changed.

    Returns
    -------
    rows
        Copies of the rows, in their order.

    Examples
    --------
    >>> row = {"family": "cover", "instance": "mine", "version": 1, "digest": ""}
    >>> row |= {"sense": "minimise", "tolerance": 1e-4, "feasible": True, "status": "OPTIMAL"}
    >>> row |= {"claimed_bound": None, "outcome": "solved", "cause": "", "best_known": None}
    >>> rows = [row | {"solver": "A", "objective": 30}, row | {"solver": "B", "objective": 33}]
    >>> [(row["outcome"], row["cause"]) for row in reconciled(rows)]
    [('solved', ''), ('wrong', 'called OPTIMAL with 33, but an answer of A has 30')]
    """
    listed = [dict(row) for row in rows]
    problems: dict[tuple[Any, ...], list[Row]] = {}
    for row in listed:
        problems.setdefault(_problem(row), []).append(row)
    for part in problems.values():
        best = _best(part)
        if best is not None:
            for row in part:
                _judge(row, best)
    return listed


def _problem(row: Row) -> tuple[Any, ...]:
    """What rows of the same problem have in common."""
    return row["family"], row["instance"], row["version"], row["digest"]


def _best(rows: list[Row]) -> _Fact | None:
    """The best objective that is known of the problem of some rows; None if there is none."""
    values = [row.get("best_known") for row in rows]
    known = [_Fact(objective=value) for value in values if value is not None]
    # What replaced a best known value before was reached, also if its row is no longer there.
    before = [
        _Fact(objective=row["reference"], solver=row["reference_by"])
        for row in rows
        if row.get("reference_by")
    ]
    reached = [
        _Fact(objective=float(row["objective"]), solver=row["solver"])
        for row in rows
        if row["feasible"] and _is_possible(row)
    ]
    best = None
    for fact in [*known, *before, *reached]:
        if best is None or gap_to(rows[0]["sense"], fact.objective, best.objective) < 0:
            best = fact
    return best


def _is_possible(row: Row) -> bool:
    """Whether an answer keeps the proved bound, if there is one."""
    beyond = gap_to(row["sense"], row["objective"], row.get("bound"))
    return not beyond < -float(row["tolerance"])


def _judge(row: Row, best: _Fact) -> None:
    """Judge a row by the best objective that is known of its problem."""
    tolerance = float(row["tolerance"])
    known = row.get("best_known")
    reference = best
    # Rounding alone makes no better answer: a table may break constraints a little.
    if known is not None and not _passes(row, best.objective, known, tolerance):
        reference = _Fact(objective=known)
    is_claim = row["outcome"] in _CLAIMING
    refuted = _refuted(row, best, tolerance, named=reference) if is_claim else ""
    if refuted:
        stated, integral = row.get("stated_tolerance"), _INTEGRAL[row["family"]]
        gap = accuracy(stated, integral=integral, objective=best.objective)
        is_near = not _refuted(row, best, max(tolerance, gap), named=reference)
        row["outcome"] = (Outcome.INACCURATE if is_near else Outcome.WRONG).value
        row["cause"] = f"{refuted}; it stops at a tolerance of {stated:g}" if is_near else refuted
    _measure(row, reference)
    # Without a best known value nothing says that the best answer of the rows is good.
    if known is None:
        return
    if row["outcome"] == Outcome.SOLVED and row["gap"] > tolerance:
        row["outcome"] = Outcome.FEASIBLE.value
        row["cause"] = f"not the best: {row['objective']:.6g}, but {reference}"


def _measure(row: Row, reference: _Fact) -> None:
    """Measure the gaps of a row from an objective."""
    sense = row["sense"]
    row["reference"] = reference.objective
    row["reference_by"] = reference.solver
    if row["feasible"]:
        row["gap"] = gap_to(sense, row["objective"], reference.objective)
    reached = row.get("trace_objectives")
    if reached is not None:
        row["trace_gaps"] = [primal_gap(sense, one, reference.objective) for one in reached]
    elif reference.objective != row.get("best_known"):
        row.update(tells=False, trace_seconds=[], trace_gaps=[])


def _refuted(
    row: Row,
    best: _Fact,
    tolerance: float,
    *,
    named: _Fact,
) -> str:
    """What the best objective refutes of the claims of a row, by more than a tolerance; empty if
    nothing.

    `named` is the objective that the text names: that value, or the best known one if the
    difference is rounding.
    """
    if row["status"] == "INFEASIBLE":
        return f"called infeasible, but {named}"
    objective = float(row["objective"])
    if row["status"] == "OPTIMAL" and _passes(row, best.objective, objective, tolerance):
        return f"called OPTIMAL with {objective:.6g}, but {named}"
    bound = row["claimed_bound"]
    if bound is None or not math.isfinite(bound):
        return ""
    if _passes(row, best.objective, bound, tolerance):
        return f"claims the bound {bound:.6g}, but {named}"
    return ""


def _passes(row: Row, reached: float, claimed: float, tolerance: float) -> bool:
    """Whether an objective is better than another one by more than a tolerance."""
    return gap_to(row["sense"], reached, claimed) < -tolerance
