"""Where rows come from: the `Source` protocol, and `open_source`, which makes one of a file, a data
frame or an array.

A source encodes every attribute of the domain in every pass, so that one pass judges the whole
table, whichever views are counted. What it raises never carries a value of the data.
"""

import contextlib
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain
from ..domain.values import telling
from ..errors import DataError
from .encode import ROWS, Batch, check_type, code_type, encode_batches, locate, quietly
from .files import FileSource, guesses_folders, guesses_types
from .folders import FilesSource

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
    """A table whose rows can be read, more than once. A user's own source is any class with these
    two methods."""

    def check(self, domain: Domain) -> None:
        """Refuse what can be seen without reading rows: no such file, a declared column missing or
        repeated.

        Raises
        ------
        DataError
            Names the file or the attribute.
        """

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Read all rows: for every attribute of the domain, the codes of a batch of rows, unsigned,
        shape (rows,).

        Raises
        ------
        DataError
            When the attribute does not provide for a value. Names the attribute, never the value.
        """


@runtime_checkable
class Tabular(Source, Protocol):
    """A source with named columns, of which any can be read: what a bound on the rows of a person
    needs."""

    def columns(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Read all rows: batches of at most `ROWS` rows, one Arrow array a name, in the order of
        the names."""


class FrameSource:
    """The rows of an object that speaks Arrow's stream protocol: polars, pyarrow, a DuckDB
    relation.

    Parameters
    ----------
    data
        Must give the same rows every time it is read; one that can be read only once is refused.
    """

    def __init__(self, data: Any) -> None:
        import pyarrow as pa

        if isinstance(data, pa.RecordBatchReader):
            raise DataError(
                "a RecordBatchReader can be read only once; pass a table (its read_all()) instead"
            )
        if _is_relation(data) and guesses_types(quietly(lambda: str(data.explain()), _unreadable)):
            raise DataError(
                "the DuckDB relation reads a CSV or JSON file, or a pandas data frame, the types of which "
                "DuckDB guesses from its rows; pass the path of the file, or the data frame itself, or "
                "margin.Sql with files="
            )
        if _is_relation(data) and quietly(lambda: _guesses_folders(data), _unreadable):
            raise DataError(
                "the DuckDB relation reads files in folders called name=value, and DuckDB guesses the "
                "type of the values from all folders that there are; give read_parquet "
                "hive_types_autocast = false, so that they are texts"
            )
        self._data = data
        self._rows: int | None = None

    def check(self, domain: Domain) -> None:
        """Refuse a frame in which a declared column is missing, repeated or of a type that no cell
        can be read from."""
        empty = getattr(self._data, "limit", None)  # spares a relation the query
        data = quietly(lambda: empty(0), _unreadable) if callable(empty) else self._data
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
        """See `Tabular.columns`."""
        rows = 0
        with _stream(self._data) as reader:
            places = self._places(reader.schema, names)
            while (batch := quietly(lambda: next(reader, None), _unreadable)) is not None:
                rows += batch.num_rows
                for start in range(0, batch.num_rows, ROWS):
                    yield [batch.column(place).slice(start, ROWS) for place in places]
        if self._rows not in (None, rows):
            raise DataError(
                "the data frame gave other rows when it was read again; pass a table that stays as it is"
            )
        self._rows = rows

    def _places(self, schema: Any, names: Sequence[str]) -> list[int]:
        places = locate(schema.names, names, "the data frame")
        for name, place in places.items():
            check_type(name, schema.field(place).type)
        return list(places.values())


class ColumnsSource:
    """The rows of a pandas data frame or of a dict of columns: lists, numpy arrays, series, Arrow
    arrays.

    Columns that are not declared are not looked at. Values of several types may stand in one
    column.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def check(self, domain: Domain) -> None:
        """Refuse a table in which a declared column is missing, repeated, or not as long as the
        others."""
        self._declared(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        return encode_batches(self.columns(domain.attributes), domain)

    def columns(self, names: Sequence[str]) -> Generator[Sequence[Any]]:
        """See `Tabular.columns`."""
        declared = self._declared(names)
        for start in range(0, len(declared[0]), ROWS):
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
        return quietly(
            lambda: pa.Table.from_arrays(arrays, names), "the columns must be equally long"
        )

    def _declared(self, names: Sequence[str]) -> list[Any]:
        """The columns of these names, in this order."""
        if isinstance(self._data, Mapping):
            places = locate(list(self._data), names, "the table")
            columns = list(self._data.values())
            declared = [_checked_column(name, columns[place]) for name, place in places.items()]
        else:
            places = locate(list(self._data.columns), names, "the data frame")
            declared = [self._data.iloc[:, place] for place in places.values()]
        for name, column in zip(names, declared, strict=True):
            if len(column) != len(declared[0]):
                raise DataError(f"column {name!r} is not as long as column {names[0]!r}")
        return declared


class CodesSource:
    """The rows of an array of codes, shape (rows, attributes), integers, the columns in the order
    of the domain."""

    def __init__(self, codes: NDArray[Any]) -> None:
        if np.ma.isMaskedArray(codes):
            raise DataError(
                "a masked array of codes is not accepted; give masked cells a code of their own"
            )
        if codes.ndim != 2 or codes.dtype.kind not in "iu":
            raise DataError(
                f"an array must be two-dimensional and hold integer codes, a column an attribute; "
                f"this one has {codes.ndim} dimensions and type {codes.dtype}"
            )
        self._codes = codes

    def check(self, domain: Domain) -> None:
        """Refuse an array that has not one column an attribute."""
        columns = self._codes.shape[1]
        if columns != len(domain):
            raise DataError(
                f"the array has {columns} columns, but the domain has {len(domain)} attributes"
            )

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, at most `ROWS` rows at a time."""
        self.check(domain)
        for start in range(0, len(self._codes), ROWS):
            block = self._codes[start : start + ROWS]
            lowest, highest = block.min(axis=0), block.max(axis=0)
            for name, attribute, low, high in zip(
                domain, domain.values(), lowest, highest, strict=True
            ):
                if low < 0 or high >= attribute.size:
                    raise DataError(
                        f"column {name!r} holds a code that is not one of 0 ... {attribute.size - 1}"
                    )
            columns = np.ascontiguousarray(
                block.T
            )  # at once: column by column, each cache line is fetched many times
            pairs = zip(domain.items(), columns, strict=True)
            yield {
                name: column.astype(code_type(attribute), copy=False)
                for (name, attribute), column in pairs
            }


