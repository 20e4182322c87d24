"""`compare`: every solver on every instance, each in a process of its own, judged by us."""

import contextlib
import datetime
import importlib.metadata
import itertools
import json
import logging
import math
import os
import platform
import queue
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....interrupts import Watch, shielded, watched
from ..gaps import gap_to
from ..instance import Instance
from ..models.model import Model
from . import rows as row_files
from .answers import keep
from .book import Book
from .compiling import compile_loops
from .locks import only_writer, own_folder
from .machine import commit, machine
from .plan import Entry, listed, named, planned
from .process import Found, Limits, Task, run
from .verdict import Verdict, judged

__all__ = ["compare"]

Row = dict[str, Any]
_Pair = tuple[Instance, Entry]

log = logging.getLogger("margin")

_TRIES = 3
"""Largest number of tries of a solver whose process was lost; see `Found.is_lost`."""

_WRITING = 5.0
"""Seconds between two times that the rows are written to the file."""

_BEFORE = "interrupted before a solver began; no row has changed"
"""What is told of an interrupt that comes before `Book.kept` is known."""

_PAUSE = 0.1
"""Seconds between two looks for a signal."""


def compare(
    instances: Iterable[Instance],
    solvers: Mapping[str, Any] | Sequence[Any],
    *,
    time_limit: float = 60.0,
    repeats: int = 3,
    jobs: int = 1,
    memory_limit: float | None = None,
    threads: int = 1,
    tolerance: float = 1e-4,
    to: str | os.PathLike[str] | None = None,
    again: bool = False,
    answers: str | os.PathLike[str] | None = None,
) -> list[Row]:
    """Run solvers on instances, and judge every answer by our own code.

    Each pair of an instance and a solver has a process of its own. The first solve is cold: its
    time includes the imports and the compilation of the solver. The compiled loops of margin are an
    exception: they are compiled once before, and the first solve reads them from disk. The others
    read the instance anew.
    A process that exceeds a limit is ended, with all processes that it started. The time for which
    other work of the machine kept it waiting for a processor does not count (on Linux). An answer
    that comes later than the time limit does not count: its outcome is ``time``. A process
    that the machine lost is started again, up to twice. An answer counts
    for what it is, not for what its solver says: feasibility and objective are recomputed, and a
    claim that they contradict makes the outcome ``wrong``. So does a claim that the checked answer
    of another solver contradicts; see `reconciled`.

    A solver runs on the instances of its families. These are `solver.families` (names of families)
    if it has this attribute, the families of the roster if its class is ours, and otherwise every
    family whose method it has. A solver with an attribute `time_limit` that is None gets 95 % of
    the limit there, so that it can stop and hand over its answer in time; the object that was
    passed keeps None.

    Parameters
    ----------
    instances
        The instances; see `instances` and `Instance.of`. One that is given twice runs once.
    solvers
        The solvers by name, or a list of solvers, whose names are then their texts. They must be
        picklable; classes of a notebook or a script are.
    time_limit
        Seconds of one solve: wall time, less the time for which it waited for a processor. Its
        process is ended after 1.25 times the limit and a second.
    repeats
        The number of warm solves after the cold one.
    jobs
        The number of processes at a time.
    memory_limit
        The largest number of bytes of a process and of what it starts. By default, no limit.
    threads
        The number of threads and processors of each process.
    tolerance
        The largest gap at which an answer counts as solved, by which claims may err, and by which
        an answer may be better than a proved bound; beyond this it is ``wrong``. Gaps are relative
        to the size of the best known objective, or of the bound, at least 0.001.
    to
        A file for the rows, in the format Parquet; its name ends in ``.parquet``. What it already
        holds of the same solvers, options, instances and limits is kept, and not run again. If it
        holds fewer repeats, the missing ones are run, in a process that is warmed up by one more
        solve.
    again
        Run also what the file already holds; the new rows replace the old ones.
    answers
        A folder for the answers, one file for each solve: INSTANCE/SOLVER-REPEAT.npz, where names
        are quoted as in addresses (``mine%3Adual-1.npz`` for ``mine:dual``). `load_answer` reads
        one. What is not run again writes none.

    Returns
    -------
    rows
        One dictionary for each solve; `COLUMNS` lists the keys. `pandas.DataFrame(rows)` makes them
        a table.

    Raises
    ------
    TypeError
        If `instances` is no list of instances, `solvers` is no list or dictionary, or a solver is a
        class.
    ValueError
        If an argument is out of range, two solvers or two different instances have one name, a
        solver names an unknown family or lacks the method of its family, no solver fits an
        instance, or the file has another ending or rows of another problem of the same name.
    OSError
        If the file cannot be written, or another comparison writes to it (BlockingIOError).
    KeyboardInterrupt
        After Ctrl-C. All that had ended is in the file, and the text says how many solves that are.
        SIGTERM and SIGHUP print this text, and then end the process, unless the program handles
        them itself.

    Examples
    --------
    >>> from margin.solvers import IPF, bench
    >>> easy = bench.instances(family="exact-entropy", size="small")[:1]
    >>> rows = bench.compare(easy, {"IPF": IPF()}, repeats=1)
    >>> [(row["solver"], row["repeat"], row["outcome"]) for row in rows]
    [('IPF', 0, 'solved'), ('IPF', 1, 'solved')]
    """
    _check(time_limit, repeats, jobs, memory_limit, threads, tolerance)
    limits = Limits(
        seconds=float(time_limit),
        memory=None if memory_limit is None else int(memory_limit),
        threads=threads,
    )
    plan = planned(listed(instances), named(solvers), limits.seconds)
    comparison = _Comparison(
        limits=limits,
        repeats=repeats,
        jobs=jobs,
        tolerance=tolerance,
        to=_file(to),
        again=again,
        answers=None if answers is None else Path(answers),
    )
    return comparison.run(plan)


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Comparison:
    """The settings of a comparison; see `compare`."""

    limits: Limits
    repeats: int
    jobs: int
    tolerance: float
    to: Path | None
    again: bool
    answers: Path | None

    def run(self, plan: list[_Pair]) -> list[Row]:
        """Run what is not done yet; the rows of everything that was asked for, in its order."""
        with watched() as watch, only_writer(self.to):
            watch.explain = lambda: _BEFORE
            try:
                return self._run(plan, watch)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(watch.explain()) from None

    def _run(self, plan: list[_Pair], watch: Watch) -> list[Row]:
        book = Book.opened(self.to, [self._fixed(*pair) for pair in plan], again=self.again)
        watch.explain = book.kept
        missing = [pair for pair in plan if self.again or self._key(*pair) not in book.done]
        if any(entry.has_loops for _, entry in missing):
            compile_loops()
        with own_folder() as folder:
            files = _files(missing, folder)
            while missing:
                # An interrupt waits until all that has ended is in the file. It is raised at the
                # end of the shield, unless the program has a handler of its own that goes on.
                with shielded():
                    missing = self._until_signal(missing, files, book, watch)
        with shielded():
            book.write_news()
        return book.rows()

    def _until_signal(
        self,
        pairs: list[_Pair],
        files: dict[int, Path],
        book: Book,
        watch: Watch,
    ) -> list[_Pair]:
        """Run solvers on instances until all have ended, or a signal has arrived under a shield.

        Everything that has ended is in the book and in its file then, also after an error. The
        result is what has not ended.
        """
        stop = threading.Event()
        slots = _slots(self.jobs, self.limits.threads)
        ended: queue.SimpleQueue[Future[list[Row]]] = queue.SimpleQueue()
        taken: set[Future[list[Row]]] = set()
        held = [book.repeats_of(self._key(*pair)) for pair in pairs]
        with ThreadPoolExecutor(self.jobs) as pool:
            running = [
                pool.submit(self._one, *pair, had, files[id(pair[0])], slots, stop)
                for pair, had in zip(pairs, held, strict=True)
            ]
            for future in running:
                future.add_done_callback(ended.put)
            written = time.monotonic()
            try:
                while len(taken) < len(pairs) and not watch.has_seen:
                    with contextlib.suppress(queue.Empty):
                        future = ended.get(timeout=_PAUSE)
                        taken.add(future)
                        book.add(future.result())
                        log.info("run %d of %d", len(taken), len(pairs))
                    if time.monotonic() - written > _WRITING:
                        book.write_news()
                        written = time.monotonic()
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
                has_rows = [_has_rows(future) for future in running]
                for future in itertools.compress(running, has_rows):
                    if future not in taken:
                        book.add(future.result())
                book.write_news()
        return [pair for pair, has in zip(pairs, has_rows, strict=True) if not has]

    def _one(
        self,
        instance: Instance,
        entry: Entry,
        held: int | None,
        file: Path,
        slots: "queue.Queue[tuple[int, ...]]",
        stop: threading.Event,
    ) -> list[Row]:
        """Run one solver on one instance; returns its rows, none if it was stopped.

        `held` is the number of repeats that the file holds after a cold solve; None if it holds no
        solve.
        """
        processors = slots.get()
        try:
            load = os.getloadavg()[0]
            task = Task(
                instance=file,
                solver=entry.pickled,
                repeats=self.repeats - (held or 0),
                limits=self.limits,
                inside=entry.inside,
                takes_model=entry.takes_model,
                knows_limit=entry.knows_limit,
                processors=processors,
            )
            for _ in range(_TRIES):
                found = run(task, stop)
                lost = [one for one in found if one.is_lost(self.limits.seconds)]
                if stop.is_set() or not lost:
                    break
                log.info("%s on %s had no processor; it starts again", entry.name, instance.name)
        finally:
            slots.put(processors)
        # The first solve of the process warms up: the file holds a cold one already. It counts only
        # if the process ended with it.
        if held is not None and len(found) > 1:
            found = found[1:]
        model = row_files.programme_of(instance, found)
        rows = [self._row(instance, entry, one, load, model) for one in found]
        for one, row in zip(found, rows, strict=True):
            if held is not None:
                row["repeat"] = one.repeat = held + max(one.repeat, 1)
            if self.answers is not None:
                keep(self.answers, instance, entry.name, one)
        return rows

    def _row(
        self,
        instance: Instance,
        entry: Entry,
        found: Found,
        load: float,
        model: Model | None,
    ) -> Row:
        """The row of one solve."""
        verdict = judged(
            instance,
            found,
            tolerance=self.tolerance,
            limit=self.limits.seconds,
            stated=entry.stated_tolerance,
        )
        traced = row_files.trace(instance, found.trace, found.own_seconds, verdict)
        fixed = self._fixed(instance, entry)
        # The process that solves tells the version of the solver inside its package.
        version = found.versions.get(entry.inside, "")
        inside = {"inside": f"{entry.inside} {version}".strip()}
        made = inside | _made(found, load)
        solved = row_files.residuals_of(instance, model, found, verdict)
        return fixed | _measured(found) | _valued(instance, verdict) | solved | traced | made

    def _fixed(self, instance: Instance, entry: Entry) -> Row:
        """The part of a row that is known before the run."""
        return {
            "instance": instance.name,
            "version": instance.version,
            "digest": instance.digest,
            "family": instance.family.name,
            "group": instance.family.group,
            "size": instance.size,
            "sense": instance.family.sense,
            "best_known": instance.best_known,
            "bound": instance.bound,
            "solver": entry.name,
            "options": entry.options,
            "library": entry.library,
            "tells": instance.family.name in entry.tells,
            "repeats": self.repeats,
            "time_limit": self.limits.seconds,
            "memory_limit": self.limits.memory,
            "threads": self.limits.threads,
            "jobs": self.jobs,
            "tolerance": self.tolerance,
            "stated_tolerance": entry.stated_tolerance,
        }

    def _key(self, instance: Instance, entry: Entry) -> tuple[Any, ...]:
        return row_files.key_of(self._fixed(instance, entry))


