"""Measuring the residual components of marginals, and making marginals of them.

The component of a set S of attributes is what the marginal on S says beyond the marginals on its
subsets. A marginal is the sum of the components of all subsets of its attributes, each spread
evenly over the attributes it lacks (see `solvers.basis`). Along a binary attribute a component is
measured by the row (1, -1), which makes it a Walsh-Hadamard coefficient; along one of n > 2 values
by the matrix n I - J, n times the orthogonal projection on what sums to zero.
"""

import copy
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from .._numbers import Number
from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..privacy.budget import Budget
from ..private import Private, Strategy
from ..private.linear import linear_events, variance_of
from ..private.strategy import Factor
from ..solvers import Evidence
from ..solvers.basis import contrasts
from ..synopses.noisy_tables import LEAST_VARIANCE
from .asked import check_reach

__all__ = ["Components", "closure", "precise_shares"]


_MOST_SETS = 1 << 24
_MOST_NUMBERS = 1 << 24


@dataclass(frozen=True, eq=False)
class Components:
    """Components to be measured for a workload.

    Attributes
    ----------
    name
        The method, for messages.
    domain, workload
        What is asked.
    shares
        What part of the budget each component gets, in the order of `sets`; None for equal noise in
        all answers.
    order
        On how many attributes a component may be; None for as many as the workload's views have.
        Components on more are not measured: there are then no unbiased `answers`, and errors are
        those of the parts that are measured.
    """

    name: str
    domain: Domain
    workload: Workload
    shares: tuple[int, ...] | None = None
    order: int | None = None

    def with_shares(self, shares: tuple[int, ...]) -> "Components":
        """The same components with other shares."""
        shared = copy.copy(self)  # with all that is computed already
        object.__setattr__(shared, "shares", shares)
        return shared

    @cached_property
    def sets(self) -> list[View]:
        """The sets of attributes whose components the workload needs."""
        return closure(self.name, self.domain, self.workload, self.order)

    @cached_property
    def strategies(self) -> list[Strategy]:
        """For each set what is measured of it."""
        return [_strategy(self.domain, view) for view in self.sets]

    def answers(self, private: Private) -> list[Marginal]:
        """The marginals of the workload, unbiased and consistent, with the exact variance of their
        noise."""
        tables: dict[View, Floats] = {}
        variances: dict[View, float] = {}
        measured = private.measure_linear(self.strategies, shares=self.shares)
        for view, answers in zip(self.sets, measured, strict=True):
            tables[view] = _component(self.domain, view, answers.values)
            variances[view] = answers.variance
        return [self._marginal(view, tables, variances) for view in self.workload]

    def measure(self, private: Private, evidence: Evidence, *, spend: Number | None = None) -> None:
        """Measure the components, and add what they say to some evidence."""
        measured = private.measure_linear(self.strategies, shares=self.shares, spend=spend)
        for view, answers in zip(self.sets, measured, strict=True):
            sizes = self.domain.shape(view) if view else ()
            axes = self.domain.axes(view) if view else ()
            variance = answers.variance / moments_in_answers(sizes)
            evidence.add_component(
                axes, _moments(sizes, answers.values), max(variance, LEAST_VARIANCE)
            )

    def expected_error(self, budget: Budget) -> float:
        """The expected squared error of `answers` over all cells, times the weights of the
        workload."""
        return sum(
            cost * variance
            for cost, variance in zip(self.costs, self.variances(budget), strict=True)
        )

    def variances(self, budget: Budget) -> list[float]:
        """The variance of the noise in the answers on each set, when they are all that is measured."""
        events = linear_events(
            budget, self.strategies, shares=self.shares, units=budget.units, together=True
        )
        return [variance_of(event) for event in events]

    @cached_property
    def costs(self) -> list[float]:
        """What noise of variance one in the answers on each set adds to the error."""
        if self.workload.kway is not None:
            return [
                self._held(subset, self.workload.kway) * self._moment(subset)
                for subset in self.sets
            ]
        costs = dict.fromkeys(self.sets, 0.0)
        for view, weight in zip(self.workload, self.workload.weights, strict=True):
            share = weight / self.domain.cells(view)
            for subset in self._subsets(view):
                costs[subset] += share
        return [cost * self._moment(subset) for subset, cost in costs.items()]

    def _held(self, subset: View, k: int) -> float:
        """The sum of one over the cells of all views of k attributes that hold a set: an elementary
        symmetric polynomial of the inverse sizes of the others."""
        sizes = tuple(sorted(self.domain[name].size for name in subset))
        return _inverse_cells(tuple(sorted(self.domain.sizes)), sizes, k)

    def moments(self, view: View) -> list[tuple[View, float]]:
        """For each component of a view: what noise of variance one in its answers adds to the
        variance of each cell, times the square of the number of cells."""
        return [(subset, self._moment(subset)) for subset in self._subsets(view)]

    def _moment(self, subset: View) -> float:
        """The variance of the total times a moment (see `solvers.basis`), summed over the basis
        functions of a component, when that of its answers is one.

        The projection of the answers on an orthonormal contrast has variance one, and is n times
        the contrast (sqrt(2) times for n = 2); the scaling of moments multiplies by sqrt(n). There
        are n - 1 contrasts.
        """
        sizes = [self.domain[name].size for name in subset]
        return math.prod(1.0 if size == 2 else (size - 1) / size for size in sizes)

    def _subsets(self, view: View) -> Iterable[View]:
        return _subsets(
            [name for name in _sorted(self.domain, view) if self.domain[name].size > 1], self.order
        )

    def _marginal(
        self, view: View, tables: Mapping[View, Floats], variances: Mapping[View, float]
    ) -> Marginal:
        domain = self.domain
        ordered = _sorted(domain, view)
        cells = domain.cells(view)
        counts = np.zeros(domain.shape(ordered))
        variance = 0.0
        for subset, moment in self.moments(view):
            spread = [domain[name].size if name in subset else 1 for name in ordered]
            counts += tables[subset].reshape(spread) * (
                math.prod(domain[name].size for name in subset) / cells
            )
            variance += variances[subset] * moment / cells**2
        order = [ordered.index(name) for name in view]
        counts = counts.transpose(order)
        return Marginal(
            domain.restrict(view, checked=True), counts, np.full(counts.shape, variance)
        )


