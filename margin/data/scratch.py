"""Private temporary folders for rows that do not fit in memory. DuckDB writes them there, and they
may name people.

Only its owner can read a folder. It is removed when the work is done, when the process ends, and
when the process is stopped by Ctrl-C, SIGTERM or SIGHUP. After SIGKILL or a loss of power, the next
release of the same user with the same temporary folder removes it. Until then it stays on the disk,
so keep TMPDIR on an encrypted disk.

Two cases of SIGTERM and SIGHUP are like SIGKILL. Only the main thread can set a handler, so nothing
runs if the system ends a process whose folders are all those of other threads. And a handler of the
program may end the process at once, by `os._exit`. A handler that returns lets the work go on, so
nothing is removed before it; one that raises an exception ends the work.

Each folder contains a file that names it and that its process keeps locked. The lock ends with the
process, however the process ends. So a folder whose file can be locked is not in use. The lock is
the first file that is made and the last one that is removed. So a process that is killed in between
leaves an empty folder, or one that holds nothing but an unlocked file without its final name. Both
are removed too, if the name of the folder has the form of ours. A process that has just made such a
folder and loses it makes another one. Other folders are left alone, whatever their names are.
(Windows has no such lock, so old folders stay there.)
"""

import atexit
import contextlib
import fnmatch
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

from .._ending import ENDING, end_by, is_default
from ..errors import FileError
from ..interrupts import at_the_end, shielded

__all__ = ["check_temporary", "remove_stale", "scratch"]

_PREFIX = "margin-"
_NAME = re.compile(rf"{_PREFIX}[0-9]+-[a-z0-9_]{{8}}")
_LOCK = "lock"
_NEW = f"{_LOCK}.new"
_SAYS = b"A temporary folder of margin, which removes it: "

_held: dict[Path, int] = {}
"""The folders in use, each with the id of the process that made it. A forked process inherits this
dictionary, but does not own the folders."""

_before: dict[int, Any] = {}
"""The handlers of SIGTERM and SIGHUP from before the first folder was made."""


def check_temporary() -> None:
    """Check the folder that TMPDIR names.

    Python would take another folder, such as /tmp, without a word. So rows that were meant for an
    encrypted disk would be written to another one.

    Raises
    ------
    FileError
        If TMPDIR names no folder that can be written to.
    """
    named = os.environ.get("TMPDIR")
    if named and not (os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK)):
        raise FileError(
            f"TMPDIR must name a folder that can be written to, but {named!r} is none; correct "
            "it, or leave it unset"
        )


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a private folder for the length of a `with` block; it is removed at the end."""
    remove_stale()
    _watch()
    with contextlib.ExitStack() as stack:
        folder = None
        while folder is None:
            made = stack.enter_context(_made())
            # Until it is locked, another process may remove the folder: then make another one.
            with contextlib.suppress(FileNotFoundError):
                stack.enter_context(_locked(made))
                folder = made
        yield folder


@contextlib.contextmanager
def _made() -> Iterator[Path]:
    """Make a folder for the length of a `with` block."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    _held[folder] = os.getpid()
    try:
        yield folder
    finally:
        with shielded():
            if _held.pop(folder) == os.getpid():
                _remove(folder)
            _unwatch()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. The file gets its final name once it is locked, so no other
    process can find a file of this name unlocked while the folder is in use.

    Raises
    ------
    FileNotFoundError
        When another process has removed the folder before it was locked.
    """
    new = folder / _NEW
    with new.open("wb", buffering=0) as lock:
        lock.write(_told(folder))
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new.rename(folder / _LOCK)
        yield


def _told(folder: Path) -> bytes:
    """The content of the lock file of a folder. It contains the folder's name, so that a copy of
    the folder under another name is not taken for the folder itself."""
    return _SAYS + os.fsencode(folder.name)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: if the process is killed meanwhile, the next one goes on."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            place = folder / name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
            elif name != _LOCK:
                place.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@at_the_end
@atexit.register
def _remove_held() -> None:
    """Remove the folders that this process made and still uses."""
    for folder, process in list(_held.items()):
        if process == os.getpid():
            _remove(folder)


def remove_stale() -> None:
    """Remove the folders of processes that have ended; a folder whose lock is held is in use."""
    if fcntl is None:
        return
    # All names at once: an interrupt leaves no open iterator.
    names = os.listdir(tempfile.gettempdir())
    for name in fnmatch.filter(names, f"{_PREFIX}*-*"):
        folder = Path(tempfile.gettempdir(), name)
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    """Remove a folder of ours that is not in use.

    Raises
    ------
    OSError
        When the folder is in use, or no such folder.
    """
    inside = os.listdir(folder)
    is_unlocked = inside in ([], [_NEW]) and _NAME.fullmatch(folder.name) is not None
    if is_unlocked and not inside:
        # This fails, as it should, if its process makes the lock at this moment.
        folder.rmdir()
        return
    with (folder / (_NEW if is_unlocked else _LOCK)).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = lock.read(1000)
        # The process may have been killed before it wrote all of the text.
        told = _told(folder)
        is_ours = told.startswith(found) if is_unlocked else found == told
        if is_ours:
            _remove(folder)


def _watch() -> None:
    """Make SIGTERM and SIGHUP remove the folders if they would end the process without running any
    code of the program. A handler of the program, and an ignored signal, stay as they are. Only the
    main thread may set a handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING:
        current = signal.getsignal(number)
        if is_default(current):
            _before[number] = current
            signal.signal(number, _stopped)


def _unwatch() -> None:
    """Restore the handlers once no folder is in use."""
    if _held or threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING:
        if signal.getsignal(number) is _stopped:
            signal.signal(number, _before[number])


def _stopped(number: int, frame: FrameType | None) -> None:
    """The handler: remove the folders, then end the process as the previous handler does."""
    _remove_held()
    before = _before[number]
    if callable(before):
        signal.signal(number, before)
        before(number, frame)
    else:
        end_by(number)
