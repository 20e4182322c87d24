"""`Private`: the only door to the data. What is true stays behind it; only noisy things come out.

Every method checks its arguments, counts, charges, and only then draws. What is said below of a neighbouring table, of
rows m that a person may have, and of rows that are replaced, is carried through by `Budget.sensitivity`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ._counts import cells_of, digest, gaps, items, nonzero_cells, truncated, whole
from ._gate import Chargeable, Gate
from ._numbers import Number, positive_integer
from ._selection import peel
from ._sparse import MAX_CELLS, SparseCells, check_threshold, noisy_large_cells
from ._split import split_units
from .domain import Domain
from .errors import BudgetError, DomainError
from .event import Event
from .marginal import Marginal

__all__ = ["Chargeable", "Private"]

Integers = npt.NDArray[np.int64]

_LARGEST_WEIGHT = 1 << 20


class Private(Gate):
    """A table that can only be measured with noise, and only within a budget.

    The guarantee holds for everything that comes out of this object together, for any two tables that
    `budget.neighbours` says are neighbours.

    Every method takes `spend`: its part of the whole budget, such as "1/3" or 0.5, rounded down to 1e-12; all that is
    left when not given. Charges add up (sequential composition), also when each is chosen after seeing earlier answers.
    Errors that an argument causes come before anything is charged.

    Parameters
    ----------
    source
        Where the rows are. No other object keeps a reference to it.
    domain
        What the rows may hold.
    budget
        What may be spent in all.
    entropy
        Where noise comes from.
    ledger
        Charged with the whole budget once, before the first draw.
    """

    def measure(
        self,
        views: Iterable[Iterable[str]],
        *,
        shares: Sequence[Number] | None = None,
        spend: Number | None = None,
    ) -> tuple[Marginal, ...]:
        """The tables of some views, each cell with independent noise.

        Adding a row changes one cell of a view's table by one, so its sensitivity is 1 in the L1 as in the L2 norm. A
        view that is charged e of pure differential privacy gets discrete Laplace noise of scale 1 / e, one that is
        charged r of zCDP discrete Gaussian noise of variance parameter 1 / (2 r) (Canonne, Kamath and Steinke 2020);
        the charges of the views add up to what is spent, exactly. Zero cells get noise like all others, and the cells
        are those of the declared domain, so nothing but the counts depends on the rows.

        Parameters
        ----------
        views
            The views to measure.
        shares
            Their parts of what is spent, positive, in proportion; equal when not given.
        spend
            See above.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or shares are not as many as views. Nothing is charged.
        BudgetError
            When nothing is left, or a share comes to nothing. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        checked = self._views(views)
        if shares is not None and len(shares) != len(checked):
            raise DomainError(f"{len(shares)} shares are given for {len(checked)} views; give one for each")
        charges = split_units(self._units(spend), len(checked) if shares is None else shares)
        l1, l2_squared = self.budget.sensitivity()
        noise = {charge: self.budget.noise(charge, l1=l1, l2_squared=l2_squared) for charge in set(charges)}
        events = [
            Event(method="measure", about=view, units=c, sampler=noise[c], l1=l1, l2_squared=l2_squared)
            for view, c in zip(checked, charges, strict=True)
        ]
        tables = self._tables(checked)
        noisy = self._answer(events, tables, lambda: self._add_noise(events, tables))
        return tuple(
            Marginal(self.domain.restrict(view), counts.astype(np.float64), np.full(counts.shape, noise[c].variance))
            for view, c, counts in zip(checked, charges, noisy, strict=True)
        )

    def select(
        self,
        candidates: Iterable[Iterable[str]],
        public: Sequence[object],
        *,
        count: int = 1,
        weights: Sequence[int] | None = None,
        penalties: Sequence[int] | None = None,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """The views that public answers are furthest from: places of `count` candidates, chosen one after another.

        The exponential mechanism with score weight * (|table - public|_1 - penalty). Public answers are rounded to
        integers first, so that scores are integers. Adding a row changes one cell of each table by one, hence each
        distance by at most one up or down and each score by at most the largest weight w: the changes of two scores are
        at most 2 w apart. Each choice is charged an equal part of what is spent.

        Parameters
        ----------
        candidates
            The views to choose from.
        public
            For each view an array of its shape, or a Marginal, made without looking at the data but through `Private`.
        count
            How many to choose.
        weights, penalties
            For each view whole numbers: from 0 to 2**20; of at most 2**40 in size. One and zero when not given.
        spend
            See the class.
        """
        views = self._views(candidates)
        wanted = positive_integer("count", count)
        if len(public) != len(views) or wanted > len(views):
            raise DomainError(f"{len(views)} candidates need as many public answers, and a count of at most as many")
        arrays = [whole("a public answer", array, self.domain.shape(v)) for array, v in zip(public, views, strict=True)]
        weight = whole("weights", np.ones(len(views), int) if weights is None else weights, (len(views),))
        penalty = whole("penalties", np.zeros(len(views), int) if penalties is None else penalties, (len(views),))
        if sum(np.abs(array).sum(dtype=np.float64) for array in arrays) > 2**40:
            raise DomainError("public answers must not add up to more than 2**40")
        if weight.min() < 0 or not 1 <= weight.max() <= _LARGEST_WEIGHT:
            raise DomainError("weights must be whole numbers from 0 to 2**20, not all zero")
        about = (tuple(views), digest(*arrays, weight, penalty))
        spread = 2 * self.budget.rows * int(weight.max())
        events = self._choices("select", about, split_units(self._units(spend), wanted), spread)
        scores = weight * (gaps(self._tables(views), arrays) - penalty)
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())

    def sample_queries(
        self,
        views: Iterable[Iterable[str]],
        public: npt.ArrayLike,
        *,
        multiplier: int,
        size: int,
        negations: bool = False,
        spend: Number | None = None,
    ) -> Integers:
        """Independent draws of cells, by the exponential mechanism with score multiplier * count - public.

        The queries are all cells of the views, one view after another, each in the order of its table; then, with
        `negations`, for each cell the rows that are *not* in it, counted as such. A row added raises each of these
        counts by zero or one and lowers none: the changes of two scores are at most `multiplier` apart. (Dual Query
        (Gaboardi et al. 2014) draws in round t with multiplier t - 1 and, as public part, the sum of what its records
        so far answer, times a public number of rows.) Each draw is charged an equal part of what is spent; less than
        one unit a draw is left over.

        Parameters
        ----------
        views
            Whose cells are the queries.
        public
            An integer array (queries,).
        multiplier
            A whole number from 1 to 2**20.
        size
            How many to draw.
        negations
            Whether each query's negation is one too.
        spend
            See the class.

        Returns
        -------
        numpy.ndarray
            Places of queries, shape (size,).
        """
        checked = self._views(views)
        factor, draws = positive_integer("multiplier", multiplier), positive_integer("size", size)
        if factor > _LARGEST_WEIGHT:
            raise DomainError("multiplier must be at most 2**20")
        queries = sum(map(self.domain.cells, checked)) * (2 if negations else 1)
        offset = whole("public", public, (queries,))
        units = self._units(spend) // draws
        if units < 1:
            raise BudgetError(f"{draws} draws get less than one unit of the budget each: draw fewer or spend more")
        spread = self.budget.rows * factor
        about = (tuple(checked), factor, negations, draws, digest(offset))
        events = self._choices("sample_queries", about, (units,) * draws, spread)
        counts = [table.ravel() for table in self._tables(checked)]
        if negations:
            counts += [table.sum() - table for table in counts]
        scores = factor * np.concatenate(counts) - offset
        mechanism = self.budget.selection(units, spread=spread)
        return self._answer(events, [scores], lambda: mechanism.draw(scores, draws, self._entropy))

    def sparse_cells(self, view: Iterable[str], *, threshold: int, spend: Number | None = None) -> SparseCells:
        """The cells of a huge view whose noisy count is at least a threshold.

        As if discrete Laplace noise were added to each cell, of which there may be 2**62, and the results below the
        threshold were dropped, which is post-processing (the filter of Cormode, Procopiuc, Srivastava and Tran 2012).
        The sensitivity is that of `measure`. A budget of zCDP buys epsilon = sqrt(2 rho), rounded down.

        Parameters
        ----------
        view
            The attributes.
        threshold
            A whole number >= 1, chosen without looking at the data.
        spend
            See the class.
        """
        checked = self.domain.view(view)
        cells = cells_of(self.domain, checked, MAX_CELLS)
        least = positive_integer("threshold", threshold)
        units = self._units(spend)
        l1, l2_squared = self.budget.sensitivity()
        noise = self.budget.laplace(units, l1=l1)
        check_threshold(noise, cells, least)
        event = Event(
            method="sparse_cells", about=(checked, least), units=units, sampler=noise, l1=l1, l2_squared=l2_squared
        )
        true = nonzero_cells(iter(self._source.batches(self.domain)), self.domain, checked)
        kept = self._answer([event], [true], lambda: noisy_large_cells(noise, cells, true, least, self._entropy))
        return SparseCells(
            domain=self.domain.restrict(checked),
            cells=kept[0],
            counts=kept[1],
            threshold=least,
            variance=noise.variance,
        )

    def truncated_counts(
        self, attributes: Iterable[str], *, most: int, grain: int = 1 << 12, spend: Number | None = None
    ) -> Marginal:
        """How many rows hold each of many items, when a row of more than `most` items counts less for each of them.

        A row of c items adds one to each, or most / c when c > most (DPSense, Day and Li 2015), in whole multiples of 1
        / grain, rounded down. Adding a row changes the counts, in these units, by at most grain * most in L1 and
        grain**2 * most in squared L2, whatever the number of items. The noise is a whole number of units too.

        Parameters
        ----------
        attributes
            The items: attributes of two categories, of which the second says that the row holds it.
        most
            From how many items on a row counts less.
        grain
            Into how many units a count of one is divided.
        spend
            See the class.

        Returns
        -------
        Marginal
            Over one attribute named "item", whose categories are the attributes.
        """
        names = self._items(attributes)
        most, grain = positive_integer("most", most), positive_integer("grain", grain)
        if grain * min(most, len(names)) > _LARGEST_WEIGHT:
            raise DomainError("grain times most must be at most 2**20")
        units = self._units(spend)
        l1, l2_squared = self.budget.sensitivity(l1=grain * most, l2_squared=grain**2 * most)
        event = Event(
            method="truncated_counts",
            about=(names, most, grain),
            units=units,
            sampler=(noise := self.budget.noise(units, l1=l1, l2_squared=l2_squared)),
            l1=l1,
            l2_squared=l2_squared,
        )
        true = np.zeros(len(names), np.int64)
        for held in items(iter(self._source.batches(self.domain)), names):
            true += truncated(held, most, grain)
        noisy = self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]
        return Marginal(Domain({"item": list(names)}), noisy / grain, np.full(len(names), noise.variance / grain**2))

    def select_most(
        self, attributes: Iterable[str], grid: Sequence[int], *, penalties: Sequence[int], spend: Number | None = None
    ) -> int:
        """A good `most` for `truncated_counts`: the place in a public grid.

        The exponential mechanism with score -(items lost) - penalty, where a row of c items loses max(0, c - most). A
        row added lowers each score by 0 up to the number of attributes less the least of the grid, and raises none: the
        changes of two scores are at most that apart.

        Parameters
        ----------
        attributes
            See `truncated_counts`.
        grid
            What to choose from.
        penalties
            For each a whole number, such as the sum of the noise it will cause.
        spend
            See the class.
        """
        names = self._items(attributes)
        choices = np.array([positive_integer("a value of the grid", most) for most in grid], np.int64)
        penalty = whole("penalties", penalties, (choices.size,))
        if not choices.size:
            raise DomainError("the grid must hold at least one value")
        units = self._units(spend)
        spread = self.budget.rows * max(1, len(names) - int(choices.min()))
        events = self._choices(
            "select_most", (names, tuple(choices.tolist()), tuple(penalty.tolist())), (units,), spread
        )
        lost = np.zeros(choices.size, np.int64)
        for held in items(iter(self._source.batches(self.domain)), names):
            lost += np.maximum(held.sum(axis=1)[:, None] - choices, 0).sum(axis=0)
        scores = -lost - penalty
        mechanism = self.budget.selection(units, spread=spread)
        return int(self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))[0])
