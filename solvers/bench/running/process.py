"""Starting the process that solves, watching its time and memory, and ending it."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import tree
from .messages import Message, Reader, unpacked_answer

__all__ = ["Found", "Limits", "Task", "environment", "run"]

_SETTING_UP = 300.0
"""Seconds for the work between two solves: starting Python, and reading the instance."""

_GRACE = 1.0
_GRACE_SHARE = 0.25
"""A solver is ended this many seconds, and this share of the limit, after its time limit. This only
decides when a process is ended: an answer that comes later than the limit is too late."""

_PATIENCE = 10.0
"""A solver is ended after this many times its limit, even if it had no processor meanwhile."""

_WAITED_SHARE = 0.1
"""A limit that is reached says nothing of a solver that waited for longer than this share of it."""

_NEARLY = 0.8
"""A solver that had this share of its limit for itself ended by its own fault at the limit."""

_MAYBE_STOPPED = ("UNPROVEN", "FAILED", None)
"""Statuses that do not say why a search ended: a solver's own clock may have stopped it."""

_SLOW_SHARE = 0.5
_SLOW_SECONDS = 0.5
"""The clock of a solver's process is slow if it shows less than this share of our seconds, minus
this number of seconds."""

_PAUSE = 0.1
"""Seconds between two looks at the memory."""

_KEPT_OUTPUT = 4096
"""Number of bytes of a solver's standard error that are kept."""

_START = "from margin.solvers.bench.running.worker import main; main()"

_ONE_THREAD_EACH = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Variables that tell libraries how many threads to use."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Limits:
    """What a process may use.

    Parameters
    ----------
    seconds
        The time limit of one solve.
    memory
        The largest number of bytes, or None.
    threads
        The number of threads, and of processors if the system can bind a process to some.
    """

    seconds: float
    memory: int | None
    threads: int


@dataclass(
    frozen=True,
    kw_only=True,
)
class Task:
    """One solver on one instance.

    Parameters
    ----------
    instance
        The file of the instance. Beside it, a run has a folder of its own while it lasts.
    solver
        The solver, pickled.
    repeats
        The number of solves after the first.
    limits
        What the process may use.
    inside
        The name of the solver inside its package, whose version is asked for; see `inside`.
    takes_model
        Whether the solver takes the programme as arrays (`Instance.model`). They are then written
        before the clock of a solve starts.
    knows_limit
        Whether the solver has a time limit of its own.
    processors
        The numbers of the processors to which the process is bound; empty for any.
    """

    instance: Path
    solver: bytes
    repeats: int
    limits: Limits
    inside: str = ""
    takes_model: bool = False
    knows_limit: bool = False
    processors: tuple[int, ...] = ()


