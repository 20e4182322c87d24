"""Mechanisms as Python expressions on the command line."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import margin
from margin.cli.arguments.written import written
from margin.cli.main import main
from margin.mechanisms import (
    CountSketch,
    Dyadic,
    FilterPriority,
    HighPass,
    LogThreshold,
    PrefixTree,
    PriView,
    ThresholdSample,
)
from margin.mechanisms.strategies import OptimisedMarginals

RELEASE = ["release", "trips.csv", "--domain", "domain.json", "--epsilon", "5", "-o", "out.margin"]


@pytest.fixture
def trips(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(1).integers(0, 5, (500, 2))
    pyarrow.csv.write_csv(pa.table({"home": rows[:, 0], "work": rows[:, 1]}), "trips.csv")
    (tmp_path / "domain.json").write_text(margin.Domain({"home": 10**6, "work": 10**6}).to_json())


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        ("HighPass(theta=5)", HighPass(theta=5)),
        (" HighPass(target = 9, two_sided=True) ", HighPass(target=9, two_sided=True)),
        ("ThresholdSample(target=100, share='0.1')", ThresholdSample(target=100, share="0.1")),
        (
            "Dyadic(FilterPriority(size=20), attributes=['a'])",
            Dyadic(FilterPriority(size=20), ["a"]),
        ),
        ("CountSketch(width=64)", CountSketch(width=64)),
        ("PrefixTree(end='over')", PrefixTree(end="over")),
        ("LogThreshold(most=3)", LogThreshold(most=3)),
        ("PriView(views=[['a', 'b']])", PriView(views=[["a", "b"]])),
        (
            "MatrixMechanism(strategy=OptimisedMarginals(largest=True))",
            margin.MatrixMechanism(strategy=OptimisedMarginals(largest=True)),
        ),
    ],
)
def test_what_is_written_is_what_python_makes(text, mechanism):
    assert written(text) == mechanism


def test_a_release(trips, capsys):
    assert main([*RELEASE, "--mechanism", "HighPass(theta=8)"]) == 0
    found = margin.load("out.margin")
    assert (
        isinstance(found, margin.synopses.CellSynopsis)
        and found.theta == 8
        and 20 <= len(found.values) <= 26
    )
    assert (
        main(
            [
                *RELEASE,
                "--force",
                "--mechanism",
                "Dyadic(FilterPriority(size=50), attributes='home')",
            ]
        )
        == 0
    )
    assert main(["info", "out.margin"]) == 0 and "at least" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HighPass(", "must be a name, or a mechanism as in Python"),
        ("(" * 5000, "must be a name, or a mechanism as in Python"),
        ("HighPass(theta=open)", "must be a name, or a mechanism as in Python"),
        ("HighPass(theta=2**99)", "must be a name, or a mechanism as in Python"),
        ("HighPass(*[5])", "must be a name, or a mechanism as in Python"),
        ("HighPass(**{'theta': 5})", "must be a name, or a mechanism as in Python"),
        ("margin.HighPass(theta=5)", "must be a name, or a mechanism as in Python"),
        ("[HighPass(theta=5)]", "must be a name, or a mechanism as in Python"),
        ("print(1)", "unknown mechanism 'print'"),
        ("EigenDesign()", "write it as in MatrixMechanism(strategy=EigenDesign())"),
        ("Dyadic(__import__('os'))", "unknown mechanism '__import__'"),
        ("HighPass(height=5)", "must be among theta, target, two_sided"),
        ("HighPass(theta=0)", "theta (0) must be a whole number >= 1"),
        ("Dyadic(3)", "inner must be HighPass"),
        ("DPSense(grid=5)", "a parameter of DPSense has a value of the wrong type"),
        ("highpass", "a mechanism as in Python"),
        ("Highpass(theta=5)", "unknown mechanism 'Highpass' (did you mean 'HighPass'?)"),
        ("priveiw", "unknown mechanism 'priveiw' (did you mean 'PriView'?)"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(trips, capsys, text, message):
    assert main([*RELEASE, "--mechanism", text]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_options_of_other_mechanisms_are_refused(trips, capsys):
    for more in (["--views", "home"], ["--queries", "2way:5"], ["--size", "9"]):
        assert main([*RELEASE, "--mechanism", "HighPass(theta=5)", *more]) == 2
        assert more[0] in capsys.readouterr().err
