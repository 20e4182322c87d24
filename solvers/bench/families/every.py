"""`FAMILIES`: every family, one object each."""

from .cover import CoverFamily
from .entropy import ExactEntropy, PenalisedEntropy
from .family import Family
from .marginal_fits import LeastSquaresFamily, MinimaxFamily
from .projection import ConsistencyFamily, NonNegativityFamily
from .response import ResponseFamily

__all__ = ["FAMILIES"]

FAMILIES: tuple[Family, ...] = (
    ExactEntropy(),
    PenalisedEntropy(),
    LeastSquaresFamily(),
    MinimaxFamily(),
    ConsistencyFamily(),
    NonNegativityFamily(),
    ResponseFamily(),
    CoverFamily(),
)
"""Every family of instances, in the order of the pages."""
