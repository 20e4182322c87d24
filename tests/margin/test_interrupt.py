"""Ctrl-C between any two steps of a release: the message agrees with the ledger."""

import ctypes
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import FileError, Ledger, PureDP
from margin.cli.main import main
from margin.interrupts import check, watched
from margin.mechanisms import Flat

FILES = {"release.py", "gate.py", "ledger.py", "ledger_file.py"}
FOLDER = str(Path(margin.__file__).parent)
CODES = np.array([[0], [1], [1]])
DOMAIN = margin.Domain({"a": 2})
BUDGET = PureDP("0.001")


class Interrupting:
    """Raise KeyboardInterrupt before a given bytecode of the release, the gate or the ledger.

    `at` counts the bytecodes from the call of `Private._charge` on: before, nothing can have been
    charged.
    """

    def __init__(self, at):
        self.at = at
        self.seen = 0
        self.begun = False

    def __call__(self, frame, event, _):
        path = frame.f_code.co_filename
        if not path.startswith(FOLDER) or path.rpartition("/")[2] not in FILES:
            return None
        self.begun |= frame.f_code.co_name == "_charge"
        frame.f_trace_opcodes = True
        if event == "opcode" and self.begun:
            self.seen += 1
            if self.seen == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupted(ledger, at):
    """The message of a release that is interrupted at a bytecode. None if it ends before."""
    tracer = Interrupting(at)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        margin.release(
            CODES, domain=DOMAIN, budget=BUDGET, mechanism=Flat(), ledger=ledger.dataset("p")
        )
    except KeyboardInterrupt as error:
        return str(error)
    finally:
        sys.settrace(before)
    assert tracer.begun and tracer.seen < at
    return None


@pytest.fixture
def folder_in_memory(tmp_path):
    """A folder that waits for no disk, where the system has one: thousands of charges are made."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_an_interrupt_at_any_bytecode_says_what_the_ledger_says(folder_in_memory):
    new, ledger = Ledger(folder_in_memory / "new.db"), Ledger(folder_in_memory / "l.db")
    new.register("p", PureDP(1))
    told, at = {True: 0, False: 0}, 0
    while True:
        at += 1
        shutil.copy(new.path, ledger.path)
        text = interrupted(ledger, at)
        if text is None:
            break
        charged = ledger.spent("p") > 0
        # After the last handler the interrupt has no message.
        assert text == "" or ("has already been charged" in text) == charged, (at, text)
        assert text == "" or ("nothing has been charged" in text) == (not charged), (at, text)
        told[charged] += text != ""
    assert min(told.values()) > 100, told


def in_the_way(monkeypatch, error, *, after):
    """Make the charge fail with an error, before or after it is written."""
    charge = Ledger._charge

    def failing(self, *arguments):
        if after:
            charge(self, *arguments)
        raise error

    monkeypatch.setattr(Ledger, "_charge", failing)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), FileError("the disk is full")], ids=["interrupt", "error"]
)
def test_whatever_stops_a_charge_the_ledger_is_asked(tmp_path, monkeypatch, error, after):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("p", PureDP(1))
    in_the_way(monkeypatch, error, after=after)
    with pytest.raises(type(error)) as stopped:
        margin.release(
            CODES, domain=DOMAIN, budget=BUDGET, mechanism=Flat(), ledger=ledger.dataset("p")
        )
    assert (
        ("the budget has already been charged" in str(stopped.value))
        == after
        == bool(ledger.spent("p"))
    )


def test_a_ledger_that_cannot_be_asked_is_not_guessed(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("p", PureDP(1))
    in_the_way(monkeypatch, KeyboardInterrupt(), after=True)

    def unreadable(*_):
        raise FileError("locked")

    monkeypatch.setattr(Ledger, "_has", unreadable)
    unknown = "it is not known whether the budget has been charged: check the ledger"
    with pytest.raises(KeyboardInterrupt, match=unknown):
        margin.release(
            CODES, domain=DOMAIN, budget=BUDGET, mechanism=Flat(), ledger=ledger.dataset("p")
        )


class Own:
    """A user's own ledger, which cannot say whether it was charged."""

    def __init__(self, *, fails):
        self.fails = fails

    def charge(self, budget, /):
        if self.fails:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("own", "where", "told"),
    [
        (Own(fails=True), "charge", "it is not known whether"),
        (Own(fails=False), "read", "nothing has been charged"),
        (None, "read", "nothing has been charged"),
        (Own(fails=False), "after", "has already been charged"),
    ],
)
def test_a_ledger_of_ones_own(own, where, told, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    if where == "read":
        monkeypatch.setattr("margin.private.gate.count", interrupt)
    if where == "after":
        monkeypatch.setattr(sys.modules["margin.release"], "Provenance", interrupt)
    with pytest.raises(KeyboardInterrupt, match=told):
        margin.release(CODES, domain=DOMAIN, budget=BUDGET, mechanism=Flat(), ledger=own)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), FileError("the disk is full")], ids=["interrupt", "error"]
)
def test_a_release_that_cannot_be_written_says_that_it_was_made(
    error, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "t.csv").write_text("a\n0\n1\n")

    def fails(*_, **__):
        raise error

    monkeypatch.setattr("margin.store.write", fails)
    code = main(["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", "x.margin"])
    told = capsys.readouterr().err
    assert code in (4, 130) and "its budget spent" in told and "'x.margin' was not written" in told


@pytest.mark.parametrize("where", ["start", "before", "noise", "file", "after"])
def test_an_internal_error_says_what_became_of_the_budget(where, tmp_path, monkeypatch, capsys):
    """A second try would spend the budget again, so the message must not advise one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    place = {
        "start": (margin, "Domain"),
        "before": (sys.modules["margin.private.gate"], "count"),
        "noise": (sys.modules["margin.release"], "Provenance"),
        "file": (sys.modules["margin.store"], "_encoded"),
        "after": (sys.modules["margin.cli.release"], "spent_of"),
    }

    def fails(*_, **__):
        raise ZeroDivisionError("a value of the data")

    monkeypatch.setattr(*place[where], fails)
    code = main(["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", "x.margin"])
    told = capsys.readouterr().err
    nothing = "(ZeroDivisionError); no noise was drawn, and nothing has been charged; --debug"
    fate = {
        "start": nothing,
        "before": nothing,
        "noise": "has already been charged, but there is no result and no file",
        "file": "its budget spent, but 'x.margin' was not written",
        "after": "the release is complete, and 'x.margin' is written",
    }
    assert code == (4 if where in ("noise", "file") else 1)
    assert (tmp_path / "x.margin").exists() == (where == "after")
    assert "internal error (ZeroDivisionError)" in told
    assert fate[where] in told and "a value" not in told and "run again" not in told


def test_an_interrupt_that_a_callback_drops_is_not_printed(capfd):
    """Python prints a traceback for it. It is raised again, so the message tells of it."""
    # A job in the background ignores the signal; a terminal does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def callback():
        signal.raise_signal(signal.SIGINT)

    def fails():
        raise ZeroDivisionError

    def work():
        with watched():
            ctypes.CFUNCTYPE(None)(callback)()
            while True:
                check()

    hook = sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.unraisablehook is hook and "Traceback" not in capfd.readouterr().err
    # Other exceptions go to the hook as before.
    seen = []
    sys.unraisablehook = seen.append
    try:
        with watched():
            ctypes.CFUNCTYPE(None)(fails)()
    finally:
        sys.unraisablehook = hook
    assert [one.exc_type for one in seen] == [ZeroDivisionError]
