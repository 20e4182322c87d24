"""Numbers for each solver: shifted geometric means, primal integrals, failures, agreement."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .claims import is_claimed
from .times import (
    NOT_TRIED,
    ORDER,
    Clock,
    Row,
    by_family,
    check_comparable,
    counting,
    standing,
    times,
)

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

    An instance that is not solved counts with the time limit, and no time is above it; one that was
    not tried is left out. Where the machine lost instances, mostly failures are left out, so the
    mean is too small: `summary` then has none.
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


def has_gaps(row: Row) -> bool:
    """Whether the gaps of a solve are known against time."""
    is_measured = row["best_known"] is not None or bool(row.get("reference_by"))
    return is_measured and bool(row.get("tells"))


def primal_integral(row: Row) -> float:
    """The mean primal gap of a solve over the seconds of its time limit, from 0 to 1.

    The seconds are those that the limit counts: wall time, less the time for which the solver
    waited for a processor.
    The gap is 1 until the first feasible answer, and then that of the best answer so far: relative
    to the size of the best known objective, at least 0.001, and at most 1. It keeps its last value
    until the limit. So 0.02 means that a solver that reaches the best at once needed a fiftieth of
    the limit. Where no best objective is known, the best answer of the rows stands for it; see
    `reconciled`. NaN if there is none either, or if the solver does not tell its answers on the way
    (`tells` of the row): when it found them is then unknown.

    References
    ----------
    Berthold, Measuring the impact of primal heuristics, Operations Research Letters 41 (2013),
    equation (3), divided by the time limit.
    """
    if not has_gaps(row):
        return math.nan
    limit = float(row["time_limit"])
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, reached in zip(row["trace_seconds"], row["trace_gaps"], strict=True):
        stop = min(float(seconds), limit)
        total += gap * (stop - since)
        since, gap = stop, float(reached)
    return (total + gap * (limit - since)) / limit


def primal_integrals(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
) -> dict[str, float]:
    """The mean primal integral of each solver, over the instances whose best objective is known.

    It is NaN for a solver that does not tell its answers on the way.

    One solve stands for each instance: the fastest warm one, whose time the means count, too. If
    some solves ended worse than others, it is one of the worst.

    Parameters
    ----------
    rows
        The rows of one family.
    clock
        The seconds by which the fastest solve is chosen; see `times`.
    warm
        Whether warm solves count, where there are some, or the cold one.

    Raises
    ------
    ValueError
        If the rows have several time limits; see `by_limits`.
    """
    listed = list(rows)
    check_comparable(listed)
    held: dict[str, list[float]] = {row["solver"]: [] for row in listed}
    for row in standing(listed, clock=clock, warm=warm):
        value = primal_integral(row)
        if row["outcome"] not in NOT_TRIED and not math.isnan(value):
            held[row["solver"]].append(value)
    return {
        solver: float(np.mean(values)) if values else math.nan for solver, values in held.items()
    }


def failures(rows: Iterable[Row]) -> dict[str, Counter[str]]:
    """For each solver, how many instances ended in which outcome; the worst solve of each counts.

    A first solve that came too late is passed over, if warm solves follow: it counts the imports.
    The outcomes are those of `Outcome`. Rows of several families are counted together.

    Raises
    ------
    ValueError
        If a family has rows of several time limits; see `by_limits`.
    """
    listed = list(rows)
    for part in by_family(listed).values():
        check_comparable(part)
    ended = _worst(counting(listed))
    return {solver: Counter(ended[solver].values()) for solver in ended}


def _worst(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """The worst outcome of each solver on each instance."""
    worst: dict[str, dict[str, str]] = {}
    for row in rows:
        ended = worst.setdefault(row["solver"], {})
        before = ended.get(row["instance"], "solved")
        ended[row["instance"]] = max(before, row["outcome"], key=ORDER.index)
    return worst


def _place(line: dict[str, Any]) -> tuple[bool, int, float]:
    """The key by which the lines of a family are in order: most solved first, then least time.

    So a solver that solves more is never below one that solves less, whatever failures cost. Those
    that lost instances are not ranked, and come last.
    """
    mean = float(line["mean seconds"])
    return bool(line["lost"]), -int(line["solved"]), math.inf if math.isnan(mean) else mean


def _measure(lines: list[dict[str, Any]]) -> float:
    """The mean of the first line whose solver was tried on all instances, or of the first line.

    A solver that takes the easy instances only is no measure of those that solve the others.
    """
    solving = [line for line in lines if not math.isnan(line["mean seconds"])]
    full = [line for line in solving if not line["not tried"]]
    chosen = full or solving
    return max(float(chosen[0]["mean seconds"]), 1e-9) if chosen else 1.0


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
    """One dictionary for each family and solver: most instances solved first, then least mean.

    `instances` counts those that the solver was tried on. It is the sum of `solved`, `feasible`,
    `inaccurate`, `time`, `wrong` and `other`: those that ended as ``nothing``, ``memory``,
    ``raised`` or ``died``. `claimed` counts the solved ones that the solver calls optimal;
    `claimed_only` ranks by these. `not tried` counts the other instances of the family: the solver
    does not take them (``unsupported``), the machine failed it (``lost``), or there are no rows.
    `lost` counts those of the second kind. A solver that solved no instance, or lost one, has no
    mean (NaN), and who lost one has no primal integral and comes last: a loss at the time limit
    might have been a failure. `ratio` is that of the mean to the mean of the first solver that was
    tried on all instances; it is below 1 for a solver that is faster and solves less. `first solve`
    is the median time of the first solves of the instances that it solved, at most the time limit;
    NaN if it solved none.

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
        means = shifted_geometric_means(part, shift=shift, clock=clock, warm=warm, gap=gap)
        integrals = primal_integrals(part, clock=clock, warm=warm)
        listed = counting(part, warm)
        ended = _worst(listed)
        counted = {
            solver: [row for row in listed if row["solver"] == solver] for solver in table.solvers
        }
        found: list[dict[str, Any]] = []
        for place, solver in enumerate(table.solvers):
            column = table.seconds[:, place]
            tried = int((~np.isnan(column)).sum())
            solved = int(np.isfinite(column).sum())
            solves = [table.instances[one] for one in np.flatnonzero(np.isfinite(column))]
            unsolved = [table.instances[one] for one in np.flatnonzero(np.isinf(column))]
            counts = _counts(ended[solver][instance] for instance in unsolved)
            unclaimed = {row["instance"] for row in counted[solver] if not is_claimed(row)}
            lost = list(ended[solver].values()).count("lost")
            # Without a solved instance, the mean would be the time limit. What is lost at the limit
            # would mostly be failures: without them, the mean would be too small.
            mean = means[solver] if solved and not lost else math.nan
            found.append(
                {
                    "family": family,
                    "solver": solver,
                    "instances": tried,
                    "solved": solved,
                    "claimed": len(set(solves) - unclaimed),
                    **counts,
                    "not tried": len(column) - tried,
                    "lost": lost,
                    "mean seconds": mean,
                    "ratio": math.nan,  # known when all means are
                    "first solve": _first_solve(part, solver, solves, clock),
                    "primal integral": math.nan if lost else integrals[solver],
                    "peak MB": _peak(part, solver) / 1e6,
                }
            )
        found.sort(key=_place)
        best = _measure(found)
        lines += [line | {"ratio": line["mean seconds"] / best} for line in found]
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


_COUNTED = ("feasible", "inaccurate", "time", "wrong")
"""The outcomes that have a column of their own; the worst solve of an instance decides."""


def _first_solve(
    rows: Iterable[Row],
    solver: str,
    solved: list[str],
    clock: Clock,
) -> float:
    """The median seconds of a solver's first solves of some instances; NaN if there are none."""
    seconds = [
        min(float(row[clock]), float(row["time_limit"]))
        for row in rows
        if row["solver"] == solver and row["instance"] in solved and row["cold"]
    ]
    return float(np.median(seconds)) if seconds else math.nan


def _peak(rows: Iterable[Row], solver: str) -> float:
    """The largest memory of a solver, in bytes."""
    return float(max(row["peak_memory"] for row in rows if row["solver"] == solver))
