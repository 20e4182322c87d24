"""`DPSense` and `DPSenseS`: counts of many items, with rows that hold too many counting less."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._checks import positive_integer
from ..._numbers import Number, exact
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Private
from ...synopses.columns import ColumnCounts

__all__ = ["DPSense", "DPSenseS", "column_counts", "default_grid", "items_of"]

_LONGEST = 1000
_SCALES = tuple(Fraction(tenths, 10) for tenths in range(10, 21))


def default_grid(items: int) -> tuple[int, ...]:
    """1, 2, 3, ..., then each a quarter more than the one before, up to the number of items or
    1,000."""
    values, top = [1], min(items, _LONGEST)
    while values[-1] < top:
        values.append(min(top, max(values[-1] + 1, values[-1] * 5 // 4)))
    return tuple(values)


@dataclass(frozen=True, kw_only=True)
class DPSense:
    """Counts of items in rows that hold many (Day and Li, ASIACCS 2015).

    A row of more than theta items adds theta / (number of items) to each of them in place of one.
    That makes the sensitivity theta, whatever the number of items, and biases the counts downwards;
    theta is chosen privately, as the one with the least sum of what is lost and of the noise to be
    expected:

        q(theta) = - sum over items of (c - c(theta)) - items * E|noise(theta)|.

    Parameters
    ----------
    theta
        When it is known without looking at the data; then nothing is spent on choosing it.
    grid
        What to choose theta from; `default_grid` when not given. Rows of more items than its
        largest value count as if they held just that many when it is chosen.
    share
        The part of the budget that is spent on choosing.
    attributes
        The items, when these are attributes of two categories; all of the domain when not given.
    """

    theta: int | None = None
    grid: Sequence[int] | None = None
    share: Number = "0.1"
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        _check(self)

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Choose theta, count. The workload has no say."""
        theta = self.theta
        if theta is None:
            grid = _grid(self, private)
            penalties = [round(noise) for noise in _noise(self, private, grid)]
            theta = grid[
                private.select_most(self.attributes, grid, penalties=penalties, spend=self.share)
            ]
        counted = private.truncated_counts(self.attributes, most=theta)
        return column_counts(counted, parameters={"theta": float(theta)})


@dataclass(frozen=True, kw_only=True)
class DPSenseS:
    """`DPSense` with counts multiplied by alpha >= 1, against the bias of truncation (Day and Li,
    ASIACCS 2015).

    theta and alpha are chosen together, as the pair with the largest

        q(theta, alpha) = - sum over items of |alpha c(theta) - c| - items * alpha *
        E|noise(theta)|.

    Here c are the counts with rows cut to `longest` items, which divides the sensitivity of q, as
    published, by the number of items over `longest`; `paper()` takes the counts as they are.

    Parameters
    ----------
    grid, share, attributes
        See `DPSense`.
    scales
        What to choose alpha from: rational numbers >= 1; 1, 1.1, ..., 2 when not given.
    longest
        At least each value of the grid; the largest of them when not given.
    """

    theta: int | None = None
    grid: Sequence[int] | None = None
    scales: Sequence[Number] = _SCALES
    longest: int | None = None
    share: Number = "0.1"
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        _check(self)
        scales = tuple(exact("a scale", scale) for scale in self.scales)
        if not scales or min(scales) < 1:
            raise DomainError("scales must be one or more numbers >= 1")
        object.__setattr__(self, "scales", tuple(map(str, scales)))
        if self.longest is not None:
            positive_integer("longest", self.longest)

    @classmethod
    def paper(cls, *, items: int) -> "DPSenseS":
        """The method as published, for that many items."""
        return cls(longest=positive_integer("items", items))

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Choose theta and alpha, count. The workload has no say."""
        grid = _grid(self, private) if self.theta is None else (self.theta,)
        scales = [Fraction(scale) for scale in self.scales]
        noise = _noise(self, private, grid)
        penalties = [[round(float(scale) * each) for scale in scales] for each in noise]
        place, scale = private.select_scaled(
            self.attributes,
            grid,
            scales=scales,
            penalties=penalties,
            longest=self.longest,
            spend=self.share,
        )
        counted = private.truncated_counts(self.attributes, most=grid[place])
        alpha = float(scales[scale])
        scaled = Marginal(counted.domain, alpha * counted.counts, alpha**2 * counted.variance)
        return column_counts(scaled, parameters={"theta": float(grid[place]), "alpha": alpha})


def column_counts(
    counted: Marginal, *, ranking: Sequence[int] = (), parameters: dict[str, float] | None = None
) -> ColumnCounts:
    """A synopsis of noisy counts of items."""
    return ColumnCounts(
        domain=counted.domain,
        counts=counted.counts,
        variance=counted.variance,
        ranking=np.array(ranking, np.int64),
        parameters=parameters or {},
    )


def _check(mechanism: DPSense | DPSenseS) -> None:
    if mechanism.theta is not None:
        positive_integer("theta", mechanism.theta)
    if mechanism.grid is not None:
        if mechanism.theta is not None:
            raise DomainError("give either theta or grid")
        grid = tuple(positive_integer("a value of the grid", value) for value in mechanism.grid)
        if not grid:
            raise DomainError("the grid must hold at least one value")
        object.__setattr__(mechanism, "grid", grid)
    if not 0 < exact("share", mechanism.share) < 1:
        raise DomainError("share must be above 0 and below 1")
    if mechanism.attributes is not None:
        names = mechanism.attributes
        object.__setattr__(
            mechanism, "attributes", (names,) if isinstance(names, str) else tuple(names)
        )


def items_of(domain: Domain, attributes: Iterable[str] | None) -> Domain:
    """A domain of one attribute whose categories are the items: attributes of two categories, or
    the domain itself."""
    names = domain.view(domain if attributes is None else attributes)
    return domain if len(domain) == 1 and domain.sizes[0] > 2 else Domain({"item": list(names)})


def _grid(mechanism: DPSense | DPSenseS, private: Private) -> tuple[int, ...]:
    if mechanism.grid is not None:
        return tuple(mechanism.grid)
    items = items_of(private.domain, mechanism.attributes).sizes[0]
    return default_grid(min(items, getattr(mechanism, "longest", None) or items))


def _noise(mechanism: DPSense | DPSenseS, private: Private, grid: Sequence[int]) -> list[float]:
    """The expected sum of |noise| over all items for each theta, with what will be left of the
    budget: public."""
    budget, items = private.budget, items_of(private.domain, mechanism.attributes).sizes[0]
    units = budget.units - math.floor(exact("share", mechanism.share) * budget.units)
    sums = []
    for theta in grid:
        l1, l2_squared = budget.sensitivity(l1=theta, l2_squared=theta)
        noise = budget.noise(max(units, 1), l1=l1, l2_squared=l2_squared)
        ratio = math.sqrt(0.5) if isinstance(noise, DiscreteLaplace) else math.sqrt(2 / math.pi)
        sums.append(min(items * ratio * math.sqrt(noise.variance), 2.0**35))
    return sums
