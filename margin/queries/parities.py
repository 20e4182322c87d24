"""`Parities`: "an even number of these attributes are one", over attributes of two categories."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..solvers import BestResponse
from .base import Queries, random_attributes
from .bits import BitTable
from .counting import count_even

__all__ = ["Parities"]


@dataclass(frozen=True, eq=False)
class Parities(Queries):
    """Parities of k attributes of two categories each: true of a row when an even number of them
    have code 1.

    Definition A.1 of Gaboardi et al. 2014 answers +1 for even and -1 for odd; that answer is 2 a -
    1 for ours, a share.

    Parameters
    ----------
    domain
        The attributes of the table.
    attributes
        Positions in the domain, distinct in each query: integers of shape (queries, k).

    Raises
    ------
    DomainError
        When there is no query, or an attribute does not exist, stands twice in a query, or has not
        two categories.
    """

    def __post_init__(self) -> None:
        self._check()
        if (self.sizes[self.attributes] != 2).any():
            raise DomainError("parities are over attributes of two categories")

    @classmethod
    def random(cls, domain: Domain, k: int, count: int, seed: int) -> "Parities":
        """Independent uniform sets of k attributes of two categories; see `Conjunctions.random`."""
        binary = np.flatnonzero(np.asarray(domain.sizes) == 2)
        return cls(domain, random_attributes(binary, k, count, np.random.default_rng(seed)))

    def counts(self, table: BitTable) -> Integers:
        """See `Queries.counts`."""
        return count_even(table, self._lines(table, np.zeros(self.attributes.shape, np.int64)))

    def best_response(
        self, places: Integers, weights: Integers, *, constant: int = 0
    ) -> BestResponse:
        """See `Queries.best_response`; appendix A of Gaboardi et al. 2014."""
        return BestResponse.parities(
            self.sizes, self.attributes[places], weights, constant=constant
        )

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.attributes,)
