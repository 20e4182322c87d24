"""Checks that several tests of the audit share: tests that must pass, and that planted bugs must
fail."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction as F

import numpy as np

from margin.audit import audit
from margin.audit.delta_lower_bound import delta_lower_bound
from margin.audit.event_cost import cost
from margin.domain.domain import Domain
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from margin.privacy import loss
from margin.privacy.budget import ApproxDP, PureDP
from margin.privacy.event import Event
from margin.privacy.rounds import Rounds
from margin.private import Largest, sparse_noise
from margin.private.cell_counts import Counted
from margin.queries import Conjunctions
from margin.sparse.axes import Leaves
from margin.sparse.grid import Grid

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
ITEMS = Domain(dict.fromkeys("abcdef", 2))
CELLS = Conjunctions.cells(DOMAIN, [["a", "b"], ["b", "c"]])
# Of which a row satisfies five of seven.
MOSTLY = Conjunctions(
    DOMAIN, [[1]] * 3 + [[2]] * 4, [[0], [1], [2], [0], [1], [2], [3]], [[True]] * 7
)


class Ask:
    """A mechanism of one question."""

    def __init__(self, method, *arguments, **options):
        self.method, self.arguments, self.options = method, arguments, options

    def run(self, private, workload):
        answer = getattr(private, self.method)(*self.arguments, **self.options)
        return (
            [getattr(part, "counts", part) for part in answer]
            if isinstance(answer, tuple)
            else answer
        )


class Draw:
    """Rounds of draws of queries, answered by records that are half true."""

    method = "sample_queries"

    def __init__(self, before=None, times=1, **options):
        self.before, self.times, self.options = before, times, options

    def run(self, private, workload):
        step = F(self.options["step"]) / private.budget.rows
        for _ in range(self.times if self.before is not None else 0):
            private.count_rows(spend=self.before)
        draws = private.sample_queries(CELLS, Rounds(**{**self.options, "step": step}))
        answered = np.zeros(len(CELLS), int)
        results = []
        for _ in self.options["samples"]:
            results.append(draws.draw(answered))
            answered = answered + np.arange(len(CELLS)) % 2 * self.options.get("records", 1)
        return results


def findings(mechanism, domain=DOMAIN, budget=PureDP(1), pairs=20):
    return audit(mechanism, domain=domain, budget=budget, pairs=pairs).findings


# The law of choices


def check_law_of_choices(ask, budget=PureDP(4), domain=ITEMS, runs=1500):
    """Every ordered outcome as often as the exponential mechanism makes it, at the rate that the
    charge pays for.

    The law is enumerated, by its definition: each choice is among those that are left, with a
    weight of exp(epsilon score / spread). The frequency of an outcome of probability p in n runs is
    within sqrt(2 p (1 - p) L / n) + L / n of p but with probability 2 exp(-L) (Bernstein 1924). L
    is such that all are but with probability 2e-6.
    """
    codes = np.array(
        [[1, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0]]
    )[:, : len(domain)]
    from margin.audit.recorder import Recorder
    from margin.data.source import CodesSource

    recorder = Recorder(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(5))
    drawn = []

    class Many:
        findings = ()

        def add(self, events, true, answer):
            drawn.append(answer)

        def add_more(self, events, true, draw):
            drawn.extend(draw() for _ in range(runs - 1))

    recorder.law = Many()
    ask.run(recorder, None)
    (reply,) = recorder.tape
    scores = [int(score) for score in reply.true[0]]
    spent = budget.epsilon * F(ask.options.get("spend", 1)) / len(reply.events)
    rate = spent / reply.events[0].spread
    law = law_of_peeling(scores, float(rate), len(reply.events))
    found = Counter(tuple(np.atleast_1d(answer).tolist()) for answer in drawn)
    assert set(found) <= set(law)
    bound = math.log(len(law) * 10**6)
    for outcome, p in law.items():
        slack = math.sqrt(2 * p * (1 - p) * bound / runs) + bound / runs
        assert abs(found[outcome] / runs - p) <= slack, outcome


def law_of_peeling(scores, rate, count):
    law = {}
    for outcome in itertools.permutations(range(len(scores)), count):
        p, left = 1.0, list(range(len(scores)))
        for choice in outcome:
            top = max(scores[other] for other in left)
            p *= math.exp(rate * (scores[choice] - top)) / sum(
                math.exp(rate * (scores[o] - top)) for o in left
            )
            left.remove(choice)
        law[outcome] = p
    return law


# Costs


def made_events(rng, count=6):
    """Events of all kinds of noise."""
    made = []
    for _ in range(count):
        kind = rng.randrange(3)
        l1 = rng.randint(1, 9)
        shared = {"method": "made", "about": (), "units": rng.randint(1, 10**12)}
        parameter = F(rng.randint(1, 90), rng.randint(1, 9))
        if kind == 0:
            made.append(Event(sampler=DiscreteLaplace(parameter), l1=l1, l2_squared=l1, **shared))
        elif kind == 1:
            sampler = ExponentialMechanism(parameter)
            made.append(Event(sampler=sampler, spread=l1, draws=rng.randint(1, 4), **shared))
        else:
            made.append(
                Event(sampler=DiscreteGaussian(parameter), l1=l1, l2_squared=l1**2, **shared)
            )
    return made


def check_pure_epsilon():
    """What has been spent of pure privacy is what the audit finds, event by event."""
    import margin.privacy.event

    rng = random.Random(2)
    for _ in range(200):
        events = made_events(rng)
        expected = sum(cost(event, PureDP(1)) for event in events)
        if any(isinstance(event.sampler, DiscreteGaussian) for event in events):
            assert margin.privacy.event.pure_epsilon(events) is None
            events = [event for event in events if not isinstance(event.sampler, DiscreteGaussian)]
            expected = sum(cost(event, PureDP(1)) for event in events)
        assert margin.privacy.event.pure_epsilon(events) == expected


def check_certificates():
    """No certificate is below what its rounds are known to cost, by a loss distribution of the
    audit's own."""
    rng = random.Random(4)
    for _ in range(8):
        step, samples = F(rng.randint(1, 40), 100), rng.choice([1, 2, 5, 30, 100])
        rounds = Rounds(step=step, samples=(samples,) * rng.randint(2, 5), size=1)
        budget = ApproxDP(1, F(1, 10 ** rng.randint(2, 8)))
        loss.certified_epsilon.cache_clear()
        epsilon = float(rounds.epsilon(budget))
        loss.certified_epsilon.cache_clear()
        events = [
            Event(
                method="sample_queries",
                about=(),
                units=0,
                sampler=ExponentialMechanism(rounds.rate),
                spread=rounds.multiplier(place),
                draws=draws,
                rounds=rounds,
            )
            for place, draws in enumerate(rounds.samples)
        ]
        assert delta_lower_bound(events, epsilon) <= float(budget.delta) * (1 + 1e-9), (
            rounds,
            budget,
        )


