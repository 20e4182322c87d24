"""The progress of a long command whose output is no terminal: each stage, the first run that has
ended, and then those that have, one line a minute."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...interrupts.progress import COUNTED, time_left

__all__ = ["each_minute"]

_PAUSE = 60.0
"""Least number of seconds between two lines that count runs."""


class _Lines(logging.Handler):
    """A log handler that prints the messages of stages, such as "compiling loops". It prints a
    message that counts runs unless it printed one less than a pause ago. So the first one shows
    at once that the command works, and about how long it takes."""

    def __init__(self, pause: float) -> None:
        super().__init__(logging.INFO)
        self._pause = pause
        self._begun = time.monotonic()
        self._next = self._begun

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a record to stderr."""
        now = time.monotonic()
        if self._counted(record) is not None:
            if now < self._next:
                return
            self._next = now + self._pause
        line = f"margin: {record.getMessage()}{self._left(record, now)}"
        print(line, file=sys.stderr, flush=True)

    @staticmethod
    def _counted(record: logging.LogRecord) -> tuple[int, int] | None:
        """How many runs have ended, and of how many; None if the message counts none."""
        if not str(record.msg).endswith(COUNTED) or not isinstance(record.args, tuple):
            return None
        ended, total = record.args[-2:]
        assert isinstance(ended, int) and isinstance(total, int)
        return ended, total

    def _left(self, record: logging.LogRecord, now: float) -> str:
        """Estimate the time left from the mean time of the runs that have ended, as a text; empty
        if the message counts no runs, or none has ended."""
        ended, total = self._counted(record) or (0, 0)
        return time_left((now - self._begun) / ended * (total - ended)) if ended else ""


@contextmanager
def each_minute(pause: float = _PAUSE) -> Iterator[None]:
    """Print what the library logs inside the `with` block: stages at once, runs each minute.

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
