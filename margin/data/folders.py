"""Many files as one source: all files of a folder, or all files that match a pattern."""

import glob
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from .._secrecy import masked
from ..domain.domain import Domain
from ..errors import DataError
from ..interrupts.share import tell, within
from .encode import Batch, encode_batches, locate
from .failures import MixedTypesError, differing
from .files import MEMORY, SUFFIXES, Field, FileSource, quoted, similar
from .steady import unchanged

__all__ = ["FilesSource", "family", "open_path", "without_values"]

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder's value that stands for null."""


@dataclass(frozen=True)
class FilesSource:
    """The rows of many files of one kind, one file after another. A folder named `name=value` adds
    a column to its files (hive partitions).

    Parameters
    ----------
    pattern
        The folder or the pattern that the user gave, for messages.
    paths
        The paths of the files. The value in the name of a folder is data, so no message shows it.
    memory_limit
        See `FileSource`.
    shows_folders
        Whether messages show the whole paths of files. They are then for the holder of the data
        alone.
    """

    pattern: str
    paths: tuple[Path, ...]
    memory_limit: str = field(
        default=MEMORY,
        kw_only=True,
    )
    shows_folders: bool = field(
        default=False,
        kw_only=True,
    )

    def check(self, domain: Domain) -> None:
        """Refuse files if one lacks a declared column, or if a column has different kinds of values
        in two files."""
        for error in self.mixed(domain.attributes):
            raise error

    def mixed(self, names: Sequence[str]) -> list[MixedTypesError]:
        """An error for each of the named columns that has different kinds of values in two files.

        Raises
        ------
        DataError
            When a file lacks such a column.
        """
        errors = []
        for name, files in differing(self._families(names)).items():
            (before, (first, *_)), (found, (then, *_)), *_ = files.items()
            one, other = without_values(first), without_values(then)
            where = "another file" if one == other else repr(other)
            errors.append(
                MixedTypesError(
                    f"column {name!r} holds {before} in data file {one!r} but {found} in {where}, "
                    f"both of {self.pattern!r}",
                    column=name,
                    files=files,
                    advice="write it with one type in all files, or give the files of each type "
                    "(such as integer or double) a name of their own in a query (--table, files=), "
                    "cast the column to VARCHAR in each, and join them by UNION ALL",
                )
            )
        return errors

    def _families(self, names: Sequence[str]) -> Iterator[tuple[Path, str, str]]:
        """The kind of values of each named column in each file that states it."""
        for path in self.paths:
            partitions = _partitions(path)
            stored = [name for name in names if name not in partitions]
            for name, kind in zip(stored, self._file(path).kinds(stored), strict=True):
                if held := family(kind):
                    yield path, name, held

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes, numbers=True), domain)

    def columns(
        self,
        names: Sequence[str],
        *,
        numbers: bool = False,
    ) -> Generator[Sequence[Any]]:
        """Read the named columns of all files in batches of rows; see `FileSource.columns`."""
        with unchanged(self.pattern, self.paths):
            for _, arrays in self.columns_by_file(names, numbers=numbers):
                yield arrays

    def columns_by_file(
        self,
        names: Sequence[str],
        *,
        numbers: bool = False,
        failed: Callable[[Path, DataError], None] | None = None,
    ) -> Generator[tuple[Path, Sequence[Any]]]:
        """`columns`, each batch with the path of its file. The path may hold a value in the name of
        a folder. With `failed`, which is told of a file that cannot be read, the others are read.
        """
        for path, place in zip(self.paths, _places(self.paths), strict=True):
            partitions = _partitions(path)
            source = self._file(path)
            read = [name for name in names if name not in partitions]
            # The number of rows is needed even if all columns come from the folders' names.
            if not read:
                read = [source.fields()[0].name]
            with within(*place):
                batches = source.columns(read, numbers=numbers)
                while (arrays := _next(batches, path, failed)) is not None:
                    found = dict(zip(read, arrays, strict=True))
                    rows = len(arrays[0])
                    for name in names:
                        if name in partitions:
                            found[name] = _constant(partitions[name], rows)
                    yield path, [found[name] for name in names]
                # A JSON file tells nothing before its end.
                tell(1)

    def query(self) -> tuple[str, list[Field]]:
        """The SQL text with which DuckDB reads all files, and their columns. The columns are named
        c0, c1, ..., and the columns of the folders' names come last.

        Raises
        ------
        DataError
            When the files do not have the same columns.
        """
        first = self._file(self.paths[0]).fields()
        added = list(_partitions(self.paths[0]))
        names = [field.name for field in first]
        selects = []
        for path in self.paths:
            source = self._file(path)
            fields = source.fields(names)
            places = locate([field.name for field in fields], names, source.described)
            columns = [f"c{place}" for place in places.values()]
            values = _partitions(path)
            for name in added:
                value = values.get(name)
                columns.append("NULL::VARCHAR" if value is None else f"{quoted(value)}::VARCHAR")
            selects.append(f"SELECT {', '.join(columns)} FROM {source.query(fields)}")
        listed = ", ".join(f"c{place}" for place in range(len(names) + len(added)))
        text = f"({' UNION ALL '.join(selects)}) AS rows({listed})"
        return text, [*first, *map(Field, added)]

    @property
    def files(self) -> list[FileSource]:
        """The single files. Their messages show no value in the name of a folder."""
        return list(map(self._file, self.paths))

    def _file(self, path: Path) -> FileSource:
        shown = str(path) if self.shows_folders else without_values(path)
        return FileSource(path, shown, memory_limit=self.memory_limit)


