import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from margin import load
from margin.cli.arguments.mechanisms import MECHANISMS
from margin.cli.main import main
from margin.synopses import RecordSynopsis

BUDGET = ["--epsilon", "20", "--replace-row"]
RELEASE = ["release", "people.csv", "--domain", "domain.json", *BUDGET, "--mechanism", "dualquery"]


@pytest.fixture
def files(table, domain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(table, "people.csv")
    (tmp_path / "domain.json").write_text(domain.to_json())
    return tmp_path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_release_and_records(files, capsys, domain):
    code, out, err = run(capsys, *RELEASE, "--queries", "3way:200", "-o", "out.margin")
    assert code == 0 and " records; " in out, err
    assert isinstance(load("out.margin"), RecordSynopsis)
    for name, read in (
        ("rows.csv", pyarrow.csv.read_csv),
        ("rows.parquet", pyarrow.parquet.read_table),
    ):
        assert run(capsys, "records", "out.margin", "-n", "50", "-o", name)[0] == 0
        rows = read(name)
        assert rows.num_rows == 50 and rows.column_names == list(domain)
        for column, form in domain.items():
            assert {form.code(value) for value in rows[column].to_pylist()} <= set(
                range(form.size)
            ) or form.bins
    assert run(capsys, "info", "out.margin")[0] == 0
    assert run(capsys, "marginal", "out.margin", "age", "sex")[0] == 0


def test_records_are_never_overwritten_silently(files, capsys):
    assert run(capsys, *RELEASE, "--queries", "2way:50", "-o", "out.margin")[0] == 0
    (files / "rows.csv").write_text("mine")
    code, _, err = run(capsys, "records", "out.margin", "-n", "5", "-o", "rows.csv")
    assert code == 2 and "--force" in err and (files / "rows.csv").read_text() == "mine"
    assert run(capsys, "records", "out.margin", "-n", "5", "-o", "rows.csv", "--force")[0] == 0
    assert len((files / "rows.csv").read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([*RELEASE, "--queries", "many", "-o", "o.margin"], "3way:100000"),
        ([*RELEASE, "--queries", "9way:5", "-o", "o.margin"], "k (9)"),
        ([*RELEASE, "--queries", "3way:0", "-o", "o.margin"], "count (0)"),
        ([*RELEASE, "--queries", "2parity:5", "-o", "o.margin"], "k (2)"),
        (
            [*RELEASE, "--queries", "2way:5", "--views", "age,sex", "-o", "o.margin"],
            "either from --views or from --queries",
        ),
        ([*RELEASE[:-1], "best", "-o", "o.margin"], "DualQuery"),
        ([*RELEASE[:-1], "priview", "--queries", "2way:5", "-o", "o.margin"], "for DualQuery"),
        (["records", "none.margin", "-n", "5", "-o", "rows.csv"], "none.margin"),
        (["records", "none.margin", "-n", "5", "-o", "rows.xls"], ".parquet"),
    ],
)
def test_mistakes_are_explained(files, capsys, arguments, text):
    code, out, err = run(capsys, *arguments)
    assert code == 2 and text in err and not out and "Traceback" not in err


def test_views_have_records_too(files, capsys):
    assert (
        run(
            capsys,
            "release",
            "people.csv",
            "--domain",
            "domain.json",
            *BUDGET,
            "-o",
            "views.margin",
        )[0]
        == 0
    )
    assert run(capsys, "records", "views.margin", "-n", "5", "-o", "rows.csv")[0] == 0
    assert len((files / "rows.csv").read_text().splitlines()) == 6


def test_views_are_the_queries(files, capsys):
    assert run(capsys, *RELEASE, "--views", "age,sex", "region", "-o", "out.margin")[0] == 0
    assert {"PriView", "DualQuery"} <= set(MECHANISMS)
    (files / "views.json").write_text(json.dumps([["age", "sex"]]))
    assert run(capsys, *RELEASE, "--views", "views.json", "-o", "out.margin", "--force")[0] == 0
    assert np.isfinite(load("out.margin").marginal(["age"]).counts).all()
