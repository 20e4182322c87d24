"""What Spark's executors run: rows from Arrow batches in, codes or tables of counts out. Nothing
here is random."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counting import CountPlan
from ..domain.attribute import UNSEEN, Attribute
from ..domain.domain import Domain, View
from ..errors import DataError
from ..sparse.grid import Grid, counted
from .encode import ROWS, Encoder, code_type, not_provided
from .units import identities, order

__all__ = ["BytesTask", "CellsTask", "CodesTask", "KeysTask", "Layout", "TablesTask", "width"]

_LONGEST = 63  # bits of a long that hold codes


def width(attribute: Attribute) -> int:
    """How many bits a packed value takes: a code, or `size` for a value that is none, or all ones
    for a null."""
    return (attribute.size + 1).bit_length()


@dataclass(frozen=True)
class Layout:
    """How the codes of a row come in an Arrow batch: some packed into longs w0, w1, ..., others as
    columns c<place>.

    Parameters
    ----------
    domain
        The attributes.
    words
        The places of the attributes in each long, the first in the lowest bits.
    plain
        The places of the attributes that come as they are, to be encoded.
    """

    domain: Domain
    words: tuple[tuple[int, ...], ...]
    plain: tuple[int, ...] = ()

    @staticmethod
    def of(domain: Domain, packed: Sequence[int]) -> "Layout":
        """The layout that packs the attributes at these places, in this order."""
        words: list[list[int]] = []
        room = -1
        for place in packed:
            room -= width(domain[domain.attributes[place]])
            if room < 0:
                words.append([])
                room = _LONGEST - width(domain[domain.attributes[place]])
            words[-1].append(place)
        plain = tuple(place for place in range(len(domain)) if place not in set(packed))
        return Layout(domain, tuple(map(tuple, words)), plain)

    def shifts(self, word: Sequence[int]) -> list[tuple[int, int]]:
        """The place of each attribute of a long, and its lowest bit."""
        widths = [width(self.domain[self.domain.attributes[place]]) for place in word]
        return [(place, sum(widths[:at])) for at, place in enumerate(word)]

    def pack(self, codes: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
        """The longs of some rows, one array (rows,) each."""
        packed = []
        for word in self.words:
            total = np.zeros(len(codes[0]), np.int64)
            for place, shift in self.shifts(word):
                total |= codes[place].astype(np.int64) << shift
            packed.append(total)
        return packed

    def rows(self, batches: Iterator[Any]) -> Iterator[tuple[Any, list[NDArray[Any]]]]:
        """Arrow batches, each with the codes of its rows, one array an attribute.

        Raises
        ------
        DataError
            When a row has a problem; see `Encoder`.
        """
        names = self.domain.attributes
        encoders = {place: Encoder(names[place], self.domain[names[place]]) for place in self.plain}
        for batch in _gathered(batches):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            codes = {
                place: encoder.encode(columns[f"c{place}"]) for place, encoder in encoders.items()
            }
            for at, word in enumerate(self.words):
                codes.update(self._unpacked(word, columns[f"w{at}"].to_numpy()))
            yield batch, [codes[place] for place in range(len(names))]

    def _unpacked(self, word: tuple[int, ...], longs: NDArray[np.int64]) -> dict[int, NDArray[Any]]:
        codes = {}
        for place, shift in self.shifts(word):
            name = self.domain.attributes[place]
            attribute = self.domain[name]
            values = (longs >> shift) & ((1 << width(attribute)) - 1)
            if values.size and values.max() >= attribute.size:
                values = _provided(name, attribute, values)
            codes[place] = values.astype(code_type(attribute))
        return codes


def _provided(name: str, attribute: Attribute, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes of values of which some are none, or null; see `width`."""
    null, none = values > attribute.size, values == attribute.size
    for which, code, missing in (
        (null, attribute.missing_code, True),
        (none, attribute.other_code, False),
    ):
        if which.any():
            if code == UNSEEN:
                raise not_provided(name, missing=missing)
            values = np.where(which, code, values)
    return values


@dataclass(frozen=True)
class TablesTask:
    """Counts the views over the rows of a partition: a row a non-zero cell, or one that tells a
    problem."""

    layout: Layout
    views: tuple[View, ...]
    schema = "view int, cell bigint, count bigint, problem string"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        domain = self.layout.domain
        plan = CountPlan(domain, self.views, threads=1)  # its neighbours on the machine count, too
        try:
            for _, codes in self.layout.rows(batches):
                plan.accumulate(dict(zip(domain, codes, strict=True)))
        except DataError as error:
            yield _row(
                view=pa.array([-1], pa.int32()),
                cell=_zero(),
                count=_zero(),
                problem=pa.array([str(error)]),
            )
            return
        for place, table in enumerate(plan.tables):
            cells = np.flatnonzero(table)
            yield _row(
                view=pa.array(np.full(cells.size, place, np.int32)),
                cell=pa.array(cells),
                count=pa.array(table.ravel()[cells]),
                problem=pa.nulls(cells.size, pa.string()),
            )


