"""Ctrl-C, SIGTERM and SIGHUP at random moments: never lost, never another error, and truly told."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import DataError, Ledger, PureDP
from margin.cli.main import main
from margin.data.encode import quietly
from margin.interrupts import ENDING, check, handlers_kept, shielded, watched
from margin.interrupts.loading import loading
from margin.interrupts.watch import has_seen
from margin.mechanisms import Flat

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

pytest.importorskip("duckdb")  # an import that a signal interrupts cannot be repeated

ROOT = Path(__file__).parent.parent.parent
CODES = np.array([[0], [1], [1]])
DOMAIN = margin.Domain({"a": 2})
BUDGET = PureDP("0.001")
NOTHING, CHARGED = "nothing has been charged", "has already been charged"

TRIALS, SEED = 200, 26


@pytest.mark.slow
def test_signals_at_random_moments_are_told_truly(tmp_path):
    """Two hundred releases of seventeen kinds of sources, with one signal each."""
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "tests" / "helpers" / "interrupted_releases.py"),
            *(str(tmp_path), str(TRIALS), str(SEED)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(trials) == TRIALS
    told = {True: 0, False: 0}
    for trial in trials:
        if trial["too late"]:  # the release had ended, or its watch was ending
            assert trial["charged"], trial
            continue
        if trial["unclear"]:  # whether the release had ended
            assert (NOTHING in trial["text"]) == (not trial["charged"]), trial
            continue
        if trial["source"] == "command" and not trial["code"]:  # the file was being written
            assert trial["charged"] and not trial["text"].count("interrupted"), trial
            continue
        expected = 130 if trial["signal"] == signal.SIGINT else -trial["signal"]
        assert trial["code"] == expected, trial
        is_charged = CHARGED in trial["text"] or "its budget spent" in trial["text"]
        assert is_charged == trial["charged"], trial
        assert (NOTHING in trial["text"]) == (not trial["charged"]), trial
        assert "DataError" not in trial["text"], trial
        told[trial["charged"]] += 1
    assert min(told.values()) >= 15 and sum(told.values()) >= TRIALS / 2, told


@pytest.fixture(autouse=True)
def _as_from_a_terminal():
    """The handlers that a new process has at a terminal.

    A background job ignores interrupts. And an earlier test may still hold a temporary folder,
    whose handler of SIGTERM removes the folder and ends the process.
    """
    new = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(ENDING, signal.SIG_DFL)}
    before = {number: signal.signal(number, handler) for number, handler in new.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def dataset(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("p", PureDP(1))
    return ledger.dataset("p")


def stopped(dataset, data=CODES, mechanism=None):
    """The text of the interrupt of a release."""
    mechanism = mechanism or Flat()
    with pytest.raises(KeyboardInterrupt) as error:
        margin.release(data, domain=DOMAIN, budget=BUDGET, mechanism=mechanism, ledger=dataset)
    return str(error.value)


class Signalled:
    """A table whose reading receives a signal, which a library drops or reports as its own."""

    def __init__(self, *, dropped):
        self.dropped = dropped

    def check(self, domain):
        pass

    def batches(self, domain):
        yield {"a": np.array([0, 1], np.uint8)}
        if self.dropped:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        else:
            quietly(self._failing, "the file is damaged")
        yield {"a": np.array([1], np.uint8)}

    def _failing(self):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("Query interrupted")


@pytest.mark.parametrize("dropped", [True, False])
def test_an_interrupt_that_a_library_drops_or_renames_is_not_charged(dataset, dropped):
    assert NOTHING in stopped(dataset, Signalled(dropped=dropped))
    assert dataset.ledger.spent("p") == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Dropping(Flat):
    """A mechanism that drops the interrupt after its charge."""

    def run(self, private, workload, /):
        synopsis = super().run(private, workload)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return synopsis


def test_an_interrupt_that_is_dropped_after_the_charge_is_told(dataset):
    assert CHARGED in stopped(dataset, mechanism=Dropping())
    assert dataset.ledger.spent("p") > 0


def test_a_query_that_is_waited_for_is_cancelled(dataset):
    endless = margin.Sql("SELECT (max(i) % 2)::INT AS a FROM range(1000000000000) r(i)")
    waiting = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
    waiting.start()
    assert NOTHING in stopped(dataset, endless)
    assert dataset.ledger.spent("p") == 0


def twice_dropped(watch):
    """Drop two exceptions of one signal."""
    watch.explain = lambda: "told"
    dropped = 0
    os.kill(os.getpid(), signal.SIGINT)
    while dropped < 2:
        try:
            threading.Event().wait(5)
        except KeyboardInterrupt:
            dropped += 1


def test_the_exception_is_raised_again_until_it_is_told():
    with pytest.raises(KeyboardInterrupt, match="told"), watched() as watch:
        twice_dropped(watch)


def shielded_work(seen):
    with shielded():
        signal.raise_signal(signal.SIGINT)
        check()
        seen.append("after the signal")
    seen.append("after the shield")


def test_a_shield_keeps_signals_back():
    seen = []
    with pytest.raises(KeyboardInterrupt), watched():
        shielded_work(seen)
    assert seen == ["after the signal"]


def test_a_signal_that_was_taken_is_forgotten():
    with watched() as watch:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        watch.taken()
        check()


def test_a_handler_of_the_program_stays():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with watched():
            signal.raise_signal(signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_errors_without_a_signal_stay_as_they_are():
    with pytest.raises(DataError, match="own"), watched():
        raise DataError("own")
    with pytest.raises(KeyboardInterrupt, match="own"), watched():
        raise KeyboardInterrupt("own")


def test_a_command_that_is_interrupted_before_its_release_says_so(tmp_path, monkeypatch, capsys):
    def interrupted(_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("margin.cli.release.budget_of", interrupted)
    line = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", str(tmp_path / "x")]
    assert main(line) == 130
    assert NOTHING in capsys.readouterr().err


WHILE_IMPORTED = """
import os, signal, sys

