"""How strongly maximum entropy is relaxed: more only where pairs are known to say little."""

import dataclasses

import numpy as np
import pytest

from margin.solvers import JointProjection, Newton, Reconstruction, ResidualConsistency, Tables
from margin.solvers.reconstruct.shrinkage import strength_around, strength_for

VIEWS = tuple(tuple(range(start, start + 6)) for start in range(0, 18, 3))


def noisy(array_of, scale: float, seed: int = 0, axes: int = 24) -> Tables:
    """Views of 24 binary axes, of rows drawn by `array_of`, with noise of this standard
    deviation."""
    rng = np.random.default_rng(seed)
    rows = array_of(rng, axes)
    values = []
    for view in VIEWS:
        table = np.zeros((2,) * len(view))
        np.add.at(table, tuple(rows[:, axis] for axis in view), 1.0)
        values.append(table + rng.normal(0, scale, table.shape))
    raw = Tables(
        sizes=(2,) * axes, views=VIEWS, values=tuple(values), variances=(scale**2,) * len(VIEWS)
    )
    return ResidualConsistency()(raw)


def independent(rng, axes):
    return (rng.random((20_000, axes)) < 0.4).astype(np.int64)


def classes(rng, axes):
    rate = rng.uniform(0.2, 0.8, axes)
    return (
        rng.random((20_000, axes)) < np.stack([rate, 1 - rate])[rng.integers(0, 2, 20_000)]
    ).astype(np.int64)


def test_independent_axes_call_for_more_and_related_ones_do_not():
    assert strength_for(noisy(independent, 30.0)) > 10
    assert strength_for(noisy(classes, 30.0)) == 1.0


def test_of_rare_values_nothing_is_concluded():
    """Of clicks, non-negative tables under large noise look as if no page had to do with
    another."""

    def clicks(rng, axes):
        taste = rng.random(20_000) < 0.05
        return (rng.random((20_000, axes)) < np.where(taste, 0.4, 0.02)[:, None]).astype(np.int64)

    for scale in (30.0, 300.0):
        tables = noisy(clicks, scale)
        assert strength_for(tables) is None
        assert strength_for(JointProjection()(tables)) is None


def test_it_lowers_the_error_where_noise_is_all_there_is():
    tables = noisy(independent, 100.0)
    asked, truth = np.array([[0, 1, 3, 4, 6, 7, 9, 10]]), np.full((), 20_000.0)
    for _ in range(8):
        truth = np.multiply.outer(truth, [0.6, 0.4])
    usual, suited = (
        np.linalg.norm(
            Reconstruction(tables, Newton(bars=False, strength=strength)).solve(asked).table - truth
        )
        for strength in (1.0, None)
    )
    assert suited < 0.95 * usual


def test_a_stated_strength_is_kept_and_told():
    tables = noisy(independent, 30.0)
    for strength in (2.0, 0.5):
        solutions = Reconstruction(tables, Newton(strength=strength)).solve([(0, 9)])
        assert (solutions.relaxation == strength).all()
    assert (
        Reconstruction(tables, Newton()).solve([(0, 9)]).relaxation == strength_for(tables)
    ).all()


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": (2,) * 23 + (3,)},
        {
            "views": ((0,), (1,)),
            "values": (np.array([5.0, 4.0]), np.array([6.0, 3.0])),
            "variances": (1.0, 1.0),
        },
    ],
    ids=["categories", "no pair held"],
)
def test_where_nothing_can_be_told_it_is_the_usual(change):
    assert strength_for(dataclasses.replace(noisy(independent, 30.0), **change)) is None


def test_few_pairs_prove_little():
    rng = np.random.default_rng(0)
    raw = Tables(
        sizes=(2, 2, 2),
        views=((0, 1), (1, 2)),
        values=tuple(25 + rng.normal(0, 9, (2, 2)) for _ in range(2)),
        variances=(81.0, 81.0),
    )
    assert strength_for(ResidualConsistency()(raw)) == 1.0


def test_with_context_moments_give_way_by_a_part_of_their_deviation():
    """Twenty times the noise is a twentieth of the strength; a stated strength stays."""
    little, much = noisy(classes, 10.0), noisy(classes, 200.0)
    assert strength_around(little) == pytest.approx(0.2 / (10.0 * 8 / little.total))
    assert strength_around(much) == pytest.approx(0.2 / (200.0 * 8 / much.total))
    for solver, strength in (
        (Newton(context=8), strength_around(much)),
        (Newton(context=8, strength=3.0), 3.0),
    ):
        assert (Reconstruction(much, solver).solve([(0, 9)]).relaxation == strength).all()


def test_precisions_of_components_tell_the_deviation_where_they_are_known():
    tables = noisy(classes, 30.0)
    same = dataclasses.replace(tables, precisions=(np.full(64, 1 / (64 * 30.0**2)),) * len(VIEWS))
    assert strength_around(same) == pytest.approx(strength_around(tables))
    # Of what is not on two or more axes nothing is heard.
    known = np.where(np.bitwise_count(np.arange(64)) >= 2, 1 / (64 * 30.0**2), 1e6)
    lower = dataclasses.replace(tables, precisions=(known,) * len(VIEWS))
    assert strength_around(lower) == pytest.approx(strength_around(tables))


def test_other_categories_give_way_more_and_exact_moments_hardly():
    tables = noisy(classes, 30.0)
    more = dataclasses.replace(tables, sizes=(2,) * 23 + (3,))
    assert strength_around(more) == pytest.approx(5 * strength_around(tables))
    exact = dataclasses.replace(tables, variances=(1e-300,) * len(VIEWS))
    answer = Reconstruction(exact, Newton(context=8, bars=False)).solve([(0, 1)])
    held = exact.project(0, (0, 1))
    assert answer.table[0] == pytest.approx(held, abs=1e-3 * exact.total)


@pytest.mark.parametrize(("rows_of", "most"), [(independent, 1.05), (classes, 0.95)])
@pytest.mark.parametrize("scale", [10.0, 100.0])
def test_context_with_its_own_strength_lowers_the_error(rows_of, most, scale):
    """Against the asked axes alone, for marginals on six axes that no view covers; where there is
    nothing to learn from other axes it does not raise it."""
    tables = noisy(rows_of, scale)
    rng = np.random.default_rng(3)
    asked = np.array([sorted(rng.choice(18, 6, replace=False)) for _ in range(8)])
    rows = rows_of(np.random.default_rng(0), 24)
    errors = []
    for solver in (Newton(bars=False), Newton(bars=False, context=12)):
        found = Reconstruction(JointProjection()(tables), solver).solve(asked).table
        errors.append(0.0)
        for axes, table in zip(asked, found, strict=True):
            counts = np.zeros(table.shape)
            np.add.at(counts, tuple(rows[:, axis] for axis in axes), 1.0)
            errors[-1] += float(np.linalg.norm(table - counts))
    assert errors[1] < most * errors[0]
