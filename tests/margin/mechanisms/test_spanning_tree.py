"""`SpanningTree`: pairs of attributes are chosen privately and measured."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, Auto, Domain, DomainError, PureDP, Workload
from margin.data.source import CodesSource
from margin.mechanisms import SpanningTree, StrongPairs
from margin.mechanisms.choosing.contests import break_evens, mean_noise, penalty
from margin.mechanisms.choosing.strength import Strength
from margin.mechanisms.choosing.tree_plan import TreePlan
from margin.mechanisms.fitted import TREE_CHOICE, TREE_PENALTY, TREE_SINGLES
from margin.noise.entropy import SeededEntropy
from margin.private import Private
from margin.solvers import Newton
from margin.synopses import ViewSynopsis
from margin.testing import check_mechanism

TREE = [(0, 1), (0, 2), (2, 3), (2, 4), (4, 5), (0, 6), (6, 7)]


def grown(rows, sizes=(3,) * 8, seed=0):
    """Categories that each agree with another one, along TREE, in two of three rows."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, rows) for size in sizes], axis=1)
    for parent, child in TREE:
        copied = rng.random(rows) < 0.67
        codes[copied, child] = codes[copied, parent] % sizes[child]
    return codes


def names(count):
    return [f"x{place}" for place in range(count)]


def domain_of(sizes=(3,) * 8, **more):
    return Domain(dict(zip(names(len(sizes)), sizes, strict=True)), **more)


def simulated(codes, domain, budget, mechanism=None, workload=None):
    return margin.simulate(
        codes,
        domain=domain,
        budget=budget,
        mechanism=mechanism or SpanningTree(),
        workload=workload,
        seed=0,
    ).synopsis


@pytest.mark.parametrize("budget", [PureDP(4), ZCDP("0.2")], ids=repr)
def test_the_tree_of_the_data_is_found(budget):
    made = simulated(grown(20_000), domain_of(), budget)
    expected = {(f"x{first}", f"x{second}") for first, second in TREE}
    assert {tuple(sorted(view)) for view in made.names} == expected


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.01")], ids=repr)
def test_bounds_of_pairs_that_the_tree_does_not_hold_are_right_and_not_far_too_wide(budget):
    """The chosen pairs are the strongest ones, and say little of how much the others miss."""
    codes = grown(20_000)
    made = simulated(codes, domain_of(), budget)
    inside, width, square = [], [], []
    for view in itertools.combinations(made.domain, 2):
        answer = made.marginal(view)
        if not answer.reconstructed:
            continue
        axes = made.domain.axes(view)
        true = np.histogram2d(*codes[:, axes].T, bins=[np.arange(4)] * 2)[0]
        low, high = answer.interval(0.95)
        inside.append(((low <= true) & (true <= high)).mean())
        width.append((high - low).mean())
        square.append(((answer.counts - true) ** 2).mean())
    assert len(inside) > 10
    assert np.mean(inside) > 0.85
    assert np.mean(width) < 10 * np.sqrt(np.mean(square))


@pytest.mark.parametrize("mechanism", [margin.Auto(), margin.Adaptive(rounds=0)], ids=repr)
def test_a_tree_that_is_the_best_candidate_measures_what_it_misses(mechanism):
    made = simulated(grown(1_000, (2,) * 20), domain_of((2,) * 20), PureDP(1), mechanism)
    course = made.provenance.course
    assert "measuring a spanning tree of pairs" in [step.purpose for step in course.steps]
    assert course.steps[-1].method == "total_distance"
    assert sum(step.units for step in course.steps) == course.units


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=repr)
@pytest.mark.parametrize("rows", [50, 20_000])
def test_all_of_the_budget_is_spent_and_no_more(budget, rows):
    spy = Watched(SpanningTree())
    made = simulated(grown(rows), domain_of(), budget, spy)
    assert sum(event.units for event in spy.events) == budget.units
    assert sum(event.method == "select" for event in spy.events) <= 7
    for view in itertools.combinations(made.domain, 3):
        counts = made.marginal(view).counts
        assert counts.min() >= 0 and np.isfinite(counts).all()


def gate_of(codes, domain, budget, kind=Private):
    return kind(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(1))


