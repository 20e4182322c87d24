"""Many exact coins at once: a few random bytes each, and more for the few coins that these do not
decide."""

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from .certified import Probability, leading_bits, uniform_is_below
from .entropy import Entropy

__all__ = ["Coins"]

_FIRST, _SECOND = 8, 64  # bits compared at once for every coin, then for those still undecided


class Coins:
    """Independent coins with given irrational probabilities, flipped together.

    A coin shows heads when a uniform real U is below its probability q. The first byte of U decides
    unless it equals the first byte of q (1 in 256); then eight more bytes decide unless they are
    equal too (2**-64); then as many as it takes. As U's digits are drawn only when looked at, the
    decision is that of the infinitely long U: exact.

    The second step is made for a fixed number of coins, more than ever tie, most of them dummies.
    So the bytes taken and the work done depend on how many coins are flipped and not on how they
    fall, but for a surplus of ties of probability below 1e-12.

    Parameters
    ----------
    probabilities
        The q of each kind of coin, irrational and below one, as certified bounds.
    """

    def __init__(self, probabilities: Sequence[Probability]) -> None:
        self.probabilities = tuple(probabilities)
        known = [leading_bits(q, _FIRST + _SECOND) for q in self.probabilities]
        self._first = np.array([k >> _SECOND for k in known], np.uint8)[:, None]
        self._second = np.array(
            [*(k & (1 << _SECOND) - 1 for k in known), 0], np.uint64
        )  # the last for dummies

    def flip(self, count: int, entropy: Entropy) -> npt.NDArray[np.bool_]:
        """Flip each kind of coin `count` times, at least once: array (kinds, count), True for
        heads."""
        kinds = len(self.probabilities)
        total = kinds * count
        reserve = _reserve(total)
        taken = entropy.take(total + reserve * _SECOND // 8)
        first = np.frombuffer(taken, np.uint8, total).reshape(kinds, count)
        words = np.frombuffer(taken, ">u8", reserve, offset=total)
        ties = np.flatnonzero(first == self._first)
        if ties.size > reserve:
            surplus = ties.size - reserve
            words = np.concatenate(
                [words, np.frombuffer(entropy.take(surplus * _SECOND // 8), ">u8", surplus)]
            )

        heads = np.empty(total + 1, np.bool_)  # the last for dummies
        np.less(first, self._first, out=heads[:total].reshape(kinds, count))
        places = np.full(words.size, total)
        places[: ties.size] = ties
        second = self._second[places // count]
        heads[places] = words < second
        for i in np.flatnonzero((words == second)[: ties.size]):
            kind = int(places[i]) // count
            known = int(self._first[kind, 0]) << _SECOND | int(second[i])
            heads[places[i]] = uniform_is_below(
                self.probabilities[kind], entropy, known=known, bits=_FIRST + _SECOND
            )
        return heads[:total].reshape(kinds, count)


def _reserve(total: int) -> int:
    """More than ever tie among `total` first bytes: ten standard deviations above the mean, and at
    least 24."""
    mean = total // 256
    return mean + 10 * isqrt(mean) + 24