module, number = sys.argv[1:]

class Signalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), int(number))

sys.meta_path.insert(0, Signalled)
"""
IN_A_PROGRAM = """
import margin
try:
    margin.release
except KeyboardInterrupt as error:
    sys.exit(f"told: {error}")
"""
ON_THE_COMMAND_LINE = """
from margin.__main__ import run
sys.argv[1:] = ["--version"]
sys.exit(run())
"""


@pytest.mark.parametrize(
    ("program", "module", "code"),
    [
        (IN_A_PROGRAM, "margin.private", 1),
        (ON_THE_COMMAND_LINE, "margin.cli.main", 130),
        (ON_THE_COMMAND_LINE, "margin.interrupts.watch", 130),
    ],
    ids=["program", "command", "command, first module"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING])
def test_a_signal_while_modules_are_imported_is_told(program, module, code, number):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTED + program, module, str(int(number))],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == (code if number == signal.SIGINT else -number)
    assert done.stderr.count(NOTHING) == 1 and "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("module", "when"),
    [
        ("margin.cli.streams", "before the command began"),
        ("margin.interrupts.watch", "before the command began"),
        ("margin.cli.main", "before the command began"),
        ("margin.release", "no noise was drawn"),
        ("duckdb", "no noise was drawn"),
    ],
)
@pytest.mark.parametrize("number", ENDING)
def test_process_1_ends_with_the_code_of_the_signal(tmp_path, as_process_1, module, when, number):
    """The kernel ignores signals with the default action there, so the code is not a signal's."""
    table, declared, output = (tmp_path / name for name in ("t.csv", "d.json", "o.margin"))
    table.write_text("a\n0\n1\n")
    declared.write_text('{"a": 2}')
    line = ["release", table, "--domain", declared, "--epsilon", "1", "-o", output]
    program = (
        WHILE_IMPORTED + f"from margin.__main__ import run\nsys.argv[1:] = {[*map(str, line)]}\n"
    )
    done = subprocess.run(
        [*as_process_1, sys.executable, "-c", program + "run()", module, str(int(number))],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 128 + number, done.stderr
    assert done.stderr.count(NOTHING) == 1 and when in done.stderr
    assert not output.exists()


IN_PROCESS_1 = """
import os, signal
import margin
from margin.interrupts import watched
with watched():
    os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_program_of_a_user_ends_as_process_1_too(as_process_1):
    line = [*as_process_1, sys.executable, "-c", IN_PROCESS_1]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 143 and "Traceback" not in done.stderr


BETWEEN_WATCHES = """
import os, signal, sys
import margin.cli.main as cli
from margin.__main__ import run
from margin.interrupts import watch
number = int(sys.argv[1])
end = watch.Watch.end
def ended(own):
    end(own)
    os.kill(os.getpid(), number)
watch.Watch.end = ended
sys.argv[1:] = ["--version"]
run()
"""


@pytest.mark.parametrize("number", ENDING)
def test_no_signal_is_lost_between_two_watches(as_process_1, number):
    line = [*as_process_1, sys.executable, "-c", BETWEEN_WATCHES, str(int(number))]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 128 + number and done.stderr.count(NOTHING) == 1
    assert not done.stdout


AFTER_A_FAILURE = """
import os, signal, sys
import margin.cli.main as cli
from margin.__main__ import run
told = cli._told
def signalled(*words):
    told(*words)
    os.kill(os.getpid(), signal.SIGTERM)
cli._told = signalled
sys.argv[1:] = ["info", "missing.margin"]
run()
"""


def test_a_signal_after_the_message_adds_none():
    """Not that of a command that has not begun: this one may have charged its budget."""
    line = [sys.executable, "-c", AFTER_A_FAILURE]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGTERM
    assert done.stderr.count("margin: ") == 1 and NOTHING not in done.stderr


RAISED_WHILE_IMPORTED = """
import signal, sys

class Raising:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)  # as OpenBLAS does

