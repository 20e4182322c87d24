"""`Wavelet`: a mechanism that measures Haar wavelet coefficients over ordered attributes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .queries import OrderedQueries

__all__ = ["Wavelet"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Wavelet(OrderedQueries):
    """A mechanism for range queries: it measures Haar wavelet coefficients over each ordered
    attribute (Privelet, Xiao et al., TKDE 2011).

    The coefficient of a node with w leaves is half the difference of the means of its halves. In
    the paper its noise is in proportion to 1 / w. This is the same as the difference of the *sums*
    of the halves with equal noise on all nodes, which is measured here: every row adds 1 or -1 on
    each level. Sizes that are not a power of two are filled up with empty values. With several
    ordered attributes, a query is a product of one coefficient of each. Other attributes are
    counted by category. `TableSynopsis.count` answers ranges.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged.
    """

    def queries(self, size: int) -> NDArray[np.int64]:
        """The matrix of the Haar coefficients of an attribute: shape (coefficients, size).

        The first row sums all codes. Each other row belongs to a node of the binary tree: the sum
        of its left half minus the sum of its right half.
        """
        codes = np.arange(size)
        rows = [np.ones((1, size), np.int64)]
        length = 1 << (size - 1).bit_length()
        width = length
        while width > 1:
            # Nodes of this level are `width` codes long.
            node = codes // width
            sign = np.where(codes % width < width // 2, 1, -1)
            rows.append((np.arange(length // width)[:, None] == node) * sign)
            width //= 2
        # Nodes whose codes are all beyond the size are left out.
        matrix = np.concatenate(rows)
        return matrix[matrix.any(axis=1)]
