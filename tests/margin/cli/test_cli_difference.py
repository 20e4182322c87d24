"""`margin count --minus` and `--by`: the numbers of Python, and one form at a time."""

import json

import pytest
from json_pages import REFERENCE, SECTION, check, fields

import margin
from margin.cli.main import main
from margin.synopses.source import Source

PATHS = [["N", "N1"], ["N", "N2"], ["S", "S1"]]
FORMS = {
    "place": {"levels": {"names": ["region", "town"], "paths": PATHS}},
    "sex": ["F", "M"],
    "age": {"bins": [0, 18, 65], "ordered": True, "missing": "?"},
}
RULES = [{"age": "[0, 18)", "place": "S1"}]
PAGE = (REFERENCE / "json.md").read_text(encoding="utf-8")
FIELDS = fields(dict(SECTION.findall(PAGE))["margin count"])


@pytest.fixture
def synopsis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = {
        "place": ["N1", "N2", "S1", "N1"] * 100,
        "sex": ["F", "M", "M", "F", "F"] * 80,
        "age": [5, 30, 40, 50] * 100,
    }
    domain = margin.Domain(FORMS, impossible=RULES)
    views = margin.PriView(views=[["place", "age"], ["sex", "age"]])
    found = margin.release(table, domain=domain, budget=margin.PureDP(1), mechanism=views)
    found.save("x.margin")
    return found


def told(capsys, *words):
    assert main(["count", "x.margin", *words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    check(values, FIELDS)
    assert main(["count", "x.margin", *words]) == 0
    return values, capsys.readouterr().out


SHARES = [
    (["age>=18"], ["sex=F"], ["sex=M"], Source.MEASURED),
    (["place=N1"], ["place@region=N"], [], Source.MEASURED),
    (["sex=F"], ["place@region=N"], ["place@region=S"], Source.RECONSTRUCTED),
]


@pytest.mark.parametrize(("conditions", "of", "minus", "source"), SHARES)
def test_a_difference_of_shares_is_that_of_python(synopsis, capsys, conditions, of, minus, source):
    values, text = told(capsys, *conditions, "--of", *of, "--minus", *minus)
    for key, group in zip(SIDES, (of, minus), strict=True):
        assert [f"{name}={one}" for name, (one,) in values[key]["of"].items()] == group
    first, second = (synopsis.ratio(values[key]["where"], values[key]["of"]) for key in SIDES)
    difference = first - second
    assert values["difference"] == difference.estimate
    assert (values["low"], values["high"]) == difference.interval(0.95)
    assert [values[key]["share"] for key in SIDES] == [first.estimate, second.estimate]
    assert values["source"] == source.value and source.words[:9] in text
    assert f"{100 * difference.estimate:+.2f} points" in text


SIDES = ("first", "second")


@pytest.mark.parametrize("minus", [["sex=M", "age>=18"], []])
def test_a_difference_of_counts_is_that_of_python(synopsis, capsys, minus):
    values, text = told(capsys, "sex=F", "age>=18", "--minus", *minus)
    difference = synopsis.difference(*(values[key]["where"] for key in SIDES))
    assert values["difference"] == difference.estimate
    assert values["noise_sd"] ** 2 == pytest.approx(difference.variance)
    assert text.startswith(f"difference  {difference.estimate:+,.1f}\n")
    assert f"({' '.join(minus) or 'all rows'})" in text


@pytest.mark.parametrize("by", ["sex", "place", "place@region"])
@pytest.mark.parametrize("of", [None, [], ["age<18"]])
def test_each_category_has_the_number_of_its_own_command(synopsis, capsys, by, of):
    share = [] if of is None else ["--of", *of]
    values, text = told(capsys, "sex=F", *share, "--by", by)
    tree = margin.domain.level_views.attribute_at(synopsis.domain, by)
    inside = [name for name in tree.names if (by, name) != ("sex", "M")]
    assert [one["category"] for one in values["categories"]] == inside
    lines = text.splitlines()
    assert lines[0].split() == [by, "count" if of is None else "share", "low", "high"]
    for line, one in zip(lines[1:], values["categories"], strict=False):
        name = one.pop("category")
        more = [] if of is None else ["--of", *of, f"{by}={name}"]
        asked = ["sex=F", *([f"{by}={name}"] if of is None else []), *more]
        code = main(["count", "x.margin", *asked, "--json"])
        out = capsys.readouterr().out
        assert line.split()[0] == name
        # A share of rows that cannot be is refused if it is the only one, and has a dash in a list.
        if code:
            assert one["share"] is None and line.split()[1] == "-"
            continue
        alone = json.loads(out)
        assert one == {key: alone[key] for key in one}
    # The words on the bounds stand there once.
    assert text.count("Reconstructed: these attributes") == (by != "sex")


def test_one_form_at_a_time(synopsis, capsys):
    synopsis.save("y.margin")
    for words, expected in (
        (["y.margin", "sex=F", "--minus", "sex=M"], "a second file and --minus are given"),
        (["sex=F", "--minus", "sex=M", "--by", "sex"], "--minus and --by are given"),
        (["--of", "--by", "sex"], "--of needs conditions before it"),
        (["place=N1", "--by", "nothing"], "unknown attribute 'nothing'"),
    ):
        assert main(["count", "x.margin", *words]) == 2
        error = capsys.readouterr().err
        assert expected in error and error.count("\n") == 1
