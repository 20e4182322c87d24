"""What is said when a repeated release has another domain than the one before it."""

import json

import pytest

import margin
from margin.cli.main import main

FIRST = {"a": ["no", "yes"], "age": {"bins": [0, 18, 65]}}
CHANGES = {
    "same": FIRST,
    "another order of the file": dict(reversed(FIRST.items())),
    "a category": {**FIRST, "a": ["no", "yes", "unknown"]},
    "an edge": {**FIRST, "age": {"bins": [0, 20, 65]}},
    "a spelling": {**FIRST, "a": {"values": {"no": ["n"], "yes": []}}},
    "an attribute": {"a": FIRST["a"]},
    "a rule": {**FIRST, "$impossible": [{"a": "yes", "age": 3}]},
    "a public total": {**FIRST, "$rows": 40},
}
SAME = ("same", "another order of the file")
ADDED = "only public totals were added, so tables of the two compare"
DIFFERS = "margin: the domain differs from that of the release before, "


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = "".join(f"{['no', 'yes'][at % 2]},{at}\n" for at in range(40))
    (tmp_path / "t.csv").write_text(f"a,age\n{rows}")
    monkeypatch.chdir(tmp_path)
    margin.Ledger("l.db").register("p", margin.PureDP(9))
    margin.Ledger("l.db").register("q", margin.PureDP(9))
    return tmp_path


@pytest.fixture
def release(folder, capsys):
    """Release with a domain; returns what stands in stdout and in stderr."""

    def run(domain, label, *more, dataset="p"):
        (folder / "d.json").write_text(json.dumps(domain))
        paid = ["--ledger", "l.db", "--dataset", dataset, "--label", label]
        line = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", *paid]
        assert main([*line, "-o", f"{label}.margin", *more]) == 0
        return capsys.readouterr()

    return run


@pytest.mark.parametrize("whole", [margin.ZCDP(9), margin.ApproxDP(9, "1e-6"), margin.PureDP(9)])
@pytest.mark.parametrize("given", ["--epsilon=0.1", "--rho=0.005", "--epsilon=1 --delta=1e-6"])
def test_an_epsilon_that_is_spent_as_rho_is_told(folder, capsys, whole, given):
    (folder / "d.json").write_text(json.dumps(FIRST))
    margin.Ledger("l.db").register("whole", whole)
    paid = ["--ledger", "l.db", "--dataset", "whole", *given.split(), "-o", "o.margin"]
    code = main(["release", "t.csv", "--domain", "d.json", *paid])
    # Only an epsilon is charged to an epsilon.
    assert code == (2 if whole.kind == "pure" and given != "--epsilon=0.1" else 0)
    told = "margin: epsilon = 0.1 is charged to 'whole' as rho = 0.005; --rho 0.005 costs the same"
    is_converted = whole.kind != "pure" and given == "--epsilon=0.1"
    assert (told in capsys.readouterr().err) == is_converted
    if is_converted:
        assert str(float(margin.Ledger("l.db").spent("whole"))) == "0.005"


def shown(capsys):
    assert main(["ledger", "show", "l.db"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("change", CHANGES)
def test_a_release_and_the_ledger_tell_a_changed_domain(release, capsys, change):
    assert release(FIRST, "week-1").err == ""
    said = release(CHANGES[change], "week-2", "--json")
    assert json.loads(said.out)["charge"]["label"] == "week-2"
    if change in SAME:
        assert said.err == "" and "differs" not in shown(capsys)
        return
    means = ADDED if change == "a public total" else "if the release before is of another kind"
    assert said.err.startswith(f"{DIFFERS}entry 3 (week-1); {means}")
    (mark,) = (line for line in shown(capsys).splitlines() if "differs" in line)
    assert mark.startswith("  entry 4 (week-2): epsilon = 1; the domain differs")
    assert mark.endswith("entry 3 (week-1)")


def test_known_counts_of_an_option_belong_to_the_domain(folder, release):
    known = ["--known", "known.csv"]
    (folder / "known.csv").write_text("a,count\nno,20\nyes,20\n")
    release(FIRST, "week-1")
    said = release(FIRST, "week-2", *known).err
    assert said == f"{DIFFERS}entry 3 (week-1); {ADDED}\n"
    assert release(FIRST, "week-3", *known).err == ""
    (statement,) = {margin.load(f"week-{week}.margin").provenance.statement for week in (2, 3)}
    assert margin.Ledger("l.db").charged("p")[-1].statement == statement


def test_only_added_totals_are_told_as_such(folder, release):
    """Totals beside others, and beside rules; but not a changed category that comes with totals."""
    known = ["--known", "known.csv"]
    (folder / "known.csv").write_text("a,count\nno,20\nyes,20\n")
    rule = {"$impossible": [{"a": "yes", "age": 3}]}
    first = {**FIRST, **rule, "$determined": {"b": {"a": {"no": "x", "yes": "x"}}}, "b": ["x", "y"]}
    (folder / "t.csv").write_text("a,age,b\n" + "no,20,x\nyes,30,x\n" * 20)
    release(first, "week-1")
    assert release({**first, "$rows": 40}, "week-2").err.endswith(f"; {ADDED}\n")
    assert release({**first, "$rows": 40}, "week-3", *known).err.endswith(f"; {ADDED}\n")
    changed = {**first, "age": {"bins": [0, 20, 65]}, "$rows": 40}
    for label, more in (("week-4", known), ("week-5", [])):
        said = release(changed, label, *more).err
        assert "where categories were changed" in said and "only public totals" in said
        assert ADDED not in said


def test_a_domain_that_returns_is_named_by_its_last_release(release, capsys):
    other = CHANGES["a category"]
    release(FIRST, "week-1")
    release(other, "week-2")
    assert release(other, "week-3").err == ""
    said = f"{DIFFERS}entry 5 (week-3), but is that of entry 3 (week-1)"
    assert release(FIRST, "week-4").err.startswith(f"{said};")
    assert f"  entry 6 (week-4): epsilon = 1; {said.removeprefix('margin: ')}\n" in shown(capsys)


def test_data_sets_are_apart_and_charges_without_a_domain_are_skipped(release):
    release(FIRST, "week-1")
    margin.Ledger("l.db").dataset("p").charge(margin.PureDP(1))
    assert release(CHANGES["an edge"], "other", dataset="q").err == ""
    assert release(FIRST, "week-2").err == ""
    assert release(CHANGES["an edge"], "week-3").err.startswith(f"{DIFFERS}entry 6 (week-2);")


def test_a_refused_release_is_told_of_the_domain_first(folder, release, capsys):
    release(FIRST, "week-1")
    (folder / "d.json").write_text(json.dumps(CHANGES["an edge"]))
    line = ["release", "t.csv", "--domain", "d.json", "--epsilon", "99", "-o", "o.margin"]
    assert main([*line, "--ledger", "l.db", "--dataset", "p"]) == 3
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(DIFFERS) and "may spend at most" in second
