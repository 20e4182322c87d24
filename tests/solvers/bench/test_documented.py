"""The tables of docs/howto/compare_solvers.md say what the code does."""

import dataclasses
import inspect
import json
import re
import types
from pathlib import Path

import numpy as np
import pytest

from margin.solvers import Status, backends, bench
from margin.solvers.bench.made.covers import _MIXED
from margin.solvers.bench.made.reconstructions import _SHAPES
from margin.solvers.bench.made.records import KINDS
from margin.solvers.bench.made.view_tables import _CASES as _PROJECTIONS
from margin.solvers.bench.running.machine import LIBRARIES
from margin.solvers.bench.running.plan import _here
from margin.solvers.bench.running.solving import _module_of, solver_inside
from margin.solvers.bench.running.telling import tells

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "howto" / "compare_solvers.md"
STATUSES = (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INFEASIBLE)


def table(head, page=PAGE):
    """The cells of the table whose first line begins so, without marks of code."""
    lines = page.read_text().splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith(f"| {head} |")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.replace("`", "").split("|")[1:-1]])
    return rows


def words(cell):
    return [] if cell == "-" else cell.split(", ")


def test_every_kind_of_data_is_told():
    told = {name for name, _ in table("data", DOCS / "bench.md")}
    assert told == set(KINDS)


def test_the_shapes_of_mixed_instances_are_told():
    told = {part: said for parts, said in table("part", DOCS / "bench.md") for part in words(parts)}
    mixed = [sizes for name, (sizes, _) in _SHAPES.items() if name.startswith("m")]
    for sizes in mixed:
        assert " x ".join(map(str, sizes)) in told["m3"]
    projection = [case.sizes for case in _PROJECTIONS if case.name.startswith("m")]
    assert {sizes[:8] for sizes in projection} == {_MIXED[:8]}
    assert {sizes[8:] for sizes in projection} == {(), (2, 3, 4, 2)}
    assert " x ".join(map(str, _MIXED)) in told["m16"]


def test_the_reference_solvers_solve_the_families_in_the_order_that_is_told():
    text = " ".join((DOCS / "bench.md").read_text().split())
    named = text.partition("The reference solvers are ")[2].partition(", one for each family")[0]
    solvers = [*re.findall(r"`(\w+)`", named), "highs"]
    for family, solver in zip(bench.FAMILIES, solvers, strict=True):
        assert family.name in bench.ROSTER[solver].families


def test_the_largest_violation_of_each_family_is_told():
    told = [(name, float(value), unit) for name, value, unit in table("family | largest violation")]
    assert told == [(family.name, family.tolerance, family.unit) for family in bench.FAMILIES]


def test_who_tells_answers_on_the_way_is_told():
    told = {
        name: set(words(families))
        for names, families in table("solvers | tell their better answers to")
        for name in words(names)
    }
    families = {
        name: {family.name for family in bench.FAMILIES if tells(_here(listed.make()), family)}
        & set(listed.families)
        for name, listed in bench.ROSTER.items()
    }
    assert told == {name: found for name, found in families.items() if found}


def test_who_tells_multipliers_and_bounds_is_told():
    """`test_engines` proves that the engines do what they say."""
    told = {
        name: (multipliers == "yes", bound == "yes")
        for names, multipliers, bound in table("engines | multipliers")
        for name in words(names)
    }
    engines = {
        name: getattr(listed.make(), "engine", None)
        for name, listed in bench.ROSTER.items()
        if name.islower()
    }
    assert told == {
        name: (getattr(engine, "tells_dual", False), getattr(engine, "tells_bound", False))
        for name, engine in engines.items()
    }


def test_the_settings_of_infeasibility_are_those_of_the_engines():
    for names, settings in table("engine | settings"):
        (name, *_) = words(names)
        source = Path(inspect.getfile(type(bench.ROSTER[name].make().engine))).read_text()
        assert all(setting in source for setting in words(settings)), name


def test_the_libraries_that_take_a_seed_are_told():
    (line,) = [
        line for line in PAGE.read_text().split("\n- ") if "All repeats use the same" in line
    ]
    told = re.findall(r"`(\w+)`", line.partition("take a seed")[0])
    assert told == [
        name
        for name, listed in bench.ROSTER.items()
        if name.islower() and hasattr(getattr(listed.make(), "engine", None), "seed")
    ]


