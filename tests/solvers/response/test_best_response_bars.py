"""The best response at size: what the presolve leaves, what is proved, and who finds the better
record. No clocks."""

import numpy as np
import pytest

from margin.solvers import Anneal, BestResponse, ByComponents, Greedy, Highs, Milp, Pulp, Status
from margin.solvers.response.presolve import presolve


def random_instance(attributes, samples, *, queries=100_000, seed=0, sizes=2):
    """Uniform draws with repetition from random 3-way conjunctions and their negations."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, attributes, (queries, 3))
    places = places[(np.diff(np.sort(places, axis=1)) > 0).all(axis=1)]
    values = rng.integers(0, sizes, places.shape)
    drawn = rng.integers(0, 2 * len(places), samples)
    query, sign = drawn // 2, np.where(drawn % 2, -1, 1)
    return BestResponse.conjunctions(
        np.full(attributes, sizes),
        places[query],
        values[query],
        sign,
        constant=int((drawn % 2).sum()),
    )


def test_half_a_million_attributes_are_solved_to_proof():
    instance = random_instance(512_000, 70_000)
    small = presolve(instance).instance
    assert len(small.sizes) < 1000 < len(instance.mentioned)
    response = ByComponents().solve(instance, seed=1)
    assert response.status is Status.OPTIMAL and response.value == instance.objective(
        response.record
    )


@pytest.mark.parametrize(
    ("attributes", "samples", "sizes"), [(17_000, 5_000, 2), (1_000, 300, 2), (2_000, 600, 5)]
)
def test_sparse_instances_are_proved(attributes, samples, sizes):
    for seed in range(5):
        instance = random_instance(attributes, samples, seed=seed, sizes=sizes)
        response = ByComponents().solve(instance, seed=seed)
        assert response.status is Status.OPTIMAL
        if seed == 0:
            assert Milp().solve(instance).value == response.value


def test_components_are_proved_by_the_relaxation_where_it_is_integral():
    instance = random_instance(1_000, 1_000)
    small = presolve(instance).instance
    assert np.log2(small.sizes).sum() > 12  # too many records to try
    assert ByComponents(exact=None).solve(instance, seed=1).status is Status.UNPROVEN
    assert ByComponents().solve(instance, seed=1).status is Status.OPTIMAL


def negated_instance(attributes, samples, *, share=0.3, seed=0):
    """Draws as in later rounds of Dual Query: most negations, and conjunctions of few values."""
    rng = np.random.default_rng(seed)
    places = np.stack([rng.choice(attributes, 3, replace=False) for _ in range(samples)])
    negative = rng.random(samples) > share
    values = np.where(negative[:, None], rng.integers(0, 2, places.shape), 0)
    weights = np.where(negative, -1, 1)
    return BestResponse.conjunctions(
        np.full(attributes, 2), places, values, weights, constant=int(negative.sum())
    )


@pytest.mark.slow
@pytest.mark.parametrize(("attributes", "samples"), [(235, 1000), (396, 1750)])
def test_late_rounds_of_the_paper_are_proved(attributes, samples):
    """Four terms to an attribute: the number of terms does not tell which instances are hard."""
    for seed in range(3):
        instance = negated_instance(attributes, samples, seed=seed)
        assert instance.terms > 4 * attributes
        response = ByComponents().solve(instance, seed=seed)
        assert response.status is Status.OPTIMAL
        assert response.value == Highs(published=True).solve(instance).value


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver", [Pulp(time_limit=3), Highs(time_limit=3), Pulp(solver="SCIP_PY", time_limit=3)]
)
def test_no_general_solver_beats_the_default_on_dense_instances(solver):
    instance = random_instance(200, 1_000)
    response = solver.solve(instance)
    if response.status is Status.MISSING:
        pytest.skip(response.detail)
    own = ByComponents().solve(instance, seed=1)
    assert response.value is None or own.value >= response.value
    assert own.value <= response.bound


def test_annealing_beats_greedy_by_percents_and_sweeps_pay():
    gains = []
    for seed in range(5):
        instance = random_instance(300, 900, seed=seed)
        values = [
            solver.solve(instance, seed=seed).value
            for solver in (Greedy(), Anneal(sweeps=30), Anneal(sweeps=1000))
        ]
        gains.append([values[1] / values[0] - 1, values[2] / values[1] - 1])
    first, second = np.mean(gains, axis=0)
    assert first > 0.02 and second > 0
