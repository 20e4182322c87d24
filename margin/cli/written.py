"""A mechanism written on the command line as in Python: `HighPass(theta=5)`,
`Dyadic(HighPass(target=1000))`."""

import ast
import inspect
from typing import Any

from ..errors import MarginError

__all__ = ["is_written", "written"]


def is_written(text: str) -> bool:
    """Whether a text is meant as a mechanism with its parameters, not as a name."""
    return "(" in text


def written(text: str) -> Any:
    """The mechanism of a text. Nothing is run but the classes of mechanisms, on plain values and
    each other.

    Raises
    ------
    MarginError
        When it is not of that form, names no mechanism or a parameter that there is not, or the
        mechanism refuses.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _malformed(text) from None
    if not isinstance(tree, ast.Call):
        raise _malformed(text)
    mechanism = _built(tree, text)
    if not callable(getattr(mechanism, "run", None)):
        raise MarginError(
            f"--mechanism ({text}) is a strategy, not a mechanism: "
            f"write MatrixMechanism(strategy={text.strip()})"
        )
    return mechanism


def _built(call: ast.Call, text: str) -> Any:
    if not isinstance(call.func, ast.Name):
        raise _malformed(text)
    name = call.func.id
    kind = _class_of(name)
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        not it.arg for it in call.keywords
    ):
        raise _malformed(text)
    arguments = [_value(argument, text) for argument in call.args]
    parameters = {
        keyword.arg: _value(keyword.value, text) for keyword in call.keywords if keyword.arg
    }
    signature = inspect.signature(kind)
    try:
        signature.bind(*arguments, **parameters)
    except TypeError as error:
        raise MarginError(
            f"{name} does not take that ({error}); its parameters are {_listed(signature)}"
        ) from None
    try:
        return kind(*arguments, **parameters)
    except MarginError:
        raise
    except (TypeError, ValueError):
        raise MarginError(
            f"a parameter of {name} is of the wrong type; see the documentation of {name}"
        ) from None


def _class_of(name: str) -> Any:
    """The mechanism of a name, or the strategy that a mechanism takes as a parameter."""
    from .. import mechanisms  # here, so that the command line starts without numpy

    for room in (mechanisms, mechanisms.strategies):
        if name in room.__all__:
            return getattr(room, name)
    raise MarginError(
        f"there is no mechanism {name!r} with parameters; there are {', '.join(mechanisms.__all__)}"
    )


def _value(tree: ast.expr, text: str) -> Any:
    """A mechanism, a plain value, or a list of these."""
    if isinstance(tree, ast.Call):
        return _built(tree, text)
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _malformed(text) from None


def _malformed(text: str) -> MarginError:
    return MarginError(
        f"--mechanism ({text}) must be a name, or as in Python, such as 'HighPass(theta=5)'"
    )


def _listed(signature: inspect.Signature) -> str:
    return ", ".join(signature.parameters) or "none"
