"""Whether a solver tells its better answers while it searches."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..families.family import Family
from ..libraries.by_model import ByModel

__all__ = ["parameters_of", "tells"]


def tells(solver: Any, family: Family) -> bool:
    """Whether a solver tells its better answers to problems of a family on the way.

    Its method has a parameter named ``improved`` then, and an engine says so by its method `tells`.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> [tells(bench.ROSTER["highs"].make(), family) for family in bench.FAMILIES[-2:]]
    [True, True]
    >>> tells(bench.ROSTER["rc2"].make(), bench.FAMILIES[-1])
    False
    """
    if isinstance(solver, ByModel):
        return solver.tells(family)
    method = getattr(solver, "solve_instance", None) or getattr(solver, family.method, None)
    return "improved" in parameters_of(method)


def parameters_of(method: Callable[..., Any] | None) -> Mapping[str, inspect.Parameter]:
    """The parameters of a method by name; none if there is no method, or it is compiled code."""
    try:
        return {} if method is None else inspect.signature(method).parameters
    except (TypeError, ValueError):
        return {}
