"""Columns as codes: what `Attribute.code` means, for a whole Arrow column at once.

Nothing here raises an error that carries a value of the data: where a library fails, its message,
which may quote cells, is dropped by `quietly`.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..domain.attribute import UNSEEN, Attribute
from ..domain.domain import Domain
from ..domain.values import Number, faithful, number, written
from ..errors import DataError

__all__ = [
    "ROWS",
    "Batch",
    "Codes",
    "Encoder",
    "check_type",
    "code_type",
    "encode_batches",
    "locate",
    "not_provided",
    "one_chunk",
    "plain_values",
    "quietly",
]

Codes = NDArray[np.unsignedinteger[Any]]
Mask = NDArray[np.bool_]
Batch = Mapping[str, Codes]
"""The codes of some rows: one array of shape (rows,) an attribute."""

ROWS = 65_536
"""How many rows are read at a time."""

_MOST_CACHED = 100_000

T = TypeVar("T")


def quietly(action: Callable[[], T], problem: str | Callable[[Exception], str]) -> T:
    """The result of `action`; should it fail, a `DataError` that neither quotes nor is chained to
    what it raised."""
    try:
        return action()
    except DataError as error:
        text = str(error)
    except Exception as error:  # whatever a library raises may carry cells
        text = problem if isinstance(problem, str) else problem(error)
    raise DataError(text)


def locate(names: Sequence[object], wanted: Iterable[str], where: str) -> dict[str, int]:
    """The position of each wanted column among the names of a table's columns.

    A name counts when it is equal, or else when it is equal without surrounding white space.

    Raises
    ------
    DataError
        Names what has no column, or more than one.
    """
    places: dict[str, list[int]] = {}
    stripped: dict[str, list[int]] = {}
    for place, name in enumerate(map(str, names)):
        places.setdefault(name, []).append(place)
        stripped.setdefault(name.strip(), []).append(place)
    found = {}
    for name in wanted:
        candidates = places.get(name) or stripped.get(name.strip()) or []
        if len(candidates) != 1:
            problem = "more than one column" if candidates else "no column"
            raise DataError(
                f"{where} has {problem} named {name!r}; there must be just one, since it was declared"
            )
        found[name] = candidates[0]
    return found


def code_type(attribute: Attribute) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest of uint8, uint16 and uint32 that holds the codes of an attribute."""
    return np.min_scalar_type(attribute.size - 1)


def check_type(name: str, kind: Any) -> None:
    """Refuse an Arrow type that has no single plain value in a cell.

    Raises
    ------
    DataError
        Names the column.
    """
    from pyarrow import types

    inner = _plain(kind)
    inner = inner.value_type if types.is_dictionary(inner) else inner
    names = (str(getattr(it, "extension_name", "")) for it in (kind, inner))
    foreign = any(
        name.startswith("pandas.") for name in names
    )  # periods, intervals: stored as numbers
    kind = _plain(inner)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    number = (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )
    instant = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    if foreign or not (text or number or instant or types.is_null(kind)):
        raise DataError(
            f"column {name!r} is of type {kind}; it must hold numbers, texts, truth values, dates or times"
        )


def encode_batches(batches: Generator[Sequence[Any]], domain: Domain) -> Iterator[Batch]:
    """Turn batches of Arrow columns, in the order of the domain, into batches of codes.

    The generator of batches is closed at the end, also after an error, whose traceback might else
    keep it open.
    """
    encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
    with closing(batches):
        for columns in batches:
            pairs = zip(encoders, columns, strict=True)
            yield {encoder.name: encoder.encode(column) for encoder, column in pairs}


def not_provided(name: str, *, missing: bool) -> DataError:
    """What to raise for a value, or a missing one, that an attribute does not provide for."""
    if missing:
        return DataError(
            f"column {name!r} holds nulls or empty cells; declare missing=... for that attribute"
        )
    return DataError(
        f"column {name!r} holds a value that its attribute does not provide for; declare other=... or widen it"
    )


