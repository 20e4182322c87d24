"""Many files as one source: those of a folder, or those that a pattern fits."""

import glob
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..domain.domain import Domain
from ..errors import DataError
from .encode import Batch, encode_batches
from .files import SUFFIXES, FileSource

__all__ = ["FilesSource", "open_path"]

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FilesSource:
    """The rows of many files of one kind, file after file; folders called `name=value` give a
    column (hive partitions).

    Parameters
    ----------
    pattern
        What was asked for, for messages.
    paths
        The files. A value in the name of a folder is data: no message shows it.
    """

    pattern: str
    paths: tuple[Path, ...]

    def check(self, domain: Domain) -> None:
        """Refuse files of which one lacks a declared column, or whose columns of one name are of
        different kinds."""
        seen: dict[str, tuple[str, Path]] = {}
        for path in self.paths:
            partitions, source = _partitions(path), self._file(path)
            names = [name for name in domain if name not in partitions]
            for name, kind in zip(names, source.kinds(names), strict=True):
                family = _family(kind)
                before, first = seen.setdefault(name, (family, path)) if family else (family, path)
                if before != family:
                    raise DataError(
                        f"column {name!r} holds {before} in data file {_masked(first)!r} but {family} in "
                        f"{_masked(path)!r}, both of {self.pattern!r}; they must be of one type"
                    )

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes, numbers=True), domain)

    def columns(self, names: Sequence[str], *, numbers: bool = False) -> Generator[Sequence[Any]]:
        """See `FileSource.columns`."""
        for path in self.paths:
            partitions, source = _partitions(path), self._file(path)
            read = [name for name in names if name not in partitions] or [source.fields()[0].name]
            for arrays in source.columns(read, numbers=numbers):
                found = dict(zip(read, arrays, strict=True))
                rows = len(arrays[0])
                yield [
                    _constant(partitions[name], rows) if name in partitions else found[name]
                    for name in names
                ]

    def _file(self, path: Path) -> FileSource:
        return FileSource(path, _masked(path))


def open_path(data: "str | os.PathLike[str]") -> FileSource | FilesSource:
    """The file of that path; or the files in a folder and the folders in it; or those that a
    pattern fits.

    Raises
    ------
    DataError
        When the name does not end in one of `SUFFIXES`, or there are no files, or they are not of
        one kind.
    """
    path, shown = Path(data), str(data)
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.name[0] not in "._" and file.is_file()]
    elif glob.has_magic(shown) and not path.exists():
        found = [file for file in map(Path, glob.glob(shown, recursive=True)) if file.is_file()]
    else:
        return FileSource(path)
    kinds = {suffix for file in found for suffix in SUFFIXES if file.name.lower().endswith(suffix)}
    if len(kinds) != 1 or not all(file.name.lower().endswith(tuple(kinds)) for file in found):
        problem = "files of different kinds" if found else "no files"
        raise DataError(
            f"{shown!r} has {problem}; there must be some, all ending alike, in {', '.join(SUFFIXES)}"
        )
    return FilesSource(shown, tuple(sorted(found)))


def _partitions(path: Path) -> dict[str, str | None]:
    """The columns that the names of a file's folders give; hive's name for a null is a null."""
    pairs = [part.split("=", 1) for part in path.parent.parts if "=" in part]
    return {unquote(name): None if value == _HIVE_NULL else unquote(value) for name, value in pairs}


def _masked(path: Path) -> str:
    """A path without the values in the names of its folders."""
    folders = [part.split("=", 1)[0] + "=*" if "=" in part else part for part in path.parent.parts]
    return str(Path(*folders) / path.name)


def _constant(value: str | None, rows: int) -> Any:
    import pyarrow as pa

    index = pa.array([None if value is None else 0], pa.int8()).take(
        pa.array(np.zeros(rows, np.int8))
    )
    return pa.DictionaryArray.from_arrays(index, pa.array([value or ""], pa.string()))


def _family(kind: Any) -> str:
    """What a column of an Arrow type holds, in plain words; empty where the type says nothing."""
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
