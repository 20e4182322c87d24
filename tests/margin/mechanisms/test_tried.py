import dataclasses

import pytest

import margin
from margin import PriView, PureDP, Residual, SolverError
from margin.mechanisms import MWEM, DataCubes, Direct, Flat
from margin.mechanisms.choosing.tree import SpanningTree
from margin.mechanisms.tried import _made_up, try_solvers
from margin.solvers import (
    IPF,
    Clip,
    JointProjection,
    Ladder,
    LeastSquares,
    MinimaxLP,
    MirrorDescent,
    Newton,
    ResidualConsistency,
    Ripple,
    Simplex,
    bench,
)
from margin.solvers.bench.engines.highs import HighsEngine

TABLE = {"a": [0, 1, 1] * 9, "b": [0, 0, 1] * 9, "c": [1, 1, 1] * 9}
DOMAIN = {"a": 2, "b": 2, "c": 2}
VIEWS = [["a", "b"], ["b", "c"]]


class Ledgers:
    """A ledger that refuses to be charged."""

    def charge(self, *args, **named):
        raise AssertionError("a budget was charged")


def refused(mechanism, says):
    given = {"domain": DOMAIN, "budget": PureDP(1), "mechanism": mechanism}
    with pytest.raises(SolverError, match=says) as found:
        margin.release(TABLE, **given, ledger=Ledgers())
    assert not found.value.budget_is_lost
    with pytest.raises(SolverError, match=says):
        margin.simulate(TABLE, **given, seed=0)


def raises(tables):
    raise ZeroDivisionError("zero")


BY_MODEL = bench.ByModel(engine=HighsEngine())

BAD = {
    "it must be a function of tables": BY_MODEL,
    "must return Tables, but it returned an object of type NoneType": lambda tables: None,
    "keeps_consistency": lambda tables: tables,
    "it raised ZeroDivisionError": raises,
    "it is the class Ripple; call it": Ripple,
    "must keep the views": lambda tables: dataclasses.replace(
        tables, views=tables.views[:1], values=tables.values[:1], variances=(1.0,)
    ),
    "finite": lambda tables: tables.with_values([value * float("nan") for value in tables.values]),
}


@pytest.mark.parametrize("says", BAD)
@pytest.mark.parametrize(
    "make", [lambda **given: PriView(views=VIEWS, **given), Residual, SpanningTree, DataCubes]
)
def test_a_bad_removal_of_negative_counts_is_refused_before_the_charge(make, says):
    refused(make(nonnegativity=BAD[says]), says)


@pytest.mark.parametrize("make", [Direct, Flat])
def test_a_mechanism_of_single_tables_needs_no_word_on_consistency(make):
    for solver in (Clip(), Simplex(), lambda tables: tables):
        mechanism = make(nonnegativity=solver)
        assert margin.release(TABLE, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)
    refused(make(nonnegativity=BY_MODEL), "it must be a function of tables")


def test_a_bad_step_of_consistency_is_refused_before_the_charge():
    refused(PriView(views=VIEWS, consistency=BY_MODEL), "cannot be used as consistency")


@pytest.mark.parametrize(
    ("solver", "says"),
    [
        (LeastSquares(solver="GUROBY"), "'GUROBY' is not installed.*did you mean 'GUROBI'"),
        (Newton(iterations=0), "the iteration limit was reached before the tolerance; choose"),
        (BY_MODEL, "method solve"),
        (Newton, "it is the class Newton; call it"),
    ],
)
@pytest.mark.parametrize("make", [lambda **given: PriView(views=VIEWS, **given), MWEM])
def test_a_solver_that_cannot_solve_a_made_up_problem_is_refused_before_the_charge(
    make, solver, says
):
    refused(make(reconstruction=solver), says)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("corner", [-1.0, 1.0])
def test_the_made_up_tables_agree(many, corner):
    tables = _made_up(many, corner)
    assert tables.values[0].min() == corner
    for kept, before in zip(ResidualConsistency()(tables).values, tables.values, strict=True):
        assert kept == pytest.approx(before)


@pytest.mark.parametrize(
    "solver",
    [
        IPF(tolerance=1e-12),
        Ladder(first=1e-7),
        MinimaxLP(time_limit=9.0),
        MirrorDescent(iterations=4000),
        Newton(context=5),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_solvers_of_the_library_pass_the_trial(solver):
    try_solvers(PriView(views=VIEWS, reconstruction=solver))


def test_solvers_with_other_parameters_are_tried_and_used():
    mechanism = PriView(
        views=VIEWS,
        nonnegativity=JointProjection(tolerance=1e-5),
        reconstruction=LeastSquares(solver="SCIPY"),
    )
    assert margin.release(TABLE, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)
