"""`Private.measure_linear`: exact answers, exact sensitivities, and charges before draws."""

import itertools
import math
from fractions import Fraction as F
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import ZCDP, ApproxDP, BudgetError, DomainError, Private, PureDP, Strategy
from margin._numbers import UNIT
from margin.audit import BlackBox, audit
from margin.audit.event_cost import cost
from margin.data.opening import open_source
from margin.domain.domain import Domain
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import Neighbours
from margin.private.strategy import Factor, Groups

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
CODES = np.array([[0, 0, 0], [0, 2, 1], [1, 1, 1], [1, 1, 0]])
FREE = PureDP(10**6)  # noise is zero with these budgets, but with probability below 1e-300


class Entropy(SeededEntropy):
    taken = 0

    def take(self, n):
        self.taken += n
        return super().take(n)


def private(budget=PureDP(1), codes=CODES, domain=DOMAIN):
    return Private(open_source(codes), domain=domain, budget=budget, entropy=Entropy(1))


def dense(strategy):
    return reduce(np.kron, [factor.matrix for factor in strategy.factors])


matrices = st.integers(1, 4).flatmap(
    lambda rows: st.lists(
        st.lists(st.integers(-5, 5), min_size=3, max_size=3), min_size=rows, max_size=rows
    )
)


@settings(max_examples=60)
@given(st.lists(matrices, min_size=1, max_size=3))
def test_norms_and_products_of_a_kronecker_product_are_those_of_its_matrix(factors):
    strategy = Strategy(tuple("abc"[: len(factors)]), factors)
    columns = dense(strategy).T
    assert strategy.l1 == np.abs(columns).sum(axis=1).max()
    assert strategy.l2_squared == (columns**2).sum(axis=1).max()
    assert strategy.least_product == (columns @ columns.T).min()


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("rows", [1, 2])
@settings(max_examples=30)
@given(matrices)
def test_no_two_neighbours_differ_by_more_than_the_sensitivity(neighbours, rows, factor):
    """All sums of a person's rows, on three cells; where the bound is above zero some pair reaches
    the L2 one."""
    budget = PureDP(1, neighbours=neighbours, rows_per_person=rows)
    strategy = Strategy(("b",), [factor])
    columns = dense(strategy).T
    sums = [sum(some) for some in itertools.combinations_with_replacement(columns, rows)]
    zero = [np.zeros_like(sums[0])]
    others = sums if neighbours is Neighbours.REPLACE_ROW else zero
    differences = [first - second for first in sums for second in others]
    l1, l2_squared = strategy.sensitivity(budget)
    assert max(np.abs(d).sum() for d in differences) <= l1
    largest = max((d**2).sum() for d in differences)
    assert largest <= l2_squared
    if neighbours is Neighbours.ADD_REMOVE_ROW:
        assert largest == l2_squared or l2_squared == rows**2


def test_signs_cost_more_where_rows_are_replaced():
    """A row of ones and minus ones moves by two: as a count it would be thought to move by the root
    of two."""
    budget = ZCDP(1, neighbours=Neighbours.REPLACE_ROW)
    assert Strategy(("a",), [[[1, -1]]]).sensitivity(budget) == (2, 4)
    assert (
        Strategy(("a",), [np.eye(2, dtype=int)]).sensitivity(budget)
        == budget.sensitivity()
        == (2, 2)
    )


def test_answers_are_exact_and_in_the_order_of_the_view():
    table = np.zeros(DOMAIN.sizes, int)
    np.add.at(table, tuple(CODES.T), 1)
    strategies = [
        Strategy(("c", "a"), [[[1, -1]], [[3, 5], [7, 0]]]),
        Strategy(("b",), [[[1, 2, 3]]]),
        Strategy(("b", "a"), [np.arange(12).reshape(2, 6)]),
        Strategy.total(DOMAIN),
    ]
    first, second, third, total = private(FREE).measure_linear(strategies)
    assert (
        first.values.tolist()
        == np.einsum("xc,ya,abc->xy", [[1, -1]], [[3, 5], [7, 0]], table).tolist()
    )
    assert second.values.tolist() == [[1, 2, 3] @ table.sum(axis=(0, 2))]
    assert (
        third.values.tolist()
        == (np.arange(12).reshape(2, 6) @ table.sum(axis=2).T.ravel()).tolist()
    )
    assert total.values.tolist() == [4]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(1, 3), st.data())
