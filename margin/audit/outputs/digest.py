"""`look`: all that an object holds, as a tree of digests; what cannot be seen into is refused.

Two runs that must let out the same are compared by these trees. A digest depends on values only,
not on addresses, so that equal objects have equal digests. Whatever can be reached from Python code
that holds the object is looked at: attributes in `__dict__` and `__slots__`, the cells of closures,
default values, names and texts of functions, the locals of generators, what methods and partials
are bound to, the targets of weak references, the memory behind the views of an array and how it is
laid out, the metadata of its dtype, the causes, the contexts and the tracebacks of exceptions, the
order of sets.

Not looked at: which of two equal objects it is, how much memory a list or a text has in reserve.
"""

import datetime
import decimal
import enum
import functools
import hashlib
import pathlib
import re
import struct
import sys
import threading
import types
import uuid
import warnings
import weakref
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ...private.gate import Gate

__all__ = ["Seen", "Violation", "difference", "look"]

_DEEPEST = 250
_SHORT = 200  # characters, bytes or bits of a plain value whose digest is kept
_BY_COPY = ("pandas", "polars", "pyarrow")  # libraries whose objects are what they are copied from
_POINTER = struct.calcsize("P")
_STRIDED: type = type(
    np.lib.stride_tricks.as_strided(np.zeros(1)).base
)  # stands between an array and its memory

Part = tuple[str, object]
Content = tuple[bytes, list[Part]]


class Violation(Exception):
    """What a mechanism did that it must not do."""


@dataclass(
    frozen=True,
    eq=False,
)
class Seen:
    """What was seen of an object: a digest of all of it, and its parts by name."""

    digest: bytes
    parts: "tuple[tuple[str, Seen], ...]"


def look(value: object, *, traces: bool = True) -> Seen:
    """What an object holds.

    Parameters
    ----------
    value
        The object.
    traces
        Whether what the frames of tracebacks hold is looked at. Those of an error that passed
        through the gate hold the gate.

    Raises
    ------
    Violation
        When it holds the gate, or something that cannot be seen into, such as an object of a C
        library that does not say how it is copied.
    """
    return _Looker(traces).at(value, "", 0)


def difference(
    first: Seen,
    second: Seen,
    name: str = "",
) -> str:
    """Where two objects differ, as a path of attributes and places; empty where they do not."""
    if first.digest == second.digest:
        return ""
    names = [[part for part, _ in seen.parts] for seen in (first, second)]
    if names[0] == names[1]:
        for (part, ours), (_, theirs) in zip(first.parts, second.parts, strict=True):
            if ours.digest != theirs.digest:
                return difference(ours, theirs, f"{name}{part}") or f"{name}{part}"
    return name or "the value itself"


class _Looker:
    """One look, which visits every object once."""

    def __init__(self, traces: bool) -> None:
        self._traces = traces
        self._seen: dict[int, Seen] = {}
        self._alive: list[object] = []  # so that no address is used twice
        self._within: dict[int, int] = {}

    def at(
        self,
        value: object,
        name: str,
        depth: int,
    ) -> Seen:
        if depth > _DEEPEST:
            raise Violation(
                f"lets out objects nested more than {_DEEPEST} deep, which are not looked into"
            )
        if type(value) in _LEAVES:
            return _leaf(value)
        key = id(value)
        if key in self._seen:
            return self._seen[key]
        if key in self._within:  # a cycle: how far up it leads
            return Seen(b"cycle %d" % (depth - self._within[key]), ())
        self._alive.append(value)
        self._within[key] = depth
        content, children = _content(value)
        if self._traces and isinstance(value, BaseException):
            children = children + _traced(value)
        parts = tuple((part, self.at(child, part, depth + 1)) for part, child in children)
        del self._within[key]
        self._seen[key] = seen = _made(value, content, parts)
        return seen


def _made(
    value: object,
    content: bytes,
    parts: "tuple[tuple[str, Seen], ...]",
) -> Seen:
    """What was seen of an object, from its plain content and its parts."""
    kind: Any = type(value)
    hashed = hashlib.sha256(_name(kind) + b"\0" + content)
    hashed.update(
        b"".join(f"\0{len(part)}\0{part}\0".encode() + seen.digest for part, seen in parts)
    )
    return Seen(hashed.digest(), parts)


def _leaf(value: Any) -> Seen:
    """What was seen of a plain value, which holds nothing else; of short ones it is kept."""
    return (
        _short_leaf(value)
        if not isinstance(value, int | str | bytes) or _is_short(value)
        else _new_leaf(value)
    )


