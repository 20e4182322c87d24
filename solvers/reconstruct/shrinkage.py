"""How much maximum entropy is relaxed: `strength_for` asked axes alone, `strength_around` context.

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
"""Smallest mean square weight of pairs, in squared nats."""


def strength_for(tables: Tables) -> float | None:
    """The strength that suits consistent tables of positive total; None for the usual strength.

    If all axes are binary and balanced, the pairs that the views hold tell how large the weights
    are, the dual variables of maximum entropy. To first order theta = (m_ab - m_a m_b) / ((1 - m_a
    ** 2) (1 - m_b ** 2)), whose error variance is known. Let t be the mean of their squares less
    these variances, weighted by precision, plus two standard errors.

    If the weights were normal with variance t, a ridge of v / t for an error variance of v would be
    best on average: a strength of 1 / (4 t). If some pairs are strong and most are not, that takes
    too much from the strong ones. So the strength is at most (0.015 / t) ** 2, which is the smaller
    bound for t > 0.0009. It is at least 1 and at most 300. It matters only if errors are as large
    as the weights of pairs.

    If some axis has a rare value, as in click data, None is returned: the removal of negative
    counts hides the dependence between pairs in large noise.
    """
    count = len(tables.sizes)
    if count < 2 or set(tables.sizes) != {2}:
        return None
    pairs = np.array(list(itertools.islice(_pairs(count), _PAIRS)))
    batch = Batch.of(tables, pairs)
    # The pairs that a view holds: all three coefficients are known.
    held = np.flatnonzero(np.diff(batch.offsets) == 3)
    entries = batch.offsets[held][:, None] + np.arange(3)
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
    """The strength that suits tables of positive total if more axes are solved for than asked.

    With ridges of share * r(j) * s, for the typical standard deviation s of the moments on two or
    more axes, a dual variable theta moves its moment by share * r(j) * theta standard deviations.
    The cost of relaxation is then a fixed part of the cost of noise, however large the noise is,
    and the small weights that noise makes are removed. The strength is share / s.

    If only the asked axes are solved for, weights also stand for the effects of other axes, and
    need a smaller strength.
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
    return float(np.sqrt(1 / np.median(np.concatenate(known))))


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """All pairs of axes, neighbours first.

    Any first part of them has every axis about equally often.
    """
    for gap in range(1, count // 2 + 1):
        for axis in range(count):
            other = (axis + gap) % count
            yield min(axis, other), max(axis, other)
