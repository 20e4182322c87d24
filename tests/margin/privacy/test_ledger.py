"""The ledger: exact sums, durable charges, and every way in which its file can be wrong."""

import dataclasses
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import threading
import time
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import (
    ZCDP,
    ApproxDP,
    BudgetError,
    BudgetSpentError,
    FileError,
    LedgerLockedError,
    PriView,
    PureDP,
    Statement,
)
from margin._numbers import UNIT
from margin.cli.main import main
from margin.data.opening import open_source
from margin.noise.entropy import SeededEntropy
from margin.privacy import ledger_file as _ledger_file
from margin.privacy.budget import Neighbours
from margin.privacy.conversion import epsilon_of
from margin.privacy.ledger import Ledger, Token
from margin.privacy.strength import together
from margin.privacy.words import how_strong
from margin.private import Private

CODES = np.array([[0, 1], [1, 1], [1, 0]])
DOMAIN = margin.Domain({"a": 2, "b": 2})


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "agency.db")
    made.register("census", PureDP(1))
    return made


def released(ledger, budget=PureDP("0.1"), name="census"):
    mechanism = PriView(views=[["a"], ["b"]])
    return margin.release(
        CODES, domain=DOMAIN, budget=budget, mechanism=mechanism, ledger=ledger.dataset(name)
    )


def test_charges_add_up_exactly_and_what_fits_is_never_refused(ledger):
    for spent in range(10):
        assert ledger.spent("census") == F(spent, 10) and ledger.remaining("census") == 1 - F(
            spent, 10
        )
        ledger.charge("census", PureDP(0.1))
    with pytest.raises(BudgetError, match=r"remains of its budget, 0 of 1 \(in epsilon\)"):
        ledger.charge("census", PureDP("1e-12"))
    assert ledger.spent("census") == 1 and ledger.verify() == 10


def test_a_refused_charge_leaves_the_file_as_it_was(ledger):
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetError, match=r"data set 'census' .*, 1 of .* asks for 2;"):
        ledger.charge("census", PureDP(2))
    assert ledger.path.read_bytes() == before and ledger.spent("census") == 0


def test_a_release_carries_its_receipt_into_its_file(ledger, tmp_path):
    synopsis = released(ledger)
    token = synopsis.provenance.token
    assert (token.sequence, len(token.head), len(token.dataset)) == (2, 64, 32)
    synopsis.save(tmp_path / "x.margin")
    assert margin.load(tmp_path / "x.margin").provenance.token == token
    assert ledger.check({"x": token}) == []
    assert ledger.spent("census") == F(1, 10)


def test_a_release_that_does_not_fit_draws_nothing(ledger):
    class Watched(SeededEntropy):
        def take(self, n):
            raise AssertionError("drawn")

    for name, budget in [("census", PureDP(2)), ("census", ZCDP("0.01"))]:
        gate = Private(
            open_source(CODES),
            domain=DOMAIN,
            budget=budget,
            entropy=Watched(1),
            ledger=ledger.dataset(name),
        )
        with pytest.raises(BudgetError):
            gate.measure([["a"]])
    assert ledger.spent("census") == 0


@pytest.mark.parametrize(
    ("charges", "advice"),
    [
        ([], "; spend less"),
        (["1"], "; spend less"),
        (["2.999"], "; the budget is practically used up, so make no further release "),
        (["1", "2"], "; the budget is used up, so make no further release "),
    ],
)
def test_what_is_advised_where_a_release_does_not_fit_can_be_done(tmp_path, charges, advice):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("p", PureDP(3))
    for epsilon in charges:
        ledger.charge("p", PureDP(epsilon))
    with pytest.raises(BudgetSpentError) as found:
        ledger.charge("p", PureDP("3.5"))
    assert advice in str(found.value)
    assert found.value.remaining == ledger.remaining("p") and found.value.asked == F("3.5")


def test_show_says_that_a_useless_rest_is_none(tmp_path, capsys):
    path = tmp_path / "l.db"
    run("ledger", "create", path, "--dataset", "jobs", "--epsilon", "5", "--delta", "1e-6")
    ledger = Ledger(path)
    ledger.charge("jobs", ZCDP("0.2315"))
    capsys.readouterr()
    run("ledger", "show", path)
    told = capsys.readouterr().out
    assert "of n equal releases" in told and "the registration of a data set is one" in told
    ledger.charge("jobs", ZCDP("0.2315"))
    run("ledger", "show", path)
    told = capsys.readouterr().out
    assert "the budget is used up: what remains pays for no useful release" in told
    assert "of n equal releases" not in told


def test_a_whole_ledger_is_no_data_set(ledger):
    with pytest.raises(BudgetError, match=r"ledger\.dataset"):
        margin.release(CODES, domain=DOMAIN, budget=PureDP(1), ledger=ledger)


