"""The prices of `Auto` and `Adaptive`: noise that is left without negative counts."""

import itertools
import math

import numpy as np
import pytest

import margin
from margin import ZCDP, Adaptive, Auto, Domain, PriView, PureDP, Workload
from margin.mechanisms.choosing.noise_left import noise_left, share_left
from margin.mechanisms.choosing.strength import Strength, learned
from margin.mechanisms.fitted import LEAST_LEFT
from margin.solvers import Tables


def projected(noisy, total):
    """The nearest table without negative counts and with this total: one cut for all cells."""
    low, high = noisy.min() - total, noisy.max()
    for _ in range(200):
        cut = (low + high) / 2
        if np.maximum(noisy - cut, 0).sum() > total:
            low = cut
        else:
            high = cut
    return np.maximum(noisy - cut, 0)


@pytest.mark.parametrize("mean", [0.05, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("occupied", [0.02, 0.3, 1.0])
def test_the_noise_left_is_that_of_the_nearest_table(mean, occupied):
    """Tables of 20,000 cells, whose error is within 5 % of its expectation at these seeds."""
    rng = np.random.default_rng(0)
    cells = 20_000
    truth = np.zeros(cells)
    truth[: int(cells * occupied)] = mean / occupied
    made = projected(truth + rng.normal(size=cells), truth.sum())
    found = np.mean((made - truth) ** 2)
    (left,) = noise_left(np.array([mean]), np.array([occupied]))
    expected = LEAST_LEFT + (1 - LEAST_LEFT) * min(1.0, found)
    assert left == pytest.approx(expected, rel=0.05)


def test_more_rows_leave_more_of_the_noise():
    cells, variances = np.array([64, 4096]), np.array([100.0, 100.0])
    shares = [share_left(cells, variances, rows, 0.6) for rows in (1e2, 1e4, 1e6, 1e12)]
    assert all((after >= before).all() for before, after in itertools.pairwise(shares))
    assert shares[-1] == pytest.approx(1, abs=0.01)


def test_the_spread_of_rows_is_learnt():
    before = Strength.of("medium")
    found = {}
    for rate in (0.02, 0.5):
        codes = np.random.default_rng(0).random((50_000, 6)) < rate
        counts = np.bincount(codes @ (1 << np.arange(6)), minlength=64).astype(float)
        tables = Tables(
            sizes=(2,) * 6,
            views=(tuple(range(6)),),
            values=(counts.reshape((2,) * 6),),
            variances=(25.0,),
        )
        found[rate] = learned(tables, before)
    assert found[0.02].spread < 0.5 < 0.85 < found[0.5].spread
    # What is rare has little to depend on, however strong the assumed structure.
    assert found[0.02].singles < before.singles / 10


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_many_moments_share_their_structure(depth):
    """The squares of all moments together grow less and less with their number."""
    moments = np.array([1, 10, 100, 1_000, 10_000])
    square = Strength.of("medium").square(np.array(depth), np.array(depth + 1), moments)
    together = moments * square
    grows = together[1:] / together[:-1]
    assert 9 < grows[0] < 10
    assert (np.diff(grows) < 0).all()
    assert 1 < grows[-1] < 1.2


def test_the_size_of_a_component_counts_when_its_strength_is_learnt():
    """Attributes of many and of few categories, with the same dependence, have the same strength:
    a part that depends on the number of moments is known."""
    before = Strength.of("medium")
    found = []
    for size in (2, 40):
        # Half of the rows have equal categories.
        equal = np.eye(size) / (2 * size) + 1 / (2 * size**2)
        tables = Tables(
            sizes=(size, size),
            views=((0, 1),),
            values=(1e6 * equal,),
            variances=(1.0,),
        )
        found.append(learned(tables, before).singles)
    few, many = found
    # The sum of the squared moments is a quarter of the number of categories less one.
    alone = math.sqrt(0.25 / 39)
    assert few > 0.4
    assert many > 3 * alone


@pytest.mark.parametrize(
    ("budget", "k", "learns"),
    [(PureDP("0.1"), 2, False), (ZCDP("0.011785"), 3, True)],
    ids=["pure", "concentrated"],
)
def test_under_pure_privacy_nothing_is_learnt_before_a_look(budget, k, learns):
    tree = margin.datasets.correlated(rows=50_000)
    made = margin.simulate(
        tree.data,
        domain=tree.domain,
        budget=budget,
        workload=Workload.all_kway(tree.domain, k),
        seed=0,
    ).synopsis
    purposes = [step.purpose for step in made.provenance.course.steps]
    assert any("looking for pairs" in purpose for purpose in purposes)
    assert any("learning from small views" in purpose for purpose in purposes) == learns


def test_one_way_tables_are_considered():
    domain = Domain(dict.fromkeys("abcdef", 20))
    work = Workload.all_kway(domain, 2)
    (found,) = (
        row
        for row in Auto().prices(domain, work, PureDP("0.01"), rows=2_000)
        if row.note == "one-way tables"
    )
    assert found.shallow and {len(view) for view in found.mechanism.views} == {1}


@pytest.mark.parametrize(
    "mechanism",
    [Auto(), pytest.param(Adaptive(), marks=pytest.mark.slow)],
    ids=["Auto", "Adaptive"],
)
def test_a_large_view_that_is_asked_is_measured(mechanism):
    domain = Domain({"a": 200, "b": 10, "c": 5, "d": 2})
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, size, 50_000) for size in domain.sizes], axis=1)
    view = list(domain)
    errors = {}
    for name, tried in (("chosen", mechanism), ("view", PriView(views=[view]))):
        made = margin.simulate(
            codes,
            domain=domain,
            budget=ZCDP("0.05"),
            mechanism=tried,
            workload=[view],
            seed=0,
        )
        errors[name] = np.linalg.norm(made.marginal(view).counts - made.truth(view).counts)
    assert errors["chosen"] <= 1.05 * errors["view"]


def test_a_large_asked_view_is_measured_and_not_reconstructed():
    """At this budget, components of three attributes would have a smaller price."""
    domain = Domain({"state": 20, "county": 600, "age": 5, "sex": 2, "one": 1})
    candidates = Auto().prices(domain, [list(domain)], ZCDP("0.005"), rows=200_000)
    for candidate in candidates:
        assert candidate.missed == 0 or candidate.note == "one-way tables"


@pytest.mark.parametrize("budget", [ZCDP(0.1), PureDP(1)], ids=["zCDP", "pure"])
def test_pairs_are_priced_where_no_cover_is_small_enough(budget):
    """Eighty attributes of 15 values: 3,160 pairs of 225 cells, too many views for a cover."""
    domain = Domain({f"a{place}": 15 for place in range(80)})
    found = Auto().prices(domain, None, budget, rows=10**6)
    notes = {candidate.note for candidate in found}
    assert {"all 3160 pairs of attributes", "one-way tables"} <= notes
    assert "components of up to 2 attributes" in notes
    assert np.isfinite([candidate.error for candidate in found]).all()
    (pairs,) = (one for one in found if one.note == "all 3160 pairs of attributes")
    assert len(pairs.mechanism.views) == 3160
