"""Each metric against brute force: loops over cells, or the formula written out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin import Domain, DomainError, Marginal, Workload
from margin.metrics import (
    F1,
    L1,
    L2,
    NDCG,
    AbsoluteError,
    AskedError,
    Inside,
    IntervalScore,
    JensenShannon,
    LargestError,
    RelativeError,
    TotalVariation,
    Usefulness,
    jensen_shannon,
    ndcg,
)

METRICS = [
    L2(),
    L1(),
    AbsoluteError(),
    AskedError(),
    AskedError({"x0": "ranges", "x1": "prefixes"}),
    JensenShannon(),
    TotalVariation(),
    LargestError(),
    RelativeError(),
    Usefulness(),
    Inside(),
    IntervalScore(),
    NDCG(),
    F1(),
]
SHAPES = [(2, 3), (4,), (2, 2, 2)]


def marginal(counts):
    counts = np.asarray(counts, float)
    domain = Domain({f"x{place}": size for place, size in enumerate(counts.shape)})
    return Marginal(domain, counts, np.zeros(counts.shape))


@st.composite
def answered(draw):
    """Answers and truths of one run: three marginals of different shapes."""
    answers, truths = [], []
    for shape in SHAPES:
        cells = math.prod(shape)
        true = draw(st.lists(st.integers(0, 50), min_size=cells, max_size=cells))
        noise = draw(st.lists(st.integers(-20, 20), min_size=cells, max_size=cells))
        truths.append(marginal(np.reshape(true, shape)))
        answers.append(marginal(np.reshape(np.add(true, noise), shape)))
    return answers, truths


def cells_of(answers, truths):
    """For each view, the pairs (answer, truth) of its cells as plain floats, and N."""
    for answer, truth in zip(answers, truths, strict=True):
        true = [float(count) for count in truth.counts.ravel()]
        given_counts = [float(count) for count in answer.counts.ravel()]
        yield list(zip(given_counts, true, strict=True)), max(sum(true), 1.0)


@given(answered())
def test_errors_of_views_by_loops(run):
    l2, l1, absolute, relative, largest = [], [], [], [], []
    for cells, rows in cells_of(*run):
        l2.append(math.sqrt(sum((a - t) ** 2 for a, t in cells)) / rows)
        l1.append(sum(abs(a - t) for a, t in cells) / rows)
        absolute.append(sum(abs(a - t) for a, t in cells) / len(cells))
        relative.append(sum(abs(a - t) / max(t, 0.02 * rows) for a, t in cells) / len(cells))
        largest.append(max(abs(a - t) for a, t in cells) / rows)
    assert L2()(*run) == pytest.approx(l2)
    assert L1()(*run) == pytest.approx(l1)
    assert AbsoluteError()(*run) == pytest.approx(absolute)
    assert AskedError()(*run) == pytest.approx(absolute)
    assert RelativeError(sanity=0.02)(*run) == pytest.approx(relative)
    assert LargestError()(*run) == pytest.approx([max(largest)])
    for alpha in (0.1, 0.5, 2.0):
        useful = all(error <= alpha for error in largest)
        assert Usefulness(alpha=alpha)(*run) == [float(useful)]


@given(answered(), st.sampled_from([0.5, 0.95]), st.sampled_from([0.0, 4.0, 100.0]))
def test_intervals_by_loops(run, level, variance):
    answers, truths = run
    answers = [
        Marginal(answer.domain, answer.counts, np.full(answer.counts.shape, variance))
        for answer in answers
    ]
    shares, scores = [], []
    for answer, truth in zip(answers, truths, strict=True):
        low, high = answer.interval(level)
        held, score = 0, 0.0
        for place, t in np.ndenumerate(truth.counts):
            below, above = max(low[place] - t, 0.0), max(t - high[place], 0.0)
            held += below == above == 0
            score += high[place] - low[place] + 2 / (1 - level) * (below + above)
        shares.append(held / truth.counts.size)
        scores.append(score / truth.counts.size / max(truth.counts.sum(), 1.0))
    assert Inside(level)(answers, truths) == pytest.approx(shares)
    assert IntervalScore(level)(answers, truths) == pytest.approx(scores)


def test_the_score_of_intervals_is_best_for_those_of_the_right_width():
    rng = np.random.default_rng(3)
    truths = [marginal(np.full((100, 100), 1000.0))]
    counts = 1000.0 + rng.normal(0, 10, (100, 100))

    def scored(deviation):
        variance = np.full(counts.shape, deviation**2)
        return IntervalScore()([Marginal(truths[0].domain, counts, variance)], truths)

    assert scored(10.0) < min(scored(7.0), scored(14.0))


@pytest.mark.parametrize("metric", [Inside(), IntervalScore()], ids=lambda metric: metric.name)
def test_answers_without_intervals_have_no_share(metric):
    truths = [marginal(np.ones(shape)) for shape in SHAPES]
    unknown = [
        Marginal(truth.domain, truth.counts, np.full(truth.counts.shape, math.nan))
        for truth in truths
    ]
    assert np.isnan(metric(unknown, truths)).all()


@given(answered(), st.data(), st.sampled_from([Inside(), IntervalScore()]))
def test_intervals_are_measured_over_the_cells_that_have_one(run, data, metric):
    """As for tables of these cells alone, whatever the counts of the others are."""
    for answer, truth in zip(*run, strict=True):
        size = truth.counts.size
        known = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        variance = np.where(known, 4.0, math.nan).reshape(truth.counts.shape)
        (found,) = metric([Marginal(answer.domain, answer.counts, variance)], [truth])
        if not known.any():
            assert math.isnan(found)
            continue
        counts = answer.counts.ravel()[known]
        low, high = Marginal(
            Domain({"v": len(counts)}), counts, np.full(len(counts), 4.0)
        ).interval()
        true = truth.counts.ravel()[known]
        outside = np.maximum(low - true, 0) + np.maximum(true - high, 0)
        if isinstance(metric, Inside):
            assert found == pytest.approx((outside == 0).mean())
        else:
            rows = max(truth.counts.sum(), 1.0)
            assert found == pytest.approx((high - low + 40 * outside).mean() / rows)


@given(answered())
def test_total_variation_by_the_largest_difference_of_events(run):
    """TV(p, q) = max over sets S of cells of p(S) - q(S)."""
    for (cells, _), found in zip(cells_of(*run), TotalVariation()(*run), strict=True):
        left = [max(a, 0.0) for a, _ in cells]
        right = [t for _, t in cells]
        if sum(right) == 0 or sum(left) == 0:
            assert found == (0.0 if sum(right) == 0 else 1.0)
        else:
            gains = [a / sum(left) - t / sum(right) for a, t in zip(left, right, strict=True)]
            assert found == pytest.approx(sum(max(gain, 0.0) for gain in gains), abs=1e-12)


@given(answered())
def test_jensen_shannon_by_entropies(run):
    """JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2."""

    def entropy(shares):
        return -sum(share * math.log(share) for share in shares if share > 0)

    for (cells, _), found in zip(cells_of(*run), JensenShannon()(*run), strict=True):
        left = [max(a, 0.0) for a, _ in cells]
        right = [t for _, t in cells]
        if sum(right) == 0:
            assert found == 0.0
        elif sum(left) == 0:
            assert found == math.log(2)
        else:
            p = [count / sum(left) for count in left]
            q = [count / sum(right) for count in right]
            middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
            expected = entropy(middle) - (entropy(p) + entropy(q)) / 2
            assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("answer", "truth", "expected"),
    [
        ([1, 3], [2, 6], 0.0),
        ([5, 0], [0, 5], math.log(2)),
        ([-1, 4], [0, 4], 0.0),
        ([-1, -4], [1, 4], math.log(2)),
        (
            [1, 1],
            [1, 0],
            0.5 * math.log(1 / 0.75)
            + 0.5 * (0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)),
        ),
    ],
)
def test_jensen_shannon_by_hand(answer, truth, expected):
    found = jensen_shannon(np.array(answer, float), np.array(truth, float))
    assert found == pytest.approx(expected, abs=1e-12)


def itemsets(tables):
    """The itemsets by hand: six cells, four cells, and the last cell of the binary marginal."""
    first, second, third = (table.counts for table in tables)
    listed = [first[i, j] for i in range(2) for j in range(3)]
    listed += [second[i] for i in range(4)]
    return [*map(float, listed), float(third[1, 1, 1])]


@given(answered(), st.integers(1, 13))
def test_ranks_of_itemsets_by_loops(run, k):
    given_counts, true = itemsets(run[0]), itemsets(run[1])
    order = sorted(range(11), key=lambda place: -given_counts[place])[:k]

    def gain(counts):
        return sum(count / math.log2(place + 2) for place, count in enumerate(counts))

    best = gain(sorted(true, reverse=True)[:k])
    expected = gain([true[place] for place in order]) / best if best else 1.0
    assert NDCG(k)(*run) == pytest.approx([expected])
    # F1 from precision and recall, with the true set that shares most with what was found.
    least = sorted(true, reverse=True)[:k][-1]
    sure = {place for place in range(11) if true[place] > least}
    tied = [place for place in range(11) if true[place] == least]
    ties = sorted(tied, key=lambda place: place not in order)
    wanted = sure | set(ties[: min(k, 11) - len(sure)])
    both = len(wanted & set(order))
    precision, recall = both / len(order), both / len(wanted)
    expected = 2 * precision * recall / (precision + recall) if both else 0.0
    assert F1(k)(*run) == pytest.approx([expected])


def test_ndcg_is_largest_for_the_true_order():
    truth = np.array([5, 9, 1, 7])
    found = {order: ndcg(truth, np.array(order)) for order in itertools.permutations(range(4), 2)}
    assert max(found, key=found.get) == (1, 3) and found[1, 3] == 1.0
    assert found[3, 1] == pytest.approx((7 + 9 / math.log2(3)) / (9 + 7 / math.log2(3)))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_exact_answers_have_no_error(metric):
    rng = np.random.default_rng(3)
    truths = [marginal(rng.integers(0, 50, shape)) for shape in SHAPES]
    best = 1.0 if metric.larger_is_better else 0.0
    assert set(metric(truths, truths)) == {best}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_table_without_rows_is_no_division_by_zero(metric):
    truths = [marginal(np.zeros(shape)) for shape in SHAPES]
    answers = [marginal(np.ones(shape)) for shape in SHAPES]
    assert all(math.isfinite(number) for number in metric(answers, truths))


@pytest.mark.parametrize(
    "make",
    [
        lambda: RelativeError(sanity=0),
        lambda: Usefulness(alpha=-1),
        lambda: Inside(level=95),
        lambda: IntervalScore(level=0),
        lambda: NDCG(0),
        lambda: F1(2.5),
    ],
)
def test_parameters_out_of_range(make):
    with pytest.raises(DomainError):
        make()


PATHS = [["A", "a1"], ["A", "a2"], ["B", "b1"], ["B", "b2"], ["B", "b3"]]
ASKABLE = Domain(
    {
        "age": {"size": 4, "ordered": True},
        "place": {"levels": {"names": ["state", "county"], "paths": PATHS}, "ordered": True},
        "date": {"dates": {"from": "2025-01-01", "to": "2025-03-31", "by": "month"}},
    }
)


def sets_of(name, ask):
    """The sets of codes of all queries of an attribute."""
    size = ASKABLE[name].size
    if ask == "cells":
        return [[code] for code in range(size)]
    if ask == "prefixes":
        return [range(code + 1) for code in range(size)]
    if ask == "ranges":
        return [range(a, b) for a in range(size) for b in range(a + 1, size + 1)]
    groups = ASKABLE[name].levels.groups
    return [np.flatnonzero(group == node) for group in groups for node in range(max(group) + 1)]


ASKS = ("cells", "prefixes", "ranges", "levels")


@pytest.mark.parametrize("ages", ASKS[:3])
@pytest.mark.parametrize("places", ASKS)
@pytest.mark.parametrize("dates", ASKS)
@pytest.mark.parametrize("view", [["age"], ["place", "age"], ["date", "age", "place"]])
def test_the_error_of_what_is_asked_by_loops(view, ages, places, dates):
    asked = {"age": ages, "place": places, "date": dates}
    rng = np.random.default_rng(len(view))
    domain = ASKABLE.restrict(view)
    truth, noise = (rng.integers(-9, 30, domain.sizes).astype(float) for _ in range(2))
    queries = itertools.product(*(sets_of(name, asked[name]) for name in view))
    errors = [abs(noise[np.ix_(*map(list, query))].sum()) for query in queries]
    run = [[Marginal(domain, counts, np.zeros(domain.sizes))] for counts in (truth + noise, truth)]
    assert AskedError(asked)(*run) == pytest.approx([np.mean(errors)])
    bound = AskedError().of(Workload.of(ASKABLE, [view], asked=asked))
    assert bound(*run) == pytest.approx([np.mean(errors)])


def test_the_longest_ranges_are_not_written_out():
    """These are 2**23 ranges, and more than 2**26 sums if the other attribute asks ranges, too."""
    counts = np.zeros((4096, 200))
    counts[7, 3] = 1.0
    run = [marginal(counts)], [marginal(np.zeros(counts.shape))]
    first = 8 * (4096 - 7) / (4096 * 4097 / 2)
    assert AskedError({"x0": "ranges"})(*run) == pytest.approx([first / 200])
    with pytest.raises(
        DomainError, match=r"asked needs 82,349,700 sums of the table of \(x0, x1\)"
    ):
        AskedError({"x0": "ranges", "x1": "ranges"})(*run)


@pytest.mark.parametrize("asked", ["ranges", ["age"], {"age": "range"}, {"age": None}, 3])
def test_what_cannot_be_asked_is_refused(asked):
    with pytest.raises(DomainError, match="asked must be a mapping"):
        AskedError(asked)


def test_levels_are_asked_of_attributes_with_levels():
    table = [Marginal(ASKABLE.restrict(["age"]), np.zeros(4), np.zeros(4))]
    with pytest.raises(DomainError, match="levels can be asked of attributes with levels only"):
        AskedError({"age": "levels"})(table, table)
