"""Locks of a comparison: of its file of rows, and of its temporary folder."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ....interrupts import shielded
from ...file_locks import locked, locked_file

__all__ = ["only_writer", "own_folder"]

_PREFIX = "margin-bench-"
_LOCK = "lock"
"""The name of the file in a folder that its process keeps locked."""


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Make a temporary folder for the length of a `with` block.

    A process that is killed leaves its folder behind; the next comparison of the same user removes
    it.
    """
    _remove_left()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        new = folder / f"{_LOCK}.new"
        with new.open("wb") as lock:
            # The file gets its name once it is locked: nobody finds it unlocked before the end.
            if locked(lock):
                new.rename(folder / _LOCK)
            yield folder
    finally:
        with shielded():  # a second interrupt must not leave half of it behind
            shutil.rmtree(folder, ignore_errors=True)


def _remove_left() -> None:
    """Remove the folders whose processes have ended: their locks are free."""
    if not hasattr(os, "getuid"):  # on Windows, which has no locks
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                if locked(lock):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def only_writer(path: Path | None) -> Iterator[None]:
    """Let no other process write rows to a file for the length of a `with` block.

    The file is replaced as a whole with each writing, so a hidden file beside it is locked.

    Raises
    ------
    BlockingIOError
        If another comparison writes to the file.
    OSError
        If no file can be made in the folder.
    """
    if path is None:
        yield
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name}.lock")
    try:
        lock = locked_file(beside)
    except BlockingIOError:
        raise BlockingIOError(
            f"one comparison at a time writes to {path}, but another one is running; wait for its "
            "end, or choose another file"
        ) from None
    if lock is None:
        yield
        return
    try:
        yield
    finally:
        with shielded():
            beside.unlink(missing_ok=True)
            lock.close()
