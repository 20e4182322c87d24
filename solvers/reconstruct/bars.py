"""`Bars`: how uncertain the cells of a reconstructed table are."""

from typing import NamedTuple

from ..types import Floats

__all__ = ["Bars"]


class Bars(NamedTuple):
    """Two parts of the uncertainty of the cells of a table, in squared counts.

    Attributes
    ----------
    variance
        The variance that noise causes in each cell.
    undetermined
        The variance of each cell that the known moments leave open, per unit of structure. Let the
        truth be p (1 + g), where p is the reconstruction as a distribution, and g has a random
        coefficient of variance one along every function of mean square one under p. Then this is
        the variance of the cell, given the known moments with errors of the size of the ridge.
    """

    variance: Floats
    undetermined: Floats