def _is_short(value: int | str | bytes) -> bool:
    size = value.bit_length() if isinstance(value, int) else len(value)
    return size <= _SHORT


def _new_leaf(value: Any) -> Seen:
    return _made(value, _HANDLERS[type(value)](value)[0], ())


_short_leaf = lru_cache(
    maxsize=1 << 14,
    typed=True,
)(_new_leaf)


def _content(value: Any) -> Content:
    """What is directly in an object: bytes that stand for its plain content, and the objects it
    holds."""
    if type(value) in _AT_ONCE:
        return _HANDLERS[type(value)](value)
    if isinstance(value, Gate):
        raise Violation("lets out the gate itself, with the rows behind it")
    if (name := _importable(value)) is not None:
        return name, []
    if type(value).__module__.split(".")[0] in _BY_COPY and _importable(type(value)) is not None:
        return b"", [(".copied", _copied(value))]
    content = b""
    parts: list[Part] = []
    kind: Any = type(value)
    handlers, members, opaque = _plan(kind)
    for handler in handlers:
        found, more = handler(value)
        content += found
        parts += more
    for slot, member in members:
        try:
            parts.append((slot, member.__get__(value)))
        except AttributeError:
            continue  # an empty slot
    if opaque:
        parts.append((".reduced", _reduced(value)))
    if not isinstance(value, type) and _importable(type(value)) is None:
        parts.append((".__class__", type(value)))
    # Not by `vars`, which an object may override.
    attributes = _dictionary(value)
    if attributes:
        parts += [(f".{name}", attributes[name]) for name in sorted(attributes, key=str)]
    return content, parts


@lru_cache(maxsize=4096)
def _name(kind: Any) -> bytes:
    return f"{kind.__module__}.{kind.__qualname__}".encode()


def _importable(value: Any) -> bytes | None:
    """The name of a module, or of what a module holds under that name: it was there before."""
    if isinstance(value, types.ModuleType):
        name = value.__name__
        return name.encode() if sys.modules.get(name) is value else None
    if isinstance(value, str | bytes | np.ndarray | np.generic):
        return None
    try:
        module, path = value.__module__, value.__qualname__
        found: Any = sys.modules[module]
        for part in path.split("."):
            found = getattr(found, part)
    except Exception:  # whatever a user's own attributes raise
        return None
    return f"{module}:{path}".encode() if found is value else None


@lru_cache(maxsize=4096)
def _plan(kind: Any) -> "tuple[list[Callable[[Any], Content]], list[tuple[str, Any]], bool]":
    """How objects of a type are looked at: what is known of its classes, the slots that these add,
    and whether some class among them hides something."""
    handlers, members, opaque = [], [], False
    for base in kind.__mro__[:-1]:
        if (handler := _HANDLERS.get(base)) is not None:
            handlers.append(handler)
            if base not in _OPEN_ENDED:
                break
            continue
        for name, member in sorted(vars(base).items()):
            if isinstance(member, types.MemberDescriptorType) and name not in (
                "__dict__",
                "__weakref__",
            ):
                members.append((f".{name}", member))
        opaque |= _hides(base)
    return handlers, members, opaque


def _hides(kind: type) -> bool:
    """Whether objects of a class have more memory than its slots, its dictionary and its weak
    references take: the class is written in C."""
    base = kind.__base__
    if base is None:
        return False
    shown = sum(isinstance(member, types.MemberDescriptorType) for member in vars(kind).values())
    shown += ("__dict__" in vars(kind)) + ("__weakref__" in vars(kind))
    return (
        kind.__basicsize__ - base.__basicsize__ > shown * _POINTER
        or kind.__itemsize__ != base.__itemsize__
    )


def _dictionary(value: object) -> dict[str, object]:
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict(attributes) if isinstance(attributes, dict | types.MappingProxyType) else {}


def _reduced(value: Any) -> object:
    """What an object of a C type is rebuilt from when it is copied."""
    reduce = getattr(type(value), "__reduce__", None)
    if isinstance(reduce, types.FunctionType) or isinstance(
        type(value).__reduce_ex__, types.FunctionType
    ):
        raise Violation(_unseen(value))  # written in Python: it may leave out what it likes
    return _copied(value)


def _copied(value: Any) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = value.__reduce_ex__(4)
    except Exception:
        made = None
    if made is None or isinstance(made, str):
        raise Violation(_unseen(value))
    if isinstance(made, tuple) and len(made) > 3:  # items come as iterators
        made = (*made[:3], *(None if items is None else list(items) for items in made[3:]))
    return made


