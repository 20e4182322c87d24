"""Columns as codes: what `Attribute.code` means, for a whole Arrow column at once.

Nothing here raises an error that carries a value of the data: where a library fails, its message, which may quote
cells, is dropped by `quietly`.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .attribute import UNSEEN, Attribute
from .domain import Domain
from .errors import DataError

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
    """The result of `action`; should it fail, a `DataError` that neither quotes nor is chained to what it raised."""
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
            raise DataError(f"{where} has {problem} named {name!r}; there must be just one, since it was declared")
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

    kind = _plain(kind)
    if types.is_dictionary(kind):
        kind = _plain(kind.value_type)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    instant = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    if not (text or number or instant or types.is_null(kind)):
        raise DataError(f"column {name!r} is of type {kind}; it must hold numbers, texts, truth values, dates or times")


def encode_batches(batches: Generator[Sequence[Any]], domain: Domain) -> Iterator[Batch]:
    """Turn batches of Arrow columns, in the order of the domain, into batches of codes.

    The generator of batches is closed at the end, also after an error, whose traceback might else keep it open.
    """
    encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
    with closing(batches):
        for columns in batches:
            pairs = zip(encoders, columns, strict=True)
            yield {encoder.name: encoder.encode(column) for encoder, column in pairs}


def not_provided(name: str, *, missing: bool) -> DataError:
    """What to raise for a value, or a missing one, that an attribute does not provide for."""
    if missing:
        return DataError(f"column {name!r} holds nulls or empty cells; declare missing=... for that attribute")
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
        self._missing = attribute.code(None)
        self._other = attribute.code(object())
        self._known: dict[object, int] = {}
        self._last: tuple[Any, list[object], NDArray[np.int64]] | None = None

    def encode(self, column: Any) -> Codes:
        """The codes of an Arrow array of n values, shape (n,): equal to `attribute.code` of each.

        Raises
        ------
        DataError
            When the attribute does not provide for a value. Names the column, not the value.
        """
        check_type(self.name, column.type)
        return quietly(lambda: self._encode(column), f"column {self.name!r} holds values that cannot be read")

    def _encode(self, column: Any) -> Codes:
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.storage
        if pa.types.is_null(column.type):
            column = column.cast(pa.int8())
        if self.attribute.values is None and pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if self.attribute.values is None and pa.types.is_integer(column.type):
            return self._by_integer(column)
        if self.attribute.values is None and pa.types.is_floating(column.type) and self._exact_as_floats():
            return self._by_float(column)
        return self._by_distinct(column)

    def _by_integer(self, column: Any) -> Codes:
        absent = _nulls(column)
        values = (column if absent is None else column.fill_null(0)).to_numpy(zero_copy_only=False)
        if self.attribute.bins is not None:
            starts, top = _integer_bins(self.attribute.bins, values.dtype)
            return self._placed(*_binned(values, starts, top), absent)
        inside = len(values) == 0 or (values.min() >= 0 and values.max() < self.attribute.size)
        outside = None if inside else (values < 0) | (values >= self.attribute.size)
        return self._placed(values, outside, absent)

    def _by_float(self, column: Any) -> Codes:
        values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        absent = np.isnan(values)
        if absent.any():
            values = np.where(absent, 0, values)
        if self.attribute.bins is not None:
            *starts, top = self.attribute.bins
            return self._placed(*_binned(values, np.array(starts, np.float64), top), absent)
        outside = (values < 0) | (values >= self.attribute.size) | (values != np.floor(values))
        return self._placed(np.where(outside, 0, values), outside, absent)

    def _placed(self, codes: NDArray[Any], outside: Mask | None, absent: Mask | None) -> Codes:
        """The codes, with those of values not provided for and of absent ones put in; absent wins."""
        if absent is not None and outside is not None:
            outside = outside & ~absent
        if outside is not None and outside.any():
            codes = np.where(outside, self._need(self._other, missing=False), codes.astype(np.int64))
        if absent is not None and absent.any():
            codes = np.where(absent, self._need(self._missing, missing=True), codes.astype(np.int64))
        return codes.astype(self._dtype, copy=False)

    def _by_distinct(self, column: Any) -> Codes:
        """One call of `attribute.code` a distinct value, remembered from batch to batch."""
        import pyarrow as pa

        if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
            column = column.cast(pa.decimal128(38, column.type.scale))
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values, table = self._table(column.dictionary)
        places = column.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
        if (table == UNSEEN).any() and (unseen := places[table[places] == UNSEEN]).size:
            missing = all(place == len(values) or self.attribute.is_missing(values[place]) for place in set(unseen))
            self._need(UNSEEN, missing=missing)
        codes: Codes = table.astype(self._dtype)[places]
        return codes

    def _table(self, dictionary: Any) -> tuple[list[object], NDArray[np.int64]]:
        """The distinct values and, of shape (values + 1,), their codes, that of null last."""
        if self._last is None or not dictionary.equals(self._last[0]):
            values = dictionary.to_pylist()
            codes = np.array([*map(self._code, values), self._missing], np.int64)
            self._last = dictionary, values, codes
        return self._last[1:]

    def _code(self, value: object) -> int:
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

    def _exact_as_floats(self) -> bool:
        return all(float(edge) == edge for edge in self.attribute.bins or ())


def _plain(kind: Any) -> Any:
    """The storage type of an extension type, any other type as it is."""
    return getattr(kind, "storage_type", kind)


def _nulls(column: Any) -> Mask | None:
    if not column.null_count:
        return None
    mask: Mask = column.is_null().to_numpy(zero_copy_only=False)
    return mask


def _integer_bins(bins: tuple[float, ...], dtype: np.dtype[Any]) -> tuple[NDArray[Any], float]:
    """The first integer of each bin and the last of all, as far as the integer type reaches: no rounding to floats."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    starts = [low if edge == -math.inf else max(math.ceil(edge), low) for edge in bins[:-1]]
    top = high if bins[-1] == math.inf else min(math.floor(bins[-1]), high)
    return np.array([start for start in starts if start <= high], dtype), top


def _binned(values: NDArray[Any], starts: NDArray[Any], top: float) -> tuple[NDArray[np.int64], Mask]:
    """The bin of each value, and whether it is in none."""
    codes = np.searchsorted(starts, values, side="right") - 1
    return codes, (codes < 0) | (values > top)
