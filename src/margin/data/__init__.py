"""Sources of rows, the encoding of values as codes, and the bound on the rows of each person."""

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
