"""Large sets of conjunctions or parities as arrays, and their counts on tables of packed bits."""

from .base import Queries
from .bits import BitTable
from .conjunctions import Conjunctions
from .parities import Parities

__all__ = ["BitTable", "Conjunctions", "Parities", "Queries"]
