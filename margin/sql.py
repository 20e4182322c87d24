"""`Sql`: the rows of a query, on the embedded DuckDB, a DuckDB file, or a PostgreSQL server; always read-only."""

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from .domain import Domain
from .encode import ROWS, Batch, check_type, encode_batches, locate, quietly
from .errors import DataError
from .files import connect, stream

__all__ = ["Sql"]

_SERVERS = ("postgres:", "postgresql:")


@dataclass(frozen=True)
class Sql:
    """The rows that a query gives, as a `Source`; one row of its result is what the guarantee protects.

    The query is run anew in each pass and must give the same rows each time. What a join or a group does to the rows of
    one person is the author's care: `unit=` and `max_rows=` of `release` bound it whatever the query does.

    Parameters
    ----------
    text
        One SELECT, in the database's own SQL. On DuckDB it may read files, as in `SELECT * FROM 'visits/*.parquet'`.
    attach
        Where the query runs: on an embedded DuckDB when not given; in the DuckDB file of that path; or on the
        PostgreSQL server of `"postgres:host=... dbname=..."` or `"postgresql://user@host/dbname"` (with `pip install
        'margin[postgres]'`). Opened read-only. It may hold a password, and is never shown.
    memory_limit
        The most that the embedded DuckDB takes, such as `"500MB"`; beyond it, a sort or a group goes through a
        temporary folder that only this user can read.

    Raises
    ------
    DataError
        When an argument is not of this form.

    Examples
    --------
    >>> source = Sql("SELECT i % 2 AS even, i % 3 AS rest FROM range(6) AS t(i)")
    >>> [batch["rest"].tolist() for batch in source.batches(Domain({"rest": 3}))]
    [[0, 1, 2, 0, 1, 2]]
    """

    text: str
    attach: str | None = field(default=None, repr=False, kw_only=True)
    memory_limit: str = field(default="1GB", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip(" \t\r\n;"):
            raise DataError("the text of a query must be one SELECT")
        if self.attach is not None and not (isinstance(self.attach, str) and self.attach):
            raise DataError("attach must be the path of a DuckDB file, or postgres:... with the server's parameters")

    def check(self, domain: Domain) -> None:
        """Refuse a query that the database does not accept, or whose result lacks a declared column; none is run."""
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
        return "the SQL query on PostgreSQL" if self._is_on_server else f"the SQL query on {self.attach!r}"

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
        with ExitStack() as stack:
            wrong = f"memory_limit ({self.memory_limit!r}) must be a size such as '500MB'"
            connection = stack.enter_context(closing(quietly(lambda: connect(self.memory_limit), wrong)))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="margin-"))
            connection.execute(f"SET temp_directory = {_quoted(folder)}")
            connection.execute("SET python_enable_replacements = false")  # no name in a query means a Python variable
            if self.attach is not None:
                place = _quoted(self.attach)
                quietly(
                    lambda: connection.execute(f"ATTACH {place} AS attached (TYPE duckdb, READ_ONLY); USE attached"),
                    f"{self.attach!r} cannot be opened as a DuckDB file; attach must be one, or postgres:...",
                )
            query = quietly(lambda: self._selected(connection), self._failed)
            yield quietly(lambda: stream(query if rows else query.limit(0)), self._failed)

    def _selected(self, connection: Any) -> Any:
        import duckdb

        statements = connection.extract_statements(self.text)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise DataError(f"{self._where} must be one SELECT")
        return connection.sql(self.text)

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
            connection = stack.enter_context(closing(quietly(lambda: dbapi.connect(address), unreachable)))
            cursor = stack.enter_context(closing(quietly(connection.cursor, unreachable)))
            quietly(lambda: cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"), self._failed)
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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
