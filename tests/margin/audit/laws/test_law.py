"""Exact laws, by enumeration and by definition: choices one after another, costs, certificates,
priority samples."""

from fractions import Fraction as F

import numpy as np
import pytest
from audit_checks import (
    Ask,
    check_certificates,
    check_law_of_choices,
    check_law_of_largest,
    check_pure_epsilon,
    law_of_peeling,
)

from margin.audit.laws.distributions import mean_cosine
from margin.audit.laws.evidence import Evidence
from margin.audit.laws.law import Law
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.event import Event
from margin.private import Largest

pytestmark = pytest.mark.slow

CHOICES = [
    Ask("select_items", list("abcd"), count=3),
    Ask("select_items", count=2, spend="1/2"),
    Ask("select_sets", None, [[0], [0, 1], [2], [5]], count=3),
    Ask("select_cuts", ["a", "b"], [[[0, 2], [0, 2]]], [1]),
    Ask("select_most", None, [2, 1, 3], penalties=[1, 0, -1]),
    Ask("select_scaled", None, [1, 2], scales=[1, 2], penalties=[[0, 1], [2, 0]], grain=1),
    Ask(
        "select",
        [["a"], ["b"], ["c"], ["d"]],
        [[4, 0], [2, 2], [1, 1], [0, 9]],
        weights=[1, 2, 1, 3],
        count=3,
    ),
]


@pytest.mark.parametrize("ask", CHOICES, ids=lambda ask: ask.method)
def test_every_ordered_outcome_of_a_choice_is_as_likely_as_declared(ask):
    check_law_of_choices(ask)


def test_the_law_of_peeling_adds_up():
    law = law_of_peeling([3, 1, 2, 2], 0.7, 3)
    assert len(law) == 24 and sum(law.values()) == pytest.approx(1)


def test_what_was_spent_purely_is_what_the_audit_finds():
    check_pure_epsilon()


def test_certificates_are_never_below_the_audits_own_bound():
    check_certificates()


@pytest.mark.parametrize("start", [None, 4, 40])
def test_priority_samples_have_their_law_wherever_levels_start(start):
    check_law_of_largest(start)


@pytest.mark.slow
def test_priority_samples_of_few_cells_and_of_all():
    check_law_of_largest(1 << 20)
    check_law_of_largest(1 << 30, rule=Largest(2, 1), scale=F(1))
    check_law_of_largest(8, rule=Largest(20, 3), scale=F(4))


