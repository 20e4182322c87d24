"""`Strategy`: linear queries on a view, given by integer matrices; what one row can change in their
answers."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..domain.domain import Domain, View
from ..errors import DomainError
from ..privacy.budget import Budget, Neighbours
from .counts import cut_off, within

__all__ = ["Factor", "Strategy", "private_copies"]


_LARGEST_ENTRY = 1 << 20  # of the numbers of a factor
_LARGEST_PRODUCT = 1 << 30  # of the numbers of the factors
_LARGEST_SUM = 1 << 62  # of answers that are computed in 64 bits
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
            raise DomainError(
                "a factor of a strategy must be a matrix of integers, one row a query"
            )
        if len(array) > _MOST_ROWS or not within(array, _LARGEST_ENTRY):
            raise DomainError(
                "a factor of a strategy must have at most 2**20 rows, and numbers of at most 2**20 in size"
            )
        self.matrix: Integers = array.astype(np.int64)
        self.matrix.flags.writeable = False
        self.rows, self.columns = self.matrix.shape
        self.largest = int(
            np.abs(self.matrix).max()
        )  # numbers are at most 2**20 in size: see `__init__`

    @cached_property
    def l1(self) -> int:
        """The largest L1 norm of a column: at most 2**40, as there are at most 2**20 rows."""
        return int(np.abs(self.matrix).sum(axis=0).max())

    @cached_property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column: at most 2**60."""
        return int((self.matrix**2).sum(axis=0).max())

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns; the least one, unless the matrix is
        huge."""
        if self.columns**2 > _MOST_PAIRS or self.l2_squared >= 1 << 53:
            return -self.l2_squared if self.matrix.min() < 0 else 0
        numbers = self.matrix.astype(np.float64)
        # By Cauchy and Schwarz all partial sums are below 2**53 in size: floats hold them exactly,
        # in any order.
        return int((numbers.T @ numbers).min())

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
        One integer matrix for each attribute, of shape (rows, size of the attribute): the queries
        are the rows of their Kronecker product. Or a single matrix over all cells of the view, the
        last attribute varying fastest.

    Raises
    ------
    DomainError
        When a factor is not a matrix of integers of at most 2**20, or those of the product may be
        above 2**30.

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
            raise DomainError(
                f"{len(self.factors)} matrices are given for {len(self.view)} attributes: give one each"
            )
        if math.prod(max(1, factor.largest) for factor in self.factors) > _LARGEST_PRODUCT:
            raise DomainError(
                "the numbers of a strategy must be at most 2**30 in size: use smaller numbers"
            )

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
        """The largest L1 norm of a column: the columns of a Kronecker product are the products of
        one column each, and so are their norms. Exact."""
        return math.prod(factor.l1 for factor in self.factors)

    @cached_property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column; a product like `l1`. Exact."""
        return math.prod(factor.l2_squared for factor in self.factors)

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns; the least one, unless the factors are
        huge."""
        low = high = 1
        for factor in self.factors:
            ends = [
                end * product
                for end in (low, high)
                for product in (factor.least_product, factor.l2_squared)
            ]
            low, high = min(ends), max(ends)
        return low

    def sensitivity(self, budget: Budget) -> tuple[int, int]:
        """The L1 distance and the squared L2 distance between the answers on neighbouring tables,
        at most.

        With m rows a person, neighbours differ by a - b: a is the sum of i columns and b that of j
        columns, i and j at most m. For added or removed rows one of them is zero: at most m l1 in
        L1 and m**2 l2_squared in squared L2.

        For replaced rows |a - b|_1 <= 2 m l1. With L = l2_squared and g the least inner product of
        two columns,
        |a - b|**2 = |a|**2 + |b|**2 - 2 a.b <= (i**2 + j**2) L - 2 i j g. This is convex in i and in j, so its largest
        value is at a corner: 2 m**2 (L - g) when i = j = m, and m**2 L when one of them is zero. A
        single row is replaced by a single row, i = j = 1. `Budget.sensitivity` is for counts and
        would not do here: g is below zero where a strategy has negative numbers.
        """
        m = budget.rows_per_person
        if budget.neighbours is not Neighbours.REPLACE_ROW:
            return m * max(1, self.l1), m**2 * max(1, self.l2_squared)
        equal = 2 * m**2 * max(1, self.l2_squared - self.least_product)
        unequal = m**2 * self.l2_squared if m > 1 else 0
        return 2 * m * max(1, self.l1), max(equal, unequal)

    def check(self, domain: Domain) -> None:
        """DomainError unless the factors fit the view of a domain."""
        shape = domain.shape(self.view)
        columns = tuple(factor.columns for factor in self.factors)
        if columns not in {shape, (math.prod(shape),)}:
            raise DomainError(
                f"a strategy on {', '.join(self.view)} needs matrices of {shape} columns, not {columns}"
            )

    def answers(self, table: Integers) -> Integers:
        """The answers on a table of counts, array of shape `shape`, cut off at +-2**61.

        All sums on the way are at most the product of the factors' largest numbers times the number
        of rows. They are computed in 64 bits where that is below 2**62, else in integers of any
        length: no sum wraps around.
        """
        largest = math.prod(max(1, factor.largest) for factor in self.factors)
        answers: npt.NDArray[Any] = table.reshape([factor.columns for factor in self.factors])
        if largest * int(table.sum()) >= _LARGEST_SUM:  # the sum is the number of rows
            answers = answers.astype(object)
        for axis, factor in enumerate(self.factors):
            matrix = factor.matrix.astype(answers.dtype, copy=False)
            answers = np.moveaxis(np.tensordot(matrix, answers, axes=(1, axis)), 0, axis)
        return np.ascontiguousarray(cut_off(answers))


def private_copies(strategies: Iterable[Strategy]) -> list[Strategy]:
    """The same strategies, made anew from copies of their matrices: norms and answers are computed
    by this class from what nobody else can change, not by a subclass, nor from numbers that were
    changed or noted by others.

    Raises
    ------
    DomainError
        When one is no Strategy, or cannot be made anew.
    """
    made: dict[
        tuple[object, ...], Factor
    ] = {}  # strategies of many views have equal matrices: each is made once
    copies = []
    for strategy in strategies:
        if not isinstance(strategy, Strategy):
            raise DomainError(
                f"strategies must be a list of Strategy, not of {type(strategy).__name__}"
            )
        factors = []
        for factor in strategy.factors:
            matrix = np.array(factor.matrix if isinstance(factor, Factor) else factor)
            key = matrix.dtype.str, matrix.shape, matrix.tobytes()
            if key not in made:
                made[key] = Factor(matrix)
            factors.append(made[key])
        copies.append(Strategy(tuple(strategy.view), factors))
    return copies
