"""No refusal tells how many rows there are: what does not fit into 64 bits is cut off, exactly, and
nothing wraps.

Tables of 2**40 rows are put in place of counted ones, or bounds are lowered, since nobody has so
many rows at hand.
"""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import ZCDP, Domain, PureDP, Strategy
from margin.data.baskets import Baskets, SetSource
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.noise.selection import ExponentialMechanism
from margin.privacy.rounds import Rounds
from margin.private import Keep, Largest, Private, item_counts, queries
from margin.private.counts import LARGEST_GAP, LARGEST_TRUE, cut_off, gaps, total
from margin.private.item_counts import LARGEST_LOSS, lost, scaled_gaps, truncated, walsh
from margin.queries import BitTable, Conjunctions, Parities

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
ITEMS = Domain({"item": {"size": 3}})
BUDGETS = [PureDP("0.001"), ZCDP("0.001")]


class Watched(Private):
    """Keeps what goes to the noise or to the choice."""

    def _answer(self, events, true, draw):
        self.true = [np.array(one) for one in true]
        return super()._answer(events, true, draw)


def gate(source, domain, budget=BUDGETS[0]):
    return Watched(source, domain=domain, budget=budget, entropy=SeededEntropy(1))


def clipped(number, most):
    return max(-most, min(most, number))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_are_cut_off_exactly(numbers):
    expected = [clipped(number, LARGEST_TRUE) for number in numbers]
    assert cut_off(np.array(numbers, np.int64)).tolist() == expected
    assert cut_off(np.array([5 * number for number in numbers], object)).tolist() == [
        clipped(5 * number, LARGEST_TRUE) for number in numbers
    ]


@given(st.lists(st.integers(0, 2**62)))
def test_sums_of_any_length_are_exact(numbers):
    assert total(np.array(numbers, np.int64)) == sum(numbers)


# Views.


def many(monkeypatch, times, offset=0):
    """Every row that is counted stands for `times` rows; `offset` more are in the first cell."""

    def counted(source, domain, views):
        tables = [table * times for table in right(source, domain, views)]
        for table in tables:
            table.flat[0] += offset
        return tables

    right = margin.private.gate.count
    monkeypatch.setattr("margin.private.gate.count", counted)


CODES = np.array(list(np.ndindex(2, 3, 2)) * 2)

MECHANISMS = [
    margin.Auto(),
    margin.Adaptive(),
    margin.MWEM(rounds=2),
    margin.mechanisms.Fourier(),
    margin.mechanisms.Uniform(),
    margin.Residual(order=2),
]


@pytest.mark.parametrize("rows", [2**32 - 25, 2**32, 2**36], ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: type(mechanism).__name__)
def test_no_mechanism_refuses_a_number_of_rows(monkeypatch, mechanism, rows):
    many(monkeypatch, rows // 24, rows % 24)
    private = Private(CodesSource(CODES), domain=DOMAIN, budget=ZCDP(1), entropy=SeededEntropy(1))
    synopsis = mechanism.run(private, margin.Workload.all_kway(DOMAIN, 2))
    assert synopsis.marginal(["a"]).counts.sum() == pytest.approx(rows, rel=0.01)


class ManyCells:
    """Cells that are said to be many more than are there."""

    def __init__(self, number):
        self.number = number

    def blocks(self):
        yield np.arange(40)[:, None], np.full(40, 10**6)

    def close(self):
        pass


@pytest.mark.parametrize("keep", [Keep(50, 50, False), Largest(60, 50)], ids=repr)
@pytest.mark.parametrize("number", [2**20 + 1, 2**33, 2**60])
def test_no_number_of_cells_that_hold_rows_is_refused(monkeypatch, keep, number):
    monkeypatch.setattr("margin.private.sparse.cells_in", lambda *_: ManyCells(number))
    domain = Domain({"a": 2**30, "b": 2**31 - 1})
    private = Private(
        CodesSource(np.zeros((1, 2), int)),
        domain=domain,
        budget=PureDP(1),
        entropy=SeededEntropy(1),
    )
    kept = private.sparse_cells(["a", "b"], keep=keep)
    assert len(kept.counts) == 40 and kept.counts.min() > 10**6 - 50


tables = st.lists(st.integers(0, 2**58), min_size=6, max_size=6)
numbers = st.sampled_from([0, 1, -1, 2**10, 2**15, -(2**15)])


@settings(max_examples=60)
@given(
    tables,
    st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=3),
    numbers,
    numbers,
)
def test_linear_answers_are_exact_or_cut_off(table, factor, one, other):
    strategy = Strategy(("a", "b"), [[[one, other]], factor])
    answers = strategy.answers(np.array(table, np.int64).reshape(2, 3))
    expected = [
        sum(
            first * number * table[3 * a + b]
            for a, first in enumerate((one, other))
            for b, number in enumerate(row)
        )
        for row in factor
    ]
    assert answers.ravel().tolist() == [clipped(number, LARGEST_TRUE) for number in expected]


