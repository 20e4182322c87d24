"""`margin count A.margin B.margin`: the change between two releases, with bounds that hold."""

import json
import math

import numpy as np
import pytest
import scipy.stats
from json_pages import REFERENCE, SECTION, check, fields

import margin
from margin import ZCDP, DomainError, PureDP
from margin.cli.main import main
from margin.synopses import Count, Difference

COUNT = fields(dict(SECTION.findall((REFERENCE / "json.md").read_text()))["margin count"])
FORMS = {"sex": ["F", "M"], "age": {"bins": [0, 18, 65]}, "job": ["no", "yes", "?"]}
VIEWS = [["sex", "age"], ["job"]]
CASES = {
    "all": ([], None),
    "a cell": (["sex=F", "age<18"], None),
    "a sum": (["age>=18"], None),
    "a share": (["age<18"], ["sex=F"]),
    "a share of all": (["sex=F"], []),
}


def made(seed, *, budget=PureDP(1), rows=None, forms=FORMS, base=None, people=400):
    draw = np.random.default_rng(seed)
    codes = {"sex": draw.integers(0, 2, people), "job": draw.integers(0, 3, people)}
    table = {name: np.take(FORMS[name], found) for name, found in codes.items()}
    table["age"] = draw.integers(0, 65, people)
    domain = margin.Domain(forms, rows=rows)
    mechanism = margin.PriView(views=VIEWS)
    return margin.release(table, domain=domain, budget=budget, mechanism=mechanism, base=base)


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """Save two releases, and ask for a change: the code, the text, the JSON values, and stderr."""
    monkeypatch.chdir(tmp_path)

    def ask(earlier, later, conditions, of=None, more=()):
        earlier.save("a.margin", replace=True)
        later.save("b.margin", replace=True)
        line = ["count", "a.margin", "b.margin", *conditions]
        line += [] if of is None else ["--of", *of]
        line += more
        code = main(line)
        text, err = capsys.readouterr()
        main([*line, "--json"])
        out = capsys.readouterr().out
        return code, text, json.loads(out) if code == 0 else None, err

    return ask


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")])
@pytest.mark.parametrize(("conditions", "of"), CASES.values(), ids=CASES)
def test_a_change_has_the_variances_of_both_releases(told, budget, conditions, of):
    releases = made(1, budget=budget), made(2, budget=budget, people=500)
    code, text, values, _ = told(*releases, conditions, of)
    assert code == 0
    numbers = []
    for synopsis, key in zip(releases, ("from", "to"), strict=True):
        where = values["where"]
        if of is None:
            number = synopsis.count(where)
        else:
            number = synopsis.ratio(where, {"sex": ["F"]} if of else {})
        assert values[key]["count" if of is None else "share"] == number.estimate
        numbers.append(number)
    assert values["change"] == numbers[1].estimate - numbers[0].estimate
    assert values["noise_sd"] ** 2 == pytest.approx(sum(one.variance for one in numbers))
    assert values["low"] < values["change"] < values["high"]
    assert (values["low"], values["high"]) == Difference.between_releases(*numbers).interval(0.95)
    assert ("points" in text) == (of is not None)
    assert "noise is independent" in " ".join(text.split()) and "a.margin" in text


@pytest.mark.parametrize("where", [{}, {"sex": ["F"], "age": ["0 to under 18"]}])
def test_the_variance_of_a_change_is_that_of_its_error(where):
    """100 pairs of releases of one table: no count has changed, and the noise is normal.

    The squares of the changes, divided by their variances, add up to a chi-square of 100 degrees:
    false alarms of 1e-6. Counts are far from 0, where negative ones are removed.
    """
    releases = [made(1, budget=ZCDP("0.5")) for _ in range(200)]
    squares = []
    for first, second in zip(releases[::2], releases[1::2], strict=True):
        change = Difference.between_releases(first.count(where), second.count(where))
        squares.append(change.estimate**2 / change.variance)
    law = scipy.stats.chi2(100)
    assert law.ppf(5e-7) < sum(squares) < law.isf(5e-7)


def test_a_kurtosis_adds_up_by_fourth_cumulants():
    one = Count(estimate=1.0, noise_variance=8.0, noise_kurtosis=3.0)
    other = Count(estimate=1.0, noise_variance=8.0, noise_kurtosis=3.0)
    assert Difference.between_releases(one, other).noise_kurtosis == pytest.approx(1.5)
    other = Count(estimate=1.0, noise_variance=0.0)
    assert Difference.between_releases(one, other).noise_kurtosis == pytest.approx(3.0)


@pytest.mark.parametrize("budget", ["0.02", "1"])
def test_a_share_of_too_few_rows_has_no_bounds(told, budget):
    releases = [made(seed, budget=PureDP(budget), people=60) for seed in (1, 2)]
    code, text, values, err = told(*releases, ["age<18"], ["sex=F"])
    if code:  # at a small budget, the rows may even be none
        assert "not positive" in err
        return
    ratios = [synopsis.ratio(values["where"], {"sex": ["F"]}) for synopsis in releases]
    g = max(1.96**2 * one.denominator.variance / one.denominator.estimate**2 for one in ratios)
    has_bounds = values["low"] is not None
    assert has_bounds == (g <= 0.05) == ("95 %" in text) and has_bounds == (budget == "1")
    assert ("no bounds" in text) != has_bounds


