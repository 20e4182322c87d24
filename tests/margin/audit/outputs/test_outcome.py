"""Whatever lets out a true count is seen, by whatever way it leaves; what cannot be seen into is
refused."""

import collections
import contextlib
import datetime
import functools
import logging
import os
import subprocess
import sys
import threading
import types
import warnings
import weakref
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import margin
from margin.audit import audit
from margin.audit.outputs.digest import difference, digest_of
from margin.audit.outputs.outcome import outcome_of
from margin.audit.violation import Violation
from margin.domain.domain import Domain
from margin.errors import DataError
from margin.privacy.budget import PureDP

DOMAIN = Domain({"a": 2})
_kept = []
_variable = {}


class Slots:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


class MoreSlots(Slots):
    __slots__ = ("other",)


class Plain:
    def __init__(self, n):
        self.n = n

    def method(self):
        return self.n

    def __repr__(self):
        return "the same"

    def __eq__(self, other):
        return True

    __hash__ = None


class Hides:
    """Denies what it holds."""

    def __init__(self, n):
        object.__setattr__(self, "n", n)

    def __getattribute__(self, name):
        raise AttributeError(name)

    def __reduce__(self):
        return Hides, (0,)


class Number(int):
    pass


class Kind(Enum):
    ONE = 1


@dataclass
class Record:
    x: int = 0


def extra(n):
    record = Record()
    record.more = n
    return record


def subclass(n):
    number = Number(3)
    number.n = n
    return number


def generator(n):
    yield n


def started(n):
    made = (x for x in [n, n])
    next(made)
    return made


def caught(n):
    try:
        try:
            raise KeyError(n)
        except KeyError:
            raise DataError("the same") from None
    except DataError as error:
        return error


def noted(n):
    error = DataError("the same")
    error.add_note(str(n))
    return error


def because(n):
    error = DataError("the same")
    error.__cause__ = KeyError(n)
    return error


def alive(n):
    _kept.append(Plain(n))
    return weakref.ref(_kept[-1])


def deep(n):
    value = [n]
    for _ in range(200):
        value = [value]
    return value


def cyclic(n):
    value = {}
    value["self"], value["n"] = value, n
    return value


def structured(n):
    return np.array([(1, n)], [("x", int), ("y", int)])


def masked(n):
    return np.ma.array([1, n], mask=[False, True])


def subarray(n):
    array = np.zeros(2).view(type("Array", (np.ndarray,), {}))
    array.n = n
    return array


