"""`QuadTree`: counts of the regions of a complete quad-tree."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..._checks import positive_number, whole_number
from ...domain.domain import View
from ...domain.workload import Workload
from ...private import Private
from ...synopses import BoxSynopsis
from ..ordered.names import checked_names
from .regions import (
    Level,
    cells_of,
    divided,
    geometric,
    measured,
    number_of_rows,
    synopsis_of,
    undivided,
)

__all__ = ["QuadTree", "height_of", "released"]

_HIGHEST = 10
"""Default of the largest height, as in the paper's experiments."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class QuadTree:
    """Release the counts of all regions of a complete quad-tree (Cormode, Procopiuc, Srivastava,
    Shen and Yu, ICDE 2012).

    Each region is divided at the middle of every ordered attribute: into four for two attributes,
    into 2**d for d. The regions do not depend on the data. Let y_v be the noisy count of region v,
    s_v the variance of its noise, and x the counts of the smallest regions. The estimate solves

        minimise  sum over regions v of (y_v - sum over i in v of x_i)**2 / s_v,

    exactly and in linear time (`margin.solvers.Tree`), so all levels agree. Deeper levels get
    larger shares of the budget: see `ratio`. `BoxSynopsis.count` answers rectangles.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are not
        released.
    height
        The number of divisions, >= 1; None for as many as give single cells, and 10 at most.
    ratio
        The share of a level of the budget over that of the level above, > 0. The default minimises
        the largest error of a query, for d attributes: 2**((d - 1) / 3) for Laplace noise, which is
        the paper's (section 4.2), and 2**((d - 1) / 2) for Gaussian noise. 1 gives equal shares.
    nonnegative
        Whether negative counts are removed, on the way down the tree: see `Tree.least_squares`.
    least_rows
        Regions below a region with an estimate of fewer rows are left out, which the paper calls
        pruning (section 7); None keeps all.

    Examples
    --------
    >>> import margin
    >>> sides = {"x": {"size": 6, "ordered": True}, "y": {"size": 5, "ordered": True}}
    >>> domain = margin.Domain(sides)
    >>> points = {"x": [0, 1, 1, 5], "y": [0, 0, 4, 2]}
    >>> synopsis = margin.simulate(
    ...     points, domain=domain, budget=margin.PureDP(50), mechanism=QuadTree(), seed=1
    ... ).synopsis
    >>> round(synopsis.count({"x": [0, 1], "y": 0}).estimate)
    2
    """

    attributes: Iterable[str] | None = None
    height: int | None = None
    ratio: float | None = None
    nonnegative: bool = True
    least_rows: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        if self.height is not None:
            object.__setattr__(self, "height", whole_number("height", self.height))
        if self.ratio is not None:
            positive_number("ratio", self.ratio)
        if self.least_rows is not None:
            positive_number("least_rows", self.least_rows)

    @classmethod
    def paper(cls, *, height: int | None = None) -> Self:
        """The published method: geometric shares, and negative counts stay."""
        return cls(
            height=height,
            nonnegative=False,
        )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> BoxSynopsis:
        """Measure all levels and make them consistent. The workload is not used."""
        view = cells_of("QuadTree", private.domain, self.attributes)
        levels = [undivided(private.domain.shape(view))]
        height = height_of(levels[0], self.height, _HIGHEST)
        for _ in range(height):
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


def height_of(
    root: Level,
    height: int | None,
    most: int,
) -> int:
    """The number of divisions until all boxes are single cells, and at most `height`."""
    longest = int(root.widths.max())
    halvings = (longest - 1).bit_length()
    return min(halvings, most if height is None else height)


def released(
    private: Private,
    view: View,
    levels: list[Level],
    *,
    ratio: float | None,
    nonnegative: bool,
    least_rows: float | None,
) -> BoxSynopsis:
    """Measure the levels of a tree with geometric shares of all that is left of the budget."""
    # A known number of rows needs no measurement of the root, if there are other levels.
    root = number_of_rows(private, levels[0], None)
    known = root.variance == 0 and len(levels) > 1
    shares = geometric(private.budget, len(levels), len(view), ratio)
    found = measured(
        private,
        view,
        levels[known:],
        shares=shares[known:],
    )
    if known:
        found = [root, *found]
    return synopsis_of(
        private.domain,
        view,
        found,
        nonnegative=nonnegative,
        least_rows=least_rows,
    )
