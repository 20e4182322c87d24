"""How much maximum entropy should be relaxed: `strength_for` the asked axes alone,
`strength_around` with context."""

import itertools

import numpy as np

from ..tables.tables import Tables
from .batch import Batch

_WEAK = 0.015
"""Mean square weights of pairs below this call for more than the usual strength."""

_STRONGEST = 300.0

_BALANCED = 0.25
"""Squared moments of single axes up to this are near enough to zero for what is said below of
errors."""

_PAIRS = 2_000
"""How many pairs are looked at, at most."""

_SHARE = 0.2
_SHARE_OF_MANY = 1.0
"""What part of a standard deviation, times r(j), a weight of one may move a moment: between binary
axes, and where some have more categories. Measured on generated tables: the optimum is flat between
0.2 and 0.7 for clicks, latent classes and Bayesian networks, and between 0 and 0.2 where attributes
are functions of others; between 0.5 and 3 otherwise."""

_LEAST_DEVIATION = 1e-9


def strength_for(tables: Tables) -> float | None:
    """The strength that suits consistent tables of positive total; None for the usual one.

    Where all axes are binary and balanced, the pairs that the views hold tell how large the weights
    are, the dual variables of maximum entropy: to first order theta = (m_ab - m_a m_b) / ((1 - m_a
    ** 2) (1 - m_b ** 2)), whose error variance is known. Let t be the mean of their squares less
    these variances, weighted by precision, plus two standard errors. Were the weights normal with
    variance t, a ridge of v / t for an error variance of v would be best on average: a strength of
    1 / (4 t). Where some pairs are strong and most are not that takes too much from the strong
    ones, so it is no more than (0.015 / t) ** 2, which is less while t > 0.0009; and it is at least
    1 and at most 300. It matters only where errors are as large as what pairs say. Where some axis
    has a rare value, as in clicks, the removal of negative counts hides what pairs say in large
    noise, and nothing can be told from them.
    """
    count = len(tables.sizes)
    if count < 2 or set(tables.sizes) != {2}:
        return None
    pairs = np.array(list(itertools.islice(_pairs(count), _PAIRS)))
    batch = Batch.of(tables, pairs)
    held = np.flatnonzero(np.diff(batch.offsets) == 3)
    entries = batch.offsets[held][:, None] + np.arange(3)
    one, other, both = batch.target[entries].T
    variance = batch.variance[entries[:, 2]]
    if (np.maximum(one**2, other**2) > _BALANCED).any():
        return None
    free = (1 - one**2) * (1 - other**2)
    weight = (both - one * other) / free
    precision = free**2 / np.maximum(variance, 1e-300)
    if not len(held) or not np.isfinite(total := precision.sum()):
        return None
    square = (precision * weight**2 - 1).sum() / total + 2 * np.sqrt(2 * len(held)) / total
    square = max(square, 1e-9)
    return float(np.clip(min((_WEAK / square) ** 2, 1 / (4 * square)), 1.0, _STRONGEST))


def strength_around(tables: Tables) -> float:
    """The strength that suits tables of positive total where more axes are solved for than are
    asked.

    With ridges of share * r(j) * s, for the typical standard deviation s of the moments on two or
    more axes, a dual variable theta moves its moment by share * r(j) * theta standard deviations:
    what relaxation costs is a fixed part of what noise costs, however large that is, and small
    weights, which noise makes, are taken away. That is a strength of share / s. Solved over the
    asked axes alone, weights stand for what other axes do, too, and want less.
    """
    share = _SHARE if max(tables.sizes, default=2) <= 2 else _SHARE_OF_MANY
    return share / max(_LEAST_DEVIATION, _typical_deviation(tables) / tables.total)


def _typical_deviation(tables: Tables) -> float:
    """The median over the views' components on two or more axes of the standard deviation of total
    times moment."""
    if tables.precisions is None:
        return float(
            np.sqrt(
                np.median(
                    [
                        value.size * v
                        for value, v in zip(tables.values, tables.variances, strict=True)
                    ]
                )
            )
        )
    known = []
    for view, precision in zip(tables.views, tables.precisions, strict=True):
        varying = sum(1 << place for place, axis in enumerate(view) if tables.sizes[axis] > 1)
        masks = np.arange(len(precision))
        own = masks & ~varying == 0  # an axis of one value has no component
        known.append(precision[own & (np.bitwise_count(masks) >= min(2, varying.bit_count()))])
    return float(np.sqrt(1 / np.median(np.concatenate(known))))


def _pairs(count: int) -> "itertools.chain[tuple[int, int]]":
    """All pairs of axes, neighbours first, so that any part of them has every axis about equally
    often."""
    return itertools.chain.from_iterable(
        (
            (min(axis, (axis + gap) % count), max(axis, (axis + gap) % count))
            for axis in range(count)
        )
        for gap in range(1, count // 2 + 1)
    )