HOLDERS = {
    "slots": Slots,
    "inherited slots": MoreSlots,
    "attributes": Plain,
    "hidden attributes": Hides,
    "attributes beside fields": extra,
    "attributes of a number": subclass,
    "closure": lambda n: lambda: n,
    "default": lambda n: lambda x=n: x,
    "keyword default": lambda n: lambda *, x=n: x,
    "constant of code": lambda n: eval(f"lambda: {n}"),
    "attribute of a function": lambda n: vars(f := lambda: 0).update(n=n) or f,
    "closure in a closure": lambda n: (lambda g: lambda: g())(lambda: n),
    "bound method": lambda n: Plain(n).method,
    "bound method of C": lambda n: [n].append,
    "method wrapper": lambda n: (n).__add__,
    "partial": lambda n: functools.partial(print, n),
    "partial keywords": lambda n: functools.partial(print, end=n),
    "generator": generator,
    "started generator": started,
    "iterator": lambda n: iter([n]),
    "map": lambda n: map(str, [n]),
    "zip": lambda n: zip([n], [n], strict=True),
    "reversed": lambda n: reversed([n]),
    "weak reference": alive,
    "class": lambda n: type("Local", (), {"n": n}),
    "attribute of a class": lambda n: type("Local", (), {"n": n})(),
    "property": lambda n: property(lambda self: n),
    "set": lambda n: {n, "x"},
    "frozen set": lambda n: frozenset([n]),
    "deque": lambda n: collections.deque([n]),
    "bound of a deque": lambda n: collections.deque(maxlen=n),
    "ordered dict": lambda n: collections.OrderedDict(n=n),
    "default factory": lambda n: collections.defaultdict(functools.partial(int, n)),
    "counter": lambda n: collections.Counter({"x": n}),
    "key": lambda n: {n: 0},
    "order of keys": lambda n: dict.fromkeys([n % 2, 1 - n % 2]),
    "mapping proxy": lambda n: types.MappingProxyType({"n": n}),
    "namespace": lambda n: types.SimpleNamespace(n=n),
    "range": range,
    "slice": lambda n: slice(n),
    "bytes": lambda n: b"%d" % n,
    "memory view": lambda n: memoryview(b"%d" % n),
    "bits of a float": lambda n: np.nextafter(1.0, 2.0) if n % 2 else 1.0,
    "sign of zero": lambda n: 0.0 if n % 2 else -0.0,
    "type of a number": lambda n: 1.0 if n % 2 else 1,
    "type of an array": lambda n: np.zeros(2, np.int32 if n % 2 else np.int64),
    "behind a view": lambda n: np.array([1, 2, n])[:2],
    "objects of an array": lambda n: np.array([None, n], object),
    "structured array": structured,
    "masked array": masked,
    "attribute of an array": subarray,
    "scalar": np.int64,
    "deep": deep,
    "cyclic": cyclic,
    "suppressed context": caught,
    "note": noted,
    "cause": because,
    "pandas": lambda n: pd.DataFrame({"n": [n]}),
    "pandas attributes": lambda n: pd.Series([1]).__class__([1], name=n),
    "polars": lambda n: pl.DataFrame({"n": [n]}),
    "arrow": lambda n: pa.table({"n": [n]}),
    "metadata": lambda n: pa.table({"n": [1]}).replace_schema_metadata({"n": str(n)}),
    "sparse matrix": lambda n: scipy.sparse.csr_matrix(np.full((1, 1), n)),
    "random state": np.random.default_rng,
    "name of a function": lambda n: renamed(__name__=f"f{n}"),
    "qualified name": lambda n: renamed(__qualname__=f"f{n}"),
    "module of a function": lambda n: renamed(__module__=f"m{n}"),
    "text of a function": lambda n: renamed(__doc__=str(n)),
    "annotation": lambda n: renamed(__annotations__={"n": n}),
    "own globals": lambda n: types.FunctionType(renamed().__code__, {"_kept": n}),
    "name in code": lambda n: renamed(__code__=renamed().__code__.replace(co_name=f"f{n}")),
    "file of code": lambda n: renamed(__code__=renamed().__code__.replace(co_filename=str(n))),
    "line of code": lambda n: renamed(__code__=renamed().__code__.replace(co_firstlineno=n)),
    "frame of an error": lambda n: traced(n),
    "payload of a complex": lambda n: (
        np.array([0x7FF8 << 48 | n, 0], np.uint64).view(complex).tolist()[0]
    ),
    "behind strides": lambda n: np.lib.stride_tricks.as_strided(np.arange(n), (1,)),
    "strides": lambda n: np.lib.stride_tricks.as_strided(np.zeros(99), (1,), (8 * n,)),
    "order of axes": lambda n: np.zeros((2, 3), order="F" if n % 2 else "C"),
    "a flag of an array": lambda n: frozen(n % 2),
    "metadata of a dtype": lambda n: np.zeros(2, np.dtype(int, metadata={"n": n})),
    "metadata of a field": lambda n: np.zeros(2, [("x", np.dtype(int, metadata={"n": n}))]),
    "order of a set": lambda n: set(iter([0, 8] if n % 2 else [8, 0])),
    "order of a frozen set": lambda n: frozenset([0, 8] if n % 2 else [8, 0]),
    "format of a view": lambda n: memoryview(bytes(8)).cast("H" if n % 2 else "I"),
    "a long number": lambda n: 10**5000 + n,
    "long parts": lambda n: Fraction(10**5000, n),
    "time zone": lambda n: datetime.datetime(2000, 1, 1, tzinfo=Zone(n)),
    "zone of a time": lambda n: datetime.time(1, tzinfo=Zone(n)),
    "name of a class": lambda n: type(f"T{n}", (), {}),
    "a lock": lambda n: locked(n % 2),
}


def renamed(**names):
    def function():
        return _kept

    for name, value in names.items():
        setattr(function, name, value)
    return function


def traced(n):
    def inner(secret):
        raise KeyError("the same")

    try:
        inner(n)
    except KeyError as error:
        return error.with_traceback(error.__traceback__.tb_next)


def frozen(flag):
    array = np.zeros(2)
    array.flags.writeable = bool(flag)
    return array


def locked(flag):
    lock = threading.Lock()
    if flag:
        lock.acquire()
    return lock


class Zone(datetime.tzinfo):
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return "the same"


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_whatever_holds_a_number_is_told_apart_by_it(hold):
    first, again, second = digest_of(hold(3)), digest_of(hold(3)), digest_of(hold(4))
    assert difference(first, again) == ""
    assert difference(first, second)


class Unknown(threading.local):
    pass


OPAQUE = {
    "file": lambda: open(os.devnull),  # noqa: SIM115
    "local": Unknown,
    "cache": lambda: functools.lru_cache(lambda: 0),
}


@pytest.mark.parametrize("make", OPAQUE.values(), ids=OPAQUE)
def test_what_cannot_be_seen_into_is_refused(make):
    value = make()
    with pytest.raises(Violation, match="cannot be looked into"):
        digest_of(value)
    with contextlib.suppress(AttributeError):
        value.close()


def test_what_is_nested_too_deep_is_refused():
    value = []
    for _ in range(400):
        value = [value]
    with pytest.raises(Violation, match="deep"):
        digest_of(value)


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


@pytest.mark.parametrize("event", ["socket.connect", "socket.sendto"])
def test_an_address_on_the_net_is_refused(event):
    import socket

    def connect(n):
        sys.audit(event, socket.socket.__new__(socket.socket), ("192.0.2.1", 80))

    with pytest.raises(Violation, match="connection"):
        outcome_of(lambda: connect(1))


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
        HOLDERS["slots"],
        HOLDERS["closure"],
        HOLDERS["generator"],
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
