"""Objects that differ in anything have different digests; what cannot be looked into is refused."""

import collections
import contextlib
import datetime
import functools
import os
import threading
import types
import weakref
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from margin.audit.outputs.digest import difference, digest_of
from margin.audit.violation import Violation
from margin.errors import DataError

_kept = []


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
    "union of types": lambda n: int | (str if n % 2 else float),
    "generic type": lambda n: list[str if n % 2 else float],
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
