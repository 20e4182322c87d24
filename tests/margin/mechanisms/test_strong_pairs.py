"""`StrongPairs`, and the look with which `Adaptive` tells whether they are the best candidate."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, Domain, DomainError, PureDP, Workload
from margin.data.source import CodesSource
from margin.mechanisms import SpanningTree, StrongPairs
from margin.mechanisms.choosing import look as look_module
from margin.mechanisms.choosing.contests import (
    break_evens,
    l2_share,
    luck,
    mean_noise,
    penalty,
)
from margin.mechanisms.choosing.look import Found, Judge, best_shares
from margin.mechanisms.fitted import (
    AGAIN_CHOICE,
    AGAIN_DISTANCE,
    AGAIN_TREE,
    LOOK_BATCHES,
    LOOK_CHOICE,
    LOOK_DISTANCE,
    LOOK_LEAST_SHARE,
    LOOK_SHARE,
    LOOK_SINGLES,
    LOOK_TREE,
    LOOK_TREE_CHOICE,
)
from margin.noise.entropy import SeededEntropy
from margin.private import Private
from margin.solvers import Evidence
from margin.solvers.reconstruct.scaling import junction
from margin.testing import check_mechanism

RING = [(place, (place + 1) % 8) for place in range(8)]


def ring(rows, size=4, seed=0):
    """Eight attributes in a ring: each pair of neighbours agrees in most rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, size, (rows, 8))
    # Each attribute copies a neighbour; some rows copy in the one direction, some in the other.
    for places in (range(1, 8), range(6, -1, -1)):
        copied = rng.random((rows, 8)) < 0.45
        for place in places:
            before = place - 1 if places.step > 0 else place + 1
            codes[copied[:, place], place] = codes[copied[:, place], before % 8]
    closed = rng.random(rows) < 0.5
    codes[closed, 0] = codes[closed, 7]
    return codes


def domain_of(count=8, size=4, **more):
    return Domain({f"x{place}": size for place in range(count)}, **more)


def simulated(codes, domain, budget, mechanism, workload=None, seed=0):
    return margin.simulate(
        codes,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=workload,
        seed=seed,
    )


def error(simulation, k=3):
    """The mean L2 distance of all answers on k attributes, as a share of the rows."""
    views = list(itertools.combinations(simulation.synopsis.domain, k))
    answers = simulation.synopsis.marginals(views)
    distances = [
        np.linalg.norm(answer.counts - simulation.truth(view).counts)
        for view, answer in zip(views, answers, strict=True)
    ]
    return np.mean(distances) / simulation.truth(views[0]).counts.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [pytest.param(PureDP(10), marks=pytest.mark.slow), ZCDP("0.05")], ids=repr
)
def test_pairs_that_close_a_cycle_are_found_and_used(budget):
    codes = ring(40_000)
    pairs = simulated(codes, domain_of(), budget, StrongPairs())
    tree = simulated(codes, domain_of(), budget, SpanningTree())
    found = {tuple(sorted(int(name[1:]) for name in view)) for view in pairs.synopsis.names}
    assert {tuple(sorted(pair)) for pair in RING} <= found
    assert error(pairs) < 0.7 * error(tree)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=repr)
@pytest.mark.parametrize("rows", [0, 50, 20_000])
def test_all_of_the_budget_is_spent_and_no_more(budget, rows):
    spy = Watched(StrongPairs())
    made = simulated(ring(rows), domain_of(), budget, spy).synopsis
    assert sum(event.units for event in spy.events) == budget.units
    assert spy.events[-1].method == "total_distance"
    for view in itertools.combinations(made.domain, 3):
        counts = made.marginal(view).counts
        assert counts.min() >= 0 and np.isfinite(counts).all()


class Looking:
    """Only the look of `StrongPairs`; what is left is not spent."""

    def __init__(self, mechanism):
        self.mechanism = mechanism

    def run(self, gate, workload):
        judge = self.mechanism.look(gate, workload)
        self.events, self.views = gate.events, judge.found.views
        return judge.found.synopsis(gate.domain)


