"""Counts of items in sets: sources of sets, DPSense against its definition, and the methods it is
compared with."""

import math
from fractions import Fraction as F

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import ZCDP, DataError, Domain, DomainError, DPSense, MarginError, Neighbours, PureDP
from margin.data.baskets import Baskets
from margin.data.opening import open_source
from margin.data.sets import Pairs, Transactions
from margin.mechanisms import DPSenseS, FourierItems, PeeledItems, PlainItems, SampledItems
from margin.mechanisms.items.dpsense import default_grid
from margin.noise.entropy import SeededEntropy
from margin.private import Private
from margin.private.item_counts import few_counts, scaled_gaps, truncated, walsh
from margin.queries.walsh import sequency_order, transform
from margin.testing import check_mechanism

SETS = [[0, 1, 2, 3], [0], [0, 1], [], [4, 5], [0, 2, 4, 5, 6, 7]]
ITEMS = Domain({"item": 8})
EXACT = PureDP(10**6)


def matrix(sets=SETS, items=8):
    dense = np.zeros((len(sets), items), np.int8)
    for row, held in enumerate(sets):
        dense[row, held] = 1
    return scipy.sparse.csr_matrix(dense)


def baskets(sets):
    return Baskets(
        np.array([len(s) for s in sets], np.int64),
        np.array([i for s in sets for i in s], np.int64),
    )


def gate(data, domain=ITEMS, budget=EXACT):
    return Private(
        open_source(data),
        domain=domain,
        budget=budget,
        entropy=SeededEntropy(1),
    )


some_sets = st.lists(
    st.lists(
        st.integers(0, 6),
        max_size=7,
        unique=True,
    ),
    max_size=9,
)