@pytest.mark.parametrize("times", [2**32, 2**50])
def test_linear_answers_of_neighbours_stay_within_the_declared_distance(monkeypatch, times):
    many(monkeypatch, times)
    strategy = Strategy(("a", "b"), [[[2**15, -(2**15)]], [[2**15, 1, -3]]])
    seen = []
    for codes in (CODES, CODES[1:]):
        private = gate(CodesSource(codes), DOMAIN)
        private.measure_linear([strategy])
        seen.append(private.true[0].ravel().tolist())
    far = sum(abs(one - other) for one, other in zip(*seen, strict=True))
    assert far <= times * strategy.l1 and max(map(abs, itertools.chain(*seen))) <= LARGEST_TRUE


def test_noisy_counts_beyond_64_bits_do_not_wrap(monkeypatch):
    many(monkeypatch, 2**61)
    private = gate(CodesSource(np.zeros((1, 3), int)), DOMAIN)
    (measured,) = private.measure([["a"]])
    assert measured.counts[0] > 2.0**60


@pytest.mark.parametrize("times", [2**38, 2**45, 2**56])
def test_a_choice_of_views_never_refuses(monkeypatch, times):
    many(monkeypatch, times)
    private = gate(CodesSource(CODES), DOMAIN)
    public = [np.zeros(2), np.full(3, 2.0**37)]
    private.select([["a"], ["b"]], public, weights=[2**20, 1], penalties=[-(2**40), 2**40])
    assert abs(private.true[0]).max() <= 2**61


@pytest.mark.parametrize("times", [2**36, 2**45, 2**56])
@pytest.mark.parametrize("weights", [[2**20 - 1, 1], [0, 2**20]], ids=str)
def test_a_sum_of_distances_never_refuses(monkeypatch, times, weights):
    many(monkeypatch, times)
    private = gate(CodesSource(CODES), DOMAIN)
    private.total_distance([["a"], ["b"]], [np.zeros(2), np.zeros(3)], weights=weights)
    # Each of 24 rows counts once in each table.
    assert private.true[0].tolist() == [2**20 * min(LARGEST_GAP, 24 * times)]


@pytest.mark.parametrize("times", [1, 2**28, 2**36, 2**45, 2**56])
@pytest.mark.parametrize("offset", [0, 1, 2**30, 2**41, 2**59])
def test_a_dependence_never_refuses(monkeypatch, times, offset):
    """Independent attributes, but for some rows in one cell."""
    many(monkeypatch, times, offset)
    private = gate(CodesSource(CODES), DOMAIN)
    private.total_dependence([["a", "b"]] * 5)
    # Each of six cells holds four rows.
    rows, first, second = 24 * times + offset, [12 * times + offset, 12 * times], [8 * times] * 3
    second[0] += offset
    gaps = [
        4 * times + (offset if (x, y) == (0, 0) else 0) - F(first[x] * second[y], rows)
        for x, y in np.ndindex(2, 3)
    ]
    squared = 5 * sum(gap**2 for gap in gaps)
    (answer,) = private.true[0].tolist()
    if squared < LARGEST_GAP**2:
        assert answer**2 <= squared < (answer + 1) ** 2
    else:
        assert answer == LARGEST_GAP


@given(
    st.lists(st.integers(0, 2**50), min_size=4, max_size=4),
    st.lists(st.integers(0, 2**38), min_size=4, max_size=4),
)
def test_distances_are_exact_or_cut_off(table, public):
    (gap,) = gaps([np.array(table)], [np.array(public)])
    assert gap == min(
        LARGEST_GAP, sum(abs(one - other) for one, other in zip(table, public, strict=True))
    )


# Sets of items.


class Sets(SetSource):
    def __init__(self, baskets):
        self.held = baskets

    def baskets(self, domain):
        return self.held


def alike(sets, items=1):
    """Equal baskets: `sets` of them, each with the first `items` items."""
    return Baskets(np.full(sets, items), np.tile(np.arange(items), sets))


