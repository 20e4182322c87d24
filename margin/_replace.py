"""Atomic replacement of files: a new file appears complete or not at all."""

import contextlib
import errno
import os
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import FileError

__all__ = ["no_folder", "replacing", "reserving", "tried", "unwritable"]

_reserved: dict[Path, Path] = {}
"""The file of `reserving` by its folder, until `replacing` takes it."""


@contextlib.contextmanager
def replacing(path: Path, *, only_new: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the `with` block ends without an error.

    Parameters
    ----------
    path
        The name of the file.
    only_new
        Refuse to replace a file, also one that another process writes meanwhile.

    Raises
    ------
    FileError
        When the file cannot be written. An older file at `path` is then unchanged.
    """
    if path.is_dir():
        raise FileError(
            f"a file must be named, but {str(path)!r} is a folder; add the name of a file in it"
        )
    if not path.parent.is_dir():
        raise FileError(no_folder(path))
    part = _reserved.pop(path.parent, None)
    # Somebody may have deleted it.
    is_reserved = part is not None and part.exists()
    if part is None or not is_reserved:
        part = _beside(path)
    problem = ""
    try:
        with part.open("r+b" if is_reserved else "xb") as file:
            yield file
            if is_reserved:
                file.truncate()
            file.flush()
            os.fsync(file.fileno())
        if only_new:
            _name_new(part, path)
        else:
            part.replace(path)
        _settle(path.parent)
    except FileExistsError:
        problem = f"{str(path)!r} cannot be written (it exists already); choose another name"
    except OSError as error:
        problem = unwritable(path, error)
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(problem)


def _settle(folder: Path) -> None:
    """Write the names of a folder to the disk, so that a loss of power does not undo a new one.

    Some systems cannot open a folder, and keep its names by themselves.
    """
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _name_new(part: Path, path: Path) -> None:
    """Give a file its name; FileExistsError if another file has it.

    A second name (a hard link) is made in one step, and only if the name is free. Some file systems
    have no second names.
    """
    try:
        os.link(part, path)
        return
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
    part.rename(path)


@contextlib.contextmanager
def reserving(path: Path, size: int) -> Iterator[BinaryIO]:
    """Keep `size` bytes of the disk for the length of a `with` block, in which `replacing` writes
    one file, from its start to its end, in the folder of `path`.

    The bytes are those of a temporary file, which `replacing` overwrites in place. On ext4, XFS and
    tmpfs, and on an overlay of them, this needs no new room. File systems that never overwrite,
    such as btrfs and ZFS, need some: there, the disk may still be full when the file is written.

    Yields
    ------
    open file
        The temporary file.

    Raises
    ------
    OSError
        When there is no such room.
    """
    part = _beside(path)
    try:
        with part.open("xb") as file:
            file.write(bytes(size))
            file.flush()
            _reserved[path.parent] = part
            yield file
    finally:
        _reserved.pop(path.parent, None)
        part.unlink(missing_ok=True)


def tried(path: Path) -> None:
    """Check that a file can be written in the folder of `path`; OSError if not.

    No file is left behind.
    """
    trial = _beside(path)
    try:
        trial.open("xb").close()
    finally:
        trial.unlink(missing_ok=True)


def no_folder(path: Path) -> str:
    """Say that the folder in which a file or folder is to be written does not exist, and what to do
    about it."""
    return (
        f"the folder of {str(path)!r} must exist, but it does not; create it first (mkdir -p "
        f"{shlex.quote(str(path.parent))}), or choose another folder"
    )


def unwritable(
    path: Path,
    error: OSError,
    *,
    size: int = 0,
) -> str:
    """Say that a file or a folder cannot be written, why, and what to do about it.

    Parameters
    ----------
    path
        Its name.
    error
        What the operating system says.
    size
        Number of bytes that must be free; 0 if it is not known.
    """
    reason = error.strerror or type(error).__name__
    advice = "choose a folder that you can write to"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        needed = f"{size / 1e6:.0f} MB of room is needed: " if size else ""
        advice = f"{needed}free some space, or choose a folder on another disk"
    return f"{str(path)!r} cannot be written ({reason}); {advice}"


def _beside(path: Path) -> Path:
    """Choose a random name for a file in the same folder, short enough for every file system."""
    return path.with_name(f".margin-{secrets.token_hex(8)}.part")
