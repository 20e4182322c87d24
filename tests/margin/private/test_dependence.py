"""`Private.total_dependence`: the exact answer, the declared sensitivity, and what is refused."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_truth import FREE, KeptTruth

import margin
from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP
from margin._numbers import UNIT
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import Neighbours
from margin.private import dependence_bound
from margin.private.dependence import _times_rows_squared

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
CODES = np.array([[0, 0, 0], [0, 2, 1], [1, 1, 1], [1, 1, 0]])
PAIRS = [["a", "b"], ["c", "b"], ["a", "b"]]
# 30 rows of one kind and 30 of another: the norm of each pair is 30, half of the rows.
EQUAL = np.repeat([[0, 0, 0], [1, 1, 1]], 30, axis=0)


def gate(budget=FREE, codes=CODES, domain=DOMAIN, seed=1):
    codes = np.array(codes, np.int64).reshape(-1, len(domain))
    return KeptTruth(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(seed))


def refused(call, error=DomainError):
    """The message of a call that is refused before anything is counted or charged."""
    private = gate()
    with pytest.raises(error) as raised:
        call(private)
    assert not private._account.spent and not private.events and not hasattr(private, "true")
    assert not private._counted
    return str(raised.value)


def deviation(table):
    """t - r c' / n, cell by cell; nothing of an empty table."""
    table = [[int(number) for number in row] for row in table]
    rows = sum(map(sum, table))
    first, second = (
        [sum(row) for row in table],
        [sum(column) for column in zip(*table, strict=True)],
    )
    return [
        number - F(first[x] * second[y], max(1, rows))
        for x, row in enumerate(table)
        for y, number in enumerate(row)
    ]


def table_of(codes, pair, domain=DOMAIN):
    """The counts of a pair, by going through the rows."""
    places = [domain.attributes.index(name) for name in pair]
    table = np.zeros(domain.shape(pair), np.int64)
    for row in codes:
        table[tuple(row[place] for place in places)] += 1
    return table


def squared(codes, pairs, domain=DOMAIN):
    """The sum over pairs of the squared norm, as a fraction."""
    return sum(number**2 for pair in pairs for number in deviation(table_of(codes, pair, domain)))


def is_root(number, whole):
    """Whether `number` is the root of a fraction, rounded down."""
    return number >= 0 and number**2 <= whole < (number + 1) ** 2


# The answer.

KINDS = list(np.ndindex(2, 3, 2))
ANY_PAIRS = [list(pair) for pair in itertools.permutations("abc", 2)]


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from(KINDS), max_size=12),
    st.integers(1, 30),
    st.lists(st.sampled_from(ANY_PAIRS), min_size=1, max_size=7),
)
def test_the_true_answer_is_the_exact_root_rounded_down(kinds, times, pairs):
    codes = kinds * times
    private = gate(codes=codes)
    answer = private.total_dependence(pairs)
    assert type(answer) is int
    assert private.true == [[answer]]
    assert is_root(answer, squared(codes, pairs))


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6), st.integers(1, 40))
def test_a_pair_that_is_named_again_counts_again_in_either_order(counts, times):
    table = np.array(counts).reshape(2, 3)
    codes = [[x, y, 0] for x, y in np.ndindex(2, 3) for _ in range(table[x, y])]
    whole = sum(number**2 for number in deviation(table))
    for pairs in ([["a", "b"]] * times, [["b", "a"]] * times):
        assert is_root(gate(codes=codes).total_dependence(pairs), times * whole)


def scaled(table):
    """The squared norm of n t - r c', in integers of any length."""
    rows = int(table.astype(object).sum())
    return int(rows**2 * sum(number**2 for number in deviation(table)))


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: st.lists(
            st.lists(st.integers(0, 2**40), min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        )
    )
)
def test_the_squared_norm_is_exact_for_huge_counts(counts):
    table = np.array(counts, np.int64)
    assert _times_rows_squared(table) == scaled(table)


