"""What commands tell of how tables were made, what remains of a budget, and how strong it is."""

import json
import os
from fractions import Fraction

import pytest

import margin
from margin.cli.main import main
from margin.cli.release import _reconstructed
from margin.privacy.conversion import rho_of
from margin.privacy.statement import OTHER_RELEASES
from margin.privacy.words import how_strong

DOMAIN = dict.fromkeys("abcd", 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    rows = [f"{k % 2},{k // 2 % 2},{k // 4 % 2},{k // 8 % 2}" for k in range(64)]
    (tmp_path / "t.csv").write_text("a,b,c,d\n" + "\n".join(rows) + "\n")
    return tmp_path


RELEASE = ["release", "t.csv", "--domain", "domain.json", "-o", "t.margin"]


@pytest.mark.parametrize(
    ("views", "workload", "told", "reconstructed"),
    [
        (
            ["a,b", "c,d"],
            ["2way"],
            "4 of 6 tables of the workload are",
            ["a,c", "a,d", "b,c", "b,d"],
        ),
        (["a,b", "c,d"], ["a,d", "b,c", "b,d"], "3 of 3 tables of the workload are", None),
        (["a,b,c", "d"], ["a,b", "a,d"], "1 of 2 tables of the workload is", ["a,d"]),
        (["a,b", "c,d"], ["a,c"], "1 of 1 table of the workload is", ["a,c"]),
        (["2way"], ["2way"], None, []),
    ],
)
def test_a_release_tells_which_tables_of_the_workload_it_reconstructs(
    folder, capsys, views, workload, told, reconstructed
):
    options = ["--epsilon", "1", "--mechanism", "PriView", "--views", *views]
    options += ["--workload", *workload, "--force"]
    assert main([*RELEASE, *options]) == 0
    out = capsys.readouterr().out
    reconstructed = workload if reconstructed is None else reconstructed
    views = [view.split(",") for view in reconstructed]
    named = ", ".join(f"({', '.join(view)})" for view in views[:3])
    more = ", and 1 more" if len(views) > 3 else ""
    ending = f"{told} reconstructed: {named}{more}"
    assert ending in out if told else "reconstructed" not in out
    assert main([*RELEASE, *options, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["workload"]
    asked = margin.Workload.of(margin.Domain(DOMAIN), margin.load("t.margin").names)
    assert values["reconstructed"] == len(views) and values["reconstructed_tables"] == views
    assert values["tables"] == (6 if workload == ["2way"] else len(workload))
    assert _reconstructed(margin.load("t.margin"), asked)["reconstructed"] == 0


def test_without_a_workload_nothing_is_told_of_it(folder, capsys):
    assert main([*RELEASE, "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workload"] is None


def test_a_workload_of_very_many_tables_is_not_looked_at(folder):
    many = margin.Domain({f"a{number}": 2 for number in range(200)})
    made = margin.release({"a": [0]}, domain={"a": 2}, budget=margin.PureDP(1))
    assert _reconstructed(made, margin.Workload.all_kway(many, 3)) is None


@pytest.mark.parametrize("budget", [["--epsilon", "5", "--delta", "1e-6"], ["--rho", "0.5"]])
def test_a_ledger_of_rho_shows_what_remains_as_epsilon_and_in_shares(folder, capsys, budget):
    create = ["ledger", "create", "l.db", "--dataset", "x"]
    assert main([*create, *budget]) == 0
    ledger = margin.Ledger("l.db")
    for _ in range(2):
        remaining = ledger.remaining("x")
        capsys.readouterr()
        assert main(["ledger", "show", "l.db", "--json"]) == 0
        at_once = json.loads(capsys.readouterr().out)["datasets"][0]["remaining_at_once"]
        # The epsilon is rounded up, by at most 0.001.
        assert rho_of(at_once["epsilon"], at_once["delta"]) >= float(remaining)
        assert rho_of(at_once["epsilon"] - 0.0011, at_once["delta"]) < float(remaining)
        assert main(["ledger", "show", "l.db"]) == 0
        line = capsys.readouterr().out.split("\n")[1]
        assert f"epsilon = {at_once['epsilon']:g} at delta = 0.000001" in line
        shares = {
            int(part.split()[2]): part.split()[0] for part in line.split("such as ")[1].split(", ")
        }
        for number, share in shares.items():
            assert 0 <= remaining - number * Fraction(share) < Fraction(number, 10**9)
        # The share for two releases is accepted as it stands, twice.
        options = ["--rho", shares[2], "--ledger", "l.db", "--dataset", "x", "--force"]
        assert main([*RELEASE, *options]) == 0


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("budget", [["--epsilon", "0.5"], ["--rho", "0.05"]])
def test_what_a_row_says_has_an_epsilon_too_if_totals_are_known(folder, capsys, budget, given):
    """Of a release, of its file, and of all releases of a ledger, at the delta of each."""
    (folder / "known.csv").write_text("a,count\n0,32\n1,32\n")
    total = ["--epsilon", "1"] if budget[0] == "--epsilon" else ["--epsilon", "3"]
    total += [] if budget[0] == "--epsilon" else ["--delta", "1e-7"]
    assert main(["ledger", "create", "l.db", "--dataset", "x", *total]) == 0
    assert "if a release declares public totals" in capsys.readouterr().out
    options = [*budget, "--ledger", "l.db", "--dataset", "x"]
    options += ["--known", "known.csv"] if given else []
    assert main([*RELEASE, *options]) == 0
    assert main([*RELEASE, *options, "--force", "--json"]) == 0
    out = capsys.readouterr().out
    start = out.index("{\n")
    strength = json.loads(out[start:])["strength"]
    assert main(["info", "t.margin"]) == 0
    info = capsys.readouterr().out
    assert OTHER_RELEASES in info
    main(["ledger", "show", "l.db", "--json"])
    whole = json.loads(capsys.readouterr().out)["datasets"][0]["strength"]
    main(["ledger", "show", "l.db"])
    shown = capsys.readouterr().out
    if not given:
        assert "what a row says" not in out[:start] + shown
        return
    one, both = "epsilon = 2 x 0.5 = 1;", "epsilon = 2 x 1 = 2 in all"
    if budget[0] == "--rho":
        converted = f"epsilon = {strength['epsilon']:g} at delta = 0.000001"
        one = f"rho = 4 x 0.05 = 0.2 ({converted});"
        converted = f"epsilon = {whole['epsilon']:g} at delta = 1e-7"
        both = f"rho = 4 x 0.1 = 0.4 ({converted}) in all"
    told = f"given these public totals, what a row says is protected with {one}"
    assert told in out[:start] and told in info.lower()
    assert f"what a row says is protected with {both}" in shown


def test_a_ledger_of_epsilon_needs_no_such_line(folder, capsys):
    assert main(["ledger", "create", "l.db", "--dataset", "x", "--epsilon", "3"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "l.db"]) == 0
    assert "rho" not in capsys.readouterr().out


@pytest.mark.parametrize("budget", [["--epsilon", "1"], ["--rho", "0.1"]])
def test_the_page_the_folder_and_the_commands_say_the_same_strength(folder, capsys, budget):
    assert main([*RELEASE, *budget]) == 0
    synopsis = margin.load("t.margin")
    statement = synopsis.provenance.statement
    said = how_strong(statement, synopsis.domain)
    assert said.startswith("Strength: ") and "by a factor of at most" in said
    main(["publish", "t.margin", "--tables", "a,b", "-o", "out", "--format", "csv"])
    readme = (folder / "out" / "README.txt").read_text()
    main(["report", "t.margin", "-o", "t.html"])
    main(["keygen", "k"])
    for one in ("t.margin", "out"):
        main(["sign", one, "--key", "k"])
    capsys.readouterr()
    assert main(["info", "t.margin"]) == 0
    info = capsys.readouterr().out
    for one in ("t.margin", "out"):
        assert main(["verify", one, "--key", "k.pub"]) == 0
    verified = capsys.readouterr().out
    assert said in " ".join(readme.split()) and verified.count(said) == 2
    assert said.removeprefix("Strength: ") in info
    assert said in (folder / "t.html").read_text()


KNOWN = ["--known", "known.csv"]


@pytest.mark.parametrize(
    ("first", "second", "times"),
    [
        (["--epsilon", "1"], ["--epsilon", "0.25"], "4.0"),
        (["--rho", "0.2"], ["--rho", "0.05"], "2.0"),
        (["--rho", "0.2"], ["--rho", "0.05", "--unit", "a", "--rows-per-person", "3"], "6.0"),
        (["--rho", "0.2", "--rows-per-person", "4"], ["--rho", "0.05"], None),
        (["--rho", "0.2"], ["--epsilon", "0.1"], None),
        (["--rho", "0.2"], ["--rho", "0.19"], None),
        (["--rho", "0.05"], ["--rho", "0.2"], None),
        (["--rho", "0.2", "--replace-row"], ["--rho", "0.05", "--replace-row"], None),
        (["--rho", "0.2", *KNOWN], ["--rho", "0.05"], None),
        (["--rho", "0.2"], ["--rho", "0.05", *KNOWN], None),
    ],
)
def test_a_release_with_a_base_says_how_much_wider_the_bounds_of_the_total_are(
    folder, capsys, first, second, times
):
    """Except where the bounds are not wider, unknown, or of no width."""
    how = ["--mechanism", "Residual", "--workload", "2way"]
    (folder / "known.csv").write_text("a,count\n0,32\n1,32\n")
    main(["ledger", "create", "l.db", "--dataset", "x", "--rho", "0.001"])
    assert main([*RELEASE, *first, *how]) == 0
    capsys.readouterr()
    # The ledger refuses the second budget or its unit: so the line is written before the charge.
    refused = ["--ledger", "l.db", "--dataset", "x"] if times else []
    again = [*RELEASE[:-1], "again.margin", "--base", "t.margin", *refused]
    assert bool(main([*again, *second, *how])) == bool(refused)
    said = capsys.readouterr().err
    assert ("of the total" in said) == (times is not None)
    assert times is None or f"up to {times} times as wide as those of the base," in said


@pytest.mark.parametrize("rows", [None, 64])
@pytest.mark.parametrize("neighbours", [[], ["--replace-row"]])
def test_a_public_number_of_rows_that_the_domain_lacks_is_told_before_the_charge(
    folder, capsys, neighbours, rows
):
    declared = DOMAIN if rows is None else {**DOMAIN, "$rows": rows}
    (folder / "domain.json").write_text(json.dumps(declared))
    main(["ledger", "create", "l.db", "--dataset", "x", "--rho", "0.001", *neighbours])
    capsys.readouterr()
    budget = ["--rho", "0.2", *neighbours]
    # The ledger refuses the budget.
    assert main([*RELEASE, *budget, "--ledger", "l.db", "--dataset", "x"]) == 3
    told = 'as "$rows" in the file of the domain or rows= in Python, and they are exact'
    is_told = bool(neighbours) and rows is None
    assert (told in capsys.readouterr().err) == is_told
    assert main(["plan", "--domain", "domain.json", *budget]) == 0
    assert (told in " ".join(capsys.readouterr().out.split())) == is_told


def test_bounds_of_the_total_are_as_wide_as_the_line_says():
    """In a table without empty cells they follow from the budgets, with a base, too."""
    rows = {name: [place >> bit & 1 for place in range(64)] for bit, name in enumerate("abcd")}
    options = {"domain": DOMAIN, "mechanism": margin.Residual(order=2), "seed": 0}
    first = margin.simulate(rows, budget=margin.ZCDP("0.2"), **options)
    second = margin.simulate(rows, budget=margin.ZCDP("0.05"), base=first, **options)
    before, after = (one.synopsis.count({}).variance ** 0.5 for one in (first, second))
    assert after / before == pytest.approx(2, rel=0.1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("draft", [{}, {"$draft": "derived from the data"}])
def test_a_check_reads_the_domain_from_a_pipe(tmp_path, capsys, draft):
    """As in `margin domain check t.csv <(jq ...)`: what is read from it is gone."""
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    pipe, text = os.pipe()
    os.write(text, json.dumps({**draft, "a": 2}).encode())
    os.close(text)
    assert main(["domain", "check", str(tmp_path / "t.csv"), f"/dev/fd/{pipe}"]) == 0
    os.close(pipe)
    assert "all 1 attributes fit" in capsys.readouterr().out


OPEN = {
    "nothing": (0o644, 0o755),
    "nothing but for a group": (0o664, 0o775),
    "the file": (0o666, 0o755),
    "the folder": (0o644, 0o777),
    "a folder with the sticky bit": (0o644, 0o1777),
}
"""Modes of a ledger and of its folder, by what everybody can write."""


@pytest.mark.skipif(os.name != "posix", reason="the modes of Windows say nothing")
@pytest.mark.parametrize("command", ["verify", "check"])
@pytest.mark.parametrize("case", OPEN)
def test_a_ledger_that_everybody_can_write_is_told(tmp_path, capsys, case, command):
    file, folder = OPEN[case]
    place = tmp_path / "ledgers"
    place.mkdir()
    ledger = place / "agency.db"
    margin.Ledger(ledger).register("people", margin.PureDP(1))
    ledger.chmod(file)
    place.chmod(folder)
    options = ["--releases", str(place)] if command == "check" else []
    assert main(["ledger", command, str(ledger), *options, "--json"]) == 0
    said = capsys.readouterr().err
    open_path = {"the file": ledger, "the folder": place}.get(case)
    if open_path is None:
        assert said == ""
    else:
        assert said.startswith(f"margin: every user of this machine can write '{open_path}'")
        assert said.endswith(f"chmod o-w {open_path}\n")
