"""Which files the text of a DuckDB query reads, and whether their types may depend on other rows.

A row must be read by itself. DuckDB guesses the types of some files from their rows. It guesses
those of the values in names of folders from all folders. It casts the Parquet files of one scan to
one type. Queries that let it do so are refused before any row is read.

The parts of set operations, such as UNION, are compared in `set_operations`. Where a query combines
columns of two types in an expression, as by COALESCE, CASE or a comparison, DuckDB converts them by
its rules, as the query asks: see docs/counting.md.
"""

import glob
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import DataError, MarginError
from ..encode import quietly
from ..failures import MixedTypesError, differing, unknown
from ..files import connected, is_empty, quoted
from ..folders import without_values

__all__ = [
    "damaged_file",
    "definitions",
    "guesses_folders",
    "guesses_types",
    "numbered",
    "parquet_files",
    "read_together",
    "refuse_mixed_types",
]

_GUESSED = re.compile(r"READ_CSV|READ_JSON|READ_NDJSON|SNIFF_CSV|READ_XLSX|PANDAS_SCAN")

_MAGIC = b"PAR1"
"""The first bytes of every Parquet file that is not encrypted."""

_ENDINGS = (".parquet", ".pq")
"""The endings of the names of Parquet files."""

_TOKEN = re.compile(
    r"""
    --[^\n]*                         # a comment to the end of the line
    | /\*.*?\*/                      # a comment
    | \be'(?:[^'\\]|\\.|'')*'        # a text with escapes
    | '((?:[^']|'')*)'               # a text
    | "((?:[^"]|"")*)"               # a name
    | \$(\w*)\$(.*?)\$\3\$            # a text between dollar signs
    """,
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
"""A comment, a quoted text or a quoted name of SQL."""

_READERS = ("read_parquet", "parquet_scan", "query", "query_table")
"""The functions of DuckDB that read the Parquet files that their first argument names."""

_LIST = r"(?:main\.)?(?:list_value)?[\[(]\s*'\d+'(?:\s*,\s*'\d+')*\s*,?\s*[\])]"
_CALL = re.compile(rf"\b(?:{'|'.join(_READERS)})\s*\(", re.IGNORECASE)
_PLAIN = re.compile(rf"\s*(?:'\d+'|{_LIST})\s*[,)]", re.IGNORECASE)
_TOGETHER = re.compile(rf"\[[^\[\]]*\]|{_LIST}|'\d+'", re.IGNORECASE)
_OPTION = re.compile(
    r"hive_(types_autocast|partitioning)\s*(?::=|=>|=)\s*(?:'(\d+)'|(\w+))", re.IGNORECASE
)


def guesses_types(plan: str) -> bool:
    """Whether a DuckDB plan guesses types from some of the rows. It does so for a file that states
    no types, and for a pandas frame, whose object columns have none."""
    # Some versions write the words of an operator with spaces between them.
    return _GUESSED.search(plan.upper().replace(" ", "_")) is not None


def guesses_folders(plan: str, texts: Sequence[str]) -> bool:
    """Whether queries read Parquet files in folders named `name=value` and let DuckDB guess the
    type of the values.

    DuckDB takes whole numbers or dates if all values are of this form, otherwise texts. An option
    that forbids it holds for one scan, so each scan of such folders needs one. A path that the
    query composes from parts is not found.

    Parameters
    ----------
    plan, texts
        See `refuse_mixed_types`.
    """
    if "PARQUET" not in plan.upper():
        return False
    for query, values in _all_numbered(texts):
        settled = {"types_autocast": 0, "partitioning": 0}
        for kind, place, word in _OPTION.findall(query):
            value = values[int(place)] if place else word
            settled[kind.casefold()] += value.casefold() in ("false", "0")
        groups = _read_together(query, values)
        guessed = sum(any(map(_is_in_folder_of_values, group)) for group in groups)
        # A scan may have both options, so they are not added up.
        if guessed > max(settled.values()):
            return True
    return False


def refuse_mixed_types(plan: str, texts: Sequence[str], described: str) -> None:
    """Refuse a query that may read Parquet files of different types by one scan.

    DuckDB casts all files of a scan to the type of the first one, or to a type that suits all, so
    that the type of one file would change the rows of another. The files of each quoted pattern,
    and those of each list, are compared by the types that DuckDB sees in them; the order and the
    options of the scan make no difference. A function that reads files by a name that is composed
    from parts, or by a parameter of a macro, is refused, since its files are not known.

    Not found are encrypted files, files of other machines, relative paths that the connection of a
    relation looks for in another folder (`file_search_path`), and, before version 2 of DuckDB, the
    files of views that a relation uses. Only the footers of the files are read, which state names
    and types; the message has no other part of them.

    Parameters
    ----------
    plan
        The plan of DuckDB.
    texts
        The query and the definitions that it uses; see `definitions`.
    described
        The query, for messages.

    Raises
    ------
    MixedTypesError
        When the files of a scan have different types.
    DataError
        When the files of a scan are not known.
    """
    if "PARQUET" not in plan.upper():
        return
    with closing(connected()) as connection:
        for query, values in _all_numbered(texts):
            if any(not _PLAIN.match(query, call.end()) for call in _CALL.finditer(query)):
                raise DataError(
                    f"{described} must name its Parquet files by a quoted path, or by a list of "
                    "quoted paths, but a function that reads them has a composed argument, so that "
                    "their types cannot be compared; write the paths in quotes, as in "
                    "read_parquet('visits/*.parquet')"
                )
            for paths in _read_together(query, values):
                _compare(connection, paths, described)


def damaged_file(texts: Sequence[str]) -> str:
    """The message for the first Parquet file of queries that cannot be read; empty if all can."""
    try:
        with closing(connected()) as connection:
            for query, values in _all_numbered(texts):
                for paths in _read_together(query, values):
                    for _ in _kinds(connection, paths):
                        pass
    except MarginError as error:
        return str(error)
    return ""


def read_together(texts: Sequence[str]) -> list[list[Path]]:
    """The Parquet files of each pattern and of each list of paths that queries name in quotes."""
    with closing(connected()) as connection:
        return [
            list(map(Path, _parquet_files(connection, paths)))
            for query, values in _all_numbered(texts)
            for paths in _read_together(query, values)
        ]


def parquet_files(texts: Sequence[str]) -> list[Path]:
    """The Parquet files that queries name in quotes; `refuse_mixed_types` says which are not
    found."""
    with closing(connected()) as connection:
        quoted_texts = [value for _, values in _all_numbered(texts) for value in values]
        return list(map(Path, _parquet_files(connection, quoted_texts)))


def _all_numbered(texts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Queries, and those within their quoted texts, with numbers for what is quoted; see
    `numbered`."""
    searched = list(texts)
    for text in searched:
        query, values = numbered(text)
        # A quoted text may be a query itself, with quotes of its own.
        searched += [value for value in values if "'" in value or '"' in value]
        yield query, values


def numbered(text: str) -> tuple[str, list[str]]:
    """A query in which a number in quotes stands for each quoted text and name, and the texts and
    names by their numbers. Comments are left out."""
    values: list[str] = []

    def mask(token: re.Match[str]) -> str:
        if token[0].startswith(("--", "/*")):
            return " "
        # A text with escapes counts as composed.
        if token[0][0] in "eE":
            return "e"
        if (token[2] or "").casefold() in _READERS:
            return token[2]
        name = (token[2] or "").replace('""', '"')
        values.append((token[1] or "").replace("''", "'") or name or token[4] or "")
        return f"'{len(values) - 1}'"

    return _TOKEN.sub(mask, text), values


def _read_together(query: str, values: Sequence[str]) -> list[list[str]]:
    """The quoted texts and names of each list, and each other one by itself; see `numbered`."""
    groups = _TOGETHER.findall(query)
    return [[values[int(place)] for place in re.findall(r"'(\d+)'", group)] for group in groups]


def _is_in_folder_of_values(path: str) -> bool:
    """Whether a file of a path or pattern is in a folder named `name=value`."""
    files = glob.iglob(path, recursive=True)
    return any("=" in part for file in files for part in Path(file).absolute().parent.parts)


def _compare(connection: Any, paths: Sequence[str], described: str) -> None:
    """Refuse the Parquet files of these paths and patterns if the types of a column differ."""
    kinds = _kinds(connection, paths)
    for name, files in differing(kinds, key=str.casefold).items():
        (before, (first, *_)), (kind, (then, *_)), *_ = files.items()
        one, other = without_values(first), without_values(then)
        where = "another file" if one == other else repr(other)
        raise MixedTypesError(
            f"{described} needs one type for each column of the files that it reads together, but "
            f"column {name!r} is {before} in {one!r} and {kind} in {where}",
            column=name,
            files=files,
            advice="write the files anew with one type, or name the files of each type by "
            "themselves, cast the column to VARCHAR in each, and join them by UNION ALL",
        )


def _kinds(connection: Any, paths: Sequence[str]) -> Iterator[tuple[Path, str, str]]:
    """The type of each column in each Parquet file of these paths and patterns."""
    for file in _parquet_files(connection, paths):
        text = f"FROM read_parquet({quoted(glob.escape(file))}, hive_partitioning = false)"
        found = "is empty (0 bytes)" if is_empty(file) else "cannot be read"
        wrong = (
            f"Parquet file {without_values(Path(file))!r} of the query {found}; check that the "
            "file is complete; margin domain check names the file"
        )
        relation = quietly(partial(connection.sql, text), wrong)
        for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
            yield Path(file), name, kind


def _parquet_files(connection: Any, paths: Sequence[str]) -> Iterator[str]:
    """The Parquet files of paths and patterns, as DuckDB finds them, each once."""
    seen: set[str] = set()
    for path in paths:
        # A web address may be a value in a condition, and `Sql` reads no file of another machine.
        if "://" in path and not path.startswith("file:"):
            continue
        # DuckDB also reads all files of a folder.
        patterns = [path, f"{path.rstrip('/')}/**"] if path and Path(path).is_dir() else [path]
        for pattern in patterns:
            find = f"SELECT file FROM glob({quoted(pattern)}) ORDER BY file"
            found = quietly(partial(connection.execute, find), _failed).fetchall()
            for (file,) in found:
                if file not in seen and _is_parquet(file):
                    seen.add(file)
                    yield file


def _failed(error: Exception) -> str:
    """The message if the files of a pattern cannot be listed."""
    return unknown(error, "the files of the query")


def _is_parquet(path: str) -> bool:
    """Whether a path is that of a file that begins as Parquet files do, or should: an empty file
    with such a name is what a writer leaves that was stopped."""
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            first = file.read(len(_MAGIC))
    except PermissionError:
        return False
    return first == _MAGIC or (not first and path.casefold().endswith(_ENDINGS))


def definitions(run: Callable[[str], Any], texts: Sequence[str]) -> list[str]:
    """The texts of queries, followed by the texts of all views and macros that they use.

    Parameters
    ----------
    run
        Runs a query on the DuckDB connection of the queries; its result has `fetchall`.
    texts
        The queries.
    """
    views = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"
    macros = (
        "SELECT function_name, macro_definition FROM duckdb_functions() "
        "WHERE NOT internal AND macro_definition IS NOT NULL"
    )
    named = [*run(views).fetchall(), *run(macros).fetchall()]
    found = list(texts)
    # A view may use other views: those that are found are searched in turn.
    for text in found:
        for name, definition in named:
            word = rf"(?<!\w){re.escape(name.casefold())}(?!\w)"
            if definition not in found and re.search(word, text.casefold()):
                found.append(definition)
    return found
