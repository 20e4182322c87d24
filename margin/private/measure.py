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
    """The part of `Private` that counts views with noise: its method `measure`."""

    def measure(
        self,
        views: Iterable[Iterable[str]],
        *,
        shares: Sequence[Number] | None = None,
        spend: Number | None = None,
    ) -> tuple[Marginal, ...]:
        """Count the rows in each cell of some views, with independent noise in each cell.

        Adding a row changes one cell of a view's table by one, so the sensitivity is 1 in the L1
        norm and in the L2 norm. If a view is charged e of pure differential privacy, it gets
        discrete Laplace noise of scale 1 / e. If it is charged r of zCDP, it gets discrete Gaussian
        noise of variance parameter 1 / (2 r) (Canonne, Kamath and Steinke 2020). The charges of the
        views sum exactly to the amount that is spent. Zero cells get noise like all other cells,
        and the cells are those of the declared domain. So only the counts depend on the rows.

        If the first call spends all of an `ApproxDP` budget, without a ledger, nothing else is ever
        answered. Then the noise is computed from the distribution of the privacy loss
        (`ApproxDP.at_once`), and `Private.spent` becomes a `CertifiedDP` budget.

        Parameters
        ----------
        views
            The views to measure.
        shares
            A positive weight for each view: its share of the amount that is spent. The default is
            equal shares.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        tuple of Marginal
            The noisy table of each view.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or the number of shares is not the number of
            views. Nothing is charged.
        BudgetError
            When nothing is left, or a share is less than one unit. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        checked = self._views(views)
        if shares is not None and len(shares) != len(checked):
            raise DomainError(
                f"{len(shares)} shares are given for {len(checked)} views; give one for each"
            )

        # The noise of each view.
        units = self._units(spend)
        parts = len(checked) if shares is None else shares
        charges = split_units(units, parts)
        l1, l2_squared = self.budget.sensitivity()
        together = self._is_all(units)
        if together:
            noises = self.budget.counts_at_once(parts)
        else:
            bought = {charge: self.budget.count_noise(charge) for charge in set(charges)}
            noises = tuple(bought[charge] for charge in charges)
        events = [
            Event(
                method="measure",
                about=view,
                units=charge,
                sampler=noise,
                l1=l1,
                l2_squared=l2_squared,
                together=together,
            )
            for view, charge, noise in zip(checked, charges, noises, strict=True)
        ]

        # Count, charge, draw.
        tables = self._tables(checked)
        noisy = self._noisy(events, tables)
        return tuple(
            Marginal(
                self.domain.restrict(view),
                counts.astype(np.float64),
                np.full(counts.shape, noise.variance),
                noise_kurtosis=noise.kurtosis,
            )
            for view, noise, counts in zip(checked, noises, noisy, strict=True)
        )
