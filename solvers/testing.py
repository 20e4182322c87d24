"""Checks that every solver must pass; users can run `check_solver` on their own solvers."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .basis import transform
from .reconstruct.problem import Problem, Solution, Solver
from .status import Status
from .types import Floats

__all__ = ["check_solver", "examples"]


def examples(seed: int = 0) -> dict[str, Problem]:
    """Small problems of every kind, by name.

    They differ in the number of categories, in whether the targets contradict each other, in the
    number of known moments, and in whether some cells must be zero.

    >>> problem = examples()["binary pairs"]
    >>> problem.shape
    (2, 2, 2)
    """
    rng = np.random.default_rng(seed)
    pairs = [(0, 1), (1, 2), (0, 2)]
    binary = rng.gamma(1.0, 1.0, (2, 2, 2))
    mixed = rng.gamma(1.0, 1.0, (2, 3, 2))
    return {
        "binary pairs": _problem(binary, pairs),
        "mixed pairs": _problem(mixed, pairs),
        "pairs with errors": _shifted(_problem(mixed, pairs), rng),
        "one marginal of three axes": _problem(mixed, [(1,)]),
        "nothing": _problem(mixed, []),
        "an axis of one category": _problem(rng.gamma(1.0, 1.0, (3, 1, 2)), [(0, 1), (1, 2)]),
        "contradictory pairs": _contradictory(),
        "cells that must be zero": _with_zeros(binary, pairs),
        "zeros across what is known": _with_zeros(mixed, [(0, 1), (2,)]),
        "zeros and nothing known": _with_zeros(mixed, []),
        "pairs with errors and zeros": _shifted(_with_zeros(mixed, pairs), rng),
    }


def check_solver(solver: Solver) -> str:
    """Check that a reconstruction solver keeps the contract, on `examples` and two more problems.

    `margin.solvers.bench.check_answers` checks projections, best responses and covers.

    Each problem is answered, or refused with a status. An answer must have the shape and total of
    the problem, no negative cell, zero where a cell must be zero, and its true residual. A second
    call must give the same answer. The problem must stay unchanged. Two problems determine the
    table: they must be answered by this table, or refused with `UNSUPPORTED`, which says that the
    solver does not take such problems. Any problem may be refused so, but at least one must be
    answered.

    If the solver has a method ``objective(problem, distribution)``, no small step towards another
    distribution may lower the objective. For a convex objective this proves optimality.

    Returns
    -------
    str
        What was done, such as "12 problems answered, 1 refused: binary pairs (FAILED)".

    Raises
    ------
    AssertionError
        If the solver breaks the contract; the text names the problem and the fault.

    Examples
    --------
    >>> from margin.solvers import Newton
    >>> print(check_solver(Newton()))
    13 problems answered, 0 refused
    """
    if isinstance(solver, type):
        name = solver.__name__
        text = f"a solver must be an object, but it is the class {name}; call it: {name}()"
        raise AssertionError(text)
    _require(
        callable(getattr(solver, "solve", None)),
        "every problem",
        "a solver must be an object with a method solve(problem); for projections of tables use "
        "margin.solvers.bench.check_answers(solver, family='consistency') or 'nonnegativity'",
    )
    answered = 0
    refused = []
    for title, problem in examples().items():
        name = _called(title, problem)
        arrays = (problem.index, problem.target, problem.variance)
        copies = [array.copy() for array in arrays]
        solution = _solved(solver, name, problem)
        for array, before in zip(arrays, copies, strict=True):
            _require(np.array_equal(array, before), name, "the problem was changed")
        _require(
            solution.table.shape == problem.shape,
            name,
            f"the table has shape {solution.table.shape}; expected {problem.shape}",
        )
        if solution.status.ok:
            _check_answer(solver, name, problem, solution)
            answered += 1
        else:
            refused.append(f"{title} ({solution.status.name})")
    for title, status in _check_known(solver).items():
        if status.ok:
            answered += 1
        else:
            refused.append(f"{title} ({status.name})")
    if not answered:
        raise AssertionError(
            f"a solver must answer at least one problem, but it refuses all {len(refused)}: "
            f"{', '.join(refused)}; let it take the simplest of them"
        )
    named = f": {', '.join(refused)}" if refused else ""
    return f"{answered} problems answered, {len(refused)} refused{named}"


def _called(title: str, problem: Problem) -> str:
    """The name of a problem in a message; also that nothing is known of its table, if so."""
    unknown = ", of which no marginal is known, so that margins() is empty"
    return f"problem {title!r}{'' if len(problem.index) else unknown}"


def _solved(
    solver: Any,
    name: str,
    problem: Problem,
) -> Solution:
    """Solve a problem, and check that the result has the attributes of a `Solution`."""
    try:
        solution = solver.solve(problem)
    except Exception as error:  # a user's solver may raise anything
        text = f"it raises {type(error).__name__} ({error}); return a Solution with a status"
        raise AssertionError(f"{name}: {text}") from error
    kind = type(solution).__name__
    for field in ("table", "status", "objective", "residual", "iterations", "seconds"):
        text = f"it returns a {kind} without the attribute {field}; return a Solution"
        _require(hasattr(solution, field), name, text)
    text = f"the table is a {type(solution.table).__name__}; expected an array of numpy"
    _require(isinstance(solution.table, np.ndarray), name, text)
    text = f"the status is {solution.status!r}; expected a Status"
    _require(isinstance(solution.status, Status), name, text)
    checked: Solution = solution
    return checked


def _check_answer(
    solver: Any,
    name: str,
    problem: Problem,
    solution: Solution,
) -> None:
    """Check the cells, the total, the residual and the variances of an answer."""
    table = solution.table.ravel()
    _require(bool(np.isfinite(table).all()), name, "a cell is not finite")
    _require(bool(table.min() >= 0), name, "a cell is negative")
    empty = problem.zeros is None or not table[problem.zeros].any()
    _require(empty, name, "a cell is positive that must be zero")
    right_total = math.isclose(table.sum(), problem.total, rel_tol=1e-6)
    _require(right_total, name, "the cells do not sum to the total")
    distribution = table / table.sum()
    misses = problem.moments(distribution) - problem.target
    residual = np.abs(misses).max(initial=0.0)
    _require(
        abs(solution.residual - residual) <= 1e-6,
        name,
        f"the residual is {residual}, but the solution says {solution.residual}",
    )
    counted = solution.iterations >= 0 and solution.seconds >= 0
    _require(counted, name, "iterations and seconds must be >= 0")
    again = _solved(solver, name, problem).table
    repeats = np.allclose(again, solution.table, atol=1e-6 * problem.total)
    _require(repeats, name, "a second call gives another answer")
    if solution.variance is not None:
        _require(solution.variance.shape == problem.shape, name, "the variance has another shape")
        _require(bool((solution.variance >= 0).all()), name, "a variance is negative")
        known = problem.zeros is None or not solution.variance.ravel()[problem.zeros].any()
        _require(known, name, "a cell that must be zero has a variance")
    if hasattr(solver, "objective"):
        _check_optimal(solver, name, problem, distribution)


def _check_optimal(
    solver: Any,
    name: str,
    problem: Problem,
    distribution: Floats,
) -> None:
    """Check that steps towards other distributions do not lower the objective.

    The others are corners, random distributions, and tables with the same known moments.
    """
    here = solver.objective(problem, distribution)
    rng = np.random.default_rng(0)
    count = len(problem.possible)
    others = [np.eye(problem.cells)[cell] for cell in problem.possible]
    others += [problem.spread(weights) for weights in rng.dirichlet(np.ones(count), 20)]
    # Directions that change no known moment, as long as all cells stay non-negative.
    functions = problem.functions(np.eye(len(problem.index)))
    fixed = np.vstack([np.ones((1, problem.cells)), functions])[:, problem.possible]
    room = distribution[problem.possible].min()
    for _ in range(20):
        draw = rng.normal(size=count)
        within = np.linalg.lstsq(fixed, fixed @ draw, rcond=None)[0]
        step = problem.spread(draw - within)
        others.append(distribution + step * room / max(np.abs(step).max(), 1e-300))
    for other in others:
        for length in (1e-3, 1e-2, 0.1):
            there = solver.objective(problem, (1 - length) * distribution + length * other)
            slack = 1e-6 * (1 + abs(here)) + 1e-3 * length
            text = f"the objective can be lowered from {here} to {there}"
            _require(there >= here - slack, name, text)


def _check_known(solver: Solver) -> dict[str, Status]:
    """Check problems with only one feasible table: the solver must find it, or not take them.

    Returns how it ended, by the name of the problem.
    """
    array = np.random.default_rng(1).gamma(2.0, 1.0, (2, 3)) + 0.5
    diagonal = array * np.array([[0, 1, 1], [1, 0, 0]])
    by_zeros = dataclasses.replace(_problem(diagonal, [(0,), (1,)]), zeros=diagonal.ravel() == 0)
    cases = (
        ("a table known in full", array, _problem(array, [(0, 1)])),
        ("a table known by its zeros", diagonal, by_zeros),
    )
    ended = {}
    for title, known, problem in cases:
        name = _called(title, problem)
        solution = _solved(solver, name, problem)
        expected = known / known.sum() * 1000
        ended[title] = solution.status
        if solution.status is Status.UNSUPPORTED:
            continue
        refused = (
            f"it ends with {solution.status.name}, but must find the only table that fits, or end "
            "with UNSUPPORTED if it does not take such problems"
        )
        _require(solution.status.ok, name, refused)
        worst = np.abs(solution.table - expected).max()
        _require(bool(worst < 1.0), name, f"a cell is wrong by {worst} of 1000")
    return ended


def _problem(array: Floats, views: Sequence[tuple[int, ...]]) -> Problem:
    """A problem whose targets are the moments of an array that some views hold, almost exact."""
    basis = transform(array.shape)
    masks = [sum(1 << place for place in view) for view in views]
    known = [
        row
        for row, component in enumerate(basis.component.tolist())
        if component and any(component & mask == component for mask in masks)
    ]
    index = np.array(known, np.int64)
    moments = basis.analyse(array.ravel() / array.sum()) * math.sqrt(array.size)
    return Problem(
        shape=array.shape,
        index=index,
        target=moments[index],
        variance=np.full(len(index), 1e-7),
        total=1000.0,
    )


def _shifted(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same problem with random errors added to its targets."""
    shift = rng.normal(0.0, 0.05, len(problem.index))
    return dataclasses.replace(
        problem,
        target=problem.target + shift,
        variance=problem.variance * 1e3,
    )


def _with_zeros(array: Floats, views: Sequence[tuple[int, ...]]) -> Problem:
    """The problem of an array of which some cells are set to zero and declared as zero."""
    array = array.copy()
    array[0, 1, 0] = 0.0
    array[1, 0, :] = 0.0
    return dataclasses.replace(_problem(array, views), zeros=array.ravel() == 0)


def _contradictory() -> Problem:
    """Three contradictory pairs of binary axes: a = b, b = c, but a differs from c."""
    return Problem(
        shape=(2, 2, 2),
        index=np.arange(1, 7),
        target=np.array([0.0, 0.0, 1.0, 0.0, -1.0, 1.0]),
        variance=np.full(6, 1e-3),
        total=1000.0,
    )


def _require(
    condition: bool,
    name: str,
    text: str,
) -> None:
    """Raise AssertionError with the problem's name unless a condition holds."""
    if not condition:
        raise AssertionError(f"{name}: {text}")