@pytest.mark.parametrize("budget", [PureDP(400), ZCDP(4)], ids=repr)
def test_a_look_spends_its_share_of_the_budget(budget):
    mechanism = StrongPairs(look_share=0.3)
    spy = Looking(mechanism)
    simulated(ring(3_000, size=2), domain_of(size=2), budget, spy)
    (told,) = (event for event in spy.events if event.method == "total_distance")
    share = Fraction(3, 10)
    assert mechanism.spend(budget) == share
    assert told.units == int(budget.units * share * LOOK_DISTANCE)
    # Each charge is rounded down to whole units.
    spent = sum(event.units for event in spy.events)
    assert 0 <= budget.units * share - spent <= len(spy.events)


class Seen(Private):
    """A gate that keeps what was measured and what was chosen from."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.measured, self.asked = [], []

    def measure(self, views, **options):
        tables = super().measure(views, **options)
        self.measured.append(tables)
        return tables

    def contest(self, views, public):
        self.public = list(public)
        return super().contest(views, public)

    def select(self, contest, **options):
        public = [self.public[place] for place in contest.places]
        self.asked.append((contest.views, public, options))
        return super().select(contest, **options)


def seen(budget, codes=None, size=3):
    return Seen(
        CodesSource(ring(20_000, size=size) if codes is None else codes),
        domain=domain_of(size=size),
        budget=budget,
        entropy=SeededEntropy(1),
    )


def least_penalties(budget, public, shape, each, so_far, later):
    """What a pair must differ by: its measurement must pay, and the noise of the answers is no
    reason to choose it; under pure differential privacy neither is luck."""
    least = break_evens(mean_noise(budget, later), public)
    pure = isinstance(budget, PureDP)
    noise = penalty(mean_noise(budget, so_far), np.hypot(*shape) if pure else sum(shape))
    lucky = luck(budget, each, least) if pure else 0
    return [some + noise + lucky for some in least]


def pair_precisions(domain, tables):
    """The sum of the precisions of all measurements of each pair."""
    found = {}
    for table in tables:
        if len(table.attributes) == 2:
            axes = tuple(sorted(domain.axes(table.attributes)))
            own = 1 / (table.counts.size * table.variance.flat[0])
            found[axes] = found.get(axes, 0.0) + own
    return found


def test_in_concentrated_privacy_the_look_chooses_further_pairs_in_batches():
    budget = ZCDP("0.2")
    gate = seen(budget)
    mechanism = StrongPairs()
    judge = mechanism.look(gate, None)
    look = mechanism.spend(budget)
    of_batch = look * (1 - LOOK_DISTANCE) * (1 - LOOK_TREE) / LOOK_BATCHES
    each = of_batch * LOOK_CHOICE / 8
    tree = look * (1 - LOOK_DISTANCE) * LOOK_TREE
    so_far = tree * (1 - LOOK_SINGLES - LOOK_TREE_CHOICE) / 8
    starts = [place for place, one in enumerate(gate.asked) if one[2]["spend"] == each]
    views, public, options = gate.asked[starts[0]]
    assert len(views) == 28 - 7 + 1
    expected = least_penalties(budget, public[:-1], (3, 3), each, so_far, (1 - look) / 15)
    assert options["penalties"][:-1] == expected
    # Pairs are not chosen twice.
    assert len(set(map(frozenset, judge.found.views))) == len(judge.found.views)
    before = len(gate.asked)
    mechanism.measure_again(gate, None, judge.found, 1 - look)
    assert len(gate.asked) == before
    tables = itertools.chain.from_iterable(gate.measured)
    precisions = pair_precisions(gate.domain, tables)
    assert len(precisions) > 7
    for axes, precision in precisions.items():
        assert judge.found.evidence.precision[axes] == pytest.approx(precision)


def test_in_pure_privacy_further_pairs_are_chosen_by_what_the_measured_tree_misses():
    budget = PureDP(10)
    gate = seen(budget)
    mechanism = StrongPairs()
    judge = mechanism.look(gate, None)
    tree = {frozenset(view) for view in judge.found.views}
    gate.asked.clear()
    left = 1 - mechanism.spend(budget)
    mechanism.measure_again(gate, None, judge.found, left)
    views, public, options = gate.asked[0]
    assert len(tree) == 7 and not tree & {frozenset(view) for view in views[:-1]}
    spend = left * (1 - AGAIN_DISTANCE)
    each, so_far = spend * AGAIN_CHOICE / 8, spend * AGAIN_TREE / 7
    later = spend * (1 - AGAIN_CHOICE - AGAIN_TREE) / 8
    assert options["spend"] == each
    expected = least_penalties(budget, public[:-1], (3, 3), each, so_far, later)
    assert options["penalties"][:-1] == expected
    tables = itertools.chain.from_iterable(gate.measured)
    precisions = pair_precisions(gate.domain, tables)
    assert len(precisions) > 7
    for axes, precision in precisions.items():
        assert judge.found.evidence.precision[axes] == pytest.approx(precision)


@pytest.mark.parametrize("more", [0, 1, 6], ids=str)
def test_further_pairs_get_as_much_as_the_tree_which_gets_what_is_left(more, monkeypatch):
    budget = PureDP(10)
    gate = seen(budget)
    mechanism = StrongPairs()
    found = mechanism.look(gate, None).found
    tree = [frozenset(view) for view in found.views]
    others = [pair for pair in itertools.combinations(gate.domain, 2) if set(pair) not in tree]
    chosen = (others[:more], Fraction(1, 25))
    monkeypatch.setattr(StrongPairs, "_choose_more", lambda *arguments, **shares: chosen)
    left = 1 - mechanism.spend(budget)
    mechanism.measure_again(gate, None, found, left)
    events = [event for event in gate.events if event.method == "measure"]
    spend = left * (1 - AGAIN_DISTANCE)
    again = int(budget.units * spend * AGAIN_TREE)
    rest = int(budget.units * (spend * (1 - AGAIN_TREE) - Fraction(1, 25)))
    # All pairs have equal numbers of cells.
    each = again // 7
    units = {frozenset(event.about): event.units for event in events[-(more + 7) :]}
    if each * more < rest:
        of_tree = (rest - each * more) / 7
        expected = {frozenset(pair): each for pair in others[:more]} | dict.fromkeys(tree, of_tree)
    else:
        expected = {frozenset(pair): rest / more for pair in others[:more]}
    for pair, charge in expected.items():
        assert units[pair] == pytest.approx(charge, rel=1e-6)


def test_choices_of_nothing_leave_their_budget_for_what_follows():
    """Attributes that are independent, and noise above all counts."""
    budget = PureDP("1e-3")
    gate = seen(budget, codes=np.zeros((100, 8), int))
    mechanism = StrongPairs(look_share=0.3)
    judge = mechanism.look(gate, None)
    assert judge.found.views == [(name,) for name in gate.domain]
    made = mechanism.measure_again(gate, None, judge.found, Fraction(7, 10))
    assert all(len(view) == 1 for view in made.names)
    choices = [event.units for event in gate.events if event.method == "select"]
    look = Fraction(3, 10) * (1 - LOOK_DISTANCE)
    again = Fraction(7, 10) * (1 - AGAIN_DISTANCE)
    # One choice out of seven for the tree, and one out of eight for further pairs.
    shares = [look * LOOK_TREE_CHOICE / 7, again * AGAIN_CHOICE / 8]
    assert choices == [int(budget.units * share) for share in shares]
    assert [table.attributes for table in gate.measured[-1]] == judge.found.views


def test_pairs_that_make_the_junction_tree_too_large_are_left_out(monkeypatch):
    monkeypatch.setattr(junction, "CLIQUE_CELLS", 16)
    made = simulated(ring(40_000), domain_of(), ZCDP("0.05"), StrongPairs()).synopsis
    sets = [tuple(sorted(made.domain.axes(view))) for view in made.names]
    assert junction.has_junction_tree(made.domain.sizes, sets)
    assert sum(len(view) == 2 for view in sets) == 7  # a tree: a cycle makes a clique of three


@pytest.mark.parametrize(
    ("sizes", "rows"), [((4,), 100), ((2, 3), 100), ((1, 1), 10), ((3,) * 8, 1)], ids=str
)
def test_small_tables(sizes, rows):
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    made = simulated(codes, domain, PureDP(1), StrongPairs()).synopsis
    assert made.marginal(list(domain)).counts.shape == sizes


def test_only_what_a_workload_asks_is_measured():
    spy = Watched(StrongPairs())
    simulated(ring(5_000), domain_of(), ZCDP(1), spy, [["x0", "x1"], ["x2", "x0"]])
    measured = {event.about for event in spy.events if event.method == "measure"}
    assert set().union(*measured) == {"x0", "x1", "x2"}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"look_share": 0}, "look_share"),
        ({"look_share": 1}, "look_share"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, says):
    with pytest.raises(DomainError, match=says):
        StrongPairs(**parameters)


@pytest.mark.slow
def test_it_is_private():
    check_mechanism(StrongPairs(), pairs=2)


def test_adaptive_takes_strong_pairs_where_they_are_best():
    """Twenty attributes along a tree: all pairs would share the budget with nine times as many."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (50_000, 20))
    for place in range(1, 20):
        copied = rng.random(50_000) < 0.8
        codes[copied, place] = codes[copied, rng.integers(0, place)]
    domain = domain_of(20, 6)
    workload = Workload.all_kway(domain, 2)
    spy = Watched(Adaptive(rounds=0))
    made = simulated(codes, domain, ZCDP("0.001"), spy, workload).synopsis
    assert "total_distance" in {event.method for event in spy.events}
    assert sum(event.units for event in spy.events) == ZCDP("0.001").units
    assert 15 < sum(len(view) == 2 for view in made.names) < 190 / 2
    # The look spends what its judgement needs.
    looked, last = [event for event in spy.events if event.method == "total_distance"]
    units = ZCDP("0.001").units
    share = looked.units / (LOOK_DISTANCE * units)
    assert LOOK_LEAST_SHARE < share < LOOK_SHARE
    # What it left is spent on the pairs, and not on the last distance.
    assert last.units <= AGAIN_DISTANCE * (1 - share) * units


