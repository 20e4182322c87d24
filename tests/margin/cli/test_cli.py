import csv
import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import margin
from margin.cli.main import main
from margin.interrupts.progress import progress


@pytest.fixture
def files(table, domain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(table, "people.csv")
    pyarrow.parquet.write_table(table, "people.parquet")
    (tmp_path / "domain.json").write_text(domain.to_json())
    return tmp_path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (["--epsilon", "0.5"], margin.PureDP("0.5")),
        (["--epsilon", "1", "--delta", "1e-9"], margin.ApproxDP(1, "1e-9")),
        (["--rho", "0.01"], margin.ZCDP("0.01")),
    ],
)
def test_release_then_marginal(files, capsys, data, budget, kind):
    code, out, err = run(
        capsys, "release", data, "--domain", "domain.json", *budget, "-o", "out.margin"
    )
    assert code == 0 and "out.margin" in out and kind.describe() in out
    assert err.count("\n") == 1 and "charged to no ledger" in err
    assert margin.load("out.margin").spent == kind
    code, out, err = run(capsys, "marginal", "out.margin", "sex", "income", "--format", "json")
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["attributes"] == {"sex": ["F", "M"], "income": ["low", "high", "not stated"]}
    assert np.shape(answer["counts"]) == (2, 3)


def test_formats_agree(files, capsys):
    run(
        capsys,
        "release",
        "people.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "-o",
        "out.margin",
    )
    answer = margin.load("out.margin").marginal(["sex", "age"])
    _, table, _ = run(capsys, "marginal", "out.margin", "sex", "age")
    lines = table.splitlines()
    assert lines[0].split() == ["sex", "age", "count", "low", "high"]
    assert [line.split()[0] for line in lines[1:7]] == ["F"] * 3 + ["M"] * 3
    words = " ".join(lines[7:])  # below the six counts
    assert "With about 95 % probability, the true number lies between the bounds" in words
    _, text, _ = run(capsys, "marginal", "out.margin", "sex", "age", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["count"]) for row in rows] == answer.counts.ravel().tolist()
    assert rows[0]["age"] == "0 to under 18"


@pytest.mark.parametrize("views", [["age,sex", "region,children,income"], ["views.json"]])
def test_views_are_given_by_names_or_in_a_file(files, capsys, views):
    (files / "views.json").write_text('[["age", "sex"], ["region", "children", "income"]]')
    arguments = [
        "release",
        "people.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "-o",
        "o.margin",
    ]
    assert run(capsys, *arguments, "--views", *views)[0] == 0
    assert margin.load("o.margin").names == (("age", "sex"), ("region", "children", "income"))
    code, out, _ = run(capsys, "info", "o.margin")
    assert code == 0
    for said in (
        "epsilon = 1",
        "add or remove one row",
        "PriView",
        "age, sex",
        "region, children, income",
        "54 cells",
    ):
        assert said in out


GOOD = ["release", "people.csv", "--domain", "domain.json", "--epsilon", "1", "-o", "out.margin"]


def replaced(old, *new):
    place = GOOD.index(old)
    return [*GOOD[:place], *new, *GOOD[place + 1 :]]


BAD = {
    "epsilon zero": (replaced("1", "0"), "epsilon"),
    "epsilon negative": (replaced("1", "-1"), "epsilon"),
    "epsilon NaN": (replaced("1", "nan"), "epsilon"),
    "epsilon infinite": (replaced("1", "inf"), "epsilon"),
    "epsilon a word": (replaced("1", "one"), "epsilon"),
    "delta one": ([*GOOD, "--delta", "1"], "delta"),
    "two budgets": ([*GOOD, "--rho", "1"], "--rho"),
    "no budget": ([item for item in GOOD if item not in ("--epsilon", "1")], "budget"),
    "no such file": (replaced("people.csv", "nobody.csv"), "nobody.csv"),
    "not a parquet": (replaced("people.csv", "fake.parquet"), "fake.parquet"),
    "not a csv": (replaced("people.csv", "fake.csv"), "fake.csv"),
    "unknown kind of file": (replaced("people.csv", "people.xyz"), "people.xyz"),
    "no such domain": (replaced("domain.json", "nobody.json"), "nobody.json"),
    "domain not JSON": (replaced("domain.json", "people.csv"), "JSON"),
    "domain too small": (replaced("domain.json", "small.json"), "'sex'"),
    "column missing": (replaced("domain.json", "shoes.json"), "'shoes'"),
    "draft domain": (replaced("domain.json", "draft.json"), "draft"),
    "unknown attribute in a view": ([*GOOD, "--views", "age,shoes"], "'shoes'"),
    "attribute twice in a view": ([*GOOD, "--views", "age,age"], "'age'"),
    "views file missing": ([*GOOD, "--views", "none.json"], "none.json"),
    "views file of another kind": ([*GOOD, "--views", "domain.json"], "list of views"),
    "no such folder": (replaced("out.margin", "none/out.margin"), "none/out.margin"),
    "output is a folder": (replaced("out.margin", "."), "folder"),
    "marginal of no file": (["marginal", "none.margin", "age"], "none.margin"),
    "marginal of a csv": (["marginal", "people.csv", "age"], "people.csv"),
    "info of a csv": (["info", "people.csv"], "people.csv"),
    "suggest for no file": (["domain", "suggest", "none.csv"], "none.csv"),
}


