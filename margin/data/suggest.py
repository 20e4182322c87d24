"""`suggest_domain`: a draft of a domain, derived from the data. It is not private until the owner
of the data has reviewed it."""

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
"""Largest number of values that are listed for an attribute."""

_SURELY_MORE = 2 * _MOST_VALUES
"""An estimated number of distinct values above which there are more than `_MOST_VALUES`."""

_BINS = 10
"""About the number of bins of a numeric attribute."""

_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
"""The texts that are read as numbers."""

_NOTE = (
    "derived from the data, so it is not private: check every attribute against the values that "
    "the data may hold, then delete this line"
)


@dataclass(frozen=True)
class _Column:
    """A column to describe: its name, its name in SQL, and whether it holds texts, numbers, or
    neither."""

    name: str
    sql: str
    is_text: bool
    is_number: bool

    @property
    def cells(self) -> str:
        """SQL for two columns: v, the value or null, and n, the value as a number or null."""
        value = self.sql
        number = "NULL::DOUBLE"
        if self.is_number:
            number = f"{value}::DOUBLE"
        if self.is_text:
            value = f"nullif(trim({self.sql}::VARCHAR, e' \\t\\r\\n'), '')"
            plain = f"regexp_full_match({value}, '{_NUMBER}') OR lower({value}) = 'nan'"
            number = f"if({plain}, try_cast({value} AS DOUBLE), NULL)"
        return f"{value} AS v_{self.sql}, {number} AS n_{self.sql}"


@dataclass(frozen=True)
class _Facts:
    """What the first pass finds out about a column: the numbers of nulls, of NaN, of values that
    are not numbers (`odd`) and of distinct values (an estimate), and the 1st and 99th
    percentiles."""

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
    """A table in a DuckDB connection, the SQL that reads it, and the message if that fails."""

    connection: Any
    text: str
    failed: Callable[[Exception], str]

    def row(
        self,
        columns: Sequence[_Column],
        aggregates: Sequence[str],
    ) -> list[Any]:
        """The value of each aggregate over the cells of the columns."""
        named = [f"{aggregate} AS f{place}" for place, aggregate in enumerate(aggregates)]
        listed = ", ".join(named)
        cells = ", ".join(column.cells for column in columns)
        query = f"SELECT {listed} FROM (SELECT {cells} FROM {self.text})"
        found = quietly(lambda: self.connection.sql(query).to_arrow_table(), self.failed)
        return [column[0].as_py() for column in found.columns]


