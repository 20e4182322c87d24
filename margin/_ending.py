"""How SIGTERM and SIGHUP end a process, from the first moments of a command on.

The kernel ignores a signal with its default action if it is sent to process 1, the first process of
a container. So a command has handlers whenever it runs, and ends its process itself where the
signal does not. This module imports few others: handlers must be set before anything slow is
imported.
"""

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

__all__ = ["ENDING", "begun", "end_by", "is_default", "listen"]

ENDING: tuple[int, ...] = tuple(
    int(getattr(signal, name)) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that end a process: SIGTERM, and SIGHUP (its terminal was closed) on POSIX."""

_text = ""
"""What is told of a signal that comes while there is no watch; nothing if it is empty."""


def end_by(number: int) -> NoReturn:
    """End the process by a signal, as its sender expects.

    The default action does nothing in process 1. Its exit code is then the one that a shell reports
    for a process that was ended by this signal.
    """
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)


def listen(text: str) -> None:
    """Let these signals print a text and end the process, until `begun` and outside a watch.

    A signal that is ignored, such as SIGHUP under nohup, stays ignored.
    """
    global _text
    _text = text
    for number in ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _arrived)


def begun() -> None:
    """Print no text from here on: the command has begun, and says itself what a signal did."""
    global _text
    _text = ""


def is_default(handler: Any) -> bool:
    """Whether a handler does nothing but end the process: that of the system, or that of `listen`.
    A watch takes its place."""
    return handler == signal.SIG_DFL or handler is _arrived


def _arrived(number: int, frame: FrameType | None) -> None:
    if _text and sys.stderr is not None:
        with contextlib.suppress(OSError):  # after SIGHUP the terminal is closed
            print(f"margin: {_text}", file=sys.stderr, flush=True)
    end_by(number)
