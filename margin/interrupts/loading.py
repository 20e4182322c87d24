"""`loading`: a library that lacks threads while it is loaded is told as what it is, and not as an
interrupt."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from . import watch

__all__ = ["loading"]


@contextmanager
def loading() -> Iterator[None]:
    """Load numeric libraries in a `with` block, inside `watched`.

    OpenBLAS, which numpy and scipy contain, raises SIGINT in the thread that loads it if it cannot
    start its own threads. So the main thread blocks SIGINT meanwhile. A signal from a terminal or
    another process is meant for the whole process: the thread of the watch takes it, and it stays
    an interrupt. One that OpenBLAS raises is meant for the main thread alone, and waits for it.

    Outside Linux, and in a thread other than the main one, this does nothing.

    Raises
    ------
    RuntimeError
        If a library could not start its threads. The text is that of Python for such a failure.
    """
    if sys.platform != "linux" or not watch.is_watching():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        waiting = signal.sigtimedwait({signal.SIGINT}, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if waiting is None or watch.has_seen():  # the watch repeats an interrupt in the main thread
        return
    if waiting.si_pid == os.getpid():
        raise RuntimeError("can't start new thread")
    signal.raise_signal(signal.SIGINT)
