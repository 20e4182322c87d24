"""Problems of marginals relative to a base that is trusted differently for each moment."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..reconstruct.batch import Batch
from ..types import Floats

__all__ = ["LEAST_RIDGE", "Relative", "relative", "spreads"]

LEAST_RIDGE = 1e-10
"""Smallest ridge; see `Penalised.ridges`."""

_LEAST_SCALE = 1e-9
"""Smallest 1 / (number of rows that a base is worth)."""

_LEAST_SPREAD = 1e-12
"""Smallest variance of a moment's function over the rows of a base that is divided by."""


class Relative(NamedTuple):
    """Problems relative to a base; the last two arrays have an entry for each known moment.

    Attributes
    ----------
    batch
        The problems. Their targets are the noisy moments, moved towards the base.
    noisy
        The same problems without the base: the noisy moments and their variances.
    follows
        The parts by which the targets follow the noisy moments.
    scales
        The scales of the base in the problems.
    """

    batch: Batch
    noisy: Batch
    follows: Floats
    scales: Floats


def relative(
    noisy: Batch,
    shares: Floats,
    scales: Floats,
) -> Relative:
    """State problems relative to a base whose trust differs between moments.

    Let s be the scale 1 / (number of rows that the base is worth) of a moment, u the variance of
    its function over the rows of the base, and v the variance of its noise. `Newton` with the
    ridge v / S computes the most probable truth if the covariance of all moments of the truth
    about the base is S times that over the rows of the base. S is one number for a marginal: the
    mean of its scales, each weighted with the variance that the noisy moment leaves open.

    A moment with a smaller scale is nearer to the base than S says. This is the same as one more
    measurement of it, whose value is that of the base, with the precision (1 / s - 1 / S) / u. The
    target is the mean of the two measurements, weighted by precision, and its variance that of
    the mean. Without this, what changes in moments that are not trusted would move those that are.
    A moment with a larger scale has the ridge v / s.

    Parameters
    ----------
    noisy
        The problems without the base.
    shares
        The shares of the base, positive, shape (n, cells).
    scales
        The scale of each known moment of the problems.
    """
    count = len(noisy)
    means, spread = spreads(noisy.shape, shares)
    owner = np.repeat(np.arange(count), np.diff(noisy.offsets))
    mean = means[owner, noisy.index]
    unit = spread[owner, noisy.index]
    scales = np.maximum(scales, _LEAST_SCALE)
    # The scale S of each marginal.
    left = unit * noisy.variance / np.maximum(noisy.variance + unit * scales, 1e-300)
    sums = np.bincount(owner, left * scales, count)
    common = sums / np.maximum(np.bincount(owner, left, count), 1e-300)
    common = np.maximum(common, _LEAST_SCALE)[owner]
    # The second measurement of moments that are trusted more.
    precision = np.maximum(1 / scales - 1 / common, 0.0) / np.maximum(unit, _LEAST_SPREAD)
    follows = 1 / (1 + noisy.variance * precision)
    effective = np.maximum(scales, common)
    batch = dataclasses.replace(
        noisy,
        target=mean + follows * (noisy.target - mean),
        # The base has no noise.
        variance=noisy.variance * follows**2,
        base=shares,
        ridge=np.maximum(noisy.variance * follows / effective, LEAST_RIDGE),
    )
    return Relative(batch, noisy, follows, effective)


def spreads(shape: tuple[int, ...], shares: Floats) -> tuple[Floats, Floats]:
    """The moments of distributions, and the variances of their functions: shapes (n, cells)."""
    basis = transform(shape)
    means = basis.analyse(shares) * math.sqrt(basis.cells)
    return means, np.maximum(basis.squares(shares) - means**2, 0.0)
