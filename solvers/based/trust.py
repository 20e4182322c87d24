"""How many rows a base is worth, for the moments of each component."""

import math
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..tables.tables import Axes, Tables
from ..types import Floats
from .base import Base, positive_shares

__all__ = ["learnt_trust"]

_MOST = 1e9
"""Largest number of rows that a base can be worth."""

_SCALES = 80
"""Number of values of 1 / (number of rows) that are tried."""

_STEPS = 60
"""Number of steps of the expectation-maximisation algorithm."""

_OUTLIERS = 0.05
"""Probability that a moment is not like the others of its component."""

_LARGEST = 10.0
"""Largest value of 1 / (number of rows)."""

_SPREAD = 0.02
"""Share of the prior that is spread evenly over all values that are tried."""

_VIEW_CELLS = 1 << 18
"""Largest number of cells of a view that is compared with the base; larger ones are not trusted."""


def learnt_trust(tables: Tables, base: Base) -> tuple[Floats, ...]:
    """Estimate how much each moment of each view may differ from that of a base.

    If the base were counted from n random rows of the truth, the difference of a moment would have
    the variance v + u / n: v is the variance of the noise, and u the variance of the moment's
    function over the rows of the base. The base is worth n rows for this moment.

    The estimate of 1 / n has three levels (nonparametric empirical Bayes: Kiefer and Wolfowitz,
    Annals of Mathematical Statistics 27, 1956). The values for all components on j axes are draws
    from one unknown distribution, which is estimated from these components by maximum likelihood,
    with a small share spread evenly over the logarithm. This gives a posterior for each component.
    The value for a single moment is a draw from this posterior, or with a small probability any
    value: so a base may be right about most of a table and wrong about some cells. The result is
    at least that of another sample of the same population.

    Parameters
    ----------
    tables
        Consistent tables. `Tables.unbiased` is compared if it is there.
    base
        The base.

    Returns
    -------
    tuple of ndarray
        For each view the values of 1 / n, one for each coefficient, shaped like the view's table.
        Views that share a component have the same values. That of the constant has no meaning.
    """
    if not tables.total > 0:
        return tuple(np.full(value.shape, _LARGEST) for value in tables.values)
    values = tables.values if tables.unbiased is None else tables.unbiased
    found: dict[Axes, _Compared] = {}
    for view, value in zip(tables.views, values, strict=True):
        _compare(tables, base, view, value, found)
    least = min(1 / base.rows + 1 / tables.total, 0.5)
    grid = np.exp(np.linspace(math.log(max(least, 1 / _MOST)), math.log(_LARGEST), _SCALES))
    scales: dict[Axes, Floats] = {(): np.full(1, _LARGEST)}
    for count in range(1, max(map(len, tables.views)) + 1):
        own = [axes for axes in found if len(axes) == count]
        if own:
            posteriors = _components_posterior([found[axes] for axes in own], grid)
            for axes, prior in zip(own, posteriors, strict=True):
                scales[axes] = found[axes].scales(prior, grid)
    return tuple(
        _assembled(view, value.shape, scales)
        for view, value in zip(tables.views, values, strict=True)
    )


class _Compared(NamedTuple):
    """The comparison of one component of a view with the base.

    Attributes
    ----------
    squares
        The squared differences of the moments, shape (m,).
    noise
        The variance of their noise.
    unit
        The variances of their functions over the rows of the base, shape (m,).
    """

    squares: Floats
    noise: float
    unit: Floats

    def log_likelihood(self, grid: Floats) -> Floats:
        """The log-density of each difference for each value of 1 / n, shape (m, grid)."""
        variance = self.noise + self.unit[:, None] * grid + 1e-300
        return np.asarray(-(self.squares[:, None] / variance + np.log(variance)) / 2)

    def scales(
        self,
        prior: Floats,
        grid: Floats,
    ) -> Floats:
        """The value of 1 / n of each moment that gives it its best weight, shape (m,).

        Given s = 1 / n, the best estimate moves from the base to the view by the part u s / (v + u
        s) of their difference. The result is the s with the posterior mean of this part.
        """
        log_density = self.log_likelihood(grid)
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        density *= (1 - _OUTLIERS) * prior + _OUTLIERS / len(grid)
        density /= density.sum(axis=1, keepdims=True)
        truth = self.unit[:, None] * grid + 1e-300
        part = (density * (truth / (self.noise + truth))).sum(axis=1)
        rest = np.maximum(1 - part, 1e-12)
        scale = part / rest * self.noise / np.maximum(self.unit, 1e-12)
        return np.asarray(np.clip(scale, grid[0], grid[-1]))


def _components(view: Axes) -> list[Axes]:
    """The components of a view, in the order of their bit masks."""
    sets: list[Axes] = [()]
    for axis in view:
        sets += [(*some, axis) for some in sets]
    return sets


def _compare(
    tables: Tables,
    base: Base,
    view: Axes,
    value: Floats,
    found: dict[Axes, _Compared],
) -> None:
    """Compare the components of a view with the base, and add those that are new to `found`."""
    if value.size > _VIEW_CELLS:
        return
    shares = positive_shares(base, np.array([view], dtype=np.int64))[0]
    basis = transform(value.shape)
    scale = math.sqrt(value.size)
    expected = basis.analyse(shares) * scale
    spread = np.maximum(basis.squares(shares) - expected**2, 0.0)
    squares = (basis.analyse(value.ravel()) * scale / tables.total - expected) ** 2
    precision = tables.component_precision(view)
    for mask, axes in enumerate(_components(view)):
        own = basis.component == mask
        if mask and axes not in found and own.any():
            noise = float(1 / (precision[mask] * tables.total**2))
            found[axes] = _Compared(squares[own], noise, spread[own])


def _components_posterior(terms: list[_Compared], grid: Floats) -> Floats:
    """The posterior of 1 / n of each component, shape (components, grid)."""
    log_likelihood = np.stack([one.log_likelihood(grid).sum(axis=0) for one in terms])
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    prior = np.full(len(grid), 1 / len(grid))
    posterior: Floats = likelihood
    for _ in range(_STEPS):
        posterior = likelihood * prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = (1 - _SPREAD) * posterior.mean(axis=0) + _SPREAD / len(grid)
    return posterior


def _assembled(
    view: Axes,
    shape: tuple[int, ...],
    scales: dict[Axes, Floats],
) -> Floats:
    """The values of one view, shaped like its table; large where nothing was compared."""
    component = transform(shape).component
    values = np.full(component.shape, _LARGEST)
    for mask, axes in enumerate(_components(view)):
        if axes in scales:
            values[component == mask] = scales[axes]
    return values.reshape(shape)
