"""Exact integer noise from the discrete Laplace and the discrete Gaussian distribution.

"Exact" means that a draw has the stated distribution with its infinite support, clamped to
+-(2**62 - 1) so that it fits into 64 bits. A float decides a draw only where a proved margin shows
that its decision is correct. `noisy_sum` adds noise to counts. Its result is a function of the sum
of the count and the unclamped noise, so clamping costs no privacy. The proofs are in docs/noise.md.

Both distributions: C. L. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential
Privacy", NeurIPS 2020 (arXiv:2004.00010), called CKS below.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .._numbers import exact, shown
from .._types import Integers
from ..errors import MarginError
from ..interrupts.share import tell
from .bernoulli import Coins
from .certified import exponential, logistic, uniform_is_below
from .entropy import Entropy, SeededEntropy, SystemEntropy, check_entropy
from .magnitudes import MagnitudeTable
from .selection import ExponentialMechanism
from .wide_gaussian import LARGEST_DRAW, LARGEST_SIGMA2, WideGaussian

__all__ = [
    "LARGEST_SUM",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Noise",
    "SeededEntropy",
    "SystemEntropy",
    "discrete_gaussian",
    "discrete_laplace",
    "noisy_sum",
    "variances_of",
]


_BLOCK = 1 << 15  # number of draws made together; they fit into the processor's cache
_CLAMP = LARGEST_DRAW  # largest absolute value of a draw
LARGEST_SUM = 2**61
"""Largest absolute value of a noisy count, to which it is clamped."""
_LARGEST_SCALE = 10**16
_LARGEST_SIGMA = 10**15
_LARGEST_SIGMA2 = _LARGEST_SIGMA**2
_LARGEST_TABLE_SIGMA2 = 1000**2  # largest sigma2 that is sampled from a table
_MANY = 1 << 15  # number of draws for which a table of blocks is made if sigma is large
_MARGIN = 2.0**-40  # bound on the error of floats in `DiscreteGaussian._accept`


@dataclass(frozen=True)
class DiscreteLaplace:
    """The discrete Laplace distribution: integer noise for pure differential privacy.

    P(X = x) = (1 - r) / (1 + r) * r**|x| for every integer x, with r = exp(-1 / scale).
    If the L1 distance between the integer counts of neighbouring tables is at most l1, then adding
    noise of scale l1 / epsilon is epsilon-differentially private. Every draw takes the same number
    of random bytes and does the same work for every value, except for events of probability below
    1e-12.

    Method: X = 0 with probability (1 - r) / (1 + r). Otherwise X = S (1 + G) with a fair sign S and
    P(G = g) = (1 - r) r**g. The binary digits of G are independent, and digit i is one with
    probability 1 / (1 + exp(2**i / scale)), because the product of these probabilities is
    proportional to r**g. From the first digit with 2**i >= 45 scale on, the digits form one
    geometric variable of ratio exp(-2**i / scale) < 2**-64. (Canonne, Kamath and Steinke 2020 draw
    from the same distribution by another method, their Algorithm 2.)

    Parameters
    ----------
    scale
        A Fraction or an int, > 0 and at most 10**16, in units of the counts.

    Raises
    ------
    MarginError
        When `scale` is of another type, not positive, or too large.

    Examples
    --------
    >>> from margin.noise.entropy import SystemEntropy
    >>> DiscreteLaplace(Fraction(7, 2)).sample(3, SystemEntropy()).shape
    (3,)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _parameter("scale", self.scale, _LARGEST_SCALE))

    @property
    def variance(self) -> float:
        """E[X**2] = 2 r / (1 - r)**2, rounded; about 2 scale**2 if the scale is large."""
        rate = float(min(1 / self.scale, Fraction(800)))  # exp(-800) is zero as a float
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis of the Laplace law, which this one approaches for large scales."""
        return 3.0

    def sample(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Make `count` independent draws: array (count,)."""
        check_entropy(entropy)
        return _in_blocks(count, lambda n: self._draw(n, entropy))

    def _draw(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        coins = _laplace_coins(self.scale)
        *digits, beyond, nonzero = coins.flip(count, entropy)
        magnitude = _from_binary(digits, count)
        # Draws with digits above the lowest ones, one at a time: they are rare.
        for i in np.flatnonzero(beyond):
            high = _from_one_on(self.scale, len(digits), entropy)
            whole = int(magnitude[i]) + (high << len(digits))
            magnitude[i] = min(whole, _CLAMP - 1)
        magnitude += 1
        magnitude *= nonzero
        return _with_signs(magnitude, entropy)


def _from_one_on(
    scale: Fraction,
    digits: int,
    entropy: Entropy,
) -> int:
    """Draw the upper binary digits of a geometric variable, given that they are not all zero.

    The variable has ratio exp(-1 / scale). The result is the number formed by all digits above the
    `digits` lowest ones, 1 or more.
    """
    high = 1
    more = exponential((1 << digits) / scale)
    while uniform_is_below(more, entropy):
        high += 1
    return high


def _geometric(scale: Fraction, entropy: Entropy) -> int:
    """Draw one integer g >= 0 with probability (1 - r) r**g, where r = exp(-1 / scale).

    It has no upper bound.
    """
    flipped = _laplace_coins(scale).flip(1, entropy)
    *digits, beyond, _ = flipped[:, 0].tolist()
    low: int = sum(digit << place for place, digit in enumerate(digits))
    high = _from_one_on(scale, len(digits), entropy) if beyond else 0
    return low + (high << len(digits))


@lru_cache(maxsize=64)
def _laplace_coins(scale: Fraction) -> Coins:
    """The coins that decide one draw of discrete Laplace noise X = S (1 + G).

    First comes a coin for each low binary digit of G, the lowest first; then a coin for "G has
    higher digits"; then a coin for "X is not zero".
    """
    digits = (math.ceil(45 * scale) - 1).bit_length()
    ratio = exponential((1 << digits) / scale)
    zero = logistic(1 / scale)

    # X is not zero with probability 2 r / (1 + r).
    def nonzero(bits: int) -> tuple[int, int]:
        low, high = zero(bits)
        return 2 * low, 2 * high

    low_digits = [logistic((1 << i) / scale) for i in range(digits)]
    return Coins([*low_digits, ratio, nonzero])


@dataclass(frozen=True)
class DiscreteGaussian:
    """The discrete Gaussian distribution: integer noise for zero-concentrated privacy.

    P(X = x) is proportional to exp(-x**2 / (2 sigma2)) for every integer x (CKS, Definition 1).
    If the squared L2 distance between the integer counts of neighbouring tables is at most
    l2_squared, then adding noise of parameter sigma2 = l2_squared / (2 rho) is
    rho-zero-concentrated differentially private (CKS, Section 2).

    Method: for sigma <= 1000, |X| is drawn by inversion: 64 random bits are looked up in a table of
    its distribution function. A fair sign is drawn separately. The work does not depend on the
    value. For larger sigma, draws of a discrete Laplace distribution are accepted or rejected (CKS,
    Algorithm 3), or, for 2**15 draws or more and sigma <= 2**30, those of a distribution that is
    constant on blocks of integers (`WideGaussian`). The number of trials does not depend on the
    accepted value. If 64 bits or a float do not decide a draw, more bits and longer integers decide
    it.

    Parameters
    ----------
    sigma2
        A Fraction or an int, > 0 and at most 10**30, in units of the counts squared. The variance
        is smaller than sigma2: by a relative 2e-7 at sigma2 = 1, and by less than 1e-30 for
        sigma2 >= 4.

    Raises
    ------
    MarginError
        When `sigma2` is of another type, not positive, or too large.

    Examples
    --------
    >>> DiscreteGaussian(Fraction(100)).variance
    100.0
    """

    sigma2: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma2", _parameter("sigma2", self.sigma2, _LARGEST_SIGMA2))

    @property
    def variance(self) -> float:
        """E[X**2], rounded: sigma2 for sigma2 >= 4 (up to a relative 1e-30), else a sum."""
        if self.sigma2 >= 4:
            return float(self.sigma2)
        rate = float(min(1 / (2 * self.sigma2), Fraction(800)))
        weights = [(x * x, math.exp(-rate * x * x)) for x in range(1, 25)]
        moment = 2 * sum(square * weight for square, weight in weights)
        total = 1 + 2 * sum(weight for _, weight in weights)
        return moment / total

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis of the normal law, which this one approaches for large sigma2."""
        return 0.0

    def sample(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Make `count` independent draws: array (count,)."""
        check_entropy(entropy)
        if self.sigma2 <= _LARGEST_TABLE_SIGMA2:
            draw = self._invert
        elif self.sigma2 <= LARGEST_SIGMA2 and _checked(count) >= _MANY:
            draw = self._from_blocks
        else:
            draw = self._reject
        return _in_blocks(count, lambda n: draw(n, entropy))

    def _from_blocks(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Many draws at a large sigma, by rejection from a table of blocks of integers."""
        return WideGaussian.of(self.sigma2).draw(count, entropy)

    def _invert(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Draw the noise: |X| by inversion of its distribution function, and then its sign."""
        magnitudes = MagnitudeTable.of(self.sigma2).draw(count, entropy)
        return _with_signs(magnitudes, entropy)

    def _reject(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Draws by rejection from the discrete Laplace distribution of scale t (CKS, Algorithm 3).

        `_accept` keeps a share of 0.76 of the proposals.
        """
        proposal = DiscreteLaplace(self._proposal_scale)
        kept: list[Integers] = []
        missing = count
        while missing > 0:
            trials = missing * 4 // 3 + 4 * math.isqrt(missing) + 8
            y = proposal.sample(trials, entropy)
            kept.append(y[self._accept(y, entropy)][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept) if kept else np.empty(0, np.int64)

    @property
    def _proposal_scale(self) -> Fraction:
        return Fraction(math.isqrt(math.floor(self.sigma2)) + 1)

    def _accept(
        self,
        y: Integers,
        entropy: Entropy,
    ) -> npt.NDArray[np.bool_]:
        """Accept each proposal y with probability p = exp(-(|y| - sigma2 / t)**2 / (2 sigma2)).

        t is the scale of the proposal. The result is an array of booleans of the shape of `y`. A
        proposal is accepted if u < p, for a uniform random number u.

        *Most comparisons are made in floats.* p is computed as exp(-k d**2), where
        d = |y| / t - b, b = sigma2 / t**2 <= 1 and k = 1 / (2 b) < 0.51. Let e = 2**-53. The
        relative error of |y| / t is 2e, and the relative error of b is e. So the absolute error of
        d is below 4 (|d| + 1) e, and the absolute error of k d**2 is below (7 d**2 + 5 |d|) e.
        Multiplied by exp(-0.49 d**2), this is less than 9 e < 2**-49. The error of numpy's exp is
        below 2**-45 (numpy documents a few units in the last place, 2**-51), and the error of u is
        2**-53. So the result is correct where |u - p| > 2**-40, with a factor of 16 to spare.

        *The others are made exactly:* where u and p are closer (a share of 2**-39), and where y is
        the largest number that the proposal returns, so that the true |y| may be larger. In that
        case the excess of |y| over this number has a geometric distribution, and is drawn.
        """
        # The coins in floats.
        t = self._proposal_scale
        b = float(self.sigma2 / t**2)
        k = float(t**2 / (2 * self.sigma2))
        d = np.abs(y) / float(t) - b
        p = np.exp(-k * d**2)
        words = np.frombuffer(entropy.take(8 * y.size), "<u8", y.size)
        u = words * 2.0**-64
        heads: npt.NDArray[np.bool_] = u < p

        # Exact comparison where floats may be wrong, and for clamped proposals.
        clamped = np.abs(y) == _CLAMP
        for i in np.flatnonzero((np.abs(u - p) <= _MARGIN) | clamped):
            size = abs(int(y[i]))
            if clamped[i]:
                size += _geometric(t, entropy)
            q = exponential((size - self.sigma2 / t) ** 2 / (2 * self.sigma2))
            heads[i] = uniform_is_below(
                q,
                entropy,
                known=int(words[i]),
                bits=64,
            )
        return heads


Noise = DiscreteLaplace | DiscreteGaussian


def variances_of(noises: Sequence[Noise]) -> list[float]:
    """The variance of each noise; it is computed once for an object that comes several times."""
    different = {id(noise): noise for noise in noises}
    variances = {key: noise.variance for key, noise in different.items()}
    return [variances[id(noise)] for noise in noises]


def noisy_sum(true: Integers, drawn: Integers) -> Integers:
    """Add noise to integers, and clamp the sums to +-2**61: array of the shape of `true`.

    Let c(n, x) be x clamped to +-n, L = 2**61 and C = 2**62 - 1. The draws are c(C, X) for the
    ideal noise X. For |t| <= C - L the result is c(L, t + X), for these reasons. If |X| <= C, it
    follows from the definition. If |X| > C, both t + X and t + c(C, X) have the sign of X and an
    absolute value of at least C - (C - L) = L.

    Integers t with |t| > C - L, more than any table has rows, are first clamped to +-(C - L). This
    does not increase the distance between two tables. So the result is a function of t + X, and
    neighbouring t are as close as declared. It is exactly as private as with the ideal noise.

    Parameters
    ----------
    true
        The integers, int64.
    drawn
        Draws of a sampler of this module, as many as there are integers.

    Examples
    --------
    >>> noisy_sum(np.array([3]), np.array([-5])).tolist()
    [-2]
    """
    largest = _CLAMP - LARGEST_SUM
    sums = np.empty(true.shape, np.int64)
    flat = sums.reshape(-1)
    counts = true.reshape(-1)
    draws = drawn.reshape(-1)
    # Block by block, so that no temporary array is as large as the table.
    for start in range(0, flat.size, _BLOCK):
        stop = start + _BLOCK
        block = flat[start:stop]
        np.clip(counts[start:stop], -largest, largest, out=block)
        block += draws[start:stop]
        np.clip(block, -LARGEST_SUM, LARGEST_SUM, out=block)
    return sums


def discrete_laplace(
    scale: int | Fraction | str,
    size: int | tuple[int, ...],
    entropy: Entropy,
) -> Integers:
    """Draw discrete Laplace noise: independent integers in an array of shape `size`.

    The distribution is that of `DiscreteLaplace`.

    Parameters
    ----------
    scale
        The scale as an int, a Fraction, or a text such as "0.5" or "10/3".
    size
        The number of draws, or the shape of the array.
    entropy
        Source of random bytes: `SystemEntropy()`, or `SeededEntropy(seed)` for draws that need not
        be private.

    Raises
    ------
    MarginError
        When an argument is not as described.

    Examples
    --------
    >>> discrete_laplace("7/2", (2, 3), SystemEntropy()).shape
    (2, 3)
    """
    return _shaped(DiscreteLaplace(_written("scale", scale)), size, entropy)


def discrete_gaussian(
    sigma: int | Fraction | str,
    size: int | tuple[int, ...],
    entropy: Entropy,
) -> Integers:
    """Draw discrete Gaussian noise: independent integers in an array of shape `size`.

    The distribution is that of `DiscreteGaussian` with sigma2 = sigma**2.

    Parameters
    ----------
    sigma
        The parameter sigma as an int, a Fraction, or a text such as "0.5" or "10/3".
    size, entropy
        See `discrete_laplace`.

    Raises
    ------
    MarginError
        When an argument is not as described.

    Examples
    --------
    >>> discrete_gaussian(10, 4, SystemEntropy()).shape
    (4,)
    """
    sigma2 = _written("sigma", sigma, largest=_LARGEST_SIGMA) ** 2
    return _shaped(DiscreteGaussian(sigma2), size, entropy)


def _written(
    name: str,
    value: object,
    largest: int = _LARGEST_SCALE,
) -> Fraction:
    """Read a parameter given as an int, a Fraction or a text; the result is a Fraction."""
    number = exact(name, value) if isinstance(value, str) else value
    return _parameter(name, number, largest)


def _shaped(
    sampler: "DiscreteLaplace | DiscreteGaussian",
    size: int | tuple[int, ...],
    entropy: Entropy,
) -> Integers:
    if not isinstance(size, tuple):
        return sampler.sample(size, entropy)
    if not all(isinstance(length, int) and length >= 0 for length in size):
        raise MarginError(
            f"size ({shown(size)}) must be a whole number >= 0, or a tuple of whole numbers >= 0; "
            "pass one of these"
        )
    return sampler.sample(math.prod(size), entropy).reshape(size)


def _parameter(
    name: str,
    value: object,
    largest: int,
) -> Fraction:
    """Check that `value` is above 0 and at most `largest`; the result is a Fraction."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise MarginError(
            f"{name} must be a Fraction or an int, so that the noise is exact, not "
            f"{type(value).__name__}; pass Fraction({name})"
        )
    if value <= 0:
        raise MarginError(f"{name} ({value}) must be > 0; pass a larger number")
    if value > largest:
        raise MarginError(
            f"{name} must be at most {largest:.0e}, because more noise cannot be drawn, but it is "
            "larger; spend more of the budget on it, or measure less at a time"
        )
    return Fraction(value)


def _checked(count: int) -> int:
    """Check that a number of draws is a whole number >= 0; the result is an int."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or operator.index(count) < 0:
        raise MarginError(f"count ({shown(count)}) must be a whole number >= 0; pass such a number")
    return operator.index(count)


def _in_blocks(count: int, draw: Callable[[int], Integers]) -> Integers:
    """Make `count` draws, one block at a time by `draw`: array (count,)."""
    drawn = np.empty(_checked(count), np.int64)
    for start in range(0, drawn.size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = draw(block.size)
        # One block may be a part of another draw, so its end says nothing.
        if drawn.size > _BLOCK:
            tell((start + block.size) / drawn.size)
    return drawn


def _from_binary(digits: list[npt.NDArray[np.bool_]], count: int) -> Integers:
    """Build numbers from their binary digits: array (count,).

    `digits` holds one array (count,) for each digit, lowest first.
    """
    number = np.zeros(count, np.int64)
    # Eight digits at a time, in bytes: that is faster than in words of 64 bits.
    for low in range(0, len(digits), 8):
        byte = np.zeros(count, np.uint8)
        for place, digit in enumerate(digits[low : low + 8]):
            byte |= digit.view(np.uint8) << np.uint8(place)
        number |= byte.astype(np.int64) << low
    return number


def _with_signs(magnitude: Integers, entropy: Entropy) -> Integers:
    """Give each magnitude a random sign: array of the shape of `magnitude`."""
    size = (magnitude.size + 7) // 8
    taken = np.frombuffer(entropy.take(size), np.uint8, size)
    negative = np.unpackbits(taken, count=magnitude.size).astype(np.int64)
    # Two's complement: flip all bits and add one where `negative` is one.
    return (magnitude ^ -negative) + negative
