"""Statistics of all draws of an audit, and the tests that compare them with the declared laws.

Every draw is turned into a number that is uniform on (0, 1) if the law is the declared one:
U = F(x - 1) + V (F(x) - F(x - 1)) with the declared distribution function F and V uniform.

- The empirical distribution of n such numbers is within sqrt(ln(2 / alpha) / (2 n)) of the uniform
  one, except with probability alpha (Dvoretzky, Kiefer and Wolfowitz 1956; Massart 1990).
- A sum of R products of independent variables in [-1, 1] with mean zero is within
  sqrt(2 R ln(2 / alpha)) of zero, except with probability alpha (Hoeffding 1963). A sum over
  products of x[i] and x[i + k] is such a sum too: in the order of i, the mean of each product is
  zero given those before it (Azuma 1967).
- Sums of variables with known mean and variance are tested at eight standard errors.
- The number of times that a cell is kept is tested by Bernstein's inequality.
"""

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from ..._types import Floats

__all__ = ["LEAST_VARIANCE", "Evidence"]

# Probability of a false alarm of each test. An audit makes about a hundred tests.
_ALPHA = 1e-9

# Tolerance of a sum of products, which may be computed by the fast Fourier transform.
_ROUNDING = 1e-3

# Number of standard errors at which a sum is rejected. Sums of noise have heavier tails than a
# normal variable, which exceeds this with probability 1e-15.
_FAR = 8.0

# Smallest number of draws for which a sum is tested.
_LEAST = 100

LEAST_VARIANCE = 1e-3
"""Variance below which nearly all noise is zero, so that sums of few draws tell nothing."""


