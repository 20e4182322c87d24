"""The exponential mechanism over integer scores, exact; the proof is in docs/noise.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from .._types import Integers
from ..errors import MarginError
from .certified import exponential, uniform_is_below
from .entropy import Entropy

__all__ = ["ExponentialMechanism"]


_LARGEST_RATE = 10**16
_LARGEST_SCORE = 1 << 61
_INVERSE_LN_2 = 1.4426950  # rounded down
_MARGIN = 2.0**-40  # on the acceptance probability; see `_accept`
_BLOCK = 1 << 15
_MANY = 1 << 15  # candidates, for which compiled loops are worth importing


@dataclass(frozen=True)
class ExponentialMechanism:
    """P(I = i) proportional to exp(rate * s_i), for integer scores s_i.

    When neighbouring tables change s_i - s_j by at most `spread` for all i and j, a rate of epsilon
    / spread makes the choice of bounded range epsilon, hence epsilon-differentially private
    (McSherry and Talwar 2007; Dong, Durfee and Rogers 2020): spread is twice the sensitivity of the
    scores, or once if a row added moves no score down.

    Method: with m the largest score and x_i = rate (m - s_i), candidate i is proposed with a
    probability proportional to a power of two 2**-b_i >= exp(-x_i), which integers do exactly, and
    kept with probability exp(-x_i) 2**b_i. As 2**-b_i <= 4 exp(-x_i) unless it is below 2**-(62 -
    log2 k), fewer than ten trials are needed on average, whatever the scores. (Their number still
    depends on the scores a little: how long a choice takes is not hidden.)

    Parameters
    ----------
    rate
        Positive, at most 10**16. An int is taken for the Fraction it equals.

    Raises
    ------
    MarginError
        When the rate is of another type, not positive or too large.

    Examples
    --------
    >>> from margin.noise.entropy import SeededEntropy
    >>> ExponentialMechanism(Fraction(100)).draw(np.array([1, 9, 3]), 2, SeededEntropy(1)).tolist()
    [1, 1]
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | Fraction):
            raise MarginError(f"rate must be a Fraction or an int, not {type(self.rate).__name__}")
        if not 0 < self.rate <= _LARGEST_RATE:
            raise MarginError(f"rate must be > 0 and at most {_LARGEST_RATE:.0e}")
        object.__setattr__(self, "rate", Fraction(self.rate))

    def draw(self, scores: npt.ArrayLike, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent choices among the candidates with `scores`, integers of
        shape (candidates,)."""
        proposal = _Proposal(self.rate, _checked(scores))
        kept = [np.empty(0, np.int64)]
        missing = count
        while missing > 0:
            trials = min(8 * missing + 32, _BLOCK)
            proposed = proposal.propose(trials, entropy)
            kept.append(proposed[proposal.accept(proposed, entropy)][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept)

    def draw_distinct(self, scores: npt.ArrayLike, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of different candidates: one choice after another, each among those not
        yet chosen.

        Each choice costs what one costs: `count` of them compose.
        """
        return peel([self] * count, scores, entropy)


def peel(
    mechanisms: Sequence[ExponentialMechanism], scores: npt.ArrayLike, entropy: Entropy
) -> Integers:
    """One choice a mechanism, each among the candidates that are left; array (mechanisms,)."""
    checked = _checked(scores)
    if len(mechanisms) > checked.size:
        raise MarginError(f"{len(mechanisms)} of {checked.size} candidates cannot be chosen")
    left = np.arange(checked.size)
    chosen = []
    for mechanism in mechanisms:
        place = int(mechanism.draw(checked[left], 1, entropy)[0])
        chosen.append(left[place])
        left = np.delete(left, place)
    return np.array(chosen, np.int64)


def _checked(scores: npt.ArrayLike) -> Integers:
    array = np.asarray(scores)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise MarginError(
            "scores must be one or more integers in one dimension, so that the choice is exact"
        )
    if max(abs(int(array.max())), abs(int(array.min()))) > _LARGEST_SCORE:
        raise MarginError("scores must be at most 2**61 in size: use smaller weights")
    return array.astype(np.int64, copy=False)


def _classes(
    scores: Integers, top: int, rate: Fraction, cap: int
) -> tuple[NDArray[np.uint8], Integers]:
    """The power b_i of each candidate, and how many have each from 0 to cap."""
    # floor(x / ln 2) - 1: the one more than makes up for the rounding of x, so that 2**-b >=
    # exp(-x) for certain.
    x = float(rate) * (top - scores)
    b = np.clip(np.floor(np.minimum(x, 1e3) * _INVERSE_LN_2) - 1, 0, cap).astype(np.uint8)
    return b, np.bincount(b, minlength=cap + 1)


def _classes_at_once(
    scores: Integers, top: int, rate: Fraction, cap: int
) -> tuple[NDArray[np.uint8], Integers]:
    """The same, in one pass over millions of candidates."""
    from .selection_loops import classes

    b, members = np.empty(scores.size, np.uint8), np.zeros(cap + 1, np.int64)
    classes(scores, top, float(rate), b, members)
    return b, members


def _ordered(b: NDArray[np.uint8], first: Integers) -> NDArray[np.integer[Any]]:
    """The candidates by ascending power, those of equal power in their order."""
    if b.size < _MANY:
        return np.argsort(b, kind="stable")
    from .selection_loops import order

    ordered: NDArray[Any] = np.empty(b.size, np.int32 if b.size < 1 << 31 else np.int64)
    order(b, first.copy(), ordered)
    return ordered


class _Proposal:
    """Draws candidates with probabilities proportional to powers of two, a little above those
    wanted."""

    def __init__(self, rate: Fraction, scores: Integers) -> None:
        self.rate = rate
        self.scores = scores
        self.top = int(scores.max())
        self.cap = 62 - scores.size.bit_length()
        self.b, members = (_classes_at_once if scores.size >= _MANY else _classes)(
            scores, self.top, rate, self.cap
        )
        self.shift = self.cap - np.arange(self.cap + 1)
        self.first = np.cumsum(members) - members
        self.order = _ordered(self.b, self.first)
        self.end = np.cumsum(members << self.shift)
        self.start = self.end - (members << self.shift)

    def propose(self, trials: int, entropy: Entropy) -> Integers:
        """Some candidates, each drawn with P(i) proportional to 2**-b_i: a uniform integer below
        their exact sum."""
        total = int(self.end[-1])
        mask = np.uint64((1 << (total - 1).bit_length()) - 1)
        drawn = (np.frombuffer(entropy.take(8 * trials), "<u8", trials) & mask).astype(np.int64)
        drawn = drawn[drawn < total]
        b = np.searchsorted(self.end, drawn, side="right")
        chosen: NDArray[Any] = self.order[
            self.first[b] + ((drawn - self.start[b]) >> self.shift[b])
        ]
        places: Integers = chosen.astype(np.int64)
        return places

    def accept(self, proposed: Integers, entropy: Entropy) -> npt.NDArray[np.bool_]:
        """Heads with probability p = exp(-x_i) 2**b_i; array as `proposed`.

        In floats x is off by less than 4 x 2**-53, so p by less than 4 p x 2**-53 < 2**-45: with y
        = x - b ln 2 >= 0, p x = exp(-y) (y + b ln 2) < 44. With an error of numpy's exp below a
        relative 2**-45 and the 2**-53 of u, |u - p| > 2**-40 decides with room to spare. The
        others, 2**-39 of all, are compared exactly.
        """
        b = self.b[proposed].astype(np.int64)
        p = np.ldexp(np.exp(-float(self.rate) * (self.top - self.scores[proposed])), b)
        words = np.frombuffer(entropy.take(8 * proposed.size), "<u8", proposed.size)
        u = words * 2.0**-64
        heads: npt.NDArray[np.bool_] = u < p
        for i in np.flatnonzero(np.abs(u - p) <= _MARGIN):
            heads[i] = self._below(int(words[i]), int(proposed[i]), entropy)
        return heads

    def _below(self, word: int, candidate: int, entropy: Entropy) -> bool:
        power = int(self.b[candidate])
        q = exponential(self.rate * (self.top - int(self.scores[candidate])))
        return uniform_is_below(lambda bits: q(bits + power), entropy, known=word, bits=64)
