"""A small problem of each family of the bench, for the tests of `margin.solvers.bench`."""

import dataclasses
import itertools

import numpy as np

from margin.solvers import BestResponse, Constraint, Problem, Tables, bench
from margin.solvers.testing import examples

FAMILIES = {family.name: family for family in bench.FAMILIES}


def reconstruction(name: str = "mixed pairs") -> Problem:
    """A problem of 12 cells with ridges."""
    problem = examples()[name]
    return dataclasses.replace(problem, ridge=np.full(len(problem.index), 1e-3))


def exact() -> Problem:
    """A problem of 12 cells whose known marginals have no errors."""
    problem = examples()["mixed pairs"]
    return dataclasses.replace(problem, variance=np.zeros(len(problem.index)))


def tables() -> Tables:
    """Three noisy views, some of whose consistent cells are negative."""
    rng = np.random.default_rng(0)
    return Tables(
        sizes=(2, 3, 2),
        views=((0, 1), (1, 2), (0, 2)),
        values=(rng.normal(1, 5, (2, 3)), rng.normal(1, 5, (3, 2)), rng.normal(3, 5, (2, 2))),
        variances=(1.0, 2.0, 3.0),
    )


def response() -> BestResponse:
    """Terms of every kind: conjunctions and parities, both signs, negated literals, none at all."""
    rng = np.random.default_rng(1)
    sizes = [2, 3, 2, 2, 1]
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    values = rng.integers(0, np.array(sizes)[pairs])
    forbidden = Constraint.forbid([(0, 1), (1, 2)])
    return BestResponse.together(
        BestResponse.conjunctions(
            sizes,
            pairs,
            values,
            rng.integers(-4, 5, len(pairs)),
            negated=rng.integers(0, 2, pairs.shape) > 0,
            constraints=[forbidden],
        ),
        BestResponse.parities(sizes, [[0, 2, 3]], [3], constant=1),
        BestResponse.parities(sizes, [[0, 2]], [-2]),
        BestResponse.conjunctions(sizes, [[1], [3]], [[2], [1]], [2, -1]),
        BestResponse.conjunctions(sizes, np.zeros((1, 0)), np.zeros((1, 0)), [5]),
        BestResponse.conjunctions(sizes, [[4, 0]], [[0, 1]], [1]),
    )


def cover() -> bench.Cover:
    """Nine items and twelve sets of unequal costs."""
    rng = np.random.default_rng(2)
    sets = [rng.choice(9, size, replace=False).tolist() for size in (3, 3, 4, 2, 3, 4, 5, 2, 3)]
    sets += [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    return bench.Cover.of(9, sets, rng.integers(1, 5, len(sets)))


PROBLEMS = {
    "exact-entropy": exact,
    "penalised-entropy": reconstruction,
    "least-squares": reconstruction,
    "minimax": lambda: reconstruction("contradictory pairs"),
    "consistency": tables,
    "nonnegativity": tables,
    "response": response,
    "cover": cover,
}
"""A function that makes a problem, by the name of its family."""


def small(name: str) -> bench.Instance:
    """An instance of a family that holds its small problem."""
    return bench.Instance.of(PROBLEMS[name](), name=f"small-{name}", family=name)
