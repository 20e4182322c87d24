"""The progress display: the stage of a running command and, if known, the time left, on stderr.

The display starts after one second. It shows only fixed texts that the library logs, and the number
of finished steps if the total was *declared*, such as the rounds of a mechanism or the simulations
of a comparison. It never shows a number of rows or a share of the rows, because this would reveal
the size of the data.
"""

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["shown"]

_PATIENCE = 1.0
"""Seconds before the first output."""

_TERMINAL_PAUSE, _FILE_PAUSE = 0.25, 2.0
"""Seconds between two updates of the display, on a terminal and in a file."""

_COUNTED = "%d of %d"
"""The end of a log message that announces a step; its arguments are the step and the total."""

_CLEAR = "\r\x1b[K"
"""Go to the start of the terminal's line and clear it."""


class _Stages(logging.Handler):
    """A log handler that shows the latest message from a thread.

    On a terminal it rewrites one line. In a file it writes a line for each new message.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(logging.INFO)
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._counted = ""  # the log message of the counted steps, before formatting
        self._steps = ""  # the current step, such as "round 2 of 5"
        self._number = self._total = 0
        self._since = 0.0  # when the first step began, in seconds
        self._stage = ""  # what happens within the step
        self._last = ""  # the text that was shown last
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=self._show,
            daemon=True,
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message of the logger and keep what the display shows of it."""
        if not self._end.is_set() and not self._thread.is_alive():
            self._thread.start()
        steps = str(record.msg).endswith(_COUNTED) and isinstance(record.args, tuple)
        # The first message that counts steps is the outermost loop. A loop within it is a stage.
        if steps and self._counted in ("", record.msg):
            assert isinstance(record.args, tuple)
            if not self._counted:
                self._counted = str(record.msg)
                self._since = time.monotonic()
            self._number, self._total = record.args[-2:]  # type: ignore[assignment]
            self._steps = record.getMessage()
            self._stage = ""
        else:
            self._stage = record.getMessage()

    def stop(self) -> None:
        """End the display and clear its line."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        """Update the display until the end; the thread runs this loop."""
        pause = _PATIENCE
        while not self._end.wait(pause):
            pause = _TERMINAL_PAUSE if self._terminal else _FILE_PAUSE
            parts = ["margin", self._steps, self._stage]
            text = ": ".join(filter(None, parts)) + " ..."
            if self._terminal:
                room = shutil.get_terminal_size().columns - 1
                line = f"{text}{self._left()}"[:room]
                print(
                    f"{_CLEAR}{line}",
                    end="",
                    file=self._stream,
                    flush=True,
                )
            elif text != self._last:
                print(
                    text,
                    file=self._stream,
                    flush=True,
                )
            self._last = text
        if self._terminal and self._last:
            print(
                _CLEAR,
                end="",
                file=self._stream,
                flush=True,
            )

    def _left(self) -> str:
        """Estimate the time left from the mean time of the finished steps, as a text."""
        done = self._number - 1
        if done < 1:
            return ""
        elapsed = time.monotonic() - self._since
        seconds = round(elapsed / done * (self._total - done))
        if seconds < 120:
            return f" about {seconds} s left"
        return f" about {round(seconds / 60)} min left"


@contextmanager
def shown() -> Iterator[None]:
    """Show the progress of the code inside the `with` block."""
    log = logging.getLogger("margin")
    level, propagate = log.level, log.propagate
    stages = _Stages(sys.stderr)
    log.addHandler(stages)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        stages.stop()
        log.removeHandler(stages)
        log.setLevel(level)
        log.propagate = propagate
