"""Exact integer noise: the discrete Laplace and the discrete Gaussian distribution; the exponential
mechanism.

"Exact" means that the law of a draw is the stated one, with its infinite support, clamped to
+-(2**62 - 1) so that it fits into 64 bits: no float decides a draw unless a proved margin says that
it decides it rightly. `noisy_sum` is how noise is added: what comes out is a function of the sum of
the count and the unclamped noise, so that no clamp costs any privacy. The proofs are in
docs/noise.md.

Both distributions: C. L. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential
Privacy", NeurIPS 2020 (arXiv:2004.00010), below CKS.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .._numbers import exact
from .._types import Integers
from ..errors import MarginError
from .bernoulli import Coins
from .certified import exponential, logistic, uniform_is_below
from .entropy import Entropy, SeededEntropy, SystemEntropy
from .magnitudes import MagnitudeTable
from .selection import ExponentialMechanism

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
]


_BLOCK = 1 << 15  # draws made together, so that they fit into the processor's cache
_CLAMP = 2**62 - 1
LARGEST_SUM = 2**61
"""A noisy count is clamped to at most this size."""
_LARGEST_SCALE = 10**16
_LARGEST_SIGMA = 10**15
_LARGEST_SIGMA2 = _LARGEST_SIGMA**2
_LARGEST_TABLE_SIGMA2 = 1000**2
_MARGIN = 2.0**-40  # on the acceptance probability of DiscreteGaussian._accept


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(X = x) = (1 - r) / (1 + r) * r**|x| for every integer x, with r = exp(-1 / scale).

    Added to integer counts whose L1 distance between neighbouring tables is at most l1, noise of
    scale l1 / epsilon is epsilon-differentially private. One draw takes the same number of random
    bytes whatever its value, and does the same work, but for events of probability below 1e-12.

    Method: X = 0 with probability (1 - r) / (1 + r), else X = S (1 + G) with a fair sign S and P(G
    = g) = (1 - r) r**g. The binary digits of G are independent, digit i being one with probability
    1 / (1 + exp(2**i / scale)): a product of such coins is proportional to r**g. The digits from
    the first with 2**i >= 45 scale on make one geometric variable of ratio exp(-2**i / scale) <
    2**-64. (CKS sample the same distribution, by another method, with their Algorithm 2.)

    Parameters
    ----------
    scale
        Positive, at most 10**16, in units of the counts. An int is taken for the Fraction it
        equals.

    Raises
    ------
    MarginError
        When the scale is of another type, not positive or too large.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _parameter("scale", self.scale, _LARGEST_SCALE))

    @property
    def variance(self) -> float:
        """E[X**2] = 2 r / (1 - r)**2, rounded; about 2 scale**2 when the scale is large."""
        rate = float(min(1 / self.scale, Fraction(800)))  # exp(-800) is zero as a float
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent draws."""
        return _in_blocks(count, lambda n: self._draw(n, entropy))

    def _draw(self, count: int, entropy: Entropy) -> Integers:
        coins = _laplace_coins(self.scale)
        *digits, beyond, nonzero = coins.flip(count, entropy)
        magnitude = _from_binary(digits, count)
        for i in np.flatnonzero(beyond):
            high = _from_one_on(self.scale, len(digits), entropy)
            magnitude[i] = min(int(magnitude[i]) + (high << len(digits)), _CLAMP - 1)
        magnitude += 1
        magnitude *= nonzero
        return _with_signs(magnitude, entropy)


def _from_one_on(scale: Fraction, digits: int, entropy: Entropy) -> int:
    """The digits above the lowest ones of a geometric variable of ratio exp(-1 / scale), given that
    there are any."""
    high, more = 1, exponential((1 << digits) / scale)
    while uniform_is_below(more, entropy):
        high += 1
    return high


def _geometric(scale: Fraction, entropy: Entropy) -> int:
    """P(G = g) = (1 - r) r**g with r = exp(-1 / scale), without a bound."""
    *digits, beyond, _ = _laplace_coins(scale).flip(1, entropy)[:, 0].tolist()
    low: int = sum(digit << place for place, digit in enumerate(digits))
    high = _from_one_on(scale, len(digits), entropy) if beyond else 0
    return low + (high << len(digits))


