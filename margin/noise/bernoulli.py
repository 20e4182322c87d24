"""Exact flips of many coins at once, with few random bytes per coin."""

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from .certified import Probability, leading_bits, uniform_is_below
from .entropy import Entropy

__all__ = ["Coins"]

_FIRST = 8  # bits compared for every coin
_SECOND = 64  # bits compared next, for the coins that are still undecided


class Coins:
    """Independent coins with given irrational probabilities, flipped together.

    A coin shows heads when a uniform real U is below its probability q. The first byte of U decides
    unless it equals the first byte of q, which has probability 1/256. Then eight more bytes decide
    unless they are equal too, which has probability 2**-64. Then further bytes are drawn until the
    comparison is decided. Digits of U are drawn only when they are compared, so the result is the
    result for the infinitely long U. It is exact.

    The second step always compares a fixed number of coins, larger than the number of ties; most of
    these coins are dummies. So the random bytes and the work depend on the number of coins, but not
    on their results. The exception is a surplus of ties, which has a probability below 1e-12.

    Parameters
    ----------
    probabilities
        The probability q of each kind of coin, irrational and below one, as certified bounds.
    """

    def __init__(self, probabilities: Sequence[Probability]) -> None:
        self.probabilities = tuple(probabilities)
        known = [leading_bits(q, _FIRST + _SECOND) for q in self.probabilities]
        first = [k >> _SECOND for k in known]
        self._first = np.array(first, np.uint8)[:, None]
        # The last entry is for dummies.
        second = [k & (1 << _SECOND) - 1 for k in known]
        self._second = np.array([*second, 0], np.uint64)

    def flip(
        self,
        count: int,
        entropy: Entropy,
    ) -> npt.NDArray[np.bool_]:
        """Flip each kind of coin `count` >= 1 times; True means heads: array (kinds, count)."""
        kinds = len(self.probabilities)
        total = kinds * count

        # Random bytes: one for each coin, and eight for each place of the second step.
        reserve = _reserve(total)
        taken = entropy.take(total + reserve * _SECOND // 8)
        first = np.frombuffer(taken, np.uint8, total).reshape(kinds, count)
        words = np.frombuffer(taken, ">u8", reserve, offset=total)
        ties = np.flatnonzero(first == self._first)
        if ties.size > reserve:
            surplus = ties.size - reserve
            more = np.frombuffer(entropy.take(surplus * _SECOND // 8), ">u8", surplus)
            words = np.concatenate([words, more])

        # First step: the first byte of every coin. The last entry of `heads` is for dummies.
        heads = np.empty(total + 1, np.bool_)
        np.less(first, self._first, out=heads[:total].reshape(kinds, count))

        # Second step: eight more bytes for the ties and the dummies.
        places = np.full(words.size, total)
        places[: ties.size] = ties
        second = self._second[places // count]
        heads[places] = words < second

        # Third step: further digits, one coin at a time.
        for i in np.flatnonzero((words == second)[: ties.size]):
            kind = int(places[i]) // count
            known = int(self._first[kind, 0]) << _SECOND | int(second[i])
            heads[places[i]] = uniform_is_below(
                self.probabilities[kind],
                entropy,
                known=known,
                bits=_FIRST + _SECOND,
            )
        return heads[:total].reshape(kinds, count)


def _reserve(total: int) -> int:
    """The number of coins of the second step: hardly ever fewer than the ties in `total` bytes.

    It is ten standard deviations above their mean, and at least 24.
    """
    mean = total // 256
    return mean + 10 * isqrt(mean) + 24
