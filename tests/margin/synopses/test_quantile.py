"""A quantile lies in the categories that the test of each limit leaves, as often as stated."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

import margin
from margin import DomainError, PriView
from margin.synopses import Difference, Quantile

EDGES = [0, 10, 20, 30, 40, 60]
DOMAIN = margin.Domain(
    {
        "x": {"bins": EDGES, "other": "more", "missing": "?"},
        "sex": ["F", "M"],
        "size": {"values": [5, 1, 3], "other": "7+"},
        "band": {"values": ["low", "mid", "high"], "ordered": True, "missing": "?"},
        "visit": {"dates": {"from": "2020-01", "to": "2021-12", "by": "month"}, "missing": "-"},
    }
)
VIEWS = [["x", "sex"], ["sex", "size"], ["band", "sex"], ["visit"]]
ROWS = 1500
# The share of x below 20 is within the noise of 0.5: both limits of a bin can be wrong.
SHARES = [0.25, 0.252, 0.15, 0.12, 0.13, 0.05, 0.048]


def codes():
    rng = np.random.default_rng(5)
    table = rng.integers(0, DOMAIN.sizes, (ROWS, len(DOMAIN)))
    table[:, 0] = rng.choice(7, ROWS, p=SHARES)
    return table


TABLE = codes()


def made(seed, budget, rows=TABLE):
    mechanism = PriView(views=VIEWS)
    return margin.simulate(
        rows, domain=DOMAIN, budget=budget, mechanism=mechanism, seed=seed
    ).synopsis


def true_categories(name, share, rows):
    """The codes in order with a true quantile: F(below) <= share <= F(up to)."""
    order = {"x": range(5), "size": [1, 2, 0], "band": range(3), "visit": range(24)}[name]
    axis = DOMAIN.position[name]
    counts = np.array([(rows[:, axis] == code).sum() for code in order])
    upto = np.cumsum(counts) / counts.sum()
    below = np.concatenate([[0], upto[:-1]])
    inside = (below <= share) & (share <= upto)
    return [DOMAIN[name].name(code) for code, one in zip(order, inside, strict=True) if one]


MEASURED = [*itertools.product(["x", "size", "band"], ["F", "M", None]), ("visit", None)]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.77])
@pytest.mark.parametrize(("name", "sex"), MEASURED)
def test_without_noise_it_is_the_category_of_the_true_quantile(name, share, sex):
    rows = TABLE if sex is None else TABLE[TABLE[:, 1] == "FM".index(sex)]
    where = {} if sex is None else {"sex": sex}
    found = made(0, margin.PureDP(10_000)).quantile(name, share, where)
    assert list(found.between()) == true_categories(name, share, rows)
    assert found.between() == (found.estimate,) and found.share == share
    if name == "x":
        place = found.categories.index(found.estimate)
        assert found.interval() == tuple(EDGES[place : place + 2])


@pytest.mark.parametrize("where", [{}, {"sex": "M"}, {"x": (10, 40)}, {"band": ["low"]}])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_each_limit_is_tested_with_the_covariances_of_all_counts(where, share):
    """By brute force from counts and differences of counts, whose variances are tested elsewhere;
    (x, band) is reconstructed."""
    synopsis = made(1, margin.ZCDP("0.01"))
    found = synopsis.quantile("x", share, where)
    wheres = [{**where, "x": label} for label in found.categories]
    counts = np.array([synopsis.count(one).estimate for one in wheres])
    covariance = np.zeros((len(wheres), len(wheres)))
    for one, other in itertools.product(range(len(wheres)), repeat=2):
        pair = [synopsis.count(wheres[place]).variance for place in (one, other)]
        less = synopsis.difference(wheres[one], wheres[other]).variance
        covariance[one, other] = (sum(pair) - less) / 2
    z = NormalDist().inv_cdf(0.975)
    sides = []
    for limit in range(1, len(wheres)):
        weights = np.array([(place < limit) - share for place in range(len(wheres))])
        variance = weights @ covariance @ weights
        assert found.excess[limit - 1].variance == pytest.approx(variance, rel=1e-3)
        assert found.excess[limit - 1].estimate == pytest.approx(weights @ counts)
        score = weights @ counts / math.sqrt(variance)
        sides.append(-1 if score < -z else int(score > z))
    first = next((place for place, side in enumerate(sides) if side >= 0), len(sides))
    last = next((place for place, side in enumerate(sides[::-1]) if side <= 0), len(sides))
    assert found.between() == found.categories[first : len(found.categories) - last]
    assert found.reconstructed == ("band" in where)


@pytest.mark.parametrize("budget", [margin.ZCDP("0.002"), margin.PureDP("0.06")])
def test_the_level_holds(budget):
    """By the binomial law of as many releases, with a false-alarm rate of at most 1e-7 a side.

    The truth is near a limit, where the level is nearly attained: about a tenth of the releases
    miss on each side at 80 %.
    """
    seeds, level = 250, 0.8
    counts = np.bincount(TABLE[:, 0], minlength=7)[:5]
    share = float((counts[:2].sum() + 1) / counts.sum())
    (truth,) = true_categories("x", share, TABLE)
    assert truth == "20 to under 30"
    low = high = 0
    for seed in range(seeds):
        kept = made(seed, budget).quantile("x", share).between(level)
        place = [DOMAIN["x"].name(code) for code in range(5)].index
        low += place(kept[0]) > place(truth)
        high += place(kept[-1]) < place(truth)
    tail = (1 - level) / 2
    assert low <= stats.binom(seeds, tail).isf(1e-7)
    # At the near limit the error is all noise, so the level is attained, too.
    assert stats.binom(seeds, tail).ppf(1e-7) <= high <= stats.binom(seeds, tail).isf(1e-7)


def test_only_the_first_limits_cut():
    """A limit beyond one that is not decided cuts nothing, whatever its interval: otherwise each
    of many limits could be wrong."""
    rng = np.random.default_rng(2)
    for size in rng.integers(0, 7, 200):
        sides = rng.choice([-1, 0, 1, math.nan], size)
        excess = tuple(
            Difference(
                estimate=10 * side if side == side else 0.0,
                noise_variance=1.0 if side == side else math.nan,
            )
            for side in sides
        )
        names = tuple(map(str, range(size + 1)))
        found = Quantile(
            attribute="a", share=0.5, categories=names, edges=None, excess=excess, rows=1.0
        )
        low = len(list(itertools.takewhile(lambda side: side == -1, sides)))
        high = len(list(itertools.takewhile(lambda side: side == 1, sides[::-1])))
        assert found.between() == names[low : size + 1 - high] != ()
        reached = [place for place, one in enumerate(excess) if one.estimate >= 0]
        assert found.estimate == names[min([*reached, size])]


def test_what_has_no_quantile_is_refused():
    synopsis = made(0, margin.PureDP(1))
    for share in (0, 1, -1, 2, math.nan, "0.5", None):
        with pytest.raises(DomainError, match="must be a number > 0 and < 1"):
            synopsis.quantile("x", share)
    with pytest.raises(DomainError, match="'sex' needs categories in an order"):
        synopsis.quantile("sex")
    with pytest.raises(DomainError, match="needs a category in the order among the rows"):
        synopsis.quantile("x", where={"x": ["more", "?"]})
    with pytest.raises(DomainError, match="'band' need bins, but its categories have no edges"):
        synopsis.quantile("band").interval()
    with pytest.raises(DomainError, match="level"):
        synopsis.quantile("x").between(1)
    few = made(0, margin.ZCDP("0.0001"), TABLE[:2])
    empty = [few.quantile("x", where={"sex": sex}) for sex in "FM"]
    assert all(one.interval() == (0, 60) for one in empty)
    negative = Quantile(
        attribute="a", share=0.5, categories=("x",), edges=None, excess=(), rows=-1.0
    )
    assert negative.estimate is None and negative.between() == ("x",)


def test_a_level_of_an_attribute_has_a_quantile():
    synopsis = made(0, margin.PureDP(10_000))
    found = synopsis.quantile("visit@year", 0.3)
    assert found.categories == ("2020", "2021") and found.between() == ("2020",)
    assert str(found) == "2020 (95 %: 2020)"
