"""Queries: millions of conjunctions or parities as arrays, and the bit-packed tables that they are
counted on."""

from .base import Queries
from .bits import BitTable
from .conjunctions import Conjunctions
from .parities import Parities

__all__ = ["BitTable", "Conjunctions", "Parities", "Queries"]