class Encoder:
    """Turns the columns of one attribute into codes, batch after batch.

    Parameters
    ----------
    name
        The attribute's name, for messages.
    attribute
        Says what the codes mean.
    """

    def __init__(self, name: str, attribute: Attribute) -> None:
        self.name = name
        self.attribute = attribute
        self._dtype = code_type(attribute)
        self._known: dict[str, int] = {}
        self._thresholds: dict[np.dtype[Any], tuple[NDArray[Any], NDArray[Any]]] = {}
        self._last: tuple[Any, list[object], NDArray[np.int64]] | None = None

    def encode(self, column: Any) -> Codes:
        """The codes of an Arrow array of n values, shape (n,): equal to `attribute.code` of each.

        Raises
        ------
        DataError
            When the attribute does not provide for a value. Names the column, not the value.
        """
        check_type(self.name, column.type)
        return quietly(
            lambda: self._encode(column), f"column {self.name!r} holds values that cannot be read"
        )

    def _encode(self, column: Any) -> Codes:
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = one_chunk(column)
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.storage
        if pa.types.is_null(column.type):
            column = column.cast(pa.int8())
        if self.attribute.values is None and pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if self.attribute.values is None and pa.types.is_integer(column.type):
            return self._by_integer(column)
        if self.attribute.values is None and pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            if self.attribute.bins is not None or self.attribute.size <= faithful(
                values.dtype.type
            ):
                return self._by_float(values)
        return self._by_distinct(column)

    def _by_integer(self, column: Any) -> Codes:
        absent = _nulls(column)
        values = (column if absent is None else column.fill_null(0)).to_numpy(zero_copy_only=False)
        if self.attribute.bins is not None:
            starts, top = _integer_bins(self.attribute.edges, values.dtype)
            return self._placed(*_binned(values, starts, top), absent)
        inside = len(values) == 0 or (values.min() >= 0 and values.max() < self.attribute.size)
        outside = None if inside else (values < 0) | (values >= self.attribute.size)
        return self._placed(values, outside, absent)

    def _by_float(self, values: NDArray[Any]) -> Codes:
        absent = np.isnan(values)
        if absent.any():
            values = np.where(absent, values.dtype.type(0), values)
        if self.attribute.bins is not None:
            starts, top = self._float_bins(values.dtype)
            return self._placed(*_binned(values, starts, top), absent)
        outside = (values < 0) | (values >= self.attribute.size) | (values != np.floor(values))
        return self._placed(np.where(outside, 0, values), outside, absent)

    def _float_bins(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Any]:
        """The first float of each bin and the last of all: see `_first_float`."""
        if dtype not in self._thresholds:
            *lower, top = self.attribute.edges
            starts = [_first_float(edge, dtype) for edge in lower]
            self._thresholds[dtype] = np.array(starts, dtype), _last_float(top, dtype)
        return self._thresholds[dtype]

    def _placed(self, codes: NDArray[Any], outside: Mask | None, absent: Mask | None) -> Codes:
        """The codes, with those of values not provided for and of absent ones put in; absent wins."""
        if absent is not None and outside is not None:
            outside = outside & ~absent
        if outside is not None and outside.any():
            codes = np.where(
                outside,
                self._need(self.attribute.other_code, missing=False),
                codes.astype(np.int64),
            )
        if absent is not None and absent.any():
            codes = np.where(
                absent,
                self._need(self.attribute.missing_code, missing=True),
                codes.astype(np.int64),
            )
        return codes.astype(self._dtype, copy=False)

    def _by_distinct(self, column: Any) -> Codes:
        """One call of `attribute.code` a distinct value, remembered from batch to batch."""
        import pyarrow as pa

        if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
            column = column.cast(pa.decimal128(38, column.type.scale))
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values, table = self._table(column.dictionary)
        places = (
            column.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
        )
        if (table == UNSEEN).any() and (unseen := places[table[places] == UNSEEN]).size:
            missing = all(
                place == len(values) or self.attribute.is_missing(values[place])
                for place in set(unseen)
            )
            self._need(UNSEEN, missing=missing)
        codes: Codes = table.astype(self._dtype)[places]
        return codes

    def _table(self, dictionary: Any) -> tuple[list[object], NDArray[np.int64]]:
        """The distinct values and, of shape (values + 1,), their codes, that of null last."""
        if self._last is None or not dictionary.equals(self._last[0]):
            values = plain_values(dictionary)
            codes = np.array([*map(self._code, values), self.attribute.missing_code], np.int64)
            self._last = dictionary, values, codes
        return self._last[1:]

    def _code(self, value: object) -> int:
        if (
            type(value) is not str
        ):  # other values may be equal and mean different things: a 32-bit 0.1 and a 64-bit one
            return self.attribute.code(value)
        code = self._known.get(value)
        if code is None:
            if len(self._known) >= _MOST_CACHED:
                self._known.clear()
            code = self._known[value] = self.attribute.code(value)
        return code

    def _need(self, code: int, *, missing: bool) -> int:
        if code == UNSEEN:
            raise not_provided(self.name, missing=missing)
        return code


