"""What jobs without a terminal read: ledgers, charges and checks as JSON."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import margin
from margin import Ledger
from margin.cli.main import main
from margin.domain.domain import DRAFT
from margin.privacy.ledger_file import _FORMAT
from margin.store import FORMAT

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "unattended.md").read_text(encoding="utf-8")

UNIT = ["--unit", "id", "--rows-per-person", "3"]
WORDS = "add or remove all rows with the same 'id'"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(f"{at // 2},{at % 2}\n" for at in range(50)))
    (tmp_path / "d.json").write_text('{"a": 2}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capsys, *line, code=0):
    assert main([*line]) == code
    return capsys.readouterr()


def told(capsys, *line, code=0):
    return json.loads(ran(capsys, *line, "--json", code=code).out)


CREATE = ["ledger", "create", "l.db", "--dataset", "p", "--epsilon", "3", *UNIT]
FEW = ["--mechanisms", "Uniform", "--workload", "1way", "--runs", "1"]
RELEASE = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", *UNIT]


def test_the_unit_is_the_same_in_all_outputs(folder, capsys):
    created = told(capsys, *CREATE)
    made = told(capsys, *RELEASE, "--ledger", "l.db", "--dataset", "p", "-o", "o.margin")
    (shown,) = told(capsys, "ledger", "show", "l.db")["datasets"]
    planned = told(capsys, "plan", "--domain", "d.json", "--epsilon", "1", *UNIT[2:])
    compared = told(capsys, "compare", *RELEASE[1:6], *UNIT[2:], *FEW)
    info = told(capsys, "info", "o.margin")
    # A data set has a unit and no number of rows, a release has both, and a plan has no unit.
    for data_set in (created, shown):
        assert data_set["budget"]["neighbours"] == WORDS
        assert data_set["budget"]["rows_per_person"] is None
        assert (data_set["statement"]["unit"], data_set["statement"]["rows"]) == ("id", None)
    for release in (made, info):
        assert release["spent"]["neighbours"] == f"{WORDS} (at most 3 of them are counted)"
        assert release["spent"]["rows_per_person"] == 3
        assert (release["statement"]["unit"], release["statement"]["rows"]) == ("id", 3)
    for without in (planned, compared):
        assert without["budget"]["neighbours"] == "add or remove all rows of a person, 3 at most"
        assert without["budget"]["rows_per_person"] == 3
    said = ran(capsys, "ledger", "show", "l.db").out
    assert f"{WORDS}; protects" in said and "counted at most 3 of the rows" in said


def test_a_release_and_the_ledger_name_a_charge_by_the_same_number(folder, capsys):
    ran(capsys, *CREATE)
    paid = ["--ledger", "l.db", "--dataset", "p"]
    (folder / "made").mkdir()
    first = told(capsys, *RELEASE, *paid, "--label", "night 1", "-o", "made/1.margin")
    assert first["charge"] == {
        "ledger": "l.db",
        "dataset": "p",
        "entry": 2,
        "label": "night 1",
        "remaining": "2",
    }
    second = ran(capsys, *RELEASE, *paid, "-o", "2.margin").out
    assert "charged to p as entry 3, 1 remaining" in second
    (shown,) = told(capsys, "ledger", "show", "l.db")["datasets"]
    assert [(one["entry"], one["label"]) for one in shown["charges"]] == [(2, "night 1"), (3, None)]
    text = ran(capsys, "ledger", "show", "l.db").out
    assert "entry 2 (night 1): epsilon = 1" in text and "entry 3: epsilon = 1" in text
    checked = told(capsys, "ledger", "check", "l.db", "--releases", "made")
    assert checked["without_release"] == {"p": [3]}
    keys = ("dataset", "entry", "label", "file")
    pairs = [("p", 2, "night 1", "made/1.margin"), ("p", 3, None, None)]
    assert checked["charges"] == [dict(zip(keys, pair, strict=True)) for pair in pairs]
    assert checked["leftovers"] == []
    text = ran(capsys, "ledger", "check", "l.db", "--releases", "made").out
    assert "charged to p: entry 2 (night 1): made/1.margin\n" in text
    assert "charged to p without a release in 'made': entry 3; " in text
    assert told(capsys, *RELEASE, "-o", "3.margin")["charge"] is None


def test_a_label_needs_a_ledger_and_is_a_plain_text(folder, capsys):
    ran(capsys, *CREATE)
    alone = ran(capsys, *RELEASE, "--label", "x", "-o", "o.margin", code=2)
    assert "--label is kept in a ledger" in alone.err
    paid = ["--ledger", "l.db", "--dataset", "p", "-o", "o.margin"]
    wrong = ran(capsys, *RELEASE, *paid, "--label", "x\n", code=2)
    assert "a label must be a text" in wrong.err
    assert not Ledger("l.db").charges("p")


def test_a_data_set_is_created_once(folder, capsys):
    assert told(capsys, *CREATE, "--if-missing")["created"] is True
    again = told(capsys, *CREATE, "--if-missing")
    assert again["created"] is False and again["budget"]["epsilon"] == "3"
    assert "is registered already" in ran(capsys, *CREATE, "--if-missing").out
    for line in (
        CREATE,
        [*CREATE, "--if-missing", "--epsilon", "4"],
        [*CREATE[:-4], "--if-missing"],
    ):
        refused = ran(capsys, *line, code=2).err
        assert "is already registered with pure differential privacy, epsilon = 3" in refused
        assert "second name" in refused
    assert Ledger("l.db").datasets() == ("p",)


def test_a_data_set_is_added_to_a_ledger_that_exists_alone(folder, capsys):
    add = ["ledger", "add", "l.db", "--dataset", "next", "--epsilon", "1"]
    lost = ran(capsys, *add, "--if-missing", code=2).err
    assert "'l.db' does not" in lost and not Path("l.db").exists()
    ran(capsys, *CREATE)
    assert told(capsys, *add)["created"] is True
    assert told(capsys, *add, "--if-missing")["created"] is False
    assert "is already registered" in ran(capsys, *add, code=2).err
    assert Ledger("l.db").datasets() == ("p", "next")


def test_a_check_tells_rows_without_a_unit(folder, capsys):
    check = ["domain", "check", "t.csv", "d.json"]
    fine = told(capsys, *check, "--unit", "id")
    assert fine == {
        "fits": True,
        "rows": 50,
        "draft": False,
        "unit": "id",
        "output_may_be_published": False,
        "attributes": [],
        "statements": [],
        "rows_against_rules": 0,
        "unchecked": [],
        "units": {
            "rows": 50,
            "units": 25,
            "most": 2,
            "limited": 0,
            "counted": None,
            "left_out": 0,
        },
        "gathered": [],
        "unreadable": [],
    }
    (folder / "t.csv").write_text("id,a\n1,0\n,1\n  ,1\n")
    assert told(capsys, *check)["fits"] is True
    query = ["domain", "check", "d.json", "--sql", "SELECT * FROM r", "--table", "r=t.csv"]
    for line in (check, query):
        found = ran(capsys, *line, "--unit", "id", code=2).out
        assert "all 1 attributes fit; not every row names its unit" in found
        assert "id: names no unit in 2 rows" in found
    assert "no such column" in ran(capsys, *check, "--unit", "ids", code=2).out
    assert "a: names no unit" not in ran(capsys, *check, "--unit", "a").out


def test_a_misspelt_folder_is_not_taken_for_a_file(folder, capsys):
    (folder / "events").mkdir()
    (folder / "event=s3cr3t").mkdir()
    line = ["release", "eventss", *RELEASE[2:], "-o", "o.margin"]
    refused = ran(capsys, *line, code=2).err
    assert "there is no file or folder 'eventss'; check the path; did you mean 'events'?" in refused
    line[1] = "event=s3cr3"
    assert "s3cr3t" not in ran(capsys, *line, code=2).err
    line[1] = "tt.csv"
    assert "does not exist; check the path; did you mean 't.csv'?" in ran(capsys, *line, code=2).err


def test_a_draft_of_a_query(folder, capsys):
    query = ["--sql", "SELECT a FROM r", "--table", "r=t.csv", "--memory-limit", "200MB"]
    assert told(capsys, "domain", "suggest", *query)["a"] == 2
    whole = told(capsys, "domain", "suggest", "t.csv")
    assert set(whole) == {DRAFT, "id", "a"}


KILLED = """
import os, signal, sys
from margin.__main__ import run
os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.exit(run())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_what_a_kill_leaves_is_named_and_can_be_kept(folder, capsys):
    ran(capsys, *CREATE)
    paid = [*RELEASE, "--ledger", "l.db", "--dataset", "p", "--label", "night 1"]
    line = [sys.executable, "-c", KILLED, *paid, "-o", "o.margin"]
    assert subprocess.run(line, capture_output=True, timeout=60).returncode == -signal.SIGKILL
    (left,) = folder.glob(".margin-*.part")
    check = ["ledger", "check", "l.db", "--releases", "."]
    assert f"{left.name}: was left by a command that was killed" in ran(capsys, *check).out
    found = told(capsys, *check)
    assert found["without_release"] == {"p": [2]}
    (claim,) = folder.glob(".margin-*.claim")
    leftover, unheld = found["leftovers"]
    assert leftover == {"file": left.name, "whole": True, "entry": 2, "copy_of": None}
    assert unheld == {"file": claim.name, "whole": False, "entry": None, "copy_of": None}
    text = ran(capsys, *check).out
    assert f"{claim.name}: is the claim of a command that was killed; delete it" in text
    claim.unlink()
    assert "holds the whole release of entry 2 (night 1); to keep it" in text
    assert "without a release in '.': entry 2 (night 1); " in text
    # Another command leaves it alone. Beside it lies the beginning of a file.
    ran(capsys, *paid, "-o", "p.margin")
    (folder / ".margin-0.part").write_bytes(left.read_bytes()[:100])
    assert "holds no whole release; delete it, unless" in ran(capsys, *check).out
    # With a name of its own it is a release like any other.
    shutil.copy(left, folder / "o.margin")
    found = told(capsys, *check)
    assert found["without_release"] == {} and found["problems"] == []
    copies = {leftover["copy_of"] for leftover in found["leftovers"]}
    assert copies == {"o.margin", None}
    assert "is a copy of o.margin; delete it" in ran(capsys, *check).out


