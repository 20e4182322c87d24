"""`suggest_domain`: a draft of a domain, derived from the data. It is not private until the owner
of the data has reviewed it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from ..domain.attribute import UNSEEN, Attribute, Value
from ..domain.domain import DRAFT
from ..domain.spelling import alike, misspelt
from ..domain.values import faithful
from ..errors import DataError
from ..interrupts.share import tell, within
from .advance import telling_query
from .checks.unread import unread_files
from .encode import is_plain, quietly
from .failures import MixedTypesError, Problem, is_about_content, unknown
from .files import MEMORY, FileSource, connected, measure
from .folders import FilesSource
from .opening import open_source
from .source import ColumnsSource, FrameSource, Source
from .sql import Sql

__all__ = ["suggest_domain"]

_MOST_VALUES = 50
"""Largest number of values that are listed for an attribute."""

_SURELY_MORE = 2 * _MOST_VALUES
"""An estimated number of distinct values above which there are more than `_MOST_VALUES`."""

_MOST_DISTINCT = 1_000
"""Largest number of distinct texts of which the most frequent ones are listed."""

_FEWEST_ROWS = 3
"""Number of rows below which a value is rare: it is counted as `other`, and not shown. A domain is
published, and a value that one person has would tell that this person is in the table."""

_SMALL_TABLE = 100
"""Number of values below which no value of a column is called rare."""

_OWN = 0.7
"""Share of distinct texts from which on nearly every row has a value of its own."""

_LONG = 30
"""Mean number of characters from which on texts are sentences rather than labels."""

_IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|ssn|iban|passport|phone|e-?mail)([^a-z]|$)|(?-i:[a-z]I[dD]$)",
    re.IGNORECASE,
)
"""Names of columns that identify people."""

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?"
"""The texts that are read as dates."""

_OTHER_DATE = r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}([ T].*)?"
"""The texts that are dates in the order of another country, such as 31.12.2025."""

_QUANTILES = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]

_FEWEST_EDGES = 5
"""Number of different quantiles below which bins have equal widths."""

_BINS = 10
"""About the number of bins of a numeric attribute."""

_DECIMAL_COMMA = r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+"
"""The texts that are numbers with a decimal comma."""

_FEW_ODD = 0.1
"""Largest share of texts in a column of numbers, such as "unknown"."""

_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
"""The texts that are read as numbers."""

_START = r"[+-]?([0-9]{1,3}(,[0-9]{3})+(?![0-9])|[0-9]+)(\.[0-9]+)?"
"""The number at the start of a category, such as "1,000+"."""

_FIRST = 0.8
"""Share of the time that the first of the two passes takes, for a display of progress."""

_NOTE = (
    "derived from the data, so it is not private: check every attribute against the values that "
    "the data may hold, then delete this line"
)


@dataclass(frozen=True)
class _Column:
    """A column to describe: its name, its name in SQL, and whether it holds texts, numbers, dates
    or none of these."""

    name: str
    sql: str
    is_text: bool
    is_number: bool
    is_date: bool

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
    """What the first pass finds out about a column: the numbers of values, of nulls, of NaN, of
    values that are not numbers (`odd`), of numbers that are not whole, of texts that are dates, of
    dates in another order, of numbers with a decimal comma, and of distinct values (an estimate);
    the mean length of the texts; the least and the largest number; and the quantiles of the
    numbers."""

    values: int
    nulls: int
    nans: int
    odd: int
    broken: int
    dates: int
    other_dates: int
    commas: int
    distinct: int
    length: float | None
    least: float | None
    largest: float | None
    quantiles: list[float] | None

    @property
    def is_numeric(self) -> bool:
        return not self.odd and self.distinct > 0

    @property
    def are_numbers_of_rows(self) -> bool:
        """Whether the values are whole numbers, nearly all different, without large gaps."""
        are_numbers = self.is_numeric or self.has_some_odd
        if not are_numbers or self.broken or self.least is None or self.largest is None:
            return False
        span = self.largest - self.least + 1
        return self.distinct >= 0.9 * self.values and span <= 2 * self.values

    @property
    def has_some_odd(self) -> bool:
        """Whether a few texts, such as "unknown", stand among many different numbers."""
        return 0 < self.odd <= _FEW_ODD * self.values and self.distinct > _MOST_VALUES

    @property
    def is_missing(self) -> bool:
        return self.nulls > 0 or (self.is_numeric and self.nans > 0)


@dataclass(frozen=True)
class _Table:
    """A table in a DuckDB connection, the SQL that reads it, and the message if that fails.

    The rows of a query are registered anew, as `frame`, for each pass.
    """

    connection: Any
    text: str
    failed: Problem
    query: Sql | None = None

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
        with ExitStack() as stack:
            if self.query is None:
                stack.enter_context(telling_query(self.connection))
            else:
                rows = _reader(stack.enter_context(self.query.result()))
                self.connection.register("frame", rows)
            found = quietly(lambda: self.connection.sql(query).to_arrow_table(), self.failed)
        return [column[0].as_py() for column in found.columns]


def _reader(batches: Any) -> Any:
    """An Arrow reader of the result of a query, which DuckDB can read."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(batches.schema, iter(batches))


