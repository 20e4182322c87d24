"""Strategies: linear queries on a view, given by integer matrices, and their sensitivity."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._axes import times_along
from .._types import Integers
from ..domain.domain import Domain, GivenDomain, View, domain_of
from ..errors import DomainError
from ..privacy.budget import Budget, Neighbours
from .counts import cut_off, within

__all__ = ["Factor", "Groups", "Strategy", "private_copies"]


_LARGEST_ENTRY = 1 << 20  # largest absolute value of a number of a factor
_LARGEST_PRODUCT = 1 << 30  # largest product of such numbers, one from each factor
_LARGEST_SUM = 1 << 62  # largest answer that is computed in 64 bits
_MOST_ROWS = 1 << 20  # largest number of rows of a factor
_MOST_GROUPS = 1 << 24  # largest number of groups
_MOST_PAIRS = 1 << 24  # largest number of pairs of columns whose inner products are computed


class Factor:
    """One integer matrix of a strategy, with the norms of its columns (its sensitivity).

    Each row is a linear query on one attribute, or on all cells of a view.

    Parameters
    ----------
    matrix
        Signed integers, shape (rows, columns). A copy is kept.

    Raises
    ------
    DomainError
        When it is not an integer matrix with at most 2**20 rows and absolute values of at most
        2**20.
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        array: npt.NDArray[Any] = np.array(matrix)
        if array.ndim != 2 or not array.size or array.dtype.kind != "i":
            raise DomainError(
                "a factor of a strategy must be a non-empty matrix of signed integers, with one "
                f"row for each query; it has shape {array.shape} and type {array.dtype}, so "
                "convert it"
            )
        if len(array) > _MOST_ROWS or not within(array, _LARGEST_ENTRY):
            raise DomainError(
                "a factor of a strategy must have at most 2**20 rows, and numbers of at most 2**20 "
                f"in absolute value, but it has {len(array)} rows and numbers from {array.min()} "
                f"to {array.max()}; use fewer rows or smaller numbers"
            )
        self.matrix: Integers = array.astype(np.int64)
        self.matrix.flags.writeable = False
        self.rows, self.columns = self.matrix.shape
        self.largest = int(np.abs(self.matrix).max())

    @cached_property
    def l1(self) -> int:
        """The largest L1 norm of a column. It is at most 2**40, because rows and numbers are at
        most 2**20."""
        return int(np.abs(self.matrix).sum(axis=0).max())

    @cached_property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of a column. It is at most 2**60."""
        return int((self.matrix**2).sum(axis=0).max())

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns. It is exact unless the matrix is
        huge."""
        if self.columns**2 > _MOST_PAIRS or self.l2_squared >= 1 << 53:
            return -self.l2_squared if self.matrix.min() < 0 else 0
        numbers = self.matrix.astype(np.float64)
        # By the Cauchy-Schwarz inequality all partial sums are below 2**53 in absolute value. So
        # floats hold them exactly, in any order of summation.
        return int((numbers.T @ numbers).min())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the matrix, as hexadecimal digits, which identifies it in events."""
        shape = repr(self.matrix.shape).encode()
        return hashlib.sha256(shape + self.matrix.tobytes()).hexdigest()

    @cached_property
    def _diagonal_and_other(self) -> tuple[int, int] | None:
        """The number on the diagonal and the number off it, if a square matrix has just these."""
        if self.rows != self.columns:
            return None
        diagonal, other = int(self.matrix[0, 0]), int(self.matrix[0, -1])
        expected = np.full_like(self.matrix, other)
        np.fill_diagonal(expected, diagonal)
        return (diagonal, other) if np.array_equal(self.matrix, expected) else None

    def times(self, table: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """The matrix times a table along one axis, in the integers of the table.

        With the number d on the diagonal and c off it, the product at i is d x_i + c (sum - x_i).
        Each of its sums is a sum of products of the table and of numbers of the matrix, too.
        """
        if self._diagonal_and_other is not None:
            diagonal, other = self._diagonal_and_other
            others = table.sum(axis=axis, keepdims=True) - table
            return np.asarray(diagonal * table + other * others)
        return times_along(self.matrix.astype(table.dtype, copy=False), table, axis)


class Groups(Factor):
    """The matrix that adds columns in groups, held as the group of each column.

    Number (g, c) of the matrix is 1 if column c is in group g, and 0 otherwise. So a factor with a
    million columns and groups needs a million numbers.

    Parameters
    ----------
    groups
        The group of each column: integers from 0 to the number of groups - 1, shape (columns,).

    Raises
    ------
    DomainError
        When it is not such an array, or there are more than 2**24 groups.

    Examples
    --------
    >>> Groups([0, 1, 1]).matrix.tolist()
    [[1, 0, 0], [0, 1, 1]]
    """

    largest = 1
    l1 = 1  # every column has a single number that is not zero, and it is 1
    l2_squared = 1

    def __init__(self, groups: npt.ArrayLike) -> None:
        array: npt.NDArray[Any] = np.array(groups)
        if array.ndim != 1 or not array.size or array.dtype.kind != "i":
            raise DomainError(
                "groups must be a non-empty list of signed integers, one for each column, but it"
                f" has shape {array.shape} and type {array.dtype}; pass the group of each column"
            )
        if array.min() < 0 or array.max() >= _MOST_GROUPS:
            raise DomainError(
                f"groups must be numbers from 0 to 2**24 - 1, but they are from {array.min()} to"
                f" {array.max()}; number the groups from 0"
            )
        self.groups: Integers = array.astype(np.int64)
        self.groups.flags.writeable = False
        self.rows = int(self.groups.max()) + 1
        self.columns = self.groups.size

    @cached_property
    def matrix(self) -> Integers:  # type: ignore[override]
        """The matrix written out, shape (groups, columns)."""
        written: Integers = (np.arange(self.rows)[:, None] == self.groups).astype(np.int64)
        return written

    @property
    def least_product(self) -> int:
        """The inner product of two columns is 1 if they are in one group, and 0 otherwise."""
        return int((self.groups == self.groups[0]).all())

    @cached_property
    def digest(self) -> str:
        """See `Factor.digest`."""
        shape = repr(("groups", self.rows, self.columns)).encode()
        return hashlib.sha256(shape + self.groups.tobytes()).hexdigest()

    def times(self, table: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """See `Factor.times`: sums over groups, exact for integers of any length."""
        # Bring the columns of each group together, and add up each run of equal groups.
        order = np.argsort(self.groups, kind="stable")
        present, starts = np.unique(self.groups[order], return_index=True)
        together = np.take(np.moveaxis(table, axis, 0), order, axis=0)
        sums = np.zeros((self.rows, *together.shape[1:]), table.dtype)
        sums[present] = np.add.reduceat(together, starts, axis=0)
        return np.moveaxis(sums, 0, axis)


@dataclass(
    frozen=True,
    eq=False,
    init=False,
)
class Strategy:
    """A list of linear queries on the table of a view, written as integer matrices.

    A linear query is a weighted sum of the cells. The privacy cost of the answers depends on the
    sensitivity, the largest norm of a column of the matrix of all queries.

    Parameters
    ----------
    view
        The attributes of the table.
    factors
        One integer matrix, or `Groups`, for each attribute, of shape (rows, size of the attribute).
        The queries are the rows of their Kronecker product. Or a single matrix over all cells of
        the view, with the last attribute varying fastest.

    Raises
    ------
    DomainError
        When a factor is not an integer matrix with absolute values of at most 2**20, or numbers of
        the product may be above 2**30 in absolute value.

    Examples
    --------
    The number of rows, and the difference between the two values of "a":

    >>> Strategy(("a", "b"), ([[1, 1], [1, -1]], [[1, 1]])).shape
    (2, 1)
    """

    view: View
    factors: tuple[Factor, ...]

    def __init__(
        self,
        view: Iterable[str],
        factors: "Iterable[Factor | npt.ArrayLike]",
    ) -> None:
        made = tuple(factor if isinstance(factor, Factor) else Factor(factor) for factor in factors)
        object.__setattr__(self, "view", tuple(view))
        object.__setattr__(self, "factors", made)
        if len(self.factors) not in {1, len(self.view)}:
            raise DomainError(
                f"{len(self.factors)} matrices are given for {len(self.view)} attributes; give one "
                "matrix for each attribute, or one for the whole view"
            )
        if math.prod(max(1, factor.largest) for factor in self.factors) > _LARGEST_PRODUCT:
            raise DomainError(
                "the numbers of a strategy must be at most 2**30 in absolute value, but the "
                "product of its factors is larger; use smaller numbers"
            )

    @classmethod
    def total(cls, domain: GivenDomain) -> "Strategy":
        """The strategy whose single query is the number of rows of the table."""
        domain = domain_of(domain)
        name = domain.attributes[0]
        ones = np.ones((1, domain[name].size), np.int64)
        return cls((name,), (ones,))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers: the numbers of rows of the factors."""
        return tuple(factor.rows for factor in self.factors)

    @cached_property
    def l1(self) -> int:
        """The exact largest L1 norm of a column.

        A column of a Kronecker product is the product of one column of each factor, and its norm is
        the product of their norms.
        """
        return math.prod(factor.l1 for factor in self.factors)

    @cached_property
    def l2_squared(self) -> int:
        """The exact largest squared L2 norm of a column: the product of those of the factors."""
        return math.prod(factor.l2_squared for factor in self.factors)

    @cached_property
    def least_product(self) -> int:
        """A lower bound on the inner product of two columns. It is exact unless the factors are
        huge."""
        # The inner product is a product of one inner product from each factor. `low` and `high`
        # are the ends of the interval of the products so far.
        low = high = 1
        for factor in self.factors:
            least = factor.least_product
            most = factor.l2_squared
            ends = [low * least, low * most, high * least, high * most]
            low, high = min(ends), max(ends)
        return low

    def sensitivity(self, budget: Budget) -> tuple[int, int]:
        """Upper bounds on the L1 distance and the squared L2 distance between the answers on
        neighbouring tables.

        A person has m rows at most. Neighbours differ by a - b, where a is the sum of i columns, b
        is the sum of j columns, and i, j <= m. If rows are added or removed, i or j is zero. Then
        the distance is at most m l1 in L1, and m**2 l2_squared in squared L2.

        If rows are replaced, |a - b|_1 <= 2 m l1. Let L = l2_squared, and let g be the smallest
        inner product of two columns. Then |a - b|**2 = |a|**2 + |b|**2 - 2 a.b
        <= (i**2 + j**2) L - 2 i j g. This bound is convex in i and in j, so its largest value is at
        a corner: 2 m**2 (L - g) if i = j = m, and m**2 L if i or j is zero. A single row is
        replaced by a single row, so i = j = 1.

        `Budget.sensitivity` is for counts and is not sufficient here, because g is negative for
        some strategies with negative numbers.

        Parameters
        ----------
        budget
            The budget, with the neighbouring relation.

        Returns
        -------
        int, int
            The bound on the L1 distance, and the bound on the squared L2 distance.
        """
        m = budget.rows_per_person
        if budget.neighbours is not Neighbours.REPLACE_ROW:
            return m * max(1, self.l1), m**2 * max(1, self.l2_squared)
        equal = 2 * m**2 * max(1, self.l2_squared - self.least_product)
        unequal = m**2 * self.l2_squared if m > 1 else 0
        return 2 * m * max(1, self.l1), max(equal, unequal)

    def check(self, domain: Domain) -> None:
        """Raise DomainError unless the factors fit the view of a domain."""
        shape = domain.shape(self.view)
        columns = tuple(factor.columns for factor in self.factors)
        if columns not in {shape, (math.prod(shape),)}:
            raise DomainError(
                f"a strategy on {', '.join(self.view)} needs matrices with {shape} columns, or one "
                f"matrix with {math.prod(shape)} columns, not {columns}; make its factors again "
                "with these shapes"
            )

    def answers(self, table: Integers) -> Integers:
        """Compute the true answers from a table of counts: an array of shape `shape`.

        Answers are cut off at +-2**61.
        """
        answers: Integers = self.answers_to_each(table[None])[0]
        return answers

    def answers_to_each(self, tables: Integers) -> Integers:
        """Compute the true answers from each of n tables of counts of one shape.

        Answers are cut off at +-2**61. Those from one table depend on no other table.

        All intermediate sums are at most the product of the largest numbers of the factors, times
        the largest number of rows of a table. If this is below 2**62, they are computed in 64 bits;
        otherwise in integers of any length. So no sum overflows, and both ways give the same.

        Parameters
        ----------
        tables
            The tables, shape (n, ...) with n >= 1.

        Returns
        -------
        ndarray of shape (n, *shape)
        """
        largest = math.prod(max(1, factor.largest) for factor in self.factors)
        rows = int(tables.reshape(len(tables), -1).sum(axis=1).max())
        columns = [factor.columns for factor in self.factors]
        answers: npt.NDArray[Any] = tables.reshape(len(tables), *columns)
        if largest * rows >= _LARGEST_SUM:
            answers = answers.astype(object)
        # Multiply by one factor at a time, along its axis.
        for axis, factor in enumerate(self.factors, start=1):
            answers = factor.times(answers, axis)
        return np.ascontiguousarray(cut_off(answers))


