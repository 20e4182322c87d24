"""Shares of views that minimise the expected error."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf, prod
from typing import Any

import numpy as np
from scipy import sparse

from ..subsets import Block, members_within
from ..types import Floats, Integers
from .attributes import Domain, Named, Sets, checked_sizes, numbered, worded
from .error import Weights, check_power, contrast_weights, marginal_weights

TOLERANCE = 1e-4  # relative gap between error and bound at which the search stops, for power 1
STEPS = 2000  # largest number of steps
STEPS_WORK = 100_000_000  # entries of the matrix of views and contrasts that all steps may touch
FEWEST_STEPS = 100  # number of steps that are made whatever the number of entries
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
        """How far the error may be from the best one: expected_error / bound - 1.

        It is 0 if the bound is 0 or infinite.
        """
        return self.expected_error / self.bound - 1 if 0 < self.bound < inf else 0.0


def allocate_budget(
    domain: Domain,
    views: Sets,
    *,
    workload: Sets,
    weights: Sequence[float] | None = None,
    power: int,
) -> ViewPlan:
    """Divide a budget among given views so that the expected error of a workload is small.

    For power 1 the error is a convex function of the shares. The bound shows that the error is
    within 0.01 % of the smallest, if the views do not hold very many contrasts. For power 2 the
    error is not convex. The shares then are a stationary point, found from equal shares: a local
    optimum at best.

    The *usefulness* of a view is the decrease of the error per unit of ``share ** power``. At a
    solution ``share ** (power - 1) * usefulness`` is the same for all views. Each step multiplies a
    share by the root of order ``power + 1`` of this number. If no two views have a contrast in
    common, a single step suffices.

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
    """Sparse 0/1 matrix of views and contrasts: entry (i, A) is 1 if view i holds contrast A.

    See `expected_error` for the contrasts A, their weights kappa_A and the sums theta_A.

    Parameters
    ----------
    view, contrast : array, shape (entries,)
        The view and the contrast of each entry; the views ascend.
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
        """theta_A of every contrast A: the sum of the precisions of the views that hold it.

        The precision of view i is share_i**power / cells_i. The result has the shape (contrasts,).
        """
        return np.asarray(self._holders @ (shares**power / self.cells))

    def usefulness(self, theta: Floats) -> Floats:
        """Decrease of the error per unit of ``share ** power`` of each view, shape (views,).

        It is the sum of kappa_A / theta_A**2 over the contrasts of the view, divided by its
        number of cells.
        """
        return np.asarray(self._matrix @ (self.kappa / theta**2) / self.cells)

    @cached_property
    def _matrix(self) -> Any:
        """The matrix in compressed rows, shape (views, contrasts).

        The entries of a row keep their order, so that sums are rounded as `numpy.bincount` does.
        """
        counts = np.bincount(self.view, minlength=len(self.cells))
        starts = np.concatenate([[0], np.cumsum(counts)])
        shape = len(self.cells), len(self.kappa)
        return sparse.csr_array((np.ones(len(self.view)), self.contrast, starts), shape=shape)

    @cached_property
    def _holders(self) -> Any:
        """The transposed matrix in compressed rows, shape (contrasts, views)."""
        return self._matrix.T.tocsr()


class Contrasts:
    """The contrasts of positive weight of a workload; finds which of them a view holds.

    A contrast is a set A of attributes; see `expected_error`. Results are cached.

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
        """Find the contrasts that lie within a view: their positions in `weights`."""
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
        """The sparse matrix of these views and all contrasts of positive weight."""
        held = [self.held(view) for view in views]
        return Holdings(
            view=np.repeat(np.arange(len(views)), [len(row) for row in held]),
            contrast=np.fromiter(chain.from_iterable(held), np.int64),
            cells=np.array([self.cells(view) for view in views], np.float64),
            kappa=self._kappa,
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class Shares:
    """Result of `best_shares`: the shares, shape (views,), their error, and a lower bound.

    No shares of these views have an error below the bound.
    """

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

    The error is the sum of kappa / theta over all contrasts. For power 1, theta is linear in the
    shares, and the problem is convex. Its dual has one variable lambda_A >= 0 for each contrast.
    Every choice gives a lower bound: the sum of 2 sqrt(kappa_A lambda_A), minus the largest value
    over views of the sum of lambda_A / cells over the contrasts of the view. For lambda in
    proportion to kappa / theta**2 the best of these bounds is ``error**2 / max usefulness``.

    Parameters
    ----------
    holdings : Holdings
    power : int
        1 or 2.
    start : array, shape (views,), optional
        The shares to begin with, up to a common factor. The default is equal shares.
    tolerance : float
        Relative gap at which the search stops, for power 1.
    steps : int
        Largest number of steps. It is smaller, but at least 100, if the matrix has more than 50,000
        entries. The bound tells how far the error may be from the smallest.
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
    affordable = max(FEWEST_STEPS, STEPS_WORK // max(1, holdings.view.size))
    for step in range(min(steps, affordable)):
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