def _file(to: str | os.PathLike[str] | None) -> Path | None:
    """The file for the rows; ValueError if its ending promises another format."""
    if to is None:
        return None
    path = Path(to)
    if path.suffix != ".parquet":
        raise ValueError(
            f"rows are written to a file whose name ends in .parquet, but it is {str(path)!r}; "
            f"write {path.stem}.parquet, and make a table of it with bench.table_of, or with "
            "margin bench show --format csv"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder of {path} must exist, but it does not; create it first"
        )
    return path


def _check(
    time_limit: float,
    repeats: int,
    jobs: int,
    memory_limit: float | None,
    threads: int,
    tolerance: float,
) -> None:
    """Refuse arguments that are out of range."""
    positive = {"time_limit": time_limit, "tolerance": tolerance}
    if memory_limit is not None:
        positive["memory_limit"] = memory_limit
    for name, value in positive.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} ({value}) must be > 0 and finite; pass such a number")
    least = {"repeats": (repeats, 0), "jobs": (jobs, 1), "threads": (threads, 1)}
    for name, (count, lowest) in least.items():
        if count < lowest:
            raise ValueError(f"{name} ({count}) must be >= {lowest}; pass a larger number")


def _has_rows(future: "Future[list[Row]]") -> bool:
    """Whether a run came to its end, and gave rows."""
    is_over = not future.cancelled() and future.exception() is None
    return is_over and bool(future.result())