@dataclass(frozen=True)
class CodesTask:
    """Gives the codes of the rows of a partition, a batch a row: the bytes of each attribute's."""

    layout: Layout
    schema = "columns array<binary>, problem string"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for _, codes in self.layout.rows(batches):
                yield _bytes(codes)
        except DataError as error:
            yield _row(columns=pa.nulls(1, pa.list_(pa.binary())), problem=pa.array([str(error)]))


@dataclass(frozen=True)
class CellsTask:
    """Gives the nodes that the rows of a partition are in, as words of a grid, and their counts, to
    be added up.

    Parameters
    ----------
    view
        The attributes whose cells are counted.
    leaves, nodes
        See `private.cell_counts.cells_in`.
    """

    layout: Layout
    view: View
    leaves: Grid
    nodes: Grid

    @property
    def words(self) -> list[str]:
        """The columns that hold a node."""
        return [f"w{at}" for at in range(len(self.nodes.radices))]

    @property
    def schema(self) -> str:
        return ", ".join(
            [*(f"{word} bigint" for word in self.words), "count bigint", "problem string"]
        )

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        places = [self.layout.domain.attributes.index(name) for name in self.view]
        try:
            for _, codes in self.layout.rows(batches):
                words, counts = counted(self.leaves.pack([codes[place] for place in places]))
                if self.nodes.axes != self.leaves.axes:
                    words, counts = self.nodes.spread(self.leaves.unpack(words), counts)
                columns = dict(zip(self.words, map(pa.array, words.T), strict=True))
                yield _row(
                    **columns, count=pa.array(counts), problem=pa.nulls(len(counts), pa.string())
                )
        except DataError as error:
            zeros = dict.fromkeys([*self.words, "count"], _zero())
            yield _row(**zeros, problem=pa.array([str(error)]))


@dataclass(frozen=True)
class BytesTask:
    """Gives the rows of a partition, columns of longs, a batch a row: the bytes of each column."""

    schema = CodesTask.schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in _gathered(batches):
            yield _bytes([column.to_numpy() for column in batch.columns])


@dataclass(frozen=True)
class KeysTask:
    """Gives of each row its unit, its place among the unit's rows, and its codes, packed; see
    `units.BoundedSource`.

    A problem goes where it is certain to be kept: with a unit of its own that no row has, the null.
    """

    layout: Layout
    packed: Layout
    unit: str
    key: bytes

    @property
    def schema(self) -> str:
        words = (f"w{at} bigint" for at in range(len(self.packed.words)))
        return ", ".join(["unit string, place bigint, problem string", *words])

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for batch, codes in self.layout.rows(batches):
                units = identities(self.unit, batch.column(batch.schema.get_field_index("unit")))
                places = pa.array(order(units, codes, self.key))
                words = {
                    f"w{at}": pa.array(word) for at, word in enumerate(self.packed.pack(codes))
                }
                yield _row(
                    unit=units, place=places, problem=pa.nulls(len(units), pa.string()), **words
                )
        except DataError as error:
            words = dict.fromkeys((f"w{at}" for at in range(len(self.packed.words))), _zero())
            yield _row(
                unit=pa.nulls(1, pa.string()),
                place=_zero(),
                problem=pa.array([str(error)]),
                **words,
            )


def _gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows of several batches together: Spark's are small. One that carries a problem ends it."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        if "problem" in batch.schema.names:
            for text in (
                batch.column(batch.schema.get_field_index("problem")).drop_null().to_pylist()
            ):
                raise DataError(text)
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows = [], 0
    if rows:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _bytes(columns: Sequence[NDArray[Any]]) -> Any:
    import pyarrow as pa

    held = pa.array([[column.tobytes() for column in columns]], pa.list_(pa.binary()))
    return _row(columns=held, problem=pa.nulls(1, pa.string()))


def _row(**columns: Any) -> Any:
    import pyarrow as pa

    return pa.record_batch(list(columns.values()), names=list(columns))


def _zero() -> Any:
    import pyarrow as pa

    return pa.array([0], pa.int64())
