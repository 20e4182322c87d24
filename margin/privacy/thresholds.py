"""The threshold above which counts may be published although rare items are left out without noise.

Rare items have counts below a public number, and are dropped before noise is added. An item that
is rare in one table may be frequent in its neighbour. So its noisy count must almost never reach
the threshold. `least_gap` is the smallest distance from the first number to the threshold that is
proved to be enough. The proof is in docs/proofs/frequent_items.md.
"""

from fractions import Fraction

from ..noise.certified import exponential

__all__ = ["least_gap"]

_GUARD = 256  # binary digits beyond those of delta


def least_gap(
    scale: Fraction,
    *,
    delta: Fraction,
    person: int,
    most: int,
) -> int:
    """The smallest t, >= `person`, for which the two conditions of the theorem hold.

    Let a = exp(-1 / scale), and let p(j) = a**(t - j) / (1 + a) be the probability that discrete
    Laplace noise is t - j or more. For all j from 1 to `person`:

    - person * most / j * p(j) <= delta: the items that become frequent stay out,
    - p(j) <= 1 - a**j: the items that become rare are hidden by their noise.

    The first expression is quasiconvex in j, and p(j) + a**j is convex. So both conditions hold for
    all j if they hold for the first and the last j.

    Parameters
    ----------
    scale
        The scale of the noise.
    delta
        Above 0 and below 1.
    person
        The largest change of one count by the rows of one person.
    most
        The largest number of items that one row counts for.
    """

    def enough(gap: int) -> bool:
        return all(
            _is_hidden(scale, gap, moved, delta * moved / (person * most)) for moved in {1, person}
        )

    if enough(person):
        return person
    # Double until the gap is large enough, then bisect.
    low, high = person, 2 * person
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _is_hidden(
    scale: Fraction,
    gap: int,
    moved: int,
    allowed: Fraction,
) -> bool:
    """Whether p(moved) is proved to be at most `allowed` and at most 1 - a**moved."""
    bits = _GUARD + 2 * allowed.denominator.bit_length()
    one = 1 << bits
    _, tail_high = exponential((gap - moved) / scale)(bits)
    base_low, _ = exponential(1 / scale)(bits)
    _, power_high = exponential(moved / scale)(bits)
    # p <= tail_high / (1 + base_low), compared without division.
    below = one + base_low
    is_rare = Fraction(tail_high, below) <= allowed
    return is_rare and tail_high * one <= (one - power_high) * below