@lru_cache(maxsize=64)
def _laplace_coins(scale: Fraction) -> Coins:
    """The coins of one draw: the binary digits, lowest first; whether there are higher ones;
    whether X is not zero."""
    digits = (math.ceil(45 * scale) - 1).bit_length()
    ratio = exponential((1 << digits) / scale)
    zero = logistic(1 / scale)

    def nonzero(bits: int) -> tuple[int, int]:  # 2 r / (1 + r)
        low, high = zero(bits)
        return 2 * low, 2 * high

    return Coins([*(logistic((1 << i) / scale) for i in range(digits)), ratio, nonzero])


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(X = x) proportional to exp(-x**2 / (2 sigma2)) for every integer x (CKS, Definition 1).

    Added to integer counts whose squared L2 distance between neighbouring tables is at most
    l2_squared, noise of parameter sigma2 = l2_squared / (2 rho) is rho-zero-concentrated
    differentially private (CKS, Section 2).

    Method: up to sigma = 1000 a table of |X|, inverted on 64 random bits, with a fair sign; the
    work does not depend on the value. Above, rejection from a discrete Laplace distribution (CKS,
    Algorithm 3); the number of trials does not depend on the value accepted. Whatever 64 bits or a
    float leave open is decided with more bits and longer integers.

    Parameters
    ----------
    sigma2
        Positive, at most 10**30, in units of the counts squared. An int is taken for the Fraction
        it equals. The variance is smaller, by a relative 2e-7 at sigma2 = 1 and less than 1e-30
        from 4 on.

    Raises
    ------
    MarginError
        When sigma2 is of another type, not positive or too large.
    """

    sigma2: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma2", _parameter("sigma2", self.sigma2, _LARGEST_SIGMA2))

    @property
    def variance(self) -> float:
        """E[X**2], rounded: sigma2 from 4 on (less a relative 1e-30), summed below."""
        if self.sigma2 >= 4:
            return float(self.sigma2)
        rate = float(min(1 / (2 * self.sigma2), Fraction(800)))
        weights = [(x * x, math.exp(-rate * x * x)) for x in range(1, 25)]
        return 2 * sum(square * w for square, w in weights) / (1 + 2 * sum(w for _, w in weights))

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent draws."""
        draw = self._invert if self.sigma2 <= _LARGEST_TABLE_SIGMA2 else self._reject
        return _in_blocks(count, lambda n: draw(n, entropy))

    def _invert(self, count: int, entropy: Entropy) -> Integers:
        return _with_signs(MagnitudeTable.of(self.sigma2).draw(count, entropy), entropy)

    def _reject(self, count: int, entropy: Entropy) -> Integers:
        """CKS, Algorithm 3: draw y from the discrete Laplace of scale t, keep it with `_accept`;
        0.76 are kept."""
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

    def _accept(self, y: Integers, entropy: Entropy) -> npt.NDArray[np.bool_]:
        """Heads with probability p = exp(-(|y| - sigma2 / t)**2 / (2 sigma2)), t the scale of the
        proposal; array as y.

        p is computed in floats as exp(-k d**2), d = |y| / t - b, b = sigma2 / t**2 <= 1, k = 1 / (2
        b) < 0.51. Let e = 2**-53. |y| / t carries a relative error 2e, b of e, so d an absolute
        error below 4 (|d| + 1) e, and k d**2 one below (7 d**2 + 5 |d|) e. Times exp(-0.49 d**2)
        this is less than 9 e < 2**-49. With an error of numpy's exp below 2**-45 (it documents a
        few units in the last place, 2**-51) and the 2**-53 of u, |u - p| > 2**-40 decides with a
        factor of 16 to spare. The others, 2**-39 of all, are compared exactly. So are those that
        the proposal's clamp made smaller. Given that the ideal |y| is at least the clamp, what it
        has beyond is geometric, and so it is drawn.
        """
        t = self._proposal_scale
        b = float(self.sigma2 / t**2)
        k = float(t**2 / (2 * self.sigma2))
        p = np.exp(-k * (np.abs(y) / float(t) - b) ** 2)
        words = np.frombuffer(entropy.take(8 * y.size), "<u8", y.size)
        u = words * 2.0**-64
        heads: npt.NDArray[np.bool_] = u < p
        clamped = np.abs(y) == _CLAMP
        for i in np.flatnonzero((np.abs(u - p) <= _MARGIN) | clamped):
            size = abs(int(y[i])) + (_geometric(t, entropy) if clamped[i] else 0)
            q = exponential((size - self.sigma2 / t) ** 2 / (2 * self.sigma2))
            heads[i] = uniform_is_below(q, entropy, known=int(words[i]), bits=64)
        return heads


Noise = DiscreteLaplace | DiscreteGaussian


