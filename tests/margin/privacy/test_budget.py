"""Budgets: exact values, exact splits, a filter that never overspends, and a conversion that never
flatters."""

import math
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Context, Decimal, localcontext
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.errors import BudgetError, MarginError
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.account import Account, Parts
from margin.privacy.budget import (
    UNIT,
    ZCDP,
    ApproxDP,
    Budget,
    Neighbours,
    PureDP,
    budget_from_json,
    epsilon_of,
    rho_of,
)
from margin.privacy.conversion import (
    _best_for_epsilon,
    _best_for_rho,
    _log_inverse,
    epsilon_above,
    rho_below,
)

BUDGETS: list[Budget] = [
    PureDP(1),
    PureDP("1/3"),
    ZCDP(0.5),
    ApproxDP(1, 1e-6),
    PureDP(1e-12),
    ZCDP(10**6),
]
every = pytest.mark.parametrize("budget", BUDGETS, ids=repr)


# Values


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (1, F(1)),
        (0.1, F(1, 10)),
        ("0.1", F(1, 10)),
        (" 1e-3 ", F(1, 1000)),
        ("2/6", F(1, 3)),
        (".5", F(1, 2)),
        (Decimal("0.30"), F(3, 10)),
        (F(1, 3), F(1, 3)),
        (np.float64(0.1), F(1, 10)),
        (np.float32(0.5), F(1, 2)),
        (np.int64(3), F(3)),
        (np.uint8(200), F(200)),
        (1e-12, UNIT),
        (10**6, F(10**6)),
    ],
    ids=repr,
)
def test_values_are_what_was_written(written, meant):
    assert PureDP(written).epsilon == meant
    assert ZCDP(rho=written).rho == meant
    assert ApproxDP(max(meant, F(1, 1000)), 0.1 + 0.2).delta == F("0.30000000000000004")
    assert PureDP(written).units == math.floor(meant * 10**12)
    assert type(PureDP(written).epsilon) is F


NOT_A_NUMBER = [
    True,
    False,
    np.bool_(True),
    None,
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    Decimal("NaN"),
    "nan",
]
NOT_A_NUMBER += [
    "inf",
    "",
    "one",
    "1/0",
    "0x1",
    "1_000",
    "1e99999",
    "٣",
    "1,5",
    b"1",
    [1],
    {1},
    1j,
    np.array([1.0]),
    ...,
]
OUT_OF_RANGE = [
    0,
    -1,
    -0.1,
    "-1",
    F(-1, 3),
    1e-13,
    "9.99e-13",
    5e-324,
    1e7,
    10**6 + 1,
    "1000000.000001",
]
UNREASONABLE = [10**5000, F(1, 10**5000), Decimal("1e999999999"), "1." + "0" * 5000 + "1"]


@pytest.mark.parametrize(
    "value", NOT_A_NUMBER + OUT_OF_RANGE + UNREASONABLE, ids=lambda v: repr(type(v))
)
def test_bad_values_are_refused_by_name(value):
    for name, make in [
        ("epsilon", PureDP),
        ("rho", ZCDP),
        ("epsilon", lambda v: ApproxDP(v, 1e-6)),
    ]:
        with pytest.raises(BudgetError, match=f"^{name} "):
            make(value)
    for call in (rho_of, epsilon_of):
        with pytest.raises(BudgetError, match=r"^(epsilon|rho) "):
            call(value, 1e-6)


@pytest.mark.parametrize(
    "value", [*NOT_A_NUMBER, 0, 1, -0.1, 1.5, "1", 2], ids=lambda v: repr(type(v))
)
def test_bad_deltas_are_refused_by_name(value):
    for call in (ApproxDP, rho_of, epsilon_of):
        with pytest.raises(BudgetError, match=r"^delta "):
            call(1, value)


def test_a_value_that_cannot_be_printed_is_refused_politely():
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(BudgetError, match=r"epsilon \(of type Rude\) must be a finite number"):
        PureDP(Rude())


def test_too_little_to_convert():
    with pytest.raises(BudgetError, match="pass a larger epsilon"):
        ApproxDP(1e-12, 1e-300)


