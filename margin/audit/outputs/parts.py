"""How the content of an object is described: as bytes, and as a list of named parts."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Content", "Part", "attributes", "numbered", "type_name"]

Part = tuple[str, object]
"""An object that another object holds, with its name there, such as `.x` or `[0]`."""

Content = tuple[bytes, list[Part]]
"""Bytes that stand for the plain content of an object, and the objects that it holds."""


def attributes(*names: str) -> Callable[[Any], Content]:
    """A function that describes an object by some of its attributes."""
    return lambda value: (b"", [(f".{name}", getattr(value, name)) for name in names])


def numbered(values: Iterator[object]) -> list[Part]:
    """The items of a sequence as parts, named by their places."""
    return [(f"[{place}]", item) for place, item in enumerate(values)]


def type_name(kind: Any) -> bytes:
    """The module and the qualified name of a type."""
    return f"{kind.__module__}.{kind.__qualname__}".encode()
