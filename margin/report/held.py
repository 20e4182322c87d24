"""`table_sources`: how the tables of counts were made that a page holds."""

import itertools
from collections import Counter
from typing import Any

from ..synopses.source import Source

__all__ = ["table_sources"]


def table_sources(holds: dict[str, Any]) -> dict[Source, int]:
    """The number of tables that a page can show without a server, by how they were made.

    Parameters
    ----------
    holds
        The content of the page. A table is an answer of it, or a sum of a view's counts.
    """
    made = {frozenset(one["axes"]): Source(one["source"]) for one in holds["answers"]}
    for view in holds["views"]:
        if view["counts"] is None:
            continue
        for size in range(1, holds["most"] + 1):
            for axes in itertools.combinations(view["axes"], size):
                made[frozenset(axes)] = Source.MEASURED
    numbers = Counter(made.values())
    return {source: numbers[source] for source in Source if numbers[source]}
