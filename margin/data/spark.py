"""Counting on a Spark cluster. The rows stay on the cluster, tables of counts come to the driver,
and noise is drawn on the driver.

Nothing here is random. Spark may run a task twice. Counts are the same then, but noise would not
be, and the mean of two draws protects less than one.
"""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain, View
from ..errors import DataError
from ..sparse.grid import Grid
from .advance import telling_tasks
from .encode import Batch, check_type, code_type, locate, quietly
from .spark_tasks import BytesTask, CellsTask, CodesTask, KeysTask, Layout, TablesTask, width

__all__ = ["SparkSource"]

_CODES = ("tinyint", "smallint", "int", "bigint", "boolean")
"""Spark's types whose values can be codes themselves."""

_INSTANTS = ("timestamp", "timestamp_ntz")
"""Spark's types of a date and time. Their Arrow type depends on the session, and each can be
read."""

_LARGEST = (1 << 63) - 1
"""The largest 64-bit integer."""

T = TypeVar("T")


class SparkSource:
    """The rows of a Spark data frame, which its executors count. Install margin with
    `pip install '.[spark]'` on the executors too.

    Spark's compiled expressions check and pack the columns of whole numbers that are their own
    codes. Any other column goes to Python through Arrow, which maps it to its declared categories.
    Each task counts all views over its rows in one pass, and Spark adds the tables up. It moves at
    most one number for each cell and task.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame` that gives the same rows each time it is read.

    Raises
    ------
    DataError
        When `frame` is not a Spark data frame.
    """

    def __init__(self, frame: Any) -> None:
        if not (hasattr(frame, "mapInArrow") and hasattr(frame, "schema")):
            instead = "use open_source for other tables"
            if isinstance(frame, str):
                instead = "pass a table of the session's catalogue as spark.table(name)"
            raise DataError(
                f"SparkSource takes a Spark data frame, not a {type(frame).__name__}; {instead}"
            )
        self._frame = frame
        _use_this_python(getattr(frame, "sparkSession", None))

    def check(self, domain: Domain) -> None:
        """Refuse a frame in which a declared column is missing, repeated, or of a type that cannot
        be read."""
        self._fields(domain.attributes)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Read the codes of all attributes in batches of rows; an array has shape (rows,). They
        come to the driver one partition at a time; `count_views` moves less."""
        return _batches(*self._packed(domain))

    def count_views(
        self,
        domain: Domain,
        views: Iterable[Iterable[str]],
    ) -> list[NDArray[np.int64]]:
        """Count some views on the cluster: their true tables, which are not private. Only the
        tables come to the driver; see `margin.data.count`."""
        return _tables(*self._packed(domain), views)

    def cells(
        self,
        domain: Domain,
        view: View,
        leaves: Grid,
        nodes: Grid,
    ) -> "SparkCells":
        """The non-zero cells of a view, which the executors group and keep; see `SparkCells`."""
        return SparkCells(*self._packed(domain), view, leaves, nodes)

    def bounded(
        self,
        unit: str,
        rows_per_person: int,
        key: bytes,
    ) -> "BoundedSparkSource":
        """A source of at most `rows_per_person` rows of each unit, which the executors select; see
        `rows_per_person.BoundedSource`."""
        return BoundedSparkSource(self, unit, rows_per_person, key)

    def keyed(
        self,
        domain: Domain,
        unit: str,
        key: bytes,
    ) -> tuple[Any, Layout]:
        """Prepare a frame from which the rows of each unit are chosen: the unit of each row, a hash
        that orders the rows of a unit, and the codes. Also returns the layout of the codes."""
        from pyspark.sql import functions as sql

        column = sql.col(_quoted(self._fields([unit])[0].name))
        frame, layout = self._packed(domain, column.alias("unit"))
        packed = Layout.of(domain, range(len(domain)))
        task = KeysTask(layout, packed, unit, key)
        return frame.mapInArrow(task.__call__, task.schema), packed

    def _packed(self, domain: Domain, *more: Any) -> tuple[Any, Layout]:
        """The frame with its columns of codes packed into 64-bit integers, and its layout. All
        other columns stay as they are."""
        from pyspark.sql import functions as sql

        fields = self._fields(domain.attributes)
        packed = []
        for place, (field, attribute) in enumerate(zip(fields, domain.values(), strict=True)):
            is_size = attribute.values is None and attribute.bins is None
            if is_size and field.dataType.simpleString() in _CODES:
                packed.append(place)
        layout = Layout.of(domain, packed)
        columns = [sql.col(_quoted(field.name)) for field in fields]
        words = [_packed(layout, columns, word) for word in layout.words]
        named = [word.alias(f"w{at}") for at, word in enumerate(words)]
        plain = [columns[place].alias(f"c{place}") for place in layout.plain]
        return self._frame.select(*named, *plain, *more), layout

    def _fields(self, names: Sequence[str]) -> list[Any]:
        """The fields of the frame with the given names; DataError if one cannot be read."""
        from pyspark.sql.pandas.types import to_arrow_type

        fields = list(self._frame.schema)
        places = locate([field.name for field in fields], names, "the Spark data frame")
        for name, place in places.items():
            kind = fields[place].dataType
            wrong = (
                f"column {name!r} is of type {kind.simpleString()}; it must hold numbers, texts, "
                "dates or times, so convert it first"
            )
            if kind.typeName() not in _INSTANTS:
                check_type(name, quietly(partial(to_arrow_type, kind), wrong))
        return [fields[place] for place in places.values()]


class BoundedSparkSource:
    """A Spark data frame of which at most `rows_per_person` rows of each unit are read.

    They are the rows that `rows_per_person.BoundedSource` keeps, so its proof of sensitivity
    applies.
    """

    def __init__(
        self,
        source: SparkSource,
        unit: str,
        rows_per_person: int,
        key: bytes,
    ) -> None:
        self._source = source
        self._unit = unit
        self._rows_per_person = rows_per_person
        self._key = key

    def check(self, domain: Domain) -> None:
        """Refuse a frame that the source refuses, or that has no column with the name of the
        unit."""
        self._source.check(domain)
        self._source.check(Domain({self._unit: 1}))

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of the kept rows."""
        return _batches(*self._kept(domain))

    def count_views(
        self,
        domain: Domain,
        views: Iterable[Iterable[str]],
    ) -> list[NDArray[np.int64]]:
        """The true tables of some views over the kept rows."""
        return _tables(*self._kept(domain), views)

    def cells(
        self,
        domain: Domain,
        view: View,
        leaves: Grid,
        nodes: Grid,
    ) -> "SparkCells":
        """The non-zero cells of a view over the kept rows; see `SparkSource.cells`."""
        return SparkCells(*self._kept(domain), view, leaves, nodes)

    def _kept(self, domain: Domain) -> tuple[Any, Layout]:
        """A frame of the kept rows, and its layout."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        frame, layout = self._source.keyed(domain, self._unit, self._key)
        # The codes decide between equal hashes, so that the choice depends on the rows alone.
        codes = [name for name in frame.columns if name not in ("unit", "place")]
        rank = sql.row_number().over(Window.partitionBy("unit").orderBy("place", *codes))
        kept = frame.withColumn("rank", rank).where(sql.col("rank") <= self._rows_per_person)
        return kept.drop("unit", "place", "rank"), layout


class SparkCells:
    """The true counts of the non-empty cells of a view, kept on the disks of the executors.

    With trees as axes they are counts of nodes; see `private.cell_counts.Cells`.

    The executors group the rows and add up their trees of sums. They keep the result on their
    disks, so it is the same each time. If a disk is lost, its part is counted again and gives the
    same integers. The driver reads one partition at a time and draws its noise. It holds no more
    than this partition and the summary.

    Parameters
    ----------
    frame, layout
        The rows and their layout.
    view, leaves, nodes
        See `CellsTask`.

    Raises
    ------
    DataError
        When a row does not fit the domain, or the job fails.
    """

    def __init__(
        self,
        frame: Any,
        layout: Layout,
        view: View,
        leaves: Grid,
        nodes: Grid,
    ) -> None:
        from pyspark import StorageLevel
        from pyspark.sql import functions as sql

        task = CellsTask(layout, view, leaves, nodes)
        added = frame.mapInArrow(task.__call__, task.schema).groupBy(*task.words)
        sums = added.agg(sql.sum("count").alias("count"), sql.min("problem").alias("problem"))
        self._sums = sums.where("count != 0 or problem is not null").persist(StorageLevel.DISK_ONLY)
        try:
            with _job(frame, counts=True) as run:
                found = run(lambda: self._sums.agg(sql.count("*"), sql.min("problem")).collect()[0])
            if found[1] is not None:
                raise DataError(found[1])
        except BaseException:
            self.close()
            raise
        self.number = int(found[0])

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The nodes in blocks: their words, shape (nodes, words), and their counts, shape
        (nodes,)."""
        for columns in _columns(self._sums.drop("problem"), BytesTask()):
            *words, counts = (np.frombuffer(column, np.int64) for column in columns)
            yield np.stack(words, axis=1), counts

    def close(self) -> None:
        """Delete the result from the executors' disks."""
        # The session may have ended already.
        with contextlib.suppress(Exception):
            self._sums.unpersist()