@pytest.mark.parametrize("rows", [2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**40, 2**60])
def test_nothing_wraps_around_where_the_integers_become_longer(rows):
    """The largest products: all rows in one cell, in a row of cells, or on a diagonal."""
    half = rows // 2
    for counts in (
        [[rows, 0], [0, 0]],
        [[half, rows - half], [0, 0]],
        [[half], [rows - half]],
        [[half, 0], [0, rows - half]],
        [[rows - 1, 0], [0, 1]],
        [[rows - 3, 1], [1, 1]],
        [[rows]],
    ):
        table = np.array(counts, np.int64)
        assert _times_rows_squared(table) == scaled(table)
        assert (table == counts).all()


def test_an_empty_table_and_one_row_give_zero():
    for codes in ([], *([kind] for kind in KINDS)):
        private = gate(codes=codes)
        assert private.total_dependence(PAIRS) == 0 and private.true == [[0]]


@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=2),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_independent_attributes_give_exactly_zero(first, second):
    """Every row of one attribute with every row of another, and a third one that is constant."""
    codes = [[x, y, 1] for x, y in np.ndindex(2, 3) for _ in range(first[x] * second[y])]
    private = gate(codes=codes)
    assert private.total_dependence([["a", "b"], ["b", "a"], ["c", "b"], ["a", "c"]]) == 0
    assert private.true == [[0]]


def test_equal_attributes_give_half_of_the_rows_times_the_root_of_the_number_of_pairs():
    for times, expected in ((1, 30), (4, 60), (9, 90), (2, math.isqrt(2 * 30**2))):
        assert gate(codes=EQUAL).total_dependence([["a", "c"]] * times) == expected


def test_rules_known_tables_and_declared_rows_change_nothing():
    plain = gate(codes=EQUAL).total_dependence(PAIRS)
    for domain in (
        Domain(DOMAIN, impossible=[{"a": 0, "b": 0}]),
        Domain(DOMAIN, rows=99),
        Domain(DOMAIN, known={("a",): [90, 9]}),
    ):
        assert gate(codes=EQUAL, domain=domain).total_dependence(PAIRS) == plain


# The sensitivity.


def test_the_bound_is_the_smallest_integer_that_is_large_enough():
    """It is compared by its square: no root is taken here."""
    numbers = [*range(1, 60), 10**3, 10**6 + 1, 2**31, 2**40 - 1, 10**20]
    for rows, pairs in itertools.product(numbers, numbers):
        bound = dependence_bound(rows, pairs)
        assert type(bound) is int
        assert (bound - 1) ** 2 < 4 * rows**2 * pairs <= bound**2


def test_the_bound_of_a_square_number_of_pairs_is_not_rounded():
    for rows, root in itertools.product((1, 2, 3, 7), (1, 2, 5, 10**9)):
        assert dependence_bound(rows, root**2) == 2 * rows * root


UNITS = [(neighbours, rows) for neighbours in Neighbours for rows in (1, 3)]
KINDS_OF_BUDGETS = [lambda **unit: PureDP(2, **unit), lambda **unit: ZCDP("0.3", **unit)]
KINDS_OF_BUDGETS += [lambda **unit: ApproxDP(1, "1e-6", **unit)]


@pytest.mark.parametrize("pairs", [PAIRS[:1], PAIRS, PAIRS * 7], ids=len)
@pytest.mark.parametrize("kind", KINDS_OF_BUDGETS, ids=["pure", "zcdp", "approx"])
@pytest.mark.parametrize(("neighbours", "rows"), UNITS)
def test_the_noise_is_that_of_the_bound(neighbours, rows, kind, pairs):
    budget = kind(neighbours=neighbours, rows_per_person=rows)
    private = gate(budget, EQUAL, seed=8)
    answer = private.total_dependence(pairs, spend="1/3")
    assert type(answer) is int
    (event,) = private.events
    differ = rows * (2 if neighbours is Neighbours.REPLACE_ROW else 1)
    moved = dependence_bound(differ, len(pairs))
    assert (event.l1, event.l2_squared) == (moved, moved**2)
    assert event.units == private._account.spent == budget.units // 3
    paid = event.units * UNIT
    laplace = DiscreteLaplace(moved / paid)
    gaussian = DiscreteGaussian(moved**2 / (2 * paid))
    assert event.sampler == (laplace if isinstance(budget, PureDP) else gaussian)
    # The one draw of this law from these random numbers is what was added.
    ((true,),) = private.true
    assert answer - true == event.sampler.sample(1, SeededEntropy(8))[0]


