"""Claims of names, and of room on the disk, for output files that are paid for.

Two commands that write to one name at the same time do not both do the work.

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

from .._replace import reserving, unwritable
from ..errors import BusyOutputError, FileError
from ..interrupts import at_the_end, shielded

__all__ = ["abandoned", "claimed", "is_held", "reserved"]

_ROOM = 1 << 20
"""Bytes that are reserved for a release. Its size is known only after it is paid for, and most are
smaller. This number depends on nothing."""

_held: set[Path] = set()
"""The files of the claims and of the reserved room of this process."""


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Claim the name of an output file for the length of a `with` block.

    Raises
    ------
    BusyOutputError
        If another process has claimed it.
    """
    from ..solvers.file_locks import locked_file  # here, so that the command line starts at once

    # The name of the file does not grow with that of the output, and is the same in all processes.
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    claim = path.parent / f".margin-{name}.claim"
    lock = None
    is_taken = False
    try:
        lock = locked_file(claim)
    except BlockingIOError:
        is_taken = True
    except OSError:  # no such folder, or no right to write; the command tells which
        pass
    if is_taken:
        raise BusyOutputError(
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
        with shielded():
            claim.unlink(missing_ok=True)
            lock.close()
            _held.discard(claim)


@contextlib.contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Keep 1 MB of the disk for an output file that is written within a `with` block.

    A disk that gets full after the charge would otherwise cost a paid result. See `reserving`; the
    temporary file is locked, so that it is not taken for one that a killed command left.

    Raises
    ------
    FileError
        If there is no such room.
    """
    from ..solvers.file_locks import locked  # as above

    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(reserving(path, _ROOM))
        except OSError as error:
            raise FileError(unwritable(path, error, size=_ROOM)) from None
        is_locked = False
        with contextlib.suppress(BlockingIOError):  # one that lists files locks it for a moment
            is_locked = locked(file)
        # Windows, which has no locks, gives no new name to a file that is open.
        if not is_locked:
            file.close()
        part = Path(file.name)
        _held.add(part)
        stack.callback(_held.discard, part)
        yield


def is_held(path: Path) -> bool:
    """Whether another process holds the lock of a file; see `reserved`. False where there are no
    locks."""
    from ..solvers.file_locks import locked

    with contextlib.suppress(OSError), path.open("rb") as file:
        try:
            locked(file)
        except BlockingIOError:
            return True
    return False


def abandoned(folder: Path) -> list[Path]:
    """The files of claims in a folder and its subfolders that no process holds; none where there
    are no locks.

    Each file is locked for a moment and not changed. A command that begins to write to this name at
    the same moment is refused, and charges nothing.
    """
    from ..solvers.file_locks import locked

    found = []
    for path in sorted(folder.rglob(".margin-*.claim")):
        with contextlib.suppress(OSError), path.open("rb") as file:  # held, or gone meanwhile
            if locked(file):
                found.append(path)
    return found


@at_the_end
def _remove_held() -> None:
    """Remove these files, if the process is ended without an exception."""
    for claim in _held:
        claim.unlink(missing_ok=True)
