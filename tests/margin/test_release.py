import importlib
import inspect
import random

import numpy as np
import pytest

import margin
from margin import (
    ZCDP,
    ApproxDP,
    BudgetError,
    DataError,
    Domain,
    DomainError,
    FileError,
    Marginal,
    MarginError,
    PriView,
    PureDP,
    Simulation,
    SolverError,
    Workload,
)
from margin.noise.entropy import SystemEntropy
from margin.privacy.budget import certified
from margin.solvers import Ladder, Newton, Ripple, Simplex, Solution, Status, UnsolvedError
from margin.synopses import ViewSynopsis

VIEWS = [["age", "sex", "region"], ["sex", "children"], ["region", "children", "income"]]
BUDGETS = [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6")]
MECHANISMS = {
    "default": PriView(),
    "views": PriView(views=VIEWS),
    "paper": PriView.paper(views=VIEWS),
    "simplex": PriView(views=VIEWS, nonnegativity=Simplex()),
    "none": PriView(views=VIEWS, nonnegativity=None),
}


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_a_release_answers_every_marginal(table, domain, budget, mechanism):
    synopsis = margin.release(table, domain=domain, budget=budget, mechanism=mechanism)
    promised = (
        certified(budget) if isinstance(budget, ApproxDP) else budget
    )  # one call that spends all
    assert (
        isinstance(synopsis, ViewSynopsis)
        and synopsis.spent == promised
        and synopsis.domain == domain
    )
    for view in [
        *Workload.all_kway(domain, 1),
        *Workload.all_kway(domain, 2).views[:4],
        ("income", "age", "children", "sex"),
    ]:
        answer = synopsis.marginal(view)
        assert answer.attributes == view
        assert answer.counts.shape == answer.variance.shape == domain.shape(view)
        assert np.isfinite(answer.counts).all()
        assert answer.total == pytest.approx(500, abs=400)


def test_views_are_consistent_and_not_negative(table, domain):
    synopsis = margin.release(
        table, domain=domain, budget=PureDP("0.5"), mechanism=PriView(views=VIEWS)
    )
    assert [view.attributes for view in synopsis.views] == [tuple(view) for view in VIEWS]
    for view in synopsis.views:
        assert view.counts.min() >= 0
    wide, narrow = synopsis.views[0], synopsis.views[1]
    assert wide.project(["sex"]).counts == pytest.approx(narrow.project(["sex"]).counts)


def test_a_covered_marginal_is_read_in_any_order(table, domain):
    synopsis = margin.release(
        table, domain=domain, budget=PureDP(1), mechanism=PriView(views=VIEWS)
    )
    straight, turned = synopsis.marginal(["age", "region"]), synopsis.marginal(["region", "age"])
    assert turned.counts == pytest.approx(straight.counts.T)
    assert straight.counts == pytest.approx(synopsis.views[0].project(["age", "region"]).counts)


def test_an_uncovered_marginal_is_the_same_in_any_order(table, domain):
    synopsis = margin.release(
        table, domain=domain, budget=PureDP(1), mechanism=PriView(views=VIEWS)
    )
    straight, turned = (
        synopsis.marginal(["age", "income", "sex"]),
        synopsis.marginal(["sex", "age", "income"]),
    )
    assert turned.counts == pytest.approx(straight.counts.transpose(2, 0, 1))
    assert turned.variance == pytest.approx(straight.variance.transpose(2, 0, 1))


def test_a_name_stands_for_the_view_of_itself(table, domain):
    synopsis = margin.release(table, domain=domain, budget=PureDP(1))
    assert synopsis.marginal("sex").attributes == ("sex",)


def test_marginals_answers_a_workload_in_order(table, domain):
    synopsis = margin.release(table, domain=domain, budget=PureDP(1))
    workload = [["sex"], ["region", "age"]]
    assert [answer.attributes for answer in synopsis.marginals(workload)] == [
        ("sex",),
        ("region", "age"),
    ]


def test_a_workload_is_covered_by_the_chosen_views(table, domain):
    synopsis = margin.release(
        table, domain=domain, budget=PureDP(1), workload=[["sex", "income"], ["age"]]
    )
    held = [set(view.attributes) for view in synopsis.views]
    assert any({"sex", "income"} <= view for view in held) and any("age" in view for view in held)


def test_a_large_budget_gives_the_truth(table, domain):
    simulation = margin.simulate(
        table, domain=domain, budget=PureDP(10**5), mechanism=PriView(views=VIEWS), seed=1
    )
    for view in VIEWS:
        assert simulation.marginal(view).counts == pytest.approx(
            simulation.truth(view).counts, abs=1e-3
        )


def test_truth_counts_the_rows(table, domain):
    simulation = margin.simulate(table, domain=domain, budget=PureDP(1), seed=1)
    sex = simulation.truth(["sex"])
    assert sex.counts.tolist() == [
        table["sex"].to_pylist().count("F"),
        table["sex"].to_pylist().count("M"),
    ]
    assert not sex.variance.any()
    stated = simulation.truth("income").to_pandas()
    assert stated.loc["not stated", "count"] == table["income"].null_count


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.01")], ids=repr)
def test_a_table_of_no_row_or_one_is_released_like_any_other(
    table, domain, mechanism, budget, rows
):
    synopsis = margin.release(
        table.slice(0, rows), domain=domain, budget=budget, mechanism=mechanism
    )
    answer = synopsis.marginal(["age", "sex", "income", "children"])
    assert answer.counts.shape == (3, 2, 3, 4) and np.isfinite(answer.counts).all()


@pytest.mark.parametrize(
    "sizes",
    [
        {"a": 1},
        {"a": 5},
        {"a": 1, "b": 1},
        {"a": 300, "b": 2},
        {"a": 2, "b": 5000},
        {"a": 20_000, "b": 3},
    ],
)
def test_odd_domains_are_released(sizes):
    domain = Domain(sizes)
    codes = np.zeros((10, len(domain)), dtype=int)
    synopsis = margin.release(codes, domain=domain, budget=PureDP(1))
    for k in range(1, len(domain) + 1):
        for view in Workload.all_kway(domain, k):
            assert synopsis.marginal(view).counts.shape == domain.shape(view)


def test_the_same_seed_gives_the_same_simulation_and_another_does_not(table, domain):
    first, again, other = (
        margin.simulate(table, domain=domain, budget=PureDP(1), seed=seed)
        .marginal(["age", "sex"])
        .counts
        for seed in (3, 3, 4)
    )
    assert (first == again).all() and (first != other).any()


def test_no_global_seed_fixes_a_release(table, domain, monkeypatch):
    """With the entropy of the operating system, which tests/conftest.py replaces."""
    monkeypatch.setattr(importlib.import_module("margin.release"), "SystemEntropy", SystemEntropy)
    counts = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        counts.append(
            margin.release(table, domain=domain, budget=PureDP("0.1"))
            .marginal(["age", "sex"])
            .counts
        )
    assert (counts[0] != counts[1]).any()


def test_only_simulate_takes_a_seed():
    assert "seed" not in inspect.signature(margin.release).parameters
    assert "seed" in inspect.signature(margin.simulate).parameters
    for function in (margin.release, margin.simulate):
        first, *others = inspect.signature(function).parameters.values()
        assert first.name == "data" and all(other.kind is other.KEYWORD_ONLY for other in others)


def test_a_simulation_is_not_a_synopsis(table, domain):
    simulation = margin.simulate(table, domain=domain, budget=PureDP(1), seed=1)
    assert isinstance(simulation, Simulation) and not isinstance(simulation, ViewSynopsis)
    other = simulation.synopsis.with_reconstruction(Ladder())
    assert isinstance(other, ViewSynopsis) and not other.provenance.private
    assert simulation.truth("sex").total == 500


def test_a_simulation_takes_no_ledger(table, domain):
    with pytest.raises(TypeError, match="ledger"):
        margin.simulate(table, domain=domain, budget=PureDP(1), ledger=object(), seed=1)


class Stops:
    """Measures, and then returns no synopsis or raises an error."""

    def __init__(self, error=None):
        self._error = error

    def run(self, private, workload):
        private.measure([["sex"]])
        if self._error is not None:
            raise self._error
        return (1, 2)


ERRORS = [
    *(None, MarginError("no"), KeyError("no"), MemoryError(), KeyboardInterrupt()),
    UnsolvedError("no tables"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_what_stops_a_simulation_says_nothing_of_a_charge(table, domain, error):
    settings = {"domain": domain, "budget": PureDP(1), "mechanism": Stops(error)}
    expected = MarginError if error is None else type(error)
    with pytest.raises(expected) as stopped:
        margin.simulate(table, seed=0, **settings)
    told = [str(stopped.value), *getattr(stopped.value, "__notes__", [])]
    assert "charged" not in " ".join(told) and "budget" not in " ".join(told)
    assert not getattr(stopped.value, "budget_is_lost", False)
    with pytest.raises(expected) as stopped:
        margin.release(table, **settings)
    told = [str(stopped.value), *getattr(stopped.value, "__notes__", [])]
    assert "the budget has already been charged" in " ".join(told)
    assert stopped.value.budget_is_lost


def test_a_users_own_mechanism_is_one_class(table, domain):
    class TotalOnly:
        def run(self, private, workload):
            return ViewSynopsis.of(
                private.domain, private.measure([["sex"]]), reconstruction=Newton()
            )

    synopsis = margin.release(table, domain=domain, budget=PureDP(1), mechanism=TotalOnly())
    assert np.ptp(synopsis.marginal(["age"]).counts) == pytest.approx(0, abs=1e-6)


def test_a_users_own_solver_is_one_class(table, domain):
    class Even:
        def solve(self, problem):
            return Solution(
                table=np.full(problem.shape, problem.total / problem.cells),
                status=Status.OPTIMAL,
                objective=0.0,
                residual=0.0,
                iterations=0,
                seconds=0.0,
                relaxation=0.0,
            )

    mechanism = PriView(views=[["age"], ["sex"]], reconstruction=Even())
    answer = margin.release(table, domain=domain, budget=PureDP(1), mechanism=mechanism).marginal(
        ["age", "sex"]
    )
    assert np.ptp(answer.counts) == 0 and np.isnan(answer.variance).all()


def test_a_solver_that_fails_is_an_error_that_says_so(table, domain):
    mechanism = PriView(views=[["age"], ["sex"]])
    synopsis = margin.release(table, domain=domain, budget=PureDP(1), mechanism=mechanism)
    with pytest.raises(SolverError, match="iteration limit"):
        synopsis.with_reconstruction(Newton(iterations=0)).marginal(["age", "sex"])


@pytest.mark.parametrize("checks", [False, True])
def test_a_negative_cell_is_named_as_the_cause(checks):
    class Negative:
        def solve(self, problem):
            share = np.full(problem.cells, 1.5 / (problem.cells - 1))
            share[0] = -0.5
            rest = {"status": Status.OPTIMAL, "iterations": 0, "seconds": 0.0, "relaxation": 0.0}
            if checks:
                return problem.solution(share, **rest)
            cells = (problem.total * share).reshape(problem.shape)
            return Solution(table=cells, objective=0.0, residual=0.0, **rest)

    synopsis = margin.release(
        {"a": [0, 1] * 20, "b": [1, 1] * 20},
        domain={"a": 2, "b": 2},
        budget=PureDP(1),
        mechanism=PriView(views=[["a"], ["b"]]),
    )
    wrong = synopsis.with_reconstruction(Negative())
    for ask in (lambda: wrong.marginal(["a", "b"]), lambda: wrong.count({"a": 0, "b": 1})):
        with pytest.raises(SolverError, match="its table has a negative cell"):
            ask()


def test_a_marginal_that_is_too_large_is_refused():
    domain = Domain({f"a{place}": 2 for place in range(30)})
    mechanism = PriView(views=[domain.attributes[first : first + 6] for first in range(0, 30, 6)])
    synopsis = margin.release(
        np.zeros((5, 30), dtype=int), domain=domain, budget=PureDP(1), mechanism=mechanism
    )
    with pytest.raises(DomainError, match="at most"):
        synopsis.marginal(domain.attributes)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"budget": 1.0}, BudgetError, "PureDP"),
        ({"budget": None}, BudgetError, "budget"),
        ({"domain": {}}, DomainError, "at least one"),
        ({"domain": {"age": -1}}, DomainError, "'age'"),
        ({"domain": "no such file.json"}, FileError, "no such file"),
        ({"domain": {"age": {"bins": [0, 200]}, "shoe": 3}}, DataError, "'shoe'"),
        ({"domain": {"sex": ["F"]}}, DataError, "'sex'"),
        ({"domain": {"income": ["low", "high"]}}, DataError, "'income'.*missing"),
        ({"mechanism": PriView}, MarginError, "mechanism"),
        ({"mechanism": "priview"}, MarginError, "mechanism"),
        ({"mechanism": PriView(views=[["age", "age"]])}, DomainError, "'age'"),
        ({"mechanism": PriView(views=[["age", "shoe"]])}, DomainError, "'shoe'"),
        ({"workload": []}, DomainError, "workload"),
        ({"workload": "age"}, DomainError, "workload"),
        ({"workload": [["age"], ["shoe"]]}, DomainError, "'shoe'"),
        ({"data": "missing.csv"}, DataError, "missing.csv"),
        ({"data": 5}, DataError, "data"),
    ],
)
def test_bad_input_names_what_is_wrong_and_costs_nothing(table, domain, change, error, says):
    class Book:
        def charge(self, budget):
            raise AssertionError("charged")

    arguments = {"data": table, "domain": domain, "budget": PureDP(1), "ledger": Book(), **change}
    with pytest.raises(error, match=says) as caught:
        margin.release(arguments.pop("data"), **arguments)
    text = str(caught.value)
    assert "person 1" not in text and "overseas" not in text


