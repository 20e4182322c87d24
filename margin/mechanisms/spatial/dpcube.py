"""`DPCube`: counts of boxes in which a first noisy table looks uniform."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import share
from ..._numbers import Number, exact
from ..._types import Floats, Integers
from ...domain.workload import Workload
from ...private import Private
from ...solvers import Tree
from ...synopses import BoxSynopsis
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..ordered.names import checked_names
from .regions import Level, cells_of, gridded, measured, number_of_rows, tree_of, undivided

__all__ = ["DPCube"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class DPCube:
    """Release the counts of boxes that a first noisy table shows to be nearly uniform (Xiao, Xiong
    and Yuan, Secure Data Management 2010).

    One part of the budget measures all cells. With y_i their noisy counts and s their variance, a
    partition of the map into regions B of a quad-tree is sought for the problem

        minimise  sum over B ( sum over i in B of (y_i - mean of y in B)**2  +  2 s log(cells) ),

    which is solved exactly, in time linear in the number of cells: from the cells up, a region is
    divided if the best partitions of its parts have a smaller sum (dyadic CART; Donoho, Annals of
    Statistics 1997). Noise alone reduces the sum of squares of a division by s times a chi-square
    variable, and the largest of as many of them as there are cells is near 2 s log(cells). The
    paper cuts greedily, as in a kd-tree, and has two thresholds that are set by hand.

    The rest of the budget measures the regions. With z_B their noisy counts and t the variance of
    the noise in them, the estimate x of the cells solves, with the regions as they were chosen,

        minimise  sum over i of (y_i - x_i)**2 / s  +  sum over B of (z_B - sum in B of x_i)**2 / t.

    `BoxSynopsis.count` answers rectangles. The stated variance does not hold the effect of choosing
    the regions by the same noisy cells.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are not
        released.
    cell_share
        The part of the budget for the cells, > 0 and < 1. The default was best of 3/10, 1/2 and
        7/10 on the tables of docs/mechanisms/spatial.md.
    nonnegative
        Whether negative counts are removed: see `QuadTree`.
    """

    attributes: Iterable[str] | None = None
    cell_share: Number = "7/10"
    nonnegative: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        share("cell_share", exact("cell_share", self.cell_share))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> BoxSynopsis:
        """Measure the cells, choose boxes, and measure these. The workload is not used."""
        view = cells_of("DPCube", private.domain, self.attributes)
        (cells,) = private.measure([view], spend=exact("cell_share", self.cell_share))
        noise = max(float(cells.variance.flat[0]), LEAST_VARIANCE)
        shape = private.domain.shape(view)
        tree, boxes = tree_of(gridded(shape, shape))
        values = np.zeros(len(boxes))
        variances = np.full(len(boxes), math.inf)
        values[tree.leaves] = cells.counts[tuple(boxes[tree.leaves, :, 0].T)]
        variances[tree.leaves] = noise

        # A region that is a single cell has two measurements: their mean, by precision.
        regions = _regions(tree, values, noise)
        partition = Level(boxes[regions], np.zeros(len(regions), np.int64))
        (fresh,) = measured(private, view, [partition])
        weight = 1 / (1 + fresh.variance / variances[regions])
        values[regions] = weight * fresh.values + (1 - weight) * values[regions]
        variances[regions] = weight * fresh.variance
        root = number_of_rows(private, undivided(shape), None)
        if root.variance == 0:
            values[0] = root.values[0]
            variances[0] = 0.0
        return BoxSynopsis.of(
            private.domain,
            view,
            tree,
            boxes,
            values,
            variances,
            nonnegative=self.nonnegative,
        )


def _regions(
    tree: Tree,
    cells: Floats,
    variance: float,
) -> Integers:
    """The regions of the best partition, by their places in a tree whose leaves are the cells.

    Parameters
    ----------
    tree, cells
        The tree, and the noisy counts of its leaves, shape (nodes,).
    variance
        The variance of the noise in each cell.
    """
    penalty = 2 * variance * math.log(max(len(tree.leaves), 2))
    # The sum of squared deviations of each region, from the sums of its cells and their squares.
    number = tree.totals(np.ones(len(cells)))
    whole = tree.totals(cells**2) - tree.totals(cells) ** 2 / number + penalty
    # From the cells up: the smaller of the region as a whole and of its best parts.
    parts = np.full(len(cells), math.inf)
    for level in reversed(tree.levels[1:]):
        best = np.minimum(whole[level], parts[level])
        parent = tree.parents[level]
        parts[np.unique(parent)] = 0.0
        np.add.at(parts, parent, best)
    smaller, kept = tree.above(parts < whole)
    return kept[smaller.leaves]