@pytest.mark.parametrize("rows", [1 << 22, (1 << 22) + 1])
def test_a_choice_of_a_factor_never_refuses(rows):
    private = gate(Sets(alike(rows)), ITEMS)
    private.select_scaled(None, [1], scales=[1, 2], penalties=[[0, 0]], grain=1 << 39)
    exact = [0, rows << 39]
    assert private.true[0].tolist() == [-min(number, LARGEST_LOSS) for number in exact]


def test_counts_in_small_units_do_not_wrap_around():
    """2**23 rows at 2**40 units a row are 2**63 units: one more than 64 bits hold."""
    rows, grain = 1 << 23, 1 << 40
    private = gate(Sets(alike(rows)), ITEMS)
    private.truncated_counts(most=1, grain=grain, spend="1/2")
    assert private.true[0].tolist() == [LARGEST_TRUE, 0, 0]
    private.walsh_counts(first=4, most=1, grain=grain)
    assert private.true[0].tolist() == [LARGEST_TRUE] * 4


sets_of_items = st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=8)


def baskets(sets):
    return Baskets(
        np.array([len(one) for one in sets], np.int64),
        np.array([*itertools.chain(*sets)], np.int64),
    )


def truth(sets, most, grain):
    counts = [0] * 5
    for one in sets:
        for item in one:
            counts[item] += grain if len(one) <= most else most * (grain // len(one))
    return counts


@settings(max_examples=100)
@given(sets_of_items, st.integers(1, 5), st.integers(1, 9), st.integers(9, 60))
def test_truncated_counts_are_exact_or_cut_off_block_by_block(sets, most, grain, largest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_counts, "LARGEST_TRUE", largest)
        counts = truncated(baskets(sets), 5, most, grain).tolist()
    assert counts == [min(number, largest) for number in truth(sets, most, grain)]


@settings(max_examples=50)
@given(sets_of_items, st.integers(1, 5), st.integers(1, 9), st.integers(9, 60))
def test_sums_of_groups_are_exact_or_cut_off_block_by_block(sets, most, grain, largest):
    groups = np.array([1, 0, 1, 1, 0])
    held = baskets(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_counts, "LARGEST_TRUE", largest)
        sums = truncated(Baskets(held.sizes, groups[held.items]), 2, most, grain).tolist()
    each = truth(sets, most, grain)
    expected = [each[1] + each[4], each[0] + each[2] + each[3]]
    assert sums == [min(number, largest) for number in expected]


@settings(max_examples=100)
@given(
    sets_of_items,
    st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True),
    st.integers(1, 40),
)
def test_gaps_are_the_same_in_integers_of_any_length(sets, grid, grain):
    grid = np.array(sorted(grid))
    arguments = baskets(sets), 5, grid, ([3, 7, 2], 2), 5, grain
    whole = truth(sets, 5, grain)
    expected = []
    for most in grid.tolist():
        counts = truth(sets, most, grain)
        expected.append(
            [sum(abs(a * t - 2 * u) for t, u in zip(counts, whole, strict=True)) for a in (3, 7, 2)]
        )
    assert scaled_gaps(*arguments).tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_counts, "_LARGEST_SUM", 1)
        patch.setattr(item_counts, "LARGEST_LOSS", 50)
        assert scaled_gaps(*arguments).tolist() == [
            [min(50, gap) for gap in row] for row in expected
        ]


@given(st.lists(st.integers(0, 2**61), min_size=1, max_size=9))
def test_walsh_coefficients_are_exact_or_cut_off(counts):
    size = 1 << (len(counts) - 1).bit_length()
    found = walsh(np.array(counts), size)
    signs = [
        [(-1) ** (row & column).bit_count() for column in range(len(counts))] for row in range(size)
    ]
    exact = [sum(s * c for s, c in zip(row, counts, strict=True)) for row in signs]
    assert sorted(found.tolist()) == sorted(clipped(number, LARGEST_TRUE) for number in exact)


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(1, 2**58)),
        max_size=4,
        unique_by=lambda one: one[0],
    ),
    st.lists(st.integers(1, 2**40), min_size=1, max_size=4),
)
def test_lost_items_are_exact_or_cut_off(sets, grid):
    """numpy's count of equal sets is put in place, since 2**58 sets cannot be."""
    sizes, many_sets = (
        np.array([one[place] for one in sorted(sets)], np.int64) for place in (0, 1)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_counts.np, "unique", lambda *_, **__: (sizes, many_sets))
        losses = lost(Baskets(sizes, sizes), np.array(grid)).tolist()
    most = max(grid)
    exact = [sum((max(0, c - one) - max(0, c - most)) * n for c, n in sets) for one in grid]
    assert losses == [min(LARGEST_LOSS, loss) for loss in exact]


