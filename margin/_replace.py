"""Writing a file so that it appears whole or not at all, and so that no other file is touched."""

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
    """A new file, open for writing, that takes the place of `path` when all has been written.

    Raises
    ------
    FileError
        When it cannot be written. What was at `path` then is there still.
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
    """Whether a file can be made beside `path`; OSError when not. Nothing is left."""
    trial = _beside(path)
    trial.open("xb").close()
    trial.unlink()


def _beside(path: Path) -> Path:
    """A name in the same folder that is nobody else's: it is random, and no longer than any name
    may be."""
    return path.with_name(f".margin-{secrets.token_hex(8)}.part")
