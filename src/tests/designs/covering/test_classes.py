"""Parallel classes, and the joins that they make."""

import itertools

import pytest

from margin.designs.covering.annealing import anneal_classes
from margin.designs.covering.design_table import MOST_POINTS, WIDEST
from margin.designs.covering.parallel_classes import (
    UNKNOWN,
    Classes,
    class_counts,
    parallel_classes,
    read_classes,
    shipped_classes,
)
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.groups import Group


def are_classes(classes, v, width):
    """Each class holds every point in few blocks, and all together hold every pair."""
    for one in classes:
        assert len(one) <= -(-v // width)
        assert max(map(len, one)) <= width
        assert set().union(*one) == set(range(v))
    held = {pair for one in classes for block in one for pair in itertools.combinations(block, 2)}
    assert held == set(itertools.combinations(range(v), 2))


def test_shipped_parallel_classes_hold_all_pairs():
    assert len(shipped_classes()) > 50
    for (v, width), classes in shipped_classes().items():
        assert classes.count >= -(-(v - 1) // (width - 1))
        are_classes(classes.expand(), v, width)


@pytest.mark.parametrize("width", range(2, WIDEST + 1))
def test_derived_parallel_classes_hold_all_pairs(width):
    for v in range(2, MOST_POINTS + 1, 4 + width % 3):
        count = class_counts()[width, v]
        if count < UNKNOWN:
            classes = parallel_classes(v, width)
            assert len(classes) == count
            are_classes(classes, v, width)


@pytest.mark.slow
def test_fifteen_schoolgirls_walk_for_seven_days():
    for seed in range(20):
        found = anneal_classes(Group(v=15, order=7), 3, bases=1, moves=100_000, seed=seed)
        if found is not None:
            break
    assert found.count == 7
    are_classes(found.expand(), 15, 3)


def test_annealing_of_classes_gives_up_on_what_cannot_be():
    assert anneal_classes(Group(v=9, order=3), 3, bases=1, moves=1000, seed=0) is None


def test_spare_slots_of_classes_are_used():
    found = anneal_classes(Group(v=7, order=1), 4, bases=4, moves=100_000, seed=0)
    are_classes(found.expand(), 7, 4)


def test_lines_of_classes_are_read_as_they_were_written():
    classes = Classes(
        group=Group(v=5, order=2), width=3, base=(((0, 1, 2), (3, 4)), ((0, 3), (1, 2, 4)))
    )
    assert read_classes(classes.line()) == classes
    assert classes.count == 4


@pytest.mark.parametrize("t", [2, 3])
def test_joins_class_by_class_cover(t):
    cells = [
        cell
        for cell, recipe in smallest_designs().recipes.items()
        if "class by class" in recipe.provenance and cell[2] == t
    ]
    assert len(cells) > 50
    for v, k, _ in cells[:: len(cells) // 12]:
        blocks = smallest_designs().build(v, k, t)
        assert len(blocks) <= smallest_designs().sizes[t, k, v]
        assert max(map(len, blocks)) <= k
        held = {one for block in blocks for one in itertools.combinations(block, t)}
        assert len(held) == len(set(itertools.combinations(range(v), t)))