def test_what_has_no_independent_noise_is_refused(told):
    first, second = made(1), made(2)
    for earlier, later, conditions, expected in (
        (first, first, ["sex=F"], "both files hold the same one"),
        (first, made(2, base=first), ["sex=F"], "has a base"),
        (made(2, base=first), second, [], "has a base"),
        (first, second, ["sex=F", "job=yes"], "must be measured"),
    ):
        code, _, _, err = told(earlier, later, conditions)
        assert code == 2 and expected in err and err.count("\n") == 1
    based = made(2, base=first).count({"sex": ["F"]})
    with pytest.raises(DomainError, match="must be measured"):
        Difference.between_releases(first.count({"sex": ["F"]}), based)


def test_what_is_declared_has_no_noise_and_no_sign(told):
    releases = [made(seed, rows=400, people=400) for seed in (1, 2)]
    code, text, values, _ = told(*releases, [])
    assert code == 0 and values["low"] == values["high"] == values["change"]
    assert values["change"] == pytest.approx(0, abs=1e-9) and values["noise_sd"] == 0
    assert text.startswith("change      0.0\n95 %        0.0 to 0.0\n")
    assert "Both numbers are declared" in text


def test_an_attribute_that_is_declared_otherwise_is_named(told):
    other = {**FORMS, "age": {"bins": [0, 18, 40, 65]}}
    _, text, values, _ = told(made(1), made(2, forms=other), ["age<18"])
    assert values["declared_differently"] == ["age"] and "declare 'age' differently" in text
    _, text, values, _ = told(made(1), made(2, forms=other), ["sex=F"])
    assert values["declared_differently"] == [] and "differently" not in text


def test_a_file_that_is_missing_is_named(told, capsys):
    told(made(1), made(2), [])
    assert main(["count", "a.margin", "none.margin", "sex=F"]) == 2
    assert "'none.margin' does not exist" in capsys.readouterr().err
    assert main(["count", "none.margin", "b.margin", "sex=F"]) == 2
    assert "'none.margin' does not exist" in capsys.readouterr().err
    assert main(["count", "sex=F", "b.margin"]) == 2
    assert "must stand first" in capsys.readouterr().err
    assert math.isfinite(margin.load("a.margin").count({}).estimate)


@pytest.mark.parametrize("by", ["sex", "age"])
@pytest.mark.parametrize(("conditions", "of"), CASES.values(), ids=CASES)
def test_by_gives_the_change_of_each_category(told, conditions, of, by):
    """As of one category by itself: each number, each bound, and each line."""
    releases = made(1), made(2, people=500)
    code, text, values, err = told(*releases, conditions, of, ["--by", by])
    assert code == 0, err
    kept = values["where"].get(by, FORMS["sex"] if by == "sex" else made(1).domain["age"].names)
    assert [one["category"] for one in values["categories"]] == list(kept)
    for found in values["categories"]:
        label = f"{by}={found['category']}"
        group = [*(of or []), label]
        _, _, alone, err = told(*releases, [*conditions, label], None if of is None else group)
        if alone is None:
            assert "not positive" in err and found["change"] is None
            continue
        for key in ("change", "low", "high", "noise_sd", "missed_sd", "source"):
            assert found[key] == alone[key]
        for end in ("from", "to"):
            assert found[end] == alone[end]["count" if of is None else "share"]
        assert f"{found['change']:+,.1f}" in text or of is not None
    assert (values["from"], values["to"]) == ({"file": "a.margin"}, {"file": "b.margin"})
    # The share of a category in itself has no noise.
    has_noise = any(found["noise_sd"] for found in values["categories"])
    assert values["in_one_release"] == [] and text.count("noise is independent") == has_noise
    check(values, COUNT)


def test_by_names_the_categories_of_one_release_alone(told, tmp_path):
    other = {**FORMS, "job": ["no", "yes", "?", "maybe"]}
    releases = made(1), made(2, forms=other)
    _, text, values, _ = told(*releases, [], None, ["--by", "job"])
    assert values["in_one_release"] == ["maybe"] and "Only one release has: 'maybe'." in text
    assert values["declared_differently"] == ["job"]
    assert [one["category"] for one in values["categories"]] == FORMS["job"]
    # Put together in the release that has both, as where a code was divided.
    (tmp_path / "c.json").write_text('{"job": {"yes": ["yes", "maybe"]}}')
    more = ["--by", "job", "--categories", "c.json"]
    _, _, values, _ = told(*releases, [], None, more)
    assert values["in_one_release"] == []
    together = releases[1].count({"job": ["yes", "maybe"]}).estimate
    assert values["categories"][1]["to"] == pytest.approx(together)
    nothing = {**FORMS, "job": {"values": {"No": ["no"], "Yes": ["yes"], "None": ["?"]}}}
    code, _, _, err = told(made(1), made(2, forms=nothing), [], None, ["--by", "job"])
    assert code == 2 and "category of 'job' that both releases have" in err


def test_by_of_what_is_reconstructed_is_refused(told):
    code, _, _, err = told(made(1), made(2), ["sex=F"], None, ["--by", "job"])
    assert code == 2 and "must be measured" in err
