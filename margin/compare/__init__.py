"""Mechanisms side by side: simulations on a real table, and their errors (not private)."""

from .comparison import Compared, Comparison
from .simulations import compare

__all__ = ["Compared", "Comparison", "compare"]
