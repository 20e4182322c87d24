"""The laws of the samplers: exact probabilities, moments, bits, and what a draw costs.

Seeds are fixed. Each of about 150 statistical comparisons would fail a correct sampler for one seed
in 2 * 10**8, so that a change of all seeds raises a false alarm with a probability below 1e-6.
"""

import ast
import math
import time
from fractions import Fraction as F
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from margin import noise
from margin.errors import MarginError
from margin.noise import laws, selection
from margin.noise.entropy import SeededEntropy, SystemEntropy
from margin.noise.geometric import Geometric, quotient, tail
from margin.noise.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Noise,
    discrete_gaussian,
    discrete_laplace,
    noisy_sum,
)
from margin.noise.selection import peel

ALARM = 5e-9
Z = stats.norm.isf(ALARM / 2)

SAMPLERS: list[Noise] = [
    DiscreteLaplace(F(1, 1000)),
    DiscreteLaplace(F(1, 5)),
    DiscreteLaplace(F(1)),
    DiscreteLaplace(F(10)),
    DiscreteLaplace(F(2500, 7)),
    DiscreteLaplace(F(10**6)),
    DiscreteLaplace(F(10**12)),
    DiscreteGaussian(F(1, 1000)),
    DiscreteGaussian(F(1, 10)),
    DiscreteGaussian(F(1)),
    DiscreteGaussian(F(100)),
    DiscreteGaussian(F(10**5, 3)),
    DiscreteGaussian(F(1000**2)),
    DiscreteGaussian(F(1000**2) + F(1, 3)),
    DiscreteGaussian(F(10**8)),
    DiscreteGaussian(F(10**24)),
]
WIDE = [sampler for sampler in SAMPLERS if sampler.variance > 10**5]
every = pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)


class Counting:
    """A seeded source that counts the bytes it gives."""

    private = False

    def __init__(self, seed: int) -> None:
        self.source = SeededEntropy(seed)
        self.taken = 0

    def take(self, n: int) -> bytes:
        self.taken += n
        return self.source.take(n)


def probability_up_to(sampler: Noise, x: np.ndarray) -> np.ndarray:
    """P(X <= x) in floats, for ascending integers x."""
    if isinstance(sampler, DiscreteLaplace):
        rate = float(1 / sampler.scale)
        below = np.exp(-rate * np.abs(np.where(x < 0, -x, x + 1).astype(float))) / (
            1 + math.exp(-rate)
        )
        return np.where(x < 0, below, 1 - below)
    sigma2 = float(sampler.sigma2)
    if (
        sigma2 > 400
    ):  # the error of the middle of a cell is below 1 / (20 sigma2) of its probability
        return stats.norm.cdf((x + 0.5) / math.sqrt(sigma2))
    support = np.arange(-300, 301)
    weights = np.exp(-(support.astype(float) ** 2) / (2 * sigma2))
    return np.interp(x, support, np.cumsum(weights) / weights.sum())


def edges(sampler: Noise) -> np.ndarray:
    """Up to 200 ascending integers that cut the support into cells of similar probability."""
    sigma = math.sqrt(sampler.variance)
    if sigma < 20:
        return np.arange(-math.ceil(4 * sigma) - 1, math.ceil(4 * sigma) + 2)
    quantiles = (
        stats.norm if isinstance(sampler, DiscreteGaussian) else stats.laplace(scale=math.sqrt(0.5))
    )
    return np.floor(sigma * quantiles.ppf(np.linspace(0.005, 0.995, 199))).astype(np.int64)


@cache
def million(sampler: Noise) -> np.ndarray:
    return sampler.sample(10**6, SeededEntropy(11))


