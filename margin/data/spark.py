"""Counting on a Spark cluster: rows stay where they are, tables of counts come to the driver, and
noise is drawn there.

Nothing here is random. Spark may run a task twice; counts do not change by it, noise would (two
draws average out).
"""

import contextlib
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain, View
from ..errors import DataError
from ..sparse.grid import Grid
from .encode import Batch, check_type, code_type, locate, quietly
from .spark_tasks import BytesTask, CellsTask, CodesTask, KeysTask, Layout, TablesTask, width

__all__ = ["SparkSource"]

_CODES = ("tinyint", "smallint", "int", "bigint", "boolean")
"""Spark's types whose values can be codes themselves."""

_INSTANTS = ("timestamp", "timestamp_ntz")
"""Spark's types of a date and time. They can be read; which Arrow type they become depends on the
session."""

_LARGEST = (1 << 63) - 1

T = TypeVar("T")


class SparkSource:
    """The rows of a Spark data frame, counted by its executors. `pip install 'margin[spark]'`,
    there as well.

    Columns of whole numbers that are their own codes are checked and packed into longs by Spark's
    compiled expressions; any other column goes to Python through Arrow and is mapped to its
    declared categories there. Each task counts all views over its rows in one pass, and Spark adds
    the tables up: what it moves is at most one number a cell and task.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame` that gives the same rows each time it is read.

    Raises
    ------
    DataError
        When it is none.
    """

    def __init__(self, frame: Any) -> None:
        if not (hasattr(frame, "mapInArrow") and hasattr(frame, "schema")):
            raise DataError(f"SparkSource takes a Spark data frame, not a {type(frame).__name__}")
        self._frame = frame

    def check(self, domain: Domain) -> None:
        """Refuse a frame in which a declared column is missing, repeated or of a type that no cell
        can be read from."""
        self._fields(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """See `Source`: codes, brought to the driver a partition at a time; `count_views` does
        without."""
        return _batches(*self._packed(domain))

    def count_views(
        self, domain: Domain, views: Iterable[Iterable[str]]
    ) -> list[NDArray[np.int64]]:
        """The true tables of some views; see `counting.count`. Only these come to the driver."""
        return _tables(*self._packed(domain), views)

    def cells(self, domain: Domain, view: View, leaves: Grid, nodes: Grid) -> "SparkCells":
        """The non-zero cells of a view, grouped by the executors, where they stay; see
        `SparkCells`."""
        return SparkCells(*self._packed(domain), view, leaves, nodes)

    def bounded(self, unit: str, max_rows: int, key: bytes) -> "BoundedSparkSource":
        """A source of at most so many rows of each unit, grouped by the executors; see
        `units.BoundedSource`."""
        return BoundedSparkSource(self, unit, max_rows, key)

    def keyed(self, domain: Domain, unit: str, key: bytes) -> tuple[Any, Layout]:
        """A frame of each row's unit, place among the unit's rows, and codes; see `KeysTask`."""
        from pyspark.sql import functions as sql

        frame, layout = self._packed(
            domain, sql.col(_quoted(self._fields([unit])[0].name)).alias("unit")
        )
        packed = Layout.of(domain, range(len(domain)))
        task = KeysTask(layout, packed, unit, key)
        return frame.mapInArrow(task.__call__, task.schema), packed

    def _packed(self, domain: Domain, *more: Any) -> tuple[Any, Layout]:
        """The frame with the codes packed as far as Spark can, and how to read it."""
        from pyspark.sql import functions as sql

        fields = self._fields(domain.attributes)
        packed = [
            place
            for place, (field, attribute) in enumerate(zip(fields, domain.values(), strict=True))
            if attribute.values is None
            and attribute.bins is None
            and field.dataType.simpleString() in _CODES
        ]
        layout = Layout.of(domain, packed)
        columns = [sql.col(_quoted(field.name)) for field in fields]
        words = [
            _packed(layout, columns, word).alias(f"w{at}") for at, word in enumerate(layout.words)
        ]
        plain = [columns[place].alias(f"c{place}") for place in layout.plain]
        return self._frame.select(*words, *plain, *more), layout

    def _fields(self, names: Sequence[str]) -> list[Any]:
        """The frame's fields of these names."""
        from pyspark.sql.pandas.types import to_arrow_type

        fields = list(self._frame.schema)
        places = locate([field.name for field in fields], names, "the Spark data frame")
        for name, place in places.items():
            kind = fields[place].dataType
            wrong = f"column {name!r} is of type {kind.simpleString()}; it must hold numbers, texts, dates or times"
            if kind.typeName() not in _INSTANTS:
                check_type(name, quietly(partial(to_arrow_type, kind), wrong))
        return [fields[place] for place in places.values()]


class BoundedSparkSource:
    """At most `max_rows` rows of each unit of a Spark data frame: the same rows as of
    `units.BoundedSource`, with the same proof of sensitivity."""

    def __init__(self, source: SparkSource, unit: str, max_rows: int, key: bytes) -> None:
        self._source = source
        self._unit = unit
        self._max_rows = max_rows
        self._key = key

    def check(self, domain: Domain) -> None:
        """Refuse what the source refuses, and a unit that is no column."""
        self._source.check(domain)
        self._source.check(Domain({self._unit: 1}))

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of the rows that are kept."""
        return _batches(*self._kept(domain))

    def count_views(
        self, domain: Domain, views: Iterable[Iterable[str]]
    ) -> list[NDArray[np.int64]]:
        """The true tables of some views over the rows that are kept."""
        return _tables(*self._kept(domain), views)

    def cells(self, domain: Domain, view: View, leaves: Grid, nodes: Grid) -> "SparkCells":
        """The non-zero cells of a view, of the rows that are kept; see `SparkSource.cells`."""
        return SparkCells(*self._kept(domain), view, leaves, nodes)

    def _kept(self, domain: Domain) -> tuple[Any, Layout]:
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        frame, layout = self._source.keyed(domain, self._unit, self._key)
        codes = [
            name for name in frame.columns if name not in ("unit", "place")
        ]  # decide between equal hashes
        rank = sql.row_number().over(Window.partitionBy("unit").orderBy("place", *codes))
        kept = frame.withColumn("rank", rank).where(sql.col("rank") <= self._max_rows)
        return kept.drop("unit", "place", "rank"), layout


class SparkCells:
    """The nodes that some row is in and their counts, on the executors' disks: see
    `private.cell_counts.Cells`.

    Rows are grouped, and trees of sums made of them, by the executors. What they found is kept on
    their disks, so that it is the same each time; should one be lost, its part is counted again, to
    the same integers. The driver sees it a partition at a time, where it draws noise, and holds no
    more than that and what a summary keeps.

    Parameters
    ----------
    frame, layout
        The rows.
    view, leaves, nodes
        See `CellsTask`.

    Raises
    ------
    DataError
        When a row does not fit, or the job fails.
    """

    def __init__(self, frame: Any, layout: Layout, view: View, leaves: Grid, nodes: Grid) -> None:
        from pyspark import StorageLevel
        from pyspark.sql import functions as sql

        task = CellsTask(layout, view, leaves, nodes)
        added = frame.mapInArrow(task.__call__, task.schema).groupBy(*task.words)
        sums = added.agg(sql.sum("count").alias("count"), sql.min("problem").alias("problem"))
        self._sums = sums.where("count != 0 or problem is not null").persist(StorageLevel.DISK_ONLY)
        try:
            with _job(frame) as run:
                found = run(lambda: self._sums.agg(sql.count("*"), sql.min("problem")).collect()[0])
            if found[1] is not None:
                raise DataError(found[1])
        except BaseException:
            self.close()
            raise
        self.number = int(found[0])

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Nodes, as words of their grid, shape (nodes, words), and their counts, some at a time."""
        for columns in _columns(self._sums.drop("problem"), BytesTask()):
            *words, counts = (np.frombuffer(column, np.int64) for column in columns)
            yield np.stack(words, axis=1), counts

    def close(self) -> None:
        """Free the disks."""
        with contextlib.suppress(Exception):  # the session may be gone
            self._sums.unpersist()


def _packed(layout: Layout, columns: Sequence[Any], word: Sequence[int]) -> Any:
    """The expression that packs some attributes in a long; see `spark_tasks.width` for the codes.

    It is short and has no branches: as Spark compiles all columns to one method, and Java none of
    over 8,000 bytes.
    """
    from pyspark.sql import functions as sql

    def long(number: int) -> Any:
        return sql.lit(number).cast("bigint")

    parts = []
    for place, shift in layout.shifts(word):
        size, bits = (
            layout.domain.sizes[place],
            width(layout.domain[layout.domain.attributes[place]]),
        )
        value = columns[place].cast("bigint")
        positive = value.bitwiseOR(sql.shiftright(value, 63)).bitwiseAND(
            long(_LARGEST)
        )  # below zero: the largest
        code = sql.least(sql.coalesce(positive, long(-1)), long(size)).bitwiseAND(
            long((1 << bits) - 1)
        )
        parts.append(sql.shiftleft(code, shift))
    return reduce(lambda one, other: one.bitwiseOR(other), parts)


def _tables(frame: Any, layout: Layout, views: Iterable[Iterable[str]]) -> list[NDArray[np.int64]]:
    domain = layout.domain
    checked = tuple(map(domain.view, views))
    task = TablesTask(layout, checked)
    with _job(frame) as run:
        cells = frame.mapInArrow(task.__call__, task.schema).groupBy("view", "cell")
        sums = run(lambda: cells.agg({"count": "sum", "problem": "min"}).toArrow())
    problems = sums.column("min(problem)").drop_null().to_pylist()
    if problems:
        raise DataError(min(problems))
    tables = [np.zeros(domain.cells(view), np.int64) for view in checked]
    view, cell, number = (
        np.asarray(sums.column(name), np.int64) for name in ("view", "cell", "sum(count)")
    )
    for place, table in enumerate(tables):
        table[cell[view == place]] = number[view == place]
    return [table.reshape(domain.shape(view)) for view, table in zip(checked, tables, strict=True)]


def _batches(frame: Any, layout: Layout) -> Iterator[Batch]:
    for columns in _columns(frame, CodesTask(layout)):
        pairs = zip(layout.domain.items(), columns, strict=True)
        yield {
            name: np.frombuffer(column, code_type(attribute)) for (name, attribute), column in pairs
        }


def _columns(frame: Any, task: CodesTask | BytesTask) -> Iterator[Sequence[bytes]]:
    """The bytes of columns, batch by batch, a partition at a time."""
    with _job(frame) as run:
        rows = run(lambda: frame.mapInArrow(task.__call__, task.schema).toLocalIterator())
        while (row := run(lambda: next(rows, None))) is not None:
            if row.problem is not None:
                raise DataError(row.problem)
            yield row.columns


@contextlib.contextmanager
def _job(frame: Any) -> Generator[Callable[[Callable[[], T]], T]]:
    """Runs actions of Spark: what fails says nothing of the rows, and what is interrupted is
    cancelled there, too."""
    session = frame.sparkSession
    tag = f"margin-{secrets.token_hex(8)}"
    session.addTag(tag)

    def failed(error: Exception) -> str:
        return f"the Spark data frame cannot be counted: its job failed ({type(error).__name__}); see Spark's own log"

    def run(action: Callable[[], T]) -> T:
        try:
            return action()
        except Exception as error:
            if _interrupted(error):
                raise KeyboardInterrupt from None
            raise

    try:
        yield lambda action: quietly(partial(run, action), failed)
    except BaseException:
        with contextlib.suppress(Exception):
            session.interruptTag(tag)
        raise
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, which was told already
            session.removeTag(tag)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error came up while Ctrl-C was handled: Spark cancels its jobs then, and tells of
    these instead."""
    return error is not None and (
        isinstance(error, KeyboardInterrupt) or _interrupted(error.__context__)
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
