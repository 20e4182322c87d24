"""Parquet files that one scan of a query reads together: their columns must have one type each."""

import glob
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from .encode import quietly
from .failures import unknown
from .files import connected, quoted

__all__ = ["mixes_types"]

_MAGIC = b"PAR1"
"""The first bytes of every Parquet file that is not encrypted."""

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'((?:[^']|'')*)'|"((?:[^"]|"")*)"|\$(\w*)\$(.*?)\$\3\$""",
    re.DOTALL,
)
"""A comment, a quoted text or a quoted name of SQL."""

_READERS = ("read_parquet", "parquet_scan", "query", "query_table")
"""The functions of DuckDB that read the Parquet files that their first argument names."""

_LIST = r"(?:main\.)?(?:list_value)?[\[(]\s*'\d+'(?:\s*,\s*'\d+')*\s*,?\s*[\])]"
_CALL = re.compile(rf"\b(?:{'|'.join(_READERS)})\s*\(", re.IGNORECASE)
_PLAIN = re.compile(rf"\s*(?:'\d+'|{_LIST})\s*[,)]", re.IGNORECASE)
_TOGETHER = re.compile(rf"\[[^\[\]]*\]|{_LIST}|'\d+'", re.IGNORECASE)


def mixes_types(plan: str, texts: Sequence[str]) -> str:
    """Why a query may read Parquet files of different types by one scan, and what to do, for a
    message; empty if it does not.

    DuckDB casts all files of a scan to the type of the first one, or to a type that suits all, so
    that the type of one file would change the rows of another. The files of each quoted pattern,
    and those of each list, are compared by the types that DuckDB sees in them; the order and the
    options of the scan make no difference. A function that reads files by a name that is composed
    from parts, or by a parameter of a macro, is refused, since its files are not known.

    Not found are encrypted files, relative paths that the connection of a relation looks for in
    another folder (`file_search_path`), and, before version 2 of DuckDB, the files of views that a
    relation uses. Only the footers of the files are read, which state names and types; the message
    has no other part of them.

    Parameters
    ----------
    plan
        The plan of DuckDB.
    texts
        The query and the definitions that it uses; see `definitions`.
    """
    if "PARQUET" not in plan.upper():
        return ""
    with closing(connected()) as connection:
        for text in texts:
            masked, values = _masked(text)
            if any(not _PLAIN.match(masked, call.end()) for call in _CALL.finditer(masked)):
                return (
                    "must name its Parquet files by a quoted path, or by a list of quoted paths, "
                    "but a function that reads them has a composed argument, so that their types "
                    "cannot be compared; write the paths in quotes, as in "
                    "read_parquet('visits/*.parquet')"
                )
            for group in _TOGETHER.findall(masked):
                paths = [values[int(place)] for place in re.findall(r"'(\d+)'", group)]
                if problem := _compared(connection, paths):
                    return problem
    return ""


def _masked(text: str) -> tuple[str, list[str]]:
    """A query in which a number in quotes stands for each quoted text and name, and the texts and
    names by their numbers. Comments are left out."""
    values: list[str] = []

    def mask(token: re.Match[str]) -> str:
        if token[0].startswith(("--", "/*")):
            return " "
        if (token[2] or "").casefold() in _READERS:
            return token[2]
        name = (token[2] or "").replace('""', '"')
        values.append((token[1] or "").replace("''", "'") or name or token[4] or "")
        return f"'{len(values) - 1}'"

    return _TOKEN.sub(mask, text), values


def _compared(connection: Any, paths: Sequence[str]) -> str:
    """How the types of a column differ in the Parquet files of these paths and patterns, for a
    message; empty if they do not."""
    seen: dict[str, tuple[str, str]] = {}
    for file in _parquet_files(connection, paths):
        text = f"FROM read_parquet({quoted(glob.escape(file))}, hive_partitioning = false)"
        wrong = "a Parquet file of the query cannot be read; check that the file is complete"
        relation = quietly(partial(connection.sql, text), wrong)
        for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
            before, first = seen.setdefault(name.casefold(), (kind, file))
            if before != kind:
                return (
                    f"needs one type for each column of the files that it reads together, but "
                    f"column {name!r} is {before} in {_shown(first)!r} and {kind} in "
                    f"{_shown(file)!r}; write the files anew with one type, or name the files of "
                    "each type by themselves, cast the column to VARCHAR in each, and join them "
                    "by UNION ALL"
                )
    return ""


def _parquet_files(connection: Any, paths: Sequence[str]) -> Iterator[str]:
    """The Parquet files of paths and patterns, as DuckDB finds them."""
    for path in paths:
        # DuckDB also reads all files of a folder.
        patterns = [path, f"{path.rstrip('/')}/**"] if path and Path(path).is_dir() else [path]
        for pattern in patterns:
            find = f"SELECT file FROM glob({quoted(pattern)}) ORDER BY file"
            found = quietly(partial(connection.execute, find), _failed).fetchall()
            for (file,) in found:
                if _begins_as_parquet(file):
                    yield file


def _failed(error: Exception) -> str:
    """The message if the files of a pattern cannot be listed."""
    return unknown(error, "the files of the query")


def _begins_as_parquet(path: str) -> bool:
    """Whether a path is that of a file that begins as Parquet files do."""
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except PermissionError:
        return False


def _shown(file: str) -> str:
    """The path of a file without the values in the names of its folders."""
    return re.sub(r"=[^/\\]*(?=[/\\])", "=*", file)