def test_the_solver_inside_a_package_is_told():
    told = {
        name: (library, inside)
        for names, library, inside in table("solvers | `library`")
        for name in words(names)
    }
    found = {
        name: (LIBRARIES[_module_of(getattr(solver, "engine", solver))], solver_inside(solver))
        for name, solver in ((name, listed.make()) for name, listed in bench.ROSTER.items())
        if solver_inside(solver)
    }
    assert told == found


TYPES = {
    "text": "string",
    "number": "double",
    "whole number": "int64",
    "flag": "bool",
    "list of numbers": "list",
}


def test_every_column_of_the_rows_is_told():
    told = table("column | type")
    assert {name: TYPES[kind] for name, kind, *_ in told} == bench.COLUMNS
    # Numbers have a unit, apart from those that only count up.
    for name, kind, unit, meaning in told:
        assert (unit == "-") == (kind in ("text", "flag") or name in ("version", "repeat")), name
        assert meaning


def test_the_tolerance_of_every_solver_of_a_continuous_family_is_told():
    told = {
        name: None if value == "-" else float(value)
        for names, value, _ in table("solvers | tolerance")
        for name in words(names)
    }
    assert told == {
        name: bench.tolerance_of(listed.make())
        for name, listed in bench.ROSTER.items()
        if not set(listed.families) <= {"response", "cover"}
    }


def test_the_options_of_every_library_are_told():
    """Each number among the fields of an engine is in its row; tolerances have a table."""
    told = {
        name: text
        for names, text in table("names | options beside the tolerance")
        for name in words(names)
    }
    assert sorted(told) == sorted(name for name in bench.ROSTER if name.islower())
    for name, text in told.items():
        solver = bench.ROSTER[name].make()
        options = dataclasses.asdict(getattr(solver, "engine", solver))
        numbers = {
            option: value for option, value in options.items() if type(value) in (int, float)
        }
        numbers.pop("tolerance", None)
        stated = re.findall(r"\d[\d.e-]*", text)
        assert {str(value) for value in numbers.values()} <= set(stated), name


def test_the_status_of_every_word_of_a_library_is_told():
    told = {
        name: {
            word: status
            for cell, status in zip(cells, STATUSES, strict=True)
            for word in words(cell)
        }
        for names, *cells in table("names | `OPTIMAL`")
        for name in words(names)
    }
    by_cvxpy = told.pop("cvxpy-clarabel")
    engines = {
        name: getattr(listed.make(), "engine", listed.make())
        for name, listed in bench.ROSTER.items()
    }
    assert told == {
        name: {str(word): status for word, status in engine.statuses.items()}
        for name, engine in engines.items()
        if hasattr(engine, "statuses")
    }
    assert by_cvxpy == {word: backends._translate(word) for word in by_cvxpy}
    assert backends._translate("unbounded") is Status.FAILED


WORDLESS = ("rc2", "ipfn", "mbi")
"""The libraries that say nothing of their end."""


def test_every_library_of_the_roster_is_told_how_it_ends():
    """The names of libraries are in lower case, those of our classes are not."""
    (line,) = [line for line in PAGE.read_text().split("\n\n") if "have no word" in line]
    assert all(f"`{name}`" in line for name in WORDLESS)
    told = [name for names, *_ in table("names | `OPTIMAL`") for name in words(names)]
    assert sorted([*told, *WORDLESS]) == sorted(name for name in bench.ROSTER if name.islower())


@pytest.mark.parametrize("name", ["ipfn", pytest.param("mbi", marks=pytest.mark.slow)])
def test_a_library_that_does_not_say_how_it_ended_claims_nothing(name):
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{name} is not installed")
    instance = bench.instance("exact-entropy-b4-independent-pairs")
    assert listed.make().solve(instance.problem).claim.status is None


@pytest.mark.parametrize(("upper", "status"), [(1.0, Status.OPTIMAL), (0.0, Status.INFEASIBLE)])
def test_rc2_proves_an_optimum_or_that_there_is_no_answer(upper, status):
    """Choose one of two at least, and one or none of them."""
    listed = bench.ROSTER["rc2"]
    if not listed.is_installed:
        pytest.skip("python-sat is not installed")
    rows = [[1, 1], [-1, -1]] if upper else [[1, 1], [-1, 0], [0, -1]]
    lower = [1, *[0 if not upper else -1] * (len(rows) - 1)]
    model = bench.Model(cost=[1, 2], matrix=rows, lower=lower, upper=np.inf, most=1.0, whole=True)
    assert dataclasses.replace(listed.make().engine, apart=False)(model).status is status