@pytest.mark.parametrize(
    "make", [lambda n: PureDP(1, neighbours=n), lambda n: ApproxDP(1, 0.1, neighbours=n)]
)
@pytest.mark.parametrize("neighbours", [None, "add or remove one row", 1])
def test_neighbours_are_an_enum(make, neighbours):
    with pytest.raises(BudgetError, match=r"^neighbours must be a member of Neighbours"):
        make(neighbours)


def test_neighbours_are_keyword_only():
    with pytest.raises(TypeError):
        PureDP(1, Neighbours.ADD_REMOVE_ROW)


def test_equality_is_exact():
    assert PureDP(0.1) == PureDP("0.1") == PureDP(Decimal("0.10")) == PureDP(epsilon=F(1, 10))
    assert len({PureDP(0.1), PureDP("1/10"), PureDP(F(0.1)), ZCDP(0.1), ApproxDP(0.1, 0.1)}) == 4
    assert PureDP(0.1 + 0.2) != PureDP(0.3)
    assert PureDP(F(1, 3)) != PureDP(1 / 3)


@every
def test_budgets_are_frozen_and_can_be_copied(budget):
    with pytest.raises(AttributeError):
        budget.neighbours = None
    assert pickle.loads(pickle.dumps(budget)) == budget
    assert budget.neighbours is Neighbours.ADD_REMOVE_ROW


def test_repr():
    assert repr(PureDP("1")) == "PureDP(epsilon=1.0)"
    assert repr(ZCDP(F(1, 8))) == "ZCDP(rho=0.125)"
    assert repr(ApproxDP(1, "1e-9")) == "ApproxDP(epsilon=1.0, delta=1e-09)"


def test_describe():
    assert (
        PureDP(1).describe()
        == "pure differential privacy, epsilon = 1, neighbours: add or remove one row"
    )
    assert ZCDP("1/3").describe() == (
        "zero-concentrated differential privacy, rho = 1/3, neighbours: add or remove one row"
    )
    assert ApproxDP(1.0, 1e-6).describe() == (
        "approximate differential privacy, epsilon = 1, delta = 0.000001, "
        "spent as zero-concentrated with rho = 0.024355970359, neighbours: add or remove one row"
    )


# JSON


amounts = st.one_of(
    st.fractions(F(1, 10**9), 10**6, max_denominator=10**30),
    st.floats(1e-9, 1e6).map(lambda x: F(repr(x))),
    st.integers(1, 10**6).map(F),
    st.decimals("0.000001", 1000).map(F),
)
deltas = st.one_of(st.floats(1e-300, 0.9), st.fractions(F(1, 10**20), F(1, 2)))
budgets = st.one_of(
    st.builds(PureDP, amounts),
    st.builds(ZCDP, amounts),
    st.builds(ApproxDP, st.floats(0.01, 50), deltas),
)


@settings(deadline=None)
@given(budgets)
def test_json_round_trip(budget):
    record = budget.to_json()
    assert all(type(key) is str and type(value) is str for key, value in record.items())
    again = budget_from_json(record)
    assert again == budget
    assert again.to_json() == record


def test_json_is_readable():
    assert PureDP(1.0).to_json() == {
        "kind": "pure",
        "epsilon": "1",
        "neighbours": "add or remove one row",
        "rows_per_person": "1",
    }
    assert ZCDP(0.1).to_json()["rho"] == "0.1"
    assert ApproxDP(F(1, 3), 1e-9).to_json()["epsilon"] == "1/3"
    assert ApproxDP(F(1, 3), 1e-9).to_json()["delta"] == "1e-9"
    assert ZCDP(F(1, 2**60) + 1).to_json()["rho"].endswith("/1152921504606846976")


GOOD = PureDP(1).to_json()
BAD_RECORDS = [
    None,
    [],
    "pure",
    {},
    {**GOOD, "kind": "PURE"},
    {**GOOD, "kind": ["pure"]},
    {**GOOD, "kind": "zcdp"},
    {**GOOD, "epsilon": 1},
    {**GOOD, "epsilon": "0"},
    {**GOOD, "epsilon": "nan"},
    {**GOOD, "epsilon": ""},
    {**GOOD, "epsilon": "1e400000000"},
    {**GOOD, "neighbours": "replace two rows"},
    {**GOOD, "rows_per_person": "0"},
    {**GOOD, "rows_per_person": "1.5"},
    {**GOOD, "rows_per_person": "-1"},
    {**GOOD, "rows_per_person": "9" * 9},
    {**GOOD, "delta": "0.1"},
    {**GOOD, 1: "x"},
    {"kind": "pure", "epsilon": "1"},
    {"kind": "pure", "neighbours": GOOD["neighbours"]},
    {
        "kind": "approx",
        "epsilon": "1",
        "delta": "1",
        "neighbours": GOOD["neighbours"],
        "rows_per_person": "1",
    },
]


