"""Progress of a command on stderr, once it has taken a second: its stage, and the time left where
that is known.

Only the fixed texts that the library logs are shown, and how many of a *declared* number of steps
are done: rounds of a mechanism, simulations of a comparison. Nothing is said of rows or of shares
of them: it would tell how much data there is.
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
"""Seconds in which a command stays silent."""

_TERMINAL_PAUSE, _FILE_PAUSE = 0.25, 2.0
"""Seconds between two looks at what is to be shown."""

_COUNTED = "%d of %d"
"""How a log message ends whose arguments say which step of how many begins."""


class _Stages(logging.Handler):
    """Keeps what was logged last, and shows it from a thread: one line rewritten on a terminal,
    lines in a file."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(logging.INFO)
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._stage = self._steps = self._counted = ""
        self._number = self._total = 0
        self._since = 0.0
        self._last = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        if not self._end.is_set() and not self._thread.is_alive():
            self._thread.start()
        steps = str(record.msg).endswith(_COUNTED) and isinstance(record.args, tuple)
        # The steps that were counted first are the outermost: what is counted within them is a
        # stage.
        if steps and self._counted in ("", record.msg):
            assert isinstance(record.args, tuple)
            if not self._counted:
                self._since, self._counted = time.monotonic(), str(record.msg)
            self._number, self._total = record.args[-2:]  # type: ignore[assignment]
            self._steps, self._stage = record.getMessage(), ""
        else:
            self._stage = record.getMessage()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self) -> None:
        pause = _PATIENCE
        while not self._end.wait(pause):
            pause = _TERMINAL_PAUSE if self._terminal else _FILE_PAUSE
            text = ": ".join(filter(None, ["margin", self._steps, self._stage])) + " ..."
            if self._terminal:
                room = shutil.get_terminal_size().columns - 1
                print(
                    f"\r\x1b[K{(text + self._left())[:room]}", end="", file=self._stream, flush=True
                )
            elif text != self._last:
                print(text, file=self._stream, flush=True)
            self._last = text
        if self._terminal and self._last:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def _left(self) -> str:
        """How long the steps that were counted will take, by what those that are done took."""
        done = self._number - 1
        if done < 1:
            return ""
        seconds = round((time.monotonic() - self._since) / done * (self._total - done))
        return (
            f" about {seconds} s left"
            if seconds < 120
            else f" about {round(seconds / 60)} min left"
        )


@contextmanager
def shown() -> Iterator[None]:
    """Show the stages of what runs inside."""
    log = logging.getLogger("margin")
    stages, level, propagate = _Stages(sys.stderr), log.level, log.propagate
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