def suggest_domain(data: object) -> dict[str, Any]:
    """Derive a draft of a domain from the data, as a dict for JSON. It is not private: its first
    entry marks it as a draft, and `Domain` refuses it until the owner has removed the mark.

    A column with at most 50 distinct values declares all of them, or their number if they are 0, 1,
    ... without a gap. A numeric column with more values has about ten bins, open at both ends.
    Their edges are rounded deciles. So has a column of which up to a tenth are texts such as
    "unknown", with `other` for these; the mark says how many they are. A text column with more
    values has its 49 most frequent values and `other`. Values in fewer than three rows, texts or
    numbers, are not listed but `other`, in a column of 100 values or more; the mark says how many
    they are. A numeric column whose values are all rare has bins. A column with nulls has
    `missing`. Texts that begin with numbers, such as "1-9", are listed in the order of these; the
    draft does not say that the order has a meaning.

    These columns are left out, and the mark lists them with the reason: columns without a name;
    columns whose cells are not plain values; dates; and, if they have more than 50 values,
    identifiers, free texts, numbers with a decimal comma and texts that are nearly all different.

    The mark also lists the categories of one attribute that look like spellings of each other, such
    as "Female" and "female", and rare ones that look like a misspelt form of a frequent one. If the
    files of a folder hold a column in different types, it names the first file of each type, and it
    names the files that were left out, because they cannot be read.

    Parameters
    ----------
    data
        Data that `open_source` accepts, except arrays of codes and `Source` objects other than
        `Sql`. The query runs twice.

    Raises
    ------
    DataError
        When the data cannot be read, or two columns have the same name.
    """
    try:
        source = open_source(data)
        return _of_files(source) if isinstance(source, FilesSource) else _suggested(source)
    except MixedTypesError as error:
        raise DataError(error.named) from None


def _of_files(source: FilesSource) -> dict[str, Any]:
    """The draft for many files. Those that cannot be read are left out, and the draft names them.

    The draft is for the holder of the data alone, so it shows their whole paths.
    """
    whole = replace(source, shows_folders=True)
    try:
        return _suggested(whole)
    except DataError:
        # Only now is it worth the time to read each file by itself.
        unread = unread_files(whole, to_the_end=True)
        lost = {one.file for one in unread}
        paths = tuple(path for path in whole.paths if str(path) not in lost)
        if not unread or not paths:
            raise
    draft = _suggested(replace(whole, paths=paths))
    listed = "; ".join(one.line() for one in unread)
    note = f"{draft[DRAFT]}; left out, because they cannot be read: {listed}"
    return {**draft, DRAFT: note}