class Part:
    """A tree that spends a part of the budget; what is left is not spent."""

    def __init__(self, share):
        self.share = share

    def run(self, gate, workload):
        evidence, self.pairs = SpanningTree().measure(gate, workload, self.share)
        self.events = gate.events
        tables = evidence.tables()
        return ViewSynopsis.of_tables(gate.domain, tables, reconstruction=Newton())


@pytest.mark.parametrize("budget", [PureDP(4), ZCDP("0.2"), ZCDP("1e-6")], ids=repr)
def test_a_tree_spends_its_part_of_the_budget_however_many_pairs_it_chooses(budget):
    spy = Part(Fraction(1, 3))
    simulated(grown(3_000), domain_of(), budget, spy)
    assert (len(spy.pairs) < 7) == (budget == ZCDP("1e-6"))
    first, choice = Fraction(TREE_SINGLES) / 3, Fraction(TREE_CHOICE) / 3
    singles = [event.units for event in spy.events[:8]]
    assert sum(singles) == int(budget.units * first)
    choices = {event.units for event in spy.events if event.method == "select"}
    assert choices == {int(budget.units * choice / 7)}
    spent = sum(event.units for event in spy.events)
    assert 0 <= budget.units / 3 - spent <= len(spy.events)


class Seen(Private):
    """Keeps what choices are made from."""

    def select(self, contest, *, penalties, **options):
        self.asked.append((contest.views, contest.answers, penalties))
        return super().select(contest, penalties=penalties, **options)


def test_pairs_are_compared_with_what_independence_predicts():
    """With next to no noise."""
    codes = grown(5_000)
    gate = gate_of(codes, domain_of(), PureDP(10**5), Seen)
    gate.asked = []
    SpanningTree().run(gate, None)
    shares = [np.bincount(column, minlength=3) / 5_000 for column in codes.T]
    for views, public, _ in gate.asked:
        for view, answer in zip(views, public, strict=True):
            one, other = gate.domain.axes(view)
            assert answer == pytest.approx(5_000 * np.outer(shares[one], shares[other]), abs=1)


def first_penalty(spend, again):
    """The penalty of the first pair that competes."""
    gate = gate_of(grown(50_000), domain_of(), ZCDP("0.01"), Seen)
    gate.asked = []
    SpanningTree().measure(gate, None, Fraction(spend), again=Fraction(again))
    return gate.asked[0][2][0]


def test_what_is_measured_again_need_not_pay_so_soon():
    """The penalty is what noise adds to the prediction, plus the distance from which on a
    measurement with all that is left for the pairs pays."""
    alone = first_penalty("1/2", 0)
    again = first_penalty("1/2", "1/2")
    assert again < alone
    noise = mean_noise(ZCDP("0.01"), Fraction(1, 2) * Fraction("0.25") / 8)
    later = mean_noise(ZCDP("0.01"), (Fraction("0.275") + Fraction(1, 2)) / 7)
    (even,) = break_evens(later, [np.full((3, 3), 50_000 / 9)])
    expected = even + penalty(TREE_PENALTY * noise, 6)
    assert again == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("mechanism", [SpanningTree(), StrongPairs()], ids=repr)
def test_what_is_known_and_impossible_is_kept(mechanism):
    """Also as a part of `Adaptive`, which takes known tables."""
    codes = grown(2_000)
    codes = codes[(codes[:, 1] != 0) | (codes[:, 2] != 1)]
    truth = np.zeros((3, 3), int)
    np.add.at(truth, (codes[:, 0], codes[:, 3]), 1)
    domain = domain_of(known={("x0", "x3"): truth}, impossible=[{"x1": 0, "x2": 1}])
    made = mechanism.run(gate_of(codes, domain, ZCDP("0.01")), None)
    assert made.marginal(["x0", "x3"]).counts == pytest.approx(truth, rel=1e-6, abs=1e-3)
    assert made.marginal(["x1", "x2"]).counts[0, 1] == 0
    assert made.marginal(["x4"]).counts.sum() == pytest.approx(len(codes))


