"""(epsilon, delta) of the Gaussian loss, from above, in decimal arithmetic of as many digits as it
takes.

The pair N(0, 1), N(mu, 1) has the hockey-stick curve

    delta(epsilon) = Q(epsilon / mu - mu / 2) - exp(epsilon) Q(epsilon / mu + mu / 2),    Q(x) =
    P(N(0, 1) > x)

(B. Balle, Y.-X. Wang 2018, arXiv:1805.06530, Theorem 8). It falls with epsilon and grows with mu.

Q(x) = 1/2 - phi(x) (x + x**3 / 3 + x**5 / (3 * 5) + ...) for x >= 0, a sum of positive terms. Q(x)
is above 10**-(x**2 / 4.6 + 3) for |x| <= _FARTHEST, so that 60 digits more than that leave 40 true
ones after the subtraction, whatever fewer than 10**5 roundings do. What is returned is enlarged by
a relative 10**-30.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache

__all__ = ["gaussian_delta_above", "gaussian_rho_below"]

_FARTHEST = 40
_ENLARGED = Decimal("1e-30")
_PI_DIGITS = 500


def gaussian_delta_above(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Not less than delta(epsilon) of the Gaussian loss with mu**2 = 2 rho.

    Beyond x = 40 the second tail is bounded from below by phi(x) x / (1 + x**2), and exp(epsilon)
    phi(epsilon / mu + mu / 2) = phi(epsilon / mu - mu / 2); the first tail is below 10**-349.
    """
    rough = math.sqrt(2 * rho)
    near, far = float(epsilon) / rough - rough / 2, float(epsilon) / rough + rough / 2
    if near > _FARTHEST:
        return Fraction(1, 10**349)
    with localcontext(
        Context(prec=80 + int(min(far, _FARTHEST) ** 2 / 4), Emin=MIN_EMIN, Emax=MAX_EMAX)
    ):
        mu = (2 * _decimal(rho)).sqrt()
        bound = _decimal(epsilon)
        start, end = bound / mu - mu / 2, bound / mu + mu / 2
        second = (
            _density(start) * end / (1 + end**2)
            if far > _FARTHEST
            else bound.exp() * _upper_tail(end)
        )
        return Fraction(_upper_tail(start) * (1 + _ENLARGED) - second * (1 - _ENLARGED))


@lru_cache(maxsize=256)
def gaussian_rho_below(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho such that the Gaussian loss with mu**2 = 2 rho is (epsilon, delta)-DP, within 1e-9 of
    the largest.

    Raises
    ------
    ValueError
        When delta is below 10**-340.
    """
    if delta < Fraction(1, 10**340):
        raise ValueError("delta must be at least 1e-340")
    low = math.log(float(epsilon) ** 2 / 4000)  # where epsilon / mu is above 40
    while not _fits(low, epsilon, delta):
        low -= 1
    high = low + 1
    while _fits(high, epsilon, delta):
        low, high = high, high + 1
    while high - low > 5e-10:
        middle = (low + high) / 2
        if _fits(middle, epsilon, delta):
            low = middle
        else:
            high = middle
    return _rational(low)


def _fits(log_rho: float, epsilon: Fraction, delta: Fraction) -> bool:
    return gaussian_delta_above(_rational(log_rho), epsilon) <= delta


def _rational(log_rho: float) -> Fraction:
    return Fraction(math.exp(log_rho))


def _upper_tail(x: Decimal) -> Decimal:
    """Q(x) in the current context."""
    if x < 0:
        return 1 - _upper_tail(-x)
    square = x * x
    term = total = x
    odd = 1
    least = Decimal(10) ** -(getcontext().prec + 1)
    while term > total * least:
        odd += 2
        term = term * square / odd
        total += term
    return Decimal("0.5") - total * _density(x)


def _density(x: Decimal) -> Decimal:
    return (-x * x / 2).exp() / (2 * _pi()).sqrt()


@lru_cache(maxsize=1)
def _pi() -> Decimal:
    """Machin: pi / 4 = 4 arctan(1/5) - arctan(1/239), in integers."""
    scale = 10 ** (_PI_DIGITS + 20)

    def arctan_of_inverse(n: int) -> int:
        power: int = scale // n
        total = power
        place = 1
        while power:
            power //= -n * n
            place += 2
            total += power // place
        return total

    digits = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return Decimal(digits).scaleb(
        -(_PI_DIGITS + 20), Context(prec=_PI_DIGITS + 40, Emin=MIN_EMIN, Emax=MAX_EMAX)
    )


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
