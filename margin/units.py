"""Bounding how many rows a person contributes, before anything is counted."""

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .domain import Domain
from .encode import Batch, Encoder, code_type, quietly
from .errors import DataError
from .files import connect, stream
from .source import Source, Tabular

__all__ = ["BoundedSource", "Bounds", "bound", "order", "texts"]


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
    """At most m rows of each unit of another source: those that come first when ordered by a keyed hash.

    Which rows of a unit are kept follows from the key, the unit, and the codes of these rows: neither from the order of
    the table nor from any other unit. Rows of equal codes are interchangeable.

    **Sensitivity.** Let K(u) be the rows kept of unit u: a function of the key and u's own rows, with at most m
    elements. What is counted is the union of all K(u). Adding or removing all rows of a unit v, whatever their number,
    leaves each K(u), u other than v, as it is, and adds or removes K(v): at most m rows. So tables that differ in one
    unit are counted like tables that differ in m rows of one person, and the noise for `rows_per_person=m` hides the
    unit; for every key, so that the key needs to be secret only to keep anybody from choosing which rows of theirs
    count. Units are compared by value, not by hash: a collision changes which of a unit's rows are kept, not how many.

    Rows are grouped by an embedded DuckDB, which sorts through a temporary folder of this user when they outgrow its
    memory; the folder is emptied after each pass.

    Parameters
    ----------
    source
        Where the rows are.
    unit
        The column that says whose a row is: numbers, texts, dates; no nulls. It is never counted, unless it is declared
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

        problems: list[DataError] = []  # what passes through DuckDB comes out as an error of its own
        fields = [(f"c{at}", pa.from_numpy_dtype(code_type(it))) for at, it in enumerate(domain.values())]
        schema = pa.schema([("unit", pa.string()), ("place", pa.int64()), *fields])

        def encoded() -> Generator[Any]:
            try:
                yield from self._encoded(domain, schema)
            except DataError as error:
                problems.append(error)
                raise

        def failed(error: Exception) -> str:
            return str(problems[0]) if problems else f"the rows could not be grouped by {self._unit!r}: disk or memory"

        names = ", ".join(name for name, _ in fields)
        query = (
            f"SELECT {names} FROM rows QUALIFY row_number() OVER (PARTITION BY unit ORDER BY place) <= {self._max_rows}"
        )
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="margin-"))
            connection = stack.enter_context(closing(connect()))
            connection.execute(f"SET temp_directory = '{folder}'")
            connection.execute("SET preserve_insertion_order = false")
            connection.register("rows", pa.RecordBatchReader.from_batches(schema, encoded()))
            reader = quietly(lambda: stream(connection.sql(query)), failed)
            while (batch := quietly(lambda: next(reader, None), failed)) is not None:
                yield {name: column.to_numpy() for name, column in zip(domain, batch.columns, strict=True)}

    def _encoded(self, domain: Domain, schema: Any) -> Generator[Any]:
        """Batches of units, places in the order, and codes."""
        import pyarrow as pa

        names = list(dict.fromkeys([*domain.attributes, self._unit]))
        encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
        for columns in self._source.columns(names):
            codes = [encoder.encode(column) for encoder, column in zip(encoders, columns, strict=False)]
            units = texts(self._unit, columns[names.index(self._unit)])
            places = order(units, codes, self._key)
            yield pa.record_batch([units, pa.array(places), *map(pa.array, codes)], schema=schema)


def texts(name: str, units: Any) -> Any:
    """The units of some rows as an Arrow array of texts, equal where the units are; DataError when one is null."""
    import pyarrow as pa

    def cast() -> Any:
        plain = units.combine_chunks() if isinstance(units, pa.ChunkedArray) else units
        if isinstance(plain.type, pa.BaseExtensionType):
            plain = plain.storage
        if pa.types.is_dictionary(plain.type):
            plain = plain.dictionary_decode()
        return plain.cast(pa.string())

    written = quietly(cast, f"column {name!r} cannot tell units apart: it must hold numbers, texts or dates")
    if written.null_count:
        raise DataError(f"column {name!r} holds nulls or empty cells; every row must say whose it is")
    return written


def order(units: Any, codes: Sequence[NDArray[Any]], key: bytes) -> NDArray[np.int64]:
    """A keyed hash of each row, shape (rows,), by which the rows of a unit are ordered: SipHash of the unit, then one
    multiplication and shift an attribute (the finaliser of SplitMix64, Steele, Lea and Flood 2014).

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
