"""The accountant of Dual Query: the published figures, certified bounds against brute force and
another library."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from margin import ApproxDP, BudgetError, Neighbours, PureDP
from margin.mechanisms.learning.dualquery import privacy
from margin.privacy.budget import ZCDP, CertifiedDP, budget_from_json, certified, epsilon_of
from margin.privacy.loss import certified_epsilon, gaussian_epsilon
from margin.privacy.rounds import Rounds

KDD = {"n": 494_021, "step": 1.2, "rounds": 170, "samples": 1750, "delta": 1e-3}


@pytest.mark.parametrize(
    ("accounting", "expected"),
    [("closed", 1.859), ("per_round", 1.029), ("zcdp", 0.320)],
)
def test_the_published_figures(accounting, expected):
    assert privacy(**KDD, accounting=accounting) == pytest.approx(expected, abs=5e-4)


@pytest.mark.slow
def test_the_certified_figure():
    assert 0.2697 < privacy(**KDD) <= 0.271
    assert privacy(**KDD, neighbours="add_remove") <= 0.117
    assert privacy(**KDD | {"delta": None}) == pytest.approx(1.2 * 170 * 169 * 1750 / 494_021)


def most(accounting, eps=1.0):
    low, high = 2, 1000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high)
            if privacy(**KDD | {"rounds": middle}, accounting=accounting) <= eps
            else (low, middle)
        )
    return low


@pytest.mark.slow
def test_twice_the_rounds_for_the_same_guarantee():
    """The published accounting allows 166 rounds at (1, 0.001); the certificate for 2.1 times as
    many is below one."""
    assert most("per_round") == 166
    assert privacy(**KDD | {"rounds": math.ceil(2.1 * 166)}) <= 1


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_formulas_by_hand(neighbours):
    n, step, rounds, s, delta = 1000, F(1, 2), 7, 11, 1e-4
    reach = [float(step) * t * (2 if neighbours == "replace" else 1) / n for t in range(rounds)]
    log = math.log(1 / delta)
    got = {
        how: privacy(n, step, rounds, s, delta, how, neighbours)
        for how in ("closed", "per_round", "zcdp", "exact")
    }
    k, e = s * (rounds - 1), reach[-1]
    assert got["closed"] == pytest.approx(e * (math.sqrt(2 * k * log) + k * math.expm1(e)))
    squares = s * sum(e**2 for e in reach)
    assert got["per_round"] == pytest.approx(
        math.sqrt(2 * log * squares) + s * sum(e * math.expm1(e) for e in reach)
    )
    assert got["zcdp"] == pytest.approx(epsilon_of(squares / 8, delta), rel=1e-9)
    assert got["exact"] <= got["zcdp"] <= got["per_round"] <= got["closed"]


def hockey_stick(p, q, draws, epsilon):
    """Of `draws` draws from each pair of two-point distributions p and q, exactly enough: sum of (P
    - e^eps Q)+."""
    b = np.arange(draws + 1)
    first, second = (binom.pmf(b, draws, np.asarray(chance)[..., None]) for chance in (p, q))
    return np.maximum(first - np.exp(epsilon)[..., None] * second, 0).sum(axis=-1)


@pytest.mark.parametrize("draws", [1, 2, 30, 400])
@pytest.mark.parametrize("reach", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("delta", ["1/100", "1e-5"])
def test_no_pair_of_bounded_range_exceeds_one_round(
    draws,
    reach,
    delta,
):
    """Every u of a fine grid, both directions: the true delta at the certified epsilon is at most
    delta."""
    epsilon = float(certified_epsilon(((F(reach), draws),), F(delta)))
    u = np.linspace(0, reach, 402)[1:-1]
    p, q = (
        -np.expm1(u - reach) / -math.expm1(-reach),
        -np.expm1(u - reach) / -math.expm1(-reach) * np.exp(-u),
    )
    worst = max(
        hockey_stick(
            p,
            q,
            draws,
            epsilon,
        ).max(),
        hockey_stick(q, p, draws, epsilon).max(),
    )
    assert worst <= float(F(delta)) * (1 + 1e-9)
    if epsilon > 0:
        below = hockey_stick(p, q, draws, epsilon * 0.9).max()
        assert draws < 30 or below > float(F(delta)), "not much too cautious, either"


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.integers(1, 4),
    st.floats(0.1, 3),
)
def test_softmax_pairs_and_their_products_are_covered(
    seed,
    candidates,
    draws,
    reach,
):
    """Two rounds of softmax choices from real scores: the outcomes of both, enumerated."""
    rng = np.random.default_rng(seed)
    p, q = np.ones(1), np.ones(1)
    ranges = []
    for reach_of_round in (reach, reach / 2):
        scores = rng.normal(size=candidates)
        change = rng.random(candidates) * reach_of_round
        change[:2] = 0, reach_of_round
        one, other = np.exp(scores), np.exp(scores + change)
        for _ in range(draws):
            p, q = np.outer(p, one / one.sum()).ravel(), np.outer(q, other / other.sum()).ravel()
            if p.size > 300_000:
                return
        ranges.append((F(reach_of_round), draws))
    for delta in (F(1, 20), F(1, 1000)):
        e = math.exp(certified_epsilon(tuple(ranges), delta))
        assert max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum()) <= float(
            delta
        ) * (1 + 1e-9)


@pytest.mark.parametrize("rounds", [3, 40])
def test_another_library_agrees(rounds):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pmf = pytest.importorskip("dp_accounting.pld.pld_pmf")
    draws, step, total = 200, 1e-3, None
    ranges = tuple((F(t, 2000), draws) for t in range(rounds))
    for reach in (float(r) for r, _ in ranges[1:]):
        places = np.arange(-2000, 2001)
        p = (
            0.5 + np.tanh(reach / 4) / 2
        )  # the two-point loss of the middle, u = reach / 2, which is the worst
        curve = hockey_stick(p, 1 - p, draws, places * step)
        one = pld.PrivacyLossDistribution(
            pmf.create_pmf_pessimistic_connect_dots(step, places, curve)
        )
        total = one if total is None else total.compose(one)
    theirs = total.get_epsilon_for_delta(1e-4)
    assert theirs * 0.999 <= float(certified_epsilon(ranges, F(1, 10**4))) <= theirs * 1.01


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.integers(1, 40),
    st.integers(1, 3000),
    st.floats(1e-6, 0.05),
    st.integers(1, 9),
)
def test_certificates_lie_between_the_gaussian_limit_and_zcdp(
    rounds,
    draws,
    reach,
    power,
):
    delta = F(1, 10**power)
    ranges = tuple((F(reach) * t, draws) for t in range(rounds + 1))
    rho = sum(r**2 * s for r, s in ranges) / 8
    got = float(certified_epsilon(ranges, delta))
    assert got <= epsilon_of(max(rho, F(1, 10**12)), delta)
    if draws > 500 and float(rho) > 1e-4:
        assert got >= 0.97 * gaussian_epsilon(float(rho), float(delta)) - 1e-6


def test_more_draws_rounds_and_steps_cost_more():
    base = {"n": 1000, "step": 0.3, "rounds": 12, "samples": 50, "delta": 1e-5}
    for accounting in ("closed", "per_round", "zcdp", "exact"):
        cost = privacy(**base, accounting=accounting)
        for more in ({"step": 0.4}, {"rounds": 14}, {"samples": 70}, {"delta": 1e-6}, {"n": 800}):
            assert privacy(**base | more, accounting=accounting) > cost


def test_one_round_is_free():
    for accounting in ("closed", "per_round", "zcdp", "exact"):
        assert privacy(10, 1, 1, 50, 1e-6, accounting) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"n": 0},
        {"n": 1.5},
        {"step": 0},
        {"step": -1},
        {"step": math.nan},
        {"rounds": 0},
        {"samples": 0},
        {"samples": [10, 10]},
        {"delta": 0},
        {"delta": 1},
        {"accounting": "best"},
        {"neighbours": "all"},
        {"samples": [5] * 169 + [6], "accounting": "closed"},
    ],
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(BudgetError):
        privacy(**KDD | bad)


def test_what_rounds_cost_is_exact():
    rounds = Rounds(
        step=F(1, 2),
        samples=(5, 6, 7),
        size=100,
        records=3,
    )
    assert rounds.ranges(2) == ((0, 5), (F(1, 100), 6), (F(2, 100), 7))
    replace = Neighbours.REPLACE_ROW
    assert rounds.cost(PureDP(1, neighbours=replace)) == F(6, 100) + F(14, 100)
    assert rounds.cost(ZCDP(1, neighbours=replace)) == (6 * F(1, 100) ** 2 + 7 * F(2, 100) ** 2) / 8
    assert rounds.cost(PureDP(1)) == F(20, 200) and rounds.cost(PureDP(1, rows_per_person=4)) == F(
        80,
        200,
    )
    assert rounds.rate == F(1, 600) and rounds.multiplier(2) == 6
    assert rounds.epsilon(ApproxDP(1, "1e-6")) == certified_epsilon(rounds.ranges(1), F(1, 10**6))


def test_what_was_certified_adds_up_as_epsilon_and_delta_only():
    whole = certified(
        ApproxDP(
            1,
            "1e-6",
            neighbours=Neighbours.REPLACE_ROW,
            rows_per_person=2,
        )
    )
    assert isinstance(whole, CertifiedDP) and budget_from_json(whole.to_json()) == whole
    assert whole != ApproxDP(1, "1e-6", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2)
    assert "certified" in whole.describe() and "rho" not in whole.describe()
    for total in (ZCDP(9, neighbours=Neighbours.REPLACE_ROW, rows_per_person=2), whole):
        with pytest.raises(BudgetError, match="certified as a whole"):
            total.cost_of(whole)


def test_a_certificate_is_for_its_delta_rounds_and_neighbours():
    """Whatever was certified before: a smaller delta, another draw, or more rows cost more."""
    rounds = Rounds(step="1/50", samples=(20, 20), size=1)
    more = Rounds(step="1/50", samples=(20, 21), size=1)
    for _ in range(2):
        known = rounds.epsilon(ApproxDP(1, "1e-4"))
        assert rounds.epsilon(ApproxDP(1, "1e-9")) > known
        assert more.epsilon(ApproxDP(1, "1e-4")) > known
        replaced = ApproxDP(1, "1e-4", neighbours=Neighbours.REPLACE_ROW)
        assert rounds.epsilon(replaced) > known
        assert rounds.epsilon(ApproxDP(1, "1e-4", rows_per_person=3)) > known
