"""Every library on every family that it takes, against our own check: product of both."""

import dataclasses
import sys

import numpy as np
import pytest
from cases import random_tables

from margin.solvers import BestResponse, Status, bench
from margin.solvers.bench import Cover, Instance
from margin.solvers.bench.engines.built import PulpEngine
from margin.solvers.bench.engines.clarabel import conic
from margin.solvers.bench.engines.ecos import EcosEngine
from margin.solvers.bench.engines.library import Library
from margin.solvers.bench.models.implied import least_needed
from margin.solvers.bench.models.residuals import residuals
from margin.solvers.testing import examples


def _instances():
    pairs = examples()["pairs with errors"]
    exact = examples()["mixed pairs"]
    ridged = dataclasses.replace(pairs, ridge=np.maximum(pairs.variance, 1e-4))
    rng = np.random.default_rng(0)
    terms = [rng.choice(8, 3, replace=False) for _ in range(20)]
    values, weights = rng.integers(0, 2, (20, 3)), rng.integers(-3, 8, 20)
    response = BestResponse.conjunctions([2] * 8, terms, values, weights)
    sets = [rng.choice(12, 4, replace=False) for _ in range(15)] + [np.arange(12)]
    cover = Cover(
        items=12,
        offsets=np.cumsum([0, *map(len, sets)]),
        member=np.concatenate(sets),
        cost=np.append(rng.integers(1, 5, 15), 30),
    )
    tables = random_tables(3, sizes=(2, 3, 2, 2), count=4, mean=5)
    # The best values come from brute force, from closed forms, or from two solvers that agree.
    return {
        "exact-entropy": (exact, 0.37606384),
        "penalised-entropy": (ridged, 1.96439415),
        "least-squares": (ridged, 1.94111507),
        "minimax": (pairs, 0.006562853),
        "consistency": (tables, 407.485204),
        "nonnegativity": (tables, 38.632661),
        "response": (response, _best_record(response)),
        "cover": (cover, _best_cover(cover)),
    }


def _best_record(response):
    records = np.indices(response.sizes).reshape(len(response.sizes), -1).T
    return max(response.objective(record) for record in records)


def _best_cover(cover):
    """Dynamic programming over the sets of items that are covered."""
    sets = np.split(cover.member, cover.offsets[1:-1])
    masks = [sum(1 << int(item) for item in members) for members in sets]
    cheapest = {0: 0}
    for mask, cost in zip(masks, cover.cost.tolist(), strict=True):
        for covered, spent in list(cheapest.items()):
            joined = covered | mask
            cheapest[joined] = min(cheapest.get(joined, 10**9), spent + cost)
    return cheapest[(1 << cover.items) - 1]


PROBLEMS = _instances()
PROCESS = ("rc2", "cpsat", "cbc", "pulp-highs", "CpSat", "MaxSat", "Pulp", "pdlp")
SLOW = (
    *PROCESS,
    *("mbi", "ByComponents", "Anneal", "Greedy", "Cone", "Cone-SCS", "Ladder"),
    *("LeastSquares", "LeastSquares-PIQP", "ProjectionQP", "cvxpy-clarabel"),
)
CASES = [
    pytest.param(
        name,
        family,
        marks=[pytest.mark.slow] if name in SLOW or listed.needs in ("scs", "osqp") else [],
    )
    for name, listed in bench.ROSTER.items()
    for family in listed.families
    if family in PROBLEMS
]
NOT_EXACT = {"Greedy", "Anneal"}


@pytest.mark.parametrize(("name", "family"), CASES)
def test_it_finds_the_best_answer(name, family):
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    if {"ortools", "highspy"} == {listed.needs, *(set(sys.modules) & {"highspy", "ortools"})}:
        pytest.skip("highspy and ortools cannot be loaded into one process")
    problem, best = PROBLEMS[family]
    instance = Instance.of(problem, name=family, family=family)
    solver = listed.make()
    if isinstance(solver, bench.ByModel):
        answered = solver.solve_instance(instance)
        assert answered.claim.status is Status.OPTIMAL
        check_what_is_told(solver.engine, instance, answered, best)
        answer = answered.answer
    else:
        answer = instance.family.solve(solver, problem)
        answer = getattr(answer, "answer", answer)
    check = instance.check(answer)
    assert check.feasible, check
    if name not in NOT_EXACT:
        assert check.objective == pytest.approx(best, rel=1e-5, abs=1e-6)