def suggest_domain(data: object) -> dict[str, Any]:
    """Derive a draft of a domain from the data, as a dict for JSON. It is not private: its first
    entry marks it as a draft, and `Domain` refuses it until the owner has removed the mark.

    A column with at most 50 distinct values declares all of them, or their number if they are 0, 1,
    ... without a gap. A numeric column with more values has about ten bins with round edges, open
    at both ends. A text column with more values has its 49 most frequent values and `other`. A
    column with nulls has `missing`. Columns without a name, and columns whose cells are not plain
    values, are left out. The mark lists them.

    Parameters
    ----------
    data
        Data that `open_source` accepts, except arrays of codes and `Source` objects.

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
            rows = source.table()
            failed = _unreadable
            quietly(lambda: connection.register("frame", rows), failed)
            sql_names = [f"c{place}" for place in range(rows.num_columns)]
            table = f"frame AS rows({', '.join(sql_names)})"
            fields = [(field.name, field.type) for field in rows.schema]
        else:
            raise DataError(
                "a domain can be suggested for a file, a data frame or a dict of columns only, but "
                f"data is of type {type(data).__name__}; convert it to one of these"
            )
        columns, left_out = _columns(fields)
        described = _describe(_Table(connection, table, failed), columns)
    draft: dict[str, Any] = {}
    draft[DRAFT] = f"{_NOTE}; left out: {', '.join(left_out)}" if left_out else _NOTE
    for column, form in zip(columns, described, strict=True):
        draft[column.name] = form
    return draft


def _columns(fields: Sequence[tuple[str, Any]]) -> tuple[list[_Column], list[str]]:
    """The columns that can be described, and the names of the others. A type of None stands for
    text."""
    columns = []
    left_out = []
    names = [name.strip() for name, _ in fields]
    for place, (name, (_, kind)) in enumerate(zip(names, fields, strict=True)):
        if name and names.count(name) > 1:
            raise DataError(
                "the names of columns must differ, but the table has more than one column named "
                f"{name!r}; rename all but one of them"
            )
        if not name or not _is_plain(name, kind):
            left_out.append(repr(name))
            continue
        kind = getattr(kind, "value_type", kind)
        is_text = _is_text(kind)
        is_number = not is_text and _is_number(kind)
        columns.append(_Column(name, f"c{place}", is_text, is_number))
    return columns, left_out


def _is_text(kind: Any) -> bool:
    """Whether a type is one of texts; None stands for text."""
    from pyarrow import types

    if kind is None:
        return True
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_plain(name: str, kind: Any) -> bool:
    """Whether each cell of a type holds a single plain value."""
    try:
        if kind is not None:
            check_type(name, kind)
    except DataError:
        return False
    return True


def _describe(table: _Table, columns: Sequence[_Column]) -> list[Any]:
    """Suggest an attribute for each column, in its JSON form. A first pass over the table finds
    facts about each column, a second pass its values if they are few."""
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
        if known.distinct <= _SURELY_MORE:
            second.append(f"histogram(v_{column.sql})")
        elif known.odd:
            second.append(f"approx_top_k(v_{column.sql}, {_MOST_VALUES - 1})")
        else:
            second.append("NULL")
    values = table.row(columns, second)
    return [_form(known, found or []) for known, found in zip(facts, values, strict=True)]


def _unreadable(error: Exception) -> str:
    """The message for a data frame that cannot be read."""
    return "the data frame must be readable by DuckDB, but it is not; pass it as a Parquet file"


def _form(facts: _Facts, found: list[Any]) -> Any:
    """The JSON form of an attribute. `found` contains pairs of a value and its count, or only the
    most frequent values if there are many."""
    extras = {"missing": "missing"} if facts.is_missing else {}
    if facts.is_numeric:
        return _numeric_form(facts, found, extras)
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


def _numeric_form(
    facts: _Facts,
    found: list[Any],
    extras: dict[str, str],
) -> Any:
    """The JSON form of a numeric attribute: its values, their number, or bins."""
    values = [value for value, _ in found]
    known = [value for value in values if value == value and str(value).lower() != "nan"]
    numbers = sorted({_number(value) for value in known})
    is_few = 1 <= len(numbers) <= _MOST_VALUES
    if not is_few or any(math.isinf(number) for number in numbers):
        low, high = facts.percentiles or (0.0, 0.0)
        return {"bins": _bins(low, high), **extras}
    is_a_range = numbers == list(range(len(numbers)))
    if is_a_range and len(numbers) > 1 and not extras:
        return len(numbers)
    return {"values": numbers, **extras} if extras else numbers


def _different(values: Iterable[Any]) -> list[Value]:
    """The values in order, without values that an attribute treats as equal. Truth values stay as
    they are, and all others become texts."""
    kept: list[Value] = []
    plain = [value if isinstance(value, bool) else str(value) for value in values]
    for value in sorted(plain):
        if not kept or Attribute(values=kept).code(value) == UNSEEN:
            kept.append(value)
    return kept


def _number(value: Any) -> int | float:
    """A value as an int if it is a whole number, otherwise as a float."""
    if isinstance(value, str):
        value = float(value) if set(value) & set(".eE") else int(value)
    is_whole = math.isfinite(value) and value == int(value)
    # A large float may have been rounded. It is declared in the form in which it is written.
    is_rounded = isinstance(value, float) and abs(value) >= faithful(float)
    return int(value) if is_whole and not is_rounded else float(value)


def _bins(low: float, high: float) -> list[float | None]:
    """About ten edges at multiples of 1, 2 or 5 times a power of ten, with null (no bound) at both
    ends."""
    if not low < high:
        return [None, _number(low), None]
    # The smallest round step with which ten bins cover three quarters of the range.
    width = high - low
    power = math.floor(math.log10(width / _BINS))
    factors = [factor for factor in (1, 2, 5, 10) if factor * 10.0**power * _BINS >= width * 0.75]
    factor = factors[0]
    step = factor * 10.0**power
    edges: list[float] = []
    for place in range(math.ceil(low / step), math.floor(high / step) + 1):
        # Powers of ten are exact as integers, so that the edges are round.
        exact = place * factor * 10**power if power >= 0 else place * factor / 10**-power
        edges.append(exact)
    return [None, *dict.fromkeys(_number(edge) for edge in edges), None]