TABLES = [
    table
    for size in range(5)
    for table in itertools.combinations_with_replacement(list(np.ndindex(2, 2)), size)
]
SMALL = Domain({"a": 2, "b": 2})


@pytest.mark.parametrize("pairs", [1, 2, 12])
@pytest.mark.parametrize(
    ("neighbours", "rows"),
    [
        (Neighbours.ADD_REMOVE_ROW, 1),
        (Neighbours.ADD_REMOVE_ROW, 3),
        (Neighbours.REPLACE_ROW, 1),
        (Neighbours.REPLACE_ROW, 3),
    ],
)
def test_no_small_neighbours_are_further_apart_than_declared(neighbours, rows, pairs):
    """All pairs of tables of at most four rows."""
    budget = PureDP(1, neighbours=neighbours, rows_per_person=rows)
    answers = {}
    for table in TABLES:
        private = gate(budget, table, SMALL)
        private.total_dependence([["a", "b"]] * pairs)
        ((answers[table],),) = private.true
    declared = private.events[0].l1
    changes = [
        abs(answers[one] - answers[other])
        for one, other in itertools.combinations(TABLES, 2)
        if are_neighbours(one, other, neighbours, rows)
    ]
    assert 0 < max(changes) <= declared


def are_neighbours(one, other, neighbours, rows):
    """Whether two multisets of rows differ as is declared."""
    left, right = list(one), list(other)
    for row in one:
        if row in right:
            left.remove(row)
            right.remove(row)
    if neighbours is Neighbours.REPLACE_ROW:
        # The rows of a person may be replaced by fewer or more, a single row by one row.
        return len(left) == len(right) == 1 if rows == 1 else max(len(left), len(right)) <= rows
    return min(len(left), len(right)) == 0 and max(len(left), len(right)) <= rows


