"""Generated tables: Markov chains, latent classes, a stream of clicks, correlated categories. None
of them is real."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain
from ..errors import DomainError
from .dataset import Dataset

_STRIDE = 1 << 16
"""Rows that are worked on together."""


def markov_chain(
    order: int, *, attributes: int = 64, rows: int = 1_000_000, seed: int = 0
) -> Dataset:
    """MCHAIN: each row is a stationary binary sequence in which a bit depends on the `order` bits
    before it.

    A bit is one with probability 0.5 + (1 - 2 s / order) / 4, where s is how many of the `order`
    bits before it are one (Qardaji, Yang and Li, SIGMOD 2014, section 5; they use 64 bits and
    orders 1 to 7). The sequence begins with fair bits, of which the first 64 are not kept.
    Attributes `b0`, `b1`, ... are in the order of the sequence. The same `seed` gives the same
    rows.

    Raises
    ------
    DomainError
        When `order` or `attributes` is not at least 1, or `rows` is negative.
    """
    _check(rows, order=order, attributes=attributes)
    rng = np.random.default_rng([seed, order])
    bits = rng.integers(0, 2, (rows, order), dtype=np.uint8)
    recent = bits.sum(axis=1, dtype=np.int64)
    kept = np.empty((attributes, rows), np.uint8)
    window = list(bits.T)
    for step in range(-64, attributes):
        drawn = (rng.random(rows) < 0.75 - recent / (2 * order)).astype(np.uint8)
        recent += drawn.astype(np.int64) - window.pop(0)
        window.append(drawn)
        if step >= 0:
            kept[step] = drawn
    note = f"generated: a Markov chain of order {order} over {attributes} bits"
    return _dataset(
        f"mchain-{order}",
        {f"b{place}": bits for place, bits in enumerate(kept)},
        (2,) * attributes,
        note,
    )


def latent_classes(
    sizes: Sequence[int] = (2,) * 16,
    *,
    classes: int = 8,
    rows: int = 100_000,
    concentration: float = 0.5,
    seed: int = 0,
) -> Dataset:
    """A mixture: every row belongs to a hidden class, and within a class the attributes are
    independent.

    Parameters
    ----------
    sizes
        How many categories each attribute `x0`, `x1`, ... has.
    classes
        How many hidden classes there are, all equally likely.
    concentration
        Of the Dirichlet distribution that a class draws its rates from: the smaller, the more
        attributes depend on each other.
    rows, seed
        How many rows; the same seed gives the same ones.

    Raises
    ------
    DomainError
        When a size, `classes` or `concentration` is not positive, or `rows` is negative.
    """
    _check(rows, classes=classes, attributes=len(sizes))
    if not concentration > 0:
        raise DomainError(f"concentration ({concentration}) must be > 0")
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, classes, rows)
    columns = {}
    for place, size in enumerate(sizes):
        _check(rows, size=size)
        rates = rng.dirichlet(np.full(size, concentration), classes)
        columns[f"x{place}"] = _pick(rng, rates, hidden)
    note = f"generated: {classes} latent classes"
    return _dataset(f"latent-{len(sizes)}", columns, sizes, note)


def click_stream(attributes: int = 45, *, rows: int = 647_377, seed: int = 1) -> Dataset:
    """Made-up clicks: a few latent tastes, popular and rare pages, people who click more and people
    who click less.

    By default as large as the search log of AOL in Qardaji, Yang and Li, SIGMOD 2014 (45 binary
    attributes, 647,377 people), for which it stands: that log was withdrawn by its publisher. It
    resembles such a log in that pages are of very different popularity and correlated; nothing in
    it is taken from the log. The same `seed` gives the same rows.

    Raises
    ------
    DomainError
        When `attributes` is not at least 1, or `rows` is negative.
    """
    _check(rows, attributes=attributes)
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 12, rows)
    rate = 0.6 / np.arange(1, attributes + 1) ** 0.9 * np.exp(rng.normal(0, 1.2, (12, attributes)))
    marks = rng.random((rows, attributes))
    busy = np.exp(rng.normal(-0.5, 1.0, (rows, 1)))
    clicked = np.empty((attributes, rows), np.uint8)
    for start in range(0, rows, _STRIDE):
        some = slice(start, start + _STRIDE)
        clicked[:, some] = (marks[some] < 1 - np.exp(-rate[taste[some]] * busy[some])).T
    columns = {f"page{place}": column for place, column in enumerate(clicked)}
    note = "generated: clicks from twelve latent tastes, a stand-in for a real log"
    return _dataset(f"clicks-{attributes}", columns, (2,) * attributes, note)


def correlated(
    sizes: Sequence[int] = (2, 3, 5, 8, 4, 10, 2, 6, 3, 12),
    *,
    strength: float = 0.7,
    rows: int = 100_000,
    seed: int = 0,
) -> Dataset:
    """A categorical table in which every attribute after the first depends on one before it: a
    random tree.

    Parameters
    ----------
    sizes
        How many categories each attribute `x0`, `x1`, ... has.
    strength
        The probability, 0 to 1, that an attribute follows its parent (by a fixed random map) rather
        than its own distribution: 0 makes all independent, 1 makes each a function of the first.
    rows, seed
        How many rows; the same seed gives the same ones.

    Raises
    ------
    DomainError
        When a size is not positive, `strength` is not in [0, 1], or `rows` is negative.
    """
    _check(rows, attributes=len(sizes))
    if not 0 <= strength <= 1:
        raise DomainError(f"strength ({strength}) must be from 0 to 1")
    rng = np.random.default_rng(seed)
    columns: list[NDArray[np.int64]] = []
    for place, size in enumerate(sizes):
        _check(rows, size=size)
        own = _pick(rng, rng.dirichlet(np.ones(size), 1), np.zeros(rows, np.int64))
        if place:
            parent = int(rng.integers(0, place))
            follows = rng.random(rows) < strength
            own = np.where(follows, rng.integers(0, size, sizes[parent])[columns[parent]], own)
        columns.append(own)
    note = f"generated: a random tree of dependence of strength {strength}"
    named = {f"x{place}": column for place, column in enumerate(columns)}
    return _dataset(f"correlated-{len(sizes)}", named, sizes, note)


def _pick(
    rng: np.random.Generator, rates: NDArray[np.float64], kind: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A category for each row, by the rates, shape (kinds, categories), of its kind."""
    edges = np.cumsum(rates, axis=1)
    marks = rng.random(len(kind)) * edges[kind, -1]
    picked = np.zeros(len(kind), np.int64)
    for edge in edges[:, :-1].T:
        picked += marks >= edge[kind]
    return picked


def _check(rows: int, **positive: int) -> None:
    if rows < 0:
        raise DomainError(f"rows ({rows}) must be at least 0")
    for name, value in positive.items():
        if value < 1:
            raise DomainError(f"{name} ({value}) must be at least 1")


def _dataset(name: str, columns: dict[str, Any], sizes: Sequence[int], note: str) -> Dataset:
    import pyarrow as pa

    types = [np.uint8 if size <= 256 else np.int64 for size in sizes]
    table = pa.table(
        {
            key: column.astype(kind)
            for (key, column), kind in zip(columns.items(), types, strict=True)
        }
    )
    return Dataset(
        name=name, data=table, domain=Domain(dict(zip(columns, sizes, strict=True))), note=note
    )
