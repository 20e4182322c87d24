"""What each view should be measured with: the shares that minimise the expected error."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from ..subsets import Block, members_within
from ..types import Floats, Integers
from .attributes import Domain, Named, Sets, checked_sizes, numbered, worded
from .error import Weights, check_power, contrast_weights, marginal_weights

TOLERANCE = 1e-4  # relative gap at which the shares are good enough, where it is known
STEPS = 2000
STILL = 1e-7  # relative change of the error in ten steps at which they are, where it is not


@dataclass(frozen=True, kw_only=True)
class ViewPlan:
    """Views, the share that each is measured with, and the error that this gives.

    Attributes
    ----------
    views : tuple of tuples
        The attributes of each view: names, where the domain has them.
    shares : tuple of float
        One for each view; they add to 1.
    expected_error : float
        See `expected_error`; ``inf`` when the views do not determine every marginal.
    bound : float
        No shares of these views, nor of any other views that were looked at, give less error. Close
        to the expected error for power 1, where the problem is convex; for power 2 that of a convex
        relaxation, usually far below.
    """

    views: tuple[Named, ...]
    shares: tuple[float, ...]
    expected_error: float
    bound: float

    @property
    def gap(self) -> float:
        """By what part of the bound the error may at most be too large."""
        return self.expected_error / self.bound - 1 if 0 < self.bound < inf else 0.0


def allocate_budget(
    domain: Domain,
    views: Sets,
    *,
    workload: Sets,
    weights: Sequence[float] | None = None,
    power: int,
) -> ViewPlan:
    """The shares of some views that answer a workload with the least expected error.

    For power 1 the error is a convex function of the shares, and they are within 0.01 % of the
    least, as the bound shows. For power 2 it is not, and the shares are a stationary point, reached
    from equal ones. At either, what a little more of a share is worth, ``share ** (power - 1) *
    usefulness``, is the same for all views; shares are multiplied by its root of order ``power +
    1`` until that holds, which takes a single step where views have nothing in common.

    Parameters
    ----------
    domain, views, workload, weights, power
        As in `expected_error`.

    Returns
    -------
    ViewPlan
        With the views as given. A share is never 0, but tiny where a view is of no use.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, a weight is not a finite number > 0, or there is no
        view.

    Examples
    --------
    Two marginals that share nothing, of 2 and of 16 cells:

    >>> plan = allocate_budget([2, 16], [(0,), (1,)], workload=[(0,), (1,)], power=1)
    >>> [round(share, 3) for share in plan.shares]
    [0.241, 0.759]
    """
    sizes = checked_sizes(domain)
    check_power(power)
    checked = numbered("views", views, domain)
    if not checked:
        raise ValueError("views is empty: give at least one view")
    marginals = numbered("workload", workload, domain)
    kappa = contrast_weights(sizes, marginals, marginal_weights(workload, weights))
    found = best_shares(Contrasts(sizes, kappa).holdings(checked), power)
    return ViewPlan(
        views=worded(checked, domain),
        shares=tuple(found.shares.tolist()),
        expected_error=found.error,
        bound=found.bound,
    )


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """Which contrasts each view holds: a sparse matrix, an entry for each view and each contrast A
    in it.

    Parameters
    ----------
    view, contrast : array, shape (entries,)
    cells : array, shape (views,)
    kappa : array, shape (contrasts,)
        All > 0.
    """

    view: Integers
    contrast: Integers
    cells: Floats
    kappa: Floats

    def precision(self, shares: Floats, power: int) -> Floats:
        """theta of every contrast, shape (contrasts,)."""
        return np.bincount(
            self.contrast, (shares**power / self.cells)[self.view], len(self.kappa)
        ).astype(np.float64)

    def usefulness(self, theta: Floats) -> Floats:
        """What a unit more of ``share ** power`` takes from the error, shape (views,)."""
        summed = np.bincount(self.view, (self.kappa / theta**2)[self.contrast], len(self.cells))
        return summed.astype(np.float64) / self.cells


class Contrasts:
    """The contrasts that matter, and which of them each view holds.

    Parameters
    ----------
    sizes : sequence of int
    kappa : mapping
        See `contrast_weights`; those of weight 0 are left out.

    Attributes
    ----------
    weights : dict
        kappa of each contrast that matters.
    """

    def __init__(self, sizes: Sequence[int], kappa: Weights) -> None:
        self.sizes = sizes
        self.weights = {a: weight for a, weight in kappa.items() if weight > 0}
        self._kappa = np.array(list(self.weights.values()), np.float64)
        self._places = {a: place for place, a in enumerate(self.weights)}
        self._orders = sorted({len(a) for a in self.weights})
        self._held: dict[Block, list[int]] = {}
        self._cells: dict[Block, int] = {}

    def held(self, view: Block) -> list[int]:
        """The places of the contrasts that lie within a view."""
        if view not in self._held:
            self._held[view] = [
                self._places[a] for a in members_within(view, self._places, self._orders)
            ]
        return self._held[view]

    def cells(self, view: Block) -> int:
        """The number of cells of a view."""
        if view not in self._cells:
            self._cells[view] = prod(self.sizes[j] for j in view)
        return self._cells[view]

    def holdings(self, views: Sequence[Block]) -> "Holdings":
        """Which contrasts each of some views holds."""
        held = [self.held(view) for view in views]
        return Holdings(
            view=np.repeat(np.arange(len(views)), [len(row) for row in held]),
            contrast=np.array([place for row in held for place in row], np.int64),
            cells=np.array([self.cells(view) for view in views], np.float64),
            kappa=self._kappa,
        )


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares, shape (views,), the error they give and a bound on the least error."""

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
    """The shares of least error, from equal ones or from a start.

    The error is ``sum of kappa / theta``; with theta linear in the shares, a unit of which lowers
    it by `usefulness`, and every feasible lambda gives ``error >= sum of 2 sqrt(kappa lambda) - max
    over views of lambda's usefulness``. For lambda in proportion to kappa / theta**2 the best of
    these bounds is ``error**2 / max usefulness``.
    """
    shares = (
        np.full(len(holdings.cells), 1 / len(holdings.cells))
        if start is None
        else start / start.sum()
    )
    theta = holdings.precision(shares, power)
    if not theta.all():
        return Shares(shares=shares, error=inf, bound=inf)
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
        shares = shares * (shares ** (power - 1) * useful / error) ** (1 / (power + 1))
        shares /= shares.sum()
        theta = holdings.precision(shares, power)
    if power == 2 and bounded:
        # As the shares are at most 1, their squares are at most themselves.
        bound = best_shares(holdings, 1, tolerance=0.05, steps=100).bound
    return Shares(shares=np.maximum(best, 1e-15), error=least, bound=bound)