def _unseen(value: object) -> str:
    kind: Any = type(value)
    return f"lets out an object of type {_name(kind).decode()}, which cannot be looked into"


# What is known of types, each by a function of an object to its plain content and its parts.


def _plain(kind: Any) -> Callable[[Any], Content]:
    return lambda value: (kind.__repr__(value).encode(errors="surrogatepass"), [])


def _numbered(values: "Iterator[object]") -> list[Part]:
    return [(f"[{place}]", item) for place, item in enumerate(values)]


def _mapping(value: Any) -> Content:
    parts = []
    for place, (key, item) in enumerate(dict.items(value)):
        shown = repr(key) if isinstance(key, str | int) else str(place)
        parts += [(f"[key {place}]", key), (f"[{shown}]", item)]
    return str(len(value)).encode(), parts


def _unordered(value: Any) -> Content:
    iterate = set.__iter__ if isinstance(value, set) else frozenset.__iter__
    items = list(iterate(value))
    digests = [look(item).digest for item in items]
    # The order tells in which order items were added. Where addresses make it, it differs by
    # itself.
    return b"".join(
        digests if all(type(item) in _HASHED_BY_VALUE for item in items) else sorted(digests)
    ), []


def _array(value: Any) -> Content:
    array = np.asarray(value)
    kind, parts = _dtype(array.dtype)
    parts = list(parts)
    if array.dtype.hasobject:
        parts += _numbered(iter(array.ravel().tolist()))
        content = b""
    else:
        content = np.ascontiguousarray(array).tobytes()
    base: Any = value.base
    if isinstance(base, _STRIDED):  # it holds an address
        base = getattr(base, "base", None)
    whole = array.flags.forc and getattr(base, "nbytes", array.nbytes) == array.nbytes
    if base is not None and not whole and hasattr(base, "nbytes"):
        parts.append((".base", base))
    layout = f"{array.shape}{array.strides}{array.flags.writeable}".encode()
    return kind + layout + content, parts


def _dtype(value: Any) -> Content:
    """A type of numbers, with the metadata that it and its fields may carry."""
    parts: list[Part] = [] if value.metadata is None else [(".metadata", dict(value.metadata))]
    parts += [(f".{name}", value.fields[name][0]) for name in value.names or ()]
    if value.subdtype is not None:
        parts.append((".base", value.base))
    return repr(value).encode(errors="surrogatepass"), parts


def _view(value: Any) -> Content:
    layout = f"{value.format}{value.shape}{value.strides}{value.readonly}".encode()
    return layout + value.tobytes(), [(".obj", value.obj)]


def _function(value: Any) -> Content:
    parts: list[Part] = [
        (".__code__", value.__code__),
        (".__defaults__", value.__defaults__),
        (".__kwdefaults__", value.__kwdefaults__),
        (".__annotations__", value.__annotations__),
        (".__type_params__", getattr(value, "__type_params__", ())),
        (".__doc__", value.__doc__),
    ]
    own = value.__globals__
    if (
        vars(sys.modules.get(own.get("__name__"), types)) is not own
    ):  # no module's: made for this function
        used = sorted({*value.__code__.co_names} & own.keys())
        parts += [(f".__globals__[{name!r}]", own[name]) for name in used]
    named = f"{value.__module__}:{value.__name__}:{value.__qualname__}".encode(
        errors="surrogatepass"
    )
    return named, parts + [
        (f".{name}", cell)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    ]


def _cell(value: Any) -> Content:
    try:
        return b"", [(".cell_contents", value.cell_contents)]
    except ValueError:
        return b"empty", []


def _code(value: Any) -> Content:
    names = [name for name in dir(value) if name.startswith("co_") and name not in _LEFT_OUT]
    return b"", [(f".{name}", getattr(value, name)) for name in names]


def _generator(value: Any) -> Content:
    frame = value.gi_frame
    if frame is None:
        return b"ended", []
    place = f"{value.gi_code.co_qualname}:{frame.f_lasti}".encode()
    return place, [(".locals", dict(frame.f_locals)), (".gi_yieldfrom", value.gi_yieldfrom)]


def _exception(value: Any) -> Content:
    parts: list[Part] = [
        (".args", value.args),
        (".__cause__", value.__cause__),
        (".__context__", value.__context__),
    ]
    return str(value.__suppress_context__).encode(), parts


