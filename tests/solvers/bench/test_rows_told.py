"""The rows of a programme are those that `Family.rows` tells, in this order and with this scale.

The expected rows are computed from the words of `Family.rows` and a random point, with sums over
axes of tables alone.
"""

import dataclasses
import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from margin.solvers import bench
from margin.solvers.bench.engines.clarabel import ClarabelEngine

RNG = np.random.default_rng(0)


def sums(table, axes):
    """The marginal of a table on these axes."""
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))


def inner(table):
    """The cells whose codes are all >= 1, row by row."""
    return np.ravel(table[(slice(1, None),) * np.ndim(table)])


def subsets(axes):
    return [part for size in range(len(axes) + 1) for part in combinations(axes, size)]


def cells(problem):
    """Random shares of the cells that need not be zero, and their table."""
    shares = RNG.dirichlet(np.ones(len(problem.possible)))
    return shares, problem.spread(shares).reshape(problem.shape)


def exact(problem):
    shares, table = cells(problem)
    n = len(shares)
    held = {part for axes, _ in problem.margins() for part in subsets(axes) if part}
    order = sorted(held, key=lambda axes: sum(2**axis for axis in axes))
    rows = np.concatenate([[n], *(n * inner(sums(table, axes)) for axes in order)])
    known = {part: sums(m, [axes.index(a) for a in part])
             for axes, m in problem.margins() for part in subsets(axes)}  # fmt: skip
    right = np.concatenate([[n], *(n * inner(known[axes]) for axes in order)])
    return np.concatenate([n * shares, RNG.random(n)]), rows, right, right


def ridged(problem, terms):
    """The rows of both families with ridges; the columns have a number of terms in the middle."""
    shares, table = cells(problem)
    n, root = len(shares), np.sqrt(problem.ridge)
    misses = RNG.normal(size=len(root))
    rows = np.append(n, problem.moments(table.ravel()) / root - misses)
    right = np.append(n, problem.target / root)
    return np.concatenate([n * shares, RNG.random(terms), misses]), rows, right, right


def minimax(problem):
    shares, table = cells(problem)
    n, w = len(shares), 0.3
    own = np.concatenate([n * np.ravel(sums(table, axes)) for axes, _ in problem.margins()])
    known = np.concatenate([n * np.ravel(marginal) for _, marginal in problem.margins()])
    free = np.full(len(own), np.inf)
    rows = np.concatenate([[n], own - n * w, own + n * w])
    lower, upper = np.concatenate([[n], -free, known]), np.concatenate([[n], known, free])
    return np.append(n * shares, n * w), rows, lower, upper


def consistency(problem):
    changes = [RNG.normal(size=value.shape) for value in problem.values]
    deviations = np.sqrt(problem.variances)
    new = [y + d * c for y, d, c in zip(problem.values, deviations, changes, strict=True)]
    rows, right = [], []
    for axes in sorted({part for view in problem.views for part in subsets(view)}):
        holders = [number for number, view in enumerate(problem.views) if set(axes) <= set(view)]
        for one, other in pairwise(holders):
            places = [[problem.views[v].index(a) for a in axes] for v in (one, other)]
            x, z = (inner(sums(new[v], p)) for v, p in zip((one, other), places, strict=True))
            y, u = (
                inner(sums(problem.values[v], p)) for v, p in zip((one, other), places, strict=True)
            )
            rows.append((x - y) - (z - u))
            right.append(u - y)
    right = np.concatenate(right)
    point = np.concatenate([np.ravel(change) for change in changes])
    return point, np.concatenate(rows), right, right


def nonnegativity(problem):
    family = bench.instances(family="nonnegativity", size="small")[0].family
    point = RNG.normal(size=family.model(problem).columns)
    tables, base = family.answer(problem, point), family.answer(problem, 0 * point)
    turned = []
    for number, view in enumerate(problem.views):
        turn = sorted(range(len(view)), key=lambda place: -problem.sizes[view[place]])
        shape = tuple(problem.sizes[view[place]] for place in turn)
        deviation = math.sqrt(problem.variances[number])
        x, b = (np.ravel(t[number].transpose(turn)) / deviation for t in (tables, base))
        turned.append((shape, number, x - b, -b))
    turned.sort(key=lambda one: one[:2])
    rows, lower = (np.concatenate([one[part] for one in turned]) for part in (2, 3))
    return point, rows, lower, np.full(len(lower), np.inf)


def cover(problem):
    point = RNG.random(len(problem.cost))
    owner = np.repeat(np.arange(len(point)), np.diff(problem.offsets))
    rows = np.bincount(problem.member, point[owner], problem.items)
    return point, rows, np.ones(len(rows)), np.full(len(rows), np.inf)


EXPECTED = {
    "exact-entropy": exact,
    "penalised-entropy": lambda problem: ridged(problem, len(problem.possible)),
    "least-squares": lambda problem: ridged(problem, 0),
    "minimax": minimax,
    "consistency": consistency,
    "nonnegativity": nonnegativity,
    "cover": cover,
}
NAMES = [
    *("exact-entropy-m3-chain-pairs", "exact-entropy-m3-classes-pairs-zeros"),
    *("penalised-entropy-m3-chain-pairs", "penalised-entropy-m4-classes-pairs-zeros"),
    *("least-squares-m3-chain-pairs", "minimax-m3-chain-pairs"),
    *("consistency-m8-rules-pairs-unequal", "nonnegativity-m8-rules-pairs-unequal"),
    "cover-design-7-3-2",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_are_those_that_are_told(name):
    instance = bench.instance(name)
    point, rows, lower, upper = EXPECTED[instance.family.name](instance.problem)
    model = instance.model
    np.testing.assert_allclose(model.matrix @ point, rows, atol=1e-9)
    np.testing.assert_allclose(model.lower, lower, atol=1e-9)
    np.testing.assert_allclose(model.upper, upper, atol=1e-9)


def theta(problem, model, dual):
    """The derivative of the best value by each target, from the multipliers of the rows."""
    if problem.ridge is not None:
        return dual[1:] / np.sqrt(problem.ridge)
    functions = problem.functions(np.eye(len(problem.target)))
    return functions @ (model.matrix[:, : problem.cells].T @ dual)


@pytest.mark.parametrize("family", ["exact-entropy", "penalised-entropy", "least-squares"])
def test_a_multiplier_is_the_derivative_of_the_best_value_by_the_target(family):
    pytest.importorskip("clarabel")
    instance = bench.instance(f"{family}-m3-classes-pairs")
    problem, step = instance.problem, 1e-4
    found = theta(problem, instance.model, ClarabelEngine()(instance.model).dual)
    for place in (0, 9, len(found) - 1):
        values = []
        for change in (step, -step):
            target = problem.target.copy()
            target[place] += change
            model = instance.family.model(dataclasses.replace(problem, target=target))
            values.append(model.objective(ClarabelEngine()(model).point))
        assert found[place] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-4)