def test_the_score_of_a_value_says_how_much_more_it_loses_than_the_largest():
    """All scores of `select_most` have the same number less, which no choice by exp(rate * score)
    depends on."""
    sets = baskets([[0, 1, 2, 3], [0], [1, 2], [0, 1, 2, 3, 4]])
    grid = np.array([4, 1, 2])
    lose = [
        sum(max(0, len(one) - most) for one in ([0] * 4, [0], [0] * 2, [0] * 5))
        for most in grid.tolist()
    ]
    assert lost(sets, grid).tolist() == [loss - lose[0] for loss in lose]
    rate = ExponentialMechanism(F(1, 3))
    for shift in (0, 10**6):
        drawn = rate.draw(-np.array(lose) - shift, 50, SeededEntropy(3)).tolist()
        assert drawn == rate.draw(-lost(sets, grid), 50, SeededEntropy(3)).tolist()


# Queries.


@pytest.mark.parametrize("rows", [2**40, 2**58, 2**60])
def test_queries_of_a_table_of_any_length_are_answered(monkeypatch, rows):
    asked = Conjunctions.cells(DOMAIN, [["a", "b"]])
    monkeypatch.setattr(queries, "counted", lambda *_: (np.arange(6) * (rows // 8), rows))
    private = gate(CodesSource(CODES), DOMAIN)
    private.query_errors(asked, np.full(6, 2**10), records=1000, size=10**6, spend="1/2")
    draws = private.sample_queries(
        asked, Rounds(step=F(1, 10**9), samples=(1, 1), size=10**6, records=1000)
    )
    for _ in range(2):
        draws.draw(np.full(6, 2**10))
        assert max(abs(int(end)) for end in (private.true[0].max(), private.true[0].min())) <= 2**61


@pytest.mark.parametrize("rows", [63, 64, 65, 200])
@pytest.mark.parametrize("words", [6, 11, 12, 40])
def test_rows_are_counted_in_pieces_where_memory_holds_no_more(monkeypatch, rows, words):
    rng = np.random.default_rng(rows)
    codes = np.column_stack([rng.integers(0, size, rows) for size in DOMAIN.sizes])
    asked = Conjunctions(
        DOMAIN, [[0, 1], [1, 2], [2, 0]], [[0, 2], [1, 0], [0, 0]], [[False, True]] * 3
    )
    expected = asked.counts(BitTable.of_codes(DOMAIN, codes)).tolist()
    source = CodesSource(codes)
    monkeypatch.setattr(queries, "MAX_WORDS", words)
    monkeypatch.setattr(queries, "_AT_ONCE", 2)
    pieces = list(BitTable.pieces(DOMAIN, asked.used, source.batches(DOMAIN), words=words))
    assert sum(piece.rows for piece in pieces) == rows and all(
        piece.words.size <= words for piece in pieces
    )
    counts, found = queries.counted(source, DOMAIN, asked)
    assert counts.tolist() == expected and found == rows


def test_a_source_with_bits_of_its_own_is_read_in_pieces_too(monkeypatch):
    domain = Domain(dict.fromkeys("abcd", 2))
    codes = np.random.default_rng(1).integers(0, 2, (300, 4))
    sparse = pytest.importorskip("scipy.sparse")
    source = margin.data.opening.open_source(sparse.csr_matrix(codes))
    asked = Parities(domain, [[0, 1], [2, 3]])
    whole = queries.counted(source, domain, asked)
    monkeypatch.setattr(queries, "MAX_WORDS", 8)
    pieces = queries.counted(source, domain, asked)
    assert (
        pieces[0].tolist()
        == whole[0].tolist()
        == asked.counts(BitTable.of_codes(domain, codes)).tolist()
    )
    assert pieces[1] == whole[1] == 300


def test_lines_that_no_piece_can_hold_are_refused_whatever_the_rows():
    for rows in (0, 1):
        with pytest.raises(margin.DomainError, match="ask about fewer"):
            next(
                BitTable.pieces(
                    DOMAIN, np.ones(3, bool), [dict.fromkeys("abc", np.zeros(rows, int))], words=4
                )
            )


def test_a_number_of_rows_of_any_size_is_counted():
    class Rows(CodesSource):
        rows = 2**61

        def bits(self, domain, used):
            raise AssertionError("not asked for")

    assert gate(Rows(CODES), DOMAIN).count_rows() > 2**60
