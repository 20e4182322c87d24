"""`Sql`: the rows of a query on the embedded DuckDB, a DuckDB file or a PostgreSQL server.
Databases are opened read-only."""

import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .._secrecy import is_path, masked
from ..domain.domain import Domain
from ..errors import BusyTableError, DataError
from ..interrupts import interruptible
from ..interrupts.share import is_heard
from ..interrupts.shortage import raise_shortage
from .advance import RowsRead
from .checks.checksums import compare_checksums
from .encode import ROWS, Batch, check_type, encode_batches, locate, quietly
from .failures import Problem, is_about_content, lacks_column, unknown
from .files import FROM_SQLITE, connected, identifier, is_sqlite, quoted, stream
from .folders import open_path, without_values
from .queries.causes import FailedQueryError, likely_cause, missing_file, on_a_lacking_column
from .queries.server import asked, reader_with_states, snapshot_is_gone, unreachable
from .queries.set_operations import mixes_parts
from .queries.states import named
from .queries.tables import TableOfFiles, is_named, lacked
from .queries.types_of_files import (
    damaged_file,
    definitions,
    guesses_folders,
    guesses_types,
    parquet_files,
    refuse_mixed_types,
)
from .scratch import scratch
from .steady import kept, unchanged

__all__ = ["Sql"]

T = TypeVar("T")

_SERVERS = ("postgres:", "postgresql:")

_ABOUT_THE_TEXT = ("ParserException", "CatalogException", "BinderException")
"""Errors of DuckDB that are found in the text of a query."""

_READ_EARLY = re.compile(r"csv|json|xlsx", re.IGNORECASE)

_CANDIDATES = re.compile(r"\s*Candidate (bindings|functions):[^\n]*(\n\t[^\n]*)*")

_EXPLAIN = r"EXPLAIN \(FORMAT json\) "
"""The words before a query that is explained, as a regular expression."""

_NO_TIMEOUT = (
    "SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN "
    "('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')"
)
"""Switches off the timeouts of the current transaction that this version of PostgreSQL has."""

_SYNTAX = "42"
"""The class of SQLSTATE for errors in the text of a query."""


