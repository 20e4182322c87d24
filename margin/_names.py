"""Suggestions for misspelt names and wrong arguments, and the short names of metrics."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

__all__ = ["METRICS", "PEERS", "did_you_mean", "explains_calls"]

P = ParamSpec("P")
R = TypeVar("R")

PEERS = ("AIM", "MST", "ResidualPlanner", "PGM", "MWEM_PGM")
"""Mechanisms of others that `python -m experiments peers` compares with ours."""

METRICS = {
    "l2": "L2",
    "l1": "L1",
    "absolute": "AbsoluteError",
    "asked": "AskedError",
    "tv": "TotalVariation",
    "js": "JensenShannon",
    "largest": "LargestError",
    "relative": "RelativeError",
    "useful": "Usefulness",
    "inside": "Inside",
    "interval": "IntervalScore",
    "ndcg": "NDCG",
    "f1": "F1",
}
"""The classes of `margin.metrics`, by their short names."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest a known name for a misspelt one, as the end of an error message.

    The result is such as "; did you mean 'region'?", or an empty text if no known name is similar.
    If just one known name begins with the given one, that is it: 'J00-J99 Respiratory' for
    'J00-J99'.
    """
    if not isinstance(name, str):
        return ""
    names = list(dict.fromkeys(known))
    longer = [other for other in names if other.casefold().startswith(name.casefold())]
    similar = longer if len(longer) == 1 else difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def explains_calls(
    hints: Mapping[str, str] | None = None,
    *,
    named: str = "",
    further: str = "",
    absent: str = "add what is missing",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function say what to do when it is called with arguments that it does not take.

    Python raises a TypeError for them, which says only what is wrong.

    Parameters
    ----------
    hints
        What to do instead of passing an argument of this name.
    named
        What to do instead of passing an argument of any other unknown name; its names if empty.
    further
        What to do instead of passing more arguments without names.
    absent
        What to do if a necessary argument is missing.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        owner, _, name = function.__qualname__.rpartition(".")
        name = owner if name == "__init__" else name

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError:
                problem = _unknown(signature, kwargs, hints or {}, named)
                problem = problem or _too_many(signature, args, further)
                problem = problem or _missing(signature, args, kwargs, absent)
                if not problem:
                    raise
            raise TypeError(f"{name}() {problem}")

        return call

    return decorated


def _unknown(
    signature: inspect.Signature,
    given: Mapping[str, Any],
    hints: Mapping[str, str],
    named: str,
) -> str:
    """The problem if an argument has an unknown name; otherwise empty."""
    known = [name for name in signature.parameters if name != "self"]
    unknown = [name for name in given if name not in known]
    if not unknown:
        return ""
    listed = f"its arguments are {', '.join(known)}, so name one of these"
    hint = hints.get(unknown[0]) or named or listed + did_you_mean(unknown[0], known)
    return f"takes no argument {unknown[0]!r}; {hint}"


def _too_many(
    signature: inspect.Signature,
    given: tuple[Any, ...],
    further: str,
) -> str:
    """The problem if too many arguments have no name; otherwise empty."""
    parameters = signature.parameters.values()
    places = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(given) <= len(places):
        return ""
    count = len(given) - ("self" in places)
    places = [name for name in places if name != "self"]
    named = ", ".join(f"{one.name}=" for one in parameters if one.kind is one.KEYWORD_ONLY)
    hint = further or f"name the others: {named}"
    word = "argument" if len(places) == 1 else "arguments"
    return (
        f"takes {len(places)} {word} without a name ({', '.join(places)}), but {count} are given; "
        f"{hint}"
    )


def _missing(
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    absent: str,
) -> str:
    """The problem if a necessary argument is missing; otherwise empty."""
    bound = signature.bind_partial(*args, **kwargs).arguments
    parameters = signature.parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.name not in bound]
    if not needed:
        return ""
    listed = " and ".join(f"{one.name}=" for one in needed)
    return f"needs {listed}, which the call does not give; {absent}"
