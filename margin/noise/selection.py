"""The exponential mechanism over integer scores, exact; the proof is in docs/noise.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from .._numbers import shown
from .._types import Integers
from ..errors import MarginError
from .certified import exponential, uniform_is_below
from .entropy import Entropy, check_entropy

__all__ = ["ExponentialMechanism"]


_LARGEST_RATE = 10**16
_LARGEST_SCORE = 1 << 61  # largest absolute value of a score
_INVERSE_LN_2 = 1.4426950  # 1 / ln 2, rounded down
_MARGIN = 2.0**-40  # bound on the error of floats in `_Proposal.accept`
_BLOCK = 1 << 15  # largest number of trials made together
_MANY = 1 << 15  # number of candidates from which compiled loops are faster


@dataclass(frozen=True)
class ExponentialMechanism:
    """The exponential mechanism: a random choice that prefers candidates with high scores.

    Candidate i is chosen with a probability proportional to exp(rate * s_i), where s_i is its
    integer score. Suppose that s_i - s_j changes by at most `spread` between neighbouring tables,
    for all i and j. Then with rate = epsilon / spread the choice has bounded range epsilon, so it
    is epsilon-differentially private (McSherry and Talwar 2007; Dong, Durfee and Rogers 2020). The
    spread is twice the sensitivity of the scores, or once the sensitivity if an added row lowers no
    score.

    Method: let m be the largest score, k the number of candidates, and x_i = rate (m - s_i).
    Candidate i is proposed with a probability proportional to a power of two, 2**-b_i >= exp(-x_i);
    integers do this exactly. It is kept with probability exp(-x_i) 2**b_i. Since
    2**-b_i <= 4 exp(-x_i) unless 2**-b_i is below 2**-(62 - log2 k), fewer than ten trials are
    needed on average for all scores. (The number of trials still depends on the scores a little, so
    the time of a choice is not hidden.)

    Parameters
    ----------
    rate
        A Fraction or an int, > 0 and at most 10**16.

    Raises
    ------
    MarginError
        When `rate` is of another type, not positive, or too large.

    Examples
    --------
    >>> from margin.noise.entropy import SeededEntropy
    >>> ExponentialMechanism(Fraction(100)).draw(np.array([1, 9, 3]), 2, SeededEntropy(1)).tolist()
    [1, 1]
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | Fraction):
            kind = type(self.rate).__name__
            raise MarginError(
                f"rate must be a Fraction or an int, so that the choice is exact, not {kind}; pass "
                "Fraction(rate)"
            )
        if not 0 < self.rate <= _LARGEST_RATE:
            raise MarginError(
                f"rate ({shown(self.rate)}) must be > 0 and at most {_LARGEST_RATE:.0e}; pass such "
                "a number"
            )
        object.__setattr__(self, "rate", Fraction(self.rate))

    def draw(
        self,
        scores: npt.ArrayLike,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Choose `count` times among the candidates, independently: array (count,) of indices.

        Parameters
        ----------
        scores
            Integers of shape (candidates,), each at most 2**61 in absolute value.
        count
            Number of choices.
        entropy
            Source of random bytes.

        Raises
        ------
        MarginError
            When an argument is not as described.
        """
        check_entropy(entropy)
        proposal = _Proposal(self.rate, _checked(scores))
        kept = [np.empty(0, np.int64)]
        missing = count
        while missing > 0:
            trials = min(8 * missing + 32, _BLOCK)
            proposed = proposal.propose(trials, entropy)
            kept.append(proposed[proposal.accept(proposed, entropy)][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept)

    def draw_distinct(
        self,
        scores: npt.ArrayLike,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Choose `count` different candidates, one after another: array (count,) of indices.

        Each choice is made among the candidates that are not chosen yet. By composition the
        privacy cost is `count` times the cost of one choice. For parameters and errors see `draw`.
        """
        return peel([self] * count, scores, entropy)


def peel(
    mechanisms: Sequence[ExponentialMechanism],
    scores: npt.ArrayLike,
    entropy: Entropy,
) -> Integers:
    """Choose different candidates, the next one by each mechanism in turn.

    The result is an array (mechanisms,) of indices of `scores`.
    """
    checked = _checked(scores)
    if len(mechanisms) > checked.size:
        raise MarginError(
            f"at most {checked.size} different candidates can be chosen, but {len(mechanisms)} are "
            "asked for; choose fewer"
        )
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
            "scores must be a one-dimensional array of one or more integers, so that the choice is "
            f"exact, but it has shape {array.shape} and type {array.dtype}; convert it"
        )
    largest = abs(int(array.max()))
    smallest = abs(int(array.min()))
    if max(largest, smallest) > _LARGEST_SCORE:
        raise MarginError(
            "scores must be at most 2**61 in absolute value, but one is larger; use smaller weights"
        )
    return array.astype(np.int64, copy=False)


