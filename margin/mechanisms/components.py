"""Measuring the residual components of marginals, and adding them up to marginals.

The component of a set S of attributes is the part of the marginal on S that the marginals on its
subsets do not determine. A marginal is the sum of the components of all subsets of its attributes,
each spread evenly over the attributes it lacks (see `solvers.basis`). Along a binary attribute a
component is measured by the row (1, -1), which makes it a Walsh-Hadamard coefficient. Along an
attribute of n > 2 values it is measured by the matrix n I - J: n times the orthogonal projection on
the vectors that sum to zero.
"""

import copy
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from .._axes import times_along
from .._numbers import Number
from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..noise.laws import variances_of
from ..privacy.budget import Budget
from ..private import Private, Strategy
from ..private.linear import linear_noises
from ..private.strategy import Factor
from ..solvers import Evidence, concentration_of_component
from ..solvers.basis import contrasts
from ..synopses.noisy_tables import LEAST_VARIANCE
from .asked import check_reach
from .axis_queries import asked_queries
from .by_table import (
    Precision,
    asked_levels,
    largest_errors,
    of_components,
    table_errors,
    traces_of,
    weighted,
)

__all__ = ["Components", "closure", "precise_shares", "subsets", "unknown"]


_MOST_SETS = 1 << 24
"""Largest number of components."""

_CELLS_TOGETHER = 1 << 15
"""Largest number of answers from which moments are computed together."""

_MOST_NUMBERS = 1 << 24
"""Largest number of entries in the matrix of an attribute."""


