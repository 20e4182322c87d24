"""How much of a table has been read, for a display of progress: of files, PostgreSQL and Spark.

Only shares are told, no number of rows; see `interrupts.share`.
"""

import contextlib
import gzip
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..interrupts.share import teller

__all__ = ["RowsRead", "rows_of_file", "telling_query", "telling_tasks"]

_FULL = 0.99
"""Largest share that an estimate tells. The end of the table tells the rest."""

_HEAD = 1 << 21
"""Number of bytes at the beginning of a text file whose lines are counted."""

_PAUSE = 0.5
"""Seconds between two looks at a Spark job or a query of DuckDB."""


class RowsRead:
    """Tells the share of the rows that have been read.

    Parameters
    ----------
    expected
        The expected number of rows, at least roughly; 0 if it is not known.
    """

    def __init__(self, expected: float) -> None:
        self._expected = expected
        self._rows = 0
        self._tell = teller()

    def add(self, rows: int) -> None:
        """Tell the share after some more rows, from any thread. Nothing is told if the expected
        number is not known."""
        self._rows += rows
        if self._tell is not None and self._expected:
            self._tell(min(_FULL, self._rows / self._expected))


def rows_of_file(path: Path) -> float:
    """The number of rows of a Parquet file, or an estimate for a text file with a row a line.

    The estimate is the size of the file divided by the mean length of its first lines. It is 0 for
    other files.
    """
    import pyarrow.parquet as pq

    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        return int(pq.read_metadata(path).num_rows)
    if name.endswith(".json"):
        return 0
    with path.open("rb") as file, contextlib.ExitStack() as stack:
        is_compressed = name.endswith(".gz")
        text: Any = stack.enter_context(gzip.open(file)) if is_compressed else file
        head: bytes = text.read(_HEAD)
        # Of a compressed file, this is the number of compressed bytes of the head.
        taken = file.tell()
    return head.count(b"\n") * path.stat().st_size / max(1, taken)


@contextlib.contextmanager
def telling_tasks(session: Any, tag: str) -> Iterator[None]:
    """Tell the share of finished tasks of the Spark jobs with a tag, for a `with` block.

    A session of Spark Connect has no such count, and nothing is told.
    """
    context = getattr(session, "_sc", None)
    if teller() is None or context is None:
        yield
        return
    context.addJobTag(tag)
    try:
        with _telling(lambda: _tasks_done(context, tag)):
            yield
    finally:
        with contextlib.suppress(Exception):
            context.removeJobTag(tag)


@contextlib.contextmanager
def telling_query(connection: Any) -> Iterator[None]:
    """Tell the share of the query that a DuckDB connection runs in a `with` block.

    `files.measure` prepares the connection for it.
    """
    # DuckDB says -1 before it knows.
    with _telling(lambda: connection.query_progress() / 100):
        yield


@contextlib.contextmanager
def _telling(share_done: Callable[[], float]) -> Iterator[None]:
    """Ask for a share in a thread of its own, and tell the largest so far, for a `with` block.

    Nothing is asked if nobody listens.
    """
    tell_here = teller()
    if tell_here is None:
        yield
        return
    end = threading.Event()

    def watch() -> None:
        share = 0.0
        while not end.wait(_PAUSE):
            # The session may end at any time; the job itself reports that.
            with contextlib.suppress(Exception):
                share = max(share, share_done())
                tell_here(share)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _tasks_done(context: Any, tag: str) -> float:
    """The share of finished tasks of the jobs with a tag."""
    tracker = context.statusTracker()
    done = total = 0
    for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag):
        for stage in tracker.getJobInfo(job).stageIds:
            info = tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
    return min(_FULL, done / total) if total else 0.0
