"""Tables and counts of sets of items."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .._checks import positive_integer
from .._numbers import Number
from .._types import Integers
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.event import Event
from ..privacy.split import split_units
from .item_counts import holders, read_baskets
from .items import Items

__all__ = ["Pattern", "Sets"]

Pattern = tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]
"""Groups of items of each of which a row holds at least one, and groups of which it holds none."""

_MAX_BASIS = 20
_MAX_PATTERNS = 1 << 16


class Sets(Items):
    """The part of `Private` that counts sets of items."""

    def select_sets(
        self,
        attributes: Iterable[str] | None = None,
        candidates: Sequence[Sequence[int]] = (),
        *,
        count: int,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """Sets of items that many rows hold whole: places of `count` candidates, chosen one after
        another.

        The exponential mechanism with the number of such rows as the score, peeling. Adding a row
        raises each score by zero or one and lowers none, so that the changes of two scores are at
        most one apart. Each choice is charged an equal part of what is spent.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        candidates
            Places of items; found without looking at the data but through `Private`.
        count
            How many to choose.
        """
        names, items = self._universe(attributes)
        sets = [self._group(group, items.sizes[0]) for group in candidates]
        if not sets or positive_integer("count", count) > len(sets):
            raise DomainError(f"there are {len(sets)} candidates: {count} cannot be chosen")
        spread = self.budget.rows
        events = self._choices(
            "select_sets",
            (names, tuple(sets), count),
            split_units(self._units(spend), count),
            spread,
        )
        baskets = read_baskets(self._source, self.domain, names)
        held = holders(
            baskets, [(item,) for item in sorted({item for group in sets for item in group})]
        )
        scores = np.array(
            [np.logical_and.reduce([held[(item,)] for item in group]).sum() for group in sets],
            np.int64,
        )
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        return tuple(
            self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy)).tolist()
        )

    def basis_tables(
        self,
        attributes: Iterable[str] | None = None,
        bases: Sequence[Sequence[int]] = (),
        *,
        spend: Number | None = None,
    ) -> tuple[list[Integers], float]:
        """For each set of items how many rows hold which of them: noisy tables with an axis of two
        an item.

        Adding a row changes one cell of each table by one. Its sensitivity is 1 in the L1 as in the
        L2 norm for each table, and each is charged an equal part of what is spent; see `measure`.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        bases
            Places of items, of 20 at most, found without looking at the data but through `Private`.

        Returns
        -------
        tuple
            The tables, and the variance of the noise in each cell of any.
        """
        names, items = self._universe(attributes)
        checked = [self._group(basis, items.sizes[0]) for basis in bases]
        if not checked or max(map(len, checked)) > _MAX_BASIS:
            raise DomainError(
                f"there must be at least one basis, and at most {_MAX_BASIS} items in each"
            )
        charge = self._units(spend) // len(checked)
        l1, l2_squared = self.budget.sensitivity()
        noise = self.budget.noise(charge, l1=l1, l2_squared=l2_squared)
        events = [
            Event(
                method="basis_tables",
                about=(names, basis),
                units=charge,
                sampler=noise,
                l1=l1,
                l2_squared=l2_squared,
            )
            for basis in checked
        ]
        baskets = read_baskets(self._source, self.domain, names)
        held = holders(
            baskets, [(item,) for item in sorted({item for basis in checked for item in basis})]
        )
        true = []
        for basis in checked:
            place = np.zeros(baskets.sizes.size, np.int64)
            for item in basis:
                place = 2 * place + held[(item,)]
            true.append(
                np.bincount(place, minlength=1 << len(basis))
                .astype(np.int64)
                .reshape((2,) * len(basis))
            )
        return self._answer(events, true, lambda: self._add_noise(events, true)), noise.variance

    def pattern_counts(
        self,
        attributes: Iterable[str] | None = None,
        patterns: Sequence[Pattern] = (),
        *,
        spend: Number | None = None,
    ) -> tuple[Integers, float]:
        """How many rows fit each of some patterns, every row counted for the first that it fits.

        Adding a row changes one count by one, since it counts once at most: the sensitivity is 1 in
        the L1 as in the L2 norm, however the patterns overlap.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        patterns
            Found without looking at the data but through `Private`.

        Returns
        -------
        tuple
            Noisy counts, integers of shape (patterns,), and the variance of the noise.
        """
        names, items = self._universe(attributes)
        checked = tuple(
            tuple(
                tuple(self._group(group, items.sizes[0]) for group in groups) for groups in pattern
            )
            for pattern in patterns
        )
        if not 1 <= len(checked) <= _MAX_PATTERNS:
            raise DomainError(f"there must be 1 to {_MAX_PATTERNS} patterns")
        event = self._event("pattern_counts", (names, checked), self.budget.sensitivity(), spend)
        baskets = read_baskets(self._source, self.domain, names)
        held = holders(
            baskets,
            sorted({group for pattern in checked for groups in pattern for group in groups}),
        )
        free = np.ones(baskets.sizes.size, np.bool_)
        true = np.zeros(len(checked), np.int64)
        for place, (present, absent) in enumerate(checked):
            fits: npt.NDArray[np.bool_] = free.copy()
            for group in present:
                fits &= held[group]
            for group in absent:
                fits &= ~held[group]
            true[place] = fits.sum()
            free &= ~fits
        noisy = self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]
        return noisy, event.sampler.variance  # type: ignore[union-attr]
