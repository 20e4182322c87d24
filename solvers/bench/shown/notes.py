"""What the table of a comparison does not tell: what was not run, what was run with another version
of a solver, and why instances were not solved."""

import json
import math
import re
from collections.abc import Iterable

from ..gaps import gap_to
from ..running.verdict import WAITED
from .claims import UNCLAIMED
from .times import NOT_TRIED, Row, by_family, counting, in_words

__all__ = ["busy", "improved", "notes", "uneven"]

_BUSY = 1.5
"""Load for each core above which other work of the machine disturbs wall seconds."""

_PROVED = 1e-6
"""Largest gap between a best value and a bound that prove each other; see `Instance.proved`."""

_ENDED = {
    "raised": "raised an error on",
    "died": "died on",
    "memory": "reached the memory limit on",
    "time": "had no answer within the time limit on",
    "nothing": "found no answer to",
    "inaccurate": "had an answer that is right to its own tolerance alone to",
    "feasible": "found an answer that is not the best known to",
    "unclaimed": "found a best known answer, but did not call it optimal, to",
    "unknown": "found an answer, which it does not call optimal, to",
}
"""The outcomes of instances that were not solved, apart from wrong answers, in words. "unknown" is
"feasible" where no best value is known, and "unclaimed" where `claimed_only` says so."""


def notes(rows: Iterable[Row]) -> list[str]:
    """Sentences for each family: which best known values are passed, whether repeats were left
    out (see `by_limits`), which solvers lack instances or have rows of several versions, and why
    instances were not solved. The last one is of the machine, if it was busy.

    Parameters
    ----------
    rows
        The rows of a comparison, of any families.

    Examples
    --------
    >>> row = {"family": "cover", "cause": "", "best_known": 7.0}
    >>> rows = [
    ...     row | {"instance": "one", "solver": "A", "outcome": "solved"},
    ...     row | {"instance": "two", "solver": "A", "outcome": "solved"},
    ...     row | {"instance": "one", "solver": "B", "outcome": "wrong", "cause": "no cover"},
    ...     row | {"instance": "one", "solver": "C", "outcome": "solved"},
    ...     row | {"instance": "two", "solver": "C", "outcome": "raised", "cause": "KeyError: 3"},
    ...     row | {"instance": "one", "solver": "D", "outcome": "lost", "cause": "it waited 9 s"},
    ... ]
    >>> for line in notes(rows):
    ...     print(line.partition("; 1 lost")[0])
    cover: B was tried on 1 of 2 instances
    cover: an answer of B to one is wrong: no cover
    cover: C raised an error on 1 of 2 instances (two): KeyError: 3
    cover: D was tried on 0 of 2 instances; not counted: it waited 9 s
    """
    held = list(rows)
    found = []
    for family, part in by_family(held).items():
        instances = {row["instance"] for row in part}
        found += [f"{family}: {line}" for line in improved(part) + _shortened(part)]
        for solver in dict.fromkeys(row["solver"] for row in part):
            own = [row for row in part if row["solver"] == solver]
            lines = _lacking(solver, own, len(instances)) + _edited(solver, own)
            found += [f"{family}: {line}" for line in lines]
            found += [f"{family}: {line}" for line in _wrong(solver, own, len(instances))]
            found += [
                f"{family}: {solver} {line}" for line in _unsolved(counting(own), len(instances))
            ]
    return found + busy(held)


def _shortened(rows: list[Row]) -> list[str]:
    """A sentence if `by_limits` left out the last repeats of some solvers, else none."""
    asked = sorted({row["repeats"] for row in rows if row.get("repeats") is not None})
    last = max(row.get("repeat") or 0 for row in rows)
    if len(asked) < 2 or last > asked[0]:
        return []
    return [
        f"the numbers are of {asked[0]} repeats, the fewest that a solver was run with, and others "
        f"have up to {asked[-1]}; run all with --repeats {asked[-1]} to count them"
    ]


def busy(rows: Iterable[Row]) -> list[str]:
    """A sentence on the columns that are not reliable if the machine had other work, else none.

    >>> for line in busy([{"load": 9.4, "machine": "AMD EPYC; 2 cores; 25 GB; Linux"}]):
    ...     print(line.split(":")[0])
    the load of the machine was up to 9.4, with 2 cores
    """
    loads: dict[str, float] = {}
    for row in rows:
        name = row.get("machine") or ""
        loads[name] = max(loads.get(name, 0.0), row.get("load") or 0.0)
    for name, load in loads.items():
        told = re.search(r"\b(\d+) cores", name)
        if told and load > _BUSY * int(told[1]):
            return [
                f"the load of the machine was up to {load:.1f}, with {told[1]} cores: wall seconds "
                "and primal integrals are not reliable; compare processor seconds"
            ]
    return []


