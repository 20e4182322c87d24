"""The `Source` protocol, and sources for data frames, dicts of columns and arrays of codes.

A source encodes every attribute of the domain in every pass. So one pass checks the whole table,
whichever views are counted. Its errors never contain a value of the data.
"""

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._optional import is_instance
from ..domain.domain import Domain
from ..domain.values import telling
from ..errors import DataError
from ..interrupts.share import tell
from .encode import ROWS, Batch, check_type, code_type, encode_batches, locate, quietly
from .failures import is_about_content, unknown
from .files import FileSource, quoted
from .folders import FilesSource
from .queries.set_operations import mixes_parts
from .queries.types_of_files import definitions, guesses_folders, guesses_types, refuse_mixed_types

__all__ = [
    "CodesSource",
    "ColumnsSource",
    "FileSource",
    "FilesSource",
    "FrameSource",
    "Source",
    "Tabular",
]


@runtime_checkable
class Source(Protocol):
    """The interface of a table whose rows can be read repeatedly. Any class with these two methods
    is a source.

    Examples
    --------
    >>> import numpy as np, margin
    >>> from margin.data.opening import open_source
    >>> isinstance(open_source(np.array([[0, 1], [1, 0]])), margin.Source)
    True
    """

    def check(self, domain: Domain) -> None:
        """Find problems that show without reading rows: a file that does not exist, or a declared
        column that is missing or repeated.

        Raises
        ------
        DataError
            When there is such a problem. The message names the file or the attribute.
        """

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Read all rows in batches. A batch maps every attribute of the domain to the codes of its
        rows: unsigned integers of shape (rows,).

        Raises
        ------
        DataError
            When an attribute has no category for a value. The message names the attribute, never
            the value.
        """


@runtime_checkable
class Tabular(Source, Protocol):
    """The interface of a source with named columns, any of which can be read. A bound on the rows
    of each person needs one."""

    def columns(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Read all rows in batches of at most `ROWS` rows. A batch has one Arrow array for each
        name, in the order of the names."""


class FrameSource:
    """The rows of an object that supports Arrow's stream protocol, such as a table of polars or
    pyarrow, or a DuckDB relation.

    Parameters
    ----------
    data
        The object. It must give the same rows every time it is read; a reader that can be read only
        once is refused.
    """

    def __init__(self, data: Any) -> None:
        import pyarrow as pa

        if isinstance(data, pa.RecordBatchReader):
            raise DataError(
                "data must be readable more than once, but a RecordBatchReader can be read only "
                "once; pass a table (its read_all()) instead"
            )
        if _is_relation(data):
            _check_types(data)
        self._data = data
        self._rows: int | None = None

    def check(self, domain: Domain) -> None:
        """Refuse a frame in which a declared column is missing, repeated, or of a type that cannot
        be read."""
        # A relation of no rows has the same columns, and its query takes no time.
        limited = getattr(self._data, "limit", None)
        data = quietly(lambda: limited(0), _unreadable) if callable(limited) else self._data
        with _stream(data) as reader:
            self._places(reader.schema, domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes), domain)

    def table(self) -> Any:
        """All columns as an Arrow table."""
        with _stream(self._data) as reader:
            return quietly(reader.read_all, _unreadable)

    def columns(self, names: Sequence[str]) -> Generator[Sequence[Any]]:
        """Read the named columns in batches of at most `ROWS` rows, as Arrow arrays."""
        rows = 0
        with _stream(self._data) as reader:
            places = self._places(reader.schema, names)
            while (batch := quietly(lambda: next(reader, None), _unreadable)) is not None:
                rows += batch.num_rows
                for start in range(0, batch.num_rows, ROWS):
                    yield [batch.column(place).slice(start, ROWS) for place in places]
        if self._rows not in (None, rows):
            raise DataError(
                "the data frame must give the same rows in every pass, but it gave another number "
                "of rows when it was read again; pass a table that does not change"
            )
        self._rows = rows

    def _places(
        self,
        schema: Any,
        names: Sequence[str],
    ) -> list[int]:
        """The positions of the named columns; DataError if one has a type that cannot be read."""
        places = locate(schema.names, names, "the data frame")
        for name, place in places.items():
            check_type(name, schema.field(place).type)
        return list(places.values())


