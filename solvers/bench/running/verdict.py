"""What an answer is worth, judged by the problem alone, and whether its claims are true."""

import dataclasses
import enum
import math
from dataclasses import dataclass
from typing import Any

from ...status import Status
from ..families.family import Check
from ..gaps import SMALLEST, gap_to
from ..instance import Instance
from .process import Found

__all__ = ["WAITED", "Outcome", "Verdict", "accuracy", "judged"]

_CLOCK_SHARE = 0.5
_CLOCK_SECONDS = 0.5
"""A solver's seconds are called wrong if they differ from ours by this share, and by this much."""

_FACTOR, _LARGEST_ERROR = 100.0, 0.1
"""Largest error of an inaccurate answer, in stated tolerances, and at all."""

WAITED = "it waited"
"""How the cause begins of what was lost at a time limit, for want of a processor."""


class Outcome(enum.StrEnum):
    """How a solve ended, as we judge it."""

    SOLVED = "solved"
    FEASIBLE = "feasible"
    NOTHING = "nothing"
    INACCURATE = "inaccurate"
    WRONG = "wrong"
    RAISED = "raised"
    TIME = "time"
    MEMORY = "memory"
    DIED = "died"
    UNSUPPORTED = "unsupported"
    LOST = "lost"


@dataclass(
    frozen=True,
    kw_only=True,
)
class Verdict:
    """The judgement of one solve.

    Attributes
    ----------
    outcome
        ``solved``: feasible, and as good as the best known; without a best known, feasible and
        called optimal. ``feasible``: feasible, but worse than that, and not called optimal.
        ``nothing``: no answer, and the solver says so. ``wrong``: the answer or a claim is wrong.
        ``inaccurate``: the same, but the error is as small as the tolerance at which the solver
        says that it stops; see `accuracy`.
        ``time``: it was ended after the time limit, or its answer came later than the limit.
        ``raised``, ``memory`` and ``died`` say how a solve without an answer ended.
        ``unsupported``: the solver says that it does not take problems of this kind, and counts
        as not tried. ``lost``: the machine is the reason: the process ended before the solver
        began, was killed by somebody else, or waited for a processor until a time limit, of which
        it had less than 80 % for itself. This counts as not tried; its answer is valued all the
        same.
    cause
        Why it is not solved; empty if it is.
    check
        The recomputed objective and violation; None without an answer.
    gap
        The gap to the best known objective; see `gap_to`. NaN if it is not known.
    """

    outcome: Outcome
    cause: str
    check: Check | None
    gap: float


def accuracy(stated: float | None, *, integral: bool, objective: float | None = None) -> float:
    """The largest error that a solver with this stated tolerance does not deny.

    ``OPTIMAL`` says that the solver stopped at its tolerance. What it measures differs by a factor
    from our violations and gaps: it is allowed to be 100. The result is at most 0.1, so that nobody
    is excused for everything. It is 0 if no tolerance is stated, and for integer programmes, whose
    optimum is exact.

    With the best `objective`, it is the largest gap to it. Libraries stop at an absolute tolerance,
    too. So a difference of objectives up to the stated number, at most 0.001, is always allowed.
    """
    if stated is None or integral:
        return 0.0
    error = min(_FACTOR * stated, _LARGEST_ERROR)
    if objective is None:
        return error
    return max(error, error / _FACTOR / max(SMALLEST, abs(objective)))


