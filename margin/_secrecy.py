"""Masking of connection strings in messages, because they may contain passwords."""

import os
import re

__all__ = ["is_path", "masked"]

_HIDDEN = "***"
# A scheme, then two slashes, a user, or a parameter. A scheme has at least two letters, unlike a
# drive of Windows.
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]+:(?://|\S*@|[^\s'\"/\\]*=)\S*", re.IGNORECASE)
_SECRET = re.compile(
    r"\b(password|passwd|pwd|passfile|secret)\s*=\s*('[^']*'|\"[^\"]*\"|[^\s;&,'\"]+)",
    re.IGNORECASE,
)


def is_path(place: str) -> bool:
    """Whether a text that names a database may be shown. It may if it is the path of a file, or if
    nothing in it looks like an address."""
    return not set(place) & set(":=@") or os.path.exists(place)


def masked(text: str) -> str:
    """Replace passwords in a text by asterisks: server addresses (`scheme://...`,
    `scheme:name=...`), and values after `password=` or a similar word.

    Examples
    --------
    >>> masked("cannot reach postgresql://bob:hunter2@host/db, see host=h password='a b' user=bob")
    'cannot reach *** see host=h password=*** user=bob'
    """
    return _SECRET.sub(rf"\1={_HIDDEN}", _ADDRESS.sub(_HIDDEN, text))
