"""CSV, TSV, Parquet and JSON files as sources, read through an embedded DuckDB, a bounded number of
rows at a time."""

import csv
import glob
import gzip
import io
import re
import zlib
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..domain.domain import Domain
from ..errors import DataError
from .encode import ROWS, Batch, check_type, encode_batches, locate, quietly
from .secrecy import masked

__all__ = [
    "SUFFIXES",
    "FileSource",
    "connect",
    "guesses_folders",
    "guesses_types",
    "identifier",
    "quoted",
    "stream",
]

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".json", ".jsonl", ".ndjson")
"""The endings of the names of files that can be read."""

_DIGITS = 38  # of a decimal; DuckDB makes a float of a longer one
_HEAD = 1 << 21
_DELIMITERS = ",;\t|"
_GUESSED = re.compile(r"READ_CSV|READ_JSON|READ_NDJSON|SNIFF_CSV|READ_XLSX|PANDAS_SCAN")
_QUOTED = re.compile(r"""'((?:[^']|'')+)'|"((?:[^"]|"")+)\"""")
_SETTLED = re.compile(
    r"hive_(types_autocast|partitioning)\s*(:=|=>|=)\s*('?false\b|0)", re.IGNORECASE
)
_LINE = re.compile(r"[\w ]+: CSV Error on Line: (\d+)")


