"""Mistakes of newcomers, each with the message that says what was expected and what to do."""

import dataclasses
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import margin
from margin import mechanisms
from margin.metrics.records import records_distance
from margin.publication.folder import publish
from margin.report import write_report
from margin.store import _KINDS

TABLE = pd.DataFrame({"age": [0, 1, 1, 2] * 50, "sex": ["F", "M"] * 100})
DOMAIN = margin.Domain({"age": 3, "sex": ["F", "M"]})
ONE = margin.PureDP(1)
QUERIES = margin.queries.Conjunctions.random(DOMAIN, 2, 5, seed=1)


@pytest.fixture(scope="module")
def made():
    return margin.release(TABLE, domain=DOMAIN, budget=ONE)


def release(**arguments):
    return margin.release(TABLE, **{"domain": DOMAIN, "budget": ONE, **arguments})


def simulation():
    return margin.simulate(TABLE, domain=DOMAIN, budget=ONE, seed=1)


# What is done, the type of the error, and parts of its message.
CALLS = [
    (lambda: release(seed=0), TypeError, ["'seed'", "margin.simulate(..., seed=0)"]),
    (lambda: release(epsilon=1), TypeError, ["'epsilon'", "budget=margin.PureDP(epsilon)"]),
    (lambda: release(workloda=[]), TypeError, ["did you mean 'workload'?"]),
    (lambda: margin.release(TABLE, DOMAIN, ONE), TypeError, ["(data), but 3", "domain="]),
    (lambda: margin.release(TABLE), TypeError, ["needs domain= and budget="]),
    (
        lambda: margin.simulate(TABLE, domain=DOMAIN, budget=ONE, seed=1, ledger=None),
        TypeError,
        ["'ledger'", "charged to no ledger"],
    ),
    (lambda: margin.plan(ONE, DOMAIN), TypeError, ["(domain), but 2", "budget="]),
    (lambda: release(ledger="l.db"), margin.BudgetError, ["type str", "Ledger(path).dataset"]),
    (lambda: release(budget=margin.PureDP), margin.BudgetError, ["class PureDP", "PureDP(1)"]),
    (
        lambda: margin.release(DOMAIN, domain=DOMAIN, budget=ONE),
        margin.DataError,
        ["it is a Domain", "release(table, domain=domain"],
    ),
    (
        lambda: margin.release("p.margin", domain=DOMAIN, budget=ONE),
        margin.DataError,
        ["result of a release", "margin.load"],
    ),
    (
        lambda: margin.release(TABLE["age"], domain=DOMAIN, budget=ONE),
        margin.DataError,
        ["single column", "to_frame()"],
    ),
    (
        lambda: margin.release([{"age": 1, "sex": "F"}], domain=DOMAIN, budget=ONE),
        margin.DataError,
        ["type list", "pandas.DataFrame(records)"],
    ),
    (lambda: margin.Domain(age=3), TypeError, ["'age'", "Domain({"]),
    (lambda: margin.Domain('{"age": 3}'), margin.FileError, ["Domain.from_json"]),
    (lambda: margin.Domain.from_json({"a": 2}), margin.DomainError, ["type dict", "Domain(...)"]),
    (lambda: margin.Domain.from_json("d.json"), margin.DomainError, ["path", "Domain(...)"]),
    (lambda: margin.Workload.all_kway(2, DOMAIN), margin.DomainError, ["type int", "(domain, 2)"]),
    (lambda: margin.Workload.all_kway(DOMAIN, 9), margin.DomainError, ["k (9)", "from 1 to 2"]),
    (lambda: margin.load(TABLE), margin.FileError, ["type DataFrame", "margin.release"]),
    (lambda: simulation().count, AttributeError, ["'count'", "write simulation.synopsis.count"]),
    (lambda: simulation().truth(QUERIES), margin.DomainError, ["true_answer(queries)"]),
    (lambda: simulation().true_answer(["age"]), margin.DomainError, ["type list"]),
    (lambda: margin.ApproxDP(1), TypeError, ["needs delta=", 'ApproxDP(1, "1e-6")']),
    (lambda: margin.PureDP(), TypeError, ["needs epsilon=", "PureDP(1)"]),
    (lambda: release(budget=margin.ApproxDP(1, 0.5)), margin.BudgetError, ["delta (0.5)", "1e-6"]),
    (lambda: margin.AIM, AttributeError, ["experiments peers"]),
    (lambda: margin.relase, AttributeError, ["did you mean 'release'?"]),
    (lambda: publish(TABLE, [["age"]], "x"), margin.DomainError, ["DataFrame", "margin.release"]),
    (lambda: write_report(TABLE, "x.html"), margin.DomainError, ["DataFrame", "margin.release"]),
    (
        lambda: records_distance(TABLE, np.zeros((1, 2), int)),
        margin.DomainError,
        ["DataFrame", "margin.release"],
    ),
]


