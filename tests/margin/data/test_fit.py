"""What does not fit a domain: told all at once, with counts, to the holder of the data only."""

import csv
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import margin
from margin import DataError, Domain, Sql
from margin.cli.main import main
from margin.data.checks.fit import check_fit
from margin.domain.spelling import Spellings

DOMAIN = Domain(
    {
        "age": {"bins": [0, 18, 120]},
        "sex": ["female", "male"],
        "region": {"values": ["north", "south"], "missing": "unknown"},
        "children": 4,
        "regoin": ["north"],
    }
)
TABLE = {
    "age": [3, 200, 200, None, 50],
    "sex": ["femal", "femal", "male", "x", "female"],
    "region": ["north", None, "", "south", "east"],
    "children": [0, 1, 2, 3, 3],
}
EXPECTED = {
    "age": (1, 2, [("200", 2, "")]),
    "sex": (0, 3, [("femal", 2, "; did you mean 'female'?"), ("x", 1, "")]),
    "region": (0, 1, [("east", 1, "")]),
    "regoin": (0, 0, []),
}


def in_form(form, folder):
    table = pa.table(TABLE)
    if form == "dict":
        return TABLE
    if form == "arrow":
        return table
    path = folder / f"t.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    else:
        table.to_pandas().astype({"age": "Int64"}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("form", ["dict", "arrow", "parquet", "csv"])
def test_every_column_and_every_row_is_told(form, tmp_path):
    found = check_fit(in_form(form, tmp_path), DOMAIN).misfits
    told = {misfit.column: (misfit.missing, misfit.unseen, misfit.values) for misfit in found}
    assert told == EXPECTED and list(told) == list(EXPECTED)
    if form in ("dict", "arrow"):
        assert "no column named 'regoin'" in found[-1].problem
    else:
        assert found[-1].problem.startswith("there is no such column; the columns are ")
        assert found[-1].problem.endswith("; did you mean 'region'?")


def test_counts_are_those_of_all_batches():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 12, 200_000)
    (misfit,) = check_fit({"a": codes}, Domain({"a": 10})).misfits
    assert misfit.unseen == (codes >= 10).sum()
    assert {value: rows for value, rows, _ in misfit.values} == {
        "10": (codes == 10).sum(),
        "11": (codes == 11).sum(),
    }


def test_a_table_that_fits_has_no_misfits_and_is_released():
    table = {"a": [0, 1]}
    assert check_fit(table, Domain({"a": 2})).misfits == []
    margin.release(table, domain={"a": 2}, budget=margin.PureDP(1))


@pytest.mark.parametrize(
    ("data", "message"),
    [("nowhere.csv", "does not exist"), (np.zeros((2, 2), int), "only a table with named columns")],
)
def test_what_cannot_be_read_is_one_error(data, message):
    with pytest.raises(DataError, match=message):
        check_fit(data, DOMAIN)


