"""Marginals within views of more than 4,096 cells, with a base."""

import dataclasses

import numpy as np
import pytest

from margin.solvers import BasedReconstruction, BasedStructure, CountedBase, Newton, Tables

SIZES = (20, 15, 18)
ROWS = 40_000
AXES = np.array([(0, 1, 2)])


def rows_of(count: int, seed: int) -> np.ndarray:
    """Rows of a mixture of five kinds."""
    law = np.random.default_rng(5)
    shares = [law.dirichlet(np.full(size, 0.3), 5).cumsum(axis=1) for size in SIZES]
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 5, count)
    return np.column_stack(
        [(rng.random(count)[:, None] > share[kind][:, :-1]).sum(axis=1) for share in shares]
    )


def base_of(kind: str) -> CountedBase:
    rows = rows_of(12_000, 2)
    if kind == "shuffled":
        rng = np.random.default_rng(3)
        rows = np.column_stack([rng.permutation(column) for column in rows.T])
    if kind == "reversed":
        rows = np.array(SIZES) - 1 - rows
    return CountedBase(SIZES, rows, np.ones(len(rows), int))


def counted() -> np.ndarray:
    places = np.ravel_multi_index(rows_of(ROWS, 1).T, SIZES)
    return np.bincount(places, minlength=int(np.prod(SIZES))).astype(float).reshape(SIZES)


TRUE = counted()


def tables_of(noise: str, deviation: float) -> Tables:
    """One noisy view; negative counts are removed by a threshold that keeps the total."""
    rng = np.random.default_rng(4)
    draw = {"normal": rng.normal, "laplace": rng.laplace}[noise]
    scale = deviation if noise == "normal" else deviation / np.sqrt(2)
    noisy = TRUE + draw(0, scale, TRUE.shape)
    noisy += (TRUE.sum() - noisy.sum()) / noisy.size
    ordered = np.sort(noisy.ravel())[::-1]
    levels = (np.cumsum(ordered) - TRUE.sum()) / np.arange(1, noisy.size + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]
    return Tables(
        sizes=SIZES,
        views=((0, 1, 2),),
        values=(np.maximum(noisy - level, 0.0),),
        unbiased=(noisy,),
        variances=(deviation**2,),
    )


def based_on(kind: str, tables: Tables) -> BasedReconstruction:
    trust = tuple(np.ones_like(value) for value in tables.values)
    return BasedReconstruction(tables, base_of(kind), trust, Newton())


def error(table: np.ndarray) -> float:
    return float(np.sqrt(((table - TRUE) ** 2).sum()))


@pytest.mark.parametrize("noise", ["normal", "laplace"])
@pytest.mark.parametrize("deviation", [10.0, 50.0])
@pytest.mark.parametrize(("kind", "most"), [("good", 0.7), ("shuffled", 1.05), ("reversed", 1.05)])
def test_a_good_base_helps_and_a_wrong_one_costs_next_to_nothing(noise, deviation, kind, most):
    tables = tables_of(noise, deviation)
    solution = based_on(kind, tables).solve(AXES)
    assert solution.table.sum() == pytest.approx(tables.total)
    assert solution.table.min() >= 0
    assert error(solution.table[0]) <= most * error(tables.values[0])


def test_a_good_base_is_nearly_as_good_as_if_its_worth_were_known():
    """The best linear estimate knows the expected counts, the rows of the base and the noise."""
    tables = tables_of("normal", 10.0)
    sampling = TRUE * (1 + ROWS / 12_000)
    ideal = np.sqrt((1 / (1 / 100 + 1 / np.maximum(sampling, 1e-9))).sum())
    assert error(based_on("good", tables).solve(AXES).table[0]) <= 1.15 * ideal


@pytest.mark.parametrize("kind", ["good", "shuffled"])
def test_intervals_hold_the_truth_and_sums_are_those_of_cells(kind):
    tables = tables_of("normal", 10.0)
    based = based_on(kind, tables)
    solution = based.solve(AXES)
    structure = BasedStructure(based)
    variance = solution.variance + structure.missed_variance(AXES, solution)
    assert (variance <= 1.001 * 100.0).all()
    large = TRUE >= 5
    inside = np.abs(solution.table[0] - TRUE) <= 1.96 * np.sqrt(variance[0]) + 0.5
    assert inside[large].mean() >= 0.85
    # The sum of all cells, and one cell.
    weights = np.zeros((TRUE.size, 2))
    weights[:, 0] = 1.0
    weights[7, 1] = 1.0
    sums = based.sums((0, 1, 2), weights)
    assert sums.estimate == pytest.approx([tables.total, solution.table[0].flat[7]])
    assert sums.variance[1, 1] == pytest.approx(solution.variance[0].flat[7])


def test_without_unbiased_tables_the_views_are_compared():
    tables = dataclasses.replace(tables_of("normal", 10.0), unbiased=None)
    solution = based_on("good", tables).solve(AXES)
    assert error(solution.table[0]) <= error(tables.values[0])
