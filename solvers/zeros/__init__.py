"""Cells of an array that must be zero, and what follows for its marginals and for single rows.

A *box* gives some axes, each with some of its categories. A cell must be zero if it lies in one of
the boxes. Boxes that have an axis in common belong to one *part*; different parts have no axis in
common and are independent. Two categories of an axis are in one *class* if every box holds both or
neither. So the tables of a part are small, even if its axes have many categories.

A marginal on some axes needs sums over all values of the other axes. The others are eliminated one
by one, which is exact (Dechter, Bucket elimination, Artificial Intelligence 113, 1999).
"""

from .factors import Box
from .links import Link, Links, links_between, numbers_on
from .zeros import NoCellLeft, Zeros

__all__ = [
    "Box",
    "Link",
    "Links",
    "NoCellLeft",
    "Zeros",
    "links_between",
    "numbers_on",
]
