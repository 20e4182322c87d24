"""Shares of views that minimise the expected error."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from ..subsets import Block, members_within
from ..types import Floats, Integers
from .attributes import Domain, Named, Sets, checked_sizes, numbered, worded
from .error import Weights, check_power, contrast_weights, marginal_weights

TOLERANCE = 1e-4  # relative gap between error and bound at which the search stops, for power 1
STEPS = 2000  # largest number of steps
STILL = 1e-7  # relative change of the error in ten steps at which the search stops, for power 2


@dataclass(
    frozen=True,
    kw_only=True,
)
class ViewPlan:
    """Views, their shares, and the expected error that results.

    Attributes
    ----------
    views : tuple of tuples
        The attributes of each view, by name if the domain has names.
    shares : tuple of float
        One for each view. They add to 1.
    expected_error : float
        See `expected_error`. It is ``inf`` if the views do not determine every marginal.
    bound : float
        Lower bound on the error for any shares of these views and of all other views that were
        considered. For power 1 the problem is convex, and the bound is close to the expected error.
        For power 2 it is the bound of a convex relaxation, usually far below.
    """

    views: tuple[Named, ...]
    shares: tuple[float, ...]
    expected_error: float
    bound: float

    @property
    def gap(self) -> float:
        """Largest possible excess of the error over the best one, relative to the bound."""
        return self.expected_error / self.bound - 1 if 0 < self.bound < inf else 0.0


def allocate_budget(
    domain: Domain,
    views: Sets,
    *,
    workload: Sets,
    weights: Sequence[float] | None = None,
    power: int,
) -> ViewPlan:
    """Shares of given views that answer a workload with the smallest expected error.

    For power 1 the error is a convex function of the shares. The bound shows that the error is
    within 0.01 % of the smallest. For power 2 the error is not convex, and the shares are a
    stationary point, reached from equal shares.

    At a solution the marginal value of a share, ``share ** (power - 1) * usefulness``, is the same
    for all views. Each step multiplies the shares by the root of order ``power + 1`` of this value.
    If the views have no contrasts in common, a single step suffices.

    Parameters
    ----------
    domain, views, workload, weights, power
        As in `expected_error`.

    Returns
    -------
    ViewPlan
        With the views as given. A share is never 0; it is tiny if a view does not help.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, a weight is not a finite number > 0, or there is no
        view.

    Examples
    --------
    Two marginals without a common attribute, of 2 and of 16 cells:

    >>> plan = allocate_budget([2, 16], [(0,), (1,)], workload=[(0,), (1,)], power=1)
    >>> [round(share, 3) for share in plan.shares]
    [0.241, 0.759]
    """
    sizes = checked_sizes(domain)
    check_power(power)
    checked = numbered("views", views, domain)
    if not checked:
        raise ValueError(
            "views must hold at least one view, but it is empty; give at least one view"
        )
    marginals = numbered("workload", workload, domain)
    kappa = contrast_weights(sizes, marginals, marginal_weights(workload, weights))
    found = best_shares(Contrasts(sizes, kappa).holdings(checked), power)
    return ViewPlan(
        views=worded(checked, domain),
        shares=tuple(found.shares.tolist()),
        expected_error=found.error,
        bound=found.bound,
    )


@dataclass(
    frozen=True,
    kw_only=True,
)
class Holdings:
    """Sparse matrix of the contrasts that each view holds.

    Parameters
    ----------
    view, contrast : array, shape (entries,)
        The view and the contrast of each entry.
    cells : array, shape (views,)
        Number of cells of each view.
    kappa : array, shape (contrasts,)
        Weight of each contrast, > 0.
    """

    view: Integers
    contrast: Integers
    cells: Floats
    kappa: Floats

    def precision(
        self,
        shares: Floats,
        power: int,
    ) -> Floats:
        """theta of every contrast, shape (contrasts,)."""
        precisions = shares**power / self.cells
        theta = np.bincount(self.contrast, precisions[self.view], len(self.kappa))
        return theta.astype(np.float64)

    def usefulness(self, theta: Floats) -> Floats:
        """Decrease of the error per unit of ``share ** power``, shape (views,)."""
        values = self.kappa / theta**2
        summed = np.bincount(self.view, values[self.contrast], len(self.cells))
        return summed.astype(np.float64) / self.cells


class Contrasts:
    """The contrasts of positive weight, and a lookup of those that a view holds.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each attribute.
    kappa : mapping
        See `contrast_weights`. Contrasts of weight 0 are left out.

    Attributes
    ----------
    weights : dict
        kappa of each contrast of positive weight.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        kappa: Weights,
    ) -> None:
        self.sizes = sizes
        self.weights = {a: weight for a, weight in kappa.items() if weight > 0}
        self._kappa = np.array(list(self.weights.values()), np.float64)
        self._places = {a: place for place, a in enumerate(self.weights)}
        self._orders = sorted({len(a) for a in self.weights})
        self._held: dict[Block, list[int]] = {}
        self._cells: dict[Block, int] = {}

    def held(self, view: Block) -> list[int]:
        """The positions of the contrasts that lie within a view."""
        if view not in self._held:
            within = members_within(view, self._places, self._orders)
            self._held[view] = [self._places[a] for a in within]
        return self._held[view]

    def cells(self, view: Block) -> int:
        """The number of cells of a view."""
        if view not in self._cells:
            self._cells[view] = prod(self.sizes[j] for j in view)
        return self._cells[view]

    def holdings(self, views: Sequence[Block]) -> "Holdings":
        """The contrasts that each of the given views holds."""
        held = [self.held(view) for view in views]
        return Holdings(
            view=np.repeat(np.arange(len(views)), [len(row) for row in held]),
            contrast=np.array([place for row in held for place in row], np.int64),
            cells=np.array([self.cells(view) for view in views], np.float64),
            kappa=self._kappa,
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class Shares:
    """Shares, shape (views,), their error, and a lower bound on the error of any shares."""

    shares: Floats
    error: float
    bound: float


def best_shares(
    holdings: Holdings,
    power: int,
    *,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    bounded: bool = True,
) -> Shares:
    """Shares of low error, improved step by step from equal shares or from `start`.

    The error is the sum of kappa / theta. For power 1, theta is linear in the shares, and
    `usefulness` is the decrease of the error per unit of each share. By duality every lambda >= 0
    gives ``error >= sum of 2 sqrt(kappa lambda) - max over views of lambda's usefulness``. For
    lambda in proportion to kappa / theta**2 the best of these bounds is ``error**2 / max
    usefulness``.

    Parameters
    ----------
    holdings : Holdings
    power : int
        1 or 2.
    start : array, shape (views,), optional
    tolerance : float
        Relative gap at which the search stops, for power 1.
    steps : int
        Largest number of steps.
    bounded : bool
        Whether to compute the bound for power 2, which takes a second search.
    """
    if start is None:
        start = np.ones(len(holdings.cells))
    shares = start / start.sum()
    theta = holdings.precision(shares, power)
    if not theta.all():
        return Shares(
            shares=shares,
            error=inf,
            bound=inf,
        )
    best, least, bound, before = shares, inf, 0.0, inf
    for step in range(steps):
        error = float((holdings.kappa / theta).sum())
        useful = holdings.usefulness(theta)
        if error < least:
            best, least = shares, error
        if power == 1:
            bound = max(bound, error**2 / float(useful.max()))
            if least <= bound * (1 + tolerance):
                break
        elif step % 10 == 0:
            if error > before * (1 - STILL):
                break
            before = error
        # At a solution the marginal value of each share equals the error.
        value = shares ** (power - 1) * useful
        shares = shares * (value / error) ** (1 / (power + 1))
        shares /= shares.sum()
        theta = holdings.precision(shares, power)
    if power == 2 and bounded:
        # Shares are at most 1, so their squares are at most the shares: power 1 gives a bound.
        bound = best_shares(
            holdings,
            1,
            tolerance=0.05,
            steps=100,
        ).bound
    return Shares(
        shares=np.maximum(best, 1e-15),
        error=least,
        bound=bound,
    )
