"""One table for a whole release, which may read it more than once.

The proofs are about one table (docs/proofs/index.md, "Lemma 7"). So files are compared with what
the file system said of them before they were first read, and a server keeps one snapshot. Outside
of a release, nothing is compared or kept.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from ..errors import BusyTableError, DataError

__all__ = ["kept", "one_table", "unchanged"]

_Stamp = tuple[int, int, int] | None
"""The number, the size and the time of the last change of a file; None if it is not there."""


class _Table:
    """The table of one release.

    Attributes
    ----------
    stamps
        For each source, its files, and the stamp of each before it was first read.
    values
        What is kept until the end of the release; see `kept`.
    stack
        Ends what is kept.
    """

    def __init__(self) -> None:
        self.stamps: dict[str, dict[Path, _Stamp]] = {}
        self.values: dict[str, str] = {}
        self.stack = ExitStack()

    def check(self) -> None:
        """Raise BusyTableError if a file is no longer what it was before it was first read."""
        if any(stamps != _stamped(stamps) for stamps in self.stamps.values()):
            raise _changed()


class _State(threading.local):
    """The table of the release that this thread makes; None outside of a release."""

    table: _Table | None = None


_state = _State()


@contextmanager
def one_table() -> Iterator[None]:
    """Let all passes over the data in a `with` block be over the same rows.

    Raises
    ------
    BusyTableError
        When a file was changed meanwhile. This error comes in place of another DataError, which may
        be a consequence.
    """
    before, _state.table = _state.table, _Table()
    table = _state.table
    try:
        with table.stack:
            yield
    except DataError:
        table.check()
        raise
    finally:
        _state.table = before


@contextmanager
def unchanged(name: str, paths: Iterable[Path]) -> Iterator[None]:
    """Read the files of a source in a `with` block, which is one pass.

    Parameters
    ----------
    name
        A text that is the same in each pass over this source.
    paths
        The files.

    Raises
    ------
    BusyTableError
        When they are not what they were before the first pass.
    """
    table = _state.table
    if table is None:
        yield
        return
    found = _stamped(paths)
    if table.stamps.setdefault(name, found) != found:
        raise _changed()
    yield
    table.check()


def kept(name: str, make: Callable[[], AbstractContextManager[str]]) -> str | None:
    """What `make` gives when it is first called in a release, and kept until the release ends; None
    outside of a release."""
    table = _state.table
    if table is None:
        return None
    if name not in table.values:
        table.values[name] = table.stack.enter_context(make())
    return table.values[name]


def _stamped(paths: Iterable[Path]) -> dict[Path, _Stamp]:
    """The stamps of some files. Reading a file does not change its stamp."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> _Stamp:
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_ino, now.st_size, now.st_mtime_ns


def _changed() -> BusyTableError:
    # No file is named: the names of folders and files may be values of the data.
    return BusyTableError(
        "the table must stay as it is while it is read, but its files were changed meanwhile; "
        "release a copy or a snapshot of it, or start when no other program writes there"
    )
