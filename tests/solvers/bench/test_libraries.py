"""What a comparison says of the libraries behind solvers: their times, versions and refusals."""

import dataclasses
import importlib.metadata
import json
import math
import re

import numpy as np
import pytest

from margin.solvers import BestResponse, CpSat, LeastSquares, MaxSat, MinimaxLP, Status, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.engines.ended import Ended
from margin.solvers.bench.engines.osqp import OsqpEngine
from margin.solvers.bench.running.machine import LIBRARIES
from margin.solvers.bench.running.plan import planned
from margin.solvers.bench.running.process import Found
from margin.solvers.bench.running.solving import library_of
from margin.solvers.bench.running.verdict import judged

COVER = bench.instance("cover-design-6-3-2")
PARITY = Instance.of(
    BestResponse.parities([2] * 4, [[0, 1, 2, 3]], [1]), name="parity", family="response"
)
CLASSES = bench.instance("response-m12x40-classes-round2")


@pytest.mark.parametrize(
    ("solver", "package"),
    [
        (bench.ROSTER["cpsat"].make(), "ortools"),
        (bench.ROSTER["rc2"].make(), "python-sat"),
        (bench.ROSTER["cbc"].make(), "PuLP"),
        (LeastSquares(), "clarabel"),
        (LeastSquares(solver="osqp"), "osqp"),
        (MinimaxLP(), "scipy"),
        (bench.ROSTER["Newton"].make(), "margin"),
    ],
    ids=repr,
)
def test_a_row_names_the_package_that_solves(solver, package):
    try:
        expected = f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        expected = ""
    assert library_of(solver) == expected


def test_every_solver_of_the_roster_names_the_library_that_it_needs():
    for name, listed in bench.ROSTER.items():
        if listed.needs and listed.is_installed:
            assert library_of(listed.make()).split()[0] == LIBRARIES[listed.needs], name


class Named:
    """Somebody's solver, which says by what it solves."""

    module = "numpy"

    def solve(self, problem):
        return problem.uniform


def test_a_solver_of_somebody_names_its_library_or_has_none():
    assert library_of(Named()) == f"numpy {np.__version__}"
    assert library_of(bench.ByModel(engine=Named())) == f"numpy {np.__version__}"
    assert library_of(lambda: None) == ""


@pytest.mark.parametrize("name", ["cpsat", "rc2", "CpSat", "MaxSat"])
def test_a_comparison_starts_no_further_process(name):
    instance = CLASSES if name in ("CpSat", "MaxSat") else COVER
    ((_, entry),) = planned([instance], {name: bench.ROSTER[name].make()}, 7.0)
    options = json.loads(entry.options)
    assert options.get("apart") == "False" or "apart=False" in options["engine"]
    # Anybody else's call is safe from a crash, and from highspy.
    assert CpSat().apart and MaxSat().apart


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cpsat", "rc2"])
def test_a_warm_solve_does_not_load_the_library_again(name):
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    cold, *warm = bench.compare([COVER], {name: listed.make()}, repeats=3)
    package, version = cold["library"].split()
    assert json.loads(cold["versions"])[package] == version
    assert [row["outcome"] for row in (cold, *warm)] == ["solved"] * 4
    # The import alone takes more than ten times as long as the solve.
    assert min(row["cpu"] for row in warm) < cold["cpu"] / 3


@pytest.mark.parametrize("name", ["highs", "scip", "cpsat"])
def test_a_library_tells_its_better_answers_on_the_way(name):
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    (row,) = bench.compare([CLASSES], {name: listed.make()}, repeats=0)
    assert row["outcome"] == "solved" and row["tells"], row["cause"]
    # Each finds a worse answer first.
    assert row["trace_gaps"][0] > row["trace_gaps"][-1] == 0
    assert row["trace_seconds"][-2] <= row["trace_seconds"][-1] <= row["wall"]


