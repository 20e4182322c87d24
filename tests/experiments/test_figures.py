"""What the figures have in common: errors, queries, and the noise of methods that are not run in
full."""

import math

import numpy as np
import pytest

import margin
from experiments.priview import _figures, figure2, figure4
from experiments.priview._figures import (
    Cell,
    asked,
    averages,
    compared,
    keys,
    panels,
    ratios,
    share,
)
from experiments.tools import tables
from margin import Domain


@pytest.fixture(autouse=True)
def only_generated(monkeypatch):
    monkeypatch.delenv("MARGIN_DATA", raising=False)
    monkeypatch.setenv("MARGIN_CACHE", "/nonexistent")


def test_fewer_queries_are_the_first_of_more():
    domain = Domain({f"x{place}": 2 for place in range(20)})
    assert asked(domain, 4, 50) == asked(domain, 4, 200)[:50]
    assert len(asked(domain, 2, 200)) == 190  # all of them
    assert asked(domain, 18, 200, True) == tuple(
        domain.attributes[start : start + 18] for start in range(3)
    )


def test_keys_are_as_many_as_the_effort():
    found = keys(
        ["a"],
        ["slow", "fast"],
        sizes=(4, 8),
        effort=lambda method, k: (1 if method == "slow" else 3, k),
    )
    assert len(found) == 2 + 6
    assert {(key["k"], key["queries"]) for key in found} == {(4, 4), (8, 8)}


def test_errors_are_averaged_over_runs_for_each_query():
    rows = [
        {
            "query": str(query),
            "run": str(run),
            "k": "4",
            "method": "m",
            "l2": str(query + run),
            "status": "done",
        }
        for query in range(3)
        for run in range(2)
    ] + [{"query": "", "run": "2", "k": "4", "method": "m", "l2": "", "status": "failed: no"}]
    assert averages(rows, k=4).tolist() == [0.5, 1.5, 2.5]
    shown = panels(rows, {"k = 4": {"k": 4}, "k = 6": {"k": 6}}, ["m", "n"])
    assert {heading: list(some) for heading, some in shown.items()} == {"k = 4": ["m"], "k = 6": []}


def test_claims_are_judged_panel_by_panel():
    one, two = ({"a": np.array(values), "b": np.array([1.0])} for values in ([1.0, 3.0], [0.5]))
    assert ratios({"one": one, "two": two}, "a", "b") == [2.0, 0.5]
    assert compared("", {"one": one, "two": two}, "a", "b", why="so").verdict == "**no**: so"
    assert compared("", {"one": one}, "a", "b", why="so").verdict == "yes"
    assert compared("", {"one": one}, "a", "c").verdict == "not tested"


@pytest.mark.skipif(not hasattr(margin, "Direct"), reason="Direct is not there yet")
def test_direct_and_fourier_get_the_noise_of_all_marginals():
    """Equation (4): a cell of one of C(12, 4) marginals has variance 2 C(12, 4)^2 / eps^2; of
    Fourier's, less."""
    cell = Cell(name="clicks-12", epsilon="1", k=4, run=0, queries=30)
    every = math.comb(12, 4)
    raw = cell.simulate(
        margin.mechanisms.Direct(nonnegativity=None),
        share_of_budget=figure2.Fraction(30, every),
        workload=cell.asked,
    )
    noise = np.concatenate(
        [
            (answer.counts - truth).ravel()
            for answer, truth in zip(raw.marginals(cell.asked), cell.truths, strict=True)
        ]
    )
    # 480 Laplace draws: the mean of squares has a standard error of 5^0.5 / 480^0.5 = 10 % of its
    # expectation.
    assert np.mean(noise**2) == pytest.approx(2 * every**2, rel=0.6)
    fourier, coefficients = (
        figure2.METHODS["Fourier"](cell),
        sum(math.comb(12, size) for size in range(5)),
    )
    assert len(fourier) == 30
    assert margin.mechanisms.Fourier().expected_error(
        cell.table.domain, margin.Workload.all_kway(cell.table.domain, 4), margin.PureDP(1)
    ) == pytest.approx(every * 2 * coefficients**2, rel=1e-3)


def test_flat_is_equation_three():
    rows = tables.clicks(12, 5_000).rows
    assert figure2.flat("clicks-12", "1") == pytest.approx(math.sqrt(2**12 * 2) / rows)
    assert figure2.flat("aol", "0.1") == 1.0


def test_a_part_of_kosarak_gets_the_noise_of_the_whole():
    """Without the real table there is a stand-in of 100,000 rows."""
    name = _figures.recorded("kosarak")
    found = _figures.table(name)
    assert share(name, "0.1") == figure2.Fraction(912_627, 10 * found.rows)
    assert share("aol", "0.1") == figure2.Fraction(1, 10)


def test_ripple_three_times_is_three_times_ripple():
    cell = Cell(name="clicks-12", epsilon="0.1", k=3, run=0, queries=4)
    once, thrice = (figure4.METHODS[name](cell) for name in ("Ripple1", "Ripple3"))
    again = figure4._method(figure4.Repeated(figure4.Ripple(), 1))(cell)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(once, thrice, strict=True))
