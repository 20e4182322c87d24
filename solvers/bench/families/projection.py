"""Consistency and joint non-negativity: the nearest tables of views that agree."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...status import Status
from ...tables.consistency import Components
from ...tables.tables import Tables
from ...types import Floats
from ..models.model import Model
from .family import Check, Claim, Family
from .tables_of_answers import marginal_rows

__all__ = ["ConsistencyFamily", "NonNegativityFamily"]

_SINGLE_AXIS = 3.0
"""The importance of a component of one axis that one view holds; of k axes it is 1 / k. These are
the weights of `JointProjection(growth=0)`; they stand here so that the instances never change."""

_VIEWS = {
    r"y_V": "the observed table of the view V, a set of axes",
    r"x_V": "the table of the view V that is sought",
    r"M^V_A": "the matrix of zeros and ones from the table of V to its marginal on A",
}


class _ProjectionFamily(Family):
    """A family whose problems and answers are `Tables`: the same views with other cells."""

    group: ClassVar[str] = "projection"
    method: ClassVar[str] = "__call__"
    takes: ClassVar[str] = "margin.solvers.Tables"
    gives: ClassVar[str] = "margin.solvers.Tables, or a list with an array for each view"
    unit: ClassVar[str] = "standard deviations of a cell's noise"

    @abstractmethod
    def objective(self, problem: Tables, values: list[Floats]) -> float:
        """The objective at tables of the views."""

    def broken(self, problem: Tables, values: list[Floats]) -> float:
        """How far tables are from agreeing with each other, in standard deviations of a cell."""
        given = problem.with_values(values)
        worst = 0.0
        for one, other in combinations(range(len(values)), 2):
            axes = tuple(axis for axis in problem.views[one] if axis in problem.views[other])
            difference = given.project(one, axes) - given.project(other, axes)
            deviation = math.sqrt(min(problem.variances[one], problem.variances[other]))
            worst = max(worst, float(np.abs(difference).max()) / deviation)
        return worst

    def check(self, problem: Tables, answer: Any) -> Check:
        values = _values_of(problem, answer)
        if isinstance(values, str):
            return Check.unreadable(values)
        worst = self.broken(problem, values)
        objective = self.objective(problem, values)
        if worst > self.tolerance:
            fault = f"a constraint is broken by {worst:.3g} {self.unit}"
            return Check(feasible=False, objective=objective, violation=worst, fault=fault)
        return Check(feasible=True, objective=objective, violation=worst)

    def claim(self, answer: Any) -> Claim:
        status = getattr(answer, "status", None)
        return Claim(status=status if isinstance(status, Status) else None)

    def pack(self, problem: Tables) -> dict[str, NDArray[Any]]:
        more = (problem.zeros, problem.precisions, problem.known_total, problem.unbiased)
        if any(part is not None for part in more):
            raise ValueError(
                "an instance of tables must be of independent measurements alone, but this one has "
                "zeros, precisions, a known total or unbiased tables; leave them out"
            )
        arrays: dict[str, NDArray[Any]] = {
            "sizes": np.array(problem.sizes, np.int64),
            "variances": np.array(problem.variances),
        }
        for number, (axes, value) in enumerate(zip(problem.views, problem.values, strict=True)):
            arrays[f"axes{number}"] = np.array(axes, np.int64)
            arrays[f"table{number}"] = value
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Tables:
        count = len(arrays["variances"])
        return Tables(
            sizes=tuple(arrays["sizes"].tolist()),
            views=tuple(tuple(arrays[f"axes{number}"].tolist()) for number in range(count)),
            values=tuple(arrays[f"table{number}"] for number in range(count)),
            variances=tuple(arrays["variances"].tolist()),
        )


class ConsistencyFamily(_ProjectionFamily):
    """The nearest tables that agree on shared axes: the problem of `ResidualConsistency`."""

    name: ClassVar[str] = "consistency"
    columns: ClassVar[str] = (
        "(x_V - y_V) / sigma_V for each cell of each view V, view after view, row by row of each "
        "table"
    )
    rows: ClassVar[str] = (
        "for each set A of axes that several views hold, in the order of tuples (the empty one "
        "first), for each of these views V but the last, with W the next one, and for each cell z "
        "of the marginal on A whose codes are all >= 1, row by row: M_A x_V = M_A x_W at z, as "
        "M_A (x_V - y_V) - M_A (x_W - y_W) = M_A y_W - M_A y_V"
    )

    def statement(self) -> str:
        return (
            r"\min_{x} \; \sum_V \frac{\lVert x_V - y_V \rVert^2}{\sigma_V^2} \quad "
            r"\text{subject to} \quad M^V_{V \cap W} \, x_V = M^W_{V \cap W} \, x_W "
            r"\; \text{ for all } V, W"
        )

    def symbols(self) -> Mapping[str, str]:
        return _VIEWS | {r"\sigma_V^2": "the variance of the noise of a cell of V"}

    def objective(self, problem: Tables, values: list[Floats]) -> float:
        parts = []
        for value, observed, variance in zip(
            values, problem.values, problem.variances, strict=True
        ):
            parts.append(math.fsum(np.ravel((value - observed) ** 2)) / variance)
        return math.fsum(parts)

    def model(self, problem: Tables) -> Model:
        # The columns are the changes of the cells in standard deviations, view after view.
        rows, gaps = _agreement(problem)
        count = rows.shape[1]
        return Model(
            cost=np.zeros(count),
            square=np.full(count, 2.0),
            matrix=rows,
            lower=gaps,
            upper=gaps,
            least=-np.inf,
        )

    def answer(self, problem: Tables, point: Floats) -> list[Floats]:
        values = []
        start = 0
        for observed, variance in zip(problem.values, problem.variances, strict=True):
            change = np.asarray(point[start : start + observed.size]) * math.sqrt(variance)
            values.append(observed + change.reshape(observed.shape))
            start += observed.size
        return values


class NonNegativityFamily(_ProjectionFamily):
    """The nearest tables that agree and are non-negative: the problem of `JointProjection`."""

    name: ClassVar[str] = "nonnegativity"
    columns: ClassVar[str] = (
        "(c_S - b_S) times the root of pi_S for each coefficient but the constant one, in the "
        "order of margin's residual basis"
    )
    rows: ClassVar[str] = (
        "x_V >= 0 for each cell of each view V, as (x_V - B_V b) / sigma_V >= -B_V b / sigma_V. "
        "The axes of each table stand in descending order of their sizes, equal ones in their own "
        "order, and its cells row by row; views are sorted by these sizes, compared as tuples, "
        "equal ones in their own order"
    )

    def statement(self) -> str:
        return (
            r"\min_{c} \; \sum_{S \neq \emptyset} \iota_S \, \pi_S \lVert c_S - b_S \rVert^2 "
            r"\quad \text{subject to} \quad x_V = B_V \, c \ge 0 \; \text{ for all } V, \quad "
            r"c_\emptyset = b_\emptyset"
        )

    def symbols(self) -> Mapping[str, str]:
        return {
            r"c_S": "the coefficients of the residual component S, which all views share",
            r"b_S": "their best linear estimates from the observed tables",
            r"\pi_S": "the precisions (1 / variance) of these estimates",
            r"\iota_S": "the importance of S: the root of the number of views that hold it, times "
            "3 for a single axis and 1 / |S| otherwise",
            r"B_V": "the map from the coefficients to the table of the view V",
            r"x_V": "the table of the view V that is sought",
        }

    def objective(self, problem: Tables, values: list[Floats]) -> float:
        components, observed, weight = _components(problem)
        found = components.average(components.analyse(components.flatten(values)))
        squares = weight * (found - observed) ** 2
        return math.fsum(squares[components.order > 0])

    def broken(self, problem: Tables, values: list[Floats]) -> float:
        components, observed, _ = _components(problem)
        total = float(observed[components.order == 0].item())
        worst = super().broken(problem, values)
        for value, variance in zip(values, problem.variances, strict=True):
            amount = max(-float(value.min()), abs(float(value.sum()) - total))
            worst = max(worst, amount / math.sqrt(variance))
        return worst

    def model(self, problem: Tables) -> Model:
        # The columns are the changes of the coefficients, each in its own standard deviation, and
        # the rows are the cells, in standard deviations of their noise.
        components, observed, weight = _components(problem)
        free = components.order > 0
        scale = np.sqrt(components.precision[free])
        deviation = sparse.diags_array(1 / components.deviation)
        rows = deviation @ components.matrix()[:, free] @ sparse.diags_array(1 / scale)
        cells = components.synthesise(observed) / components.deviation
        return Model(
            cost=np.zeros(len(scale)),
            square=2 * weight[free] / scale**2,
            matrix=rows,
            lower=-cells,
            upper=np.inf,
            least=-np.inf,
        )

    def answer(self, problem: Tables, point: Floats) -> list[Floats]:
        components, observed, _ = _components(problem)
        free = components.order > 0
        shared = observed.copy()
        shared[free] += np.asarray(point) / np.sqrt(components.precision[free])
        return list(components.tables(shared).values)


def _components(problem: Tables) -> tuple[Components, Floats, Floats]:
    """The components of tables, the estimates of their coefficients, and the weights of these."""
    components = Components(problem)
    observed = components.estimate(problem.values)
    order = components.order
    by_order = np.where(order == 1, _SINGLE_AXIS, 1 / np.maximum(order, 1))
    importance = by_order * np.sqrt(components.holders)
    return components, observed, components.precision * importance


def _values_of(problem: Tables, answer: Any) -> list[Floats] | str:
    """The tables of an answer; a text says why if there are none."""
    given = getattr(answer, "values", answer)
    if callable(given) or isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        return f"the answer is a {type(answer).__name__}, not a table for each view"
    if len(given) != len(problem.views):
        return f"the answer has {len(given)} tables; expected {len(problem.views)}"
    values = []
    for view, table, like in zip(problem.views, given, problem.values, strict=True):
        try:
            value = np.asarray(table, np.float64)
        except (TypeError, ValueError):
            return f"the table of view {view} holds no numbers"
        if value.shape != like.shape:
            return f"the table of view {view} has shape {value.shape}; expected {like.shape}"
        if not np.isfinite(value).all():
            return f"a cell of the table of view {view} is not finite"
        values.append(value)
    return values


@lru_cache(maxsize=4)
def _agreement_rows(sizes: tuple[int, ...], views: tuple[tuple[int, ...], ...]) -> Any:
    """The equations by which tables agree, as triples (axes, one view, the next view)."""
    held: dict[tuple[int, ...], list[int]] = {}
    for row, view in enumerate(views):
        for size in range(len(view) + 1):
            for axes in combinations(view, size):
                held.setdefault(axes, []).append(row)
    return [
        (axes, one, other)
        for axes, rows in sorted(held.items())
        for one, other in pairwise(rows)
        if all(sizes[axis] > 1 for axis in axes)
    ]


def _agreement(problem: Tables) -> tuple[sparse.csr_array, Floats]:
    """Linearly independent equations by which changes of all cells make the tables agree.

    Any set of axes that several views hold links each of these views to the next one, by those
    cells of its marginal whose codes are all >= 1.
    """
    starts = np.cumsum([0, *(value.size for value in problem.values)])
    blocks: list[Any] = [sparse.csr_array((0, starts[-1]))]
    gaps = [np.empty(0)]
    for axes, one, other in _agreement_rows(problem.sizes, problem.views):
        parts: list[Any] = []
        gap = 0.0
        for row, sign in ((one, 1.0), (other, -1.0)):
            view = problem.views[row]
            sums = sign * marginal_rows(
                problem.values[row].shape, tuple(view.index(axis) for axis in axes)
            )
            gap = gap - sums @ problem.values[row].ravel()
            entries = (sums * math.sqrt(problem.variances[row])).tocoo()
            parts.append((entries.data, entries.row, entries.col + starts[row], sums.shape[0]))
        data, rows, columns = (np.concatenate([part[k] for part in parts]) for k in range(3))
        blocks.append(sparse.csr_array((data, (rows, columns)), shape=(parts[0][3], starts[-1])))
        gaps.append(np.asarray(gap))
    return sparse.csr_array(sparse.vstack(blocks)), np.concatenate(gaps)
