"""What a domain states about rows is compared with the rows, for the holder of the data only."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import DataError, Domain, Sql
from margin.cli.main import main
from margin.data.checks.fit import check_fit

PATHS = [["N", "N1"], ["N", "N2"], ["S", "S1"]]
FORMS = {
    "place": {"levels": {"names": ["region", "town"], "paths": PATHS}},
    "region": ["N", "S"],
    "age": {"bins": [0, 18, 65, 120], "missing": "?"},
    "married": ["yes", "no"],
}
RULES = [
    {"age": "[0, 18)", "married": "yes"},
    {"place@region": "S", "age": ["[18, 65)", "[65, 120]"]},
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["N1", "N2", "S1"]),
        st.sampled_from(["N", "S"]),
        st.sampled_from([5, 30, 70, None]),
        # "maybe" has no category.
        st.sampled_from(["yes", "no", "maybe"]),
    ),
    min_size=1,
    max_size=40,
)
EACH_FORM = ("dict", "arrow", "parquet", "csv", "folder", "sql")


def columns_of(rows):
    return dict(zip(FORMS, map(list, zip(*rows, strict=True)), strict=True))


def in_form(form, columns, folder):
    """The same table as another kind of data."""
    table = pa.table(columns)
    if form == "dict":
        return columns
    if form == "arrow":
        return table
    if form == "folder":
        path = folder / "parts"
        path.mkdir()
        half = len(table) // 2
        pa.csv.write_csv(table.slice(0, half), path / "1.csv")
        pa.csv.write_csv(table.slice(half), path / "2.csv")
        return path
    if form == "parquet":
        pq.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    pa.csv.write_csv(table, folder / "t.csv")
    if form == "csv":
        return folder / "t.csv"
    return Sql("SELECT * FROM rows", files={"rows": folder / "t.csv"})


def told(found):
    return {(one.kind, json.dumps(one.declared)): one.rows for one in found.false}


@settings(deadline=None, max_examples=30)
@given(ROWS)
def test_rows_that_break_rules_are_counted(rows):
    domain = Domain(FORMS, impossible=RULES, determined={"region": "place@region"})
    child = [age == 5 and married == "yes" for _, _, age, married in rows]
    south = [place == "S1" and age in (30, 70) for place, _, age, _ in rows]
    wrong = [place[0] != region for place, region, _, _ in rows]
    found = check_fit(columns_of(rows), domain)
    expected = [sum(child), sum(south), sum(wrong)]
    labels = {json.dumps(form): place for place, form in enumerate(domain.impossible)}
    by_statement = {labels.get(form, 2): rows for (_, form), rows in told(found).items()}
    # The domain keeps its rules in the order of their attributes.
    assert by_statement == {place: number for place, number in enumerate(expected) if number}
    assert found.rows_against_rules == sum(map(any, zip(child, south, wrong, strict=True)))


@settings(deadline=None, max_examples=30)
@given(ROWS, st.integers(-2, 2))
def test_public_totals_are_compared(rows, more):
    """`more` rows are declared in one cell that the table does not have there."""
    table = np.zeros((2, 2), int)
    for place, _, _, married in rows:
        if married != "maybe":
            table["NS".index(place[0]), ["yes", "no"].index(married)] += 1
    declared = table.copy()
    declared[0, 1] = max(0, declared[0, 1] + more)
    if not declared.sum():
        return
    domain = Domain(FORMS, known={("place@region", "married"): declared})
    found = check_fit(columns_of(rows), domain)
    kinds = {one.kind: one for one in found.false}
    assert ("rows" in kinds) == (declared.sum() != len(rows))
    assert ("known" in kinds) == (declared[0, 1] != table[0, 1])
    if "known" in kinds:
        cell = ("place@region=N, married=no", declared[0, 1], table[0, 1], table[0, 1])
        assert kinds["known"].differing == 1 and kinds["known"].counts == [cell]


TABLE = columns_of(
    [
        ("N1", "N", 5, "yes"),
        ("N1", "N", 30, "yes"),
        ("S1", "N", 70, "no"),
        ("N2", "N", None, "no"),
        ("N2", "S", 5, "yes"),
    ]
)


@pytest.mark.parametrize("form", EACH_FORM)
def test_all_kinds_of_tables_are_compared(form, tmp_path):
    domain = Domain(
        FORMS,
        impossible=RULES,
        determined={"region": "place@region"},
        known={("married",): [2, 2]},
    )
    found = check_fit(in_form(form, TABLE, tmp_path), domain)
    assert not found.misfits and not found.fits
    assert sorted(told(found).values()) == [1, 2, 2, 5, 5]
    assert found.rows_against_rules == 3


@pytest.mark.slow
@pytest.mark.parametrize("form", EACH_FORM)
@pytest.mark.parametrize("most", [1, 2])
def test_with_a_unit_totals_are_those_of_counted_rows(form, most, tmp_path):
    columns = {"id": [1, 1, 1, 2, 3, 3], "sex": ["F", "F", "F", "M", "F", "F"]}
    counted = {1: [2, 1], 2: [4, 1]}
    data = in_form(form, columns, tmp_path)
    true, wrong = (
        Domain({"sex": ["F", "M"]}, known={("sex",): counted[number]})
        for number in (most, 3 - most)
    )
    assert check_fit(data, true, unit="id", rows_per_person=most).fits
    found = check_fit(data, wrong, unit="id", rows_per_person=most)
    assert [one.kind for one in found.false] == ["rows", "known"]


def test_totals_need_the_bound_on_the_rows_of_a_unit():
    domain = Domain({"a": 2}, rows=2)
    with pytest.raises(DataError, match="add --rows-per-person"):
        check_fit({"a": [0, 1], "id": [1, 1]}, domain, unit="id")
    # Until all rows fit, nobody knows which are counted.
    found = check_fit({"a": [0, 7], "id": [1, 1]}, domain, unit="id", rows_per_person=1)
    assert not found.fits and not found.false


def test_statements_of_columns_that_are_not_there_are_left_out():
    rules = [{"a": 1, "b": 1}, {"a": 0}]
    domain = Domain({"a": 2, "b": 2}, impossible=rules, known={("b",): [2, 0]})
    found = check_fit({"a": [0, 1]}, domain)
    assert [misfit.column for misfit in found.misfits] == ["b"]
    assert told(found) == {("impossible", '{"a": 0}'): 1}
    unchecked = [(one.kind, one.declared, one.columns) for one in found.unchecked]
    assert unchecked == [("impossible", rules[0], ["b"]), ("known", ["b"], ["b"])]


@pytest.mark.parametrize("others", [[], [{"b": "x"}]], ids=["none", "one"])
def test_the_command_says_which_rules_were_not_checked(others, tmp_path, capsys):
    """No rule can be called kept that was not looked at."""
    table, domain = tmp_path / "t.csv", tmp_path / "d.json"
    table.write_text("b\ny\n")
    rules = [{"a": 1, "b": "x"}, {"a": 0, "b": "y"}, *others]
    form = {"a": 2, "b": ["x", "y"], "$impossible": rules}
    form["$known"] = [{"view": ["a"], "counts": [0, 1]}]
    domain.write_text(json.dumps(form))
    assert main(["domain", "check", str(table), str(domain)]) == 2
    out = capsys.readouterr().out
    kept = "no row breaks a rule that was checked; " if others else ""
    heading = "2 rules were not checked; not all public totals were checked"
    assert f"1 of 2 attributes do not fit; {kept}{heading}\n" in out
    assert ("no row breaks" in out) == bool(others)
    assert "  2 rules were not checked: column 'a' is missing or cannot be read\n" in out
    assert "  1 known table was not checked: column 'a' is missing or cannot be read" in out
    assert main(["domain", "check", str(table), str(domain), "--json"]) == 2
    unchecked = json.loads(capsys.readouterr().out)["unchecked"]
    assert [one["columns"] for one in unchecked] == [["a"]] * 3
    assert {"kind": "impossible", "declared": rules[0], "columns": ["a"]} in unchecked


def test_the_domain_of_last_year_is_found_out(tmp_path, capsys):
    """With it, a release would take all rows, and count those of this year in other years."""
    table = tmp_path / "jobs.csv"
    table.write_text("start\n" + "2025-03-01\n" * 30 + "2026-02-01\n" * 7)
    dates = {"from": "2025-01-01", "to": "2027-12-31", "by": "year"}
    domain = tmp_path / "d.json"

    def check(impossible, *options):
        form = {"start": {"dates": dates}, "$impossible": [{"start": impossible}]}
        domain.write_text(json.dumps(form))
        code = main(["domain", "check", str(table), str(domain), *options])
        return code, capsys.readouterr()

    code, said = check(["2026", "2027"])
    assert code == 2 and "all 1 attributes fit; 7 rows break a rule" in said.out
    assert '"$impossible" {"start": ["2026", "2027"]}: 7 rows break it' in said.out
    assert "keep it on this machine" in said.err
    code, said = check(["2026", "2027"], "--json")
    values = json.loads(said.out)
    assert code == 2 and values["fits"] is False and values["output_may_be_published"] is False
    assert values["rows_against_rules"] == 7
    assert [one["rows"] for one in values["statements"]] == [7]
    code, said = check("2027")
    assert code == 0 and "all 1 attributes fit; no row breaks a rule" in said.out


def test_the_command_compares_files_of_known_tables(tmp_path, capsys):
    table, domain, known = (tmp_path / name for name in ("t.csv", "d.json", "k.csv"))
    table.write_text("id,sex\n1,F\n1,F\n2,M\n")
    domain.write_text('{"sex": ["F", "M"]}')
    known.write_text("sex,count\nF,1\nM,1\n")
    command = ["domain", "check", str(table), str(domain), "--known", str(known)]
    assert main(command) == 2
    out = capsys.readouterr().out
    assert "public totals differ" in out and "rows are declared" not in out
    assert '"$rows": the known table of ["sex"] adds up to 2 rows, but 3 are counted' in out
    assert '"$known" of ["sex"]: 1 count differs (sex=F: 1 declared, 2 counted)' in out
    assert main([*command, "--unit", "id", "--rows-per-person", "1"]) == 0
    assert "public totals agree" in capsys.readouterr().out


def test_many_batches_add_up():
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 3, 150_000) for name in "ab"}
    pairs = list(itertools.product(range(3), repeat=2))
    counts = [int(((columns["a"] == a) & (columns["b"] == b)).sum()) for a, b in pairs]
    forms = {"a": 3, "b": 3}
    known = Domain(forms, known={("a", "b"): np.reshape(counts, (3, 3))})
    assert check_fit(columns, known).fits
    found = check_fit(columns, Domain(forms, impossible=[{"a": 1, "b": 2}]))
    assert [one.rows for one in found.false] == [counts[pairs.index((1, 2))]]
