"""`margin count --mean`, `--median` and `--quantile` print what Python has."""

import itertools
import json

import numpy as np
import pytest
from json_pages import REFERENCE, SECTION, check, fields

import margin
from margin.cli.main import main

COUNT = fields(dict(SECTION.findall((REFERENCE / "json.md").read_text()))["margin count"])
DOMAIN = margin.Domain(
    {
        "wage": {"bins": [0, 1000, 2000, None], "missing": "?"},
        "age": {"bins": [0, 18, 40, 65], "other": "old"},
        "band": {"values": ["low", "mid", "high"], "ordered": True},
        "sex": ["F", "M"],
        "place": {
            "levels": {"names": ["state", "town"], "paths": [["N", "a"], ["N", "b"], ["S", "c"]]}
        },
    }
)
ROWS = np.random.default_rng(4).integers(0, DOMAIN.sizes, (900, len(DOMAIN)))


@pytest.fixture(scope="module")
def synopsis():
    views = [[name, "sex"] for name in DOMAIN if name != "sex"]
    mechanism = margin.PriView(views=[*views, ["age", "place"]])
    return margin.release(ROWS, domain=DOMAIN, budget=margin.PureDP(2), mechanism=mechanism)


@pytest.fixture
def told(synopsis, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    synopsis.save("x.margin")

    def ask(*words):
        assert main(["count", "x.margin", *words]) == 0
        text = capsys.readouterr().out
        assert main(["count", "x.margin", *words, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        check(values, COUNT)
        return text, values

    return ask


WHERES = {(): {}, ("sex=F",): {"sex": "F"}, ("sex=F", "age<40"): {"sex": "F", "age": (0, 40)}}
GROUPS = {None: [None], "sex": ["F", "M"], "place@state": ["N", "S"]}


@pytest.mark.parametrize(("words", "by"), [*itertools.product(WHERES, GROUPS)])
@pytest.mark.parametrize("whole", [False, True])
def test_a_mean_is_that_of_python(synopsis, told, words, by, whole):
    options = [*([] if by is None else ["--by", by]), *(["--whole"] if whole else [])]
    text, values = told(*words, "--mean", "age", *options)
    found = [values] if by is None else values["categories"]
    kept = [label for label in GROUPS[by] if by != "sex" or not words or label == "F"]
    assert len(found) == len(kept)
    for one, label in zip(found, kept, strict=True):
        where = WHERES[words] | ({} if label is None else {by: label})
        mean = synopsis.mean("age", where=where, whole=whole)
        assert one["mean"] == mean.estimate and (one["low"], one["high"]) == mean.interval(0.95)
        assert f"{mean.estimate:,.1f}" in text and one["reconstructed"] == mean.reconstructed
        assert ("Reconstructed" in text) or not mean.reconstructed
    assert "left out of the mean: 'old'" in " ".join(text.split())
    assert "the middle of each bin" in text and values["whole"] is whole
    assert ("add --whole" in " ".join(text.split())) is not whole


OPTIONS = {
    ("--median", "age"): 0.5,
    ("--median", "wage"): 0.5,
    ("--quantile", "0.9", "wage"): 0.9,
    ("--quantile", ".25", "band"): 0.25,
}


@pytest.mark.parametrize(("option", "by"), [*itertools.product(OPTIONS, GROUPS)])
def test_a_quantile_is_that_of_python(synopsis, told, option, by):
    text, values = told(*option, *([] if by is None else ["--by", by]))
    found = [values] if by is None else values["categories"]
    assert (values["attribute"], values["quantile"]) == (option[-1], OPTIONS[option])
    for one, label in zip(found, GROUPS[by], strict=True):
        where = {} if label is None else {by: label}
        quantile = synopsis.quantile(option[-1], OPTIONS[option], where)
        assert (one["holds"], tuple(one["between"])) == (quantile.estimate, quantile.between(0.95))
        assert quantile.estimate in text and one["reconstructed"] == quantile.reconstructed
        ends = (None, None) if quantile.edges is None else quantile.interval(0.95)
        assert (one["low"], one["high"]) == tuple(None if end == np.inf else end for end in ends)
        if quantile.edges is None:
            assert quantile.between(0.95)[-1] in text
    assert "and not where in it" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mean", "age", "--median", "age"], "--mean and --median are given"),
        (["--mean", "age", "--of", "sex=F"], "--mean and --of are given"),
        (["x.margin", "--median", "age"], "--median and a second file are given"),
        (["--median", "age", "--minus", "sex=F"], "--median and --minus are given"),
        (["--whole", "--median", "age"], "--whole says how the middles of bins are taken"),
        (["--mean", "band"], "are no bins"),
        (["--mean", "wage"], "must have a finite number"),
        (["--median", "sex"], "needs categories in an order"),
        (["--median", "wages"], "did you mean 'wage'"),
        (["--quantile", "90", "wage"], "a share > 0 and < 1"),
        (["--quantile", "wage", "0.9"], "a share > 0 and < 1"),
        (["--median", "age", "age<18", "--by", "age"], ""),
    ],
)
def test_what_has_no_average_is_refused(told, capsys, words, message):
    code = main(["count", "x.margin", *words])
    assert message in capsys.readouterr().err and (code == 2) == bool(message)


@pytest.mark.parametrize("attribute", ["wage", "band"])
def test_no_category_is_named_where_any_may_hold_the_median(attribute, tmp_path, capsys):
    """A group without rows has no median."""
    domain = margin.Domain({name: DOMAIN[name].to_json() for name in (attribute, "sex")})
    rows = {attribute: np.zeros(500, int), "sex": np.zeros(500, int)}
    codes = np.column_stack(list(rows.values()))
    made = margin.release(codes, domain=domain, budget=margin.PureDP(1))
    made.save(tmp_path / "x.margin")
    words = ["count", str(tmp_path / "x.margin"), "--median", attribute, "--by", "sex"]
    assert main(words) == 0
    _, full, empty, *_ = capsys.readouterr().out.splitlines()
    assert full.split()[0] == "F" and " - " not in full
    assert empty.split()[:2] == ["M", "-"]
