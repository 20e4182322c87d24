"""A survey as offices have them: signs of other countries, spellings, and attributes left out."""

import json
from pathlib import Path

import pytest

import margin
from margin.cli.arguments.workload import views_of
from margin.cli.main import main
from margin.synopses.source import Source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def write(path, text, encoding="utf-8"):
    with open(path, "w", encoding=encoding, newline="") as file:
        file.write(text)


def test_attributes_that_the_workload_leaves_out_are_said_to_be_unmeasured(capsys):
    write("t.csv", "a,b,c\n" + "0,1,2\n1,0,1\n" * 500)
    write("d.json", json.dumps({"a": 2, "b": 2, "c": 3}))
    words = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "--workload", "a,b"]
    code, out, _ = run(capsys, *words, "-o", "o.margin")
    assert code == 0 and out.endswith("; not measured: c\n")
    code, out, _ = run(capsys, "info", "o.margin")
    assert "\nunmeasured  c\n" in out
    code, out, _ = run(capsys, "marginal", "o.margin", "a", "c")
    assert "equally frequent" in out
    synopsis = margin.load("o.margin")
    assert synopsis.source(["c"]) is Source.ASSUMED and Source.ASSUMED.is_reconstructed
    assert synopsis.source(["a", "b"]) is Source.MEASURED
    code, _, _ = run(capsys, "publish", "o.margin", "--tables", "a,c", "-o", "tables")
    (entry,) = json.loads(Path("tables/manifest.json").read_text("utf-8"))["tables"]
    assert entry["source"] == "assumed" and entry["reconstructed"]


def test_a_base_that_did_not_measure_an_attribute_tells_nothing_of_it():
    domain = margin.Domain({"a": 2, "b": 2, "c": 3})
    rows = {"a": [0, 1] * 500, "b": [1, 0] * 500, "c": [2, 1] * 500}
    common = {"domain": domain, "budget": margin.PureDP(1), "workload": [["a", "b"]]}
    first = margin.release(rows, **common)
    second = margin.release(rows, **common, base=first)
    assert first.not_measured == second.not_measured == ("c",)
    assert second.source(["a", "c"]) is Source.ASSUMED
    public = margin.release(rows, **common, base=margin.PublicTable(rows, source="a test"))
    assert public.not_measured == ()


@pytest.mark.parametrize(
    "told",
    [
        {"known": {("c",): [0, 500, 500]}},
        {"determined": {"c": {"a": {"0": 2, "1": 1}}}},
    ],
    ids=["known", "determined"],
)
def test_what_is_known_or_determined_needs_no_measurement(told):
    domain = margin.Domain({"a": 2, "b": 2, "c": 3}, **told)
    rows = {"a": [0, 1] * 500, "b": [1, 0] * 500, "c": [2, 1] * 500}
    made = margin.release(rows, domain=domain, budget=margin.PureDP(1), workload=[["a", "b"]])
    assert made.source(["a", "c"]) is not Source.ASSUMED


def test_names_with_commas_are_views_of_the_workload(capsys):
    domain = margin.Domain({"a": 2, "job, status": 3, "job": 2})
    assert views_of(domain, ["job, status,a", "a, job"]) == [("job, status", "a"), ("a", "job")]
    with pytest.raises(margin.DomainError, match="unknown attribute 'b'"):
        views_of(domain, ["a,b"])


def test_a_date_of_another_form_is_refused_in_words(capsys):
    with pytest.raises(SystemExit):
        main(["report", "o.margin", "--date", "31.12.2025"])
    assert "must be a date such as 2025-12-31" in capsys.readouterr().err


def test_the_rows_of_a_query_are_checked(capsys):
    write("t.csv", "income;n\n" + "1,5;a\n" * 9)
    write("d.json", '{"income": {"bins": [0, 1, 2]}}')
    code, out, _ = run(capsys, "domain", "check", "t.csv", "d.json")
    assert code == 2 and "decimal comma" in out
    assert "The domain is published with the release" in out.splitlines()[-1]
    query = "SELECT replace(income, ',', '.') AS income FROM t"
    words = ["domain", "check", "--sql", query, "--table", "t=t.csv", "d.json"]
    code, out, err = run(capsys, *words)
    assert code == 0 and out.endswith("all 1 attributes fit\n") and not err
    write("d.json", '{"income": {"bins": [0, 1, 2], "other": "?"}}')
    code, out, err = run(capsys, "domain", "check", "t.csv", "d.json")
    assert code == 0 and 'counted as "other" in 9 of 9 rows' in out and "not private" in err