def _traced(error: BaseException) -> list[Part]:
    """What the frames of a traceback hold, from the first to where the error was raised."""
    parts: list[Part] = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        place = f"{frame.f_code.co_qualname}:{trace.tb_lineno}"
        parts.append((f".__traceback__[{len(parts)}]", (place, dict(frame.f_locals))))
        trace = trace.tb_next
    return parts


def _os_error(value: Any) -> Content:
    return b"", [
        (f".{name}", getattr(value, name, None))
        for name in ("errno", "strerror", "filename", "filename2")
    ]


def _attributes(*names: str) -> Callable[[Any], Content]:
    return lambda value: (b"", [(f".{name}", getattr(value, name)) for name in names])


# Deprecated, or only made when asked for.
_LEFT_OUT = ("co_lnotab", "co_lines", "co_positions", "co_branches")
_HASHED_BY_VALUE = (bool, int, float, str, bytes)

_SCALARS: tuple[type, ...] = (
    type(None),
    bool,
    str,
    bytes,
    bytearray,
    type(...),
    type(NotImplemented),
    decimal.Decimal,
    datetime.date,
    datetime.timedelta,
    datetime.timezone,
    uuid.UUID,
    pathlib.PurePath,
    pathlib.PurePosixPath,
    pathlib.Path,
    pathlib.PosixPath,
    re.Pattern,
)

_LEAVES = {type(None), bool, int, str, bytes}
_AT_ONCE = {type(None), bool, int, float, complex, str, bytes, list, tuple, dict, Fraction}

_HANDLERS: dict[type, Callable[[Any], Content]] = {
    **{kind: _plain(kind) for kind in _SCALARS},
    int: lambda value: (int.__format__(value, "x").encode(), []),  # `repr` refuses long ones
    float: lambda value: (struct.pack("<d", value), []),
    complex: lambda value: (struct.pack("<2d", value.real, value.imag), []),
    Fraction: _attributes("numerator", "denominator"),
    range: _attributes("start", "stop", "step"),
    datetime.datetime: lambda value: (
        datetime.datetime.__repr__(value).encode(),
        [(".tzinfo", value.tzinfo)],
    ),
    datetime.time: lambda value: (
        datetime.time.__repr__(value).encode(),
        [(".tzinfo", value.tzinfo)],
    ),
    np.dtype: _dtype,
    enum.Enum: lambda value: (value.name.encode(), []),
    np.generic: lambda value: (value.tobytes(), [(".dtype", value.dtype)]),
    np.ndarray: _array,
    dict: _mapping,
    list: lambda value: (str(len(value)).encode(), _numbered(list.__iter__(value))),
    tuple: lambda value: (str(len(value)).encode(), _numbered(tuple.__iter__(value))),
    deque: lambda value: (str(value.maxlen).encode(), _numbered(deque.__iter__(value))),
    set: _unordered,
    frozenset: _unordered,
    slice: _attributes("start", "stop", "step"),
    memoryview: _view,
    types.MappingProxyType: lambda value: _mapping(dict(value)),
    types.FunctionType: _function,
    types.CellType: _cell,
    types.CodeType: _code,
    types.MethodType: _attributes("__func__", "__self__"),
    types.BuiltinMethodType: _attributes("__name__", "__self__"),
    types.MethodWrapperType: _attributes("__name__", "__self__"),
    types.GeneratorType: _generator,
    functools.partial: _attributes("func", "args", "keywords"),
    property: _attributes("fget", "fset", "fdel"),
    classmethod: _attributes("__func__"),
    staticmethod: _attributes("__func__"),
    weakref.ref: lambda value: (b"", [(".target", value())]),
    type: lambda value: (_name(value), [(".bases", value.__bases__)]),
    BaseException: _exception,
    OSError: _os_error,
    types.SimpleNamespace: lambda value: (b"", []),
}
# After these the classes further up are looked at as well.
_OPEN_ENDED = {OSError, defaultdict, OrderedDict, enum.Enum}
_HANDLERS[defaultdict] = _attributes("default_factory")
_HANDLERS[OrderedDict] = lambda value: (b"", [])
_HANDLERS[type(threading.Lock())] = lambda value: (str(value.locked()).encode(), [])
# Other locks hold nothing, and descriptors only the place of a slot.
for _kind in (
    type(threading.RLock()),
    type(ABCMeta("_", (), {})._abc_impl),  # type: ignore[attr-defined]
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
):
    _HANDLERS[_kind] = lambda value: (getattr(value, "__name__", "").encode(), [])
