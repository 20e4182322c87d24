"""The standard streams of a command, made ready before it does anything else.

A release must not depend on who reads its output: a scheduler may close a stream, and the disk of a
log may be full.

- A file or a pipe gets UTF-8, whatever the locale, because JSON is UTF-8 and readers of CSV expect
  it. A terminal gets its own encoding. What a stream cannot encode is written as an escape.
- Writing to stderr never fails. What cannot be written there is lost.
- A closed stream is opened: otherwise the next file that is opened, such as a ledger, would take
  its number, and a library that writes to this number would write into the file. Writing to a
  stdout that was closed still fails, so that the command can tell that nobody got its result.
"""

import contextlib
import io
import os
import sys

__all__ = ["make_ready"]


class _Unfailing(io.TextIOWrapper):
    """A stream that drops what it cannot write."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def make_ready() -> None:
    """Open the streams that are closed, and set the encoding of stdout and stderr."""
    # In the order of their numbers: a new descriptor takes the smallest one that is free.
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 (it stays open)
    if sys.stdout is None:
        # It is open for reading only, so that writing fails.
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    errors = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    raw = io.BufferedWriter(io.FileIO(errors, "w", closefd=False))
    sys.stderr = _Unfailing(raw, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")
