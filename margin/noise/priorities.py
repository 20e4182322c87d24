"""Priorities |v| / U of noisy counts v, with U uniform on (0, 1), rounded down to a public grid:
exactly.

The grid holds the numbers from 1 on that have 20 significant binary digits. Its points are numbered
in order; the number of a point is its *code*. Only codes are compared, kept and published.
"""

import numpy as np

from .._types import Integers
from .entropy import Entropy

__all__ = ["code_of", "grid_point", "priorities"]


_DIGITS = 20  # significant binary digits of a point of the grid
_TOP = 1000  # priorities of 2**1000 or more, which have a probability below 2**-800, count as that
_MANTISSA, _BIAS = 52, 1023  # of a float of 64 bits
_WORD = 64  # binary digits of U that are drawn at a time
_SLACK = 1 << 12  # in units of the last place of a quotient; see `_block`
_FEW = 1 << 47  # a U that starts with a smaller word is not known well enough
_BLOCK = 1 << 16


def priorities(sizes: Integers, entropy: Entropy, *, least: int = 1) -> Integers:
    """The codes of floor(max(size, least) / U), floor to the grid: array as `sizes`.

    For a point t of the grid, P(code >= code_of(t)) = min(1, max(size, least) / t), exactly. With
    a `least` that is a point of the grid it is the law of a priority size / U, given that it is
    `least` or more: for size < least, U is then uniform on (0, size / least).

    Parameters
    ----------
    sizes
        Whole numbers from 1 to 2**61.
    least
        From 1 to 2**124.
    """
    codes = np.empty(sizes.size, np.int64)
    for start in range(0, sizes.size, _BLOCK):
        some = slice(start, start + _BLOCK)
        codes[some] = _block(sizes[some], least, entropy)
    return codes


def _block(sizes: Integers, least: int, entropy: Entropy) -> Integers:
    """See `priorities`.

    A word w says that U lies in [w, w + 1) 2**-64. As floats, w carries a relative error of 2**-53,
    the numerator and the quotient as well, and w >= 2**47 differs from 2**64 U by a relative
    2**-47: together less than 2**-46, or 2**7 units of the last place. A quotient that is further
    than 2**12 units from all points of the grid is therefore on the same side of each as the true
    one. The others, about one in 10**5, are decided by whole numbers.
    """
    words = np.frombuffer(entropy.take(_WORD // 8 * sizes.size), "<u8", sizes.size)
    ranks = np.maximum(words.astype(np.float64), 1.0) * 2.0**-_WORD
    quotients = np.maximum(sizes.astype(np.float64), float(least)) / ranks
    bits = quotients.view(np.int64)
    dropped = _MANTISSA + 1 - _DIGITS
    codes: Integers = bits >> dropped
    # The digits that are dropped, moved so that a distance below the slack shows as a small number.
    near = ((bits + _SLACK) & ((1 << dropped) - 1)) < 2 * _SLACK
    for i in np.flatnonzero(near | (words < _FEW)):
        codes[i] = _resolved(max(int(sizes[i]), least), int(words[i]), entropy)
    np.minimum(codes, code_of(1 << _TOP), out=codes)
    return codes


def _resolved(size: int, known: int, entropy: Entropy) -> int:
    """The code for a U of which the first 64 binary digits are known; more are drawn until it is
    sure.

    U lies between known and known + 1, in units of 2**-bits, and so the priority between two
    quotients.
    """
    bits = _WORD
    while True:
        low = _code_below(size << bits, known + 1)
        if known and low == _code_below(size << bits, known):
            return low
        if known == 0 and bits > _TOP:  # the priority is above the last point
            return code_of(1 << _TOP)
        known = known << _WORD | int.from_bytes(entropy.take(_WORD // 8), "big")
        bits += _WORD


def _code_below(numerator: int, denominator: int) -> int:
    """The code of the largest point of the grid that is at most a quotient of one or more."""
    whole = numerator // denominator
    power = whole.bit_length() - 1
    # The quotient in units of the grid between 2**power and twice that.
    numerator <<= max(0, _DIGITS - 1 - power)
    denominator <<= max(0, power - _DIGITS + 1)
    place = numerator // denominator
    return (power + _BIAS << _DIGITS - 1) + place - (1 << _DIGITS - 1)


def code_of(point: int) -> int:
    """The code of the largest point of the grid that is at most a whole number from 1 on."""
    return _code_below(point, 1)


def grid_point(code: int) -> float:
    """The point of a code, exactly: a float has more digits than the grid."""
    return float(np.int64(code << _MANTISSA + 1 - _DIGITS).view(np.float64))
