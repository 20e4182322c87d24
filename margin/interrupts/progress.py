"""`progress`: shows the stage of a running call, its share and the time left, on stderr.

The display is for a terminal or a notebook, and starts after one second. It shows fixed texts that
the library logs; the number of finished steps if the total was *declared*, such as the rounds of a
mechanism; and the share of the bytes of a table that has been read, which tells no more than the
time that a command takes. It never shows a number of rows, because this would reveal the size of
the data, unless the domain declares the number: then it shows the same share of the declared
number.
"""

import builtins
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from .share import listening

__all__ = ["COUNTED", "progress", "time_left"]

_PATIENCE = 1.0
"""Seconds before the first output."""

_PAUSE = 0.25
"""Seconds between two updates of the display."""

COUNTED = "%d of %d"
"""The end of a log message that announces a step; its arguments are the step and the total."""

_CLEAR = "\r\x1b[K"
"""Go to the start of the terminal's line and clear it."""


class _Stages(logging.Handler):
    """A log handler that shows the latest message, in one line that its thread rewrites."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(logging.INFO)
        self._stream = stream
        self._counted = ""  # the log message of the counted steps, before formatting
        self._steps = ""  # the current step, such as "round 2 of 5"
        self._number = self._total = 0
        self._since = 0.0  # when the first step began, in seconds
        self._stage = ""  # what happens within the step
        self._share = 0.0  # the share of the stage that is done; 0 if it is not known
        self._declared: int | None = None  # the declared number of rows
        self._begun = 0.0  # when the stage began, in seconds
        self._is_shown = False
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=self._show,
            daemon=True,
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message of the logger and keep what the display shows of it."""
        self._start()
        steps = str(record.msg).endswith(COUNTED) and isinstance(record.args, tuple)
        # The first message that counts steps is the outermost loop. A loop within it is a stage.
        if steps and self._counted in ("", record.msg):
            assert isinstance(record.args, tuple)
            number, total = record.args[-2:]
            assert isinstance(number, int) and isinstance(total, int)
            # The steps begin, or they begin again.
            if not self._counted or number < self._number:
                self._since = time.monotonic()
            self._counted = str(record.msg)
            self._number, self._total = number, total
            self._steps = record.getMessage()
            self._stage = ""
        else:
            self._stage = record.getMessage()
        self._share = 0.0
        self._begun = time.monotonic()

    def hear(self, share: float, declared: int | None) -> None:
        """Take the share of the table that has been read."""
        self._start()
        if share < self._share or not self._begun:  # another pass over the rows
            self._begun = time.monotonic()
        self._share = share
        self._declared = declared

    def _start(self) -> None:
        if not self._end.is_set() and not self._thread.is_alive():
            self._thread.start()

    def stop(self) -> None:
        """End the display and clear its line."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        """Update the display until the end; the thread runs this loop."""
        pause = _PATIENCE
        while not self._end.wait(pause):
            pause = _PAUSE
            parts = ["margin", self._steps, self._stage]
            text = ": ".join(filter(None, parts)) + " ..."
            room = shutil.get_terminal_size().columns - 1
            line = f"{text}{self._done()}{self._left()}"[:room]
            self._is_shown = True
            print(
                f"{_CLEAR}{line}",
                end="",
                file=self._stream,
                flush=True,
            )
        if self._is_shown:
            print(
                _CLEAR,
                end="",
                file=self._stream,
                flush=True,
            )

    def _done(self) -> str:
        """The share of the stage, as a text; empty if it is not known."""
        if not self._share:
            return ""
        text = f" {100 * self._share:.0f} %"
        if self._declared is None:
            return text
        return f"{text} of {self._declared:,} declared rows"

    def _left(self) -> str:
        """Estimate the time left from the mean time of the finished steps, as a text.

        Without steps it is estimated from the share of the stage.
        """
        now = time.monotonic()
        done = self._number - 1
        if done >= 1:
            seconds = (now - self._since) / done * (self._total - done)
        elif self._share and not self._total:
            seconds = (now - self._begun) * (1 - self._share) / self._share
        else:
            return ""
        return time_left(seconds)


def time_left(seconds: float) -> str:
    """The end of a line of progress that tells about how long the rest takes.

    >>> time_left(90), time_left(600)
    (', about 90 s left', ', about 10 min left')
    """
    if seconds < 120:
        return f", about {seconds:.0f} s left"
    return f", about {seconds / 60:.0f} min left"


@contextmanager
def progress() -> Iterator[None]:
    """Show the progress of the code inside the `with` block, if it takes longer than a second.

    The display goes to stderr if that is a terminal or a notebook; elsewhere nothing is shown. The
    commands of `margin` show it by themselves.

    Examples
    --------
    >>> import margin
    >>> with margin.progress():
    ...     made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    """
    is_notebook = hasattr(builtins, "__IPYTHON__")
    if not (sys.stderr.isatty() or is_notebook) or os.environ.get("TERM") == "dumb":
        yield
        return
    log = logging.getLogger("margin")
    level, propagate = log.level, log.propagate
    stages = _Stages(sys.stderr)
    log.addHandler(stages)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        with listening(stages.hear):
            yield
    finally:
        stages.stop()
        log.removeHandler(stages)
        log.setLevel(level)
        log.propagate = propagate
