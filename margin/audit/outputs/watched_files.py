"""What a run writes to files, which programs it starts, and what it connects to.

Python reports such events to audit hooks (PEP 578). C code reports none, so the run has a working
folder and a folder of temporary files of its own, which are compared before and after it. Nothing
else counts, because other processes may write to other folders at the same time.

A connection is refused, because the audit cannot see what is sent through it. There is one
exception. To fetch a result, pyspark connects to a port of the loopback address that its Java
process opened for this one result. The operating system chooses the number of this port, so the
number is left out; the connections themselves are counted and compared. The exception holds for
calls to `connect` in the files of pyspark and py4j only. While the gate draws noise, these
connections are not counted: a replay draws none, so it reads a sparse table fewer times.
"""

import contextlib
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

from ..violation import Violation
from .own_folders import OwnFolders, own_folders
from .spark import is_drawing, is_file_of_spark

__all__ = ["WatchedFiles", "watched_files"]

# Caches of compilers, which are written once.
_COMPILED = ("__pycache__", ".pyc", ".nbi", ".nbc")

# Events that make or change a path, with the place of the path among their arguments.
_PATH_EVENTS = {
    "os.mkdir": 0,
    "os.truncate": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
}

# Events that are compared with all their arguments.
_COMPARED_EVENTS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.putenv",
    "os.unsetenv",
    "os.setxattr",
    "os.removexattr",
    "os.chown",
    "os.kill",
    "os.killpg",
    "syslog.syslog",
    "sqlite3.connect",
    "subprocess.Popen",
    "urllib.Request",
    "webbrowser.open",
    "smtplib.connect",
    "ftplib.connect",
)

# Events that send something to an address.
_SEND_EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg")

# Events that send a question to a name server.
_NAME_EVENTS = (
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
)

# Flags of `open` that allow writing.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# The first address of IPv4 and of IPv6 that leads back to the same machine.
_LOOPBACK = ("127.0.0.1", "::1")

_SPARK_CONNECTION = "pyspark connects to its own Java process"


@contextlib.contextmanager
def watched_files() -> Generator["WatchedFiles"]:
    """Watch files, programs and connections. The working folder and the folder of temporary files
    are the run's own meanwhile."""
    if not _hooked:
        sys.addaudithook(_hook)  # Python offers no way to remove an audit hook
        _hooked.append(True)
    with own_folders(len(_watching)) as folders:
        files = WatchedFiles(folders)
        _watching.append(files)
        try:
            yield files
        finally:
            _watching.remove(files)
            files.stop()


class WatchedFiles:
    """A record of what is written to files, started or connected to.

    Parameters
    ----------
    folders
        The folders of the run.
    """

    def __init__(self, folders: OwnFolders) -> None:
        self._folders = folders
        self._paths: set[str] = set()
        self._events: list[str] = []
        self._connections: list[str] = []
        self._result: dict[str, Any] = {}

    def note(
        self,
        event: str,
        arguments: tuple[Any, ...],
        caller: FrameType | None = None,
    ) -> None:
        """Record an event that Python reports to an audit hook; `caller` is the frame that caused
        it, for connections only."""
        if event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = isinstance(mode, str) and any(letter in "wax+" for letter in mode)
            if writes or (isinstance(flags, int) and flags & _WRITING):
                self._add_path(path)
        elif event in _COMPARED_EVENTS:
            self._events.append(self._masked(f"{event} {arguments}"))
        elif event in _PATH_EVENTS:
            self._add_path(arguments[_PATH_EVENTS[event]])
        elif event in _SEND_EVENTS:
            if event == "socket.connect" and _is_spark(arguments[1], caller):
                if not is_drawing():
                    self._events.append(_SPARK_CONNECTION)
            else:
                self._connections.append(event)
        # No server is asked for the name of the loopback address.
        elif event in _NAME_EVENTS and arguments[0] not in _LOOPBACK:
            self._events.append(f"{event} {arguments[0]!r}")

    def stop(self) -> None:
        """Read everything that was written, before the folders of the run are deleted."""
        temporary: list[bytes] = []
        for path in sorted({*self._paths, *self._folders.changed()}):
            if path == os.devnull or any(part in path for part in _COMPILED):
                continue
            # The names of temporary files are random. Those that were deleted are not compared:
            # whether rows are written to disk depends on their number, as time does.
            is_temporary = Path(path).is_relative_to(self._folders.temporary)
            content = Path(path).read_bytes() if os.path.isfile(path) else None
            if is_temporary and content is not None:
                temporary.append(content)
            elif not is_temporary and os.path.lexists(path):
                self._result[self._name(path)] = content
        for number, content in enumerate(sorted(temporary)):
            self._result[f"temporary file {number}"] = content
        events = [event for event in self._events if not any(part in event for part in _COMPILED)]
        for number, event in enumerate(events):
            self._result[f"event {number}"] = event

    def found(self) -> dict[str, Any]:
        """The contents of the files that were written by their names, then the other events in
        order.

        Raises
        ------
        Violation
            If a connection was opened.
        """
        if self._connections:
            raise Violation(
                f"The mechanism opens a connection or sends a message ({self._connections[0]}). "
                "The audit cannot see what is sent there, so it must not happen during a run."
            )
        return self._result

    def _name(self, path: str) -> str:
        """The path of a file in quotes, relative to the working folder if it is inside."""
        working = self._folders.working
        inside = Path(path).is_relative_to(working)
        shown = os.path.relpath(path, working) if inside else path
        return f"'{shown}'".encode(errors="backslashreplace").decode()

    def _add_path(self, path: object) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            self._paths.add(os.path.abspath(os.fsdecode(path)))

    def _masked(self, text: str) -> str:
        """A text without the names of temporary files."""
        return re.sub(re.escape(str(self._folders.temporary)) + r"[^'\" ,)]*", "TEMPORARY", text)


def _is_spark(address: object, caller: FrameType | None) -> bool:
    """True if pyspark itself connects to the loopback address."""
    if not isinstance(address, tuple) or address[0] not in _LOOPBACK or caller is None:
        return False
    return is_file_of_spark(caller.f_code.co_filename)


# The records that are being filled; the last one receives the events.
_watching: list[WatchedFiles] = []

# Holds one item once the audit hook is installed.
_hooked: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching:
        # `sys._getframe` causes an event itself, so it is called for connections only.
        caller = sys._getframe(1) if event == "socket.connect" else None
        _watching[-1].note(event, arguments, caller)
