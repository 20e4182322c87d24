"""CSV, TSV, Parquet and JSON files as sources. An embedded DuckDB reads them in batches of rows."""

import csv
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._names import did_you_mean
from .._secrecy import masked
from ..domain.domain import Domain
from ..errors import DataError
from ..interrupts import interruptible, shielded
from ..interrupts.share import is_heard
from ..interrupts.shortage import raise_shortage
from .advance import RowsRead, rows_of_file
from .checks.checksums import compare_checksums
from .encode import ROWS, Batch, check_type, encode_batches, locate, quietly
from .failures import is_about_content, is_damage, unknown
from .steady import unchanged

__all__ = [
    "FROM_SQLITE",
    "MEMORY",
    "SUFFIXES",
    "WELL_FORMED_CSV",
    "WELL_FORMED_JSON",
    "Field",
    "FileSource",
    "connected",
    "identifier",
    "is_empty",
    "is_sqlite",
    "measure",
    "quoted",
    "similar",
    "stream",
]

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".json", ".jsonl", ".ndjson")
"""The endings of the names of files that can be read."""

FROM_SQLITE = (
    "write the table of the SQLite file as CSV, as in sqlite3 -header -csv people.db "
    "'SELECT * FROM people' > people.csv, and give the CSV file"
)
"""How to get from a file of SQLite, which is no source, to one that is, for messages."""

_SQLITE = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""

MEMORY = "1GB"
"""The memory of an embedded DuckDB if the caller does not say otherwise."""

_CASTS_IN_READER = "type_pushdown"
"""The step of DuckDB's optimizer that lets the reader of a text file make the casts of a query. The
reader fails at a text that try_cast would turn into null, and tells the form of dates from other
rows."""

_DIGITS = 38
"""Largest number of digits of a decimal. DuckDB rounds a longer decimal to a float."""

_HEAD = 1 << 21
"""Number of bytes at the beginning of a text file in which its header is found."""

_DELIMITERS = ",;\t|"
"""The delimiters that a .csv file may have."""

WELL_FORMED_CSV = (
    "it must be encoded in UTF-8, with as many cells in every row as in the header, quotes closed "
    "and line ends all alike"
)
WELL_FORMED_JSON = (
    "it must be encoded in UTF-8 and hold one record per line, or one array of records"
)
"""What a file must be, for messages."""

_LINE = re.compile(r"[\w ]+: CSV Error on Line: (\d+)")


