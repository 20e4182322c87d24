"""The content of Python's own machinery: functions, code, generators and exceptions."""

import sys
import types
from typing import Any

from .parts import Content, Part

__all__ = ["cell", "code", "exception", "function", "generator", "os_error", "traceback_parts"]

# Attributes of code objects that are deprecated, or computed only on request.
_SKIPPED = ("co_lnotab", "co_lines", "co_positions", "co_branches")


def function(value: Any) -> Content:
    """A function: its code, default values, closure, names and texts.

    The globals of a function belong to its module and are not content. They are content if the
    function was made with a dictionary of its own.
    """
    parts: list[Part] = [
        (".__code__", value.__code__),
        (".__defaults__", value.__defaults__),
        (".__kwdefaults__", value.__kwdefaults__),
        (".__annotations__", value.__annotations__),
        (".__type_params__", getattr(value, "__type_params__", ())),
        (".__doc__", value.__doc__),
    ]
    own = value.__globals__
    module = sys.modules.get(own.get("__name__"), types)
    if vars(module) is not own:
        used = sorted({*value.__code__.co_names} & own.keys())
        parts += [(f".__globals__[{name!r}]", own[name]) for name in used]
    closure = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    parts += [(f".{name}", kept) for name, kept in closure]
    names = f"{value.__module__}:{value.__name__}:{value.__qualname__}"
    return names.encode(errors="surrogatepass"), parts


def cell(value: Any) -> Content:
    """A variable of a closure."""
    try:
        return b"", [(".cell_contents", value.cell_contents)]
    except ValueError:
        return b"empty", []


def code(value: Any) -> Content:
    """Compiled code: its instructions, constants, names, file and line."""
    names = [name for name in dir(value) if name.startswith("co_") and name not in _SKIPPED]
    return b"", [(f".{name}", getattr(value, name)) for name in names]


def generator(value: Any) -> Content:
    """A generator: where it stands, and its local variables."""
    frame = value.gi_frame
    if frame is None:
        return b"ended", []
    place = f"{value.gi_code.co_qualname}:{frame.f_lasti}".encode()
    return place, [(".locals", dict(frame.f_locals)), (".gi_yieldfrom", value.gi_yieldfrom)]


def exception(value: Any) -> Content:
    """An exception: its arguments, its cause and its context."""
    parts: list[Part] = [
        (".args", value.args),
        (".__cause__", value.__cause__),
        (".__context__", value.__context__),
    ]
    return str(value.__suppress_context__).encode(), parts


def os_error(value: Any) -> Content:
    """The attributes that an error of the operating system has in addition."""
    names = ("errno", "strerror", "filename", "filename2")
    return b"", [(f".{name}", getattr(value, name, None)) for name in names]


def traceback_parts(error: BaseException) -> list[Part]:
    """The local variables of each frame of a traceback, from the first frame to the one that
    raised."""
    parts: list[Part] = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        place = f"{frame.f_code.co_qualname}:{trace.tb_lineno}"
        parts.append((f".__traceback__[{len(parts)}]", (place, dict(frame.f_locals))))
        trace = trace.tb_next
    return parts
