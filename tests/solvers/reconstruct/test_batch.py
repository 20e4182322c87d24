"""Batches: built in bulk, and solved by compiled loops with the same numbers as numpy's."""

import dataclasses
import itertools
import math
import sys

import numpy as np
import pytest
from cases import random_tables, seeds, tables_of
from hypothesis import given, settings

from margin.solvers import (
    Batch,
    JointProjection,
    Newton,
    Problem,
    ResidualConsistency,
    Status,
    Tables,
)
from margin.solvers.reconstruct import newton
from margin.solvers.tables.nonnegativity import joint_projection
from margin.solvers.testing import examples


def consistent(seed, **options) -> Tables:
    return JointProjection()(ResidualConsistency()(random_tables(seed, **options)))


@pytest.fixture(scope="module")
def kernels():
    pytest.importorskip("numba")
    from margin.solvers.reconstruct import newton_loops as kernels

    return kernels


@given(seed=seeds)
@settings(max_examples=40)
def test_a_batch_holds_the_problems_of_its_rows(seed):
    """Against reading each coefficient from the first view that holds it, and summing precisions,
    one by one."""
    tables = consistent(seed, mean=50.0)
    axes = tuple(range(len(tables.sizes)))
    problem = Problem.of(tables, axes)
    place = {int(index): row for row, index in enumerate(problem.index)}
    for index, position in enumerate(np.ndindex(*tables.sizes)):
        varies = {axis for axis, digit in enumerate(position) if digit}
        holders = [row for row, view in enumerate(tables.views) if varies <= set(view)]
        assert (index in place) == bool(holders and varies)
        if index in place:
            first = holders[0]
            moment = tables.moments[first][tuple(position[axis] for axis in tables.views[first])]
            assert problem.target[place[index]] == pytest.approx(moment)
            precision = sum(tables.precision[row] for row in holders) * tables.total**2
            assert problem.variance[place[index]] == pytest.approx(1 / precision)


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        (np.array([[1, 0]]), "ascending"),
        (np.array([[0, 4]]), "must be ascending numbers from 0 to 3"),
        (np.array([[0, 1], [1, 2]]), "same shape"),
        (np.array([0, 1]), "shape"),
        (np.empty((0, 2), dtype=int), "n > 0"),
    ],
)
def test_malformed_axes_are_refused(axes, says):
    tables = random_tables(0, sizes=(2, 2, 3, 2), count=2)
    with pytest.raises(ValueError, match=says):
        Batch.of(tables, axes)


def test_a_table_beyond_memory_is_refused_before_it_is_made():
    tables = random_tables(0, sizes=(2,) * 60, count=3)
    with pytest.raises(ValueError, match=str(2**50)):
        Problem.of(tables, tuple(range(50)))


