"""`Reconstruction`: marginals by way of a larger table."""

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest
from cases import tables_of

from margin.solvers import IPF, Batch, Known, Newton, Problem, Reconstruction, Zeros
from margin.solvers.reconstruct import context as context_module
from margin.solvers.reconstruct import sampling


def chain(length=6, seed=0):
    """A Markov chain of binary axes with strong links, as one table of 10,000."""
    rng = np.random.default_rng(seed)
    array = rng.dirichlet([1, 1])
    for _ in range(length - 1):
        step = np.array([[0.9, 0.1], [0.2, 0.8]])
        array = array[..., None] * step
    return array * 10_000


VIEWS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_the_whole_chain_speaks_for_its_ends():
    """The ends share no view: without context they look independent."""
    array = chain()
    tables = tables_of(array, VIEWS, variance=1e-6)
    truth = array.sum(axis=(1, 2, 3, 4))
    local = Reconstruction(tables, Newton()).solve([(0, 5)])[0]
    assert np.abs(local.table - truth).max() > 100
    joint = Reconstruction(tables, Newton(context=6)).solve([(0, 5)])[0]
    assert joint.table == pytest.approx(truth, abs=1.0)


def test_context_is_chosen_by_association():
    array = chain()
    tables = tables_of(array, VIEWS, variance=1e-6)
    joint = Reconstruction(tables, Newton(context=3))
    apart = Reconstruction(tables, Newton(context=3), joint_cells=0)
    joint.solve([(1, 3)])
    answer = apart.solve([(1, 3)])[0]
    assert "_joint" in vars(joint) and "_joint" not in vars(apart)
    assert answer.table == pytest.approx(array.sum(axis=(0, 2, 4, 5)), abs=1.0)


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "context"])
def test_variance_of_a_projection_is_that_of_its_cells(joint, monkeypatch):
    """Against derivatives by differences: solve again with each target moved."""
    if not joint:
        monkeypatch.setattr(context_module, "JOINT_CELLS", 0)
    array = np.random.default_rng(3).gamma(2.0, 100.0, (2, 3, 2))
    tables = tables_of(array, [(0, 1), (1, 2)], variance=400.0)
    solver = Newton(context=3, tolerance=1e-12, strength=10.0)
    found = Reconstruction(tables, solver).solve([(0, 2)])[0]
    problem = Problem.of(tables, (0, 1, 2))
    base = solver.solve(problem).table.sum(axis=1)
    expected = np.zeros((2, 2))
    for row, variance in enumerate(problem.variance):
        # Moving a target moves the optimum as it does with the ridge held.
        target = problem.target.copy()
        target[row] += 1e-5
        moved = solver.solve(
            Problem(
                shape=problem.shape,
                index=problem.index,
                target=target,
                variance=problem.variance,
                total=problem.total,
                total_variance=0.0,
            )
        ).table.sum(axis=1)
        expected += variance * ((moved - base) / 1e-5) ** 2
    # The total: targets are coefficients over total, so that a larger total is smaller targets.
    more = problem.total * (1 + 1e-5)
    moved = solver.solve(
        Problem(
            shape=problem.shape,
            index=problem.index,
            target=problem.target / (1 + 1e-5),
            variance=problem.variance,
            total=more,
            total_variance=0.0,
        )
    ).table.sum(axis=1)
    expected += problem.total_variance * ((moved - base) / (more - problem.total)) ** 2
    assert found.variance == pytest.approx(expected, rel=1e-3)


CASES = [
    *(
        pytest.param(sizes, False, id=str(sizes))
        for sizes in [(2,) * 6, (3, 2, 1, 4), (1, 5, 1), (2,), (2, 1)]
    ),
    *(
        pytest.param(sizes, True, id=f"{sizes} with zeros")
        for sizes in [(2,) * 6, (3, 2, 1, 4), (2, 2)]
    ),
]


def joint_of(sizes, *, zeros=False, known=None, seed=0, **options):
    """Consistent tables of an array of these sizes, and its reconstruction over all axes."""
    rng = np.random.default_rng(seed)
    array = rng.gamma(0.5, 100.0, sizes)
    rules = None
    if zeros:
        rules = Zeros(sizes, (((0, (0,)), (1, (1,))),))
        array[rules.cells(tuple(range(len(sizes))))] = 0.0
    if known is not None:
        array *= known / array.sum()
    views = [
        tuple(range(start, min(start + 2, len(sizes)))) for start in range(max(1, len(sizes) - 1))
    ]
    tables = tables_of(array, views, variance=25.0)
    known = known and Known.of_total(tables.sizes, known, rules)
    tables = dataclasses.replace(tables, zeros=rules, known=known)
    return tables, Reconstruction(tables, Newton(context=len(sizes) + 1, **options))


@pytest.mark.parametrize("known", [None, 1e3], ids=["noisy total", "known total"])
@pytest.mark.parametrize(("sizes", "zeros"), CASES)
def test_marginals_from_moments_are_sums_of_the_joint_table(sizes, zeros, known):
    tables, reconstruction = joint_of(sizes, zeros=zeros, known=known, tolerance=1e-11)
    joint = reconstruction.solver.solve(Problem.of(tables, tuple(range(len(sizes))))).table
    for count in range(len(sizes) + 1):
        for axes in itertools.combinations(range(len(sizes)), count):
            found = reconstruction.solve(np.array([axes], dtype=np.int64).reshape(1, count))[0]
            dropped = tuple(axis for axis in range(len(sizes)) if axis not in axes)
            assert found.table == pytest.approx(joint.sum(axis=dropped), abs=1e-9 * tables.total)
            assert found.table.min() >= 0
            if zeros:
                empty = tables.zeros.cells(axes)
                assert not found.table[empty].any() and not found.variance[empty].any()


