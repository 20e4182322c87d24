"""`strength_for`: how much maximum entropy should be relaxed where the tables' pairs hardly depend on each other."""

import itertools

import numpy as np

from .batch import Batch
from .tables import Tables

_WEAK = 0.015
"""Mean square weights of pairs below this call for more than the usual strength."""

_STRONGEST = 300.0

_BALANCED = 0.25
"""Squared moments of single axes up to this are near enough to zero for what is said below of errors."""

_PAIRS = 2_000
"""How many pairs are looked at, at most."""


def strength_for(tables: Tables) -> float | None:
    """The strength that suits consistent tables of positive total; None for the usual one.

    Where all axes are binary and balanced, the pairs that the views hold tell how large the weights are, the dual
    variables of maximum entropy: to first order theta = (m_ab - m_a m_b) / ((1 - m_a ** 2) (1 - m_b ** 2)), whose error
    variance is known. Let t be the mean of their squares less these variances, weighted by precision, plus two standard
    errors. Were the weights normal with variance t, a ridge of v / t for an error variance of v would be best on
    average: a strength of 1 / (4 t). Where some pairs are strong and most are not that takes too much from the strong
    ones, so it is no more than (0.015 / t) ** 2, which is less while t > 0.0009; and it is at least 1 and at most 300.
    It matters only where errors are as large as what pairs say. Where some axis has a rare value, as in clicks, the
    removal of negative counts hides what pairs say in large noise, and nothing can be told from them.
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


def _pairs(count: int) -> "itertools.chain[tuple[int, int]]":
    """All pairs of axes, neighbours first, so that any part of them has every axis about equally often."""
    return itertools.chain.from_iterable(
        ((min(axis, (axis + gap) % count), max(axis, (axis + gap) % count)) for axis in range(count))
        for gap in range(1, count // 2 + 1)
    )