def improved(rows: Iterable[Row]) -> list[str]:
    """A sentence for each instance whose gaps are to an answer in the rows: it is better than the
    best known one, or none was known.

    >>> row = {"instance": "one", "best_known": 9.0, "reference": 7.0, "reference_by": "A"}
    >>> improved([row, row | {"instance": "two", "reference_by": ""}])
    ['A found 7, better than the best known 9, to one: gaps and outcomes are to this answer']
    >>> row |= {"best_known": None, "sense": "minimise", "solver": "B", "dual_bound": 6.65}
    >>> improved([row])[0].partition("so ")[2]
    'gaps are to this answer; its gap to the bound that the multipliers of B prove is 0.053'
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("reference_by"):
            found.setdefault(row["instance"], []).append(row)
    return [_measured(name, own) for name, own in found.items()]


def _measured(name: str, rows: list[Row]) -> str:
    """That the gaps of these rows of one instance are to an answer in the rows."""
    row = rows[0]
    told = f"{row['reference_by']} found {row['reference']:.6g}"
    if row["best_known"] is not None:
        known = f"better than the best known {row['best_known']:.6g}"
        return f"{told}, {known}, to {name}: gaps and outcomes are to this answer"
    told += f", the best in the rows, to {name}: no best value is known, so gaps are to this answer"
    # Bounds of multipliers are computed here; those that solvers claim are not.
    bounded = [one for one in rows if math.isfinite(one.get("dual_bound") or math.nan)]
    if not bounded:
        return told
    least = min(bounded, key=lambda one: gap_to(row["sense"], row["reference"], one["dual_bound"]))
    gap = gap_to(row["sense"], row["reference"], least["dual_bound"])
    return (
        f"{told}; its gap to the bound that the multipliers of {least['solver']} prove is {gap:.2g}"
    )


def uneven(rows: Iterable[Row]) -> list[str]:
    """Sentences on the solvers of one family that were not tried on all its instances, or not in
    one version."""
    listed = list(rows)
    instances = {row["instance"] for row in listed}
    lines = []
    for solver in dict.fromkeys(row["solver"] for row in listed):
        own = [row for row in listed if row["solver"] == solver]
        lines += _lacking(solver, own, len(instances)) + _edited(solver, own)
    return lines


def _lacking(solver: str, own: list[Row], instances: int) -> list[str]:
    """A sentence if the solver of these rows was not tried on all instances, else none."""
    wrong = {row["instance"] for row in own if row["outcome"] == "wrong"}
    left = [row for row in own if row["outcome"] in NOT_TRIED and row["instance"] not in wrong]
    tried = {row["instance"] for row in own} - {row["instance"] for row in left}
    if len(tried) == instances:
        return []
    # The first cause of each kind tells enough.
    first = {row["outcome"]: row["cause"] for row in reversed(left) if row["cause"]}
    why = "; ".join(first[name] for name in NOT_TRIED if name in first)
    counted = f"; not counted: {why}" if why else ""
    line = f"{solver} was tried on {len(tried)} of {in_words(instances)}{counted}"
    return [f"{line}{_at_the_limit(left)}"]


def _at_the_limit(left: list[Row]) -> str:
    """How many instances the machine lost, and how many of them at the limit; empty if none."""
    lost = {row["instance"]: row["cause"] for row in left if row["outcome"] == "lost"}
    if not lost:
        return ""
    late = {name for name, cause in lost.items() if cause.startswith(WAITED)}
    # More time finds nothing better than a best value that is proved.
    best = {row["instance"] for row in left if row["instance"] in late and _is_best(row)}
    told = f"{len(lost)} lost, {len(late)} of them at the time limit"
    if best:
        told += f", of which {len(best)} had found a proved best value"
    if late - best:
        told += ", which might have been failures" if not best else "; the others might have failed"
    return f"; {told}; so there is no mean"


def _is_best(row: Row) -> bool:
    """Whether the answer of a row is as good as a best value that is proved."""
    known, bound = row["best_known"], row.get("bound")
    if known is None or bound is None or not row["feasible"]:
        return False
    is_proved = abs(gap_to(row["sense"], bound, known)) <= _PROVED
    return is_proved and bool(row["gap"] <= float(row["tolerance"]))


def _edited(solver: str, own: list[Row]) -> list[str]:
    """A sentence if the file of the solver of these rows was edited between them, else none."""
    versions = {json.loads(row.get("options") or "{}").get("code") for row in own}
    if len(versions) < 2:
        return []
    return [
        f"the rows of {solver} are of {len(versions)} versions of its file; run it again on all "
        "instances"
    ]


def _wrong(solver: str, own: list[Row], instances: int) -> list[str]:
    """A sentence if answers in these rows are wrong, with the cause of the first one; else none."""
    wrong = [row for row in own if row["outcome"] == "wrong"]
    if not wrong:
        return []
    first = wrong[0]
    number = len({row["instance"] for row in wrong})
    if number == 1:
        return [f"an answer of {solver} to {first['instance']} is wrong: {first['cause']}"]
    return [
        f"answers of {solver} to {number} of {in_words(instances)} are wrong; the first one, to "
        f"{first['instance']}: {first['cause']}; bench.page (margin bench show --page) tells all "
        "causes"
    ]


def _outcome(row: Row) -> str:
    """The outcome of a row, as a key of `_ENDED`."""
    if row["cause"] == UNCLAIMED:
        return "unclaimed"
    is_unknown = row["outcome"] == "feasible" and row["best_known"] is None
    return "unknown" if is_unknown else str(row["outcome"])


def _unsolved(rows: list[Row], instances: int) -> list[str]:
    """How many instances ended in which way, with the first one, and its cause if it has one."""
    lines = []
    for outcome, words in _ENDED.items():
        ended = [row for row in rows if _outcome(row) == outcome]
        if ended:
            number = len({row["instance"] for row in ended})
            first = ended[0]["instance"] if number == 1 else f"first: {ended[0]['instance']}"
            has_cause = ended[0]["cause"] and outcome != "unclaimed"
            cause = f": {ended[0]['cause']}" if has_cause else ""
            lines.append(f"{words} {number} of {in_words(instances)} ({first}){cause}")
    return lines
