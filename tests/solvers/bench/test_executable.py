"""`Executable`: a program that reads a file of the programme, in the place of an engine."""

import re
import sys

import numpy as np
import pytest
from bench_cases import FAMILIES, small

from margin.solvers import Status, bench
from margin.solvers.bench.libraries.executable import _ended

HIGHS = """
import sys

import highspy

source, target, seconds = sys.argv[1:]
solver = highspy.Highs()
solver.setOptionValue("output_flag", False)
solver.setOptionValue("time_limit", float(seconds))
solver.readModel(source)
solver.run()
solver.writeSolution(target, 0)
info = solver.getInfo()
is_integer = any(kind != highspy.HighsVarType.kContinuous for kind in solver.getLp().integrality_)
bound = info.mip_dual_bound if is_integer else info.objective_function_value
print("status", solver.modelStatusToString(solver.getModelStatus()))
print("bound", bound)
"""
"""Solves a file by HiGHS, and prints a status and a bound."""

BURNS = """
import sys, time
while time.process_time() < 0.4:
    pass
open(sys.argv[2], "w").write("x0 1")
"""
"""Works for 0.4 processor seconds."""


class Told(bench.Executable):
    """Reads what `HIGHS` prints."""

    def told(self, output, solution):
        words = dict(re.findall(r"^(\w+) (.*)$", output, re.MULTILINE))
        status = Status.OPTIMAL if words["status"] == "Optimal" else Status.FAILED
        return status, float(words["bound"])


def program(folder, code, kind=bench.Executable, **options):
    """An engine that runs Python code."""
    path = folder / "program.py"
    path.write_text(code)
    return kind(
        command=[sys.executable, str(path), "{model}", "{solution}", "{seconds}"], **options
    )


@pytest.fixture
def cover():
    return bench.instance("cover-design-7-3-2")


@pytest.mark.parametrize(("number", "family"), [*enumerate(FAMILIES)])
def test_a_program_solves_every_family_that_its_format_holds(number, family, tmp_path):
    pytest.importorskip("highspy")
    instance = small(family)
    engine = program(tmp_path, HIGHS, Told, format=("mps", "lp")[number % 2])
    answered = bench.ByModel(engine=engine, time_limit=20.0).solve_instance(instance)
    if FAMILIES[family].group == "entropy":
        assert answered.claim.status is Status.UNSUPPORTED
        assert answered.detail == f"{engine.format} files hold no exponential cones"
        return
    check = instance.check(answered.answer)
    assert check.feasible and answered.claim.status is Status.OPTIMAL
    assert answered.claim.bound == pytest.approx(check.objective, rel=1e-5, abs=1e-6)


def test_what_a_program_works_counts(tmp_path, cover):
    solver = bench.ByModel(engine=program(tmp_path, BURNS))
    (row,) = bench.compare([cover], {"burns": solver}, repeats=0)
    assert row["cpu"] > 0.4
    assert row["outcome"] == "wrong" and "called UNPROVEN, but not feasible" in row["cause"]


SOLUTIONS = {
    "pairs": "# comment 5\nx0 1\nx2 0.5\n",
    "SCIP": "solution status: optimal\nobjective value:  1.5\nx0  1 \t(obj:1)\nx2 0.5 \t(obj:1)\n",
    "CBC": "Optimal - objective value 1.5\n  0 x0   1   0\n  2 x2   0.5   0\n",
    "Gurobi": "# Objective value = 1.5\nx0 1\nx1 0\nx2 5e-01\n",
    "HiGHS": "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 1.5\n"
    "# Columns 3\nx0 1\nx1 0\nx2 0.5\n# Rows 1\nr0 1\n"
    "# Dual solution values\n# Columns 3\nx0 7\nx1 7\nx2 7\n",
    "a constant": "x0 1\nx2 0.5\none 1\n",
}