def _stream(data: Any) -> Any:
    """An Arrow reader, to be closed after use: a DuckDB connection takes no query while one is
    open."""
    import pyarrow as pa

    return quietly(lambda: pa.RecordBatchReader.from_stream(data), _unreadable)


def _is_relation(data: object) -> bool:
    """Whether it is a query of DuckDB that is yet to be run."""
    return type(data).__module__.lstrip("_").startswith("duckdb") and callable(
        getattr(data, "explain", None)
    )


def _guesses_folders(relation: Any) -> bool:
    return guesses_folders(str(relation.explain()), [relation.sql_query()])


def _unreadable(error: Exception) -> str:
    kind = type(error).__name__
    return f"the data frame cannot be read through Arrow ({kind}); pass it as a Parquet file or a dict of columns"


def _checked_column(name: str, column: Any) -> Any:
    """A column that has a length and can be sliced."""
    sliceable = hasattr(column, "__len__") and hasattr(column, "__getitem__")
    if (
        isinstance(column, str | bytes | Mapping)
        or not sliceable
        or len(getattr(column, "shape", (0,))) != 1
    ):
        raise DataError(f"column {name!r} must be a list, an array or a series, of one dimension")
    return column


def _arrow(name: str, values: Any) -> Any:
    """Some rows of a column as an Arrow array: a typed column as it is, any other value by value.

    Which of the two happens makes no difference to any code: the encoder gives a value of a typed
    column the code of its text, and `_by_value` writes out that same text.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") and not hasattr(
        values, "iloc"
    ):  # a series of polars, in its own type
        with contextlib.suppress(Exception):
            return pa.chunked_array(values)
    kind = getattr(values, "dtype", None)
    if _is_categorical(kind):
        return _categorical(name, values)
    is_typed = kind is not None and kind != np.dtype(object)
    if is_typed and isinstance(kind, np.dtype):
        values = _native(
            np.ma.asarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
        )
    if is_typed:
        with contextlib.suppress(Exception):  # a library's own, whatever it is: then value by value
            return pa.array(values, from_pandas=True)
    if np.ma.isMaskedArray(values):
        values = [None if value is np.ma.masked else value for value in values]
    # Not `tolist`, which makes a bare integer of a date that Python's own cannot hold.
    return _by_value(name, list(values))


def _by_value(name: str, values: list[Any]) -> Any:
    """Values of any kinds, each written out as its own text; sooner where all are of one of
    Python's plain types."""
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) == 1 and (kind := plain.get(kinds.pop())) is not None:
        with contextlib.suppress(pa.ArrowInvalid, OverflowError, UnicodeError):
            return pa.array(values, kind, from_pandas=True)
    wrong = (
        f"column {name!r} holds values that cannot be read: each must be a text, a number, "
        f"a truth value, a date or a time"
    )
    # A text says already what it is: its reader strips and composes it, as the text of a file.
    texts = (value if type(value) is str else telling(value) for value in values)
    return quietly(lambda: pa.array(list(texts), pa.string()), wrong)


def _is_categorical(kind: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(kind, pandas.CategoricalDtype)


def _categorical(name: str, values: Any) -> Any:
    """A categorical column of pandas: its categories may be of several types, of which each is read
    by itself."""
    import pyarrow as pa

    held = getattr(values, "array", values)
    places = np.asarray(held.codes, np.int64)
    return pa.DictionaryArray.from_arrays(
        pa.array(places, mask=places < 0), _arrow(name, held.categories)
    )


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """A numpy array of this machine's byte order, its dates in a unit that Arrow has."""
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in "YMWhm":
        return values.astype("datetime64[s]")
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
