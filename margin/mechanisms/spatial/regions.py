"""Nested boxes of cells: how they are divided, measured, and put together to a synopsis."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._numbers import Number
from ..._types import Floats, Integers
from ...domain.domain import Domain, View
from ...privacy.budget import Budget, PureDP
from ...private import Groups, Private, Strategy
from ...solvers import Tree
from ...synopses import BoxSynopsis
from ...synopses.boxes import box_of_cells
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..asked import check_reach
from ..ordered.names import ordered_names

__all__ = [
    "Level",
    "Measured",
    "cells_of",
    "cut",
    "divided",
    "epsilon_of",
    "geometric",
    "gridded",
    "measured",
    "number_of_rows",
    "synopsis_of",
    "tree_of",
    "undivided",
]

_MOST_CELLS = 1 << 22
"""Largest number of cells of the table of the ordered attributes."""


@dataclass(
    frozen=True,
    eq=False,
)
class Level:
    """Boxes that divide all cells, and the box of the level above that holds each.

    Attributes
    ----------
    boxes
        For each box and each attribute the first code, and one more than the last: integers of
        shape (boxes, attributes, 2).
    parents
        The place of the parent of each box in the level above, ascending, shape (boxes,).
    """

    boxes: Integers
    parents: Integers

    @property
    def widths(self) -> Integers:
        """The number of codes of each attribute in each box, shape (boxes, attributes)."""
        widths: Integers = self.boxes[:, :, 1] - self.boxes[:, :, 0]
        return widths


@dataclass(
    frozen=True,
    eq=False,
)
class Measured:
    """Measurements of the boxes of one level.

    Attributes
    ----------
    level
        The boxes.
    values
        The noisy number of rows in each box, shape (boxes,).
    variance
        The variance of the noise: inf if the boxes were not measured, 0 if their counts are known.
    """

    level: Level
    values: Floats
    variance: float

    @classmethod
    def nothing(cls, level: Level) -> "Measured":
        """A level that was not measured."""
        return cls(level, np.zeros(len(level.boxes)), math.inf)


def cells_of(
    name: str,
    domain: Domain,
    attributes: Iterable[str] | None,
) -> View:
    """The ordered attributes, checked; for None those that the domain declares as ordered.

    Raises
    ------
    DomainError
        When an attribute is unknown or none is ordered, or their table is too large. The message
        names the mechanism.
    """
    view = ordered_names(name, domain, attributes)
    check_reach(
        name,
        domain.cells(view),
        _MOST_CELLS,
        what="cells of the ordered attributes",
        instead="wider bins",
    )
    return view


def undivided(shape: Sequence[int]) -> Level:
    """The level of one box that holds all cells, with parent -1."""
    box = [[0, size] for size in shape]
    return Level(np.array([box]), np.array([-1]))


def divided(level: Level, parts: Integers) -> Level:
    """Each box divided into a grid of nearly equal boxes.

    Parameters
    ----------
    level
        The boxes.
    parts
        The number of parts of each box along each attribute, >= 1, shape (boxes, attributes). Fewer
        codes than parts give as many parts as codes.
    """
    number = np.minimum(parts, level.widths)
    children = number.prod(axis=1)
    parent = np.repeat(np.arange(len(children)), children)
    # The number of each child in its parent, then its place along each attribute.
    rest = np.arange(len(parent)) - np.repeat(np.cumsum(children) - children, children)
    boxes = np.empty((len(parent), *level.boxes.shape[1:]), np.int64)
    for axis in reversed(range(parts.shape[1])):
        of_parent = number[parent, axis]
        place = rest % of_parent
        rest //= of_parent
        width = level.widths[parent, axis]
        first = level.boxes[parent, axis, 0]
        boxes[:, axis, 0] = first + place * width // of_parent
        boxes[:, axis, 1] = first + (place + 1) * width // of_parent
    return Level(boxes, parent)


def gridded(shape: Sequence[int], parts: Sequence[int]) -> list[Level]:
    """A grid of nearly equal cells, and the levels of a quad-tree above it, from the root down.

    There are at least two levels: a grid of one cell is the only child of the root.

    The levels above need no measurement. They divide the removal of negative counts into small
    problems, each about a few neighbouring boxes.

    Parameters
    ----------
    shape
        The number of codes of each attribute.
    parts
        The number of cells along each attribute, >= 1; at most the number of codes are made.
    """
    number = np.minimum(parts, shape)
    # A quad-tree over the places of the cells. Places become codes by the edges of the cells.
    levels = [undivided(number.tolist())]
    while len(levels) == 1 or levels[-1].widths.max() > 1:
        levels.append(divided(levels[-1], np.full(levels[-1].widths.shape, 2)))
    codes = np.array(shape)[:, None]
    return [Level(level.boxes * codes // number[:, None], level.parents) for level in levels]


def cut(
    level: Level,
    places: Integers,
    axis: int,
    codes: Integers,
) -> Level:
    """Some boxes cut in two along one attribute; the others stay.

    Parameters
    ----------
    level
        The boxes.
    places, codes
        The boxes to cut, and the first code of the upper part of each: shape (cuts,).
    axis
        The attribute, by its place.
    """
    children = np.ones(len(level.boxes), np.int64)
    children[places] = 2
    parent = np.repeat(np.arange(len(children)), children)
    boxes = level.boxes[parent]
    lower = (np.cumsum(children) - children)[places]
    boxes[lower, axis, 1] = codes
    boxes[lower + 1, axis, 0] = codes
    return Level(boxes, parent)


def geometric(
    budget: Budget,
    levels: int,
    attributes: int,
    ratio: float | None,
) -> list[float]:
    """The share of each level of the budget, from the root down.

    A box whose sides halve from level to level meets the border of a query on d attributes in about
    n_i = 2**((d - 1) i) boxes of level i. The sum of their variances is smallest if the share of
    level i is in proportion to n_i**(1/3) for Laplace noise, whose variance is 2 / epsilon**2, and
    to n_i**(1/2) for Gaussian noise, whose variance is 1 / (2 rho).

    Parameters
    ----------
    budget
        Its kind decides between the two.
    levels, attributes
        The number of levels, and of ordered attributes.
    ratio
        The share of a level over that of the level above; None for the best.
    """
    if ratio is None:
        power = 1 / 3 if isinstance(budget, PureDP) else 1 / 2
        ratio = 2.0 ** ((attributes - 1) * power)
    return [ratio**level for level in range(levels)]


def measured(
    private: Private,
    view: View,
    levels: Sequence[Level],
    *,
    shares: Sequence[Number] | None = None,
    spend: Number | None = None,
) -> list[Measured]:
    """Noisy counts of the boxes of some levels. A row is in one box of each level."""
    shape = private.domain.shape(view)
    strategies = [
        Strategy(view, [Groups(box_of_cells(level.boxes, shape).ravel())]) for level in levels
    ]
    answers = private.measure_linear(
        strategies,
        shares=shares,
        spend=spend,
    )
    return [
        Measured(level, answer.values, max(answer.variance, LEAST_VARIANCE))
        for level, answer in zip(levels, answers, strict=True)
    ]


def number_of_rows(
    private: Private,
    level: Level,
    spend: Number | None,
) -> Measured:
    """The number of rows, as the measurement of a level of one box.

    It is known if the domain declares it, or if the neighbouring relation makes it public. This
    costs nothing. Otherwise it is measured with `spend`, or not at all if that is None.
    """
    if private.domain.rows is not None:
        return Measured(level, np.array([float(private.domain.rows)]), 0.0)
    if private.budget.number_of_rows_is_public:
        return Measured(level, np.array([float(private.count_rows())]), 0.0)
    if spend is None:
        return Measured.nothing(level)
    (answer,) = private.measure_linear([Strategy.total(private.domain)], spend=spend)
    return Measured(level, answer.values, max(answer.variance, LEAST_VARIANCE))


def epsilon_of(budget: Budget, share: Fraction) -> float:
    """The epsilon at which Laplace noise has the variance that a share of the budget buys.

    The variance of Laplace noise on a count is 2 / epsilon**2. The published rules for grids are
    about this noise; so they hold for other budgets and neighbouring relations too.
    """
    units = max(1, math.floor(share * budget.units))
    variance = max(budget.count_noise(units).variance, LEAST_VARIANCE)
    return math.sqrt(2 / variance)


def synopsis_of(
    domain: Domain,
    view: View,
    levels: Sequence[Measured],
    *,
    nonnegative: bool,
    least_rows: float | None = None,
) -> BoxSynopsis:
    """The least-squares estimate from the measurements of all levels, from the root down."""
    tree, boxes = tree_of([each.level for each in levels])
    return BoxSynopsis.of(
        domain,
        view,
        tree,
        boxes,
        np.concatenate([each.values for each in levels]),
        np.repeat([each.variance for each in levels], [len(each.values) for each in levels]),
        nonnegative=nonnegative,
        least_rows=least_rows,
    )


def tree_of(levels: Sequence[Level]) -> tuple[Tree, Integers]:
    """The tree of the boxes of levels, from the root down, and its boxes."""
    # The parents of a level are places in the level above.
    offsets = np.cumsum([0, *(len(level.parents) for level in levels)])
    parents = [levels[0].parents]
    for level, offset in zip(levels[1:], offsets, strict=False):
        parents.append(level.parents + offset)
    boxes = np.concatenate([level.boxes for level in levels])
    return Tree(np.concatenate(parents)), boxes