@pytest.mark.parametrize("family", ["minimax", "exact-entropy", "cover"])
def test_a_row_has_the_residuals_of_the_programme_and_what_the_multipliers_prove(family):
    """They are computed from the arrays alone, for programmes without integers."""
    instance = bench.instances(family=family, size="small")[0]
    name = "highs" if family != "exact-entropy" else "clarabel"
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    (row,) = bench.compare([instance], {name: listed.make()}, repeats=0)
    (line,) = bench.solves([row])
    assert row["outcome"] == "solved"
    if family == "cover":
        names = ("primal_residual", "dual_residual", "dual_bound")
        assert all(math.isnan(row[name]) for name in names) and math.isnan(line["dual bound"])
        return
    assert 0 <= row["primal_residual"] < 1e-7
    assert math.isnan(row["dual_residual"]) == (family == "exact-entropy")
    assert line["dual bound"] == row["dual_bound"] == pytest.approx(instance.best_known, rel=1e-7)


@dataclasses.dataclass(frozen=True)
class Lying:
    """Tells these multipliers of a covering of an interval, whatever they are."""

    dual: object

    def __call__(self, model, *, time_limit=None):
        point = np.full(model.columns, 1.0)
        return Ended(status=Status.UNPROVEN, point=point, dual=self.dual, bound=None)


@pytest.mark.parametrize(
    "dual", [np.ones(3), [math.nan], "many", object(), None], ids=lambda one: type(one).__name__
)
def test_multipliers_that_do_not_fit_prove_nothing(dual):
    instance = bench.instances(family="minimax", size="small")[0]
    (row,) = bench.compare([instance], {"x": bench.ByModel(engine=Lying(dual))}, repeats=0)
    assert row["outcome"] in ("feasible", "nothing", "wrong") and math.isnan(row["dual_bound"])
    assert row["primal_residual"] > 0 and math.isnan(row["dual_residual"])


@dataclasses.dataclass(frozen=True)
class Near:
    """The best cells, moved by a share of them all, and called optimal at this tolerance."""

    moved: float
    tolerance: float | None = 1e-3
    claims: float = 0.0
    status: Status = Status.OPTIMAL

    def __call__(self, model, *, time_limit=None):
        best = ClarabelEngine()(model)
        bound = best.bound + self.claims
        point = best.point * (1 + self.moved)
        return Ended(status=self.status, point=point, bound=bound if self.claims else None)


@pytest.mark.parametrize(
    ("engine", "outcome"),
    [
        (Near(0.0), "solved"),
        (Near(1e-3), "inaccurate"),  # the cells sum to 1.001
        (Near(0.03), "inaccurate"),
        (Near(0.11), "wrong"),
        (Near(1e-3, tolerance=1e-6), "wrong"),
        (Near(1e-3, tolerance=None), "wrong"),
        (Near(0.11, tolerance=1e9), "wrong"),
        (Near(0.0, claims=0.01), "inaccurate"),  # a bound that the answer passes by as much
        (Near(0.0, claims=0.5), "wrong"),
        (Near(1e-3, status=Status.INFEASIBLE), "wrong"),
        (Near(1e-3, status=Status.ITERATION_LIMIT), "nothing"),
    ],
    ids=repr,
)
def test_an_answer_that_is_right_to_its_own_tolerance_is_inaccurate(engine, outcome):
    """In the family's unit, and in gaps, with a factor of 100; never for integer programmes."""
    pytest.importorskip("clarabel")
    instance = bench.instances(family="exact-entropy", size="small")[0]
    answer = bench.ByModel(engine=engine).solve_instance(instance)
    found = Found(
        repeat=0,
        end="answered",
        answer=answer.answer,
        claim={"status": answer.claim.status.name, "bound": answer.claim.bound},
        wall=0.1,
        cpu=0.1,
        watched=0.1,
    )
    stated = bench.tolerance_of(bench.ByModel(engine=engine))
    verdict = judged(instance, found, tolerance=1e-4, limit=10.0, stated=stated)
    assert verdict.outcome == outcome, verdict.cause
    assert judged(instance, found, tolerance=1e-4, limit=10.0).outcome != "inaccurate"