def test_the_whole_budget_is_charged_once_for_many_rounds(ledger):
    gate = Private(
        open_source(CODES),
        domain=DOMAIN,
        budget=PureDP("0.3"),
        entropy=SeededEntropy(1),
        ledger=ledger.dataset("census"),
    )
    for _ in range(3):
        gate.measure([["a"]], spend="1/3")
    assert ledger.spent("census") == F(3, 10) and ledger.verify() == 1


@pytest.mark.parametrize(
    ("total", "charge", "cost"),
    [
        (ZCDP(1), ZCDP("0.3"), F(3, 10)),
        (ZCDP(1), PureDP(1), F(1, 2)),
        (ZCDP(1), PureDP("1e-12"), F(1, 10**12)),
        (ZCDP(1), ApproxDP(1, "1e-6"), ApproxDP(1, "1e-6").units * F(1, 10**12)),
        (ApproxDP(5, "1e-6"), ZCDP("0.1"), F(1, 10)),
    ],
    ids=repr,
)
def test_other_kinds_are_converted_by_a_proved_rule(tmp_path, total, charge, cost):
    ledger = Ledger(tmp_path / "x.db")
    ledger.register("d", total)
    ledger.charge("d", charge)
    assert ledger.spent("d") == cost and ledger.budget("d") == total


@pytest.mark.parametrize(
    "charge",
    [
        ZCDP("0.01"),
        ApproxDP("0.1", "1e-6"),
        PureDP("0.1", neighbours=Neighbours.REPLACE_ROW),
        PureDP("0.1", rows_per_person=3),
    ],
    ids=repr,
)
def test_what_no_rule_converts_is_refused(ledger, charge):
    with pytest.raises(BudgetError, match="cannot be charged"):
        ledger.charge("census", charge)
    assert ledger.spent("census") == 0


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, None, 3])
def test_bad_names_are_refused(ledger, name):
    with pytest.raises(BudgetError, match="name"):
        ledger.register(name, PureDP(1))


def test_a_name_is_registered_once(ledger):
    with pytest.raises(BudgetError, match="already"):
        ledger.register("census", PureDP(100))
    ledger.register("survey", ZCDP(1))
    assert ledger.datasets() == ("census", "survey") and ledger.remaining("census") == 1
    for ask in (ledger.spent, ledger.remaining, ledger.dataset, ledger.budget):
        with pytest.raises(BudgetError, match="must be registered in this ledger, but it is not"):
            ask("nobody")


@pytest.mark.parametrize("budget", [1, None, "1"])
def test_a_budget_is_a_budget(ledger, budget):
    for call in (ledger.register, ledger.charge):
        with pytest.raises(BudgetError, match="PureDP"):
            call("other", budget)


def test_the_file_tells_no_time_and_the_identities_are_random(tmp_path):
    tokens = []
    for name in ("x", "y"):
        ledger = Ledger(tmp_path / name)
        ledger.register("census", PureDP(1))
        tokens.append(ledger.charge("census", PureDP(1)))
    assert (
        len({t.dataset for t in tokens} | {t.ledger for t in tokens} | {t.head for t in tokens})
        == 6
    )
    for module in ("ledger.py", "ledger_file.py"):
        text = (Path(margin.__file__).parent / "privacy" / module).read_text()
        assert not any(
            clock in text
            for clock in ("import time", "datetime", "CURRENT_TIME", "strftime", "getmtime")
        )


def test_there_is_no_way_to_give_back():
    assert not {
        name
        for name in dir(Ledger)
        if any(w in name for w in ("refund", "reset", "undo", "delete", "raise"))
    }


# The file


def damaged(statements):
    def change(path):
        with sqlite3.connect(path) as db:
            for statement in statements:
                db.execute(statement)
        db.close()

    return change


