"""`DPSense` and `DPSenseS`: mechanisms that count items; rows of too many items count less."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..._checks import positive_integer
from ..._numbers import Number, exact, shown
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import DiscreteLaplace
from ...private import Private
from ...synopses.columns import ColumnCounts

__all__ = ["DPSense", "DPSenseS", "check_share", "column_counts", "default_grid", "items_of"]

_LONGEST = 1000
"""Largest theta of the default grid."""

_SCALES = tuple(Fraction(tenths, 10) for tenths in range(10, 21))
"""Default values of alpha: 1, 1.1, ..., 2."""

_MOST_NOISE = 2.0**35
"""Largest penalty for expected noise, in rows."""


def default_grid(items: int) -> tuple[int, ...]:
    """The default values from which theta is chosen.

    Each value is a quarter larger than the one before, rounded down, and at least one larger. The
    first is 1, and the last is the number of items or 1,000, whichever is less.
    """
    values = [1]
    top = min(items, _LONGEST)
    while values[-1] < top:
        quarter_more = max(values[-1] + 1, values[-1] * 5 // 4)
        values.append(min(top, quarter_more))
    return tuple(values)


@dataclass(
    frozen=True,
    kw_only=True,
)
class DPSense:
    """A mechanism that counts items if rows may hold many items (Day and Li, ASIACCS 2015).

    A row of more than theta items adds theta / (its number of items) to the count of each of them,
    instead of one. The sensitivity is then theta, whatever the number of items, and the counts are
    biased downwards. The exponential mechanism chooses theta by the sum of this loss and of the
    expected noise:

        q(theta) = - sum over items of (c - c(theta)) - items * E|noise(theta)|.

    Parameters
    ----------
    theta
        The value of theta, if it is known without the data; then nothing is spent on choosing it.
        None chooses it.
    grid
        The values to choose theta from, >= 1; `default_grid` if None. For the choice, rows of more
        items than the largest value count as if they held that many.
    share
        The share of the budget for the choice, > 0 and < 1.
    attributes
        The names of the items if they are attributes of two categories; None takes all attributes.

    Examples
    --------
    >>> import margin
    >>> table = {"milk": [1, 1, 0, 1], "tea": [0, 1, 0, 0]}
    >>> made = margin.release(
    ...     table,
    ...     domain=dict.fromkeys(table, 2),
    ...     budget=margin.PureDP(1),
    ...     mechanism=margin.DPSense(),
    ... )
    >>> made.counts.shape
    (2,)
    """

    theta: int | None = None
    grid: Sequence[int] | None = None
    share: Number = "0.1"
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        _check(self)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: choose theta, then count the items. The workload is not used."""
        theta = self.theta
        if theta is None:
            grid = _grid(self, private)
            penalties = [round(noise) for noise in _noise(self, private, grid)]
            place = private.select_most(
                self.attributes,
                grid,
                penalties=penalties,
                spend=self.share,
            )
            theta = grid[place]
        counted = private.truncated_counts(self.attributes, most=theta)
        return column_counts(
            counted,
            missing=theta < counted.counts.size,
            parameters={"theta": float(theta)},
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class DPSenseS:
    """A variant of `DPSense` that multiplies the counts by a factor alpha >= 1 (Day and Li, ASIACCS
    2015).

    The factor reduces the bias that truncation causes.

    theta and alpha are chosen together by the exponential mechanism with

        q(theta, alpha) =
            - sum over items of |alpha c(theta) - c| - items * alpha * E|noise(theta)|.

    Here c are the counts with rows truncated to `longest` items. The published method does not
    truncate them, and `paper()` does not either. With truncation, the sensitivity of q is smaller
    by the factor `longest` / (number of items).

    Parameters
    ----------
    theta, grid, share, attributes
        See `DPSense`.
    scales
        The values to choose alpha from, rational numbers >= 1.
    longest
        The number of items that rows are truncated to for c, at least the largest value of the
        grid; None takes that value.
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
            raise DomainError(
                "scales must be a list of at least one number, each >= 1, but it is "
                f"{shown([str(scale) for scale in scales])}; pass such a list"
            )
        object.__setattr__(self, "scales", tuple(map(str, scales)))
        if self.longest is not None:
            positive_integer("longest", self.longest)

    @classmethod
    def paper(cls, *, items: int) -> "DPSenseS":
        """Make the mechanism as it was published, for a domain of `items` items."""
        return cls(longest=positive_integer("items", items))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: choose theta and alpha, then count. The workload is not used."""
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
        # Scaling the counts by alpha scales their noise too.
        counted = private.truncated_counts(self.attributes, most=grid[place])
        alpha = float(scales[scale])
        scaled = Marginal(
            counted.domain,
            alpha * counted.counts,
            alpha**2 * counted.variance,
            noise_kurtosis=counted.noise_kurtosis,
        )
        return column_counts(
            scaled,
            missing=grid[place] < counted.counts.size or alpha != 1,
            parameters={"theta": float(grid[place]), "alpha": alpha},
        )


def column_counts(
    counted: Marginal,
    *,
    missing: bool | NDArray[np.bool_] = False,
    ranking: Sequence[int] = (),
    parameters: dict[str, float] | None = None,
) -> ColumnCounts:
    """Make a synopsis from a table of noisy counts of items; `missing` says of which noise is not
    the only error: of all, of none, or for each item."""
    missed = np.where(np.broadcast_to(missing, counted.counts.shape), math.nan, 0.0)
    return ColumnCounts(
        domain=counted.domain,
        counts=counted.counts,
        variance=counted.variance,
        kurtosis=float(counted.noise_kurtosis),
        ranking=np.array(ranking, np.int64),
        parameters=parameters or {},
        missed_variance=missed if np.any(missing) else None,
    )


def _check(mechanism: DPSense | DPSenseS) -> None:
    if mechanism.theta is not None:
        positive_integer("theta", mechanism.theta)
    if mechanism.grid is not None:
        if mechanism.theta is not None:
            raise DomainError(
                "either theta or grid may be given, but both are; leave one of them out"
            )
        grid = tuple(positive_integer("a value of the grid", value) for value in mechanism.grid)
        if not grid:
            raise DomainError(
                "grid must contain at least one value, but it is empty; add one, or leave grid out"
            )
        object.__setattr__(mechanism, "grid", grid)
    check_share(mechanism.share)
    names = mechanism.attributes
    if names is not None:
        listed = (names,) if isinstance(names, str) else tuple(names)
        object.__setattr__(mechanism, "attributes", listed)


def check_share(value: Number) -> None:
    """Raise DomainError unless a share of the budget is > 0 and < 1."""
    if not 0 < exact("share", value) < 1:
        raise DomainError(
            f"share ({shown(value)}) must be a number > 0 and < 1; pass such a number"
        )


def items_of(domain: Domain, attributes: Iterable[str] | None) -> Domain:
    """Make the domain of counts of items: one attribute, whose categories are the items.

    The items are attributes of two categories. A domain of one attribute with more categories is
    returned unchanged.
    """
    names = domain.view(domain if attributes is None else attributes)
    return domain if len(domain) == 1 and domain.sizes[0] > 2 else Domain({"item": list(names)})


def _grid(
    mechanism: DPSense | DPSenseS,
    private: Private,
) -> tuple[int, ...]:
    if mechanism.grid is not None:
        return tuple(mechanism.grid)
    items = items_of(private.domain, mechanism.attributes).sizes[0]
    return default_grid(min(items, getattr(mechanism, "longest", None) or items))


def _noise(
    mechanism: DPSense | DPSenseS,
    private: Private,
    grid: Sequence[int],
) -> list[float]:
    """For each theta, the expected sum of |noise| over all items if the rest of the budget is
    spent.

    It depends on public numbers only.
    """
    budget = private.budget
    items = items_of(private.domain, mechanism.attributes).sizes[0]
    units = budget.units - math.floor(exact("share", mechanism.share) * budget.units)
    sums = []
    for theta in grid:
        l1, l2_squared = budget.sensitivity(
            l1=theta,
            l2_squared=theta,
        )
        noise = budget.noise(
            max(units, 1),
            l1=l1,
            l2_squared=l2_squared,
        )
        # The mean of |noise| over its standard deviation.
        ratio = math.sqrt(0.5) if isinstance(noise, DiscreteLaplace) else math.sqrt(2 / math.pi)
        sums.append(min(items * ratio * math.sqrt(noise.variance), _MOST_NOISE))
    return sums