class ColumnsSource:
    """The rows of a pandas data frame, or of a dict of columns: lists, numpy arrays, series or
    Arrow arrays.

    Columns that are not declared are not read. A column may contain values of several types.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def check(self, domain: Domain) -> None:
        """Refuse a table in which a declared column is missing, repeated, or has another length
        than the others."""
        self._declared(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes), domain)

    def columns(self, names: Sequence[str]) -> Generator[Sequence[Any]]:
        """Read the named columns in batches of at most `ROWS` rows, as Arrow arrays."""
        declared = self._declared(names)
        for start in range(0, len(declared[0]), ROWS):
            tell(start / len(declared[0]))
            slices = (getattr(column, "iloc", column)[start : start + ROWS] for column in declared)
            yield list(map(_arrow, names, slices))

    def table(self) -> Any:
        """All columns as an Arrow table."""
        import pyarrow as pa

        if isinstance(self._data, Mapping):
            columns = [_checked_column(str(name), column) for name, column in self._data.items()]
        else:
            columns = [self._data.iloc[:, place] for place in range(self._data.shape[1])]
        names = list(map(str, self._data))
        arrays = list(map(_arrow, names, columns))
        wrong = (
            "all columns must have the same length, but they differ; give one value for each row"
        )
        return quietly(lambda: pa.Table.from_arrays(arrays, names), wrong)

    def _declared(self, names: Sequence[str]) -> list[Any]:
        """The columns with the given names, in the order of the names."""
        if isinstance(self._data, Mapping):
            places = locate(list(self._data), names, "the table")
            columns = list(self._data.values())
            declared = [_checked_column(name, columns[place]) for name, place in places.items()]
        else:
            places = locate(list(self._data.columns), names, "the data frame")
            declared = [self._data.iloc[:, place] for place in places.values()]
        for name, column in zip(names, declared, strict=True):
            if len(column) != len(declared[0]):
                raise DataError(
                    f"all columns must have the same length, but column {name!r} is not as long as "
                    f"column {names[0]!r}; give one value for each row"
                )
        return declared


class CodesSource:
    """The rows of an array of integer codes: shape (rows, attributes), with the columns in the
    order of the domain."""

    def __init__(self, codes: NDArray[Any]) -> None:
        if np.ma.isMaskedArray(codes):
            raise DataError(
                "an array of codes must have a code in every cell, but this one is masked; give "
                "masked cells a code of their own"
            )
        if codes.ndim != 2 or codes.dtype.kind not in "iu":
            raise DataError(
                "an array must be two-dimensional and hold integer codes, with one column for each "
                f"attribute; this one has {codes.ndim} dimensions and type {codes.dtype}, so "
                "reshape it, or replace each value by its code"
            )
        self._codes = codes

    def check(self, domain: Domain) -> None:
        """Refuse an array that does not have one column for each attribute."""
        columns = self._codes.shape[1]
        if columns != len(domain):
            raise DataError(
                f"the array has {columns} columns, but the domain has {len(domain)} attributes; "
                "give one column for each attribute"
            )

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        self.check(domain)
        for start in range(0, len(self._codes), ROWS):
            tell(start / len(self._codes))
            block = self._codes[start : start + ROWS]
            lowest = block.min(axis=0)
            highest = block.max(axis=0)
            for place, (name, attribute) in enumerate(domain.items()):
                if lowest[place] < 0 or highest[place] >= attribute.size:
                    raise DataError(
                        f"column {name!r} holds a code that is not one of 0 ... "
                        f"{attribute.size - 1}; correct the array or declare more categories"
                    )
            # All columns are copied together. One by one, each cache line would be read many times.
            columns = np.ascontiguousarray(block.T)
            batch = {}
            for (name, attribute), column in zip(domain.items(), columns, strict=True):
                batch[name] = column.astype(code_type(attribute), copy=False)
            yield batch


def _stream(data: Any) -> Any:
    """An Arrow reader of the data. Close it after use: a DuckDB connection accepts no other query
    while one is open."""
    import pyarrow as pa

    return quietly(lambda: pa.RecordBatchReader.from_stream(data), _unreadable)


def _is_relation(data: object) -> bool:
    """Whether an object is a query of DuckDB that has not been run yet."""
    is_from_duckdb = type(data).__module__.lstrip("_").startswith("duckdb")
    return is_from_duckdb and callable(getattr(data, "explain", None))


def _plans(relation: Any) -> str:
    """The plans of a DuckDB relation, before and after its optimizer.

    A part that the optimizer drops may still determine types: the columns of a union have types
    that suit all its parts, also those without rows. Before version 2 there are only the plan after
    the optimizer and the text.
    """
    if not _can_query():
        return f"{relation.explain()}\n{relation.sql_query()}"
    with _all_plans(relation):
        return str(relation.explain())


@contextlib.contextmanager
def _all_plans(relation: Any) -> Iterator[None]:
    """Let the connection of a DuckDB relation explain plans before and after its optimizer."""
    ((before,),) = _query(relation, "SELECT current_setting('explain_output')").fetchall()
    _query(relation, "SET explain_output = 'all'")
    try:
        yield
    finally:
        _query(relation, f"SET explain_output = {quoted(before)}")


def _check_types(relation: Any) -> None:
    """Check that the types of a DuckDB relation do not depend on rows.

    Raises
    ------
    DataError
        When DuckDB would guess types, or cast the rows of one file to the type of another.
    """
    plans = quietly(lambda: _plans(relation), _unreadable)
    if guesses_types(plans):
        raise DataError(
            "the DuckDB relation reads a CSV or JSON file or a pandas data frame, and DuckDB "
            "guesses its types from some rows; pass the path of the file, or the data frame "
            "itself, or margin.Sql with files="
        )
    texts = quietly(lambda: _texts(relation), _unreadable)
    if guesses_folders(plans, texts):
        raise DataError(
            "the DuckDB relation reads files in folders named name=value, and DuckDB guesses "
            "the type of the values from all folders; pass hive_types_autocast = false to "
            "read_parquet, so that they are texts"
        )
    refuse_mixed_types(plans, texts, "the DuckDB relation")
    problem = ""
    if "PARQUET" in plans.upper() and _can_query():
        problem = quietly(lambda: _parts(relation, texts), _unreadable)
    if problem:
        raise DataError(f"the DuckDB relation {problem}")


def _parts(relation: Any, texts: Sequence[str]) -> str:
    """Why a set operation of a DuckDB relation may mix types of Parquet files; see `mixes_parts`.
    Before version 2 of DuckDB this is not found."""
    with _all_plans(relation):
        return mixes_parts(lambda text: _query(relation, text), texts)


def _texts(relation: Any) -> list[str]:
    """The text of a DuckDB relation and, if they can be found, the definitions that it uses."""
    texts = [relation.sql_query()]
    return definitions(lambda text: _query(relation, text), texts) if _can_query() else texts


def _can_query() -> bool:
    """Whether a query on the connection of a relation leaves nothing behind. Before version 2 of
    DuckDB it leaves a view, and fails if the database is read-only."""
    import duckdb

    return int(duckdb.__version__.split(".")[0]) >= 2


def _query(relation: Any, text: str) -> Any:
    """Run a query on the connection of a DuckDB relation."""
    return relation.query("margin_relation", text)


def _unreadable(error: Exception) -> str:
    """The message for a data frame that cannot be read."""
    if not is_about_content(error):
        return unknown(error, "the data frame")
    kind = type(error).__name__
    return (
        f"the data frame cannot be read through Arrow ({kind}); pass it as a Parquet file or a "
        "dict of columns"
    )


def _checked_column(name: str, column: Any) -> Any:
    """A column of a dict; DataError unless it has one dimension, a length, and can be sliced."""
    is_sliceable = hasattr(column, "__len__") and hasattr(column, "__getitem__")
    is_text_or_dict = isinstance(column, str | bytes | Mapping)
    dimensions = len(getattr(column, "shape", (0,)))
    if is_text_or_dict or not is_sliceable or dimensions != 1:
        raise DataError(
            f"column {name!r} must be a list, an array or a series, of one dimension; it is of "
            f"type {type(column).__name__} with {dimensions} dimensions, so convert it"
        )
    return column


def _arrow(name: str, values: Any) -> Any:
    """Some rows of a column as an Arrow array. A typed column keeps its type; otherwise each value
    is written as its text.

    Both ways lead to the same codes. The encoder gives a value of a typed column the code of its
    text, and `_by_value` writes the same text.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    # A series of polars keeps its own type.
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
        with contextlib.suppress(Exception):
            return pa.chunked_array(values)
    kind = getattr(values, "dtype", None)
    if _is_categorical(kind):
        return _categorical(name, values)
    is_typed = kind is not None and kind != np.dtype(object)
    if is_typed and isinstance(kind, np.dtype):
        masked = np.ma.isMaskedArray(values)
        values = _native(np.ma.asarray(values) if masked else np.asarray(values))
    # If Arrow cannot convert a type, whatever its error is, the values are written one by one.
    if is_typed:
        with contextlib.suppress(Exception):
            return pa.array(values, from_pandas=True)
    if np.ma.isMaskedArray(values):
        values = [None if value is np.ma.masked else value for value in values]
    # `list`, not `tolist`: the latter turns a date that Python cannot represent into an integer.
    return _by_value(name, list(values))


