"""Random pairs of tables are neighbours in the sense of the budget."""

from collections import Counter

import pytest

from margin.audit import neighbours
from margin.domain.domain import Domain
from margin.privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
BUDGETS = [
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(1, neighbours=Neighbours.REPLACE_ROW),
]


@pytest.mark.parametrize("budget", [*BUDGETS, ZCDP(1, rows_per_person=3)], ids=repr)
def test_made_up_tables_are_neighbours(budget):
    pairs = list(neighbours(DOMAIN, budget, 60))
    for first, second in pairs:
        ours, theirs = (sorted(map(tuple, table.tolist())) for table in (first, second))
        removed = sum((Counter(ours) - Counter(theirs)).values())
        added = sum((Counter(theirs) - Counter(ours)).values())
        if budget.neighbours is Neighbours.REPLACE_ROW:
            assert removed == added <= budget.rows_per_person
        else:
            assert min(removed, added) == 0 and 1 <= max(removed, added) <= budget.rows_per_person
    assert {len(first) for first, _ in pairs} >= set(range(3, 20))