# Summaries of sparse tables


def law_of_largest(truth, scale, rule, runs, seed):
    """Which cells the `rule.size` largest priorities keep, by its definition on every cell: (runs,
    cells), kept or not, and the noisy counts."""
    rng = np.random.default_rng(seed)
    r = math.exp(-1 / float(scale))
    shape = (runs, truth.size)
    values = truth + (rng.geometric(1 - r, shape) - rng.geometric(1 - r, shape))
    sizes = np.abs(values)
    priorities = np.where(sizes >= rule.theta, sizes / (1 - rng.random(shape)), 0.0)
    cut = -np.sort(-priorities, axis=1)[:, rule.size : rule.size + 1]
    return (priorities > cut) & (priorities > 0), values


def check_law_of_largest(start=None, runs=600, sizes=(24,), rule=Largest(5, 2), scale=F(3, 2)):
    """A priority sample has the law of its definition, wherever the levels start that it goes down.

    Means of numbers in [0, 1] over n and N runs differ by sqrt(L / 2 (1 / n + 1 / N)) or more with
    probability 2 exp(-L) at most (Hoeffding), L = 18 for each of fewer than 60 means: 2e-6
    together. Priorities may be on a coarse grid, where equal ones fall together: 2 % more are
    allowed for it.
    """
    before = sparse_noise._start
    if start is not None:
        sparse_noise._start = lambda noisy, empty, noise, keep: sparse_noise.Keep(
            keep.theta, start, True
        )
    try:
        grid = Grid([Leaves(size) for size in sizes])
        truth = np.zeros(24, np.int64)
        truth[[2, 3, 7, 20]] = [1, 9, 4, 2]
        true = Counted(np.flatnonzero(truth)[:, None], truth[truth > 0])
        entropy, noise = SeededEntropy(8), DiscreteLaplace(scale)
        kept, values = np.zeros((runs, 24)), np.zeros((runs, 24))
        for run in range(runs):
            found = sparse_noise.largest_cells(grid, noise, true, rule, entropy)
            kept[run, found.words[:, 0]] = 1
            values[run, found.words[:, 0]] = found.counts
    finally:
        sparse_noise._start = before
    more = 40_000
    expected, counts = law_of_largest(truth, scale, rule, more, 3)
    slack = math.sqrt(18 / 2 * (1 / runs + 1 / more)) + 0.02
    assert np.abs(kept.mean(axis=0) - expected.mean(axis=0)).max() <= slack
    for limit in range(rule.theta, 12):
        ours = ((np.abs(values) >= limit) & (kept > 0)).sum(axis=1) / rule.size
        theirs = ((np.abs(counts) >= limit) & expected).sum(axis=1) / rule.size
        assert abs(ours.mean() - theirs.mean()) <= slack, limit
    empty = truth == 0
    for number in range(rule.size + 1):
        ours, theirs = (table[:, empty].sum(axis=1) >= number for table in (kept, expected))
        assert abs(ours.mean() - theirs.mean()) <= slack, number
    for total in (4, 8, 12, 16, 20, 30):
        ours = (np.abs(values) * kept)[:, empty].sum(axis=1) >= total
        theirs = (np.abs(counts) * expected)[:, empty].sum(axis=1) >= total
        assert abs(ours.mean() - theirs.mean()) <= slack, total
