"""The types whose objects the audit can describe, each with a function that does so."""

import datetime
import decimal
import enum
import functools
import pathlib
import re
import struct
import threading
import types
import uuid
import weakref
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from . import arrays, python_objects
from .parts import Content, Part, attributes, numbered, type_name

__all__ = ["DESCRIBE", "LEAVES", "OPEN_ENDED", "PLAIN"]


def _by_repr(kind: Any) -> Callable[[Any], Content]:
    """A function that describes an object by the `__repr__` of a type, whatever a subclass does."""
    return lambda value: (kind.__repr__(value).encode(errors="surrogatepass"), [])


def _mapping(value: Any) -> Content:
    """The keys and values of a dictionary, in their order."""
    parts: list[Part] = []
    for place, (key, item) in enumerate(dict.items(value)):
        shown = repr(key) if isinstance(key, str | int) else str(place)
        parts += [(f"[key {place}]", key), (f"[{shown}]", item)]
    return str(len(value)).encode(), parts


def _time(kind: Any) -> Callable[[Any], Content]:
    """A function that describes a time by its text and its time zone."""
    return lambda value: (kind.__repr__(value).encode(), [(".tzinfo", value.tzinfo)])


def _name_only(value: Any) -> Content:
    return getattr(value, "__name__", "").encode(), []


# Types whose text tells everything.
_BY_TEXT: tuple[type, ...] = (
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

# Locks that hold nothing, and descriptors that hold only the place of a slot.
_NAMED: tuple[type, ...] = (
    type(threading.RLock()),
    type(ABCMeta("_", (), {})._abc_impl),  # type: ignore[attr-defined]
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)

LEAVES = {type(None), bool, int, str, bytes}
"""Types whose objects hold no other object."""

PLAIN = {*LEAVES, float, complex, list, tuple, dict, Fraction}
"""Types whose entry in `DESCRIBE` tells everything, because their objects have no attributes."""

OPEN_ENDED = {OSError, defaultdict, OrderedDict, enum.Enum}
"""Types whose entry in `DESCRIBE` leaves the rest to the entries of their base classes."""

DESCRIBE: dict[type, Callable[[Any], Content]] = {
    **{kind: _by_repr(kind) for kind in _BY_TEXT},
    int: lambda value: (int.__format__(value, "x").encode(), []),  # `repr` refuses long numbers
    float: lambda value: (struct.pack("<d", value), []),
    complex: lambda value: (struct.pack("<2d", value.real, value.imag), []),
    Fraction: attributes("numerator", "denominator"),
    range: attributes("start", "stop", "step"),
    datetime.datetime: _time(datetime.datetime),
    datetime.time: _time(datetime.time),
    np.dtype: arrays.array_type,
    enum.Enum: lambda value: (value.name.encode(), []),
    np.generic: lambda value: (value.tobytes(), [(".dtype", value.dtype)]),
    np.ndarray: arrays.array,
    dict: _mapping,
    list: lambda value: (str(len(value)).encode(), numbered(list.__iter__(value))),
    tuple: lambda value: (str(len(value)).encode(), numbered(tuple.__iter__(value))),
    deque: lambda value: (str(value.maxlen).encode(), numbered(deque.__iter__(value))),
    slice: attributes("start", "stop", "step"),
    memoryview: arrays.memory_view,
    types.MappingProxyType: lambda value: _mapping(dict(value)),
    types.FunctionType: python_objects.function,
    types.CellType: python_objects.cell,
    types.CodeType: python_objects.code,
    types.UnionType: attributes("__args__"),
    types.GenericAlias: attributes("__origin__", "__args__"),
    types.MethodType: attributes("__func__", "__self__"),
    types.BuiltinMethodType: attributes("__name__", "__self__"),
    types.MethodWrapperType: attributes("__name__", "__self__"),
    types.GeneratorType: python_objects.generator,
    functools.partial: attributes("func", "args", "keywords"),
    property: attributes("fget", "fset", "fdel"),
    classmethod: attributes("__func__"),
    staticmethod: attributes("__func__"),
    weakref.ref: lambda value: (b"", [(".target", value())]),
    type: lambda value: (type_name(value), [(".bases", value.__bases__)]),
    BaseException: python_objects.exception,
    OSError: python_objects.os_error,
    types.SimpleNamespace: lambda value: (b"", []),
    defaultdict: attributes("default_factory"),
    OrderedDict: lambda value: (b"", []),
    type(threading.Lock()): lambda value: (str(value.locked()).encode(), []),
    **dict.fromkeys(_NAMED, _name_only),
}
"""For each type, a function from an object to its content. Sets are added in `digest`."""