def _packed(
    layout: Layout,
    columns: Sequence[Any],
    word: Sequence[int],
) -> Any:
    """The Spark expression that packs some attributes in a 64-bit integer; see `spark_tasks.width`.

    The expression is short and has no branches, because Spark compiles all columns to one method,
    and Java does not compile methods of more than 8,000 bytes.
    """
    from pyspark.sql import functions as sql

    def long(number: int) -> Any:
        return sql.lit(number).cast("bigint")

    parts = []
    for place, shift in layout.shifts(word):
        size = layout.domain.sizes[place]
        bits = width(layout.domain[layout.domain.attributes[place]])
        value = columns[place].cast("bigint")
        # A negative value becomes the largest long, and every value from `size` on becomes `size`.
        sign = sql.shiftright(value, 63)
        positive = value.bitwiseOR(sign).bitwiseAND(long(_LARGEST))
        # A null becomes -1, which is all ones in the lowest bits.
        code = sql.least(sql.coalesce(positive, long(-1)), long(size))
        lowest = code.bitwiseAND(long((1 << bits) - 1))
        parts.append(sql.shiftleft(lowest, shift))
    return reduce(lambda one, other: one.bitwiseOR(other), parts)


def _tables(
    frame: Any,
    layout: Layout,
    views: Iterable[Iterable[str]],
) -> list[NDArray[np.int64]]:
    """The true tables of some views over the rows of a packed frame."""
    domain = layout.domain
    checked = tuple(map(domain.view, views))
    task = TablesTask(layout, checked)
    with _job(frame, counts=True) as run:
        cells = frame.mapInArrow(task.__call__, task.schema).groupBy("view", "cell")
        sums = run(lambda: cells.agg({"count": "sum", "problem": "min"}).toArrow())
    problems = sums.column("min(problem)").drop_null().to_pylist()
    if problems:
        raise DataError(min(problems))
    places = np.asarray(sums.column("view"), np.int64)
    cells_found = np.asarray(sums.column("cell"), np.int64)
    numbers = np.asarray(sums.column("sum(count)"), np.int64)
    tables = []
    for place, view in enumerate(checked):
        own = places == place
        table = np.zeros(domain.cells(view), np.int64)
        table[cells_found[own]] = numbers[own]
        tables.append(table.reshape(domain.shape(view)))
    return tables


