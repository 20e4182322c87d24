"""The audit of the mechanisms for maps, under all kinds of budgets and both neighbouring
relations."""

import numpy as np
import pytest
from ordered_axes import ordered_axes

from margin import ZCDP, ApproxDP, Domain, PureDP
from margin.audit import BlackBox
from margin.mechanisms import AdaptiveGrid, DPCube, KDTree, QuadTree, UniformGrid
from margin.privacy.budget import Neighbours
from margin.testing import check_mechanism

MAP = Domain(ordered_axes(x=7, y=5))
RULES = Domain(ordered_axes(x=4, y=3), impossible=[{"x": 0, "y": [1, 2]}], rows=12)
MECHANISMS = [
    QuadTree(),
    QuadTree(least_rows=4),
    KDTree(height=2),
    KDTree.hybrid(private_levels=1),
    UniformGrid(),
    AdaptiveGrid(),
    DPCube(),
]


def short(value):
    return repr(value)[:40]


def boxes_and_counts(found):
    """All that a release holds but its variances, which are public."""
    return np.concatenate([found.counts, found.boxes.ravel()])


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_it_is_private(mechanism):
    budgets = (PureDP(1), ZCDP("0.1"), PureDP(2, neighbours=Neighbours.REPLACE_ROW))
    check_mechanism(mechanism, domain=MAP, budgets=budgets, pairs=8)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_it_is_private_with_rules_and_declared_rows(mechanism):
    check_mechanism(mechanism, domain=RULES, budgets=(PureDP(1),), pairs=6)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_it_is_private_under_all_budgets(mechanism):
    check_mechanism(mechanism, domain=MAP, pairs=12)
    check_mechanism(mechanism, pairs=6)
    certified = (ApproxDP(2, "1e-5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2),)
    check_mechanism(mechanism, domain=MAP, budgets=certified, pairs=12)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [KDTree(height=1), AdaptiveGrid()], ids=short)
def test_many_runs_show_no_more_than_the_budget_allows(mechanism):
    domain = Domain(ordered_axes(x=3, y=2))
    black_box = BlackBox(runs=3000, output=boxes_and_counts)
    check_mechanism(mechanism, domain=domain, budgets=(PureDP(1),), pairs=2, black_box=black_box)
