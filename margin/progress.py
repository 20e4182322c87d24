"""Progress of a command: the stage it is in, on stderr, once the command has taken a second.

Only the fixed texts that the library logs are shown. No counts and no shares of work done: they would tell how much
data there is.
"""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["shown"]

_PATIENCE = 1.0


class _Stages(logging.Handler):
    """Shows the stage that lasts, from a timer, so that a quick command stays silent."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._started = time.monotonic()
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.stop()
        patience = max(0.05, self._started + _PATIENCE - time.monotonic())
        self._timer = threading.Timer(patience, print, [f"margin: {record.getMessage()} ..."], {"file": sys.stderr})
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def shown() -> Iterator[None]:
    """Show the stages of what runs inside."""
    log = logging.getLogger("margin")
    stages, level, propagate = _Stages(), log.level, log.propagate
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
