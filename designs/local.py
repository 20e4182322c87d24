"""Local search over views and their shares for the least expected error."""

from collections.abc import Sequence
from math import exp
from random import Random

import numpy as np

from .shares import Contrasts, Shares, best_shares
from .subsets import Block

PART = 400  # proposals between two rounds of the shares
ROUNDS = 20  # steps of the shares in a round
COLD, HOT = 1e-5, 6e-3  # relative increases of the error that are accepted one time in e


class LocalSearch:
    """Views with unnormalised shares, and the error they give, kept up to date move by move.

    A move gives a view one attribute more or less or another one, drops it, or adds a view; its cost is that of the
    contrasts within the views it touches. Between rounds of moves the shares are improved all together. The error is
    ``(sum of shares)**power * sum of kappa / theta``, which does not change when all shares are scaled.

    Parameters
    ----------
    contrasts : Contrasts
    limit : int
        Largest number of cells of a view.
    power : int
    random : Random
    """

    def __init__(self, contrasts: Contrasts, limit: int, power: int, random: Random) -> None:
        self._contrasts = contrasts
        self._sets = [a for a in contrasts.weights if a]
        self._kappa = list(contrasts.weights.values())
        self._useful = sorted({j for a in self._sets for j in a})
        self._limit = limit
        self._power = power
        self._random = random

    def run(self, views: Sequence[Block], shares: Sequence[float], work: int) -> tuple[list[Block], Shares]:
        """The best views found from these, by proposals that touch `work` contrasts in all."""
        self._restart(list(views), list(shares))
        best, least = (list(self._views), list(self._shares)), self._error()
        total = work
        while work > 0:
            heat = HOT * (COLD / HOT) ** (1 - work / total)
            for _ in range(PART):
                work -= self._propose(heat)
            self._improve_shares()
            if self._error() < least:
                best, least = (list(self._views), list(self._shares)), self._error()
        found = best_shares(self._contrasts.holdings(best[0]), self._power, start=np.array(best[1]))
        return best[0], found

    def _restart(self, views: list[Block], shares: list[float]) -> None:
        self._views, self._shares = views, shares
        self._total = sum(shares)
        self._theta = [0.0] * len(self._kappa)
        for view, share in zip(views, shares, strict=True):
            precision = share**self._power / self._contrasts.cells(view)
            for i in self._contrasts.held(view):
                self._theta[i] += precision
        self._sum = sum(k / t for k, t in zip(self._kappa, self._theta, strict=True))

    def _error(self) -> float:
        return self._total**self._power * self._sum

    def _improve_shares(self) -> None:
        """Merge equal views, drop those that hold nothing needed, and move the shares towards the best."""
        merged: dict[Block, float] = {}
        for view, share in zip(self._views, self._shares, strict=True):
            merged[view] = (merged.get(view, 0.0) ** self._power + share**self._power) ** (1 / self._power)
        views = list(merged)
        start = np.array(list(merged.values()))
        found = best_shares(self._contrasts.holdings(views), self._power, start=start, steps=ROUNDS, bounded=False)
        self._restart(views, found.shares.tolist())

    def _propose(self, heat: float) -> int:
        """Try a random move; returns how many contrasts it touched."""
        draw = self._random.random
        place = int(draw() * len(self._views))
        old: Block | None = self._views[place]
        share, kind = self._shares[place], draw()
        new: Block | None = None
        fresh = 0.0
        if kind < 0.9 and old is not None:
            new = self._changed(old, kind)
            if new is None or self._contrasts.cells(new) > self._limit:
                return 1
            fresh = share * (self._contrasts.cells(new) / self._contrasts.cells(old)) ** (1 / (self._power + 1))
        elif kind >= 0.95:
            old, share = None, 0.0
            new = self._sets[int(draw() * len(self._sets))]
            fresh = self._total / len(self._views)
        return self._try(place, old, share, new, fresh, heat)

    def _changed(self, view: Block, kind: float) -> Block | None:
        draw = self._random.random
        members = list(view)
        if kind >= 0.3:
            if len(members) < 2:
                return None
            members.pop(int(draw() * len(members)))
        if kind < 0.6:
            joining = self._useful[int(draw() * len(self._useful))]
            if joining in view:
                return None
            members.append(joining)
        return tuple(sorted(members))

    def _try(self, place: int, old: Block | None, share: float, new: Block | None, fresh: float, heat: float) -> int:
        """Put a view in the place of another, or of nothing, if the error allows."""
        theta, kappa = self._theta, self._kappa
        change: dict[int, float] = {}
        if old is not None:
            precision = share**self._power / self._contrasts.cells(old)
            change = dict.fromkeys(self._contrasts.held(old), -precision)
        if new is not None:
            precision = fresh**self._power / self._contrasts.cells(new)
            for i in self._contrasts.held(new):
                change[i] = change.get(i, 0.0) + precision
        total = self._total - share + fresh
        sum_ = self._sum
        for i, step in change.items():
            after = theta[i] + step
            if after <= 1e-9 * theta[i]:
                return len(change)
            sum_ += kappa[i] / after - kappa[i] / theta[i]
        before, after = self._error(), total**self._power * sum_
        if after >= before and self._random.random() >= exp(-(after / before - 1) / heat):
            return len(change)
        for i, step in change.items():
            theta[i] += step
        self._sum, self._total = sum_, total
        if old is None and new is not None:
            self._views.append(new)
            self._shares.append(fresh)
        elif new is None:
            self._views.pop(place)
            self._shares.pop(place)
        else:
            self._views[place], self._shares[place] = new, fresh
        return len(change)
