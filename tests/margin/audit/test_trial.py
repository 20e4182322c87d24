"""The auditor: it passes what is private, at a stated risk, and says what is wrong in words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import MarginError, PriView
from margin.audit import BlackBox, audit
from margin.domain.domain import Domain
from margin.privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP
from margin.testing import check_mechanism

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
VIEWS = [["a", "b"], ["b", "c", "d"]]
MECHANISMS = [
    PriView(),
    PriView(views=VIEWS),
    PriView.paper(views=VIEWS),
    PriView(views=VIEWS, nonnegativity=None),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["default", "views", "paper", "raw"])
def test_our_mechanisms_pass(mechanism):
    """Fifteen made-up pairs for each of five budgets."""
    check_mechanism(mechanism, pairs=15)


BUDGETS = [
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(1, neighbours=Neighbours.REPLACE_ROW),
]
rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)),
    max_size=30,
)


@settings(max_examples=40)
@given(rows, rows.filter(bool), st.booleans(), st.sampled_from(BUDGETS))
def test_our_mechanism_passes_on_any_pair(shared, news, swapped, budget):
    other = [news[-1]] if budget.neighbours is Neighbours.REPLACE_ROW else []
    pair = tuple(
        np.array(table, int).reshape(-1, 4) for table in (shared + other, [*shared, news[0]])
    )
    pair = pair[::-1] if swapped else pair
    assert audit(PriView(views=VIEWS), domain=DOMAIN, budget=budget, pairs=[pair]).findings == ()


@pytest.mark.parametrize(
    "budget", [PureDP(10**4), PureDP("1e-6"), ZCDP(10**4), ZCDP("1e-9")], ids=repr
)
def test_extreme_budgets_raise_no_alarm(budget):
    assert audit(Plain(), domain=DOMAIN, budget=budget, pairs=20).findings == ()


class Plain:
    def run(self, private, workload):
        return np.concatenate([m.counts.ravel() for m in private.measure(VIEWS)])


class Leaky:
    def run(self, private, workload):
        return private._tables([("a",)])[0].sum()


@pytest.mark.parametrize(
    "budget", [PureDP(1), pytest.param(ZCDP("0.5"), marks=pytest.mark.slow)], ids=repr
)
def test_the_black_box_passes_what_is_private(budget):
    found = audit(
        Plain(),
        domain=DOMAIN,
        budget=budget,
        pairs=3,
        black_box=BlackBox(runs=1000, output=lambda out: out),
    )
    assert found.ok and found.runs == 1000 and found.pairs == 3


def test_the_black_box_looks_at_the_tables_of_a_synopsis():
    assert audit(
        PriView(views=VIEWS, nonnegativity=None),
        domain=DOMAIN,
        budget=PureDP(1),
        pairs=1,
        black_box=BlackBox(runs=40),
    ).ok


def test_what_was_found_is_said():
    found = audit(Leaky(), domain=DOMAIN, budget=PureDP(1), pairs=5)
    assert not found.ok and "past the gate" in found.findings[0]
    with pytest.raises(AssertionError, match="Leaky is not private"):
        check_mechanism(Leaky(), domain=DOMAIN, pairs=5)


@pytest.mark.parametrize("mechanism", [PriView, None, "priview", object()])
def test_a_mechanism_is_an_object_with_run(mechanism):
    with pytest.raises(MarginError, match="run"):
        audit(mechanism, domain=DOMAIN, budget=PureDP(1))