def test_drafts_of_decimal_commas_and_of_numbers_with_a_few_texts(capsys):
    lines = [f'"{row},{row % 90 + 10}";{row % 83}' for row in range(300)]
    lines[7] = '"7,5";unknown'
    write("t.csv", "income;age\n" + "\n".join(lines) + "\n")
    code, out, _ = run(capsys, "domain", "suggest", "t.csv")
    draft = json.loads(out)
    assert code == 0 and "'income' (numbers with a decimal comma" in draft["$draft"]
    assert draft["age"]["other"] == "other" and draft["age"]["bins"][0] is None


def test_a_view_in_one_text_takes_commas_or_blanks(tmp_path, capsys):
    domain = margin.Domain({"a": 2, "b c": 2, "d": 2})
    rows = {"a": [0, 1], "b c": [1, 1], "d": [0, 0]}
    path = tmp_path / "x.margin"
    margin.release(rows, domain=domain, budget=margin.PureDP(1)).save(path)
    folder = tmp_path / "tables"
    tables = ["--tables", "a d", "a, b c", "d b c", "--format", "csv"]
    code, _, err = run(capsys, "publish", str(path), *tables, "-o", str(folder))
    assert code == 0, err
    names = sorted(file.name for file in folder.glob("0*.csv"))
    assert names == ["001-a-d.csv", "002-a-b_c.csv", "003-d-b_c.csv"]
    code, out, _ = run(capsys, "marginal", str(path), "d b c", "--format", "csv")
    assert code == 0 and out.startswith("d,b c,count")


def test_a_draft_is_written_to_a_file_that_is_not_replaced_unasked(tmp_path, capsys):
    table, draft = tmp_path / "t.csv", tmp_path / "draft.json"
    table.write_text("a\n1\n2\n")
    code, out, _ = run(capsys, "domain", "suggest", str(table), "-o", str(draft))
    assert code == 0 and "the draft of a domain" in out
    assert list(json.loads(draft.read_text())) == ["$draft", "a"]
    code, _, err = run(capsys, "domain", "suggest", str(table), "-o", str(draft))
    assert code == 2 and "--force" in err


def test_a_draft_is_checked_and_said_to_be_one(tmp_path, monkeypatch, capsys):
    """The list of what does not fit is needed while the draft is reviewed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n2,z\n")
    for values, code in ((["x", "y", "z"], 0), (["x", "y"], 2)):
        draft = {"$draft": "review", "a": [1, 2], "b": values}
        (tmp_path / "draft.json").write_text(json.dumps(draft))
        found, out, err = run(capsys, "domain", "check", "t.csv", "draft.json")
        assert found == code and "draft.json is a draft" in err and "attributes" in out
        assert ("b: " in out) == (code == 2)
        _, out, _ = run(capsys, "domain", "check", "t.csv", "draft.json", "--json")
        assert json.loads(out)["draft"] is True and json.loads(out)["fits"] == (code == 0)
    (tmp_path / "draft.json").write_text('{"$draft": "review", "a": 0}')
    assert run(capsys, "domain", "check", "t.csv", "draft.json")[0] == 2


@pytest.mark.parametrize("name", ["x.csv", "x.CSV", "x.json", "x.parquet", "x.xlsx"])
def test_a_release_is_written_to_no_file_of_another_format(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "d.json").write_text('{"a": [1, 2]}')
    ledger = margin.Ledger(tmp_path / "agency.db")
    ledger.register("people", margin.PureDP(1))
    words = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", name]
    code, _, err = run(capsys, *words, "--ledger", "agency.db", "--dataset", "people")
    assert code == 2 and "write x.margin" in err and not (tmp_path / name).exists()
    assert ledger.spent("people") == 0