@pytest.mark.parametrize("zeros", [False, True], ids=["all possible", "zeros"])
@pytest.mark.parametrize("sizes", [(2,) * 6, (3, 2, 1, 4)], ids=str)
def test_variances_with_the_kept_inverse_are_those_of_solving(sizes, zeros):
    _, kept = joint_of(sizes, zeros=zeros)
    _, solved = joint_of(sizes, zeros=zeros)
    solved._joint.often = False
    for axes in itertools.combinations(range(len(sizes)), 3):
        expected = solved.solve([axes])[0].variance
        assert expected.max() > 0
        assert kept.solve([axes])[0].variance == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "context"])
@pytest.mark.parametrize(
    "sizes", [pytest.param((2,) * 6, marks=pytest.mark.slow), (3, 2, 1, 4)], ids=str
)
def test_sampled_variances_are_the_exact_ones_but_for_chance(sizes, joint, monkeypatch):
    if not joint:
        monkeypatch.setattr(context_module, "JOINT_CELLS", 0)
    _, exact = joint_of(sizes)
    _, sampled = joint_of(sizes)
    asked = list(itertools.combinations(range(len(sizes)), 3))[::4]
    expected = [exact.solve([axes])[0].variance for axes in asked]
    monkeypatch.setattr(context_module, "EXACT_BAR_CELLS", 0)
    monkeypatch.setattr(context_module._Surroundings, "_scaled", lambda *_: None)
    monkeypatch.setattr(sampling, "PROBES", 10_000)  # right to 1.4 %
    for axes, variance in zip(asked, expected, strict=True):
        assert variance.max() > 0
        assert sampled.solve([axes])[0].variance == pytest.approx(variance, rel=0.1, abs=1e-12)


def test_variances_of_many_cells_need_no_matrix_of_all_pairs_of_them():
    _, reconstruction = joint_of((16,) * 4)
    asked = (0, 1, 3)
    found = reconstruction.solve([asked])[0]
    assert found.variance.shape == (16, 16, 16) and found.variance.min() > 0
    tracemalloc.start()
    reconstruction.solve([asked])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16**6 * 8 / 2


def test_with_nothing_around_them_all_asked_axes_are_solved_for_alone(monkeypatch):
    monkeypatch.setattr(context_module, "JOINT_CELLS", 0)
    monkeypatch.setattr(context_module, "CONTEXT_CELLS", 4)
    monkeypatch.setattr(context_module.JunctionTree, "of", lambda tables, strength: None)
    tables, reconstruction = joint_of((2,) * 6)
    found = reconstruction.solve([(0, 2, 4), (1, 3, 5)])
    alone = Newton(strength=reconstruction.solver.strength).solve(
        Batch.of(tables, [(0, 2, 4), (1, 3, 5)])
    )
    assert found.table == pytest.approx(alone.table)
    assert found.variance == pytest.approx(alone.variance)


@pytest.mark.parametrize("bars", [True, False])
@pytest.mark.parametrize(
    "together", [1, 70, 1 << 22], ids=["one by one", "two at a time", "all at once"]
)
def test_answers_do_not_depend_on_how_many_are_solved_for_together(together, bars, monkeypatch):
    monkeypatch.setattr(context_module, "JOINT_CELLS", 0)
    monkeypatch.setattr(context_module, "CONTEXT_CELLS", 32)
    tables, _ = joint_of((2, 3, 2, 2, 3))
    asked = [(0, 2), (0, 3), (2, 3)]
    alone = [
        Reconstruction(tables, Newton(context=4, bars=bars)).solve([axes])[0] for axes in asked
    ]
    monkeypatch.setattr(context_module, "CONTEXT_CELLS_AT_ONCE", together)
    found = Reconstruction(tables, Newton(context=4, bars=bars)).solve(asked)
    for one, expected in zip(found, alone, strict=True):
        assert one.table == pytest.approx(expected.table)
        assert (one.variance is None) == (not bars) and (
            not bars or one.variance == pytest.approx(expected.variance)
        )


def test_a_batch_from_one_joint_table_is_its_single_answers():
    _, reconstruction = joint_of((2,) * 6)
    asked = list(itertools.combinations(range(6), 3))
    for axes, found in zip(asked, reconstruction.solve(asked), strict=True):
        alone = reconstruction.solve([axes])[0]
        assert found.table == pytest.approx(alone.table, rel=1e-12)
        assert found.variance == pytest.approx(alone.variance, rel=1e-12)


def test_other_solvers_answer_without_context():
    tables = tables_of(chain(), VIEWS, variance=1.0)
    assert Reconstruction(tables, IPF()).solve([(0, 2), (1, 3)]).status.ok
    alone = Newton().solve(Batch.of(tables, [(0, 2)]))
    assert Reconstruction(tables, Newton()).solve([(0, 2)]).table == pytest.approx(alone.table)
