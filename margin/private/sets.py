"""Noisy tables and counts of sets of items."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .._checks import positive_integer
from .._numbers import Number, shown
from .._types import Integers
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.event import Event
from ..privacy.split import split_units
from .item_counts import holders, read_baskets
from .items import Items

__all__ = ["Pattern", "Sets"]

Pattern = tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]
"""Two tuples of groups of items. A row fits if it holds at least one item of each group in the
first tuple, and no item of any group in the second."""

_MAX_BASIS = 20  # largest number of items in a basis
_MAX_PATTERNS = 1 << 16


class Sets(Items):
    """The part of `Private` that chooses and counts sets of items."""

    def select_sets(
        self,
        attributes: Iterable[str] | None = None,
        candidates: Sequence[Sequence[int]] = (),
        *,
        count: int,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """Choose, at random, sets of items that many rows contain.

        This is the exponential mechanism; the score of a set is the number of rows that hold all of
        its items. Sets are chosen one after another, each among those not chosen yet. Adding a row
        raises each score by zero or one and lowers none, so the changes of two scores differ by at
        most one. Each choice is charged an equal part of what is spent.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        candidates
            The sets, as places of items. They must not depend on the data, except through results
            of `Private`.
        count
            Number of sets to choose.

        Returns
        -------
        tuple of int
            Places of the chosen candidates, shape (count,), in the order of the choices.

        Raises
        ------
        DomainError
            When a candidate is not a set of items, or there are fewer than `count`. Nothing is
            charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)
        sets = [self._group(group, items.sizes[0]) for group in candidates]
        if not sets:
            raise DomainError(
                "candidates must hold at least one set of items, but it is empty; give at least "
                "one set"
            )
        if positive_integer("count", count) > len(sets):
            raise DomainError(
                f"count ({count}) must be at most the number of candidates, {len(sets)}; pass a "
                "smaller number"
            )
        spread = self.budget.rows
        charges = split_units(self._units(spend), count)
        events = self._choices("select_sets", (names, tuple(sets), count), charges, spread)
        baskets = read_baskets(self._source, self.domain, names)
        held = holders(baskets, _single_items(sets))
        scores = np.zeros(len(sets), np.int64)
        for place, group in enumerate(sets):
            flags = [held[(item,)] for item in group]
            scores[place] = np.logical_and.reduce(flags).sum()
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())

    def basis_tables(
        self,
        attributes: Iterable[str] | None = None,
        bases: Sequence[Sequence[int]] = (),
        *,
        spend: Number | None = None,
    ) -> tuple[list[Integers], float]:
        """Count the rows that hold each combination of the items of a set, with noise.

        Each set gives one table.
        Adding a row changes one cell of each table by one. The sensitivity of each table is 1 in
        the L1 norm and in the L2 norm. Each table is charged an equal part of what is spent; see
        `measure`.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        bases
            The sets, as places of at most 20 items each. They must not depend on the data, except
            through results of `Private`.

        Returns
        -------
        list of numpy.ndarray
            For each set an array with one axis of length 2 for each item: absent, present.
        float
            The variance of the noise in each cell.

        Raises
        ------
        DomainError
            When `bases` is not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)
        checked = [self._group(basis, items.sizes[0]) for basis in bases]
        if not checked or max(map(len, checked)) > _MAX_BASIS:
            raise DomainError(
                f"bases must hold one or more sets of items, each of at most {_MAX_BASIS} items, "
                f"but the sets have {shown([len(basis) for basis in checked])} items; use other "
                "sets"
            )
        charge = self._units(spend) // len(checked)
        l1, l2_squared = self.budget.sensitivity()
        noise = self.budget.noise(
            charge,
            l1=l1,
            l2_squared=l2_squared,
        )
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
        held = holders(baskets, _single_items(checked))
        true = []
        for basis in checked:
            # The cell of each row: the items are the binary digits of its place.
            place = np.zeros(baskets.sizes.size, np.int64)
            for item in basis:
                place = 2 * place + held[(item,)]
            cells = np.bincount(place, minlength=1 << len(basis)).astype(np.int64)
            true.append(cells.reshape((2,) * len(basis)))
        noisy = self._noisy(events, true)
        return noisy, noise.variance

    def pattern_counts(
        self,
        attributes: Iterable[str] | None = None,
        patterns: Sequence[Pattern] = (),
        *,
        spend: Number | None = None,
    ) -> tuple[Integers, float]:
        """Count the rows that fit each pattern, with noise; a row counts for the first one it fits.

        Adding a row changes at most one count by one: the sensitivity is 1 in the L1 norm and in
        the L2 norm, also when patterns overlap.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        patterns
            The patterns, in order; see `Pattern`. They must not depend on the data, except through
            results of `Private`.

        Returns
        -------
        numpy.ndarray
            Noisy counts, integers of shape (patterns,).
        float
            The variance of the noise in each count.

        Raises
        ------
        DomainError
            When `patterns` is not as described, or there are more than 2**16. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)

        def groups_of(groups: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
            return tuple(self._group(group, items.sizes[0]) for group in groups)

        checked = tuple(tuple(groups_of(groups) for groups in pattern) for pattern in patterns)
        if not 1 <= len(checked) <= _MAX_PATTERNS:
            raise DomainError(
                f"patterns must hold from 1 to {_MAX_PATTERNS} patterns, but it holds "
                f"{len(checked)}; change their number"
            )
        event = self._event("pattern_counts", (names, checked), self.budget.sensitivity(), spend)
        baskets = read_baskets(self._source, self.domain, names)
        asked = {group for pattern in checked for groups in pattern for group in groups}
        held = holders(baskets, sorted(asked))

        # `free` marks the rows that fit no earlier pattern.
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
        noisy = self._noisy([event], [true])[0]
        return noisy, event.sampler.variance  # type: ignore[union-attr]


def _single_items(sets: Iterable[Sequence[int]]) -> list[tuple[int]]:
    """One group of a single item for each item that is in some set, in ascending order."""
    items = {item for group in sets for item in group}
    return [(item,) for item in sorted(items)]
