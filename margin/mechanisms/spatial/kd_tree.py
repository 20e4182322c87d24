"""`KDTree`: counts of the regions of a tree that is cut near medians."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..._checks import positive_number, share, whole_number
from ..._numbers import Number, exact
from ...domain.domain import View
from ...domain.workload import Workload
from ...private import Private
from ...synopses import BoxSynopsis
from ..ordered.names import checked_names
from .quad_tree import height_of, released
from .regions import Level, cells_of, cut, divided, undivided

__all__ = ["KDTree"]

_HIGHEST = 8
"""Default of the largest height if all levels are cut at private medians, as in the paper."""

_HIGHEST_HYBRID = 10
"""The same if the lower levels are those of a quad-tree. Higher than the paper's 8, so that large
regions that medians leave in empty parts of the map are divided further."""

_PRIVATE_LEVELS = 2
"""Number of levels that `KDTree.hybrid` cuts at private medians. Of 1, 2 and 4, 1 and 2 were best
on the tables of docs/mechanisms/spatial.md."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class KDTree:
    """Release the counts of the regions of a tree that is cut near private medians (Cormode,
    Procopiuc, Srivastava, Shen and Yu, ICDE 2012).

    Each region is cut along the first ordered attribute, then its parts along the second, and so
    on, which makes 2**d regions of one for d attributes. The cut c of a region with n rows, of
    which `low` have codes below c, is chosen by the exponential mechanism for the problem

        minimise over c  max(low, n - low),

    which the median solves; see `Private.select_cuts`. Regions of one level share no row, so each
    of them has the whole epsilon of the level. The paper's score |low - n / 2| is this one less
    n / 2; since an added row moves all scores in one direction, the choice here has twice the rate
    for the same epsilon. The counts of the regions are then measured and made consistent like those
    of `QuadTree`.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are not
        released.
    height
        The number of divisions, >= 1; None for 8, and for 10 with `private_levels`, or for fewer if
        halving gives single cells.
    private_levels
        The number of divisions at private medians, from the root down; the regions below are
        divided at the middle, as in a quad-tree. None for all. See `hybrid`.
    median_share
        The part of the budget for the cuts, > 0 and < 1, in equal parts for each level and
        attribute. The counts get the rest. On the tables of docs/mechanisms/spatial.md, 3/10 was
        better than 1/2 in 14 of 18 cases.
    ratio, nonnegative, least_rows
        See `QuadTree`.
    """

    attributes: Iterable[str] | None = None
    height: int | None = None
    private_levels: int | None = None
    median_share: Number = "3/10"
    ratio: float | None = None
    nonnegative: bool = True
    least_rows: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        if self.height is not None:
            object.__setattr__(self, "height", whole_number("height", self.height))
        if self.private_levels is not None:
            levels = whole_number("private_levels", self.private_levels)
            object.__setattr__(self, "private_levels", levels)
        share("median_share", exact("median_share", self.median_share))
        if self.ratio is not None:
            positive_number("ratio", self.ratio)
        if self.least_rows is not None:
            positive_number("least_rows", self.least_rows)

    @classmethod
    def hybrid(
        cls,
        *,
        private_levels: int = _PRIVATE_LEVELS,
        height: int | None = None,
    ) -> Self:
        """Private medians on the upper levels and a quad-tree below, which the paper calls
        kd-hybrid."""
        return cls(
            private_levels=private_levels,
            height=height,
        )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> BoxSynopsis:
        """Choose the cuts, measure all levels and make them consistent. The workload is not
        used."""
        view = cells_of("KDTree", private.domain, self.attributes)
        levels = [undivided(private.domain.shape(view))]
        highest = _HIGHEST if self.private_levels is None else _HIGHEST_HYBRID
        height = height_of(levels[0], self.height, highest)
        chosen = height if self.private_levels is None else min(height, self.private_levels)
        for number in range(height):
            if number < chosen:
                levels.append(self._cut_at_medians(private, view, levels[-1], chosen))
            else:
                halves = np.full(levels[-1].widths.shape, 2)
                levels.append(divided(levels[-1], halves))
        return released(
            private,
            view,
            levels,
            ratio=self.ratio,
            nonnegative=self.nonnegative,
            least_rows=self.least_rows,
        )

    def _cut_at_medians(
        self,
        private: Private,
        view: View,
        level: Level,
        chosen: int,
    ) -> Level:
        """The level below, with cuts along one attribute after another."""
        each = exact("median_share", self.median_share) / (chosen * len(view))
        parents = np.arange(len(level.boxes))
        below = level
        for axis in range(len(view)):
            # Boxes of a single code of the attribute cannot be cut.
            places = np.flatnonzero(below.widths[:, axis] >= 2)
            if not places.size:
                continue
            codes = private.select_cuts(
                view,
                below.boxes[places],
                [axis] * len(places),
                spend=each,
            )
            below = cut(below, places, axis, codes)
            parents = parents[below.parents]
        return Level(below.boxes, parents)