@pytest.mark.parametrize("mean", [0.0, -3.0])
def test_tables_of_no_positive_total_are_refused(mean):
    tables = tables_of(np.full((2, 2, 2), mean), [(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="positive"):
        Batch.of(tables, [(0, 2)])


def test_packing_keeps_the_problems():
    tables = consistent(3, sizes=(2, 3, 2, 3), count=5)
    problems = [Problem.of(tables, axes) for axes in ((0, 1), (0, 3), (2, 3))]
    for problem, packed in zip(problems, Batch.pack(problems), strict=True):
        assert packed.shape == problem.shape and packed.total == problem.total
        assert (packed.index == problem.index).all() and (packed.target == problem.target).all()
    with pytest.raises(ValueError, match="same shape"):
        Batch.pack([problems[0], Problem.of(tables, (0, 1, 2))])
    with pytest.raises(IndexError):
        Batch.pack(problems)[3]


GOOD = {
    "shape": (2, 2),
    "offsets": np.array([0, 2, 3]),
    "index": np.array([1, 2, 1]),
    "target": np.zeros(3),
    "variance": np.ones(3),
    "total": np.ones(2),
    "total_variance": np.zeros(2),
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": np.zeros(2)}, "must have the same length"),
        ({"total_variance": np.zeros(1)}, "must have the same length"),
        ({"offsets": np.array([0, 3])}, "offsets"),
        ({"offsets": np.array([0, 2, 4])}, "offsets"),
        ({"offsets": np.array([0, 4, 3])}, "fall"),
        ({"index": np.array([1, 4, 1])}, "number of cells"),
        ({"index": np.array([2, 1, 1])}, "ascending"),
        ({"target": np.array([0.0, np.nan, 0.0])}, "finite"),
        ({"variance": np.array([0.0, -1.0, 0.0])}, ">= 0"),
        ({"total": np.array([1.0, -1.0])}, "total"),
        ({"total_variance": np.array([1.0, -1.0])}, "total_variance"),
        ({"shape": (2,) * 50}, str(2**50)),
    ],
)
def test_malformed_batches_are_refused(change, says):
    assert len(Batch(**GOOD)) == 2
    with pytest.raises(ValueError, match=says):
        Batch(**{**GOOD, **change})


SHAPES = [
    (2, 2, 2, 2),
    (2,) * 7,
    (3, 2, 4, 2),
    (1, 3, 2, 5),
    (5,),
    (2, 70, 3),
    (2, 2, 1, 2),
    (3, 3, 3),
]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_loops_give_numpys_numbers(kernels, sizes, threads):
    batch = Batch.pack(
        [
            Problem.of(consistent(seed, sizes=sizes, count=4), tuple(range(len(sizes))))
            for seed in range(9)
        ]
    )
    solver = Newton(threads=threads, tolerance=1e-11)
    compiled = solver._many(batch, kernels)
    for problem, solution in zip(batch, compiled, strict=True):
        plain = solver.solve(problem)
        assert solution.status is plain.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(plain.objective, abs=1e-10)
        assert solution.table == pytest.approx(plain.table, rel=1e-6, abs=1e-8 * problem.total)
        assert np.sqrt(solution.variance) == pytest.approx(
            np.sqrt(plain.variance), rel=1e-4, abs=1e-4
        )
        assert solution.residual == pytest.approx(plain.residual, abs=1e-8)


def test_conjugate_gradients_between_factors_give_the_same_numbers(kernels):
    """With more than 64 unknowns, here 175: all triples of ten axes."""
    rng = np.random.default_rng(0)
    array = rng.gamma(0.3, 30.0, (2,) * 10)
    exact = tables_of(array, list(itertools.combinations(range(10), 3)), variance=100.0)
    noisy = exact.with_values([value + rng.normal(0, 10.0, value.shape) for value in exact.values])
    batch = Batch.of(ResidualConsistency()(noisy), [tuple(range(10))] * 2)
    assert np.diff(batch.offsets).tolist() == [175, 175]
    solver = Newton(threads=1, tolerance=1e-11)
    plain, compiled = solver.solve(batch[0]), solver._many(batch, kernels)[0]
    assert compiled.status is plain.status is Status.OPTIMAL
    assert compiled.objective == pytest.approx(plain.objective, abs=1e-10)
    assert compiled.table == pytest.approx(plain.table, rel=1e-6, abs=1e-8 * array.sum())
    assert np.sqrt(compiled.variance) == pytest.approx(np.sqrt(plain.variance), rel=1e-4, abs=1e-4)


def test_compiled_loops_tell_an_iteration_limit_and_may_skip_the_bars(kernels):
    batch = Batch.of(consistent(1, sizes=(2,) * 6, count=6), [(0, 1, 2, 3), (1, 2, 3, 5)])
    solutions = Newton(iterations=0, bars=False)._many(batch, kernels)
    assert solutions.status is Status.ITERATION_LIMIT and solutions.failures == [0, 1]
    assert solutions.variance is None and solutions[0].variance is None


def test_exact_targets_that_contradict_each_other_are_told(kernels):
    problem = dataclasses.replace(examples()["contradictory pairs"], variance=np.zeros(6))
    agreeing = dataclasses.replace(examples()["binary pairs"], variance=np.zeros(6))
    assert Newton().solve(problem).status is Status.RELAXED
    assert Newton().solve(agreeing).status is Status.OPTIMAL
    solutions = Newton()._many(Batch.pack([agreeing, problem]), kernels)
    assert [solution.status for solution in solutions] == [Status.OPTIMAL, Status.RELAXED]


def test_compiled_exponentials_are_right_to_rounding(kernels):
    from margin.solvers.compiled import exponentials

    values = -np.linspace(0.0, 700.0, 20_001)
    result = values.copy()
    exponentials(result, np.zeros(len(values), dtype=np.int64))
    assert result == pytest.approx(np.exp(values), rel=1e-15)


def test_a_small_call_never_loads_the_compiler(monkeypatch):
    monkeypatch.delitem(sys.modules, "margin.solvers.reconstruct.newton_loops", raising=False)
    tables = consistent(1, sizes=(2,) * 6, count=6)
    Newton().solve(Batch.of(tables, list(itertools.combinations(range(6), 3))))
    assert "margin.solvers.reconstruct.newton_loops" not in sys.modules


def test_a_single_problem_uses_the_compiled_loops_that_are_there(kernels, monkeypatch):
    called = []
    monkeypatch.setattr(kernels, "solve_range", lambda *arguments: called.append(arguments))
    batch = Batch.of(consistent(1, sizes=(2,) * 6, count=6), [(0, 1, 2, 3)])
    Newton().solve(batch)
    assert len(called) == 1


@pytest.mark.parametrize(
    ("user", "function"), [(newton, "solve_range"), (joint_projection, "agree")]
)
def test_long_work_loads_the_compiled_loops_and_short_work_then_uses_them(user, function):
    """A wrong name would leave short work to numpy."""
    loops = user._compiled_loops(math.inf)
    assert hasattr(loops, function) and user._compiled_loops(0.0) is loops


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [2, 3], ids=["pairs", "triples"])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_the_default_never_fails(blocks, scale):
    """Sparse data under little and much noise, from single attributes to twelve at once."""
    rng = np.random.default_rng(blocks)
    rate = rng.beta(0.5, 4.0, (6, 14))
    rows = (rng.random((20_000, 14)) < rate[rng.integers(0, 6, 20_000)]).astype(np.int64)
    width = 14 // (2 * blocks)
    groups = [tuple(range(start, min(start + width, 14))) for start in range(0, 14, width)]
    views = sorted(
        {tuple(sorted(sum(some, ()))) for some in itertools.combinations(groups, blocks)}
    )
    exact = [np.zeros((2,) * len(view)) for view in views]
    for view, table in zip(views, exact, strict=True):
        np.add.at(table, tuple(rows[:, axis] for axis in view), 1.0)
    noisy = tuple(table + rng.laplace(0, scale * len(views), table.shape) for table in exact)
    tables = Tables(
        sizes=(2,) * 14,
        views=tuple(views),
        values=noisy,
        variances=(2 * (scale * len(views)) ** 2,) * len(views),
    )
    tables = JointProjection()(ResidualConsistency()(tables))
    for size in (1, 4, 8, 12):
        asked = [np.sort(rng.choice(14, size, replace=False)) for _ in range(5)]
        assert not Newton(bars=False).solve(Batch.of(tables, np.array(asked))).failures


def test_a_strength_per_domain():
    """One for binary axes, ten for others, and what is asked for if it is."""
    for shape, strength in (((2, 2), 1.0), ((2, 3), 10.0)):
        tables = tables_of(np.ones(shape) * 9, [(0,), (1,)])
        problem = Problem.of(tables, (0, 1))
        assert Newton().solve(problem).relaxation == strength
        assert dataclasses.replace(Newton(), strength=3.0).solve(problem).relaxation == 3.0
