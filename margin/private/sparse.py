"""Noisy cells of views too large to be written out."""

from collections.abc import Iterable

from .._numbers import Number, positive_integer
from ..event import Event
from .counts import cells_of, nonzero_cells
from .gate import Gate
from .sparse_noise import MAX_CELLS, SparseCells, check_threshold, noisy_large_cells

__all__ = ["Sparse"]


class Sparse(Gate):
    """The part of `Private` that adds noise to huge views."""

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
            See `Private`.
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