def _infeasible():
    """Two cells that must sum to 3 and be at most 1, and a row without an upper bound."""
    rows = {"matrix": [[1, 1], [1, -1]], "lower": [3, -5], "upper": [3, np.inf]}
    return bench.Model(cost=[1, 1], square=[1, 1], most=1, **rows)


CONTINUOUS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in ("scs", "osqp", "pdlp") else [])
    for name, listed in bench.ROSTER.items()
    if name.islower()
    and isinstance(getattr(listed.make(), "engine", None), Library)
    and name != "scip"
]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_an_engine_calls_infeasible_what_is_and_nothing_else(name):
    """Minimax programmes have rows with one bound, and a residual of infeasibility that is small
    along the way."""
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    if {"ortools", "highspy"} == {listed.needs, *(set(sys.modules) & {"highspy", "ortools"})}:
        pytest.skip("highspy and ortools cannot be loaded into one process")
    engine = listed.make().engine
    assert engine(_infeasible()).status is Status.INFEASIBLE
    if "minimax" not in listed.families:
        return
    for instance in bench.instances(family="minimax", size="small"):
        assert engine(instance.model).status is not Status.INFEASIBLE, instance.name


def check_what_is_told(engine, instance, answered, best):
    """The bound, and the multipliers: strong duality, a small residual, and the one sign."""
    tells_dual = engine.tells_dual and not instance.family.integral
    assert (answered.dual is not None, answered.claim.bound is not None) == (
        tells_dual,
        engine.tells_bound,
    )
    if engine.tells_bound:
        assert answered.claim.bound == pytest.approx(best, rel=1e-5, abs=1e-6)
    if not tells_dual:
        return
    model = instance.model
    box = instance.family.box(instance.problem, model.columns, instance.check(answered.answer))
    told = residuals(model, answered.point, answered.dual, box=box)
    assert told.bound == pytest.approx(best, rel=1e-5, abs=2e-6)
    assert told.primal < 1e-5 and (model.cones or told.dual < 1e-3)
    turned = residuals(model, answered.point, -answered.dual, box=box)
    assert turned.bound < best - 1e-3


def test_the_families_of_our_classes_are_known():
    for name, listed in bench.ROSTER.items():
        assert set(bench.families_of(listed.make())) & set(listed.families), name


def test_an_engine_refuses_what_it_does_not_take():
    problem, _ = PROBLEMS["response"]
    instance = Instance.of(problem, name="response", family="response")
    for name in ("osqp", "piqp", "proxqp", "qpalm", "scs", "ecos", "daqp", "pdlp"):
        ended = bench.ROSTER[name].make().engine(instance.model)
        assert ended.status in (Status.UNSUPPORTED, Status.MISSING) and ended.point is None, name


def _model(**more):
    """Minimise t subject to x = 1 and x exp(-t / x) <= 1, with the columns x and t."""
    cone = [[0, -1], [1, 0], [0, 0]]
    fixed = {"cost": [0, 1], "matrix": [[1, 0]], "lower": [1], "upper": [1]}
    return bench.Model(**{**fixed, "cone": cone, "shift": [0, 0, 1], **more})


