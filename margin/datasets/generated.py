"""Generated tables: Markov chains, latent classes, clicks, and correlated categories. None of them
contains real data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import positive_number, whole_number
from ..domain.domain import Domain
from ..errors import DomainError
from .dataset import Dataset

_STRIDE = 1 << 16
"""Number of rows that are computed together."""


def markov_chain(
    order: int,
    *,
    attributes: int = 64,
    rows: int = 1_000_000,
    seed: int = 0,
) -> Dataset:
    """Generate the data set MCHAIN: rows of bits in which each bit depends on the `order` bits
    before it (a Markov chain).

    A bit is one with probability 0.5 + (1 - 2 s / order) / 4, where s is the number of ones among
    the `order` bits before it (Qardaji, Yang and Li, SIGMOD 2014, section 5; they use 64 bits and
    orders 1 to 7). The sequence begins with fair bits. The next 64 bits are not kept, so that the
    rest is nearly stationary.

    Parameters
    ----------
    order
        The number of earlier bits on which a bit depends, at least 1.
    attributes
        The number of bits that are kept. The attributes `b0`, `b1`, ... are in the order of the
        sequence.
    rows
        The number of rows.
    seed
        The seed of the generator. The same seed gives the same rows.

    Raises
    ------
    DomainError
        When `order` or `attributes` is below 1, or `rows` is negative.
    """
    _check(
        rows,
        order=order,
        attributes=attributes,
    )
    rng = np.random.default_rng([seed, order])
    bits = rng.integers(0, 2, (rows, order), dtype=np.uint8)
    # The last `order` bits of each row, and the number of ones among them.
    window = list(bits.T)
    recent = bits.sum(
        axis=1,
        dtype=np.int64,
    )
    kept = np.empty((attributes, rows), np.uint8)
    for step in range(-64, attributes):
        chance = 0.75 - recent / (2 * order)
        drawn = (rng.random(rows) < chance).astype(np.uint8)
        recent += drawn.astype(np.int64) - window.pop(0)
        window.append(drawn)
        if step >= 0:
            kept[step] = drawn
    columns = {f"b{place}": column for place, column in enumerate(kept)}
    note = f"generated: a Markov chain of order {order} over {attributes} bits"
    return _dataset(f"mchain-{order}", columns, (2,) * attributes, note)


def latent_classes(
    sizes: Sequence[int] = (2,) * 16,
    *,
    classes: int = 8,
    rows: int = 100_000,
    concentration: float = 0.5,
    seed: int = 0,
) -> Dataset:
    """Generate a table from a mixture of hidden classes. Every row belongs to one class, and the
    attributes are independent within a class.

    Parameters
    ----------
    sizes
        The number of categories of each attribute `x0`, `x1`, ...
    classes
        The number of hidden classes, which are all equally likely.
    rows
        The number of rows.
    concentration
        The concentration of the Dirichlet distribution from which the rates of a class are drawn.
        The smaller it is, the more the attributes depend on each other.
    seed
        The seed of the generator. The same seed gives the same rows.

    Raises
    ------
    DomainError
        When a size, `classes` or `concentration` is not positive, or `rows` is negative.
    """
    _check(
        rows,
        classes=classes,
        attributes=len(sizes),
    )
    positive_number("concentration", concentration)
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, classes, rows)
    columns = {}
    for place, size in enumerate(sizes):
        _check(rows, size=size)
        rates = rng.dirichlet(np.full(size, concentration), classes)
        columns[f"x{place}"] = _pick(rng, rates, hidden)
    note = f"generated: {classes} latent classes"
    return _dataset(f"latent-{len(sizes)}", columns, sizes, note)


def click_stream(
    attributes: int = 45,
    *,
    rows: int = 647_377,
    seed: int = 1,
) -> Dataset:
    """Generate a table of the pages that people click on. Each person has one of twelve hidden
    tastes and clicks more or less often, and some pages are much more popular than others.

    It replaces the AOL search log of Qardaji, Yang and Li, SIGMOD 2014, which its publisher has
    withdrawn. By default it has the same size: 45 binary attributes and 647,377 people. As in
    such a log, the pages differ in popularity and are correlated. Nothing in it is taken from the
    log.

    Parameters
    ----------
    attributes
        The number of pages. Attribute `page0`, `page1`, ... is 1 if a person clicked on the page.
    rows
        The number of people.
    seed
        The seed of the generator. The same seed gives the same rows.

    Raises
    ------
    DomainError
        When `attributes` is below 1, or `rows` is negative.
    """
    _check(rows, attributes=attributes)
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 12, rows)
    # The rate of clicks of each taste on each page: popularity times a random preference.
    popularity = 0.6 / np.arange(1, attributes + 1) ** 0.9
    rate = popularity * np.exp(rng.normal(0, 1.2, (12, attributes)))
    marks = rng.random((rows, attributes))
    busy = np.exp(rng.normal(-0.5, 1.0, (rows, 1)))
    clicked = np.empty((attributes, rows), np.uint8)
    for start in range(0, rows, _STRIDE):
        some = slice(start, start + _STRIDE)
        # The number of clicks is Poisson; this is the chance that it is above zero.
        chance = 1 - np.exp(-rate[taste[some]] * busy[some])
        clicked[:, some] = (marks[some] < chance).T
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
    """Generate a table whose attributes depend on each other along a random tree. Every attribute
    after the first depends on one attribute before it.

    Parameters
    ----------
    sizes
        The number of categories of each attribute `x0`, `x1`, ...
    strength
        The probability, from 0 to 1, that an attribute is a fixed random function of its parent
        rather than a draw from its own distribution. With 0 all attributes are independent. With 1
        each is a function of the first.
    rows
        The number of rows.
    seed
        The seed of the generator. The same seed gives the same rows.

    Raises
    ------
    DomainError
        When a size is not positive, `strength` is not in [0, 1], or `rows` is negative.
    """
    _check(rows, attributes=len(sizes))
    if not 0 <= strength <= 1:
        raise DomainError(
            f"strength ({strength}) must be a probability from 0 to 1; pass such a number"
        )
    rng = np.random.default_rng(seed)
    columns: list[NDArray[np.int64]] = []
    for place, size in enumerate(sizes):
        _check(rows, size=size)
        own = _pick(rng, rng.dirichlet(np.ones(size), 1), np.zeros(rows, np.int64))
        if place:
            parent = int(rng.integers(0, place))
            follows = rng.random(rows) < strength
            function = rng.integers(0, size, sizes[parent])
            own = np.where(follows, function[columns[parent]], own)
        columns.append(own)
    note = f"generated: a random tree of dependence of strength {strength}"
    named = {f"x{place}": column for place, column in enumerate(columns)}
    return _dataset(f"correlated-{len(sizes)}", named, sizes, note)


def _pick(
    rng: np.random.Generator,
    rates: NDArray[np.float64],
    kind: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Draw a random category for each row: shape (rows,). `rates` has shape (kinds, categories),
    and `kind` is the kind of each row."""
    edges = np.cumsum(rates, axis=1)
    marks = rng.random(len(kind)) * edges[kind, -1]
    picked = np.zeros(len(kind), np.int64)
    for edge in edges[:, :-1].T:
        picked += marks >= edge[kind]
    return picked


def _check(rows: int, **positive: int) -> None:
    """Check that `rows` is a whole number >= 0 and that all others are whole numbers >= 1."""
    whole_number("rows", rows, least=0)
    for name, value in positive.items():
        whole_number(name, value)


def _dataset(
    name: str,
    columns: dict[str, Any],
    sizes: Sequence[int],
    note: str,
) -> Dataset:
    """Make a `Dataset` of columns of codes, in small integer types."""
    import pyarrow as pa

    arrays = {}
    for (key, column), size in zip(columns.items(), sizes, strict=True):
        arrays[key] = column.astype(np.uint8 if size <= 256 else np.int64)
    domain = Domain(dict(zip(columns, sizes, strict=True)))
    return Dataset(
        name=name,
        data=pa.table(arrays),
        domain=domain,
        note=note,
    )