SAMPLERS = [
    DiscreteLaplace(F(1, 3)),
    DiscreteLaplace(F(40)),
    DiscreteGaussian(F(9, 2)),
    DiscreteGaussian(F(10**12)),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_right_noise_raises_no_alarm_and_little_less_does(sampler):
    """At 32,000 draws a parameter of a quarter more or less is told from the declared one."""
    for factor, wrong in ((1, False), (F(4, 5), True), (F(5, 4), True)):
        parameter = getattr(sampler, "scale", None) or sampler.sigma2
        other = type(sampler)(parameter * factor)
        law, table = Law(1), np.zeros((20, 50), np.int64)
        event = Event(method="made", about=(), units=1, sampler=sampler, l1=1, l2_squared=1)
        entropy = SeededEntropy(3)
        for _ in range(4):
            law.start_run()
            law.add_more([event], [table], lambda: [other.sample(1000, entropy).reshape(20, 50)])  # noqa: B023
        assert bool(law.judge()) == wrong


@pytest.mark.parametrize("factor", [2, 3, 5, 14])
@pytest.mark.parametrize("sampler", SAMPLERS[1:], ids=repr)
def test_noise_of_multiples_is_found(sampler, factor):
    """The other tests would take multiples of 14 for noise of a variance of 10**12."""
    law, table = Law(1), np.zeros(500, np.int64)
    event = Event(method="made", about=(), units=1, sampler=sampler, l1=1, l2_squared=1)
    entropy = SeededEntropy(3)
    law.add_more([event], [table], lambda: [sampler.sample(500, entropy) // factor * factor])
    assert any("remainders" in finding for finding in law.judge())


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_mean_cosines_are_those_of_the_draws(sampler):
    drawn = sampler.sample(40_000, SeededEntropy(5))
    for angle in (np.pi, 2 * np.pi / 3, 1e-2):
        # At 20 times the standard deviation of a mean of 40,000 numbers in [-1, 1].
        assert abs(np.cos(angle * drawn).mean() - mean_cosine(sampler, angle)) < 0.1


DEPENDENT = {
    "antithetic": lambda d: np.concatenate([d[: d.size // 2], -d[: d.size // 2]]),
    "reversed": lambda d: np.concatenate([d[: d.size // 2], d[: d.size // 2][::-1]]),
    "signs only": lambda d: np.abs(d) * np.sign(d[0] or 1),
    "sizes only": lambda d: np.concatenate(
        [d[: d.size // 2], np.abs(d[: d.size // 2]) * np.sign(d[d.size // 2 :])]
    ),
    "one for all": lambda d: np.full_like(d, d[0]),
    "balanced": lambda d: d - np.rint(d.mean()).astype(np.int64),
}


def copied(change):
    """Noise in which a part in the middle is made of another part and itself."""

    def depend(d):
        d[400:600] = change(d[60:260], d[400:600])
        return d

    return depend


FAR = {
    "repeated": copied(lambda other, own: other),
    "reversed": copied(lambda other, own: other[::-1]),
    "with the other sign": copied(lambda other, own: -other),
    "sizes only": copied(lambda other, own: np.where(own < 0, -1, 1) * np.abs(other)),
    "signs only": copied(lambda other, own: np.where(other < 0, -1, 1) * np.abs(own)),
}


@pytest.mark.parametrize("depend", [*FAR.values(), lambda d: d], ids=[*FAR, "independent"])
def test_dependence_at_a_distance_is_found(depend, request):
    noise, entropy, law = DiscreteLaplace(F(12)), SeededEntropy(4), Law(1)
    event = Event(method="made", about=(), units=1, sampler=noise, l1=1, l2_squared=1)
    tables = [np.zeros((30, 20), np.int64), np.zeros(400, np.int64)]

    def draw():
        drawn = depend(noise.sample(1000, entropy))
        return [drawn[:600].reshape(30, 20), drawn[600:]]

    for _ in range(6):
        law.start_run()
        law.add_more([event, event], tables, draw)
    found = law.judge()
    assert bool(found) == ("independent" not in request.node.name)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 17])
def test_sums_over_all_distances_are_those_of_their_definition(n):
    numbers, evidence = np.random.default_rng(n).choice([-1, 0, 0.5, 1], n), Sums()
    evidence.add_shifted("made", numbers)
    shifted = [sum(numbers[i] * numbers[i + k] for i in range(n - k)) for k in range(1, n)]
    mirrored = [[(i, k - i) for i in range(n) if i < k - i < n] for k in range(2 * n - 1)]
    if n == 1:
        assert evidence.added == []
        return
    (first, terms), (second, pairs) = evidence.added
    np.testing.assert_allclose(first, shifted, atol=1e-9)
    assert terms.tolist() == list(range(n - 1, 0, -1))
    expected = [sum(numbers[i] * numbers[j] for i, j in some) for some in mirrored]
    np.testing.assert_allclose(second, expected, atol=1e-9)
    assert pairs.tolist() == list(map(len, mirrored))


class Sums(Evidence):
    """Keeps what would be evidence."""

    def __init__(self):
        super().__init__()
        self.added = []

    def add_products(self, name, products, terms):
        self.added.append((products, terms))


@pytest.mark.parametrize("depend", DEPENDENT.values(), ids=DEPENDENT)
def test_dependence_of_cells_is_found(depend):
    noise, entropy, law = DiscreteLaplace(F(12)), SeededEntropy(4), Law(1)
    event = Event(method="made", about=(), units=1, sampler=noise, l1=1, l2_squared=1)
    for _ in range(6):
        law.start_run()
        law.add_more([event], [np.zeros(24, np.int64)], lambda: [depend(noise.sample(24, entropy))])
    assert law.judge()