def closure(
    name: str, domain: Domain, workload: Iterable[View], order: int | None = None
) -> list[View]:
    """All subsets of the views, of at most `order` attributes, with names in the order of the
    domain, without attributes of one value; small first.

    DomainError, naming the method, when they are too many, or an attribute has too many categories.
    """
    widest = max(domain[attribute].size for view in workload for attribute in view)
    instead = "PriView, or coarser categories"
    check_reach(
        name,
        widest**2,
        _MOST_NUMBERS,
        what="numbers in the matrix of an attribute",
        instead=instead,
    )
    if isinstance(workload, Workload) and workload.kway is not None:
        most = min(workload.kway, workload.kway if order is None else order)
        names = [name for name in domain if domain[name].size > 1]
        _check_reach(name, sum(math.comb(len(names), size) for size in range(most + 1)))
        return list(_subsets(names, most))
    needed = sum(_number_of_subsets(len(view), order) for view in workload)
    _check_reach(name, needed)
    varying = {name for name in domain if domain[name].size > 1}
    position = domain.position
    sets = {
        subset
        for view in workload
        for subset in _subsets([name for name in _sorted(domain, view) if name in varying], order)
    }
    return sorted(sets, key=lambda subset: (len(subset), [position[name] for name in subset]))


@lru_cache(maxsize=4096)
def _inverse_cells(sizes: tuple[int, ...], inner: tuple[int, ...], k: int) -> float:
    """The sum over the multisets of k sizes that hold the inner ones, each counted once a view, of
    one over their product; both ascending."""
    others = list(sizes)
    for size in inner:
        others.remove(size)
    sums = np.zeros(k - len(inner) + 1)
    sums[0] = 1.0
    for size in others:
        sums[1:] += sums[:-1] / size
    return float(sums[-1]) / math.prod(inner)


def precise_shares(shares: Sequence[float] | Floats) -> tuple[int, ...]:
    """Positive shares as whole numbers, to a relative 2**-50 of the largest."""
    largest = max(shares)
    return tuple(max(1, round(share / largest * 2**50)) for share in shares)


def _check_reach(name: str, needed: int) -> None:
    instead = "PriView, or views of fewer attributes"
    check_reach(name, needed, _MOST_SETS, what="components of marginals", instead=instead)


def _sorted(domain: Domain, view: Iterable[str]) -> View:
    position = domain.position
    return tuple(sorted(view, key=lambda name: position[name]))


def _subsets(names: Sequence[str], order: int | None = None) -> Iterable[View]:
    most = len(names) if order is None else min(order, len(names))
    return itertools.chain.from_iterable(
        itertools.combinations(names, size) for size in range(most + 1)
    )


def _number_of_subsets(count: int, order: int | None) -> int:
    return 1 << count if order is None else sum(math.comb(count, size) for size in range(order + 1))


def _strategy(domain: Domain, view: View) -> Strategy:
    return (
        Strategy(view, tuple(_factor(domain[name].size) for name in view))
        if view
        else Strategy.total(domain)
    )


@lru_cache
def _factor(size: int) -> Factor:
    return Factor([[1, -1]] if size == 2 else size * np.eye(size, dtype=np.int64) - 1)


def _component(domain: Domain, view: View, values: Floats) -> Floats:
    """The component as a table over its set, of noisy answers: the least-squares estimate along
    each axis."""
    if not view:
        return values.reshape(())
    for axis, name in enumerate(view):
        size = domain[name].size
        inverse = np.array([[0.5], [-0.5]]) if size == 2 else (np.eye(size) - 1 / size) / size
        values = np.moveaxis(np.tensordot(inverse, values, axes=(1, axis)), 0, axis)
    return values


def moments_in_answers(sizes: Iterable[int]) -> int:
    """By which factor noise in answers has a larger variance than in total times moment: along an
    axis of n > 2 values the moments are the answers' contrasts over sqrt(n)."""
    return math.prod(size for size in sizes if size > 2)


@lru_cache
def _contrasts(size: int) -> Floats:
    return np.ones((1, 1)) if size == 2 else contrasts(size)[1:] / math.sqrt(size)


def _moments(sizes: tuple[int, ...], values: Floats) -> Floats:
    """Total times moment (see `solvers.basis`) of a component, of the answers on its set.

    Along an axis of n > 2 values the answers are n times the table less its mean, the moments
    sqrt(n) times the table's contrasts.
    """
    if not sizes:
        return values.reshape(())
    for axis, size in enumerate(sizes):
        matrix = _contrasts(size)
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)
    return values
