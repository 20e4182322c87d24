"""The command line as ``python -m margin``, and the entry point of the installed command.

The commands are imported in `run`, so that a signal during the import is told like any other.
"""

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable

from ._ending import listen

__all__ = ["run"]

_BEFORE = "interrupted before the command began; nothing has been charged"


def run() -> int:
    """Run the command line, and end the process with its exit code; see `margin.cli.main.command`.

    It returns the code only if a thread is left that Python has to wait for.
    """
    listen(_BEFORE)
    code = _run()
    others = [thread for thread in threading.enumerate() if not thread.daemon]
    if len(others) == 1:
        _end(code)
    return code


def _run() -> int:
    from .cli.streams import make_ready

    make_ready()
    try:
        try:
            command = _command()
        except Exception as error:  # as when memory is short
            return _failed(error)
        return command()
    except SystemExit as ended:  # the parser has printed the version, the help or an error
        return ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt as error:
        print(f"margin: {str(error) or _BEFORE}", file=sys.stderr)
        return 130


def _command() -> Callable[[], int]:
    from .interrupts import watched
    from .interrupts.loading import loading

    with watched(ends=True, text=_BEFORE), loading():
        from .cli.main import command
    return command


def _failed(error: Exception) -> int:
    """Tell that the commands could not be imported; the result is the exit code.

    No data has been read yet, so the message may quote the error.
    """
    lacking = None
    with contextlib.suppress(ImportError, MemoryError):
        from .interrupts.shortage import shortage

        lacking = shortage(error)
    if lacking is not None:
        print(f"margin: {lacking.text}; nothing has been charged", file=sys.stderr)
        return 2
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    print(f"margin: internal error ({what}); nothing has been charged", file=sys.stderr)
    return 1


def _end(code: int) -> None:
    """End the process at once, after what Python does at its end for files and for programs.

    Python also takes apart all modules, which takes about half a second of computing after the
    last output. Nothing needs it, and a scheduler waits for it.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reader has closed the pipe
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(run())