@pytest.mark.parametrize("accepted", [True, False])
def test_what_a_look_measured_is_never_lost(accepted, monkeypatch):
    doubt = -1e9 if accepted else 1e9
    monkeypatch.setattr(look_module, "LOOK_DOUBT", doubt)
    spy = Watched(Adaptive(rounds=0))
    domain = domain_of()
    made = simulated(ring(20_000), domain, ZCDP("0.01"), spy, Workload.all_kway(domain, 3)).synopsis
    assert "total_distance" in {event.method for event in spy.events}
    assert sum(event.units for event in spy.events) == ZCDP("0.01").units
    # Pairs that were measured are in the tables of the release.
    looked = [event.about for event in spy.events if event.method == "measure"]
    held = [set(view) for view in made.names]
    assert all(any(set(view) <= other for other in held) for view in looked if len(view) == 2)


@pytest.mark.parametrize("case", ["impossible cells", "few rows"])
def test_a_look_that_cannot_pay_is_not_made(case):
    codes = ring(100 if case == "few rows" else 20_000)
    more = {}
    if case == "impossible cells":
        more = {"impossible": [{"x0": 0, "x1": 1}]}
        codes = codes[(codes[:, 0] != 0) | (codes[:, 1] != 1)]
    domain = domain_of(**more)
    spy = Watched(Adaptive(rounds=0))
    simulated(codes, domain, ZCDP("0.01"), spy, Workload.all_kway(domain, 3))
    assert "total_distance" not in {event.method for event in spy.events}


