"""`Parities`: queries "an even number of these attributes have code 1" over binary attributes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import GivenDomain, domain_of
from ..errors import DomainError
from ..solvers import BestResponse
from .base import Queries, random_attributes
from .bits import BitTable
from .counting import count_even

__all__ = ["Parities"]


@dataclass(
    frozen=True,
    eq=False,
)
class Parities(Queries):
    """A workload of queries about parities of k binary attributes. A row satisfies a query when an
    even number of the query's attributes have code 1.

    Definition A.1 of Gaboardi et al. 2014 takes the mean of +1 for even and -1 for odd. If our
    answer, a share of the rows, is a, theirs is 2 a - 1.

    Parameters
    ----------
    domain
        The attributes of the table.
    attributes
        The attributes of each query, as positions in the domain, distinct in each query: integers,
        shape (queries, k).

    Raises
    ------
    DomainError
        When there is no query, or an attribute does not exist, occurs twice in a query, or does not
        have two categories.
    """

    def __post_init__(self) -> None:
        self._check()
        wrong = np.flatnonzero(self.used & (self.sizes != 2))
        if wrong.size:
            axis = int(wrong[0])
            raise DomainError(
                f"parities need attributes of two categories, but {self.domain.attributes[axis]!r} "
                f"has {self.sizes[axis]}; leave it out"
            )

    @classmethod
    def random(
        cls,
        domain: GivenDomain,
        k: int,
        count: int,
        seed: int,
    ) -> "Parities":
        """Draw random parities of `k` binary attributes, independent and uniform.

        The parameters are those of `Conjunctions.random`.
        """
        domain = domain_of(domain)
        binary = np.flatnonzero(np.asarray(domain.sizes) == 2)
        rng = np.random.default_rng(seed)
        return cls(domain, random_attributes(binary, k, count, rng))

    def counts(self, table: BitTable) -> Integers:
        """Count the rows of a table that satisfy each query: shape (queries,)."""
        values = np.zeros(self.attributes.shape, np.int64)
        return count_even(table, self._lines(table, values))

    def best_response(
        self,
        places: Integers,
        weights: Integers,
        *,
        constant: int = 0,
    ) -> BestResponse:
        """State the search for a record that satisfies many queries as an integer programme.

        See `Queries.best_response`, and appendix A of Gaboardi et al. 2014.
        """
        return BestResponse.parities(
            self.sizes, self.attributes[places], weights, constant=constant
        )

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.attributes,)
