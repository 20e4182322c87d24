"""`Hierarchical`: a mechanism that measures trees of counts over ordered attributes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._checks import whole_number
from .queries import OrderedQueries

__all__ = ["Hierarchical"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Hierarchical(OrderedQueries):
    """A mechanism for range queries: it counts at all levels of a tree over each ordered attribute
    (Hay et al., VLDB 2010).

    Each level is counted with an equal share of the budget. Least squares makes the levels
    consistent; the two passes of the paper give the same result. The error of a range grows with a
    power of the logarithm of the size of the attribute. With several ordered attributes, every
    combination of one node of each tree is counted. Other attributes are counted by category.
    `TableSynopsis.count` answers ranges.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged.
    branching
        The number of children of a node, >= 2. The paper uses 2; 8 to 16 is better for ranges of
        attributes of many values (Qardaji, Yang and Li, VLDB 2013).
    """

    branching: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        branching = whole_number("branching", self.branching, least=2)
        object.__setattr__(self, "branching", branching)

    def queries(self, size: int) -> NDArray[np.int64]:
        """The queries of a tree as a matrix of zeros and ones: shape (nodes, size).

        Each row adds up neighbouring codes: one code on the lowest level of the tree, then b, b**2
        and so on, where b is `branching`. The last row adds up all codes.
        """
        levels = []
        width = 1
        while True:
            first = np.arange(size) // width
            levels.append((np.arange(first[-1] + 1)[:, None] == first).astype(np.int64))
            if width >= size:
                return np.concatenate(levels)
            width *= self.branching