@pytest.mark.parametrize("text", SOLUTIONS.values(), ids=SOLUTIONS)
def test_solution_files_of_several_programs_are_read(text):
    model = bench.Model(cost=[1, 1, 1], matrix=[[1, 1, 1]], lower=[1], upper=[9])
    ended = _ended(model, text, Status.OPTIMAL, 1.0)
    assert ended.point.tolist() == [1.0, 0.0, 0.5]
    assert (ended.status, ended.bound) == (Status.OPTIMAL, 1.0)


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("", Status.FAILED, "the solution file names no column"),
        ("x3 1", Status.FAILED, "columns x0 to x2"),
        ("x1 one", Status.FAILED, "columns x0 to x2"),
    ],
)
def test_a_file_without_an_answer_claims_none(text, status, words):
    model = bench.Model(cost=[1, 1, 1], matrix=[[1, 1, 1]], lower=[1], upper=[9])
    ended = _ended(model, text, Status.OPTIMAL, None)
    assert (ended.status, ended.point) == (status, None)
    assert words in ended.detail
    assert _ended(model, "", Status.TIME_LIMIT, None).status is Status.TIME_LIMIT


ENDS = {
    "fails": ("import sys; print('no licence'); sys.exit(3)", Status.FAILED, "left with 3: no lic"),
    "says nothing": ("", Status.FAILED, "names no column"),
}


@pytest.mark.parametrize(("code", "status", "words"), ENDS.values(), ids=ENDS)
def test_how_a_program_ends_is_told(code, status, words, tmp_path, cover):
    ended = program(tmp_path, code)(cover.model, time_limit=30.0)
    assert ended.status is status and words in ended.detail


def test_a_program_that_does_not_end_is_ended(tmp_path, cover, monkeypatch):
    monkeypatch.setattr("margin.solvers.bench.libraries.executable._PATIENCE_SECONDS", 0.0)
    ended = program(tmp_path, "import time; time.sleep(600)")(cover.model, time_limit=0.2)
    assert ended.status is Status.TIME_LIMIT and "was ended" in ended.detail


@pytest.mark.parametrize(("limit", "told"), [(None, 1e9), (30.0, 30.0)])
def test_a_program_is_told_what_is_left_of_its_limit(limit, told, tmp_path, cover):
    code = "import sys; open(sys.argv[2], 'w').write(f'x0 {sys.argv[3]}')"
    point = program(tmp_path, code)(cover.model, time_limit=limit).point
    assert 0.9 * told < point[0] <= told
    ended = program(tmp_path, code)(cover.model, time_limit=1e-9)
    assert ended.status is Status.TIME_LIMIT and ended.point is None


@pytest.mark.parametrize(
    ("options", "model", "words"),
    [
        ({"squares": False}, {"square": 1.0}, "no quadratic objective"),
        ({"integers": False}, {"whole": True}, "no integers"),
    ],
)
def test_what_a_program_does_not_take_is_refused(options, model, words, tmp_path):
    asked = bench.Model(cost=[1], matrix=[[1]], lower=[1], upper=[9], **model)
    ended = program(tmp_path, "", **options)(asked)
    assert ended.status is Status.UNSUPPORTED and words in ended.detail


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"command": "solve {model} {solution}"}, "must be a list"),
        ({"command": []}, "must be a list"),
        ({"command": ["solve", "{solution}"]}, r"must hold \{model\}"),
        ({"command": ["solve", "{model}"]}, r"must hold \{solution\}"),
        ({"command": ["solve", "{model}", "{solution}"], "format": "cbf"}, "'mps' or 'lp'"),
    ],
)
def test_a_command_that_cannot_work_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        bench.Executable(**options)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_model_that_is_written_is_read_again(ending, tmp_path, cover):
    pytest.importorskip("highspy")
    path = tmp_path / f"model.{ending}"
    bench.write(cover.model, path)
    again = bench.read(path)
    assert np.array_equal(again.cost, cover.model.cost)
    assert (again.matrix != cover.model.matrix).nnz == 0


@pytest.mark.parametrize(("ending", "words"), [("wcnf", "must end in one of"), ("mps", "cones")])
def test_a_model_that_a_file_cannot_hold_leaves_none(ending, words, tmp_path):
    path = tmp_path / f"model.{ending}"
    with pytest.raises(ValueError, match=words):
        bench.write(small("exact-entropy").model, path)
    assert not path.exists()
