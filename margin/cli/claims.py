"""Claims of names: two commands that write to one name at the same time do not both do the work.

A release checks that its name is free, charges the budget, and writes the file minutes later.
Without a claim, another release could check the same name meanwhile, and one of two paid results
would have no place.

A claim is a lock on an empty file beside the output. The lock ends with its process, however the
process ends, so an old file claims nothing. (Windows has no such lock. There, and on a file system
without locks, the name is compared once more when the file is written: see `replacing`.)
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

from ..errors import FileError
from ..interrupts import at_the_end, shielded

__all__ = ["claimed"]

_held: set[Path] = set()
"""The files of the claims of this process."""


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Claim the name of an output file for the length of a `with` block.

    Raises
    ------
    FileError
        If another process has claimed it.
    """
    # The name of the file does not grow with that of the output, and is the same in all processes.
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    claim = path.parent / f".margin-{name}.claim"
    lock = None
    is_taken = False
    try:
        lock = _locked(claim)
    except BlockingIOError:
        is_taken = True
    except OSError:  # no such folder, no right to write, or no locks
        pass
    if is_taken:
        raise FileError(
            f"the output must have a name of its own, but another command is writing {str(path)!r} "
            "at this moment; nothing was done here: wait for it, or choose another name"
        )
    if lock is None:
        yield
        return
    _held.add(claim)
    try:
        yield
    finally:
        # The file is removed before it is unlocked: whoever locks it later finds another file, or
        # none, at its name.
        with shielded():
            claim.unlink(missing_ok=True)
            os.close(lock)
            _held.discard(claim)


def _locked(claim: Path) -> int | None:
    """Create and lock a file; the result is its descriptor, None if there are no locks.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    OSError
        If the file cannot be created or locked.
    """
    while fcntl is not None:
        lock = os.open(claim, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
        # The process that held it may have removed the file between these two calls.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), claim.stat()):
                return lock
        os.close(lock)
    return None


@at_the_end
def _remove_held() -> None:
    """Remove the files of the claims, if the process is ended without an exception."""
    for claim in _held:
        claim.unlink(missing_ok=True)
