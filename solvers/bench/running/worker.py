"""The process that solves: it loads an instance and a solver, and solves again and again.

It is started by `process`. Before each solve it reads the instance anew, so that what a solver
keeps of a problem does not speed up the next solve. The first solve is cold: its time includes the
import of the solver's module and all that is loaded or compiled on first use. An engine takes the
programme as arrays: they are written before the clock of each solve, because this takes all engines
equally long.
"""

import json
import os
import pickle
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time  # a solver may replace those of the module
from typing import Any

from numpy.typing import NDArray

from ...status import Status, UnsolvedError
from ..families.family import Claim
from ..instance import Instance, load
from ..libraries.by_model import Answered
from .fingerprint import fingerprint
from .inside import version_inside
from .machine import loaded_versions
from .messages import encoded, packed_answer
from .telling import parameters_of
from .tree import own_peak

__all__ = ["answer_of", "claim_of", "main"]

_getrusage = resource.getrusage
_MOST_TEXT = 500
"""Largest number of characters of an error's text."""


class _Channel:
    """Sends messages to the process that judges."""

    def __init__(self, number: int) -> None:
        self._file = os.fdopen(number, "wb")

    def send(self, values: dict[str, Any], arrays: Any = None) -> None:
        """Send one message at once."""
        self._file.write(encoded(values, arrays))
        self._file.flush()


def main() -> None:
    """Do the task of the folder and on the channel that the command line names; then end."""
    folder = Path(sys.argv[1])
    channel = _Channel(int(sys.argv[2]))
    task = json.loads((folder / "task.json").read_text())
    _limit(task)
    solver: Any = None
    for repeat in range(task["repeats"] + 1):
        instance = load(folder / "instance.npz")
        before = fingerprint(instance)
        if task["takes_model"]:
            _ = instance.model
        channel.send({"kind": "begin", "repeat": repeat})
        begun = perf_counter()
        seconds = _cpu_seconds()
        reporter = _Reporter(channel, begun, seconds)
        answer: Any = None
        error = ""
        is_memory = False
        try:
            if solver is None:
                solver = pickle.loads((folder / "solver.pickle").read_bytes())
            answer = answer_of(solver, instance, reporter)
        except MemoryError as raised:
            is_memory = True
            error = _text(raised)
        except BaseException as raised:
            error = _text(raised)
        # The processor seconds are read last at the begin and first at the end: the wall time
        # covers them.
        cpu = _cpu_seconds() - seconds - reporter.cpu
        wall = perf_counter() - begun - reporter.wall
        channel.send({"kind": "solved"})
        kind, arrays = packed_answer(answer)
        told = {
            "kind": "answer",
            "repeat": repeat,
            "wall": wall,
            "cpu": cpu,
            "peak": own_peak(),
            "error": error,
            "is_memory": is_memory,
            "answer": kind,
            "changed": not error and fingerprint(instance) != before,
            "claim": {} if error else claim_of(instance, answer),
            "versions": _versions(type(solver).__module__, task["inside"]),
        }
        channel.send(told, arrays | _programme(answer))
        if error:
            break
    channel.send({"kind": "end"})
    # A solver may have left threads or functions that would keep the interpreter from ending.
    os._exit(0)


def _programme(answer: Any) -> dict[str, NDArray[Any]]:
    """The point and the multipliers of the programme, by name, if the answer tells them."""
    if not isinstance(answer, Answered):
        return {}
    told = {"point": packed_answer(answer.point), "dual": packed_answer(answer.dual)}
    return {name: arrays["part0"] for name, (kind, arrays) in told.items() if kind == "array"}


def _versions(module: str, inside: str) -> dict[str, str]:
    """The versions of what is loaded, and of the solver inside its package."""
    version = version_inside(inside)
    return loaded_versions(module) | ({inside: version} if version else {})


def _limit(task: dict[str, Any]) -> None:
    """Set the limits of the task on this process, and on all that it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if task["memory_limit"] is not None:
        # What is written to counts, not what is only reserved: libraries reserve much.
        limit = int(task["memory_limit"])
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (limit, limit))
    if task["processors"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, task["processors"])


def answer_of(solver: Any, instance: Instance, improved: Callable[[Any], None]) -> Any:
    """Call the solver; a solver that takes `improved` is given it.

    A solver that raises an `UnsolvedError` answers nothing, with the status of the error.
    """
    try:
        return _solve(solver, instance, improved)
    except UnsolvedError as error:
        claim = Claim(status=error.status)
        return Answered(answer=None, claim=claim, detail=str(error))


def _solve(solver: Any, instance: Instance, improved: Callable[[Any], None]) -> Any:
    whole = getattr(solver, "solve_instance", None)
    if callable(whole):
        options = {"improved": improved} if "improved" in parameters_of(whole) else {}
        return whole(instance, **options)
    method = getattr(solver, instance.family.method)
    if "improved" in parameters_of(method):
        return method(instance.problem, improved=improved)
    return instance.family.solve(solver, instance.problem)


class _Reporter:
    """Is called with each better answer that a solver finds on its way, and sends it.

    Sending is our work, so its seconds do not count.

    Parameters
    ----------
    channel
        Where the answers are sent.
    begun, before
        The clock and the processor seconds when the solve began.

    Attributes
    ----------
    wall, cpu
        The seconds that were spent on sending.
    """

    def __init__(self, channel: _Channel, begun: float, before: float) -> None:
        self._channel = channel
        self._begun = begun
        self._before = before
        self.wall = 0.0
        self.cpu = 0.0

    def __call__(self, answer: Any) -> None:
        """Send an answer at once."""
        # The answer may be anybody's object, so what it does when it is read counts.
        kind, arrays = packed_answer(answer)
        spent = thread_time()
        cpu = _cpu_seconds() - self._before - self.cpu
        reached = perf_counter()
        elapsed = reached - self._begun - self.wall
        told = {"kind": "improved", "seconds": elapsed, "cpu": cpu, "answer": kind}
        self._channel.send(told, arrays)
        self.wall += perf_counter() - reached
        self.cpu += thread_time() - spent


def claim_of(instance: Instance, answer: Any) -> dict[str, Any]:
    """What the answer says of itself, as JSON values; empty if it cannot be read."""
    try:
        claim = getattr(answer, "claim", None)
        if claim is None:
            claim = instance.family.claim(answer)
        status = claim.status
        return {
            "status": status.name if isinstance(status, Status) else None,
            "is_status": status is None or isinstance(status, Status),
            "objective": _number(claim.objective),
            "bound": _number(claim.bound),
            "seconds": _number(getattr(answer, "seconds", None)),
            "detail": str(getattr(answer, "detail", ""))[:_MOST_TEXT],
        }
    except Exception as error:  # the answer is anybody's object
        return {"is_status": True, "detail": _text(error)}


def _number(value: Any) -> float | None:
    """A number as a plain one; None if there is none."""
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def _cpu_seconds() -> float:
    """Processor seconds of this process and of its children that have ended."""
    total = 0.0
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = _getrusage(whose)
        total += usage.ru_utime + usage.ru_stime
    return total


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be read"
    return f"{type(error).__name__}: {text}"[:_MOST_TEXT]
