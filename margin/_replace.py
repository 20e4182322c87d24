"""Atomic replacement of files: a new file appears complete or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import FileError

__all__ = ["replacing", "tried"]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the `with` block ends without an error.

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
        raise FileError(
            f"the folder of {str(path)!r} must exist, but it does not; create it first, or choose "
            "another folder"
        )
    part = _beside(path)
    problem = ""
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(
            f"{str(path)!r} cannot be written ({problem}); choose a folder that you can write to"
        )


def tried(path: Path) -> None:
    """Check that a file can be created in the folder of `path`; OSError if not.

    No file is left behind.
    """
    trial = _beside(path)
    trial.open("xb").close()
    trial.unlink()


def _beside(path: Path) -> Path:
    """Choose a random name for a file in the same folder, short enough for every file system."""
    return path.with_name(f".margin-{secrets.token_hex(8)}.part")