def chi_square(observed: np.ndarray, probabilities: np.ndarray) -> float:
    """The p-value. Cells expected fewer than 20 times are taken together, with the largest if still
    fewer."""
    expected = observed.sum() * probabilities
    rare = expected < 20
    home = int(expected.argmax()) if expected[rare].sum() < 20 else int(rare.argmax())
    expected[home] += expected[rare].sum() - (expected[home] if rare[home] else 0)
    observed[home] += observed[rare].sum() - (observed[home] if rare[home] else 0)
    kept = ~rare
    kept[home] = True
    statistic = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    return float(stats.chi2.sf(statistic, kept.sum() - 1))


def p_value(claimed: Noise, *samples: np.ndarray) -> float:
    cuts = edges(claimed)
    observed = sum(np.bincount(np.searchsorted(cuts, x), minlength=cuts.size + 1) for x in samples)
    return chi_square(
        observed, np.diff(np.concatenate([[0.0], probability_up_to(claimed, cuts), [1.0]]))
    )


@pytest.mark.parametrize("sampler", [s for s in SAMPLERS if s.variance > 1e-3], ids=repr)
def test_the_law(sampler):
    assert p_value(sampler, million(sampler)) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    [DiscreteLaplace(F(10)), DiscreteGaussian(F(100)), DiscreteGaussian(F(10**8))],
    ids=repr,
)
def test_the_law_over_many_draws(sampler):
    source = SeededEntropy(12)
    assert p_value(sampler, *(sampler.sample(10**6, source) for _ in range(10))) > ALARM


@pytest.mark.parametrize(
    ("claimed", "actual"),
    [
        (DiscreteLaplace(F(10)), DiscreteLaplace(F("10.12"))),
        (DiscreteGaussian(F(100)), DiscreteGaussian(F("102"))),
        (DiscreteGaussian(F(10**8)), DiscreteGaussian(F("1.02e8"))),
    ],
    ids=repr,
)
def test_the_test_of_the_law_has_power(claimed, actual):
    """An error of one per cent in the scale is seen."""
    assert p_value(claimed, actual.sample(10**6, SeededEntropy(13))) < ALARM


@every
def test_moments(sampler):
    draws = million(sampler).astype(float)
    variance = sampler.variance
    if variance < 1e-3:
        assert not draws.any()
        return
    assert abs(draws.mean()) < Z * math.sqrt(variance / draws.size)
    kurtosis = (
        6 + 1 / variance
    )  # at least; 6 for a Laplace distribution, 1 / variance when almost all draws are zero
    assert abs((draws**2).mean() / variance - 1) < 1.3 * Z * math.sqrt(kurtosis / draws.size)


@every
def test_signs_are_fair_and_independent_of_magnitudes(sampler):
    draws = million(sampler)
    nonzero = draws[draws != 0]
    if not nonzero.size:
        return
    large = np.abs(nonzero) > np.median(np.abs(nonzero))
    for part in (nonzero, nonzero[large], nonzero[~large]):
        assert abs(int(np.sign(part).sum())) < Z * math.sqrt(part.size) + 1
    lagged = np.sign(nonzero[1:]) * np.sign(nonzero[:-1])
    assert abs(int(lagged.sum())) < Z * math.sqrt(lagged.size) + 1


@every
def test_no_draw_depends_on_another_at_any_distance(sampler):
    """Signs, and whether draws are large, at all distances in several blocks: a block, or some
    bytes, that are used twice are seen wherever they come again.

    A sum of n products in [-1, 1] of mean zero is within sqrt(2 n L) of zero but with probability
    2 exp(-L) (Hoeffding), L = 33; half a million sums and 32 tests make 2e-7 together.
    """
    draws = million(sampler)[: 4 * laws._BLOCK]
    large = np.abs(draws) > np.median(np.abs(draws))
    for name, values in (("signs", np.sign(draws)), ("sizes", large - large.mean())):
        spectrum = np.fft.rfft(values, 2 * draws.size)
        products = np.fft.irfft(np.abs(spectrum) ** 2)[1 : draws.size]
        assert np.abs(products).max() <= math.sqrt(2 * draws.size * 33) + 10, name


