"""Long measurements that can be resumed: one function call for each key, its rows in a CSV file.

The calls run in parallel if asked for, each with a time limit if one is given.

    keys = [{"k": k, "run": run} for k in (4, 6) for run in range(5)]
    rows = sweep(out / "rows.csv", measure, keys, limit=60)

`measure(k=4, run=0)` returns a dict, or a list of dicts, of numbers and short texts: the columns
that follow the columns of the key. All its random numbers follow from the key (see `seed_of`). So
the same keys give the same rows for any number of processes and after any interruption.
"""

import csv
import hashlib
import importlib
import io
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from experiments.tools.manifest import cpu_seconds, entry, manifest_path

Key = dict[str, Any]
Row = dict[str, str]
"""What was read from a file: texts by column, "" where a row has no such value."""
Work = Callable[..., "dict[str, Any] | list[dict[str, Any]]"]

STATUS = "status"
"""The column that says how a key ended: DONE, LATE, or "failed: " and the error; see `good` and
`bad`."""
DONE, LATE, NOT_RUN = "done", "time limit", "not run"

processes = 1
"""How many processes a sweep uses; `python -m experiments run --processes N` sets it."""
measuring = True
"""Whether a sweep measures what is missing; `--report` shows what there is instead."""
smoke = False
"""Whether studies run at their smallest size, as a test; their pages say so."""

_swept: dict[Path, dict[str, tuple[list[Key], list[Row]]]] = {}
"""For each folder and file of rows in it: the keys of its last sweep, and the rows found."""

_QUIET = 20.0
"""Seconds between two lines of progress where stderr is not a terminal."""


MISSING = {STATUS: NOT_RUN}


def sweep(path: Path, work: Work, keys: Iterable[Key], *, limit: float | None = None) -> list[Row]:
    """The rows of `work(**key)` for each key, in the order of the keys; only those not in the file
    at `path` are made.

    Parameters
    ----------
    path
        The CSV file. Rows are on disk as soon as a key is done. Rows of other keys in it are kept,
        and not returned.
    work
        A function of a module (not a lambda): other processes import it. It is called with the
        key's items.
    keys
        Dicts of one set of columns, different from each other. Whatever decides the result must be
        in them, the size of the study too.
    limit
        Seconds that a key may take. One that takes longer is stopped, and has one row whose status
        is "time limit".

    A key whose work raises has one row whose status begins with "failed"; the others go on. Run
    again, and keys that failed are tried again; those that are done or took too long are not.
    Progress and the time left go to stderr. The file NAME.manifest.csv beside NAME.csv says with
    which code, on which machine and in how many processor seconds each key was made.
    """
    keys = list(keys)
    rows = _measured(path, work, keys, limit) if measuring else _at_hand(path, keys)
    _swept.setdefault(path.parent, {})[path.name] = keys, rows
    return rows


def swept(folder: Path) -> list[tuple[list[Key], list[Row]]]:
    """The keys and the rows of the last sweep into each file of a folder."""
    return list(_swept.get(folder, {}).values())


def _at_hand(path: Path, keys: Sequence[Key]) -> list[Row]:
    """The rows of all keys that are in a file, and a row that says so for each other key."""
    found = _by_key(read(path), keys)
    return [
        row
        for key in keys
        for row in found.get(_texts(key), [dict(zip(key, _texts(key), strict=True)) | MISSING])
    ]


def _measured(path: Path, work: Work, keys: Sequence[Key], limit: float | None) -> list[Row]:
    """The rows of all keys; those that are not in the file are made."""
    found = _by_key(read(path), keys)
    todo = [key for key in keys if not _is_final(found.get(_texts(key)))]
    for key in todo:
        found.pop(_texts(key), None)
    if len(todo) < len(keys):
        _rewrite(path, keys, found)  # without the failures that are tried again
    progress = _Progress(path.parent.name, len(keys), len(keys) - len(todo))
    path.parent.mkdir(parents=True, exist_ok=True)
    for key, results, seconds in _worked(work, todo, limit):
        append(path, *[key | result for result in results])
        append(manifest_path(path), entry(key, seconds))
        progress.step(key)
    progress.close()
    found = _by_key(read(path), keys)
    _rewrite(path, keys, found)
    return [row for key in keys for row in found[_texts(key)]]


def good(rows: Iterable[Row]) -> list[Row]:
    """The rows of the keys that succeeded."""
    return [row for row in rows if row.get(STATUS, DONE) == DONE]


def bad(rows: Iterable[Row]) -> list[str]:
    """A line for each key that failed or took too long, and one for all that were not run; show
    these lines, never drop them.
    """
    rows = list(rows)
    missing = sum(row.get(STATUS) == NOT_RUN for row in rows)
    return [
        f"{row[STATUS]}: "
        + ", ".join(f"{name} {value}" for name, value in row.items() if value and name != STATUS)
        for row in rows
        if row.get(STATUS, DONE) not in (DONE, NOT_RUN)
    ] + [f"{missing} measurements of the study were not run."] * bool(missing)


def seed_of(*parts: Any, **key: Any) -> int:
    """A seed that follows from its arguments, the same in every process, below 2^63.

    >>> seed_of("views", k=4, run=0) == seed_of("views", run=0, k=4)
    True
    """
    text = repr((parts, sorted(key.items())))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def read(path: Path) -> list[Row]:
    """The rows written so far; an empty list if there is no file.

    An incomplete last line is ignored.
    """
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]
    return [
        {name: value or "" for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(whole))
    ]


def append(path: Path, *rows: dict[str, Any]) -> None:
    """Append rows to a file, with a heading if they are the first. The rows are on disk when this
    returns.

    New columns are added.
    """
    before = _columns(path)
    columns = list(dict.fromkeys([*before, *(name for row in rows for name in row)]))
    if before and columns == before and _ends_a_line(path):
        with path.open("a", newline="") as file:
            file.write(as_csv(columns, rows))
    else:
        _replace(path, as_csv(columns, [*read(path), *rows], heading=True))