class Evidence:
    """All statistics so far, by the name of what was drawn.

    Parameters
    ----------
    seed
        The seed of the variables V.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.findings: list[str] = []
        # For each name: the sums of values less their means, their variances, numbers of draws.
        self._sums: dict[str, list[tuple[float, float, int]]] = {}
        # For each name: the numbers that should be uniform.
        self._uniform: dict[str, list[Floats]] = {}
        # For each name and shape: the sums of products, and the number of terms of each sum.
        self._products: dict[tuple[str, tuple[int, ...]], tuple[Floats, Floats]] = {}
        # For each number of cells: how often each was kept less the expectation, and the variance.
        self._kept: dict[int, tuple[Floats, Floats]] = {}
        # For each name: squares of standardised totals, which should have mean one.
        self._totals: dict[str, list[float]] = {}

    def add_sum(
        self,
        name: str,
        value: float,
        variance: float,
        count: int,
    ) -> None:
        """Add a sum of `count` draws with mean zero and the given variance."""
        self._sums.setdefault(name, []).append((value, variance, count))

    def add_uniform(self, name: str, numbers: Floats) -> None:
        """Add numbers that should be uniform on (0, 1), an array of any length."""
        self._uniform.setdefault(name, []).append(numbers)

    def add_products(
        self,
        name: str,
        products: Floats,
        terms: Floats | int,
    ) -> None:
        """Add sums of products that should have mean zero, an array of any shape. `terms` is the
        number of products in each sum: one number, or an array of the same shape."""
        key = name, products.shape
        before, count = self._products.get(key, (np.zeros_like(products), np.zeros(())))
        self._products[key] = before + products, count + terms

    def add_shifted(self, name: str, numbers: Floats) -> None:
        """Look at the sums of x[i] x[i + k] for every k > 0, and of x[i] x[k - i] for every k, with
        each pair once; `numbers` is an array (n,) of variables in [-1, 1] with mean zero."""
        n = numbers.size
        if n < 2:
            return
        # Padded with zeros, so that no product goes around the ends.
        length = next_fast_len(2 * n, real=True)
        spectrum = rfft(numbers, length)
        shifted = irfft(np.abs(spectrum) ** 2, length)[1:n]
        self.add_products(name, shifted, np.arange(n - 1, 0, -1.0))
        reversed_ = irfft(spectrum**2, length)[: 2 * n - 1]
        # Without the squares, each pair is counted twice.
        reversed_[::2] -= numbers**2
        k = np.arange(2 * n - 1)
        pairs = (np.minimum(k, 2 * n - 2 - k) + 1) // 2
        self.add_products(name, reversed_ / 2, pairs.astype(np.float64))

    def add_kept(
        self,
        cells: int,
        excess: Floats,
        variance: Floats,
    ) -> None:
        """Add for each cell 1 if it was kept and 0 if not, minus the probability of keeping it:
        array (cells,)."""
        before = self._kept.get(cells, (np.zeros(cells), np.zeros(cells)))
        self._kept[cells] = before[0] + excess, before[1] + variance

    def add_totals(self, name: str, ratios: list[float]) -> None:
        """Add squares of totals, each divided by its variance."""
        self._totals.setdefault(name, []).extend(ratios)

    def judge(self) -> list[str]:
        """Everything that is wrong, in sentences."""
        self._judge_sums()
        self._judge_uniform()
        self._judge_products()
        self._judge_kept()
        self._judge_totals()
        return list(dict.fromkeys(self.findings))

    def _judge_sums(self) -> None:
        for name, terms in self._sums.items():
            total, variance, count = (sum(term[i] for term in terms) for i in range(3))
            if count >= _LEAST and abs(total) > _FAR * math.sqrt(variance):
                found = abs(total) / math.sqrt(variance)
                self.findings.append(
                    f"{name} do not have the declared mean: over {count} draws their sum is "
                    f"{found:.3g} standard errors away from it; at most {_FAR:g} was expected."
                )

    def _judge_uniform(self) -> None:
        for name, parts in self._uniform.items():
            numbers = np.sort(np.concatenate(parts))
            steps = np.arange(numbers.size + 1) / max(numbers.size, 1)
            over, under = np.abs(numbers - steps[1:]), np.abs(numbers - steps[:-1])
            gap = max(float(over.max(initial=0)), float(under.max(initial=0)))
            limit = math.sqrt(math.log(2 / _ALPHA) / (2 * max(numbers.size, 1)))
            if gap > limit:
                self.findings.append(
                    f"{name} do not have the declared distribution: over {numbers.size} draws the "
                    f"observed distribution function differs from the declared one by {gap:.3g}; "
                    f"at most {limit:.3g} was expected."
                )

    def _judge_products(self) -> None:
        for (name, _), (products, terms) in self._products.items():
            if not products.size:
                continue
            # All sums together raise a false alarm with probability `_ALPHA`.
            limits = np.sqrt(2 * terms * math.log(2 * products.size / _ALPHA)) + _ROUNDING
            excess = np.abs(products) - limits
            worst = np.unravel_index(int(excess.argmax()), products.shape)
            if excess[worst] > 0:
                limit = np.broadcast_to(limits, products.shape)[worst]
                self.findings.append(
                    f"{name} depend on each other: a sum of products of draws is "
                    f"{abs(products[worst]):.4g}; independent draws stay below {limit:.4g}."
                )

    def _judge_kept(self) -> None:
        for cells, (excess, variances) in self._kept.items():
            # Bernstein's inequality, for each cell.
            bound = math.log(2 * cells / _ALPHA)
            furthest = np.sqrt(2 * variances * bound) + bound
            wrong = int((np.abs(excess) > furthest).sum())
            if wrong:
                self.findings.append(
                    f"sparse_cells: {wrong} of {cells} cells are kept more often or less often "
                    "than their counts and the declared rule imply."
                )

    def _judge_totals(self) -> None:
        for name, totals in self._totals.items():
            ratios = np.array(totals)
            if ratios.size < _LEAST:
                continue
            error = math.sqrt(max(ratios.var(), 2) / ratios.size)
            if abs(ratios.mean() - 1) > _FAR * error:
                self.findings.append(
                    f"{name} depend on each other: the variance of their total is "
                    f"{ratios.mean():.3g} times that of independent draws; a factor between "
                    f"{max(1 - _FAR * error, 0):.3g} and {1 + _FAR * error:.3g} was expected."
                )
