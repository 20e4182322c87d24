"""`UniformGrid` and `AdaptiveGrid`: counts of grid cells, of a size that balances two errors."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from ..._checks import positive_number, share
from ..._numbers import Number, exact
from ..._types import Floats, Integers
from ...domain.workload import Workload
from ...private import Private
from ...synopses import BoxSynopsis
from ..ordered.names import checked_names
from .regions import (
    Level,
    Measured,
    cells_of,
    divided,
    epsilon_of,
    gridded,
    measured,
    number_of_rows,
    synopsis_of,
    undivided,
)

__all__ = ["AdaptiveGrid", "UniformGrid"]

_LEAST_PARTS = 10
"""Least number of parts of an attribute in the first grid of `AdaptiveGrid`, as published."""

_COARSER = 4
"""How many times fewer parts the first grid has than a uniform grid, as published."""

_MOST_PARTS = 1 << 22
"""Largest number of parts of an attribute: the largest number of cells."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class UniformGrid:
    """Release the counts of a grid of equal cells (UG; Qardaji, Yang and Li, ICDE 2013).

    More cells mean more noise in the sum of a query, and fewer cells a larger error at its border,
    where rows are taken to be spread evenly. For N rows, epsilon and m parts of each of d
    attributes, the noise of a large query is in proportion to sqrt(m**d) / epsilon, and the error
    at its border to N / m. The problem

        minimise over m  sqrt(m**d) / epsilon + a N / m

    for a constant a has the solution m = (N epsilon / c)**(2 / (d + 2)). For two attributes this is
    the published sqrt(N epsilon / c). For other budgets, epsilon is that of Laplace noise of the
    same variance. The number of rows is used twice: for m, and as a measurement of the sum of all
    cells. `BoxSynopsis.count` answers rectangles.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are not
        released.
    c
        The constant, > 0; published: 10.
    count_share
        The part of the budget for the number of rows, > 0 and < 1. It is not spent if the number is
        public: declared by ``Domain(..., rows=)``, or public by the neighbouring relation.
    nonnegative
        Whether negative counts are removed: see `QuadTree`.
    """

    attributes: Iterable[str] | None = None
    c: float = 10
    count_share: Number = "1/50"
    nonnegative: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        positive_number("c", self.c)
        share("count_share", exact("count_share", self.count_share))

    @classmethod
    def paper(cls) -> Self:
        """The published method: negative counts stay."""
        return cls(nonnegative=False)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> BoxSynopsis:
        """Measure the number of rows and the grid. The workload is not used."""
        view = cells_of("UniformGrid", private.domain, self.attributes)
        shape = private.domain.shape(view)
        share_of_count = exact("count_share", self.count_share)
        total = number_of_rows(private, undivided(shape), share_of_count)
        epsilon = epsilon_of(private.budget, _left(private))
        (parts,) = _parts(total.values * epsilon / self.c, len(view))
        levels = gridded(shape, parts)
        (cells,) = measured(private, view, levels[-1:])
        return synopsis_of(
            private.domain,
            view,
            _below(total, levels, cells),
            nonnegative=self.nonnegative,
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class AdaptiveGrid:
    """Release the counts of a coarse grid, and of a finer grid in each of its cells (AG; Qardaji,
    Yang and Li, ICDE 2013).

    A cell with a larger noisy count is divided into more parts, by the rule of `UniformGrid`. Both
    grids are measured. With y_v the noisy count of cell v, s_v the variance of its noise, and x the
    counts of the fine cells, the estimate solves

        minimise  sum over cells v of both grids of (y_v - sum over i in v of x_i)**2 / s_v,

    which is the constrained inference of the paper. The noisy number of rows is the root of the
    same problem. `BoxSynopsis.count` answers rectangles.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are not
        released.
    alpha
        The part of the budget after the number of rows that the coarse grid gets, > 0 and < 1;
        published: 1/2.
    c
        The constant of the coarse grid, > 0. It has max(10, m / 4) parts of each attribute, where m
        is that of `UniformGrid`. Published: 10.
    c2
        The constant of the fine grids, > 0: a cell with N' rows is divided into
        (N' epsilon' / c2)**(2 / (d + 2)) parts of each of d attributes, rounded up, where epsilon'
        is left for the fine grids. Published: 5.
    count_share, nonnegative
        See `UniformGrid`.
    """

    attributes: Iterable[str] | None = None
    alpha: Number = "1/2"
    c: float = 10
    c2: float = 5
    count_share: Number = "1/50"
    nonnegative: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        share("alpha", exact("alpha", self.alpha))
        positive_number("c", self.c)
        positive_number("c2", self.c2)
        share("count_share", exact("count_share", self.count_share))

    @classmethod
    def paper(cls) -> Self:
        """The published method: negative counts stay."""
        return cls(nonnegative=False)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> BoxSynopsis:
        """Measure the number of rows and the two grids. The workload is not used."""
        view = cells_of("AdaptiveGrid", private.domain, self.attributes)
        shape = private.domain.shape(view)
        share_of_count = exact("count_share", self.count_share)
        total = number_of_rows(private, undivided(shape), share_of_count)

        # The coarse grid.
        left = _left(private)
        epsilon = epsilon_of(private.budget, left)
        (uniform,) = _parts(total.values * epsilon / self.c, len(view))
        levels = gridded(shape, np.maximum(_LEAST_PARTS, -(-uniform // _COARSER)))
        (coarse,) = measured(
            private,
            view,
            levels[-1:],
            spend=left * exact("alpha", self.alpha),
        )

        # The fine grids.
        epsilon = epsilon_of(private.budget, _left(private))
        parts = _parts(coarse.values * epsilon / self.c2, len(view))
        (fine,) = measured(private, view, [divided(coarse.level, parts)])
        return synopsis_of(
            private.domain,
            view,
            [*_below(total, levels, coarse), fine],
            nonnegative=self.nonnegative,
        )


def _left(private: Private) -> Fraction:
    """The part of the whole budget that is not spent yet."""
    spent = sum(event.units for event in private.events)
    return 1 - Fraction(spent, private.budget.units)


def _below(
    total: Measured,
    levels: list[Level],
    cells: Measured,
) -> list[Measured]:
    """The measurements of all levels of a grid; those between the root and the cells have none."""
    between = [Measured.nothing(level) for level in levels[1:-1]]
    return [total, *between, cells]


def _parts(balance: Floats, attributes: int) -> Integers:
    """The number of parts of each attribute: balance**(2 / (d + 2)), rounded up, at least 1.

    `balance` is N epsilon / c for each box, shape (boxes,); the result has shape
    (boxes, attributes).
    """
    parts = np.ceil(np.maximum(balance, 1.0) ** (2 / (attributes + 2)))
    bounded = np.minimum(parts, _MOST_PARTS).astype(np.int64)
    return np.repeat(bounded[:, None], attributes, axis=1)