@pytest.mark.parametrize("sampler", WIDE, ids=repr)
def test_the_lowest_digits_are_uniform(sampler):
    observed = np.bincount(million(sampler) & 63, minlength=64)
    assert chi_square(observed, np.full(64, 1 / 64)) > ALARM


@pytest.mark.parametrize(
    ("sampler", "exact"),
    [
        (
            DiscreteLaplace(F(1)),
            [math.tanh(0.5), math.tanh(0.5) * math.exp(-1), math.tanh(0.5) * math.exp(-2)],
        ),
        (DiscreteLaplace(1 / F("0.693147180559945309")), [1 / 3, 1 / 6, 1 / 12]),
        (DiscreteGaussian(F(1)), [0.3989422762, 0.2419707204, 0.0539909675]),
        (DiscreteGaussian(F(1, 4)), [0.7865707070, 0.1064507694, 0.0002638651]),
    ],
    ids=repr,
)
def test_probabilities_of_small_numbers(sampler, exact):
    n = 2 * 10**6
    draws = sampler.sample(n, SeededEntropy(51))
    for x, p in enumerate(exact):
        for value in {x, -x}:
            assert abs(np.count_nonzero(draws == value) / n - p) < Z * math.sqrt(p / n) + 1e-8


@pytest.mark.parametrize(
    ("sampler", "variance"),
    [
        (DiscreteLaplace(F(1)), 1.8413471884155583),
        (DiscreteLaplace(F(10**12)), 2e24),
        (DiscreteLaplace(F(10**16)), 2e32),
        (DiscreteLaplace(F(1, 1000)), 0.0),
        (DiscreteLaplace(F(1, 100)), 2 * math.exp(-100)),
        (DiscreteLaplace(F(1, 10**30)), 0.0),
        (DiscreteGaussian(F(1)), 1 - 2.1123e-07),
        (DiscreteGaussian(F(1, 100)), 2 * math.exp(-50)),
        (DiscreteGaussian(F(1, 10**30)), 0.0),
        (DiscreteGaussian(F(10**24)), 1e24),
        (DiscreteGaussian(F(4)), 4.0),
        (DiscreteGaussian(F(399, 100)), 3.99),
    ],
    ids=repr,
)
def test_variance(sampler, variance):
    assert sampler.variance == pytest.approx(variance, rel=1e-10, abs=0)


@settings(max_examples=200, deadline=None)
@given(st.fractions(F(1, 1000), 10**12))
def test_variance_of_laplace_is_the_exact_formula(scale):
    """2 r / (1 - r)**2 = 1 / (2 sinh(1 / (2 scale))**2), and a series for a large scale: 2 scale**2
    - 1/6 + ..."""
    half = float(1 / (2 * scale))
    expected = (
        2 * float(scale) ** 2 - 1 / 6
        if half < 1e-3
        else (0.5 / math.sinh(half) ** 2 if half < 300 else None)
    )
    if expected is not None:
        assert DiscreteLaplace(scale).variance == pytest.approx(expected, rel=1e-12)


@every
def test_a_seed_determines_the_draws(sampler):
    first = sampler.sample(70_000, SeededEntropy(1))
    assert first.dtype == np.int64
    assert first.shape == (70_000,)
    assert np.array_equal(first, sampler.sample(70_000, SeededEntropy(1)))
    assert sampler.variance < 0.1 or not np.array_equal(
        first, sampler.sample(70_000, SeededEntropy(2))
    )


