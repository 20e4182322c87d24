"""Whether the noise on counts has the declared law, in empty and in other cells."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._types import Floats, Integers
from ...noise.laws import DiscreteLaplace
from ...privacy.event import Event
from .distributions import at_most, mean_cosine, median_size, variance_of
from .evidence import LEAST_VARIANCE, Evidence

__all__ = ["NoiseTest"]

# Largest number of cells whose dependence is tested.
_COLUMNS = 80

# Variance and number of cells from which on two tables of noise never have the same sizes: the
# probability is below 1e-10 a pair.
_WIDE = 400.0
_MANY = 6

# Noise is tested for being a multiple of these numbers.
_PRIMES = (2, 3, 5, 7)


class NoiseTest:
    """Compares noise with its declared law.

    Parameters
    ----------
    evidence
        Receives the statistics.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # The sorted sizes of the noise of each table so far.
        self._used: set[tuple[int, ...]] = set()

    def add(
        self,
        event: Event,
        noisy: npt.NDArray[Any],
        table: npt.NDArray[Any],
    ) -> Integers:
        """Look at the noise on a true table, or on copies of it: the difference of the two arrays,
        of the same shape."""
        if noisy.dtype != np.int64:
            self._evidence.findings.append(
                f"{event.method}: the noisy answer has the type {noisy.dtype}, but int64 was "
                "expected, whatever the counts are."
            )
        noise: Integers = (noisy - table).astype(np.int64)
        sampler: Any = event.sampler
        uniform = self._uniform(sampler, noise)
        variance = variance_of(sampler)
        is_wide = variance >= LEAST_VARIANCE
        # E[X**4] / E[X**2]**2 is 3 for the Gaussian and at most 6 + 1 / variance for the Laplace
        # distribution. So X**2 / variance - 1 has mean zero and a variance of at most fourth - 1.
        fourth = 6.0 if isinstance(sampler, DiscreteLaplace) else 3.0
        fourth += 1 / max(variance, LEAST_VARIANCE)
        squares = noise.astype(np.float64) ** 2 / max(variance, LEAST_VARIANCE) - 1
        for name, cells in (("empty", table == 0), ("other", table != 0)):
            count = int(cells.sum())
            if not count:
                continue
            draws = f"{event.method}: draws of noise in {name} cells"
            self._evidence.add_uniform(draws, uniform[cells])
            if is_wide:
                total = float(squares[cells].sum())
                name = f"{event.method}: squares of the noise in {name} cells"
                self._evidence.add_sum(name, total, (fourth - 1) * count, count)
        if is_wide:
            total = float(noise.sum()) / math.sqrt(variance)
            name = f"{event.method}: values of the noise"
            self._evidence.add_sum(name, total, noise.size, noise.size)
        self._add_remainders(event, noise)
        return noise

    def _add_remainders(self, event: Event, noise: Integers) -> None:
        """Look at the remainders of the noise by small primes, through its characteristic function.

        If all noise were a multiple of p, an answer would tell the remainder of the count by p. The
        terms are in [-1, 1], so they vary at most as variables of variance 1 do (Hoeffding).
        """
        for prime in _PRIMES:
            angle = 2 * math.pi / prime
            expected = mean_cosine(event.sampler, angle) * noise.size
            total = float(np.cos(angle * (noise % prime)).sum()) - expected
            name = f"{event.method}: remainders of the noise by {prime}"
            self._evidence.add_sum(name, total, noise.size, noise.size)

    def add_reuse(self, events: Sequence[Event], noises: Sequence[Integers]) -> None:
        """Report a table of wide noise that has the same sizes as an earlier one, in any order."""
        for event, noise in zip(events, noises, strict=True):
            if noise.size < _MANY or variance_of(event.sampler) < _WIDE:
                continue
            key = tuple(np.sort(np.abs(noise), axis=None).tolist())
            if key in self._used:
                self._evidence.findings.append(
                    f"{event.method}: the same noise was used for two answers; each answer needs "
                    "noise of its own."
                )
            self._used.add(key)

    def add_dependence(self, events: Sequence[Event], noises: Sequence[Integers]) -> None:
        """Look at the dependence of cells on each other, of all tables of an answer together, and
        of each draw and the next.

        All pairs of the first and the last cells are looked at, one by one. All cells of all draws,
        as one sequence, are compared with the same sequence shifted, and reversed, by any distance.

        `noises` has an array (draws, ...) for each event.
        """
        signs, sizes, values = [], [], []
        for event, noise in zip(events, noises, strict=True):
            flat = noise.reshape(len(noise), -1)
            median, above = median_size(event.sampler)
            signs.append(np.sign(flat).astype(np.float64))
            # Indicators of a large size, less their mean, divided to be within [-1, 1].
            sizes.append(((np.abs(flat) > median) - above) / max(above, 1 - above))
            deviation = math.sqrt(max(variance_of(event.sampler), LEAST_VARIANCE))
            values.append(flat.sum(axis=1) / deviation)
        method, repeats = events[0].method, len(noises[0])
        for name, columns in (("signs of the noise", signs), ("sizes of the noise", sizes)):
            everything = np.concatenate(columns, axis=1)
            self._evidence.add_shifted(f"{method}: {name} at some distance", everything.ravel())
            table = _some(everything)
            # Each draw beside the one before it.
            pairs = np.concatenate([table[1:], table[:-1]], axis=1)
            products = pairs.T @ pairs
            np.fill_diagonal(products, 0.0)
            self._evidence.add_products(f"{method}: {name}", products, repeats - 1)
        cells = sum(noise[0].size for noise in noises)
        if cells > 1 and min(variance_of(event.sampler) for event in events) >= LEAST_VARIANCE:
            ratios = (np.sum(values, axis=0) ** 2 / cells).tolist()
            self._evidence.add_totals(f"{method}: the draws in the cells of an answer", ratios)

    def _uniform(self, sampler: Any, noise: Integers) -> Floats:
        """Noise as numbers that are uniform on (0, 1), an array of the same shape."""
        low, high = at_most(sampler, noise - 1), at_most(sampler, noise)
        v = self._evidence.random.random(noise.shape)
        return np.asarray(low + v * (high - low), np.float64)


def _some(table: Any) -> Any:
    """At most `_COLUMNS` columns: the first and the last."""
    if table.shape[1] <= _COLUMNS:
        return table
    half = _COLUMNS // 2
    return np.concatenate([table[:, :half], table[:, -half:]], axis=1)
