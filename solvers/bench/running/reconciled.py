"""`reconciled`: claims of one solver that the checked answer of another one contradicts."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from .verdict import Outcome, gap_to

__all__ = ["reconciled"]

Row = dict[str, Any]

_CLAIMING = (Outcome.SOLVED, Outcome.FEASIBLE, Outcome.NOTHING, Outcome.TIME)
"""The outcomes of solves whose claims nothing has contradicted so far."""


def reconciled(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The rows, where a claim that another row refutes makes the outcome ``wrong``.

    The objectives of feasible answers were recomputed, so they are facts, whoever found them. A
    solver is wrong if it calls an answer optimal that is worse than one of them, claims a bound
    that one of them passes, or calls an instance infeasible that has one. This decides where no
    best value is known.

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
    >>> row |= {"claimed_bound": None, "outcome": "solved", "cause": ""}
    >>> rows = [row | {"solver": "A", "objective": 30}, row | {"solver": "B", "objective": 33}]
    >>> [(row["outcome"], row["cause"]) for row in reconciled(rows)]
    [('solved', ''), ('wrong', 'called OPTIMAL with 33, but an answer of A has 30')]
    """
    listed = [dict(row) for row in rows]
    best: dict[tuple[Any, ...], Row] = {}
    for row in listed:
        if row["feasible"]:
            before = best.get(_problem(row))
            if before is None or gap_to(row["sense"], row["objective"], before["objective"]) < 0:
                best[_problem(row)] = row
    for row in listed:
        fact = best.get(_problem(row))
        if row["outcome"] in _CLAIMING and fact is not None:
            refuted = _refuted(row, fact)
            if refuted:
                row["outcome"] = Outcome.WRONG.value
                row["cause"] = refuted
    return listed


def _problem(row: Row) -> tuple[Any, ...]:
    """What rows of the same problem have in common."""
    return row["family"], row["instance"], row["version"], row["digest"]


def _refuted(row: Row, fact: Row) -> str:
    """What a feasible answer refutes of the claims of a row; empty if nothing."""
    reached = float(fact["objective"])
    whose = f"an answer of {fact['solver']} has {reached:.6g}"
    if row["status"] == "INFEASIBLE":
        return f"called infeasible, but {whose}"
    least = -float(row["tolerance"])
    objective = float(row["objective"])
    if row["status"] == "OPTIMAL" and gap_to(row["sense"], reached, objective) < least:
        return f"called OPTIMAL with {objective:.6g}, but {whose}"
    bound = row["claimed_bound"]
    if bound is not None and math.isfinite(bound) and gap_to(row["sense"], reached, bound) < least:
        return f"claims the bound {bound:.6g}, but {whose}"
    return ""
