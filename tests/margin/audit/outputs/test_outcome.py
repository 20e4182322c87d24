"""Whatever way a number leaves a run, the outcome differs by it."""

import logging
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import margin
from margin.audit import audit
from margin.audit.outputs.outcome import outcome_of
from margin.domain.domain import Domain
from margin.errors import DataError
from margin.privacy.budget import PureDP

DOMAIN = Domain({"a": 2})
_variable = {}


class Slots:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


def generator(n):
    yield n


def writes(n):
    Path("side_file").write_text(str(n))


def appends_by_c(n):
    pa.OSFile("arrow_file", "wb").write(b"%d" % n)


def starts(n):
    subprocess.run([sys.executable, "-c", "pass", str(n)], check=True)


def asks(n):
    os.environ["MARGIN_SEEN"] = str(n)


def logs_with_an_error(n):
    try:
        raise KeyError(n)
    except KeyError:
        logging.getLogger("some.other").debug("the same", exc_info=True)


def raises_with_context(n):
    try:
        raise KeyError(n)
    except KeyError:
        raise DataError("the same") from None


def exits(n):
    sys.exit(n)


def keeps_a_temporary_file(n):
    import tempfile

    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(str(n))


WAYS = {
    "print": print,
    "stderr": lambda n: print(n, file=sys.stderr),
    "descriptor": lambda n: os.write(2, b"%d" % n) and None,
    "original stream": lambda n: sys.__stderr__.write(f"{n}\n") and sys.__stderr__.flush(),
    "warning": lambda n: warnings.warn(str(n), stacklevel=1),
    "kind of warning": lambda n: warnings.warn(
        "same", UserWarning if n % 2 else FutureWarning, stacklevel=1
    ),
    "log": lambda n: logging.getLogger("margin").info("rows %d", n),
    "low log": lambda n: logging.getLogger("margin.some").log(1, "%s", n),
    "level": lambda n: logging.getLogger("x").log(n, "the same"),
    "extra": lambda n: logging.getLogger("x").debug("the same", extra={"n": n}),
    "error in a log": logs_with_an_error,
    "file": writes,
    "file by C": appends_by_c,
    "temporary file": keeps_a_temporary_file,
    "name of a file": lambda n: Path(f"side_{n}").touch(),
    "folder": lambda n: Path(f"folder_{n}").mkdir(exist_ok=True),
    "program": starts,
    "environment": asks,
    "context": raises_with_context,
    "exit": exits,
    "question to a server of names": lambda n: sys.audit(
        "socket.getaddrinfo", f"{n}.example", 80, 0, 0, 0
    ),
    "attribute of a file": lambda n: sys.audit("os.setxattr", ".", "user.n", str(n), 0),
    "signal": lambda n: sys.audit("os.kill", 1, n),
    "name of a thread": lambda n: setattr(threading.current_thread(), "name", f"thread {n}"),
    "recursion": lambda n: sys.setrecursionlimit(3000 + n),
    "numpy": lambda n: np.set_printoptions(precision=n),
    "arguments": lambda n: sys.argv.append(str(n)),
    "path": lambda n: sys.path.append(str(n)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_whatever_way_a_number_leaves_it_is_seen(way, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARGIN_SEEN", "")

    def run(n):
        monkeypatch.setattr(sys, "argv", ["test"])
        monkeypatch.setattr(sys, "path", list(sys.path))
        limit, precision = sys.getrecursionlimit(), np.get_printoptions()["precision"]
        seen = outcome_of(lambda: way(n))
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        sys.setrecursionlimit(limit)
        np.set_printoptions(precision=precision)
        os.environ["MARGIN_SEEN"] = ""
        for path in tmp_path.iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        return seen

    first, again, second = run(3), run(3), run(4)
    assert first == again
    assert first != second and first.differs(second)


def cheat(way):
    """A mechanism that measures, and lets out the true number of rows in another way."""

    class Cheat:
        def run(self, private, workload):
            private.measure([("a",)])
            return way(sum(len(batch["a"]) for batch in private._source.batches(private.domain)))

    return Cheat()


class Remembers:
    def run(self, private, workload):
        private.measure([("a",)])
        self.rows = sum(len(batch["a"]) for batch in private._source.batches(private.domain))


@pytest.mark.parametrize(
    "way",
    [
        Slots,
        lambda n: lambda: n,
        generator,
        WAYS["log"],
        WAYS["stderr"],
        writes,
    ],
)
def test_the_audit_finds_a_cheat(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert audit(cheat(way), domain=DOMAIN, budget=PureDP(1), pairs=6).findings


def test_the_audit_finds_what_a_mechanism_remembers():
    assert audit(Remembers(), domain=DOMAIN, budget=PureDP(1), pairs=6).findings


class Leaves:
    """Keeps the number of rows where its class or its module can be asked for it."""

    kept = 0

    def __init__(self, way):
        self._way = way

    def run(self, private, workload):
        private.measure([("a",)])
        self._way(sum(len(batch["a"]) for batch in private._source.batches(private.domain)))


@pytest.mark.parametrize(
    "way", [lambda n: setattr(Leaves, "kept", n), lambda n: _variable.update(n=n)]
)
def test_the_audit_finds_what_a_class_or_a_module_remembers(way):
    assert audit(Leaves(way), domain=DOMAIN, budget=PureDP(1), pairs=6).findings


def test_the_audit_refuses_the_gate_itself():
    class Gives:
        def run(self, private, workload):
            return lambda: private

    assert "the gate itself" in audit(Gives(), domain=DOMAIN, budget=PureDP(1), pairs=2).findings[0]


def test_an_honest_release_is_the_same_twice():
    table = {"a": [0, 1, 1]}
    first, second = (
        outcome_of(lambda: margin.simulate(table, domain=DOMAIN, budget=PureDP(1), seed=1).synopsis)
        for _ in range(2)
    )
    assert first == second
