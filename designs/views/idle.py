"""Idle views: those that hardly lower the expected error."""

from dataclasses import replace
from itertools import compress

import numpy as np

from ..types import Flags, Floats
from .local import Candidate
from .shares import Contrasts, Holdings, best_shares

LOSS = 1.0005  # error without a view / error with it: up to this ratio the view is idle
SMALLEST_PART = 1e-9  # of a precision: a smaller rest is a rounding error
FEW = 0.01  # the rounds end when no larger part of the views is left out
STEPS = 100  # largest number of steps of the shares each time views are left out


def without_idle(
    contrasts: Contrasts,
    found: Candidate,
    power: int,
) -> Candidate:
    """Leave out idle views, and find the best shares of the others.

    The best shares of some views are tiny, because other views measure nearly all that these tell.
    Such a view has far more noise than the others and costs as much time. All views that are left
    out together raise the error by at most the factor `LOSS`. The bound stays: it holds for all
    views that were considered.

    Parameters
    ----------
    contrasts : Contrasts
    found : tuple of views and shares
        The shares are the best ones, nearly.
    power : int
        1 or 2: the variance of a cell is ``share ** -power``.
    """
    views, shares = found
    limit = shares.error * LOSS
    idle = len(views)
    while idle > FEW * len(views):
        holdings = contrasts.holdings(views)
        needed = _needed(holdings, shares.shares, power, limit)
        idle = len(views) - int(needed.sum())
        if not idle:
            break
        # The best shares of the others may leave more views with hardly any share.
        views = list(compress(views, needed))
        shares = best_shares(
            contrasts.holdings(views),
            power,
            start=shares.shares[needed],
            steps=STEPS,
            bounded=False,
        )
    return views, replace(shares, bound=found[1].bound)


def _needed(
    holdings: Holdings,
    shares: Floats,
    power: int,
    limit: float,
) -> Flags:
    """Which views are needed for an error of at most `limit`, shape (views,).

    The views are tried one after another, the smallest share first. If a view is left out, the
    others get its share in proportion to their own.
    """
    precisions = shares**power / holdings.cells
    theta = holdings.precision(shares, power)
    error = (holdings.kappa / theta).sum()
    left = shares.sum()
    starts = np.searchsorted(holdings.view, np.arange(len(shares) + 1))
    needed = np.ones(len(shares), np.bool_)
    for view in np.argsort(shares, kind="stable").tolist():
        # Only the contrasts of this view lose precision.
        held = holdings.contrast[starts[view] : starts[view + 1]]
        before = theta[held]
        after = before - precisions[view]
        if (after <= SMALLEST_PART * before).any():
            continue  # nothing else tells one of them
        kappa = holdings.kappa[held]
        larger = error + (kappa / after - kappa / before).sum()
        # Dividing the shares by their sum multiplies the error by a power of the sum.
        if larger * (left - shares[view]) ** power <= limit:
            needed[view] = False
            theta[held] = after
            error = larger
            left -= shares[view]
    return needed
