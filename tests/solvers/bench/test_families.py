import dataclasses
import itertools
import math

import numpy as np
import pytest
from bench_cases import FAMILIES, PROBLEMS, small

from margin.solvers import (
    IPF,
    BestResponse,
    Enumerate,
    JointProjection,
    LatticeConsistency,
    LeastSquares,
    MinimaxLP,
    Newton,
    ResidualConsistency,
    Status,
    bench,
)
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.engines.highs import HighsEngine
from margin.solvers.bench.engines.scip import ScipEngine
from margin.solvers.known.known import Known
from margin.solvers.tables.consistency import Components
from margin.solvers.tables.nonnegativity import importance

OURS = {
    "exact-entropy": [IPF(), Newton()],
    "penalised-entropy": [Newton()],
    "least-squares": [LeastSquares()],
    "minimax": [MinimaxLP()],
    "consistency": [ResidualConsistency(), LatticeConsistency()],
    "nonnegativity": [JointProjection(tolerance=1e-9, iterations=50_000)],
    "response": [Enumerate()],
    "cover": [],
}
ENGINES = [HighsEngine(), ScipEngine(), ClarabelEngine()]


def by_brute_force(problem):
    """The least cost of a cover, over all choices of sets."""
    best = math.inf
    for count in range(problem.sets + 1):
        for chosen in itertools.combinations(range(problem.sets), count):
            if problem.left(list(chosen)) == 0:
                best = min(best, int(problem.cost[list(chosen)].sum()))
    return best


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
@pytest.mark.parametrize("name", FAMILIES)
def test_engines_and_our_solvers_find_the_same_optimum(name, engine):
    family, problem = FAMILIES[name], PROBLEMS[name]()
    ended = engine(family.model(problem), time_limit=60)
    if ended.point is None:
        assert ended.status in (Status.MISSING, Status.UNSUPPORTED) and ended.detail
        pytest.skip(f"{type(engine).__name__}: {ended.detail}")
    check = family.check(problem, family.answer(problem, ended.point))
    assert check.feasible and not check.fault and ended.status is Status.OPTIMAL
    bound = family.from_model(ended.bound)
    assert bound == pytest.approx(check.objective, rel=2e-6, abs=1e-7)
    ours = [family.check(problem, family.solve(solver, problem)) for solver in OURS[name]]
    others = [other.objective for other in ours] if name != "cover" else [by_brute_force(problem)]
    assert all(other.feasible for other in ours)
    assert others == pytest.approx([check.objective] * len(others), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_packed_arrays_give_the_same_problem_to_the_bit(name):
    family = FAMILIES[name]
    arrays = family.pack(PROBLEMS[name]())
    again = family.pack(family.unpack(arrays))
    assert arrays.keys() == again.keys()
    for key, array in arrays.items():
        assert array.dtype != object and array.dtype == again[key].dtype
        np.testing.assert_array_equal(array, again[key])


RUBBISH = {
    "nothing": None,
    "a number": 5,
    "a text": "optimal",
    "an object": object(),
    "too short": [1.0],
    "a dict": {"table": 1},
}


@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_no_answer_is_refused_with_a_reason(name, rubbish):
    check = FAMILIES[name].check(PROBLEMS[name](), RUBBISH[rubbish])
    assert not check.feasible and check.fault and check.violation > 0


def feasible_answer(name):
    problem = PROBLEMS[name]()
    family = FAMILIES[name]
    ended = (HighsEngine() if "entropy" not in name else ClarabelEngine())(family.model(problem))
    if ended.point is None:
        pytest.skip(ended.detail)
    return problem, family.answer(problem, ended.point)


@pytest.mark.parametrize("name", ["exact-entropy", "penalised-entropy", "least-squares", "minimax"])
def test_tables_that_are_broken_are_found(name):
    problem, answer = feasible_answer(name)
    family = FAMILIES[name]
    good = family.check(problem, answer)
    for place, change in ((0, math.nan), (0, math.inf), (0, problem.total / 1000)):
        wrong = answer.copy()
        wrong.flat[place] += change
        assert not family.check(problem, wrong).feasible
    negative = answer - 2 * answer.min() - 1
    assert not family.check(problem, negative * problem.total / negative.sum()).feasible
    # Another distribution is feasible, unless marginals are exact, and never better.
    uniform = np.full(problem.shape, problem.total / problem.cells)
    other = family.check(problem, uniform)
    assert other.feasible == (name != "exact-entropy")
    assert not other.feasible or other.objective >= good.objective


@pytest.mark.parametrize("name", ["consistency", "nonnegativity"])
def test_tables_of_views_that_are_broken_are_found(name):
    problem, answer = feasible_answer(name)
    family = FAMILIES[name]
    assert family.check(problem, answer).feasible
    one = [value.copy() for value in answer]
    one[1][0, 0] += 1e-4
    assert not family.check(problem, one).feasible
    assert not family.check(problem, answer[:2]).feasible
    assert not family.check(problem, [answer[0].T, *answer[1:]]).feasible
    if name == "nonnegativity":
        consistent = ResidualConsistency()(problem)
        assert min(value.min() for value in consistent.values) < 0
        check = family.check(problem, consistent)
        assert not check.feasible and check.objective == pytest.approx(0, abs=1e-9)


def test_records_that_are_broken_are_found():
    problem, record = feasible_answer("response")
    family = FAMILIES["response"]
    check = family.check(problem, record)
    assert check.objective == problem.objective(record)
    assert not family.check(problem, record + 0.5).feasible
    assert not family.check(problem, [2, *record[1:]]).feasible
    assert not family.check(problem, [-1, *record[1:]]).feasible
    forbidden = np.array([1, 2, 0, 0, 0])
    broken = family.check(problem, forbidden)
    assert not broken.feasible and broken.violation == 1
    assert broken.objective == problem.objective(forbidden)


def test_covers_that_are_broken_are_found():
    problem, chosen = feasible_answer("cover")
    family = FAMILIES["cover"]
    assert family.check(problem, chosen).objective == by_brute_force(problem)
    assert family.check(problem, [*chosen, *chosen]).objective == by_brute_force(problem)
    for wrong in ([], chosen[1:], [*chosen, problem.sets], [*chosen, -1], [0.5]):
        assert not family.check(problem, wrong).feasible


@pytest.mark.parametrize("name", FAMILIES)
def test_a_claim_is_what_the_answer_says(name):
    family, problem = FAMILIES[name], PROBLEMS[name]()
    for solver in OURS[name]:
        claim = family.claim(family.solve(solver, problem))
        if family.method == "solve":
            assert isinstance(claim.status, Status)
    assert family.claim(object()) == bench.Claim()


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ({"status": Status.TIME_LIMIT}, None),
        ({"status": Status.UNPROVEN, "bound": math.inf}, None),
        ({"status": Status.UNPROVEN, "bound": 3}, 3),
        ({"status": Status.UNPROVEN, "bound": 5}, 5),  # the sum of all positive weights
        ({"status": Status.OPTIMAL}, 3),
        ({"status": Status.UNPROVEN, "bound": 2}, None),  # refuted by the record
    ],
)
def test_the_bound_of_a_response_is_a_claim_only_if_the_solver_makes_it(said, bound):
    """`respond` fills in the sum of all positive weights, which nobody claimed."""
    problem = BestResponse.conjunctions([2, 2], [[0], [0]], [[0], [1]], [2, 3])
    response = problem.respond(np.array([1, 0]), **said)
    assert response.bound <= 5
    assert FAMILIES["response"].claim(response).bound == bound


