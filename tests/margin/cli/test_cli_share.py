"""`margin count --of`: shares are those of Python. Numbers that the rules exclude say so."""

import json

import numpy as np
import pytest

import margin
from margin.cli.arguments.conditions import in_order, outside_order, where_of
from margin.cli.main import main
from margin.domain.level_views import attribute_at
from margin.synopses.source import Source

PATHS = [["N", "N1"], ["N", "N2"], ["S", "S1"]]
FORMS = {
    "place": {"levels": {"names": ["region", "town"], "paths": PATHS}},
    "sex": ["F", "M"],
    "age": {"bins": [0, 18, 65], "ordered": True, "missing": "?"},
}
RULES = [{"age": "[0, 18)", "place": "S1"}]


def made(rows):
    table = {
        "place": ["N1", "N2", "S1", "N1"] * 100,
        "sex": ["F", "M", "M", "F", "F"] * 80,
        "age": [5, 30, 40, 50] * 100,
    }
    domain = margin.Domain(FORMS, impossible=RULES, rows=rows)
    views = margin.PriView(views=[["place", "age"], ["sex", "age"]])
    return margin.release(table, domain=domain, budget=margin.PureDP(1), mechanism=views)


@pytest.fixture(params=[None, 400])
def synopsis(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = made(request.param)
    found.save("x.margin")
    return found


def told(capsys, *words):
    assert main(["count", "x.margin", *words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert main(["count", "x.margin", *words]) == 0
    return values, capsys.readouterr().out


def save_two(domain):
    """Releases of one random table, with each attribute beside the sex."""
    rows = np.random.default_rng(1).integers(0, domain.sizes, (400, len(domain)))
    views = margin.PriView(views=[["sex", own] for own in domain if own != "sex"])
    for file in ("x.margin", "y.margin"):
        release = margin.release(rows, domain=domain, budget=margin.PureDP(9), mechanism=views)
        release.save(file)


SHARES = [
    ([], ["--of"], []),
    ([], ["--of", "sex=F"], []),
    ([], ["--of"], ["--by", "sex"]),
    ([], ["--of", "sex=F"], ["--minus", "sex=M"]),
    (["y.margin"], ["--of", "sex=F"], []),
]
"""For each form of a share: a second file, the whole, and further options."""

CASES = [
    (["age>=18"], ["sex=F"], Source.MEASURED),
    (["sex=F"], ["place@region=N", "age<18"], Source.RECONSTRUCTED),
    (["place=N1"], ["place@region=N"], Source.MEASURED),
    (["sex=F", "age<18"], [], Source.MEASURED),
]


@pytest.mark.parametrize(("conditions", "of", "source"), CASES)
def test_a_share_is_the_ratio_of_python(synopsis, capsys, conditions, of, source):
    values, text = told(capsys, *conditions, "--of", *of)
    ratio = synopsis.ratio(values["where"], values["of"])
    low, high = ratio.interval(0.95)
    assert ratio.share and 0 <= low <= values["share"] <= high <= 1
    assert (values["share"], values["low"], values["high"]) == (ratio.estimate, low, high)
    assert values["of_count"] == ratio.denominator.estimate
    assert values["source"] == source.value and source.words[:9] in text
    assert f"{100 * ratio.estimate:.2f} %" in text


def test_what_has_no_share_is_refused(synopsis, capsys):
    assert main(["count", "x.margin", "--of", "sex=F"]) == 2
    assert "--of needs conditions before it" in capsys.readouterr().err
    assert main(["count", "x.margin", "sex=F", "--of", "place=S1", "age<18"]) == 2
    assert "a share needs a positive number of rows" in capsys.readouterr().err


EXCLUSIVE = [
    (["sex=F"], ["sex=M"]),
    (["age<18"], ["sex=M", "age>=18"]),
    (["place=N1"], ["place@region=S"]),
]


@pytest.mark.parametrize(("conditions", "of"), EXCLUSIVE)
def test_a_ratio_that_is_no_share_is_left_to_python(synopsis, capsys, conditions, of):
    assert main(["count", "x.margin", *conditions, "--of", *of]) == 2
    said = capsys.readouterr().err
    assert "no row can satisfy both" in said and "synopsis.ratio({" in said
    assert synopsis.ratio({"sex": "F"}, {"sex": "M"}).estimate > 0


def test_a_number_that_the_rules_exclude_says_so(synopsis, capsys):
    values, text = told(capsys, "place@region=S", "age<18", "sex=F")
    assert values["source"] == "impossible" and values["count"] == values["high"] == 0
    assert text.split("\n")[2] == "Declared as impossible: no row can be here, so the number is 0."
    assert synopsis.count({"place": "S1", "age": "[0, 18)"}).source is Source.IMPOSSIBLE
    # So does its share of other rows, whichever condition comes first.
    for conditions, of in (["age<18", "place=S1"], ["place@region=S", "age<18"]):
        values, text = told(capsys, conditions, "--of", of)
        assert values["source"] == "impossible" and values["share"] == values["high"] == 0
        assert Source.IMPOSSIBLE.words in text
        assert synopsis.ratio(values["where"], values["of"]).source is Source.IMPOSSIBLE
    assert synopsis.ratio({"place": "S1"}, {"age": "[0, 18)"}).source is None
    # The same release still measures other numbers, and knows its total if that is declared.
    assert synopsis.count({"place": "S1"}).source is Source.MEASURED
    known = synopsis.domain.rows is not None
    assert (synopsis.count({}).source is Source.KNOWN) == known


def test_a_node_of_another_level_is_named(synopsis, capsys):
    assert main(["count", "x.margin", "place=N"]) == 2
    assert "did you mean place@region=N?" in capsys.readouterr().err
    assert main(["count", "x.margin", "place@region=S1"]) == 2
    assert "did you mean place=S1?" in capsys.readouterr().err


ORDERED = {
    "sex": ["F", "M"],
    "my hours": {"bins": [0, 20, 60], "other": "many", "missing": "?"},
    "open": {"bins": [None, 20, 60], "missing": "?"},
    "endless": {"bins": [None, 20, None], "missing": "?"},
    "visit": {"dates": {"from": "2020", "to": "2021", "by": "year"}, "missing": "never"},
    "size": {"values": ["7", 3, 1], "other": "more", "ordered": True},
    "band": {"values": ["low", "high"], "ordered": True, "missing": "?"},
}
COMPARED = ["my hours<20", "open<20", "endless<20", "visit<2021", "size<=3", "band<=low"]


@pytest.mark.parametrize("compared", COMPARED)
def test_what_only_the_denominator_counts_is_told_with_a_way_out(
    compared, capsys, tmp_path, monkeypatch
):
    """The condition that the note names selects the categories in order, and silences it."""
    monkeypatch.chdir(tmp_path)
    domain = margin.Domain(ORDERED)
    name = compared.split("<")[0]
    outside = outside_order(domain, [compared])[name]
    ordered = [one for one in domain[name].names if one not in outside]
    condition = in_order(domain, name)
    if condition is not None:
        assert where_of(domain, [condition]) == {name: ordered}
    save_two(domain)
    limit = condition or f"{name}={','.join(map(str, ordered))}"
    for second, of, more in SHARES:
        values, text = told(capsys, *second, compared, *of, *more)
        assert values["not_in_order"] == values["in_denominator"] == {name: outside}
        options = "--of and --minus" if "--minus" in more else "--of"
        assert f"They are among the rows of {options}, so the share is of all these" in text
        assert (f"add {condition!r} to {options}." if condition else "categories in order") in text
        assert "not counted" not in text
        limited = [*more, limit] if "--minus" in more else more
        values, text = told(capsys, *second, compared, *of, limit, *limited)
        assert (values["not_in_order"], values["in_denominator"]) == ({name: outside}, {})
        assert "and so not counted" in text and "They are among the rows" not in text
    # A condition on the rows of the denominator alone leaves them out of both numbers.
    values, text = told(capsys, "sex=F", "--of", compared)
    assert values["in_denominator"] == {} and "and so not counted" in text
    # Some of them may be in the denominator.
    if len(outside) > 1:
        kept = f"{name}={','.join(map(str, [*ordered, outside[0]]))}"
        values, text = told(capsys, compared, "--of", kept)
        assert values["in_denominator"] == {name: outside[:1]}
        assert f"and so not counted: {outside[1]!r}." in text


NAMED = {
    "sex": ["F", "M"],
    "union": {"values": ["yes", "no"], "missing": "not stated"},
    "faith": {"values": ["a b", "c", "d"], "missing": "?", "other": "another one"},
    "pair": {"values": ["a, b", "c"], "other": "o"},
    "code": {"values": list(range(13)), "missing": "-"},
    "age": {"bins": [0, 18, 65, None], "other": "no age", "ordered": True},
    "job": {
        "levels": {"names": ["group", "job"], "paths": [["A", "A1"], ["A", "A2"], ["B", "B1"]]},
        "missing": "not known",
    },
}
CHOSEN = [
    ("union=yes", ["not stated"]),
    ("faith=a b,d", ["another one", "?"]),
    ("pair=c", ["o"]),
    ("code=3,4", ["-"]),
    ("age=18 to under 65", ["no age"]),
    ("job=A1,B1", ["not known"]),
    ("job@group=A", ["not known"]),
]


@pytest.mark.parametrize(("chosen", "unknown"), CHOSEN)
def test_missing_and_other_values_in_a_whole_are_told_with_a_way_out(
    chosen, unknown, capsys, tmp_path, monkeypatch
):
    """The condition that the line names selects all other categories, and silences it."""
    monkeypatch.chdir(tmp_path)
    domain = margin.Domain(NAMED)
    name = chosen.partition("=")[0]
    save_two(domain)
    stated = [one for one in attribute_at(domain, name).names if one not in unknown]
    limit = f"{name}={','.join(map(str, stated))}"
    is_written = name not in ("pair", "code")
    for second, of, more in SHARES:
        values, text = told(capsys, *second, chosen, *of, *more)
        options = "--of and --minus" if "--minus" in more else "--of"
        values_named = " or ".join(map(repr, unknown))
        assert f"Rows whose {name!r} is {values_named} are among the rows of {options}, so" in text
        assert (f"add {limit!r} to {options}." in text) == is_written
        assert (f"add {name}= and the other categories, with" in text) != is_written
        assert values["not_in_order"] == values["in_denominator"] == {}
        if is_written:
            assert where_of(domain, [limit]) == {name: stated}
            limited = [*more, limit] if "--minus" in more else more
            assert (
                "are among the rows" not in told(capsys, *second, chosen, *of, limit, *limited)[1]
            )
    # Whoever counts such rows, or asks for no share, or names the attribute in the whole alone.
    for words in ([f"{chosen},{unknown[0]}", "--of"], [chosen], ["sex=F", "--of", chosen]):
        assert "are among the rows" not in told(capsys, *words)[1]