def test_groups_are_their_matrix(groups, others, data):
    """Norms, inner products and sums, along each axis, also for integers of any length."""
    factor = Groups(groups)
    matrix = Factor(factor.matrix)
    assert (factor.rows, factor.columns) == (matrix.rows, matrix.columns)
    assert (factor.l1, factor.l2_squared, factor.largest) == (matrix.l1, matrix.l2_squared, 1)
    assert factor.least_product == matrix.least_product
    axis = data.draw(st.integers(0, 1))
    shape = (factor.columns, others) if axis == 0 else (others, factor.columns)
    table = np.arange(factor.columns * others).reshape(shape)
    for numbers in (table, table.astype(object) + 2**70):
        found = factor.times(numbers, axis)
        assert found.tolist() == matrix.times(numbers, axis).tolist()


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 2))
def test_a_matrix_of_two_numbers_is_multiplied_as_any_other(size, diagonal, other, axis):
    matrix = np.full((size, size), other)
    np.fill_diagonal(matrix, diagonal)
    shape = [2, 3, 4]
    shape[axis] = size
    table = np.random.default_rng(size).integers(-99, 99, shape)
    for numbers in (table, table.astype(object) + 2**70):
        found = Factor(matrix).times(numbers, axis)
        expected = np.moveaxis(np.tensordot(matrix, numbers, (1, axis)), 0, axis)
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("rows", [9, 2**40])
def test_answers_from_many_tables_are_those_from_each(rows):
    """Also where one table needs integers of any length: all answers are computed in them then."""
    rng = np.random.default_rng(rows)
    tables = rng.integers(0, 9, (5, 3, 4))
    tables[2, 0, 0] = rows
    by_attribute = [2**10 * np.eye(3, dtype=int) - 7, [[1, -2, 3, 2**18]]]
    for factors in (by_attribute, [np.arange(36).reshape(3, 12) - 9]):
        strategy = Strategy(("a", "b"), factors)
        together = strategy.answers_to_each(tables)
        assert together.dtype == np.int64
        assert together.tolist() == [strategy.answers(table).tolist() for table in tables]


def test_noise_that_is_added_to_many_tables_together_is_that_of_each(monkeypatch):
    """Tables of several sizes, in parts of few cells: the draws are used in the order of events."""
    names = [f"x{i}" for i in range(6)]
    domain = Domain(dict.fromkeys(names, 3))
    codes = np.random.default_rng(0).integers(0, 3, (50, 6))
    views = [("x0", "x1", "x2"), ("x3",), *itertools.combinations(names[2:], 2)]
    asked = [Strategy(view, [3 * np.eye(3, dtype=int) - 1] * len(view)) for view in views]
    found = []
    for cells in (1, 20, 1 << 15):
        monkeypatch.setattr("margin.private.gate._CELLS_TOGETHER", cells)
        monkeypatch.setattr("margin.private.linear._CELLS_TOGETHER", cells)
        answers = private(ZCDP(1), codes, domain).measure_linear(asked)
        found.append([answer.values.tolist() for answer in answers])
    assert found[0] == found[1] == found[2]
    # The same noise drawn for one event at a time and added to the answers without noise.
    true = [
        strategy.answers(np.rint(answer.values).astype(np.int64)).tolist()
        for strategy, answer in zip(
            asked,
            private(FREE, codes, domain).measure_linear(
                [Strategy(view, [np.eye(3, dtype=int)] * len(view)) for view in views]
            ),
            strict=True,
        )
    ]
    free = private(FREE, codes, domain).measure_linear(asked)
    assert [answer.values.tolist() for answer in free] == true


def test_tables_are_kept_until_nothing_is_left_to_spend():
    gate = private(PureDP(1))
    asked = [Strategy(("a",), [np.eye(2, dtype=int)])]
    gate.measure_linear(asked, spend="1/2")
    assert gate._counted
    gate.measure_linear(asked)
    assert not gate._counted


@pytest.mark.parametrize(
    "groups", [[], [[0, 1]], [0.0, 1.0], [-1, 0], [0, 1 << 24], [True], None], ids=str
)
def test_groups_that_are_none_are_refused(groups):
    with pytest.raises(DomainError, match="groups must be"):
        Groups(groups)


def test_groups_are_measured_as_sums_of_cells():
    table = np.zeros(DOMAIN.sizes, int)
    np.add.at(table, tuple(CODES.T), 1)
    strategy = Strategy(("a", "b"), [Groups([1, 0, 2, 2, 0, 1])])
    (found,) = private(FREE).measure_linear([strategy])
    cells = table.sum(axis=2).ravel()
    assert found.values.tolist() == [cells[1] + cells[4], cells[0] + cells[5], cells[2] + cells[3]]
    assert strategy.factors[0].digest != Factor(strategy.factors[0].matrix).digest


def test_large_numbers_are_exact():
    codes = np.zeros((1000, 3), int)
    (answers,) = private(FREE, codes).measure_linear(
        [Strategy(("a", "b"), [[[2**20, 0]], [[2**10 - 1, 1, 1]]])]
    )
    assert abs(answers.values.item() - 1000 * 2**20 * (2**10 - 1)) < 2**20, (
        "noise of scale 2**30 / 10**6"
    )


