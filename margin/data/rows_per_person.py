"""The bound on the number of rows of each person, applied before anything is counted."""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain
from ..domain.values import faithful, identity
from ..errors import DataError
from ..interrupts import check
from ..interrupts.share import tell
from .encode import Batch, Encoder, check_type, code_type, one_chunk, plain_values, quietly
from .failures import unknown
from .files import MEMORY, connected, quoted, stream
from .parts import PARTS, Parts
from .scratch import scratch
from .source import Source, Tabular

__all__ = [
    "BoundedSource",
    "Bounds",
    "bound",
    "identities",
    "order",
    "part_of",
    "possible_identities",
]

log = logging.getLogger("margin")

_ITSELF = (
    r"^(0|-?[1-9][0-9]{0,300}"  # a whole number
    # a letter first, and some character that no word has: A-17
    r"|[A-Za-z][!-~]*[0-9_.@#:/-][!-~]*"
    # a digit first, and a letter that is in no number and no date: 3f2a
    r"|[0-9][!-~]*[A-DF-SU-Ya-df-su-y_][!-~]*)$"
)
"""Texts that are their own identity: in ASCII, without blanks at their ends, and neither numbers
nor dates in another form, nor words such as "true"."""


@runtime_checkable
class Bounds(Protocol):
    """The interface of a source that limits the rows of each person itself, such as on a
    cluster."""

    def bounded(
        self,
        unit: str,
        rows_per_person: int,
        key: bytes,
        /,
    ) -> Source:
        """A source of the rows that `BoundedSource` would keep."""


def bound(
    source: Source,
    unit: str,
    rows_per_person: int,
    key: bytes,
) -> Source:
    """Limit a source to at most `rows_per_person` rows of each unit; see `BoundedSource`.

    Raises
    ------
    DataError
        When the source has no named columns.
    """
    if isinstance(source, Bounds):
        return source.bounded(unit, rows_per_person, key)
    if not isinstance(source, Tabular):
        raise DataError(
            f"unit={unit!r} needs a table with named columns, but {type(source).__name__} has "
            "none; pass a file, a query, a data frame or a dict of columns"
        )
    return BoundedSource(source, unit, rows_per_person, key)


class BoundedSource:
    """A source of at most m rows of each unit of another source. They are the first m rows of the
    unit in the order of a keyed hash.

    The rows that are kept of a unit depend on the key, the unit, and the codes of the unit's rows.
    They depend neither on the order of the table nor on any other unit. Codes decide between equal
    hashes, and rows with equal codes are interchangeable.

    **Sensitivity.** Let K(u) be the kept rows of unit u. K(u) is a function of the key and of u's
    own rows, and has at most m elements. The union of all K(u) is counted. Add or remove all rows
    of a unit v, whatever their number. Every K(u) with u other than v stays the same, and K(v), at
    most m rows, is added or removed. So tables that differ in one unit are counted like tables that
    differ in m rows of one person, and the noise for `rows_per_person=m` hides the unit. This holds
    for every key. So the key is secret only to keep people from choosing which of their rows count.
    Units are compared by their identity, not by their hash. So a collision of hashes can change
    which rows of a unit are kept, but not how many.

    A hash of the unit divides the rows into parts, and an embedded DuckDB groups them one part at a
    time. If they do not fit in memory, the parts are files in a private temporary folder, which is
    removed after each pass (see `scratch` for a process that is stopped). So the memory does not
    grow with the number of rows.

    Parameters
    ----------
    source
        The source of all rows.
    unit
        The column with the id of the unit that each row belongs to: whole numbers, texts or dates,
        without nulls, NaN or blanks. Two rows belong to the same unit if their values have the same
        `values.identity`: 7, 7.0, "7" and "07" are one unit in every kind of source. The column is
        counted only if it is declared as an attribute too.
    rows_per_person
        The number m, at least 1.
    key
        Sixteen bytes, drawn anew for each release.
    """

    def __init__(
        self,
        source: Tabular,
        unit: str,
        rows_per_person: int,
        key: bytes,
    ) -> None:
        self._source = source
        self._unit = unit
        self._rows_per_person = rows_per_person
        self._key = key
        self._memory_limit = getattr(source, "memory_limit", MEMORY)
        self._was_read = False

    def check(self, domain: Domain) -> None:
        """Refuse a table that the source refuses, or that has no column with the name of the
        unit."""
        self._source.check(domain)
        self._source.check(Domain({self._unit: 1}))

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, for the kept rows."""
        import pyarrow as pa

        kinds = [pa.from_numpy_dtype(code_type(attribute)) for attribute in domain.values()]
        fields = [(f"c{at}", kind) for at, kind in enumerate(kinds)]
        schema = pa.schema([("unit", pa.string()), ("place", pa.int64()), *fields])
        is_first = not self._was_read
        self._was_read = True
        with ExitStack() as stack:
            folder = stack.enter_context(scratch())
            # All rows of a unit go to the same part, so the parts can be grouped one by one.
            parts = stack.enter_context(Parts(folder, schema))
            if is_first:
                log.info("reading the rows of each unit")
            else:
                log.info("reading the rows of each unit again")
            for batch in self._encoded(domain, schema):
                parts.add(batch, part_of(batch.column(0), self._key))
            tell(1)
            if is_first:
                log.info("grouping and counting the rows of each unit")
            else:
                log.info("grouping and counting the rows of each unit again")
            connection = stack.enter_context(closing(connected(self._memory_limit)))
            connection.execute(f"SET temp_directory = {quoted(folder)}")
            connection.execute("SET preserve_insertion_order = false")
            for number, rows in enumerate(parts.tables()):
                tell(number / PARTS)
                connection.register("rows", rows)
                for columns in self._first_rows(connection, [name for name, _ in fields]):
                    yield dict(zip(domain, columns, strict=True))

    def _first_rows(
        self,
        connection: Any,
        names: Sequence[str],
    ) -> Generator[list[NDArray[Any]]]:
        """The codes of the first rows of each unit, from the rows that DuckDB knows as `rows`."""
        failed = partial(unknown, what=f"the rows, grouped by {self._unit!r},")
        # Codes decide between equal hashes. Otherwise DuckDB would decide, perhaps by other rows.
        listed = ", ".join(names)
        window = f"PARTITION BY unit ORDER BY place, {listed}"
        kept = f"row_number() OVER ({window}) <= {self._rows_per_person}"
        query = f"SELECT {listed} FROM rows QUALIFY {kept}"
        reader = quietly(lambda: stream(connection.sql(query)), failed)
        while (batch := quietly(lambda: next(reader, None), failed)) is not None:
            check()
            yield [column.to_numpy() for column in batch.columns]

    def _encoded(
        self,
        domain: Domain,
        schema: Any,
    ) -> Generator[Any]:
        """Batches of each row's unit, hash and codes."""
        import pyarrow as pa

        names = list(dict.fromkeys([*domain.attributes, self._unit]))
        encoders = [Encoder(name, attribute) for name, attribute in domain.items()]
        for columns in self._source.columns(names):
            check()
            # The attributes come first; a unit that is not declared is the last column.
            pairs = zip(encoders, columns, strict=False)
            codes = [encoder.encode(column) for encoder, column in pairs]
            units = identities(self._unit, columns[names.index(self._unit)])
            places = order(units, codes, self._key)
            yield pa.record_batch([units, pa.array(places), *map(pa.array, codes)], schema=schema)


