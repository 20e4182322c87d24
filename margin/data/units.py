"""Bounding how many rows a person contributes, before anything is counted."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain
from ..domain.values import faithful, identity
from ..errors import DataError
from .encode import Batch, Encoder, check_type, code_type, one_chunk, plain_values, quietly
from .files import connect, quoted, stream
from .scratch import scratch
from .source import Source, Tabular

__all__ = ["BoundedSource", "Bounds", "bound", "identities", "order"]

_ITSELF = (
    r"^(0|-?[1-9][0-9]{0,300}"  # a whole number
    # a letter first, and some character that no word has: A-17
    r"|[A-Za-z][!-~]*[0-9_.@#:/-][!-~]*"
    # a digit first, and a letter that is in no number and no date: 3f2a
    r"|[0-9][!-~]*[A-DF-SU-Ya-df-su-y_][!-~]*)$"
)
"""Texts that are their own identity: neither blanks at their ends, nor numbers or dates in another
form, nor words such as true; all of ASCII."""


@runtime_checkable
class Bounds(Protocol):
    """A source that bounds contributions where its rows are, on a cluster."""

    def bounded(self, unit: str, max_rows: int, key: bytes, /) -> Source:
        """A source of the rows that `BoundedSource` would keep."""


def bound(source: Source, unit: str, max_rows: int, key: bytes) -> Source:
    """A source of at most `max_rows` rows of each unit; see `BoundedSource`.

    Raises
    ------
    DataError
        When the source cannot tell the units apart.
    """
    if isinstance(source, Bounds):
        return source.bounded(unit, max_rows, key)
    if not isinstance(source, Tabular):
        raise DataError(
            f"unit={unit!r} needs a table with named columns: a file, a query, a data frame or a dict of columns; "
            f"{type(source).__name__} has none"
        )
    return BoundedSource(source, unit, max_rows, key)


class BoundedSource:
    """At most m rows of each unit of another source: those that come first when ordered by a keyed
    hash.

    Which rows of a unit are kept follows from the key, the unit, and the codes of these rows:
    neither from the order of the table nor from any other unit. Codes decide between equal hashes;
    rows of equal codes are interchangeable.

    **Sensitivity.** Let K(u) be the rows kept of unit u: a function of the key and u's own rows,
    with at most m elements. What is counted is the union of all K(u). Adding or removing all rows
    of a unit v, whatever their number, leaves each K(u), u other than v, as it is, and adds or
    removes K(v): at most m rows. So tables that differ in one unit are counted like tables that
    differ in m rows of one person, and the noise for `rows_per_person=m` hides the unit; for every
    key, so that the key needs to be secret only to keep anybody from choosing which rows of theirs
    count. Units are compared by their identity, not by hash: a collision changes which of a unit's
    rows are kept, not how many.

    Rows are grouped by an embedded DuckDB, which sorts through a temporary folder of this user when
    they outgrow its memory; it is removed after each pass (`scratch` says what happens when the
    process is stopped).

    Parameters
    ----------
    source
        Where the rows are.
    unit
        The column that says whose a row is: whole numbers, texts, dates; no nulls, NaN or blanks.
        Two rows belong to one unit when their values have one `values.identity`: 7, 7.0, "7" and
        "07" are the same unit in every kind of source. It is never counted, unless it is declared
        as an attribute too.
    max_rows
        m, at least 1.
    key
        Sixteen bytes, drawn anew for each release.
    """

    def __init__(self, source: Tabular, unit: str, max_rows: int, key: bytes) -> None:
        self._source = source
        self._unit = unit
        self._max_rows = max_rows
        self._key = key

    def check(self, domain: Domain) -> None:
        """Refuse what the source refuses, and a unit that is no column."""
        self._source.check(domain)
        self._source.check(Domain({self._unit: 1}))

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, of the rows that are kept."""
        import pyarrow as pa

        # What the rows' source raises passes through DuckDB, and comes out as an error of DuckDB's.
        problems: list[BaseException] = []
        fields = [
            (f"c{at}", pa.from_numpy_dtype(code_type(it))) for at, it in enumerate(domain.values())
        ]
        schema = pa.schema([("unit", pa.string()), ("place", pa.int64()), *fields])

        def encoded() -> Generator[Any]:
            try:
                yield from self._encoded(domain, schema)
            except (DataError, KeyboardInterrupt) as error:
                problems.append(error)
                raise

        def failed(error: Exception) -> str:
            if problems and isinstance(problems[0], DataError):
                return str(problems[0])
            return f"the rows could not be grouped by {self._unit!r}: disk or memory"

        names = ", ".join(name for name, _ in fields)
        # Codes decide between equal hashes: else the engine would, perhaps by what other rows there
        # are.
        window = f"PARTITION BY unit ORDER BY place, {names}"
        query = f"SELECT {names} FROM rows QUALIFY row_number() OVER ({window}) <= {self._max_rows}"
        with ExitStack() as stack:
            folder = stack.enter_context(scratch())
            connection = stack.enter_context(closing(connect()))
            connection.execute(f"SET temp_directory = {quoted(folder)}")
            connection.execute("SET preserve_insertion_order = false")
            connection.register("rows", pa.RecordBatchReader.from_batches(schema, encoded()))
            try:
                reader = quietly(lambda: stream(connection.sql(query)), failed)
                while (batch := quietly(lambda: next(reader, None), failed)) is not None:
                    yield {
                        name: column.to_numpy()
                        for name, column in zip(domain, batch.columns, strict=True)
                    }
            except DataError:
                if any(isinstance(problem, KeyboardInterrupt) for problem in problems):
                    raise KeyboardInterrupt from None
                raise

    def _encoded(self, domain: Domain, schema: Any) -> Generator[Any]:
        """Batches of units, places in the order, and codes."""
        import pyarrow as pa

        names = list(dict.fromkeys([*domain.attributes, self._unit]))
        encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
        for columns in self._source.columns(names):
            codes = [
                encoder.encode(column) for encoder, column in zip(encoders, columns, strict=False)
            ]
            units = identities(self._unit, columns[names.index(self._unit)])
            places = order(units, codes, self._key)
            yield pa.record_batch([units, pa.array(places), *map(pa.array, codes)], schema=schema)


