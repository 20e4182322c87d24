"""The script of docs/howto/weekly.md: each of its exit codes, in order."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import date, datetime, timedelta
from fractions import Fraction as F
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from postgres_server import ingest

import margin
from margin.cli.main import main

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "howto" / "weekly.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"^```\n(#!/bin/sh\n# One private.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(ALARM,) = re.findall(r"^```\n(# For us alone.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(DAYS,) = re.findall(
    r"^```\n(# The loader writes this marker.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)
(MONDAY,) = re.findall(
    r"^```\n(#!/bin/sh\n# Starts weekly.sh WEEK, up.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)
BEGINS = f"weekly: the release of 2026-W47 begins, by margin {margin.__version__}"
LAST = "# margin takes the place of this script"
QUERY, OF_A_SERVER, OF_DAYS = re.findall(
    r"^```\n(set -- --sql .*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)
(TIMEOUT,) = re.findall(r"(timeout \S+ \S+ \S+) \./weekly\.sh", PAGE)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("flock"), reason="flock is not installed"),
]


@pytest.fixture
def weekly(tmp_path):
    """Run the script for a week, in a folder with a table; `margin` and `python3` are those of this
    interpreter."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in {"margin": " -m margin", "python3": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        (programs / name).chmod(0o755)
    (tmp_path / "clicks").mkdir()
    rows = "".join(f"{row // 2},{row % 3},{row % 2}\n" for row in range(60))
    (tmp_path / "clicks" / "monday.csv").write_text(f"user_id,page,bought\n{rows}")
    (tmp_path / "domain.json").write_text('{"page": 3, "bought": 2}')
    # As `weekly.sh --setup` does, but quickly.
    margin.Ledger(tmp_path / "ledger.db").register("clicks", margin.PureDP("0.25"), unit="user_id")
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    own = {
        "PATH": path,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "EACH": "--epsilon 0.1",
        "TOTAL": "--epsilon 0.25",
    }

    def run(week, script=SCRIPT, before=(), **more):
        return subprocess.run(
            [*before, "sh", "-c", script, "weekly.sh", week],
            cwd=tmp_path,
            env={**os.environ, **own, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_codes_of_the_weekly_script(weekly, tmp_path):
    ledger = margin.Ledger(tmp_path / "ledger.db")
    first = weekly("2026-W47")
    assert first.returncode == 0, first.stderr
    # One line for what the script does, and none for what is as it was.
    assert first.stderr.count("weekly: ") == 1 and "registered" not in first.stderr
    assert json.loads(first.stdout)["charge"]["label"] == "2026-W47"
    # The same week again: nothing is spent.
    assert weekly("2026-W47").returncode == 0
    assert len(ledger.charged("clicks")) == 1
    # The file is lost: a person must say that the week is to be paid again.
    (tmp_path / "releases" / "2026-W47.margin").unlink()
    lost = weekly("2026-W47")
    assert lost.returncode == 70 and "AGAIN=yes" in lost.stderr
    assert len(ledger.charged("clicks")) == 1
    assert weekly("2026-W47", AGAIN="yes").returncode == 0
    assert len(ledger.charged("clicks")) == 2
    # The budget is used up.
    spent = weekly("2026-W48")
    assert spent.returncode == 3 and not (tmp_path / "releases" / "2026-W48.margin").exists()
    assert len(ledger.charged("clicks")) == 2
    # A table that does not fit, and a run that is active.
    assert weekly("2026-W49", UNIT="nobody").returncode == 2
    with subprocess.Popen(
        ["flock", str(tmp_path / "lock"), "sh", "-c", "echo locked; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "locked\n"
        assert weekly("2026-W50").returncode == 75
        other.communicate()
    assert len(ledger.charged("clicks")) == 2


WRONG = ["", "--help", "--setups", "2026-W00", "2026-W54", "2026-W99", "2026-W1", "26-W47"]
WRONG += ["2026-W470", "2026-47", "x2026-W47", "2026-w47", "2026-W47'", "../2026-W47", "2026-W47\n"]


@pytest.mark.parametrize("week", WRONG)
def test_a_word_that_is_no_week_is_refused_before_anything_is_done(weekly, tmp_path, week):
    wrong = weekly(week)
    assert wrong.returncode == 2 and wrong.stderr.startswith("weekly: expected a week such as")
    assert not (tmp_path / "releases").exists()


def test_all_weeks_of_a_year_have_the_form(weekly):
    """Without a budget, a run ends after the look at its week."""
    for week in (1, 9, 10, 19, 20, 49, 50, 53):
        assert "EACH must be set" in weekly(f"2026-W{week:02}", EACH="").stderr


@pytest.mark.parametrize(("word", "name"), [("2026-W47", "EACH"), ("--setup", "TOTAL")])
def test_a_budget_has_no_default(weekly, tmp_path, word, name):
    before = (tmp_path / "ledger.db").read_bytes()
    forgotten = weekly(word, **{name: ""})
    assert forgotten.returncode == 2 and f"{name} must be set" in forgotten.stderr
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_only_the_setup_makes_a_ledger(weekly, tmp_path):
    (tmp_path / "ledger.db").unlink()
    early = weekly("2026-W47")
    assert early.returncode == 71 and "ledger.db' does not exist" in early.stderr
    assert not (tmp_path / "ledger.db").exists()
    assert weekly("--setup").returncode == 0
    again = weekly("--setup")
    assert again.returncode == 2 and "is already registered" in again.stderr
    assert weekly("2026-W47").returncode == 0


def test_the_two_budgets_of_the_page(weekly, tmp_path, capsys):
    total, total_in_rho = re.findall(r'^TOTAL="(.*)" \./', PAGE, re.MULTILINE)
    each, monthly, in_rho = re.findall(r'(?:&& |has `)EACH="(.*?)"', PAGE)
    assert (each, monthly, total) == ("--epsilon 0.1", "--epsilon 0.1", "--epsilon 5")
    (tmp_path / "ledger.db").unlink()
    assert weekly("--setup", TOTAL=total_in_rho).returncode == 0
    assert weekly("2026-W47", EACH=in_rho).returncode == 0
    left = margin.Ledger(tmp_path / "ledger.db").remaining("clicks")
    spent = margin.Ledger(tmp_path / "ledger.db").spent("clicks")
    # With this one, all weeks of 2026, and one more for a week that is paid twice.
    assert date(2026, 12, 28).isocalendar().week == 53 and left // spent == 53
    assert "0.0085 is enough for 54 here,\nwhich are 53 weeks and the reserve" in PAGE

    # An epsilon that is charged to this budget is converted, and the release says so.
    forgotten = weekly("2026-W48", EACH=each)
    said = "epsilon = 0.1 is charged to 'clicks' as rho = 0.005"
    assert forgotten.returncode == 0 and said in forgotten.stderr and f"`{said}`" in PAGE
    assert margin.Ledger(tmp_path / "ledger.db").remaining("clicks") == left - F("0.005")
    (tmp_path / "ledger.db").unlink()
    shutil.rmtree(tmp_path / "releases")
    assert weekly("--setup", TOTAL=total).returncode == 0
    assert weekly("2026-W47", EACH=in_rho).returncode == 2

    # What one week costs by itself, and what the plan says of both.
    main(["ledger", "create", str(tmp_path / "one.db"), "--dataset", "x", *in_rho.split()])
    main(["ledger", "show", str(tmp_path / "one.db")])
    (alone,) = re.findall(r"at once, (epsilon = .*) at delta = 0.000001", capsys.readouterr().out)
    assert f"rho = 0.0085 is {alone} at this delta" in PAGE
    (domain,) = re.findall(r'If `domain.json` is `(\{"page".*?\})`', PAGE, re.DOTALL)
    (tmp_path / "domain.json").write_text(domain)
    for options in re.findall("^margin plan --domain domain.json (.*)$", PAGE, re.M):
        main(["plan", "--domain", str(tmp_path / "domain.json"), *options.split(), "--json"])
        best = json.loads(capsys.readouterr().out)["mechanisms"][0]
        assert f"{best['per_count']:.1f}" in PAGE


@pytest.mark.parametrize("lost", ["missing", "new", "older", "another data set"])
def test_a_run_without_the_ledger_of_the_releases_charges_nothing(weekly, tmp_path, lost):
    ledger = tmp_path / "ledger.db"
    older = ledger.read_bytes()
    assert weekly("2026-W47").returncode == 0
    more = {}
    if lost == "another data set":
        more["DATASET"] = "clcks"
    else:
        ledger.unlink()
    if lost == "new":
        assert weekly("--setup").returncode == 0
    if lost == "older":
        ledger.write_bytes(older)
    before = ledger.exists() and ledger.read_bytes()
    for week in ("2026-W48", "2026-W49"):
        stopped = weekly(week, **more)
        assert stopped.returncode == 71 and "weekly: " in stopped.stderr
        assert stopped.stdout == "" and "begins" not in stopped.stderr
    assert (ledger.exists() and ledger.read_bytes()) == before
    assert [path.name for path in (tmp_path / "releases").iterdir()] == ["2026-W47.margin"]


RESTORE = (ROOT / "docs" / "howto" / "unattended.md").read_text(encoding="utf-8")
(AGAIN,) = re.findall(r"^```\n(head -n 1 people.csv .*?)^```$", RESTORE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_week_whose_charge_was_entered_again_is_not_released_again(weekly, tmp_path, is_moved):
    """The steps of the page on restoring a ledger, with the week in place of its example."""
    older = (tmp_path / "ledger.db").read_bytes()
    assert weekly("2026-W47").returncode == 0
    (tmp_path / "ledger.db").write_bytes(older)
    assert weekly("2026-W47").returncode == 71

    ours = {
        "people.csv": "clicks/monday.csv",
        "agency.db": "ledger.db",
        "--dataset people": "--dataset clicks --unit user_id --rows-per-person 5",
        "--epsilon 1 ": "--epsilon 0.1 --workload 2way ",
        "spring": "2026-W47",
    }
    lines = AGAIN
    for theirs, own in ours.items():
        assert theirs in lines
        lines = lines.replace(theirs, own)
    assert weekly("", script=lines).returncode == 0
    (tmp_path / "again.margin").unlink()
    # The file of the release goes to the folder that both pages name, or anywhere else.
    assert "folder `restored` beside `releases`" in RESTORE
    folder = tmp_path / ("restored" if is_moved else "elsewhere")
    folder.mkdir()
    (tmp_path / "releases" / "2026-W47.margin").rename(folder / "2026-W47.margin")

    assert weekly("2026-W47").returncode == (0 if is_moved else 70)
    assert len(margin.Ledger(tmp_path / "ledger.db").charged("clicks")) == 1
    assert weekly("2026-W48").returncode == 0


PLANTED = """
import os, signal, sqlite3, sys, time
import margin
import margin.privacy.ledger
import margin.privacy.ledger_file
from margin.__main__ import run

def fail(*_, **__):
    raise margin.FileError("planted")

def hold():
    margin.privacy.ledger_file._WAIT = 0.05
    holder.execute("BEGIN EXCLUSIVE")

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def stop():
    # As a container does that is stopped.
    os.kill(1, signal.SIGTERM)

def to_the_script():
    # To one process, not to its group.
    os.kill(int(open("pid").read()), int(open("signal").read()))

def stopped(*_, **__):
    stop()
    time.sleep(20)

def hang(*_, pause=99, **__):
    # As if its time were over: `timeout` sends SIGTERM, then SIGKILL.
    while True:
        end()
        time.sleep(pause)

def end():
    # `timeout` leads the group of processes.
    os.kill(os.getpgrp(), signal.SIGALRM)

holder = sqlite3.connect("ledger.db", isolation_level=None)
if " ".join(sys.argv[1:]).startswith("{command}"):
    {what}
sys.exit(run())
"""


def planted(tmp_path, command, what):
    """Let a command of `margin` do something else first; the result is the usual program."""
    program = tmp_path / "bin" / "margin"
    usual = program.read_text()
    (tmp_path / "planted.py").write_text(PLANTED.format(command=command, what=what))
    program.write_text(usual.replace("-m margin", f'"{tmp_path / "planted.py"}"'))
    return usual


@pytest.mark.parametrize("command", ["ledger check", "ledger show", "release"])
def test_a_locked_ledger_is_tried_again_later(weekly, tmp_path, command):
    usual = planted(tmp_path, command, "hold()")
    stopped = weekly("2026-W47")
    assert stopped.returncode == 75 and "is locked by another process" in stopped.stderr
    (tmp_path / "bin" / "margin").write_text(usual)
    assert not margin.Ledger(tmp_path / "ledger.db").charged("clicks")
    assert weekly("2026-W47").returncode == 0


OTHERWISE = {
    1: "sys.exit(1)",
    2: 'open("ledger.db", "w").write("something else, which is no ledger")',
    127: "sys.exit(127)",
    143: "sys.exit(143)",
}
"""Ends of a look at the ledger that say nothing of the releases, by their codes."""


@pytest.mark.parametrize("code", OTHERWISE)
def test_only_a_ledger_without_a_charge_is_told_as_such(weekly, tmp_path, code):
    planted(tmp_path, "ledger check", OTHERWISE[code])
    stopped = weekly("2026-W47")
    assert stopped.returncode == code and "must be the ledger of all" not in stopped.stderr
    assert f"the ledger was not checked (code {code})" in stopped.stderr
    assert ("is not a ledger" in stopped.stderr) == (code == 2)


def test_a_new_start_after_code_4_charges_nothing(weekly, tmp_path):
    usual = planted(tmp_path, "release", "margin.Synopsis.save = fail")
    assert weekly("2026-W47").returncode == 4
    (tmp_path / "bin" / "margin").write_text(usual)
    assert weekly("2026-W47").returncode == 70
    assert len(margin.Ledger(tmp_path / "ledger.db").charged("clicks")) == 1


def test_a_signal_while_the_version_is_printed_leaves_no_error_in_the_log(weekly, tmp_path):
    usual = planted(
        tmp_path,
        "--version",
        'os.kill(int(open("pid").read()), signal.SIGTERM); signal.sigtimedwait([], 0.5)',
    )
    over = weekly("2026-W47", before=["sh", "-c", 'echo $$ > pid; exec "$@"', "sh"])
    assert over.returncode == -signal.SIGTERM and over.stderr == ""
    (tmp_path / "bin" / "margin").write_text(usual)
    assert weekly("2026-W47").returncode == 0


def alarmed(script=SCRIPT):
    """The script with the optional check before its last command."""
    before, mark, after = script.partition(LAST)
    return f"{before}{ALARM}{mark}{after}"


def test_the_query_of_the_page_cleans_and_chooses_the_week(weekly, tmp_path):
    (tmp_path / "clicks" / "monday.csv").write_text(
        "user_id,page,bought,week\n1, Home ,1,2026-W47\n2,home,0,2026-W47\n3,basket,0,2026-W48\n"
    )
    pages = {"values": ["home"], "other": "other"}
    (tmp_path / "domain.json").write_text(json.dumps({"page": pages, "bought": 2}))
    assert SCRIPT.count('set -- "$TABLE"\n') == 1
    script = alarmed(SCRIPT.replace('set -- "$TABLE"\n', QUERY))
    assert weekly("2026-W47", script).returncode == 0
    (checked,) = json.loads((tmp_path / "checks" / "2026-W47.json").read_text())["gathered"]
    assert (checked["rows"], checked["other_rows"]) == (2, 0)
    other = weekly("2026-W48", script)
    assert other.returncode == 0 and "many" not in other.stderr
    assert "many other values in page" in (tmp_path / "checks" / "2026-W48.txt").read_text()


def test_the_private_check_says_that_the_table_does_not_fit(weekly, tmp_path):
    """One row against a rule must not hide the rest: the release goes on and says nothing."""
    rows = "".join(f"{row},{'new' if row % 5 else 'home'},1\n" for row in range(60))
    (tmp_path / "clicks" / "monday.csv").write_text(f"user_id,page,bought\n{rows}")
    pages = {"values": ["home"], "other": "other"}
    domain = {"page": pages, "bought": 2, "$impossible": [{"page": "home", "bought": 1}]}
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    done = weekly("2026-W47", alarmed())
    assert done.returncode == 0 and "fit" not in done.stdout + done.stderr
    said = (tmp_path / "checks" / "2026-W47.txt").read_text()
    assert "does not fit its domain" in said and "many other values in page" in said


STARTED = ["2026-11-16 00:00", "2026-11-22 23:59", "2026-11-22 12:00", "2026-11-23 00:00"]
"""Three times of the week 47, from its first minute to its last one, and the next minute."""


def looked_at(weekly, tmp_path, query):
    """How many rows of two weeks the script finds by a query in place of its table."""
    found = []
    for week in ("2026-W47", "2026-W48"):
        done = weekly(week, alarmed(SCRIPT.replace('set -- "$TABLE"\n', query)))
        assert done.returncode == 0, done.stderr
        checked = json.loads((tmp_path / "checks" / f"{week}.json").read_text())["gathered"]
        found.append({one["rows"] for one in checked})
    return found


def test_the_query_of_the_page_takes_the_week_from_a_server(weekly, tmp_path, server):
    started = pa.array(map(datetime.fromisoformat, STARTED), pa.timestamp("us"))
    codes = [0, 1, 0, 1]
    table = pa.table({"user_id": range(4), "page": codes, "bought": codes, "started": started})
    ingest(server, table, "clicks")
    assert OF_A_SERVER.count('"postgres:service=clicks"') == 1
    named = {"values": [0, 1], "other": "new"}
    (tmp_path / "domain.json").write_text(json.dumps({"page": named, "bought": named}))
    query = OF_A_SERVER.replace("postgres:service=clicks", server)
    assert looked_at(weekly, tmp_path, query) == [{3}, {1}]


def test_the_query_of_the_page_takes_the_week_from_folders_of_days(weekly, tmp_path):
    for person, moment in enumerate(STARTED):
        folder = tmp_path / "clicks" / f"day={moment[:10]}"
        folder.mkdir(exist_ok=True)
        rows = pa.table({"user_id": [person], "page": [0], "bought": [1]})
        pq.write_table(rows, folder / f"{person}.parquet")
    named = {"values": [0, 1], "other": "new"}
    (tmp_path / "domain.json").write_text(json.dumps({"page": named, "bought": named}))
    assert looked_at(weekly, tmp_path, OF_DAYS) == [{3}, {1}]


@pytest.fixture
def loaded(tmp_path):
    """The folders of the days of week 47 and of those around it, each with its marker and a row."""
    (tmp_path / "clicks" / "monday.csv").unlink()
    named = {"values": [0, 1], "other": "new"}
    (tmp_path / "domain.json").write_text(json.dumps({"page": named, "bought": named}))
    for day in range(9):
        folder = tmp_path / "clicks" / f"day={date(2026, 11, 15) + timedelta(day)}"
        folder.mkdir()
        rows = pa.table({"user_id": [day], "page": [0], "bought": [1]})
        pq.write_table(rows, folder / "part.parquet")
        (folder / "_SUCCESS").touch()
    return tmp_path / "clicks"


WITH_DAYS = SCRIPT.replace(LAST, f"{DAYS}{ALARM}{LAST}")


def test_a_week_of_folders_waits_for_the_marker_of_each_of_its_days(weekly, tmp_path, loaded):
    ledger = margin.Ledger(tmp_path / "ledger.db")
    for day in (0, 3, 6):
        name = str(date(2026, 11, 16) + timedelta(day))
        (loaded / f"day={name}" / "_SUCCESS").unlink()
        waits = weekly("2026-W47", WITH_DAYS)
        assert waits.returncode == 75 and f"has not finished {name}" in waits.stderr
        (loaded / f"day={name}" / "_SUCCESS").touch()
    assert not ledger.charged("clicks")
    # The days around the week make no difference.
    (loaded / "day=2026-11-15" / "_SUCCESS").unlink()
    done = weekly("2026-W47", WITH_DAYS)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "checks" / "2026-W47.json").read_text())["rows"] == 7
    # A week that is done does not look at the loader again.
    shutil.rmtree(loaded)
    assert weekly("2026-W47", WITH_DAYS).returncode == 0


def test_a_week_of_folders_is_released_whatever_its_days_hold(weekly, tmp_path, loaded):
    for folder in loaded.iterdir():
        none = pq.read_table(folder / "part.parquet", partitioning=None).slice(0, 0)
        pq.write_table(none, folder / "part.parquet")
    done = weekly("2026-W47", WITH_DAYS)
    assert done.returncode == 0 and "no rows" not in done.stderr
    assert (tmp_path / "checks" / "2026-W47.txt").read_text() == "no rows\n"
    # A day without a file is an error that names its folder, and 2025 has no week 53.
    (loaded / "day=2026-11-23" / "part.parquet").unlink()
    for day in range(24, 30):
        (loaded / f"day=2026-11-{day}").mkdir()
        (loaded / f"day=2026-11-{day}" / "_SUCCESS").touch()
    lost = weekly("2026-W48", WITH_DAYS)
    assert lost.returncode == 2 and "none for 'clicks/day=2026-11-23/*.parquet'" in lost.stderr
    wrong = weekly("2025-W53", WITH_DAYS)
    assert wrong.returncode == 2 and "expected a week of its year" in wrong.stderr
    assert len(margin.Ledger(tmp_path / "ledger.db").charged("clicks")) == 1


def test_only_the_release_holds_the_lock(weekly, tmp_path, loaded):
    """Another program could go on after the script was ended, and each new start would end with
    code 75."""
    held = tmp_path / "held"
    for program in (tmp_path / "bin").iterdir():
        usual = program.read_text().removeprefix("#!/bin/sh\n")
        told = f'(: >&9) 2> /dev/null && is=holds || is=lacks\necho "$is $1" >> "{held}"\n'
        program.write_text(f"#!/bin/sh\n{told}{usual}")
    assert weekly("2026-W47", WITH_DAYS).returncode == 0
    assert held.read_text().splitlines() == [
        "lacks ledger",
        "lacks ledger",
        "lacks -c",
        "lacks -c",
        "lacks domain",
        "lacks -c",
        "lacks --version",
        "holds release",
    ]


def test_a_signal_ends_the_check_together_with_the_script(weekly, tmp_path):
    program = tmp_path / "bin" / "margin"
    usual = program.read_text()
    ended = tmp_path / "ended"
    os.mkfifo(ended)
    waits = f"""#!/bin/sh
if [ "$1" = domain ]; then
    trap 'echo by the signal > "{ended}"; exit 1' TERM
    kill -TERM "$PPID"
    # Without a signal, the check ends by itself.
    for part in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; done
    echo by itself > "{ended}"
    exit 1
fi
"""
    program.write_text(waits + usual)
    over = weekly("2026-W47", alarmed())
    assert over.returncode == 143 and BEGINS not in over.stderr
    # The script does not wait for the check, but this pipe does.
    assert ended.read_text() == "by the signal\n"
    program.write_text(usual)
    assert weekly("2026-W47", alarmed()).returncode == 0


def test_a_path_without_margin_is_told_before_anything_is_done(weekly, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "sh").symlink_to(shutil.which("sh"))
    lost = weekly("2026-W47", PATH=str(bare))
    assert lost.returncode == 127
    assert f"margin is not found in PATH={bare}; add its folder to PATH" in lost.stderr
    assert not (tmp_path / "releases").exists()


def test_the_name_of_a_table_may_hold_the_week(weekly, tmp_path):
    for week, rows in (("2026-W47", "1,0,1\n"), ("2026-W48", "1,9,1\n")):
        folder = tmp_path / "events" / f"week={week}"
        folder.mkdir(parents=True)
        (folder / "t.csv").write_text(f"user_id,page,bought\n{rows}")
    assert weekly("2026-W47", TABLE="events/week={week}").returncode == 0
    # The rows of the other week do not fit.
    other = weekly("2026-W48", TABLE="events/week={week}/*.csv")
    assert other.returncode == 2 and "column 'page'" in other.stderr


@pytest.mark.parametrize("pattern", ["events/{week}.csv", "events/*={week}/*.csv", "events/{week}"])
def test_the_default_of_the_table_may_hold_the_week(weekly, tmp_path, pattern):
    """A brace outside of the quotes would end the default."""
    path = tmp_path / pattern.replace("{week}", "2026-W47").replace("*=", "week=").replace("*", "t")
    path = path if path.suffix else path / "t.csv"
    path.parent.mkdir(parents=True)
    path.write_text("user_id,page,bought\n1,0,1\n")
    assert SCRIPT.count("${TABLE:-'clicks'}") == 1
    done = weekly("2026-W47", SCRIPT.replace("'clicks'}", f"'{pattern}'}}", 1))
    assert done.returncode == 0, done.stderr


def test_the_line_of_the_page_makes_it_a_release_of_each_month(weekly, tmp_path):
    (line,) = re.findall(r"^```\n(    \[0-9\].*\n)```$", PAGE, re.MULTILINE)
    (before,) = re.findall(r"^    \[0-9\].*-W5.*\n", SCRIPT, re.MULTILINE)
    script = SCRIPT.replace(before, line)
    (tmp_path / "2026-11.csv").write_text("user_id,page,bought\n1,0,1\n")
    assert weekly("2026-11", script, TABLE="{week}.csv").returncode == 0
    assert (tmp_path / "releases" / "2026-11.margin").exists()
    for month in range(1, 13):
        assert "EACH must be set" in weekly(f"2026-{month:02}", script, EACH="").stderr
    for wrong in ("2026-00", "2026-13", "2026-1", "2026-W47", "2026-011"):
        assert "but found" in weekly(wrong, script, EACH="").stderr
    # The line of the crontab names the month that has ended.
    (words,) = re.findall(r'^30 4 1 .*monday\.sh "\$\((date .*)\)"$', PAGE, re.MULTILINE)
    said = subprocess.run(words.replace("\\%", "%"), shell=True, capture_output=True, text=True)
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])\n", said.stdout)


def test_the_alarm_tells_lost_and_new_values_to_the_holder_alone(weekly, tmp_path):
    script = alarmed()
    rows = "".join(f"{row},{row % 3},,{'' if row % 2 else 1}\n" for row in range(60))
    (tmp_path / "clicks" / "monday.csv").write_text(f"user_id,page,bought,day\n{rows}")
    named = {"values": [0, 1], "other": "new", "missing": "none"}
    domain = dict.fromkeys(["page", "bought", "day"], named)
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    told = weekly("2026-W47", script)
    assert told.returncode == 0
    checks = tmp_path / "checks"
    found = (checks / "2026-W47.txt").read_text()
    # Just half of the days are missing.
    assert found.splitlines() == ["many other values in page", "many missing values in bought"]
    assert "many" not in told.stderr + told.stdout and "derived" not in told.stderr
    # A table that does not fit is refused by the release itself, and the log says it once.
    (tmp_path / "domain.json").write_text('{"page": [0, 1], "day": 2}')
    wrong = weekly("2026-W48", script)
    assert wrong.returncode == 2 and wrong.stderr.count("column 'page'") == 1
    found = json.loads((checks / "2026-W48.json").read_text())
    assert [one["column"] for one in found["attributes"]] == ["page", "day"]
    # So is a table that cannot be read.
    lost = weekly("2026-W49", script, TABLE="lost.csv")
    assert lost.returncode == 2 and lost.stderr.count("'lost.csv' does not exist") == 1
    assert "'lost.csv' does not exist" in (checks / "2026-W49.txt").read_text()
    # Nobody else can read them, but the releases have the usual mode.
    modes = {path.stat().st_mode & 0o77 for path in (checks, *checks.iterdir())}
    assert modes == {0}
    assert (tmp_path / "releases").stat().st_mode & 0o77


OVER = {
    "before the release": ("margin.privacy.ledger.Ledger.check = hang", 124, 0),
    "before the charge": ("margin.privacy.ledger.Ledger._charge = hang", 124, 0),
    "after the charge": (
        "made = margin.release; margin.release = lambda *a, **b: (made(*a, **b), hang())",
        124,
        70,
    ),
    "while it writes": ("margin.Synopsis.save = lambda *_, **__: hang(pause=0.1)", 137, 70),
    "complete": ("link = os.link; os.link = lambda *names: (link(*names), end())", 124, 0),
}
"""Where a run hangs, its code, and that of the next run."""


@pytest.mark.skipif(not shutil.which("timeout"), reason="timeout is not installed")
@pytest.mark.parametrize("moment", OVER)
def test_a_run_whose_time_is_over_says_what_was_spent_and_can_be_started_again(
    weekly, tmp_path, moment
):
    where, code, then = OVER[moment]
    command = "ledger" if moment == "before the release" else "release"
    usual = planted(tmp_path, command, where)
    over = weekly("2026-W47", before=TIMEOUT.split())
    (tmp_path / "bin" / "margin").write_text(usual)
    # A shell gives the code 128 + 9 for a command that is killed.
    assert (128 - over.returncode if over.returncode < 0 else over.returncode) == code
    _, begins, said = over.stderr.partition(BEGINS)
    assert bool(begins) == (moment != "before the release")
    assert ("nothing has been charged" in said) == (moment == "before the charge")
    assert ("budget" in said) == (moment == "after the charge")
    assert weekly("2026-W47").returncode == then


AS_PROCESS_1 = {
    "ledger check": ("ledger check", "stop(); time.sleep(20)", 143, 0),
    "version": ("--version", "stop(); time.sleep(20)", 143, 0),
    "start of Python": ("release", "stop(); time.sleep(20)", 143, 0),
    "before the charge": ("release", "margin.privacy.ledger.Ledger._charge = stopped", 143, 0),
    "after the charge": (
        "release",
        "made = margin.release; margin.release = lambda *a, **b: (made(*a, **b), stopped())",
        143,
        70,
    ),
    "complete": ("release", "link = os.link; os.link = lambda *a: (link(*a), stop())", 0, 0),
    "no signal": ("release", "", 0, 0),
    "no signal, another code": ("release", "sys.exit(3)", 3, 0),
}
"""Where SIGTERM comes to the script, its code, and that of the next run."""


@pytest.mark.parametrize("moment", AS_PROCESS_1)
def test_as_process_1_the_script_ends_with_the_code_of_the_signal(
    weekly, tmp_path, as_process_1, moment
):
    command, what, code, then = AS_PROCESS_1[moment]
    (tmp_path / "weekly.sh").write_text(SCRIPT)
    usual = planted(tmp_path, command, what or "pass")
    ended = weekly("2026-W47", before=as_process_1)
    assert ended.returncode == code, ended.stderr
    _, _, said = ended.stderr.partition(BEGINS)
    assert ("nothing has been charged" in said) == (moment == "before the charge")
    assert ("budget" in said) == (moment == "after the charge")
    (tmp_path / "bin" / "margin").write_text(usual)
    assert weekly("2026-W47").returncode == then


MOMENTS = {
    "before the charge": "margin.privacy.ledger.Ledger._charge = kill",
    "before the file": "margin.Synopsis.save = kill",
    "while it writes": "os.fsync = lambda file: (os.truncate(file, 100), kill())",
    "complete": "os.link = kill",
    "named": "link = os.link; os.link = lambda *names: (link(*names), kill())",
}
"""Where a run is killed, as code that does it."""

LEFT = {
    "before the charge": (0, "holds no whole release; delete it"),
    "before the file": (70, "holds no whole release; delete it"),
    "while it writes": (70, "holds no whole release; delete it"),
    "complete": (70, "holds the whole release of entry 2 (2026-W47)"),
    "named": (0, "is a copy of releases/2026-W47.margin; delete it"),
}
"""The code of the next run of the week, and what the ledger's check says of a temporary file."""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_next_run_says_what_a_killed_one_left(weekly, tmp_path, monkeypatch, capsys, moment):
    monkeypatch.chdir(tmp_path)
    usual = planted(tmp_path, "release", MOMENTS[moment])
    assert weekly("2026-W47").returncode == -signal.SIGKILL
    (tmp_path / "bin" / "margin").write_text(usual)

    code, words = LEFT[moment]
    parts = list((tmp_path / "releases").glob(".margin-*.part"))
    assert len(parts) == (words is not None)
    again = weekly("2026-W47")
    check = "see margin ledger check ./ledger.db --releases ./releases\n"
    assert again.returncode == code, again.stderr
    assert again.stderr.count(check) == len(parts) + (code == 70)
    named = [f"weekly: a killed run left ./releases/{part.name}, " for part in parts]
    assert [words in again.stderr for words in named] == [True] * len(parts)
    assert ("AGAIN=yes pays once more" in again.stderr) == (code == 70)
    # The charge is never made twice, and the file is there unless the run says that it is missing.
    assert len(margin.Ledger("ledger.db").charged("clicks")) == 1
    assert (tmp_path / "releases" / "2026-W47.margin").exists() == (code == 0)
    if words is None:
        return
    assert main(["ledger", "check", "ledger.db", "--releases", "releases"]) == 0
    assert words in capsys.readouterr().out
    if moment == "complete":
        parts[0].rename(tmp_path / "releases" / "2026-W47.margin")
        last = weekly("2026-W47")
        assert (last.returncode, last.stderr.count("killed")) == (0, 0)


SAID = {
    0: (["0"], ""),
    2: (["2"], "2"),
    70: (["70"], "70"),
    "75 twice": (["75", "124", "0"], ""),
    "75 for long": (["75", "137", "143"], "143"),
    "75, then a mistake": (["75", "2"], "2"),
}
"""The codes of the runs that are started one after another, and the code that is told."""


@pytest.mark.skipif(not shutil.which("timeout"), reason="timeout is not installed")
@pytest.mark.parametrize("case", SAID)
def test_the_job_repeats_what_may_help_and_tells_the_rest(tmp_path, case):
    """As cron does, with next to no environment, and with what was in the log before."""
    codes, told = SAID[case]
    (tmp_path / "codes").write_text("".join(f"{code}\n" for code in codes))
    (tmp_path / "weekly.sh").write_text(ONE_AFTER_ANOTHER)
    (tmp_path / "monday.sh").write_text(MONDAY)
    (tmp_path / "weekly.log").write_text("weekly: the week before\n")
    for name in ("weekly.sh", "monday.sh"):
        (tmp_path / name).chmod(0o755)
    job = subprocess.run(
        ["env", "-i", "PATH=/usr/bin:/bin", "PAUSES=0 0", "./monday.sh", "2026-W47"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (job.returncode, job.stderr) == (int(codes[-1]), "")
    lines = [f"weekly: 2026-W47 ends with {code}" for code in codes]
    if told:
        first = (
            f"weekly.sh 2026-W47 ended with code {told}; the last lines of {tmp_path}/weekly.log:"
        )
        assert job.stdout.splitlines() == [first, *lines]
    else:
        assert job.stdout == ""
    assert (tmp_path / "weekly.log").read_text().splitlines()[1:] == lines
    assert (tmp_path / "weekly.json").read_text() == "{}\n" * len(codes)
    assert (tmp_path / "weekly.json").stat().st_mode & 0o77 == 0


ONE_AFTER_ANOTHER = """#!/bin/sh
code=$(head -n 1 codes)
sed -i 1d codes
echo "{}"
echo "weekly: $1 ends with $code" >&2
exit "$code"
"""
"""A job that ends with the codes of a file, one after another."""


ALONE = {
    "ledger check": ("ledger check", "to_the_script(); time.sleep(3)", 0),
    "before the charge": (
        "release",
        "margin.privacy.ledger.Ledger._charge = lambda *_, **__: (to_the_script(), time.sleep(20))",
        0,
    ),
    "after the charge": (
        "release",
        "made = margin.release; "
        "margin.release = lambda *a, **b: (made(*a, **b), to_the_script(), time.sleep(20))",
        70,
    ),
    "complete": (
        "release",
        "link = os.link; os.link = lambda *a: (link(*a), to_the_script(), time.sleep(0.5))",
        0,
    ),
}
"""Where a signal comes to the script alone, and the code of the next run."""


@pytest.mark.skipif(not shutil.which("timeout"), reason="timeout is not installed")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("scripts", ["publish", "monday", "monday and publish"])
@pytest.mark.parametrize("moment", ALONE)
def test_a_signal_to_a_script_alone_ends_the_release_before_the_script(
    weekly, tmp_path, moment, scripts, name
):
    command, what, then = ALONE[moment]
    jobs = {"weekly.sh": SCRIPT, "publish.sh": PUBLISH, "monday.sh": MONDAY}
    if scripts == "monday and publish":
        jobs["monday.sh"] = MONDAY.replace("./weekly.sh", "./publish.sh")
    for job, script in jobs.items():
        (tmp_path / job).write_text(script)
        (tmp_path / job).chmod(0o755)
    (tmp_path / "signal").write_text(str(int(getattr(signal, name))))
    usual = planted(tmp_path, command, what)
    started = ["sh", "-c", 'echo $$ > pid; exec "$@"', "sh"]
    over = weekly("2026-W47", jobs[f"{scripts.split()[0]}.sh"], before=started, PAUSES="0 0")
    told = over.stdout + over.stderr
    # The release was complete, but nothing was published, and nothing is started again.
    assert over.returncode == 143 or (moment, scripts) == ("complete", "monday"), told
    log = tmp_path / "weekly.log"
    told += log.read_text() if log.exists() else ""
    assert told.count("begins, by") <= 2 and not (tmp_path / "published").exists()
    assert ("nothing has been charged" in told) == (moment == "before the charge")
    (tmp_path / "bin" / "margin").write_text(usual)
    # No release goes on: it would hold the lock.
    assert weekly("2026-W47").returncode == then


@pytest.mark.skipif(not shutil.which("timeout"), reason="timeout is not installed")
@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("job", ["monday", "publish"])
def test_a_script_tells_the_code_of_a_release_that_ends_while_the_signal_is_passed_on(
    tmp_path, job, shell
):
    """A shell that waits for a signal to be handled may learn of the end in between."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = {"monday": MONDAY, "publish": PUBLISH}[job]
    passed_on = "|| exit 143'"
    assert script.count(passed_on) == 1
    # A pause in the handler: the release ends before the shell goes on.
    (tmp_path / "job.sh").write_text(script.replace(passed_on, "|| exit 143; sleep 0.5'"))
    (tmp_path / "weekly.sh").write_text("#!/bin/sh\necho > begun\nexec sleep 20\n")
    (tmp_path / "weekly.sh").chmod(0o755)
    command = ["busybox", "sh"] if shell == "busybox" else [shell]
    with subprocess.Popen(
        [*command, "job.sh", "2026-W47"], cwd=tmp_path, stdout=subprocess.PIPE
    ) as started:
        while started.poll() is None and not (tmp_path / "begun").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        started.send_signal(signal.SIGHUP)
        started.communicate()
    assert started.returncode == 128 + signal.SIGTERM


(PUBLISH,) = re.findall(
    r"^```\n(#!/bin/sh\n# Starts weekly.sh WEEK, then.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
)
DIES = {
    "nowhere": "ledger nothing",
    "in the folder": "publish",
    "before the signature": "sign",
}
"""Where a run is killed, by the command."""


@pytest.mark.skipif(not find_spec("cryptography"), reason="cryptography is not installed")
@pytest.mark.parametrize("moment", DIES)
def test_a_run_that_dies_before_it_publishes_goes_on(weekly, tmp_path, monkeypatch, capsys, moment):
    monkeypatch.chdir(tmp_path)
    Path("weekly.sh").write_text(SCRIPT)
    Path("weekly.sh").chmod(0o755)
    Path("about.json").write_text('{"title": "Clicks"}')
    assert main(["keygen", "agency.key"]) == 0
    usual = planted(tmp_path, DIES[moment], "kill()")
    died = weekly("2026-W47", PUBLISH)
    assert died.returncode == (0 if moment == "nowhere" else 137), died.stderr
    published = Path("published/2026-W47")
    # Nobody sees a folder without a signature.
    assert published.exists() == (moment == "nowhere")
    (tmp_path / "bin" / "margin").write_text(usual)
    assert weekly("2026-W47", PUBLISH).returncode == 0
    assert main(["verify", str(published), "--key", "agency.key.pub"]) == 0
    before = {path: path.read_bytes() for path in published.iterdir()}
    assert weekly("2026-W47", PUBLISH).returncode == 0
    assert {path: path.read_bytes() for path in published.iterdir()} == before
    assert len(margin.Ledger("ledger.db").charged("clicks")) == 1


@pytest.mark.skipif(not find_spec("cryptography"), reason="cryptography is not installed")
@pytest.mark.skipif(not shutil.which("timeout"), reason="timeout is not installed")
@pytest.mark.parametrize("mask", ["000", "077"])
def test_the_table_of_files_names_all_that_the_job_makes_and_who_may_use_it(
    weekly, tmp_path, monkeypatch, capsys, mask
):
    """With a umask that takes no right away, and with one that takes all from others."""
    monkeypatch.chdir(tmp_path)
    (table,) = re.findall(r"^\| file \| holds .*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    named = {name: row for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    scripts = {"weekly.sh": alarmed(), "publish.sh": PUBLISH}
    scripts["monday.sh"] = MONDAY.replace("./weekly.sh", "./publish.sh")
    for name, script in scripts.items():
        Path(name).write_text(script)
        Path(name).chmod(0o755)
    Path("about.json").write_text('{"title": "Clicks"}')
    assert main(["keygen", "agency.key"]) == 0
    Path("ledger.db").unlink()
    under = ["sh", "-c", f'umask {mask}; exec "$@"', "sh"]
    assert weekly("--setup", before=under).returncode == 0
    done = weekly("2026-W47", MONDAY.replace("./weekly.sh", "./publish.sh"), before=under)
    assert done.returncode == 0, done.stdout + Path("weekly.log").read_text()

    # All that is there is in the table, but for the programs of this test.
    assert {path.name for path in tmp_path.iterdir()} - {"bin"} <= named.keys()
    made = ("agency.key", "checks", "weekly.log", "weekly.json", "ledger.db", "releases")
    made += ("lock", "publish.lock", "unsigned", "published")
    for name in made:
        files = [Path(name), *Path(name).rglob("*")]
        rights = {path.stat().st_mode & 0o77 for path in files}
        assert not any(right & 0o22 for right in rights), name
        is_closed = named[name][2] == "yes" or "alone (`umask" in named[name][3]
        if is_closed or mask == "077":
            assert rights == {0}, name
        else:
            assert all(right & 0o44 == 0o44 for right in rights), name


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_units_of_the_page(tmp_path):
    service, timer = re.findall(r"^```\n(\[Unit\].*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "clicks.service").write_text(service)
    (tmp_path / "clicks.timer").write_text(timer)
    done = subprocess.run(
        ["systemd-analyze", "verify", "./clicks.service", "./clicks.timer"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "clicks" not in done.stderr, done.stderr
    # What it repeats is what monday.sh repeats. A timeout of systemd itself has no code.
    (repeated,) = re.findall("^RestartForceExitStatus=(.*)$", service, re.MULTILINE)
    assert repeated.split() == ["75", "143", "SIGTERM", "SIGKILL"]


def test_the_month_of_the_page_is_added_to_a_ledger_that_exists(weekly, tmp_path):
    (line,) = re.findall(r"^0 4 25 .* && (margin ledger add .*)$", PAGE, re.MULTILINE)
    line = line.replace(r"\%", "%")
    assert weekly("", script=line).returncode == weekly("", script=line).returncode == 0
    first, month = margin.Ledger(tmp_path / "ledger.db").datasets()
    assert first == "clicks" and re.fullmatch(r"clicks 20\d\d-[01]\d", month)
    (tmp_path / "ledger.db").unlink()
    assert weekly("", script=line).returncode == 2 and not (tmp_path / "ledger.db").exists()
