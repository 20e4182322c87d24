"""Folders of its own for each run: a working folder, and a folder of temporary files.

C code reports no file that it writes to Python, so both folders are compared before and after a
run. In the user's working folder other processes may write at the same time. Therefore a run has a
working folder of its own, in which only the run and the programs that it starts write.

The run can read there what it could read before by the same relative paths, except by paths that
begin with `..`: small files are copied, and large files and folders are linked. A link leads out of
the folder, so a file behind it counts only if Python code opens it for writing.
"""

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

from ...data.scratch import scratch

__all__ = ["OwnFolders", "own_folders"]

# Largest size of all copied files together, in bytes; larger files are linked.
_COPIED = 1 << 20

# Time of change and size of a file, target of a link, or nothing for a folder.
State = tuple[int, int] | str | None


@contextlib.contextmanager
def own_folders(depth: int) -> Generator["OwnFolders"]:
    """Work in folders of one's own, which are deleted afterwards, or kept if nothing changed.

    The names of the folders are the same in all runs of a process, because results may hold them.

    Parameters
    ----------
    depth
        The number of runs inside which this one happens.
    """
    home, directory, variable = os.getcwd(), tempfile.tempdir, os.environ.get("TMPDIR")
    place = Path(_place(os.getpid()), str(depth))
    folders = _kept.pop(place, None)
    if folders is None or not folders.shows(home):
        shutil.rmtree(place, ignore_errors=True)
        folders = OwnFolders(place, home)
    os.chdir(folders.working)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folders.temporary)
    try:
        yield folders
    finally:
        os.chdir(home)
        tempfile.tempdir = directory
        if variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = variable
        # Most runs change nothing, and the next one takes their folders: copies take milliseconds.
        if folders.changed():
            shutil.rmtree(place, ignore_errors=True)
        else:
            _kept[place] = folders


class OwnFolders:
    """A working folder that shows the entries of another folder, and an empty folder.

    Parameters
    ----------
    place
        The folder that will hold both; it must not exist.
    home
        The folder whose entries are shown.

    Attributes
    ----------
    working, temporary
        The paths of both folders.
    """

    def __init__(self, place: Path, home: str) -> None:
        self.working = place / "working"
        self.temporary = place / "temporary"
        for folder in (place, self.working, self.temporary):
            folder.mkdir(mode=0o700)
        self._home = home, _entries(home)
        _show(home, self.working)
        self._before = _states(self.working)

    def shows(self, home: str) -> bool:
        """Whether the working folder shows the entries of a folder as they are now."""
        return self._home == (home, _entries(home))

    def changed(self) -> list[str]:
        """The paths of all temporary files, and of all that is new, changed or gone in the working
        folder."""
        after = _states(self.working)
        changed = [
            path
            for path, state in after.items()
            if path not in self._before or self._before[path] != state
        ]
        gone = [path for path in self._before if path not in after]
        return [*changed, *gone, *_states(self.temporary)]


_kept: dict[Path, OwnFolders] = {}
"""The folders of runs that changed nothing, by their places."""


@cache
def _place(process: int) -> str:
    """The folder of all runs of a process; it is deleted when the process ends, or by a later
    process if this one is killed."""
    held = contextlib.ExitStack()
    atexit.register(held.close)
    return os.path.realpath(held.enter_context(scratch()))


def _entries(home: str) -> dict[str, tuple[int, int]]:
    """The time of change and the size of each entry of a folder."""
    entries = {}
    with contextlib.suppress(OSError), os.scandir(home) as found:
        for entry in found:
            # An entry that another process has just deleted is left out.
            with contextlib.suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                entries[entry.name] = state.st_mtime_ns, state.st_size
    return entries


def _show(home: str, folder: Path) -> None:
    """Copy or link all entries of a folder into an empty one, small files first."""
    entries: list[tuple[int, str]] = []
    with contextlib.suppress(OSError), os.scandir(home) as found:
        for entry in found:
            is_file = entry.is_file(follow_symlinks=False)
            entries.append((entry.stat().st_size if is_file else _COPIED + 1, entry.name))
    copied = 0
    for size, name in sorted(entries):
        source = os.path.join(home, name)
        copied += size
        # An entry that cannot be shown, such as one that another process has just deleted, is left
        # out.
        with contextlib.suppress(OSError):
            if copied <= _COPIED and os.access(source, os.R_OK):
                shutil.copy2(source, folder / name)
            else:
                os.symlink(source, folder / name)


def _states(folder: Path) -> dict[str, State]:
    """The states of everything in a folder and in the folders inside it, by their paths. No link is
    followed."""
    states: dict[str, State] = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                states[path] = _state(path)
    return states


def _state(path: str) -> State:
    if os.path.islink(path):
        return os.readlink(path)
    if not os.path.isfile(path):
        return None
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size
