"""Whether the noise that came through the gate is the noise that was declared, over all recorded answers together."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..budget import Budget, PureDP
from ..event import Event
from ..exact.summaries import Entering, Keep
from ..noise import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from ..private.sparse_noise import Kept

__all__ = ["Law", "cost"]

_FAR = 8.0  # standard errors; the sums have heavier tails than a normal variable's, whose chance this is 1e-15
_FAR_CHOICES = 6.0
_LEAST_VARIANCE = 1e-3  # below it, noise is nearly always zero, and too few draws are not
_LEAST = 100  # draws, before a sum is judged


def cost(event: Event, budget: Budget) -> Fraction:
    """What an event really costs, by the parameter of its noise: epsilon for a pure budget, else rho."""
    sampler, pure = event.sampler, isinstance(budget, PureDP)
    if isinstance(sampler, DiscreteGaussian):
        if pure:
            return Fraction(10**9)
        return Fraction(event.l2_squared) / (2 * sampler.sigma2)
    if isinstance(sampler, DiscreteLaplace):
        epsilon = event.l1 / sampler.scale
        return epsilon if pure else epsilon**2 / 2
    epsilon = sampler.rate * event.spread
    return event.draws * (epsilon if pure else epsilon**2 / 8)


class Law:
    """Sums of squared noise, apart for empty and other cells, and of the scores of what was chosen."""

    def __init__(self) -> None:
        self._sums: dict[str, list[tuple[float, float, int]]] = {}
        self.findings: list[str] = []

    def add(self, events: Sequence[Event], true: Sequence[Any], answer: Any) -> None:
        """Look at one reply of the gate."""
        if isinstance(events[0].sampler, ExponentialMechanism):
            self._choices(events, true[0], np.atleast_1d(answer))
        elif isinstance(answer, Kept):
            self._sparse(events[0], true[0], answer)
        elif isinstance(answer, list):
            noises = [np.asarray(a) - t for a, t in zip(answer, true, strict=True)]
            for event, noise, table in zip(events, noises, true, strict=True):
                self._noise(event, noise, table)
            self._apart(events, noises)

    def judge(self) -> list[str]:
        """What is wrong with all that was added."""
        for name, terms in self._sums.items():
            total, variance, count = (sum(term[i] for term in terms) for i in range(3))
            far = _FAR_CHOICES if "choices" in name else _FAR
            if count >= _LEAST and abs(total) > far * math.sqrt(variance):
                self.findings.append(f"{name} do not have the declared distribution")
        return list(dict.fromkeys(self.findings))

    def _noise(self, event: Event, noise: npt.NDArray[Any], table: npt.NDArray[Any]) -> None:
        if noise.dtype.kind != "i":
            self.findings.append(f"{event.method}: the noise is not of integers")
            return
        assert not isinstance(event.sampler, ExponentialMechanism)
        variance = event.sampler.variance
        if variance < _LEAST_VARIANCE:
            return
        # E[X**4] / E[X**2]**2: 3 for the Gaussian, at most 6 + 1 / variance for the Laplace distribution.
        fourth = (6.0 + 1 / variance) if isinstance(event.sampler, DiscreteLaplace) else 3.0 + 1 / variance
        squares = noise.astype(np.float64) ** 2 / variance - 1
        for name, cells in (("empty", table == 0), ("other", table != 0)):
            count = int(cells.sum())
            self._sum(
                f"{event.method}: noise in {name} cells", float(squares[cells].sum()), (fourth - 1) * count, count
            )
        self._sum(f"{event.method}: signs of noise", float(noise.sum()) / math.sqrt(variance), noise.size, noise.size)

    def _sparse(self, event: Event, true: tuple[npt.NDArray[Any], npt.NDArray[Any]], kept: Kept) -> None:
        """How many cells entered that no row is in: binomial, where each enters alone."""
        rule, cells = event.about[3], event.about[2]
        if not isinstance(rule, Keep) or not isinstance(cells, int):
            return
        assert isinstance(event.sampler, DiscreteLaplace)
        together = np.concatenate([true[0], true[0], kept.words])
        _, times = np.unique(together, axis=0, return_counts=True)
        empty, p = cells - len(true[0]), float(Entering(event.sampler.scale, rule))
        new = int((times == 1).sum())
        self._sum("sparse_cells: numbers of empty cells kept", new - empty * p, empty * p * (1 - p) + 1e-9, 1)

    def _apart(self, events: Sequence[Event], noises: Sequence[npt.NDArray[Any]]) -> None:
        """Two tables of noise with a deviation of 20 or more never agree in six cells: the chance is below 1e-10."""
        seen: set[tuple[int, ...]] = set()
        for event, noise in zip(events, noises, strict=True):
            assert not isinstance(event.sampler, ExponentialMechanism)
            if event.sampler.variance >= 400 and noise.size >= 6:
                key = tuple(noise.ravel()[:6].tolist())
                if key in seen:
                    self.findings.append(f"{event.method}: the same noise was used twice")
                seen.add(key)

    def _choices(self, events: Sequence[Event], scores: npt.NDArray[Any], chosen: npt.NDArray[Any]) -> None:
        """The scores of what was chosen, against their expectation; only the first of choices without return."""
        sampler = events[0].sampler
        assert isinstance(sampler, ExponentialMechanism)
        values = float(sampler.rate) * (scores - scores.max()).astype(np.float64)
        weights = np.exp(values)
        weights /= weights.sum()
        mean = float(weights @ values)
        variance = float(weights @ (values - mean) ** 2)
        some = chosen if events[0].method == "sample_queries" else chosen[:1]
        apart = float((values[some] - mean).sum())
        self._sum(f"{events[0].method}: choices", apart, (variance + 1e-9) * some.size, some.size)

    def _sum(self, name: str, value: float, variance: float, count: int) -> None:
        self._sums.setdefault(name, []).append((value, variance, count))