NO_TRIGGERS = ["DROP TRIGGER no_update", "DROP TRIGGER no_delete"]
REMADE = [
    "CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
]
DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("census,1\n" * 100),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "zeroed page": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + bytes(len(path.read_bytes()) - 4096)
    ),
    "another database": lambda path: (path.unlink(), damaged(["CREATE TABLE t (x)"])(path)),
    "triggers dropped": damaged(NO_TRIGGERS),
    "charge made smaller": damaged(
        [*NO_TRIGGERS, "UPDATE entry SET units = 1 WHERE sequence = 2", *REMADE]
    ),
    "budget made larger": damaged(
        [*NO_TRIGGERS, "UPDATE entry SET units = 10 * units WHERE sequence = 1", *REMADE]
    ),
    "charge removed": damaged([*NO_TRIGGERS, "DELETE FROM entry WHERE sequence = 2", *REMADE]),
    "all removed": damaged([*NO_TRIGGERS, "DELETE FROM entry", *REMADE]),
    "charge moved to another": damaged(
        [*NO_TRIGGERS, "UPDATE entry SET dataset = 'x' WHERE sequence = 2", *REMADE]
    ),
    "charge added by hand": damaged(
        ["INSERT INTO entry VALUES (4, 'x', 'charge', 1, '{}', '', 'x')"]
    ),
    "column added": damaged(["ALTER TABLE entry ADD COLUMN note TEXT"]),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_ledger_that_is_not_sound_stops_everything(ledger, damage):
    ledger.charge("census", PureDP("0.1"))
    ledger.charge("census", PureDP("0.2"))
    dataset = ledger.dataset("census")
    damage(ledger.path)
    for call in (
        lambda: dataset.charge(PureDP("0.1")),
        ledger.verify,
        lambda: ledger.spent("census"),
    ):
        with pytest.raises(FileError, match=r"agency\.db"):
            call()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE entry SET units = 0", "DELETE FROM entry", "REPLACE INTO entry SELECT * FROM entry"],
)
def test_rows_are_only_added(ledger, statement):
    db = sqlite3.connect(ledger.path)
    db.execute("PRAGMA recursive_triggers = ON")
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        db.execute(statement)
    db.close()
    assert ledger.verify() == 0


def test_an_old_copy_put_back_is_found_by_the_releases(ledger, tmp_path):
    tokens = {"first": ledger.charge("census", PureDP("0.1"))}
    shutil.copy(ledger.path, tmp_path / "old.db")
    tokens["second"] = ledger.charge("census", PureDP("0.1"))
    assert ledger.check(tokens) == []
    shutil.copy(tmp_path / "old.db", ledger.path)
    assert ledger.verify() == 1, "the chain alone does not show it"
    assert [line.split(":")[0] for line in ledger.check(tokens)] == ["second"]
    tokens["third"] = ledger.charge("census", PureDP("0.1"))
    found = ledger.check(tokens)
    (line,) = found  # the third release has a charge of its own, with the same number
    assert line.startswith("second: ") and "older copy" in line and "charge it again" in line
    other = Ledger(tmp_path / "other.db")
    other.register("census", PureDP(1))
    assert len(other.check({**tokens, "none": None})) == 4


def test_a_missing_ledger_is_not_made_by_a_charge(tmp_path):
    ledger = Ledger(tmp_path / "none.db")
    for call in (
        lambda: ledger.charge("census", PureDP(1)),
        ledger.verify,
        lambda: ledger.dataset("census"),
    ):
        with pytest.raises(FileError, match="does not exist"):
            call()
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot be opened"):
        Ledger(tmp_path / "no folder" / "x.db").register("census", PureDP(1))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only files")
def test_a_read_only_file(ledger):
    ledger.path.chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        ledger.charge("census", PureDP("0.1"))


def test_a_read_only_connection_is_explained(ledger, monkeypatch):
    """What a read-only file gives, also where the tests run as root."""
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda file, **more: connect(file.replace("mode=rw", "mode=ro"), **more)
    )
    with pytest.raises(FileError, match="read-only"):
        ledger.charge("census", PureDP("0.1"))


def test_a_locked_ledger_waits_and_then_refuses(ledger, monkeypatch):
    monkeypatch.setattr("margin.privacy.ledger_file._WAIT", 0.05)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerLockedError, match="locked by another process; try again later"):
        ledger.charge("census", PureDP("0.1"))
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.charge("census", PureDP("0.1")).sequence == 2


def test_a_full_disk_is_refused_and_costs_nothing(ledger, monkeypatch):
    """SQLite's own limit on pages raises the error of a full disk; no charge that was refused is in
    the file."""
    connect = sqlite3.connect

    def small(*arguments, **more):
        db = connect(*arguments, **more)
        db.execute("PRAGMA max_page_count = 12")
        return db

    monkeypatch.setattr(sqlite3, "connect", small)
    tokens = []
    with pytest.raises(FileError, match="disk is full"):
        tokens.extend(ledger.charge("census", PureDP("1e-12")) for _ in range(1000))
    monkeypatch.undo()
    assert 10 < len(tokens) == ledger.verify() == ledger.spent("census") * 10**12


def test_copies_of_the_name_in_every_form(tmp_path):
    for name in ("with space?.db", "100%#.db", "ü.db"):
        ledger = Ledger(tmp_path / name)
        ledger.register("d", PureDP(1))
        assert (tmp_path / name).exists() and ledger.remaining("d") == 1