def _batches(frame: Any, layout: Layout) -> Iterator[Batch]:
    """The codes of all attributes of a packed frame, in batches of rows."""
    for columns in _columns(frame, CodesTask(layout)):
        batch = {}
        for (name, attribute), column in zip(layout.domain.items(), columns, strict=True):
            batch[name] = np.frombuffer(column, code_type(attribute))
        yield batch


def _use_this_python(session: Any) -> None:
    """Let the workers of a Spark on this machine run this Python, not the first one in PATH.

    Python's version must be the same in the driver and in the workers. On a cluster, and where the
    variable PYSPARK_PYTHON is set, nothing changes.
    """
    # A session of Spark Connect has no context in this process.
    context = getattr(session, "_sc", None)
    is_set = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & os.environ.keys()
    if context is not None and context.master.startswith("local") and not is_set:
        context.pythonExec = sys.executable


def _columns(frame: Any, task: CodesTask | BytesTask) -> Iterator[Sequence[bytes]]:
    """The bytes of each column, batch by batch. One partition at a time comes to the driver."""
    with _job(frame, counts=False) as run:
        rows = run(lambda: frame.mapInArrow(task.__call__, task.schema).toLocalIterator())
        while (row := run(lambda: next(rows, None))) is not None:
            if row.problem is not None:
                raise DataError(row.problem)
            yield row.columns


@contextlib.contextmanager
def _job(
    frame: Any,
    *,
    counts: bool,
) -> Generator[Callable[[Callable[[], T]], T]]:
    """Open a context in which Spark runs jobs on a data frame.

    If it `counts` all rows, the share of its tasks is told. Where each partition is a job of its
    own, the number of all tasks is not known.

    The context gives a function `run`. `run(action)` calls `action` and returns its result. If
    `action` fails, a DataError without any value of the rows is raised. When the context is left
    by an error or by an interrupt of the user, the jobs on the cluster are cancelled.
    """
    session = frame.sparkSession
    tag = f"margin-{secrets.token_hex(8)}"
    session.addTag(tag)

    def failed(error: Exception) -> str:
        kind = type(error).__name__
        return (
            f"the Spark data frame cannot be counted: its job failed ({kind}); read the cause in "
            "Spark's log, and check that the executors have margin and the Python version of this "
            f"driver (the variable PYSPARK_PYTHON names their Python{_other_python()})"
        )

    def run(action: Callable[[], T]) -> T:
        try:
            return action()
        except Exception as error:
            if _interrupted(error):
                raise KeyboardInterrupt from None
            raise

    try:
        tasks = telling_tasks(session, f"{tag}-tasks") if counts else contextlib.nullcontext()
        with tasks:
            yield lambda action: quietly(partial(run, action), failed)
    except BaseException:
        with contextlib.suppress(Exception):
            session.interruptTag(tag)
        raise
    finally:
        # If the session has ended, another error says so already.
        with contextlib.suppress(Exception):
            session.removeTag(tag)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error was raised while Ctrl-C was handled. Spark then cancels its jobs and reports
    the cancelled job instead of the interrupt."""
    if error is None:
        return False
    return isinstance(error, KeyboardInterrupt) or _interrupted(error.__context__)


def _other_python() -> str:
    """What a message adds if PYSPARK_PYTHON names another Python than this one."""
    named = os.environ.get("PYSPARK_PYTHON", "")
    if not named or os.path.realpath(named) == os.path.realpath(sys.executable):
        return ""
    return f"; it is {named}, and the driver runs {sys.executable}"


def _quoted(name: str) -> str:
    """A name as an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"