@pytest.mark.parametrize("record", BAD_RECORDS, ids=repr)
def test_other_records_are_refused(record):
    with pytest.raises(BudgetError):
        budget_from_json(record)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["kind", "epsilon", "rho", "delta", "neighbours", "rows_per_person"]),
        st.sampled_from(["pure", "zcdp", "approx", GOOD["neighbours"]])
        | st.text("0123456789./e-", max_size=6),
    )
)
def test_arbitrary_records_make_a_budget_or_a_budget_error(record):
    with suppress(BudgetError):
        assert isinstance(budget_from_json(record), Budget)


# Splitting


def test_split_into_equal_pieces():
    assert PureDP(1).split(4) == (25 * 10**10,) * 4
    assert PureDP(1).split(3) == (333333333334, 333333333333, 333333333333)
    assert PureDP(1e-12).split(1) == (1,)
    assert PureDP("3e-12").split(np.int64(3)) == (1, 1, 1)


def test_split_in_proportion():
    assert PureDP(1).split([0.1, 0.2, 0.7]) == (10**11, 2 * 10**11, 7 * 10**11)
    assert PureDP(1).split(np.array([1, 3])) == (25 * 10**10, 75 * 10**10)
    assert ZCDP(1).split(["1/3", F(1, 3), Decimal(1) / 4]) == PureDP(1).split(
        ["1/3", F(1, 3), Decimal(1) / 4]
    )


@pytest.mark.parametrize(
    "shares",
    [
        0,
        -1,
        True,
        [],
        (),
        "11",
        b"11",
        None,
        1.5,
        [0],
        [1, -1],
        [1, math.nan],
        [1, math.inf],
        [True, 1],
        [None],
        [[1]],
        ...,
    ],
    ids=repr,
)
def test_bad_shares_are_refused(shares):
    with pytest.raises(BudgetError, match="share"):
        PureDP(1).split(shares)


def test_pieces_below_one_unit_are_refused():
    with pytest.raises(BudgetError, match="use fewer"):
        PureDP("3e-12").split(4)
    with pytest.raises(
        BudgetError, match="must be at least one unit, but the smallest would be below"
    ):
        PureDP("3e-12").split([1, 1, 1e9])
    with pytest.raises(BudgetError, match="use fewer"):
        PureDP(1).split(10**13)


shares = st.one_of(
    st.integers(1, 500),
    st.lists(st.floats(0.001, 1000), min_size=1, max_size=50),
    st.lists(st.fractions(F(1, 100), 100), min_size=1, max_size=20),
)


@settings(deadline=None)
@given(budgets, shares)
def test_a_split_is_exact_and_fair(budget, shares):
    total = budget.units
    weights = (
        [F(1)] * shares
        if isinstance(shares, int)
        else [F(repr(s)) if isinstance(s, float) else s for s in shares]
    )
    try:
        pieces = budget.split(shares)
    except BudgetError:
        assert any(math.floor(total * w / sum(weights)) < 1 for w in weights)
        return
    assert sum(pieces) == total
    assert len(pieces) == len(weights)
    for piece, weight in zip(pieces, weights, strict=True):
        assert abs(piece - total * weight / sum(weights)) < 1


