"""The means of products of known basis functions, from which the Hessian of the dual is made.

The product of two basis functions is a number times one *extended function* (`Transform.extend`).
`WholeProducts` computes the means of all extended functions of a table. An axis of three categories
has five of them, so twelve such axes have 244 million. Most vary on more axes than any product
does. `UnionProducts` computes the means of the others, from small marginals.
"""

import math
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache

import numpy as np

from ..basis import transform
from ..fitted import FEWER_BY_UNIONS, LEAST_FOR_UNIONS
from ..limits import UNION_PAIRS
from ..marginal_tree import MarginalTree
from ..types import Floats, Integers


class Products(ABC):
    """The products of each pair of m known basis functions; see `products_of`.

    Parameters
    ----------
    shape
        The sizes of the axes of the table.
    index
        The positions of the known functions, shape (m,).

    Attributes
    ----------
    numbers
        How many means `means` computes.
    """

    numbers: int

    def __init__(
        self,
        shape: tuple[int, ...],
        index: Integers,
    ) -> None:
        self.shape = shape
        self.index = index

    @abstractmethod
    def means(self, distribution: Floats) -> Floats:
        """Compute the means under a distribution of shape (cells,); shape (numbers,).

        The mean of the product of functions i and j is ``factor[i, j] * means[place[i, j]]``.
        """

    @abstractmethod
    def functions(self, weights: Floats) -> Floats:
        """Add up the functions whose means `means` computes; the transpose of `means`.

        Weights of shape (numbers,) give a table of shape (cells,).
        """

    @cached_property
    @abstractmethod
    def _entries(self) -> tuple[Integers, Floats | None]:
        """`place` and `factor`, made when they are first needed."""

    @property
    def place(self) -> Integers:
        """The position of each product among the means, shape (m, m)."""
        return self._entries[0]

    @property
    def factor(self) -> Floats | None:
        """The number that multiplies each of these means, shape (m, m); None if all are one."""
        return self._entries[1]

    def form(self, weights: Floats) -> Floats:
        """The quadratic form f' W f of each cell, for weights W of shape (m, m); shape (cells,).

        Products of functions are functions again: their weights are added up, and transformed once.
        """
        if self.factor is not None:
            weights = weights * self.factor
        summed = np.bincount(self.place.ravel(), weights.ravel(), self.numbers)
        return self.functions(summed.astype(np.float64))


class WholeProducts(Products):
    """Products that are looked up among the means of all extended functions of the table."""

    def __init__(
        self,
        shape: tuple[int, ...],
        index: Integers,
    ) -> None:
        super().__init__(shape, index)
        self.numbers = extended_numbers(shape)

    def means(self, distribution: Floats) -> Floats:
        """See `Products.means` and `Transform.extend`."""
        return transform(self.shape).extend(distribution)

    def functions(self, weights: Floats) -> Floats:
        """See `Products.functions` and `Transform.narrow`."""
        return transform(self.shape).narrow(weights)

    @cached_property
    def _entries(self) -> tuple[Integers, Floats | None]:
        """See `Transform.products`."""
        return transform(self.shape).products(self.index)