@given(
    st.lists(st.integers(0, 12), min_size=12, max_size=12).filter(any),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_a_row_changes_the_deviation_by_a_product_of_two_short_vectors(counts, x, y):
    table = np.array(counts).reshape(3, 4)
    rows, first, second = sum(counts), table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    more = table.copy()
    more[x, y] += 1
    # (e - r / n) and (f - c / n).
    u = [int(place == x) - F(number, rows) for place, number in enumerate(first)]
    v = [int(place == y) - F(number, rows) for place, number in enumerate(second)]
    change = [new - old for new, old in zip(deviation(more), deviation(table), strict=True)]
    assert change == [F(rows, rows + 1) * one * other for one in u for other in v]
    assert sum(one**2 for one in u) <= 2 and sum(one**2 for one in v) <= 2
    assert sum(number**2 for number in change) < 4


@pytest.mark.parametrize("times", [1, 3, 4, 100])
@pytest.mark.parametrize("rows", [1, 3])
def test_other_rows_among_many_equal_ones_nearly_attain_the_bound(rows, times):
    """m rows that differ in all attributes come to n rows: the answer is 2 m sqrt(p) n / (n + m),
    rounded down."""
    many = 3000
    budget = PureDP(1, rows_per_person=rows)
    equal, other = [[0, 0, 0]] * many, [[1, 2, 1]] * rows
    before, after = gate(budget, equal), gate(budget, equal + other)
    for private in (before, after):
        private.total_dependence([["a", "b"]] * times)
    assert before.true == [[0]]
    ((answer,),) = after.true
    assert is_root(answer, F(2 * rows * many, many + rows) ** 2 * times)
    (event,) = after.events
    # It is rounded down, and the bound is rounded up.
    assert event.l1 - 1 <= answer <= event.l1


# The noise.


def test_a_root_of_the_mean_over_many_pairs_has_the_noise_of_one():
    """A hundred pairs: the mean of 300 answers is within six standard errors."""
    answers = []
    for seed in range(300):
        private = gate(PureDP(1), EQUAL, seed=seed)
        answers.append(private.total_dependence([["a", "c"]] * 100) / 10)
    deviation_of_one = 2 * np.sqrt(2)  # of a sensitivity of 2
    assert abs(np.mean(answers) - 30) < 6 * deviation_of_one / np.sqrt(300)
    assert 0.5 < np.std(answers) / deviation_of_one < 2


def test_noise_may_make_the_answer_negative():
    """A true answer of 0 and 60 answers: false alarm below 2**-50."""
    answers = [
        gate(PureDP("0.1"), CODES[:1], seed=seed).total_dependence(PAIRS) for seed in range(60)
    ]
    assert min(answers) < 0 < max(answers)


# What is refused, and what is not.


@pytest.mark.parametrize(
    ("pairs", "lengths"),
    [
        ([["a"]], "[1]"),
        ([["a", "b", "c"]], "[3]"),
        ([["a", "b"], ["c"], ["b", "c", "a"], ["b"]], "[1, 3]"),
        ([["a", "b"], ["b", "c"], ["a", "b", "c"]], "[3]"),
    ],
    ids=str,
)
def test_views_of_other_lengths_are_refused(pairs, lengths):
    text = refused(lambda private: private.total_dependence(pairs))
    assert f"must be views of two attributes, but some have {lengths};" in text


def test_an_unknown_attribute_is_refused_with_a_suggestion():
    domain = Domain({"age": 2, "income": 3})
    private = gate(codes=[[0, 0]], domain=domain)
    with pytest.raises(DomainError, match=r"'incom'.*did you mean 'income'"):
        private.total_dependence([["age", "income"], ["age", "incom"]])
    assert not private._account.spent and not private._counted


@pytest.mark.parametrize("pairs", [[], [["a", "a"]], [[]], ["ab", ["a", "nobody"]]], ids=str)
def test_other_views_are_refused(pairs):
    refused(lambda private: private.total_dependence(pairs))


def test_no_pairs_are_refused():
    text = refused(lambda private: private.total_dependence(iter([])))
    assert "at least one view" in text


def test_more_than_is_left_is_refused():
    private = gate(PureDP(1))
    private.total_dependence(PAIRS, spend="2/3")
    with pytest.raises(BudgetError):
        private.total_dependence(PAIRS, spend="1/2")
    private.total_dependence(PAIRS)
    with pytest.raises(BudgetError, match="used up"):
        private.total_dependence(PAIRS)
    assert len(private.events) == 2 and private._account.spent == PureDP(1).units


def test_noise_that_cannot_be_drawn_is_refused():
    """The budget is too small for persons with a million rows each."""
    private = gate(PureDP("1e-12", rows_per_person=10**6))
    with pytest.raises(margin.MarginError, match="noise"):
        private.total_dependence(PAIRS)
    assert not private._account.spent and not private.events and not private._counted


def test_different_questions_have_different_events():
    """The same call twice has equal events; another pair, number of them or order has another."""
    asked = [PAIRS, PAIRS[:2], PAIRS[::-1], [["b", "a"], *PAIRS[1:]], [*PAIRS, PAIRS[1]]]
    private = gate()
    for pairs in [*asked, asked[0]]:
        private.total_dependence(pairs, spend="1/9")
    abouts = [event.about for event in private.events]
    assert {event.method for event in private.events} == {"total_dependence"}
    assert abouts[0] == abouts[-1] and abouts[0] == abouts[2]  # PAIRS read backwards are PAIRS
    assert len(set(abouts)) == 4
