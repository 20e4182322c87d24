"""What the fast paths of the samplers leave open, forced by chosen bytes and compared with exact
rationals."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.noise import laws, magnitudes, selection
from margin.noise.bernoulli import Coins, _reserve
from margin.noise.certified import exponential, leading_bits, logistic, uniform_is_below
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from margin.noise.magnitudes import MagnitudeTable, cumulative_bounds

BITS = 600  # of the references


class Script:
    """Gives the bytes it was told, in order, then up to 16 zeros, and refuses to go on."""

    private = False

    def __init__(self, *pieces: bytes) -> None:
        self.left = b"".join(pieces) + bytes(16)

    def take(self, n: int) -> bytes:
        assert n <= len(self.left), "the sampler took more bytes than the case foresees"
        taken, self.left = self.left[:n], self.left[n:]
        return taken


def word(value: int) -> bytes:
    return (value % 2**64).to_bytes(8, "big")


def exp_reference(x: F) -> int:
    """About exp(-x) * 2**BITS, within 2**8 units: a Taylor series in integers, the argument halved
    until small."""
    halvings = max(0, math.ceil(x).bit_length() + 1)
    work = BITS + halvings + 40
    y = (x.numerator << work) // (x.denominator << halvings)
    term = total = 1 << work
    for n in range(1, work):
        term = -term * y // (n << work)
        total += term
    for _ in range(halvings):
        total = total * total >> work
    return total >> (work - BITS)


def rounded(q: F) -> int:
    return q.numerator * 2**BITS // q.denominator


ARGUMENTS = [F(1, 10**12), F(1, 3), F(1), F("6.4"), F(45), F(1000, 7), F(300)]


@pytest.mark.parametrize("x", ARGUMENTS)
@pytest.mark.parametrize("bits", [0, 1, 8, 72, 136, 500])
def test_bounds_hold_and_are_narrow(x, bits):
    e = F(exp_reference(x), 2**BITS)
    slack = F(1, 2 ** (BITS - 8))
    for q, value in [(exponential(x), e), (logistic(x), e / (1 + e))]:
        low, high = q(bits)
        assert low <= (value + slack) * 2**bits
        assert high >= (value - slack) * 2**bits
        assert 0 <= high - low <= 2


@settings(deadline=None)
@given(st.fractions(0, 2000), st.integers(0, 400))
def test_bounds_are_consistent_between_precisions(x, bits):
    for q in [exponential(x), logistic(x)]:
        low, high = q(bits)
        finer_low, finer_high = q(bits + 200)
        assert low << 200 <= finer_high
        assert high << 200 >= finer_low
        assert high - low <= 2


def test_exponential_of_zero_and_of_huge_numbers():
    assert exponential(F(0))(10) == (1024, 1024)
    assert exponential(F(10**30))(10) == (0, 1)
    assert exponential(F(1, 10**30))(10) == (1023, 1024)


@pytest.mark.parametrize("x", ARGUMENTS)
def test_leading_bits(x):
    assert leading_bits(exponential(x), 72) == exp_reference(x) >> (BITS - 72)


def test_leading_bits_of_a_long_run_of_ones():
    """1 - 2**-200 (1 + tiny): the floor needs more than 200 bits to be seen."""
    calls = []

    def almost_one(bits):
        calls.append(bits)
        numerator = (2**300 - 2**100 - 1) << bits
        return numerator >> 300, -(-numerator >> 300)

    assert leading_bits(almost_one, 72) == 2**72 - 1
    assert max(calls) >= 200


@pytest.mark.parametrize("x", ARGUMENTS)
@pytest.mark.parametrize("words", [1, 2, 3, 6])
@pytest.mark.parametrize("offset", [-1, 1])
def test_a_uniform_is_compared_to_the_last_word(x, words, offset):
    """The digits of q itself, as many words as wanted, but the last word one lower or higher."""
    u = (exp_reference(x) >> (BITS - 64 * words)) + offset
    if u < 0:
        pytest.skip("q begins with zeros only")
    source = Script(u.to_bytes(8 * words, "big"))
    assert uniform_is_below(exponential(x), source) == (offset < 0)
    assert len(source.left) in (8, 16), "one word more at most, when the bounds are two units apart"


def test_a_tie_goes_on():
    x = F(1, 3)
    q = (exp_reference(x) >> (BITS - 64 * 5)).to_bytes(40, "big")
    for last, answer in [(b"\x00" * 8, True), (b"\xff" * 8, False)]:
        assert uniform_is_below(exponential(x), Script(q, last)) is answer
    assert uniform_is_below(exponential(F(0)), Script()) is True


COINS = [
    logistic(F(1, 10)),
    logistic(F("0.8")),
    logistic(F("6.4")),
    exponential(F("51.2")),
    exponential(F(60)),
]


def digits_of(q, count):
    return leading_bits(q, 8 * count).to_bytes(count, "big")


@pytest.mark.parametrize("q", COINS)
@pytest.mark.parametrize("extra", [0, 1, 2, 4])
@pytest.mark.parametrize("offset", [-1, 1])
def test_a_coin_that_ties_for_long(q, extra, offset):
    """The first 9 + 8 * extra bytes of U are those of q, or differ from them in the last bit."""
    length = 9 + 8 * extra
    value = leading_bits(q, 8 * length) + offset
    if not 0 <= value < 2 ** (8 * length):
        pytest.skip("q begins with zeros only")
    u = value.to_bytes(length, "big")
    if u[0] != digits_of(q, 1)[0] or (extra and u[:9] != digits_of(q, 9)):
        pytest.skip("a carry changes the bytes that were to tie")
    rest = bytes(8 * (_reserve(1) - 1))
    heads = Coins([q]).flip(1, Script(u[:1], u[1:9], rest, u[9:]))
    assert heads.tolist() == [[offset < 0]]


@pytest.mark.parametrize("q", COINS[:3])
def test_a_coin_on_all_prefixes_of_two_bytes(q):
    """Followed by zeros, prefix p means U = p / 65536: heads if p <= floor(65536 q). Followed by
    ones: if p is less."""
    coin = Coins([q])
    floor = leading_bits(q, 16)
    firsts = bytes(range(256))
    for filler, expected in [(b"\x00", floor + 1), (b"\xff", floor)]:
        rest = filler * 8 * (_reserve(256) - 1)
        sure = 256 * digits_of(q, 1)[0]
        heads = 0
        for second in range(256):
            flips = coin.flip(256, Script(firsts, bytes([second]) + filler * 7, rest))[0]
            tied = digits_of(q, 1)[0]
            assert flips[:tied].all()
            assert not flips[tied + 1 :].any()
            heads += int(flips[tied])
        assert sure + heads == expected


def test_many_ties_at_once():
    """More ties than the reserve foresees, in two kinds of coins, in the right order."""
    kinds, count = COINS[:2], 100
    coins = Coins(kinds)
    first = b"".join(digits_of(q, 1) * count for q in kinds)
    reserve = _reserve(2 * count)
    below = [i % 3 == 0 for i in range(2 * count)]
    words = [
        word(leading_bits(kinds[i // count], 72) % 2**64 + (-1 if is_below else 1))
        for i, is_below in enumerate(below)
    ]
    heads = coins.flip(count, Script(first, *words[:reserve], *words[reserve:]))
    assert heads.reshape(-1).tolist() == below


def test_a_tie_of_72_bits_among_others():
    q = COINS[0]
    digits = digits_of(q, 17)
    rest = bytes(8 * (_reserve(3) - 3))
    ties = [word(int.from_bytes(digits[1:9], "big") + d) for d in (1, 0, -1)]
    source = Script(digits[:1] * 3, *ties, rest, word(int.from_bytes(digits[9:], "big") - 1))
    assert Coins([q]).flip(3, source).tolist() == [[False, True, True]]


LAPLACE_TAIL = [
    ([b"\xff"], 1),  # no further multiple of 512
    ([b"\x00\x00", b"\xff"], 2),
    ([b"\x00\x00", b"\x00\x00", b"\xff"], 3),
]


@pytest.mark.parametrize(("uniforms", "multiple"), LAPLACE_TAIL)
@pytest.mark.parametrize("negative", [False, True])
def test_the_tail_of_the_laplace_distribution(uniforms, multiple, negative):
    """Scale 10 has digits up to 2**8, then multiples of 512 with ratio exp(-51.2), whose first 72
    bits are zero."""
    first = b"\xff" * 9 + b"\x00" + b"\x00"  # no binary digit; higher ones perhaps; not zero
    words = bytes(8 * _reserve(11))
    resolve = word(0)  # 136 zero bits are below exp(-51.2)
    draws = b"".join(word(0) * len(u) if u[:1] == b"\x00" else word(-1) for u in uniforms)
    sign = b"\x80" if negative else b"\x00"
    x = DiscreteLaplace(F(10)).sample(1, Script(first, words, resolve, draws, sign))
    assert x.tolist() == [(1 + 512 * multiple) * (-1 if negative else 1)]


def test_the_clamp_of_the_laplace_distribution():
    """At the largest scale seven multiples of 2**59 fit; more are clamped, and no int64 overflows.

    4,000 zero bits count many multiples, a one ends them, and another makes the sign.
    """
    source = Script(bytes(500) + b"\xff" * 9_000)
    assert DiscreteLaplace(F(10**16)).sample(1, source).tolist() == [-(2**62 - 1)]


def gauss_reference(sigma2: F) -> list[int]:
    """P(|X| <= x) * 2**BITS for x = 0, 1, ... until it is nearly all."""
    weights = [1 << BITS]
    while len(weights) < 3 or weights[-1] > 1 << 64:
        x = len(weights)
        weights.append(2 * exp_reference(x * x / (2 * sigma2)))
    total = sum(weights)
    cumulative, running = [], 0
    for weight in weights:
        running += weight
        cumulative.append((running << BITS) // total)
    return cumulative


SIGMA2 = [F(1, 100), F(1, 3), F(1), F(10), F(100, 3)]


@pytest.mark.parametrize("sigma2", SIGMA2)
@pytest.mark.parametrize("bits", [16, 64, 128, 256])
def test_cumulative_bounds(sigma2, bits):
    low, high = cumulative_bounds(sigma2, bits)
    assert len(low) == len(high)
    assert high[-1] == 2**bits
    assert low == sorted(low)
    assert high == sorted(high)
    slack = 1 << 100
    for lower, upper, value in zip(low, high, gauss_reference(sigma2), strict=False):
        assert (lower << (BITS - bits)) <= value + slack
        assert (upper << (BITS - bits)) >= value - slack
        assert upper - lower <= 2


@pytest.mark.parametrize("sigma2", SIGMA2[1:])
@pytest.mark.parametrize(("error", "last"), [(2**50, None), (0, 3), (2**40, 5)])
def test_cumulative_bounds_hold_for_coarse_inputs(sigma2, error, last, monkeypatch):
    """Factors that are much too low, and a table cut short, are paid for by wider bounds, which
    still hold."""

    def coarse(x: F):
        def bounds(bits: int) -> tuple[int, int]:
            low, high = exponential(x)(bits)
            return max(0, low - error), high

        return bounds

    monkeypatch.setattr(magnitudes, "exponential", coarse)
    if last:
        monkeypatch.setattr(magnitudes, "isqrt", lambda n: last - 2)
    bits = 64
    low, high = cumulative_bounds(sigma2, bits)
    reference = gauss_reference(sigma2)
    slack = 1 << 100
    for lower, upper, value in zip(low, high, reference, strict=False):
        assert (lower << (BITS - bits)) <= value + slack
        assert (upper << (BITS - bits)) >= value - slack
    assert max(upper - lower for lower, upper in zip(low, high, strict=True)) > 2


@pytest.mark.parametrize("sigma2", SIGMA2)
@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("offset", [-1, 1])
def test_a_gaussian_on_the_border_between_two_values(sigma2, words, offset):
    """U has the first digits of P(|X| <= x) but for the last bit: |X| is at most x below, more
    above."""
    reference = gauss_reference(sigma2)
    table = MagnitudeTable(sigma2)
    for x in range(min(8, len(reference) - 1)):
        u = (reference[x] >> (BITS - 64 * words)) + offset
        if u >= 2 ** (64 * words):
            continue
        digits = u.to_bytes(8 * words, "big")
        expected = next(y for y, value in enumerate(reference) if value > u << (BITS - 64 * words))
        assert expected <= x if offset < 0 else expected > x
        assert table.draw(1, Script(digits[:8][::-1], digits[8:])).tolist() == [expected]


@pytest.mark.parametrize("sigma2", SIGMA2)
def test_the_largest_words_reach_the_tail(sigma2):
    reference = gauss_reference(sigma2)
    for words in (1, 2, 3):
        u = 2 ** (64 * words + 64) - 2**64  # words of ones, then a word of zeros
        expected = next(
            y for y, value in enumerate(reference) if value > u << (BITS - 64 * words - 64)
        )
        drawn = MagnitudeTable(sigma2).draw(1, Script(b"\xff" * 8 * words))
        assert drawn.tolist() == [expected]


@pytest.mark.parametrize("sigma2", [F(1, 3), F(10), F(400**2)])
def test_few_and_many_words_are_inverted_alike(sigma2):
    table = MagnitudeTable(sigma2)
    many = table.draw(5000, SeededEntropy(4))
    taken = SeededEntropy(4).take(40_000)
    few = [int(table.draw(1, Script(taken[i : i + 8]))[0]) for i in range(0, 8000, 8)]
    assert many[:1000].tolist() == few


def test_all_decisions_of_the_table_may_be_exact(monkeypatch):
    """With every word declared undecided, the exact fallback gives what the table gives."""
    sigma2 = F(20)
    table = MagnitudeTable(sigma2)
    words = SeededEntropy(5).take(8 * 200)
    plain = table.draw(200, Script(words))
    low, _ = cumulative_bounds(sigma2, 64)
    monkeypatch.setattr(table, "_low", np.zeros_like(table._low))
    exact = table.draw(200, Script(words, SeededEntropy(6).take(8 * 200)))
    assert exact.tolist() == plain.tolist()
    assert len(low) > 40


@pytest.mark.parametrize("sigma2", [F(1001**2), F(10**8, 3), F(10**24)])
def test_all_decisions_of_the_rejection_may_be_exact(sigma2, monkeypatch):
    """With every trial declared undecided, rational arithmetic accepts what the floats accept."""
    gaussian = DiscreteGaussian(sigma2)
    plain = gaussian.sample(300, SeededEntropy(1))
    monkeypatch.setattr(laws, "_MARGIN", 2.0)
    assert gaussian.sample(300, SeededEntropy(1)).tolist() == plain.tolist()


@pytest.mark.parametrize("sigma2", [F(1001**2), F(10**8, 3), F(10**24)])
@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("offset", [-1, 1])
def test_a_trial_on_the_border_of_acceptance(sigma2, words, offset):
    gaussian = DiscreteGaussian(sigma2)
    t = math.isqrt(math.floor(sigma2)) + 1
    for y in (0, 1, -t // 3, 2 * t, 5 * t):
        x = (abs(y) - sigma2 / t) ** 2 / (2 * sigma2)
        u = ((exp_reference(x) >> (BITS - 64 * words)) + offset).to_bytes(8 * words, "big")
        source = Script(u[:8][::-1], u[8:])
        assert gaussian._accept(np.array([y]), source).tolist() == [offset < 0]
        assert len(source.left) in (8, 16)


@settings(max_examples=300, deadline=None)
@given(st.fractions(1000**2, 10**30), st.floats(0, 60))
def test_the_float_filter_is_far_more_precise_than_its_margin(sigma2, ratio):
    t = math.isqrt(math.floor(sigma2)) + 1
    y = round(ratio * t)
    b, k = float(sigma2 / t**2), float(t**2 / (2 * sigma2))
    p = float(np.exp(-k * (np.float64(y) / float(t) - b) ** 2))
    true = F(exp_reference((y - sigma2 / t) ** 2 / (2 * sigma2)), 2**BITS)
    assert abs(F(p) - true) < F(1, 2**48)


def test_the_exponential_of_numpy_is_as_precise_as_assumed():
    """Its relative error, for all exponents that matter: a choice scales exp(-x) up by 2**61 at
    most, so beyond x = 80 its probability is below the margin."""
    x = np.linspace(0, 80, 601)
    for some in (x, x[::3], *x[::20, None]):  # with and without the loops for many numbers at once
        found = [F(v) for v in np.exp(-some).tolist()]
        true = [F(exp_reference(F(v)), 2**BITS) for v in some.tolist()]
        assert max(abs(a / b - 1) for a, b in zip(found, true, strict=True)) < F(1, 2**50)


# The exponential mechanism


@pytest.mark.parametrize("rate", [F(1, 3), F(7, 2), F(1, 10**9)])
@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("offset", [-1, 1])
def test_a_choice_on_the_border_of_acceptance(rate, words, offset):
    """U has the first digits of exp(-x) 2**b but for the last bit; scores whose b is at and below
    its largest."""
    proposal = selection._Proposal(rate, np.array([0, -1, -3, -12, -20]))
    for candidate in range(1, 5):
        power = int(proposal.b[candidate])
        p = exp_reference(rate * (proposal.top - int(proposal.scores[candidate]))) << power
        u = ((p >> (BITS - 64 * words)) + offset).to_bytes(8 * words, "big")
        source = Script(u[:8][::-1], u[8:])
        assert proposal.accept(np.array([candidate]), source).tolist() == [offset < 0]
        assert len(source.left) in (8, 16)


def test_all_decisions_of_a_choice_may_be_exact(monkeypatch):
    """With every trial declared undecided, rational arithmetic accepts what the floats accept."""
    mechanism = ExponentialMechanism(F(1, 7))
    scores = np.array([0, 5, -30, 12, 11, -400])
    plain = mechanism.draw(scores, 300, SeededEntropy(1))
    monkeypatch.setattr(selection, "_MARGIN", 2.0)
    assert mechanism.draw(scores, 300, SeededEntropy(1)).tolist() == plain.tolist()


@settings(max_examples=200)
@given(st.fractions(F(1, 10**12), 100), st.lists(st.integers(0, 10**9), min_size=1, max_size=30))
def test_a_proposal_is_never_below_what_is_wanted(rate, gaps):
    """2**-b >= exp(-x), by exact bounds; and at most four times as much, but for the smallest of
    all."""
    proposal = selection._Proposal(rate, -np.array(gaps))
    for gap, b in zip((proposal.top - proposal.scores).tolist(), proposal.b.tolist(), strict=True):
        low, high = exponential(rate * gap)(200)
        assert low <= 1 << (200 - b)
        assert b == proposal.cap or high << 2 >= 1 << (200 - b)
    assert int(proposal.end[-1]) == sum(1 << (proposal.cap - b) for b in proposal.b.tolist())


def test_a_proposal_by_every_integer():
    """Each candidate owns exactly 2**(cap - b) of the integers that are drawn."""
    proposal = selection._Proposal(F(1), np.array([0, -1, -2, -3, -3, 0]))
    step = 1 << (proposal.cap - int(proposal.b.max()))
    total = int(proposal.end[-1])
    drawn = [(i * step).to_bytes(8, "little") for i in range(total // step)]
    found = proposal.propose(len(drawn), Script(*drawn))
    assert np.bincount(found).tolist() == [
        (1 << (proposal.cap - b)) // step for b in proposal.b.tolist()
    ]
    beyond = proposal.propose(1, Script(total.to_bytes(8, "little")))
    assert beyond.size == 0