# Spending


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_random_sequences_of_splits_and_charges(seed):
    """Five thousand accounts each: what was split always fits, one unit more never does, and the
    sum is exact."""
    rng = random.Random(seed)
    for _ in range(5000):
        value = rng.choice(
            [rng.random() + 1e-6, rng.randint(1, 1000), F(rng.randint(1, 99), rng.randint(1, 99))]
        )
        budget = rng.choice([PureDP, ZCDP])(value)
        account = Account(budget)
        charged = 0
        while account.remaining and rng.random() < 0.9:
            wanted = rng.choice(
                [rng.randint(1, 12), [rng.random() + 1e-3 for _ in range(rng.randint(1, 12))]]
            )
            if account.remaining < 10**6:
                wanted = 1
            for piece in account.split(wanted)[: rng.randint(1, 12)]:
                account.charge(piece)
                charged += piece
                assert account.spent == charged <= budget.units
        with pytest.raises(BudgetError):
            account.charge(account.remaining + 1)
        assert account.spent == charged
        if account.remaining:
            account.charge(account.remaining)
        assert account.spent == budget.units
        assert account.remaining == 0


@every
def test_a_whole_split_spends_exactly_all(budget):
    account = Account(budget)
    for piece in budget.split(min(7, budget.units)):
        account.charge(piece)
    assert account.remaining == 0
    assert account.spent == budget.units
    with pytest.raises(BudgetError, match="must be at most what remains of the budget, 0 of"):
        account.charge(1)
    assert account.spent == budget.units
    with pytest.raises(BudgetError):
        account.split(1)


@pytest.mark.parametrize(
    "units", [0, -1, 1.0, True, None, "1", F(1), math.nan, np.float64(1)], ids=repr
)
def test_bad_charges_are_refused(units):
    account = Account(PureDP(1))
    with pytest.raises(BudgetError, match="must be a whole number >= 1"):
        account.charge(units)
    assert account.spent == 0


def test_an_account_charges_integers_of_numpy_and_cannot_be_set_back():
    account = Account(PureDP(1))
    account.charge(np.int64(5))
    assert type(account.spent) is int
    assert repr(account) == "Account(PureDP(epsilon=1.0), spent=5, remaining=999999999995)"
    assert account.budget == PureDP(1)
    with pytest.raises(AttributeError):
        account.spent = 0


@pytest.mark.parametrize("budget", [1.0, None, PureDP, "1"], ids=repr)
def test_an_account_is_of_a_budget(budget):
    with pytest.raises(BudgetError, match=r"budget must be PureDP, ZCDP or ApproxDP.*; "):
        Account(budget)


def test_threads_do_not_overspend():
    account = Account(PureDP("5e-9"))

    def spend(_: int) -> int:
        try:
            account.charge(7)
        except BudgetError:
            return 0
        return 7

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(2000))) == account.spent == 5000 // 7 * 7


def test_many_charges_are_fast():
    account = Account(PureDP(1))
    for _ in range(10**5):
        account.charge(1)
    assert account.spent == 10**5


# Noise


@settings(deadline=None)
@given(st.integers(1, 10**18), st.integers(1, 10**3), st.integers(1, 10**3))
def test_noise_is_the_exact_quotient(charge, l1, l2_squared):
    laplace = PureDP(1).noise(charge, l1=l1, l2_squared=l2_squared)
    assert laplace == DiscreteLaplace(F(l1) / (charge * UNIT))
    for budget in (ZCDP(1), ApproxDP(1, 1e-6)):
        gaussian = budget.noise(charge, l1=l1, l2_squared=l2_squared)
        assert gaussian == DiscreteGaussian(F(l2_squared) / (2 * charge * UNIT))


@settings(deadline=None)
@given(st.integers(1, 1000))
def test_the_noise_of_the_pieces_costs_the_budget_exactly(pieces):
    pure, concentrated = PureDP("0.7"), ZCDP("0.7")
    assert sum(1 / pure.noise(charge).scale for charge in pure.split(pieces)) == F("0.7")
    assert sum(
        1 / (2 * concentrated.noise(charge).sigma2) for charge in concentrated.split(pieces)
    ) == F("0.7")


@every
@pytest.mark.parametrize("name", ["charge", "l1", "l2_squared"])
@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, math.nan])
def test_bad_sensitivities_are_refused(budget, name, value):
    arguments = {"charge": 10**9, "l1": 1, "l2_squared": 1, name: value}
    with pytest.raises(BudgetError, match=f"^{name} "):
        budget.noise(arguments.pop("charge"), **arguments)


def test_sensitivities_of_numpy():
    assert PureDP(1).noise(np.int64(10**12), l1=np.int32(3)).scale == 3


