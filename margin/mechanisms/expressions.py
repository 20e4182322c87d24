"""Mechanisms as texts: the expression that makes a mechanism, and the classes that it may name."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

from .. import mechanisms, solvers
from .views import priview

__all__ = ["class_named", "classes", "expression"]


def classes() -> dict[str, tuple[Any, str]]:
    """The classes that an expression may name, each with the module that offers it.

    They are the mechanisms, the strategies of `MatrixMechanism`, the selections of `PriView`, and
    the solvers that mechanisms take.
    """
    found: dict[str, tuple[Any, str]] = {}
    for room in _rooms():
        for name in room.__all__:
            kind = getattr(room, name)
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                found.setdefault(name, (kind, room.__name__))
    return found


def class_named(name: str) -> Any:
    """The class of a name in an expression; None if no class has this name."""
    return classes().get(name, (None, ""))[0]


def expression(mechanism: Any, *, modules: bool) -> str | None:
    """Write the expression that makes a mechanism, with the parameters that are not the defaults.

    Parameters
    ----------
    mechanism
        A mechanism of this package.
    modules
        Whether each class is written with its module, as in a program. Without modules it is what
        `--mechanism` takes on the command line.

    Returns
    -------
    str or None
        None if the mechanism, or one of its parameters, is of a class that no public module has.

    Examples
    --------
    >>> expression(mechanisms.Residual(order=3), modules=True)
    'margin.mechanisms.Residual(order=3)'
    >>> expression(mechanisms.PriView(views=[["age", "sex"], ["job"]]), modules=False)
    "PriView(views=[['age', 'sex'], ['job']])"
    """
    try:
        return _written(mechanism, modules)
    except TypeError:
        return None


def _rooms() -> Iterator[ModuleType]:
    yield from (mechanisms, mechanisms.strategies, solvers, priview)


def _written(value: Any, modules: bool) -> str:
    """The expression of a value; raises TypeError if it has none."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, Fraction | Decimal):
        return repr(str(value))
    if dataclasses.is_dataclass(value):
        return _call(value, modules)
    if isinstance(value, Mapping):
        pairs = [f"{_written(k, modules)}: {_written(v, modules)}" for k, v in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Iterable):
        return f"[{', '.join(_written(item, modules) for item in value)}]"
    raise TypeError


def _call(value: Any, modules: bool) -> str:
    """The call that makes a record: the name of its class, and what differs from the defaults."""
    name = type(value).__name__
    kind, module = classes().get(name, (None, ""))
    if kind is not type(value):
        raise TypeError
    parameters = []
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        if field.init and not _is_default(field, given):
            parameters.append(f"{field.name}={_written(given, modules)}")
    start = f"{module}." if modules else ""
    return f"{start}{name}({', '.join(parameters)})"


def _is_default(field: "dataclasses.Field[Any]", value: Any) -> bool:
    if field.default is not dataclasses.MISSING:
        return type(value) is type(field.default) and bool(value == field.default)
    return False