def _suggested(source: Source) -> dict[str, Any]:
    """The draft for a source; see `suggest_domain`."""
    query = None
    mixed: list[str] = []
    failed: Problem
    limit = getattr(source, "memory_limit", MEMORY)
    with closing(connected(limit)) as connection:
        measure(connection)
        if isinstance(source, FileSource):
            found = source.fields()
            table = source.query(found)
            fields = [(field.name, field.kind) for field in found]
            failed = source.failed
        elif isinstance(source, FilesSource):
            table, found = source.query()
            fields = [(field.name, field.kind) for field in found]
            failed = _unreadable_files
            own = source.files[0].fields()
            stored = [field.name for field in own if field.kind is None or is_plain(field.kind)]
            mixed = [error.named for error in source.mixed(stored)]
        elif isinstance(source, FrameSource | ColumnsSource):
            rows = source.table()
            failed = _unreadable
            quietly(lambda: connection.register("frame", rows), failed)
            table = _named_anew(rows.schema)
            fields = [(field.name, field.type) for field in rows.schema]
        elif isinstance(source, Sql):
            query = source
            failed = source.failed
            with source.result(rows=False) as columns_only:
                table = _named_anew(columns_only.schema)
                fields = [(field.name, field.type) for field in columns_only.schema]
        else:
            raise DataError(
                "a domain can be suggested for files, a query, a data frame or a dict of columns "
                f"only, but data is of type {type(source).__name__}; convert it to one of these"
            )
        columns, left_out = _columns(fields)
        described = _describe(_Table(connection, table, failed, query), columns)
    named = dict(zip([column.name for column in columns], described, strict=True))
    forms = {}
    for name, one in named.items():
        if isinstance(one.form, _Reason):
            left_out[name] = one.form
        else:
            forms[name] = one.form
    listed = ", ".join(f"{name!r} ({reason.text})" for name, reason in left_out.items())
    note = f"{_NOTE}; left out: {listed}" if left_out else _NOTE
    odd = [f"{name!r} ({one.odd:,})" for name, one in named.items() if one.odd and name in forms]
    if odd:
        note += f"; cells that are not numbers, counted as other: {', '.join(odd)}"
    rare = [f"{name!r} ({one.rare:,})" for name, one in named.items() if one.rare]
    if rare:
        numbers = ", ".join(rare)
        note += f"; values in fewer than {_FEWEST_ROWS} rows each, counted as other: {numbers}"
    doubtful = [
        f"{name!r} ({wrong!r} in {rows:,} rows: {right!r}?)"
        for name, one in named.items()
        for wrong, right, rows in one.misspelt
    ]
    if doubtful:
        note += f"; these may be misspelt: {', '.join(doubtful)}"
    twice = [f"{name!r} ({group})" for name, form in forms.items() for group in _twice(form)]
    if twice:
        note += f"; these look like spellings of one category: {', '.join(twice)}"
    if mixed:
        note += f"; a release refuses these files: {'; '.join(mixed)}"
    return {DRAFT: note, **forms}


def _twice(form: Any) -> list[str]:
    """The categories of a suggested attribute that look like spellings of one category, a text for
    each group. The draft lists all of them."""
    return [", ".join(map(repr, group)) for group in alike(_texts(form))]


def _texts(form: Any) -> list[str]:
    """The texts that a suggested attribute, or the reason why there is none, lists."""
    values = form.get("values", []) if isinstance(form, dict) else form
    listed = values if isinstance(values, list) else []
    return [value for value in listed if isinstance(value, str)]


def _named_anew(schema: Any) -> str:
    """SQL for the registered rows, with the columns c0, c1, ... whatever their names are."""
    names = [f"c{place}" for place in range(len(schema))]
    return f"frame AS rows({', '.join(names)})"


@dataclass(frozen=True)
class _Reason:
    """Why a column is left out."""

    text: str


@dataclass(frozen=True)
class _Described:
    """What is suggested for a column: the JSON form of its attribute, or why it is left out; the
    number of cells that are not numbers in a column of numbers; the number of rare values; and each
    value that may be misspelt, with the right one and its number of rows."""

    form: Any
    odd: int
    rare: int
    misspelt: Sequence[tuple[str, str, int]]


def _columns(
    fields: Sequence[tuple[str, Any]],
) -> tuple[list[_Column], dict[str, _Reason]]:
    """The columns that can be described, and the names of the others with the reasons. A type of
    None stands for text."""
    columns = []
    left_out = {}
    names = [name.strip() for name, _ in fields]
    for place, (name, (_, kind)) in enumerate(zip(names, fields, strict=True)):
        if name and names.count(name) > 1:
            raise DataError(
                "the names of columns must differ, but the table has more than one column named "
                f"{name!r}; rename all but one of them"
            )
        reason = _not_plain(kind) if name else _Reason("no name")
        if reason is not None:
            left_out[name] = reason
            continue
        kind = getattr(kind, "value_type", kind)
        is_text = _is_text(kind)
        is_number = not is_text and _is_number(kind)
        columns.append(_Column(name, f"c{place}", is_text, is_number, _is_date(kind)))
    return columns, left_out


