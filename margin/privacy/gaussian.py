"""Upper bounds on the (epsilon, delta) of the Gaussian loss, in decimal arithmetic of sufficient
precision.

The pair N(0, 1), N(mu, 1) has the hockey-stick curve

    delta(epsilon) = Q(epsilon / mu - mu / 2) - exp(epsilon) Q(epsilon / mu + mu / 2),
    Q(x) = P(N(0, 1) > x)

(B. Balle, Y.-X. Wang 2018, arXiv:1805.06530, Theorem 8). It falls with epsilon and grows with mu.

For x >= 0, Q(x) = 1/2 - phi(x) (x + x**3 / 3 + x**5 / (3 * 5) + ...), a sum of positive terms. For
|x| <= _FARTHEST, Q(x) is above 10**-(x**2 / 4.6 + 3). So a precision of 60 digits more than that
leaves 40 correct digits after the subtraction, for all possible errors of fewer than 10**5
roundings. The result is enlarged by a relative 10**-30.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache

__all__ = ["gaussian_delta_above", "gaussian_rho_below"]

_FARTHEST = 40  # largest argument for which a tail is computed by its series
_ENLARGED = Decimal("1e-30")  # relative enlargement of the result
_PI_DIGITS = 500  # more than any precision in use


def gaussian_delta_above(rho: Fraction, epsilon: Fraction) -> Fraction:
    """An upper bound on the delta of Gaussian noise of cost `rho` at a given epsilon.

    The exact delta is Q(a) - exp(epsilon) Q(b), where mu**2 = 2 rho, a = epsilon / mu - mu / 2,
    b = epsilon / mu + mu / 2, and Q is the upper tail of the standard normal distribution with
    density phi. If a > 40, Q(a) is below 10**-349, which is returned. If b > 40, Q(b) is replaced
    by its lower bound phi(b) b / (1 + b**2), and exp(epsilon) phi(b) = phi(a) is used.
    """
    # The arguments of both tails in floats, to choose the formula and the precision.
    rough = math.sqrt(2 * rho)
    near = float(epsilon) / rough - rough / 2
    far = float(epsilon) / rough + rough / 2
    if near > _FARTHEST:
        return Fraction(1, 10**349)

    digits = 80 + int(min(far, _FARTHEST) ** 2 / 4)
    with localcontext(
        Context(
            prec=digits,
            Emin=MIN_EMIN,
            Emax=MAX_EMAX,
        )
    ):
        mu = (2 * _decimal(rho)).sqrt()
        bound = _decimal(epsilon)
        start = bound / mu - mu / 2
        end = bound / mu + mu / 2
        if far > _FARTHEST:
            second = _density(start) * end / (1 + end**2)
        else:
            second = bound.exp() * _upper_tail(end)
        return Fraction(_upper_tail(start) * (1 + _ENLARGED) - second * (1 - _ENLARGED))


@lru_cache(maxsize=256)
def gaussian_rho_below(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho such that the Gaussian loss with mu**2 = 2 rho is (epsilon, delta)-DP.

    The result is certified: it is at most this rho, and within 1e-9 of it.

    Raises
    ------
    ValueError
        When delta is below 10**-340.
    """
    if delta < Fraction(1, 10**340):
        raise ValueError("delta must be at least 1e-340, but it is smaller; pass a larger delta")

    # Bracket ln rho, starting where epsilon / mu is above 40; then bisect.
    low = math.log(float(epsilon) ** 2 / 4000)
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


def _fits(
    log_rho: float,
    epsilon: Fraction,
    delta: Fraction,
) -> bool:
    return gaussian_delta_above(_rational(log_rho), epsilon) <= delta


def _rational(log_rho: float) -> Fraction:
    return Fraction(math.exp(log_rho))


def _upper_tail(x: Decimal) -> Decimal:
    """The upper tail Q(x) of the standard normal distribution, in the current decimal context."""
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
    """pi to 500 digits, by Machin's formula pi / 4 = 4 arctan(1/5) - arctan(1/239) in integers."""
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
    context = Context(
        prec=_PI_DIGITS + 40,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
    )
    return Decimal(digits).scaleb(-(_PI_DIGITS + 20), context)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