@dataclass(frozen=True)
class FileSource:
    """The rows of one CSV, TSV, Parquet or JSON file. The file is read anew in every pass, in
    memory that does not grow with the number of rows.

    A CSV file must be strictly well-formed: encoded in UTF-8 (with or without a byte order mark),
    with a header, the same number of cells in every row, closed quotes, and one kind of line end.
    The delimiter of a .csv file is a comma, semicolon, tab or bar, whichever makes the header name
    most attributes. All cells are texts. An empty cell is a null, and "" in quotes is the empty
    text. A JSON file holds one record per line or one array of records. A key that a record lacks
    is a null there, but the first records must have all keys.

    Parameters
    ----------
    path
        The path of the file. It ends in one of `SUFFIXES`, in upper or lower case.
    shown
        The name of the file in messages; its path when not given.
    memory_limit
        The largest amount of memory of the embedded DuckDB that reads the file, and that groups its
        rows by unit, such as `"500MB"`.

    Raises
    ------
    DataError
        When the name has another ending.
    """

    path: Path
    shown: str = ""
    memory_limit: str = field(
        default=MEMORY,
        kw_only=True,
    )

    def __post_init__(self) -> None:
        if not self._lower.endswith(SUFFIXES):
            if self._lower.endswith(".margin"):
                raise DataError(
                    f"data must be the table to release, but {self.described} is the result of a "
                    "release; give the table, or read the release with margin.load"
                )
            way_out = FROM_SQLITE if is_sqlite(self.path) else "convert it to one of these formats"
            raise DataError(
                f"a data file must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, but "
                f"{self.described} does not; {way_out}"
            )

    def check(self, domain: Domain) -> None:
        """Refuse a file that does not exist, has another format than its name says, or lacks a
        declared column. No row is checked."""
        self.kinds(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time, in the order of the file."""
        return encode_batches(self.columns(domain.attributes, numbers=True), domain)

    def columns(
        self,
        names: Sequence[str],
        *,
        numbers: bool = False,
    ) -> Generator[Sequence[Any]]:
        """Read the named columns in batches of rows, each column as an Arrow array. With `numbers`,
        truth values are read as 0 and 1, which have the same codes and take less time."""
        fields, places = self._layout(names)
        self.compare_checksums([fields[place].name for place in places])
        read = []
        for place in places:
            as_number = numbers and fields[place].is_truth
            read.append(f"c{place}::UTINYINT" if as_number else f"c{place}")
        text = f"SELECT {', '.join(read)} FROM {self.query(fields)}"
        kinds = [fields[place].kind for place in places]
        with (
            unchanged(str(self.path), [self.path]),
            closing(connected(self.memory_limit)) as connection,
        ):
            # DuckDB knows a share, too, but it stops telling while rows wait for a slow reader.
            progress = RowsRead(rows_of_file(self.path)) if is_heard() else None
            reader = quietly(lambda: stream(connection.sql(text)), self.failed)
            while (batch := quietly(lambda: next(reader, None), self.failed)) is not None:
                if progress is not None:
                    progress.add(batch.num_rows)
                if self._is_parquet:
                    yield list(map(_narrowed, batch.columns, kinds))
                else:
                    yield list(map(self._texts, names, batch.columns))

    def compare_checksums(self, names: Sequence[str] | None = None) -> None:
        """Compare a compressed file, or the named columns of a Parquet file (all when not given),
        with the checksums that the file holds, if there are any.

        Raises
        ------
        DataError
            When the file differs from a checksum.
        """
        if self._is_compressed or self._is_parquet:
            compare_checksums(self.path, self.described, names, hint=self._hint)

    def read_through(self) -> None:
        """Read all rows and all columns.

        Raises
        ------
        DataError
            When the file cannot be read to its end, or differs from a checksum that it holds.
        """
        fields = self.fields()
        self.compare_checksums()
        if not fields:
            return
        with closing(connected(self.memory_limit)) as connection:
            text = f"SELECT * FROM {self.query(fields)}"
            reader = quietly(lambda: stream(connection.sql(text)), self.failed)
            while quietly(lambda: next(reader, None), self.failed) is not None:
                pass

    def kinds(self, names: Sequence[str]) -> list[Any]:
        """The Arrow types of the named columns; None for a column whose type the file does not
        state. DataError when a column is missing or cannot be read."""
        fields, places = self._layout(names)
        return [fields[place].kind for place in places]

    def query(self, fields: Sequence["Field"]) -> str:
        """The SQL text with which DuckDB reads the file. The fields become columns c0, c1, ...,
        whatever their names are."""
        place = quoted(glob.escape(str(self.path.absolute())))
        if self._is_parquet:
            listed = ", ".join(f"c{at}" for at in range(len(fields)))
            return f"read_parquet({place}, hive_partitioning = false) AS rows({listed})"
        if self._is_json:
            columns = ", ".join(f"{quoted(field.name)}: 'VARCHAR'" for field in fields)
            names = [f"{identifier(field.name)} AS c{at}" for at, field in enumerate(fields)]
            json_options = f"columns = {{{columns}}}, hive_partitioning = false"
            return f"(SELECT {', '.join(names)} FROM read_json({place}, {json_options}))"
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
        listed = ", ".join(f"{key} = {value}" for key, value in options.items())
        return f"read_csv({place}, {listed})"

    def fields(self, declared: Collection[str] = ()) -> list["Field"]:
        """The columns of the file, in order. The declared names help to find the delimiter of a
        .csv file.

        Raises
        ------
        DataError
            When the file does not exist, or has another format than its name says.
        """
        if not self.path.exists():
            raise DataError(f"{self.described} does not exist; check the path{similar(self.path)}")
        if not self.path.is_file():
            raise DataError(f"{self.described} is not a file; give the path of a file")
        if self._is_parquet:
            return self._parquet_fields()
        if self._is_json:
            return self._json_fields(declared)
        delimiters = "\t" if self._lower.endswith((".tsv", ".tsv.gz")) else _DELIMITERS
        head = self._head()
        readings = {delimiter: _first_row(head, delimiter) for delimiter in delimiters}
        wanted = {name.strip() for name in declared}

        def rank(delimiter: str) -> tuple[int, int]:
            names = readings[delimiter]
            found = wanted & {name.strip() for name in names}
            return len(found), len(names)

        best = max(readings, key=rank)
        if not readings[best]:
            raise DataError(
                f"the first line of {self.described} must name the columns, but the file has no "
                f"header; add one{self._hint}"
            )
        return [Field(name, best) for name in readings[best]]

    def failed(self, error: Exception) -> str:
        """The message for a failure of DuckDB. It names the file and the record of a CSV file,
        never their content."""
        if self._is_parquet and is_damage(error):
            return (
                f"{self.described} must be a sound Parquet file, but DuckDB cannot read a part of "
                f"it, so it is damaged; copy it again, or write it anew{self._hint}"
            )
        # DuckDB names no kind for most errors in Parquet files.
        if self._is_parquet or not is_about_content(error):
            return f"{unknown(error, self.described)}{self._hint}"
        if self._is_json:
            return (
                f"{self.described} is not well-formed: {WELL_FORMED_JSON}; correct it{self._hint}"
            )
        line = _LINE.match(str(error))
        # DuckDB counts records: a row with line breaks inside quotes is one of them.
        where = f" (record {line[1]}, counting the header)" if line else ""
        return f"{self.described} is not well-formed{where}: {WELL_FORMED_CSV}{self._hint}"

    @property
    def _lower(self) -> str:
        return self.path.name.lower()

    @property
    def described(self) -> str:
        """The file, for a message."""
        return f"data file {masked(self.shown or str(self.path))!r}"

    @property
    def _hint(self) -> str:
        """Where the holder of the data finds the whole path, if the message does not show it."""
        is_hidden = self.shown not in ("", str(self.path))
        return "; margin domain check names the file" if is_hidden else ""

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
        """The fields of the file, and the positions of the wanted columns. DataError if one has a
        type that cannot be read."""
        fields = self.fields(names)
        places = locate([field.name for field in fields], names, self.described)
        for name, place in places.items():
            kind = fields[place].kind
            if kind is None:
                continue
            check_type(name, kind)
            if self._is_parquet and getattr(kind, "precision", 0) > _DIGITS:
                raise DataError(
                    f"column {name!r} of {self.described} holds decimals of more than {_DIGITS} "
                    "digits, which would be rounded; write it as texts"
                )
        return fields, list(places.values())

    def _texts(
        self,
        name: str,
        column: Any,
    ) -> Any:
        """A column of texts as a dictionary array. DataError if a text contains a NUL."""
        import pyarrow.compute as pc

        encoded = column.dictionary_encode()
        if pc.any(pc.match_substring(encoded.dictionary, "\0")).as_py():
            raise DataError(
                f"{self.described} holds a NUL character in column {name!r}; remove it from the "
                "file"
            )
        return encoded

    def _parquet_fields(self) -> list["Field"]:
        import pyarrow.parquet as pq

        found = "is empty (0 bytes)" if is_empty(self.path) else "cannot be read as one"
        wrong = (
            f"{self.described} must be a Parquet file, by its ending, but {found}; check that the "
            f"file is complete{self._hint}"
        )
        schema = quietly(lambda: pq.read_schema(self.path), wrong)
        return [Field(field.name, kind=field.type) for field in schema]

    def _json_fields(self, declared: Collection[str]) -> list["Field"]:
        """Find the columns of a JSON file: the keys of its first records. A file without records
        counts as one with all declared columns."""
        place = quoted(glob.escape(str(self.path.absolute())))
        # These options find the keys only, however many there are and whatever their values are.
        keys = "map_inference_threshold = -1, maximum_depth = 1, hive_partitioning = false"
        text = f"SELECT * FROM read_json({place}, {keys})"
        with closing(connected(self.memory_limit)) as connection:
            relation = quietly(lambda: connection.sql(text), self.failed)
            names = relation.columns
            if names == ["json"] and not quietly(lambda: relation.limit(1).fetchall(), self.failed):
                names = list(declared)
        return [Field(name) for name in names]

    def _head(self) -> str:
        """Read the beginning of a text file, decompressed if needed.

        Raises
        ------
        DataError
            When the file cannot be read, or is not a text.
        """
        problem = "cannot be read"
        try:
            with gzip.open(self.path) if self._is_compressed else self.path.open("rb") as file:
                raw = file.read(_HEAD)
            if b"\0" not in raw and not raw.startswith((b"PAR1", b"\x1f\x8b")):
                return io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", "replace", newline="").read()
            problem = "must be text in UTF-8, by its ending, but is not; save it in UTF-8"
        except (gzip.BadGzipFile, EOFError, zlib.error):
            problem = "must be a complete gzip file, by its ending, but is not; save it anew"
        except OSError as error:
            raise_shortage(error)
            problem = f"cannot be read ({type(error).__name__}); check its permissions"
        raise DataError(f"{self.described} {problem}{self._hint}")


@dataclass(frozen=True)
class Field:
    """A column of a file: its name, the delimiter of its CSV file, and its Arrow type if the file
    states it."""

    name: str
    delimiter: str = ","
    kind: Any = None

    @property
    def is_truth(self) -> bool:
        """Whether the column has the type of truth values."""
        return str(self.kind) == "bool"


def connected(memory_limit: str = MEMORY) -> Any:
    """A new DuckDB connection in memory. It uses at most this much memory, and it prints, writes
    and downloads nothing.

    Raises
    ------
    DataError
        When the limit is not a size.
    ResourceError
        When the machine has too little memory even to begin.
    """

    def failed(error: Exception) -> str:
        # DuckDB raises this class for an option that it cannot parse, and for nothing else here.
        if type(error).__name__ == "ParserException":
            return f"the memory limit ({memory_limit!r}) must be a size such as '500MB'"
        return unknown(error, "the table")

    return quietly(lambda: _connect(memory_limit), failed)


def _connect(memory_limit: str) -> Any:
    with shielded():  # its import cannot be repeated after an interrupt
        import duckdb

    options: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory_limit,
        "temp_directory": "",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=options)
    connection.execute("SET enable_progress_bar = false")
    # A row must be read by itself, and older versions have no such step.
    steps = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    if (_CASTS_IN_READER,) in steps:
        connection.execute(f"SET disabled_optimizers = '{_CASTS_IN_READER}'")
    interruptible(connection)
    return connection


def measure(connection: Any) -> None:
    """Let DuckDB know which share of a query is done, without printing it."""
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute("SET progress_bar_time = 0")


def stream(relation: Any) -> Any:
    """An Arrow reader of a DuckDB relation, in batches of `ROWS` rows."""
    # The method was renamed in DuckDB 2.
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(ROWS)
    return relation.fetch_arrow_reader(ROWS)


def _first_row(head: str, delimiter: str) -> list[str]:
    """The names in a header; an empty list if the header cannot be read."""
    lines = io.StringIO(head, newline="")
    try:
        return next(
            csv.reader(
                lines,
                delimiter=delimiter,
                strict=True,
            ),
            [],
        )
    except csv.Error:
        return []


def _narrowed(array: Any, kind: Any) -> Any:
    """A column of 16-bit floats, which DuckDB widens, in its own width again. Any other column is
    returned unchanged."""
    from pyarrow import types

    return array.cast(kind) if types.is_float16(kind) else array


def is_empty(path: "str | os.PathLike[str]") -> bool:
    """Whether a file has no byte; false if it cannot be looked at."""
    with suppress(OSError):
        return os.path.getsize(path) == 0
    return False


def is_sqlite(path: "str | os.PathLike[str]") -> bool:
    """Whether a file begins as all files of SQLite do; false if it cannot be read, or if it is a
    pipe."""
    if not os.path.isfile(path):
        return False
    with suppress(OSError), open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
    return False


def similar(path: Path) -> str:
    """Suggest another name for a path that does not exist; empty if none in its folder is similar.

    A folder named `name=value` holds a value of the data, so its name is not shown.
    """
    try:
        names = [other.name for other in path.parent.iterdir()]
    except OSError:
        return ""
    return did_you_mean(path.name, [name for name in names if "=" not in name])


def identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: object) -> str:
    """A text or a path as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"
