"""`Conjunctions`: "this attribute has that value, and ...", perhaps negated, over attributes with
any categories."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..solvers import BestResponse
from .base import MAX_QUERIES, Queries, random_attributes
from .bits import BitTable
from .counting import count_conjunctions

__all__ = ["Conjunctions"]


@dataclass(frozen=True, eq=False)
class Conjunctions(Queries):
    """Conjunctions of k literals over distinct attributes: each says that an attribute has a value,
    or has it not.

    Parameters
    ----------
    domain
        The attributes of the table.
    attributes
        The attribute of each literal, as a position in the domain: integers of shape (queries, k).
    values
        Its value, as a code: shape (queries, k).
    negated
        Which literals say "has not this value": shape (queries, k); none when not given.

    Raises
    ------
    DomainError
        When there is no query, or an attribute or value does not exist, or a query names an
        attribute twice.

    Examples
    --------
    >>> domain = Domain({"age": ["young", "old"], "sex": ["F", "M"], "region": ["N", "S", "E"]})
    >>> old_not_north = Conjunctions(domain, [[0, 2]], [[1, 0]], [[False, True]])
    >>> rows = np.array([[1, 0, 0], [1, 0, 2], [0, 1, 1]])
    >>> old_not_north.counts(BitTable.of_codes(domain, rows)).tolist()
    [1]
    """

    values: NDArray[Any]
    negated: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        self._check()
        shape = self.attributes.shape
        values = np.asarray(self.values)
        flags = np.zeros(shape, np.bool_) if self.negated is None else np.asarray(self.negated)
        if (
            values.shape != shape
            or flags.shape != shape
            or values.dtype.kind not in "iu"
            or flags.dtype.kind != "b"
        ):
            raise DomainError(
                f"values must be integers, negated truth values, of the shape of attributes, {shape}"
            )
        sizes = self.sizes
        if values.min() < 0 or (values >= sizes[self.attributes]).any():
            raise DomainError("a query names a value that its attribute does not have")
        object.__setattr__(self, "values", values.astype(np.min_scalar_type(int(sizes.max()) - 1)))
        object.__setattr__(self, "negated", flags)

    @classmethod
    def random(cls, domain: Domain, k: int, count: int, seed: int) -> "Conjunctions":
        """Independent uniform conjunctions: k attributes, then a value of each.

        Parameters
        ----------
        domain
            The attributes of the table.
        k
            How many literals, from 1 to the number of attributes.
        count
            How many queries; a query may come twice.
        seed
            Equal seeds give equal queries. They are public: no privacy rests on it.

        Raises
        ------
        DomainError
            When k or count is not such a number.
        """
        rng = np.random.default_rng(seed)
        attributes = random_attributes(np.arange(len(domain)), k, count, rng)
        values = rng.integers(0, np.asarray(domain.sizes)[attributes])
        return cls(domain, attributes, values)

    @classmethod
    def cells(cls, domain: Domain, views: Iterable[Iterable[str]]) -> "Conjunctions":
        """Every cell of some views of equally many attributes, one view after another, the last
        attribute fastest."""
        checked = [domain.view(view) for view in views]
        if not checked or len({len(view) for view in checked}) > 1:
            raise DomainError("cells need one or more views, all of equally many attributes")
        if sum(map(domain.cells, checked)) > MAX_QUERIES:
            raise DomainError(
                f"the views have more than {MAX_QUERIES} cells: ask for fewer or smaller ones"
            )
        attributes = np.concatenate(
            [np.tile(domain.axes(view), (domain.cells(view), 1)) for view in checked]
        )
        values = [
            np.array(list(itertools.product(*map(range, domain.shape(view))))) for view in checked
        ]
        return cls(domain, attributes, np.concatenate(values))

    def counts(self, table: BitTable) -> Integers:
        """See `Queries.counts`."""
        return count_conjunctions(
            table, self._lines(table, self.values), self._flipped, self._negative
        )

    def best_response(
        self, places: Integers, weights: Integers, *, constant: int = 0
    ) -> BestResponse:
        """See `Queries.best_response`; Section 5.2 of Gaboardi et al. 2014."""
        assert self.negated is not None
        return BestResponse.conjunctions(
            self.sizes,
            self.attributes[places],
            self.values[places],
            weights,
            negated=self.negated[places],
            constant=constant,
        )

    @cached_property
    def _flipped(self) -> NDArray[np.bool_]:
        """Which literals say that their bit is zero: those negated, and value 0 of two."""
        assert self.negated is not None
        zero = (self.sizes[self.attributes] == 2) & (self.values == 0)
        flipped: NDArray[np.bool_] = zero != self.negated
        return flipped

    @cached_property
    def _negative(self) -> Integers:
        """The places of the queries all of whose literals are flipped."""
        return np.flatnonzero(np.logical_and.reduce(self._flipped, axis=1))

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        assert self.negated is not None
        return self.attributes, self.values, self.negated
