"""Marginals that a view holds, improved by a base."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..reconstruct.batch import Batch, Solutions
from ..reconstruct.sums import Sums
from ..types import Floats
from .relative import Relative, spreads

__all__ = ["Mixture", "held_solutions", "held_sums", "mixture", "own_covariance"]


_EVEN = 0.25
"""Share of the variance of a table that is spread evenly over its cells."""


class Mixture(NamedTuple):
    """How n marginals are mixed; every attribute but `without` has shape (n,).

    Attributes
    ----------
    weight
        The weight of the estimate with the base.
    scale
        The factor from `undetermined` to the posterior variance of this estimate.
    risk
        The mean square error of a cell of the mixture, in squared counts.
    without
        The tables without the base, shape (n, cells).
    """

    weight: Floats
    scale: Floats
    risk: Floats
    without: Floats

    def tables(self, based: Solutions) -> Floats:
        """The mixtures with the estimates with the base, shape (n, cells)."""
        weight = self.weight[:, None]
        table = based.table.reshape(self.without.shape)
        return _between(weight, self.without, np.where(weight > 0, table, 0.0))


def held_solutions(
    problems: Relative,
    based: Solutions,
    variances: Floats,
    left: Floats,
    most: float,
) -> Solutions:
    """Mix marginals of views with their estimates relative to a base.

    Let y be the noisy moments of a marginal, x the estimates with the base, and d the parts by
    which x follows y. The mixture y + w (x - y) has the expected squared error sum v + w ** 2 |x -
    y| ** 2 - 2 w sum v (1 - d), by Stein's unbiased estimate (Annals of Statistics 9, 1981). So w =
    sum v (1 - d) / |x - y| ** 2, at most 1: the weight falls where the base disagrees more than the
    noise explains. The removal of negative counts has left a part of the noise in y, so v is
    multiplied by this part.

    Parameters
    ----------
    problems
        The problems relative to the base; all their moments are known.
    based
        Their solutions.
    variances
        The variance of each cell of the views' own marginals, shape (n,).
    left
        The part of the noise that the removal of negative counts left in each marginal, shape (n,).
    most
        The largest weight; a marginal of few moments tells too little about its own.

    Returns
    -------
    Solutions
        `undetermined` is the missed variance itself. All cells together have at least the expected
        squared error above.
    """
    count = len(problems.batch)
    mixed = mixture(problems, based, variances, left, most)
    weight = mixed.weight[:, None]
    noise, posterior = _variances(based, mixed, count)
    noise = _between(weight, variances[:, None], noise)
    whole = _between(weight, variances[:, None], posterior)
    # The base may be less right than its trust says: at least the estimated error.
    mean = np.maximum(whole.mean(axis=1), 1e-300)
    whole = whole * np.maximum(mixed.risk / mean, 1.0)[:, None]
    # Small cells are less certain than in proportion to their size.
    whole = _between(_EVEN, whole, whole.mean(axis=1, keepdims=True))
    result = mixed.tables(based)
    missed = np.maximum(whole - noise, 0.0)
    zeros = problems.batch.zeros
    if zeros is not None:
        for part in (result, noise, missed):
            part[zeros] = 0.0
    shape = based.table.shape
    return dataclasses.replace(
        based,
        table=result.reshape(shape),
        statuses=np.zeros_like(based.statuses),
        variance=noise.reshape(shape),
        undetermined=missed.reshape(shape),
    )


def held_sums(
    problems: Relative,
    based: Solutions,
    sums: Sums,
    weights: Floats,
    left: Floats,
    most: float,
) -> Sums:
    """Weighted sums of the cells of one marginal of `held_solutions`.

    Parameters
    ----------
    problems, based, left, most
        See `held_solutions`, with one problem.
    sums
        The sums of the solution relative to the base.
    weights
        The weights of the cells, shape (cells, q).
    """
    noisy = problems.noisy
    own = own_covariance(noisy, weights)
    variances = np.array([_moment_errors(noisy).sum() / noisy.cells**2])
    mixed = mixture(problems, based, variances, left, most)
    share = mixed.weight[0]
    _, posterior = _variances(based, mixed, 1)
    mean = _between(share, variances[0], posterior.mean())
    excess = max(mixed.risk[0] / max(mean, 1e-300), 1.0)
    noise_of_sums = _between(share, own, sums.variance)
    beyond = _nonnegative(sums.undetermined * mixed.scale[0] - sums.variance)
    missed = (excess - 1) * noise_of_sums + excess * share * beyond
    # The part that is spread evenly over the cells, which does not change their total.
    centred = weights - weights.mean(axis=0)
    even = excess * mean * centred.T @ centred
    table = mixed.tables(based)[0]
    return dataclasses.replace(
        sums,
        table=table,
        estimate=table @ weights,
        variance=noise_of_sums,
        undetermined=np.asarray(missed + _EVEN * even),
    )


def own_covariance(batch: Batch, weights: Floats) -> Floats:
    """The covariance of the noise of a view's own sums of cells: shape (q, q).

    Parameters
    ----------
    batch
        One problem, all of whose moments are known.
    weights
        The weights of the cells, shape (cells, q).
    """
    # The sums are linear in the moments, whose errors are independent.
    basis = transform(batch.shape)
    factors = basis.analyse(np.ascontiguousarray(weights.T)) / math.sqrt(batch.cells)
    return np.asarray((factors * _moment_errors(batch)) @ factors.T)


def _moment_errors(batch: Batch) -> Floats:
    """The error variances of the total and of the moments of one problem, in squared counts."""
    total = float(batch.total[0])
    return np.concatenate([batch.total_variance, batch.variance * total**2])


def mixture(
    problems: Relative,
    based: Solutions,
    variances: Floats,
    left: Floats,
    most: float = 1.0,
) -> Mixture:
    """The weights and errors of mixtures; see `held_solutions`."""
    batch, noisy = problems.batch, problems.noisy
    assert batch.ridge is not None
    count, cells = len(batch), batch.cells
    basis = transform(batch.shape)
    total = batch.total[:, None]
    target, noise, ridge, follows, scales = (
        values.reshape(count, -1)
        for values in (noisy.target, noisy.variance, batch.ridge, problems.follows, problems.scales)
    )
    solved = np.array([one.status.ok for one in based])
    shares = np.where(solved[:, None], based.table.reshape(count, -1) / total, 1 / cells)
    means, spread = (values[:, 1:] for values in spreads(batch.shape, shares))
    gain = (noise * (1 - follows * spread / (spread + ridge))).sum(axis=1)
    distance = ((means - target) ** 2).sum(axis=1)
    weight = np.clip(left * gain / np.maximum(distance, 1e-300), 0.0, most)
    weight = np.where(solved, weight, 0.0)
    # The mean of the scales, each weighted with the variance that the targets leave open.
    open_part = spread * noise * follows
    open_part /= np.maximum(noise * follows + spread * scales, 1e-300)
    scale = (open_part * scales).sum(axis=1) / np.maximum(open_part.sum(axis=1), 1e-300)
    risk = variances - weight * gain * batch.total**2 / cells**2
    moments = np.concatenate([np.ones((count, 1)), target], axis=1)
    without = basis.synthesise(moments) / math.sqrt(cells) * total
    return Mixture(weight, scale, risk, without)


def _variances(
    based: Solutions,
    mixed: Mixture,
    count: int,
) -> tuple[Floats, Floats]:
    """The noise part and the whole variance of the estimates with the base, shape (n, cells)."""
    assert based.variance is not None and based.undetermined is not None
    noise = np.nan_to_num(based.variance.reshape(count, -1))
    undetermined = np.nan_to_num(based.undetermined.reshape(count, -1))
    return noise, np.maximum(undetermined * mixed.scale[:, None], noise)


def _nonnegative(covariance: Floats) -> Floats:
    """A covariance matrix from a symmetric one; its diagonal stays, but for numbers below zero."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    own = np.maximum(np.diag(clipped), 1e-300)
    factors = np.sqrt(np.maximum(np.diag(covariance), 0.0) / own)
    return np.asarray(clipped * np.outer(factors, factors))


def _between(
    weight: Floats | float,
    first: Floats,
    second: Floats,
) -> Floats:
    """The mixture of two arrays; `weight` is that of the second."""
    return np.asarray((1 - weight) * first + weight * second)
