"""Queries by the million: conjunctions and parities as arrays, counted on tables of packed bits."""

from .base import Queries
from .bits import BitTable
from .conjunctions import Conjunctions
from .parities import Parities

__all__ = ["BitTable", "Conjunctions", "Parities", "Queries"]