STEPS = [(1, Status.OPTIMAL), (2, Status.ITERATION_LIMIT), (0, Status.ITERATION_LIMIT)]


@pytest.mark.parametrize(("code", "status"), [*STEPS, (3, Status.FAILED)])
def test_a_step_that_gets_too_short_is_no_tolerance_of_trust_constr(code, status, monkeypatch):
    instance = bench.instance("exact-entropy-b4-independent-pairs")
    found = types.SimpleNamespace(status=code, x=instance.problem.uniform, message="it ended")
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: found)
    answered = bench.ROSTER["trust-constr"].make().solve(instance.problem)
    assert (answered.claim.status, answered.detail) == (status, f"code {code}: it ended")


def test_trust_constr_is_given_independent_rows():
    """Cells that must be zero make rows depend on each other, which are independent else."""
    instance = bench.instance("exact-entropy-b8-classes-pairs-zeros")
    answered = bench.ROSTER["trust-constr"].make().solve(instance.problem)
    check = instance.check(answered.answer)
    assert answered.claim.status is Status.OPTIMAL and check.feasible
    assert check.objective == pytest.approx(instance.best_known, rel=1e-8)


@pytest.mark.parametrize("name", ["osqp", "scs"])
def test_a_looser_tolerance_of_a_library_breaks_constraints(name):
    """Why the tolerances are tight: a residual is no violation in the unit of the family."""
    listed = bench.ROSTER[name]
    if not listed.is_installed:
        pytest.skip(f"{name} is not installed")
    kind = type(listed.make().engine)
    broken = {}
    for tolerance in (1e-4, 1e-6):
        solver = bench.ByModel(engine=kind(tolerance=tolerance))
        found = [
            instance.check(solver.solve_instance(instance).answer)
            for instance in bench.instances(family="nonnegativity", size="small")
        ]
        broken[tolerance] = sum(not check.feasible for check in found)
    assert broken[1e-4] > 0 == broken[1e-6]


def test_the_instances_and_those_that_are_proved_are_counted():
    instances = bench.instances()
    sizes = ("small", "medium", "large")

    def counted(family):
        chosen = [one for one in instances if family in (one.family.name, "all")]
        parts = [[one for one in chosen if one.size == size] for size in sizes]
        return [f"{len(part)} ({sum(one.proved for one in part)})" for part in [*parts, chosen]]

    told = {name: counts for name, *counts in table("family | small", DOCS / "bench.md")}
    assert told == {name: counted(name) for name in told}
    assert list(told) == [*(family.name for family in bench.FAMILIES), "all"]
    readme = " ".join((DOCS.parent / "README.md").read_text().split())
    proved = sum(one.proved for one in instances)
    assert f"[{len(instances)} named instances](docs/bench.md)" in readme
    assert f"the best value of {proved} of them proved" in readme


@pytest.mark.parametrize("part", ["columns", "rows"])
def test_the_columns_and_rows_of_a_file_are_told(part):
    told = table(f"family | {part}, in their order", DOCS / "bench.md")
    assert told == [[family.name, getattr(family, part)] for family in bench.FAMILIES]


def arrays_told():
    """For each group of families, the names of its arrays, and whether each may be left out."""
    told = {}
    group = ""
    for named, names, *_ in table("family | array", DOCS / "bench.md"):
        group = named or group
        optional = names.startswith("(")
        for one in group.split(", "):
            told.setdefault(one, {}).update(dict.fromkeys(words(names.strip("()")), optional))
    return told


@pytest.mark.parametrize("family", bench.FAMILIES, ids=lambda family: family.name)
def test_the_arrays_of_a_file_are_told(family):
    told = arrays_told()[family.group]
    needed = {name for name, optional in told.items() if not optional}
    small = bench.instances(family=family.name, size="small")
    for instance in [*small[:2], *small[-2:]]:
        held = {re.sub(r"\d+$", "N", name) for name in family.pack(instance.problem)}
        assert needed <= held <= set(told), instance.name
    # An array that may be left out is one that some problem has.
    optional = {"zeros", "base", "ridge", "axesN", "marginalN"}
    if family.group in ("entropy", "reconstruction"):
        assert set(told) - needed == optional


def test_the_header_of_a_file_is_told(tmp_path):
    bench.instance("cover-design-6-3-2").save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        header = json.loads(file["header"].tobytes())
    (text,) = [row[3] for row in table("family | array", DOCS / "bench.md") if row[1] == "header"]
    assert all(name in text for name in header)
