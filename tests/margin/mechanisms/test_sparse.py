"""Summaries of sparse tables: the exact laws beneath them, what they answer, and what is refused.

Statistical comparisons have a chance of 1e-8 at most to fail a correct sampler for another seed;
there are about 40.
"""

import math
import os
from fractions import Fraction as F

import numpy as np
import pytest
from held import Scattered, held
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_axes import ordered_axes
from scipy import stats

import margin
from margin import ZCDP, DataError, Domain, DomainError, HighPass, MarginError, PureDP
from margin.data.opening import open_source
from margin.mechanisms import Dyadic, FilterPriority, Haar, PrioritySample, ThresholdSample
from margin.mechanisms.sparse.summaries import least_theta
from margin.noise import kept_cells as summaries
from margin.noise.binomial import binomial, cumulative
from margin.noise.entropy import SeededEntropy
from margin.noise.kept_cells import Entering, Keep, More
from margin.noise.laws import DiscreteLaplace
from margin.noise.uniform_integers import uniform, uniform_below
from margin.private import cell_counts, sparse_noise
from margin.private.sparse_noise import Largest, empty_cells, kept_cells, largest_cells
from margin.sparse.axes import Halves, Leaves, Pick, Tree, nested
from margin.sparse.grid import Grid, among, in_order, merged, ordered
from margin.testing import check_mechanism

RUNS = int(os.environ.get("MARGIN_SUMMARIES", 2000))
ALARM = 1e-8
KEEPS = [
    Keep(1, 1, False),
    Keep(4, 4, True),
    Keep(1, 7, True),
    Keep(3, 30, True),
    Keep(2, 9, False),
    Keep(1, 1 << 70, True),
]
SCALES = [F(1, 3), F(2), F(25)]


# The exact laws


@pytest.mark.parametrize("keep", KEEPS, ids=repr)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_law_of_what_enters_is_that_of_noise_then_rule(
    keep,
    scale,
):
    law, a = Entering(scale, keep), math.exp(-1 / scale)
    v = np.arange(1, 60 * math.ceil(scale) + 300)
    weight = (
        np.where(
            v >= keep.theta,
            np.minimum(1, v / keep.tau),
            0,
        )
        * a**v
        * (1 - a)
        / (1 + a)
    )
    assert float(law) == pytest.approx((1 + keep.two_sided) * weight.sum(), rel=1e-9)
    low, high = law(100)
    assert (
        low <= float(law) * 2**100 * (1 + 1e-12)
        and high >= float(law) * 2**100 * (1 - 1e-12)
        and high - low < 50
    )
    drawn = law.sample(60_000, SeededEntropy(3))
    if keep.two_sided:
        assert abs(int(np.sign(drawn).sum())) < 6 * math.sqrt(drawn.size)
    else:
        assert (drawn > 0).all()
    compare(np.abs(drawn), v, weight / weight.sum())


@pytest.mark.parametrize("theta", [1, 3, 6])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_law_of_what_is_added_when_tau_is_halved(theta, scale):
    keep, before = (
        Keep(
            theta,
            max(theta, 4),
            True,
        ),
        Keep(theta, 8, True),
    )
    law, a = More(scale, keep, before), math.exp(-1 / scale)
    v = np.arange(theta, 60 * math.ceil(scale) + 300)
    weight = (np.minimum(1, v / keep.tau) - np.minimum(1, v / before.tau)) * a**v
    p, q = float(Entering(scale, keep)), float(Entering(scale, before))
    assert law(80)[0] / 2**80 == pytest.approx((p - q) / (1 - q), rel=1e-9)
    compare(
        np.abs(law.with_priorities(40_000, SeededEntropy(4))[0]),
        v,
        weight / weight.sum(),
    )


