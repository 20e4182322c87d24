"""Write files atomically: a failed write leaves neither a partial file nor a changed old one."""

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
    """Open a temporary file for writing, and move it to `path` at the end of the `with` block.

    Raises
    ------
    FileError
        If the file cannot be written. An old file at `path` is then unchanged.
    """
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
        raise FileError(f"{str(path)!r} cannot be written: {problem}")


def tried(path: Path) -> None:
    """Check that a file can be written in the folder of `path`. No file is left behind.

    Raises
    ------
    OSError
        If no file can be written there.
    """
    trial = _beside(path)
    trial.open("xb").close()
    trial.unlink()


def _beside(path: Path) -> Path:
    """A path in the same folder with a random name, which no other process uses."""
    return path.with_name(f".margin-{secrets.token_hex(8)}.part")
