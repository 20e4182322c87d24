"""What a run prints, warns and logs, recorded while it runs."""

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO

from .spark import is_drawing, is_file_of_spark

__all__ = ["watched_logs", "watched_streams", "watched_warnings"]

# Loggers that report the work of a compiler, not of a run.
_COMPILERS = ("numba", "llvmlite")

# Logger of the protocol between pyspark and Java. Its debug records hold numbers of Java objects,
# which count up from the start of the process.
_SPARK_PROTOCOL = "py4j"

# Attributes that every log record has.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"taskName"}


@contextlib.contextmanager
def watched_streams() -> Generator[list[str | bytes]]:
    """Record what is written to Python's standard streams, and to the file descriptors below them.

    The list is filled when the context ends.
    """
    written: list[str | bytes] = []
    printed = (io.StringIO(), io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    redirected = _redirected()
    try:
        with contextlib.redirect_stdout(printed[0]), contextlib.redirect_stderr(printed[1]):
            yield written
    finally:
        written += [stream.getvalue() for stream in printed]
        for number, original, file in redirected:
            os.dup2(original, number)
            os.close(original)
            file.seek(0)
            written.append(file.read())
            file.close()


def _redirected() -> list[tuple[int, int, BinaryIO]]:
    """Redirect the descriptors 1 and 2 to temporary files: each descriptor, a copy of the original,
    and its file."""
    redirected: list[tuple[int, int, BinaryIO]] = []
    for number in (1, 2):
        file: Any = tempfile.TemporaryFile()  # noqa: SIM115 (`watched_streams` closes it)
        try:
            redirected.append((number, os.dup(number), file))
        except OSError:  # the process does not have this stream
            file.close()
            continue
        os.dup2(file.fileno(), number)
    return redirected


@contextlib.contextmanager
def watched_warnings() -> Generator[list[tuple[str, str]]]:
    """Record the category and the text of all warnings, also of repeated ones.

    Warnings of pyspark are left out while the gate draws noise; see `margin.audit.outputs.spark`.
    """
    warned: list[tuple[str, str]] = []

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        *rest: object,
    ) -> None:
        if not (is_drawing() and is_file_of_spark(filename)):
            warned.append((category.__name__, str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep  # type: ignore[assignment]
        yield warned


@contextlib.contextmanager
def watched_logs() -> Generator[list[Any]]:
    """Record the records of all loggers at all levels; see `_is_left_out` for two exceptions."""
    records: list[Any] = []
    handle, enabled = logging.Logger.handle, logging.Logger.isEnabledFor

    def keep(self: logging.Logger, record: logging.LogRecord) -> None:
        if _is_left_out(record):
            return
        error = record.exc_info[1] if record.exc_info else None
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        told = (self.name, record.levelno, record.msg, record.args)
        records.append((*told, error, record.stack_info, extra))

    try:
        logging.Logger.handle = keep  # type: ignore[method-assign]
        logging.Logger.isEnabledFor = lambda self, level: True  # type: ignore[method-assign]
        yield records
    finally:
        logging.Logger.handle = handle  # type: ignore[method-assign]
        logging.Logger.isEnabledFor = enabled  # type: ignore[method-assign]


def _is_left_out(record: logging.LogRecord) -> bool:
    """True for what a compiler logs about its own work, and for what py4j logs at the level DEBUG
    about its protocol; each only from its own files."""
    logger = record.name.split(".")[0]
    folders = Path(record.pathname).parts
    if logger in _COMPILERS:
        return any(name in folders for name in _COMPILERS)
    is_protocol = logger == _SPARK_PROTOCOL and record.levelno <= logging.DEBUG
    return is_protocol and _SPARK_PROTOCOL in folders