@dataclass(
    kw_only=True,
    eq=False,
)
class Found:
    """What became of one solve.

    Attributes
    ----------
    repeat
        The number of the solve; 0 is the cold one.
    end
        "answered", "raised", "time", "memory" or "died".
    answer
        The bare answer; see `unpacked_answer`.
    claim
        What the answer says of itself.
    point, dual
        The point and the multipliers of the programme; see `Answered`. They may be anything.
    wall, cpu
        The seconds that the solver's process measured.
    watched
        The seconds from the begin of the solve to its end, as this process measured them.
    waited
        The seconds for which its threads and those of its children were ready, but other programs
        had the processor: at most `wall`, less `cpu` for each of its processors.
    late
        The longest time for which this process, which watches, was kept from reading messages.
    lost
        Whether the process was lost for no fault of the solver: it ended before the solver began,
        or somebody else killed it, such as a system without memory.
    knows_limit
        Whether the solver has a time limit of its own.
    peak
        The largest number of resident bytes.
    trace
        The better answers on the way, each with its seconds; the time until then for which other
        programs had the processor is not counted.
    changed
        Whether the solver changed the problem.
    runaways
        The number of processes that the solver left behind outside its process group, as a daemon
        is; they were ended.
    detail
        What went wrong.
    versions
        The versions of the libraries that were loaded, and of the solver inside one of them.
    """

    repeat: int
    end: str = "died"
    answer: Any = None
    claim: dict[str, Any] = field(default_factory=dict)
    point: Any = None
    dual: Any = None
    wall: float = float("nan")
    cpu: float = float("nan")
    watched: float = float("nan")
    waited: float = 0.0
    late: float = 0.0
    lost: bool = False
    knows_limit: bool = False
    peak: int = 0
    trace: list[tuple[float, Any]] = field(default_factory=list)
    changed: bool = False
    runaways: int = 0
    detail: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def own_seconds(self) -> float:
        """The seconds of the solver itself: wall time, less what it waited for a processor.

        The time limit is a limit of these.
        """
        return self.wall - self.waited

    @property
    def had(self) -> float:
        """`own_seconds`; if the process was ended, by our clock, as its own never told."""
        return self.watched - self.waited if self.end == "time" else self.own_seconds

    @property
    def has_slow_clock(self) -> bool:
        """Whether the process measured much fewer seconds than passed."""
        passed = self.watched - self.waited - self.late
        return self.wall < _SLOW_SHARE * passed - _SLOW_SECONDS

    def is_lost(self, limit: float) -> bool:
        """Whether the machine, and not the solver, may be the reason of how the solve ended.

        That is also so if it reached a time limit, but waited long for a processor meanwhile. It is
        not lost if it had nearly the whole limit (80 %) for itself.

        It reached a limit if it was ended, or says so by the status TIME_LIMIT. A solver with a
        time limit of its own that gives another reason, or none, may have been stopped by its
        clock, which counts the waiting, if it ended near the limit by the clock on the wall.
        """
        if self.lost:
            return True
        was_ended = self.end == "time"
        status = self.claim.get("status")
        is_near = self.knows_limit and self.end == "answered" and self.wall >= _NEARLY * limit
        may_be_stopped = is_near and status in _MAYBE_STOPPED
        is_late = was_ended or status == "TIME_LIMIT" or may_be_stopped
        has_waited = self.waited > _WAITED_SHARE * limit
        had_its_time = self.had >= _NEARLY * limit
        return is_late and has_waited and not had_its_time


def run(task: Task, stop: threading.Event) -> list[Found]:
    """Run a task in a process of its own; the result has one entry for each solve that began.

    Parameters
    ----------
    task
        What to do.
    stop
        If this is set, the process is ended, and the result is empty.
    """
    with tempfile.TemporaryDirectory(dir=task.instance.parent) as name:
        folder = Path(name)
        (folder / "instance.npz").symlink_to(task.instance.resolve())
        (folder / "solver.pickle").write_bytes(task.solver)
        told = {
            "repeats": task.repeats,
            "memory_limit": task.limits.memory,
            "inside": task.inside,
            "takes_model": task.takes_model,
            "processors": task.processors,
        }
        (folder / "task.json").write_text(json.dumps(told))
        return _Watch(task, folder, stop).run()


