"""What every solver must do, as checks that users can run on their own: `check_solver`."""

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
    """Small problems of every kind, by name: binary and categorical, agreeing and contradictory,
    with little known, with cells that must be zero."""
    rng = np.random.default_rng(seed)
    pairs = [(0, 1), (1, 2), (0, 2)]
    binary, mixed = rng.gamma(1.0, 1.0, (2, 2, 2)), rng.gamma(1.0, 1.0, (2, 3, 2))
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


def check_solver(solver: Solver) -> None:
    """Hold a solver to the contract: small problems, each answered or refused with a status, and
    the answers checked.

    An answer has the problem's shape and total, no negative cell, nothing where cells must be zero,
    its true residual, and repeats when asked again; the problem stays as it was. Where a table is
    fully known it is returned. If the solver has a method ``objective(problem, distribution)``, no
    small step towards another distribution may lower it: for a convex objective that is optimality.

    Raises
    ------
    AssertionError
        When the solver breaks the contract; the text says how.
    """
    for name, problem in examples().items():
        arrays = [array.copy() for array in (problem.index, problem.target, problem.variance)]
        solution = solver.solve(problem)
        _require(isinstance(solution.status, Status), name, "the status is not a Status")
        for array, before in zip(
            (problem.index, problem.target, problem.variance), arrays, strict=True
        ):
            _require(np.array_equal(array, before), name, "the problem was changed")
        _require(
            solution.table.shape == problem.shape,
            name,
            f"the table has shape {solution.table.shape}",
        )
        if solution.status.ok:
            _check_answer(solver, name, problem, solution)
    _check_known(solver)


def _check_answer(solver: Any, name: str, problem: Problem, solution: Solution) -> None:
    table = solution.table.ravel()
    _require(bool(np.isfinite(table).all()), name, "a cell is not finite")
    _require(bool(table.min() >= 0), name, "a cell is negative")
    _require(
        problem.zeros is None or not table[problem.zeros].any(),
        name,
        "a cell is positive that must be zero",
    )
    _require(
        math.isclose(table.sum(), problem.total, rel_tol=1e-6),
        name,
        "the cells do not sum to the total",
    )
    distribution = table / table.sum()
    residual = np.abs(problem.moments(distribution) - problem.target).max(initial=0.0)
    _require(
        abs(solution.residual - residual) <= 1e-6,
        name,
        f"the residual is {residual}, not {solution.residual}",
    )
    _require(
        solution.iterations >= 0 and solution.seconds >= 0,
        name,
        "iterations and seconds must be >= 0",
    )
    again = solver.solve(problem).table
    _require(
        np.allclose(again, solution.table, atol=1e-6 * problem.total),
        name,
        "the answer does not repeat",
    )
    if solution.variance is not None:
        _require(solution.variance.shape == problem.shape, name, "the variance has another shape")
        _require(bool((solution.variance >= 0).all()), name, "a variance is negative")
        known = problem.zeros is None or not solution.variance.ravel()[problem.zeros].any()
        _require(known, name, "a cell that must be zero has a variance")
    if hasattr(solver, "objective"):
        _check_optimal(solver, name, problem, distribution)


def _check_optimal(solver: Any, name: str, problem: Problem, distribution: Floats) -> None:
    """Steps towards corners, random distributions, and tables with the same known moments do not
    pay."""
    here = solver.objective(problem, distribution)
    rng = np.random.default_rng(0)
    others = [np.eye(problem.cells)[cell] for cell in problem.possible]
    others += [
        problem.spread(weights) for weights in rng.dirichlet(np.ones(len(problem.possible)), 20)
    ]
    fixed = np.vstack([np.ones((1, problem.cells)), problem.functions(np.eye(len(problem.index)))])[
        :, problem.possible
    ]
    room = distribution[problem.possible].min()
    for _ in range(20):
        draw = rng.normal(size=len(problem.possible))
        step = problem.spread(draw - np.linalg.lstsq(fixed, fixed @ draw, rcond=None)[0])
        others.append(distribution + step * room / max(np.abs(step).max(), 1e-300))
    for other in others:
        for length in (1e-3, 1e-2, 0.1):
            there = solver.objective(problem, (1 - length) * distribution + length * other)
            slack = 1e-6 * (1 + abs(here)) + 1e-3 * length
            _require(
                there >= here - slack, name, f"the objective can be lowered from {here} to {there}"
            )


def _check_known(solver: Solver) -> None:
    """A table that is known in full has one answer, whatever the objective; so has one that zeros
    make known."""
    array = np.random.default_rng(1).gamma(2.0, 1.0, (2, 3)) + 0.5
    diagonal = array * np.array([[0, 1, 1], [1, 0, 0]])
    for name, known, problem in (
        ("a table known in full", array, _problem(array, [(0, 1)])),
        (
            "a table known by its zeros",
            diagonal,
            dataclasses.replace(_problem(diagonal, [(0,), (1,)]), zeros=diagonal.ravel() == 0),
        ),
    ):
        solution = solver.solve(problem)
        expected = known / known.sum() * 1000
        _require(solution.status.ok, name, solution.status.value)
        worst = np.abs(solution.table - expected).max()
        _require(bool(worst < 1.0), name, f"a cell is wrong by {worst} of 1000")


def _problem(array: Floats, views: Sequence[tuple[int, ...]]) -> Problem:
    """The marginals of an array on some views, all but exact."""
    basis = transform(array.shape)
    component = basis.component
    masks = [sum(1 << place for place in view) for view in views]
    index = np.array(
        [
            row
            for row, mask in enumerate(component.tolist())
            if mask and any(mask & m == mask for m in masks)
        ],
        np.int64,
    )
    moments = basis.analyse(array.ravel() / array.sum()) * math.sqrt(array.size)
    return Problem(
        shape=array.shape,
        index=index,
        target=moments[index],
        variance=np.full(len(index), 1e-7),
        total=1000.0,
    )


def _shifted(problem: Problem, rng: np.random.Generator) -> Problem:
    """A problem with errors in its targets."""
    shift = rng.normal(0.0, 0.05, len(problem.index))
    return dataclasses.replace(
        problem, target=problem.target + shift, variance=problem.variance * 1e3
    )


def _with_zeros(array: Floats, views: Sequence[tuple[int, ...]]) -> Problem:
    """The marginals of an array with two cells set to zero, which is told."""
    array = array.copy()
    array[0, 1, 0] = array[1, 0, :] = 0.0
    return dataclasses.replace(_problem(array, views), zeros=array.ravel() == 0)


def _contradictory() -> Problem:
    """a equals b, b equals c, and a differs from c: each pair is a table, but no joint table has
    them."""
    return Problem(
        shape=(2, 2, 2),
        index=np.arange(1, 7),
        target=np.array([0.0, 0.0, 1.0, 0.0, -1.0, 1.0]),
        variance=np.full(6, 1e-3),
        total=1000.0,
    )


def _require(condition: bool, name: str, text: str) -> None:
    if not condition:
        raise AssertionError(f"{name}: {text}")
