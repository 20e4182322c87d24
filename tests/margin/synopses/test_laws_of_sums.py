"""Answers that add up few draws of noise know the law of the sum: components and strategies."""

import math

import numpy as np
import pytest
from scipy import stats

import margin
from margin import ZCDP, Domain, Marginal, MatrixMechanism, PureDP, Residual, Workload
from margin.mechanisms import Fourier, Learning
from margin.mechanisms.strategies import (
    EigenDesign,
    LowRank,
    OptimisedMarginals,
    Semidefinite,
    WeightedMarginals,
)
from margin.noise.laws import variances_of
from margin.private.linear import Answers, linear_events
from margin.solvers import ComponentErrors, WeightedSum, errors_of_components

LEVELS = (0.9, 0.95, 0.99, 0.999)
RELEASES = 20
GROUPS = 300


def matrix(strategy):
    return MatrixMechanism(strategy=strategy, nonnegativity=None)


RESIDUAL = Residual(order=3, nonnegativity=None)
SIMULATED = [
    ((2, 2), RESIDUAL),
    pytest.param((2, 3), RESIDUAL, marks=pytest.mark.slow),
    pytest.param((2, 3, 2), RESIDUAL, marks=pytest.mark.slow),
    ((2, 3), matrix(OptimisedMarginals())),
    pytest.param((2, 2), matrix(WeightedMarginals()), marks=pytest.mark.slow),
]


def answers(sizes, mechanism):
    """Many answers: the first cell of the marginal on each group of attributes, and its true count.

    No answer has attributes in common with another one. So their draws of noise are independent,
    except that of the number of rows, which has less than one hundredth of each variance.
    """
    views = [[f"{group}_{place}" for place in range(len(sizes))] for group in range(GROUPS)]
    domain = Domain({name: size for v in views for name, size in zip(v, sizes, strict=True)})
    codes = np.random.default_rng(3).integers(0, domain.sizes, (200, len(domain)))
    truth = [(codes[:, domain.axes(view)] == 0).all(axis=1).sum() for view in views]
    found = []
    for seed in range(RELEASES):
        released = margin.simulate(
            codes,
            domain=domain,
            budget=PureDP(10),
            mechanism=mechanism,
            workload=views,
            seed=seed,
        )
        found += zip(released.marginals(views), truth, strict=True)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "mechanism"), SIMULATED, ids=str)
def test_intervals_of_sums_of_few_draws_hold(sizes, mechanism):
    """No more than 1.15 times as many miss as may (see `half_widths`), nor less than 0.85 times.

    The low bound of an interval is cut at 0, which no true count is below. False alarm: 2 x 10^-8
    for each of five cases at each of four levels, so less than 10^-6 in all.
    """
    found = answers(sizes, mechanism)
    for level in LEVELS:
        misses = 0
        for marginal, truth in found:
            low, high = marginal.interval(level)
            misses += not low.flat[0] <= truth <= high.flat[0]
        assert misses <= stats.binom.isf(1e-8, len(found), 1.15 * (1 - level))
        assert misses >= stats.binom.ppf(1e-8, len(found), 0.85 * (1 - level))


DOMAIN = Domain(
    {
        "a": 2,
        "b": {"size": 4, "ordered": True},
        "c": {
            "levels": {"names": ["x", "y"], "paths": [["u", "1"], ["u", "2"], ["v", "3"]]},
        },
    }
)
VIEWS = [["b", "a"], ["a", "c"], ["c"]]
ASKED = Workload.of(DOMAIN, VIEWS, asked={"b": "prefixes", "c": "levels"})
EXACT = {
    "Residual": (Residual(order=2, nonnegativity=None), VIEWS),
    "Residual for queries": (Residual(order=2, nonnegativity=None), ASKED),
    "components": (matrix(OptimisedMarginals()), VIEWS),
    "Fourier": (Fourier(nonnegativity=None), VIEWS),
    "Learning": (Learning(nonnegativity=None), VIEWS),
    "EigenDesign": (matrix(EigenDesign()), VIEWS),
    "LowRank": (matrix(LowRank()), VIEWS),
    "Semidefinite": (matrix(Semidefinite()), VIEWS),
    "marginals": (matrix(WeightedMarginals()), VIEWS),
}