@pytest.mark.parametrize(
    ("count", "size", "budget", "k"),
    [
        pytest.param(4, 4, ZCDP("0.01"), 3, id="a tree saves little"),
        pytest.param(16, 3, PureDP(1), 2, id="a tree misses much"),
    ],
)
def test_a_look_that_would_cost_more_than_it_saves_is_not_made(count, size, budget, k):
    """Attributes in a row, of which most copy the one before."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, size, (20_000, count))
    for place in range(1, count):
        copied = rng.random(20_000) < 0.7
        codes[copied, place] = codes[copied, place - 1]
    domain = domain_of(count, size)
    spy = Watched(Adaptive(rounds=0))
    simulated(codes, domain, budget, spy, Workload.all_kway(domain, k))
    assert "total_distance" not in {event.method for event in spy.events}


def found_of(domain, codes, variance, seed=1):
    """What a look would hold that measured a chain of pairs, with normal noise."""
    rng = np.random.default_rng(seed)
    evidence = Evidence(sizes=domain.sizes)
    views = list(itertools.pairwise(domain))
    for first, second in itertools.pairwise(range(len(domain))):
        table = np.zeros(domain.sizes[first : second + 1])
        np.add.at(table, (codes[:, first], codes[:, second]), 1)
        noise = rng.normal(0, np.sqrt(variance), table.shape)
        evidence.add_table((first, second), table + noise, variance)
    return Found(evidence=evidence, views=views)


class Told:
    """A gate that tells one true distance, without noise."""

    def __init__(self, codes, domain):
        self.codes, self.domain = codes, domain

    def truth(self, view):
        axes = self.domain.axes(view)
        edges = [range(self.domain.sizes[axis] + 1) for axis in axes]
        return np.histogramdd(self.codes[:, list(axes)], bins=edges)[0]

    def total_distance(self, views, public, *, weights, spend):
        gaps = [
            np.abs(self.truth(view) - one).sum() for view, one in zip(views, public, strict=True)
        ]
        return int(np.dot(weights, gaps))


@pytest.mark.parametrize("variance", [1e-6, 100.0, 2500.0])
@pytest.mark.parametrize("skipped", [0, 1])
def test_what_pairs_miss_is_told_from_the_distance(variance, skipped):
    """Attributes depend on the one before, or on the one before that, of which a chain knows
    nothing."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (30_000, 6))
    for place in range(1 + skipped, 6):
        copied = rng.random(30_000) < 0.5
        codes[copied, place] = codes[copied, place - 1 - skipped]
    domain = domain_of(6)
    gate = Told(codes, domain)

    def missed(variance):
        judge = Judge(domain, Workload.all_kway(domain, 3), found_of(domain, codes, variance))
        judge.measure(gate, spend=Fraction(1, 10))
        return judge.missed

    exact = Judge(domain, Workload.all_kway(domain, 3), found_of(domain, codes, 1e-9))
    answers = exact.found.synopsis(domain).marginals(exact.sets)
    true = np.mean(
        [
            ((answer.counts - gate.truth(view)) ** 2).sum()
            for view, answer in zip(exact.sets, answers, strict=True)
        ]
    )
    # Nearly nothing is missed by the chain that the attributes make.
    room = 0.6 * true + 4 * 64 * variance
    assert missed(variance) == pytest.approx(true, abs=room)


