"""`outcome`: all that a run lets out, by whatever way, so that two runs can be compared.

What is returned or raised, with all that can be reached from it; what is printed or written to the
standard streams, also by C code; warnings; log records of all loggers and levels; files that are
written, also by C code where they are in the working folder or among temporary files; the
environment, the working folder and settings of the process; programs that are started and
connections that are opened; the state of the mechanism itself, of its classes and of the variables
of their modules.

Not seen: what code in C or another library keeps to itself, such as a cache, the state of a
generator of chance, shared memory, or a file elsewhere. The library's own clock stands still, so
that the seconds that a synopsis reports are not compared: how long code takes is not audited.
"""

import builtins
import contextlib
import hashlib
import io
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MarginError
from ..synopses import clock
from .look import Seen, Violation, difference, look

__all__ = ["Outcome", "left", "outcome"]

_COMPILED = ("__pycache__", ".pyc", ".nbi", ".nbc")  # caches of compilers, written once
_COMPILERS = ("numba", "llvmlite")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"taskName"}
_MADE = {
    "os.mkdir": 0,
    "os.truncate": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
}  # where the path stands
_OUTSIDE = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.putenv",
    "os.unsetenv",
    "os.setxattr",
    "os.removexattr",
    "os.chown",
    "os.kill",
    "os.killpg",
    "syslog.syslog",
    "sqlite3.connect",
    "subprocess.Popen",
    "urllib.Request",
    "webbrowser.open",
    "smtplib.connect",
    "ftplib.connect",
)
_SENDS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_ASKS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
_PLAIN = (bool, int, float, complex, str, bytes, list, dict, set, tuple, np.ndarray)
_FEW = 1000  # items of a container that is looked at beside a mechanism


@dataclass(
    frozen=True,
    eq=False,
)
class Outcome:
    """All that a run let out. Two are equal when nothing tells them apart."""

    seen: Seen

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and self.seen.digest == other.seen.digest

    __hash__ = None  # type: ignore[assignment]

    def differs(self, other: "Outcome") -> str:
        """Where two outcomes differ, in words; empty when they do not."""
        return difference(self.seen, other.seen)


def outcome(
    mechanism: Any,
    private: Any,
    workload: Any,
) -> Outcome:
    """All that a run of a mechanism lets out: see the module.

    An error that is not one of this package's is a violation: it may say anything, and shows that
    something is broken.
    """
    return left(lambda: mechanism.run(private, workload), beside=mechanism)


def left(action: Callable[[], object], *, beside: object = None) -> Outcome:
    """All that an action lets out, and what another object holds afterwards.

    Raises
    ------
    Violation
        When it raises an error that is not one of this package's, opens a connection, or lets out
        what cannot be seen into.
    """
    result: tuple[object, ...]
    with _watched() as found:
        try:
            result = ("returned", action())
        except MarginError as error:
            result = ("raised", error)
        except SystemExit as error:
            result = ("exit", error.code, error)
        except (Violation, KeyboardInterrupt):
            raise
        except Exception as error:
            raise Violation(
                f"raises {type(error).__name__}, which is no MarginError: {error}"
            ) from error
        # Looked at inside: whatever looking at it causes counts as well.
        found["result"] = look(result, traces=result[0] == "returned")
    found["mechanism"] = look(beside)
    found["around"] = _together(_around(beside))
    parts = {
        name: part if isinstance(part, Seen) else look(part, traces=False)
        for name, part in found.items()
    }
    return Outcome(_together(parts))


def _together(parts: dict[str, Seen]) -> Seen:
    """What was seen of several things, by their names."""
    named = b"".join(f"{name}\0".encode() + part.digest for name, part in parts.items())
    return Seen(
        hashlib.sha256(named).digest(), tuple((f"{name} ", part) for name, part in parts.items())
    )