def test_the_importance_of_components_is_that_of_the_solver():
    """The family states it itself; both must agree, or `JointProjection` solves another problem."""
    problem = PROBLEMS["nonnegativity"]()
    components = Components(problem)
    free = components.order > 0
    expected = 2 * importance(components, JointProjection().decay, growth=0.0)[free]
    assert FAMILIES["nonnegativity"].model(problem).square == pytest.approx(expected)


def test_the_lagrangian_bound_holds_for_any_multipliers():
    rng = np.random.default_rng(5)
    for name in ("least-squares", "minimax", "consistency", "nonnegativity", "cover"):
        model = small(name).model
        box = 1e3 if name in ("minimax", "least-squares") else np.inf
        best = (HighsEngine() if name != "consistency" else ClarabelEngine())(model)
        if best.point is None:
            pytest.skip(best.detail)
        optimum = model.objective(best.point)
        for _ in range(50):
            dual = rng.normal(size=model.rows) * rng.choice([0.01, 1, 100])
            assert model.lower_bound(dual, box=box) <= optimum + 1e-9 * (1 + abs(optimum))
        if not model.integral:
            tight = model.lower_bound(best.dual, box=box)
            assert tight == pytest.approx(optimum, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    ("dual", "box", "words"),
    [
        ([1, 2], np.inf, r"1 finite numbers, one for each row"),
        ([np.nan], np.inf, r"an entry that is not finite"),
        ([1], [1, 2, 3], r"2 entries"),
    ],
)
def test_multipliers_that_do_not_fit_are_refused(dual, box, words):
    model = bench.Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    with pytest.raises(ValueError, match=words):
        model.lower_bound(dual, box=box)


@pytest.mark.parametrize("name", ["exact-entropy", "penalised-entropy"])
def test_multipliers_bound_an_entropy(name):
    """Weak duality for any multipliers; strong duality is tested with each engine."""
    rng = np.random.default_rng(0)
    instance = small(name)
    check = instance.check(
        Newton().solve(instance.problem) if "pen" in name else IPF().solve(instance.problem)
    )
    for scale in (0.0, 0.01, 1.0, 100.0):
        dual = scale * rng.normal(size=instance.model.rows)
        assert instance.model.lower_bound(dual) <= check.objective + 1e-9


