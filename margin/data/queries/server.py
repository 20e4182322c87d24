"""What the failure of a database server is: a connection that is lost or cannot be had now, or an
error that a person must mend.

The driver of PostgreSQL gives both as errors of the same kind, and an SQLSTATE only for some.
"""

import re
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

from ...errors import LostServerError

__all__ = ["asked", "reader_with_states", "snapshot_is_gone", "unreachable"]

T = TypeVar("T")

_ATTEMPT = "connection to server "
"""Begins what the client says of each address that it tried."""

_FOR_NOW = re.compile(
    r"connection refused|connection timed out|timeout expired|connection reset|no route to host"
    r"|(network|host) is unreachable|temporary failure in name resolution"
    r"|closed the connection unexpectedly|the database system is "
    r"|too many clients|too many connections|remaining connection slots"
    r"|^on socket .* failed: no such file or directory",
    re.IGNORECASE | re.DOTALL,
)
"""What a client and a server say of a server that is down, starts, stops, or has no connection
left. A server that is stopped removes the file of its Unix socket. In another language than English
it is not found, and a person must look."""


def unreachable(error: Exception) -> str | LostServerError:
    """The message or the error for a server to which no connection can be made.

    It is for now only if each address that was tried says so: where one of them refuses the
    password, a new start does not help.
    """
    attempts = str(error).split(_ATTEMPT)
    if all(_FOR_NOW.search(attempt) for attempt in attempts[1:] or attempts):
        return LostServerError(
            "the PostgreSQL server of attach= must be reachable, but it is down, starting, or has "
            "no free connection; start again later, and if it never answers, check the host, or "
            "the folder of its socket, and the port: with a wrong one it looks the same"
        )
    return (
        "the PostgreSQL server of attach= cannot be reached, or it refuses the user; check the "
        "host, the user, the password and the name of the database"
    )


def asked(connection: Any, action: Callable[[], T]) -> T:
    """Run an action that needs a connection, and return its result.

    Raises
    ------
    LostServerError
        When the action fails and the connection is lost. Any other error stays as it is.
    """
    try:
        return action()
    except Exception:
        if not _is_lost(connection):
            raise
    raise LostServerError(
        "the PostgreSQL server of attach= must stay connected while the query runs, but the "
        "connection was lost; the query is not the cause, so start again when the server answers"
    )


def reader_with_states(cursor: Any) -> Any:
    """An Arrow reader of a result, whose errors have an SQLSTATE if the driver keeps it.

    The reader that the driver hands out is the plain one of pyarrow: its errors have only a text,
    which may quote the data. The driver's own reader around it is not public.
    """
    plain = cursor.fetch_record_batch()
    return getattr(getattr(cursor, "_results", None), "reader", plain)


def snapshot_is_gone(_: Exception) -> LostServerError:
    """The error for a snapshot that the server does not know any more."""
    return LostServerError(
        "the PostgreSQL server of attach= must keep the snapshot of a release, but its connection "
        "was lost; start again when the server answers"
    )


def _is_lost(connection: Any) -> bool:
    """Whether a connection is lost, after an error on it.

    The text of the error is not asked: it may quote the data, and the code of a command must not
    depend on them. A server that is there answers one more statement, if only with an SQLSTATE.
    """
    try:
        with closing(connection.cursor()) as cursor:
            cursor.adbc_execute_schema("SELECT 1")
    except Exception as error:
        return getattr(error, "sqlstate", None) is None
    return False
