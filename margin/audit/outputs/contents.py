"""What an object directly holds, found without asking the object itself.

Attributes are read from `__dict__` and `__slots__`, past anything that a class overrides. An object
of a type written in C is described by what it is copied from.
"""

import struct
import sys
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...private.gate import Gate
from ..violation import Violation
from .known_types import DESCRIBE, OPEN_ENDED, PLAIN
from .parts import Content, Part, type_name

__all__ = ["content"]

# Libraries whose objects are described by what they are copied from.
_DESCRIBED_BY_COPY = ("pandas", "polars", "pyarrow")

# Size of a pointer in bytes.
_POINTER = struct.calcsize("P")

_NO_SLOTS = ("__dict__", "__weakref__")


def content(value: Any) -> Content:
    """The plain content of an object, and the objects that it holds.

    Raises
    ------
    Violation
        If the object is the gate, or cannot be looked into.
    """
    if type(value) in PLAIN:
        return DESCRIBE[type(value)](value)
    if isinstance(value, Gate):
        raise Violation(
            "The mechanism lets out the gate itself, with the rows behind it. "
            "Only the answers of the gate may be kept or returned."
        )
    if (name := _importable(value)) is not None:
        return name, []
    library = type(value).__module__.split(".")[0]
    if library in _DESCRIBED_BY_COPY and _importable(type(value)) is not None:
        return b"", [(".copied", _copied(value))]
    return _by_classes(value)


def _by_classes(value: Any) -> Content:
    """The content that the classes of an object define, and its attributes."""
    found = b""
    parts: list[Part] = []
    kind: Any = type(value)
    describers, slots, hides = _plan(kind)
    for describe in describers:
        more, more_parts = describe(value)
        found += more
        parts += more_parts
    for name, slot in slots:
        try:
            parts.append((name, slot.__get__(value)))
        except AttributeError:
            continue  # the slot is empty
    if hides:
        parts.append((".reduced", _reduced(value)))
    if not isinstance(value, type) and _importable(type(value)) is None:
        parts.append((".__class__", type(value)))
    own = _dictionary(value)
    parts += [(f".{name}", own[name]) for name in sorted(own, key=str)]
    return found, parts


def _importable(value: Any) -> bytes | None:
    """The name of a module, or of an object that a module holds under its name: it existed before
    the run."""
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
    except Exception:  # a user's own attributes may raise anything
        return None
    return f"{module}:{path}".encode() if found is value else None


@lru_cache(maxsize=4096)
def _plan(
    kind: Any,
) -> tuple[list[Callable[[Any], Content]], list[tuple[str, Any]], bool]:
    """How to describe objects of a type: the functions for its known base classes, the slots of the
    other classes, and whether one of these hides memory."""
    describers, slots, hides = [], [], False
    for base in kind.__mro__[:-1]:
        if (describe := DESCRIBE.get(base)) is not None:
            describers.append(describe)
            if base not in OPEN_ENDED:
                break
            continue
        for name, member in sorted(vars(base).items()):
            if isinstance(member, types.MemberDescriptorType) and name not in _NO_SLOTS:
                slots.append((f".{name}", member))
        hides |= _hides_memory(base)
    return describers, slots, hides


def _hides_memory(kind: type) -> bool:
    """True if objects of a class use more memory than its slots, its dictionary and its weak
    references need: the class is written in C."""
    base = kind.__base__
    if base is None:
        return False
    shown = sum(isinstance(member, types.MemberDescriptorType) for member in vars(kind).values())
    shown += ("__dict__" in vars(kind)) + ("__weakref__" in vars(kind))
    added = kind.__basicsize__ - base.__basicsize__
    return added > shown * _POINTER or kind.__itemsize__ != base.__itemsize__


def _dictionary(value: object) -> dict[str, object]:
    """The attributes of an object. `vars` is not used, because a class may override it."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict(found) if isinstance(found, dict | types.MappingProxyType) else {}


def _reduced(value: Any) -> object:
    """What an object of a C type is copied from; refused if Python code decides what that is."""
    reduce = getattr(type(value), "__reduce__", None)
    reduce_ex = type(value).__reduce_ex__
    if isinstance(reduce, types.FunctionType) or isinstance(reduce_ex, types.FunctionType):
        raise Violation(_unseen(value))
    return _copied(value)


def _copied(value: Any) -> object:
    """What the copy protocol of Python returns for an object."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = value.__reduce_ex__(4)
    except Exception:
        made = None
    if made is None or isinstance(made, str):
        raise Violation(_unseen(value))
    if isinstance(made, tuple) and len(made) > 3:  # the items of containers come as iterators
        made = (*made[:3], *(None if items is None else list(items) for items in made[3:]))
    return made


def _unseen(value: object) -> str:
    name = type_name(type(value)).decode()
    return (
        f"The mechanism lets out an object of type {name}, which cannot be looked into. "
        "Return plain objects, arrays or tables instead."
    )
