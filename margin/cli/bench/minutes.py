"""A line of progress each minute, for a long command whose output is no terminal."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["each_minute"]

_PAUSE = 60.0
"""Least number of seconds between two lines."""


class _Lines(logging.Handler):
    """A log handler that prints a message, unless it printed one less than a pause ago."""

    def __init__(self, pause: float) -> None:
        super().__init__(logging.INFO)
        self._pause = pause
        self._last = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a record to stderr."""
        now = time.monotonic()
        if now - self._last >= self._pause:
            self._last = now
            print(f"margin: {record.getMessage()}", file=sys.stderr, flush=True)


@contextmanager
def each_minute(pause: float = _PAUSE) -> Iterator[None]:
    """Print what the library logs inside the `with` block, one line a minute.

    A terminal shows the same by `margin.progress`; there this function does nothing.
    """
    if sys.stderr.isatty():
        yield
        return
    log = logging.getLogger("margin")
    level = log.level
    lines = _Lines(pause)
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(lines)
        log.setLevel(level)