def test_too_much_noise_is_refused():
    with pytest.raises(MarginError, match="spend more of the budget"):
        PureDP(1).noise(1, l1=10**5)


# Conversion


def alpha_bound(rho: Decimal, log_inverse: Decimal, m: Decimal) -> Decimal:
    """Epsilon by the formula of CKS 2020 at alpha = 1 + m."""
    alpha = 1 + m
    return alpha * rho + (m / alpha).ln() + (log_inverse - alpha.ln()) / m


def least_epsilon(rho: F, delta: F) -> Decimal:
    """The least bound over a grid of alphas, refined around the least."""
    rho_, log_inverse = decimal(rho), -decimal(delta).ln()
    centre, factor = Decimal(1), Decimal(10) ** 3
    for _ in range(40):
        grid = [centre * factor ** (Decimal(i) / 4) for i in range(-4, 5)]
        best = min(range(9), key=lambda i: alpha_bound(rho_, log_inverse, grid[i]))
        centre = grid[best]
        if 0 < best < 8:
            factor **= Decimal("0.5")
    return alpha_bound(rho_, log_inverse, centre)


def decimal(number: F) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


RHOS = [
    F(1, 10**9),
    F("0.0001"),
    F("0.011785"),
    F("0.1"),
    F(1, 3),
    F(1, 2),
    F(1),
    F(10),
    F(1000),
    F(10**6),
]
DELTAS = [F(1, 10**300), F(1, 10**18), F(1, 10**9), F(1, 10**6), F(1, 100), F(1, 3), F(9, 10)]


@pytest.mark.parametrize("rho", RHOS, ids=float)
@pytest.mark.parametrize("delta", DELTAS, ids=float)
def test_conversion_is_never_better_than_true_and_close(rho, delta):
    with localcontext(Context(prec=60)):
        least = least_epsilon(rho, delta)
        epsilon = epsilon_of(rho, delta)
        assert Decimal(epsilon) >= least - Decimal("1e-25")
        assert Decimal(epsilon) <= max(least, Decimal(0)) + Decimal("1e-9") * max(1, least)


@settings(max_examples=15, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-20, 0.5))
def test_the_rho_of_an_epsilon_is_safe_and_all_that_is_safe(epsilon, delta):
    rho = rho_of(epsilon, delta)
    with localcontext(Context(prec=60)):
        needed = least_epsilon(F(rho), F(repr(delta)))
        assert needed <= Decimal(repr(epsilon)) + Decimal("1e-25")
        assert least_epsilon(F(rho) * (1 + F(1, 10**9)), F(repr(delta))) > Decimal(repr(epsilon))
        units = ApproxDP(epsilon, delta).units
        assert units <= F(rho) / UNIT + 1
        assert least_epsilon(units * UNIT, F(repr(delta))) <= Decimal(repr(epsilon))


@settings(deadline=None)
@given(st.fractions(F(1, 10**6), 10**6), st.fractions(F(1, 10**20), F(99, 100)))
def test_conversion_is_rounded_the_safe_way(value, delta):
    """At the alpha that was chosen, evaluated with twice the digits: on the safe side by less than
    1e-40."""
    with localcontext(Context(prec=120)):
        log_inverse = -decimal(delta).ln()
        m = _best_for_rho(float(value), _log_inverse(delta))
        exact = F(alpha_bound(decimal(value), log_inverse, m))
        assert exact <= epsilon_above(value, delta) < max(exact, F(0)) + F(1, 10**40)
        m = _best_for_epsilon(float(value), _log_inverse(delta))
        exact = F((decimal(value) - alpha_bound(Decimal(0), log_inverse, m)) / (1 + m))
        assert exact - F(1, 10**40) < rho_below(value, delta) <= exact


def test_conversion_of_known_values():
    assert epsilon_of(0.5, 1e-6) == pytest.approx(5.22153444453017, abs=1e-12)
    assert rho_of(1, 1e-6) == pytest.approx(0.024355970359, abs=1e-12)
    assert ApproxDP(1, 1e-6).units == 24355970359
    assert epsilon_of(1e-12, 0.9) == 0.0


