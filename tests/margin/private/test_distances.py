"""`Private.total_distance`: the declared sensitivity, the exact sum, and what is refused."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_truth import FREE, KeptTruth

import margin
from margin import ZCDP, ApproxDP, Domain, DomainError, Marginal, PureDP
from margin._numbers import UNIT
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import Neighbours
from margin.private.counts import LARGEST_WEIGHT, view_weights

DOMAIN = Domain({"a": 2, "b": 3})
CODES = np.array([[0, 0], [0, 2], [1, 1], [1, 1]])


def gate(budget=FREE, codes=CODES, domain=DOMAIN, seed=1):
    return KeptTruth(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(seed))


def refused(call, private=None):
    """Whether a call is refused before anything is counted or charged; the message."""
    private = private or gate()
    with pytest.raises(margin.MarginError) as raised:
        call(private)
    assert not private._account.spent and not private.events and not hasattr(private, "true")
    assert not private._counted
    return str(raised.value)


# Neighbours: one kind of budget, relation and number of rows a person after another.

UNITS = [(neighbours, rows) for neighbours in Neighbours for rows in (1, 3)]
KINDS = [lambda **unit: PureDP(2, **unit), lambda **unit: ZCDP("0.3", **unit)]
KINDS += [lambda **unit: ApproxDP(1, "1e-6", **unit)]
WEIGHTS = [None, [1, 0], [3, 5], [LARGEST_WEIGHT - 1, 1]]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=["pure", "zcdp", "approx"])
@pytest.mark.parametrize(("neighbours", "rows"), UNITS)
def test_the_noise_is_that_of_the_sum_of_the_weights(neighbours, rows, kind, weights):
    budget = kind(neighbours=neighbours, rows_per_person=rows)
    private = gate(budget)
    answer = private.total_distance(
        [["a"], ["b"]], [[0, 0], [1, 1, 1]], weights=weights, spend="1/3"
    )
    assert type(answer) is int
    (event,) = private.events
    differ = rows * (2 if neighbours is Neighbours.REPLACE_ROW else 1)
    moved = differ * sum(weights or [1, 1])
    assert (event.l1, event.l2_squared) == (moved, moved**2)
    assert event.units == private._account.spent == budget.units // 3
    paid = event.units * UNIT
    laplace = DiscreteLaplace(moved / paid)
    gaussian = DiscreteGaussian(moved**2 / (2 * paid))
    assert event.sampler == (laplace if isinstance(budget, PureDP) else gaussian)


@pytest.mark.parametrize(
    ("neighbours", "rows"),
    [(Neighbours.ADD_REMOVE_ROW, 1), (Neighbours.REPLACE_ROW, 1), (Neighbours.ADD_REMOVE_ROW, 2)],
)
@pytest.mark.parametrize("weights", [[1, 1, 1], [2, 0, 3]], ids=str)
def test_the_largest_change_between_all_small_neighbours_is_the_declared_one(
    neighbours, rows, weights
):
    """All pairs of tables of at most four rows."""
    domain = Domain({"a": 2, "b": 2})
    kinds = list(np.ndindex(2, 2))
    tables = [
        table for size in range(5) for table in itertools.combinations_with_replacement(kinds, size)
    ]
    views = [["a"], ["b", "a"], ["a"]]
    public = [[3, 0], [[1, -1], [2, 0]], [2, -1]]
    budget = PureDP(1, neighbours=neighbours, rows_per_person=rows)
    sums = {}
    for table in tables:
        private = gate(budget, np.array(table, int).reshape(-1, 2), domain)
        private.total_distance(views, public, weights=weights)
        ((sums[table],),) = private.true
    declared = private.events[0].l1
    changes = [
        abs(sums[one] - sums[other])
        for one, other in itertools.combinations(tables, 2)
        if are_neighbours(one, other, neighbours, rows)
    ]
    assert max(changes) == declared


def are_neighbours(one, other, neighbours, rows):
    """Whether two multisets of rows differ as is declared."""
    left, right = list(one), list(other)
    for row in one:
        if row in right:
            left.remove(row)
            right.remove(row)
    if neighbours is Neighbours.REPLACE_ROW:
        return len(left) == len(right) == 1
    return min(len(left), len(right)) == 0 and max(len(left), len(right)) <= rows


# The sum.


@settings(max_examples=60)
@given(
    st.lists(st.integers(-(2**36), 2**36), min_size=9, max_size=9),
    st.lists(st.integers(0, 2**18), min_size=3, max_size=3).filter(any),
)
def test_the_true_sum_is_exact_in_integers_of_any_length(numbers, weights):
    private = gate()
    public = [numbers[:2], np.array(numbers[2:5], np.float64), np.array(numbers[5:7])]
    views = [["a"], ["b"], ["a"]]
    answer = private.total_distance(views, public, weights=weights)
    tables = [[2, 2], [1, 2, 1], [2, 2]]
    exact = 0
    for weight, table, answers in zip(weights, tables, public, strict=True):
        exact += weight * sum(abs(n - int(p)) for n, p in zip(table, answers, strict=True))
    assert private.true == [[exact]] and answer == exact


def test_a_mean_of_many_distances_has_the_noise_of_one():
    """Forty views, each far from its public answer: the mean of 300 answers is within six standard
    errors."""
    answers = []
    for seed in range(300):
        private = gate(PureDP(1), seed=seed)
        answers.append(private.total_distance([["a"]] * 40, [[100, 100]] * 40) / 40)
    deviation = np.sqrt(2)
    assert abs(np.mean(answers) - 196) < 6 * deviation / np.sqrt(300)
    assert 0.5 < np.std(answers) / deviation < 2


def test_noise_may_make_a_distance_negative():
    """A distance of 0 and 60 answers: false alarm below 2**-50."""
    answers = [
        gate(PureDP("0.1"), seed=seed).total_distance([["a"]], [[2, 2]]) for seed in range(60)
    ]
    assert min(answers) < 0 < max(answers)


def test_rules_known_tables_and_empty_tables_change_nothing():
    plain = gate(codes=CODES[:0]).total_distance([["b", "a"]], [np.full((3, 2), 2)])
    assert plain == 12
    for domain in (
        Domain(DOMAIN, impossible=[{"a": 0, "b": 0}]),
        Domain(DOMAIN, rows=99),
        Domain(DOMAIN, known={("a",): [90, 9]}),
    ):
        private = gate(domain=domain)
        # The row in the impossible cell counts as any other.
        assert private.total_distance([["b", "a"], ["a"]], [np.zeros((3, 2)), [0, 0]]) == 8


# What is refused, and what is not.


@pytest.mark.parametrize(
    "weights",
    [
        np.array([2, 3], np.int8),
        np.array([2, 3], np.uint64),
        np.array([2.0, 3.0], np.float16),
        (np.int32(2), np.float64(3)),
        [np.array(2), np.array(3)],
        np.ma.masked_array([2, 3], mask=[True, False]),
    ],
    ids=repr,
)
def test_whole_weights_of_any_type_are_taken_as_they_are(weights):
    private = gate()
    assert private.total_distance([["a"], ["a"]], [[0, 0], [2, 3]], weights=weights) == 2 * 4 + 3
    assert private.events[0].l1 == 5


@pytest.mark.parametrize(
    "weights",
    [
        [2.5, 1],
        [0.4, 0.4],
        [-1, 2],
        [0, 0],
        [1],
        [1, 1, 1],
        [[1, 1]],
        [[1], [1, 2]],
        3,
        [True, False],
        [float("nan"), 1],
        [float("inf"), 1],
        ["1", "2"],
        [F(1), F(2)],
        [1 + 0j, 1],
        [None, 1],
        [LARGEST_WEIGHT, 1],
        [2**40, 2**40],
        [-(2**63), 1],
        np.array([2**63, 2**63], np.uint64),
        [2**64 - 1, 2],
        [],
    ],
    ids=str,
)
def test_other_weights_are_refused(weights):
    text = refused(lambda each: each.total_distance([["a"]] * 2, [[0, 0]] * 2, weights=weights))
    assert "weights" in text


@pytest.mark.parametrize(
    "public",
    [
        [],
        [[0, 0]],
        [[0, 0], [0, 0, 0]],
        [[0, 0], [[0, 0, 0, 0]]],
        [[[0], [0, 0]], [0, 0, 0, 0]],
        [[0, float("nan")], [0, 0, 0, 0]],
        [[0, float("-inf")], [0, 0, 0, 0]],
        [[False, True], [0, 0, 0, 0]],
        [[0, 0], ["x"] * 4],
        [[2**38, 2**38], [1, 0, 0, 0]],
        [[2**39, 1], [0, 0, 0, 0]],
        [[-(2**63), 0], [0, 0, 0, 0]],
        [None, None],
    ],
    ids=str,
)
def test_other_public_answers_are_refused(public):
    domain = Domain({"a": 2, "b": 4})
    private = gate(codes=CODES, domain=domain)
    text = refused(lambda each: each.total_distance([["a"], ["b"]], public), private)
    assert "public answer" in text


@pytest.mark.parametrize("views", [[], [["a"], ["nobody"]], [["a", "a"]], [[]]], ids=str)
def test_other_views_are_refused(views):
    refused(lambda each: each.total_distance(views, [[0, 0]] * len(views)))


@pytest.mark.parametrize("method", ["total_distance", "select"])
@pytest.mark.parametrize(("view", "other"), [(("a", "b"), ("b", "a")), (("a",), ("b",))], ids=str)
def test_the_marginal_of_another_view_is_refused(method, view, other):
    """Its table has the same shape."""
    domain = Domain({"a": 2, "b": 2})
    zeros = np.zeros((2,) * len(view))
    right, wrong = (Marginal(domain, zeros, zeros, attributes=each) for each in (view, other))
    private = gate(codes=CODES % 2, domain=domain)
    text = refused(lambda each: getattr(each, method)([view], [wrong]), private)
    assert "same attributes" in text
    assert getattr(private, method)([view], [right]) in (4, (0,))


class Turning:
    """A weight for each view, and another one each time it is read."""

    def __init__(self):
        self.reads = 0

    def __array__(self, dtype=None, copy=None):
        self.reads += 1
        return np.array([1, 1]) * 1000 ** (self.reads - 1)


def test_weights_are_read_once():
    private = gate()
    weights = Turning()
    private.total_distance([["a"], ["b"]], [[0, 0], [0, 0, 0]], weights=weights)
    assert weights.reads == 1
    assert private.true == [[8]] and private.events[0].l1 == 2


def test_arguments_that_change_afterwards_have_no_effect():
    """While the rows are counted, the caller changes what was checked."""
    weights, answer = np.array([1, 1]), np.zeros(2)

    class Meddling(CodesSource):
        def batches(self, domain):
            weights[:], answer[:] = 1000, 2**40
            return super().batches(domain)

    private = KeptTruth(Meddling(CODES), domain=DOMAIN, budget=FREE, entropy=SeededEntropy(1))
    assert private.total_distance([["a"], ["b"]], [answer, [0, 0, 0]], weights=weights) == 8
    assert weights[0] == 1000


def test_the_sum_of_many_weights_does_not_wrap_around():
    """Each weight is limited before they are added up."""
    with pytest.raises(DomainError, match=r"2\*\*20"):
        view_weights([1 << 40] * 9, 9)
    three = [[0, 0]] * 3
    text = refused(lambda each: each.total_distance([["a"]] * 3, three, weights=[1 << 19] * 3))
    assert "sum of the weights" in text


def test_different_questions_have_different_events():
    """The same call twice has equal events; another weight, answer or order has another."""
    asked = [
        {"views": [["a"], ["b"]], "public": [[0, 0], [0, 0, 0]]},
        {"views": [["a"], ["b"]], "public": [[0, 0], [0, 0, 0]], "weights": [1, 2]},
        {"views": [["a"], ["b"]], "public": [[0, 1], [0, 0, 0]]},
        {"views": [["b"], ["a"]], "public": [[0, 0, 0], [0, 0]]},
    ]
    private = gate()
    for call in [*asked, asked[0]]:
        private.total_distance(**call, spend="1/9")
    abouts = [event.about for event in private.events]
    assert len(set(abouts)) == 4 and abouts[0] == abouts[4]
