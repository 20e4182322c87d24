"""Where random bytes come from: the operating system for a release, a seed for a simulation.

The two sources are different types. Nothing turns one into the other: there is no common flag, no
environment variable and no global state, and which of them is `private` cannot be assigned.
"""

import hashlib
import operator
import os
from typing import Protocol

from ..errors import MarginError

__all__ = ["Entropy", "SeededEntropy", "SystemEntropy"]


class Entropy(Protocol):
    """A source of independent, uniformly distributed bytes. A user's own source is any class with
    these two members."""

    @property
    def private(self) -> bool:
        """True only when nobody can predict or repeat the bytes: noise drawn from them protects the
        data."""

    def take(self, n: int) -> bytes:
        """The next `n` bytes, never given before."""


class SystemEntropy:
    """The operating system's generator, asked anew on each call.

    Nothing is kept between calls, so neither a forked process nor the clone of a virtual machine
    repeats any byte.
    """

    __slots__ = ()

    @property
    def private(self) -> bool:
        """True: nobody can predict these bytes."""
        return True

    def take(self, n: int) -> bytes:
        """See `Entropy`."""
        return os.urandom(n)

    def __repr__(self) -> str:
        return "SystemEntropy()"


class SeededEntropy:
    """Bytes that a seed determines, for simulations and tests: SHAKE-256 of a key and a counter of
    the calls.

    The same seed and the same sequence of requests give the same bytes on every machine. Noise
    drawn from them protects nothing, for whoever knows or guesses the seed can subtract it.

    Parameters
    ----------
    seed
        Any whole number.

    Raises
    ------
    MarginError
        When the seed is not a whole number.
    """

    __slots__ = ("_calls", "_key", "_seed")

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise MarginError(f"seed must be a whole number, not {type(seed).__name__}")
        self._seed = operator.index(seed)
        self._key = hashlib.sha256(f"margin seeded entropy {self._seed:x}".encode()).digest()
        self._calls = 0

    @property
    def private(self) -> bool:
        """False: who knows the seed knows these bytes."""
        return False

    def take(self, n: int) -> bytes:
        """See `Entropy`; MarginError when n is negative."""
        if n < 0:
            raise MarginError(f"cannot take {n} bytes: ask for zero or more")
        self._calls += 1
        return hashlib.shake_256(self._key + self._calls.to_bytes(8, "big")).digest(n)

    def __repr__(self) -> str:
        return f"SeededEntropy({self._seed})"