class UnionProducts(Products):
    """Products that are looked up in the extended tables of some marginals.

    The product of a function of the axes S and one of the axes T varies on the axes S + T at most.
    So its mean is read from any marginal that has these axes. The marginals are those on the
    largest of these unions.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        index: Integers,
    ) -> None:
        super().__init__(shape, index)
        self._masks = _largest(_unions(transform(shape).component[index]))
        self._tree = MarginalTree(shape, self._masks.tolist())
        self._shapes = [self._tree.shape_of(mask) for mask in self._masks.tolist()]
        widths = [extended_numbers(small) for small in self._shapes]
        self._offsets = np.concatenate([[0], np.cumsum(widths)])
        self.numbers = int(self._offsets[-1])

    def means(self, distribution: Floats) -> Floats:
        """See `Products.means`."""
        marginals = self._tree.marginals(distribution)
        found = np.empty(self.numbers)
        for small, rows in self._alike.items():
            tables = np.stack([marginals[row] for row in rows.tolist()])
            found[self._positions(small, rows)] = transform(small).extend(tables)
        return found

    def functions(self, weights: Floats) -> Floats:
        """See `Products.functions`."""
        tables = [np.empty(0)] * len(self._masks)
        for small, rows in self._alike.items():
            narrow = transform(small).narrow(weights[self._positions(small, rows)])
            for row, table in zip(rows.tolist(), narrow, strict=True):
                tables[row] = table
        return self._tree.spread(tables)

    @cached_property
    def _entries(self) -> tuple[Integers, Floats | None]:
        """The places among the extended functions of the marginals, and the factors."""
        place, factor = transform(self.shape).products(self.index)
        widths = [transform(()).width(size) for size in self.shape]
        needed, same = np.unique(place, return_inverse=True)
        digits = np.unravel_index(needed, widths)
        # The axes on which each function varies, and a marginal that has them.
        varies = np.zeros(len(needed), dtype=np.int64)
        for axis, digit in enumerate(digits):
            varies |= (digit > 0).astype(np.int64) << axis
        supports, support = np.unique(varies, return_inverse=True)
        holders = np.array([self._holder(one) for one in supports.tolist()], np.int64)[support]
        # The position of the function in the extended table of the marginal.
        position = np.zeros(len(needed), dtype=np.int64)
        for axis, digit in enumerate(digits):
            held = (self._masks[holders] >> axis & 1).astype(np.bool_)
            position[held] = position[held] * widths[axis] + digit[held]
        position += self._offsets[holders]
        return position[same].reshape(place.shape), factor

    def _holder(self, mask: int) -> int:
        """The first marginal that has all axes of a mask."""
        return int(np.argmax(self._masks & mask == mask))

    def _positions(
        self,
        small: tuple[int, ...],
        rows: Integers,
    ) -> Integers:
        """The positions of the means of marginals of one shape, shape (marginals, width)."""
        return self._offsets[rows][:, None] + np.arange(extended_numbers(small))

    @cached_property
    def _alike(self) -> dict[tuple[int, ...], Integers]:
        """The marginals of each shape; they are transformed together."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, small in enumerate(self._shapes):
            alike.setdefault(small, []).append(row)
        return {small: np.array(rows) for small, rows in alike.items()}


def products_of(
    shape: tuple[int, ...],
    index: Integers,
) -> Products:
    """Choose `UnionProducts` if they need far fewer means, else `WholeProducts`; it is cached."""
    return _products_of(shape, index.tobytes())


def whole_products(
    shape: tuple[int, ...],
    index: Integers,
) -> WholeProducts:
    """`WholeProducts`, cached."""
    return _whole_of(shape, index.tobytes())


def extended_numbers(shape: tuple[int, ...]) -> int:
    """The number of extended functions of a table of this shape."""
    return math.prod(transform(()).width(size) for size in shape)


@lru_cache(maxsize=16)
def _whole_of(shape: tuple[int, ...], index: bytes) -> WholeProducts:
    """`whole_products`; the array `index` is given by its bytes."""
    return WholeProducts(shape, np.frombuffer(index, dtype=np.int64))


@lru_cache(maxsize=16)
def _products_of(shape: tuple[int, ...], index: bytes) -> Products:
    """`products_of`; the array `index` is given by its bytes."""
    whole = _whole_of(shape, index)
    # On binary axes, the transform of the whole table is fast, and no larger than the table.
    if max(shape, default=1) <= 2 or whole.numbers < LEAST_FOR_UNIONS:
        return whole
    components = np.unique(transform(shape).component[whole.index])
    if len(components) ** 2 > UNION_PAIRS:
        return whole
    unions = UnionProducts(shape, whole.index)
    return unions if FEWER_BY_UNIONS * unions.numbers < whole.numbers else whole


def _unions(components: Integers) -> Integers:
    """The distinct unions of two sets of axes, as bit masks; the empty set if none is given."""
    distinct = np.unique([0, *components.tolist()])
    return np.unique(distinct[:, None] | distinct)


def _largest(masks: Integers) -> Integers:
    """The masks that are not part of another one, from distinct masks."""
    held = masks[:, None] & masks == masks[:, None]
    alone: Integers = masks[held.sum(axis=1) == 1]
    return alone
