"""Ctrl-C, SIGTERM and SIGHUP: an interrupt is never lost, never taken for another error, and acted
on soon. After `Watch.complete` it comes too late, and is ignored.

By default Python raises KeyboardInterrupt wherever the main thread is. A library may drop that
exception (in a callback) or report it as an error of its own. And while the main thread waits for a
query, no handler runs at all. So a *watch* does three things from the first signal on. A thread of
its own cancels running queries at once. The exception is raised again, four times a second, until
somebody settles it. `check`, which loops over rows call, raises it in any thread. A command that
still runs after `_PATIENCE` seconds is ended by the thread, which says what the main thread would
have said.
"""

import _thread
import contextlib
import os
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .._ending import ENDING, end_by, is_default

__all__ = [
    "Watch",
    "at_the_end",
    "check",
    "handlers_kept",
    "has_seen",
    "interruptible",
    "is_watching",
    "shielded",
    "watched",
]

_PAUSE = 0.25
"""Seconds between two attempts to stop the main thread."""

_PATIENCE = 1.5
"""Seconds after which the process of a command is ended, if the main thread does not stop."""

_NUMBERS: tuple[int, ...] = (signal.SIGINT, *ENDING)

_watch: "Watch | None" = None
"""The watch of this process. Watches inside another one are the same watch."""

_cancels: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
"""Connections to databases, each with the name of its method that cancels the running query."""

_endings: list[Callable[[], None]] = []
"""What must be done before the process is ended."""


class Watch:
    """The state of one watch. `explain` is a function that gives the text of the interrupt.

    Attributes
    ----------
    number
        The signal that was raised as an exception; 0 before.
    """

    def __init__(self, *, ends: bool = False, text: str = "interrupted") -> None:
        self.number = 0
        self.explain: Callable[[], str] = lambda: text
        self._ends = ends
        self._process = os.getpid()
        self._shields = 0
        self._seen = 0  # a signal that the thread has seen
        self._pending = 0  # a signal that arrived under a shield
        self._again = False  # the next signal is the thread's
        self._settled = False
        self._complete = False
        self._before: dict[int, Any] = {}
        self._ended = threading.Event()
        self._fd = -1
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has arrived and the exception was lost."""
        if self.number and not self._settled:
            raise KeyboardInterrupt

    def settle(self) -> None:
        """Raise no exception any more: the interrupt is being reported."""
        self._settled = True

    def complete(self) -> None:
        """Ignore signals from here on: the work is done, and its result is written.

        A watch of a command (`ends`) leaves them ignored when it ends, until its process ends.
        """
        self._complete = True
        self.number = self._pending = self._seen = 0
        if self._ends:
            for number in self._before:
                signal.signal(number, signal.SIG_IGN)

    def taken(self) -> None:
        """Forget the interrupt: the program has done what it asked for."""
        self.number = self._pending = self._seen = 0
        self._settled = False

    def shield(self, by: int = 1) -> None:
        """Keep signals back until `shield(-1)`; the last one then raises the exception."""
        self._shields += by
        if self._pending and not self._shields:
            self._deliver(self._pending, None)

    def begin(self) -> None:
        """Install the handlers and start the thread."""
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        self._thread = thread
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            # A SIGTERM that the program handles itself, and an ignored signal, such as SIGHUP under
            # nohup, stay as they are.
            if callable(handler) if number == signal.SIGINT else is_default(handler):
                self._before[number] = handler
        if self._before:
            self._fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, self._arrived)
        self._unraisable = sys.unraisablehook
        sys.unraisablehook = self._dropped

    def end(self) -> None:
        """End the thread and restore the handlers.

        The thread may end late if the machine is busy. So the handlers come last: a signal in the
        meantime is still told.
        """
        if self._thread is None:
            return
        if sys.unraisablehook == self._dropped:
            sys.unraisablehook = self._unraisable
        if self._before:
            signal.set_wakeup_fd(self._fd)
        self._ended.set()
        self._writer.close()
        self._thread.join()
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._arrived:
                signal.signal(number, handler)

    @property
    def has_seen(self) -> bool:
        """Whether a signal has come that is not forgotten."""
        return bool(self._seen or self.number or self._pending)

    @property
    def late(self) -> int:
        """A signal that was not reported to anybody; 0 if there is none."""
        return 0 if self._settled else self.number or self._pending

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        """The handler of all signals."""
        if os.getpid() != self._process:  # a forked process has its own life
            signal.signal(number, self._before[number])
            signal.raise_signal(number)
        elif self._settled or self._complete:
            return
        elif self._shields:
            self._pending = number
        elif not self.number or self._again:
            self._again = False
            self._deliver(number, frame)

    def _dropped(self, dropped: "sys.UnraisableHookArgs") -> None:
        """What Python calls for an exception that a callback cannot pass on. An interrupt is raised
        again, so nothing is printed."""
        if not (self.number and isinstance(dropped.exc_value, KeyboardInterrupt)):
            self._unraisable(dropped)

    def _deliver(self, number: int, frame: FrameType | None) -> None:
        """Raise the exception, or call the program's own handler, which may raise it."""
        self._pending = 0
        if not self._is_default(number):
            try:
                self._before[number](number, frame)
            except KeyboardInterrupt:
                self.number = number
                raise
            return
        self.number = number
        raise KeyboardInterrupt

    def _is_default(self, number: int) -> bool:
        handler = self._before.get(number)
        return handler == signal.default_int_handler or is_default(handler)

    def _look(self) -> None:
        """The thread: wait for the first signal, then stop the main thread."""
        with self._reader as reader:
            while received := reader.recv(4096):  # empty when the writer is closed
                if self._fd != -1:  # another library, such as asyncio, reads them too
                    with contextlib.suppress(OSError):
                        os.write(self._fd, received)
                for number in _NUMBERS:
                    if number in received and self._is_default(number):
                        self._stop(number)

    def _stop(self, number: int) -> None:
        """Cancel queries and raise the exception again, until the watch ends."""
        self._seen = number
        since = time.monotonic()
        _cancel()
        while not self._ended.wait(_PAUSE) and self._seen:
            if self._shields or self._complete:  # a release is being written, or was written
                continue
            if not self._settled:
                _cancel()
                if self.number:  # otherwise the handler has not run yet
                    self._again = True
                    _signal_main(number)
            if self._ends and time.monotonic() - since > _PATIENCE:
                self._end_process()

    def _end_process(self) -> None:
        """Say what happened and end the process, unless the work went on meanwhile."""
        told = self.explain()
        if self._shields or self._complete:
            return
        with contextlib.suppress(OSError):  # the terminal may be closed
            print(f"\nmargin: {told}", file=sys.stderr, flush=True)
        for ending in _endings:
            ending()
        os._exit(128 + self._seen)


