"""What a base says beyond the views: its dependence that their tables do not explain."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..reconstruct.batch import Batch
from ..reconstruct.context import Reconstruction
from ..reconstruct.newton import Newton
from ..reconstruct.problem import Solver
from ..tables.consistency import ResidualConsistency
from ..tables.tables import Tables
from ..types import Floats, Integers
from .base import Base, positive_shares
from .relative import LEAST_RIDGE, spreads

__all__ = ["Beyond"]

_LEAST_SHARE = 1e-12
"""Smallest share of a cell that is divided by."""

_NOISE = 1e-6
"""Variance of the cells of the base's tables, as a part of their mean count.

Their noise is no reason to smooth them: what they say together is compared with the base itself.
"""

_DEVIATIONS = 1.0
"""Standard deviations of chance up to which a base is taken to say nothing."""

_JOINT_CELLS = 1 << 16
"""Cells of the whole array over which the base's tables are reconstructed.

Beyond it: each marginal has its own context. The base's tables have next to no noise, and where no
distribution fits all of them, sweeps over a large array hardly move.
"""

_TIGHT = 1e-3
"""Ridge of the known moments, as a part of their variance: they stay."""


class Beyond:
    """Adds to reconstructions the dependence between axes that a base has beyond the views.

    The base has a table for each view, too. Let r be the reconstruction of a marginal from these
    tables, b the marginal of the base itself, and a the reconstruction from the noisy tables. Then
    b / r is what the tables of the views do not tell about the base. The result is the distribution
    nearest to a b / r, in divergence, that has the known moments of a. A base whose dependence is
    told by the views changes nothing, even if it is wrong.

    Parameters
    ----------
    tables
        The tables of the views; only their axes and their zeros count.
    base
        The base.
    solver
        The solver of reconstructions.
    """

    def __init__(
        self,
        tables: Tables,
        base: Base,
        solver: Solver,
    ) -> None:
        self.base = base
        values = []
        for view, value in zip(tables.views, tables.values, strict=True):
            asked = np.array([view], dtype=np.int64)
            shares = positive_shares(base, asked)[0] if view else np.ones(1)
            values.append(base.rows * shares.reshape(value.shape))
        own = Tables(
            sizes=tables.sizes,
            views=tables.views,
            values=tuple(values),
            variances=tuple(_NOISE * base.rows / value.size for value in values),
            zeros=tables.zeros,
        )
        if isinstance(solver, Newton):
            solver = dataclasses.replace(solver, bars=False)
        self._of_base = Reconstruction(
            ResidualConsistency()(own),
            solver,
            joint_cells=_JOINT_CELLS,
        )
        self._last: tuple[bytes, tuple[Floats, Floats]] | None = None

    def problems(
        self,
        batch: Batch,
        asked: Integers,
        alone: Floats,
    ) -> Batch:
        """The problems whose solutions have what the base says beyond the views.

        Parameters
        ----------
        batch
            The problems without the base.
        asked
            The axes of the marginals, shape (n, k).
        alone
            Their reconstructions without what the base says beyond the views, shape (n, ...).
        """
        shares, plain = self._shares(asked)
        own = alone.reshape(shares.shape)
        own = np.maximum(own / own.sum(axis=1, keepdims=True), _LEAST_SHARE)
        reference = own * shares / plain
        ridge = np.maximum(_TIGHT * batch.variance, LEAST_RIDGE)
        return dataclasses.replace(
            batch,
            base=reference / reference.sum(axis=1, keepdims=True),
            ridge=ridge,
        )

    def sure(self, asked: Integers, known: NDArray[np.bool_]) -> Floats:
        """The part of what the base says beyond the views that is not chance, shape (n,).

        It is 1 - e / d, at least 0. Here d is the sum of the squares of the m unknown moments of
        b - r, and e what is expected of them because the base has few rows, or noise, plus one
        standard deviation of this: e times sqrt(2 / m), if the moments are normal.

        Parameters
        ----------
        asked
            The axes of the marginals, shape (n, k).
        known
            Which components the views hold, shape (n, 2 ** k).
        """
        shares, plain = self._shares(asked)
        shape = self.base.marginals(asked[:1]).shape[1:]
        basis = transform(shape)
        unknown = ~known[:, basis.component]
        moments = basis.analyse(shares - plain) ** 2 * basis.cells
        _, spread = spreads(shape, shares)
        noise = self.base.noise(asked).reshape(len(asked), -1).sum(axis=1) * basis.cells
        chance = (spread * unknown).sum(axis=1) / self.base.rows + noise * unknown.mean(axis=1)
        chance *= 1 + _DEVIATIONS * np.sqrt(2 / np.maximum(unknown.sum(axis=1), 1))
        size = (moments * unknown).sum(axis=1)
        return np.asarray(np.clip(1 - chance / np.maximum(size, 1e-300), 0.0, 1.0))

    def _shares(self, asked: Integers) -> tuple[Floats, Floats]:
        """The marginals b of the base and their reconstructions r, each of shape (n, cells)."""
        key = asked.tobytes() + bytes(asked.shape[1])
        if self._last is None or self._last[0] != key:
            shares = positive_shares(self.base, asked)
            plain = self._of_base.solve(asked).table.reshape(shares.shape)
            # Where the reconstruction fails, the base says nothing beyond the views.
            plain = np.where(np.isfinite(plain).all(axis=1, keepdims=True), plain, shares)
            plain = np.maximum(plain / plain.sum(axis=1, keepdims=True), _LEAST_SHARE)
            self._last = key, (shares, plain)
        return self._last[1]