@pytest.mark.parametrize(
    ("more", "is_kept"),
    [
        ({"least": [0, 3]}, [False, True]),  # the second entry of the cone is x
        ({"least": [0.5, 3]}, [True, True]),  # this bound says more than the cone
        ({"least": [-1, -np.inf]}, [False, False]),
        ({"least": [0, 0], "most": [0, np.inf]}, [True, True]),  # an equation
        ({"least": [0, 0], "cone": [[0, -1], [-1, 0], [0, 0]]}, [True, True]),  # it is -x
        ({"least": [-2, 0], "cone": [[0, -1], [2, 0], [0, 0]], "shift": [0, 4, 1]}, [False, True]),
        ({"least": [-1.9, 0], "cone": [[0, -1], [2, 0], [0, 0]], "shift": [0, 4, 1]}, [True, True]),
        ({"least": [0, 0], "cone": [[0, -1], [1, 1], [0, 0]]}, [True, True]),  # a sum
        ({"least": [0, 0], "cone": [[1, 0], [0, 1], [0, 0]]}, [True, False]),  # a may be negative
        ({"least": [0, 0], "cone": [[0, 0], [0, 0], [0, 1]], "shift": [0, 1, 0]}, [True, False]),
    ],
)
def test_bounds_that_cones_imply_are_left_out(more, is_kept):
    model = _model(**more)
    assert np.isfinite(least_needed(model)).tolist() == is_kept
    _, _, above, _, _ = conic(model)
    assert len(above) == sum(is_kept & (model.least != model.most))


STOPPED = """
Result - Stopped on time limit

Objective value:                -12.00000000
Lower bound:                    -14.989
Gap:                            0.20
"""


@pytest.mark.parametrize(
    ("output", "bound"),
    [
        (STOPPED, -52.9895),
        (STOPPED.replace("-14.989", "1.5e+02"), 111.9995),
        (STOPPED.replace("-14.989", "-1e+100"), None),  # CBC has none
        (STOPPED.replace("-14.989", "nan"), None),
        ("Result - Optimal solution found", None),
        ("", None),
    ],
)
def test_the_bound_of_cbc_is_read_from_what_it_prints(output, bound):
    """Without the constant of the objective, which PuLP does not tell it, and rounded."""
    model = bench.Model(cost=[1], matrix=[[1]], lower=[1], upper=[2], whole=True, offset=-38)
    found = PulpEngine()._bound(model, None, output)
    assert found == (None if bound is None else pytest.approx(bound))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cbc", "pulp-highs"])
def test_a_solver_of_pulp_has_a_bound_at_its_time_limit(name):
    instance = bench.instance("response-p24x60-chain-round2")
    ended = bench.ROSTER[name].make().engine(instance.model, time_limit=1.0)
    if ended.status is not Status.TIME_LIMIT:
        pytest.skip("it needs less than the limit, or has no answer")
    assert instance.best_known <= -ended.bound < instance.problem.ceiling


SEEDS = {
    "highs": ("quiet", lambda solver: solver.getOptionValue("random_seed")[1]),
    "scip": ("to_scip", lambda solver: solver.getParam("randomization/randomseedshift")),
}


@pytest.mark.parametrize("name", SEEDS)
def test_an_engine_passes_its_seed_on(name, monkeypatch):
    listed = bench.ROSTER[name]
    if not listed.is_installed or "ortools" in sys.modules:
        pytest.skip(f"{listed.needs} is not installed, or cannot be loaded")
    engine = dataclasses.replace(listed.make().engine, seed=7)
    module = sys.modules[type(engine).__module__]
    function, asked = SEEDS[name]
    make = getattr(module, function)
    made = []

    def kept(*arguments):
        made.append(make(*arguments))
        return made[-1]

    monkeypatch.setattr(module, function, kept)
    engine(bench.Model(cost=[1], matrix=[[1]], lower=[1], upper=[2]))
    (solver,) = made
    assert asked(solver[0] if isinstance(solver, tuple) else solver) == 7


ECOS_FAMILIES = ("exact-entropy", "penalised-entropy", "least-squares", "minimax", "consistency")


@pytest.mark.parametrize("family", [*ECOS_FAMILIES, "nonnegativity"])
def test_ecos_solves_all_small_instances(family):
    """A formulation of ours that is hard for it would else be called its failure."""
    pytest.importorskip("ecos")
    solver = bench.ByModel(engine=EcosEngine())
    for instance in bench.instances(family=family, size="small"):
        answered = solver.solve_instance(instance)
        check = instance.check(answered.answer)
        assert answered.claim.status in (Status.OPTIMAL, Status.ITERATION_LIMIT), instance.name
        assert check.feasible, instance.name
        assert instance.gap(check.objective) < 1e-6, instance.name