GOLDEN: list[tuple[Noise, list[int]]] = [
    (DiscreteLaplace(F(2, 3)), [1, 0, 0, 2, 0, 3, 0, -2]),
    (DiscreteLaplace(F(10)), [0, 4, -1, 6, 12, 11, -2, -10]),
    (
        DiscreteLaplace(F(10**12)),
        [
            35547726438,
            127350781060,
            -1999537642137,
            857509123446,
            232343296940,
            2152039346011,
            -292256701900,
            -4526937497178,
        ],
    ),
    (DiscreteGaussian(F(2, 3)), [0, 1, -1, 0, 0, 1, 0, -1]),
    (DiscreteGaussian(F(100)), [0, 12, -17, 0, 5, 11, -2, -16]),
    (DiscreteGaussian(F(10**5, 3)), [3, 213, -317, 7, 99, 206, -41, -288]),
    (DiscreteGaussian(F(10**8)), [484, 12126, -4583, 22928, 10404, 12767, -2790, -1279]),
    (
        DiscreteGaussian(F(10**24)),
        [
            634852540900,
            125312708446,
            1147931187600,
            266431621284,
            443146088927,
            -2215726516966,
            -902231792810,
            -345008035071,
        ],
    ),
]


@pytest.mark.parametrize(("sampler", "draws"), GOLDEN, ids=repr)
def test_the_draws_of_a_seed_never_change(sampler, draws):
    assert sampler.sample(len(draws), SeededEntropy(2026)).tolist() == draws


@pytest.mark.parametrize("sampler", SAMPLERS[:13], ids=repr)
@pytest.mark.parametrize("count", [1, 17, 40_000])
def test_the_bytes_a_draw_takes_do_not_depend_on_its_value(sampler, count):
    sources = [Counting(seed) for seed in range(300 if count < 100 else 5)]
    for source in sources:
        sampler.sample(count, source)
    assert len({source.taken for source in sources}) == 1


@every
@pytest.mark.parametrize("count", [0, 1, 5, np.int64(3)])
def test_any_number_of_draws(sampler, count):
    draws = sampler.sample(count, SystemEntropy())
    assert draws.shape == (count,)
    assert draws.flags.writeable


@every
@pytest.mark.parametrize("count", [-1, 1.0, True, None, "3"])
def test_other_counts_are_refused(sampler, count):
    with pytest.raises(MarginError, match=r"count \(.*\) must be a whole number"):
        sampler.sample(count, SeededEntropy(1))


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize(
    "value", [0, -1, F(-1, 2), 1.0, True, "1", None, np.float64(1), float("nan"), 10**31]
)
def test_other_parameters_are_refused(kind, value):
    with pytest.raises(MarginError, match=r"scale|sigma2"):
        kind(value)


@pytest.mark.parametrize(
    ("kind", "largest"), [(DiscreteLaplace, 10**16), (DiscreteGaussian, 10**30)]
)
def test_the_largest_and_the_smallest_parameters_work(kind, largest):
    wide = kind(F(largest)).sample(20_000, SeededEntropy(1))
    assert np.abs(wide).max() > math.sqrt(kind(F(largest)).variance)
    assert not kind(F(1, 10**400)).sample(100, SeededEntropy(1)).any()


def test_equal_parameters_make_equal_samplers():
    assert DiscreteLaplace(F(2)) == DiscreteLaplace(2)
    assert isinstance(DiscreteLaplace(2).scale, F)
    assert (
        len({DiscreteGaussian(F(1, 2)), DiscreteGaussian(F(2, 4)), DiscreteLaplace(F(1, 2))}) == 2
    )
    with pytest.raises(AttributeError):
        DiscreteLaplace(F(2)).scale = F(3)


@pytest.mark.parametrize(
    "sampler",
    [DiscreteLaplace(F(10)), DiscreteGaussian(F(100)), DiscreteGaussian(F(10**8))],
    ids=repr,
)
def test_a_source_that_gives_too_few_bytes_is_an_error(sampler):
    class Short(SeededEntropy):
        def take(self, n: int) -> bytes:
            return super().take(min(n, 8))

    with pytest.raises(ValueError, match="buffer"):
        sampler.sample(1000, Short(1))


SPEEDS = [
    (DiscreteLaplace(F(10)), 0.1),
    (DiscreteGaussian(F(100)), 0.12),
    (DiscreteGaussian(F(10**8)), 0.3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "seconds"), SPEEDS, ids=repr)