def identities(name: str, units: Any) -> Any:
    """Whose each row is, an Arrow array of texts, shape (rows,): `values.identity` of each value,
    equal for equal units.

    Raises
    ------
    DataError
        When a row does not say whose it is (null, NaN, blank), or its value tells no unit apart.
        Names the column only.
    """
    import pyarrow.compute as pc

    check_type(name, units.type)
    wrong = (
        f"column {name!r} cannot tell units apart: it must hold whole numbers, texts or dates; "
        f"a floating-point number of 2**53 or more may be a rounded one"
    )
    found = quietly(lambda: _identities(units), wrong)
    if found.null_count:
        raise DataError(
            f"column {name!r} holds nulls, NaN or blank cells; every row must say whose it is: "
            f"leave such rows out, or give each an id of its own"
        )
    return pc.cast(found, "string")


def _identities(units: Any) -> Any:
    """Identities, null where there is none; at once where a type or a pattern tells that a value's
    text is its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = one_chunk(units) if isinstance(units, pa.ChunkedArray) else units
    if isinstance(plain.type, pa.BaseExtensionType):
        plain = plain.storage
    if pa.types.is_dictionary(plain.type):
        try:
            return _identities(plain.dictionary).take(plain.indices)
        except (TypeError, ValueError):  # perhaps of an entry that stands in no row
            return _identities(plain.dictionary.take(plain.indices))
    if pa.types.is_null(plain.type):
        return pa.nulls(len(plain), pa.string())
    if pa.types.is_integer(plain.type):
        return plain.cast(pa.string())
    if pa.types.is_floating(plain.type):
        return _of_floats(plain)
    if not _is_text(plain.type):
        return _by_distinct(plain)
    plain = plain.cast(pa.string())
    itself = pc.fill_null(pc.match_substring_regex(plain, _ITSELF), False)
    if pc.all(itself).as_py() is not False:
        return plain
    return pc.if_else(itself, plain, _by_distinct(pc.if_else(itself, None, plain)))


def _of_floats(plain: Any) -> Any:
    """At once where a float is a whole number, and so small that it is not rounded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = plain.to_numpy(zero_copy_only=False)
    whole = (np.abs(values) < faithful(values.dtype.type)) & (np.floor(values) == values)
    found = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole).cast(pa.string())
    if whole.all():
        return found
    rest = _by_distinct(pa.array(values, mask=whole | np.isnan(values)))
    return pc.if_else(pa.array(whole), found, rest)


def _by_distinct(plain: Any) -> Any:
    """One call of `values.identity` a distinct value."""
    import pyarrow as pa

    if pa.types.is_decimal(plain.type) and plain.type.bit_width < 128:
        plain = plain.cast(pa.decimal128(38, plain.type.scale))
    encoded = plain.dictionary_encode()
    return pa.array(list(map(identity, plain_values(encoded.dictionary))), pa.string()).take(
        encoded.indices
    )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def order(units: Any, codes: Sequence[NDArray[Any]], key: bytes) -> NDArray[np.int64]:
    """A keyed hash of each row, shape (rows,), by which the rows of a unit are ordered: SipHash of
    the unit, then one multiplication and shift an attribute (the finaliser of SplitMix64, Steele,
    Lea and Flood 2014).

    Parameters
    ----------
    units
        An Arrow array of texts.
    codes
        One array of shape (rows,) an attribute.
    key
        Sixteen bytes.
    """
    from pandas.util import hash_array

    first, second = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    units = np.asarray(units.to_numpy(zero_copy_only=False), object)
    mixed = np.array(hash_array(units, hash_key=f"{first:016x}"), np.uint64)
    for column in codes:
        mixed ^= column.astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mixed ^= np.uint64(second)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
