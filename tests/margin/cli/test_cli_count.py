"""`margin count`: conditions become sums of cells; wrong ones are refused with a way out."""

import dataclasses
import json
import math
import operator

import numpy as np
import pytest

import margin
from margin import Attribute, Domain, DomainError
from margin.cli.arguments.conditions import where_of
from margin.cli.counts.asking import shown
from margin.cli.main import main
from margin.domain.where import chosen_codes
from margin.privacy.statement import Statement
from margin.report.content import content
from margin.report.page import _total

DOMAIN = Domain(
    {
        "sex": ["F", "M"],
        "age": {"bins": [0, 18, 65, 120], "missing": "?"},
        "children": 4,
        "band": {"values": ["0-4", "65-74", "75+"], "ordered": True, "missing": "?"},
        "year": {"values": [2001, 2003.5, 2005], "missing": "never"},
        "place": ["town", "town, old", "sea"],
        "a>=b": ["x", "y"],
        "my car": ["no", "yes"],
        "home": {
            "levels": {
                "names": ["state", "county"],
                "paths": [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]],
            }
        },
        "visit": {
            "dates": {"from": "2019-11-01", "to": "2020-02-29", "by": "month"},
            "missing": "never",
        },
    }
)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).integers(0, DOMAIN.sizes, (3000, len(DOMAIN)))
    views = [["sex", "age"], ["age", "children"], ["year", "place", "a>=b"], ["sex", "place"]]
    views += [["home", "visit"]]
    margin.simulate(
        rows,
        domain=DOMAIN,
        budget=margin.PureDP(1),
        mechanism=margin.PriView(views=views),
        seed=0,
    ).save("x.margin")
    return margin.load("x.margin", allow_simulation=True).synopsis


def run(capsys, *conditions, json=False):
    options = ["--allow-simulation", *(["--json"] if json else [])]
    code = main(["count", "x.margin", *options, *conditions])
    out, err = capsys.readouterr()
    return code, out, err


SELECTED = [
    (["sex=F"], {"sex": ["F"]}),
    (["sex=F,M"], {"sex": ["F", "M"]}),
    (["sex = F , M"], {"sex": ["F", "M"]}),
    (["age>=18"], {"age": ["18 to under 65", "65 to 120"]}),
    (["age<18"], {"age": ["0 to under 18"]}),
    (["age >= 18", "age<65"], {"age": ["18 to under 65"]}),
    (["age=[18, 65)"], {"age": ["18 to under 65"]}),
    (["age=?"], {"age": ["?"]}),
    (["children>1"], {"children": [2, 3]}),
    (["children<=1.5"], {"children": [0, 1]}),
    (["children=1,3", "children>=2"], {"children": [3]}),
    (["band>=65-74"], {"band": ["65-74", "75+"]}),
    (["band>0-4", "band<75+"], {"band": ["65-74"]}),
    (["band<=65-74"], {"band": ["0-4", "65-74"]}),
    (["year<=2003.5"], {"year": [2001, 2003.5]}),
    (["year=never,2005"], {"year": [2005, "never"]}),
    (["place=town, old"], {"place": ["town, old"]}),
    (["place=town,sea"], {"place": ["town", "sea"]}),
    (["a>=b=x"], {"a>=b": ["x"]}),
    (["sex=F", "place=sea"], {"sex": ["F"], "place": ["sea"]}),
    (["home@state=CA"], {"home@state": ["CA"]}),
    (["home@state=CA", "home=Fresno,Clark"], {"home@state": ["CA"], "home": ["Fresno", "Clark"]}),
    (["visit>=2019-12-01"], {"visit": ["2019-12", "2020-01", "2020-02"]}),
    (["visit>2019-11", "visit<=2020-01"], {"visit": ["2019-12", "2020-01"]}),
    (["visit=2020-01,never"], {"visit": ["2020-01", "never"]}),
    (["visit>2019-12-31", "visit<2020-02-01"], {"visit": ["2020-01"]}),
    (["visit<2020-03-01", "visit>=2020-02"], {"visit": ["2020-02"]}),
    (["visit@year<2020"], {"visit@year": ["2019"]}),
]


@pytest.mark.parametrize(("conditions", "where"), SELECTED)
def test_conditions_select_labels(conditions, where):
    assert where_of(DOMAIN, conditions) == where


