"""The noisy distance of true tables from public answers."""

from collections.abc import Iterable, Sequence

from .._numbers import Number
from ..errors import DomainError
from .counts import LARGEST_WEIGHT, digest, gaps, public_tables, total, view_weights
from .gate import Gate

__all__ = ["Distances"]


class Distances(Gate):
    """The part of `Private` that tells how wrong public answers are: its method
    `total_distance`."""

    def total_distance(
        self,
        views: Iterable[Iterable[str]],
        public: Sequence[object],
        *,
        weights: Sequence[int] | None = None,
        spend: Number | None = None,
    ) -> int:
        """The weighted sum of the distances of true tables from public answers, with noise.

        The sum is sum_i weight_i |table_i - public_i|_1. Public answers are rounded to integers
        first, so it is an integer. Adding a row changes one cell of each table by one. So each
        distance changes by at most one, up or down, and the sum by at most the sum W of the
        weights. Up to M rows differ between neighbours (`Budget.rows`), so the sensitivity is M W,
        in the L1 norm and in the L2 norm. Distances are cut off at 2**40, which does not increase
        the difference of any two distances. The sum gets one draw of discrete Laplace or discrete
        Gaussian noise. The proof is in docs/proofs/total_distance.md.

        The weighted mean, which is the sum divided by W, has the noise of one distance, for any
        number of views.

        Parameters
        ----------
        views
            The views whose tables are compared.
        public
            For each view an array of its shape, or its Marginal. They must not depend on the data,
            except through results of `Private`.
        weights
            One whole number >= 0 for each view (default 1). Their sum is from 1 to 2**20.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        int
            The noisy sum, in rows times weights. It may be negative.

        Raises
        ------
        DomainError
            When an argument is not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        MarginError
            When the noise would be larger than can be drawn. Nothing is charged.
        """
        # Check copies of the arguments.
        checked = self._views(views)
        arrays = public_tables(public, checked, self.domain)
        weight = view_weights(weights, len(checked))
        largest = total(weight)
        if largest > LARGEST_WEIGHT:
            raise DomainError(
                f"the sum of the weights must be at most 2**20, but it is {largest}; pass smaller "
                "weights or fewer views"
            )

        # The noise. Rows that are replaced may move all distances in the same direction.
        event = self._one_number(
            "total_distance",
            (tuple(checked), digest(*arrays, weight)),
            units=self._units(spend),
            l1=self.budget.rows * largest,
        )

        # Count, charge, draw. The sum is at most 2**20 times 2**40.
        distances = gaps(self._tables(checked), arrays)
        true = (weight * distances).sum(keepdims=True)
        (noisy,) = self._noisy([event], [true])
        return int(noisy[0])
