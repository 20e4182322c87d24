"""The tables of docs/howto/compare_solvers.md say what the code does."""

from pathlib import Path

import pytest

from margin.solvers import Status, backends, bench

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "compare_solvers.md"
STATUSES = (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INFEASIBLE)


def table(head):
    """The cells of the table whose first line begins so, without marks of code."""
    lines = PAGE.read_text().splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith(f"| {head} |")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.replace("`", "").split("|")[1:-1]])
    return rows


def words(cell):
    return [] if cell == "-" else cell.split(", ")


def test_the_largest_violation_of_each_family_is_told():
    told = [(name, float(value), unit) for name, value, unit in table("family | largest violation")]
    assert told == [(family.name, family.tolerance, family.unit) for family in bench.FAMILIES]


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
        name: getattr(listed.make(), "engine", None) for name, listed in bench.ROSTER.items()
    }
    assert told == {
        name: {str(word): status for word, status in engine.statuses.items()}
        for name, engine in engines.items()
        if hasattr(engine, "statuses")
    }
    assert by_cvxpy == {word: backends._translate(word) for word in by_cvxpy}
    assert backends._translate("unbounded") is Status.FAILED


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
