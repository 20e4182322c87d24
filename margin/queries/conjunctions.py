"""`Conjunctions`: queries "attribute a has value v, and attribute b does not have value w, ..."."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import Domain, GivenDomain, domain_of
from ..errors import DomainError
from ..solvers import BestResponse
from .base import MAX_QUERIES, Queries, random_attributes
from .bits import BitTable
from .counting import count_conjunctions

__all__ = ["Conjunctions"]


@dataclass(
    frozen=True,
    eq=False,
)
class Conjunctions(Queries):
    """A workload of queries that are conjunctions of k literals over distinct attributes. A literal
    states that an attribute has a value, or that it does not have it. A row satisfies a query when
    all its literals hold.

    Parameters
    ----------
    domain
        The attributes of the table.
    attributes
        The attribute of each literal, as a position in the domain: integers, shape (queries, k).
    values
        The value of each literal, as a code: integers, shape (queries, k).
    negated
        Whether each literal says "does not have this value": truth values, shape (queries, k). No
        literal does when it is not given.

    Raises
    ------
    DomainError
        When there is no query, when an attribute or a value does not exist, or when a query names
        an attribute twice.

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
        if values.shape != shape or values.dtype.kind not in "iu":
            raise DomainError(
                f"values must be integers with the shape of attributes, {shape}, but they are "
                f"{values.dtype} with shape {values.shape}; give one code for each attribute of "
                "each query"
            )
        if flags.shape != shape or flags.dtype.kind != "b":
            raise DomainError(
                f"negated must be truth values with the shape of attributes, {shape}, but they are "
                f"{flags.dtype} with shape {flags.shape}; give True or False for each attribute of "
                "each query"
            )
        sizes = self.sizes
        outside = (values < 0) | (values >= sizes[self.attributes])
        if outside.any():
            axis = int(self.attributes[outside][0])
            raise DomainError(
                f"a value of attribute {self.domain.attributes[axis]!r} must be a code from 0 to "
                f"{sizes[axis] - 1}, but a query names {values[outside][0]}; correct the query"
            )
        smallest_type = np.min_scalar_type(int(sizes.max()) - 1)
        object.__setattr__(self, "values", values.astype(smallest_type))
        object.__setattr__(self, "negated", flags)

    @classmethod
    def random(
        cls,
        domain: GivenDomain,
        k: int,
        count: int,
        seed: int,
    ) -> "Conjunctions":
        """Draw random conjunctions without negation: uniform `k` attributes, then a value of each.

        Parameters
        ----------
        domain
            The attributes of the table.
        k
            The number of literals in each query, from 1 to the number of attributes.
        count
            The number of queries, at least 1. A query may occur twice.
        seed
            Equal seeds give equal queries. The queries are public, so privacy does not depend on
            the seed.

        Raises
        ------
        DomainError
            When `k` or `count` is outside its range.
        """
        domain = domain_of(domain)
        rng = np.random.default_rng(seed)
        attributes = random_attributes(np.arange(len(domain)), k, count, rng)
        values = rng.integers(0, np.asarray(domain.sizes)[attributes])
        return cls(domain, attributes, values)

    @classmethod
    def cells(
        cls,
        domain: Domain,
        views: Iterable[Iterable[str]],
    ) -> "Conjunctions":
        """Make one query for every cell of some views, in the order of the views. Within a view the
        last attribute varies fastest.

        Raises
        ------
        DomainError
            When there is no view, when the views differ in their number of attributes, or when they
            have more than `MAX_QUERIES` cells.
        """
        checked = [domain.view(view) for view in views]
        if not checked:
            raise DomainError(
                "views must hold at least one view, but it is empty; name at least one view"
            )
        lengths = sorted({len(view) for view in checked})
        if len(lengths) > 1:
            raise DomainError(
                "all views must have the same number of attributes, but some have "
                f"{lengths[0]} and some {lengths[-1]}; make one workload for each number"
            )
        cells = [domain.cells(view) for view in checked]
        if sum(cells) > MAX_QUERIES:
            raise DomainError(
                f"the views may have at most {MAX_QUERIES} cells together, but they have "
                f"{sum(cells)}; name fewer or smaller views"
            )
        attributes = []
        values = []
        for view, count in zip(checked, cells, strict=True):
            attributes.append(np.tile(domain.axes(view), (count, 1)))
            codes = itertools.product(*map(range, domain.shape(view)))
            values.append(np.array(list(codes)))
        return cls(domain, np.concatenate(attributes), np.concatenate(values))

    def counts(self, table: BitTable) -> Integers:
        """Count the rows of a table that satisfy each query: shape (queries,)."""
        lines = self._lines(table, self.values)
        return count_conjunctions(table, lines, self._flipped, self._negative)

    def best_response(
        self,
        places: Integers,
        weights: Integers,
        *,
        constant: int = 0,
    ) -> BestResponse:
        """State the search for a record that satisfies many queries as an integer programme.

        See `Queries.best_response`, and Section 5.2 of Gaboardi et al. 2014.
        """
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
        """Whether each literal says that its bit is zero: shape (queries, k). That is so for a
        negated literal, and for value 0 of a binary attribute, but not for both together."""
        assert self.negated is not None
        zero = (self.sizes[self.attributes] == 2) & (self.values == 0)
        flipped: NDArray[np.bool_] = zero != self.negated
        return flipped

    @cached_property
    def _negative(self) -> Integers:
        """The positions of the queries whose literals are all flipped."""
        return np.flatnonzero(np.logical_and.reduce(self._flipped, axis=1))

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        assert self.negated is not None
        return self.attributes, self.values, self.negated
