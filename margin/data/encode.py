"""Encoding of whole Arrow columns as codes. A value gets the code that `Attribute.code` gives it.

No error raised here contains a value of the data. A library's own message may quote cells, so
`quietly` replaces it.
"""

import datetime
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..domain.attribute import UNSEEN, Attribute
from ..domain.domain import Domain
from ..domain.values import Number, faithful, number, written
from ..errors import DataError, MarginError
from ..interrupts import check
from .failures import Problem, explained

__all__ = [
    "ROWS",
    "Batch",
    "Codes",
    "Encoder",
    "check_type",
    "code_type",
    "encode_batches",
    "is_plain",
    "locate",
    "not_provided",
    "one_chunk",
    "plain_values",
    "quietly",
]

Codes = NDArray[np.unsignedinteger[Any]]
Mask = NDArray[np.bool_]
Batch = Mapping[str, Codes]
"""The codes of some rows: one array of shape (rows,) for each attribute name."""

ROWS = 65_536
"""Largest number of rows in a batch."""

_MOST_CACHED = 100_000
"""Largest number of texts whose codes an encoder remembers."""

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The number of units of an Arrow time in a second."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
"""The number of the day from which Arrow counts."""

T = TypeVar("T")


def quietly(action: Callable[[], T], problem: Problem) -> T:
    """Run `action` and return its result. If it fails, raise the error that `failures.explained`
    makes: with `problem` if the content is wrong, and otherwise with what the machine lacks.

    The new error neither quotes the original one nor is chained to it, since a library's message
    may contain cells. An error of margin keeps its type and text. A KeyboardInterrupt stays one.
    """
    try:
        return action()
    except MarginError as error:
        found = type(error)(str(error))
    except Exception as error:
        check()  # an interrupt, which a library reports as an error of its own
        found = explained(error, problem)
    raise found


def locate(
    names: Sequence[object],
    wanted: Iterable[str],
    where: str,
) -> dict[str, int]:
    """The position of each wanted column among the columns of a table.

    A column is found by its exact name. If there is none, white space around names is ignored.

    Raises
    ------
    DataError
        When no column or more than one has a wanted name. The message contains the wanted name
        only: the first line of a file without a header is a row of data.
    """
    places: dict[str, list[int]] = {}
    stripped: dict[str, list[int]] = {}
    for place, name in enumerate(map(str, names)):
        places.setdefault(name, []).append(place)
        stripped.setdefault(name.strip(), []).append(place)
    found = {}
    for name in wanted:
        candidates = places.get(name) or stripped.get(name.strip()) or []
        if not candidates:
            raise DataError(
                f"{where} has no column named {name!r}, which the domain or an argument names; "
                "correct the name, or add the column (for an attribute, `margin domain check` "
                "shows similar names)"
            )
        if len(candidates) > 1:
            raise DataError(
                f"{where} has more than one column named {name!r}, but names must differ; rename "
                "all but one of them"
            )
        found[name] = candidates[0]
    return found