@settings(max_examples=100)
@given(
    some_sets,
    st.lists(
        st.integers(1, 9),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    st.integers(1, 60),
)
def test_the_gaps_of_a_grid_are_those_of_the_definition(
    sets,
    grid,
    grain,
):
    grid = np.array(sorted(grid))
    longest, scales = int(grid[-1]) + 1, (np.array([10, 13, 30]), 10)
    gaps = scaled_gaps(
        baskets(sets),
        7,
        grid,
        scales,
        longest,
        grain,
    )

    def counts(most):
        total = [0] * 7
        for held in sets:
            for item in held:
                total[item] += grain if len(held) <= most else most * (grain // len(held))
        return np.array(total)

    assert (truncated(baskets(sets), 7, int(grid[0]), grain) == counts(int(grid[0]))).all()
    for row, most in enumerate(grid.tolist()):
        for column, scale in enumerate(scales[0].tolist()):
            assert gaps[row, column] == np.abs(scale * counts(most) - 10 * counts(longest)).sum()


@settings(max_examples=100)
@given(
    some_sets,
    st.lists(
        st.integers(0, 6),
        min_size=1,
        max_size=7,
        unique=True,
    ),
    st.integers(1, 40),
)
def test_a_row_moves_no_score_further_than_is_declared(
    sets,
    row,
    grain,
):
    grid, longest, numerators, denominator = np.array([1, 3, 5]), 5, np.array([10, 15, 40]), 10
    before, after = (
        scaled_gaps(
            baskets(rows),
            7,
            grid,
            (numerators, denominator),
            longest,
            grain,
        )
        for rows in (sets, [*sets, row])
    )
    bound = max((40 - denominator) * grain * 5, denominator * grain * longest)
    assert np.abs(after - before).max() <= bound


@settings(max_examples=60)
@given(some_sets, st.integers(1, 7), st.randoms())
def test_cut_rows_keep_a_few_items_whatever_the_order(
    sets,
    most,
    random,
):
    counts = few_counts(baskets(sets), 7, most)
    assert counts.sum() == sum(min(len(held), most) for held in sets)
    assert (counts <= truncated(baskets(sets), 7, 7, 1)).all()
    shuffled = [random.sample(held, len(held)) for held in random.sample(sets, len(sets))]
    assert (few_counts(baskets(shuffled), 7, most) == counts).all()


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_walsh_functions(size):
    order = sequency_order(size)
    assert sorted(order.tolist()) == list(range(size))
    signs = np.stack([transform(np.eye(size, dtype=np.int64)[place]) for place in range(size)])[
        :,
        order,
    ]
    changes = (np.diff(signs, axis=0) != 0).sum(axis=0)
    assert changes.tolist() == list(range(size))
    values = np.random.default_rng(1).integers(0, 9, size)
    assert (transform(transform(values)) == size * values).all()
    assert (walsh(values, size) == signs.T @ values).all()


# Sources of sets


def sources(tmp_path):
    path = tmp_path / "sets.dat"
    path.write_text("".join(" ".join(map(str, held)) + "\n" for held in SETS))
    pairs = [(f"u{row}", item) for row, held in enumerate(SETS) for item in held]
    users, items = [user for user, _ in pairs], [item for _, item in pairs]
    frame = pa.table({"who": users, "what": items})
    repeated = {"user": users + users, "item": items + items}
    yield matrix()
    yield scipy.sparse.coo_matrix(matrix())
    yield Transactions(path)
    yield Pairs(frame, user="who", item="what")
    yield Pairs(repeated)


def test_every_source_of_sets_gives_the_same_counts(tmp_path):
    truth = np.asarray(matrix().sum(axis=0)).ravel()
    dense = {f"i{item}": matrix().toarray()[:, item] for item in range(8)}
    for data in sources(tmp_path):
        counted = gate(data).truncated_counts(most=8, grain=8)
        assert (counted.counts == truth).all() and counted.domain == ITEMS
    columns = gate(dense, Domain(dict.fromkeys(dense, 2))).truncated_counts(most=8, grain=8)
    assert (columns.counts == truth).all() and columns.domain["item"].labels == tuple(dense)


def test_items_have_names(tmp_path):
    (tmp_path / "t.csv").write_text("user,item\n1,milk\n1,bread\n2,milk\n")
    domain = Domain({"thing": ["bread", "milk", "wine"]})
    synopsis = margin.simulate(
        Pairs(tmp_path / "t.csv"),
        domain=domain,
        budget=EXACT,
        mechanism=DPSense(),
        seed=1,
    ).synopsis
    assert synopsis.top(2) == ["milk", "bread"] and synopsis.counts.tolist() == pytest.approx(
        [1, 2, 0],
        abs=1e-5,
    )
    assert synopsis.marginal(["thing"]).counts.tolist() == synopsis.counts.tolist()


def test_sets_are_in_no_table():
    for method in (
        lambda: gate(matrix()).measure([["item"]]),
        lambda: gate(matrix()).sparse_cells(
            ["item"],
            keep=margin.private.Keep(
                3,
                3,
                False,
            ),
        ),
    ):
        with pytest.raises(DataError, match="sets of items"):
            method()


@pytest.mark.parametrize(
    ("data", "domain", "match"),
    [
        (
            scipy.sparse.csr_matrix(np.array([[0.5, 1]])),
            {"item": 2},
            "hold only the values 0 and 1",
        ),
        (scipy.sparse.csr_matrix(np.array([[-1, 1]])), {"item": 2}, "hold only the values 0 and 1"),
        (matrix(), {"item": 9}, "8 columns"),
        (matrix(), {"item": 8, "other": 2}, "8 columns"),
        (Transactions("nowhere.dat"), {"item": 8}, "does not exist"),
        (Pairs({"user": [1], "item": [9]}), {"item": 8}, "'item'"),
        (Pairs({"user": [None], "item": [1]}), {"item": 8}, "must name its unit"),
        (Pairs({"who": [1], "item": [1]}), {"item": 8}, "user"),
        (Pairs({"user": [1], "item": [1]}), {"item": 8, "x": 2}, "one attribute"),
    ],
)
def test_bad_sets_are_refused_and_cost_nothing(data, domain, match):
    class Book:
        def charge(self, budget):
            raise AssertionError("charged")

    with pytest.raises(DataError, match=match):
        margin.release(
            data,
            domain=domain,
            budget=PureDP(1),
            mechanism=DPSense(),
            ledger=Book(),
        )


def test_an_unknown_item_in_a_file_is_not_quoted(tmp_path):
    (tmp_path / "sets.dat").write_text("1 2\nsecret 3\n")
    with pytest.raises(DataError) as refused:
        margin.release(
            Transactions(tmp_path / "sets.dat"),
            domain=ITEMS,
            budget=PureDP(1),
            mechanism=DPSense(),
        )
    assert "secret" not in str(refused.value)


# Mechanisms

MECHANISMS = [
    DPSense(),
    DPSense(theta=2),
    DPSenseS(grid=[1, 2, 4], scales=[1, 1.5]),
    DPSenseS.paper(items=6),
    PlainItems(longest=4),
    SampledItems(most=2),
    PeeledItems(k=2),
    FourierItems(k=3),
]
SIX = Domain(dict.fromkeys("abcdef", 2))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_contract_of_mechanisms(mechanism, tmp_path):
    budgets = (
        PureDP(1),
        ZCDP("0.5", rows_per_person=2),
        PureDP(1, neighbours=Neighbours.REPLACE_ROW),
    )
    check_mechanism(mechanism, domain=SIX, budgets=budgets, pairs=12)
    for data, domain in (
        (np.ones((5, 6), int), SIX),
        (np.zeros((0, 6), int), SIX),
        (matrix(), ITEMS),
    ):
        synopsis = margin.release(
            data,
            domain=domain,
            budget=PureDP(1),
            mechanism=mechanism,
        )
        assert (
            synopsis.counts.shape == synopsis.variance.shape and np.isfinite(synopsis.counts).all()
        )
        assert len(set(synopsis.top(3))) == 3
        synopsis.save(tmp_path / "out.margin")
        again = margin.load(tmp_path / "out.margin")
        assert (again.counts == synopsis.counts).all() and again.top(4) == synopsis.top(4)
        (tmp_path / "out.margin").unlink()


@pytest.mark.parametrize(
    "mechanism",
    [DPSense(grid=[8]), DPSenseS(grid=[8], scales=[1]), PlainItems(), FourierItems(k=8)],
)
def test_without_noise_all_counts_are_exact(mechanism):
    synopsis = margin.simulate(
        matrix(),
        domain=ITEMS,
        budget=EXACT,
        mechanism=mechanism,
        seed=1,
    ).synopsis
    assert synopsis.counts == pytest.approx(np.asarray(matrix().sum(axis=0)).ravel(), abs=1e-3)


def test_theta_follows_the_budget():
    """Much noise asks for a small theta, little for a large one; the chosen pair is nearly the best
    one."""
    rng = np.random.default_rng(1)
    held = rng.random((3000, 60)) < rng.choice([0.05, 0.5], (3000, 1))
    data = scipy.sparse.csr_matrix(held.astype(np.int8))
    thetas = [
        margin.simulate(
            data,
            domain={"item": 60},
            budget=PureDP(epsilon),
            mechanism=DPSense(),
            seed=1,
        ).synopsis.parameters["theta"]
        for epsilon in ("0.01", "0.1", 5)
    ]
    assert thetas[0] < thetas[1] < thetas[2] and thetas[2] >= 25
    scaled = margin.simulate(
        data,
        domain={"item": 60},
        budget=PureDP("0.2"),
        mechanism=DPSenseS(),
        seed=1,
    ).synopsis
    assert scaled.parameters["alpha"] >= 1


def test_the_noise_is_that_of_theta():
    for budget, expected in ((PureDP(2), 2 * (3 / 2) ** 2), (ZCDP("0.5"), 3.0)):
        counted = gate(matrix(), budget=budget).truncated_counts(most=3)
        assert counted.variance == pytest.approx(np.full(8, expected), rel=1e-6)


def test_the_spread_of_theta_does_not_grow_with_the_number_of_items():
    door = gate(matrix(), budget=PureDP(1))
    door.select_most(
        None,
        [2, 5, 9],
        penalties=[0, 0, 0],
        spend="1/2",
    )
    door.select_scaled(
        None,
        [2, 5],
        scales=["1", "3/2"],
        penalties=[[0, 0], [0, 0]],
        grain=16,
    )
    assert [event.spread for event in door.events] == [7, 2 * 2 * 16 * 5]


def test_the_default_grid_is_public():
    assert default_grid(1) == (1,) and default_grid(5) == (1, 2, 3, 4, 5)
    assert default_grid(10**6)[-1] == 1000 and len(default_grid(10**6)) < 40


@pytest.mark.parametrize(
    "make",
    [
        lambda: DPSense(theta=0),
        lambda: DPSense(grid=[]),
        lambda: DPSense(grid=[0]),
        lambda: DPSense(theta=3, grid=[3]),
        lambda: DPSense(share=1),
        lambda: DPSenseS(scales=[]),
        lambda: DPSenseS(scales=["1/2"]),
        lambda: DPSenseS(longest=0),
        lambda: PlainItems(longest=0),
        lambda: SampledItems(most=0),
        lambda: PeeledItems(k=0),
        lambda: FourierItems(k=-1),
        lambda: margin.mechanisms.PrivBasis(k=0),
        lambda: margin.mechanisms.DiffPart(fanout=1),
        lambda: margin.mechanisms.CountSketch(width=0),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(MarginError):
        make()


def test_bad_questions_are_refused():
    synopsis = margin.simulate(
        matrix(),
        domain=ITEMS,
        budget=EXACT,
        mechanism=DPSense(),
        seed=1,
    ).synopsis
    for ask in (
        lambda: synopsis.top(0),
        lambda: synopsis.top(9),
        lambda: synopsis.marginal(["other"]),
    ):
        with pytest.raises(DomainError):
            ask()


def test_noise_of_walsh_coefficients_covers_rows_that_are_replaced():
    door = gate(matrix(), budget=ZCDP(1, neighbours=Neighbours.REPLACE_ROW))
    door.walsh_counts(first=2, most=2, grain=4)
    (event,) = door.events
    assert event.l2_squared == min(2 * 8 * 16 * 2, 2 * (2 * 4 * 2) ** 2)
    assert event.l1 == min(
        math.isqrt(2 * event.l2_squared - 1) + 1,
        2 * 2 * 8,
    ) and event.sampler.sigma2 == F(event.l2_squared, 2)


def test_the_truth_of_sets_is_how_many_rows_hold_each_item(tmp_path):
    path = tmp_path / "sets.txt"
    path.write_text("0 3 3\n\n3 7\n")
    for data, expected in (
        (matrix(), matrix().toarray().sum(axis=0)),
        (margin.data.Transactions(path), [1, 0, 0, 2, 0, 0, 0, 1]),
    ):
        made = margin.simulate(
            data,
            domain={"item": 8},
            budget=PureDP(1),
            mechanism=margin.mechanisms.PlainItems(),
            seed=1,
        )
        assert made.truth("item").counts.tolist() == list(expected)
