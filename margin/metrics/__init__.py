"""Measures of the error of answers, one class for each: what `margin.compare` measures."""

from .asked import AskedError
from .intervals import Inside, IntervalScore
from .itemsets import F1, NDCG, ndcg
from .metric import Metric
from .records import RecordsDistance, records_distance
from .tables import (
    L1,
    L2,
    AbsoluteError,
    JensenShannon,
    LargestError,
    RelativeError,
    TotalVariation,
    Usefulness,
    jensen_shannon,
    total_variation,
)

__all__ = [
    "F1",
    "L1",
    "L2",
    "NDCG",
    "AbsoluteError",
    "AskedError",
    "Inside",
    "IntervalScore",
    "JensenShannon",
    "LargestError",
    "Metric",
    "RecordsDistance",
    "RelativeError",
    "TotalVariation",
    "Usefulness",
    "jensen_shannon",
    "ndcg",
    "records_distance",
    "total_variation",
]