class OneDraw:
    """A gate of which all answers are zero, but one is 1: it shows the weight of its noise."""

    domain = DOMAIN

    def __init__(self, budget, place):
        self.budget = budget
        self.place = place
        self.variances = []

    def _answer(self, shape, variance):
        values = np.zeros(shape)
        place = self.place - len(self.variances)
        if 0 <= place < values.size:
            values.flat[place] = 1.0
        self.variances += [variance] * values.size
        return values

    def measure_linear(self, strategies, *, shares=None, spend=None):
        assert spend is None
        asked = list(strategies)
        events = linear_events(
            self.budget, asked, shares=shares, units=self.budget.units, together=True
        )
        found = variances_of([event.noise for event in events])
        pairs = zip(asked, found, strict=True)
        return tuple(Answers(s, self._answer(s.shape, v), v) for s, v in pairs)

    def measure(self, views, *, shares=None):
        found = variances_of(self.budget.counts_at_once(shares))
        measured = []
        for view, variance in zip(views, found, strict=True):
            shape = DOMAIN.shape(view)
            counts = self._answer(shape, variance)
            measured.append(Marginal(DOMAIN.restrict(view), counts, np.full(shape, variance)))
        return measured


def numbers(synopsis):
    """Answers of all kinds in one vector, with their variances and the kurtosis of their noise."""
    wanted = [synopsis.marginal(view) for view in VIEWS]
    counts = []
    if isinstance(synopsis, margin.synopses.ViewSynopsis):
        wanted += [synopsis.marginal(view) for view in (["a", "c@x"], ["a"], ["b"])]
        counts += [synopsis.count({"a": 1, "b": [1, 2]}), synopsis.count({"c": ["1", "3"]})]
        assert [one.noise_kurtosis for one in synopsis.views]
    parts = [
        (one.counts, one.noise_variance, np.broadcast_to(one.noise_kurtosis, one.counts.shape))
        for one in wanted
    ]
    parts += [(one.estimate, one.noise_variance, one.noise_kurtosis) for one in counts]
    return [np.concatenate([np.ravel(part) for part in some]) for some in zip(*parts, strict=True)]


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_the_kurtosis_follows_from_the_weights_of_all_draws(name, budget):
    """Fourth cumulants of independent draws add up. Each weight is read from the answers."""
    mechanism, workload = EXACT[name]
    asked = workload if isinstance(workload, Workload) else Workload.of(DOMAIN, workload)
    gate = OneDraw(budget, -1)
    mechanism.run(gate, asked)
    weights = []
    for place in range(len(gate.variances)):
        found, variance, kurtosis = numbers(mechanism.run(OneDraw(budget, place), asked))
        weights.append(found)
    shares = np.array(weights) ** 2 * np.array(gate.variances)[:, None]
    assert variance == pytest.approx(shares.sum(axis=0))
    expected = budget.kurtosis * (shares**2).sum(axis=0) / shares.sum(axis=0) ** 2
    # Of whole marginals, small weights are left out; see `Tables.concentration`.
    slack = 0.75 if name == "marginals" else 1 - 1e-6
    assert (kurtosis <= expected * (1 + 1e-6)).all() and (kurtosis >= slack * expected).all()


@pytest.mark.parametrize("name", ["Residual", "Residual for queries", "components", "EigenDesign"])
def test_a_saved_release_knows_the_law(name, tmp_path):
    mechanism, workload = EXACT[name]
    table = {"a": [0, 1] * 50, "b": [0, 1, 2, 3] * 25, "c": ["1", "2"] * 50}
    made = margin.simulate(
        table, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism, workload=workload, seed=1
    )
    made.save(tmp_path / "one.margin")
    again = margin.load(tmp_path / "one.margin", allow_simulation=True)
    for found, before in zip(numbers(again.synopsis), numbers(made.synopsis), strict=True):
        assert found.tolist() == before.tolist()
    assert numbers(made.synopsis)[2].min() > 0


def test_cells_groups_and_sums_of_components_have_one_concentration():
    tables = Residual(order=2).run(OneDraw(PureDP(1), 0), Workload.of(DOMAIN, VIEWS)).held
    for axes in [(0, 1), (0, 2), (2,), ()]:
        errors = errors_of_components(tables, axes)
        assert isinstance(errors, ComponentErrors)
        (cells,) = tables.component_concentration(np.array([axes], np.int64))
        assert errors.concentration(axes) == pytest.approx(cells)
        shape = [DOMAIN.sizes[axis] for axis in axes]
        one = np.zeros(shape)
        one.flat[-1] = 1.0
        assert errors.concentration_of(WeightedSum(axes, one)) == pytest.approx(cells)
        assert math.isclose(errors.cell_variances(axes).flat[0], tables.variance(axes))
