"""The output of a command, and what becomes of it if stdout cannot be written."""

import errno
import os
import sys
from typing import Any, NamedTuple, TextIO

__all__ = ["Said", "painted", "printed"]

_USER_ERROR = 2


class Said(NamedTuple):
    """The output of a command.

    Attributes
    ----------
    text
        A text for people.
    values
        The same content as JSON values.
    code
        The exit code.
    is_kept
        Whether a file or a ledger keeps the result. The command has then succeeded, even if its
        output cannot be printed.
    """

    text: str
    values: Any
    code: int = 0
    is_kept: bool = False


_STYLES = {"bold": "1", "bad": "1;31", "beware": "33"}


def painted(
    text: str,
    style: str,
    stream: TextIO,
) -> str:
    """Colour a text, if the stream is a terminal that shows colours.

    A user switches colours off with the environment variable NO_COLOR.
    """
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if unwanted or not stream.isatty():
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def printed(said: Said, text: str) -> int:
    """Print the output of a command as `text`; the result is the exit code.

    If it cannot be printed, stderr says so. A scheduler must not repeat a release whose file is
    written, so a command whose result is kept has succeeded.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, such as `head`, has enough
        return said.code
    except (OSError, UnicodeError) as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        if getattr(error, "errno", None) == errno.EBADF:
            problem = "it is closed"
    else:
        return said.code
    start = f"{painted('margin:', 'bad', sys.stderr)} stdout cannot be written ({problem})"
    if said.is_kept:
        first = said.text.partition("\n")[0]
        print(f"{start}, but the command is complete: {first}", file=sys.stderr)
        return said.code
    print(f"{start}; print to another place, or free some space", file=sys.stderr)
    return said.code or _USER_ERROR
