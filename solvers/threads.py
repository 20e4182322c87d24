"""When compiled loops are loaded, and how work is divided among threads."""

import importlib
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .fitted import COMPILER_SECONDS

_PARTS_A_THREAD = 8
"""Number of ranges for each thread: threads that finish early then take over others' ranges."""


def compiled_loops(name: str, seconds: float) -> Any:
    """A module of compiled loops, or None if numpy is the better choice.

    Loading numba takes about a second. So the module is loaded only if numpy would take longer
    than `fitted.COMPILER_SECONDS`. A module that is loaded already is always returned.

    Parameters
    ----------
    name
        The module's name inside `margin.solvers`, such as ``"reconstruct.newton_loops"``.
    seconds
        The time that numpy would take.
    """
    loaded = f"{__package__}.{name}" in sys.modules
    if not loaded and seconds < COMPILER_SECONDS:
        return None
    return importlib.import_module(f".{name}", __package__)


def in_parts(
    count: int,
    threads: int,
    work: Callable[[int, int], None],
) -> None:
    """Do the items 0 to `count` - 1 in ranges, on several threads.

    Parameters
    ----------
    count
        The number of items.
    threads
        The number of threads; with 1 all items are one range.
    work
        Called with the start and the stop of each range.
    """
    if threads == 1:
        work(0, count)
        return
    parts = min(count, _PARTS_A_THREAD * threads)
    bounds = [count * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def single_thread() -> AbstractContextManager[Any]:
    """A context in which numpy's libraries use one thread.

    On small matrices and a busy machine, threads wait for each other thirty times longer than
    they work.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited


@cache
def _libraries() -> ThreadpoolController:
    """The numerical libraries of this process, looked up once."""
    return ThreadpoolController()