def open_path(
    data: "str | os.PathLike[str]",
    *,
    memory_limit: str = MEMORY,
) -> FileSource | FilesSource:
    """A source of one file, of all files in a folder and its subfolders, or of all files that match
    a pattern; for `memory_limit` see `FileSource`.

    Raises
    ------
    DataError
        When a name does not end in one of `SUFFIXES`, when there are no files, when they are of
        different kinds, or when a name without an ending is that of no file or folder.
    """
    path = Path(data)
    shown = str(data)
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.name[0] not in "._" and file.is_file()]
    elif glob.has_magic(shown) and not path.exists():
        found = [file for file in map(Path, glob.glob(shown, recursive=True)) if file.is_file()]
    elif path.suffix or path.exists():
        return FileSource(path, memory_limit=memory_limit)
    else:
        raise DataError(
            f"there is no file or folder {masked(shown)!r}; check the path{similar(path)}; a data "
            f"file must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    names = [file.name.lower() for file in found]
    kinds = {suffix for name in names for suffix in SUFFIXES if name.endswith(suffix)}
    if len(kinds) != 1 or not all(name.endswith(tuple(kinds)) for name in names):
        problem = "files of different kinds" if found else "no files"
        # This is said of every such pattern: whether it matches folders is known from their names,
        # which are data.
        is_pattern = not found and not path.is_dir()
        further = "; a pattern must match files: after one of folders, add /*.parquet or the like"
        raise DataError(
            f"{shown!r} has {problem}; it must have at least one file, and all files must have the "
            f"same ending, one of {', '.join(SUFFIXES)}, so correct the path or move other files "
            f"away{further if is_pattern else ''}"
        )
    return FilesSource(shown, tuple(sorted(found)), memory_limit=memory_limit)


def _next(
    batches: Iterator[Sequence[Any]],
    path: Path,
    failed: Callable[[Path, DataError], None] | None,
) -> Sequence[Any] | None:
    """The next batch of a file; None at its end, or if it cannot be read and `failed` is told."""
    try:
        return next(batches, None)
    except DataError as error:
        if failed is None:
            raise
        failed(path, error)
        return None


def _places(paths: Sequence[Path]) -> list[tuple[float, float]]:
    """The start and the end of each file in the bytes of all files, as shares."""
    sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
    ends = np.cumsum([0, *sizes]) / max(1, sum(sizes))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _partitions(path: Path) -> dict[str, str | None]:
    """The columns in the names of a file's folders, each with its value. Hive's name for a null
    gives None."""
    columns: dict[str, str | None] = {}
    for part in path.parent.parts:
        if "=" in part:
            name, value = part.split("=", 1)
            columns[unquote(name)] = None if value == _HIVE_NULL else unquote(value)
    return columns


def without_values(path: Path) -> str:
    """A path without the values in the names of its folders."""
    folders = [part.split("=", 1)[0] + "=*" if "=" in part else part for part in path.parent.parts]
    return str(Path(*folders) / path.name)


def _constant(value: str | None, rows: int) -> Any:
    """A column with the same value in every row, as an Arrow dictionary array."""
    import pyarrow as pa

    one_index = pa.array([None if value is None else 0], pa.int8())
    index = one_index.take(pa.array(np.zeros(rows, np.int8)))
    return pa.DictionaryArray.from_arrays(index, pa.array([value or ""], pa.string()))


def family(kind: Any) -> str:
    """The kind of values of an Arrow type, in plain words; empty if the type does not state it."""
    from pyarrow import types

    if kind is None or types.is_null(kind):
        return ""
    kind = getattr(kind, "storage_type", kind)
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_boolean(kind):
        return "truth values"
    return "dates or times" if types.is_temporal(kind) else "texts"