FILES = "clicks/1.parquet clicks/2.parquet clicks/3.parquet"


@pytest.mark.parametrize(
    "line",
    [
        f"release {FILES} --domain d.json --epsilon 1 -o x.margin",
        f"release --domain d.json --epsilon 1 -o x.margin {FILES}",
        f"compare {FILES} --domain d.json --epsilon 1",
        f"domain suggest {FILES}",
        f"domain check {FILES} d.json",
    ],
)
def test_a_pattern_that_the_shell_replaced_by_its_files_is_explained(line, capsys):
    with pytest.raises(SystemExit) as left:
        main(line.split())
    told = capsys.readouterr().err
    assert left.value.code == 2 and "unrecognized" not in told
    assert "quote a pattern" in told and "name the folder" in told


ENDLESS = """
import sys, time
import margin.cli.release
margin.cli.release._LOADING = 1

class Endless:
    def find_spec(self, name, path=None, target=None):
        while name == "scipy.linalg":
            time.sleep(0.01)

sys.meta_path.insert(0, Endless())
from margin.__main__ import run
sys.exit(run())
"""


def test_a_library_that_loads_for_ever_ends_the_process_before_the_charge(folder, capsys):
    ran(capsys, *CREATE)
    paid = [*RELEASE, "--ledger", "l.db", "--dataset", "p", "-o", "o.margin"]
    line = [sys.executable, "-c", ENDLESS, *paid]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "Timeout (0:00:01)!" in ended.stderr
    assert not list(folder.glob("*.margin")) and not list(folder.glob(".margin-*"))
    assert told(capsys, "ledger", "check", "l.db", "--releases", ".")["charges"] == []


