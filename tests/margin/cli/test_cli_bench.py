"""`margin bench`: lists, runs and shows; its errors say what to do."""

import dataclasses
import json
import logging
from pathlib import Path

import pytest

from margin.cli.bench.commands import _described
from margin.cli.bench.minutes import _Lines, each_minute
from margin.cli.main import main
from margin.solvers import bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running.rows import write
from margin.solvers.testing import examples

MINE = """
import numpy as np


class Guess:
    def solve(self, problem):
        return np.full(problem.shape, problem.total / problem.cells)
"""


@pytest.fixture
def saved(tmp_path):
    made = Instance.of(examples()["nothing"], name="nothing", family="exact-entropy")
    made.save(tmp_path / "nothing.npz")
    (tmp_path / "mine_of_test.py").write_text(MINE)
    return tmp_path


def test_a_users_own_solver_runs_from_a_file(saved, capsys, monkeypatch):
    rows = saved / "rows.parquet"
    command = ["bench", "run", "-o", str(rows), "--instances", str(saved / "nothing.npz")]
    solver = f"{saved / 'mine_of_test.py'}:Guess"
    assert main([*command, "--solvers", solver, "Newton", "--repeats", "0"]) == 0
    assert "Newton was not run: it does not solve exact-entropy" in capsys.readouterr().out
    assert main([*command, "--solvers", solver, "--repeats", "0", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (line,) = said["summary"]
    assert line["instances"] == 1 and line["wrong"] == 0
    (row,) = bench.read_rows(rows)
    assert row["feasible"] and row["objective"] == pytest.approx(0.0, abs=1e-12)
    assert main(["bench", "show", str(rows), "--format", "latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    monkeypatch.setattr("margin.solvers.bench.shown.pictures.available", lambda _: False)
    assert main(["bench", "show", str(rows), "--page", str(saved / "page.html")]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err


@pytest.mark.slow
def test_a_page_and_a_picture_are_written(saved, capsys):
    pytest.importorskip("matplotlib")
    rows = saved / "rows.parquet"
    command = ["bench", "run", "-o", str(rows), "--instances", str(saved / "nothing.npz")]
    assert main([*command, "--solvers", "IPF", "--repeats", "0"]) == 0
    page, picture = saved / "page.html", saved / "picture.png"
    show = ["bench", "show", str(rows), "--page", str(page), "--picture", str(picture)]
    assert main(show) == 0 and page.exists() and picture.exists()
    assert main(show) == 2
    assert "--force" in capsys.readouterr().err


def test_what_is_kept_is_told_and_can_be_run_again(saved, capsys):
    rows = saved / "rows.parquet"
    command = ["bench", "run", "-o", str(rows), "--instances", str(saved / "nothing.npz")]
    command += ["--solvers", "IPF", "--repeats", "1", "--tolerance", "0.01"]
    said = []
    for words in ([], [], ["--again"]):
        assert main([*command, *words]) == 0
        said.append(capsys.readouterr().out.splitlines()[-1])
    assert said[0] == said[2] and said[0].endswith("2 solves")
    assert "2 were kept from before and 0 were run now; add --again" in said[1]
    assert {row["tolerance"] for row in bench.read_rows(rows)} == {0.01}


def test_a_class_that_needs_an_argument_is_named(saved, capsys):
    own = saved / "needy_of_test.py"
    own.write_text("class Needy:\n    def __init__(self, count):\n        self.count = count\n")
    solver = f"{own}:Needy"
    command = ["bench", "run", "-o", str(saved / "r.parquet"), "--solvers", solver]
    assert main([*command, "--instances", str(saved / "nothing.npz")]) == 2
    said = capsys.readouterr().err
    assert f"class of the solver '{solver}'" in said and "TypeError" in said
    assert "let its parameters have defaults" in said


def test_another_ending_is_refused(saved, capsys):
    path = saved / "rows.csv"
    command = ["bench", "run", "-o", str(path), "--instances", str(saved / "nothing.npz")]
    assert main([*command, "--solvers", "IPF"]) == 2
    said = capsys.readouterr().err
    assert "write rows.parquet" in said and "margin bench show --format csv" in said
    assert not path.exists()


def test_progress_is_a_line_now_and_then(capsys):
    log = logging.getLogger("margin")
    left = ", about 0 s left"
    first, second = f"margin: run 1 of 2{left}\n", f"margin: run 2 of 2{left}\n"
    # A stage and the first run are told at once: nobody waits for a minute without a word.
    for pause, lines in ((0.0, first + second), (60.0, first)):
        with each_minute(pause):
            log.info("compiling loops")
            for number in (1, 2):
                log.info("run %d of %d", number, 2)
        assert capsys.readouterr().err == f"margin: compiling loops\n{lines}"


@pytest.mark.parametrize(
    ("message", "arguments", "left"),
    [
        ("run %d of %d", (1, 4), ", about 90 s left"),
        ("run %d of %d", (2, 41), ", about 10 min left"),
        ("run %d of %d", (4, 4), ", about 0 s left"),
        ("run %d of %d", (0, 4), ""),
        ("reading %s", ("3 instances",), ""),
        ("compiling", (), ""),
    ],
)
def test_a_line_of_progress_tells_the_time_left(message, arguments, left):
    """After 30 seconds."""
    lines = _Lines(60.0)
    record = logging.LogRecord("margin", logging.INFO, "", 0, message, arguments, None)
    assert lines._left(record, lines._begun + 30.0) == left


def test_the_list_names_solvers_and_instances(capsys):
    assert main(["bench", "list", "--family", "cover", "--size", "small"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("cover (minimise, 19 instances)") and "cover-design-7-3-2" in text
    assert "  tolerances: highs 1e-09, scip 1e-07\n" in text
    assert "  an answer may break a constraint by 1e-06 (items that no chosen set holds)\n" in text
    assert "    cover-design-7-3-2 (small), best known 7, bound 7\n" in text


def test_the_list_has_the_dimensions_of_programmes_if_they_are_asked_for(capsys):
    command = ["bench", "list", "--family", "cover", "--size", "small", "--json"]
    counts = {"rows": 21, "columns": 35, "nonzeros": 105, "integers": 35, "cones": 0}
    for words, expected in ([], {}), (["--dimensions"], counts):
        assert main([*command, *words]) == 0
        (family,) = json.loads(capsys.readouterr().out)
        (fano,) = [one for one in family["instances"] if one["name"] == "cover-design-7-3-2"]
        assert fano["proved_by"].startswith("found by") and fano["version"] == 1
        assert fano["digest"] == bench.instance(fano["name"]).digest
        assert {name: fano[name] for name in counts if name in fano} == expected


def test_what_is_not_known_of_an_instance_is_left_out():
    instance = Instance.of(None, name="mine", family="cover")
    assert _described(instance, {}) == "mine (small)"
    assert _described(dataclasses.replace(instance, bound=2.5), {}) == "mine (small), bound 2.5"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solvers", "ipf"], "did you mean 'IPF'"),
        (["--solvers", "nowhere:Solver"], "importing it failed"),
        (["--solvers", "json:Solver"], "must define Solver"),
        (["--family", "entrop"], "family must be"),
        (["--instances", "none.npz"], "none.npz"),
        (["--instances", "none.npz", "--size", "small"], "either --instances or --family"),
        (["--instances", "my.mps"], "a file that ends in .npz, but it is 'my.mps'"),
    ],
)
def test_errors_say_what_to_do(tmp_path, capsys, words, message):
    assert main(["bench", "run", "-o", str(tmp_path / "r.parquet"), *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["mps", "lp", "cbf", "wcnf", "npz"])
def test_an_instance_is_exported_by_its_ending(tmp_path, capsys, ending):
    path, expected = tmp_path / f"fano.{ending}", tmp_path / f"expected.{ending}"
    assert main(["bench", "export", "cover-design-7-3-2", str(path)]) == 0
    told = capsys.readouterr().out
    assert "fano" in told
    instance = bench.instance("cover-design-7-3-2")
    assert f"version 1, digest {instance.digest}\n" in told
    if ending == "npz":
        assert bench.load(path).name == instance.name
        return
    instance.export(expected)
    assert path.read_bytes() == expected.read_bytes()


def test_a_programme_is_printed_with_its_symbols(capsys):
    assert main(["bench", "export", "cover-design-7-3-2", "--statement"]) == 0
    said = capsys.readouterr().out
    family = bench.instance("cover-design-7-3-2").family
    assert family.statement() in said
    assert all(f"{symbol}: {words}" in said for symbol, words in family.symbols().items())
    assert f"columns of a file: {family.columns}" in said
    assert f"rows of a file: {family.rows}" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cover-design-7-3-2"], "--statement must be given"),
        (["cover-design-7-3-2", "x.txt"], "must end in one of .mps, .lp, .cbf, .wcnf, .npz"),
        (["minimax-b6-chain-pairs", "x.wcnf"], "choose another format"),
        (["cover-design-7-3-2x"], "did you mean 'cover-design-7-3-2'"),
    ],
)
def test_an_export_that_cannot_be_made_is_told(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "export", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_some_solvers_alone_are_shown(tmp_path, capsys):
    path = str(tmp_path / "r.parquet")
    rows = [
        dict.fromkeys(bench.COLUMNS)
        | {"family": "cover", "instance": "one", "solver": solver, "outcome": "solved"}
        | {"cold": True, "cpu": 1.0, "wall": 1.0, "time_limit": 9.0, "peak_memory": 1}
        | {"trace_seconds": [], "trace_gaps": [], "repeats": 0, "cause": ""}
        for solver in ("A", "B", "mine:Mine", "C, tuned")
    ]
    write(rows, Path(path))
    for words, kept in (
        (["A,mine.py:Mine"], {"A", "mine:Mine"}),
        (["C, tuned", "B"], {"C, tuned", "B"}),
    ):
        assert main(["bench", "show", path, "--json", "--solvers", *words]) == 0
        said = json.loads(capsys.readouterr().out)
        assert {line["solver"] for line in said["summary"]} == kept
    assert main(["bench", "show", path, "--solvers", "mine:Min"]) == 2
    assert "did you mean 'mine:Mine'" in capsys.readouterr().err


@pytest.mark.parametrize("limits", [(9.0,), (9.0, 60.0)])
def test_a_line_for_each_instance_and_solver_is_shown(limits, tmp_path, capsys):
    paths = [
        rows_in(
            tmp_path / f"{limit}.parquet", {"solver": "A", "objective": 30.0, "time_limit": limit}
        )
        for limit in limits
    ]
    assert main(["bench", "show", "--each", *paths]) == 0
    assert capsys.readouterr().out.count("| cover | mine | A | solved | 30 |") == len(limits)
    assert main(["bench", "show", "--each", "--json", *paths]) == 0
    said = json.loads(capsys.readouterr().out)
    parts = said["separate"] if len(limits) > 1 else [said]
    assert [part["solves"][0]["objective"] for part in parts] == [30.0] * len(limits)
    assert main(["bench", "show", "--json", paths[0]]) == 0
    assert "solves" not in json.loads(capsys.readouterr().out)


def test_a_false_optimum_of_another_file_is_told(tmp_path, capsys):
    """Rows of one file refute those of another one."""
    paths = [
        rows_in(
            tmp_path / f"{solver}.parquet",
            {"solver": solver, "objective": objective, "status": "OPTIMAL"},
        )
        for solver, objective in (("honest", 30.0), ("liar", 33.0))
    ]
    assert main(["bench", "show", *paths]) == 0
    assert "an answer of liar to mine is wrong" in capsys.readouterr().out


def test_different_problems_of_one_name_are_not_shown_together(tmp_path, capsys):
    paths = []
    for digest in ("one", "other"):
        row = (
            dict.fromkeys(bench.COLUMNS)
            | {"family": "cover", "instance": "mine", "solver": "A", "outcome": "solved"}
            | {"cold": True, "cpu": 1.0, "wall": 1.0, "time_limit": 9.0, "peak_memory": 1}
            | {"trace_seconds": [], "trace_gaps": [], "repeats": 0, "cause": "", "digest": digest}
        )
        paths.append(str(tmp_path / f"{digest}.parquet"))
        write([row], Path(paths[-1]))
    assert main(["bench", "show", paths[0]]) == 0
    assert main(["bench", "show", *paths]) == 2
    assert "different problems that are named 'mine'" in capsys.readouterr().err


def test_a_file_without_rows_is_refused(tmp_path, capsys):
    (tmp_path / "r.parquet").write_text("no")
    assert main(["bench", "show", str(tmp_path / "r.parquet")]) == 2
    assert "must hold the rows" in capsys.readouterr().err


def test_runs_with_different_limits_are_not_ranked_together(tmp_path, capsys):
    path = str(tmp_path / "r.parquet")
    rows = [
        dict.fromkeys(bench.COLUMNS)
        | {"family": "cover", "instance": "one", "solver": solver, "outcome": "solved"}
        | {"cold": True, "cpu": 1.0, "wall": 1.0, "time_limit": limit, "peak_memory": 1}
        | {"best_known": None, "trace_seconds": [], "trace_gaps": [], "repeats": 0, "cause": ""}
        for solver, limit in (("A", 10.0), ("B", 60.0))
    ]
    write(rows, Path(path))
    assert main(["bench", "show", path]) == 0
    shown = capsys.readouterr().out
    first, second = shown.split("limits 2: time limit 60 s")
    assert "limits 1: time limit 10 s" in first and "| A |" in first and "| B |" not in first
    assert "| B |" in second and "| A |" not in second
    for words in (["--format", "csv"], ["--page", str(tmp_path / "p.html")], ["--limits", "3"]):
        assert main(["bench", "show", path, *words]) == 2
        assert "--limits" in capsys.readouterr().err
    assert main(["bench", "show", path, "--limits", "2", "--format", "csv"]) == 0
    shown = capsys.readouterr().out
    assert "cover,B," in shown and "cover,A," not in shown


def rows_in(path, *rows):
    """Write rows of a cover of one instance to a file; returns its path as a text."""
    whole = (
        dict.fromkeys(bench.COLUMNS)
        | {"family": "cover", "sense": "minimise", "instance": "mine", "outcome": "solved"}
        | {"cold": True, "cpu": 1.0, "wall": 1.0, "time_limit": 9.0, "peak_memory": 1}
        | {"trace_seconds": [], "trace_gaps": [], "repeats": 0, "tolerance": 1e-4, "cause": ""}
        | {
            "feasible": True,
            "objective": 30.0,
            "gap": 0.0,
            "versions": "{}",
            "date": "2026-01-01",
            "load": 0.0,
        }
    )
    write([whole | row for row in rows], path)
    return str(path)


def test_a_better_answer_than_the_best_known_is_told_in_every_form(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = rows_in(
        tmp_path / "r.parquet",
        {"solver": "quick", "objective": 3466.0, "best_known": 4679.0, "cpu": 0.1},
        {"solver": "highs", "objective": 3144.0, "best_known": 4679.0},
    )
    page = tmp_path / "page.html"
    told = "highs found 3144, better than the best known 4679"
    shows = ["bench", "show", path]
    assert main([*shows, "--page", str(page)]) == 0
    assert told in capsys.readouterr().out and told in page.read_text()
    assert main([*shows, "--format", "latex"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if told in one]
    assert line.startswith("% ")
    assert main([*shows, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert told in said["notes"][0]
    ranked = [(one["solver"], one["solved"], one["feasible"]) for one in said["summary"]]
    assert ranked == [("highs", 1, 0), ("quick", 0, 1)]
    # Also where the solver that found it is not shown.
    assert main([*shows, "--solvers", "quick"]) == 0
    assert told in capsys.readouterr().out


def test_the_numbers_of_limits_are_those_of_all_rows(tmp_path, capsys):
    """Choosing a family or a solver does not change them."""
    path = rows_in(
        tmp_path / "r.parquet",
        {"solver": "A", "time_limit": 5.0, "family": "minimax"},
        *({"solver": "A", "time_limit": limit} for limit in (10.0, 60.0)),
        {"solver": "B", "time_limit": 60.0},
    )
    shows = ["bench", "show", path, "--family", "cover"]
    assert main(shows) == 0
    shown = capsys.readouterr().out
    assert "limits 2: time limit 10 s" in shown and "limits 3: time limit 60 s" in shown
    assert main([*shows, "--limits", "3", "--format", "csv"]) == 0
    assert "cover,B," in capsys.readouterr().out
    assert main([*shows, "--solvers", "B", "--limits", "3"]) == 0
    assert "| B |" in capsys.readouterr().out
    assert main([*shows, "--limits", "1"]) == 2
    assert "under --limits 1 must hold the family 'cover'" in capsys.readouterr().err


def test_rows_can_be_ranked_by_claims(tmp_path, capsys):
    """A quick answer without a claim of optimality ranks first by answers, and last by claims."""
    path = tmp_path / "rows.parquet"
    (easy, *_) = bench.instances(family="exact-entropy", size="small")
    (row,) = bench.compare([easy], {"sure": bench.ROSTER["IPF"].make()}, repeats=0)
    write([row, row | {"solver": "quick", "status": "UNPROVEN", "cpu": row["cpu"] / 2}], path)
    order = {}
    for words in ([], ["--claimed"]):
        assert main(["bench", "show", str(path), *words, "--json"]) == 0
        lines = json.loads(capsys.readouterr().out)["summary"]
        order[bool(words)] = [(line["solver"], line["solved"], line["claimed"]) for line in lines]
    assert order == {
        False: [("quick", 1, 0), ("sure", 1, 1)],
        True: [("sure", 1, 1), ("quick", 0, 0)],
    }