@settings(deadline=None)
@given(st.floats(1e-6, 1e4), st.floats(1e-30, 0.1))
def test_conversion_beats_the_classic_formula(rho, delta):
    """rho + 2 sqrt(rho ln(1 / delta)) (Bun and Steinke 2016) is valid, and never less."""
    assert epsilon_of(rho, delta) <= (rho + 2 * math.sqrt(rho * math.log(1 / delta))) * (1 + 1e-12)


@settings(deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-20, 0.3))
def test_conversion_there_and_back(epsilon, delta):
    assert epsilon_of(rho_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


# The unit of privacy


UNITS = [
    (Neighbours.ADD_REMOVE_ROW, 1),
    (Neighbours.ADD_REMOVE_ROW, 4),
    (Neighbours.REPLACE_ROW, 1),
]


def test_sensitivities_of_the_units():
    """k marginals: k and k; m k and m**2 k for a person's m rows; 2 k and 2 k for a row
    replaced."""
    k = 7
    found = [
        PureDP(1, neighbours=n, rows_per_person=m).sensitivity(l1=k, l2_squared=k) for n, m in UNITS
    ]
    assert found == [(k, k), (4 * k, 16 * k), (2 * k, 2 * k)]
    assert ZCDP(1, neighbours=Neighbours.REPLACE_ROW, rows_per_person=4).sensitivity() == (8, 32)


@given(st.integers(1, 5), st.booleans(), st.data())
def test_sensitivities_hold_and_are_attained(m, replace, data):
    """Sums of m vectors of which one row adds at most l1 and l2_squared, less as many others."""
    neighbours = Neighbours.REPLACE_ROW if replace else Neighbours.ADD_REMOVE_ROW
    l1, l2_squared = ZCDP(1, neighbours=neighbours, rows_per_person=m).sensitivity(
        l1=2, l2_squared=2
    )
    cells = st.lists(st.sampled_from([(0, 1), (2, 3), (0, 2), (1, 3)]), min_size=m, max_size=m)
    change = np.zeros(4, int)
    for sign in (1, -1) if replace else (1,):
        for pair in data.draw(cells):
            change[list(pair)] += sign
    assert np.abs(change).sum() <= l1 and (change**2).sum() <= l2_squared
    worst = np.array([m, m, -m, -m]) if replace else np.array([m, m, 0, 0])
    assert np.abs(worst).sum() == l1 and (worst**2).sum() == l2_squared


@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, "2", 10**6 + 1])
def test_bad_numbers_of_rows(value):
    for make in (
        lambda: PureDP(1, rows_per_person=value),
        lambda: ApproxDP(1, 0.1, rows_per_person=value),
    ):
        with pytest.raises(BudgetError, match="rows_per_person"):
            make()


def test_the_unit_is_described_and_kept():
    budget = ZCDP(1, neighbours=Neighbours.REPLACE_ROW, rows_per_person=3)
    assert budget.describe().endswith(
        "neighbours: replace all rows of a person, 3 at most, by others, 3 at most"
    )
    assert "REPLACE_ROW" in repr(budget) and "rows_per_person=3" in repr(budget)
    assert budget_from_json(budget.to_json()) == budget
    assert budget != ZCDP(1) and PureDP(1, rows_per_person=2) != PureDP(1)


# Choices and conversions


@settings(deadline=None)
@given(st.integers(1, 10**18), st.integers(1, 10**6))
def test_a_choice_costs_at_most_its_charge_and_hardly_less(charge, spread):
    rho, epsilon = charge * UNIT, ZCDP(1).selection(charge, spread=spread).rate * spread
    assert epsilon**2 / 8 <= rho
    assert (epsilon + F(2, 10**24)) ** 2 / 8 > rho
    assert PureDP(1).selection(charge, spread=spread).rate == charge * UNIT / spread
    noise = ZCDP(1).laplace(charge, l1=spread)
    assert (spread / noise.scale) ** 2 / 2 <= rho