def test_a_row_has_the_tolerance_at_which_its_solver_stops():
    pytest.importorskip("osqp")
    instance = bench.instances(family="minimax", size="small")[0]
    loose = bench.ByModel(engine=OsqpEngine(tolerance=1e-3))
    (row,) = bench.compare([instance], {"osqp": loose}, repeats=0)
    assert (row["outcome"], row["stated_tolerance"]) == ("inaccurate", 1e-3)
    (line,) = bench.summary([row])
    assert (line["inaccurate"], line["wrong"], line["solved"]) == (1, 0, 0)
    (note, *_) = bench.notes([row])
    assert "right to its own tolerance alone" in note and "it stops at a tolerance of 0.001" in note


INSIDE = {
    "cbc": ("CBC", r"\d+\.\d+\.\d+"),
    "highs": ("HiGHS", r"\d+\.\d+\.\d+"),
    "scip": ("SCIP", r"\d+\.\d+\.\d+"),
    "Milp": ("HiGHS of scipy", r"\d+\.\d+\.\d+"),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_row_has_the_version_of_the_solver_inside_the_package(name):
    """The version of a package says nothing of the solver that it holds."""
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{listed.needs} is not installed")
    rows = bench.compare([CLASSES], {name: listed.make()}, repeats=0)
    inside, version = INSIDE[name]
    assert re.fullmatch(f"{inside} {version}", rows[0]["inside"])
    versions = json.loads(rows[0]["versions"])
    assert rows[0]["inside"] == f"{inside} {versions[inside]}"
    pytest.importorskip("matplotlib")
    assert f"{name} by {rows[0]['inside']} in {rows[0]['library']}" in bench.page(rows)


def test_what_a_solver_does_not_take_is_not_charged_to_it():
    listed = bench.ROSTER["rc2"]
    if not listed.is_installed:
        pytest.skip("python-sat is not installed")
    rows = bench.compare([COVER, PARITY], {"rc2": listed.make()}, repeats=0)
    assert [row["outcome"] for row in rows] == ["solved", "unsupported"]
    assert rows[1]["detail"] in rows[1]["cause"] and "RC2 takes" in rows[1]["detail"]
    assert math.isnan(bench.times(rows[1:]).seconds[0, 0])
    (line,) = bench.summary(rows[1:])
    assert (line["instances"], line["not tried"], line["other"]) == (0, 1, 0)
    note, *_ = bench.notes(rows)  # a busy machine has one, too
    assert "rc2 was tried on 0 of 1 instance; not counted" in note and "RC2 takes" in note


@dataclasses.dataclass(frozen=True)
class Engine:
    """Says that a point is optimal, without a look at the model."""

    value: float
    missing: int = 0

    def __call__(self, model, *, time_limit=None):
        point = np.full(model.columns - self.missing, self.value)
        return Ended(status=Status.OPTIMAL, point=point, detail="all well")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Engine(0.0), r"its point breaks a row, a bound or an integrality of the model by 1$"),
        (Engine(1.0), r"its point breaks a row, a bound or an integrality of the model by [2-9]$"),
        (Engine(math.nan), "its point is not finite$"),
        (Engine(0.0, missing=50), r"its point has shape \(\d+,\); expected \(\d+,\)$"),
    ],
    ids=["no value", "all values", "no number", "too short"],
)
def test_a_point_that_is_no_answer_is_explained(engine, words):
    """Of the attributes with several values, no value holds, or all of them."""
    (row,) = bench.compare([CLASSES], {"x": bench.ByModel(engine=engine)}, repeats=0)
    assert row["outcome"] == "wrong" and re.search(words, row["cause"]), row["cause"]
    assert "it is called OPTIMAL: all well; " in row["cause"]
