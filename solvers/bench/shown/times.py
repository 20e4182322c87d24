"""The time of each solver on each instance, from the rows of a comparison."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...types import Floats

__all__ = [
    "Clock",
    "Row",
    "Times",
    "by_family",
    "check_comparable",
    "counting",
    "in_words",
    "standing",
    "times",
]

Row = Mapping[str, Any]
Clock = Literal["cpu", "wall"]

NOT_TRIED = ("unsupported", "lost")
"""The outcomes of solves that say nothing of the solver's speed: it does not take the problem, or
the machine failed it."""

ORDER = (
    *("solved", "feasible", "inaccurate", "nothing", "time", "memory", "raised", "died"),
    *("unsupported", "lost", "wrong"),
)
"""The outcomes from best to worst."""

LEAST = 1e-6
"""Shortest time in seconds: clocks tell no less."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Times:
    """The time of each solver on each instance.

    Attributes
    ----------
    instances, solvers
        The names of the n instances and of the s solvers, in the order of the rows.
    seconds
        Shape (n, s): infinite where an instance was not solved, NaN where it was not tried, and
        otherwise at most the limit.
    limit
        The time limit, in seconds.
    """

    instances: list[str]
    solvers: list[str]
    seconds: Floats
    limit: float


def times(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> Times:
    """Take the times from the rows of a comparison.

    Parameters
    ----------
    rows
        The rows, as `compare` returns them.
    clock
        Processor seconds, which do not depend on what else the machine does, or wall seconds.
    warm
        Whether to take the least time of the warm solves, because whatever else the machine does
        only adds to a time. Where there are none, and with
        ``warm=False``, the cold solve counts.
    gap
        Count an answer as solved if its gap is at most this, instead of the `tolerance` of the
        comparison. Wrong answers never count.

    Raises
    ------
    ValueError
        If there are no rows, they have several time limits (see `by_limits`), or they are of
        different problems of one name.
    """
    runs: dict[tuple[str, str], list[Row]] = {}
    held = list(rows)
    for row in counting(held, warm):
        runs.setdefault((row["instance"], row["solver"]), []).append(row)
    if not runs:
        raise ValueError("there must be at least one row, but there is none; run bench.compare")
    check_comparable(held)
    instances = list(dict.fromkeys(instance for instance, _ in runs))
    solvers = list(dict.fromkeys(solver for _, solver in runs))
    seconds = np.full((len(instances), len(solvers)), math.nan)
    for (instance, solver), solves in runs.items():
        place = instances.index(instance), solvers.index(solver)
        seconds[place] = _time(solves, clock, warm, gap)
    limit = float(held[0]["time_limit"])
    return Times(instances=instances, solvers=solvers, seconds=seconds, limit=limit)


def standing(rows: Iterable[Row], *, clock: Clock = "cpu", warm: bool = True) -> list[Row]:
    """The one solve that stands for each solver on each instance, in the order of the rows.

    It is the solve that took least time: of the warm ones, or the cold one where there are none and
    with ``warm=False``. If some ended worse than others, one of the worst stands for all. A first
    solve that was too late is passed over, as in `counting`.

    Parameters
    ----------
    rows
        The rows of one family.
    clock, warm
        See `times`.
    """
    runs: dict[tuple[str, str], list[Row]] = {}
    for row in counting(rows, warm):
        runs.setdefault(_pair(row), []).append(row)
    found = []
    for solves in runs.values():
        worst = max((row["outcome"] for row in solves), key=ORDER.index)
        ended = [row for row in solves if row["outcome"] == worst]
        fastest = _fastest(ended, clock, warm)
        found.append(ended[0] if fastest is None else fastest)
    return found


def counting(rows: Iterable[Row], warm: bool = True) -> list[Row]:
    """The rows of one family that count: without first solves that were too late, if others follow.

    The time of a first solve has the imports and the compilation. Where warm solves count, they
    decide whether a solver keeps the time limit.
    """
    listed = list(rows)
    warmed = {_pair(row) for row in listed if warm and not row.get("cold")}
    return [
        row
        for row in listed
        if not (row["outcome"] == "time" and row.get("cold") and _pair(row) in warmed)
    ]


def _pair(row: Row) -> tuple[str, str]:
    """The instance and the solver of a row."""
    return row["instance"], row["solver"]


def check_comparable(rows: Iterable[Row]) -> None:
    """Refuse rows of several time limits, or of different problems of one name: a ValueError.

    A solver that had more time solves more, so failures and means under several limits are no
    comparison. An instance that was made anew under its old name is another one.
    """
    listed = list(rows)
    limits = dict.fromkeys(float(row["time_limit"]) for row in listed)
    if len(limits) > 1:
        found = ", ".join(f"{limit:g} s" for limit in limits)
        raise ValueError(
            f"rows that are compared must have one time limit, but these have several ({found}); "
            "separate them with by_limits"
        )
    problems: dict[str, tuple[Any, Any]] = {}
    for row in listed:
        name = row["instance"]
        problem = row.get("version"), row.get("digest")
        if problems.setdefault(name, problem) != problem:
            raise ValueError(
                "rows that are compared must be of one problem of each name, but these are of "
                f"different problems that are named {name!r}; show their files one at a time, or "
                "choose the rows of one digest"
            )


def in_words(instances: int) -> str:
    """A number of instances, such as "1 instance".

    >>> in_words(1), in_words(2)
    ('1 instance', '2 instances')
    """
    return f"{instances} instance{'' if instances == 1 else 's'}"


def by_family(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each family, in the order in which families first appear."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["family"], []).append(row)
    return found


def _time(
    solves: list[Row],
    clock: Clock,
    warm: bool,
    gap: float | None,
) -> float:
    """The time of one solver on one instance; infinite if a solve failed, NaN if it was not tried.

    A wrong answer counts, whatever became of the other solves. No time is above the limit, so that
    a failure, which costs the limit, is never cheaper than an answer.
    """
    outcomes = {row["outcome"] for row in solves}
    if "wrong" not in outcomes and not outcomes.isdisjoint(NOT_TRIED):
        return math.nan
    if not all(_is_solved(row, gap) for row in solves):
        return math.inf
    fastest = _fastest(solves, clock, warm)
    if fastest is None:
        return math.inf
    return min(max(float(fastest[clock]), LEAST), float(fastest["time_limit"]))


def _fastest(solves: list[Row], clock: Clock, warm: bool) -> Row | None:
    """The warm solve that took least time; the cold one where there is no warm one, and with
    ``warm=False``. None if there is none of these."""
    warmed = [row for row in solves if not row["cold"]]
    taken = warmed if warm and warmed else [row for row in solves if row["cold"]]
    return min(taken, key=lambda row: float(row[clock]), default=None)


def _is_solved(row: Row, gap: float | None) -> bool:
    """Whether the answer of a row counts."""
    if gap is None:
        return bool(row["outcome"] == "solved")
    # The gap of what is infeasible is NaN.
    return row["outcome"] in ("solved", "feasible", "inaccurate") and bool(row["gap"] <= gap)
