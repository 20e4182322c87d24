"""A process and all that it started: their memory, their turns on a processor, and their end.

Memory and runaways are found in /proc. Where there is none (macOS), only the process group is
ended, and memory is limited by `resource` alone.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["TOKEN", "Memory", "Turns", "end", "kept_waiting", "own_peak"]

TOKEN = "MARGIN_BENCH_RUN"
"""Variable of the environment that marks all processes of a run."""

_PROC = Path("/proc")


_PERIOD = 0.5
"""Least number of seconds between two searches for runaways."""

_REST = 100
"""Least pause between two searches, in durations of a search: they take 1 % of a processor."""


class Memory:
    """The resident bytes of a process, of its descendants, and of its runaways.

    A runaway has left the tree of descendants, as a child of a child that ended. It is found by the
    token in its environment, which all processes of the machine are searched for; so this is done
    from time to time.

    Parameters
    ----------
    process
        The number of the process.
    token
        The value of `TOKEN` in its environment.
    """

    def __init__(self, process: int, token: str) -> None:
        self._process = process
        self._token = token
        self._found: list[int] = []
        self._next = time.monotonic() + _PERIOD

    def look(self) -> int:
        """The bytes now; 0 if they are not known."""
        began = time.monotonic()
        if began >= self._next:
            self._found = _marked(self._token)
            ended = time.monotonic()
            self._next = ended + max(_PERIOD, _REST * (ended - began))
        # A process that was found may be a descendant as well, or have new children.
        numbers: set[int] = set()
        for root in (self._process, *self._found):
            numbers.update(_descendants(root))
        return sum(map(_resident, numbers))


def _resident(process: int) -> int:
    """The resident bytes of one process; 0 if it has ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int((_PROC / str(process) / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


class Turns:
    """How long the threads of a process and of its descendants ran, and waited for a processor.

    The system forgets a thread when it ends, so `look` must be called often: the last numbers of a
    thread that has ended are kept. Both sums stay 0 where the system does not tell.

    Parameters
    ----------
    process
        The number of the process.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._last: dict[int, tuple[float, float]] = {}  # by the number of the thread
        self._ran = 0.0
        self._waited = 0.0

    def look(self) -> tuple[float, float]:
        """The seconds on a processor, and in the queue for one, of all threads until now."""
        for number in _descendants(self._process):
            with contextlib.suppress(OSError):
                for thread in (_PROC / str(number) / "task").iterdir():
                    self._add(thread)
        return self._ran, self._waited

    def _add(self, thread: Path) -> None:
        """Add what a thread ran and waited since the last look."""
        with contextlib.suppress(OSError, ValueError):
            # The three numbers are the time on a processor, the time in its queue, and the turns.
            ran, waited, _ = (
                int(word) / 1e9 for word in (thread / "schedstat").read_text().split()
            )
            number = int(thread.name)
            before = self._last.get(number, (0.0, 0.0))
            # A new thread may have the number of one that has ended.
            if ran < before[0] or waited < before[1]:
                before = 0.0, 0.0
            self._ran += ran - before[0]
            self._waited += waited - before[1]
            self._last[number] = ran, waited


def kept_waiting(
    passed: float,
    ran: float,
    waited: float,
    processors: int,
) -> float:
    """Seconds for which other programs kept a process and its descendants from running.

    Threads of one solver also wait for each other. While they do, its processors work for it: so no
    more counts than the time for which the processors did not.

    Parameters
    ----------
    passed
        Seconds on the clock.
    ran, waited
        The sums over all threads; see `Turns`.
    processors
        The number of processors that the process may use.
    """
    return max(0.0, min(waited, passed - ran / processors))


def own_peak() -> int:
    """The largest number of resident bytes of this process so far.

    `getrusage` would also count the process that started this one.
    """
    with contextlib.suppress(OSError):
        for line in (_PROC / "self" / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if os.uname().sysname == "Darwin" else int(peak) * 1024


def end(process: int, token: str) -> int:
    """End the process group of a process and all processes that hold its token.

    Returns the number of processes that were found outside the group.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    runaways = [number for number in _marked(token) if _group(number) != process]
    for number in runaways:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    return len(runaways)


def _group(process: int) -> int:
    """The process group of a process; 0 if it has ended."""
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return 0


def _descendants(process: int) -> Iterator[int]:
    """The process and its descendants."""
    yield process
    with contextlib.suppress(OSError):
        for task in (_PROC / str(process) / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _descendants(int(child))


def _marked(token: str) -> list[int]:
    """The processes whose environment holds a token and that still run."""
    found: list[int] = []
    mark = f"{TOKEN}={token}".encode()
    if not _PROC.is_dir():
        return found
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                if mark in (_PROC / entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
    return found