def test_the_cost_of_one_budget_in_another():
    assert (
        ZCDP(1).cost_of(PureDP(1)) == 5 * 10**11 and PureDP(1).cost_of(PureDP("0.3")) == 3 * 10**11
    )
    assert ZCDP(1).cost_of(PureDP("1e-12")) == 1
    assert ApproxDP(1, "1e-6").cost_of(ApproxDP(1, "1e-6")) == ApproxDP(1, "1e-6").units
    for charge in (ZCDP(1), ApproxDP(1, 0.1)):
        with pytest.raises(BudgetError, match="does not imply"):
            PureDP(1).cost_of(charge)
    with pytest.raises(BudgetError, match="same neighbours"):
        ZCDP(1).cost_of(ZCDP(1, rows_per_person=2))


def test_the_bounded_range_of_a_choice_by_enumeration():
    """Log ratios of all probabilities on neighbours lie in an interval of length rate * spread,
    also one-sidedly."""
    rng = np.random.default_rng(1)
    for one_sided in (True, False):
        for _ in range(200):
            scores = rng.integers(-9, 9, 5)
            moved = scores + (rng.integers(0, 2, 5) if one_sided else rng.integers(-1, 2, 5))
            spread, rate = (1 if one_sided else 2), 0.7
            logs = [rate * s - math.log(np.exp(rate * s).sum()) for s in (scores, moved)]
            assert np.ptp(logs[0] - logs[1]) <= rate * spread + 1e-12
            assert np.abs(logs[0] - logs[1]).max() <= rate * spread + 1e-12


# Parts


def test_only_the_largest_part_counts():
    account = Account(PureDP("1e-10"))
    parts = Parts(account)
    for part, units, spent in [
        ("n", 40, 40),
        ("s", 30, 40),
        ("s", 20, 50),
        ("n", 5, 50),
        ("w", 100, 100),
    ]:
        parts.charge(part, units)
        assert account.spent == spent
    with pytest.raises(BudgetError):
        parts.charge("w", 1)
    parts.charge("n", 55)
    assert account.spent == 100
    with pytest.raises(BudgetError):
        parts.charge("n", 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30)), max_size=30))
def test_parts_never_cost_more_than_the_largest_sum(charges):
    account = Account(PureDP("1e-10"))
    parts, sums = Parts(account), dict.fromkeys(range(4), 0)
    for part, units in charges:
        with suppress(BudgetError):
            parts.charge(part, units)
            sums[part] += units
        assert account.spent == max(sums.values()) <= 100


@pytest.mark.parametrize(
    "budget", [PureDP(1, rows_per_person=2), ZCDP(1, neighbours=Neighbours.REPLACE_ROW)], ids=repr
)
def test_parts_are_refused_where_a_neighbour_touches_two(budget):
    with pytest.raises(BudgetError, match="parallel"):
        Parts(Account(budget))


# A second opinion


@pytest.fixture(scope="module")
def oracle():
    return pytest.importorskip(
        "dp_accounting", reason="dp-accounting is not installed (extra: oracles)"
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("rho", "delta"), [("0.5", 1e-6), ("0.1", 1e-9), ("2", 1e-5)])
def test_dp_accounting_never_finds_more_than_we_state(oracle, rho, delta):
    """Its privacy loss distribution of our discrete Gaussians is tighter than our conversion, and
    below it."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    pieces = ZCDP(rho).split(4)
    total = None
    for charge in pieces:
        sigma2 = ZCDP(rho).noise(charge).sigma2
        one = pld.from_discrete_gaussian_mechanism(math.sqrt(sigma2), sensitivity=1)
        total = one if total is None else total.compose(one)
    assert (
        0.5 * epsilon_of(rho, delta) < total.get_epsilon_for_delta(delta) <= epsilon_of(rho, delta)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dp_accounting_agrees_on_pure_composition(oracle):
    from dp_accounting import rdp
    from dp_accounting.dp_event import ZCDpEvent
    from dp_accounting.pld import privacy_loss_distribution as pld

    pieces = PureDP(1).split(3)
    total = None
    for charge in pieces:
        one = pld.from_discrete_laplace_mechanism(
            float(1 / PureDP(1).noise(charge).scale), sensitivity=1
        )
        total = one if total is None else total.compose(one)
    assert total.get_epsilon_for_delta(0) == pytest.approx(1.0, abs=2e-3)
    accountant = rdp.RdpAccountant()
    accountant.compose(ZCDpEvent(rho=0.5))
    assert accountant.get_epsilon(1e-6) == pytest.approx(epsilon_of("0.5", 1e-6), rel=0.01)