def code_type(attribute: Attribute) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest of uint8, uint16 and uint32 that holds the codes of an attribute."""
    return np.min_scalar_type(attribute.size - 1)


def check_type(name: str, kind: Any) -> None:
    """Refuse an Arrow type whose cells do not each hold a single plain value.

    Raises
    ------
    DataError
        When the type is refused. The message names the column.
    """
    if not is_plain(kind):
        raise DataError(
            f"column {name!r} is of type {_held_type(kind)}; it must hold numbers, texts, truth "
            "values, dates or times, so convert it first"
        )


def is_plain(kind: Any) -> bool:
    """Whether each cell of an Arrow type holds a single plain value: a number, text, truth value,
    date or time."""
    from pyarrow import types

    held = _held_type(kind)
    # The periods and intervals of pandas are stored as numbers, but do not mean these numbers.
    inner = _plain(kind)
    inner = inner.value_type if types.is_dictionary(inner) else inner
    names = [str(getattr(it, "extension_name", "")) for it in (kind, inner)]
    if any(name.startswith("pandas.") for name in names):
        return False
    text = types.is_string(held) or types.is_large_string(held) or types.is_string_view(held)
    number = (
        types.is_integer(held)
        or types.is_floating(held)
        or types.is_decimal(held)
        or types.is_boolean(held)
    )
    instant = types.is_date(held) or types.is_time(held) or types.is_timestamp(held)
    return bool(text or number or instant or types.is_null(held))


def encode_batches(batches: Generator[Sequence[Any]], domain: Domain) -> Iterator[Batch]:
    """Encode batches of Arrow columns, which are in the order of the domain, as batches of codes.

    The generator of batches is closed at the end. This matters after an error, whose traceback
    could keep it open.
    """
    encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
    with closing(batches):
        for columns in batches:
            check()
            pairs = zip(encoders, columns, strict=True)
            yield {encoder.name: encoder.encode(column) for encoder, column in pairs}


def not_provided(name: str, *, missing: bool) -> DataError:
    """The error for a value, or a missing value, for which an attribute has no category."""
    if missing:
        return DataError(
            f"column {name!r} holds nulls, empty cells or NaN, but its attribute declares no "
            "category for them; declare missing=... for that attribute (`margin domain check` "
            "shows everything that does not fit)"
        )
    return DataError(
        f"column {name!r} holds a value for which its attribute has no category; declare "
        "other=..., or declare more values, wider bins, more dates, or shorter paths of levels "
        "(`margin domain check` shows everything that does not fit)"
    )


class Encoder:
    """A converter from Arrow columns of one attribute to codes, one batch after another.

    Parameters
    ----------
    name
        The attribute's name, for messages.
    attribute
        The attribute, which defines the codes.
    """

    def __init__(
        self,
        name: str,
        attribute: Attribute,
    ) -> None:
        self.name = name
        self.attribute = attribute
        self._dtype = code_type(attribute)
        self._known: dict[str, int] = {}
        self._thresholds: dict[np.dtype[Any], tuple[NDArray[Any], NDArray[Any]]] = {}
        self._last: tuple[Any, list[object], NDArray[np.int64]] | None = None

    def encode(self, column: Any) -> Codes:
        """The codes of an Arrow array of n values: shape (n,), each equal to `attribute.code` of
        its value.

        Raises
        ------
        DataError
            When the attribute has no category for a value. The message names the column, not the
            value.
        """
        check_type(self.name, column.type)
        wrong = (
            f"column {self.name!r} holds values that cannot be read; convert it to numbers or texts"
        )
        return quietly(lambda: self._encode(column), wrong)

    def _encode(self, column: Any) -> Codes:
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = one_chunk(column)
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.storage
        if pa.types.is_null(column.type):
            column = column.cast(pa.int8())
        # Numbers of a numeric attribute are encoded by arithmetic, all others by their texts.
        is_numeric = self.attribute.values is None
        if is_numeric and pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if is_numeric and pa.types.is_integer(column.type):
            return self._by_integer(column)
        if is_numeric and pa.types.is_floating(column.type):
            values = _numbers(column, _nulls(column), in_place_of_null=np.nan)
            kind: Any = values.dtype.type
            is_exact = self.attribute.size <= faithful(kind)
            if self.attribute.bins is not None or is_exact:
                return self._by_float(values)
        if self.attribute.is_by_day and pa.types.is_timestamp(column.type):
            return self._by_day(column)
        return self._by_distinct(column)

    def _by_day(self, column: Any) -> Codes:
        """The codes of dates and times of day, for an attribute by dates: those of their days.

        Arrow counts from 1970 on in UTC, whatever zone the column has. So the day of a time is the
        one in its text; see `values.written`.
        """
        import pyarrow as pa

        absent = _nulls(column)
        times = _numbers(column.view(pa.int64()), absent, in_place_of_null=0)
        days = times // (86_400 * _TICKS[column.type.unit])
        different, places = np.unique(days, return_inverse=True)
        table = np.array([self._day_code(day) for day in different.tolist()], np.int64)
        codes = table[places]
        outside = codes == UNSEEN
        return self._placed(np.where(outside, 0, codes), outside, absent)

    def _day_code(self, day: int) -> int:
        """The code of a day, counted from 1 January 1970; no category holds a day that the calendar
        does not have."""
        ordinal = day + _EPOCH
        if not 1 <= ordinal <= datetime.date.max.toordinal():
            return self.attribute.other_code
        return self.attribute.code(datetime.date.fromordinal(ordinal))

    def _by_integer(self, column: Any) -> Codes:
        """The codes of integers, for an attribute with a size or bins."""
        absent = _nulls(column)
        values = _numbers(column, absent, in_place_of_null=0)
        if self.attribute.bins is not None:
            starts, top = _integer_bins(self.attribute.edges, values.dtype)
            codes, outside = _binned(values, starts, top)
            return self._placed(codes, outside, absent)
        size = self.attribute.size
        inside = len(values) == 0 or (values.min() >= 0 and values.max() < size)
        if inside:
            return self._placed(values, None, absent)
        return self._placed(values, (values < 0) | (values >= size), absent)

    def _by_float(self, values: NDArray[Any]) -> Codes:
        """The codes of floats, for an attribute with a size or bins."""
        absent = np.isnan(values)
        if absent.any():
            values = np.where(absent, values.dtype.type(0), values)
        if self.attribute.bins is not None:
            starts, top = self._float_bins(values.dtype)
            codes, outside = _binned(values, starts, top)
            return self._placed(codes, outside, absent)
        outside = (values < 0) | (values >= self.attribute.size) | (values != np.floor(values))
        return self._placed(np.where(outside, 0, values), outside, absent)

    def _float_bins(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Any]:
        """The first float of each bin and the last float of the last bin; see `_first_float`."""
        if dtype not in self._thresholds:
            *lower, top = self.attribute.edges
            starts = [_first_float(edge, dtype) for edge in lower]
            self._thresholds[dtype] = np.array(starts, dtype), _last_float(top, dtype)
        return self._thresholds[dtype]

    def _placed(
        self,
        codes: NDArray[Any],
        outside: Mask | None,
        absent: Mask | None,
    ) -> Codes:
        """Complete the codes: values outside all categories get the code of `other`, and absent
        values that of `missing`. A value that is both is absent."""
        if absent is not None and outside is not None:
            outside = outside & ~absent
        if outside is not None and outside.any():
            other = self._need(self.attribute.other_code, missing=False)
            codes = np.where(outside, other, codes.astype(np.int64))
        if absent is not None and absent.any():
            missing = self._need(self.attribute.missing_code, missing=True)
            codes = np.where(absent, missing, codes.astype(np.int64))
        return codes.astype(self._dtype, copy=False)

    def _by_distinct(self, column: Any) -> Codes:
        """The codes of any column, by one call of `attribute.code` for each distinct value. Codes
        are remembered for the next batch."""
        import pyarrow as pa

        if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
            column = column.cast(pa.decimal128(38, column.type.scale))
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values, table = self._table(column.dictionary)
        # The position of each row's value; a null has the last position.
        null = len(values)
        indices = column.indices.cast(pa.int64())
        places = _numbers(indices, _nulls(indices), in_place_of_null=null)
        # Entries of the dictionary that occur in no row do not matter.
        if (table == UNSEEN).any():
            unseen = set(places[table[places] == UNSEEN])
            if unseen:
                are_missing = [
                    place == null or self.attribute.is_missing(values[place]) for place in unseen
                ]
                self._need(UNSEEN, missing=all(are_missing))
        codes: Codes = table.astype(self._dtype)[places]
        return codes

    def _table(self, dictionary: Any) -> tuple[list[object], NDArray[np.int64]]:
        """The distinct values, and their codes with the code of null at the end: shape (values +
        1,)."""
        if self._last is None or not dictionary.equals(self._last[0]):
            values = plain_values(dictionary)
            codes = np.array([*map(self._code, values), self.attribute.missing_code], np.int64)
            self._last = dictionary, values, codes
        return self._last[1:]

    def _code(self, value: object) -> int:
        """The code of a value. The codes of texts are remembered."""
        # Other values may be equal and have different texts, such as a 32-bit 0.1 and a 64-bit one.
        if type(value) is not str:
            return self.attribute.code(value)
        code = self._known.get(value)
        if code is None:
            if len(self._known) >= _MOST_CACHED:
                self._known.clear()
            code = self._known[value] = self.attribute.code(value)
        return code

    def _need(
        self,
        code: int,
        *,
        missing: bool,
    ) -> int:
        """The code of `other` or `missing`; DataError if the attribute does not declare it."""
        if code == UNSEEN:
            raise not_provided(self.name, missing=missing)
        return code


def _held_type(kind: Any) -> Any:
    """The type of the values of a dictionary or an extension type; any other type is unchanged."""
    from pyarrow import types

    inner = _plain(kind)
    return _plain(inner.value_type) if types.is_dictionary(inner) else inner


def _plain(kind: Any) -> Any:
    """The storage type of an extension type; any other type is returned unchanged."""
    return getattr(kind, "storage_type", kind)


def _nulls(column: Any) -> Mask | None:
    """Whether each value is null: shape (rows,). None if no value is."""
    import pyarrow as pa

    if not column.null_count:
        return None
    mask: Mask = _held(column.is_null().cast(pa.uint8())).astype(bool)
    return mask


def _numbers(column: Any, absent: Mask | None, *, in_place_of_null: float) -> NDArray[Any]:
    """The numbers of an Arrow array, with another number for its nulls: shape (rows,)."""
    numbers = _held(column)
    if absent is None:
        return numbers
    return np.where(absent, numbers.dtype.type(in_place_of_null), numbers)


def _held(column: Any) -> NDArray[Any]:
    """The numbers that an Arrow array holds, and anything for its nulls: shape (rows,).

    Arrow's own conversion loads pandas if that is installed, which takes longer than to count a
    small table.
    """
    dtype = np.dtype(column.type.to_pandas_dtype())
    values = column.buffers()[1]
    if values is None:  # no row, or no number
        return np.zeros(len(column), dtype)
    end = column.offset + len(column)
    return np.frombuffer(values, dtype, end)[column.offset :]


def one_chunk(column: Any) -> Any:
    """A chunked Arrow array as one array.

    Arrow cannot merge some dictionaries. This may depend on entries that occur in no row, so the
    values are then decoded first.
    """
    import pyarrow as pa

    try:
        return column.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, column.type.value_type).combine_chunks()


def plain_values(dictionary: Any) -> list[object]:
    """The values of an Arrow array as Python objects. Floats keep their width: a 32-bit 0.1 is one
    tenth."""
    from pyarrow import types

    if types.is_floating(dictionary.type) and not types.is_float64(dictionary.type):
        return list(dictionary.to_numpy(zero_copy_only=False))
    values: list[object] = dictionary.to_pylist()
    return values


def _integer_bins(edges: Sequence[Number], dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """The first integer of each bin and the last integer of the last bin, cut off at the limits of
    the integer type. Nothing is rounded to floats."""
    low = int(np.iinfo(dtype).min)
    high = int(np.iinfo(dtype).max)
    *lower, last = edges
    starts = [low if edge == -math.inf else max(math.ceil(edge), low) for edge in lower]
    reachable = [start for start in starts if start <= high]
    top = high if last == math.inf else min(math.floor(last), high)
    return np.array(reachable, dtype), top


def _first_float(edge: Number, dtype: np.dtype[Any]) -> Any:
    """The smallest float whose shortest decimal form is at least `edge`.

    The shortest form of a larger float is larger, so the floats of a bin lie between two such
    thresholds.
    """
    first = _nearest(edge, dtype)
    lowest = dtype.type(-np.inf)
    highest = dtype.type(np.inf)
    # Go down as long as the float below is in the bin too, then up to the first that is.
    while _form(before := np.nextafter(first, lowest)) >= edge and before != first:
        first = before
    while _form(first) < edge:
        first = np.nextafter(first, highest)
    return first


def _last_float(edge: Number, dtype: np.dtype[Any]) -> Any:
    """The largest float whose shortest decimal form is at most `edge`."""
    last = _nearest(edge, dtype)
    lowest = dtype.type(-np.inf)
    highest = dtype.type(np.inf)
    while _form(after := np.nextafter(last, highest)) <= edge and after != last:
        last = after
    while _form(last) > edge:
        last = np.nextafter(last, lowest)
    return last


def _nearest(edge: Number, dtype: np.dtype[Any]) -> Any:
    """A float of the type that is close to a number, or infinite if the number is too large."""
    with np.errstate(over="ignore"):
        return np.array(float(edge), np.float64).astype(dtype)[()]


def _form(value: Any) -> Number:
    """The number that a float's shortest decimal form stands for."""
    known = number(written(value) or "")
    assert known is not None
    return known


def _binned(
    values: NDArray[Any],
    starts: NDArray[Any],
    top: float,
) -> tuple[NDArray[np.int64], Mask]:
    """The bin of each value, and whether the value is outside all bins."""
    codes = np.searchsorted(starts, values, side="right") - 1
    return codes, (codes < 0) | (values > top)