@dataclass(
    frozen=True,
    eq=False,
)
class Components:
    """A plan to measure the residual components that a workload needs.

    Attributes
    ----------
    name
        The method, for messages.
    domain, workload
        The attributes, and the marginals that are asked for.
    shares
        The share of the budget of each component, in the order of `sets`; None for equal noise in
        all answers.
    order
        The largest number of attributes of a measured component; None for no limit. With a limit
        there are no unbiased `answers`, and errors count the measured components only.
    skip_known
        Whether components that the domain knows are not measured. There are then no `answers`, and
        these components have no error.
    """

    name: str
    domain: Domain
    workload: Workload
    shares: tuple[int, ...] | None = None
    order: int | None = None
    skip_known: bool = False

    def with_shares(self, shares: tuple[int, ...]) -> "Components":
        """The same components with other shares."""
        shared = copy.copy(self)  # keeps the cached properties
        object.__setattr__(shared, "shares", shares)
        return shared

    @cached_property
    def sets(self) -> list[View]:
        """The sets of attributes whose components the workload needs."""
        needed = closure(self.name, self.domain, self.workload, self.order)
        return unknown(self.domain, needed) if self.skip_known else needed

    @cached_property
    def strategies(self) -> list[Strategy]:
        """The linear queries that measure the component of each set."""
        return [_strategy(self.domain, view) for view in self.sets]

    def answers(self, private: Private) -> list[Marginal]:
        """Measure the marginals of the workload with the whole budget.

        They are unbiased and consistent, and have the exact variance and kurtosis of their noise.
        """
        tables: dict[View, Floats] = {}
        variances: dict[View, float] = {}
        measured = private.measure_linear(self.strategies, shares=self.shares)
        for view, answers in zip(self.sets, measured, strict=True):
            tables[view] = _component(self.domain, view, answers.values)
            variances[view] = answers.variance
        law = private.budget.kurtosis
        return [self._marginal(view, tables, variances, law) for view in self.workload]

    def measure(
        self,
        private: Private,
        evidence: Evidence,
        *,
        spend: Number | None = None,
    ) -> None:
        """Measure the components, and add the results to `evidence`."""
        answers = private.measure_linear(
            self.strategies,
            shares=self.shares,
            spend=spend,
        )
        # Answers are dropped as soon as their moments are known: both together would take memory.
        measured = dict(enumerate(answers))
        del answers
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, view in enumerate(self.sets):
            sizes = tuple([self.domain[name].size for name in view])
            alike.setdefault(sizes, []).append(row)
        # Components of one shape together, a bounded number of cells at a time.
        position = self.domain.position
        for sizes, rows in alike.items():
            step = max(1, _CELLS_TOGETHER // math.prod(sizes))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                found = [measured.pop(row) for row in some]
                axes = [tuple([position[name] for name in self.sets[row]]) for row in some]
                values = np.stack([answer.noisy for answer in found]).astype(np.float64)
                variances = np.array([answer.variance for answer in found])
                variances /= moments_in_answers(sizes)
                evidence.add_components(
                    axes,
                    np.ascontiguousarray(_moments(sizes, values)),
                    np.maximum(variances, LEAST_VARIANCE),
                )

    def expected_error(self, budget: Budget) -> float:
        """The expected squared error of `answers`, in squared rows.

        The errors of all cells are added, each times the weight of its marginal. Where the workload
        names levels, or asks prefixes or ranges, the cells are the counts that are asked.
        """
        if self.workload.levels or self.workload.asked:
            return weighted(self.workload, self.table_errors(budget))
        pairs = zip(self.costs, self.variances(budget), strict=True)
        return sum(cost * variance for cost, variance in pairs)

    def table_errors(self, budget: Budget) -> list[float]:
        """The expected squared error of each table of the workload, summed over its counts."""
        return table_errors(self.domain, self.workload, self._precision(budget))

    def largest_errors(self, budget: Budget) -> list[float]:
        """The largest expected squared error of a count of each table of the workload."""
        return largest_errors(self.domain, self.workload, self._precision(budget))

    def _precision(self, budget: Budget) -> Precision:
        return of_components(
            self.domain,
            self.precisions(budget),
            uses_known=self.skip_known,
        )

    def precisions(self, budget: Budget) -> dict[View, float]:
        """For each set of `sets` one divided by the noise variance of its moments times the total
        (see `solvers.basis`), in squared rows."""
        found = {}
        for view, variance in zip(self.sets, self.variances(budget), strict=True):
            sizes = self.domain.shape(view) if view else ()
            found[view] = moments_in_answers(sizes) / max(variance, LEAST_VARIANCE)
        return found

    def variances(self, budget: Budget) -> list[float]:
        """The variance of the noise in the answers on each set, if all of the budget is spent."""
        _, noises = linear_noises(
            budget,
            self.bounds(budget),
            shares=self.shares,
            units=budget.units,
            together=True,
        )
        return variances_of(noises)

    def bounds(self, budget: Budget) -> list[tuple[int, int]]:
        """The bounds of `Strategy.sensitivity` for each set.

        Sets of attributes of equal sizes have equal matrices, so that one strategy stands for all.
        """
        size = dict(zip(self.domain.attributes, self.domain.sizes, strict=True))
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        bounds = []
        for view in self.sets:
            sizes = tuple([size[name] for name in view])
            if sizes not in found:
                found[sizes] = _strategy(self.domain, view).sensitivity(budget)
            bounds.append(found[sizes])
        return bounds

    @cached_property
    def costs(self) -> list[float]:
        """For each set of `sets`, the expected squared error of the workload if only the answers on
        this set have noise, of variance one."""
        k = self.workload.kway
        queries = asked_queries(self.domain, self.workload)
        if k is not None and not queries:
            # Sets of attributes of equal sizes have equal costs.
            by_sizes: dict[tuple[int, ...], float] = {}
            found = []
            for subset in self.sets:
                sizes = tuple([self.domain[name].size for name in subset])
                if sizes not in by_sizes:
                    by_sizes[sizes] = self._held(subset, k) * self._moment(subset)
                found.append(by_sizes[sizes])
            return found
        # For attributes of which more than cells is asked, how many times more a component without
        # the attribute and one with it adds to the error; see `by_table.traces_of`.
        factors = {}
        for name in queries:
            outside, inside = traces_of(self.domain, name, None, queries)
            factors[name] = outside, inside / max(1, self.domain[name].size - 1)
        costs = dict.fromkeys(self.sets, 0.0)
        weights = self.workload.weights
        for (view, levels), weight in zip(asked_levels(self.workload), weights, strict=True):
            share = weight / self.domain.cells(view)
            pairs = zip(view, levels, strict=True)
            asked = [name for name, level in pairs if level is None and name in factors]
            for subset in self._subsets(view):
                if subset in costs:
                    more = math.prod(factors[name][name in subset] for name in asked)
                    costs[subset] += share * more
        return [cost * self._moment(subset) for subset, cost in costs.items()]

    def _held(
        self,
        subset: View,
        k: int,
    ) -> float:
        """The sum, over all views of k attributes that contain a set, of 1 / (number of cells).

        It is an elementary symmetric polynomial of the inverse sizes of the other attributes.
        """
        sizes = tuple(sorted(self.domain[name].size for name in subset))
        return _inverse_cells(tuple(sorted(self.domain.sizes)), sizes, k)

    def moments(self, view: View) -> list[tuple[View, float]]:
        """The components of a view, and how much the noise of each adds to the variance of a cell.

        The result holds pairs (component, factor). If the noise in the answers on the component has
        variance v, it adds v * factor / cells**2 to the variance of each cell of the view, where
        `cells` is the number of its cells.
        """
        return [(subset, self._moment(subset)) for subset in self._subsets(view)]

    def _moment(self, subset: View) -> float:
        """The sum of the variances of a component's moments (times the total).

        Moments are defined in `solvers.basis`. The answers on the component have variance one.
        Their projection on an orthonormal contrast then has variance one, and is n times the
        contrast (sqrt(2) times for n = 2). The scaling of moments multiplies by sqrt(n). There are
        n - 1 contrasts.
        """
        sizes = [self.domain[name].size for name in subset]
        return math.prod(1.0 if size == 2 else (size - 1) / size for size in sizes)

    def _subsets(self, view: View) -> Iterable[View]:
        ordered = _sorted(self.domain, view)
        varying = [name for name in ordered if self.domain[name].size > 1]
        return subsets(varying, self.order)

    def _marginal(
        self,
        view: View,
        tables: Mapping[View, Floats],
        variances: Mapping[View, float],
        kurtosis: float,
    ) -> Marginal:
        """The marginal of a view: the sum of the components of its subsets.

        `kurtosis` is that of the noise in each answer.
        """
        domain = self.domain
        ordered = _sorted(domain, view)
        cells = domain.cells(view)
        counts = np.zeros(domain.shape(ordered))
        variance = 0.0
        fourth = 0.0
        for subset, moment in self.moments(view):
            # A component is constant along the attributes that it lacks.
            shape = [domain[name].size if name in subset else 1 for name in ordered]
            share = math.prod(domain[name].size for name in subset) / cells
            counts += tables[subset].reshape(shape) * share
            part = variances[subset] * moment / cells**2
            variance += part
            # Fourth cumulants of independent noise add up, as variances do.
            sizes = [domain[name].size for name in subset]
            fourth += part**2 * concentration_of_component(sizes)
        counts = counts.transpose([ordered.index(name) for name in view])
        return Marginal(
            domain.restrict(view, checked=True),
            counts,
            np.full(counts.shape, variance),
            noise_kurtosis=kurtosis * fourth / variance**2 if variance > 0 else 0.0,
        )


def closure(
    name: str,
    domain: Domain,
    workload: Iterable[View],
    order: int | None = None,
) -> list[View]:
    """List all subsets of the views that have at most `order` attributes, small sets first.

    Names are in the order of the domain; attributes of one value are left out.

    Raises
    ------
    DomainError
        When there are too many subsets, or an attribute has too many categories. The message names
        the method `name`.
    """
    if isinstance(workload, Workload) and workload.kway is not None:
        widest = max(domain.sizes)
    else:
        widest = max(domain[attribute].size for view in workload for attribute in view)
    check_reach(
        name,
        widest**2,
        _MOST_NUMBERS,
        what="numbers in the matrix of an attribute",
        instead="PriView, or coarser categories",
    )
    if isinstance(workload, Workload) and workload.kway is not None:
        most = min(workload.kway, workload.kway if order is None else order)
        names = [name for name in domain if domain[name].size > 1]
        _check_reach(name, sum(math.comb(len(names), size) for size in range(most + 1)))
        return list(subsets(names, most))
    _check_reach(name, sum(_number_of_subsets(len(view), order) for view in workload))
    varying = {name for name in domain if domain[name].size > 1}
    sets: set[View] = set()
    for view in workload:
        names = [name for name in _sorted(domain, view) if name in varying]
        sets.update(subsets(names, order))
    position = domain.position
    return sorted(sets, key=lambda subset: (len(subset), [position[name] for name in subset]))


def unknown(domain: Domain, sets: Iterable[View]) -> list[View]:
    """The sets whose components the domain does not know.

    If it knows all of them, the result is the component of the total: a release measures something.
    """
    return [view for view in sets if not domain.knows(view)] or [()]


@lru_cache(maxsize=4096)
def _inverse_cells(
    sizes: tuple[int, ...],
    inner: tuple[int, ...],
    k: int,
) -> float:
    """The sum of 1 / (product of sizes) over all sets of k attributes that contain an inner set.

    The sizes of all attributes, and the sizes of the inner set, are in ascending order.
    """
    others = list(sizes)
    for size in inner:
        others.remove(size)
    # sums[j] is the elementary symmetric polynomial of degree j of the inverse sizes so far.
    sums = np.zeros(k - len(inner) + 1)
    sums[0] = 1.0
    for size in others:
        sums[1:] += sums[:-1] / size
    return float(sums[-1]) / math.prod(inner)


def precise_shares(shares: Sequence[float] | Floats) -> tuple[int, ...]:
    """Round positive shares to whole numbers, with an error of at most 2**-50 of the largest."""
    largest = max(shares)
    return tuple(max(1, round(share / largest * 2**50)) for share in shares)


def _check_reach(name: str, needed: int) -> None:
    instead = "PriView, or views of fewer attributes"
    check_reach(
        name,
        needed,
        _MOST_SETS,
        what="components of marginals",
        instead=instead,
    )


def _sorted(domain: Domain, view: Iterable[str]) -> View:
    position = domain.position
    return tuple(sorted(view, key=lambda name: position[name]))


def subsets(
    names: Sequence[str],
    order: int | None = None,
) -> Iterable[View]:
    """All subsets of some names, of at most `order` of them, small ones first."""
    most = len(names) if order is None else min(order, len(names))
    return itertools.chain.from_iterable(
        itertools.combinations(names, size) for size in range(most + 1)
    )


def _number_of_subsets(count: int, order: int | None) -> int:
    if order is None:
        return 1 << count
    return sum(math.comb(count, size) for size in range(order + 1))


def _strategy(domain: Domain, view: View) -> Strategy:
    if not view:
        return Strategy.total(domain)
    return Strategy(view, tuple(_factor(domain[name].size) for name in view))


@lru_cache
def _factor(size: int) -> Factor:
    if size == 2:
        return Factor([[1, -1]])
    return Factor(size * np.eye(size, dtype=np.int64) - 1)


def _component(
    domain: Domain,
    view: View,
    values: Floats,
) -> Floats:
    """The component as a table over its set: the least-squares estimate from its noisy answers."""
    if not view:
        return values.reshape(())
    for axis, name in enumerate(view):
        size = domain[name].size
        # The pseudo-inverse of (1, -1), or of n I - J.
        inverse = np.array([[0.5], [-0.5]]) if size == 2 else (np.eye(size) - 1 / size) / size
        values = times_along(inverse, values, axis)
    return values


def moments_in_answers(sizes: Iterable[int]) -> int:
    """The noise variance of the answers on a component, divided by that of its moments.

    The moments are multiplied by the total. `sizes` are the sizes of the component's attributes.
    Along an axis of n > 2 values the moments are the contrasts of the answers over sqrt(n).
    """
    return math.prod(size for size in sizes if size > 2)


@lru_cache
def _contrasts(size: int) -> Floats:
    return np.ones((1, 1)) if size == 2 else contrasts(size)[1:] / math.sqrt(size)


def _moments(sizes: tuple[int, ...], values: Floats) -> Floats:
    """Compute the moments of n components, times the total, from the answers on their sets.

    Moments are defined in `solvers.basis`. `values` has shape (n, ...).

    Along an axis of n > 2 values the answers are n times the table less its mean, and the moments
    are sqrt(n) times the contrasts of the table.
    """
    if not sizes:
        return values.reshape(len(values))
    for axis, size in enumerate(sizes, start=1):
        values = times_along(_contrasts(size), values, axis)
    return values