def _by_value(name: str, values: list[Any]) -> Any:
    """Values of any types as an Arrow array. If all have one plain type of Python, the array has
    this type; otherwise it holds the text of each value."""
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    kinds = set(map(type, values)) - {type(None)}
    kind = plain.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is not None:
        with contextlib.suppress(pa.ArrowInvalid, OverflowError, UnicodeError):
            return pa.array(values, kind, from_pandas=True)
    wrong = (
        f"column {name!r} holds values that cannot be read: each must be a text, a number, "
        "a truth value, a date or a time"
    )
    # A text stays unchanged: the encoder strips and normalises it, like the text of a file.
    texts = (value if type(value) is str else telling(value) for value in values)
    return quietly(lambda: pa.array(list(texts), pa.string()), wrong)


def _is_categorical(kind: object) -> bool:
    return is_instance(kind, "pandas", "CategoricalDtype")


def _categorical(name: str, values: Any) -> Any:
    """A categorical column of pandas as an Arrow dictionary array. Its categories may have several
    types."""
    import pyarrow as pa

    held = getattr(values, "array", values)
    places = np.asarray(held.codes, np.int64)
    indices = pa.array(places, mask=places < 0)
    return pa.DictionaryArray.from_arrays(indices, _arrow(name, held.categories))


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """A numpy array in the byte order of this machine, with dates in a unit that Arrow supports."""
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in "YMWhm":
        return values.astype("datetime64[s]")
    if values.dtype.isnative:
        return values
    return values.astype(values.dtype.newbyteorder("="))
