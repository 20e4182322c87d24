"""Counts of items that rows hold."""

import operator
from collections.abc import Iterable, Sequence
from math import isqrt, lcm

import numpy as np

from .._checks import positive_integer
from .._numbers import Number, exact
from .._types import Integers
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.event import Event
from ..privacy.split import split_units
from .counts import whole
from .gate import Gate
from .item_counts import LARGEST_LOSS, few_counts, lost, read_baskets, scaled_gaps, truncated, walsh

__all__ = ["Items"]

_GRAIN = 1 << 20
_LARGEST = 1 << 40  # of the L1 sensitivity in units, and of the number of units in a count


class Items(Gate):
    """The part of `Private` that counts items.

    Items are attributes of two categories, of which the second says that the row holds it; or the
    categories of the one attribute of a domain, for rows that are sets (`margin.sets`). Without
    names all of the domain are meant.
    """

    def truncated_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        most: int,
        grain: int = _GRAIN,
        spend: Number | None = None,
    ) -> Marginal:
        """How many rows hold each of many items, when a row of more than `most` items counts less
        for each of them.

        A row of c items adds one to each, or most / c when c > most (DPSense, Day and Li 2015), in
        whole units of 1 / grain: most * floor(grain / c). Adding a row changes the counts, in these
        units, by at most grain * most in L1 and grain**2 * most in squared L2, whatever the number
        of items. Counts are cut off at 2**61 units, which moves no two of them apart. The noise is
        a whole number of units too.

        Parameters
        ----------
        attributes
            The items.
        most
            From how many items on a row counts less.
        grain
            Into how many units a count of one is divided; well above the number of items in a row.
        spend
            See `Private`.

        Returns
        -------
        Marginal
            Over the items.
        """
        names, items = self._universe(attributes)
        most, grain = positive_integer("most", most), positive_integer("grain", grain)
        most = min(most, items.sizes[0])
        return self._noisy_items(
            "truncated_counts",
            names,
            items,
            (most, grain),
            (grain * most, grain**2 * most),
            spend,
            grain,
        )

    def sampled_counts(
        self, attributes: Iterable[str] | None = None, *, most: int, spend: Number | None = None
    ) -> Marginal:
        """How many rows hold each of many items, when each row keeps `most` of its items at most.

        Which it keeps, a hash of the items decides. Adding a row changes at most `most` counts by
        one: its sensitivity is `most` in the L1 norm and in the squared L2 norm.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        most
            How many items a row keeps.
        """
        names, items = self._universe(attributes)
        most = min(positive_integer("most", most), items.sizes[0])
        return self._noisy_items("sampled_counts", names, items, (most,), (most, most), spend, 1)

    def walsh_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        first: int,
        most: int,
        grain: int = _GRAIN,
        spend: Number | None = None,
    ) -> Integers:
        """The first Walsh coefficients of the counts of `truncated_counts`: sums of the counts with
        signs +1 and -1.

        The place of the Fourier transform of Rastogi and Nath (2010), in whole numbers. Adding a
        row changes n counts, n the next power of two, by at most q = grain**2 * most in squared L2
        and s = grain * most in L1. The full transform multiplies the squared L2 norm by n, and no
        coefficient changes by more than s: k of them change by at most min(n q, k s**2) in squared
        L2, and by at most the square root of k times that in L1. They are cut off at +-2**61, which
        moves no two of them apart, and in units of 1 / grain, with noise.

        Parameters
        ----------
        attributes, most, grain, spend
            See `truncated_counts`.
        first
            How many coefficients, of the lowest numbers of changes of sign.
        """
        names, items = self._universe(attributes)
        most, grain = positive_integer("most", most), positive_integer("grain", grain)
        count = items.sizes[0]
        size = 1 << (count - 1).bit_length()
        if positive_integer("first", first) > size:
            raise DomainError(
                f"there are {size} coefficients: first ({first}) must be at most that"
            )
        most = min(most, count)
        self._check_grain(grain, most)
        # Rows that are replaced may move a coefficient up and down: the second bound is on the sum
        # of their changes.
        _, full = self.budget.sensitivity(l2_squared=size * grain**2 * most)
        each = self.budget.rows * grain * most
        l2_squared = min(full, first * each**2)
        l1 = min(isqrt(first * l2_squared - 1) + 1, first * each)
        return self._noisy_walsh(names, count, (first, most, grain), (l1, l2_squared), spend)

    def select_most(
        self,
        attributes: Iterable[str] | None = None,
        grid: Sequence[int] = (),
        *,
        penalties: Sequence[int],
        spend: Number | None = None,
    ) -> int:
        """A good `most` for `truncated_counts`: the place in a public grid.

        The exponential mechanism with score -(items lost) - penalty, where a row of c items loses
        max(0, c - most). What all values lose makes no difference to a choice, so only what a value
        loses more than the largest of the grid, b, is counted: max(0, c - most) - max(0, c - b),
        from 0 to b - most. A row added lowers each score by that, so with a the least value of the
        grid the changes of two scores are at most b - a apart, whatever the number of items. What
        is lost is cut off at 2**60, which moves no two of them apart.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        grid
            What to choose from.
        penalties
            For each a whole number, such as the sum of the noise it will cause.
        """
        names, _ = self._universe(attributes)
        choices = self._grid(grid)
        penalty = whole("penalties", penalties, (choices.size,))
        units = self._units(spend)
        spread = self.budget.rows * max(1, int(choices.max() - choices.min()))
        events = self._choices(
            "select_most",
            (names, tuple(choices.tolist()), tuple(penalty.tolist())),
            (units,),
            spread,
        )
        scores = -lost(read_baskets(self._source, self.domain, names), choices) - penalty
        mechanism = self.budget.selection(units, spread=spread)
        return int(
            self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))[0]
        )

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
        """A good `most` for `truncated_counts` together with a factor >= 1 for its counts: their
        places.

        The exponential mechanism with score -(sum over items of |factor * T(most) - T(longest)|) -
        penalty, T as in `truncated_counts`, in units of 1 / (grain * B), B the common denominator
        of the factors. (With `longest` the number of items, T(longest) are the counts themselves,
        and this is DPSense-S of Day and Li 2015.)

        With factor A / B a row added of c items, of which `most` gives each a share t and `longest`
        a share u, changes each of c terms by |A t - B u| at most. u >= t, and c t <= grain * most,
        c u <= grain * longest, so that the changes add up to at most c (A - B) t <= (A - B) grain *
        most upwards and c B u <= B grain * longest downwards. No score changes by more than the
        larger of the two, D, and the changes of two scores are at most 2 D apart. The sums are cut
        off at 2**60, which moves no two of them apart.

        Parameters
        ----------
        attributes, grain, spend
            See `truncated_counts`.
        grid
            Values of `most`, at most `longest` each.
        scales
            The factors, rational.
        penalties
            A whole number for each value of the grid and each factor, in whole counts.
        longest
            The largest value of the grid when not given.

        Returns
        -------
        tuple
            The place in the grid and that of the factor.
        """
        names, items = self._universe(attributes)
        choices = self._grid(grid)
        factors = [exact("a scale", scale) for scale in scales]
        if not factors or min(factors) < 1:
            raise DomainError("scales must be one or more numbers >= 1")
        top = int(choices.max()) if longest is None else positive_integer("longest", longest)
        if top < choices.max():
            raise DomainError(f"longest ({top}) must be at least every value of the grid")
        denominator = lcm(*(factor.denominator for factor in factors))
        numerators = [int(factor * denominator) for factor in factors]
        grain = positive_integer("grain", grain)
        unit = grain * denominator
        self._check_grain(grain * max(numerators), top)
        penalty = whole("penalties", penalties, (choices.size, len(numerators)))
        if unit * int(np.abs(penalty).max()) > LARGEST_LOSS:
            raise DomainError(
                "penalties times grain times the factors' common denominator must be at most 2**60"
            )
        bound = max((max(numerators) - denominator) * grain * int(choices.max()), unit * top)
        units = self._units(spend)
        spread = self.budget.rows * 2 * bound
        about = (
            names,
            tuple(choices.tolist()),
            tuple(factors),
            top,
            grain,
            tuple(map(tuple, penalty.tolist())),
        )
        events = self._choices("select_scaled", about, (units,), spread)
        order = np.argsort(choices, kind="stable")
        baskets = read_baskets(self._source, self.domain, names)
        gaps = np.empty(penalty.shape, np.int64)
        gaps[order] = scaled_gaps(
            baskets, items.sizes[0], choices[order], (numerators, denominator), top, grain
        )
        scores = (-gaps - unit * penalty).ravel()
        mechanism = self.budget.selection(units, spread=spread)
        place = int(
            self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))[0]
        )
        return divmod(place, len(numerators))

    def select_items(
        self, attributes: Iterable[str] | None = None, *, count: int, spend: Number | None = None
    ) -> tuple[int, ...]:
        """Items that many rows hold: places of `count` of them, chosen one after another.

        The exponential mechanism with the count of an item as its score, peeling. Adding a row
        raises each score by zero or one and lowers none, so that the changes of two scores are at
        most one apart. Each choice is charged an equal part of what is spent.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        count
            How many to choose.
        """
        names, items = self._universe(attributes)
        if positive_integer("count", count) > items.sizes[0]:
            raise DomainError(f"there are {items.sizes[0]} items: {count} cannot be chosen")
        spread = self.budget.rows
        events = self._choices(
            "select_items", (names, count), split_units(self._units(spend), count), spread
        )
        baskets = read_baskets(self._source, self.domain, names)
        scores = np.bincount(baskets.items, minlength=items.sizes[0]).astype(np.int64)
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        return tuple(
            self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy)).tolist()
        )

    def chosen_counts(
        self,
        attributes: Iterable[str] | None = None,
        *,
        chosen: Sequence[int],
        spend: Number | None = None,
    ) -> Marginal:
        """How many rows hold each of a few items; all others count zero, without noise, for they
        are not looked at.

        Adding a row changes each of the k counts by one at most: the sensitivity is k in the L1
        norm and in the squared L2 norm.

        Parameters
        ----------
        attributes, spend
            See `truncated_counts`.
        chosen
            Their places, each once, found without looking at the data but through `Private`.
        """
        names, items = self._universe(attributes)
        places = np.array(self._group(chosen, items.sizes[0]), np.int64)
        bounds = self.budget.sensitivity(l1=places.size, l2_squared=places.size)
        event = self._event("chosen_counts", (names, tuple(places.tolist())), bounds, spend)
        baskets = read_baskets(self._source, self.domain, names)
        true = np.bincount(baskets.items, minlength=items.sizes[0]).astype(np.int64)[places]
        noisy = self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]
        counts, variance = np.zeros((2, items.sizes[0]))
        counts[places], variance[places] = noisy, event.sampler.variance  # type: ignore[union-attr]
        return Marginal(items, counts, variance)

    def _universe(self, attributes: Iterable[str] | None) -> tuple[View, Domain]:
        """The names asked for, and a domain of one attribute whose categories are the items."""
        if len(self.domain) == 1 and callable(getattr(self._source, "baskets", None)):
            names = self.domain.view(self.domain if attributes is None else attributes)
            return names, self.domain
        names = self._items(self.domain if attributes is None else attributes)
        return names, Domain({"item": list(names)})

    def _group(self, group: Sequence[int], items: int) -> tuple[int, ...]:
        """Places of items, checked."""
        places = tuple(operator.index(item) if hasattr(item, "__index__") else -1 for item in group)
        if not places or len(set(places)) < len(places) or min(places) < 0 or max(places) >= items:
            raise DomainError(f"a set must hold places of items, 0 ... {items - 1}, each once")
        return places

    def _grid(self, grid: Sequence[int]) -> Integers:
        """The values of a grid, checked."""
        choices = [positive_integer("a value of the grid", most) for most in grid]
        if not choices or max(choices) > _LARGEST:
            raise DomainError("the grid must hold at least one value, and none above 2**40")
        return np.array(choices, np.int64)

    def _check_grain(self, grain: int, most: int) -> None:
        if grain * most > _LARGEST:
            raise DomainError("grain times most must be at most 2**40")

    def _noisy_items(
        self,
        method: str,
        names: View,
        items: Domain,
        parameters: tuple[int, ...],
        bounds: tuple[int, int],
        spend: Number | None,
        grain: int,
    ) -> Marginal:
        """Counts of items in units of 1 / grain, with noise for bounds on what a row adds in L1 and
        squared L2."""
        self._check_grain(bounds[0], 1)
        l1, l2_squared = self.budget.sensitivity(l1=bounds[0], l2_squared=bounds[1])
        event = self._event(method, (names, *parameters), (l1, l2_squared), spend)
        baskets = read_baskets(self._source, self.domain, names)
        if method == "truncated_counts":
            true = truncated(baskets, items.sizes[0], *parameters)
        else:
            true = few_counts(baskets, items.sizes[0], *parameters)
        noisy = self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]
        variance = np.full(noisy.shape, event.sampler.variance / grain**2)  # type: ignore[union-attr]
        return Marginal(items, noisy / grain, variance)

    def _noisy_walsh(
        self,
        names: View,
        count: int,
        parameters: tuple[int, int, int],
        bounds: tuple[int, int],
        spend: Number | None,
    ) -> Integers:
        """The first Walsh coefficients, with noise for these bounds."""
        event = self._event("walsh_counts", (names, *parameters), bounds, spend)
        first, most, grain = parameters
        true = walsh(
            truncated(read_baskets(self._source, self.domain, names), count, most, grain), first
        )
        return self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]

    def _event(
        self, method: str, about: tuple[object, ...], bounds: tuple[int, int], spend: Number | None
    ) -> Event:
        """An answer with noise, for neighbours that are as far apart as these bounds in L1 and
        squared L2."""
        units = self._units(spend)
        l1, l2_squared = bounds
        noise = self.budget.noise(units, l1=l1, l2_squared=l2_squared)
        return Event(
            method=method, about=about, units=units, sampler=noise, l1=l1, l2_squared=l2_squared
        )
