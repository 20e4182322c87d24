"""Whether to load compiled loops, and division of work among threads."""

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
"""Number of ranges for each thread. With several, a thread that finishes early takes another."""


def compiler_pays(module: str, seconds: float) -> bool:
    """Whether to import a module of compiled loops, instead of working in numpy.

    The import of numba takes about a second. It pays if numpy would work longer than
    `fitted.COMPILER_SECONDS`, or if the module is imported already. The import statement is in the
    caller, where readers and tests of the architecture see it.

    Parameters
    ----------
    module
        The full name of the module, such as ``f"{__package__}.newton_loops"``.
    seconds
        The time that numpy would take.
    """
    return module in sys.modules or seconds >= COMPILER_SECONDS


def in_parts(
    count: int,
    threads: int,
    work: Callable[[int, int], None],
) -> None:
    """Divide the items 0 to `count` - 1 into ranges and work on them in several threads.

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
    # The empty range loads the machine code of the loops, before the threads need it: loading takes
    # locks of numba and of imports, and several threads that wait for both have blocked each other.
    work(0, 0)
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
    # scipy brings a library of its own. It must be loaded before the libraries are looked up.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def end_threads_of_highs(highspy: Any) -> None:
    """End the threads that HiGHS keeps in this process; the next model starts its own.

    HiGHS starts its threads with its first model, whoever solves it. Unless they are ended, it
    refuses every later model that asks for another number of threads.

    Parameters
    ----------
    highspy
        The module highspy.
    """
    highspy.Highs.resetGlobalScheduler(True)