@pytest.mark.parametrize(("call", "kind", "parts"), CALLS)
def test_a_wrong_call_is_explained(call, kind, parts):
    with pytest.raises(kind) as caught:
        call()
    assert all(part in str(caught.value) for part in parts), caught.value


# Questions to a synopsis.
QUESTIONS = [
    (lambda made: made.marginal(TABLE), margin.DomainError, ["DataFrame", "margin.release(table"]),
    (lambda made: made.marginals(TABLE), margin.DomainError, ["DataFrame", "margin.release(table"]),
    (lambda made: made.marginal("age", "sex"), TypeError, ["but 2 are given", "one list"]),
    (lambda made: made.count(sex="F"), TypeError, ["'sex'", "mapping", 'count({"sex": "F"})']),
    (lambda made: made.ratio({"sex": "F"}), TypeError, ["needs other=", "two conditions"]),
    (lambda made: made.save(None), margin.FileError, ["type NoneType", "pass a path"]),
    (lambda made: made.save("/"), margin.FileError, ["is a folder", "name of a file"]),
    (lambda made: made.save("none/x.margin"), margin.FileError, ["must exist", "create it first"]),
]


@pytest.mark.parametrize(("ask", "kind", "parts"), QUESTIONS)
def test_a_wrong_question_is_explained(made, ask, kind, parts):
    with pytest.raises(kind) as caught:
        ask(made)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_simulation_is_no_synopsis_but_has_one():
    simulation = margin.simulate(TABLE, domain=DOMAIN, budget=ONE, seed=1)
    with pytest.raises(margin.DomainError, match="Simulation is given; pass its attribute"):
        publish(simulation, [["age"]], "x")


def test_true_answers_of_queries_are_shares_of_the_rows():
    queries = margin.queries.Conjunctions.cells(DOMAIN, [["age", "sex"]])
    made = simulation()
    truth = made.truth(["age", "sex"]).counts.ravel() / len(TABLE)
    assert np.allclose(made.true_answer(queries), truth, rtol=0, atol=1e-12)
    assert np.array_equal(made.answer(queries), made.synopsis.answer(queries))
    assert pickle.loads(pickle.dumps(margin.Simulation(made.synopsis))).synopsis is not None


def test_a_table_is_no_release(tmp_path):
    path = tmp_path / "people.csv"
    TABLE.to_csv(path)
    with pytest.raises(margin.FileError, match=r"table of rows.*release it first"):
        margin.load(path)
    with pytest.raises(margin.FileError, match="is a folder"):
        margin.load(tmp_path)


def test_errors_inside_an_explained_call_stay_as_they_are():
    class Broken:
        def run(self, private, workload):
            raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        release(mechanism=Broken())


@pytest.mark.parametrize("kind", list(_KINDS.values()), ids=list(_KINDS))
def test_every_form_of_a_synopsis_has_the_short_repr(kind):
    assert kind.__repr__ is margin.Synopsis.__repr__


MECHANISMS = [
    (margin.PriView(views=[["age"], ["sex"]]), "2 tables of 1 attribute"),
    (margin.PriView(views=[["age", "sex"]]), "1 table of 2 attributes"),
    (mechanisms.Direct(), "1 table of 2 attributes"),
    (mechanisms.Flat(), "all 2 attributes, 6 cells"),
    (mechanisms.Uniform(), "spread evenly over all cells"),
    (margin.HighPass(theta=5), "cells: "),
    (mechanisms.CountSketch(width=8), "sketch: "),
]


