"""Every argument of the gate's methods that enters a sensitivity, away from its default, audited
under many budgets.

Which neighbours show the most is sought: rows of all items, of no item, of the extreme categories.
"""

import numpy as np
import pytest
from audit_checks import CELLS, DOMAIN, ITEMS, MOSTLY, Ask, Draw

from margin.audit import audit, neighbours, trial
from margin.privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP
from margin.private import Groups, Keep, Largest, Private, Strategy
from margin.sparse.axes import Halves, Tree

BUDGETS = [
    PureDP(1),
    ZCDP(1, neighbours=Neighbours.REPLACE_ROW, rows_per_person=2),
]
MORE_BUDGETS = [
    ZCDP("0.5"),
    PureDP(2, rows_per_person=3),
    PureDP(3, neighbours=Neighbours.REPLACE_ROW),
    ApproxDP(1, "1e-6"),
]
zeros = [np.zeros(2), np.zeros(3), np.zeros(4), np.full((2, 3), 9.5)]
views = [["a"], ["b"], ["c"], ["a", "b"]]
TABLES = [
    Ask("measure", [["c", "a"], ["b"], ["c", "a"]], shares=[1, 5, "1/3"]),
    Ask("select", views, zeros, weights=[1, 3, 5, 0]),
    Ask("select", views, zeros, weights=[0, 0, 1 << 20, 7], penalties=[5, -3, 1 << 30, 0], count=3),
    Ask("select", views[::-1], zeros[::-1], weights=[2, 9, 4, 3], count=4, spend="1/3"),
    Ask("total_distance", views, zeros, spend="2/3"),
    Ask("total_distance", views * 2, zeros * 2, weights=[1, 3, 5, 0, 0, 9, 2, 1]),
    Ask("total_distance", views, [answer + 7 for answer in zeros], weights=[0, 0, 1 << 19, 1]),
    Ask("total_dependence", [["a", "b"], ["c", "b"], ["a", "b"]]),
    Ask("total_dependence", [["c", "a"]] * 9, spend="2/3"),
    Ask("measure_linear", [Strategy(("c",), [[[-3, 2, 0, 1], [0, -5, 1, 1]]])]),
    Ask(
        "measure_linear",
        [Strategy(("a", "c"), [[[1, -2]], [[1, -1, 3, -4], [2, 0, -6, 1]]])],
        shares=[3],
    ),
    Ask(
        "measure_linear",
        [Strategy(("a", "b"), [np.arange(-9, 9).reshape(3, 6)]), Strategy.total(DOMAIN)],
    ),
    Ask("measure_linear", [Strategy(("b", "a"), [Groups([2, 0, 0, 1, 2, 2])])]),
    Ask("measure_linear", [Strategy(("c", "a"), [Groups([1, 0, 0, 1]), [[1, -2]]])]),
    Ask("select_cuts", ["c"], [[[0, 4]]], [0]),
    Ask(
        "select_cuts",
        ["c", "a"],
        [[[0, 2], [0, 1]], [[2, 4], [0, 2]], [[0, 2], [1, 2]]],
        [0, 1, 0],
        spend="1/3",
    ),
    Ask("measure_linear", [Strategy(("b",), [np.full((2, 3), -(1 << 20))])]),
    Ask("query_errors", MOSTLY, np.arange(7), records=3, size=2),
    Ask("query_errors", CELLS, np.zeros(len(CELLS), int), records=3, size=2),
    Ask("query_errors", CELLS, np.arange(len(CELLS)), records=7, size=5, spend="2/3"),
    Draw(step="1/7", samples=(2, 5, 1), size=3, records=4),
    Draw(before="1/3", step="1/30", samples=(1, 1, 1, 4), size=1),
    Ask("count_rows", spend="1/9"),
    Ask("sparse_cells", ["c", "a"], keep=Keep(2, 7, True)),
    Ask("sparse_cells", ["a", "b", "c"], keep=Keep(1, 3, False), spend="1/2"),
    Ask("sparse_cells", ["b", "c"], keep=lambda cells, noise: Keep(1 + cells // 12, 4, True)),
    Ask("sparse_cells", ["c", "a"], keep=Largest(5, 2)),
    Ask("sparse_cells", ["b", "c", "a"], keep=Keep(2, 2, False), within=[[2], [0]]),
    Ask("sparse_cells", ["c", "a"], keep=Largest(4, 2, nested=True), axes=[Tree(4), Tree(2)]),
    Ask("sparse_cells", ["a", "c"], keep=Keep(3, 3, True), axes=[Halves(2), Halves(4)]),
    Ask("sketch_counts", ["a", "b", "c"], rows=5, width=3, key=17),
    Ask("above_threshold", CELLS, np.arange(len(CELLS)) % 5, threshold=3, spend="2/3"),
]
BASKETS = [
    Ask("truncated_counts", list("fbd"), most=2, grain=7),
    Ask("truncated_counts", most=1, grain=30, spend="1/2"),
    Ask("truncated_counts", most=5, grain=64),
    Ask("truncated_counts", list("abcde"), most=3, grain=8, groups=[0, 1, 0, 2, 1]),
    Ask("sampled_counts", list("abcde"), most=3),
    Ask("sampled_counts", most=1),
    Ask("frequent_items", list("fbd"), most=2, least=3),
    Ask("chosen_counts", chosen=[4, 0, 2]),
    Ask("walsh_counts", first=5, most=3, grain=12),
    Ask("walsh_counts", list("abcde"), first=8, most=5, grain=3),
    Ask("walsh_counts", first=1, most=6, grain=60),
    Ask("select_most", None, [1, 5, 2], penalties=[0, 3, -2]),
    Ask("select_most", None, [4, 1, 6, 3], penalties=[0, 0, 1 << 20, 7], spend="1/3"),
    Ask("select_most", list("abc"), [3, 1, 2], penalties=[0, 0, 0]),
    Ask("select_scaled", None, [2, 1], scales=[1, 4], penalties=[[0, 9], [1, 1]], grain=12),
    Ask(
        "select_scaled",
        None,
        [3, 1, 2],
        scales=["3/2", "11/4"],
        penalties=np.zeros((3, 2)),
        longest=6,
        grain=60,
    ),
    Ask("select_scaled", None, [6, 1], scales=[7, 1, "5/3"], penalties=np.zeros((2, 3)), grain=5),
    Ask("select_items", count=6),
    Ask("select_items", list("fedcb"), count=3, spend="1/2"),
    Ask("select_sets", None, [[0, 1], [2], [5, 4, 3], [1]], count=3),
    Ask("basis_tables", None, [[0, 3], [5], [1, 2, 4]]),
    Ask(
        "pattern_counts",
        None,
        [(((0, 1),), ()), (((0,), (2,)), ((4, 5),)), ((), ((1,),)), (((1, 2, 3),), ())],
    ),
]


def extremes(budget):
    """Neighbours that differ in rows that hold all items, or none, or all but one."""
    others = [[0, 1] * 3, [1, 1, 1, 0, 0, 0], [1] * 6, [0] * 6, [1] + [0] * 5]
    m = budget.rows_per_person
    replaced = budget.neighbours is Neighbours.REPLACE_ROW
    for number, new in enumerate(
        [[1] * 6, [0] * 6, [1] * 5 + [0], [0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0]]
    ):
        shared = others * number
        old = [[number % 2] * 6] * (m - number % m) if replaced else []
        pair = [
            np.array(table, np.int64).reshape(-1, 6) for table in (shared + old, shared + [new] * m)
        ]
        yield tuple(pair)
        yield tuple(pair[::-1])


def named(ask):
    return ask.method


def check_tables(ask, budget):
    assert audit(ask, domain=DOMAIN, budget=budget, pairs=9).findings == ()


def check_items(ask, budget):
    pairs = [*neighbours(ITEMS, budget, 4), *extremes(budget)]
    assert audit(ask, domain=ITEMS, budget=budget, pairs=pairs).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("ask", TABLES, ids=named)
def test_of_tables(ask, budget):
    check_tables(ask, budget)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("ask", BASKETS, ids=named)
def test_of_items(ask, budget):
    check_items(ask, budget)


@pytest.mark.slow
@pytest.mark.parametrize("budget", MORE_BUDGETS, ids=repr)
def test_of_all_under_more_budgets(budget, monkeypatch):
    """With the laws of the draws in two runs instead of six."""
    monkeypatch.setattr(trial, "_LAW_RUNS", 2)
    for ask in TABLES:
        check_tables(ask, budget)
    for ask in BASKETS:
        check_items(ask, budget)


def test_all_methods_are_audited_so():
    asked = {ask.method for ask in TABLES + BASKETS}
    methods = {
        name
        for name in dir(Private)
        if not name.startswith("_") and callable(getattr(Private, name))
    }
    assert methods - asked == {"affords", "begin", "contest"}, "which look at no row"
