"""Which solves claim a proof of optimality, and rows in which only those count as solved."""

from collections.abc import Iterable
from typing import Any

from ..gaps import gap_to
from .times import Row

__all__ = ["UNCLAIMED", "claimed_only", "is_claimed"]

UNCLAIMED = "the best known, but not called optimal"
"""The cause of rows that `claimed_only` counts as not solved."""


def is_claimed(row: Row) -> bool:
    """Whether a solve found the best answer and claims that it is optimal.

    The answer and the claims were checked: it is as good as the best known, and nothing refutes the
    status OPTIMAL. A bound, if the solver claims one, must also agree with the objective, up to the
    tolerance of the comparison. No proof is seen: that
    nothing better was found does not prove that there is nothing better.
    """
    if row["outcome"] != "solved" or row.get("status") != "OPTIMAL":
        return False
    bound = row.get("claimed_bound")
    if bound is None:
        return True
    return abs(gap_to(row["sense"], row["objective"], bound)) <= float(row["tolerance"])


def claimed_only(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows, where an answer that its solver does not call optimal counts as ``feasible``.

    What is made of these rows ranks solvers by their claims: `summary`, `table_of`, `page`, means,
    profiles and pictures. An answer without a claim then costs the time limit, as a failure does.
    Do not combine this with `gap`, which counts answers for what they are.

    Parameters
    ----------
    rows
        The rows of one or several comparisons. They are not changed.

    Examples
    --------
    >>> rows = [{"outcome": "solved", "status": "OPTIMAL", "claimed_bound": None}]
    >>> rows.append({"outcome": "solved", "status": "UNPROVEN", "claimed_bound": None})
    >>> [row["outcome"] for row in claimed_only(rows)]
    ['solved', 'feasible']
    """
    unclaimed = {"outcome": "feasible", "cause": UNCLAIMED}
    return [
        dict(row) if row["outcome"] != "solved" or is_claimed(row) else {**row, **unclaimed}
        for row in rows
    ]
