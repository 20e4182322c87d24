"""Conversion between zero-concentrated and approximate differential privacy, rounded to the safe
side.

rho-zCDP implies (epsilon, delta)-DP for every alpha > 1 with

    epsilon = alpha rho + h(alpha),
    h(alpha) = ln(1 - 1/alpha) + (ln(1/delta) - ln alpha) / (alpha - 1)

(C. L. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020,
arXiv:2004.00010, Section 2.3). Every alpha gives a valid bound. So a good alpha is searched in
floats, and the bound is then evaluated at this alpha with certified rounding.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

from .._numbers import Number, amount, probability

__all__ = ["epsilon_above", "epsilon_of", "rho_below", "rho_of"]

# Ten roundings at 60 digits, each relative to a term of a sum, stay below _ERROR times the sum of
# the absolute values of the terms.
_CONTEXT = Context(
    prec=60,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
)
_ERROR = Decimal("1e-55")
_SMALLEST = 1e-30  # smallest alpha - 1: alpha is exact at 60 digits


def epsilon_of(rho: Number, delta: Number) -> float:
    """Convert rho-zCDP to (epsilon, delta)-differential privacy: the epsilon for a given delta.

    Uses the bound of Canonne, Kamath and Steinke 2020, Section 2.3. The result is rounded up.

    Parameters
    ----------
    rho
        From 1e-12 to 1e6.
    delta
        Above 0 and below 1.

    Raises
    ------
    BudgetError
        When an argument is not as described.

    Examples
    --------
    >>> import margin
    >>> round(margin.epsilon_of(0.1, 1e-6), 3)
    2.142
    """
    epsilon = epsilon_above(amount("rho", rho), probability("delta", delta))
    nearest = float(epsilon)
    return nearest if nearest >= epsilon else math.nextafter(nearest, math.inf)


def rho_of(epsilon: Number, delta: Number) -> float:
    """Convert (epsilon, delta) to a rho such that rho-zCDP implies (epsilon, delta)-DP.

    Uses the bound of Canonne, Kamath and Steinke 2020, Section 2.3. The result is rounded down.

    Parameters
    ----------
    epsilon
        From 1e-12 to 1e6.
    delta
        Above 0 and below 1.

    Raises
    ------
    BudgetError
        When an argument is not as described.

    Examples
    --------
    >>> import margin
    >>> round(margin.rho_of(1, 1e-6), 4)
    0.0244
    """
    rho = rho_below(amount("epsilon", epsilon), probability("delta", delta))
    nearest = float(rho)
    return nearest if nearest <= rho else math.nextafter(nearest, -math.inf)


def epsilon_above(rho: Fraction, delta: Fraction) -> Fraction:
    """`epsilon_of` for exact fractions: an epsilon >= 0 such that rho-zCDP implies it with delta.

    It is within 1e-9 of the smallest epsilon that the formula gives for any alpha.
    """
    m = _best_for_rho(float(rho), _log_inverse(delta))
    with localcontext(_CONTEXT):
        h, error = _h(m, delta)
        concentrated = (1 + m) * _decimal(rho)
        epsilon = concentrated + h + error + _ERROR * concentrated
        return max(Fraction(0), Fraction(epsilon))


def rho_below(epsilon: Fraction, delta: Fraction) -> Fraction:
    """`rho_of` for exact fractions: a rho such that rho-zCDP implies (epsilon, delta)-DP.

    It is within 1e-9 of the largest rho that the formula gives for any alpha.
    """
    m = _best_for_epsilon(float(epsilon), _log_inverse(delta))
    with localcontext(_CONTEXT):
        h, error = _h(m, delta)
        allowed = _decimal(epsilon)
        return Fraction((allowed - h - error - _ERROR * allowed) / (1 + m))


def _h(m: Decimal, delta: Fraction) -> tuple[Decimal, Decimal]:
    """The function h of the module docstring at alpha = 1 + m, and a bound on its error.

    It is computed in the current decimal context.
    """
    ln_m = m.ln()
    ln_alpha = (1 + m).ln()
    ln_numerator = Decimal(delta.numerator).ln()
    ln_denominator = Decimal(delta.denominator).ln()
    h = ln_m - ln_alpha + (ln_denominator - ln_numerator - ln_alpha) / m
    # The same sums, with the absolute value of every term.
    sizes = 1 + abs(ln_m) + ln_alpha + (1 + ln_denominator + ln_numerator + ln_alpha) / m
    return h, _ERROR * sizes


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _log_inverse(delta: Fraction) -> float:
    """ln(1 / delta) as a float, not certified."""
    if delta > Fraction(1, 2):
        return -math.log1p(-float(1 - delta))
    return math.log(delta.denominator) - math.log(delta.numerator)


def _best_for_rho(rho: float, log_inverse: float) -> Decimal:
    """The alpha - 1 that gives about the smallest epsilon for a given rho.

    At this alpha, rho - (ln(1/delta) - ln alpha) / (alpha - 1)**2 is zero.
    """

    def excess(m: float) -> float:
        return log_inverse - math.log1p(m) - rho * m * m

    return _crossing(excess, math.sqrt(log_inverse / rho))


def _best_for_epsilon(epsilon: float, log_inverse: float) -> Decimal:
    """The alpha - 1 that gives about the largest rho for a given epsilon.

    This rho is (epsilon - h(alpha)) / alpha.

    The derivative of alpha rho + h(alpha) changes sign once. So, for every rho, the alphas that
    keep it below epsilon are an interval. Hence the quotient has one maximum. It is where
    h(alpha) - epsilon - alpha h'(alpha) turns from positive to negative.
    """

    def slope(m: float) -> float:
        first = (log_inverse - math.log1p(m)) * (2 + 1 / m) / m
        return first + math.log(m) - math.log1p(m) - epsilon

    return _crossing(slope, math.expm1(min(log_inverse, 700.0)))


def _crossing(function: Callable[[float], float], above: float) -> Decimal:
    """The point below `above` where a function turns from positive to negative, approximately.

    It is found by bisection of the logarithm.
    """
    highest = max(above, 2 * _SMALLEST)
    low = math.log(_SMALLEST)
    high = math.log(highest)
    for _ in range(100):
        middle = (low + high) / 2
        if function(math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return Decimal(repr(math.exp(high)))
