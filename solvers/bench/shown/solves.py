"""`solves`: a line for each instance and solver, as the tables behind a `summary`."""

import math
from collections.abc import Iterable
from typing import Any

from .times import Clock, Row, by_family, check_comparable, standing

__all__ = ["solves"]


def solves(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
) -> list[dict[str, Any]]:
    """A line for each instance and solver: the solve that stands for them, as in `times`.

    The lines are in the order of the rows, instance by instance. The keys are family, instance,
    solver, outcome, the recomputed `objective` and the `best known` one from which its `gap` is
    measured, the `bound` that the solver claims, the `dual bound` that its multipliers prove, and
    the `seconds` of the clock. A number that is not known is NaN.

    Parameters
    ----------
    rows, clock, warm
        See `times`, whose errors this function raises too.

    Examples
    --------
    >>> from margin.solvers import IPF, bench
    >>> easy = bench.instances(family="exact-entropy", size="small")[:1]
    >>> (line,) = bench.solves(bench.compare(easy, {"IPF": IPF()}, repeats=0))
    >>> line["solver"], line["outcome"], line["gap"] < 1e-4
    ('IPF', 'solved', True)
    """
    lines = []
    for part in by_family(rows).values():
        check_comparable(part)
        stands = standing(part, clock=clock, warm=warm)
        order = {
            name: place for place, name in enumerate(dict.fromkeys(r["instance"] for r in part))
        }
        lines += [_line(row, clock) for row in sorted(stands, key=lambda r: order[r["instance"]])]
    return lines


def _line(row: Row, clock: Clock) -> dict[str, Any]:
    """The line of the solve that stands."""
    best = row.get("reference")
    return {
        "family": row["family"],
        "instance": row["instance"],
        "solver": row["solver"],
        "outcome": row["outcome"],
        "objective": _number(row["objective"]),
        "best known": _number(row["best_known"] if best is None else best),
        "gap": _number(row["gap"]),
        "bound": _number(row["claimed_bound"]),
        "dual bound": _number(row.get("dual_bound")),
        "seconds": _number(row[clock]),
    }


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
