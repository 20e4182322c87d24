"""Noisy tables of views."""

from collections.abc import Iterable, Sequence

import numpy as np

from .._numbers import Number
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..privacy.event import Event
from ..privacy.split import split_units
from .gate import Gate

__all__ = ["Measures"]


class Measures(Gate):
    """The part of `Private` that adds noise to tables."""

    def measure(
        self,
        views: Iterable[Iterable[str]],
        *,
        shares: Sequence[Number] | None = None,
        spend: Number | None = None,
    ) -> tuple[Marginal, ...]:
        """The tables of some views, each cell with independent noise.

        Adding a row changes one cell of a view's table by one, so its sensitivity is 1 in the L1 as
        in the L2 norm. A view that is charged e of pure differential privacy gets discrete Laplace
        noise of scale 1 / e, one that is charged r of zCDP discrete Gaussian noise of variance
        parameter 1 / (2 r) (Canonne, Kamath and Steinke 2020); the charges of the views add up to
        what is spent, exactly. Zero cells get noise like all others, and the cells are those of the
        declared domain, so nothing but the counts depends on the rows.

        A first call that spends all of an `ApproxDP` budget, without a ledger, is all that is ever
        answered: its noise is bought by the distribution of its privacy loss (`ApproxDP.at_once`),
        and `Private.spent` tells.

        Parameters
        ----------
        views
            The views to measure.
        shares
            Their parts of what is spent, positive, in proportion; equal when not given.
        spend
            See `Private`.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or shares are not as many as views. Nothing is
            charged.
        BudgetError
            When nothing is left, or a share comes to nothing. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        checked = self._views(views)
        if shares is not None and len(shares) != len(checked):
            raise DomainError(
                f"{len(shares)} shares are given for {len(checked)} views; give one for each"
            )
        units, parts = self._units(spend), len(checked) if shares is None else shares
        charges = split_units(units, parts)
        l1, l2_squared = self.budget.sensitivity()
        if together := self._is_all(units):
            noises = self.budget.counts_at_once(parts)
        else:
            bought = {charge: self.budget.count_noise(charge) for charge in set(charges)}
            noises = tuple(bought[charge] for charge in charges)
        events = [
            Event(
                method="measure",
                about=view,
                units=c,
                sampler=noise,
                l1=l1,
                l2_squared=l2_squared,
                together=together,
            )
            for view, c, noise in zip(checked, charges, noises, strict=True)
        ]
        tables = self._tables(checked)
        noisy = self._answer(events, tables, lambda: self._add_noise(events, tables))
        return tuple(
            Marginal(
                self.domain.restrict(view),
                counts.astype(np.float64),
                np.full(counts.shape, noise.variance),
            )
            for view, noise, counts in zip(checked, noises, noisy, strict=True)
        )