def _is_text(kind: Any) -> bool:
    """Whether a type is one of texts; None stands for text."""
    from pyarrow import types

    if kind is None:
        return True
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_date(kind: Any) -> bool:
    """Whether an Arrow type is one of dates or times."""
    from pyarrow import types

    return kind is not None and bool(types.is_temporal(kind))


def _is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _not_plain(kind: Any) -> _Reason | None:
    """Why the cells of a type are not plain values; None if they are. A type of None stands for
    text."""
    from pyarrow import types

    if kind is None or is_plain(kind):
        return None
    kind = getattr(kind, "storage_type", kind)
    # Arrow calls a map a list, too.
    if types.is_map(kind):
        held, example = "maps", "column['key']"
    elif types.is_nested(kind) and not types.is_struct(kind):
        held, example = "lists", "len(column) or column[1]"
    elif types.is_struct(kind):
        held, example = "records of several fields", "column.field"
    elif _is_binary(kind):
        held, example = "binary values", "hex(column)"
    else:
        return _Reason("its cells are not plain values")
    return _Reason(
        f"its cells are not plain values but {held}: a query with --sql can make plain values of "
        f"them, as by {example}"
    )


def _is_binary(kind: Any) -> bool:
    """Whether an Arrow type is one of bytes."""
    from pyarrow import types

    is_large = types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(types.is_binary(kind) or types.is_fixed_size_binary(kind) or is_large)


def _describe(
    table: _Table,
    columns: Sequence[_Column],
) -> list[_Described]:
    """Suggest an attribute for each column. A first pass over the table finds facts about each
    column, a second pass its values if they are few."""
    if not columns:
        return []
    first = []
    for column in columns:
        first += _first_pass(column)
    with within(0, _FIRST):
        row = table.row(columns, first)
        tell(1)
    width = len(row) // len(columns)
    facts = [_Facts(*row[at : at + width]) for at in range(0, len(row), width)]
    second = []
    for column, known in zip(columns, facts, strict=True):
        is_listed = known.distinct <= _SURELY_MORE or (known.odd and not known.has_some_odd)
        is_needed = is_listed and _reason(column, known) is None
        second.append(f"histogram(v_{column.sql})" if is_needed else "NULL")
    with within(_FIRST, 1):
        values = table.row(columns, second)
        tell(1)
    described = []
    for column, known, found in zip(columns, facts, values, strict=True):
        frequent, dropped = _frequent(known, found or [])
        form = _reason(column, known) or _form(known, frequent, is_other=dropped > 0)
        odd = known.odd if known.has_some_odd else 0
        described.append(_Described(form, odd, dropped, _misspelt(form, frequent)))
    return described


def _misspelt(
    form: Any,
    frequent: Sequence[tuple[Any, int]],
) -> list[tuple[str, str, int]]:
    """The listed texts of a column that may be misspelt, each with the right one and its number of
    rows."""
    listed = set(_texts(form))
    rows_of = {value: rows for value, rows in frequent if value in listed}
    return [(wrong, right, rows_of[wrong]) for wrong, right in misspelt(rows_of).items()]


def _frequent(
    facts: _Facts,
    found: Sequence[tuple[Any, int]],
) -> tuple[list[tuple[Any, int]], int]:
    """The values of a column with their counts, the most frequent ones first, without rare values;
    and the number of rare values. Those of a numeric column are numbers.

    Nothing is rare where no value is listed: among more numbers than are listed, which get bins.
    """
    counted = Counter(dict(found)).most_common()
    if facts.is_numeric:
        counted = _numbers(found)
    has_bins = facts.is_numeric and not _are_few([number for number, _ in counted])
    if facts.values < _SMALL_TABLE or has_bins:
        return counted, 0
    # Truth values are known without the table.
    kept = [pair for pair in counted if pair[1] >= _FEWEST_ROWS or isinstance(pair[0], bool)]
    if facts.is_numeric and not kept:
        return [], 0
    return kept, len(counted) - len(kept)


def _are_few(numbers: Sequence[Any]) -> bool:
    """Whether the numbers of a column are listed, and do not get bins."""
    return 1 <= len(numbers) <= _MOST_VALUES and all(map(math.isfinite, numbers))


