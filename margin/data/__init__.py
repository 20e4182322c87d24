"""From rows to codes, each row by itself: sources, encoding, and bounds on the rows of a person."""

from .count import count
from .opening import open_source
from .packed import PackedSource, SparseSource
from .sets import Pairs, Transactions
from .source import Source
from .spark import SparkSource
from .sql import Sql

__all__ = [
    "PackedSource",
    "Pairs",
    "Source",
    "SparkSource",
    "SparseSource",
    "Sql",
    "Transactions",
    "count",
    "open_source",
]
