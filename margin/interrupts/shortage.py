"""`shortage`: whether an error means that the machine ran out of memory, disk, threads or files.

Such an error says nothing about the data or the options, whatever the program was doing.
"""

import errno
import os
import re
import sys
from enum import Enum

from ..errors import ResourceError

__all__ = ["Shortage", "raise_shortage", "shortage", "system_error"]


_ADDRESSES = 4 * 10**9
"""Bytes of addresses that are enough for a release with the default memory limit on few cores."""


class Shortage(Enum):
    """What ran out; the value says it to the user, and what to do about it; see `text`."""

    MEMORY = (
        "the operating system gave the process no more memory; allow the process more, or lower "
        "memory_limit=, which is the part for reading the table"
    )
    LIMIT = "reading the table needs more memory than its limit; allow more with memory_limit="
    DISK = (
        "the disk is full; free some space, or set TMPDIR to a folder on a larger disk, because "
        "what does not fit in memory goes there"
    )
    THREADS = (
        "the operating system gave the process no more threads; allow the user more processes "
        "(ulimit -u) or the process more memory"
    )
    FILES = "the process has too many open files; allow it more (ulimit -n)"

    @property
    def text(self) -> str:
        """The value. Where the addresses of the process are limited too much, it says so instead of
        what would not help."""
        limit = _address_limit()
        if self not in (Shortage.MEMORY, Shortage.THREADS) or limit is None or limit >= _ADDRESSES:
            return self.value
        found = self.value.partition(";")[0]
        return (
            f"{found}; ulimit -v limits it to {limit / 1e9:.1f} GB of addresses, of which "
            "libraries reserve far more than they use: allow 4 GB or more, or limit the memory of "
            "the job instead, such as by systemd-run --property MemoryMax=4G"
        )


def _address_limit() -> int | None:
    """The largest number of bytes of addresses that the system allows this process; None if there
    is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


_BY_NUMBER = {
    errno.ENOMEM: Shortage.MEMORY,
    errno.ENOSPC: Shortage.DISK,
    errno.EDQUOT: Shortage.DISK,
    errno.EAGAIN: Shortage.THREADS,
    errno.EMFILE: Shortage.FILES,
    errno.ENFILE: Shortage.FILES,
}
"""What ran out, by the number of the operating system's error."""

_BY_TEXT = {
    r"no space left|disk quota|max_temp_directory_size": Shortage.DISK,
    r"too many open files": Shortage.FILES,
    r"new thread|create thread|thread constructor|resource temporarily": Shortage.THREADS,
    r"out of memory|not enough memory|(cannot|could not|failed to|unable to) allocate|bad.?alloc|"
    r"failed to map segment": Shortage.MEMORY,
}
"""What ran out, by a regular expression for the texts of libraries in C and C++."""

_ENGINE_LIMIT = re.compile(r"used\)|memory_limit")
"""What DuckDB writes about its own limit, such as "(8.0 MiB/9.5 MiB used)"."""

_ENGINE = ("IOException", "InternalException", "FatalException", "Error")
"""Errors of DuckDB that are about the machine, or whose kind it does not know."""

_NUMBERS = {os.strerror(number): number for number in errno.errorcode}


def shortage(error: BaseException) -> Shortage | None:
    """What the machine ran out of, by the type, the number and the text of an error; None if the
    error says nothing of this kind.

    The text is read only of errors of the system and of DuckDB about the system, never of errors
    about values, which may quote the data.

    Examples
    --------
    >>> shortage(MemoryError()).name, shortage(OSError(28, "No space left on device")).name
    ('MEMORY', 'DISK')
    >>> shortage(ValueError("out of memory")) is None
    True
    """
    if type(error).__name__ == "OutOfMemoryException":
        return _of_engine(str(error))
    if isinstance(error, MemoryError):
        return Shortage.MEMORY
    number = system_error(error)
    if number is not None:
        return _BY_NUMBER.get(number)
    is_of_system = isinstance(error, OSError | ImportError | RuntimeError | SystemError)
    if isinstance(error, NotImplementedError) or not (is_of_system or _is_of_engine(error)):
        return None
    return _by_text(str(error))


def system_error(error: BaseException) -> int | None:
    """The number of the operating system's error that an error passes on; None if it has none.

    DuckDB writes the text of the number at the end of a line.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if type(error).__name__ != "IOException":
        return None
    first = str(error).partition("\n")[0]
    return _NUMBERS.get(first.rpartition(": ")[2].strip())


def raise_shortage(error: BaseException) -> None:
    """Raise ResourceError if an error means that the machine ran out of something."""
    found = shortage(error)
    if found is not None:
        raise ResourceError(found.text) from None


def _is_of_engine(error: BaseException) -> bool:
    kind = type(error)
    return kind.__module__.lstrip("_").startswith("duckdb") and kind.__name__ in _ENGINE


def _of_engine(text: str) -> Shortage:
    """What an OutOfMemoryException of DuckDB is about: the disk, its own limit, or the machine."""
    found = _by_text(text)
    if found is Shortage.DISK:
        return found
    return Shortage.LIMIT if _ENGINE_LIMIT.search(text.partition("\n")[0]) else Shortage.MEMORY


def _by_text(text: str) -> Shortage | None:
    for pattern, found in _BY_TEXT.items():
        if re.search(pattern, text, re.IGNORECASE):
            return found
    return None