@contextmanager
def watched(*, ends: bool = False, text: str = "interrupted") -> Iterator[Watch]:
    """Watch for signals for the length of a `with` block; it gives the watch.

    Inside another watch it does nothing of its own. In a thread other than the main one there is
    nothing to watch, since signals go to the main thread.

    Parameters
    ----------
    ends
        End the process if the main thread does not stop in time; for commands.
    text
        What `Watch.explain` returns until it is replaced. Another watch around this one keeps its
        own.

    Raises
    ------
    KeyboardInterrupt
        If a signal arrived, whatever else happened in the block. Its text is that of the exception
        in the block, or of `Watch.explain`. After SIGTERM and SIGHUP the text is printed instead,
        and the signal ends the process.
    """
    global _watch
    if threading.current_thread() is not threading.main_thread():
        yield Watch()
        return
    if _watch is not None:
        yield _watch
        return
    watch = Watch(ends=ends, text=text)
    told = ""
    problem: BaseException | None = None
    try:
        _watch = watch
        watch.begin()
        yield watch
    except KeyboardInterrupt as error:
        told = str(error)
        problem = error
    except Exception as error:
        problem = error
    finally:
        watch.shield()  # a signal that arrives from here on is raised below
        watch.end()
        _watch = None
    number = watch.number or watch.late
    if number:
        text = told or watch.explain()
        _end_by(number, text)
        raise KeyboardInterrupt(text) from None
    if problem is not None:
        raise problem


def _end_by(number: int, text: str) -> None:
    """After SIGTERM and SIGHUP: print the text, and end the process by the signal, as its sender
    expects."""
    if number in ENDING:
        with contextlib.suppress(OSError):  # after SIGHUP the terminal is closed
            print(f"margin: {text}", file=sys.stderr, flush=True)
        end_by(number)


def check() -> None:
    """Raise KeyboardInterrupt if a signal has arrived; loops over rows call this."""
    if _watch is not None:
        _watch.check()


def is_watching() -> bool:
    """Whether this is the main thread, inside a watch."""
    return _watch is not None and threading.current_thread() is threading.main_thread()


def has_seen() -> bool:
    """Whether a watch has seen a signal."""
    return _watch is not None and _watch.has_seen


@contextmanager
def shielded() -> Iterator[None]:
    """Keep signals back for the length of a `with` block, such as the removal of a folder."""
    watch = _watch
    if watch is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    watch.shield()
    try:
        yield
    finally:
        watch.shield(-1)


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Restore the handlers of all signals at the end of a `with` block."""
    before = {number: signal.getsignal(number) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)


def interruptible(connection: Any, method: str = "interrupt") -> None:
    """Let a signal cancel the query of a connection, by its method of that name."""
    _cancels[connection] = method


def at_the_end(ending: Callable[[], None]) -> Callable[[], None]:
    """Call `ending` before the thread of a watch ends the process."""
    _endings.append(ending)
    return ending


def _signal_main(number: int) -> None:
    """Send a signal to the main thread. On POSIX this also ends its waiting for a lock."""
    if hasattr(signal, "pthread_kill"):
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _cancel() -> None:
    """Cancel the queries of all connections."""
    for connection, method in list(_cancels.items()):
        with contextlib.suppress(Exception):  # it may be closed
            getattr(connection, method)()


def _forked() -> None:
    """A forked process is not watched; only its parent is."""
    global _watch
    if _watch is not None:
        signal.set_wakeup_fd(-1)
        _watch = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
