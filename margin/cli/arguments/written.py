"""Mechanisms as Python expressions on the command line.

Examples are `HighPass(theta=5)` and `Dyadic(HighPass(target=1000))`.
"""

import ast
import inspect
from collections.abc import Iterable
from typing import Any

from ...errors import MarginError
from ..common import did_you_mean
from .elsewhere import check_not_elsewhere
from .own import own, split_own

__all__ = ["is_class", "is_written", "own_mechanism", "split_mechanisms", "written"]


def split_mechanisms(words: Iterable[str]) -> list[str]:
    """The mechanisms that some words name, with commas between them outside of brackets.

    >>> split_mechanisms(["Direct,PriView(views=[['a', 'b']])", "MWEM"])
    ['Direct', "PriView(views=[['a', 'b']])", 'MWEM']
    """
    found = []
    for word in words:
        start, depth, quote = 0, 0, ""
        for place, letter in enumerate(f"{word},"):
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'\"":
                quote = letter
            elif letter in "([{":
                depth += 1
            elif letter in ")]}":
                depth -= 1
            elif letter == "," and depth == 0:
                found.append(word[start:place].strip())
                start = place + 1
        # Brackets that are not closed are reported later.
        found.append(word[start:].strip())
    return [text for text in found if text]


def is_written(text: str) -> bool:
    """Whether a text is a mechanism with its parameters, and not just a name."""
    return "(" in text


def is_class(name: str) -> bool:
    """Whether a text is the name of a class of mechanisms."""
    from ... import mechanisms  # here, so that the command line starts without numpy

    return name in mechanisms.__all__


def written(text: str) -> Any:
    """Make the mechanism that a text describes.

    The text is parsed, not evaluated. Only classes of mechanisms are called, with plain values or
    other mechanisms as parameters.

    Raises
    ------
    MarginError
        If the text has another form, names an unknown mechanism or parameter, or gives a parameter
        a value that the mechanism refuses.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _malformed(text) from None
    if not isinstance(tree, ast.Call):
        raise _malformed(text)
    mechanism = _built(tree, text)
    if not callable(getattr(mechanism, "run", None)):
        from ...mechanisms import strategies

        given = text.strip()
        kind, parent = "part of a mechanism", f"PriView(reconstruction={given})"
        if type(mechanism).__name__ in strategies.__all__:
            kind, parent = "strategy", f"MatrixMechanism(strategy={given})"
        raise MarginError(
            f"{given} must be a mechanism, but it is a {kind}; write it as in {parent}"
        )
    return mechanism


def own_mechanism(text: str) -> Any:
    """Make the mechanism of a user's file, such as "mine.py:Mechanism(count=3)".

    Raises
    ------
    MarginError
        If it cannot be imported or made, or has no method `run`.
    """
    place, given = split_own(text)
    name, bracket, _ = given.partition("(")
    found = own(place, name, "mechanism")
    if bracket or isinstance(found, type):
        try:
            call = ast.parse(given if bracket else f"{given}()", mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise _malformed(text) from None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise _malformed(text)
        found = _called(found, call, text)
    if not callable(getattr(found, "run", None)):
        raise MarginError(
            f"{text} must be a mechanism with a method run(private, workload), but it has none; "
            "add the method"
        )
    return found


def _built(call: ast.Call, text: str) -> Any:
    if not isinstance(call.func, ast.Name):
        raise _malformed(text)
    name = call.func.id
    return _called(_class_of(name), call, text)


def _called(
    kind: Any,
    call: ast.Call,
    text: str,
) -> Any:
    """What a class returns for the parameters of a call."""
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    # Neither *values nor **parameters are allowed.
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise _malformed(text)
    arguments = [_value(argument, text) for argument in call.args]
    parameters = {}
    for keyword in call.keywords:
        if not keyword.arg:
            raise _malformed(text)
        parameters[keyword.arg] = _value(keyword.value, text)
    # Check the names of the parameters, then their values.
    signature = inspect.signature(kind)
    try:
        signature.bind(*arguments, **parameters)
    except TypeError as error:
        raise MarginError(
            f"the parameters of {name} must be among "
            f"{', '.join(signature.parameters) or '(none)'}, but they do not fit ({error}); "
            "correct them"
        ) from None
    try:
        return kind(*arguments, **parameters)
    except MarginError:
        raise
    except (TypeError, ValueError):
        raise MarginError(
            f"a parameter of {name} has a value of the wrong type; read in the documentation of "
            f"{name} which types it takes"
        ) from None


def _class_of(name: str) -> Any:
    """Find the class of a mechanism by its name, or of a strategy or solver that it takes."""
    # Here, so that the command line starts without numpy.
    from ... import mechanisms
    from ...mechanisms.expressions import class_named, classes

    found = class_named(name)
    if found is not None:
        return found
    check_not_elsewhere(name)
    raise MarginError(
        f"unknown mechanism {name!r}{did_you_mean(name, classes())}; the mechanisms that take "
        f"parameters are {', '.join(mechanisms.__all__)}, so name one of these"
    )


def _value(tree: ast.expr, text: str) -> Any:
    """Make the value of a parameter: a mechanism, a plain value, or a list of plain values."""
    if isinstance(tree, ast.Call):
        return _built(tree, text)
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _malformed(text) from None


def _malformed(text: str) -> MarginError:
    return MarginError(
        f"the mechanism ({text}) must be a name, or a mechanism as in Python; "
        "write it as in 'HighPass(theta=5)'"
    )
