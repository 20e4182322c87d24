"""Sources of random bytes: the operating system for a release, a seed for a simulation.

The two sources are different types, and nothing converts one into the other. There is no common
flag, no environment variable and no global state, and `private` cannot be assigned.
"""

import hashlib
import operator
import os
from typing import Protocol

from ..errors import MarginError

__all__ = ["Entropy", "SeededEntropy", "SystemEntropy", "check_entropy"]


class Entropy(Protocol):
    """A source of independent, uniformly distributed bytes.

    Any class with these two members is a source.
    """

    @property
    def private(self) -> bool:
        """True only if nobody can predict or repeat the bytes. Only then does noise drawn from them
        protect the data."""

    def take(self, n: int) -> bytes:
        """Give the next `n` bytes; no byte is ever given twice."""


class SystemEntropy:
    """The random generator of the operating system.

    Nothing is kept between calls, so a forked process or a cloned virtual machine does not repeat
    any byte.
    """

    __slots__ = ()

    @property
    def private(self) -> bool:
        """True: nobody can predict these bytes."""
        return True

    def take(self, n: int) -> bytes:
        """Give `n` new random bytes of the operating system."""
        return os.urandom(n)

    def __repr__(self) -> str:
        return "SystemEntropy()"


class SeededEntropy:
    """Bytes that are determined by a seed, for simulations and tests.

    They are SHAKE-256 of a key and a counter of the calls. The same seed and the same sequence of
    requests give the same bytes on every machine. Noise drawn from them protects nothing: anyone
    who knows or guesses the seed can subtract it.

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
            raise MarginError(
                f"seed must be a whole number, not {type(seed).__name__}; pass an int"
            )
        self._seed = operator.index(seed)
        self._key = hashlib.sha256(f"margin seeded entropy {self._seed:x}".encode()).digest()
        self._calls = 0

    @property
    def private(self) -> bool:
        """False: anyone who knows the seed knows these bytes."""
        return False

    def take(self, n: int) -> bytes:
        """Give the next `n` bytes of the sequence; MarginError when `n` is negative."""
        if n < 0:
            raise MarginError(f"n ({n}) must be >= 0; ask for zero bytes or more")
        self._calls += 1
        return hashlib.shake_256(self._key + self._calls.to_bytes(8, "big")).digest(n)

    def __repr__(self) -> str:
        return f"SeededEntropy({self._seed})"


def check_entropy(entropy: object) -> None:
    """Raise MarginError if an object is no source of random bytes, as a generator of numpy is."""
    is_class = isinstance(entropy, type)
    has_bytes = callable(getattr(entropy, "take", None)) and hasattr(entropy, "private")
    if has_bytes and not is_class:
        return
    found = "a class" if is_class else f"of type {type(entropy).__name__}"
    raise MarginError(
        "entropy must be a source of random bytes, with a method take and an attribute private, "
        f"but it is {found}; pass SystemEntropy(), or SeededEntropy(1) in a simulation"
    )