@pytest.mark.parametrize(("mechanism", "contents"), MECHANISMS, ids=lambda one: type(one).__name__)
def test_a_synopsis_shows_itself_in_a_line(mechanism, contents):
    simulation = margin.simulate(TABLE, domain=DOMAIN, budget=ONE, mechanism=mechanism, seed=1)
    shown = repr(simulation.synopsis)
    name = type(mechanism).__name__
    assert contents in shown and f"mechanism {name!r}" in shown and "epsilon = 1" in shown
    assert "2 attributes ('age', 'sex')" in shown and "SIMULATION, not private" in shown
    assert "\n" not in shown and len(shown) < 300


def test_a_release_and_an_unfinished_synopsis_show_what_they_are(made):
    assert "SIMULATION" not in repr(made)
    assert "not yet the result" in repr(dataclasses.replace(made, provenance=None))


# What takes a list of views.
NAMES = ["age", "sex"]
TAKERS = {
    "Workload.of": lambda _: margin.Workload.of(DOMAIN, NAMES),
    "Workload": lambda _: margin.Workload.of(DOMAIN, margin.Workload(tuple(NAMES))),
    "iterator": lambda _: margin.Workload.of(DOMAIN, iter(NAMES)),
    "release": lambda _: release(workload=NAMES),
    "simulate": lambda _: margin.simulate(TABLE, domain=DOMAIN, budget=ONE, seed=1, workload=NAMES),
    "plan": lambda _: margin.plan(DOMAIN, budget=ONE, workload=NAMES),
    "compare": lambda _: margin.compare(
        TABLE, domain=DOMAIN, budget=ONE, mechanisms={"all": margin.PriView()}, workload=NAMES
    ),
    "PriView": lambda _: margin.PriView(views=NAMES),
    "Residual": lambda _: margin.Residual(workload=NAMES),
    "marginals": lambda made: made.marginals(NAMES),
    "tables": lambda made: made.tables(NAMES),
    "publish": lambda made: publish(made, NAMES, "x"),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_names_in_the_place_of_views_are_refused_with_both_readings(take, made):
    with pytest.raises(margin.DomainError) as caught:
        take(made)
    assert "[['age', 'sex']] for one table" in str(caught.value)
    assert "[['age'], ['sex']] for 2 tables" in str(caught.value)


def test_names_that_can_be_read_in_one_way_are_views():
    assert margin.Workload.of(DOMAIN, ["age"]).views == (("age",),)
    assert margin.Workload.of(DOMAIN, ["age", ["sex", "age"]]).views[0] == ("age",)
    assert margin.Workload.of(DOMAIN, {"age": 1, "sex": 2}).weights == (1.0, 2.0)


LEFT_OUT = margin.PriView(views=[["age"]])
DRAWN = margin.DualQuery(rounds=4, samples=10, records=1)
KINDS = [*(mechanism for mechanism, _ in MECHANISMS[:-1]), LEFT_OUT, DRAWN]


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("view", [["age"], ["sex"], ["age", "sex"]], ids=str)
def test_an_answer_says_everywhere_how_it_was_made(mechanism, view):
    made = margin.simulate(TABLE, domain=DOMAIN, budget=ONE, mechanism=mechanism, seed=1).synopsis
    tables = [made.marginal(view), *made.tables([view], integers=False)]
    tables += [pickle.loads(pickle.dumps(tables[0])), tables[0].project(view)]
    warns = bool(set(view) & set(made.not_measured))
    assert warns == (mechanism is LEFT_OUT and "sex" in view)
    for table in tables:
        shown = [repr(table), str(table), table._repr_html_(), table.plot().get_title()]
        assert table.source is made.source(view)
        assert ["not measured" in one.lower() for one in shown] == [warns] * 4
        assert "\n" not in shown[0] and len(shown[0]) < 200 and len(shown[1].splitlines()) < 16
        # No bounds are promised where there are none, or where they mean little.
        promised = "low and high hold 95 %" in shown[2]
        assert promised == (not warns and not np.isnan(table.variance).all())
        assert table.reconstructed or "reconstructed" not in shown[0]
    plt.close("all")
    first = {name: DOMAIN[name].labels[0] for name in view}
    answers = [made.count(first), made.difference(first, {}), made.ratio(first, {"age": 0})]
    for answer in answers:
        assert ("not measured" in str(answer)) == warns
        assert str(answer) in answer._repr_html_()
