"""The strength of the ridge (`Newton(strength=)`), estimated from tables.

`strength_for` is for solving over the asked axes alone, `strength_around` for solving with context.

The constants of both rules are in `fitted`.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from ..fitted import BALANCED, SHARE, SHARE_OF_MANY, STRONGEST, WEAK_PAIRS
from ..tables.tables import Tables
from ..types import Floats
from .batch import Batch

_PAIRS = 2_000
"""Largest number of pairs that are read; more would not change the mean."""

_LEAST_DEVIATION = 1e-9
"""Smallest standard deviation of a moment."""

_LEAST_SQUARE = 1e-9
"""Smallest mean square dual variable of pairs, in squared nats."""


def strength_for(tables: Tables) -> float | None:
    """Estimate a strength from consistent tables of positive total; None for the default strength.

    The estimate needs binary, balanced axes. It measures how large the dual variables of pairs are.
    To first order, theta = (m_ab - m_a m_b) / ((1 - m_a ** 2) (1 - m_b ** 2)), where m are the
    moments. The error variance of theta is known. Let t be the mean of theta ** 2 minus this
    variance, weighted by precision, plus two standard errors.

    If the dual variables were normal with variance t, the best ridge on average would be v / t for
    a moment with error variance v. This is a strength of 1 / (4 t). If a few pairs are strong and
    most are weak, this would shrink the strong ones too much. So the strength is also at most
    (0.015 / t) ** 2, which is smaller than 1 / (4 t) for t > 0.0009. It lies between 1 and 300. It
    only has an effect if the errors are as large as the dual variables of pairs.

    If some axis has a rare value, as in click data, the result is None. There, the removal of
    negative counts hides the dependence between pairs if the noise is large.
    """
    count = len(tables.sizes)
    if count < 2 or set(tables.sizes) != {2}:
        return None
    pairs = np.array(list(itertools.islice(_pairs(count), _PAIRS)))
    batch = Batch.of(tables, pairs)
    # The pairs that a view holds: all three coefficients are known.
    held = np.flatnonzero(np.diff(batch.offsets) == 3)
    entries = batch.offsets[held][:, None] + np.arange(3)
    # What is known says nothing about the noise.
    noisy = batch.variance[entries[:, 2]] > 0
    held, entries = held[noisy], entries[noisy]
    one, other, both = batch.target[entries].T
    variance = batch.variance[entries[:, 2]]
    if (np.maximum(one**2, other**2) > BALANCED).any():
        return None
    # The weights to first order, and their precisions.
    free = (1 - one**2) * (1 - other**2)
    weight = (both - one * other) / free
    precision = free**2 / np.maximum(variance, 1e-300)
    total = precision.sum()
    if not len(held) or not np.isfinite(total):
        return None
    # t: the mean square beyond the noise, plus two standard errors.
    beyond_noise = (precision * weight**2 - 1).sum() / total
    error = 2 * np.sqrt(2 * len(held)) / total
    square = max(beyond_noise + error, _LEAST_SQUARE)
    strength = min((WEAK_PAIRS / square) ** 2, 1 / (4 * square))
    return float(np.clip(strength, 1.0, STRONGEST))


def strength_around(tables: Tables) -> float:
    """Estimate a strength from tables of positive total, for solving over more axes than asked.

    Let s be the typical standard deviation of the moments on two or more axes. With the strength
    share / s, the ridge is about share * r(j) * s, and a dual variable theta may move its moment by
    share * r(j) * theta standard deviations. So the error from the ridge is a fixed part of the
    error from noise, whatever the noise is, and small dual variables that come from noise alone
    are removed. The constants `share` are `SHARE` and `SHARE_OF_MANY` of `fitted`.

    Without context, dual variables also stand for effects of other axes, and a smaller strength is
    better.
    """
    share = SHARE if max(tables.sizes, default=2) <= 2 else SHARE_OF_MANY
    deviation = _typical_deviation(tables) / tables.total
    return share / max(_LEAST_DEVIATION, deviation)


def _typical_deviation(tables: Tables) -> float:
    """The median standard deviation of total times moment, over components on two or more axes."""
    if tables.precisions is None:
        variances = [
            value.size * variance
            for value, variance in zip(tables.values, tables.variances, strict=True)
        ]
        return float(np.sqrt(np.median(variances)))
    known: list[Floats] = []
    for view, precision in zip(tables.views, tables.precisions, strict=True):
        # An axis of one category has no component.
        varying = sum(1 << place for place, axis in enumerate(view) if tables.sizes[axis] > 1)
        masks = np.arange(len(precision))
        own = masks & ~varying == 0
        several = np.bitwise_count(masks) >= min(2, varying.bit_count())
        known.append(precision[own & several])
    every = np.concatenate(known)
    noisy = every[np.isfinite(every)]
    return float(np.sqrt(1 / np.median(noisy))) if noisy.size else 0.0


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs of axes in an order in which every axis soon occurs about equally often.

    Pairs of neighbouring axes come first.
    """
    for gap in range(1, count // 2 + 1):
        for axis in range(count):
            other = (axis + gap) % count
            yield min(axis, other), max(axis, other)