def _columns(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open() as file:
        return next(csv.reader([file.readline()]), [])


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def as_csv(columns: Sequence[str], rows: Iterable[dict[str, Any]], heading: bool = False) -> str:
    """Rows as CSV text with these columns, and a line that names them if asked for."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    if heading:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


def _rewrite(path: Path, keys: Sequence[Key], found: dict[tuple[str, ...], list[Row]]) -> None:
    """Write the rows of other keys first, then the rows of the given keys in order.

    Rows of keys that were not found are dropped.
    """
    rows = read(path)
    asked = set(map(_texts, keys))
    names = list(keys[0]) if keys else []
    others = [row for row in rows if tuple(row.get(name, "") for name in names) not in asked]
    ordered = [*others, *(row for key in keys for row in found.get(_texts(key), []))]
    if ordered != rows:
        columns = list(dict.fromkeys(name for row in ordered for name in row))
        _replace(path, as_csv(columns, ordered, heading=True) if ordered else "")


def _by_key(rows: Iterable[Row], keys: Sequence[Key]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows if keys else ():
        found.setdefault(tuple(row.get(name, "") for name in keys[0]), []).append(row)
    return found


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key.values()))


def _is_final(rows: list[Row] | None) -> bool:
    return rows is not None and all(row.get(STATUS) in (DONE, LATE) for row in rows)


def _worked(
    work: Work, keys: Sequence[Key], limit: float | None
) -> Iterator[tuple[Key, list[dict[str, Any]], float | None]]:
    """Yield each key with its results and its processor seconds, as they come.

    The work is done in this process, or in others if there are several or there is a limit.
    """
    if processes == 1 and limit is None:
        for key in keys:
            results, seconds = _results(work, key)
            yield key, results, seconds
        return
    waiting, workers = (
        list(reversed(keys)),
        [_Worker(work) for _ in range(min(processes, len(keys)))],
    )
    try:
        while waiting or any(worker.key is not None for worker in workers):
            for worker in workers:
                if worker.key is None and waiting:
                    worker.give(waiting.pop())
            connection.wait(
                [worker.pipe for worker in workers if worker.key is not None], timeout=0.2
            )
            for worker in workers:
                if worker.key is not None and (taken := worker.take(limit)) is not None:
                    key, worker.key = worker.key, None
                    yield key, *taken
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that works on one key at a time. It is started again after a key that ended it."""

    def __init__(self, work: Work) -> None:
        self._work = (work.__module__, work.__qualname__)
        self.key: Key | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context(
            "spawn"
        )  # a fork would inherit the threads of libraries
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._work), daemon=True)
        threads = os.environ.get("OPENBLAS_NUM_THREADS")
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as many threads as processes are enough
        self._process.start()
        if threads is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = threads
        other.close()
        self._since: float | None = None

    def give(self, key: Key) -> None:
        self.key = key
        self.pipe.send(key)

    def take(self, limit: float | None) -> "tuple[list[dict[str, Any]], float | None] | None":
        """The results if the key is done, took too long, or ended the process; else None.

        Beside them the processor seconds, or None where the process was stopped.
        """
        try:
            while self.pipe.poll():
                if (made := self.pipe.recv()) is not None:
                    results, seconds = made
                    return list(results), seconds
                self._since = (
                    time.monotonic()
                )  # the process has read its key: what it imported before is not counted
        except EOFError:
            self._restart()
            return [{STATUS: "failed: its process ended"}], None
        if limit is not None and self._since is not None and time.monotonic() - self._since > limit:
            self._restart()
            return [{STATUS: LATE}], None
        return None

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _restart(self) -> None:
        self.stop()
        self._start()


def _serve(pipe: Any, module: str, name: str) -> None:
    """Work on keys until the pipe is closed. A sent None says that a key was read."""
    work: Any = importlib.import_module(module)
    for part in name.split("."):
        work = getattr(work, part)
    while True:
        try:
            key = pipe.recv()
            pipe.send(None)
            pipe.send(_results(work, key))
        except (EOFError, BrokenPipeError, KeyboardInterrupt):
            return


def _results(work: Work, key: Key) -> tuple[list[dict[str, Any]], float]:
    """The results of a key, and the processor seconds that it took."""
    began = cpu_seconds()
    try:
        made = work(**key)
    except (
        Exception
    ) as error:  # one key that fails must not end a night's run; the row says that it failed
        text = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return [{STATUS: text}], cpu_seconds() - began
    results = [made] if isinstance(made, dict) else made
    return [{**result, STATUS: DONE} for result in results], cpu_seconds() - began


class _Progress:
    """Writes lines such as `name 12/60, 4 min left: k 4, run 0` to stderr."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self._name, self._total, self._done, self._before = name, total, done, done
        self._started = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def step(self, key: Key) -> None:
        self._done += 1
        now = time.monotonic()
        if not self._terminal and now - self._shown < _QUIET:
            return
        self._shown = now
        items = ", ".join(f"{name} {value}" for name, value in key.items())
        line = f"{self._name} {self._done}/{self._total}{self._left(now)}: {items}"
        if self._terminal:
            print(f"\r{line[:118]:<118}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def _left(self, now: float) -> str:
        """The time that is left, once a tenth of the work is done: the first keys tell little."""
        done = self._done - self._before
        if 10 * done < self._total - self._before:
            return ""
        seconds = (now - self._started) / done * (self._total - self._done)
        return f", {_duration(seconds)} left"

    def close(self) -> None:
        if self._terminal and self._done > self._before:
            print(file=sys.stderr)


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
