"""What a notebook shows of each kind of result."""

import re

import numpy as np
import pandas
import pytest

import margin
from margin import Domain, Marginal, PriView, PureDP, Residual, Workload
from margin.notebook import html_table
from margin.solvers import Newton, Problem

EVIL = "<script>alert(1)</script>"
DOMAIN = Domain({"sex": ["F", "M"], EVIL: ["a", EVIL], "age": {"bins": [0, 18, 65, None]}})


@pytest.fixture(scope="module")
def simulation():
    rng = np.random.default_rng(0)
    table = {
        "sex": rng.choice(["F", "M"], 300),
        EVIL: rng.choice(["a", EVIL], 300),
        "age": rng.integers(0, 90, 300),
    }
    mechanism = PriView(views=[["sex", EVIL], [EVIL, "age"]])
    return margin.simulate(
        table,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=mechanism,
        seed=0,
    )


SHOWN = {
    "domain": lambda simulation: DOMAIN,
    "measured marginal": lambda simulation: simulation.marginal(["sex", EVIL]),
    "reconstructed marginal": lambda simulation: simulation.marginal(["sex", "age"]),
    "synopsis": lambda simulation: simulation.synopsis,
    "simulation": lambda simulation: simulation,
    "budget": lambda simulation: PureDP(1),
    "plan": lambda simulation: margin.plan(DOMAIN, budget=PureDP(1), rows=300),
}


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
def test_a_notebook_shows_it_without_running_names(make, simulation):
    shown = make(simulation)._repr_html_()
    assert "<script>" not in shown
    assert shown.startswith("<p>")


def test_a_marginal_shows_its_counts_and_whether_it_was_reconstructed(simulation):
    measured = simulation.marginal([EVIL, "sex"])
    cells = re.findall(r"<td>([^<]*)</td>", measured._repr_html_())
    counts = [float(cell) for cell in cells[:: len(measured.to_pandas().columns)]]
    assert counts == pytest.approx(measured.counts.ravel(), rel=1e-3)
    assert "measured" in measured._repr_html_()
    assert "reconstructed" in simulation.marginal(["sex", "age"])._repr_html_()


def test_a_simulation_is_marked(simulation):
    assert "not private" in simulation._repr_html_()


def test_a_domain_shows_bins_in_words():
    shown = DOMAIN._repr_html_()
    assert "0 to under 18, 18 to under 65, 65 or more" in shown


def test_a_plan_as_a_data_frame_has_its_order():
    found = margin.plan(
        DOMAIN,
        workload=Workload.all_kway(DOMAIN, 2),
        budget=PureDP(1),
        mechanisms=[Residual(order=2), PriView()],
    )
    frame = found.to_pandas()
    assert list(frame["mechanism"]) == [row.name for row in found.table]
    assert frame["error"].tolist() == [row.error for row in found.table]
    assert frame["error"].is_monotonic_increasing


def test_a_comparison_as_a_data_frame(simulation):
    table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}

    class Failing:
        def run(self, private, workload):
            raise margin.MarginError("cannot")

    found = margin.compare(
        table,
        domain={"sex": 2, "smokes": 2},
        budget=PureDP(1),
        mechanisms={"views": PriView(), "broken": Failing()},
        workload=[["sex", "smokes"]],
        runs=1,
    )
    frame = found.to_pandas().set_index("mechanism")
    assert frame.loc["views", "L2/N"] == found.rows[0].error
    assert np.isnan(frame.loc["broken", "median"])
    assert frame.loc["broken", "problem"] == "cannot"
    assert "not private" in found._repr_html_()


def test_a_long_marginal_is_shortened():
    counts = np.arange(1000.0)
    long = Marginal(Domain({"code": 1000}), counts, np.ones(1000))
    assert long._repr_html_().count("<tr") < 70


def test_numbers_are_written_for_people():
    shown = html_table("<&>", pandas.DataFrame({"x": [1234567.8, 0.123456, np.nan]}))
    assert "&lt;&amp;&gt;" in shown
    assert "1,234,568" in shown
    assert "0.1235" in shown
    assert "NaN" not in shown


def test_a_solution_shows_its_status():
    problem = Problem(
        shape=(2, 2),
        index=np.array([1, 2]),
        target=np.array([0.2, -0.1]),
        variance=np.array([0.01, 0.01]),
        total=8.0,
        total_variance=1.0,
    )
    solved = Newton().solve(problem)
    assert solved.status.name in solved._repr_html_()