def _classes(
    scores: Integers,
    top: int,
    rate: Fraction,
    cap: int,
) -> tuple[NDArray[np.uint8], Integers]:
    """Give each candidate its power b_i, and count the candidates of each power 0, ..., cap.

    2**-b_i is the power of two with which the candidate is proposed (see `ExponentialMechanism`).
    """
    # The power is floor(x / ln 2) - 1. Subtracting one is more than the rounding error of x, so
    # 2**-b >= exp(-x) is certain.
    x = float(rate) * (top - scores)
    powers = np.floor(np.minimum(x, 1e3) * _INVERSE_LN_2) - 1
    b = np.clip(powers, 0, cap).astype(np.uint8)
    return b, np.bincount(b, minlength=cap + 1)


def _classes_at_once(
    scores: Integers,
    top: int,
    rate: Fraction,
    cap: int,
) -> tuple[NDArray[np.uint8], Integers]:
    """Compute the result of `_classes` in one pass, which is faster for many candidates."""
    from .selection_loops import classes

    b = np.empty(scores.size, np.uint8)
    members = np.zeros(cap + 1, np.int64)
    classes(scores, top, float(rate), b, members)
    return b, members


def _ordered(b: NDArray[np.uint8], first: Integers) -> NDArray[np.integer[Any]]:
    """Sort the candidates by ascending power; candidates of equal power keep their order.

    `first` is the first place of each power in the result.
    """
    if b.size < _MANY:
        return np.argsort(b, kind="stable")
    from .selection_loops import order

    kind = np.int32 if b.size < 1 << 31 else np.int64
    ordered: NDArray[Any] = np.empty(b.size, kind)
    order(b, first.copy(), ordered)
    return ordered


class _Proposal:
    """The first step of a choice: candidates proposed with powers of two as probabilities.

    A power 2**-b_i is a little above the wanted weight exp(-x_i). Candidates with equal powers form
    a class. `first` is the place of each class in `order`. The weights are integers in units of
    2**-cap; `start` and `end` are the cumulative weights before and after each class.
    """

    def __init__(
        self,
        rate: Fraction,
        scores: Integers,
    ) -> None:
        self.rate = rate
        self.scores = scores
        self.top = int(scores.max())
        self.cap = 62 - scores.size.bit_length()
        sort = _classes_at_once if scores.size >= _MANY else _classes
        self.b, members = sort(scores, self.top, rate, self.cap)
        self.shift = self.cap - np.arange(self.cap + 1)
        self.first = np.cumsum(members) - members
        self.order = _ordered(self.b, self.first)
        weights = members << self.shift
        self.end = np.cumsum(weights)
        self.start = self.end - weights

    def propose(
        self,
        trials: int,
        entropy: Entropy,
    ) -> Integers:
        """Propose independent candidates with P(i) proportional to 2**-b_i, at most `trials`.

        Each is found from a uniform integer below the exact sum of the weights; larger integers are
        dropped.
        """
        total = int(self.end[-1])
        mask = np.uint64((1 << (total - 1).bit_length()) - 1)
        words = np.frombuffer(entropy.take(8 * trials), "<u8", trials)
        drawn = (words & mask).astype(np.int64)
        drawn = drawn[drawn < total]
        # The class of each integer, then the candidate within the class.
        b = np.searchsorted(self.end, drawn, side="right")
        within_class = (drawn - self.start[b]) >> self.shift[b]
        place = self.first[b] + within_class
        chosen: NDArray[Any] = self.order[place]
        candidates: Integers = chosen.astype(np.int64)
        return candidates

    def accept(
        self,
        proposed: Integers,
        entropy: Entropy,
    ) -> npt.NDArray[np.bool_]:
        """Accept each proposal with probability p = exp(-x_i) 2**b_i.

        The result is an array of booleans of the shape of `proposed`.
        The error of x in floats is less than 4 x 2**-53. So the error of p is less than
        4 p x 2**-53 < 2**-45, because p x = exp(-y) (y + b ln 2) < 44 with y = x - b ln 2 >= 0. The
        error of numpy's exp is below a relative 2**-45, and the error of u is 2**-53. So
        |u - p| > 2**-40 decides a coin correctly, with room to spare. The other coins, 2**-39 of
        all, are compared exactly.
        """
        b = self.b[proposed].astype(np.int64)
        below_top = self.top - self.scores[proposed]
        weights = np.exp(-float(self.rate) * below_top)
        p = np.ldexp(weights, b)
        words = np.frombuffer(entropy.take(8 * proposed.size), "<u8", proposed.size)
        u = words * 2.0**-64
        heads: npt.NDArray[np.bool_] = u < p
        for i in np.flatnonzero(np.abs(u - p) <= _MARGIN):
            heads[i] = self._below(int(words[i]), int(proposed[i]), entropy)
        return heads

    def _below(
        self,
        word: int,
        candidate: int,
        entropy: Entropy,
    ) -> bool:
        """Decide exactly if a candidate is accepted, by a uniform real that begins with `word`.

        `word` holds its first 64 bits.
        """
        power = int(self.b[candidate])
        q = exponential(self.rate * (self.top - int(self.scores[candidate])))
        return uniform_is_below(
            lambda bits: q(bits + power),
            entropy,
            known=word,
            bits=64,
        )
