"""How much pairs of attributes depend on each other, as one noisy number."""

import math
from collections.abc import Iterable

import numpy as np

from .._numbers import Number
from .._types import Integers
from ..errors import DomainError
from .counts import LARGEST_GAP
from .gate import Gate

__all__ = ["Dependence", "dependence_bound"]

_LARGEST_SQUARED = (1 << 31) - 1
"""Largest number of rows whose square, and every sum of products below it, fits into 64 bits."""


class Dependence(Gate):
    """The part of `Private` that tells how much attributes depend on each other: its method
    `total_dependence`."""

    def total_dependence(
        self,
        pairs: Iterable[Iterable[str]],
        *,
        spend: Number | None = None,
    ) -> int:
        """How far the tables of some pairs are from those of independent attributes, with noise.

        If the two attributes of a pair were independent, its table t would be the product of its
        margins, r c' / n. The answer is the root of the sum over all pairs of the squared L2 norm
        of t - r c' / n, rounded down to a whole number of rows. The margins are the true ones: they
        need not be measured before.

        Adding a row changes t - r c' / n by n / (n + 1) times the product of two vectors, (e - r /
        n) (f - c / n)', where e and f are the indicators of the categories of the row. Each has a
        norm of at most the root of 2. So the answer for p pairs changes by at most 2 sqrt(p), and
        by rounding to at most the next whole number. The proof is in
        docs/proofs/total_dependence.md.

        So the root of the mean square over the pairs has the same noise for any number of pairs.

        Parameters
        ----------
        pairs
            Views of two attributes each. A pair that is named twice counts twice.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        int
            The noisy answer, in rows. It may be negative. The true one is 0 if all pairs are
            exactly independent, and about the root of the number of rows times the number of pairs
            if rows are drawn from independent attributes.

        Raises
        ------
        DomainError
            When a view has another number of attributes than two. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        MarginError
            When the noise would be larger than can be drawn. Nothing is charged.

        Examples
        --------
        >>> import margin
        >>> class Told:
        ...     def run(self, private, workload):
        ...         told.append(private.total_dependence([["a", "b"]], spend="1/2"))
        ...         return margin.PriView().run(private, workload)
        >>> told = []
        >>> table = {"a": [0, 1] * 5_000, "b": [0, 1] * 5_000}
        >>> domain = margin.Domain({"a": 2, "b": 2})
        >>> budget = margin.PureDP(1)
        >>> made = margin.simulate(table, domain=domain, budget=budget, mechanism=Told(), seed=1)
        >>> 4_900 < told[0] < 5_100  # half of the rows
        True
        """
        # Check copies of the arguments.
        checked = self._views(pairs)
        if any(len(pair) != 2 for pair in checked):
            lengths = sorted({len(pair) for pair in checked} - {2})
            raise DomainError(
                f"pairs must be views of two attributes, but some have {lengths}; name two "
                "attributes in each"
            )

        # The noise. Rows that are replaced may move the answer in the same direction.
        event = self._one_number(
            "total_dependence",
            (tuple(checked),),
            units=self._units(spend),
            l1=dependence_bound(self.budget.rows, len(checked)),
        )

        # Count, charge, draw.
        tables = self._tables(checked)
        rows = int(tables[0].sum())
        scaled = sum(map(_times_rows_squared, tables))
        # The root, rounded down, of a fraction is that of the fraction rounded down.
        answer = math.isqrt(scaled // max(1, rows) ** 2)
        true = np.array([min(answer, LARGEST_GAP)], np.int64)
        (noisy,) = self._noisy([event], [true])
        return int(noisy[0])


def dependence_bound(rows: int, pairs: int) -> int:
    """The sensitivity of `total_dependence`: 2 rows sqrt(pairs), rounded up.

    Parameters
    ----------
    rows
        The number of rows by which neighbouring tables differ (`Budget.rows`).
    pairs
        The number of pairs, >= 1.
    """
    return math.isqrt(4 * rows**2 * pairs - 1) + 1


def _times_rows_squared(table: Integers) -> int:
    """The squared L2 norm of n t - r c', for a table t of n rows with the margins r and c; exact.

    It is n**2 |t|**2 - 2 n r' t c + |r|**2 |c|**2.
    """
    rows = int(table.sum())
    # Beyond that, products are integers of any length.
    wide = table if rows <= _LARGEST_SQUARED else table.astype(object)
    first, second = wide.sum(axis=1), wide.sum(axis=0)
    own = int((wide * wide).sum())
    # Each entry is at most the squared number of rows; their products are not.
    along = wide @ second
    crossed = int(first.astype(object) @ along)
    product = int((first * first).sum()) * int((second * second).sum())
    return rows**2 * own - 2 * rows * crossed + product
