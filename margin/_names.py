"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest a known name for a misspelt one, as the end of an error message.

    The result is such as "; did you mean 'region'?", or an empty text if no known name is similar.
    """
    if not isinstance(name, str):
        return ""
    similar = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""
