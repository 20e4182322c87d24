"""A trial of a mechanism's solvers on a made-up table, before a budget is spent."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .._names import did_you_mean
from ..errors import SolverError
from ..solvers import Reconstruction, Status, Tables
from ..solvers.backends import cvxpy_solvers

__all__ = ["try_solvers"]

_OURS = "margin.mechanisms."
_SOLVERS = "margin.solvers."


def try_solvers(mechanism: object) -> None:
    """Try what a mechanism of this library is given as `consistency`, `nonnegativity` and
    `reconstruction` on a made-up table; it uses nothing of the data.

    A solver that cannot be used would be found out only after the budget is spent. Solvers of this
    library with their default parameters are not tried.

    Raises
    ------
    SolverError
        If a solver raises an error, or does not answer.
    """
    if not any(kind.__module__.startswith(_OURS) for kind in type(mechanism).__mro__):
        return
    trials: dict[str, Callable[[Any, bool], str]] = {
        "consistency": _projection_problem,
        "nonnegativity": _projection_problem,
        "reconstruction": _reconstruction_problem,
    }
    # A mechanism with a solver of reconstructions has several tables, which must agree.
    many = hasattr(mechanism, "reconstruction")
    for name, trial in trials.items():
        solver = getattr(mechanism, name, None)
        if solver is None or _is_default(solver):
            continue
        if isinstance(solver, type):
            name_of_class = solver.__name__
            raise SolverError(
                f"{name} must be an object, but it is the class {name_of_class}; call it: "
                f"{name_of_class}()"
            )
        try:
            problem = trial(solver, many)
        except Exception as error:  # the solver may be a user's own
            # The text of the error can quote only the made-up table.
            problem = f"on a made-up table, it raised {type(error).__name__} ({error})"
        if not problem and name == "nonnegativity" and many:
            problem = _agreement_problem(solver)
        if problem:
            raise SolverError(
                f"{type(solver).__name__} cannot be used as {name}: {problem}; choose another "
                f"with {name}="
            )


def _is_default(solver: object) -> bool:
    """Whether this is a solver of this library with its default parameters."""
    if not type(solver).__module__.startswith(_SOLVERS) or not dataclasses.is_dataclass(solver):
        return False
    fields = dataclasses.fields(solver)
    return all(getattr(solver, field.name) == field.default for field in fields)


def _made_up(many: bool, corner: float) -> Tables:
    """One table of 2 x 2 cells, or two that agree on their common axis.

    `corner` is one cell of the first table, which may be negative. It does not change the sums.
    """
    first = np.array([[7.0 - corner, corner], [2.0 + corner, 3.0 - corner]])
    second = np.array([[5.0, 4.0], [2.0, 1.0]])
    count = 2 if many else 1
    return Tables(
        sizes=(2, 2, 2)[: count + 1],
        views=((0, 1), (1, 2))[:count],
        values=(first, second)[:count],
        variances=(1.0, 1.0)[:count],
    )


def _projection_problem(solver: Any, many: bool) -> str:
    """What is wrong with a projection of tables, in words; empty if nothing is."""
    if not callable(solver):
        return "it must be a function of tables, as margin.solvers.JointProjection() is"
    tables = _made_up(many, corner=-1.0)
    found = solver(tables)
    if not isinstance(found, Tables):
        return f"it must return Tables, but it returned an object of type {type(found).__name__}"
    shapes = [value.shape for value in tables.values]
    if found.views != tables.views or [value.shape for value in found.values] != shapes:
        return "it must keep the views and the shapes of the tables, but it changed them"
    if not all(np.isfinite(value).all() for value in found.values):
        return "it must return finite counts, but one of a made-up table is not"
    return ""


def _agreement_problem(solver: Any) -> str:
    """What is wrong with the attribute of a method that removes negative counts from views."""
    if isinstance(getattr(solver, "keeps_consistency", None), bool):
        return ""
    return (
        "it must say by an attribute keeps_consistency, True or False, whether tables still agree"
    )


def _reconstruction_problem(solver: Any, _: bool) -> str:
    """What is wrong with a solver of reconstructions, in words; empty if nothing is."""
    if not callable(getattr(solver, "solve", None)):
        return "it must have a method solve(problem), as margin.solvers.Newton() has"
    tables = _made_up(True, corner=1.0)
    found = Reconstruction(tables, solver).one((0, 1, 2))
    if found.status.ok:
        return ""
    if found.status is Status.MISSING and isinstance(getattr(solver, "solver", None), str):
        return _missing(solver.solver.upper())
    # The caller says what to do, so that the first part of the text of a status is enough.
    return f"on a made-up table, {found.detail or found.status.value.partition(';')[0]}"


def _missing(name: str) -> str:
    """The back-end of this name is not installed: which ones are, and which one may be meant."""
    known, installed = cvxpy_solvers()
    hint = did_you_mean(name, known)
    return f"its back-end {name!r} is not installed (installed: {', '.join(installed)}){hint}"
