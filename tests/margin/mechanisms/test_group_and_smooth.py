"""`GroupAndSmooth`: contract, the best runs, and its error beside that of equal noise."""

import itertools

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP
from margin.mechanisms import GroupAndSmooth, PlainItems
from margin.mechanisms.items.group_and_smooth import _runs
from margin.privacy.budget import Neighbours
from margin.testing import check_mechanism

ITEMS = Domain(dict.fromkeys("abcdef", 2))


MECHANISMS = [
    GroupAndSmooth(),
    GroupAndSmooth.paper(size=2, longest=3),
    GroupAndSmooth(size=4, share=None),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["runs", "paper", "random"])
def test_the_contract(mechanism):
    budgets = (PureDP(1), ZCDP("0.2", neighbours=Neighbours.REPLACE_ROW))
    check_mechanism(mechanism, domain=ITEMS, budgets=budgets, pairs=4)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["runs", "paper", "random"])
def test_the_contract_under_all_budgets(mechanism):
    check_mechanism(mechanism, domain=ITEMS, pairs=12)
    certified = (ApproxDP(2, "1e-5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2),)
    check_mechanism(mechanism, domain=ITEMS, budgets=certified, pairs=12)


def cost(values, sizes, scale, noise, pure):
    total = 0.0
    start = 0
    for size in sizes:
        run = values[start : start + size]
        chance = (size - 1) * scale * (scale - 1) * max(run.mean(), 0)
        total += scale**2 * ((run - run.mean()) ** 2).sum() + chance
        total += noise / size if pure else noise
        start += size
    return total


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("noise", [0.0, 1.0, 30.0, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_no_other_runs_cost_less(seed, noise, pure):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.exponential(10, 9) - 2)[::-1].round(1)
    scale = (1.0, 1.5, 3.0)[seed]
    found = _runs(values, scale, noise, pure)
    divisions = [
        sizes
        for count in range(1, 10)
        for sizes in itertools.product((1, 2, 4, 8), repeat=count)
        if sum(sizes) == 9
    ]
    best = min(cost(values, sizes, scale, noise, pure) for sizes in divisions)
    assert found.sum() == 9
    assert cost(values, found.tolist(), scale, noise, pure) == pytest.approx(best, abs=1e-9)


def sets(rows=4000, items=300, seed=0):
    """Rows of up to 30 items; the popularity of an item falls with its rank."""
    rng = np.random.default_rng(seed)
    held = rng.random((rows, items)) < 0.6 / (1 + np.arange(items)) ** 0.9
    order = rng.permutation(items)
    return held[:, order].astype(np.int64)


def error(mechanism, budget, codes, seed=1):
    domain = dict.fromkeys([f"i{place}" for place in range(codes.shape[1])], 2)
    counts = margin.simulate(
        codes, domain=domain, budget=budget, mechanism=mechanism, seed=seed
    ).synopsis.counts
    return np.sqrt(((counts - codes.sum(axis=0)) ** 2).mean())


@pytest.mark.parametrize("budget", [PureDP("0.1"), ZCDP("0.0002")])
def test_groups_of_similar_items_have_less_error_than_single_items(budget):
    codes = sets()
    plain = error(PlainItems(longest=30), budget, codes)
    assert error(GroupAndSmooth(longest=30), budget, codes) < 0.5 * plain
    assert error(GroupAndSmooth.paper(size=16, longest=30), budget, codes) < 0.7 * plain


def test_with_little_noise_every_item_is_counted_by_itself():
    codes = sets(rows=500, items=40)
    assert error(GroupAndSmooth(longest=40), PureDP(10**5), codes) < 0.1


def test_a_group_has_one_count_and_the_noise_of_its_mean():
    codes = sets(rows=500, items=40)
    domain = dict.fromkeys([f"i{place}" for place in range(40)], 2)
    synopsis = margin.simulate(
        codes,
        domain=domain,
        budget=PureDP(1),
        mechanism=GroupAndSmooth(size=8, share=None, longest=20, key=3),
        seed=1,
    ).synopsis
    values, sizes = np.unique(synopsis.counts, return_counts=True)
    assert len(values) == 5 and (sizes == 8).all()
    # The noise of one item is two-sided geometric with scale 20; a mean of 8 has an eighth of it.
    assert synopsis.variance == pytest.approx(2 * (20 / 8) ** 2, rel=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GroupAndSmooth(size=0),
        lambda: GroupAndSmooth(longest=0),
        lambda: GroupAndSmooth(share=None),
        lambda: GroupAndSmooth(share=1),
        lambda: GroupAndSmooth(key=-1),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises((BudgetError, DomainError)):
        make()


@pytest.mark.parametrize(
    "groups", [[0, 1], [0] * 7, [0, 1, 2, 3, 4, 6], [-1, 0, 0, 0, 0, 0], [0.5] * 6]
)
def test_groups_that_do_not_fit_are_refused(groups):
    class Asks:
        def run(self, private, workload):
            private.truncated_counts(most=2, groups=groups)

    with pytest.raises(DomainError, match="groups"):
        margin.simulate(
            np.zeros((2, 6), int), domain=ITEMS, budget=PureDP(1), mechanism=Asks(), seed=1
        )
