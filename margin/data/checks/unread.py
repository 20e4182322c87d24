"""The files of a table that cannot be read, with their paths: for the holder of the data alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import DataError, TryAgainError
from ..files import FileSource
from ..folders import FilesSource, open_path
from ..queries.causes import FailedQueryError
from ..queries.types_of_files import parquet_files, read_together
from ..source import Source
from ..sql import Sql

__all__ = ["Unread", "naming_files", "unread_files"]


@dataclass(frozen=True)
class Unread:
    """A file that cannot be read. Its path may hold values of the data.

    Attributes
    ----------
    file
        Its path.
    problem
        Why it cannot be read, and what to do.
    """

    file: str
    problem: str

    def line(self) -> str:
        """The problem in words, with the path."""
        return self.problem if repr(self.file) in self.problem else f"{self.file!r}: {self.problem}"


def unread_files(source: Source, *, to_the_end: bool = False) -> list[Unread]:
    """The files of a source whose columns cannot be found; or that cannot be read to their end."""
    unread = []
    for file in _files(source):
        try:
            if to_the_end:
                file.read_through()
            else:
                file.fields()
        except DataError as error:
            unread.append(Unread(str(file.path), str(error)))
    return unread


@contextmanager
def naming_files(source: Source) -> Iterator[None]:
    """Let an error of a query say which of its Parquet files lack a column that others have."""
    try:
        yield
    except TryAgainError:
        raise
    except DataError as error:
        lacking = _lacking(source) if isinstance(source, Sql) else []
        if not lacking:
            raise
        kind = FailedQueryError if isinstance(error, FailedQueryError) else DataError
        raise kind(f"{error}; its files differ: {'; '.join(lacking)}") from None


def _lacking(source: Sql) -> list[str]:
    """For each column of the first file of a scan, the first file that lacks it."""
    told = []
    for paths in read_together([source.text]):
        named = {path: _names(path) for path in paths}
        for name in named[paths[0]] if paths else []:
            without = [path for path, names in named.items() if name not in names]
            if without:
                place = f"column {name!r} is in {str(paths[0])!r}, but not in {str(without[0])!r}"
                more = f" and {len(without) - 1:,} more" if len(without) > 1 else ""
                told.append(f"{place}{more}")
    return told


def _names(path: Path) -> list[str]:
    """The names of the columns of a Parquet file; none if it cannot be read."""
    try:
        return [field.name for field in FileSource(path).fields()]
    except DataError:
        return []


def _files(source: Source) -> list[FileSource]:
    """The files of a source, whose messages show their whole paths."""
    if isinstance(source, Sql):
        named = [file for path in source.files.values() for file in _files(open_path(path))]
        quoted = [path for path in parquet_files([source.text]) if path.suffix == ".parquet"]
        return named + list(map(FileSource, quoted))
    if isinstance(source, FilesSource):
        return replace(source, shows_folders=True).files
    # A path that leads nowhere is a mistake in the command, and no news about the table.
    return [source] if isinstance(source, FileSource) and source.path.is_file() else []
