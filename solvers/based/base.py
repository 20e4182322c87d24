"""`Base`: a distribution over the whole array that is known from elsewhere."""

import math
from typing import Protocol

import numpy as np

from ..tables.tables import Axes
from ..types import Floats, Integers

__all__ = ["Base", "CountedBase", "positive_shares"]

_LEAST_CELLS = 0.5
"""Rows that are added to each category of a single axis, so that no share is zero."""

_INDEPENDENT = 20.0
"""Rows that are added to a marginal of a base, spread as if its axes were independent."""


class Base(Protocol):
    """A distribution over the whole array, which answers marginals.

    Attributes
    ----------
    rows
        The number of rows that the distribution was counted from, > 0.
    """

    @property
    def rows(self) -> float:
        """The number of rows that the distribution was counted from, > 0."""

    def marginals(self, asked: Integers, /) -> Floats:
        """The counts of marginals of one shape, >= 0, each of positive sum.

        Parameters
        ----------
        asked
            The axes of each marginal, ascending, shape (n, k).

        Returns
        -------
        ndarray of shape (n, ...)
        """

    def noise(self, asked: Integers, /) -> Floats:
        """The variances that noise causes in the shares of marginals, shaped like `marginals`."""


class CountedBase:
    """The base of a table whose rows are known.

    Parameters
    ----------
    sizes
        The number of categories of every axis.
    codes
        The different rows, shape (n, axes).
    weights
        How many times each of them occurs, > 0, shape (n,).

    Raises
    ------
    ValueError
        If these do not fit each other.

    Examples
    --------
    >>> base = CountedBase((2, 2), np.array([[0, 0], [1, 0]]), np.array([3, 1]))
    >>> base.rows, base.marginals(np.array([[0]])).tolist()
    (4.0, [[3.0, 1.0]])
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        codes: Integers,
        weights: Integers,
    ) -> None:
        fits = codes.shape == (len(weights), len(sizes)) and len(weights) > 0
        if not fits or (codes < 0).any() or (codes >= np.array(sizes)).any():
            raise ValueError(
                f"codes must have shape (n, {len(sizes)}) with n > 0 and lie below the sizes "
                f"{sizes}, but they have shape {codes.shape} or lie outside; correct them"
            )
        if weights.ndim != 1 or not (weights > 0).all():
            raise ValueError(
                "weights must be positive, one for each row, but they are not; leave other rows out"
            )
        self.sizes = sizes
        self.codes = codes
        self.weights = weights

    @property
    def rows(self) -> float:
        """The number of rows."""
        return float(self.weights.sum())

    def marginals(self, asked: Integers) -> Floats:
        """Count the rows in each cell of marginals; see `Base.marginals`."""
        return np.stack([self._counts(tuple(axes)) for axes in asked.tolist()])

    def noise(self, asked: Integers) -> Floats:
        """Zero: counted rows have no noise; see `Base.noise`."""
        shape = tuple(self.sizes[axis] for axis in asked[0].tolist())
        return np.zeros((len(asked), *shape))

    def _counts(self, axes: Axes) -> Floats:
        """Count the rows in each cell of one marginal."""
        shape = tuple(self.sizes[axis] for axis in axes)
        places = np.zeros(len(self.weights), dtype=np.int64)
        for axis, size in zip(axes, shape, strict=True):
            places = places * size + self.codes[:, axis]
        counted = np.bincount(places, self.weights, math.prod(shape))
        return counted.astype(np.float64).reshape(shape)


def positive_shares(base: Base, asked: Integers) -> Floats:
    """The shares of marginals of a base, all positive, shape (n, cells).

    Twenty rows are added, spread as if the axes were independent: a cell in which the base has no
    row may still hold some. `asked` are the axes of the marginals, ascending, shape (n, k).
    """
    counts = base.marginals(asked)
    axes = range(1, counts.ndim)
    counts = counts * (base.rows / counts.sum(axis=tuple(axes), keepdims=True))
    independent = np.ones(counts.shape)
    for place in axes:
        others = tuple(axis for axis in axes if axis != place)
        single = counts.sum(axis=others, keepdims=True) + _LEAST_CELLS
        independent = independent * (single / single.sum(axis=place, keepdims=True))
    mixed = (counts + _INDEPENDENT * independent).reshape(len(asked), -1)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))
