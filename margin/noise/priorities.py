"""Exact priorities |v| / U of noisy counts v, rounded down to a public grid; U is uniform on
(0, 1).

The grid holds the numbers >= 1 with 20 significant binary digits. Its points are numbered in order,
and the number of a point is its *code*. Only codes are compared, kept and published.
"""

import numpy as np

from .._types import Integers
from .entropy import Entropy

__all__ = ["code_of", "grid_point", "priorities"]


_DIGITS = 20  # significant binary digits of a point of the grid
_TOP = 1000  # larger priorities count as 2**1000; their probability is below 2**-800
_MANTISSA = 52  # digits of a float of 64 bits, after the first
_BIAS = 1023  # bias of its exponent
_WORD = 64  # binary digits of U that are drawn at a time
_SLACK = 1 << 12  # bound on errors, in units of the last place of a quotient; see `_block`
_FEW = 1 << 47  # if the first word of U is smaller, its relative error is too large
_BLOCK = 1 << 16  # number of counts handled at a time


def priorities(
    sizes: Integers,
    entropy: Entropy,
    *,
    least: int = 1,
) -> Integers:
    """Draw a random priority for each noisy count; the result is the priorities' codes.

    The priority is max(size, least) / U, rounded down to the grid, with an independent U for each
    count.
    For a point t of the grid, P(code >= code_of(t)) = min(1, max(size, least) / t), exactly. If
    `least` is a point of the grid, this is the distribution of a priority size / U, given that it
    is `least` or more: for size < least, U is then uniform on (0, size / least).

    Parameters
    ----------
    sizes
        Whole numbers from 1 to 2**61, shape (counts,).
    entropy
        Source of random bytes.
    least
        A whole number from 1 to 2**124.

    Returns
    -------
    numpy.ndarray
        Codes, shape (counts,).
    """
    codes = np.empty(sizes.size, np.int64)
    for start in range(0, sizes.size, _BLOCK):
        some = slice(start, start + _BLOCK)
        codes[some] = _block(sizes[some], least, entropy)
    return codes


def _block(
    sizes: Integers,
    least: int,
    entropy: Entropy,
) -> Integers:
    """Draw the priorities of one block of counts: see `priorities`.

    A word w means that U lies in [w, w + 1) 2**-64. In floats, w, the numerator and the quotient
    each have a relative error of 2**-53, and w >= 2**47 differs from 2**64 U by a relative 2**-47.
    Together this is less than 2**-46, or 2**7 units of the last place. So, if a quotient is further
    than 2**12 units from all points of the grid, the true quotient is on the same side of every
    point. The other quotients, about one in 10**5, are decided with whole numbers.
    """
    # The quotients in floats.
    words = np.frombuffer(entropy.take(_WORD // 8 * sizes.size), "<u8", sizes.size)
    ranks = np.maximum(words.astype(np.float64), 1.0) * 2.0**-_WORD
    quotients = np.maximum(sizes.astype(np.float64), float(least)) / ranks

    # The bits of a positive float, as an integer, are in the order of the floats. Without the
    # lowest digits they are the code.
    bits = quotients.view(np.int64)
    dropped = _MANTISSA + 1 - _DIGITS
    codes: Integers = bits >> dropped

    # The dropped digits plus the slack: near a point of the grid they are below twice the slack.
    near = ((bits + _SLACK) & ((1 << dropped) - 1)) < 2 * _SLACK
    for i in np.flatnonzero(near | (words < _FEW)):
        size = max(int(sizes[i]), least)
        codes[i] = _resolved(size, int(words[i]), entropy)
    np.minimum(codes, code_of(1 << _TOP), out=codes)
    return codes


def _resolved(
    size: int,
    known: int,
    entropy: Entropy,
) -> int:
    """The code for a U whose first 64 binary digits are `known`.

    U lies between known and known + 1, in units of 2**-bits, so the priority lies between two
    quotients. More digits are drawn until both quotients have the same code.
    """
    bits = _WORD
    while True:
        numerator = size << bits
        low = _code_below(numerator, known + 1)
        if known and low == _code_below(numerator, known):
            return low
        # All digits are zero so far: the priority is above the last point.
        if known == 0 and bits > _TOP:
            return code_of(1 << _TOP)
        known = known << _WORD | int.from_bytes(entropy.take(_WORD // 8), "big")
        bits += _WORD


def _code_below(numerator: int, denominator: int) -> int:
    """The code of the largest point of the grid that is at most a quotient >= 1."""
    whole = numerator // denominator
    power = whole.bit_length() - 1
    # The quotient in units of the grid between 2**power and 2**(power + 1).
    numerator <<= max(0, _DIGITS - 1 - power)
    denominator <<= max(0, power - _DIGITS + 1)
    place = numerator // denominator
    before = (power + _BIAS << _DIGITS - 1) - (1 << _DIGITS - 1)
    return before + place


def code_of(point: int) -> int:
    """The code of the largest point of the grid that is at most `point`, a whole number >= 1."""
    return _code_below(point, 1)


def grid_point(code: int) -> float:
    """The point of the grid that has a given code.

    The float is exact, because it has more digits than the grid.
    """
    return float(np.int64(code << _MANTISSA + 1 - _DIGITS).view(np.float64))
