"""What no message may show: connection strings, since they may hold passwords."""

import os
import re

__all__ = ["is_path", "masked"]

_HIDDEN = "***"
# A scheme, then two slashes, a user with a password, or a parameter. A drive of Windows has one
# letter only.
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]+:(?://|\S*@|[^\s'\"/\\]*=)\S*", re.IGNORECASE)
_SECRET = re.compile(
    r"\b(password|passwd|pwd|passfile|secret)\s*=\s*('[^']*'|\"[^\"]*\"|[^\s;&,'\"]+)",
    re.IGNORECASE,
)


def is_path(place: str) -> bool:
    """Whether a text that names a database may be shown: nothing in it is like an address, or it is
    a file's path."""
    return not set(place) & set(":=@") or os.path.exists(place)


def masked(text: str) -> str:
    """A text without addresses of servers (`scheme://...`, `scheme:name=...`) and without what
    follows `password=`.

    Examples
    --------
    >>> masked("cannot reach postgresql://bob:hunter2@host/db, see host=h password='a b' user=bob")
    'cannot reach *** see host=h password=*** user=bob'
    """
    return _SECRET.sub(rf"\1={_HIDDEN}", _ADDRESS.sub(_HIDDEN, text))
