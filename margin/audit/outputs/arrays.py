"""The content of arrays, their types of numbers, and memory views.

Two arrays with equal numbers can still differ in the memory behind a view, in their strides, in
their flags and in the metadata of their dtype. All of these are part of the content.
"""

from typing import Any

import numpy as np

from .parts import Content, Part, numbered

__all__ = ["array", "array_type", "memory_view"]

# The type of the object that numpy puts between a strided view and its memory.
_STRIDED: type = type(np.lib.stride_tricks.as_strided(np.zeros(1)).base)


def array(value: Any) -> Content:
    """The numbers of an array, its layout, its dtype, and the memory behind a view."""
    plain = np.asarray(value)
    kind, dtype_parts = array_type(plain.dtype)
    parts = list(dtype_parts)
    if plain.dtype.hasobject:
        parts += numbered(iter(plain.ravel().tolist()))
        content = b""
    else:
        content = np.ascontiguousarray(plain).tobytes()
    base: Any = value.base
    if isinstance(base, _STRIDED):  # this object itself holds an address, so take what is behind it
        base = getattr(base, "base", None)
    # The memory is compared unless the array shows all of it.
    shows_all = plain.flags.forc and getattr(base, "nbytes", plain.nbytes) == plain.nbytes
    if base is not None and not shows_all and hasattr(base, "nbytes"):
        parts.append((".base", base))
    layout = f"{plain.shape}{plain.strides}{plain.flags.writeable}".encode()
    return kind + layout + content, parts


def array_type(value: Any) -> Content:
    """A dtype, with the metadata that it and its fields may carry."""
    parts: list[Part] = [] if value.metadata is None else [(".metadata", dict(value.metadata))]
    parts += [(f".{name}", value.fields[name][0]) for name in value.names or ()]
    if value.subdtype is not None:
        parts.append((".base", value.base))
    return repr(value).encode(errors="surrogatepass"), parts


def memory_view(value: Any) -> Content:
    """The bytes and the layout of a memory view, and the object behind it."""
    layout = f"{value.format}{value.shape}{value.strides}{value.readonly}".encode()
    return layout + value.tobytes(), [(".obj", value.obj)]
