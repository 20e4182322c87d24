"""A process and all that it started: how much memory they use, and how they are ended.

Memory and runaways are found in /proc. Where there is none (macOS), only the process group is
ended, and memory is limited by `resource` alone.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

__all__ = ["TOKEN", "end", "memory", "own_peak", "waited"]

TOKEN = "MARGIN_BENCH_RUN"
"""Variable of the environment that marks all processes of a run."""

_PROC = Path("/proc")


def memory(process: int) -> int:
    """The resident bytes of a process and of its descendants; 0 if they are not known."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for number in _descendants(process):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((_PROC / str(number) / "statm").read_text().split()[1]) * page
    return total


def waited(process: int) -> float:
    """Seconds for which a process and its descendants were ready to run, but had no processor.

    The main thread of each process counts. 0 if the system does not tell.
    """
    total = 0.0
    for number in _descendants(process):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The three numbers are the time on a processor, the time in its queue, and the turns.
            total += int((_PROC / str(number) / "schedstat").read_text().split()[1]) / 1e9
    return total


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
