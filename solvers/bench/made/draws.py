"""`Draws`: random integers that are the same on every machine and with every version of numpy.

Numpy promises the stream of a bit generator, but not what its distributions make of it. So
instances are drawn from the raw 64-bit words, by integer operations alone.
"""

import numpy as np

from ...types import Flags, Integers

__all__ = ["Draws"]


class Draws:
    """Random integers from a seed.

    Examples
    --------
    >>> Draws(1).below(10, 5).tolist()
    [5, 9, 1, 9, 3]
    """

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def raw(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Random words of 64 bits, shape (count,)."""
        return self._words.random_raw(count)

    def below(self, limit: int, count: int) -> Integers:
        """Integers from 0 to limit - 1, all equally likely up to 2**-32, shape (count,)."""
        halves = self.raw(count) >> np.uint64(32)
        return (halves * np.uint64(limit) >> np.uint64(32)).astype(np.int64)

    def happen(self, share: int, count: int) -> Flags:
        """Events that each happen with probability share / 1000, shape (count,)."""
        return self.below(1000, count) < share

    def weighted(self, weights: Integers, count: int) -> Integers:
        """Positions drawn in proportion to integer weights, shape (count,)."""
        steps = np.cumsum(weights)
        return np.searchsorted(steps, self.below(int(steps[-1]), count), side="right")

    def noise(self, scale: int, count: int) -> Integers:
        """Integers of mean zero and standard deviation 4 * scale, shape (count,).

        Each is `scale` times a centred number of ones among 64 random bits.
        """
        ones = np.bitwise_count(self.raw(count)).astype(np.int64)
        return scale * (ones - 32)

    def order(self, count: int) -> Integers:
        """A random order of the numbers 0 to count - 1."""
        return np.argsort(self.raw(count), kind="stable")

    def subset(self, count: int, size: int) -> tuple[int, ...]:
        """A random set of `size` of the numbers 0 to count - 1, ascending."""
        return tuple(sorted(self.order(count)[:size].tolist()))
