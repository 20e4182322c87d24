"""Local search over views and their shares for the least expected error."""

from math import exp

import numpy as np

from ..subsets import Block
from .shares import Contrasts, Shares, best_shares
from .worth import WorthCover

HOT, COLD = (
    0.05,
    0.005,
)  # increases of the error, in parts of that of one view, that are accepted one time in e
MOST = 5  # views that are made anew at a time
SPREAD = 0.4  # how often these are any views, rather than views with attributes in common
JITTER = 2.0  # common attributes that chance makes up for
NOISE = 0.3  # of the covers of what they held
GLANCE, LOOK = 5, 20  # steps of the shares before a trial is given up, and after that
HOPE = 0.2  # increase of the error, in the same parts, that the look may make good
OVERHEAD = 20_000  # contrasts that could be touched while a trial is made

Candidate = tuple[list[Block], Shares]


class LocalSearch:
    """Takes some views away and covers anew what only they held, again and again, with the best
    shares for each trial.

    A worse trial is kept with a chance that falls with the increase of the error, and over time.

    Parameters
    ----------
    contrasts : Contrasts
    cover : WorthCover
        What covers anew.
    power : int
    rng : numpy.random.Generator

    References
    ----------
    G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck, Record breaking optimization results
    using the ruin and recreate principle, J. Comput. Phys. 159 (2000), 139-171.
    """

    def __init__(
        self, contrasts: Contrasts, cover: WorthCover, power: int, rng: np.random.Generator
    ) -> None:
        self._contrasts = contrasts
        self._cover = cover
        self._power = power
        self._rng = rng

    def run(self, start: Candidate, work: int) -> Candidate:
        """The best views found from these, by trials that touch `work` contrasts in all."""
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

    def _trial(self, views: list[Block], shares: Shares) -> tuple[Candidate, int]:
        """Views with some made anew, with shares near their best; and how many contrasts were
        touched."""
        gone = self._chosen(views)
        start = {view: float(shares.shares[i]) for i, view in enumerate(views) if i not in gone}
        fresh = self._cover.run(NOISE * self._rng.random(), self._rng, kept=list(start))
        parts = np.array([self._contrasts.cells(view) for view in fresh], np.float64) ** (
            1 / (self._power + 1)
        )
        freed = float(shares.shares[list(gone)].sum())
        start.update(zip(fresh, (parts / parts.sum() * freed).tolist(), strict=True))
        holdings = self._contrasts.holdings(list(start))
        touched = OVERHEAD + GLANCE * holdings.view.size
        found = best_shares(
            holdings, self._power, start=np.array(list(start.values())), steps=GLANCE, bounded=False
        )
        if found.error < shares.error * (1 + HOPE / len(views)):
            found = best_shares(
                holdings, self._power, start=found.shares, steps=LOOK, bounded=False
            )
            touched += LOOK * holdings.view.size
        return (list(start), found), touched

    def _chosen(self, views: list[Block]) -> set[int]:
        """The places of the views to be made anew."""
        number = int(self._rng.integers(1, MOST + 1))
        if self._rng.random() < SPREAD:
            return {*self._rng.permutation(len(views))[:number].tolist()}
        first = set(views[int(self._rng.integers(len(views)))])
        alike = np.array(
            [len(first.intersection(view)) for view in views]
        ) + JITTER * self._rng.random(len(views))
        return {*np.argsort(-alike)[:number].tolist()}