def test_a_charge_that_an_older_ledger_lacks_can_be_entered_again(folder, capsys):
    """As docs/howto/unattended.md says: by a release from an empty table, under another label."""
    ran(capsys, *CREATE)
    paid = ["--ledger", "l.db", "--dataset", "p", "--label"]
    (folder / "made").mkdir()
    shutil.copy("l.db", "old.db")
    ran(capsys, *RELEASE, *paid, "spring", "-o", "made/spring.margin")
    shutil.copy("old.db", "l.db")
    check = ["ledger", "check", "l.db", "--releases", "made"]
    assert "spring.margin: its charge, entry 2, is not" in ran(capsys, *check, code=2).out
    (folder / "empty.csv").write_text("id,a\n")
    again = ["release", "empty.csv", *RELEASE[2:], *paid, "again: spring", "-o", "again.margin"]
    assert told(capsys, *again)["charge"]["remaining"] == "2"
    # The file's own entry is gone for good; in another folder it is no problem of the check.
    ran(capsys, *check, code=2)
    (folder / "made" / "spring.margin").rename(folder / "spring.margin")
    assert "entry 2 (again: spring)" in ran(capsys, *check).out


def test_the_empty_table_of_a_parquet_file_in_a_folder_of_values(folder, capsys):
    """The recipe of the page for a charge that is entered again."""
    (query,) = re.findall(r'--sql "(SELECT \* FROM read_parquet\(.people.*?)"', PAGE, re.DOTALL)
    part = folder / "week=2026-W47"
    part.mkdir()
    duckdb.sql("SELECT i % 2 AS a, i AS id FROM range(9) AS t(i)").write_parquet(
        str(part / "people.parquet")
    )
    here = query.replace("people.parquet", f"{part.name}/people.parquet")
    made = told(capsys, "release", "--sql", here, *RELEASE[2:], "-o", "again.margin")
    assert made["spent"]["epsilon"] == "1"


def test_the_page_of_an_upgrade_names_the_formats_and_moves_what_is_left(folder, capsys):
    assert f"| a release (`.margin`) | {FORMAT} | writes and reads {FORMAT} |" in PAGE
    assert f"| a ledger (`.db`) | `{_FORMAT}` | writes and reads `{_FORMAT}` |" in PAGE
    ran(capsys, *CREATE)
    ran(capsys, *RELEASE, "--ledger", "l.db", "--dataset", "p", "-o", "o.margin")
    line = f"written by  margin {margin.__version__}, as a file of format {FORMAT}\n"
    assert line in ran(capsys, "info", "o.margin").out
    assert "2 remaining" in ran(capsys, "ledger", "show", "l.db").out and "`2 remaining`" in PAGE
    (rest,) = re.findall(r"`margin (ledger create new.db\s.*?)`", PAGE, re.DOTALL)
    ran(capsys, *rest.removesuffix(";").split(), *UNIT[:2])
    assert Ledger("new.db").remaining("people") == Ledger("l.db").remaining("p")