def test_views_within_others_are_not_counted_again(monkeypatch):
    counted = []
    gate = private()
    tables = gate._tables
    monkeypatch.setattr(gate, "_tables", lambda views: counted.extend(views) or tables(views))
    gate.measure_linear([Strategy((n,), [np.eye(DOMAIN[n].size, dtype=int)]) for n in "abc"]
                        + [Strategy(("a", "b"), [[[1, 1]], [[1, 1, 1]]])])  # fmt: skip
    assert sorted(counted) == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("budget", "noises"),
    [
        (PureDP(2), [DiscreteLaplace(F(7, 2)), DiscreteLaplace(F(7, 2))]),
        (ZCDP(2), [DiscreteGaussian(F(14, 4)), DiscreteGaussian(F(14, 4))]),
    ],
    ids=repr,
)
def test_without_shares_all_answers_have_the_same_noise(budget, noises):
    """L1 norms of columns 4 + 3, squared L2 norms 4 * 1 * ... : the noise is that of one vector of
    all answers."""
    gate = private(budget)
    gate.measure_linear(
        [
            Strategy(("a",), [[[1, 1], [1, -1], [1, 1], [1, 1]]]),
            Strategy(("b",), [[[3, 3, 1], [0, 0, 1]]]),
        ]
    )
    events = gate.events
    assert sum(event.units for event in events) == budget.units
    if isinstance(budget, PureDP):
        for event, noise in zip(events, noises, strict=True):
            assert float(event.sampler.scale) == pytest.approx(float(noise.scale), rel=1e-10)
    else:
        assert float(events[0].sampler.sigma2) == pytest.approx((4 + 9) / 4, rel=1e-10)
        assert float(events[1].sampler.sigma2) == pytest.approx((4 + 9) / 4, rel=1e-10)
    for event in events:
        assert 0 < cost(event, budget) <= event.units * UNIT


def test_shares_are_kept():
    gate = private(ZCDP(1))
    gate.measure_linear([Strategy.total(DOMAIN)] * 2, shares=[1, 3], spend="1/2")
    assert [event.units for event in gate.events] == [125 * 10**9, 375 * 10**9]
    assert gate._account.remaining == gate.budget.units // 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Strategy(("a",), [[[0.5, 1]]]),
        lambda: Strategy(("a",), [[1, 1]]),
        lambda: Strategy(("a",), [[[2**20 + 1, 0]]]),
        lambda: Strategy(("a", "b"), [[[2**20, 0]], [[2**20, 0, 0]]]),
        lambda: Strategy(("a", "b", "c"), [[[1, 1]], [[1, 1, 1]]]),
        lambda: Strategy(("a",), [np.zeros((0, 2), int)]),
        lambda: Strategy(("a",), [np.ones((1, 2), bool)]),
    ],
)
def test_bad_strategies_cannot_be_made(make):
    with pytest.raises(DomainError):
        make()


TOTAL = Strategy.total(DOMAIN)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([],), DomainError),
        (([Strategy(("nobody",), [[[1, 1]]])],), DomainError),
        (([Strategy(("a", "a"), [[[1, 1]]] * 2)],), DomainError),
        (([Strategy(("b",), [[[1, 1]]])],), DomainError),
        ((["a"],), DomainError),
        (([TOTAL, TOTAL], [1]), DomainError),
        (([TOTAL, TOTAL], [1, 0]), BudgetError),
        (([TOTAL, TOTAL], [1, math.nan]), BudgetError),
        (([TOTAL], None, 2), BudgetError),
    ],
)
def test_what_cannot_be_measured_costs_nothing(arguments, error):
    gate = private()
    strategies, shares, spend = (*arguments, None, None)[:3]
    with pytest.raises(error):
        gate.measure_linear(strategies, shares=shares, spend=spend)
    assert not gate._entropy.taken and not gate._account.spent


def test_a_factor_of_great_numbers_or_columns_has_a_bound():
    assert Factor([[2**20], [2**20]]).least_product >= 0
    huge = Factor(np.where(np.arange(5000) % 2, 1, -1)[None])
    assert huge.least_product == -1 and huge.l2_squared == 1


class Linear:
    """Nothing wrong: signs, unequal numbers, one matrix over two attributes, and a total."""

    def run(self, gate, workload):
        strategies = [
            Strategy(("a", "b"), [[[1, -1]], [[2, -1, -1], [-1, 2, -1]]]),
            Strategy(
                ("c", "a"),
                [[[1, 2, 3, -4]] if gate.domain["c"].size == 2 else np.ones((1, 4), int)],
            ),
            Strategy.total(gate.domain),
        ]
        first = gate.measure_linear(strategies, spend="1/2")
        return [
            answers.values
            for answers in (*first, *gate.measure_linear(strategies, shares=[1, 2, 3]))
        ]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6")], ids=repr)
def test_the_auditor_passes_it(budget):
    domain = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
    assert audit(Linear(), domain=domain, budget=budget, pairs=40).findings == ()


UNITS = [PureDP(1), ZCDP("0.5"), ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2)]


@pytest.mark.slow
@pytest.mark.parametrize("budget", UNITS, ids=repr)
def test_the_black_box_passes_it(budget):
    flat = lambda out: np.concatenate([values.ravel() for values in out])  # noqa: E731
    black_box = BlackBox(runs=300, output=flat)
    assert audit(Linear(), domain=DOMAIN, budget=budget, pairs=2, black_box=black_box).ok