@pytest.mark.parametrize("mechanism", [SpanningTree(), StrongPairs()], ids=repr)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=repr)
def test_intervals_know_the_law_of_the_noise(mechanism, budget):
    made = simulated(grown(500)[:, :4] % 2, domain_of((2,) * 4), budget, mechanism)
    assert made.kurtosis == budget.kurtosis


def test_where_noise_is_above_all_counts_few_pairs_are_chosen():
    made = simulated(grown(30), domain_of(), ZCDP("0.001"))
    assert sum(len(view) == 2 for view in made.names) <= 3
    assert {name for view in made.names for name in view} == set(names(8))


def test_it_follows_long_ways_between_attributes():
    """Ten attributes in a row, of six categories: too many cells for the table of all of them."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (50_000, 10))
    for place in range(1, 10):
        copied = rng.random(50_000) < 0.95
        codes[copied, place] = codes[copied, place - 1]
    made = simulated(codes, domain_of((6,) * 10), ZCDP("0.1"))
    truth = np.zeros((6, 6))
    np.add.at(truth, (codes[:, 0], codes[:, 9]), 1)
    error = np.linalg.norm(made.marginal(["x0", "x9"]).counts - truth)
    independent = np.linalg.norm(truth - 50_000 / 36)
    assert error < independent / 10


def test_only_what_a_workload_asks_is_measured():
    asked = [["x0", "x1"], ["x2", "x0"]]
    spy = Watched(SpanningTree())
    simulated(grown(2_000), domain_of(), PureDP(1), spy, asked)
    measured = {event.about for event in spy.events if event.method == "measure"}
    assert set().union(*measured) == {"x0", "x1", "x2"}
    assert ("x1", "x2") not in measured


@pytest.mark.parametrize(
    ("sizes", "rows"), [((4,), 100), ((2, 3), 100), ((1, 1), 10), ((3,) * 8, 1)], ids=str
)
def test_small_tables(sizes, rows):
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    made = simulated(codes, domain_of(sizes), PureDP(1))
    assert made.marginal(list(made.domain)).counts.shape == sizes


@pytest.mark.parametrize("mechanism", [Auto(), Adaptive()], ids=["Auto", "Adaptive"])
def test_it_is_chosen_by_price(mechanism):
    """Pairs of thirty attributes, and little budget: all pairs would drown in noise."""
    sizes = (5,) * 30
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (20_000, 30))
    for place in range(1, 30):
        copied = rng.random(20_000) < 0.7
        codes[copied, place] = codes[copied, rng.integers(0, place)]
    made = simulated(codes, domain_of(sizes), PureDP("0.3"), mechanism)
    assert 10 < sum(len(view) == 2 for view in made.names) <= 29


def test_more_budget_leaves_less():
    strength = Strength.of("medium")
    plans = [
        TreePlan(count=9, pairs=45, cells=16, chosen=10.0**power, measured=10.0**power)
        for power in (10, 6, 2)
    ]
    found = [plan.left(strength, 20_000, 1.0) for plan in plans]
    missed = [structure for structure, _ in found]
    assert missed[0] == pytest.approx(1) and missed == sorted(missed, reverse=True)
    assert found[0][1] == 0  # nothing is found, so nothing is measured
    ratio = (strength.forest / strength.singles) ** 2
    assert missed[-1] == pytest.approx(ratio * (1 - 9 / 45), rel=0.01)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"singles_share": 0}, "singles_share"),
        ({"choice_share": 1.5}, "choice_share"),
        ({"singles_share": 0.6, "choice_share": 0.4}, "leave some"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, says):
    with pytest.raises(DomainError, match=says):
        SpanningTree(**parameters)


@pytest.mark.slow
def test_it_is_private():
    check_mechanism(SpanningTree(), pairs=3)


def test_a_workload_of_single_attributes_has_no_tree():
    domain = domain_of()
    found = Auto().prices(domain, Workload.all_kway(domain, 1), PureDP(1), rows=1000)
    assert all("tree" not in candidate.note for candidate in found)
    (alone,) = (candidate for candidate in found if candidate.note == "the total alone")
    made = simulated(grown(900), domain, PureDP(5), alone.mechanism)
    assert made.marginal(["x1"]).counts == pytest.approx([300] * 3, abs=5)
