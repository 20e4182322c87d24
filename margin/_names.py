"""Suggestions for misspelt names, and the short names of metrics."""

import difflib
from collections.abc import Iterable

__all__ = ["METRICS", "did_you_mean"]

METRICS = {
    "l2": "L2",
    "l1": "L1",
    "js": "JensenShannon",
    "largest": "LargestError",
    "relative": "RelativeError",
    "useful": "Usefulness",
    "ndcg": "NDCG",
    "f1": "F1",
}
"""The classes of `margin.metrics`, by their short names."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest a known name for a misspelt one, as the end of an error message.

    The result is such as "; did you mean 'region'?", or an empty text if no known name is similar.
    """
    if not isinstance(name, str):
        return ""
    similar = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""
