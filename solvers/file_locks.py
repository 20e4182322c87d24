"""Locks on files, which end with their process, however it ends. Windows has none of them."""

import contextlib
import os
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked", "locked_file"]


def locked(file: IO[bytes]) -> bool:
    """Lock an open file; False where the system, or the file system, has no locks.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # as on some file systems of networks
        return False
    return True


def locked_file(path: Path) -> IO[bytes] | None:
    """Create a file and lock it, so that one process at a time uses what it stands for.

    The holder removes the file before it closes it: whoever locks it later finds another file, or
    none, under its name.

    Returns
    -------
    open file
        None where there are no locks; no file is then left.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    OSError
        If the file cannot be created.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        file = os.fdopen(os.open(path, flags, 0o600), "r+b")
        try:
            is_locked = locked(file)
        except BlockingIOError:
            file.close()
            raise
        if not is_locked:
            file.close()
            path.unlink(missing_ok=True)
            return None
        # The process that held it may have removed the file between the two calls.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()
