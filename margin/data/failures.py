"""What the failure of a library that reads a table is called: a shortage of the machine, an error
of the operating system, bad data, or unknown.

A message may accuse the data or an option only if the kind of the error says so. None of them
contains a value of the data.
"""

import os
from collections.abc import Callable

from ..errors import DataError, MarginError, ResourceError
from ..interrupts.shortage import shortage, system_error

__all__ = ["Problem", "explained", "is_about_content", "unknown"]

Problem = str | Callable[[Exception], str]
"""What is wrong with the content of a table, or a function that says it of an error of any kind."""

_ABOUT_CONTENT = {
    # Python and numpy
    *("ValueError", "TypeError", "LookupError", "ArithmeticError", "NotImplementedError"),
    *("AttributeError", "EOFError", "OSError", "error"),
    # Arrow
    "ArrowException",
    # DuckDB and other databases, by the names of PEP 249
    *("DataError", "IntegrityError", "NotSupportedError", "OperationalError", "ProgrammingError"),
}
"""Names of classes of errors about what was read. `error` is that of zlib. An OSError with a number
is about the system."""


def explained(error: Exception, problem: Problem) -> MarginError:
    """The error to raise in place of a library's own.

    Parameters
    ----------
    error
        What the library raised. Its text may quote cells, so nothing of it is kept.
    problem
        A text is used for an error about the content only. A function is called for an error of any
        kind, unless the machine ran out of something or the operating system reports an error.
    """
    lacking = shortage(error)
    if lacking is not None:
        return ResourceError(lacking.text)
    number = system_error(error)
    if number is not None:
        return DataError(
            "the operating system must let the table be read, but it reports "
            f"{os.strerror(number)!r}; check the files, their permissions and the disk"
        )
    if callable(problem):
        return DataError(problem(error))
    return DataError(problem if is_about_content(error) else unknown(error, "the table"))


def is_about_content(error: Exception) -> bool:
    """Whether the kind of an error says that what was read is wrong."""
    return not _ABOUT_CONTENT.isdisjoint(kind.__name__ for kind in type(error).__mro__)


def unknown(error: Exception, what: str) -> str:
    """The message for an error that may have any cause, while `what` was read."""
    return (
        f"{what} cannot be read, and the cause is not known (an error of kind "
        f"{type(error).__name__}); it may be too little memory, so allow the process more, or "
        "lower memory_limit=; or it may be a damaged file, so write it anew"
    )
