"""Measuring components in bases that follow the queries of a workload."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._axes import times_along
from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private, Strategy
from ...private.linear import linear_variances
from ...private.strategy import sensitivities
from ...solvers import ComponentErrors, Tables
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..axis_queries import AxisQueries, asked_queries, queries_of
from ..by_table import asked_levels
from ..components import closure, precise_shares, subsets, unknown
from ..profiles import Profile, largest_variance
from .basis import AxisBasis, cell_basis, rounded
from .choice import Option, options
from .largest import least_largest, profile
from .weights import ComponentCosts, best_choices

__all__ = ["AskedComponents"]

_LARGEST_PRODUCT = 1 << 30
"""Largest product of entries of the matrices of one component (see `margin.private.Strategy`)."""

_FINEST = 1 << 20
"""Largest entry of a matrix (see `margin.private.Factor`)."""


@dataclass(
    frozen=True,
    eq=False,
)
class AskedComponents:
    """A plan to measure the components of a workload, each attribute in a basis for its queries.

    The component of a set S of attributes is measured by the Kronecker product of the integer
    matrices R_i of its attributes (see `AxisBasis`) on the marginal on S. The table on a view V is
    the sum over the subsets S of V of the products of A_i y_S for i in S and u_i for the others.
    The matrix with the rows 1' and R_i is square and invertible, or has the cells' matrix n I - J
    in place of R_i. So the components of V determine its table, and this is the generalised least
    squares estimate from all measurements.

    Attributes
    ----------
    name
        The method, for messages.
    domain, workload
        The attributes, and the views that are asked for.
    queries
        For some attributes what is asked of them; the cells of all others.
    budget
        The budget that is spent.
    order
        The largest number of attributes of a measured component; None for no limit.
    largest
        Whether the shares minimise the largest weighted variance of a query, instead of the sum.
    choice
        For each attribute of `queries` the number of its basis among `options`; None for the best.
    """

    name: str
    domain: Domain
    workload: Workload
    queries: Mapping[str, AxisQueries]
    budget: Budget
    order: int | None = None
    largest: bool = False
    choice: tuple[int, ...] | None = None

    @cached_property
    def sets(self) -> list[View]:
        """The sets of attributes whose components are measured: those that are not known."""
        return unknown(self.domain, self._needed)

    @cached_property
    def _needed(self) -> list[View]:
        """The sets of attributes whose components the workload needs."""
        return closure(self.name, self.domain, self.workload, self.order)

    @cached_property
    def bases(self) -> dict[str, AxisBasis]:
        """The basis of each attribute of two or more values."""
        found = self._options
        if self.choice is not None:
            chosen = dict(zip(self.queries, self.choice, strict=True))
        elif self.largest:
            # The best choice for the sum, and one spread for all attributes, are compared.
            alike = [
                (number,) * len(self.queries) for number in range(len(next(iter(found.values()))))
            ]
            tried = [dataclasses.replace(self, choice=one) for one in (self._choice, *alike)]
            return min(tried, key=lambda plan: float(plan._least_largest.sum())).bases
        else:
            chosen = dict(zip(self.queries, self._choice, strict=True))
        bases = {}
        for name, attribute in self.domain.items():
            if name in found:
                bases[name] = rounded(found[name][chosen[name]].rows, self.grid)
            elif attribute.size > 1:
                bases[name] = cell_basis(attribute.size)
        return bases

    @cached_property
    def _options(self) -> dict[str, tuple[Option, ...]]:
        """The bases among which those of the attributes of `queries` are chosen."""
        laplace = self._power == 2
        return {
            name: options(queries, laplace=laplace)
            for name, queries in self.queries.items()
            if self.domain[name].size > 1
        }

    @cached_property
    def _choice(self) -> tuple[int, ...]:
        """The choice with the smallest summed error."""
        position = self.domain.position
        chosen = best_choices(
            self._costs,
            self._lengths(set(self._options)),
            {
                position[name]: [(option.of_rows, option.of_total) for option in listed]
                for name, listed in self._options.items()
            },
            self._of_cells,
            power=self._power,
        )
        return tuple(chosen.get(position[name], 0) for name in self.queries)

    @cached_property
    def grid(self) -> int:
        """The largest entry of the rounded matrices: a power of two, as large as their products
        may be. It depends on the domain and the workload alone."""
        grid = _FINEST
        while grid > 4 and any(self._product(view, grid) > _LARGEST_PRODUCT for view in self.sets):
            grid //= 2
        return grid

    @cached_property
    def strategies(self) -> list[Strategy]:
        """The linear queries that measure the component of each set."""
        made = []
        for view in self.sets:
            if view:
                made.append(Strategy(view, [self.bases[name].factor for name in view]))
            else:
                made.append(Strategy.total(self.domain))
        return made

    @cached_property
    def costs(self) -> Floats:
        """For each set the summed error variance of the workload's queries, each times the weight
        of its view, if only the answers on this set have noise, of variance one."""
        of_rows, of_total = (column.copy() for column in self._of_cells)
        for name, asked in self.queries.items():
            if name in self.bases:
                axis = self.domain.position[name]
                of_rows[axis], of_total[axis] = self.bases[name].costs(asked.gram)
        return self._costs(of_rows, of_total)

    @cached_property
    def shares(self) -> tuple[int, ...]:
        """The shares of the budget that minimise the summed squared error of the workload.

        The variance of the answers on S at share s is in proportion to p_S / s (zCDP), with p_S the
        squared L2 sensitivity, or to p_S / s**2 (pure), with p_S the square of the L1 sensitivity.
        So the best shares are in proportion to the square roots, or the cube roots, of p_S c_S.
        With `largest`, `least_largest` finds the shares.
        """
        if self.largest:
            return precise_shares(self._least_largest)
        return precise_shares((self._steep * self.costs) ** (1 / (1 + self._power)))

    @cached_property
    def _steep(self) -> Floats:
        """The numbers p_S of `shares`."""
        bounds = sensitivities(self.strategies, self.budget)
        return np.array([float(l1) ** 2 if self._power == 2 else float(l2) for l1, l2 in bounds])

    @cached_property
    def _least_largest(self) -> Floats:
        """The shares with which the largest variance is one; see `least_largest`."""
        views = [
            (tuple(name for name in self.bases if name in view), weight)
            for view, weight in zip(self.workload.views, self.workload.weights, strict=True)
        ]
        return least_largest(self.sets, views, self.profiles, self._steep, power=self._power)

    @cached_property
    def profiles(self) -> dict[str, Floats]:
        """For each attribute of two or more values the variances of its queries; see `profile`."""
        found = {}
        for name, basis in self.bases.items():
            cells = AxisQueries("cells", self.domain[name].size)
            found[name] = profile(basis, self.queries.get(name, cells))
        return found

    @cached_property
    def variances(self) -> list[float]:
        """The variance of the noise in the answers on each set, if all of the budget is spent."""
        return linear_variances(self.strategies, self.budget, shares=self.shares)

    def table_errors(self, workload: Workload) -> list[float]:
        """The expected squared error of each table of a workload: the summed error of all queries
        that are asked of it, in squared rows.

        It is infinite if a component of the table is not measured.
        """
        measured = dict(zip(self.sets, self.variances, strict=True))
        queries = asked_queries(self.domain, workload)
        costs: dict[tuple[str, str | None], tuple[float, float]] = {}
        errors = []
        for view, levels in asked_levels(workload):
            # Pairs of a component and the error of the table per unit of variance in its answers.
            parts: list[tuple[View, float]] = [((), 1.0)]
            along = zip(view, levels, strict=True)
            for asked in sorted(along, key=lambda pair: self.domain.position[pair[0]]):
                if asked[0] not in self.bases:
                    continue
                if asked not in costs:
                    gram = queries_of(self.domain, *asked, queries).gram
                    costs[asked] = self.bases[asked[0]].costs(gram)
                of_rows, of_total = costs[asked]
                outside = [(part, cost * of_total) for part, cost in parts]
                inside = [((*part, asked[0]), cost * of_rows) for part, cost in parts]
                parts = outside + inside
            errors.append(
                sum(
                    cost * measured.get(part, math.inf)
                    for part, cost in parts
                    if not self.domain.knows(part)
                )
            )
        return errors

    def largest_errors(self, workload: Workload) -> list[float]:
        """The largest expected squared error of a query that is asked of each table.

        It is infinite if a component of the table is not measured. If the queries of an attribute
        have many different variances, it is an upper bound; see `frontier`.
        """
        measured = dict(zip(self.sets, self.variances, strict=True))
        queries = asked_queries(self.domain, workload)
        found: dict[tuple[str, str | None], Profile] = {}
        errors = []
        for view, levels in asked_levels(workload):
            profiles = {}
            along = [asked for asked in zip(view, levels, strict=True) if asked[0] in self.bases]
            for asked in sorted(along, key=lambda pair: self.domain.position[pair[0]]):
                if asked not in found:
                    axis_queries = queries_of(self.domain, *asked, queries)
                    found[asked] = profile(self.bases[asked[0]], axis_queries)
                profiles[asked[0]] = found[asked]
            # What is known has no error.
            needed = [part for part in subsets(tuple(profiles)) if not self.domain.knows(part)]
            variances = {part: measured.get(part, math.inf) for part in needed}
            if math.inf in variances.values():
                errors.append(math.inf)
            else:
                errors.append(largest_variance(tuple(profiles), variances, profiles)[0])
        return errors

    @cached_property
    def precisions(self) -> dict[View, float]:
        """For each set one divided by the mean noise variance of its moments times the total (see
        `margin.solvers.basis`), in squared rows."""
        noise = self.noise(dict(zip(self.sets, self.variances, strict=True)))
        axes = {view: self.domain.axes(view) if view else () for view in self.sets}
        found = {view: float(noise.mean_precisions(axes[view])[-1]) for view in self.sets}
        return found | dict.fromkeys(filter(self.domain.knows, self._needed), math.inf)

    def noise(self, variances: Mapping[View, float]) -> ComponentErrors:
        """The covariance of the noise, if the answers on each set have these variances."""
        domain = self.domain
        inverses = {}
        for name in self.queries:
            if name in self.bases:
                basis = self.bases[name]
                matrix = np.column_stack([basis.spread, basis.inverse])
                inverses[domain.position[name]] = matrix
        by_axes = {
            domain.axes(view) if view else (): max(variance, LEAST_VARIANCE)
            for view, variance in variances.items()
        }
        return ComponentErrors(domain.sizes, inverses, by_axes)

    def measure(self, private: Private) -> tuple[Tables, ComponentErrors]:
        """Measure the components with the whole budget, and make tables of them.

        The tables are unbiased and consistent.
        """
        measured = private.measure_linear(self.strategies, shares=self.shares)
        parts: dict[View, Floats] = {}
        variances: dict[View, float] = {}
        for view, answers in zip(self.sets, measured, strict=True):
            values = answers.values if view else answers.values.reshape(())
            for axis, name in enumerate(view):
                values = times_along(self.bases[name].inverse, values, axis)
            parts[view] = values
            variances[view] = answers.variance
        for view in filter(self.domain.knows, self._needed):
            parts[view] = self._known_part(view)
            variances[view] = 0.0
        noise = self.noise(variances)
        return self._tables(parts, noise), noise

    def _known_part(self, view: View) -> Floats:
        """The part of a known table that its component adds: (I - u 1') x along each axis."""
        assert self.domain.constraints is not None
        table = self.domain.constraints.table(self.domain.axes(view) if view else ())
        for axis, name in enumerate(view):
            sums = table.sum(axis=axis, keepdims=True)
            ends = [-1 if other == axis else 1 for other in range(len(view))]
            table = table - sums * self.bases[name].spread.reshape(ends)
        return table

    def _tables(
        self,
        parts: Mapping[View, Floats],
        noise: ComponentErrors,
    ) -> Tables:
        """The tables of the largest measured sets; attributes of one value are in all of them."""
        domain = self.domain
        inside = {view[:place] + view[place + 1 :] for view in parts for place in range(len(view))}
        alone = [name for name, attribute in domain.items() if attribute.size == 1]
        views, values, precisions, variances = [], [], [], []
        for view in self._needed:
            if view in inside:
                continue
            axes = tuple(sorted(domain.axes([*view, *alone])))
            values.append(self._table(axes, parts))
            precision = noise.mean_precisions(axes)
            precisions.append(precision)
            variances.append(max(float(noise.cell_variances(axes).mean()), LEAST_VARIANCE))
            views.append(axes)
        return Tables(
            sizes=domain.sizes,
            views=tuple(views),
            values=tuple(values),
            variances=tuple(variances),
            precisions=tuple(precisions),
            zeros=domain.zeros,
            known=domain.constraints,
        ).with_known()

    def _table(
        self,
        axes: tuple[int, ...],
        parts: Mapping[View, Floats],
    ) -> Floats:
        """The table on some axes: the sum of its components, each spread over the other axes."""
        names = [self.domain.attributes[axis] for axis in axes]
        table = np.zeros([self.domain.sizes[axis] for axis in axes])
        for subset, part in parts.items():
            if not set(subset) <= set(names):
                continue
            shape = [self.domain[name].size if name in subset else 1 for name in names]
            spread = part.reshape(shape)
            for place, name in enumerate(names):
                if name not in subset and name in self.bases:
                    ends = [-1 if other == place else 1 for other in range(len(names))]
                    spread = spread * self.bases[name].spread.reshape(ends)
            table += spread
        return table

    @cached_property
    def _costs(self) -> ComponentCosts:
        return ComponentCosts(self.domain, self.workload, self.sets)

    @cached_property
    def _of_cells(self) -> tuple[Floats, Floats]:
        """The costs of each attribute if its cells are asked, in the basis for cells."""
        of_rows = [0.5 if size == 2 else (size - 1) / size**2 for size in self.domain.sizes]
        return np.array(of_rows), 1 / np.array(self.domain.sizes, dtype=np.float64)

    def _lengths(self, own: set[str]) -> Floats:
        """The sensitivity of each component if the attributes in `own` have sensitivity one."""
        lengths = []
        for view in self.sets:
            factors = [
                cell_basis(self.domain[name].size).factor for name in view if name not in own
            ]
            if self._power == 2:
                lengths.append(float(math.prod(factor.l1 for factor in factors)) ** 2)
            else:
                lengths.append(float(math.prod(factor.l2_squared for factor in factors)))
        return np.array(lengths)

    def _product(self, view: View, grid: int) -> int:
        """The largest product of entries of the matrices of a component."""
        sizes = (self.domain[name].size for name in view if name not in self.queries)
        cells = math.prod(max(1, size - 1) for size in sizes)
        ordered = sum(name in self.queries for name in view)
        return cells * int(grid**ordered)

    @property
    def _power(self) -> int:
        """How variance falls with the share of the budget: as 1 / share**power."""
        return 2 if isinstance(self.budget, PureDP) else 1