def test_the_command_lists_all_and_says_that_the_list_is_not_private(tmp_path, capsys):
    path = in_form("csv", tmp_path)
    declared = tmp_path / "d.json"
    declared.write_text(DOMAIN.to_json())
    assert main(["domain", "check", str(path), str(declared)]) == 2
    out, err = capsys.readouterr()
    assert "4 of 5 attributes do not fit" in out and "keep it on this machine" in err
    assert "no value in 1 row (null, blank or NaN)" in out and "did you mean 'female'?" in out
    assert main(["domain", "check", "--json", str(path), str(declared)]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (
        told["fits"] is False
        and told["output_may_be_published"] is False
        and len(told["attributes"]) == 4
    )
    declared.write_text('{"children": 4}')
    assert main(["domain", "check", str(path), str(declared)]) == 0
    assert "all 1 attributes fit" in capsys.readouterr().out


def test_the_file_of_an_unseen_value_is_named(tmp_path, capsys):
    for month, sex in (("03", "F"), ("04", "x"), ("05", "x")):
        folder = tmp_path / "t" / f"month={month}"
        folder.mkdir(parents=True)
        (folder / "rows.csv").write_text(f"sex\nF\n{sex}\n")
    (tmp_path / "d.json").write_text('{"sex": ["F", "M"]}')
    assert main(["domain", "check", str(tmp_path / "t"), str(tmp_path / "d.json")]) == 2
    first = tmp_path / "t" / "month=04" / "rows.csv"
    assert f"'x' (2 rows, first in {str(first)!r})" in capsys.readouterr().out


def test_the_result_of_a_query_begins_with_a_short_name(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("sex\nF\n")
    (tmp_path / "d.json").write_text('{"sex": ["F", "M"]}')
    given = ["--sql", "SELECT * FROM t", "--table", f"t={tmp_path / 't.csv'}"]
    assert main(["domain", "check", *given, str(tmp_path / "d.json")]) == 0
    assert capsys.readouterr().out == "the query: all 1 attributes fit\n"


def test_json_says_which_attributes_do_not_fit_and_what_to_do_as_the_text_does(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("sex,age,town\nF,200,a\nx,,femal\nx,3,b\n")
    (tmp_path / "d.json").write_text(
        '{"sex": ["F"], "age": {"bins": [0, 9]}, "town": {"values": ["a", "b", "female"], '
        '"other": "other"}, "status": 2}'
    )
    given = ["domain", "check", str(tmp_path / "t.csv"), str(tmp_path / "d.json")]
    assert main(given) == 2
    text = capsys.readouterr().out
    assert main([*given, "--json"]) == 2
    told = {one["column"]: one for one in json.loads(capsys.readouterr().out)["attributes"]}
    fits = {name: one["fits"] for name, one in told.items()}
    assert fits == {"sex": False, "age": False, "town": True, "status": False}
    for one in told.values():
        for part in [*one["problem"].split("; "), *one["advice"].split("; ")]:
            assert part in text
    assert all(told[name]["advice"] for name in ("sex", "age", "town"))
    assert (told["sex"]["unseen"], told["sex"]["rows"]) == (2, 3)
    assert told["status"]["unseen"] is None and told["status"]["rows"] is None


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("de-nw", "; did you mean 'DE-NW'?"),
        ("DE-XW", ""),
        ("17", ""),
        ("", ""),
        ("Femal", "; did you mean 'female'?"),
        ("femal", "; did you mean 'female'?"),
    ],
)
def test_hints_are_for_misspelt_words_not_for_wrong_codes(value, hint):
    assert Spellings(["DE-NW", "DE-BY", "117", "female"]).hint(value) == hint


CATEGORIES = [
    *("under 10k", "10-20k", "over 60k", "1 year", "9", "<5 km", "class 3 a", "Köln-Süd", "12-14"),
]


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        # A difference in blanks, hyphens, case and accents alone.
        ("under 10 k", "under 10k"),
        ("under-10k", "under 10k"),
        ("UNDER\u00a010K", "under 10k"),
        ("Under \u2013 10k", "under 10k"),
        ("10 \u2013 20 k", "10-20k"),
        ("< 5km", "<5 km"),
        ("koln süd", "Köln-Süd"),
        # Other letters, but the same numbers.
        ("undr 10k", "under 10k"),
        ("undr-10 k", "under 10k"),
        ("10 20k", "10-20k"),
        ("12 14", "12-14"),
        # Other numbers, signs or words.
        ("20-30k", None),
        ("over 10k", None),
        ("under 100k", None),
        ("under 10m", None),
        ("1020k", None),
        (">5 km", None),
        ("5 km", None),
        ("class 3 b", None),
        ("-9", None),
        ("1214", None),
        ("12 years", None),
        ("-", None),
    ],
)
def test_values_with_digits_are_misspelt_only_if_they_say_the_same(value, meant):
    hint = "" if meant is None else f"; did you mean {meant!r}?"
    assert Spellings(CATEGORIES).hint(value) == hint