@pytest.mark.parametrize(
    "keep",
    [
        Keep(
            1,
            1,
            True,
        ),
        Keep(2, 4, True),
        Keep(1, 9, False),
        Keep(3, 40, True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("clamp", [7, 12])
def test_what_enters_is_clamped_noise(keep, clamp, monkeypatch):
    """With a clamp that noise often reaches: the probability and the law are those of clamped noise
    and the rule."""
    monkeypatch.setattr(summaries, "LARGEST_SUM", clamp)
    scale = F(6)
    law, a = Entering(scale, keep), math.exp(-1 / 6)
    v = np.arange(1, clamp + 1)
    noise = a**v * np.where(v == clamp, 1, 1 - a) / (1 + a)
    weight = (
        np.where(
            v >= keep.theta,
            np.minimum(1, v / keep.tau),
            0,
        )
        * noise
    )
    assert float(F(law(100)[0], 1 << 100)) == pytest.approx(
        (1 + keep.two_sided) * weight.sum(),
        rel=1e-12,
    )
    compare(
        np.abs(law.sample(60_000, SeededEntropy(5))),
        v,
        weight / weight.sum(),
    )


def compare(drawn, values, probabilities):
    """Chi-square of draws against a law, values expected fewer than twenty times taken together."""
    expected = drawn.size * probabilities
    often = expected >= 20
    assert np.isin(drawn, values).all()
    counts = np.array([np.count_nonzero(drawn == value) for value in values[often]])
    rest = drawn.size - counts.sum(), drawn.size - expected[often].sum()
    chi = ((counts - expected[often]) ** 2 / expected[often]).sum()
    cells = often.sum()
    if rest[1] >= 20:
        chi, cells = chi + (rest[0] - rest[1]) ** 2 / rest[1], cells + 1
    assert cells < 2 or stats.chi2.sf(chi, cells - 1) > ALARM


def bounds(table):
    """The first k, and the bounds for it and all after."""
    places = range(len(table.lows))
    return (
        table.first,
        [table.low(place) for place in places],
        [table.high(place) for place in places],
    )


@pytest.mark.parametrize(
    ("trials", "scale", "theta"),
    [(1, 2, 1), (40, 9, 1), (300, 2, 3), (10**9, 1, 12)],
)
def test_binomial_bounds_hold_the_exact_probabilities(
    trials,
    scale,
    theta,
):
    law = Entering(F(scale), Keep(theta, theta, True))
    first, low, high = bounds(cumulative(trials, law, 64))
    exact = stats.binom.cdf(
        np.arange(first, first + len(low)),
        trials,
        float(law),
    )
    assert np.allclose(np.array(low) / 2.0**64, exact, atol=1e-10)
    assert all(0 <= b - a <= 4 for a, b in zip(low, high, strict=True))
    finer = bounds(cumulative(trials, law, 192))
    shift = first - finer[0]
    for place in range(0, len(low), max(1, len(low) // 50)):
        inner = finer[1][place + shift], finer[2][place + shift]
        assert low[place] << 128 <= inner[1] and inner[0] <= high[place] << 128


@pytest.mark.parametrize(("trials", "theta"), [(0, 1), (5, 1), (500, 2), (10**30, 60)])
def test_binomial_draws(trials, theta):
    law = Entering(F(1), Keep(theta, theta, True))
    entropy = SeededEntropy(trials % 97)
    drawn = np.array(
        [
            binomial(
                trials,
                law,
                entropy,
            )
            for _ in range(4000)
        ]
    )
    mean = trials * float(law)
    deviation = math.sqrt(mean * (1 - float(law)))
    assert abs(drawn.mean() - mean) <= 6 * deviation / math.sqrt(drawn.size)
    assert abs(drawn.var() - deviation**2) <= 6 * deviation**2 * math.sqrt(3 / drawn.size)


class Ties:
    """Bytes that leave a comparison with one number open for a while, and then others."""

    private = False

    def __init__(self, words):
        self.words, self.rest = list(words), SeededEntropy(1)

    def take(self, n):
        return self.words.pop(0).to_bytes(n, "big") if self.words else self.rest.take(n)


def test_a_binomial_draw_that_its_first_digits_leave_open_is_settled_by_more():
    law = Entering(F(2), Keep(2, 2, False))
    first, low, _ = bounds(cumulative(30, law, 64))
    shift, fine, _ = bounds(cumulative(30, law, 128))
    k = 7
    rest = fine[k - shift] & (1 << 64) - 1
    assert binomial(30, law, Ties([low[k - first], max(0, rest - 10**6)])) == k
    assert binomial(30, law, Ties([low[k - first], min((1 << 64) - 1, rest + 10**6)])) == k + 1


@pytest.mark.parametrize(
    "bound", [1, 2, 3, 5, 7, 11, 64, 1000, 5 << 59, 3 << 60, (1 << 61) + 1, 1 << 62]
)
def test_uniform_integers(bound):
    for drawn in (
        uniform(bound, 20_000, SeededEntropy(1)),
        uniform_below(np.full(20_000, bound), SeededEntropy(2)),
    ):
        assert drawn.min() >= 0 and drawn.max() < bound
        bins = min(bound, 16)
        if bound > 1:
            observed = np.bincount(
                np.minimum(drawn // max(1, bound // bins), bins),
                minlength=bins + 1,
            )
            width = max(1, bound // bins)
            expected = np.array(
                [min(width, max(0, bound - place * width)) / bound for place in range(bins)] + [0.0]
            )
            expected[-1] = 1 - expected[:-1].sum()
            used = expected > 1e-9
            assert (
                stats.chisquare(
                    observed[used],
                    drawn.size * expected[used] / expected[used].sum(),
                ).pvalue
                > ALARM
            )


# Axes, grids, locations


@settings(max_examples=60)
@given(st.integers(1, 40), st.data())
def test_sums_over_nodes_are_sums_over_codes(size, data):
    codes = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    counts = np.array(
        data.draw(
            st.lists(
                st.integers(0, 9),
                min_size=size,
                max_size=size,
            )
        )
    )
    pick = Pick.of(codes)
    assert pick.size == codes.size
    for axis in (Leaves(size), Tree(size), Halves(size)):
        nodes, values = Grid([axis]).spread(np.arange(size)[:, None], counts)
        everything = np.arange(axis.nodes)
        shares = axis.shares(pick, everything)
        assert shares[nodes[:, 0]] @ values == pytest.approx(counts[codes].sum())
        assert axis.noise(pick) == pytest.approx((shares**2).sum())
        assert sum(level.width for level in axis.levels) == axis.nodes
        if isinstance(axis, Tree):
            interval = Pick.interval(int(codes[0]), int(codes[-1]) + 1)
            chosen = axis.shares(interval, everything)
            assert all(chosen[v.offset : v.offset + v.width].sum() <= 2 for v in axis.levels)


@settings(max_examples=40)
@given(st.integers(1, 9), st.integers(1, 6), st.data())
def test_nested_nodes_have_all_their_ancestors(first, second, data):
    axes = (Tree(first), Tree(second))
    every = np.argwhere(np.ones([axis.nodes for axis in axes], bool))
    kept = np.array(
        data.draw(
            st.lists(
                st.booleans(),
                min_size=len(every),
                max_size=len(every),
            )
        ),
        bool,
    )
    codes = every[kept]
    present = {tuple(code) for code in codes.tolist()}

    def above(axis, node):
        chain = [node]
        while (parent := int(axis.parents(np.array([chain[-1]]))[0])) != chain[-1]:
            chain.append(parent)
        return chain

    expected = [
        all((a, b) in present for a in above(axes[0], i) for b in above(axes[1], j))
        for i, j in codes.tolist()
    ]
    assert nested(axes, codes).tolist() == expected


@settings(max_examples=50)
@given(
    st.lists(
        st.integers(1, 2**31 - 1),
        min_size=1,
        max_size=9,
    ),
    st.integers(0, 10**6),
)
def test_cells_are_packed_and_ordered(sizes, seed):
    grid = Grid([Leaves(size) for size in sizes])
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [
            rng.integers(
                0,
                min(size, 3),
                50,
            )
            * ((size - 1) // 2)
            for size in sizes
        ],
        axis=1,
    ) % np.array(sizes)
    words = grid.pack(list(codes.T))
    assert (grid.unpack(words) == codes).all()
    assert grid.cells == math.prod(sizes) and words.max(initial=0) < 1 << 62
    order = ordered(words)
    assert (codes[order] == codes[np.lexsort(codes.T[::-1])]).all()
    cells, sums = merged(words, np.ones(50, np.int64))
    distinct, times = np.unique(codes, axis=0, return_counts=True)
    assert (grid.unpack(cells) == distinct).all() and (sums == times).all()


@pytest.mark.parametrize(
    "held_as",
    [lambda cells: cells, Scattered],
    ids=["memory", "scattered"],
)
@pytest.mark.parametrize("number", [0, 1, 5, 8])
def test_empty_cells_are_a_uniform_choice(number, held_as):
    grid, taken = Grid([Leaves(5), Leaves(2)]), held_as(held([[2], [7]]))
    entropy, runs = SeededEntropy(1), 4000
    hits = np.zeros(10)
    for _ in range(runs):
        chosen = empty_cells(grid, taken, number, entropy)[:, 0]
        assert len(set(chosen.tolist())) == number and (np.diff(chosen) > 0).all()
        hits[chosen] += 1
    assert hits[[2, 7]].sum() == 0 and hits.sum() == runs * number
    share = number / 8
    assert (
        np.abs(np.delete(hits, [2, 7]) / runs - share) <= 6 * math.sqrt(share * (1 - share) / runs)
    ).all()


@pytest.mark.parametrize("keep", [Keep(40, 60, True), Largest(30, 40), Largest(9, 40)], ids=repr)
def test_kept_cells_of_several_words_are_in_the_order_of_all_words(keep):
    """Where words beyond the first are left out of the order, those with rows come first."""
    grid, entropy = Grid([Leaves(3), Leaves(1 << 61)]), SeededEntropy(4)
    true = held([[0, 7 << 58], [2, 5 << 40], [2, 7 << 58]], [900, 800, 1000])
    draw = kept_cells if isinstance(keep, Keep) else largest_cells
    kept = draw(grid, DiscreteLaplace(F(1)), true, keep, entropy)
    assert len(grid.radices) == 2 and len(kept.words) >= 8
    assert kept.words.tolist() == sorted(kept.words.tolist())


@pytest.mark.parametrize("tau", [1 << 60, 3 << 59, 1 << 61, 1 << 62, 1 << 63, 1 << 66, 1 << 124])
@pytest.mark.parametrize("value", [1 << 61, -(1 << 61), 3 << 58])
def test_large_counts_are_kept_with_their_probability(tau, value):
    """The share of n coins is within sqrt(L / (2 n)) of w(v) but with probability 2 exp(-L)
    (Hoeffding): L = 20, n = 4000."""
    kept = Keep(1, tau, True).chosen(np.full(4000, value), SeededEntropy(6))
    assert abs(kept.mean() - min(1, abs(value) / tau)) <= math.sqrt(20 / 8000)


@given(
    st.integers(1, 3),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
def test_cells_among_others_are_found(width, many, others, top, seed):
    rng = np.random.default_rng(seed)
    one, two = (
        in_order(
            rng.integers(
                0,
                top,
                (rows, width),
            )
        )
        for rows in (many, others)
    )
    known = set(map(tuple, two.tolist()))
    assert among(one, two).tolist() == [tuple(row) in known for row in one.tolist()]


@pytest.mark.parametrize(
    "held_as",
    [lambda cells: cells, Scattered],
    ids=["memory", "scattered"],
)
def test_empty_cells_of_several_words_are_distinct_and_free(held_as):
    """The first word has three values only, so that the second tells cells apart."""
    grid, entropy = Grid([Leaves(3), Leaves(1 << 61)]), SeededEntropy(3)
    assert len(grid.groups) == 2
    taken = held([[0, place] for place in range(6)])
    before = np.array([[2, 5]])
    chosen = empty_cells(
        grid,
        held_as(taken),
        500,
        entropy,
        before=before,
    )
    assert len(np.unique(chosen, axis=0)) == 500 and (in_order(chosen) == chosen).all()
    assert not among(chosen, taken.words).any() and not among(chosen, before).any()


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, 5])
def test_cells_are_chosen_among_few_that_are_free_and_were_not_chosen_before(
    few,
    monkeypatch,
):
    """Nearly all of a small table is taken, and little is tried at a time."""
    monkeypatch.setattr(sparse_noise, "_AT_ONCE", few)
    grid, entropy, runs = Grid([Leaves(40)]), SeededEntropy(2), 2000
    taken, before = [place for place in range(40) if place % 8 or place == 0], np.array([[8]])
    hits = np.zeros(40)
    for _ in range(runs):
        chosen = empty_cells(
            grid,
            Scattered(held(np.array(taken)[:, None])),
            2,
            entropy,
            before=before,
        )
        hits[chosen[:, 0]] += 1
    assert hits.sum() == 2 * runs and set(np.flatnonzero(hits)) == {16, 24, 32}
    assert (np.abs(hits[[16, 24, 32]] / runs - 2 / 3) <= 6 * math.sqrt(2 / 9 / runs)).all()


def test_the_engine_and_memory_count_alike_in_any_order(monkeypatch):
    rng = np.random.default_rng(1)
    codes = np.stack(
        [
            rng.integers(
                0,
                size,
                5000,
            )
            ** 2
            // size
            for size in (40, 10**9, 10**9, 7, 2**31 - 1)
        ],
        axis=1,
    )
    domain = Domain(
        dict(
            zip(
                "abcde",
                (40, 10**9, 10**9, 7, 2**31 - 1),
                strict=True,
            )
        )
    )
    codes = np.concatenate([codes, codes[:2000]])
    grid = Grid([Leaves(size) for size in domain.sizes])
    assert len(grid.groups) == 3

    def counted(rows):
        source = open_source(rows)
        return cell_counts.nonzero_cells(
            iter(source.batches(domain)),
            domain.attributes,
            grid,
        )

    here = counted(codes)
    monkeypatch.setattr(cell_counts, "_IN_MEMORY", 100)
    for rows in (codes, rng.permutation(codes)):
        there = counted(rows)
        assert (
            (here[0] == there[0]).all()
            and (here[1] == there[1]).all()
            and there[1].dtype == np.int64
        )
    codes[-1, 3] = 7
    with pytest.raises(DataError, match="'d'"):
        counted(codes)


# Summaries

MECHANISMS = [
    HighPass(theta=3),
    HighPass(target=5, two_sided=True),
    ThresholdSample(tau=4),
    ThresholdSample(target=10),
    PrioritySample(size=10),
    FilterPriority(size=5),
    Dyadic(HighPass(theta=4)),
    Dyadic(FilterPriority(size=9), attributes=["d"]),
    Dyadic(HighPass(target=5), published=True),
    Haar(PrioritySample(size=9), attributes=["b", "d"]),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_contract_of_mechanisms(mechanism):
    check_mechanism(
        mechanism,
        budgets=(PureDP(1), ZCDP("0.5", rows_per_person=2)),
        pairs=9,
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    return np.stack(
        [
            rng.integers(0, 12, 900) ** 2 // 12,
            rng.integers(
                0,
                9,
                900,
            ),
        ],
        axis=1,
    )


DOMAIN = Domain(
    {
        "x": {"size": 12, "ordered": True},
        "y": {"values": list("abcdefghi"), "ordered": True},
    }
)


def simulated(
    mechanism,
    rows,
    budget=PureDP(1),
    seed=1,
    domain=DOMAIN,
):
    return margin.simulate(
        rows,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        seed=seed,
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        m
        for m in MECHANISMS
        if getattr(
            m,
            "attributes",
            None,
        )
        is None
    ],
    ids=repr,
)
def test_no_output_depends_on_the_order_of_rows(mechanism, rows):
    first, second = (simulated(mechanism, table).synopsis for table in (rows, rows[::-1]))
    assert all((a == b).all() for a, b in zip(first.cells(), second.cells(), strict=True))


EVERYTHING = [
    ThresholdSample(tau=1),
    PrioritySample(size=108),
    HighPass(theta=1),
    Dyadic(HighPass(theta=1)),
    Dyadic(HighPass(theta=1), attributes=["x"]),
    Haar(HighPass(theta=1, two_sided=True)),
    Haar(HighPass(theta=1, two_sided=True), attributes=["y"]),
]


@pytest.mark.parametrize("mechanism", EVERYTHING, ids=repr)
def test_without_noise_every_answer_is_exact(mechanism, rows):
    """With so large a budget the noise is zero but with probability below 1e-100."""
    simulation = simulated(mechanism, rows, PureDP(5 * 10**3))
    synopsis, truth = simulation.synopsis, simulation.truth(["x", "y"]).counts
    assert synopsis.range(x=(2, 9)) == pytest.approx(truth[2:9].sum())
    assert synopsis.range({"x": (0, 12), "y": (3, 4)}) == pytest.approx(truth[:, 3].sum())
    assert synopsis.sum({"x": [0, 5, 6, 11], "y": ["a", "i"]}) == pytest.approx(
        truth[[0, 5, 6, 11]][:, [0, 8]].sum()
    )
    assert synopsis.point({"x": 3, "y": "d"}) == pytest.approx(truth[3, 3])
    assert synopsis.range(x=(4, 4)) == 0
    for view, expected in (
        (["x"], truth.sum(axis=1)),
        (["y", "x"], truth.T),
        (["y"], truth.sum(axis=0)),
    ):
        assert synopsis.marginal(view).counts == pytest.approx(expected)
    if not any(isinstance(axis, Halves) for axis in synopsis.axes):
        answer = synopsis.sum(lambda cells: (cells["x"] + cells["y"]) % 3 == 0)
        assert answer == truth[np.add.outer(np.arange(12), np.arange(9)) % 3 == 0].sum()
    else:
        with pytest.raises(DomainError, match="a function needs counts of cells"):
            synopsis.sum(lambda cells: cells["x"] > 1)


@pytest.mark.parametrize(
    "keep",
    [
        Keep(1, 9, True),
        Largest(25),
        pytest.param(Keep(1, 2, True), marks=pytest.mark.slow),
        pytest.param(Largest(60), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_subset_sums_are_unbiased_and_their_errors_are_as_stated(keep):
    """The mean of many summaries of one table, and the spread of their errors, which noise and
    sampling make up."""
    axes = (Leaves(80),)
    grid, noise, entropy = Grid(axes), DiscreteLaplace(F(2)), SeededEntropy(5)
    counts = np.zeros(80, np.int64)
    counts[[1, 5, 30, 31, 60]] = [1, 40, 7, 3, 12]
    places = np.flatnonzero(counts)
    true, truth = held(places[:, None], counts[places]), counts[:40].sum()
    sums, claimed = np.empty(RUNS), np.empty(RUNS)
    domain = Domain(ordered_axes(x=80))
    for run in range(RUNS):
        draw = largest_cells if isinstance(keep, Largest) else kept_cells
        kept = draw(grid, noise, true, keep, entropy)
        synopsis = margin.synopses.CellSynopsis(
            domain=domain,
            axes=axes,
            codes=kept.words,
            values=kept.counts,
            theta=keep.theta,
            tau=kept.cut if isinstance(keep, Largest) else float(keep.tau),
            two_sided=True,
            variance=noise.variance,
        )
        answer = synopsis.range(x=(0, 40))
        sums[run], claimed[run] = answer, answer.standard_error**2
    assert abs(sums.mean() - truth) < 4 * sums.std() / math.sqrt(RUNS)
    assert sums.var() == pytest.approx(claimed.mean(), rel=6 * math.sqrt(6 / RUNS))


def test_the_raw_estimate_is_the_sum_of_noisy_counts(rows):
    synopsis = simulated(PrioritySample(size=30), rows).synopsis
    codes, values, weights = synopsis.cells()
    answer = synopsis.sum(lambda cells: cells["x"] >= 3)
    assert (
        answer.raw == values[codes[:, 0] >= 3].sum() and answer == weights[codes[:, 0] >= 3].sum()
    )
    assert (np.abs(weights) >= np.abs(values)).all() and len(values) == 30


def test_the_target_sets_the_size():
    domain, empty = Domain(ordered_axes(x=10**6, y=10**6)), np.zeros((0, 2), int)
    for mechanism in (
        HighPass(target=1000),
        HighPass(target=1000, two_sided=True),
        FilterPriority(size=1000),
    ):
        kept = len(
            simulated(
                mechanism,
                empty,
                domain=domain,
            ).synopsis.values
        )
        assert 250 < kept <= 1000 + 6 * math.sqrt(1000)
    for mechanism in (
        ThresholdSample(target=1000, rows=1),
        ThresholdSample(target=1000),
        PrioritySample(size=1000),
    ):
        kept = len(
            simulated(
                mechanism,
                empty,
                domain=domain,
            ).synopsis.values
        )
        assert abs(kept - 1000) < 6 * math.sqrt(1000)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_summaries_are_saved_and_loaded(mechanism, tmp_path):
    domain = Domain(ordered_axes(a=2, b=3, c=2, d=4))
    synopsis = margin.release(
        np.zeros((30, 4), int),
        domain=domain,
        budget=PureDP(1),
        mechanism=mechanism,
    )
    synopsis.save(tmp_path / "out.margin")
    again = margin.load(tmp_path / "out.margin")
    assert all((a == b).all() for a, b in zip(synopsis.cells(), again.cells(), strict=True))
    assert (
        again.range(d=(1, 3)) == synopsis.range(d=(1, 3)) and again.summary() == synopsis.summary()
    )
    assert again.axes == synopsis.axes


# What is refused, and what must work


@pytest.mark.parametrize(
    "make",
    [
        lambda: HighPass(),
        lambda: HighPass(theta=0),
        lambda: HighPass(theta=1.5),
        lambda: HighPass(theta=3, target=3),
        lambda: HighPass(target=-1),
        lambda: ThresholdSample(tau=0),
        lambda: ThresholdSample(target=5, rows=-1),
        lambda: ThresholdSample(target=5, share=1),
        lambda: PrioritySample(size=0),
        lambda: FilterPriority(size=3, theta=0),
        lambda: Dyadic(PrioritySample(size=3), check=True),
        lambda: Dyadic(margin.PriView()),
        lambda: Haar(HighPass(theta=3)),
    ],
)
def test_bad_parameters_are_refused_where_they_are_given(make):
    with pytest.raises(MarginError):
        make()


@pytest.mark.parametrize(
    ("mechanism", "domain", "match"),
    [
        (HighPass(target=10**9), {"x": 10}, "must be at most 10, the number of cells"),
        (PrioritySample(size=11), {"x": 10}, "must be at most 10, the number of cells"),
        (FilterPriority(size=11), {"x": 10}, "must be at most 10, the number of cells"),
        (ThresholdSample(target=11), {"x": 10}, "must be at most 10, the number of cells"),
        (HighPass(theta=1), {f"x{place}": 10**9 for place in range(3)}, "raise theta"),
        (PrioritySample(size=10), {f"x{place}": 10**9 for place in range(9)}, "raise theta"),
        (
            HighPass(theta=10**9),
            {f"x{place}": 10**9 for place in range(40)},
            "leave attributes out",
        ),
        (
            Dyadic(HighPass(theta=10**9)),
            ordered_axes(**{f"x{place}": 2**20 for place in range(6)}),
            "trees for fewer",
        ),
        (Dyadic(HighPass(theta=9), attributes=["y"]), {"x": 10}, "unknown attribute"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_charge(
    mechanism,
    domain,
    match,
):
    class Book:
        def charge(self, budget):
            raise AssertionError("charged")

    with pytest.raises(MarginError, match=match):
        margin.release(
            np.zeros((5, len(domain)), int),
            domain=domain,
            budget=PureDP(1),
            mechanism=mechanism,
            ledger=Book(),
        )


@pytest.mark.parametrize(
    "data",
    [np.array([[10]]), np.array([[-1]]), np.array([[0.5]]), {"x": [0.5]}, {"x": [-3]}],
)
def test_cells_outside_the_domain_are_refused(data):
    with pytest.raises(DataError):
        margin.release(
            data,
            domain={"x": 10},
            budget=PureDP(1),
            mechanism=HighPass(theta=3),
        )


@pytest.mark.parametrize(
    "mechanism",
    [HighPass(theta=1), PrioritySample(size=4), Dyadic(FilterPriority(size=4))],
    ids=repr,
)
@pytest.mark.parametrize("sizes", [(1,), (1, 1), (6, 1)])
def test_an_empty_table_and_tiny_domains_work(mechanism, sizes):
    domain = Domain(ordered_axes(**{f"x{place}": size for place, size in enumerate(sizes)}))
    if math.prod(sizes) < 4 and not isinstance(mechanism, HighPass):
        return
    for count in (0, 1):
        synopsis = simulated(
            mechanism,
            np.zeros((count, len(sizes)), int),
            domain=domain,
        ).synopsis
        assert math.isfinite(synopsis.range(x0=(0, sizes[0])))


def test_bad_questions_are_refused(rows):
    synopsis = simulated(HighPass(theta=3), rows).synopsis
    for ask in (
        lambda: synopsis.range(x=(3, 2)),
        lambda: synopsis.range(x=(0, 13)),
        lambda: synopsis.range(z=(0, 1)),
        lambda: synopsis.sum({"x": []}),
        lambda: synopsis.sum({"x": [12]}),
        lambda: synopsis.sum({"y": "a"}),
        lambda: synopsis.sum(3),
        lambda: synopsis.sum(lambda cells: 1),
        lambda: synopsis.sum(lambda cells: cells["x"]),
        lambda: synopsis.point({"x": 1}),
        lambda: synopsis.marginal(["z"]),
    ):
        with pytest.raises(DomainError):
            ask()
    wide = simulated(
        HighPass(target=10),
        np.zeros((0, 2), int),
        domain=Domain(ordered_axes(x=10**6, y=10**6)),
    ).synopsis
    refused = r"at most 16,777,216 cells, but view x, y has .*; use range\(\) or sum\(\)"
    with pytest.raises(DomainError, match=refused):
        wide.marginal(["x", "y"])


def test_the_least_theta_is_the_least():
    noise = DiscreteLaplace(F(7, 2))
    for target in (1, 50, 10**4):
        theta = least_theta(10**6, noise, target, two_sided=True)
        expected = [
            10**6 * float(Entering(noise.scale, Keep(t, t, True)))
            for t in (theta, max(1, theta - 1))
        ]
        assert expected[0] <= target and (theta == 1 or expected[1] > target)


def test_memory_and_kept_cells_do_not_grow_with_the_domain():
    """A thousand rows among 10^6 to 10^30 cells: as many cells are kept, to within chance and a
    factor of e."""
    for power in (6, 12, 20, 30):
        size = round(10 ** (power / 5))
        codes = np.random.default_rng(1).integers(0, size, (1000, 5))
        domain = Domain({f"x{place}": size for place in range(5)})
        for mechanism in (PrioritySample(size=800), FilterPriority(size=800), HighPass(target=800)):
            synopsis = simulated(
                mechanism,
                codes,
                domain=domain,
            ).synopsis
            assert 200 < len(synopsis.values) < 1700 and synopsis.codes.max() < size


def test_the_check_makes_nodes_agree_and_lowers_errors():
    """Clustered counts: the same budget, target and ranges, with the check and without."""
    rng = np.random.default_rng(1)
    counts = np.zeros(4096, np.int64)
    counts[
        rng.integers(0, 4096, 3)[:, None]
        + rng.integers(
            -20,
            20,
            (3, 60),
        )
    ] = 100
    rows, totals = (
        np.repeat(np.arange(4096), counts)[:, None],
        np.concatenate([[0], np.cumsum(counts)]),
    )
    errors, kept = {}, {}
    for check in (False, True):
        mechanism = Dyadic(HighPass(target=100), check=check)
        found = [
            simulated(
                mechanism,
                rows,
                PureDP("0.3"),
                seed,
                Domain(ordered_axes(x=4096)),
            )
            for seed in range(4)
        ]
        some = [simulation.synopsis for simulation in found]
        ranges = [
            sorted(pair)
            for pair in rng.integers(
                0,
                4097,
                (100, 2),
            ).tolist()
        ]
        errors[check] = np.mean(
            [
                abs(one.range(x=(low, high)) - (totals[high] - totals[low]))
                for one in some
                for low, high in ranges
            ]
        )
        kept[check] = np.mean([len(one.codes) for one in some])
        assert all((one.agreed is not None) == check for one in some)
    assert errors[True] < 0.7 * errors[False] and kept[True] <= 1.2 * kept[False]


@pytest.mark.parametrize("seed", range(3))
def test_the_published_check_only_drops_nodes(seed):
    """The nodes that pass without a check, less those below a node that did not pass."""
    domain = Domain(ordered_axes(x=256))
    rows = np.random.default_rng(seed).integers(0, 40, 300)[:, None]
    plain, checked = (
        simulated(mechanism, rows, PureDP("0.5"), seed, domain).synopsis
        for mechanism in (
            Dyadic(HighPass(target=60), check=False),
            Dyadic(HighPass(target=60), published=True),
        )
    )
    assert checked.theta == plain.theta and checked.agreed is None
    passed, found = (
        dict(zip(synopsis.codes[:, 0].tolist(), synopsis.values.tolist(), strict=True))
        for synopsis in (plain, checked)
    )
    kept = {node: value for node, value in passed.items() if ancestors_of(node) <= set(passed)}
    assert found == kept and 0 < len(kept) < len(passed)


def ancestors_of(node):
    """The nodes above a node of a tree of 256 codes: level l has 256 / 2**l nodes, and the levels
    follow each other from the codes to the root."""
    above, offset, width = set(), 0, 256
    while node >= offset + width:
        offset, width = offset + width, width // 2
    place = node - offset
    while width > 1:
        offset, width, place = offset + width, width // 2, place // 2
        above.add(offset + place)
    return above


def test_the_published_check_of_filter_priority_keeps_the_threshold():
    domain = Domain(ordered_axes(x=256))
    rows = np.random.default_rng(4).integers(0, 40, 300)[:, None]
    theta = {
        published: simulated(
            Dyadic(FilterPriority(size=30), published=published), rows, PureDP("0.5"), 0, domain
        ).synopsis.theta
        for published in (False, True)
    }
    plain = simulated(Dyadic(FilterPriority(size=30), check=False), rows, PureDP("0.5"), 0, domain)
    assert theta[True] == plain.synopsis.theta > theta[False]


def test_agreeing_counts_have_at_most_the_stated_error():
    """All nodes pass: mean squares below what a chi-square law of the stated variance gives once in
    10^6."""
    rows = np.repeat(np.arange(16), np.arange(60, 76))[:, None]
    domain, runs = Domain(ordered_axes(x=16)), 100
    drawn = [
        simulated(Dyadic(HighPass(theta=1)), rows, PureDP(1), seed, domain).synopsis
        for seed in range(runs)
    ]
    for low, high in ((1, 7), (0, 16), (3, 4), (5, 15)):
        truth, own, raw = ((rows >= low) & (rows < high)).sum(), [], []
        for synopsis in drawn:
            answer = synopsis.range(x=(low, high))
            deviation = math.sqrt(synopsis.count({"x": range(low, high)}).noise_variance)
            own.append((answer - truth) / deviation)
            raw.append((answer.raw - truth) / deviation)
        assert np.square(own).mean() < stats.chi2.isf(1e-6, runs) / runs
        assert np.square(own).mean() < np.square(raw).mean()


def test_agreeing_counts_are_saved(tmp_path, rows):
    synopsis = simulated(Dyadic(HighPass(theta=1), attributes=["x"]), rows).synopsis
    synopsis.save(tmp_path / "tree.margin")
    loaded = margin.load(tmp_path / "tree.margin", allow_simulation=True).synopsis
    assert (loaded.agreed == synopsis.agreed).all() and loaded.range(x=(1, 7)) == synopsis.range(
        x=(1, 7)
    )


@pytest.mark.parametrize(
    "keep",
    [
        Keep(
            2,
            3,
            True,
        ),
        Largest(9),
        Largest(9, 2),
        Largest(9, 2, nested=True),
    ],
    ids=repr,
)
def test_a_table_without_rows_has_noise_all_the_same(keep):
    draw = kept_cells if isinstance(keep, Keep) else largest_cells
    for nobody in (held(np.empty((0, 1))), Scattered(held(np.empty((0, 1))))):
        kept = draw(
            Grid([Leaves(500)]),
            DiscreteLaplace(F(2)),
            nobody,
            keep,
            SeededEntropy(1),
        )
        assert len(kept.words) >= 9 and (kept.counts < 0).any() and (kept.counts > 0).any()


def test_cells_that_are_lost_after_the_charge_are_told():
    """A cluster that groups its rows, and breaks when its cells are streamed."""

    class Broken(Scattered):
        closed = False

        def blocks(self):
            yield from list(super().blocks())[:1]
            raise DataError("the cluster is gone")

        def close(self):
            Broken.closed = True

    class Cluster:
        def check(self, domain):
            pass

        def batches(self, domain):
            raise AssertionError("rows are moved")

        def cells(self, domain, view, leaves, nodes):
            return Broken(held([[place] for place in range(9)]))

    for mechanism in (HighPass(theta=3), PrioritySample(size=5)):
        with pytest.raises(
            DataError, match=r"already been charged.*The cause: the cluster is gone$"
        ):
            margin.release(
                Cluster(),
                domain={"x": 100},
                budget=PureDP(1),
                mechanism=mechanism,
            )
        assert Broken.closed
