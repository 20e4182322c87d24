"""Random views of random arrays: answers against the programme of docs/solvers.md, written down
here once more."""

import itertools
import math

import numpy as np
import pytest

from margin.solvers import (
    Batch,
    JointProjection,
    Known,
    Newton,
    Reconstruction,
    ResidualConsistency,
    Status,
    Tables,
    Zeros,
)


def random_case(seed: int) -> tuple[Tables, tuple[int, ...]]:
    """Consistent tables of few to very many rows, with more or less noise, sometimes with zeros or
    a known total, and the axes of a marginal."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    sizes = (
        tuple(rng.integers(1, 9 if seed % 3 == 0 else 4, count).tolist())
        if seed % 4
        else (2,) * count
    )
    views = [
        tuple(sorted(rng.choice(count, rng.integers(1, min(3, count) + 1), replace=False).tolist()))
        for _ in range(rng.integers(1, 7))
    ]
    zeros = None
    first, second = sorted(rng.choice(count, 2, replace=False).tolist())
    if seed % 3 == 1 and sizes[first] > 1 and sizes[second] > 1:
        zeros = Zeros(sizes=sizes, boxes=(((first, (0,)), (second, (sizes[second] - 1,))),))
    array = rng.gamma(rng.choice([0.1, 1.0, 10.0]), 1.0, sizes) + 1e-9
    if zeros is not None:
        array[zeros.cells(tuple(range(count)))] = 0.0
    array *= 10 ** rng.uniform(1, 6) / array.sum()
    noise = 10 ** rng.uniform(-2, 2, len(views))
    values = [array.sum(axis=tuple(set(range(count)) - set(view))) for view in views]
    raw = Tables(
        sizes=sizes,
        views=tuple(views),
        variances=tuple((noise**2).tolist()),
        zeros=zeros,
        values=tuple(
            value + rng.normal(0, scale, value.shape)
            for value, scale in zip(values, noise, strict=True)
        ),
        known=None if seed % 5 else Known.of_total(array.shape, float(array.sum()), zeros),
    )
    tables = ResidualConsistency()(raw)
    axes = tuple(
        sorted(rng.choice(count, rng.integers(1, min(4, count) + 1), replace=False).tolist())
    )
    return JointProjection()(tables) if seed % 2 else tables, axes


def function(size: int, number: int) -> np.ndarray:
    """The constant, or a contrast: number ones, minus number, zeros, of mean square one."""
    if number == 0:
        return np.ones(size)
    values = np.concatenate([np.ones(number), [-number], np.zeros(size - number - 1)])
    return values * math.sqrt(size / (number * (number + 1)))


def stated(
    tables: Tables, axes: tuple[int, ...], strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The known functions at each cell, their targets and ridges."""
    functions, targets, ridges = [], [], []
    for digits in itertools.product(*(range(tables.sizes[axis]) for axis in axes)):
        number = dict(zip(axes, digits, strict=True))
        varies = {axis for axis, digit in number.items() if digit}
        holders = [row for row, view in enumerate(tables.views) if varies and varies <= set(view)]
        if not holders:
            continue
        at_cells, in_view = np.ones(()), np.ones(())
        for axis in axes:
            at_cells = np.multiply.outer(at_cells, function(tables.sizes[axis], number[axis]))
        for axis in tables.views[holders[0]]:
            in_view = np.multiply.outer(in_view, function(tables.sizes[axis], number.get(axis, 0)))
        precision = sum(1 / (tables.values[row].size * tables.variances[row]) for row in holders)
        functions.append(at_cells.ravel())
        targets.append((tables.values[holders[0]] * in_view).sum() / tables.total)
        order = len(varies)
        ridges.append(
            max(
                strength * (0.01 if order == 1 else order**2) / (precision * tables.total**2), 1e-10
            )
        )
    cells = math.prod(tables.sizes[axis] for axis in axes)
    return np.array(functions).reshape(-1, cells), np.array(targets), np.array(ridges)


@pytest.mark.parametrize("start", range(0, 120, 20))
@pytest.mark.parametrize("strength", [1.0, 10.0])
def test_answers_minimise_the_stated_objective(start, strength):
    """By weak duality: no distribution has a smaller value than the dual at any weights."""
    for seed in range(start, start + 20):
        tables, axes = random_case(seed)
        if tables.total <= 0:
            continue
        solution = Reconstruction(tables, Newton(strength=strength)).solve([axes])[0]
        functions, targets, ridges = stated(tables, axes, strength)
        possible = np.ones(functions.shape[1], np.bool_)
        if tables.zeros is not None:
            possible = ~tables.zeros.cells(axes).ravel()
        found = solution.table.ravel() / tables.total
        assert solution.status in (Status.OPTIMAL, Status.RELAXED)
        assert found.min() >= 0 and found.sum() == pytest.approx(1.0) and not found[~possible].any()
        positive = found[found > 0]
        misses = functions @ found - targets
        value = (
            positive @ np.log(positive)
            + math.log(possible.sum())
            + 0.5 * (misses**2 / ridges).sum()
        )
        assert solution.objective == pytest.approx(value, abs=1e-5)
        if ridges.min(initial=1.0) > 1e-4:  # else the weights cannot be told from the misses
            weights = -misses / ridges
            logits = (weights @ functions)[possible]
            bound = weights @ targets - 0.5 * ridges @ weights**2
            bound += (
                math.log(possible.sum())
                - logits.max()
                - math.log(np.exp(logits - logits.max()).sum())
            )
            assert value == pytest.approx(bound, abs=1e-7)


def test_one_by_one_is_as_together():
    for seed in range(0, 60, 2):
        tables, _ = random_case(seed)
        asked = np.array(list(itertools.combinations(range(len(tables.sizes)), 2)))
        sizes = np.array(tables.sizes)[asked]
        same = asked[(sizes == sizes[0]).all(axis=1)]
        if tables.total > 0:
            together = Newton().solve(Batch.of(tables, same))
            for row, axes in enumerate(same):
                alone = Newton().solve(Batch.of(tables, axes[None]))[0]
                assert together[row].table == pytest.approx(
                    alone.table, rel=1e-6, abs=1e-7 * tables.total
                )