REFUSED = [
    (["sez=F"], "unknown attribute 'sez'.*did you mean 'sex'"),
    (["sex"], "a condition must be an attribute, one of = >= < <= > and a value.*'sex'"),
    (["sex!F"], "a condition must be an attribute"),
    (["sex!=F"], "instead of != write = and the other categories"),
    (["my"], "with a blank must stand in quotes.*'my car=...'"),
    ([""], "a condition must be an attribute"),
    (["=F"], "unknown attribute ''"),
    (["place=twon"], "no category 'twon'.*did you mean 'town'"),
    (["sex=F,X"], "no category 'X'"),
    (["sex="], "no category ''"),
    (["age=20"], r"'20' is no bin of .*'18 to under 65', or by its edges, as 'age>=18' 'age<65'$"),
    (["age=?,130"], r"'130' is no bin of .*, as 'age>=0' 'age<18'$"),
    (["age>=20"], "must not divide a bin.*by >= or < with one of 0, 18, 65, or by <= with 120"),
    (["age=120"], "lies in '65 to 120'.*by its edges, as 'age>=65' 'age<=120'$"),
    (["age>=old"], "must not divide a bin"),
    (["age<0"], "leave at least one category"),
    (["sex=F", "sex=M"], "the conditions on 'sex' must leave at least one category"),
    (["children>9"], "leave at least one category"),
    (["children>x"], "compare with a number"),
    (["sex>1"], "needs categories that are numbers, bins or dates, or .* declared as ordered"),
    (["band>=5"], "one of the ordered categories, from '0-4' to '75\\+'; name one of them$"),
    (["band>=65"], "one of the ordered categories.*did you mean '65-74'"),
    (["band<?"], "one of the ordered categories"),
    (["band<0-4"], "leave at least one category"),
    (["place=s"], "no category 's'.*did you mean 'sea'"),
    (["home@stat=CA"], "no level 'stat'; .*did you mean 'state'"),
    (["home@state=AC"], "'home@state' declares no category 'AC'"),
    (["visit>=2021-01-01"], "a date or a month from 2019-11 to 2020-02"),
    (["visit<never"], "a date or a month from"),
    (["visit>=2019-12-24"], "whole months are counted.*such days are 2019-12-01 and 2020-01-01"),
    (["visit<=2020-02-01"], "within 2020-02, and the nearest such days are 2020-02-01 and 2020-03"),
    (["visit>2019-12-01"], "within 2019-12"),
    (["visit<2019-12-31"], "within 2019-12"),
    (["visit=2020-01-05,never"], "'2020-01-05' lies within a month; name the month '2020-01'"),
]


COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@pytest.mark.parametrize("edges", [[0, 6, 12], [-1.5, 2], [None, 0, 6], [0, 6, None]])
@pytest.mark.parametrize("sign", COMPARED)
def test_a_comparison_counts_the_rows_that_satisfy_it_or_is_refused(edges, sign):
    """The values of each bin: its lower edge, one inside, and the upper edge of the last bin."""
    bins = Attribute(bins=edges)
    domain = Domain({"x": bins})
    finite = [edge for edge in edges if edge is not None]
    values = {*finite, *(edge + 0.5 for edge in finite), *(edge - 0.5 for edge in finite)}
    values |= {edge for edge in bins.edges if math.isinf(edge)}
    inside = {value: bins.code(value) for value in values if bins.code(value) >= 0}
    for edge in bins.edges:
        chosen = {value for value in inside if COMPARED[sign](value, edge)}
        codes = {inside[value] for value in chosen}
        divides = any(inside[value] in codes for value in inside.keys() - chosen)
        condition = f"x{sign}{edge}"
        if divides or not codes:
            way_out = "must not divide a bin" if divides else "leave at least one category"
            with pytest.raises(DomainError, match=way_out):
                where_of(domain, [condition])
        else:
            names = [bins.names[code] for code in sorted(codes)]
            assert where_of(domain, [condition]) == {"x": names}


@pytest.mark.parametrize(
    ("condition", "instead"), [("age<120", "age<=120"), ("age>=120", "age>=65")]
)
def test_the_way_out_at_the_last_edge_is_taken(condition, instead):
    with pytest.raises(DomainError, match=f"holds its upper edge, too; write '{instead}'"):
        where_of(DOMAIN, [condition])
    assert "65 to 120" in where_of(DOMAIN, [instead])["age"]


@pytest.mark.parametrize("bins", [{"bins": [0, 6, 12]}, {"bins": [0, 6], "missing": -9}])
def test_both_names_of_a_bin_are_taken(bins):
    """A condition of the command line is also that of `Synopsis.count`."""
    domain = Domain({"x": bins})
    attribute = domain["x"]
    for code, names in enumerate(zip(attribute.labels, attribute.names, strict=True)):
        for name in names:
            where = where_of(domain, [f"x={name}"])
            assert where == {"x": [attribute.names[code]]}
            assert chosen_codes(domain, where) == {"x": (code,)}


