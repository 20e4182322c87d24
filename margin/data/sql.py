"""`Sql`: the rows of a query, on the embedded DuckDB, a DuckDB file, or a PostgreSQL server; always
read-only."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..domain.domain import Domain
from ..errors import DataError
from .encode import ROWS, Batch, check_type, encode_batches, locate, quietly
from .files import FileSource, connect, guesses_folders, guesses_types, identifier, quoted, stream
from .folders import FilesSource, open_path
from .scratch import scratch
from .secrecy import is_path, masked

__all__ = ["Sql"]

_SERVERS = ("postgres:", "postgresql:")


@dataclass(frozen=True, repr=False)
class Sql:
    """The rows that a query gives, as a `Source`; one row of its result is what the guarantee
    protects.

    The query is run anew in each pass and must give the same rows each time. What a join or a group
    does to the rows of one person is the author's care: `unit=` and `max_rows=` of `release` bound
    it whatever the query does.

    Parameters
    ----------
    text
        One SELECT, in the database's own SQL. On DuckDB it may read Parquet files, as in `SELECT *
        FROM 'visits/*.parquet'`, which state their types. A CSV or JSON file in its text is
        refused: DuckDB would guess the types of all rows from some of them. Name such files in
        `files`.
    files
        CSV, Parquet or JSON files, folders or patterns by the names that the query uses for them.
        All cells of CSV and JSON are texts, as `open_source` reads them.
    attach
        Where the query runs: on an embedded DuckDB when not given; in the DuckDB file of that path;
        or on the PostgreSQL server of `"postgres:host=... dbname=..."` or
        `"postgresql://user@host/dbname"` (with `pip install 'margin[postgres]'`). Opened read-only.
        It may hold a password, and is never shown.
    memory_limit
        The most that the embedded DuckDB takes, such as `"500MB"`; beyond it, a sort or a group
        goes through a temporary folder that only this user can read.

    Raises
    ------
    DataError
        When an argument is not of this form.

    Examples
    --------
    >>> source = Sql("SELECT i % 2 AS even, i % 3 AS rest FROM range(6) AS t(i)")
    >>> [batch["rest"].tolist() for batch in source.batches(Domain({"rest": 3}))]
    [[0, 1, 2, 0, 1, 2]]
    >>> files = {"visits": "visits.csv", "people": "people.csv"}
    >>> joined = Sql("SELECT dose, sex FROM visits JOIN people USING (id)", files=files)
    """

    text: str
    attach: str | None = field(default=None, kw_only=True)
    memory_limit: str = field(default="1GB", kw_only=True)
    files: "Mapping[str, str | os.PathLike[str]]" = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip(" \t\r\n;"):
            raise DataError("the text of a query must be one SELECT")
        if self.attach is not None and not (isinstance(self.attach, str) and self.attach):
            raise DataError(
                "attach must be the path of a DuckDB file, or postgres:... with the server's parameters"
            )
        if self.files and self._is_on_server:
            raise DataError(
                "files= are read by the embedded DuckDB; a query on PostgreSQL takes its tables from there"
            )

    def check(self, domain: Domain) -> None:
        """Refuse a query that the database does not accept, or whose result lacks a declared
        column; none is run."""
        with self._result(rows=False) as reader:
            self._places(reader.schema, domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """See `Source`: the codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes), domain)

    def columns(self, names: Sequence[str]) -> Generator[Sequence[Any]]:
        """See `Tabular.columns`."""
        with self._result() as reader:
            places = self._places(reader.schema, names)
            while (batch := quietly(lambda: next(reader, None), self._failed)) is not None:
                for start in range(0, batch.num_rows, ROWS):
                    yield [batch.column(place).slice(start, ROWS) for place in places]

    @property
    def _is_on_server(self) -> bool:
        return self.attach is not None and self.attach.startswith(_SERVERS)

    @property
    def _where(self) -> str:
        if self.attach is None:
            return "the SQL query"
        return (
            "the SQL query on PostgreSQL"
            if self._is_on_server
            else f"the SQL query on {self._database}"
        )

    @property
    def _database(self) -> str:
        """The database, for a message: by its path, unless that may be an address with a password."""
        assert self.attach is not None
        return repr(self.attach) if is_path(self.attach) else "the database of attach="

    def __repr__(self) -> str:
        return f"Sql({masked(self.text)!r}, memory_limit={self.memory_limit!r})"

    def _places(self, schema: Any, names: Sequence[str]) -> list[int]:
        places = locate(schema.names, names, f"the result of {self._where}")
        for name, place in places.items():
            check_type(name, schema.field(place).type)
        return list(places.values())

    def _failed(self, error: Exception) -> str:
        """What went wrong, by its kind: a database's own message may quote rows."""
        state = getattr(error, "sqlstate", None)
        kind = f"{type(error).__name__}{f', SQLSTATE {state}' if state else ''}"
        return f"{self._where} failed ({kind}); run it in the database's own shell to see why"

    def _result(self, *, rows: bool = True) -> Any:
        """An Arrow reader of the result; of its columns only, without `rows`."""
        return self._from_postgres(rows) if self._is_on_server else self._from_duckdb(rows)

    @contextmanager
    def _from_duckdb(self, rows: bool) -> Generator[Any]:
        named = self._named_files()
        with self._connected(
            {name: _stub(name, file) for name, file in named.items()}
        ) as connection:
            plan = quietly(lambda: self._plan(connection), self._failed)
            texts = [self.text, *quietly(lambda: _views(connection), self._failed)]
        if guesses_types(plan):
            raise DataError(
                f"{self._where} reads a CSV or JSON file, the types of which DuckDB would guess from "
                f"its rows; name the file, as in files={{'visits': 'visits.csv'}} or --table visits=visits.csv, "
                f"and select from visits: its cells are then texts"
            )
        if guesses_folders(plan, texts):
            raise DataError(
                f"{self._where} reads files in folders called name=value, and DuckDB would guess the type of the "
                f"values from all folders that there are; give read_parquet hive_types_autocast = false, "
                f"so that they are texts, or hive_partitioning = false"
            )
        with self._connected(
            {name: _view(name, file) for name, file in named.items()}
        ) as connection:
            query = quietly(lambda: connection.sql(self.text), self._failed)
            yield quietly(lambda: stream(query if rows else query.limit(0)), self._failed)

    @contextmanager
    def _connected(self, views: Mapping[str, str]) -> Generator[Any]:
        """A DuckDB with the attached file and these views."""
        with ExitStack() as stack:
            wrong = f"memory_limit ({self.memory_limit!r}) must be a size such as '500MB'"
            connection = stack.enter_context(
                closing(quietly(lambda: connect(self.memory_limit), wrong))
            )
            folder = stack.enter_context(scratch())
            connection.execute(f"SET temp_directory = {quoted(folder)}")
            connection.execute(
                "SET python_enable_replacements = false"
            )  # no name in a query means a Python variable
            if self.attach is not None:
                place = quoted(self.attach)
                quietly(
                    lambda: connection.execute(
                        f"ATTACH {place} AS attached (TYPE duckdb, READ_ONLY); USE attached"
                    ),
                    f"{self._database} cannot be opened as a DuckDB file; attach must be one, or postgres:...",
                )
            for name, view in views.items():
                text = f"CREATE TEMP VIEW {identifier(name)} AS {view}"
                quietly(
                    partial(connection.execute, text),
                    f"files={{{name!r}: ...}} cannot be read by DuckDB",
                )
            yield connection

    def _named_files(self) -> dict[str, FileSource | FilesSource]:
        return {name: open_path(path) for name, path in self.files.items()}

    def _plan(self, connection: Any) -> str:
        """What DuckDB would do, as a text, all of it; the query is one SELECT."""
        import duckdb

        statements = connection.extract_statements(self.text)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise DataError(f"{self._where} must be one SELECT")
        connection.execute(
            "PRAGMA disable_optimizer"
        )  # what the optimiser leaves out may still decide about types
        return str(connection.execute(f"EXPLAIN (FORMAT json) {self.text}").fetchall())

    @contextmanager
    def _from_postgres(self, rows: bool) -> Generator[Any]:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise DataError("PostgreSQL needs its driver: pip install 'margin[postgres]'") from None
        assert self.attach is not None
        address = self.attach if "://" in self.attach else self.attach.split(":", 1)[1]
        address = address.replace("postgres://", "postgresql://", 1)
        unreachable = "the PostgreSQL server of attach= cannot be reached, or refuses the user; check host and name"
        with ExitStack() as stack:
            connection = stack.enter_context(
                closing(quietly(lambda: dbapi.connect(address), unreachable))
            )
            cursor = stack.enter_context(closing(quietly(connection.cursor, unreachable)))
            quietly(
                lambda: cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                ),
                self._failed,
            )
            query = self.text.rstrip(" \t\r\n;")
            if rows:
                quietly(lambda: cursor.execute(query), self._failed)
                yield quietly(cursor.fetch_record_batch, self._failed)
            else:
                schema = quietly(lambda: cursor.adbc_execute_schema(query), self._failed)
                yield _Columns(schema)


@dataclass(frozen=True)
class _Columns:
    """The columns of a result that is not run."""

    schema: Any


def _views(connection: Any) -> list[str]:
    """The texts of the views of an attached file."""
    found = connection.execute(
        "SELECT sql FROM duckdb_views() WHERE NOT internal AND NOT temporary"
    ).fetchall()
    return [text for (text,) in found]


def _view(name: str, files: FileSource | FilesSource) -> str:
    """SQL for the rows of some files under the names of their columns."""
    sources = _each(files)
    _check_kinds(name, sources)
    return " UNION ALL BY NAME ".join(
        _selected(file, file.query(file.fields())) for file in sources
    )


def _stub(name: str, files: FileSource | FilesSource) -> str:
    """What the plan is made with: CSV and JSON as a table of texts without rows, so that the plan
    shows no such file."""
    if all(field.kind is not None for file in _each(files) for field in file.fields()):
        return _view(name, files)
    nothing = "(SELECT {}) WHERE false"
    return " UNION ALL BY NAME ".join(
        _selected(
            file,
            nothing.format(
                ", ".join(f"NULL::VARCHAR AS c{at}" for at in range(len(file.fields())))
            ),
        )
        for file in _each(files)
    )


def _check_kinds(name: str, sources: Sequence[FileSource]) -> None:
    """Refuse files whose columns of one name differ in type: DuckDB would cast the rows of one file
    to a type that suits the others, and a 32-bit 0.1 is not 0.1 in 64 bits."""
    seen: dict[str, str] = {}
    for column in (column for source in sources for column in source.fields()):
        kind = _kind(column.kind)
        if kind and seen.setdefault(column.name.casefold(), kind) != kind:
            raise DataError(
                f"files={{{name!r}: ...}} hold column {column.name!r} in different types; a query needs one "
                f"type: write the files anew, or pass the folder itself as data"
            )


def _kind(kind: Any) -> str:
    """A type, for comparison: integers of all widths are one; empty where the type says nothing."""
    from pyarrow import types

    if kind is None or types.is_null(kind):
        return ""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return "integer" if types.is_integer(kind) else str(kind).removeprefix("large_")


def _selected(file: FileSource, rows: str) -> str:
    columns = (f"c{at} AS {identifier(field.name)}" for at, field in enumerate(file.fields()))
    return f"SELECT {', '.join(columns)} FROM {rows}"


def _each(files: FileSource | FilesSource) -> Sequence[FileSource]:
    return [files] if isinstance(files, FileSource) else [FileSource(path) for path in files.paths]