def _numbers(found: Sequence[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """The different numbers among some values, with their counts, without NaN."""
    rows_of: Counter[Any] = Counter()
    for value, rows in found:
        if value == value and str(value).lower() != "nan":
            # Texts such as 1 and 1.0 are one number.
            rows_of[_number(value)] += rows
    return rows_of.most_common()


def _first_pass(column: _Column) -> list[str]:
    """The aggregates of a column, in the order of `_Facts`."""
    number, value = f"n_{column.sql}", f"v_{column.sql}"
    finite = f"FILTER (isfinite({number}))"
    text = f"{value}::VARCHAR" if column.is_text else "''"
    return [
        f"count({value})",
        f"count(*) - count({value})",
        f"count(*) FILTER (isnan({number}))",
        f"count({value}) - count({number})",
        f"count(*) FILTER (isfinite({number}) AND {number} != floor({number}))",
        f"count(*) FILTER (regexp_full_match({text}, '{_DATE}'))",
        f"count(*) FILTER (regexp_full_match({text}, '{_OTHER_DATE}'))",
        f"count(*) FILTER (regexp_full_match({text}, '{_DECIMAL_COMMA}'))",
        f"approx_count_distinct({value})",
        f"avg(length({text}))",
        f"min({number}) {finite}",
        f"max({number}) {finite}",
        f"approx_quantile({number}, {_QUANTILES}) {finite}",
    ]


def _reason(column: _Column, facts: _Facts) -> _Reason | None:
    """Why a column should not be declared as it stands; None if it should."""
    texts = column.is_text and facts.odd > 0
    # A few texts, such as "unknown", may stand among many different dates.
    days = facts.dates + facts.other_dates
    are_days = days == facts.values or (facts.distinct > _SURELY_MORE and days > facts.values / 2)
    if (column.is_date and facts.values) or (texts and are_days):
        return _of_days(facts)
    if facts.distinct <= _SURELY_MORE:
        return None
    # Texts among numbers do not make a column one of texts.
    words = texts and not facts.has_some_odd
    among = f"; {facts.odd:,} of {facts.values:,} cells are not numbers"
    mixed = among if facts.odd < facts.values else ""
    if texts and facts.commas > facts.values / 2:
        return _Reason(
            "numbers with a decimal comma: a query with --sql can convert them; then declare bins"
        )
    if _IDENTIFIER.search(column.name) and not facts.broken:
        return _Reason("an identifier, by its name and its many values; it may be the --unit")
    if facts.are_numbers_of_rows:
        return _Reason("an identifier: whole numbers that are nearly all different")
    if words and (facts.length or 0) > _LONG:
        return _Reason("free text")
    if words and facts.distinct >= _OWN * facts.values:
        return _Reason(f"texts that are nearly all different{mixed}")
    if words and facts.distinct > _MOST_DISTINCT:
        return _Reason(f"too many different texts: declare the ones that matter, with other{mixed}")
    return None


def _of_days(facts: _Facts) -> _Reason:
    """What to do about a column of dates, or of texts of which most are dates."""
    form = '{"dates": {"from": "2020-01-01", "to": "2025-12-31", "by": "month"}}'
    declare = f"declare the first and the last one, as in {form}"
    has_others = 0 < facts.dates + facts.other_dates < facts.values
    if not facts.other_dates:
        others = ', with "other": "other" for texts that are no dates' if has_others else ""
        return _Reason(f"dates: {declare}{others}")
    # The query makes an empty cell of a text that is no date.
    if has_others:
        declare += ', with "missing": "not stated" for texts that are no dates'
    return _Reason(
        "dates that are not written as YYYY-MM-DD: a query with --sql can convert them, by "
        f"try_strptime(column, '%d.%m.%Y')::DATE in the form of your dates; then {declare}"
    )


def _unreadable_files(error: Exception) -> str:
    """The message for files of a folder that cannot be read together."""
    if not is_about_content(error):
        return unknown(error, "the files")
    return (
        "the files must be well-formed and hold the same kind of values in each column, but they "
        "do not; run this command on one of them to see which"
    )


def _unreadable(error: Exception) -> str:
    """The message for a data frame that cannot be read."""
    if not is_about_content(error):
        return unknown(error, "the data frame")
    return "the data frame must be readable by DuckDB, but it is not; pass it as a Parquet file"


def _form(
    facts: _Facts,
    found: Sequence[tuple[Any, int]],
    *,
    is_other: bool,
) -> Any:
    """The JSON form of an attribute. `found` contains pairs of a value and its count, the most
    frequent ones first. `is_other` says whether the column has other values too."""
    extras = {"missing": "missing"} if facts.is_missing else {}
    others = {"other": "other"} if is_other else {}
    if facts.is_numeric:
        return _numeric_form(facts, found, others | extras)
    if facts.has_some_odd:
        # Texts among numbers, such as "unknown", have no place in bins.
        return {"bins": _edges(facts.quantiles or [0.0, 0.0]), "other": "other", **extras}
    values = [value for value, _ in found]
    if len(values) > _MOST_VALUES or is_other:
        return {"values": _different(values[: _MOST_VALUES - 1]), "other": "other", **extras}
    kept = _different(values)
    if not kept:
        return {"values": ["missing"], "missing": "missing"}
    return {"values": kept, **extras} if extras else kept


def _numeric_form(
    facts: _Facts,
    found: Sequence[tuple[Any, int]],
    extras: dict[str, str],
) -> Any:
    """The JSON form of a numeric attribute: its values, their number, or bins."""
    numbers = sorted(number for number, _ in found)
    if not _are_few(numbers):
        return {"bins": _edges(facts.quantiles or [0.0, 0.0]), **extras}
    is_a_range = numbers == list(range(len(numbers)))
    if is_a_range and len(numbers) > 1 and not extras:
        return len(numbers)
    return {"values": numbers, **extras} if extras else numbers


def _different(values: Iterable[Any]) -> list[Value]:
    """The values in order, without values that an attribute treats as equal. Truth values stay as
    they are, and all others become texts."""
    kept: list[Value] = []
    plain = [value if isinstance(value, bool) else str(value) for value in values]
    for value in _sorted(plain):
        if not kept or Attribute(values=kept).code(value) == UNSEEN:
            kept.append(value)
    return kept


def _sorted(values: Sequence[Any]) -> list[Any]:
    """The values in text order or, if they begin with numbers, in the order of these, as "1-9",
    "10-49", "50+". Texts without a digit, such as "not stated", are then the last ones.

    Numbers with a zero in front are codes, which have text order.
    """
    texts = [value for value in values if isinstance(value, str) and re.search("[0-9]", value)]
    has_codes = any(re.match("0[0-9]", text) for text in texts)
    if has_codes or not all(re.match(_START, text) for text in texts):
        return sorted(values)
    return sorted(values, key=_by_numbers)


def _by_numbers(value: Any) -> tuple[Any, ...]:
    """The key by which values are sorted that begin with a number, or have no digit."""
    start = re.match(_START, value) if isinstance(value, str) else None
    if start is None:
        return (1, value)
    number = Decimal(start[0].replace(",", ""))
    # Every second piece of the rest is a number, too.
    rest = re.split("([0-9]+)", value[start.end() :])
    pieces = [Decimal(piece) if place % 2 else piece for place, piece in enumerate(rest)]
    return (0, number, pieces, value)


def _number(value: Any) -> int | float:
    """A value as an int if it is a whole number, otherwise as a float."""
    if isinstance(value, str):
        value = float(value) if set(value) & set(".eE") else int(value)
    is_whole = math.isfinite(value) and value == int(value)
    # A large float may have been rounded. It is declared in the form in which it is written.
    is_rounded = isinstance(value, float) and abs(value) >= faithful(float)
    return int(value) if is_whole and not is_rounded else float(value)


def _edges(quantiles: Sequence[float]) -> list[float | None]:
    """Bins whose edges are rounded quantiles, with null (no bound) at both ends.

    Each quantile is rounded to a multiple of 1, 2 or 5 times a power of ten that is near half the
    distance of its neighbours. If most quantiles are equal, the bins have equal widths.
    """
    rounded = []
    for before, at, after in zip(quantiles, quantiles[1:], quantiles[2:], strict=False):
        if before < at < after:
            rounded.append(_rounded(at, (after - before) / 2))
    edges = sorted(set(rounded))
    if len(edges) < _FEWEST_EDGES:
        return _bins(quantiles[0], quantiles[-1])
    return [None, *edges, None]


def _rounded(value: float, step: float) -> int | float:
    """A number rounded to a multiple of 1, 2 or 5 times a power of ten near `step`."""
    power = math.floor(math.log10(step))
    factor = min((1, 2, 5, 10), key=lambda factor: abs(factor * 10.0**power - step))
    place = round(value / (factor * 10.0**power))
    # Powers of ten are exact as integers, so that the edges are round.
    return _number(place * factor * 10**power if power >= 0 else place * factor / 10**-power)


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
