"""The forms of a synopsis, one file each."""

from .boxes import BoxSynopsis
from .cells import CellSynopsis, Estimate
from .columns import ColumnCounts
from .counts.count import Count, Difference, Mean, Ratio
from .counts.quantile import Quantile
from .itemsets import ItemsetCounts
from .level_table import LevelSynopsis
from .marginals import MarginalSynopsis
from .records import RecordSynopsis
from .rounds import SolvedRound
from .sketch import SketchSynopsis
from .table import TableSynopsis
from .uniform import UniformSynopsis
from .views import ViewSynopsis

__all__ = [
    "BoxSynopsis",
    "CellSynopsis",
    "ColumnCounts",
    "Count",
    "Difference",
    "Estimate",
    "ItemsetCounts",
    "LevelSynopsis",
    "MarginalSynopsis",
    "Mean",
    "Quantile",
    "Ratio",
    "RecordSynopsis",
    "SketchSynopsis",
    "SolvedRound",
    "TableSynopsis",
    "UniformSynopsis",
    "ViewSynopsis",
]