@pytest.mark.slow
@pytest.mark.parametrize(("conditions", "message"), REFUSED)
def test_wrong_conditions_are_refused(file, capsys, conditions, message):
    with pytest.raises(DomainError, match=message):
        where_of(DOMAIN, conditions)
    code, out, err = run(capsys, *conditions)
    assert (code, out) == (2, "") and err.startswith("margin: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("conditions", "where", "meaning"),
    [
        ([], {}, "Measured: the release made a table of all these attributes, with"),
        (["sex=F", "age>=18"], {"sex": "F", "age": (18, 120)}, "Measured: "),
        (["sex=F", "year>=2003"], {"sex": "F", "year": [2003.5, 2005]}, "Reconstructed: "),
        (
            ["home@state=CA", "visit@year=2020"],
            {"home": ["Alameda", "Fresno"], "visit": range(2, 4)},
            "Measured: ",
        ),
    ],
)
def test_the_number_and_its_bounds_are_printed(file, capsys, conditions, where, meaning):
    expected = file.count(where)
    low, high = expected.interval()
    code, out, err = run(capsys, *conditions)
    lines = out.splitlines()
    assert (code, err) == (0, "") and meaning in out
    assert lines[0].split() == ["count", f"{expected.estimate:,.1f}"]
    assert lines[1].split() == ["95", "%", f"{low:,.1f}", "to", f"{high:,.1f}"]
    values = json.loads(run(capsys, *conditions, json=True)[1])
    assert values["count"] == pytest.approx(expected.estimate)
    assert (values["low"], values["high"]) == pytest.approx((low, high))
    assert values["noise_sd"] ** 2 == pytest.approx(expected.noise_variance)
    assert values["missed_sd"] ** 2 == pytest.approx(expected.missed_variance)
    assert values["reconstructed"] == expected.reconstructed == ("Reconstructed" in meaning)
    assert file.count(values["where"]) == expected