module = sys.argv.pop(1)
sys.meta_path.insert(0, Raising)
from margin.__main__ import run
sys.exit(run())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="signals are told apart on Linux only")
@pytest.mark.parametrize("module", ["numpy", "scipy.linalg"])
def test_a_signal_that_a_library_raises_while_it_is_imported_is_no_interrupt(tmp_path, module):
    options = ["--domain", "d.json", "--epsilon", "1", "-o", str(tmp_path / "o.margin")]
    done = subprocess.run(
        [sys.executable, "-c", RAISED_WHILE_IMPORTED, module, "release", "t.csv", *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "no more threads" in done.stderr
    assert done.stderr.count(NOTHING) == 1 and "interrupted" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="signals are told apart on Linux only")
def test_an_interrupt_while_libraries_are_loaded_stays_one():
    def interrupted():
        with watched(), loading():
            os.kill(os.getpid(), signal.SIGINT)
            # The thread of the watch takes it.
            while not has_seen():
                threading.Event().wait(0.01)

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_a_watch_around_another_one_keeps_its_text():
    def inner():
        with watched(text="inner"):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="outer"), watched(text="outer"):
        inner()


def test_a_signal_while_a_watch_ends_is_told(monkeypatch):
    """The thread of the watch may end late; until then the handlers stay."""
    join = threading.Thread.join

    def slow(thread, timeout=None):
        signal.raise_signal(signal.SIGINT)
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", slow)
    with pytest.raises(KeyboardInterrupt, match="told"), watched(text="told"):
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", ENDING)
def test_an_ignored_signal_stays_ignored(number):
    """As SIGHUP is under nohup."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with watched():
            signal.raise_signal(number)
            check()
            assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING])
def test_signals_are_ignored_once_the_work_is_complete(number):
    before = signal.getsignal(number)
    with handlers_kept():
        with watched(ends=True) as watch:
            with shielded():
                signal.raise_signal(number)
                watch.complete()
            signal.raise_signal(number)
            check()
        assert signal.getsignal(number) is signal.SIG_IGN
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING])
def test_a_release_is_complete_once_its_file_is_written(tmp_path, monkeypatch, capsys, number):
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    save = margin.Synopsis.save

    def saved(synopsis, path, *, replace):
        save(synopsis, path, replace=replace)
        signal.raise_signal(number)

    monkeypatch.setattr(margin.Synopsis, "save", saved)
    table, declared, output = (str(tmp_path / name) for name in ("t.csv", "d.json", "o.margin"))
    line = ["release", table, "--domain", declared, "--epsilon", "1", "-o", output, "--json"]
    assert main(line) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["output"] == output and "no ledger" in told.err
    assert margin.load(output).summary()


AT_THE_END = """
import atexit, os, signal, sys
from margin.__main__ import run
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(print, "last")
atexit.register(os.kill, os.getpid(), int(sys.argv[1]))
sys.argv[1:] = ["ledger", "create", sys.argv[2], "--dataset", "p", "--epsilon", "1", "--json"]
sys.exit(run())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING])
def test_a_signal_after_the_output_changes_nothing(tmp_path, number):
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(int(number)), str(tmp_path / "l.db")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    printed, _, last = done.stdout.rpartition("}")
    assert done.returncode == 0 and not done.stderr
    assert json.loads(printed + "}")["dataset"] == "p" and last.strip() == "last"


STUCK = """
import os, signal, sys, threading
import margin.cli.main as cli

class Parsed:
    debug = json = False
    @staticmethod
    def command(parsed):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:  # a library that drops every interrupt
            try:
                threading.Event().wait(60)
            except KeyboardInterrupt:
                pass

cli.Parser.parse_args = lambda *_: Parsed
cli.main([])
"""


@pytest.mark.slow
def test_a_command_that_does_not_stop_is_ended():
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, timeout=30)
    assert done.returncode == 130 and b"margin: interrupted" in done.stderr
