"""`digest_of`: everything that an object holds, as a tree of digests.

Two runs that must let out the same are compared by these trees. A digest depends on values only and
not on addresses, so equal objects have equal digests. Everything is followed that Python code can
reach from the object: attributes in `__dict__` and `__slots__`, the cells of closures, default
values, names and texts of functions, the local variables of generators, the objects that methods
and partials are bound to, the targets of weak references, the memory behind the views of an array
and its layout, the metadata of its dtype, the causes, contexts and tracebacks of exceptions, and
the order of sets. An object that cannot be looked into is refused.

Two things are not compared: which of two equal objects it is, and how much memory a list or a text
has in reserve.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..violation import Violation
from .contents import content
from .known_types import DESCRIBE, LEAVES
from .parts import Content, type_name
from .python_objects import traceback_parts

__all__ = ["Digest", "combined", "difference", "digest_of"]

# Largest depth of nested objects.
_DEEPEST = 250

# Largest number of characters, bytes or bits of a plain value whose digest is cached.
_SHORT = 200

# Types whose hash, and so whose order in a set, depends on their value only.
_HASHED_BY_VALUE = (bool, int, float, str, bytes)


@dataclass(
    frozen=True,
    eq=False,
)
class Digest:
    """The digest of an object.

    Attributes
    ----------
    hash
        The SHA-256 hash of everything that the object holds, 32 bytes.
    parts
        The digests of the objects that it directly holds, with their names.
    """

    hash: bytes
    parts: "tuple[tuple[str, Digest], ...]"


def digest_of(value: object, *, traces: bool = True) -> Digest:
    """The digest of an object.

    Parameters
    ----------
    value
        The object.
    traces
        Whether the local variables in the tracebacks of exceptions count. An error that passed
        through the gate has frames that hold the gate.

    Raises
    ------
    Violation
        If the object holds the gate, or an object that cannot be looked into, such as one of a C
        library that does not support copying.
    """
    return _Walk(traces).visit(value, 0)


def combined(parts: dict[str, Digest]) -> Digest:
    """One digest of several digests with names."""
    named = b"".join(f"{name}\0".encode() + part.hash for name, part in parts.items())
    labels = tuple((f"{name} ", part) for name, part in parts.items())
    return Digest(hashlib.sha256(named).digest(), labels)


def difference(
    first: Digest,
    second: Digest,
    name: str = "",
) -> str:
    """The path of attributes and places to the first difference; empty if there is none."""
    if first.hash == second.hash:
        return ""
    names = [[part for part, _ in digest.parts] for digest in (first, second)]
    if names[0] == names[1]:
        for (part, ours), (_, theirs) in zip(first.parts, second.parts, strict=True):
            if ours.hash != theirs.hash:
                return difference(ours, theirs, f"{name}{part}") or f"{name}{part}"
    for part in [*names[0], *names[1]]:
        if part not in names[0] or part not in names[1]:
            return f"{name}{part.strip()}, which only one of both has"
    return name.strip() or "the value itself"


class _Walk:
    """One walk through everything that can be reached. It visits each object once."""

    def __init__(self, traces: bool) -> None:
        self._traces = traces
        self._done: dict[int, Digest] = {}
        # Keeps the visited objects alive, so that no address is used for two objects.
        self._alive: list[object] = []
        # The depths of the objects that are being visited, by their addresses.
        self._open: dict[int, int] = {}

    def visit(self, value: object, depth: int) -> Digest:
        if depth > _DEEPEST:
            raise Violation(
                f"The mechanism lets out objects that are nested more than {_DEEPEST} deep, which "
                "the audit does not follow. Return flatter objects."
            )
        if type(value) in LEAVES:
            return _leaf(value)
        key = id(value)
        if key in self._done:
            return self._done[key]
        # A cycle is described by the number of levels that it leads up.
        if key in self._open:
            return Digest(b"cycle %d" % (depth - self._open[key]), ())
        self._alive.append(value)
        self._open[key] = depth
        plain, children = content(value)
        if self._traces and isinstance(value, BaseException):
            children = children + traceback_parts(value)
        parts = tuple((part, self.visit(child, depth + 1)) for part, child in children)
        del self._open[key]
        self._done[key] = found = _digest(value, plain, parts)
        return found


def _digest(
    value: object,
    plain: bytes,
    parts: tuple[tuple[str, Digest], ...],
) -> Digest:
    """The digest of an object from its type, its plain content and its parts."""
    kind: Any = type(value)
    hashed = hashlib.sha256(_type_name(kind) + b"\0" + plain)
    named = [f"\0{len(part)}\0{part}\0".encode() + digest.hash for part, digest in parts]
    hashed.update(b"".join(named))
    return Digest(hashed.digest(), parts)


_type_name = lru_cache(maxsize=4096)(type_name)


def _leaf(value: Any) -> Digest:
    """The digest of a plain value that holds no other object; those of short values are cached."""
    if isinstance(value, int):
        short = value.bit_length() <= _SHORT
    else:
        short = value is None or len(value) <= _SHORT
    return _short_leaf(value) if short else _new_leaf(value)


def _new_leaf(value: Any) -> Digest:
    return _digest(value, DESCRIBE[type(value)](value)[0], ())


_short_leaf = lru_cache(
    maxsize=1 << 14,
    typed=True,
)(_new_leaf)


def _set(value: Any) -> Content:
    """The items of a set, by their digests.

    The order of a set tells in which order its items were added, so it is compared. It is not
    compared if the hash of an item depends on an address, because the order then differs anyway.
    """
    iterate = set.__iter__ if isinstance(value, set) else frozenset.__iter__
    items = list(iterate(value))
    hashes = [digest_of(item).hash for item in items]
    if not all(type(item) in _HASHED_BY_VALUE for item in items):
        hashes.sort()
    return b"".join(hashes), []


# Sets are described here and not in `known_types`, because they need the digests of their items.
DESCRIBE[set] = DESCRIBE[frozenset] = _set