def test_an_unknown_error_is_said(file, capsys):
    margin.simulate(
        np.zeros((50, 2), np.int64),
        domain=Domain({"x": 3, "y": 2}),
        budget=margin.PureDP(1),
        mechanism=margin.mechanisms.Uniform(),
        seed=0,
    ).save("x2.margin")
    assert main(["count", "x2.margin", "--allow-simulation", "x>=1"]) == 0
    assert "The error of a number without bounds is not known" in capsys.readouterr().out
    assert main(["count", "x2.margin", "--allow-simulation", "--json", "x>=1"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["low"] is values["high"] is values["missed_sd"] is None


def test_a_terminal_is_not_manipulated(file, capsys):
    code, _, err = run(capsys, "\x1b[2J=1")
    assert code == 2 and "\x1b" not in err


def test_a_marginal_at_a_level_is_printed(file, capsys):
    asked = ["home@state", "visit@year"]
    code = main(["marginal", "x.margin", "--allow-simulation", *asked, "--json"])
    out, err = capsys.readouterr()
    marginal = file.marginal(asked)
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert (values.pop("source"), values.pop("left_out")) == ("measured", None)
    assert values == json.loads(marginal.to_json())
    assert main(["info", "x.margin", "--allow-simulation"]) == 0
    assert "home@state (2), home@county (3), visit@year (3)" in capsys.readouterr().out
    assert main(["marginal", "x.margin", "--allow-simulation", "home@stte"]) == 2
    assert "did you mean 'state'" in capsys.readouterr().err


def test_what_is_asked_is_part_of_the_workload(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.json").write_text(DOMAIN.to_json())
    options = ["plan", "--domain", "domain.json", "--epsilon", "1"]
    asked = ["--workload", "home@state,visit", "sex", "--asked", "visit=ranges", "home=levels"]
    assert main([*options, *asked]) == 0
    for wrong, message in (
        (["--workload", "2way", "--asked", "visit"], "write it as in age=ranges"),
        (["--workload", "2way", "--asked", "sex=ranges"], "'sex' is not declared as ordered"),
        (["--asked", "visit=ranges"], "but there is no --workload"),
    ):
        assert main([*options, *wrong]) == 2
        assert message in capsys.readouterr().err
    release = ["release", "t.csv", *options[1:], "-o", "y.margin", "--asked", "visit=ranges"]
    (tmp_path / "t.csv").write_text("sex\nF\n")
    assert main(release) == 2
    assert "but there is no --workload" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "told"),
    [(1, "at most 1 is counted"), (3, "at most 3 are counted"), (None, None)],
)
def test_readers_are_told_that_rows_of_a_unit_were_left_out(rows, told, tmp_path, capsys):
    unit = {} if rows is None else {"unit": "person", "rows_per_person": rows}
    synopsis = margin.release(
        {"person": [1, 1, 1, 1, 2] * 20, "sex": [0, 1, 1, 1, 0] * 20},
        domain={"sex": 2},
        budget=margin.PureDP(1),
        mechanism=margin.PriView(views=[["sex"]]),
        **unit,
    )
    synopsis.save(tmp_path / "visits.margin")
    file = str(tmp_path / "visits.margin")
    for words in (["count", file], ["count", file, "sex=1"], ["marginal", file, "sex"]):
        assert main(words) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert main([*words, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert values["source"] == "measured"
        if told is None:
            assert "counted" not in text and values["left_out"] is None
        else:
            example = f"For example, {rows + 5} such rows would count as {rows}."
            more = f"{told}: if there are more, {rows} of them {told.split()[3]} chosen at random."
            assert f"{more} {example} So counts and totals" in text
            assert "the true number of counted rows lies between the bounds" in text
            assert told in values["left_out"]
    assert main(["marginal", file, "sex", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == values
    # The words of the guarantee stand beside the numbers of the budget.
    assert main(["info", file, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["guarantee"].endswith(f"neighbours: {values['spent']['neighbours']}")


@pytest.mark.parametrize(("rows", "stated"), [(1, "no two rows have"), (3, "at most 3 rows have")])
def test_readers_are_told_what_the_publisher_states_of_rows_left_out(
    rows, stated, tmp_path, capsys, monkeypatch
):
    """The words change, and nothing else: the bound is enforced as without the statement."""
    monkeypatch.chdir(tmp_path)
    rows_of_one = "person,sex\n" + "".join(f"{at // 4},{at % 2}\n" for at in range(400))
    (tmp_path / "t.csv").write_text(rows_of_one)
    (tmp_path / "d.json").write_text('{"sex": ["0", "1"]}')
    release = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1000"]
    assert main([*release, "--no-more-rows", "-o", "x.margin"]) == 2
    assert "name its column with --unit" in capsys.readouterr().err
    release += ["--unit", "person", "--rows-per-person", str(rows), "--no-more-rows"]
    assert main([*release, "-o", "x.margin"]) == 0
    made = margin.load("x.margin")
    # Four rows of each of a hundred persons: at most `rows` of them are counted.
    assert abs(made.count({}).estimate - 100 * rows) < 5
    statement = made.provenance.statement
    assert statement.to_json()["bound"] == "declared and enforced"
    assert Statement.from_json(statement.to_json()) == statement
    plain = dataclasses.replace(statement, bound=margin.Bound.ENFORCED)
    assert statement.same_unit(plain) and statement.guarantee == plain.guarantee
    said = f"The publisher states that {stated} the same 'person', so none was left out."
    capsys.readouterr()
    for words in (["count", "x.margin"], ["marginal", "x.margin", "sex"], ["info", "x.margin"]):
        assert main(words) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert said in text and "too low" not in text and "counted rows" not in text
    assert main(["publish", "x.margin", "--tables", "sex", "-o", "out"]) == 0
    readme = " ".join((tmp_path / "out" / "README.txt").read_text("utf-8").split())
    assert readme.count(said) == 2 and "The software did not check this." in readme
    assert "too low" not in readme and "counted rows" not in readme
    assert json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["left_out"] is None
    page = content(made, title="t", live=False)
    assert page["left_out"] == said
    assert "the true number is" in _total(page)
    assert "too low" not in str(page) and any(said in words for words in page["words"])


@pytest.mark.parametrize(
    ("conditions", "outside"),
    [
        (["size>=3"], {"size": ["7+"]}),
        (["size>=3", "size<5", "sex=0"], {"size": ["7+"]}),
        (["age>=18"], {"age": ["old", "?"]}),
        (["visit<2021"], {"visit": ["never"]}),
        (["size=3,7+", "age=?"], {}),
        (["rooms>1"], {}),
    ],
)
def test_what_is_not_in_the_order_is_told(conditions, outside, tmp_path, capsys):
    domain = Domain(
        {
            "size": {"values": [1, 2, 3, 4], "other": "7+", "ordered": True},
            "age": {"bins": [0, 18, None], "other": "old", "missing": "?"},
            "visit": {"dates": {"from": "2020", "to": "2021", "by": "year"}, "missing": "never"},
            "rooms": 3,
            "sex": 2,
        }
    )
    rows = np.random.default_rng(0).integers(0, domain.sizes, (500, len(domain)))
    file = str(tmp_path / "x.margin")
    margin.release(
        rows, domain=domain, budget=margin.PureDP(1), mechanism=margin.mechanisms.Flat()
    ).save(file)
    assert main(["count", file, *conditions]) == 0
    text = capsys.readouterr().out
    assert main(["count", file, *conditions, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_in_order"] == outside
    assert text.count("Not in the order") == len(outside)
    for name, labels in outside.items():
        assert f"of {name!r}, and so not counted: {', '.join(map(repr, labels))}." in text


def test_zero_has_no_sign():
    assert [shown(number, is_share=False) for number in (-0.04, -0.06)] == ["0.0", "-0.1"]
    assert [shown(number, is_share=True) for number in (-4e-5, 0.5)] == ["0.00 %", "50.00 %"]