@pytest.mark.parametrize(("arguments", "says"), BAD.values(), ids=BAD)
def test_mistakes_are_explained_and_nothing_is_written(files, capsys, arguments, says):
    (files / "fake.parquet").write_text("no, not parquet")
    (files / "fake.csv").write_bytes(bytes(range(256)) * 10)
    (files / "people.xyz").write_text("age\n1\n")
    (files / "small.json").write_text('{"sex": ["M"]}')
    (files / "shoes.json").write_text('{"shoes": 4}')
    (files / "draft.json").write_text('{"$draft": "x", "sex": ["F", "M"]}')
    before = sorted(files.iterdir())
    code, out, err = run(capsys, *arguments)
    assert code == 2 and out == "" and err.startswith("margin: ") and says in err
    assert err.count("\n") == 1
    assert "person" not in err and "overseas" not in err
    assert sorted(files.iterdir()) == before


def test_unknown_attributes_are_named_when_asked_for(files, capsys):
    run(capsys, *GOOD)
    for attributes, says in ((["shoes"], "'shoes'"), (["age", "age"], "'age'")):
        code, _, err = run(capsys, "marginal", "out.margin", *attributes)
        assert code == 2 and says in err


def test_a_simulation_is_refused(files, capsys, table, domain):
    margin.simulate(table, domain=domain, budget=margin.PureDP(1), seed=1).save("s.margin")
    code, _, err = run(capsys, "info", "s.margin")
    assert code == 2 and "simulation" in err


def test_a_suggested_domain_works_once_its_mark_is_removed(files, capsys):
    code, out, err = run(capsys, "domain", "suggest", "people.csv")
    assert code == 0 and "not private" in err
    draft = json.loads(out)
    (files / "draft.json").write_text(out)
    assert run(capsys, *replaced("domain.json", "draft.json"))[0] == 2
    assert "'name' (texts that are nearly all different)" in draft.pop("$draft")
    (files / "draft.json").write_text(json.dumps(draft))
    assert run(capsys, *replaced("domain.json", "draft.json"))[0] == 0


def test_an_unforeseen_error_shows_no_text_unless_asked(files, capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("row 17 holds person 17")

    monkeypatch.setattr(margin, "release", broken)
    code, out, err = run(capsys, *GOOD)
    assert code == 1 and out == "" and "person" not in err and "RuntimeError" in err
    code, _, err = run(capsys, "--debug", *GOOD)
    assert code == 1 and "person 17" in err and "Traceback" in err


def test_demo_fits_one_screen_and_leaves_its_file(files, capsys):
    code, out, err = run(capsys, "demo")
    assert code == 0 and "Traceback" not in err
    lines = out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert "private" in out and "truth" in out and "epsilon = 1" in out
    assert margin.load("demo.margin").marginal(["smoker"]).total > 10_000
    # The file, and so its page, says that its people do not exist.
    assert "made up by the software" in run(capsys, "info", "demo.margin")[1]
    assert run(capsys, "report", "demo.margin")[0] == 0
    page = Path("demo.html").read_text("utf-8")
    assert "made up by the software" in page.split("<script>")[0]


def test_progress_is_silent_for_a_quick_command(capsys):
    log = logging.getLogger("margin")
    with progress():
        log.info("counting the views")
    assert capsys.readouterr().err == ""


def test_the_command_is_installed():
    done = subprocess.run(
        [sys.executable, "-m", "margin", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().split(",")[0] == f"margin {margin.__version__}"


FORMULAE = ["=1+1", "+2", "-3", "@SUM(A1)", "\t=4", "\r=5", "  =6", "\uff1d7"]
PLAIN = ["a=1", "x-1", "'=1", "8"]


@pytest.mark.parametrize("option", [[], ["--spreadsheet"]])
def test_labels_that_a_spreadsheet_would_run_are_made_safe_on_request(
    option, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    labels = [*FORMULAE, *PLAIN]
    sign = "'" if option else ""
    safe = [*(f"{sign}{label}" for label in FORMULAE), *PLAIN]
    domain = margin.Domain({"=name": labels, "number": {"values": [-1, 2]}})
    rows = {"=name": labels, "number": [-1] * len(labels)}
    margin.release(rows, domain=domain, budget=margin.PureDP(100)).save("x.margin")
    _, out, _ = run(capsys, "marginal", "x.margin", "=name", "number", "--format", "csv", *option)
    # A mark tells spreadsheets the encoding of what is for them.
    mark = "\ufeff" if option else ""
    assert out.startswith(mark)
    head, *found = csv.reader(io.StringIO(out.removeprefix(mark), newline=""))
    numbers = ["count", "low", "high", "noise_sd", "missed_sd"]
    assert head == [f"{sign}=name", "number", *numbers]
    assert [row[0] for row in found[::2]] == safe and [row[1] for row in found[:2]] == ["-1", "2"]
    assert run(capsys, "records", "x.margin", "-n", "500", "-o", "r.csv", *option)[0] == 0
    with open("r.csv", newline="", encoding="utf-8") as file:
        assert not mark or file.read(1) == mark
        head, *found = csv.reader(file)
    assert head == [f"{sign}=name", "number"] and {row[0] for row in found} == set(safe)
    assert {row[1] for row in found} <= {"-1", "2"}, "a number is no formula"