@contextlib.contextmanager
def _watched() -> Generator[dict[str, Any]]:
    """What passes all ways out but the result."""
    found: dict[str, Any] = {"result": None}
    with contextlib.ExitStack() as stack:
        found["files"] = files = stack.enter_context(_files())
        found["streams"] = stack.enter_context(_streams())
        found["warnings"] = warned = stack.enter_context(_warnings())
        found["logs"] = stack.enter_context(_logs())
        found["environment"] = stack.enter_context(_environment())
        stack.enter_context(clock.stopped())
        yield found
    found["files"] = files.found()
    found["warnings"] = [(w.category.__name__, str(w.message)) for w in warned]


def _around(mechanism: object) -> dict[str, Seen]:
    """The plain variables of a mechanism's classes and of their modules; the settings of the
    process."""
    found = {name: look(value) for name, value in _settings().items()}
    for kind in type(mechanism).__mro__[:-1]:
        module = sys.modules.get(kind.__module__)
        for place, variables in (
            (kind.__qualname__, vars(kind)),
            (kind.__module__, vars(module) if module else {}),
        ):
            for name, value in list(variables.items()):
                if (
                    not name.startswith("__")
                    and _is_plain(value)
                    and f"{place}.{name}" not in found
                ):
                    with contextlib.suppress(
                        Violation
                    ):  # of what cannot be seen into nothing is known
                        found[f"{place}.{name}"] = look(value)
    return found


def _is_plain(value: object) -> bool:
    """Whether it is a plain value, or a container of a few plain values: a place where a number
    could be put by."""
    if type(value) not in _PLAIN:
        return False
    if not isinstance(value, list | set | tuple | dict):
        return True
    items = [*value, *value.values()] if isinstance(value, dict) else [*value]
    nested = any(isinstance(item, list | set | tuple | dict) or callable(item) for item in items)
    return len(items) <= _FEW and not nested


def _settings() -> dict[str, object]:
    mask = os.umask(0o77)
    os.umask(mask)
    return {
        "umask": mask,
        "arguments": list(sys.argv),
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "numpy errors": np.geterr(),
        "numpy printing": repr(np.get_printoptions()),
        "builtins": " ".join(sorted(map(repr, vars(builtins)))),
    }


@contextlib.contextmanager
def _warnings() -> Generator[Any]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield warned


