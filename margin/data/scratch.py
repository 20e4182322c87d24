"""A private folder for what outgrows memory: rows on their way through DuckDB, which may name
people.

The folder can be read by its owner only, and is removed when the work is done, when the process
ends, and when it is stopped by SIGTERM or Ctrl-C. What SIGKILL or a loss of power leaves behind is
removed by the next release, of the same user with the same temporary folder. Until then it stays on
the disk; so keep TMPDIR on an encrypted disk.

Each folder holds a file that says so and that its process keeps locked. The lock ends with the
process, however that ends: so a folder whose file can be locked belongs to nobody. Other folders
are left alone, whatever they are called. (On Windows, where there is no such lock, old folders are
left alone too.)
"""

import atexit
import contextlib
import os
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

__all__ = ["remove_stale", "scratch"]

_PREFIX = "margin-"
_LOCK = "lock"
_SAYS = b"A temporary folder of margin, which removes it: "

_held: dict[Path, int] = {}
"""The folders in use, each with the process that made it: a forked process inherits the list, but
not the folders."""

_before: Any = None
"""What SIGTERM did before the first folder was made."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder, for as long as the context lasts."""
    remove_stale()
    _watch()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    _held[folder] = os.getpid()
    try:
        with _locked(folder):
            yield folder
    finally:
        if _held.pop(folder) == os.getpid():
            _remove(folder)
        _unwatch()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. It gets its name when it is locked: nobody finds it and takes it
    for a stale one."""
    new = folder / f"{_LOCK}.new"
    with new.open("wb", buffering=0) as lock:
        lock.write(_told(folder))
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new.rename(folder / _LOCK)
        yield


def _told(folder: Path) -> bytes:
    """What the file in a folder says: no other folder's does, not even a copy's of another name."""
    return _SAYS + os.fsencode(folder.name)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def _remove_held() -> None:
    for folder, process in list(_held.items()):
        if process == os.getpid():
            _remove(folder)


def remove_stale() -> None:
    """Remove the folders of processes that are gone. Whose lock is held is in use; what has no lock
    is not ours."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if lock.read(1000) != _told(folder):
                    continue
                _remove(folder)


def _watch() -> None:
    """Have SIGTERM remove the folders, where this thread may say so and SIGTERM would end the
    process."""
    global _before
    if threading.current_thread() is not threading.main_thread():
        return
    current = signal.getsignal(signal.SIGTERM)
    if current is not _stopped and (current == signal.SIG_DFL or callable(current)):
        _before = current
        signal.signal(signal.SIGTERM, _stopped)


def _unwatch() -> None:
    """Leave SIGTERM as it was, once no folder is in use."""
    if _held or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is _stopped:
        signal.signal(signal.SIGTERM, _before)


def _stopped(number: int, frame: FrameType | None) -> None:
    """Remove the folders, then do what SIGTERM did before; by default the process dies of it, as
    its parent sees."""
    _remove_held()
    signal.signal(number, _before)
    if callable(_before):
        _before(number, frame)
    else:
        os.kill(os.getpid(), number)