class _Watch:
    """One process while it runs."""

    def __init__(self, task: Task, folder: Path, stop: threading.Event) -> None:
        self._task = task
        self._folder = folder
        self._stop = stop
        self._token = uuid.uuid4().hex
        self._found: list[Found] = []
        self._open: Found | None = None  # the solve that runs now
        self._since = time.monotonic()
        self._turns = tree.Turns(0)
        self._memory = tree.Memory(0, self._token)
        self._before = 0.0, 0.0  # the turns until this solve began or the last one ended
        self._peak = 0
        self._output = bytearray()
        self._ended = False

    def run(self) -> list[Found]:
        """Start the process, and follow it to its end."""
        reading, writing = os.pipe()
        living, kept = os.pipe()
        command = [sys.executable, "-P", "-c", _START, str(self._folder), str(writing)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[writing],
            env={**environment(self._task.limits.threads), tree.TOKEN: self._token},
            process_group=0,  # a session of its own would lose the priority (`nice`) of this one
        )
        os.close(writing)
        self._turns = tree.Turns(process.pid)
        self._memory = tree.Memory(process.pid, self._token)
        guard = _guarded(process.pid, living)
        try:
            why = self._follow(process, reading)
            if self._open is not None:
                self._open.waited = self._delay()
        finally:
            runaways = tree.end(process.pid, self._token)
            process.wait()
            if guard is not None:
                guard.wait()
            os.close(reading)
            os.close(kept)
            assert process.stderr is not None
            process.stderr.close()
        self._conclude(why, process.returncode, runaways)
        return self._found

    def _follow(self, process: subprocess.Popen[bytes], reading: int) -> str:
        """Read messages until the process ends or must end; the result says why it must."""
        assert process.stderr is not None
        reader = Reader()
        with selectors.DefaultSelector() as selector:
            selector.register(reading, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                has_left = process.poll() is not None
                looked = time.monotonic()
                ready = selector.select(0.0 if has_left else _PAUSE)
                if self._open is not None:
                    late = time.monotonic() - looked - _PAUSE
                    self._open.late = max(self._open.late, late)
                for key, _ in ready:
                    piece = os.read(key.fd, 1 << 20)
                    if key.fd != reading:
                        self._output += piece
                        del self._output[:-_KEPT_OUTPUT]
                        if not piece:
                            selector.unregister(process.stderr)
                        continue
                    if not piece:
                        return ""
                    try:
                        for message in reader.feed(piece):
                            self._take(message)
                    except (ValueError, KeyError, OSError) as error:
                        return f"the process sent an unreadable message: {error}"
                # What a process sent before it left is read to its end.
                if self._ended or (has_left and not ready):
                    return ""
                why = self._must_end()
                if why:
                    return why

    def _must_end(self) -> str:
        """Why the process must be ended now; empty if it need not."""
        if self._stop.is_set():
            return "stopped"
        used = self._memory.look()
        self._peak = max(self._peak, used)
        limits = self._task.limits
        if limits.memory is not None and used > limits.memory:
            return "memory"
        allowed = _SETTING_UP
        if self._open is not None:
            allowed = limits.seconds * (1 + _GRACE_SHARE) + _GRACE
        passed = time.monotonic() - self._since
        # This is asked each time, because what a child waited is forgotten when the child ends.
        delay = self._delay()
        if passed <= allowed:
            return ""
        # The time for which other work of the machine kept it waiting is not the solver's.
        own = passed - delay
        return "time" if own > allowed or passed > _PATIENCE * allowed else ""

    def _delay(self) -> float:
        """Seconds for which the solve that runs now waited for a processor."""
        ran, waited = self._turns.look()
        return tree.kept_waiting(
            time.monotonic() - self._since,
            ran - self._before[0],
            waited - self._before[1],
            self._task.limits.threads,
        )

    def _kept_waiting(self, wall: float, cpu: float, seen: float) -> float:
        """Seconds of waiting within the interval that the solver's process measured.

        This process sees the waiting (`seen`) from its own begin of the solve to its own end. Both
        come later than those of the solver, and the system tells how long a thread ran up to its
        last turn only. So the numbers that the solver's process measured set the limit: it cannot
        have waited for longer than its processors did not work for it.
        """
        return tree.kept_waiting(wall, cpu, seen, self._task.limits.threads)

    def _take(self, message: Message) -> None:
        """Take one message of the process."""
        values, arrays = message
        now = time.monotonic()
        kind = values["kind"]
        if kind == "begin":
            repeat, knows_limit = int(values["repeat"]), self._task.knows_limit
            self._open = Found(repeat=repeat, knows_limit=knows_limit)
            self._found.append(self._open)
            self._since = now
            self._before = self._turns.look()
        elif kind == "solved" and self._open is not None:
            self._open.watched = now - self._since
            self._open.waited = self._delay()
        elif kind == "improved" and self._open is not None:
            answer = unpacked_answer(values["answer"], arrays)
            # Our own clock (`now - self._since`) is no bound on these seconds. It starts when the
            # begin is read: on a busy machine that is late, and often together with this message.
            elapsed = max(float(values["seconds"]), 0.0)
            # The limit does not count what it waited for a processor, nor does this clock.
            own = elapsed - self._kept_waiting(elapsed, float(values["cpu"]), self._delay())
            self._open.trace.append((own, answer))
        elif kind == "answer" and self._open is not None:
            self._close(values, arrays, now)
        elif kind == "end":
            self._ended = True

    def _close(self, values: dict[str, Any], arrays: Any, now: float) -> None:
        """Take the message that ends a solve."""
        found = self._open
        assert found is not None
        found.end = "answered"
        if values["error"]:
            found.end = "memory" if values["is_memory"] else "raised"
        found.detail = str(values["error"])
        found.point, found.dual = arrays.pop("point", None), arrays.pop("dual", None)
        found.answer = unpacked_answer(values["answer"], arrays)
        found.claim = dict(values["claim"])
        found.wall = float(values["wall"])
        found.cpu = float(values["cpu"])
        found.waited = self._kept_waiting(found.wall, found.cpu, found.waited)
        found.peak = max(int(values["peak"]), self._peak)
        found.changed = bool(values["changed"])
        found.versions = dict(values["versions"])
        self._open = None
        self._since = now
        self._before = self._turns.look()

    def _conclude(self, why: str, code: int, runaways: int) -> None:
        """Write down how the process ended, where a solve was open or none began."""
        if why == "stopped":
            self._found = []  # what has ended of it would have too few repeats
            return
        output = self._output.decode(errors="replace").strip()
        has_begun = bool(self._found)
        if not has_begun:
            self._open = Found(repeat=0)
            self._found.append(self._open)
        if self._open is not None:
            found = self._open
            found.wall = found.watched = time.monotonic() - self._since
            found.peak = self._peak
            found.end = why if why in ("time", "memory") else "died"
            has_no_memory = "MemoryError" in output or "bad_alloc" in output
            if found.end == "died" and has_no_memory:
                found.end = "memory"
            was_killed = not why and code == -signal.SIGKILL
            found.lost = found.end == "died" and (was_killed or not has_begun)
            last = output.splitlines()[-1:] if found.end == "died" else []
            found.detail = ": ".join([_told(why, code, found.repeat), *last])
        self._found[-1].runaways = runaways


def _guarded(process: int, living: int) -> subprocess.Popen[bytes] | None:
    """Let the group of a process end if this process ends without ending it, as by SIGKILL.

    A shell in the group waits for the end of a pipe (`living`, which is closed here). Only this
    process holds the other side. A thread of the solver's process would wait as well, but it has no
    turn while a library holds the interpreter. None if the group has ended already.
    """
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", "read -r _; kill -9 0"],
            stdin=living,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=process,
        )
    except (PermissionError, ProcessLookupError):
        return None
    finally:
        os.close(living)


def _told(why: str, code: int, repeat: int) -> str:
    """How a process ended, in words."""
    if why == "time":
        first = " of its first solve, which counts imports and compilation" if repeat == 0 else ""
        return f"the process was ended after the time limit{first}"
    if why == "memory":
        return "the process was ended because it exceeded the memory limit"
    if why:
        return why
    return f"the process died of signal {-code}" if code < 0 else f"the process left with {code}"


def environment(threads: int) -> dict[str, str]:
    """The environment of a process that solves: its threads, and where its modules lie."""
    count = str(threads)
    places: Sequence[str] = [place or os.getcwd() for place in sys.path]
    one = "true" if threads > 1 else "false"
    return {
        **os.environ,
        **dict.fromkeys(_ONE_THREAD_EACH, count),
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={one}",
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
    }
