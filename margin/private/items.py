"""Noisy counts of the items that rows hold."""

import operator
from collections.abc import Iterable, Sequence
from math import isqrt, lcm

import numpy as np

from .._checks import positive_integer
from .._numbers import Number, exact, shown
from .._types import Integers
from ..data.baskets import Baskets
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.event import Event
from ..privacy.split import split_units
from .counts import whole
from .gate import Gate
from .item_counts import (
    LARGEST_LOSS,
    few_counts,
    full_counts,
    lost,
    read_baskets,
    scaled_gaps,
    truncated,
    walsh,
)
from .strategy import Groups

__all__ = ["Items"]

_GRAIN = 1 << 20  # default number of units in a count of one
_LARGEST = 1 << 40  # largest L1 sensitivity in units, and largest value of a grid


class Items(Gate):
    """The part of `Private` that counts and chooses items.

    An item is an attribute with two categories, absent and present. If rows are sets
    (`margin.data.sets`), the items are the categories of the single attribute of the domain. By
    default the methods use all items of the domain.
    """

    def truncated_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        most: int,
        grain: int = _GRAIN,
        groups: Sequence[int] | Integers | None = None,
        spend: Number | None = None,
    ) -> Marginal:
        """Noisy numbers of rows that hold each item; a row of many items counts less.

        A row of c items adds one to the count of each of its items if c <= most. Otherwise it adds
        most / c (DPSense, Day and Li 2015), in whole units of 1 / grain: most * floor(grain / c).
        Adding a row changes the counts, in these units, by at most grain * most in L1 and
        grain**2 * most in squared L2, for any number of items. Counts are cut off at 2**61 units,
        which does not increase the difference of any two of them. The noise is a whole number of
        units.

        With `groups`, the counts of the items of each group are added up before the noise. Adding a
        row still changes the sums by at most grain * most in L1. In squared L2 it is grain**2 *
        most * min(most, size of the largest group).

        Parameters
        ----------
        attributes
            The items.
        most
            Largest number of items with which a row counts fully.
        grain
            Number of units in a count of one. Choose it well above the number of items in a row.
        groups
            The group of each item, from 0 to the number of groups - 1, shape (items,). It must not
            depend on the data, except through results of `Private`. None counts each item.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        Marginal
            The counts of the items, or the sums of the groups, as a table of one attribute "group".

        Raises
        ------
        DomainError
            When an attribute is not an item, `groups` is not as described, or grain times most is
            above 2**40. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)
        most = min(positive_integer("most", most), items.sizes[0])
        grain = positive_integer("grain", grain)
        about: tuple[object, ...] = (names, most, grain)
        # The largest number of items of a row in one group: one if each item is counted.
        together = 1
        parts = None
        if groups is not None:
            parts = self._parts(groups, items.sizes[0])
            about += (parts.digest,)
            items = Domain({"group": parts.rows})
            together = min(most, int(np.bincount(parts.groups).max()))
        bounds = (grain * most, grain**2 * most * together)
        event = self._items_event("truncated_counts", about, bounds, spend)
        baskets = read_baskets(self._source, self.domain, names)
        if parts is not None:
            baskets = Baskets(baskets.sizes, parts.groups[baskets.items])
        true = truncated(baskets, items.sizes[0], most, grain)
        return self._noisy_items(event, true, items, grain)

    def sampled_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        most: int,
        spend: Number | None = None,
    ) -> Marginal:
        """Noisy numbers of rows that hold each item, when each row keeps at most `most` items.

        A hash of the items decides which of them a row keeps. Adding a row changes at most `most`
        counts by one: the sensitivity is `most` in the L1 norm and in the squared L2 norm.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        most
            Largest number of items that a row keeps.

        Returns
        -------
        Marginal
            The counts of the items.
        """
        names, items = self._universe(attributes)
        most = min(positive_integer("most", most), items.sizes[0])
        event = self._items_event("sampled_counts", (names, most), (most, most), spend)
        baskets = read_baskets(self._source, self.domain, names)
        true = few_counts(baskets, items.sizes[0], most)
        return self._noisy_items(event, true, items, 1)

    def walsh_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        first: int,
        most: int,
        grain: int = _GRAIN,
        spend: Number | None = None,
    ) -> Integers:
        """Noisy Walsh coefficients of the counts of items, the first ones only.

        The counts are those of `truncated_counts`, before noise. A coefficient is a sum of the
        counts with signs +1 and -1. In whole numbers, the transform takes the role of the Fourier
        transform of Rastogi and Nath (2010).

        Adding a row changes n counts (n the next power of two) by at most q = grain**2 * most in
        squared L2 and s = grain * most in L1. The full transform multiplies the squared L2 norm by
        n, and no coefficient changes by more than s. So k coefficients change by at most
        D = min(n q, k s**2) in squared L2, and by at most the square root of k D in L1. They are
        cut off at +-2**61, which does not increase the difference of any two of them.

        Parameters
        ----------
        attributes, most, grain, spend
            See `truncated_counts`.
        first
            Number of coefficients. They are those with the fewest changes of sign.

        Returns
        -------
        numpy.ndarray
            Noisy coefficients in units of 1 / grain, integers of shape (first,).

        Raises
        ------
        DomainError
            When there are fewer coefficients than `first`, or as for `truncated_counts`. Nothing is
            charged.
        """
        names, items = self._universe(attributes)
        most = positive_integer("most", most)
        grain = positive_integer("grain", grain)
        count = items.sizes[0]
        size = 1 << (count - 1).bit_length()
        if positive_integer("first", first) > size:
            raise DomainError(
                f"first ({first}) must be at most the number of coefficients, {size}; pass a "
                "smaller number"
            )
        most = min(most, count)
        self._check_grain(grain, most)
        # Replaced rows may move a coefficient up and down, so the second bound is on the sum of the
        # changes of all rows.
        _, full = self.budget.sensitivity(l2_squared=size * grain**2 * most)
        each = self.budget.rows * grain * most
        l2_squared = min(full, first * each**2)
        l1 = min(isqrt(first * l2_squared - 1) + 1, first * each)
        event = self._event("walsh_counts", (names, first, most, grain), (l1, l2_squared), spend)
        baskets = read_baskets(self._source, self.domain, names)
        true = walsh(truncated(baskets, count, most, grain), first)
        return self._noisy([event], [true])[0]

    def select_most(
        self,
        attributes: Iterable[str] | None = None,
        grid: Sequence[int] = (),
        *,
        penalties: Sequence[int],
        spend: Number | None = None,
    ) -> int:
        """Choose the limit `most` of `truncated_counts` from a public grid, so that few items are
        lost.

        This is the exponential mechanism with score -(items lost) - penalty, where a row of c items
        loses max(0, c - most). Losses that all values share make no difference to the choice. So
        only losses beyond those of the largest value b of the grid count: max(0, c - most) -
        max(0, c - b), which is from 0 to b - most. Adding a row lowers each score by this amount.
        So, with the smallest value a of the grid, the changes of two scores differ by at most
        b - a, for any number of items. Losses are cut off at 2**60, which does not increase the
        difference of any two of them.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        grid
            The values of `most` to choose from.
        penalties
            One whole number for each value, such as the sum of the noise that it will cause.

        Returns
        -------
        int
            The place of the chosen value in the grid.

        Raises
        ------
        DomainError
            When the grid or the penalties are not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, _ = self._universe(attributes)
        choices = self._grid(grid)
        penalty = whole("penalties", penalties, (choices.size,))
        units = self._units(spend)
        apart = int(choices.max() - choices.min())
        spread = self.budget.rows * max(1, apart)
        about = (names, tuple(choices.tolist()), tuple(penalty.tolist()))
        events = self._choices("select_most", about, (units,), spread)
        scores = -lost(read_baskets(self._source, self.domain, names), choices) - penalty
        mechanism = self.budget.selection(units, spread=spread)
        drawn = self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))
        return int(drawn[0])

    def select_scaled(
        self,
        attributes: Iterable[str] | None = None,
        grid: Sequence[int] = (),
        *,
        scales: Sequence[Number],
        penalties: Sequence[Sequence[int]],
        longest: int | None = None,
        grain: int = _GRAIN,
        spend: Number | None = None,
    ) -> tuple[int, int]:
        """Choose the limit `most` of `truncated_counts` and a factor >= 1 that scales up its
        counts.

        The exponential mechanism draws the pair. It prefers pairs whose scaled counts are close to
        the counts with the limit `longest`: the score is
        -(sum over items of |factor * T(most) - T(longest)|) - penalty. Here T(m) are the counts of
        `truncated_counts` with the limit m, in units of 1 / (grain * B), where B is the common
        denominator of the factors. (If `longest` is the number of items, T(longest) are the true
        counts, and this is DPSense-S of Day and Li 2015.)

        *Sensitivity.* Take the factor A / B. Adding a row of c items adds t to the count of each of
        its items with the limit `most`, and u with the limit `longest`, in units of 1 / grain. So
        each of c terms of the score changes by at most |A t - B u|. Here u >= t,
        c t <= grain * most and c u <= grain * longest. So the changes sum to at most
        c (A - B) t <= (A - B) grain * most upwards, and to at most c B u <= B grain * longest
        downwards. No score changes by more than D, the larger of the two, and the changes of two
        scores differ by at most 2 D. The sums are cut off at 2**60, which does not increase the
        difference of any two of them.

        Parameters
        ----------
        attributes, grain, spend
            See `truncated_counts`.
        grid
            The values of `most` to choose from, each at most `longest`.
        scales
            The factors to choose from, rational numbers >= 1.
        penalties
            A whole number for each value of the grid and each factor, in counts of one row: shape
            (grid, scales).
        longest
            The value of `most` to compare with; by default the largest value of the grid.

        Returns
        -------
        tuple of int
            The place of the chosen value in the grid, and the place of the chosen factor.

        Raises
        ------
        DomainError
            When an argument is not as described, or numbers are too large. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        # Check copies of the arguments.
        names, items = self._universe(attributes)
        choices = self._grid(grid)
        factors = [exact("a scale", scale) for scale in scales]
        if not factors or min(factors) < 1:
            raise DomainError(
                "scales must be one or more numbers >= 1, but they are "
                f"{shown([str(factor) for factor in factors])}; pass other scales"
            )
        top = int(choices.max()) if longest is None else positive_integer("longest", longest)
        if top < choices.max():
            raise DomainError(
                f"longest ({top}) must be at least every value of the grid, but the grid holds "
                f"{choices.max()}; pass a larger number"
            )
        denominator = lcm(*(factor.denominator for factor in factors))
        numerators = [int(factor * denominator) for factor in factors]
        grain = positive_integer("grain", grain)
        unit = grain * denominator
        self._check_grain(grain * max(numerators), top)
        penalty = whole("penalties", penalties, (choices.size, len(numerators)))
        if unit * int(np.abs(penalty).max()) > LARGEST_LOSS:
            raise DomainError(
                "penalties times grain times the common denominator of scales must be at most "
                "2**60, but the largest is more; use smaller penalties or a smaller grain"
            )

        # The largest change of a score, upwards and downwards.
        upwards = (max(numerators) - denominator) * grain * int(choices.max())
        bound = max(upwards, unit * top)
        spread = self.budget.rows * 2 * bound

        # Count, charge, draw. The counting function needs an ascending grid.
        units = self._units(spend)
        values = tuple(choices.tolist())
        costs = tuple(map(tuple, penalty.tolist()))
        about = (names, values, tuple(factors), top, grain, costs)
        events = self._choices("select_scaled", about, (units,), spread)
        order = np.argsort(choices, kind="stable")
        baskets = read_baskets(self._source, self.domain, names)
        gaps = np.empty(penalty.shape, np.int64)
        gaps[order] = scaled_gaps(
            baskets, items.sizes[0], choices[order], (numerators, denominator), top, grain
        )
        scores = (-gaps - unit * penalty).ravel()
        mechanism = self.budget.selection(units, spread=spread)
        drawn = self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))
        return divmod(int(drawn[0]), len(numerators))

    def select_items(
        self,
        attributes: Iterable[str] | None = None,
        *,
        count: int,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """Choose, at random, items that many rows hold.

        This is the exponential mechanism with the count of an item as its score. Items are chosen
        one after another, each among those not chosen yet. Adding a row raises each score by zero
        or one and lowers none, so the changes of two scores differ by at most one. Each choice is
        charged an equal part of what is spent.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        count
            Number of items to choose.

        Returns
        -------
        tuple of int
            Places of the chosen items, shape (count,), in the order of the choices.

        Raises
        ------
        DomainError
            When there are fewer items than `count`. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)
        if positive_integer("count", count) > items.sizes[0]:
            raise DomainError(
                f"count ({count}) must be at most the number of items, {items.sizes[0]}; pass a "
                "smaller number"
            )
        spread = self.budget.rows
        charges = split_units(self._units(spend), count)
        events = self._choices("select_items", (names, count), charges, spread)
        baskets = read_baskets(self._source, self.domain, names)
        scores = full_counts(baskets, items.sizes[0])
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())

    def chosen_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        chosen: Sequence[int],
        spend: Number | None = None,
    ) -> Marginal:
        """Noisy numbers of rows that hold each of k chosen items.

        All other items are not counted: they get zero, without noise. Adding a row changes each of
        the k counts by at most one: the sensitivity is k in the L1 norm and in the squared L2 norm.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        chosen
            Places of the items, each once. They must not depend on the data, except through results
            of `Private`.

        Returns
        -------
        Marginal
            The counts of all items.

        Raises
        ------
        DomainError
            When `chosen` is not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        names, items = self._universe(attributes)
        places = np.array(self._group(chosen, items.sizes[0]), np.int64)
        bounds = self.budget.sensitivity(
            l1=places.size,
            l2_squared=places.size,
        )
        event = self._event("chosen_counts", (names, tuple(places.tolist())), bounds, spend)
        baskets = read_baskets(self._source, self.domain, names)
        true = full_counts(baskets, items.sizes[0])[places]
        noisy = self._noisy([event], [true])[0]
        counts = np.zeros(items.sizes[0])
        variance = np.zeros(items.sizes[0])
        noise = event.noise
        counts[places] = noisy
        variance[places] = noise.variance
        return Marginal(items, counts, variance, noise_kurtosis=noise.kurtosis)

    def _universe(self, attributes: Iterable[str] | None) -> tuple[View, Domain]:
        """The names of the attributes that are items, and a domain for their counts.

        The domain has one attribute, whose categories are the items.
        """
        if len(self.domain) == 1 and callable(getattr(self._source, "baskets", None)):
            names = self.domain.view(self.domain if attributes is None else attributes)
            return names, self.domain
        names = self._items(self.domain if attributes is None else attributes)
        return names, Domain({"item": list(names)})

    def _group(
        self,
        group: Sequence[int],
        items: int,
    ) -> tuple[int, ...]:
        """Check that places of items are from 0 to items - 1, each once; the result is a tuple."""
        places = tuple(operator.index(item) if hasattr(item, "__index__") else -1 for item in group)
        repeated = len(set(places)) < len(places)
        if not places or repeated or min(places) < 0 or max(places) >= items:
            raise DomainError(
                f"a set must hold one or more places of items, from 0 to {items - 1}, each once, "
                f"but it holds {shown(group)}; name each item once by its place"
            )
        return places

    def _parts(
        self,
        groups: Sequence[int] | Integers,
        items: int,
    ) -> Groups:
        """Check that each item has a group, numbered from 0; the result holds a copy."""
        parts = Groups(np.array(groups))
        if parts.columns != items or parts.rows > items:
            raise DomainError(
                f"groups must have one number for each of the {items} items, below {items}, but "
                f"it has {parts.columns} numbers up to {parts.rows - 1}; pass the group of each "
                "item"
            )
        return parts

    def _grid(self, grid: Sequence[int]) -> Integers:
        """Check the values of a grid: positive whole numbers of at most 2**40; returns an array."""
        choices = [positive_integer("a value of the grid", most) for most in grid]
        if not choices or max(choices) > _LARGEST:
            found = f"holds {max(choices)}" if choices else "is empty"
            raise DomainError(
                f"grid must hold one or more values, each at most 2**40, but it {found}; pass "
                "other values"
            )
        return np.array(choices, np.int64)

    def _check_grain(
        self,
        grain: int,
        most: int,
    ) -> None:
        if grain * most > _LARGEST:
            raise DomainError(
                f"grain times most must be at most 2**40, but it is {grain * most}; use a smaller "
                "grain"
            )

    def _items_event(
        self,
        method: str,
        about: tuple[object, ...],
        bounds: tuple[int, int],
        spend: Number | None,
    ) -> Event:
        """Make the record of counts of items.

        `bounds` are the largest changes of the counts by one row, in L1 and in squared L2.
        """
        self._check_grain(bounds[0], 1)
        distances = self.budget.sensitivity(
            l1=bounds[0],
            l2_squared=bounds[1],
        )
        return self._event(method, about, distances, spend)

    def _noisy_items(
        self,
        event: Event,
        true: Integers,
        items: Domain,
        grain: int,
    ) -> Marginal:
        """Add the noise of an event to true counts in units of 1 / grain; the result is in rows."""
        noisy = self._noisy([event], [true])[0]
        noise = event.noise
        variance = np.full(noisy.shape, noise.variance / grain**2)
        return Marginal(items, noisy / grain, variance, noise_kurtosis=noise.kurtosis)

    def _event(
        self,
        method: str,
        about: tuple[object, ...],
        bounds: tuple[int, int],
        spend: Number | None,
    ) -> Event:
        """Make the record of one answer with noise.

        `bounds` are the largest distances between the true answers of neighbouring tables, in L1
        and in squared L2.
        """
        units = self._units(spend)
        l1, l2_squared = bounds
        noise = self.budget.noise(
            units,
            l1=l1,
            l2_squared=l2_squared,
        )
        return Event(
            method=method,
            about=about,
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
        )