def _entropy(**more):
    """Minimise t subject to y = 1 and t >= y log(y / 2), with the columns y and t."""
    cone = {"cone": [[0, -1], [1, 0], [0, 0]], "shift": [0, 0, 2]}
    fixed = {"cost": [0, 1], "matrix": [[1, 0]], "lower": [1], "upper": [1]}
    return bench.Model(**{**fixed, "least": [0, -np.inf], **cone, **more})


def test_the_bound_of_an_entropy_is_its_formula():
    # The least of u y + y log(y / 2) is -2 exp(-u - 1), at y = 2 exp(-u - 1).
    best = 1 + math.log(1 / 2)
    assert _entropy().lower_bound([best]) == pytest.approx(math.log(1 / 2))
    for dual in (-1.0, 0.0, 0.5):
        expected = dual - 2 * math.exp(dual - 1)
        assert _entropy().lower_bound([dual]) == pytest.approx(expected)
    assert _entropy(cost=[0, -1]).lower_bound([0.0]) == -np.inf
    assert _entropy(cost=[-1, 0]).lower_bound([0.0]) == -np.inf
    assert _entropy(cost=[1, 0]).lower_bound([0.0]) == 0.0


@pytest.mark.parametrize(
    "more",
    [
        {"cone": [[0, -1], [2, 0], [0, 0]]},
        {"cone": [[0, -1], [0, 0], [1, 0]]},
        {"cone": [[0, -1], [0, 1], [0, 0]]},
        {"shift": [0, 1, 2]},
        {"shift": [0, 0, -2]},
        {"square": [1, 0]},
    ],
)
def test_cones_of_another_kind_have_no_bound(more):
    with pytest.raises(ValueError, match=r"must state t >= y log"):
        _entropy(**more).lower_bound([0.0])


def test_multipliers_of_the_wrong_sign_prove_nothing():
    model = bench.Model(cost=[1, 1], matrix=[[1, 1]], lower=[2], upper=[2], least=-np.inf)
    assert model.lower_bound([1.0]) == 2.0
    assert model.lower_bound([-1.0]) == -np.inf
    assert model.lower_bound([-1.0], box=5) == -22.0


def test_bad_models_and_covers_are_refused():
    model = {"cost": [1, 1], "matrix": [[1, 2]], "lower": [2], "upper": [np.inf]}
    for change, message in (
        ({"lower": [1, 2]}, "1 entries"),
        ({"matrix": [[1, 2, 3]]}, "2 columns"),
        ({"square": [-1, 0]}, "must be >= 0"),
        ({"cone": [[1, 0]], "shift": [0]}, "three rows"),
    ):
        with pytest.raises(ValueError, match=message):
            bench.Model(**(model | change))
    cover = {"items": 2, "offsets": [0, 1, 2], "member": [0, 1], "cost": [1, 1]}
    for change, message in (
        ({"offsets": [0, 2, 1]}, "offsets"),
        ({"items": 3}, "no set holds item 2"),
        ({"member": [1, 1]}, "no set holds item 0"),
        ({"items": 3, "member": [0, 2]}, "no set holds item 1"),
        ({"cost": [1, 0]}, "set 1 has the cost 0"),
        ({"cost": [1]}, "cost must have one entry for each of the 2 sets, but it has 1"),
        ({"member": [0, 5]}, r"the number of items \(2\), but set 1 holds 5"),
        ({"member": [-1, 1]}, "set 0 holds -1"),
        ({"offsets": [0, 0, 2], "member": [2, 0]}, "set 1 holds 2"),
    ):
        with pytest.raises(ValueError, match=message):
            bench.Cover(**(cover | change))


@pytest.mark.parametrize(
    ("sets", "cost", "words"),
    [
        ([[0, 1], [1, 2]], [2.7, 1.9], "cost must be integers"),
        ([[0, 1], [1, 2.5]], [2, 1], "member must be integers"),
        ([[0, 1], [1, 2]], [2], "cost must have one entry for each of the 2 sets"),
    ],
)
def test_a_cover_from_lists_rounds_nothing(sets, cost, words):
    with pytest.raises(ValueError, match=words):
        bench.Cover.of(3, sets, cost)


def test_a_problem_without_ridges_is_refused():
    problem = dataclasses.replace(PROBLEMS["least-squares"](), ridge=None)
    with pytest.raises(ValueError, match="must state its ridges"):
        FAMILIES["least-squares"].model(problem)


def test_tables_with_more_than_measurements_are_refused():
    problem = PROBLEMS["consistency"]()
    problem = dataclasses.replace(problem, known=Known.of_total(problem.sizes, 10))
    with pytest.raises(ValueError, match="independent measurements alone"):
        FAMILIES["consistency"].pack(problem)
