"""Sequences of a workload that compute their entries when asked: all k-way views, equal weights."""

import itertools
import math
import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

__all__ = ["KWayViews", "Repeated"]

_Entry = TypeVar("_Entry", covariant=True)

_SHOWN = 1000
"""Largest number of entries that `repr` writes out."""


class _Computed(Sequence[_Entry], Generic[_Entry]):
    """A sequence that equals the tuple of its entries, and has the same hash."""

    @property
    @abstractmethod
    def described(self) -> str:
        """What the sequence holds, for `repr` of a long one."""

    @abstractmethod
    def entry(self, place: int) -> _Entry:
        """The entry at a place, which is at least 0 and less than the length."""

    @overload
    def __getitem__(self, place: int) -> _Entry: ...
    @overload
    def __getitem__(self, place: slice) -> "tuple[_Entry, ...]": ...
    def __getitem__(self, place: int | slice) -> "_Entry | tuple[_Entry, ...]":
        if isinstance(place, slice):
            places = range(*place.indices(len(self)))
            if places == range(len(self)):
                return tuple(self)
            return tuple(map(self.entry, places))
        return self.entry(range(len(self))[place])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | _Computed):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return repr(tuple(self))
        return f"({self[0]!r}, ..., {self[-1]!r}: {self.described})"


class KWayViews(_Computed[tuple[str, ...]]):
    """All views of k of some attributes, in lexicographic order of their places.

    Parameters
    ----------
    attributes
        The attributes, without repetition.
    k
        The number of attributes of a view, from 0 to their number.

    Examples
    --------
    >>> views = KWayViews([f"a{place}" for place in range(100)], 8)
    >>> len(views), views[-1][0], ("a0", "a2") in views
    (186087894300, 'a92', False)
    """

    def __init__(
        self,
        attributes: Iterable[str],
        k: int,
    ) -> None:
        self.attributes = tuple(attributes)
        self.k = k
        self._place = {name: place for place, name in enumerate(self.attributes)}
        self._count = math.comb(len(self.attributes), k)

    @property
    def described(self) -> str:
        """What the sequence holds, for `repr` of a long one."""
        return f"{self._count:,} views of {self.k} attributes"

    def entry(self, place: int) -> tuple[str, ...]:
        """The view at a place, by the combinatorial number system."""
        view = []
        rest = place
        first = 0
        for missing in range(self.k - 1, -1, -1):
            # Views whose next attribute is `first` come before those with a later one.
            while rest >= (held := math.comb(len(self.attributes) - first - 1, missing)):
                rest -= held
                first += 1
            view.append(self.attributes[first])
            first += 1
        return tuple(view)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return itertools.combinations(self.attributes, self.k)

    def __contains__(self, view: object) -> bool:
        if not isinstance(view, tuple) or len(view) != self.k:
            return False
        places = [self._place.get(name, -1) for name in view]
        return all(low < high for low, high in itertools.pairwise([-1, *places]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KWayViews):
            return (self.attributes, self.k) == (other.attributes, other.k)
        return super().__eq__(other)

    __hash__ = _Computed.__hash__


class Repeated(_Computed[float]):
    """One number, repeated.

    Examples
    --------
    >>> Repeated(1.0, 3) == (1.0, 1.0, 1.0)
    True
    """

    def __init__(
        self,
        value: float,
        count: int,
    ) -> None:
        self.value = value
        self._count = count

    @property
    def described(self) -> str:
        """What the sequence holds, for `repr` of a long one."""
        return f"{self._count:,} numbers"

    def entry(self, place: int) -> float:
        """The number."""
        return self.value

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[float]:
        return itertools.repeat(self.value, self._count)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Repeated):
            same = (self.value, self._count) == (other.value, other._count)
            return same or self._count == other._count == 0
        return super().__eq__(other)

    __hash__ = _Computed.__hash__