def judged(
    instance: Instance,
    found: Found,
    *,
    tolerance: float,
    limit: float,
    stated: float | None = None,
) -> Verdict:
    """Judge one solve.

    Parameters
    ----------
    instance
        The instance, read by this process: the solver never had it in its hands.
    found
        What became of the solve.
    tolerance
        The largest gap at which an answer counts as best. Claims may differ from the truth by as
        much.
    limit
        The time limit, in seconds.
    stated
        The tolerance at which the solver says that it stops; None if it states none.
    """
    check = None if found.answer is None else instance.check(found.answer)
    gap = math.nan
    if check is not None and check.feasible:
        gap = gap_to(instance.family.sense, check.objective, instance.best_known)
    if found.is_lost(limit):
        cause = found.detail if found.lost else _kept_waiting(found, limit)
        return Verdict(outcome=Outcome.LOST, cause=cause, check=check, gap=gap)
    ends = {
        "raised": Outcome.RAISED,
        "time": Outcome.TIME,
        "memory": Outcome.MEMORY,
        "died": Outcome.DIED,
    }
    if found.end in ends:
        return Verdict(
            outcome=ends[found.end],
            cause=found.detail or found.end,
            check=None,
            gap=math.nan,
        )
    status = _status(found.claim)
    fault = _fault(instance, found, check, tolerance)
    if fault:
        if _is_near(instance, found, check, tolerance, stated):
            cause = f"{fault}; it stops at a tolerance of {stated:g}"
            return Verdict(outcome=Outcome.INACCURATE, cause=cause, check=check, gap=gap)
        return Verdict(outcome=Outcome.WRONG, cause=fault, check=check, gap=gap)
    if check is None or not check.feasible:
        words = _in_its_words(found.claim)
        if status is Status.UNSUPPORTED:
            cause = f"the solver does not take this problem{words}"
            return Verdict(outcome=Outcome.UNSUPPORTED, cause=cause, check=check, gap=gap)
        cause = "no answer" if status is None else f"no answer: {status.name}"
        return Verdict(outcome=Outcome.NOTHING, cause=f"{cause}{words}", check=check, gap=gap)
    if found.own_seconds > limit:
        cause = _too_late(found, limit)
        return Verdict(outcome=Outcome.TIME, cause=cause, check=check, gap=gap)
    unknown = instance.best_known is None
    is_best = status is Status.OPTIMAL if unknown else gap <= tolerance
    if is_best:
        return Verdict(outcome=Outcome.SOLVED, cause="", check=check, gap=gap)
    reason = "no best value is known" if unknown else _worse(instance, check)
    words = _in_its_words(found.claim)
    cause = reason if status is None else f"{reason}; its status is {status.name}{words}"
    return Verdict(outcome=Outcome.FEASIBLE, cause=cause, check=check, gap=gap)


def _is_near(
    instance: Instance,
    found: Found,
    check: Check | None,
    tolerance: float,
    stated: float | None,
) -> bool:
    """Whether nothing is wrong if errors as large as the `accuracy` of the solver are allowed."""
    integral = instance.family.integral
    error = accuracy(stated, integral=integral)
    if error == 0 or check is None:
        return False
    best = check.objective if instance.best_known is None else instance.best_known
    gap = accuracy(stated, integral=integral, objective=best)
    near = dataclasses.replace(check, feasible=check.feasible or check.violation <= error)
    return not _fault(instance, found, near, max(tolerance, gap))


def _kept_waiting(found: Found, limit: float) -> str:
    """That a solve that ended at its limit had little of it for itself, and what to do."""
    return (
        f"{WAITED} {found.waited:.3g} s for a processor, so that it had {found.had:.3g} s of its "
        f"limit of {limit:g} s for itself when it ended there; run it again with --jobs 1 if "
        "there were more, with a longer time limit, or on a quieter machine"
    )


def _too_late(found: Found, limit: float) -> str:
    """By how much an answer came later than the limit."""
    first = " by its first solve, which counts imports and compilation" if found.repeat == 0 else ""
    late = found.own_seconds - limit
    return f"the answer came {late:.2g} s after the limit of {limit:g} s{first}"


def _fault(
    instance: Instance,
    found: Found,
    check: Check | None,
    tolerance: float,
) -> str:
    """What is wrong with an answer or with its claims; empty if nothing is."""
    claim = found.claim
    if found.changed:
        return "the solver changed the problem"
    if not claim.get("is_status", True):
        return "the status is not a Status"
    return (
        _wrong_answer(instance, claim, check, tolerance)
        or _wrong_number(instance, claim, check, tolerance)
        or _wrong_seconds(found)
    )


