"""What the failure of a library that reads a table is called: a shortage of the machine, an error
of the operating system, bad data, or unknown; and the error for files of different types.

A message may accuse the data or an option only if the kind of the error says so. None of them
contains a value of the data.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import DataError, MarginError, ResourceError
from ..interrupts.shortage import shortage, system_error

__all__ = [
    "MixedTypesError",
    "Problem",
    "differing",
    "duckdb_words",
    "explained",
    "is_about_content",
    "is_damage",
    "lacks_column",
    "unknown",
]

Problem = str | Callable[[Exception], str | MarginError]
"""What is wrong with the content of a table, or a function that says it of an error of any kind, or
gives the error to raise."""

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

_DAMAGE = (
    *("Parquet file is likely corrupted", "Payload value bigger than allowed", "Out of buffer"),
    *("Failed to decompress", "Input is invalid/unsupported GZIP", "Invalid string encoding found"),
    *("Decode bit width too large", "don't know what type"),
)
"""The first words of DuckDB about a page of a Parquet file that it cannot read."""

_FILE = "Failed to read file "
"""Its first words about a Parquet file as a whole, which are followed by the path."""

_LACKS = '": schema mismatch in glob'
"""What follows the path if the file lacks a column that the first file of its scan has."""


class MixedTypesError(DataError):
    """A column has different types in the files of one table.

    The names of folders and files may be values of the data. So the message of a release names none
    of these values. It gives no place of a file in the order of the names, and no number of files,
    either: in a folder with a part for each person, the number of files is that of the people.

    Attributes
    ----------
    column
        The name of the column.
    named
        The message for the holder of the data: it names the first file of each type, and says how
        many files have it.
    files
        For each type the first file.
    """

    def __init__(
        self,
        message: str,
        *,
        column: str = "",
        files: Mapping[str, Sequence[Path]] | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(f"{message}; margin domain check names the files; {advice}")
        held = files or {}
        # The type of the fewest files comes first: most often, these are the wrong ones.
        kinds = sorted(held, key=lambda kind: len(held[kind]))
        told = [f"{kind} in {_counted(held[kind])}" for kind in kinds]
        self.column = column
        self.named = f"column {column!r} holds {', and '.join(told)}; {advice}"
        self.files = {kind: str(held[kind][0]) for kind in kinds}


def _counted(files: Sequence[Path]) -> str:
    """The first of some files, and how many they are."""
    if len(files) == 1:
        return f"1 file, {str(files[0])!r}"
    return f"{len(files):,} files, the first of which is {str(files[0])!r}"


def differing(
    kinds: Iterable[tuple[Path, str, str]],
    *,
    key: Callable[[str], str] = str,
) -> dict[str, dict[str, list[Path]]]:
    """The columns that have different types in the files of a table: for each the files of each
    type.

    Parameters
    ----------
    kinds
        A file, the name of a column of it, and a text for the type.
    key
        Two names are those of one column if this function makes them equal, such as `str.casefold`.
    """
    spelt: dict[str, str] = {}
    found: dict[str, dict[str, list[Path]]] = {}
    for path, name, kind in kinds:
        column = spelt.setdefault(key(name), name)
        found.setdefault(column, {}).setdefault(kind, []).append(path)
    return {name: files for name, files in found.items() if len(files) > 1}


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
        told = problem(error)
        return told if isinstance(told, MarginError) else DataError(told)
    return DataError(problem if is_about_content(error) else unknown(error, "the table"))


def is_about_content(error: Exception) -> bool:
    """Whether the kind of an error says that what was read is wrong."""
    return not _ABOUT_CONTENT.isdisjoint(kind.__name__ for kind in type(error).__mro__)


def duckdb_words(error: Exception) -> str:
    """What DuckDB says of an error, without the kind of the error. It may quote cells, so it is
    compared with fixed texts, and never shown."""
    return re.sub(r"^Invalid (?:Input )?Error: ", "", str(error))


def lacks_column(error: Exception) -> bool:
    """Whether DuckDB says of a Parquet file that it lacks a column which another file has."""
    words = duckdb_words(error)
    return words.startswith(_FILE) and _LACKS in words


def is_damage(error: Exception) -> bool:
    """Whether DuckDB says that it cannot read a page of a Parquet file."""
    words = duckdb_words(error)
    is_known = words.startswith(_DAMAGE) or words.startswith(_FILE)
    return is_known and not lacks_column(error)


def unknown(error: Exception, what: str) -> str:
    """The message for an error that may have any cause, while `what` was read."""
    return (
        f"{what} cannot be read, and the cause is not known (an error of kind "
        f"{type(error).__name__}); it may be too little memory, so allow the process more, or "
        "lower memory_limit=; or it may be a damaged file, so write it anew"
    )