def test_speed(sampler, seconds):
    """A million draws, with a factor of four for a slow machine."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        sampler.sample(10**6, SystemEntropy())
        best = min(best, time.process_time() - start)
    assert best < 4 * seconds


ROOM = Path(noise.__file__).parent
DRAWING = [
    path for path in sorted(ROOM.glob("*.py")) if path.stem != "selection_loops"
]  # loops that draw nothing


@pytest.mark.parametrize(
    "path", [*DRAWING, ROOM.parent / "private" / "sparse_noise.py"], ids=lambda path: path.stem
)
def test_no_other_source_of_randomness_is_used(path):
    tree = ast.parse(path.read_text())
    imported, attributes = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {(node.module or "").split(".")[0]} if not node.level else set()
            assert "random" not in {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
    system = {"os", "hashlib"} if path.stem == "entropy" else set()
    arithmetic = {
        "bisect",
        "collections",
        "dataclasses",
        "decimal",
        "fractions",
        "functools",
        "itertools",
        "math",
        "numpy",
        "operator",
        "typing",
    }
    assert imported <= system | arithmetic
    assert not attributes & {"random", "default_rng", "seed", "environ", "getenv"}


# Sums


SMALL = st.integers(-9, 9)
EDGES = st.builds(
    lambda power, sign, by: sign * 2**power + by,
    st.integers(60, 62),
    st.sampled_from([-1, 1]),
    SMALL,
)
INT64 = st.one_of(st.integers(-(2**63), 2**63 - 1), EDGES, SMALL)


@settings(max_examples=500)
@given(INT64, st.one_of(st.integers(-(2**70), 2**70), EDGES, SMALL))
def test_a_clamped_sum_is_a_function_of_the_sum_with_unclamped_noise(count, ideal):
    """Whatever the ideal noise is, far beyond the samplers' clamp as well; for counts up to 2**61 -
    1."""
    largest = 2**61 - 1
    drawn = max(1 - 2**62, min(2**62 - 1, ideal))
    (found,) = noisy_sum(np.array([count]), np.array([drawn])).tolist()
    kept = max(-largest, min(largest, count))
    assert found == max(-(2**61), min(2**61, kept + ideal))


@given(INT64, INT64, st.integers(1 - 2**62, 2**62 - 1))
def test_clamps_bring_no_two_tables_further_apart(one, other, drawn):
    ours, theirs = noisy_sum(np.array([one, other]), np.array([drawn, drawn])).tolist()
    assert abs(ours - theirs) <= abs(one - other)


@pytest.mark.parametrize("clamp", [3, 8])
def test_a_gaussian_whose_proposals_are_clamped_has_the_clamped_law(clamp, monkeypatch):
    """With a clamp that is often reached: the rejection looks at the ideal proposal all the
    same."""
    draw = DiscreteLaplace.sample

    def clamped(self, count, entropy):
        return np.clip(draw(self, count, entropy), -clamp, clamp)

    monkeypatch.setattr(laws, "_CLAMP", clamp)
    monkeypatch.setattr(DiscreteLaplace, "sample", clamped)
    sampler = DiscreteGaussian(F(30))
    found = sampler._reject(15_000, SeededEntropy(61))
    support = np.arange(-200, 201)
    weights = np.exp(-(support.astype(float) ** 2) / 60)
    law = np.bincount(np.clip(support, -clamp, clamp) + clamp, weights / weights.sum())
    assert chi_square(np.bincount(found + clamp, minlength=2 * clamp + 1), law) > ALARM


def test_noise_without_a_bound_is_geometric():
    """Also where the lowest digits, which are drawn first, are few."""
    entropy = SeededEntropy(62)
    drawn = np.array([laws._geometric(F(3, 2), entropy) for _ in range(20_000)])
    ratio = math.exp(-2 / 3)
    law = (1 - ratio) * ratio ** np.arange(60.0)
    assert chi_square(np.bincount(drawn, minlength=60), law) > ALARM
    entropy = SeededEntropy(63)
    highs = np.array([laws._from_one_on(F(2), 1, entropy) for _ in range(20_000)])
    assert (
        chi_square(
            np.bincount(highs - 1, minlength=40), (1 - math.exp(-1)) * np.exp(-np.arange(40.0))
        )
        > ALARM
    )


def test_noise_is_clamped_wherever_it_is_added():
    """Whoever draws noise in the gate's folder hands it to `noisy_sum`, or continues what is
    clamped.
    """
    folder = ROOM.parent / "private"
    places = []
    for path in sorted(folder.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                called = [
                    ast.unparse(node.func)
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call)
                ]
                if any(name.endswith(".sample") and name != "law.sample" for name in called):
                    assert {"noisy_sum", "unclamped"} & set(called), function.name
                    places.append(function.name)
    assert sorted(places) == ["_above", "_add_noise", "_first_above", "_leading", "kept_cells"]


# By name


@pytest.mark.parametrize("written", [3, F(3), "3", "6/2", "3.0"])
def test_the_functions_draw_what_the_samplers_draw(written):
    laplace = discrete_laplace(written, 50, SeededEntropy(1))
    assert laplace.dtype == np.int64
    assert laplace.tolist() == DiscreteLaplace(F(3)).sample(50, SeededEntropy(1)).tolist()
    gaussian = discrete_gaussian(written, (5, 10), SeededEntropy(1))
    assert gaussian.shape == (5, 10) and gaussian.dtype == np.int64
    assert gaussian.ravel().tolist() == DiscreteGaussian(F(9)).sample(50, SeededEntropy(1)).tolist()


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
@pytest.mark.parametrize(
    "value", [0, -1, "0", "nan", "inf", "", 1.5, True, None, 10**17, "1e300", [1]], ids=repr
)
def test_bad_parameters_by_name(draw, value):
    with pytest.raises(MarginError):
        draw(value, 3, SeededEntropy(1))


@pytest.mark.parametrize("size", [-1, 1.0, (1, -1), (1, 2.0), None, "3"], ids=repr)
def test_bad_sizes_by_name(size):
    with pytest.raises(MarginError, match=r"size|count"):
        discrete_laplace(1, size, SeededEntropy(1))


# Choices


SCORES = [
    (F(1), [0]),
    (F(1), [0, 0, 0]),
    (F(1, 3), [0, -3, 5, 7, 7, -40, -1000]),
    (F(2, 7), list(range(100))),
    (F(1, 1000), [10**6 + 3 * i for i in range(1000)]),
    (F(2), [-(2**60), 2**60, 2**60 - 1]),
    (F(1, 10**15), [10**15, 0, 3 * 10**15, -(10**15)]),
]


@pytest.mark.parametrize("many", [1, 1 << 15], ids=["compiled", "numpy"])
@pytest.mark.parametrize(("rate", "scores"), SCORES)
def test_choices_are_proportional_to_the_exponential(rate, scores, many, monkeypatch):
    monkeypatch.setattr(selection, "_MANY", many)
    chosen = ExponentialMechanism(rate).draw(np.array(scores), 10**5, SeededEntropy(21))
    weights = np.array([math.exp(-float(rate * (max(scores) - score))) for score in scores])
    observed = np.bincount(chosen, minlength=len(scores))
    assert observed[weights < 1e-15].sum() == 0
    if (weights > 1e-15).sum() > 1:
        assert chi_square(observed, weights / weights.sum()) > ALARM


def test_an_error_of_two_per_cent_in_the_rate_is_seen():
    scores = np.arange(100)
    chosen = ExponentialMechanism(F("0.0714")).draw(scores, 10**6, SeededEntropy(22))
    weights = np.exp(-0.07 * (99.0 - scores))
    assert chi_square(np.bincount(chosen, minlength=100), weights / weights.sum()) < ALARM


def test_peeling_chooses_without_replacement_in_the_right_order():
    """Three candidates: the probability of each ordered pair is a product of two quotients."""
    mechanism = ExponentialMechanism(F(1))
    scores = np.array([0, 1, 2])
    source = SeededEntropy(23)
    pairs = [tuple(mechanism.draw_distinct(scores, 2, source).tolist()) for _ in range(10_000)]
    weights = [math.exp(score) for score in scores]
    orders = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = [
        weights[i] / sum(weights) * weights[j] / (sum(weights) - weights[i]) for i, j in orders
    ]
    assert set(pairs) <= set(orders)
    assert (
        chi_square(np.array([pairs.count(order) for order in orders]), np.array(expected)) > ALARM
    )
    assert sorted(peel([mechanism] * 3, scores, source).tolist()) == [0, 1, 2]
    with pytest.raises(
        MarginError, match="at most 3 different candidates can be chosen, but 4 are asked for"
    ):
        peel([mechanism] * 4, scores, source)


@pytest.mark.parametrize(
    "scores", [[], [1.0, 2.0], [[1, 2]], ["a"], [True], [2**62, 0], [-(2**62)], [np.nan]], ids=repr
)
def test_bad_scores_are_refused(scores):
    with pytest.raises(MarginError, match="scores"):
        ExponentialMechanism(F(1)).draw(np.array(scores), 1, SeededEntropy(1))


@pytest.mark.parametrize("rate", [0, -1, 0.5, "1", True, None, 10**17], ids=repr)
def test_bad_rates_are_refused(rate):
    with pytest.raises(MarginError, match="rate"):
        ExponentialMechanism(rate)


@settings(max_examples=60)
@given(
    st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=40),
    st.fractions(F(1, 2**60), 10),
    st.integers(0, 99),
)
def test_few_trials_are_needed_whatever_the_scores(scores, rate, seed):
    source = Counting(seed)
    ExponentialMechanism(rate).draw(np.array(scores), 100, source)
    assert source.taken < 100 * 16 * 40


# Geometric steps


@pytest.mark.parametrize("scale", [F(1, 5), F(1), F(10), F(2500, 7), F(10**9)])
def test_geometric(scale):
    drawn = Geometric(scale).sample(10**5, SeededEntropy(31))
    ratio = math.exp(-float(1 / scale))
    mean, deviation = ratio / (1 - ratio), math.sqrt(ratio) / (1 - ratio)
    assert drawn.min() >= 0
    assert abs(drawn.mean() - mean) < Z * deviation / math.sqrt(10**5)
    cuts = np.unique(np.floor(np.linspace(0.0, 3.0, 40) * (mean + 1)).astype(np.int64))
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=cuts.size + 1)
    below = -np.expm1(-(cuts + 1.0) / float(scale))
    assert chi_square(observed, np.diff(np.concatenate([[0.0], below, [1.0]]))) > ALARM


@pytest.mark.parametrize(
    ("scale", "threshold"), [(F(10), 1), (F(10), 60), (F(1, 3), 2), (F(10**6), 10**7)]
)
def test_the_probability_of_the_tail(scale, threshold):
    ratio = math.exp(-float(1 / scale))
    expected = math.exp(-float(threshold / scale)) / (1 + ratio)
    low, high = tail(scale, threshold)(100)
    assert high - low <= 4
    assert low / 2**100 == pytest.approx(expected, rel=1e-9)
    rate = 2 * F(high, 2**100)
    low, high = quotient(tail(scale, threshold), rate)(80)
    assert high - low <= 4
    assert low / 2**80 == pytest.approx(expected / -math.expm1(-float(rate)), rel=1e-9)


# A second opinion


@pytest.mark.parametrize("sampler", [DiscreteLaplace(F(5)), DiscreteGaussian(F(25))], ids=repr)
def test_opendp_draws_from_the_same_law(sampler):
    dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed (extra: oracles)")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(sampler, DiscreteLaplace):
        draw = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), 5.0)
    else:
        draw = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), 5.0)
    assert p_value(sampler, np.array(draw([0] * 20_000))) > ALARM