@pytest.mark.parametrize(
    ("views", "says"),
    [([], "at least one"), ("age", "list of views"), (["age", "sex"], "list of views")],
)
def test_views_are_lists_of_lists(views, says):
    with pytest.raises(DomainError, match=says):
        PriView(views=views)


@pytest.mark.parametrize("k", [0, -1, 6, 1.5, True, "2"])
def test_k_must_be_in_range(domain, k):
    with pytest.raises(DomainError, match="k "):
        Workload.all_kway(domain, k)


def test_a_marginal_as_a_data_frame(table, domain):
    frame = (
        margin.simulate(table, domain=domain, budget=PureDP(10**5), seed=1)
        .marginal(["sex", "region"])
        .to_pandas()
    )
    assert frame.index.names == ["sex", "region"]
    assert list(frame.columns) == ["count", "sd", "low", "high"]
    counts = frame["count"]
    assert counts["F", "elsewhere"] == pytest.approx(counts.unstack().loc["F", "elsewhere"])
    assert counts.sum() == pytest.approx(500, abs=1)
    # Sorting keeps the declared order of the categories.
    assert list(frame.sort_index().index) == list(frame.index)
    assert list(counts.unstack().columns) == list(domain["region"].labels)


def test_project_keeps_order_and_forgets_variance(domain):
    counts = np.arange(24.0).reshape(3, 2, 4)
    marginal = Marginal(domain.restrict(["age", "sex", "children"]), counts, np.ones(counts.shape))
    turned = marginal.project(["children", "age"])
    assert turned.attributes == ("children", "age")
    assert turned.counts.tolist() == counts.sum(axis=1).T.tolist()
    assert np.isnan(turned.variance).all()


def test_paper_is_the_published_method():
    paper = PriView.paper()
    assert type(paper.consistency).__name__ == "LatticeConsistency"
    assert isinstance(paper.nonnegativity, Ripple) and isinstance(paper.reconstruction, Ladder)