@pytest.mark.parametrize("budget", [PureDP(4), ZCDP("0.1")], ids=repr)
def test_intervals_are_neither_far_too_wide_nor_too_narrow(budget):
    codes = ring(30_000)
    made = simulated(codes, domain_of(), budget, StrongPairs())
    inside, widths, errors = [], [], []
    for view in itertools.combinations(made.synopsis.domain, 3):
        answer = made.synopsis.marginal(view)
        truth = made.truth(view).counts
        low, high = answer.interval(0.95)
        inside.append(((low <= truth) & (truth <= high)).mean())
        widths.append(np.mean((high - low) / 2))
        errors.append(np.abs(answer.counts - truth).mean())
    assert np.mean(inside) > 0.9
    # Of normal errors the half-width at 95 % is 2.5 times the mean absolute error.
    assert np.mean(widths) < 3 * 2.5 * np.mean(errors)


def test_a_measurement_pays_from_the_distance_on_that_equals_its_noise():
    even = np.full((5, 5), 400.0)
    # An even table: the L2 distance for an L1 distance of one is one over the root of the cells.
    assert l2_share(even) == pytest.approx(1 / 5)
    assert break_evens(1e-3, [even]) == [1]
    assert break_evens(20.0, [even]) > break_evens(2.0, [even])
    uneven = np.full((5, 5), 1.0)
    uneven[0, 0] = 9_976.0
    assert l2_share(uneven) > 3 * l2_share(even)
    assert break_evens(20.0, [uneven]) < break_evens(20.0, [even])


@pytest.mark.parametrize(("budget", "power"), [(PureDP(1), 3), (ZCDP(1), 2)], ids=repr)
def test_shares_minimise_the_expected_error(budget, power):
    domain = Domain({"a": 2, "b": 4, "c": 16})
    views = [("a",), ("b",), ("a", "c")]
    shares = np.array(best_shares(domain, budget, views))
    cells = np.array([2, 4, 32])
    assert shares == pytest.approx(cells ** (1 / power))

    def cost(shares):
        return (cells / (shares / shares.sum()) ** (power - 1)).sum()

    rng = np.random.default_rng(0)
    assert all(cost(shares) <= cost(shares * rng.uniform(0.8, 1.2, 3)) + 1e-9 for _ in range(50))
