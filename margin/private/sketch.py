"""Noisy count sketches."""

from collections.abc import Iterable

import numpy as np

from .._checks import positive_integer
from .._numbers import Number, shown
from .._types import Integers
from ..errors import DomainError
from ..privacy.event import Event
from ..sparse.hashing import buckets
from .gate import Gate

__all__ = ["Sketches"]


_MOST = 1 << 24  # largest number of buckets


class Sketches(Gate):
    """The part of `Private` that makes noisy sketches of a view: its method `sketch_counts`."""

    def sketch_counts(
        self,
        view: Iterable[str],
        *,
        rows: int,
        width: int,
        key: int,
        spend: Number | None = None,
    ) -> Integers:
        """Make a noisy count sketch of a view of any size.

        In each row of the sketch, a hash function puts each cell of the view into one of `width`
        buckets, with a sign. Adding a row of the data adds one or minus one to one bucket in each
        row of the sketch, so it changes `rows` counts by one. The sensitivity for neighbours that
        differ in m rows is at most m * rows in L1 and m**2 * rows in squared L2.

        Parameters
        ----------
        view
            The attributes of the view.
        rows, width
            The shape of the sketch.
        key
            A public number that determines the hash functions, from 0 to 2**63 - 1. It must not
            depend on the data.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        numpy.ndarray
            Noisy sums, integers of shape (rows, width).

        Raises
        ------
        DomainError
            When an argument is not as described, or rows times width is above 2**24. Nothing is
            charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        checked = self.domain.view(view)
        shape = positive_integer("rows", rows), positive_integer("width", width)
        if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < 1 << 63:
            raise DomainError(
                f"key ({shown(key)}) must be a whole number from 0 to 2**63 - 1; pass such a number"
            )
        if shape[0] * shape[1] > _MOST:
            raise DomainError(
                f"rows times width must be at most {_MOST}, but it is {shape[0] * shape[1]}; use a "
                "smaller sketch"
            )
        units = self._units(spend)
        l1 = self.budget.rows * shape[0]
        l2_squared = self.budget.rows**2 * shape[0]
        noise = self.budget.noise(
            units,
            l1=l1,
            l2_squared=l2_squared,
        )
        event = Event(
            method="sketch_counts",
            about=(checked, shape, key),
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
        )
        true = np.zeros(shape, np.int64)
        for batch in self._source.batches(self.domain):
            columns = [np.asarray(batch[name]) for name in checked]
            for row in range(shape[0]):
                where, sign = buckets(columns, shape[1], row, key)
                np.add.at(true[row], where, sign)
        return self._noisy([event], [true])[0]
