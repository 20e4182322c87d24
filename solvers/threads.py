"""When compiled loops are worth loading, and how work is spread over threads."""

import importlib
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

PATIENCE = 1.0
"""Seconds of numpy's work for which compiled loops are loaded, or compiled if this is the first
time ever."""


def compiled_loops(name: str, seconds: float) -> Any:
    """A module of compiled loops, or None when it is not installed, or not loaded yet and numpy
    needs only so long."""
    if f"{__package__}.{name}" not in sys.modules and seconds < PATIENCE:
        return None
    try:
        return importlib.import_module(f".{name}", __package__)
    except ImportError:
        return None


def in_parts(count: int, threads: int, work: Callable[[int, int], None]) -> None:
    """Do the items from 0 up to `count` in ranges, several threads at a time; `work` takes where a
    range starts and stops."""
    if threads == 1:
        work(0, count)
        return
    parts = min(count, 8 * threads)
    bounds = [count * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def single_thread() -> AbstractContextManager[Any]:
    """One thread inside: on small matrices a busy machine's threads wait for each other thirty
    times longer than they work."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited


@cache
def _libraries() -> ThreadpoolController:
    """The libraries that this process has loaded, looked up once."""
    return ThreadpoolController()
