"""`SparseProjection`: a random projection of a huge table, for counts of a few cells."""

import math
from dataclasses import dataclass

from ..._checks import positive_integer
from ...domain.workload import Workload
from ...errors import BudgetError
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...synopses.sketch import SketchSynopsis

__all__ = ["SparseProjection"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class SparseProjection:
    """A mechanism that projects a table of any size to T signed sums, and answers counts of m cells
    from these (Blum and Roth, RANDOM 2013, section 4).

    Let x be the table, A a matrix of T rows that a public key determines, and u = A x + noise. A
    query q that adds up m cells is answered by the inner product of A q and u: by the lemma of
    Johnson and Lindenstrauss, inner products change little under A. Neither x nor A is written out;
    hash functions give the column of a cell.

    As published, a column has T signs of size 1 / sqrt(T). A row of the data changes all T sums.
    The error of a query has about the variance

        m |x|**2 / T  +  2 m T / epsilon**2,

    the first term from the projection and the second from the noise. With |x| <= N, its best T is
    N epsilon / sqrt(2). By default a column has `ones` entries that are not zero, one in each of as
    many blocks of T / `ones` sums (Kane and Nelson, Journal of the ACM 2014). The first term stays,
    and T becomes `ones` in the second one: more sums then cost no noise. With Gaussian noise the
    second term is m / (2 rho) in both forms.

    `SketchSynopsis.count` answers conditions that a few cells satisfy, with both terms: the noise,
    and what the projection misses.

    Parameters
    ----------
    dimensions
        T, the number of sums, >= 1 and at most 2**24.
    ones
        The number of entries of a column that are not zero, from 1 to T; None for all, as
        published.
    key
        The public key of the hash functions.

    Examples
    --------
    >>> SparseProjection.paper(PureDP(1), rows=10_000).dimensions
    7072
    """

    dimensions: int = 1 << 18
    ones: int | None = 1
    key: int = 0

    def __post_init__(self) -> None:
        positive_integer("dimensions", self.dimensions)
        if self.ones is not None and positive_integer("ones", self.ones) > self.dimensions:
            raise BudgetError(
                f"ones ({self.ones}) must be at most dimensions ({self.dimensions}); pass a "
                "smaller number"
            )

    @classmethod
    def paper(
        cls,
        budget: Budget,
        *,
        rows: int,
    ) -> "SparseProjection":
        """The published form, with the best T for a pure budget and a public number of rows.

        Every row of the data is hashed T times.

        Raises
        ------
        BudgetError
            When the budget is not a `PureDP`, for which T is best as large as possible.
        """
        if not isinstance(budget, PureDP):
            raise BudgetError(
                "SparseProjection.paper needs a PureDP budget, but the budget is a "
                f"{type(budget).__name__}; pass dimensions= and ones=None to SparseProjection"
            )
        best = positive_integer("rows", rows) * float(budget.epsilon) / math.sqrt(2)
        return cls(dimensions=math.ceil(best), ones=None)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> SketchSynopsis:
        """Project the table of all attributes with the whole budget. The workload is not used."""
        # A sketch with one row for each block of sums: in each block a cell is in one sum.
        blocks = self.ones or self.dimensions
        sums = private.sketch_counts(
            private.domain.attributes,
            rows=blocks,
            width=self.dimensions // blocks,
            key=self.key,
        )
        noise = private.events[-1].noise
        return SketchSynopsis(
            domain=private.domain,
            sums=sums,
            key=self.key,
            median=False,
            variance=noise.variance,
        )