@dataclass(
    frozen=True,
    repr=False,
)
class Sql:
    """The rows of a query's result, as a `Source`. The guarantee protects one row of the result.

    The query runs anew in each pass and must give the same rows each time. In a release, all passes
    over a PostgreSQL server see one snapshot, and files must not change meanwhile. A join or a
    group may turn one row of a person into many. `unit=` and `rows_per_person=` of `release` bound
    the rows of each person in the result. This protects all rows of a person in the tables of the
    query if the result's rows of each person depend on this person's rows alone
    (docs/proofs/units.md).

    Parameters
    ----------
    text
        One SELECT in the SQL of the database. On DuckDB it may read Parquet files, which state
        their types, as in `SELECT * FROM 'visits/*.parquet'`. The files of a pattern or a list must
        have one type for each column, and their names must be quoted, not composed from parts. The
        parts of UNION, INTERSECT and EXCEPT that read Parquet files must have one type, too.
        CSV and JSON files in its text are refused, because DuckDB would guess the types of all rows
        from some of them. Name such files in `files`.
    files
        CSV, Parquet or JSON files, folders or patterns, by the names that the query uses for them.
        All cells of CSV and JSON files are texts, as `open_source` reads them. A table has the
        columns that all of its files have. A query that needs another one is refused. So are files
        beside a PostgreSQL server.
    attach
        The database in which the query runs, opened read-only: an embedded DuckDB when not given;
        a DuckDB file, by its path; or a PostgreSQL server, as `"postgres:host=... dbname=..."` or
        `"postgresql://user@host/dbname"` (run `pip install adbc-driver-postgresql`). It may
        contain a password, so no message shows it.
    memory_limit
        The largest amount of memory of the embedded DuckDB, such as `"500MB"`. Larger sorts and
        groups use a temporary folder that only this user can read.

    Raises
    ------
    DataError
        When an argument has another form.

    Examples
    --------
    >>> source = Sql("SELECT i % 2 AS even, i % 3 AS rest FROM range(6) AS t(i)")
    >>> [batch["rest"].tolist() for batch in source.batches(Domain({"rest": 3}))]
    [[0, 1, 2, 0, 1, 2]]
    >>> files = {"visits": "visits.csv", "people": "people.csv"}
    >>> joined = Sql("SELECT dose, sex FROM visits JOIN people USING (id)", files=files)
    """

    text: str
    attach: str | None = field(
        default=None,
        kw_only=True,
    )
    memory_limit: str = field(
        default="1GB",
        kw_only=True,
    )
    files: "Mapping[str, str | os.PathLike[str]]" = field(
        default_factory=dict,
        kw_only=True,
    )

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip(" \t\r\n;"):
            is_text = isinstance(self.text, str)
            found = "empty" if is_text else f"of type {type(self.text).__name__}"
            raise DataError(
                f"the query must be a text with one SELECT, but it is {found}; write a query such "
                "as 'SELECT age, sex FROM people'"
            )
        if self.attach is not None and not (isinstance(self.attach, str) and self.attach):
            found = "empty" if self.attach == "" else f"of type {type(self.attach).__name__}"
            raise DataError(
                "attach must be the path of a DuckDB file, or postgres:... with the server's "
                f"parameters; it is {found}, so correct it or leave it out"
            )
        if self.files and self._is_on_server:
            raise DataError(
                "a query reads either a PostgreSQL server or files, but attach= names a server, "
                "and files= (--table on the command line) names files; load the files into tables "
                "of the server, or export its tables to files and leave attach= out"
            )

    def check(self, domain: Domain) -> None:
        """Refuse a query that the database does not accept, or whose result lacks a declared
        column. The query is not run."""
        with self.result(rows=False) as reader:
            self._places(reader.schema, domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Read the codes of all attributes in batches of at most `ROWS` rows; an array has shape
        (rows,)."""
        return encode_batches(self.columns(domain.attributes), domain)

    def columns(self, names: Sequence[str]) -> Generator[Sequence[Any]]:
        """Read the named columns in batches of at most `ROWS` rows, as Arrow arrays."""
        with self.result() as reader:
            places = self._places(reader.schema, names)
            while (batch := quietly(lambda: next(reader, None), self.failed)) is not None:
                for start in range(0, batch.num_rows, ROWS):
                    yield [batch.column(place).slice(start, ROWS) for place in places]

    @property
    def _is_on_server(self) -> bool:
        return self.attach is not None and self.attach.startswith(_SERVERS)

    @property
    def _where(self) -> str:
        """The query and its database, for a message."""
        if self.attach is None:
            return "the SQL query"
        if self._is_on_server:
            return "the SQL query on PostgreSQL"
        return f"the SQL query on {self._database}"

    @property
    def _database(self) -> str:
        """The database, for a message. Its path is shown, unless it may be an address with a
        password."""
        assert self.attach is not None
        return repr(self.attach) if is_path(self.attach) else "the database of attach="

    def __repr__(self) -> str:
        return f"Sql({masked(self.text)!r}, memory_limit={self.memory_limit!r})"

    def _places(
        self,
        schema: Any,
        names: Sequence[str],
    ) -> list[int]:
        """The positions of the named columns; DataError if one has a type that cannot be read."""
        # The columns of `SELECT *` are those that all files have.
        lacking = {name.strip() for name in names} - {name.strip() for name in schema.names}
        if lacking and (error := lacked(self._tables(), lambda name: name.strip() in lacking)):
            raise error
        places = locate(schema.names, names, f"the result of {self._where}")
        for name, place in places.items():
            check_type(name, schema.field(place).type)
        return list(places.values())

    def refused(self, error: Exception) -> str | FailedQueryError:
        """The message for a failure before any row is read. It shows the database's own message if
        that is about the text of the query."""
        state = getattr(error, "sqlstate", None)
        # DuckDB reads the beginning of a CSV or JSON file in the text before it plans the query.
        if not _READ_EARLY.search(self.text) and (told := _without_rows(error, state)):
            return f"{self._where} is not valid: {told}"
        looks_at_files = not self._is_on_server and is_about_content(error)
        if looks_at_files and (told := damaged_file([self.text])):
            return told
        return self.failed(error)

    def failed(self, error: Exception) -> str | FailedQueryError:
        """The message or the error for a failure that may be due to rows. It shows no word of the
        database, but may name a file of the query that is not there."""
        kind = named(getattr(error, "sqlstate", None)) or type(error).__name__
        failed = f"{self._where} must run without an error, but it failed ({kind})"
        unexplained = f"{failed}; run it in the database's own shell to see why"
        if self._is_on_server:
            return unexplained
        if told := missing_file(error, self.text):
            return f"{self._where} {told}"
        if cause := likely_cause(error):
            told = f"{failed}; a likely cause is that {cause}"
            return told if lacks_column(error) else FailedQueryError(told)
        if not is_about_content(error):
            return FailedQueryError(unknown(error, self._where))
        return FailedQueryError(unexplained)

    def result(self, *, rows: bool = True) -> Any:
        """Run the query for the length of a `with` block; it gives an Arrow reader of the result.

        If `rows` is false, the reader has the columns and no rows.
        """
        return self._from_postgres(rows) if self._is_on_server else self._from_duckdb(rows)

    @contextmanager
    def _from_duckdb(self, rows: bool) -> Generator[Any]:
        """Run the query on DuckDB; see `result`."""
        tables = self._tables()
        # First look at the plan, without any rows, for types that DuckDB would guess.
        with self._connected({table.name: table.stub() for table in tables}) as connection:
            texts = quietly(lambda: definitions(connection.sql, [self.text]), self.refused)
            # The views of `files` join files by UNION ALL; `TableOfFiles` compares their columns.
            own = quietly(lambda: _own_views(connection), self.refused)
            others = [text for text in texts if text not in own]
            if error := lacked(tables, partial(is_named, others)):
                raise error
            plan = quietly(lambda: self._plan(connection), self.refused)
            parts = quietly(lambda: self._parts(connection, plan, others), self.refused)
        if guesses_types(plan):
            raise DataError(
                f"{self._where} reads a CSV or JSON file, and DuckDB would guess its types from "
                "some rows; name the file, as in files={'visits': 'visits.csv'} or --table "
                "visits=visits.csv, and select from visits, so that its cells are texts"
            )
        if guesses_folders(plan, texts):
            raise DataError(
                f"{self._where} reads files in folders named name=value, and DuckDB would guess "
                "the type of the values from all folders; pass hive_types_autocast = false to "
                "read_parquet, so that they are texts, or hive_partitioning = false"
            )
        refuse_mixed_types(plan, texts, self._where)
        if parts:
            raise DataError(f"{self._where} {parts}")
        views = {table.name: table.rows() for table in tables}
        with ExitStack() as stack:
            if rows:
                stack.enter_context(unchanged(self.text, self._read(tables, plan, texts)))
                self._compare_checksums(tables, plan, texts)
            connection = stack.enter_context(self._connected(views))
            query = quietly(lambda: connection.sql(self.text), self.refused)
            # No share is told: DuckDB neither knows the number of rows of a result, nor does its
            # own share of a query go on while rows wait for a slow reader.
            yield quietly(lambda: stream(query if rows else query.limit(0)), self.failed)

    def _tables(self) -> list[TableOfFiles]:
        """The tables of the query that are files."""
        return [TableOfFiles.read(name, open_path(path)) for name, path in self.files.items()]

    def _read(
        self,
        tables: Sequence[TableOfFiles],
        plan: str,
        texts: Sequence[str],
    ) -> list[Path]:
        """The files that the query reads on DuckDB."""
        read = [file.path for table in tables for file in table.files]
        if self.attach is not None:
            # What has been written but not merged yet is in a second file.
            read += [Path(self.attach), Path(f"{self.attach}.wal")]
        if "PARQUET" in plan.upper():
            read += parquet_files(texts)
        return read

    def _compare_checksums(
        self,
        tables: Sequence[TableOfFiles],
        plan: str,
        texts: Sequence[str],
    ) -> None:
        """Compare the files that the query reads on DuckDB with the checksums that they hold.

        Raises
        ------
        FailedQueryError
            When a file differs from a checksum.
        """
        try:
            for table in tables:
                for file in table.files:
                    file.compare_checksums()
            for path in parquet_files(texts) if "PARQUET" in plan.upper() else ():
                described = f"Parquet file {without_values(path)!r} of the query"
                hint = "; margin domain check with this query names the file"
                compare_checksums(path, described, hint=hint)
        except DataError as error:
            raise FailedQueryError(str(error)) from None

    @contextmanager
    def _connected(self, views: Mapping[str, str]) -> Generator[Any]:
        """Open a DuckDB connection for the length of a `with` block. It has the attached database
        file and the given views."""
        with ExitStack() as stack:
            connection = stack.enter_context(closing(connected(self.memory_limit)))
            folder = stack.enter_context(scratch())
            connection.execute(f"SET temp_directory = {quoted(folder)}")
            # A name in a query never means a Python variable.
            connection.execute("SET python_enable_replacements = false")
            if self.attach is not None:
                if not os.path.exists(self.attach):
                    raise DataError(f"{self._database} does not exist; check the path of attach=")
                place = quoted(self.attach)
                text = f"ATTACH {place} AS attached (TYPE duckdb, READ_ONLY); USE attached"
                quietly(partial(connection.execute, text), self._unattached)
            for name, view in views.items():
                text = f"CREATE TEMP VIEW {identifier(name)} AS {view}"
                wrong = f"files={{{name!r}: ...}} cannot be read by DuckDB; check the files"
                quietly(partial(connection.execute, text), wrong)
            yield connection

    def _unattached(self, error: Exception) -> str | BusyTableError:
        """The message or the error for a database file that cannot be attached."""
        if "could not set lock" in str(error).casefold():
            return BusyTableError(
                f"{self._database} must not be open for writing elsewhere, but another process "
                "holds its lock; wait until that process has closed it, or attach a copy"
            )
        if not is_about_content(error):
            return unknown(error, self._database)
        if is_sqlite(self.attach or ""):
            return f"{self._database} must be a DuckDB file, but it is one of SQLite; {FROM_SQLITE}"
        return (
            f"{self._database} cannot be opened as a DuckDB file; attach= must be the path of one, "
            "or postgres:..."
        )

    def _plan(self, connection: Any) -> str:
        """The complete plan of DuckDB for the query, as a text. DataError unless the query is one
        SELECT."""
        import duckdb

        statements = connection.extract_statements(self.text)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            found = "another statement" if len(statements) == 1 else f"{len(statements)} statements"
            raise DataError(
                f"{self._where} must be one SELECT, but it is {found}; leave out all but the SELECT"
            )
        # A part that the optimizer drops from the plan may still determine types.
        connection.execute("PRAGMA disable_optimizer")
        explain = _EXPLAIN.replace("\\", "")
        return str(connection.execute(f"{explain}{self.text}").fetchall())

    def _parts(self, connection: Any, plan: str, texts: Sequence[str]) -> str:
        """Why a set operation of the query may mix types of Parquet files; see `mixes_parts`."""
        if "PARQUET" not in plan.upper():
            return ""
        return mixes_parts(connection.execute, texts)

    @contextmanager
    def _from_postgres(self, rows: bool) -> Generator[Any]:
        """Run the query on PostgreSQL; see `result`. All passes of a release see one snapshot."""
        snapshot = kept(self.text, self._snapshot)
        with self._transaction() as (connection, cursor):
            if snapshot is not None:
                text = f"SET TRANSACTION SNAPSHOT {quoted(snapshot)}"
                quietly(lambda: cursor.execute(text), snapshot_is_gone)
            query = self.text.rstrip(" \t\r\n;")
            # The server looks at the text alone, before it reads a row.
            schema = self._answer(
                connection, lambda: cursor.adbc_execute_schema(query), self.refused
            )
            if not rows:
                yield _Columns(schema)
                return
            answer = partial(self._answer, connection, problem=self.failed)
            expected = self._expected(connection, query) if is_heard() else 0.0
            answer(lambda: cursor.execute(query))
            yield _Telling(connection, answer(lambda: reader_with_states(cursor)), expected)

    def _answer(self, connection: Any, action: Callable[[], T], problem: Problem) -> T:
        """What the server gives for an action; the error says it if the connection is lost."""
        return quietly(lambda: asked(connection, action), problem)

    @contextmanager
    def _snapshot(self) -> Generator[str]:
        """The name of a snapshot of the server, as long as a `with` block lasts."""
        wrong = (
            "the PostgreSQL server of attach= must export a snapshot (pg_export_snapshot), so that "
            "a release sees the same rows whenever it reads them, but it does not; write the "
            "result of the query as a file, and release the file"
        )
        with self._transaction() as (connection, cursor):

            def first(text: str) -> Any:
                cursor.execute(text)
                return cursor.fetchall()

            # The transaction waits while rows are read, and the server must not end it.
            for text in (_NO_TIMEOUT, "SELECT pg_export_snapshot()"):
                rows = quietly(partial(asked, connection, partial(first, text)), wrong)
            yield str(rows[0][0])

    @contextmanager
    def _transaction(self) -> Generator[tuple[Any, Any]]:
        """A connection to the server and its cursor, in a transaction that sees one snapshot of the
        database and cannot write."""
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError as error:
            raise_shortage(error)
            raise DataError(
                "attach= names a PostgreSQL server, which needs the driver for PostgreSQL, but it "
                "is not installed; run pip install adbc-driver-postgresql"
            ) from None
        assert self.attach is not None
        address = self.attach if "://" in self.attach else self.attach.split(":", 1)[1]
        address = address.replace("postgres://", "postgresql://", 1)
        with ExitStack() as stack:
            connection = quietly(lambda: dbapi.connect(address), unreachable)
            stack.enter_context(closing(connection))
            interruptible(connection, "adbc_cancel")
            cursor = quietly(connection.cursor, unreachable)
            stack.enter_context(closing(cursor))
            begin = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
            self._answer(connection, lambda: cursor.execute(begin), self.failed)
            yield connection, cursor

    def _expected(self, connection: Any, query: str) -> float:
        """The number of rows that PostgreSQL's planner expects; nothing is run."""
        with closing(connection.cursor()) as cursor:
            # The driver reads results by COPY, which takes no EXPLAIN.
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            explain = _EXPLAIN.replace("\\", "")
            self._answer(connection, lambda: cursor.execute(f"{explain}{query}"), self.failed)
            ((plan,),) = self._answer(connection, cursor.fetchall, self.failed)
        return float(json.loads(plan)[0]["Plan"]["Plan Rows"])


class _Telling:
    """A reader of a query that tells, after each batch, which share of the rows has been read.

    Parameters
    ----------
    connection
        The connection to the server.
    reader
        An Arrow reader of the result.
    expected
        The expected number of rows; 0 if it is not known.
    """

    def __init__(self, connection: Any, reader: Any, expected: float) -> None:
        self.schema = reader.schema
        self._connection = connection
        self._reader = reader
        self._progress = RowsRead(expected)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        batch = asked(self._connection, partial(next, self._reader, None))
        if batch is None:
            raise StopIteration
        self._progress.add(batch.num_rows)
        return batch


@dataclass(frozen=True)
class _Columns:
    """The schema of a query's result without its rows, in place of a reader."""

    schema: Any


def _own_views(connection: Any) -> set[str]:
    """The definitions of the views of `files`."""
    views = connection.execute("SELECT sql FROM duckdb_views() WHERE temporary").fetchall()
    return {text for (text,) in views}


def _without_rows(error: Exception, state: str | None) -> str:
    """The message of a database, before it reads rows, if it is about the text of the query;
    otherwise an empty text.

    Such a message names tables, columns, functions and types. Similar names of columns are left
    out: the first line of a file without a header is a row. A type may list values.
    """
    if type(error).__name__ not in _ABOUT_THE_TEXT and not (state or "").startswith(_SYNTAX):
        return ""
    text = _CANDIDATES.sub("", masked(str(error))).strip()
    # The query was explained: leave out the words before it, and move the mark below it.
    text = re.sub(rf"(LINE 1: ){_EXPLAIN}(.*\n) {{{len(_EXPLAIN) - 2}}}", r"\1\2", text)
    return "" if "ENUM(" in text.upper() else on_a_lacking_column(text)