def _wrong_answer(
    instance: Instance,
    claim: dict[str, Any],
    check: Check | None,
    tolerance: float,
) -> str:
    """What contradicts the status, or the bound that somebody proved."""
    status = _status(claim)
    known = instance.best_known
    sense = instance.family.sense
    if status is Status.INFEASIBLE and (known is not None or (check and check.feasible)):
        return "called infeasible, but a feasible answer is known"
    if check is None:
        if status is not None and not status.ok:
            return ""
        called = "no status says why" if status is None else f"it is called {status.name}"
        return f"there is no answer, but {called}{_in_its_words(claim)}"
    if not check.feasible:
        # A bare array carries no status: then it is the answer.
        if status is not None and not status.ok:
            return ""
        called = "given as an answer" if status is None else f"called {status.name}"
        return f"{called}, but not feasible: {check.fault or f'violation {check.violation:.2g}'}"
    if gap_to(sense, check.objective, instance.bound) < -tolerance:
        return (
            f"better than a proved bound: {check.objective:.6g}, but the bound is "
            f"{instance.bound:.6g}; the check or the bound is wrong"
        )
    gap = gap_to(sense, check.objective, known)
    if status is Status.OPTIMAL and gap > tolerance:
        return f"called OPTIMAL, but {_worse(instance, check)}"
    return ""


def _in_its_words(claim: dict[str, Any]) -> str:
    """What the solver says of its end, after a colon; empty if it says nothing."""
    detail = claim.get("detail")
    return f": {detail}" if detail else ""


def _worse(instance: Instance, check: Check) -> str:
    """That an objective is worse than the best known one, with both."""
    return (
        f"worse than the best known: {check.objective:.6g}, but {instance.best_known:.6g} is known"
    )


def _wrong_number(
    instance: Instance,
    claim: dict[str, Any],
    check: Check | None,
    tolerance: float,
) -> str:
    """What contradicts the objective or the bound that an answer claims."""
    sense = instance.family.sense
    objective = claim.get("objective")
    if objective is not None and check is not None and check.feasible:
        differs = abs(gap_to(sense, objective, check.objective))
        if not differs <= tolerance:
            return f"claims the objective {objective:.6g}, but it is {check.objective:.6g}"
    bound = claim.get("bound")
    if bound is None or math.isinf(bound):
        return ""
    if math.isnan(bound):
        return "claims a bound that is no number"
    reached = [instance.best_known]
    if check is not None and check.feasible:
        reached.append(check.objective)
    for value in reached:
        if value is not None and gap_to(sense, value, bound) < -tolerance:
            return f"claims the bound {bound:.6g}, but an answer reaches {value:.6g}"
    return ""


def _wrong_seconds(found: Found) -> str:
    """What is wrong with the seconds that the solver claims, and with the clocks of its process."""
    if found.has_slow_clock or found.wall < 0 or found.cpu < 0:
        return "the clock of its process was changed"
    claimed = found.claim.get("seconds")
    if claimed is None:
        return ""
    if not (claimed >= 0 and math.isfinite(claimed)):
        return f"claims {claimed} seconds"
    least = min(found.cpu, found.wall)
    most = max(found.cpu, found.wall)
    if found.repeat > 0 and claimed < _CLOCK_SHARE * least - _CLOCK_SECONDS:
        return f"claims {claimed:.3g} seconds, but took {least:.3g}"
    if claimed > most / _CLOCK_SHARE + _CLOCK_SECONDS:
        return f"claims {claimed:.3g} seconds, but took {most:.3g}"
    return ""


def _status(claim: dict[str, Any]) -> Status | None:
    """The status that an answer claims; None if it claims none."""
    name = claim.get("status")
    return None if name is None else Status[name]
