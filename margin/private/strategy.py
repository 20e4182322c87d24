"""`Strategy`: linear queries on a view, given by integer matrices; what one row can change in their answers."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..budget import Budget, Neighbours
from ..domain import Domain, View
from ..errors import DomainError

__all__ = ["Factor", "Strategy"]

Integers = npt.NDArray[np.int64]

_LARGEST_ENTRY = 1 << 20  # of the numbers of a factor
_LARGEST_PRODUCT = 1 << 30  # of the numbers of the factors: the answers of 2**32 rows then fit into 63 bits

_MOST_ROWS = 1 << 20
_MOST_PAIRS = 1 << 24  # of columns whose inner products are computed


class Factor:
    """A matrix of integers, one row a query, with what is to be known of its columns.

    Raises
    ------
    DomainError
        When it is not a matrix of integers of at most 2**20 in size, with at most 2**20 rows.
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        array: npt.NDArray[Any] = np.array(matrix)
        if array.ndim != 2 or not array.size or array.dtype.kind != "i":
            raise DomainError("a factor of a strategy must be a matrix of integers, one row a query")
        if len(array) > _MOST_ROWS or np.abs(array).max() > _LARGEST_ENTRY:
            raise DomainError(
                "a factor of a strategy must have at most 2**20 rows, and numbers of at most 2**20 in size"
            )
        self.matrix: Integers = array.astype(np.int64)
        self.matrix.flags.writeable = False
        self.rows, self.columns = self.matrix.shape
        self.largest = int(np.abs(self.matrix).max())

    @cached_property
    def l1(self) -> int:
        """The largest L1 norm of a column."""
        return int(np.abs(self.matrix).sum(axis=0).max())

    @cached_property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column."""
        return int((self.matrix**2).sum(axis=0).max())

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns; the least one, unless the matrix is huge."""
        if self.columns**2 > _MOST_PAIRS or self.l2_squared >= 1 << 53:
            return -self.l2_squared if self.matrix.min() < 0 else 0
        numbers = self.matrix.astype(np.float64)
        return int((numbers.T @ numbers).min())  # integers below 2**53: exact in any order

    @cached_property
    def digest(self) -> str:
        """A text that stands for the matrix."""
        return hashlib.sha256(repr(self.matrix.shape).encode() + self.matrix.tobytes()).hexdigest()


@dataclass(frozen=True, eq=False, init=False)
class Strategy:
    """Linear queries on the table of a view.

    Parameters
    ----------
    view
        The attributes of the table.
    factors
        One integer matrix for each attribute, of shape (rows, size of the attribute): the queries are the rows of their
        Kronecker product. Or a single matrix over all cells of the view, the last attribute varying fastest.

    Raises
    ------
    DomainError
        When a factor is not a matrix of integers of at most 2**20, or those of the product may be above 2**30.

    Examples
    --------
    The two sums and the difference of a table of two attributes:

    >>> Strategy(("a", "b"), ([[1, 1], [1, -1]], [[1, 1]])).shape
    (2, 1)
    """

    view: View
    factors: tuple[Factor, ...]

    def __init__(self, view: Iterable[str], factors: "Iterable[Factor | npt.ArrayLike]") -> None:
        made = tuple(factor if isinstance(factor, Factor) else Factor(factor) for factor in factors)
        object.__setattr__(self, "view", tuple(view))
        object.__setattr__(self, "factors", made)
        if len(self.factors) not in {1, len(self.view)}:
            raise DomainError(f"{len(self.factors)} matrices are given for {len(self.view)} attributes: give one each")
        if math.prod(max(1, factor.largest) for factor in self.factors) > _LARGEST_PRODUCT:
            raise DomainError("the numbers of a strategy must be at most 2**30 in size: use smaller numbers")

    @classmethod
    def total(cls, domain: Domain) -> "Strategy":
        """The number of rows."""
        name = domain.attributes[0]
        return cls((name,), (np.ones((1, domain[name].size), np.int64),))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers: the numbers of rows of the factors."""
        return tuple(factor.rows for factor in self.factors)

    @cached_property
    def l1(self) -> int:
        """The largest L1 norm of a column: the columns of a Kronecker product are the products of one column each, and
        so are their norms. Exact."""
        return math.prod(factor.l1 for factor in self.factors)

    @cached_property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column; a product like `l1`. Exact."""
        return math.prod(factor.l2_squared for factor in self.factors)

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns; the least one, unless the factors are huge."""
        low = high = 1
        for factor in self.factors:
            ends = [end * product for end in (low, high) for product in (factor.least_product, factor.l2_squared)]
            low, high = min(ends), max(ends)
        return low

    def sensitivity(self, budget: Budget) -> tuple[int, int]:
        """The L1 distance and the squared L2 distance between the answers on neighbouring tables, at most.

        A person's m rows add a sum a of m columns: at most m l1 in L1 and m**2 l2_squared in squared L2. Replacing them
        adds a - b for two such sums: at most 2 m l1 in L1, and |a - b|**2 = |a|**2 + |b|**2 - 2 a.b is at most 2 m**2
        (l2_squared - g), where g is the least inner product of two columns: below zero where a strategy has negative
        numbers, so that `Budget.sensitivity`, which is for counts, would not do.
        """
        m = budget.rows_per_person
        if budget.neighbours is Neighbours.REPLACE_ROW:
            return 2 * m * max(1, self.l1), 2 * m**2 * max(1, self.l2_squared - self.least_product)
        return m * max(1, self.l1), m**2 * max(1, self.l2_squared)

    def check(self, domain: Domain) -> None:
        """DomainError unless the factors fit the view of a domain."""
        shape = domain.shape(self.view)
        columns = tuple(factor.columns for factor in self.factors)
        if columns not in {shape, (math.prod(shape),)}:
            raise DomainError(f"a strategy on {', '.join(self.view)} needs matrices of {shape} columns, not {columns}")

    def answers(self, table: Integers) -> Integers:
        """The answers on a table of the view, shape `shape`; exact for fewer than 2**32 rows."""
        answers: Integers = table.reshape([factor.columns for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            answers = np.moveaxis(np.tensordot(factor.matrix, answers, axes=(1, axis)), 0, axis)
        return np.ascontiguousarray(answers)
