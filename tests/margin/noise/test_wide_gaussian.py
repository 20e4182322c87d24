"""Many draws of a wide discrete Gaussian: every step has the exact probability that is stated.

The law of a draw is the product of two: the proposals, which are enumerated, and the acceptance,
which is compared with the exact probability on both sides of its border.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from margin.noise import DiscreteGaussian, SeededEntropy, laws, wide_gaussian
from margin.noise.magnitudes import weight_bounds
from margin.noise.wide_gaussian import LARGEST_SIGMA2, WideGaussian

ALARM = 5e-9
WIDTHS = [F(1000**2) + F(1, 3), F(10**8), F(6 * 10**11, 7), F(LARGEST_SIGMA2)]
wide = pytest.mark.parametrize("sigma2", WIDTHS, ids=str)


class Script:
    """A source that gives stated bytes, and fails if more are asked for."""

    private = False

    def __init__(self, *parts: bytes) -> None:
        self.left = b"".join(parts)

    def take(self, n: int) -> bytes:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n
        return taken


def exp(x: F) -> F:
    """exp(-x) with 70 digits."""
    with localcontext() as context:
        context.prec = 70
        return F((Decimal(-x.numerator) / Decimal(x.denominator)).exp())


def acceptance(table: WideGaussian, block: int, size: int) -> F:
    """The probability a = C / W(h) exp(-(m + s)**2 / (2 sigma2)) of the documentation."""
    return F(table._scale, table._slots[block]) * exp(size**2 / (2 * table.sigma2))


def word(table: WideGaussian, block: int, sign: int, place: int, v: int) -> bytes:
    slot = sum(table._slots[:block])
    shift = 64 - table._r
    return (slot | sign << 16 | place << 17 | v << shift).to_bytes(8, "little")


@wide
def test_weights_lie_between_their_bounds(sigma2):
    in_blocks = sigma2 / 4 ** WideGaussian(sigma2)._k
    low, high = weight_bounds(in_blocks, 200, 96)
    for x in range(0, 201, 20):
        true = exp(x**2 / (2 * in_blocks)) * 2**96
        assert low[x] <= true <= high[x] < low[x] + 2**24


def test_all_words_propose_every_integer_as_often_as_its_block_has_slots():
    """Enumeration of all slots, signs and places; V = 0 is always accepted."""
    table = WideGaussian(F(1001**2))
    assert (table._k, table._r) == (3, 44)
    assert sum(table._slots) == 2**16
    in_blocks = 2**16 - 1  # the last slot is the tail's
    prefixes = np.arange(2**20, dtype="<u8")
    prefixes = prefixes[prefixes % 2**16 < in_blocks]
    drawn = table._try(prefixes.size, Script(prefixes.tobytes()))
    end = table._blocks << table._k
    often = np.repeat(table._slots[:-1], 1 << table._k)
    assert (drawn.min(), drawn.max()) == (-end, end - 1)
    assert np.bincount(drawn[drawn >= 0]).tolist() == often.tolist()
    assert np.bincount(-1 - drawn[drawn < 0]).tolist() == often.tolist()


@wide
def test_a_proposal_is_accepted_up_to_the_exact_border(sigma2):
    table = WideGaussian(sigma2)
    last = (1 << table._k) - 1
    for block in {*range(0, table._blocks, 23), table._blocks - 1}:
        for sign, place in ((0, 0), (0, last), (1, 0), (1, last)):
            m = (block << table._k) + place
            a = acceptance(table, block, m + sign)
            assert a <= 1
            border = math.floor(a * 2**table._r)
            x = -1 - m if sign else m
            # Below the border, above it, and on it, where 64 more bits decide (their bounds are at
            # most 8 units apart).
            below = word(table, block, sign, place, border - 1)
            assert table._try(1, Script(below, bytes(8))).tolist() == [x]
            if border + 1 < 2**table._r:
                above = word(table, block, sign, place, border + 1)
                assert table._try(1, Script(above, bytes(8))).tolist() == []
            if border < 2**table._r:
                on = word(table, block, sign, place, border)
                more = math.floor(a * 2 ** (table._r + 64)) - (border << 64)
                for offset in (-8, 8):
                    digits = (more + offset).to_bytes(8, "big")
                    accepted = table._try(1, Script(on, digits)).size == 1
                    assert accepted == (offset < 0)


@wide
def test_what_is_certain_is_below_the_least_probability_of_the_block(sigma2):
    table = WideGaussian(sigma2)
    for block in range(0, table._blocks, 7):
        least = acceptance(table, block, (block + 1) << table._k)
        certain = int(table._certain[block])
        assert certain % 2 ** (64 - table._r) == 0
        assert F(certain, 2**64) <= least < F(certain, 2**64) + F(1, 2 ** (table._r - 1))


@wide
def test_the_tail_completes_the_law(sigma2):
    """Each piece is proposed with the probability that its acceptance assumes."""
    table = WideGaussian(sigma2)
    start = table._blocks << table._k
    piece = 1 << table._k + 5
    for j in range(40):
        for within in (0, piece - 1):
            place = (within << 64 - table._k - 5).to_bytes(8, "big")
            m, factor = table._tail(Script(b"\2" * j + b"\1" + place))
            assert m == start + j * piece + within
            # Slots (one) times probability times acceptance, as in a block.
            proposed = F(1, 2 ** (j + 1)) / piece
            assert factor * proposed == F(table._scale, 1 << table._k)
        assert factor * exp((start + j * piece) ** 2 / (2 * sigma2)) < F(1, 4)


def test_draws_of_the_tail_have_its_law():
    sigma2 = F(10**8, 3)
    table = WideGaussian(sigma2)
    entropy = SeededEntropy(71)
    count = 6000
    words = np.frombuffer(entropy.take(8 * count), "<u8") | np.uint64(2**16 - 1)

    class Tail:
        private = False
        first = True

        def take(self, n):
            first, self.first = self.first, False
            return words.tobytes() if first else entropy.take(n)

    drawn = table._try(count, Tail())
    sigma = math.sqrt(sigma2)
    start = table._blocks << table._k
    beyond = stats.norm.sf((np.where(drawn < 0, -1 - drawn, drawn) + 0.5) / sigma)
    shares = beyond / stats.norm.sf((start - 0.5) / sigma)
    assert drawn.size > 100
    assert (np.abs(drawn + 0.5) > start).all()
    assert stats.kstest(shares, "uniform").pvalue > ALARM
    assert stats.binomtest(int((drawn < 0).sum()), drawn.size).pvalue > ALARM


def test_a_draw_of_the_tail_is_clamped_after_its_decision(monkeypatch):
    """With a clamp that the tail reaches."""
    table = WideGaussian(F(1001**2))
    start = table._blocks << table._k
    monkeypatch.setattr(wide_gaussian, "LARGEST_DRAW", start + 3)
    for sign, x in ((0, start + 3), (1, -start - 3)):
        tail = word(table, table._blocks, sign, 0, 0)
        drawn = table._try(1, Script(tail, b"\1", bytes([9] * 8)))
        assert drawn.tolist() == [x]


@wide
def test_all_decisions_may_be_exact(sigma2, monkeypatch):
    """With every open trial declared unclear, integers accept what the floats accept."""
    plain = WideGaussian(sigma2).draw(5000, SeededEntropy(1))
    monkeypatch.setattr(wide_gaussian, "_MARGIN", 2.0)
    exact = WideGaussian(sigma2).draw(5000, SeededEntropy(1))
    assert exact.tolist() == plain.tolist()


@wide
def test_many_draws_have_the_law(sigma2):
    """Chi-square in 200 cells of equal probability, and in the last digits."""
    drawn = DiscreteGaussian(sigma2).sample(10**6, SeededEntropy(72))
    sigma = math.sqrt(sigma2)
    cuts = np.floor(sigma * stats.norm.ppf(np.arange(1, 200) / 200))
    law = np.diff(stats.norm.cdf((cuts + 0.5) / sigma), prepend=0, append=1)
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=200)
    assert stats.chisquare(observed, law * drawn.size).pvalue > ALARM
    digits = np.bincount(drawn % 16)
    assert stats.chisquare(digits).pvalue > ALARM


def test_what_a_batch_lacks_comes_from_fresh_proposals(monkeypatch):
    accepted = iter([np.arange(90), np.arange(90, 97), np.arange(97, 120)])
    tried = []

    def accept_some(self, trials, entropy):
        tried.append(trials)
        return next(accepted)

    monkeypatch.setattr(WideGaussian, "_try", accept_some)
    drawn = WideGaussian(F(1001**2)).draw(100, SeededEntropy(1))
    assert drawn.tolist() == list(range(100))
    # Each batch proposes at least what was missing.
    assert len(tried) == 3
    assert (np.array(tried) >= (100, 10, 3)).all()


@pytest.mark.parametrize(
    ("sigma2", "count", "from_blocks"),
    [
        (F(1000**2), 1 << 15, False),
        (F(1001**2), (1 << 15) - 1, False),
        (F(1001**2), 1 << 15, True),
        (F(LARGEST_SIGMA2), 1 << 15, True),
        (F(LARGEST_SIGMA2 + 1), 1 << 15, False),
    ],
)
def test_blocks_serve_many_wide_draws(sigma2, count, from_blocks, monkeypatch):
    used = []
    draw = WideGaussian.draw

    def watched(self, count, entropy):
        used.append(count)
        return draw(self, count, entropy)

    monkeypatch.setattr(laws.WideGaussian, "draw", watched)
    assert DiscreteGaussian(sigma2).sample(count, SeededEntropy(1)).size == count
    assert bool(used) == from_blocks


def test_many_draws_of_a_seed_never_change():
    drawn = DiscreteGaussian(F(10**8)).sample(1 << 15, SeededEntropy(2026))
    assert drawn[:8].tolist() == [1906, 1393, 6908, -22834, 8116, 10308, -13157, -6551]
    assert int(drawn.sum()) == -1556281