def noisy_sum(true: Integers, drawn: Integers) -> Integers:
    """The sums of integers and noise, clamped to +-2**61: array as `true`.

    Let c(n, x) be x clamped to +-n, L = 2**61 and C = 2**62 - 1, so that the draws are c(C, X) for
    the ideal noise X. For |t| <= C - L the result is c(L, t + X): for |X| <= C it is so by
    definition, and for |X| > C both t + X and t + c(C, X) have the sign of X and a size of at least
    C - (C - L) = L. Larger integers, more than any table has rows, are first clamped to +-(C - L),
    which brings no two tables further apart. So what comes out is a function of t + X, for
    neighbouring t as close as was declared, and is exactly as private as the ideal noise makes it.

    Parameters
    ----------
    true
        The integers, of 64 bits.
    drawn
        Draws of a sampler of this module, as many.

    Examples
    --------
    >>> noisy_sum(np.array([3]), np.array([-5])).tolist()
    [-2]
    """
    largest = _CLAMP - LARGEST_SUM
    sums = np.empty(true.shape, np.int64)
    flat, counts, draws = sums.reshape(-1), true.reshape(-1), drawn.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        np.clip(counts[start : start + _BLOCK], -largest, largest, out=block)
        block += draws[start : start + _BLOCK]
        np.clip(block, -LARGEST_SUM, LARGEST_SUM, out=block)
    return sums


def discrete_laplace(
    scale: int | Fraction | str, size: int | tuple[int, ...], entropy: Entropy
) -> Integers:
    """Independent draws of `DiscreteLaplace`: an array of shape `size`.

    Parameters
    ----------
    scale
        As an int, a Fraction, or a text such as "0.5" or "10/3".
    size
        The number of draws, or the shape of the array.
    entropy
        Where random bytes come from: `SystemEntropy()`, or `SeededEntropy(seed)` for what is not to
        be private.

    Examples
    --------
    >>> discrete_laplace("7/2", (2, 3), SystemEntropy()).shape
    (2, 3)
    """
    return _shaped(DiscreteLaplace(_written("scale", scale)), size, entropy)


def discrete_gaussian(
    sigma: int | Fraction | str, size: int | tuple[int, ...], entropy: Entropy
) -> Integers:
    """Independent draws of `DiscreteGaussian` with sigma2 = sigma**2: an array of shape `size`.

    Parameters
    ----------
    sigma
        As an int, a Fraction, or a text such as "0.5" or "10/3".
    size, entropy
        See `discrete_laplace`.
    """
    return _shaped(
        DiscreteGaussian(_written("sigma", sigma, largest=_LARGEST_SIGMA) ** 2), size, entropy
    )


def _written(name: str, value: object, largest: int = _LARGEST_SCALE) -> Fraction:
    return _parameter(name, exact(name, value) if isinstance(value, str) else value, largest)


def _shaped(
    sampler: "DiscreteLaplace | DiscreteGaussian", size: int | tuple[int, ...], entropy: Entropy
) -> Integers:
    if not isinstance(size, tuple):
        return sampler.sample(size, entropy)
    if not all(isinstance(length, int) and length >= 0 for length in size):
        raise MarginError("size must be a whole number >= 0, or a tuple of such")
    return sampler.sample(math.prod(size), entropy).reshape(size)


def _parameter(name: str, value: object, largest: int) -> Fraction:
    """`value` as a Fraction, checked."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise MarginError(
            f"{name} must be a Fraction or an int, so that the noise is exact, not {type(value).__name__}"
        )
    if value <= 0:
        raise MarginError(f"{name} ({value}) must be > 0")
    if value > largest:
        raise MarginError(
            f"{name} is above {largest:.0e}: spend more of the budget on it, or measure less at a time"
        )
    return Fraction(value)


def _in_blocks(count: int, draw: Callable[[int], Integers]) -> Integers:
    """Array (count,), filled block by block."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or operator.index(count) < 0:
        raise MarginError("count must be a whole number >= 0")
    drawn = np.empty(operator.index(count), np.int64)
    for start in range(0, drawn.size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = draw(block.size)
    return drawn


def _from_binary(digits: list[npt.NDArray[np.bool_]], count: int) -> Integers:
    """Array (count,) of the numbers whose binary digits, lowest first, are the arrays (count,) in
    `digits`."""
    number = np.zeros(count, np.int64)
    for low in range(0, len(digits), 8):
        byte = np.zeros(count, np.uint8)
        for place, digit in enumerate(digits[low : low + 8]):
            byte |= digit.view(np.uint8) << np.uint8(place)
        number |= byte.astype(np.int64) << low
    return number


def _with_signs(magnitude: Integers, entropy: Entropy) -> Integers:
    """Array as `magnitude`, each negated or not by one random bit."""
    taken = np.frombuffer(
        entropy.take((magnitude.size + 7) // 8), np.uint8, (magnitude.size + 7) // 8
    )
    negative = np.unpackbits(taken, count=magnitude.size).astype(np.int64)
    return (magnitude ^ -negative) + negative
