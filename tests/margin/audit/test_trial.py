"""The auditor: it passes what is private, at a stated risk, and says what is wrong in words."""

import itertools
import math
import os
import random

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
        black_box=BlackBox(runs=300, output=lambda out: out),
    )
    assert found.ok and found.runs == 300 and found.pairs == 3
    assert 0 <= found.least_loss <= float(budget.units) / 1e12


class OwnNoise:
    """Adds noise of its own, which cannot be replayed: Laplace noise of scale 1 / 4."""

    def run(self, private, workload):
        counts = private._tables([("a",)])[0]
        private.measure([("a",)])
        return counts + np.random.default_rng().laplace(0, 0.25, counts.shape)


def test_the_runs_show_a_loss_even_if_nothing_can_be_replayed(caplog):
    """At a risk of one in a million that the shown loss is not true."""
    caplog.set_level("INFO", "margin")
    found = audit(
        OwnNoise(),
        domain=DOMAIN,
        budget=PureDP(1),
        pairs=1,
        black_box=BlackBox(runs=1000, output=lambda out: out),
    )
    assert "cannot replay" in found.findings[0] and "more probable" in found.findings[1]
    assert 1 < found.least_loss <= 4
    # One pair was replayed, and both tables were run: all steps are told, in order.
    steps = [record.args for record in caplog.records if record.msg.startswith("audit: step")]
    assert steps == [(step, 2001) for step in range(1, 2002)]


class Ends(OwnNoise):
    """Own noise, except on tables of at least `rows` rows: there the run ends with an error."""

    def __init__(self, rows, error):
        self._rows = rows
        self._error = error

    def run(self, private, workload):
        if private._tables([("a",)])[0].sum() >= self._rows:
            raise self._error("no such thing")
        return super().run(private, workload)


def rows_of_zeros(count):
    return np.zeros((count, 4), int)


PAIRS = [(rows_of_zeros(3), rows_of_zeros(4)), (rows_of_zeros(8), rows_of_zeros(9))]


def looked_at(mechanism, runs=1000):
    """What an audit on the two pairs finds, at a risk of one in a million of a wrong loss."""
    black_box = BlackBox(runs=runs, output=lambda out: out)
    return audit(mechanism, domain=DOMAIN, budget=PureDP(1), pairs=PAIRS, black_box=black_box)


def test_an_error_in_a_run_of_the_black_box_is_a_finding_beside_the_others():
    some = looked_at(Ends(9, AttributeError))
    assert 1 < some.least_loss <= 4
    for text in ("cannot replay", "raises AttributeError", "more probable"):
        assert any(text in finding for finding in some.findings)
    every = looked_at(Ends(0, AttributeError))
    assert math.isnan(every.least_loss) and len(every.findings) == 1
    with pytest.raises(AssertionError, match="raises AttributeError") as found:
        check_mechanism(
            Ends(0, AttributeError), domain=DOMAIN, pairs=1, black_box=BlackBox(runs=2, output=abs)
        )
    assert "black box" not in str(found.value)


@pytest.mark.parametrize("error", [MarginError, SystemExit])
def test_a_run_that_refuses_is_an_output_without_numbers(error):
    """All runs on one table and none on the other: 200 runs always show a loss above 1."""
    assert looked_at(Ends(0, error), runs=200).ok
    by_rows = looked_at(Ends(9, error), runs=200)
    assert by_rows.least_loss > 1
    assert "100 of 100 runs on one table and in 0 of 100 runs" in by_rows.findings[-1]


def test_without_output_the_result_must_have_views():
    with pytest.raises(MarginError, match="returned ndarray; pass BlackBox"):
        audit(Plain(), domain=DOMAIN, budget=PureDP(1), pairs=1, black_box=BlackBox(runs=2))


def test_without_a_black_box_no_loss_is_shown():
    assert math.isnan(audit(Plain(), domain=DOMAIN, budget=PureDP(1), pairs=1).least_loss)


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
    with pytest.raises(AssertionError, match="Leaky does not pass the audit"):
        check_mechanism(Leaky(), domain=DOMAIN, pairs=5)


class ByChance:
    """Measures one of 64 sets of views, which a function of the answers so far chooses."""

    def __init__(self, choose):
        self._choose = choose

    def run(self, private, workload):
        single = private.measure([["a"]], spend="1/2")[0]
        chosen = self._choose(single.counts)
        views = [["a"], *([name] for place, name in enumerate("bcd") if chosen >> place & 1)]
        private.measure(views, spend="1/4")
        return private.measure([["d"]], shares=[1 + (chosen >> 3)])[0].counts


UNSEEDED = {
    "generator": lambda answer: np.random.default_rng().integers(64),
    "numpy": lambda answer: np.random.randint(64),
    "operating system": lambda answer: os.urandom(1)[0] % 64,
    "random": lambda answer: random.randrange(64),
    "earlier runs": lambda answer, runs=itertools.count(): next(runs) % 64,
}


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, "1e-6")], ids=repr)
@pytest.mark.parametrize("choose", UNSEEDED.values(), ids=UNSEEDED)
def test_a_mechanism_with_random_numbers_of_its_own_is_not_called_leaky(choose, budget):
    """The replay fails in all but one of 64 cases, and the repetitions in all but one of 64^10."""
    findings = audit(ByChance(choose), domain=DOMAIN, budget=budget, pairs=8).findings
    assert len(findings) == 1
    assert "cannot replay" in findings[0] and "random numbers of its own" in findings[0]
    assert "neighbouring" not in findings[0]


SEEDED = {
    "field": lambda answer: np.random.default_rng(17).integers(64),
    "answers": lambda answer: np.random.default_rng(np.abs(answer).astype(int)).integers(64),
}


@pytest.mark.parametrize("choose", SEEDED.values(), ids=SEEDED)
def test_a_mechanism_with_seeded_random_numbers_passes(choose):
    assert audit(ByChance(choose), domain=DOMAIN, budget=PureDP(1), pairs=8).ok


def test_a_choice_by_the_rows_is_still_accused():
    class ByRows:
        def run(self, private, workload):
            rows = int(private._tables([("a",)])[0].sum())
            return ByChance(lambda answer: rows % 64).run(private, workload)

    findings = audit(ByRows(), domain=DOMAIN, budget=PureDP(1), pairs=8).findings
    assert findings and all("a neighbouring table" in finding for finding in findings)


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6")], ids=repr)
@pytest.mark.parametrize(
    ("sizes", "said"),
    [((10, 11), "asks for more answers"), ((11, 10), "asks for fewer answers")],
)
def test_a_refusal_by_the_rows_is_accused_in_both_orders(sizes, said, budget):
    """It draws nothing of its own: an error is the same whenever the run is repeated."""

    class RefusesSmall:
        def run(self, private, workload):
            if private._tables([("a",)])[0].sum() < 11:
                raise MarginError("too few")
            return private.measure([["a"]])

    pair = tuple({name: [0] * size for name in DOMAIN} for size in sizes)
    findings = audit(RefusesSmall(), domain=DOMAIN, budget=budget, pairs=[pair]).findings
    assert said in findings[0] and "cannot replay" not in "".join(findings)


@pytest.mark.parametrize("mechanism", [PriView, None, "priview", object()])
def test_a_mechanism_is_an_object_with_run(mechanism):
    with pytest.raises(MarginError, match="run"):
        audit(mechanism, domain=DOMAIN, budget=PureDP(1))
