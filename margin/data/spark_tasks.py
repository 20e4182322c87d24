"""The tasks that Spark's executors run. They take rows in Arrow batches and return codes or counts.
Nothing here is random."""

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
from .rows_per_person import identities, order

__all__ = ["BytesTask", "CellsTask", "CodesTask", "KeysTask", "Layout", "TablesTask", "width"]

_LONGEST = 63
"""Number of bits of a 64-bit integer that hold codes."""


def width(attribute: Attribute) -> int:
    """The number of bits that one value of an attribute takes when it is packed.

    A packed value is a code, or the attribute's size for a value that is not a code, or all ones
    for a null.
    """
    return (attribute.size + 1).bit_length()


@dataclass(frozen=True)
class Layout:
    """The columns in which Spark sends the attributes of a row.

    Some attributes are codes packed into 64-bit integers, the columns w0, w1, ...; each of the
    others has a column c<position> whose values are still to be encoded.

    Parameters
    ----------
    domain
        The attributes.
    words
        For each packed column, the positions of its attributes in the domain. The first attribute
        has the lowest bits.
    plain
        The positions of the attributes that are not packed.
    """

    domain: Domain
    words: tuple[tuple[int, ...], ...]
    plain: tuple[int, ...] = ()

    @staticmethod
    def of(domain: Domain, packed: Sequence[int]) -> "Layout":
        """The layout that packs the attributes at the given positions, in this order."""
        words: list[list[int]] = []
        room = -1
        for place in packed:
            bits = width(domain[domain.attributes[place]])
            room -= bits
            # An attribute that does not fit begins a new long.
            if room < 0:
                words.append([])
                room = _LONGEST - bits
            words[-1].append(place)
        is_packed = set(packed)
        plain = tuple(place for place in range(len(domain)) if place not in is_packed)
        return Layout(domain, tuple(map(tuple, words)), plain)

    def shifts(self, word: Sequence[int]) -> list[tuple[int, int]]:
        """For each packed column, the position of each of its attributes in the domain, with the
        attribute's lowest bit in the column."""
        found = []
        shift = 0
        for place in word:
            found.append((place, shift))
            shift += width(self.domain[self.domain.attributes[place]])
        return found

    def pack(self, codes: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
        """Pack the codes of some rows into 64-bit integers: one array of shape (rows,) for each
        packed column."""
        packed = []
        for word in self.words:
            total = np.zeros(len(codes[0]), np.int64)
            for place, shift in self.shifts(word):
                total |= codes[place].astype(np.int64) << shift
            packed.append(total)
        return packed

    def rows(self, batches: Iterator[Any]) -> Iterator[tuple[Any, list[NDArray[Any]]]]:
        """Decode Arrow batches: yield each batch and, for each attribute, the codes of its rows.

        Raises
        ------
        DataError
            When a value has no code; see `Encoder`.
        """
        names = self.domain.attributes
        encoders = {place: Encoder(names[place], self.domain[names[place]]) for place in self.plain}
        for batch in _gathered(batches):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            codes: dict[int, NDArray[Any]] = {}
            for place, encoder in encoders.items():
                codes[place] = encoder.encode(columns[f"c{place}"])
            for at, word in enumerate(self.words):
                codes.update(self._unpacked(word, columns[f"w{at}"].to_numpy()))
            yield batch, [codes[place] for place in range(len(names))]

    def _unpacked(
        self,
        word: tuple[int, ...],
        longs: NDArray[np.int64],
    ) -> dict[int, NDArray[Any]]:
        """The codes of the attributes in a packed column, by their positions in the domain."""
        codes = {}
        for place, shift in self.shifts(word):
            name = self.domain.attributes[place]
            attribute = self.domain[name]
            values = (longs >> shift) & ((1 << width(attribute)) - 1)
            if values.size and values.max() >= attribute.size:
                values = _provided(name, attribute, values)
            codes[place] = values.astype(code_type(attribute))
        return codes


def _provided(
    name: str,
    attribute: Attribute,
    values: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Replace packed nulls by the code of `missing`, and values that are no codes by that of
    `other`; see `width`. DataError if the attribute declares no such category."""
    is_null = values > attribute.size
    is_no_code = values == attribute.size
    if is_null.any():
        if attribute.missing_code == UNSEEN:
            raise not_provided(name, missing=True)
        values = np.where(is_null, attribute.missing_code, values)
    if is_no_code.any():
        if attribute.other_code == UNSEEN:
            raise not_provided(name, missing=False)
        values = np.where(is_no_code, attribute.other_code, values)
    return values


@dataclass(frozen=True)
class TablesTask:
    """A task that counts views over the rows of a partition. It returns one row for each non-zero
    cell, or one row with the text of a problem."""

    layout: Layout
    views: tuple[View, ...]
    schema = "view int, cell bigint, count bigint, problem string"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        domain = self.layout.domain
        # One thread: other tasks count on the same machine.
        plan = CountPlan(domain, self.views, threads=1)
        try:
            for _, codes in self.layout.rows(batches):
                plan.accumulate(dict(zip(domain, codes, strict=True)))
        except DataError as error:
            no_view = pa.array([-1], pa.int32())
            problem = pa.array([str(error)])
            yield _row(
                view=no_view,
                cell=_zero(),
                count=_zero(),
                problem=problem,
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
    """A task that returns the codes of the rows of a partition. Each batch becomes one row with the
    bytes of each attribute's codes."""

    layout: Layout
    schema = "columns array<binary>, problem string"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for _, codes in self.layout.rows(batches):
                yield _bytes(codes)
        except DataError as error:
            yield _row(
                columns=pa.nulls(1, pa.list_(pa.binary())),
                problem=pa.array([str(error)]),
            )


@dataclass(frozen=True)
class CellsTask:
    """A task that counts the rows of a partition in each cell of a view; Spark adds the counts up.

    Only cells with rows are returned, as words. With trees as `nodes`, nodes are counted instead.

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
        """The names of the columns that hold a node."""
        return [f"w{at}" for at in range(len(self.nodes.radices))]

    @property
    def schema(self) -> str:
        words = [f"{word} bigint" for word in self.words]
        return ", ".join([*words, "count bigint", "problem string"])

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        places = [self.layout.domain.attributes.index(name) for name in self.view]
        try:
            for _, codes in self.layout.rows(batches):
                own = [codes[place] for place in places]
                words, counts = counted(self.leaves.pack(own))
                if self.nodes.axes != self.leaves.axes:
                    words, counts = self.nodes.spread(self.leaves.unpack(words), counts)
                columns = dict(zip(self.words, map(pa.array, words.T), strict=True))
                no_problem = pa.nulls(len(counts), pa.string())
                yield _row(
                    **columns,
                    count=pa.array(counts),
                    problem=no_problem,
                )
        except DataError as error:
            zeros = dict.fromkeys([*self.words, "count"], _zero())
            yield _row(
                **zeros,
                problem=pa.array([str(error)]),
            )


@dataclass(frozen=True)
class BytesTask:
    """A task that returns the rows of a partition, whose columns are 64-bit integers. Each batch
    becomes one row with the bytes of each column."""

    schema = CodesTask.schema

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in _gathered(batches):
            yield _bytes([column.to_numpy() for column in batch.columns])


@dataclass(frozen=True)
class KeysTask:
    """A task that returns for each row its unit, a hash that orders the rows of the unit, and its
    packed codes; see `rows_per_person.BoundedSource`.

    A problem is returned with null as its unit. No row has this unit, so the row of the problem is
    always kept.
    """

    layout: Layout
    packed: Layout
    unit: str
    key: bytes

    @property
    def schema(self) -> str:
        words = [f"w{at} bigint" for at in range(len(self.packed.words))]
        return ", ".join(["unit string, place bigint, problem string", *words])

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for batch, codes in self.layout.rows(batches):
                units = identities(self.unit, batch.column(batch.schema.get_field_index("unit")))
                places = pa.array(order(units, codes, self.key))
                longs = self.packed.pack(codes)
                words = {f"w{at}": pa.array(word) for at, word in enumerate(longs)}
                no_problem = pa.nulls(len(units), pa.string())
                yield _row(
                    unit=units,
                    place=places,
                    problem=no_problem,
                    **words,
                )
        except DataError as error:
            names = [f"w{at}" for at in range(len(self.packed.words))]
            words = dict.fromkeys(names, _zero())
            no_unit = pa.nulls(1, pa.string())
            problem = pa.array([str(error)])
            yield _row(
                unit=no_unit,
                place=_zero(),
                problem=problem,
                **words,
            )


def _gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows in larger batches, since Spark's are small. DataError for a batch that contains a
    problem."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        if "problem" in batch.schema.names:
            column = batch.column(batch.schema.get_field_index("problem"))
            for text in column.drop_null().to_pylist():
                raise DataError(text)
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
            rows = 0
    if rows:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _bytes(columns: Sequence[NDArray[Any]]) -> Any:
    """A batch of one row that contains the bytes of each column."""
    import pyarrow as pa

    held = pa.array([[column.tobytes() for column in columns]], pa.list_(pa.binary()))
    return _row(
        columns=held,
        problem=pa.nulls(1, pa.string()),
    )


def _row(**columns: Any) -> Any:
    """An Arrow batch of named columns."""
    import pyarrow as pa

    return pa.record_batch(list(columns.values()), names=list(columns))


def _zero() -> Any:
    """A column with one zero."""
    import pyarrow as pa

    return pa.array([0], pa.int64())
