"""Groups of blocks: sweeps through groups of any size end at the same table."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from noisy_moments import problem_of

from margin.solvers import Newton
from margin.solvers.reconstruct.scaling import groups as groups_module
from margin.solvers.reconstruct.scaling.blocks import blocks_of
from margin.solvers.reconstruct.scaling.dual import ScaledDual
from margin.solvers.reconstruct.scaling.groups import groups_of

TRIPLES = [*itertools.combinations(range(5), 3)]
CASES = [
    ((4, 3, 5, 2), [*itertools.combinations(range(4), 2)]),
    ((4, 3, 4, 3, 4), TRIPLES),
    ((4, 3, 4, 3, 4), [(0, 1, 2), (1, 2, 3), (3, 4)]),
    ((6, 5), [(0, 1)]),
    ((5, 1, 4, 3), [(0, 2), (2, 3)]),
]
IDS = ["pairs", "triples", "chain", "whole table", "one value"]


@pytest.fixture(autouse=True)
def _small_tables_have_groups(monkeypatch):
    monkeypatch.setattr(groups_module, "GROUPED_CELLS", 0)


def blocks_and_ridge(shape, views, **more):
    """A problem, its ridges and its blocks; parts on fewer axes are known more precisely."""
    problem = problem_of(shape, views, **more)
    variance = more.get("noise", 1e-3) ** 2 * 20.0 ** (problem.order - 3)
    problem = replace(problem, variance=variance)
    ridge = Newton().ridge(problem)
    return problem, ridge, blocks_of(problem, ridge)


@pytest.mark.parametrize("share", [1, 4, 32])
@pytest.mark.parametrize(("shape", "views"), CASES, ids=IDS)
def test_each_block_is_in_one_group_of_few_cells(shape, views, share, monkeypatch):
    monkeypatch.setattr(groups_module, "TABLE_PER_GROUP", share)
    _, _, blocks = blocks_and_ridge(shape, views)
    groups = groups_of(shape, blocks)
    places = [member.place for group in groups for member in group.members]
    assert sorted(places) == list(range(len(blocks)))
    largest = {block.axes for block in blocks}
    for group in groups:
        assert all(set(member.block.axes) <= set(group.axes) for member in group.members)
        assert all(member.block is blocks[member.place] for member in group.members)
        cells = math.prod(shape[axis] for axis in group.axes)
        assert group.axes in largest or cells <= math.prod(shape) // share


@pytest.mark.parametrize("zeros", [0.0, 0.3], ids=["all cells", "zeros"])
@pytest.mark.parametrize("share", [1, 4, 32])
@pytest.mark.parametrize("noise", [1e-1, 1e-3])
@pytest.mark.parametrize(("shape", "views"), CASES, ids=IDS)
def test_groups_of_any_size_end_at_the_optimum(shape, views, noise, share, zeros, monkeypatch):
    monkeypatch.setattr(groups_module, "TABLE_PER_GROUP", share)
    problem, ridge, blocks = blocks_and_ridge(shape, views, noise=noise, zeros=zeros)
    scaled = ScaledDual(problem, ridge, blocks)
    found = scaled.distribution(scaled.start(1e-9))
    expected = Newton(tolerance=1e-10).solve(problem).table.ravel() / problem.total
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("turns", [1, 4])
@pytest.mark.parametrize(("shape", "views"), CASES, ids=IDS)
def test_a_turn_leaves_the_table_and_its_dual_variables_in_step(shape, views, turns, monkeypatch):
    """After each group the table is still the one that the dual variables of all blocks stand
    for."""
    monkeypatch.setattr(groups_module, "TABLE_PER_GROUP", 2)
    monkeypatch.setattr(groups_module, "GROUP_TURNS", turns)
    problem, ridge, blocks = blocks_and_ridge(shape, views, noise=1e-2)
    scaled = ScaledDual(problem, ridge, blocks)
    rng = np.random.default_rng(4)
    duals = [rng.normal(scale=0.1, size=block.shape) for block in blocks]
    table = scaled._table(duals).copy()
    for group in scaled.groups:
        before = [
            np.abs(block.marginal(table) + block.ridge * duals[place] - block.target).max()
            for place, block in enumerate(blocks)
        ]
        first = group.members[0].place
        worst = group.scale(table, duals)
        assert worst >= before[first] * (1 - 1e-9)
        expected = scaled._table(duals)
        np.testing.assert_allclose(table / table.sum(), expected, rtol=1e-9, atol=1e-15)


def test_dependent_axes_are_in_one_group(monkeypatch):
    """Axes 1 and 3 depend on each other, the others do not: each group that can holds both."""
    shape = (3, 4, 3, 4, 3)
    problem, ridge, _ = blocks_and_ridge(shape, TRIPLES)
    table = np.multiply.outer(np.eye(4) + 0.05, np.ones((3, 3, 3)))
    table = np.moveaxis(table, (0, 1), (1, 3)).ravel()
    problem = replace(problem, target=problem.moments(table / table.sum()))
    monkeypatch.setattr(groups_module, "TABLE_PER_GROUP", 3)
    groups = groups_of(shape, blocks_of(problem, ridge))
    assert {1, 3} <= set(groups[0].axes)
    assert len(groups[0].axes) == 4
    holding = [group for group in groups if {1, 3} <= set(group.axes)]
    assert sum(len(group.members) for group in holding) >= 18


def test_a_small_table_is_one_group(monkeypatch):
    shape, views = CASES[1]
    _, _, blocks = blocks_and_ridge(shape, views)
    assert len(groups_of(shape, blocks)) > 1
    monkeypatch.setattr(groups_module, "GROUPED_CELLS", math.prod(shape) + 1)
    (group,) = groups_of(shape, blocks)
    assert [member.place for member in group.members] == list(range(len(blocks)))