def _files(plan: list[_Pair], folder: Path) -> dict[int, Path]:
    """The saved file of each instance, by the instance's identity."""
    files: dict[int, Path] = {}
    for instance, _ in plan:
        if id(instance) not in files:
            path = folder / f"{len(files)}.npz"
            instance.save(path)
            files[id(instance)] = path
    return files


def _slots(jobs: int, threads: int) -> "queue.Queue[tuple[int, ...]]":
    """The processors of each job; empty where there are too few, or the system cannot bind."""
    slots: queue.Queue[tuple[int, ...]] = queue.Queue()
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for job in range(jobs):
        part = tuple(free[job * threads : (job + 1) * threads])
        slots.put(part if len(free) >= jobs * threads else ())
    return slots


def _measured(found: Found) -> Row:
    """The part of a row that says what the solver did and claimed."""
    claim = found.claim
    return {
        "repeat": found.repeat,
        "cold": found.repeat == 0,
        "status": claim.get("status"),
        "detail": claim.get("detail") or found.detail,
        "claimed_objective": claim.get("objective"),
        "claimed_bound": claim.get("bound"),
        "claimed_seconds": claim.get("seconds"),
        "wall": found.wall,
        "waited": found.waited,
        "cpu": found.cpu,
        "peak_memory": found.peak,
        "runaways": found.runaways,
    }


def _valued(instance: Instance, verdict: Verdict) -> Row:
    """The part of a row that says what the answer is worth."""
    check = verdict.check
    objective = math.nan if check is None else check.objective
    return {
        "outcome": verdict.outcome.value,
        "cause": verdict.cause,
        "feasible": check is not None and check.feasible,
        "objective": objective,
        "violation": math.nan if check is None else check.violation,
        "reference": instance.best_known,
        "reference_by": "",
        "gap": verdict.gap,
        "bound_gap": gap_to(instance.family.sense, objective, instance.bound),
    }


def _made(found: Found, load: float) -> Row:
    """The part of a row that says with what it was made."""
    return {
        "versions": json.dumps(found.versions, sort_keys=True),
        "python": platform.python_version(),
        "margin": _version(),
        "commit": commit(),
        "machine": machine(),
        "load": load,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _version() -> str:
    try:
        return importlib.metadata.version("margin")
    except importlib.metadata.PackageNotFoundError:
        return ""
