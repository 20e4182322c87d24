"""Numbers for each solver: shifted geometric means, primal integrals, failures, agreement."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...types import Floats
from .times import NOT_TRIED, Clock, Row, Times, by_family, check_comparable, times

__all__ = [
    "SHIFT",
    "agreement",
    "failures",
    "primal_integral",
    "primal_integrals",
    "shifted_geometric_means",
    "summary",
]

SHIFT = 0.01
"""Seconds that are added to each time before the geometric mean is taken, and then subtracted."""


def shifted_geometric_means(
    rows: Iterable[Row],
    *,
    shift: float = SHIFT,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> dict[str, float]:
    """The shifted geometric mean of each solver's seconds: exp(mean(log(t + shift))) - shift.

    An instance that is not solved counts with the time limit; one that was not tried is left out.
    The shift keeps instances of microseconds from deciding everything (Achterberg, Constraint
    Integer Programming, 2007, appendix A.3). Mittelmann's tables shift by 10 seconds, for
    instances of minutes.

    Parameters
    ----------
    rows
        The rows of one family.
    shift
        Seconds, > 0.
    clock, warm, gap
        See `times`.
    """
    table = times(rows, clock=clock, warm=warm, gap=gap)
    counted = np.where(np.isinf(table.seconds), table.limit, table.seconds)
    means = {}
    for solver, column in zip(table.solvers, counted.T, strict=True):
        tried = column[~np.isnan(column)]
        mean = np.log(tried + shift).mean() if len(tried) else math.nan
        means[solver] = float(np.exp(mean) - shift)
    return means


def primal_integral(row: Row) -> float:
    """The mean primal gap of a solve over the wall seconds of its time limit, from 0 to 1.

    The gap is 1 until the first feasible answer, and then that of the best answer so far: relative
    to the size of the best known objective, at least 0.01, and at most 1. It keeps its last value
    until the limit. So 0.02 means that a solver that reaches the best at once needed a fiftieth of
    the limit. A solver that does not tell its answers on the way has one step, at its end. NaN if
    no best objective is known.

    References
    ----------
    Berthold, Measuring the impact of primal heuristics, Operations Research Letters 41 (2013),
    equation (3), divided by the time limit.
    """
    if row["best_known"] is None:
        return math.nan
    limit = float(row["time_limit"])
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, reached in zip(row["trace_seconds"], row["trace_gaps"], strict=True):
        stop = min(float(seconds), limit)
        total += gap * (stop - since)
        since, gap = stop, float(reached)
    return (total + gap * (limit - since)) / limit


def primal_integrals(rows: Iterable[Row], *, warm: bool = True) -> dict[str, float]:
    """The mean primal integral of each solver, over the instances whose best objective is known.

    Parameters
    ----------
    rows
        The rows of one family.
    warm
        Whether warm solves count, where there are some, or the cold one.

    Raises
    ------
    ValueError
        If the rows have several time limits; see `by_limits`.
    """
    listed = list(rows)
    check_comparable(listed)
    held: dict[str, dict[str, list[tuple[bool, float]]]] = {}
    for row in listed:
        instances = held.setdefault(row["solver"], {})
        if row["outcome"] in NOT_TRIED:
            continue
        runs = instances.setdefault(row["instance"], [])
        runs.append((bool(row["cold"]), primal_integral(row)))
    means = {}
    for solver, instances in held.items():
        values = []
        for runs in instances.values():
            warmed = [value for cold, value in runs if not cold]
            chosen = warmed if warm and warmed else [value for cold, value in runs if cold]
            values.append(float(np.mean(chosen)) if chosen else 1.0)
        known = [value for value in values if not math.isnan(value)]
        means[solver] = float(np.mean(known)) if known else math.nan
    return means


def failures(rows: Iterable[Row]) -> dict[str, Counter[str]]:
    """For each solver, how many instances ended in which outcome; the worst solve of each counts.

    The outcomes are those of `Outcome`. Rows of several families are counted together.

    Raises
    ------
    ValueError
        If a family has rows of several time limits; see `by_limits`.
    """
    listed = list(rows)
    for part in by_family(listed).values():
        check_comparable(part)
    return {solver: Counter(ended.values()) for solver, ended in _worst(listed).items()}


def _worst(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """The worst outcome of each solver on each instance."""
    worst: dict[str, dict[str, str]] = {}
    for row in rows:
        ended = worst.setdefault(row["solver"], {})
        before = ended.get(row["instance"], "solved")
        ended[row["instance"]] = max(before, row["outcome"], key=_ORDER.index)
    return worst


def _best_mean(table: Times, means: dict[str, float]) -> float:
    """The least mean of the solvers that were tried on all instances, or of all if there is none.

    A solver that takes the easy instances only is no measure of those that solve the others.
    """
    full: list[float] = []
    partial: list[float] = []
    for solver, column in zip(table.solvers, table.seconds.T, strict=True):
        # Without a solved instance, the mean would be the time limit.
        if np.isfinite(column).any():
            group = partial if np.isnan(column).any() else full
            group.append(means[solver])
    return max(min(full or partial, default=1.0), 1e-9)


def _counts(outcomes: Iterable[str]) -> dict[str, int]:
    """How many of the instances that were tried and not solved ended in which way."""
    counts = dict.fromkeys((*_COUNTED, "other"), 0)
    for outcome in outcomes:
        # An answer that is too far from the best for a `gap` that the reader chose is feasible.
        named = "feasible" if outcome == "solved" else outcome
        counts[named if named in _COUNTED else "other"] += 1
    return counts


def summary(
    rows: Iterable[Row],
    *,
    shift: float = SHIFT,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> list[dict[str, Any]]:
    """One dictionary for each family and solver, the fastest solver of each family first.

    `instances` counts those that the solver was tried on. It is the sum of `solved`, `feasible`,
    `time`, `wrong` and `other`: those that ended as ``nothing``, ``memory``, ``raised`` or
    ``died``. `not tried` counts the other instances of the family: the solver does not take them
    (``unsupported``), the machine failed it (``lost``), or there are no rows. A solver that solved
    no instance has no mean (NaN). `ratio` is that of the mean to the best one of a solver that was
    tried on all instances.

    Parameters
    ----------
    rows
        The rows of a comparison, of any families.
    shift, clock, warm, gap
        See `shifted_geometric_means`.
    """
    lines = []
    for family, part in by_family(rows).items():
        table = times(part, clock=clock, warm=warm, gap=gap)
        cold = times(part, clock=clock, warm=False, gap=gap)
        means = shifted_geometric_means(part, shift=shift, clock=clock, warm=warm, gap=gap)
        integrals = primal_integrals(part, warm=warm)
        ended = _worst(part)
        best = _best_mean(table, means)
        found: list[dict[str, Any]] = []
        for place, solver in enumerate(table.solvers):
            column = table.seconds[:, place]
            tried = int((~np.isnan(column)).sum())
            solved = int(np.isfinite(column).sum())
            unsolved = [table.instances[one] for one in np.flatnonzero(np.isinf(column))]
            counts = _counts(ended[solver][instance] for instance in unsolved)
            # Without a solved instance, the mean would be the time limit.
            mean = means[solver] if solved else math.nan
            found.append(
                {
                    "family": family,
                    "solver": solver,
                    "instances": tried,
                    "solved": solved,
                    **counts,
                    "not tried": len(column) - tried,
                    "mean seconds": mean,
                    "ratio": mean / best,
                    "first solve": _middle(cold.seconds[:, place]),
                    "primal integral": integrals[solver],
                    "peak MB": _peak(part, solver) / 1e6,
                }
            )
        lines += sorted(found, key=lambda line: (not line["solved"], float(line["mean seconds"])))
    return lines


def agreement(
    rows: Iterable[Row],
    others: Iterable[Row],
    *,
    shift: float = SHIFT,
    clock: Clock = "cpu",
) -> dict[str, float]:
    """Kendall's tau between the ranks of the solvers in two comparisons, family by family.

    Solvers are ranked by their shifted geometric means over the instances that both comparisons
    tried with them. 1 means equal ranks, 0 means unrelated ones. A family with one common solver
    has the value 1.

    Parameters
    ----------
    rows, others
        The rows of two comparisons.
    shift, clock
        See `shifted_geometric_means`.
    """
    from scipy.stats import kendalltau

    held, more = list(rows), list(others)
    common = _tried(held) & _tried(more)
    first = by_family(row for row in held if _pair(row) in common)
    second = by_family(row for row in more if _pair(row) in common)
    found = {}
    for family in [name for name in first if name in second]:
        one = shifted_geometric_means(first[family], shift=shift, clock=clock)
        other = shifted_geometric_means(second[family], shift=shift, clock=clock)
        left = [one[solver] for solver in one]
        right = [other[solver] for solver in one]
        found[family] = float(kendalltau(left, right).statistic) if len(one) > 1 else 1.0
    return found


def _tried(rows: Iterable[Row]) -> set[tuple[str, str]]:
    """The pairs of an instance and a solver of which every solve says something of the solver."""
    listed = list(rows)
    lost = {_pair(row) for row in listed if row["outcome"] in NOT_TRIED}
    return {_pair(row) for row in listed} - lost


def _pair(row: Row) -> tuple[str, str]:
    """The instance and the solver of a row."""
    return row["instance"], row["solver"]


_COUNTED = ("feasible", "time", "wrong")
"""The outcomes that have a column of their own; the worst solve of an instance decides."""

_ORDER = (
    *("solved", "feasible", "nothing", "time", "memory", "raised", "died"),
    *("unsupported", "lost", "wrong"),
)
"""The outcomes from best to worst."""


def _middle(column: Floats) -> float:
    """The median of the finite entries; NaN if there are none."""
    finite = column[np.isfinite(column)]
    return float(np.median(finite)) if len(finite) else math.nan


def _peak(rows: Iterable[Row], solver: str) -> float:
    """The largest memory of a solver, in bytes."""
    return float(max(row["peak_memory"] for row in rows if row["solver"] == solver))