def sensitivities(strategies: Iterable[Strategy], budget: Budget) -> list[tuple[int, int]]:
    """The bounds of `Strategy.sensitivity` for each strategy; equal matrices are looked at once."""
    found: dict[tuple[Factor, ...], tuple[int, int]] = {}
    bounds = []
    for strategy in strategies:
        if strategy.factors not in found:
            found[strategy.factors] = strategy.sensitivity(budget)
        bounds.append(found[strategy.factors])
    return bounds


def private_copies(strategies: Iterable[Strategy]) -> list[Strategy]:
    """Copy strategies with all their matrices.

    Norms and answers are then computed by `Strategy` itself, from matrices that nobody else can
    change: not by a subclass, and not from numbers that were changed or cached elsewhere.

    Raises
    ------
    DomainError
        When one is not a Strategy, or cannot be made again.
    """
    # Many strategies have equal matrices. The numbers of each object are read once, and each
    # matrix is made once. `known` keeps the objects, so that no other one gets their identity.
    made: dict[tuple[object, ...], Factor] = {}
    known: dict[int, tuple[object, Factor]] = {}
    copies = []
    for strategy in strategies:
        if not isinstance(strategy, Strategy):
            raise DomainError(
                f"strategies must be Strategy objects, not {type(strategy).__name__}; make each "
                "with Strategy(view, factors)"
            )
        factors = []
        for factor in strategy.factors:
            if id(factor) not in known:
                # No method of the factor is called: a subclass may have its own.
                kind = Groups if isinstance(factor, Groups) else Factor
                numbers = _numbers(factor)
                key = kind, numbers.dtype.str, numbers.shape, numbers.tobytes()
                if key not in made:
                    made[key] = kind(numbers)
                known[id(factor)] = factor, made[key]
            factors.append(known[id(factor)][1])
        copies.append(Strategy(tuple(strategy.view), factors))
    return copies


def _numbers(factor: Factor | npt.ArrayLike) -> npt.NDArray[Any]:
    """A copy of the numbers that a factor is made of."""
    if isinstance(factor, Groups):
        return np.array(factor.groups)
    return np.array(factor.matrix if isinstance(factor, Factor) else factor)
