"""A draft of a domain, derived from the data: a start for its owner, who must review it, and not
private."""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..domain.attribute import UNSEEN, Attribute, Value
from ..domain.domain import DRAFT
from ..domain.values import faithful
from ..errors import DataError
from .encode import check_type, quietly
from .files import FileSource, connect
from .opening import open_source
from .source import ColumnsSource, FrameSource

__all__ = ["suggest_domain"]

_MOST_VALUES = 50
_SURELY_MORE = 2 * _MOST_VALUES
_BINS = 10
_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_NOTE = (
    "derived from the data, so it is not private: check every attribute against what the data may hold, "
    "then delete this line"
)


@dataclass(frozen=True)
class _Column:
    """A column to be described: its name, its SQL name, and whether it holds texts or numbers or
    neither."""

    name: str
    sql: str
    is_text: bool
    is_number: bool

    @property
    def cells(self) -> str:
        """SQL for v, the value or null, and for n, the value as a number if it is one."""
        value = (
            f"nullif(trim({self.sql}::VARCHAR, e' \\t\\r\\n'), '')" if self.is_text else self.sql
        )
        number = f"{value}::DOUBLE" if self.is_number else "NULL::DOUBLE"
        if self.is_text:
            plain = f"regexp_full_match({value}, '{_NUMBER}') OR lower({value}) = 'nan'"
            number = f"if({plain}, try_cast({value} AS DOUBLE), NULL)"
        return f"{value} AS v_{self.sql}, {number} AS n_{self.sql}"


@dataclass(frozen=True)
class _Facts:
    """Counts of nulls, of NaN, of values that are no numbers, of distinct values (about); 1st and
    99th percentile."""

    nulls: int
    nans: int
    odd: int
    distinct: int
    percentiles: list[float] | None

    @property
    def is_numeric(self) -> bool:
        return not self.odd and self.distinct > 0

    @property
    def is_missing(self) -> bool:
        return self.nulls > 0 or (self.is_numeric and self.nans > 0)


@dataclass(frozen=True)
class _Table:
    """A table in a DuckDB connection: the SQL that reads it, and what to say when that fails."""

    connection: Any
    text: str
    failed: Callable[[Exception], str]

    def row(self, columns: Sequence[_Column], aggregates: Sequence[str]) -> list[Any]:
        """One value an aggregate over the cells of the columns."""
        listed = ", ".join(f"{aggregate} AS f{place}" for place, aggregate in enumerate(aggregates))
        cells = ", ".join(column.cells for column in columns)
        query = f"SELECT {listed} FROM (SELECT {cells} FROM {self.text})"
        found = quietly(lambda: self.connection.sql(query).to_arrow_table(), self.failed)
        return [column[0].as_py() for column in found.columns]


def suggest_domain(data: object) -> dict[str, Any]:
    """A draft domain for a table, as a dict for JSON; its first entry marks it as a draft, which
    `Domain` refuses.

    A column of at most 50 distinct values gets all of them, or their number when they are 0, 1, ...
    without a gap; a numeric column of more gets about ten bins with round edges, open at both ends;
    a text column of more gets its 49 most frequent values and `other`. A column with nulls gets
    `missing`. Columns without a name or whose cells are not plain values are left out, and the mark
    says so.

    Parameters
    ----------
    data
        What `open_source` takes, except arrays of codes and `Source` objects.

    Raises
    ------
    DataError
        When the data cannot be read, or two columns have the same name.
    """
    source = open_source(data)
    with closing(connect()) as connection:
        if isinstance(source, FileSource):
            found = source.fields()
            table = source.query(found)
            fields = [(field.name, field.kind) for field in found]
            failed = source.failed
        elif isinstance(source, FrameSource | ColumnsSource):
            rows, failed = source.table(), _unreadable
            quietly(lambda: connection.register("frame", rows), failed)
            table = f"frame AS rows({', '.join(f'c{place}' for place in range(rows.num_columns))})"
            fields = [(field.name, field.type) for field in rows.schema]
        else:
            raise DataError(
                "a domain can be suggested for a file, a data frame or a dict of columns only"
            )
        columns, left_out = _columns(fields)
        described = _describe(_Table(connection, table, failed), columns)
    note = f"{_NOTE}; left out: {', '.join(left_out)}" if left_out else _NOTE
    return {
        DRAFT: note,
        **{column.name: form for column, form in zip(columns, described, strict=True)},
    }