# Crashes and races


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def releases_for_ever(path, folder):
    dataset = Ledger(path).dataset("census")
    mechanism = PriView(views=[["a"]])
    for number in range(10**6):
        synopsis = margin.release(
            CODES, domain=DOMAIN, budget=PureDP("1e-9"), mechanism=mechanism, ledger=dataset
        )
        synopsis.save(folder / f"{os.getpid()}-{number}.margin")


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def killed_runs(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill `kills` processes that release; the numbers of releases and of wasted charges."""
    rng = random.Random(seed)
    ledger = Ledger(folder / "agency.db")
    ledger.register("census", PureDP(1))
    releases = folder / "releases"
    releases.mkdir()
    # What only a first release loads is loaded here, and the second tells how long one takes.
    for _ in range(2):
        started = time.monotonic()
        release = margin.release(
            CODES, domain=DOMAIN, budget=PureDP(1), mechanism=PriView(views=[["a"]])
        )
        release.save(folder / "first.margin")
    longest = max(0.06, 8 * (time.monotonic() - started))
    for number in range(kills):
        child = in_child(lambda: releases_for_ever(ledger.path, releases))
        if number == 0:  # killed after a release, however slow the machine is
            wait_for(lambda: any(releases.glob("*.margin")))
        time.sleep(rng.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    tokens = {path.name: margin.load(path).provenance.token for path in releases.glob("*.margin")}
    assert ledger.check(tokens) == []
    charges = ledger.verify()
    wasted = charges - len(tokens)
    assert 0 <= wasted <= kills
    assert ledger.spent("census") == F(charges, 10**9)
    return len(tokens), wasted


def test_a_charge_survives_a_loss_of_power(tmp_path, monkeypatch):
    """No test can cut the power. SQLite promises it for a rollback journal and synchronous=EXTRA,
    of every connection that writes."""
    settings = []

    class Asked(sqlite3.Connection):
        def execute(self, text, *arguments):
            if text.strip().upper() == "COMMIT":
                asked = ["journal_mode", "synchronous"]
                ask = super().execute
                settings.append([ask(f"PRAGMA {name}").fetchone()[0] for name in asked])
            return super().execute(text, *arguments)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **more: connect(*a, **more, factory=Asked))
    ledger = Ledger(tmp_path / "power.db")
    ledger.register("census", PureDP(1))
    ledger.dataset("census").charge(PureDP("1/2"))
    assert len(settings) >= 2 and all(setting == ["delete", 3] for setting in settings)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_release_wastes_at_most_its_own_charge(tmp_path):
    kills = int(os.environ.get("MARGIN_KILLS", "40"))
    made, wasted = killed_runs(tmp_path, kills, seed=1)
    print(f"{kills} kills: {made} releases, {wasted} charges wasted")
    assert made > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_eight_processes_never_overspend(tmp_path):
    ledger = Ledger(tmp_path / "agency.db")
    ledger.register("census", PureDP("1e-10"))

    def spend():
        with open(tmp_path / f"{os.getpid()}.txt", "w") as file:
            while True:
                file.write(f"{ledger.charge('census', PureDP('1e-12')).sequence}\n")
                file.flush()

    for child in [in_child(spend) for _ in range(8)]:
        os.waitpid(child, 0)
    sequences = [int(line) for path in tmp_path.glob("*.txt") for line in path.read_text().split()]
    assert sorted(sequences) == list(range(2, 102))
    assert ledger.remaining("census") == 0 and ledger.verify() == 100


# The command line


def run(*arguments, code=0):
    from margin.cli.main import main

    assert main([str(argument) for argument in arguments]) == code


def test_the_commands(tmp_path, capsys):
    path, releases = tmp_path / "agency.db", tmp_path / "releases"
    releases.mkdir()
    run("ledger", "create", path, "--dataset", "census", "--epsilon", "2")
    created = capsys.readouterr().out
    assert "if a release declares public totals" in created
    assert "what a row says is protected with epsilon = 2 x 2 = 4 in all" in created
    run(
        "ledger",
        "create",
        path,
        "--dataset",
        "survey",
        "--rho",
        "0.5",
        "--replace-row",
        "--rows-per-person",
        "3",
    )
    assert Ledger(path).budget("survey") == ZCDP(
        "0.5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=3
    )
    run(
        "ledger",
        "create",
        path,
        "--dataset",
        "other",
        "--rho",
        "0.5",
        "--rows-per-person",
        "0",
        code=2,
    )
    np.savetxt(tmp_path / "t.csv", CODES, fmt="%d", delimiter=",", header="a,b", comments="")
    (tmp_path / "d.json").write_text('{"a": 2, "b": 2}')
    out = releases / "x.margin"
    ask = [
        "release",
        tmp_path / "t.csv",
        "--domain",
        tmp_path / "d.json",
        "--views",
        "a",
        "--epsilon",
        "0.5",
        "-o",
        out,
    ]
    run(*ask, "--ledger", path, "--dataset", "census")
    capsys.readouterr()
    run("ledger", "show", path)
    shown = capsys.readouterr().out
    assert "census" in shown and "1.5" in shown and "survey" in shown
    run("ledger", "verify", path)
    run("ledger", "check", path, "--releases", releases)
    assert "1 release" in capsys.readouterr().out
    shutil.copy(out, releases / "copy.margin")
    (releases / "broken.margin").write_text("x")
    run("ledger", "check", path, "--releases", releases, code=2)
    told = capsys.readouterr().out
    assert "2 releases, and these problems" in told
    assert "x.margin: has the same charge" in told and "broken.margin" in told
    # A charge without a file, as an interrupted release leaves it, is named.
    charge = Ledger(path).charge("census", PureDP("0.1"))
    run("ledger", "check", path, "--releases", releases, "--json", code=2)
    values = json.loads(capsys.readouterr().out)
    assert len(values["problems"]) == 2 and len(values["releases"]) == 2
    assert values["without_release"] == {"census": [charge.sequence]}
    (releases / "copy.margin").unlink()
    (releases / "broken.margin").unlink()
    run("ledger", "check", path, "--releases", releases)
    told = capsys.readouterr().out
    assert "each with its own charge" in told and f"entry {charge.sequence}; a release" in told
    run(*ask, "--ledger", path, code=2)
    run(*ask, "--dataset", "census", code=2)
    run("ledger", "verify", tmp_path / "none.db", code=2)
    assert "Traceback" not in capsys.readouterr().err


def test_a_token_is_a_frozen_record():
    token = Token(ledger="l", dataset="d", sequence=1, head="h")
    with pytest.raises(AttributeError):
        token.sequence = 2


# The unit of protection


UNITS = {
    "one row": (PureDP(1), {}),
    "one row replaced": (PureDP(1, neighbours=Neighbours.REPLACE_ROW), {}),
    "three rows, declared": (PureDP(1, rows_per_person=3), {}),
    "a unit": (PureDP(1), {"unit": "id", "rows_per_person": 1}),
    "three rows of a unit": (PureDP(1), {"unit": "id", "rows_per_person": 3}),
    "three rows of another unit": (PureDP(1), {"unit": "a", "rows_per_person": 3}),
}
ROWS = {"id": [1, 1, 2], "a": [0, 1, 1]}


@pytest.mark.parametrize("registered", UNITS)
@pytest.mark.parametrize("asked", UNITS)
def test_a_data_set_has_one_unit_of_protection(tmp_path, registered, asked):
    ledger = Ledger(tmp_path / "x.db")
    whole, unit = UNITS[registered]
    protected = unit.get("unit")
    ledger.register("d", whole, unit=protected)
    assert ledger.statement("d").unit == protected
    budget, unit = UNITS[asked]

    def release():
        return margin.release(
            ROWS,
            domain={"a": 2},
            budget=budget,
            mechanism=PriView(views=[["a"]]),
            ledger=ledger.dataset("d"),
            **unit,
        )

    if asked == registered or (protected and protected == unit.get("unit")):
        assert ledger.charges("d") == () and release().provenance.token.sequence == 2
        assert ledger.spent("d") == 1 == ledger.verify() and len(ledger.charges("d")) == 1
    else:
        with pytest.raises(BudgetError, match="cannot be charged to data set 'd', which protects"):
            release()
        assert ledger.spent("d") == 0 == ledger.verify()


def test_a_charge_by_hand_says_its_unit_too(ledger):
    ledger.register("visits", PureDP(1), unit="id")
    budget = PureDP("0.1", rows_per_person=2)
    with pytest.raises(BudgetError, match="'id'"):
        ledger.charge("visits", budget)
    with pytest.raises(BudgetError, match="'id'"):
        ledger.dataset("visits").charge(budget)
    with pytest.raises(BudgetError, match="must have the budget that is charged"):
        ledger.charge(
            "visits",
            budget,
            statement=Statement(budget=PureDP("0.2", rows_per_person=2), unit="id"),
        )
    said = Statement(budget=budget, unit="id")
    ledger.charge("visits", budget, statement=said)
    ledger.charge("census", PureDP("0.1"))
    assert ledger.charges("visits") == (said,) and ledger.verify() == 2
    assert ledger.charges("census") == (Statement(budget=PureDP("0.1")),)


def test_a_release_that_states_something_else_than_its_charge_is_found(ledger):
    synopsis = released(ledger)
    token, said = synopsis.provenance.token, synopsis.provenance.statement
    assert ledger.check({"x": token}, statements={"x": said}) == []
    for other in (
        Statement(budget=PureDP("0.05"), domain=said.domain),
        Statement(budget=said.budget),
    ):
        (problem,) = ledger.check({"x": token}, statements={"x": other})
        assert "its statement differs from its charge, entry 2" in problem


# Names


@pytest.mark.parametrize("other", ["caf\u00e9", "cafe\u0301", "  cafe\u0301 ", "caf\u00e9\n"])
def test_a_name_has_one_form(ledger, other):
    """As it is shown: composed letters, nothing around it."""
    ledger.register("cafe\u0301 ", PureDP(1))
    assert (
        ledger.datasets() == ("census", "caf\u00e9") and ledger.dataset(other).name == "caf\u00e9"
    )
    with pytest.raises(BudgetError, match="already"):
        ledger.register(other, PureDP(1))
    ledger.charge(other, PureDP("0.25"))
    assert ledger.remaining(other) == F(3, 4)


def forged(path, **entry):
    """An entry added behind the others, with the hash that fits: the chain has no key."""
    with _ledger_file.writing(path) as (db, entries):
        _ledger_file.append(db, entries, **entry)


def registration(name, budget, *, unit=None):
    return json.dumps({"name": name, "statement": Statement(budget=budget, unit=unit).to_json()})


FORGED = {
    "a name twice": lambda it: {
        "action": "register",
        "units": 5,
        "detail": registration("census", PureDP("5e-12")),
    },
    "a number twice": lambda it: {
        "action": "register",
        "units": 5,
        "detail": registration("x", PureDP("5e-12")),
        "dataset": it,
    },
    "no JSON": lambda it: {"action": "register", "units": 5, "detail": "{"},
    "no object": lambda it: {"action": "register", "units": 5, "detail": "[]"},
    "too deep": lambda it: {"action": "register", "units": 5, "detail": "[" * 100_000},
    "a second ledger": lambda it: {"action": "create", "units": 0, "detail": "margin ledger 2"},
}
FORGED_QUIETLY = {
    "a name that is no name": lambda it: {
        "action": "register",
        "units": 5,
        "detail": registration("e\u0301 ", PureDP("5e-12")),
    },
    "a budget of more units than it says": lambda it: {
        "action": "register",
        "units": 6,
        "detail": registration("x", PureDP("5e-12")),
    },
    "a charge that is less than it says": lambda it: {
        "action": "charge",
        "units": 4,
        "detail": registration("", PureDP("5e-12")),
        "dataset": it,
    },
    "a charge for nobody": lambda it: {
        "action": "charge",
        "units": 5,
        "detail": registration("", PureDP("5e-12")),
    },
    "a charge for another unit": lambda it: {
        "action": "charge",
        "units": 5,
        "detail": registration("", PureDP("5e-12"), unit="id"),
        "dataset": it,
    },
    "a charge of another kind": lambda it: {
        "action": "charge",
        "units": 5,
        "detail": registration("", ZCDP("5e-12")),
        "dataset": it,
    },
    "a charge that says nothing": lambda it: {
        "action": "charge",
        "units": 5,
        "detail": "{}",
        "dataset": it,
    },
    "an overspent data set": lambda it: {
        "action": "charge",
        "units": 10**13,
        "detail": registration("", PureDP(10)),
        "dataset": it,
    },
}


@pytest.mark.parametrize(
    ("forge", "every_use"),
    [
        *((make, True) for make in FORGED.values()),
        *((make, False) for make in FORGED_QUIETLY.values()),
    ],
    ids=[*FORGED, *FORGED_QUIETLY],
)
def test_what_the_software_would_not_have_written_is_damage(ledger, forge, every_use):
    """Also where the chain of hashes is sound."""
    token = ledger.charge("census", PureDP("0.1"))
    forged(ledger.path, **{"dataset": "f" * 32, **forge(token.dataset)})
    uses = [ledger.verify]
    if every_use:
        uses += [
            lambda: ledger.spent("census"),
            lambda: ledger.charge("census", PureDP("0.1")),
            ledger.datasets,
        ]
    for use in uses:
        with pytest.raises(FileError, match="damaged"):
            use()


def test_a_ledger_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_ledger_file, "_FORMAT", "margin ledger 1")
    old = Ledger(tmp_path / "old.db")
    old.register("census", PureDP(1))
    before = old.path.read_bytes()
    monkeypatch.undo()
    for use in (old.spent, lambda name: old.register(name, PureDP(1), if_missing=True)):
        with pytest.raises(FileError, match=r"version .* created it with 'margin ledger 1'"):
            use("census")
    # A new ledger would forget what was spent, so nobody is told to make one, and this one stays.
    assert old.path.read_bytes() == before


def test_what_is_left_of_a_ledger_may_be_registered_in_another_one(tmp_path):
    """As docs/howto/unattended.md says of an upgrade: both together never spend more."""
    old, new = Ledger(tmp_path / "old.db"), Ledger(tmp_path / "new.db")
    whole = ApproxDP(3, "1e-6")
    old.register("census", whole, unit="id")
    old.charge("census", ZCDP("0.01"), statement=Statement(budget=ZCDP("0.01"), unit="id"))
    new.register("census", ZCDP(old.remaining("census")), unit="id")
    left = old.remaining("census")
    assert new.remaining("census") == left and left + F("0.01") == whole.units * UNIT
    more = Statement(budget=ZCDP(left + UNIT), unit="id")
    with pytest.raises(BudgetSpentError):
        new.charge("census", more.budget, statement=more)


# Files that were emptied or cut


@pytest.mark.parametrize("use", ["register", "charge", "verify"])
def test_an_emptied_ledger_is_damage_and_not_a_new_one(ledger, use):
    ledger.charge("census", PureDP("0.9"))
    ledger.path.write_bytes(b"")
    uses = {
        "register": lambda: ledger.register("census", PureDP(1)),
        "charge": lambda: ledger.charge("census", PureDP("0.1")),
        "verify": ledger.verify,
    }
    with pytest.raises(FileError, match="is empty"):
        uses[use]()
    assert ledger.path.read_bytes() == b""


def test_a_ledger_cut_at_any_page_is_damage(ledger):
    for _ in range(20):
        ledger.charge("census", PureDP("0.01"))
    whole = ledger.path.read_bytes()
    lengths = {0, 1, 15, 16, 99, 100, len(whole) - 1, *range(0, len(whole), 512)}
    for length in sorted(lengths):
        ledger.path.write_bytes(whole[:length])
        for use in (ledger.verify, lambda: ledger.register("new", PureDP(1))):
            with pytest.raises(FileError):
                use()
    ledger.path.write_bytes(whole)
    assert ledger.verify() == 20


def test_a_ledger_that_is_made_by_two_at_once_is_made_once(tmp_path):
    """Threads, each with a connection of its own: all find the one that was made, and nothing else
    is left."""
    ledger = Ledger(tmp_path / "x.db")
    start = threading.Barrier(8)
    failed = []

    def register(name):
        start.wait()
        try:
            ledger.register(name, PureDP(1))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=register, args=(f"d{place}",)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and sorted(ledger.datasets()) == [f"d{place}" for place in range(8)]
    assert os.listdir(tmp_path) == ["x.db"]


def test_what_cannot_be_linked_is_no_ledger(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(FileError, match="local disk"):
        Ledger(tmp_path / "x.db").register("d", PureDP(1))
    assert not os.listdir(tmp_path)


def test_the_command_takes_the_unit(tmp_path, capsys):
    path = tmp_path / "agency.db"
    run(
        "ledger",
        "create",
        path,
        "--dataset",
        "visits",
        "--epsilon",
        "2",
        "--unit",
        "id",
        "--rows-per-person",
        "3",
    )
    run("ledger", "create", path, "--dataset", " visits", "--epsilon", "2", code=2)
    ledger = Ledger(path)
    said = Statement(budget=PureDP("0.5", rows_per_person=3), unit="id")
    ledger.charge("visits", said.budget, statement=said)
    capsys.readouterr()
    run("ledger", "show", path)
    assert "counted at most 3 of the rows with the same 'id'" in capsys.readouterr().out
    run("ledger", "show", path, "--json")
    (shown,) = json.loads(capsys.readouterr().out)["datasets"]
    assert shown["statement"] == ledger.statement("visits").to_json()
    assert shown["charges"] == [{"entry": 2, "label": None, **said.to_json()}]


TABLE = {"sex": [0, 1, 1, 0, 1]}


@pytest.mark.parametrize("public", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_one_public_total_counts_for_all_releases(tmp_path, kind, public):
    ledger = Ledger(tmp_path / "agency.db")
    ledger.register("people", kind(3))
    assert ledger.strength("people") is None
    for known in public:
        domain = margin.Domain({"sex": 2}, rows=5 if known else None)
        margin.release(TABLE, domain=domain, budget=kind(1), ledger=ledger.dataset("people"))
    strength = ledger.strength("people")
    assert ledger.public_totals("people") == public
    name, factor = ("epsilon", 2) if kind is PureDP else ("rho", 4)
    if any(public):
        assert strength.steps == 2
        assert strength.numbers == f"{name} = {factor} x 2 = {factor * 2}"
    else:
        assert strength.steps == 1 and strength.numbers == f"{name} = 2"
    # What may still be spent is the plain sum.
    assert ledger.remaining("people") == 1 and ledger.verify() == 2


def test_show_tells_the_sum_of_rho_as_an_epsilon(tmp_path, capsys):
    path = tmp_path / "agency.db"
    ledger = Ledger(path)
    ledger.register("people", ZCDP(3))
    for _ in range(2):
        margin.release(TABLE, domain={"sex": 2}, budget=ZCDP(1), ledger=ledger.dataset("people"))
    run("ledger", "show", path)
    whole = ledger.strength("people")
    assert f"spent in all: rho = 2 ({whole.converted})" in capsys.readouterr().out


@pytest.mark.parametrize("rows", [None, 5])
@pytest.mark.parametrize(
    "kind", [PureDP, ZCDP, lambda epsilon: PureDP(epsilon, neighbours=Neighbours.REPLACE_ROW)]
)
def test_show_tells_the_factor_of_the_odds_in_the_words_of_info(tmp_path, capsys, kind, rows):
    """Two releases of 1 from a budget of 3: those of one release of 2, and of one of 3."""
    path = tmp_path / "agency.db"
    ledger = Ledger(path)
    ledger.register("people", kind(3))
    domain = margin.Domain({"sex": 2}, rows=rows)
    for _ in range(2):
        margin.release(TABLE, domain=domain, budget=kind(1), ledger=ledger.dataset("people"))
    run("ledger", "show", path)
    shown = capsys.readouterr().out
    for start, amount in {"what is spent": 2, "the whole budget": 3}.items():
        (line,) = [part for part in shown.splitlines() if part.startswith(f"  with {start}, ")]
        told = how_strong(Statement(budget=kind(amount)), domain)
        pattern = r"change (the odds [^:]*?) by a factor of (at most [\w.,()]+[\w)])"
        factors = re.findall(pattern, told)
        assert len(factors) == line.count("factor")
        for odds, factor in factors:
            assert f"change {odds} by a factor of {factor}" in line
    # If all is spent, there is no second line; nor a first one if nothing is.
    margin.release(TABLE, domain=domain, budget=kind(1), ledger=ledger.dataset("people"))
    ledger.register("others", kind(3))
    run("ledger", "show", path)
    people, others = capsys.readouterr().out.split("others: ")
    assert "what is spent" in people and "the whole budget" not in people
    assert "what is spent" not in others and "the whole budget" in others


def test_known_counts_are_public_totals_and_replaced_rows_are_not_doubled(tmp_path):
    ledger = Ledger(tmp_path / "agency.db")
    replaced = PureDP(3, neighbours=Neighbours.REPLACE_ROW)
    ledger.register("added", PureDP(3))
    ledger.register("replaced", replaced)
    for name, budget in (
        ("added", PureDP(1)),
        ("replaced", dataclasses.replace(replaced, epsilon=1)),
    ):
        margin.release(
            TABLE,
            domain={"sex": 2},
            budget=budget,
            ledger=ledger.dataset(name),
            known={("sex",): [2, 3]},
        )
    assert ledger.public_totals("added") == ledger.public_totals("replaced") == (True,)
    assert ledger.strength("added").steps == 2 and ledger.strength("replaced").steps == 1


def test_a_charge_that_does_not_say_whether_totals_are_public_counts_as_if_it_did(tmp_path):
    whole = Statement(budget=PureDP(3))
    assert together(whole, F(2), [False, None]).numbers == "epsilon = 2 x 2 = 4"
    approximate = Statement(budget=ApproxDP(1, "1e-9"))
    found = together(approximate, F(1, 100), [True])
    assert found.delta == 1e-9
    assert found.epsilon == pytest.approx(epsilon_of(F(4, 100), 1e-9), abs=1e-3)


def test_show_tells_the_guarantee_given_public_totals(tmp_path, capsys):
    path = tmp_path / "agency.db"
    ledger = Ledger(path)
    ledger.register("people", PureDP(3))
    start = {"budget": PureDP(1), "ledger": ledger.dataset("people")}
    margin.release(TABLE, domain={"sex": 2}, **start)
    assert main(["ledger", "show", str(path)]) == 0
    assert "in all" not in capsys.readouterr().out
    margin.release(TABLE, domain=margin.Domain({"sex": 2}, rows=5), **start)
    assert main(["ledger", "show", str(path)]) == 0
    told = capsys.readouterr().out.splitlines()[1]
    assert "what a row says is protected with epsilon = 2 x 2 = 4 in all" in told
    assert "since 1 of 2 releases declared public totals" in told
    assert main(["ledger", "show", str(path), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["datasets"]
    assert shown["strength"]["epsilon"] == 4
    assert shown["public_totals"] == [False, True]


def test_a_label_is_kept_with_its_charge(tmp_path):
    """Charges without a label, as earlier versions wrote them, have an empty one."""
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("p", PureDP(2))
    ledger.charge("p", PureDP("0.5"))
    dataset = ledger.dataset("p", label="spring 2026")
    assert dataset.charge(PureDP("0.5")).sequence == 3
    margin.release({"a": [0, 1]}, domain={"a": 2}, budget=PureDP("0.5"), ledger=dataset)
    charges = ledger.charged("p")
    assert [charge.sequence for charge in charges] == [2, 3, 4]
    assert [charge.label for charge in charges] == ["", "spring 2026", "spring 2026"]
    assert ledger.verify() == 3
    with pytest.raises(TypeError, match=r"'label'; .* pass ledger=ledger.dataset\(name, label="):
        margin.release({"a": [0]}, domain={"a": 2}, budget=PureDP(1), label="spring 2026")
    for label in ("x" * 201, "two\nlines", 3):
        with pytest.raises(BudgetError, match="a label must be a text"):
            ledger.dataset("p", label=label)