def _plain(kind: Any) -> Any:
    """The storage type of an extension type, any other type as it is."""
    return getattr(kind, "storage_type", kind)


def _nulls(column: Any) -> Mask | None:
    if not column.null_count:
        return None
    mask: Mask = column.is_null().to_numpy(zero_copy_only=False)
    return mask


def one_chunk(column: Any) -> Any:
    """A chunked Arrow array as one array; without dictionaries where Arrow cannot merge them, which
    it tells by entries that need not stand in any row."""
    import pyarrow as pa

    try:
        return column.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, column.type.value_type).combine_chunks()


def plain_values(dictionary: Any) -> list[object]:
    """The values of an Arrow array, floats in their own width: a 32-bit 0.1 is one tenth."""
    from pyarrow import types

    if types.is_floating(dictionary.type) and not types.is_float64(dictionary.type):
        return list(dictionary.to_numpy(zero_copy_only=False))
    values: list[object] = dictionary.to_pylist()
    return values


def _integer_bins(edges: Sequence[Number], dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """The first integer of each bin and the last of all, as far as the integer type reaches: no
    rounding to floats."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    *lower, last = edges
    starts = [low if edge == -math.inf else max(math.ceil(edge), low) for edge in lower]
    top = high if last == math.inf else min(math.floor(last), high)
    return np.array([start for start in starts if start <= high], dtype), top


def _first_float(edge: Number, dtype: np.dtype[Any]) -> Any:
    """The smallest float whose shortest decimal form is at least `edge`.

    The shortest form of a larger float is larger, so the floats of a bin lie between two such
    thresholds.
    """
    first = _nearest(edge, dtype)
    while _form(before := np.nextafter(first, dtype.type(-np.inf))) >= edge and before != first:
        first = before
    while _form(first) < edge:
        first = np.nextafter(first, dtype.type(np.inf))
    return first


def _last_float(edge: Number, dtype: np.dtype[Any]) -> Any:
    """The largest float whose shortest decimal form is at most `edge`."""
    last = _nearest(edge, dtype)
    while _form(after := np.nextafter(last, dtype.type(np.inf))) <= edge and after != last:
        last = after
    while _form(last) > edge:
        last = np.nextafter(last, dtype.type(-np.inf))
    return last


def _nearest(edge: Number, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):
        return np.array(float(edge), np.float64).astype(dtype)[()]


def _form(value: Any) -> Number:
    known = number(written(value) or "")
    assert known is not None
    return known


def _binned(
    values: NDArray[Any], starts: NDArray[Any], top: float
) -> tuple[NDArray[np.int64], Mask]:
    """The bin of each value, and whether it is in none."""
    codes = np.searchsorted(starts, values, side="right") - 1
    return codes, (codes < 0) | (values > top)