def _columns(fields: Sequence[tuple[str, Any]]) -> tuple[list[_Column], list[str]]:
    """The columns that can be described, and the names of those that cannot; a type of None stands
    for text."""
    from pyarrow import types

    columns, left_out = [], []
    names = [name.strip() for name, _ in fields]
    for place, (name, (_, kind)) in enumerate(zip(names, fields, strict=True)):
        if name and names.count(name) > 1:
            raise DataError(f"the table has more than one column named {name!r}")
        if not name or not _is_plain(name, kind):
            left_out.append(repr(name))
            continue
        kind = getattr(kind, "value_type", kind)
        text = (
            kind is None
            or types.is_string(kind)
            or types.is_large_string(kind)
            or types.is_string_view(kind)
        )
        number = not text and (
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        )
        columns.append(_Column(name, f"c{place}", text, number))
    return columns, left_out


def _is_plain(name: str, kind: Any) -> bool:
    try:
        if kind is not None:
            check_type(name, kind)
    except DataError:
        return False
    return True


def _describe(table: _Table, columns: Sequence[_Column]) -> list[Any]:
    """The JSON form of each column's attribute, by two passes: what it is like, then its values if
    they are few."""
    if not columns:
        return []
    first = []
    for at in (column.sql for column in columns):
        finite = f"FILTER (isfinite(n_{at}))"
        first += [
            f"count(*) - count(v_{at})",
            f"count(*) FILTER (isnan(n_{at}))",
            f"count(v_{at}) - count(n_{at})",
            f"approx_count_distinct(v_{at})",
            f"approx_quantile(n_{at}, [0.01, 0.99]) {finite}",
        ]
    row = table.row(columns, first)
    facts = [_Facts(*row[at : at + 5]) for at in range(0, len(row), 5)]
    second = []
    for column, known in zip(columns, facts, strict=True):
        rest = f"approx_top_k(v_{column.sql}, {_MOST_VALUES - 1})" if known.odd else "NULL"
        second.append(f"histogram(v_{column.sql})" if known.distinct <= _SURELY_MORE else rest)
    values = table.row(columns, second)
    return [_form(known, found or []) for known, found in zip(facts, values, strict=True)]


def _unreadable(error: Exception) -> str:
    return "the data frame cannot be read by DuckDB; pass it as a Parquet file"


def _form(facts: _Facts, found: list[Any]) -> Any:
    """The JSON form of an attribute; `found` has pairs of a value and its count, or only the most
    frequent values."""
    extras = {"missing": "missing"} if facts.is_missing else {}
    if facts.is_numeric:
        numbers = sorted(
            {_number(value) for value, _ in found if value == value and str(value).lower() != "nan"}
        )
        if not 1 <= len(numbers) <= _MOST_VALUES or any(math.isinf(number) for number in numbers):
            return {"bins": _bins(*(facts.percentiles or (0.0, 0.0))), **extras}
        if numbers == list(range(len(numbers))) and len(numbers) > 1 and not extras:
            return len(numbers)
        return {"values": numbers, **extras} if extras else numbers
    if facts.distinct > _SURELY_MORE:
        values = found
    else:
        values = [value for value, _ in sorted(found, key=lambda pair: -pair[1])]
    if len(values) > _MOST_VALUES or facts.distinct > _SURELY_MORE:
        return {"values": _different(values[: _MOST_VALUES - 1]), "other": "other", **extras}
    kept = _different(values)
    if not kept:
        return {"values": ["missing"], "missing": "missing"}
    return {"values": kept, **extras} if extras else kept


def _different(values: Iterable[Any]) -> list[Value]:
    """The values in order, truth values as they are, others as texts, without those that an
    attribute equates."""
    kept: list[Value] = []
    for value in sorted(value if isinstance(value, bool) else str(value) for value in values):
        if not kept or Attribute(values=kept).code(value) == UNSEEN:
            kept.append(value)
    return kept


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        value = float(value) if set(value) & set(".eE") else int(value)
    is_whole = math.isfinite(value) and value == int(value)
    rounded = isinstance(value, float) and abs(value) >= faithful(
        float
    )  # declared as it is written, not as it is stored
    return int(value) if is_whole and not rounded else float(value)


def _bins(low: float, high: float) -> list[float | None]:
    """About ten edges at multiples of 1, 2 or 5 times a power of ten, and null, for no bound, at
    both ends."""
    if not low < high:
        return [None, _number(low), None]
    power = math.floor(math.log10((high - low) / _BINS))
    factor = next(
        factor for factor in (1, 2, 5, 10) if factor * 10.0**power * _BINS >= (high - low) * 0.75
    )
    step = factor * 10.0**power
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    edges = [
        place * factor * 10**power if power >= 0 else place * factor / 10**-power
        for place in places
    ]
    return [None, *dict.fromkeys(_number(edge) for edge in edges), None]