@contextlib.contextmanager
def _streams() -> Generator[list[str | bytes]]:
    """Python's streams, and the file descriptors below them."""
    written: list[str | bytes] = []
    printed = (io.StringIO(), io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    kept = []
    for number in (1, 2):
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
        try:
            kept.append((number, os.dup(number), file))
        except OSError:  # a process without that stream
            file.close()
            continue
        os.dup2(file.fileno(), number)
    try:
        with contextlib.redirect_stdout(printed[0]), contextlib.redirect_stderr(printed[1]):
            yield written
    finally:
        written += [stream.getvalue() for stream in printed]
        for number, before, file in kept:
            os.dup2(before, number)
            os.close(before)
            file.seek(0)
            written.append(file.read())
            file.close()


@contextlib.contextmanager
def _logs() -> Generator[list[Any]]:
    """The records of all loggers, whatever their level, but those of a compiler about its own
    work."""
    records: list[Any] = []
    handle, enabled = logging.Logger.handle, logging.Logger.isEnabledFor

    def keep(self: logging.Logger, record: logging.LogRecord) -> None:
        place = Path(record.pathname).parts
        if self.name.split(".")[0] in _COMPILERS and any(name in place for name in _COMPILERS):
            return
        error = record.exc_info[1] if record.exc_info else None
        more = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        records.append(
            (self.name, record.levelno, record.msg, record.args, error, record.stack_info, more)
        )

    try:
        logging.Logger.handle = keep  # type: ignore[method-assign]
        logging.Logger.isEnabledFor = lambda self, level: True  # type: ignore[method-assign]
        yield records
    finally:
        logging.Logger.handle = handle  # type: ignore[method-assign]
        logging.Logger.isEnabledFor = enabled  # type: ignore[method-assign]


@contextlib.contextmanager
def _environment() -> Generator[list[Any]]:
    changed: list[Any] = []
    before, place, called = dict(os.environ), os.getcwd(), threading.current_thread().name
    try:
        yield changed
    finally:
        after = dict(os.environ)
        changed += [
            (name, after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        ]
        if threading.current_thread().name != called:
            changed.append(("thread", threading.current_thread().name))
            threading.current_thread().name = called
        if os.getcwd() != place:
            changed.append(os.getcwd())
            os.chdir(place)


class _Files:
    """What is written to files, and what is started or connected to, while it is watched."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._paths: set[str] = set()
        self._events: list[str] = []
        self._here = _listed(".")
        self._result: list[Any] = []

    def note(
        self,
        event: str,
        arguments: tuple[Any, ...],
    ) -> None:
        """What the interpreter tells an audit hook."""
        if event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = any(letter in "wax+" for letter in mode) if isinstance(mode, str) else False
            writes |= isinstance(flags, int) and bool(
                flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if writes and isinstance(path, str | bytes | os.PathLike):
                self._paths.add(os.path.abspath(os.fsdecode(path)))
        elif event in _OUTSIDE:
            self._events.append(self._masked(f"{event} {arguments}"))
        elif event in _MADE:
            path = arguments[_MADE[event]]
            if isinstance(path, str | bytes | os.PathLike):
                self._paths.add(os.path.abspath(os.fsdecode(path)))
        elif event in _SENDS:
            self._events.append(f"{event} {arguments[1:]}")
        elif event in _ASKS:  # a server of names hears them
            self._events.append(f"{event} {arguments[0]!r}")

    def stop(self) -> None:
        """Look at all that was written, before the folder of temporary files goes."""
        paths = {*self._paths, *(str(path) for path in Path(self._folder).rglob("*"))}
        here = _listed(".")
        paths |= {os.path.abspath(name) for name in here if here[name] != self._here.get(name)}
        for path in sorted(paths):
            if path == os.devnull or any(part in path for part in _COMPILED):
                continue
            inside = path.startswith(self._folder)
            # Only what is left is compared: whether rows were spilled is a matter of their number,
            # as time is.
            if os.path.isfile(path):
                self._result.append(("temporary" if inside else path, Path(path).read_bytes()))
            elif os.path.lexists(path) and not inside:
                self._result.append((path, None))
        self._result.sort(key=repr)
        self._result += [
            event for event in self._events if not any(part in event for part in _COMPILED)
        ]

    def found(self) -> list[Any]:
        """Paths and contents of what was written, and what happened outside."""
        for event in self._events:
            if event.startswith(_SENDS) and not re.search(
                r"127\.0\.0\.1|localhost|::1|\('/", event
            ):
                raise Violation("opens a connection: what it sends there cannot be seen")
        return self._result

    def _masked(self, text: str) -> str:
        """A text in which temporary files have no names of their own."""
        return re.sub(re.escape(self._folder) + r"[^'\" ,)]*", "TEMPORARY", text)


_watching: list[_Files] = []
_hooked: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching:
        _watching[-1].note(event, arguments)


@contextlib.contextmanager
def _files() -> Generator[_Files]:
    """Watch files; temporary ones are in a folder of their own meanwhile."""
    if not _hooked:
        sys.addaudithook(_hook)  # for good: there is no way to take one out
        _hooked.append(True)
    folder = os.path.realpath(tempfile.mkdtemp(prefix="margin-audit-"))
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    files = _Files(folder)
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    _watching.append(files)
    try:
        yield files
    finally:
        _watching.remove(files)
        tempfile.tempdir = before
        if variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = variable
        files.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _listed(folder: str) -> dict[str, tuple[int, int]]:
    """The files of a folder, with what tells that one has changed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return {
            entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size)
            for entry in entries
            if entry.is_file(follow_symlinks=False) and not entry.name.startswith(".")
        }
    return {}