def identities(name: str, units: Any) -> Any:
    """Find the id of the unit (the person) that each row belongs to, from the values of the column
    `name`.

    Rows of the same unit have equal ids (`values.identity` of the value). The result is an Arrow
    array of texts, shape (rows,).

    Raises
    ------
    DataError
        When a row has no unit (null, NaN or blank), or when its value may stand for several units.
        The message names the column only.
    """
    import pyarrow.compute as pc

    found = possible_identities(name, units)
    if found.null_count:
        raise DataError(
            f"column {name!r} holds nulls, NaN or blank cells, but every row must name its unit; "
            "leave such rows out, or give each of them its own id"
        )
    return pc.cast(found, "string")


def possible_identities(name: str, units: Any) -> Any:
    """`identities`, but null for a row without a unit.

    Raises
    ------
    DataError
        When a value may stand for several units. The message names the column only.
    """
    check_type(name, units.type)
    wrong = (
        f"column {name!r} cannot tell units apart: it must hold whole numbers, texts or dates, "
        "but a floating-point number of 2**53 or more may have been rounded; store such ids as "
        "integers or texts"
    )
    return quietly(lambda: _identities(units), wrong)


def _identities(units: Any) -> Any:
    """The identities of some values; null for missing values. Whole columns are converted together
    if a type or a pattern shows that a value's text is its identity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = one_chunk(units) if isinstance(units, pa.ChunkedArray) else units
    if isinstance(plain.type, pa.BaseExtensionType):
        plain = plain.storage
    if pa.types.is_dictionary(plain.type):
        try:
            return _identities(plain.dictionary).take(plain.indices)
        except (TypeError, ValueError):
            # The value that has no identity may be an entry that occurs in no row.
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
    """The identities of floats. Whole numbers small enough to be exact are converted together."""
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
    """The identities of any values, by one call of `values.identity` for each distinct value."""
    import pyarrow as pa

    if pa.types.is_decimal(plain.type) and plain.type.bit_width < 128:
        plain = plain.cast(pa.decimal128(38, plain.type.scale))
    encoded = plain.dictionary_encode()
    found = [identity(value) for value in plain_values(encoded.dictionary)]
    return pa.array(found, pa.string()).take(encoded.indices)


def _is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def part_of(units: Any, key: bytes) -> NDArray[np.uint8]:
    """The part that each row belongs to, by a keyed hash of its unit: shape (rows,)."""
    return (_hashed(units, key[8:]) % np.uint64(PARTS)).astype(np.uint8)


def _hashed(units: Any, key: bytes) -> NDArray[np.uint64]:
    """SipHash of each unit, with a key of eight bytes: shape (rows,)."""
    from pandas.util import hash_array

    texts = np.asarray(units.to_numpy(zero_copy_only=False), object)
    number = int.from_bytes(key, "little")
    # To look for repeated units first (`categorize`) takes longer than to hash all of them.
    return np.array(hash_array(texts, hash_key=f"{number:016x}", categorize=False), np.uint64)


def order(
    units: Any,
    codes: Sequence[NDArray[Any]],
    key: bytes,
) -> NDArray[np.int64]:
    """A keyed hash of each row, shape (rows,), by which the rows of a unit are ordered.

    It is SipHash of the unit, followed by one multiplication and shift for each attribute. The last
    steps are the finaliser of SplitMix64 (Steele, Lea and Flood 2014).

    Parameters
    ----------
    units
        The unit of each row: an Arrow array of texts.
    codes
        The codes: one array of shape (rows,) for each attribute.
    key
        Sixteen bytes.
    """
    second = int.from_bytes(key[8:], "little")
    # Hash the unit with the first half of the key.
    mixed = _hashed(units, key[:8])
    # Mix in the code of each attribute.
    for column in codes:
        mixed ^= column.astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    # Mix in the second half of the key, and finish.
    mixed ^= np.uint64(second)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
