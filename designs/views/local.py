"""Local search over views and their shares for a low expected error."""

from math import exp

import numpy as np

from ..subsets import Block
from ..types import Floats
from .shares import Contrasts, Holdings, Shares, best_shares
from .worth import WorthCover

# A rise is the relative increase of the error, times the number of views.
# At temperature h, a rise of h is accepted with probability 1 / e.
HOT, COLD = 0.05, 0.005  # first and last temperature
MOST = 5  # largest number of views that one trial replaces
SPREAD = 0.4  # how often a trial replaces any views, not views with common attributes
JITTER = 2.0  # size of the random number that is added to the number of common attributes
NOISE = 0.3  # largest noise of the covers that replace views
GLANCE, LOOK = 5, 20  # steps of the shares before a trial may be given up, and after that
HOPE = 0.2  # largest rise after the first steps with which a trial is not given up
OVERHEAD = 20_000  # fixed work of a trial, in contrasts

Candidate = tuple[list[Block], Shares]


class LocalSearch:
    """Improves a set of views by trials: remove a few views, cover the lost sets by new views.

    The shares of each trial are improved by a few steps of `best_shares`. A trial with a smaller
    error is accepted. A trial with a larger error is accepted with a probability that falls with
    the increase of the error and over time (simulated annealing).

    Parameters
    ----------
    contrasts : Contrasts
        The contrasts of the workload, whose weights give the error.
    cover : WorthCover
        Makes the new views.
    power : int
        1 or 2: the variance of a cell is ``share ** -power``.
    rng : numpy.random.Generator
        Decides which views are replaced, and which trials are accepted.

    References
    ----------
    G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck, Record breaking optimization results
    using the ruin and recreate principle, J. Comput. Phys. 159 (2000), 139-171.
    """

    def __init__(
        self,
        contrasts: Contrasts,
        cover: WorthCover,
        power: int,
        rng: np.random.Generator,
    ) -> None:
        self._contrasts = contrasts
        self._cover = cover
        self._power = power
        self._rng = rng

    def run(
        self,
        start: Candidate,
        work: int,
    ) -> Candidate:
        """Search from `start` and return the best views found.

        `work` limits the search: the number of contrasts that all trials together may use.
        """
        now = best = start
        left = work
        while left > 0:
            heat = HOT * (COLD / HOT) ** (1 - left / work)
            trial, touched = self._trial(*now)
            left -= touched
            rise = (trial[1].error / now[1].error - 1) * len(now[0])
            if rise <= 0 or self._rng.random() < exp(-rise / heat):
                now = trial
            if trial[1].error < best[1].error:
                best = trial
        return best

    def _trial(
        self,
        views: list[Block],
        shares: Shares,
    ) -> tuple[Candidate, int]:
        """Make one trial: replace some views and improve the shares.

        Returns the new views with their shares, and the work, in contrasts that were used.
        """
        gone = self._chosen(views)
        start = {view: float(shares.shares[i]) for i, view in enumerate(views) if i not in gone}
        fresh = self._cover.run(NOISE * self._rng.random(), self._rng, kept=list(start))
        # The new views divide the shares of the old ones by a power of their number of cells.
        cells = np.array([self._contrasts.cells(view) for view in fresh], np.float64)
        parts = cells ** (1 / (self._power + 1))
        freed = float(shares.shares[list(gone)].sum())
        start.update(zip(fresh, (parts / parts.sum() * freed).tolist(), strict=True))
        holdings = self._contrasts.holdings(list(start))
        touched = OVERHEAD + GLANCE * holdings.view.size
        found = self._improved(holdings, np.array(list(start.values())), GLANCE)
        if found.error < shares.error * (1 + HOPE / len(views)):
            found = self._improved(holdings, found.shares, LOOK)
            touched += LOOK * holdings.view.size
        return (list(start), found), touched

    def _improved(
        self,
        holdings: Holdings,
        start: Floats,
        steps: int,
    ) -> Shares:
        return best_shares(
            holdings,
            self._power,
            start=start,
            steps=steps,
            bounded=False,
        )

    def _chosen(self, views: list[Block]) -> set[int]:
        """Draw the positions of the views to replace: any, or views with common attributes."""
        number = int(self._rng.integers(1, MOST + 1))
        if self._rng.random() < SPREAD:
            return {*self._rng.permutation(len(views))[:number].tolist()}
        first = set(views[int(self._rng.integers(len(views)))])
        common = np.array([len(first.intersection(view)) for view in views])
        alike = common + JITTER * self._rng.random(len(views))
        return {*np.argsort(-alike)[:number].tolist()}