@dataclass(frozen=True)
class FileSource:
    """The rows of one CSV, TSV, Parquet or JSON file, read anew in every pass; the memory it takes
    does not grow with them.

    CSV is read strictly: UTF-8 (a byte order mark is passed over), a header, as many cells in every
    row, quotes closed, line ends all alike. The delimiter of a .csv is the one of comma, semicolon,
    tab and bar under which the header names most attributes. All cells are texts; an empty one is a
    null, and "" in quotes the empty text. JSON is a record a line, or one array of records; a key
    that a record lacks is a null, but the first records must name it.

    Parameters
    ----------
    path
        Ends in one of `SUFFIXES`, in any case.
    shown
        What messages call the file, when not by its path.

    Raises
    ------
    DataError
        When the name ends otherwise.
    """

    path: Path
    shown: str = ""

    def __post_init__(self) -> None:
        if not self._lower.endswith(SUFFIXES):
            raise DataError(
                f"{self._shown} does not end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
            )

    def check(self, domain: Domain) -> None:
        """Refuse a file that is not there, is not what its name says, or lacks a declared column;
        no row is judged."""
        self.kinds(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time, in the order of the file."""
        return encode_batches(self.columns(domain.attributes, numbers=True), domain)

    def columns(self, names: Sequence[str], *, numbers: bool = False) -> Generator[Sequence[Any]]:
        """See `Tabular.columns`. With `numbers` truth values come as 0 and 1: the same, and sooner
        read."""
        fields, places = self._layout(names)
        if self._is_compressed:
            quietly(
                self._read_through,
                f"{self._shown} is damaged: its gzip checksum is wrong, or it is cut short",
            )
        with closing(connect()) as connection:
            read = (
                f"c{place}{'::UTINYINT' if numbers and fields[place].is_truth else ''}"
                for place in places
            )
            text = f"SELECT {', '.join(read)} FROM {self.query(fields)}"
            reader = quietly(lambda: stream(connection.sql(text)), self.failed)
            while (batch := quietly(lambda: next(reader, None), self.failed)) is not None:
                arrays = batch.columns
                if self._is_parquet:
                    yield [
                        _narrowed(array, fields[place].kind)
                        for array, place in zip(arrays, places, strict=True)
                    ]
                else:
                    yield list(map(self._texts, names, arrays))

    def kinds(self, names: Sequence[str]) -> list[Any]:
        """The Arrow types of these columns, None where the file states none; DataError when one
        cannot be read."""
        fields, places = self._layout(names)
        return [fields[place].kind for place in places]

    def query(self, fields: Sequence["Field"]) -> str:
        """DuckDB's SQL text that reads the file, with columns c0, c1, ... for its fields, whatever
        they are called."""
        place = quoted(glob.escape(str(self.path.absolute())))
        if self._is_parquet:
            listed = ", ".join(f"c{at}" for at in range(len(fields)))
            return f"read_parquet({place}, hive_partitioning = false) AS rows({listed})"
        if self._is_json:
            columns = ", ".join(f"{quoted(field.name)}: 'VARCHAR'" for field in fields)
            renamed = ", ".join(
                f"{identifier(field.name)} AS c{at}" for at, field in enumerate(fields)
            )
            return f"(SELECT {renamed} FROM read_json({place}, columns = {{{columns}}}, hive_partitioning = false))"
        columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(fields)))
        options = {
            "columns": f"{{{columns}}}",
            "delim": quoted(fields[0].delimiter),
            "compression": "'gzip'" if self._is_compressed else "'none'",
            "auto_detect": "false",
            "header": "true",
            "quote": "'\"'",
            "escape": "'\"'",
            "comment": "''",
            "strict_mode": "true",
            "allow_quoted_nulls": "false",
            "hive_partitioning": "false",
        }
        return (
            f"read_csv({place}, {', '.join(f'{key} = {value}' for key, value in options.items())})"
        )

    def fields(self, declared: Collection[str] = ()) -> list["Field"]:
        """The file's columns, in order; the delimiter of a .csv is found with the help of the
        declared names.

        Raises
        ------
        DataError
            When the file is not there or is not what its name says.
        """
        problem = (
            ""
            if self.path.is_file()
            else "is not a file"
            if self.path.exists()
            else "does not exist"
        )
        if problem:
            raise DataError(f"{self._shown} {problem}")
        if self._is_parquet:
            return self._parquet_fields()
        if self._is_json:
            return self._json_fields(declared)
        delimiters = "\t" if self._lower.endswith((".tsv", ".tsv.gz")) else _DELIMITERS
        head = self._head()
        readings = {delimiter: _first_row(head, delimiter) for delimiter in delimiters}
        wanted = {name.strip() for name in declared}
        best = max(
            readings,
            key=lambda it: (
                len(wanted & {name.strip() for name in readings[it]}),
                len(readings[it]),
            ),
        )
        if not readings[best]:
            raise DataError(f"{self._shown} has no header: its first line must name the columns")
        return [Field(name, best) for name in readings[best]]

    def failed(self, error: Exception) -> str:
        """What to say of a failure of DuckDB: the file and, in a CSV, the line; never the content."""
        line = _LINE.match(str(error))
        where = f" (line {line[1]})" if line else ""
        if self._is_parquet:
            return f"{self._shown} cannot be read: it is damaged or takes too much memory"
        if self._is_json:
            return f"{self._shown} is not well-formed: it must be UTF-8 and hold a record a line, or an array of records"
        return (
            f"{self._shown} is not well-formed{where}: it must be UTF-8, with as many cells in every row as in the "
            f"header, quotes closed and line ends all alike"
        )

    @property
    def _lower(self) -> str:
        return self.path.name.lower()

    @property
    def _shown(self) -> str:
        return f"data file {masked(self.shown or str(self.path))!r}"

    @property
    def _is_parquet(self) -> bool:
        return self._lower.endswith((".parquet", ".pq"))

    @property
    def _is_json(self) -> bool:
        return self._lower.endswith((".json", ".jsonl", ".ndjson"))

    @property
    def _is_compressed(self) -> bool:
        return self._lower.endswith(".gz")

    def _layout(self, names: Sequence[str]) -> tuple[list["Field"], list[int]]:
        """The file's fields and the places of the wanted columns, which are of types that can be
        read."""
        fields = self.fields(names)
        places = locate([field.name for field in fields], names, self._shown)
        for name, place in places.items():
            if fields[place].kind is not None:
                check_type(name, fields[place].kind)
                if self._is_parquet and getattr(fields[place].kind, "precision", 0) > _DIGITS:
                    raise DataError(
                        f"column {name!r} of {self._shown} holds decimals of more than {_DIGITS} digits, "
                        f"which would be rounded: write it as texts"
                    )
        return fields, list(places.values())

    def _read_through(self) -> None:
        """Let the checksum of a compressed file be checked, which DuckDB does not do."""
        with gzip.open(self.path) as file:
            while file.read(_HEAD):
                pass

    def _texts(self, name: str, column: Any) -> Any:
        """A column of texts by its distinct ones, none of which may hold a NUL."""
        import pyarrow.compute as pc

        encoded = column.dictionary_encode()
        if pc.any(pc.match_substring(encoded.dictionary, "\0")).as_py():
            raise DataError(f"{self._shown} holds a NUL character in column {name!r}")
        return encoded

    def _parquet_fields(self) -> list["Field"]:
        import pyarrow.parquet as pq

        wrong = f"{self._shown} is not what its name says: it cannot be read as Parquet"
        schema = quietly(lambda: pq.read_schema(self.path), wrong)
        return [Field(field.name, kind=field.type) for field in schema]

    def _json_fields(self, declared: Collection[str]) -> list["Field"]:
        """The keys of the first records; without records, any key will do."""
        place = quoted(glob.escape(str(self.path.absolute())))
        # Only its keys are asked for: however many records have, and whatever stands under them.
        keys = "map_inference_threshold = -1, maximum_depth = 1, hive_partitioning = false"
        text = f"SELECT * FROM read_json({place}, {keys})"
        with closing(connect()) as connection:
            relation = quietly(lambda: connection.sql(text), self.failed)
            names = relation.columns
            if names == ["json"] and not quietly(lambda: relation.limit(1).fetchall(), self.failed):
                names = list(declared)
        return [Field(name) for name in names]

    def _head(self) -> str:
        """The beginning of a file of text."""
        problem = "cannot be read"
        try:
            with gzip.open(self.path) if self._is_compressed else self.path.open("rb") as file:
                raw = file.read(_HEAD)
            if b"\0" not in raw and not raw.startswith((b"PAR1", b"\x1f\x8b")):
                return io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", "replace", newline="").read()
            problem = "is not what its name says: it is not a text in UTF-8"
        except (gzip.BadGzipFile, EOFError, zlib.error):
            problem = "is not what its name says: it is not compressed by gzip, or is cut short"
        except OSError as error:
            problem = f"cannot be read ({type(error).__name__})"
        raise DataError(f"{self._shown} {problem}")


@dataclass(frozen=True)
class Field:
    """A column of a file: its name, the delimiter of its CSV, its Arrow type when the file states
    one."""

    name: str
    delimiter: str = ","
    kind: Any = None

    @property
    def is_truth(self) -> bool:
        """Whether it holds truth values, by its type."""
        return str(self.kind) == "bool"


def connect(memory_limit: str = "1GB") -> Any:
    """A DuckDB of its own, in memory: it takes little of it, prints, writes and downloads nothing."""
    import duckdb

    limits = {
        "memory_limit": memory_limit,
        "temp_directory": "",
        "autoinstall_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config={**limits, "autoload_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")
    return connection


def stream(relation: Any) -> Any:
    """An Arrow reader of a DuckDB relation, under its name in DuckDB 2 or else its older one."""
    read = (
        relation.to_arrow_reader
        if hasattr(relation, "to_arrow_reader")
        else relation.fetch_arrow_reader
    )
    return read(ROWS)


def _first_row(head: str, delimiter: str) -> list[str]:
    """The names in a header; none when there is no header to read."""
    try:
        return next(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _narrowed(array: Any, kind: Any) -> Any:
    """A column of Parquet's 16-bit floats, which DuckDB widens, in their own width again; any other
    as it is."""
    from pyarrow import types

    return array.cast(kind) if types.is_float16(kind) else array


def guesses_types(plan: str) -> bool:
    """Whether a plan of DuckDB reads a file without stated types, or a pandas frame, whose object
    columns have none: it looks at some rows to tell how all are read."""
    return _GUESSED.search(plan.upper()) is not None


def guesses_folders(plan: str, texts: Sequence[str]) -> bool:
    """Whether queries read Parquet in folders called `name=value` and leave it to DuckDB to guess
    what the values are: whole numbers or dates if all of them can be, else texts. A path that is
    put together in the query is not found."""
    if "PARQUET" not in plan.upper():
        return False
    found = [pair for text in texts if not _SETTLED.search(text) for pair in _QUOTED.findall(text)]
    paths = [text.replace("''", "'") or name.replace('""', '"') for text, name in found]
    files = (file for path in paths for file in glob.iglob(path, recursive=True))
    return any("=" in part for file in files for part in Path(file).absolute().parent.parts)


def identifier(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: object) -> str:
    """A text, or a path, as SQL."""
    return "'" + str(text).replace("'", "''") + "'"