@pytest.mark.parametrize("value", ["under 10 k", "under-10k", "undr 10k"])
def test_misspelt_values_with_digits_are_named_though_they_are_counted_as_other(value):
    listed = {"values": ["under 10k", "10-20k", "over 60k"], "other": "other"}
    rows = ["under 10k", "10-20k"] * 100 + ["20-30k"] * 30 + [value] * 20
    (misfit,) = check_fit({"income": rows}, Domain({"income": listed})).misfits
    assert misfit.fits and misfit.others == 50
    assert misfit.values == [
        (value, 20, "; did you mean 'under 10k'?"),
        ("20-30k", 30, ""),
    ]


def test_what_to_declare_fits_the_attribute():
    domain = Domain({"age": DOMAIN["age"], "sex": DOMAIN["sex"]})
    age, sex = check_fit({"age": [200, 3], "sex": ["f", None]}, domain).misfits
    assert "widen the bins" in age.lines()[0] and '"other": "other"' in age.lines()[0]
    assert '"missing": "unknown"' in sex.lines()[0] and "bins" not in sex.lines()[1]


@pytest.mark.parametrize(
    ("values", "form", "advice"),
    [
        (["789,99", "-3,5"], {"bins": [0, 9]}, "by replace(column, ',', '.')"),
        (["1.789,99"], {"bins": [0, 9]}, "by replace(replace(column, '.', ''), ',', '.')"),
        (
            ["31.12.2025", "1/2/25"],
            {"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "month"}},
            "by try_strptime(column, '%d.%m.%Y')::DATE",
        ),
        (
            ["31.12.2025 10:00", "30.12.2025 9:00:30"],
            {"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "month"}},
            "by try_strptime(column, '%d.%m.%Y %H:%M')::DATE",
        ),
    ],
)
def test_numbers_and_dates_of_other_countries_get_advice(values, form, advice):
    (misfit,) = check_fit({"a": values}, Domain({"a": form})).misfits
    assert not misfit.fits and misfit.unseen == len(values)
    (line,) = misfit.lines()
    assert advice in line and "widen" not in line
    # With `other` the release would take them all as other values. The list says so.
    (misfit,) = check_fit({"a": values}, Domain({"a": {**form, "other": "?"}})).misfits
    assert misfit.fits and misfit.others == misfit.rows == len(values)
    (line,) = misfit.lines()
    assert advice in line and 'counted as "other" in' in line


def test_dates_outside_are_to_be_covered():
    form = {"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "month"}}
    values = {"day": ["2026-01-01", "2024-12-31"]}
    extend = 'extend "from" or "to" for dates outside'
    (misfit,) = check_fit(values, Domain({"day": form})).misfits
    assert misfit.lines()[0].endswith(f'{extend}, or add "other": "other" to the attribute')
    (misfit,) = check_fit(values, Domain({"day": {**form, "other": "?"}})).misfits
    assert misfit.lines()[0].endswith(extend)


@pytest.mark.parametrize("word", ["NA", "n/a", "NULL", "."])
def test_words_for_missing_values_are_told(word, tmp_path):
    """Other programs write them; here they are texts, so a few of them go to `other` in silence."""
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n" + "30,F\n" * 20 + f"{word},{word}\n")
    domain = Domain(
        {
            "age": {"bins": [0, 18, 120], "other": "implausible", "missing": "unknown"},
            "sex": {"values": ["F", "M"], "missing": "unknown"},
        }
    )
    age, sex = check_fit(path, domain).misfits
    assert age.fits and not sex.fits
    for misfit in (age, sex):
        (line,) = misfit.lines()
        assert f"{word} is a text, not a missing value" in line
        assert f"nullif({misfit.column}, '{word}')" in line


WORDS = {
    "bins": ({"bins": [0, 18, 120]}, "30"),
    "bins with missing": ({"bins": [0, 18, 120], "missing": "?"}, "30"),
    "size": ({"size": 3}, "1"),
    "dates": ({"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "month"}}, "2025-03-01"),
    "weeks": ({"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "week"}}, "2025-03-03"),
    "levels": ({"levels": {"names": ["a", "b"], "paths": [["A", "x"], ["B", "y"]]}}, "x"),
    "values": ({"values": ["x", "y"]}, "x"),
    "spellings": ({"values": {"x": ["ex"], "y": []}, "missing": "?"}, "ex"),
}
"""Each kind of attribute, and a value of it."""


@pytest.mark.slow
@pytest.mark.parametrize("column", ["age", "group", "my age", 'a "b"'])
@pytest.mark.parametrize("kind", WORDS)
def test_what_is_told_about_missing_values_can_be_done(kind, column, tmp_path):
    """The query and the declarations in the text are taken from it as they stand."""
    form, value = WORDS[kind]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["n", column], [1, value], [2, "NA"], [3, "n/a"], [4, "NA"]])
    (misfit,) = check_fit(path, Domain({"n": 9, column: form})).misfits
    (line,) = misfit.lines()
    # What is to be declared, if the attribute names no category of missing values yet.
    stated = re.search('add ("missing": .*) to the attribute', line)
    missing = form.get("missing", "not stated")
    if kind == "size":
        assert stated and stated[1] == '"missing": followed by one of its integers'
        missing = 0
    elif stated:
        assert kind == "bins" and stated[1] == '"missing": "not stated"'
    words = shlex.split(re.search("--sql .* --table", line)[0])
    query = Sql(words[1], files={"rows": path})
    assert check_fit(query, Domain({"n": 9, column: {**form, "missing": missing}})).fits
    # What is to be declared instead of a query. It names one text.
    path.write_text(path.read_text().replace("n/a", "NA"))
    if kind in ("dates", "weeks", "levels"):
        assert 'name the category of missing values so: "missing": "NA"' in line
        assert check_fit(path, Domain({"n": 9, column: {**form, "missing": "NA"}})).fits
    elif kind in ("values", "spellings"):
        assert f'"{missing}": ["NA"]}}, "missing": "{missing}"' in line
        values = {"x": ["ex"], "y": [], missing: ["NA"]}
        assert check_fit(
            path, Domain({"n": 9, column: {"values": values, "missing": missing}})
        ).fits
    else:
        assert "spelling" not in line and "so: " not in line


def test_words_for_missing_values_may_be_declared_as_spellings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex\nF\nNA\n")
    spelt = {"values": {"F": [], "M": [], "unknown": ["NA"]}, "missing": "unknown"}
    assert check_fit(path, Domain({"sex": spelt})).misfits == []


def test_a_column_that_is_mostly_other_is_listed():
    domain = Domain({"a": {"values": ["x"], "other": "?"}})
    assert check_fit({"a": ["x", "x", "y"]}, domain).misfits == []
    (misfit,) = check_fit({"a": ["x", "y", "z", "z"]}, domain).misfits
    assert (misfit.others, misfit.rows, misfit.values[0][:2]) == (3, 4, ("z", 2))
    assert "declare the values" in misfit.lines()[0]


@pytest.mark.parametrize("value", ["Koenigsfeld", "königsfeld"])
def test_misspelt_values_are_listed_though_they_are_counted_as_other(value):
    domain = Domain({"town": {"values": ["Königsfeld", "Altstadt"], "other": "elsewhere"}})
    towns = ["Altstadt"] * 50 + ["Zwingenberg"] * 8 + [value] * 3
    (misfit,) = check_fit({"town": towns}, domain).misfits
    assert misfit.fits and misfit.others == 11
    first, rows, hint = misfit.values[0]
    assert (first, rows) == (value, 3) and "did you mean 'Königsfeld'?" in hint
    (line,) = misfit.lines()
    assert "11 of 61 rows" in line and "one more spelling" in line


PATHS = [["N", "Königsfeld"], ["S", "Altstadt"]]
TOWNS = {"values": ["Königsfeld", "Altstadt"]}
LEVELS = {"levels": {"names": ["district", "town"], "paths": PATHS}}


@pytest.mark.parametrize("other", [{}, {"other": "elsewhere"}], ids=["none", "other"])
@pytest.mark.parametrize("towns", [["Königsfel"], ["Zwingenberg"]], ids=["misspelt", "unknown"])
@pytest.mark.parametrize("form", [TOWNS, LEVELS], ids=["values", "levels"])
def test_the_advice_fits_the_form_of_the_attribute(form, towns, other):
    """A leaf has one spelling, so none is to be declared."""
    misfits = check_fit({"town": ["Altstadt", *towns * 3]}, Domain({"town": form | other})).misfits
    (line,) = misfits[0].lines()
    has_levels = form is LEVELS
    assert "one more spelling" not in line or not has_levels
    assert "declare the value" not in line or not has_levels
    is_misspelt = towns[0] == "Königsfel"
    assert ("CASE column WHEN 'as written' THEN 'leaf'" in line) == (
        has_levels and (is_misspelt or not other)
    )
    if has_levels and not is_misspelt:
        assert "declare a leaf for" in line


GATHERED = {
    "neither": (["a", "b"], None, None, ["a", "b", "a"]),
    "other": ({"values": ["a", "b"], "other": "else"}, 1, None, ["a", "b", "x"]),
    "missing": ({"values": ["a", "b"], "missing": "none"}, None, 2, ["a", None, ""]),
    "both": ({"values": ["a"], "other": "else", "missing": "none"}, 1, 1, ["a", "x", None]),
    "one for both": ({"values": ["a"], "other": "?", "missing": "?"}, 1, 1, ["a", "x", None]),
    "spelt": (
        {"values": {"a": ["a"], "none": ["-"]}, "missing": "none"},
        None,
        2,
        ["-", None, "a"],
    ),
    "bins": ({"bins": [0, 9], "other": "else", "missing": "none"}, 1, 1, ["3", "10", None]),
}
"""A declaration, the rows in other and in missing, and values."""


@pytest.mark.parametrize("kind", GATHERED)
def test_rows_in_other_and_in_missing_are_counted_if_all_is_well(kind):
    form, other, missing, values = GATHERED[kind]
    repeats = 30_000  # more than one batch of rows
    table = {"x": np.repeat(np.array(values, object), repeats), "y": [0, 1, 0] * repeats}
    found = check_fit(table, Domain({"x": form, "y": 2}))
    assert found.fits and not found.misfits
    if kind == "neither":
        assert found.gathered == []
        return
    (one,) = found.gathered
    expected = [None if rows is None else rows * repeats for rows in (other, missing)]
    assert [one.other_rows, one.missing_rows] == expected and one.rows == 3 * repeats
    assert type(one.missing_rows) in (int, type(None))


def test_the_command_tells_these_rows_and_that_they_are_not_private(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("r,s\n" + "a,0\n" * 1999 + "x,1\n" + ",0\n")
    (tmp_path / "d.json").write_text(
        '{"r": {"values": ["a"], "other": "else", "missing": "none"}, "s": {"size": 2, "other": 1}}'
    )
    line = ["domain", "check", str(tmp_path / "t.csv"), str(tmp_path / "d.json")]
    assert main(line) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1:] == [
        "  r: 1 of 2,001 rows in 'else', the category of other values; 1 of 2,001 rows in 'none', "
        "the category of missing values",
        "  s: 1 of 2,001 rows in 1, the category of other values",
    ]
    assert "keep it on this machine" in err
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fits"] and told["attributes"] == []
    assert [one["other_rows"] for one in told["gathered"]] == [1, 1]
    assert told["gathered"][1]["other"] == 1 and told["gathered"][1]["missing"] is None


def test_values_in_other_that_are_like_no_category_are_not_listed():
    domain = Domain({"town": {"values": ["Königsfeld", "Altstadt"], "other": "elsewhere"}})
    towns = ["Altstadt"] * 50 + ["Zwingenberg"] * 8 + ["Rom"] * 3
    assert not check_fit({"town": towns}, domain).misfits
