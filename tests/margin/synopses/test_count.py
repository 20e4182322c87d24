"""Numbers of rows, their differences and ratios: right sums, right variances, bounds that hold."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats

import margin
from margin import Domain, DomainError, PriView, PureDP
from margin.mechanisms import Direct, DualQuery, Flat, Hierarchical, Uniform
from margin.solvers import IPF
from margin.sparse.axes import Leaves, Tree
from margin.synopses import (
    CellSynopsis,
    ColumnCounts,
    Count,
    Difference,
    ItemsetCounts,
    MarginalSynopsis,
    Ratio,
    RecordSynopsis,
    TableSynopsis,
)

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3})
VIEWS = [["a", "b", "c"], ["c", "d"], ["d", "e"], ["b", "e"]]
BUDGET = margin.ZCDP("0.1")
ROWS = 4000


@functools.cache
def codes():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, ROWS)
    columns = [(kind + rng.integers(0, 3, ROWS)) % size for size in DOMAIN.sizes]
    return np.column_stack(columns)


@functools.cache
def made(seed=0, mechanism=None, domain=DOMAIN):
    mechanism = mechanism or PriView(views=VIEWS)
    return margin.simulate(
        codes(), domain=domain, budget=BUDGET, mechanism=mechanism, seed=seed
    ).synopsis


def truth(where):
    inside = np.ones(ROWS, np.bool_)
    for name, wanted in where.items():
        column = codes()[:, DOMAIN.position[name]]
        inside &= np.isin(column, wanted if isinstance(wanted, list | range) else [wanted])
    return float(inside.sum())


COVERED = [{}, {"a": 1}, {"b": [0, 2]}, {"a": 1, "b": range(2)}, {"a": 0, "b": 2, "c": 1}]
OTHER = [{"a": 1, "d": 1}, {"a": 1, "d": [1], "e": [0, 2]}, {"b": [0, 1], "d": 0, "e": 1}]


@pytest.mark.parametrize("where", COVERED + OTHER)
def test_a_count_is_the_sum_of_the_cells_of_the_marginal(where):
    found = made().count(where)
    marginal = made().marginal(list(where) or ["a"])
    listed = [w if isinstance(w, list | range) else [w] for w in where.values()]
    cells = np.ix_(*listed) if where else ...
    assert found.estimate == pytest.approx(marginal.counts[cells].sum())
    assert found.reconstructed == (where in OTHER)
    assert found.variance == found.noise_variance + found.missed_variance
    if marginal.counts[cells].size == 1:
        assert found.noise_variance == pytest.approx(marginal.noise_variance[cells].item())
        assert found.missed_variance == pytest.approx(marginal.missed_variance[cells].item())


@pytest.mark.slow
def test_bounds_of_covered_sums_hold():
    """Gaussian noise, 200 releases: each sum is inside 95 % bounds about 95 % of the time. False
    alarm: at most 5 sums x 10^-7 on either side."""
    inside = np.zeros(len(COVERED))
    for seed in range(200):
        for place, where in enumerate(COVERED):
            low, high = made(seed).count(where).interval(0.95)
            inside[place] += low <= truth(where) <= high
    least, most = stats.binom.ppf([1e-7, 1 - 1e-7], 200, 0.95)
    assert least <= inside.min() and inside.max() <= most


@pytest.mark.slow
def test_bounds_of_differences_and_ratios_hold():
    """As above, with covariances; each of the two on five pairs: false alarm 10^-6."""
    pairs = [
        ({"a": 1, "b": 0}, {"a": 1}),
        ({"a": 1, "b": [0, 1]}, {"c": 1, "d": 0}),
        ({"d": 1}, {"e": [0, 1]}),
        ({"a": 0}, {"a": 1}),
        ({"a": 0, "b": 2}, {}),
    ]
    inside = np.zeros((2, len(pairs)))
    for seed in range(200):
        for place, (one, other) in enumerate(pairs):
            low, high = made(seed).difference(one, other).interval()
            inside[0, place] += low <= truth(one) - truth(other) <= high
            low, high = made(seed).ratio(one, other).interval()
            inside[1, place] += low <= truth(one) / truth(other) <= high
    least, most = stats.binom.ppf([1e-7, 1 - 1e-7], 200, 0.95)
    assert least <= inside.min() and inside.max() <= most


def test_bounds_of_reconstructed_sums_hold_on_average():
    """The truth is one; releases and sums vary. The missed part is estimated, so that only a share
    clearly below 95 % is an error."""
    asked = []
    for names in itertools.combinations(DOMAIN, 3):
        asked.append(dict(zip(names, ([0], [1], [0, 1]), strict=True)))
        asked.append(dict.fromkeys(names, 0))
    inside = []
    for where in asked:
        found = made().count(where)
        if found.reconstructed:
            low, high = found.interval()
            inside.append(low <= truth(where) <= high)
    assert len(inside) >= 10 and np.mean(inside) >= 0.8


def test_a_difference_knows_what_its_counts_share():
    synopsis = made()
    assert synopsis.difference({"a": 1}, {"a": 1}) == Difference(estimate=0.0, noise_variance=0.0)
    one, two = synopsis.count({"b": 0}), synopsis.count({"b": [0, 2]})
    difference = synopsis.difference({"b": [0, 2]}, {"b": 0})
    assert difference.estimate == pytest.approx(two.estimate - one.estimate)
    # The difference is the number of rows with b = 2.
    assert difference.variance == pytest.approx(synopsis.count({"b": 2}).variance)
    low, high = synopsis.difference({"b": 0}, {"b": [0, 2]}).interval()
    assert low < high < 0
    # Of different views, by way of their common attribute.
    apart = synopsis.difference({"a": 1, "b": 0}, {"b": 0, "e": 1})
    alone = synopsis.count({"a": 1, "b": 0}).variance + synopsis.count({"b": 0, "e": 1}).variance
    assert not apart.reconstructed and apart.variance < alone


def test_a_ratio_follows_the_delta_method():
    synopsis = made()
    where, other = {"a": 1, "b": 0}, {"a": 1}
    ratio = synopsis.ratio(where, other)
    top, bottom = synopsis.count(where), synopsis.count(other)
    assert (ratio.numerator, ratio.denominator, ratio.share) == (top, bottom, True)
    r = top.estimate / bottom.estimate
    difference = synopsis.difference(where, other).variance
    covariance = (top.variance + bottom.variance - difference) / 2
    assert ratio.covariance == pytest.approx(covariance)
    expected = top.variance - 2 * r * covariance + r**2 * bottom.variance
    assert ratio.estimate == r
    assert ratio.variance == pytest.approx(expected / bottom.estimate**2)
    # With so little noise, Fieller's bounds are those of the delta method.
    low, high = ratio.interval()
    half = 1.959964 * math.sqrt(ratio.variance)
    assert (low, high) == pytest.approx((r - half, r + half), rel=1e-2)
    assert not synopsis.ratio({"a": 0}, {"a": 1}).share
    assert synopsis.ratio({"a": 0}, {}).share and not synopsis.ratio({}, {"a": 0}).share
    assert not synopsis.ratio({"b": [0, 1]}, {"b": [0, 2]}).share


def test_a_reconstructed_ratio_does_not_count_what_the_views_say_as_missed():
    ratio = made().ratio({"a": 1, "d": 1}, {"a": 1})
    assert ratio.reconstructed and ratio.numerator.missed_variance > 1
    assert ratio.denominator.missed_variance < 1e-2 * ratio.numerator.missed_variance


@pytest.mark.parametrize("top", [0.0, 3.0, 20.0, 200.0])
@pytest.mark.parametrize("bottom", [-2.0, 0.0, 5.0, 30.0, 400.0])
@pytest.mark.parametrize("covariance", [-40.0, 0.0, 60.0])
def test_fieller_is_the_set_of_ratios_that_are_not_refuted(top, bottom, covariance):
    ratio = Ratio(
        estimate=math.nan,
        noise_variance=math.nan,
        numerator=Count(estimate=top, noise_variance=60.0, missed_variance=20.0),
        denominator=Count(estimate=bottom, noise_variance=90.0),
        covariance=covariance,
    )
    r = np.concatenate([np.linspace(0, 100, 200_001), np.geomspace(101, 1e9, 1000)])
    distance = (top - r * bottom) ** 2
    inside = r[distance <= 1.959964**2 * (80 - 2 * r * covariance + r**2 * 90)]
    low, high = ratio.interval(0.95)
    assert low == pytest.approx(inside.min(), rel=1e-3, abs=1e-3)
    assert (high == math.inf) == (inside.max() == r.max())
    if high < math.inf:
        assert high == pytest.approx(inside.max(), rel=1e-2, abs=1e-3)


def test_fieller_holds_for_small_counts_where_the_logarithm_does_not():
    """A share of 5 in 40 with noise of standard deviation 6, in 2,000 draws; false alarm 10^-6."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 6, (2000, 2))
    inside = np.zeros(2)
    for first, rest in noise.tolist():
        top = max(5 + first, 0.0)
        bottom = max(40 + first + rest, top, 1e-9)
        ratio = Ratio(
            estimate=top / bottom,
            noise_variance=math.nan,
            numerator=Count(estimate=top, noise_variance=36.0),
            denominator=Count(estimate=bottom, noise_variance=72.0),
            covariance=36.0,
            share=True,
        )
        low, high = ratio.interval()
        inside[0] += low <= 5 / 40 <= high
        if top > 0:
            relative = 36 / top**2 - 72 / (top * bottom) + 72 / bottom**2
            inside[1] += abs(math.log(ratio.estimate * 8)) <= 1.959964 * math.sqrt(relative)
    assert inside[0] >= stats.binom.ppf(1e-6, 2000, 0.95) and inside[1] < 0.8 * 2000


def test_bounds_of_a_ratio_without_a_denominator_say_nothing():
    none = Count(estimate=0.0, noise_variance=4.0)
    ratio = Ratio(
        estimate=math.nan,
        noise_variance=math.nan,
        numerator=none,
        denominator=none,
        covariance=0.0,
        share=True,
    )
    assert ratio.interval() == (0.0, 1.0)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95, float("nan")])
@pytest.mark.parametrize("kind", [made().count, functools.partial(made().ratio, {"a": 1})])
def test_a_level_is_a_probability(kind, level):
    with pytest.raises(DomainError, match="level"):
        kind({"b": 1}).interval(level)


def test_a_count_is_printed_with_its_bounds():
    count = Count(estimate=1234.5, noise_variance=4.0)
    assert str(count) == "1,234.5 (95 %: 1,230.58 to 1,238.42)"
    missed = Count(estimate=3.0, noise_variance=4.0, missed_variance=5.0, reconstructed=True)
    assert str(missed) == "3 (reconstructed, 95 %: 0 to 8.64578)"
    assert eval(repr(missed)) == missed
    assert str(Count(estimate=3.0, noise_variance=math.nan)) == "3 (error not known)"


def test_impossible_cells_have_no_error():
    domain = Domain(dict(DOMAIN), impossible=[{"a": 0, "b": [0, 1]}])
    kept = codes()[~((codes()[:, 0] == 0) & (codes()[:, 1] < 2))]
    synopsis = margin.simulate(
        kept, domain=domain, budget=BUDGET, mechanism=PriView(views=VIEWS), seed=0
    ).synopsis
    assert synopsis.count({"a": 0, "b": 1}) == Count(estimate=0.0, noise_variance=0.0)
    # One cell of the three is possible.
    whole, one = synopsis.count({"a": 0, "b": range(2, 3)}), synopsis.count({"a": 0, "b": [1, 2]})
    assert whole.estimate == pytest.approx(one.estimate)
    assert whole.variance == pytest.approx(one.variance)
    gone = synopsis.count({"a": 0, "b": 1, "d": 1, "e": 0})
    assert gone.reconstructed and gone.estimate == gone.variance == 0.0


def test_a_declared_number_of_rows_has_no_error():
    synopsis = made(domain=Domain(dict(DOMAIN), rows=ROWS))
    assert synopsis.count({}) == Count(estimate=pytest.approx(ROWS), noise_variance=0.0)
    share = synopsis.ratio({"a": 1}, {})
    assert share.variance == pytest.approx(synopsis.count({"a": 1}).variance / ROWS**2)


def test_without_a_positive_total_nothing_is_known_of_reconstructions():
    empty = np.zeros((0, 5), np.int64)
    for seed in range(40):
        synopsis = margin.simulate(
            empty, domain=DOMAIN, budget=PureDP("0.1"), mechanism=PriView(views=VIEWS), seed=seed
        ).synopsis
        if synopsis.held.total <= 0:
            found = synopsis.count(OTHER[0])
            assert found.estimate == 0 and math.isnan(found.variance)
            assert math.isnan(synopsis.ratio(OTHER[0], {}).interval()[0])
            return
    pytest.fail("one of 40 totals is not positive")


def test_a_solver_that_knows_no_errors_gives_nan():
    synopsis = made().with_reconstruction(IPF())
    found = synopsis.count(OTHER[1])
    assert found.reconstructed and found.estimate > 0 and math.isnan(found.variance)
    assert all(map(math.isnan, found.interval()))


def test_a_failed_solver_is_told():
    synopsis = made().with_reconstruction(IPF(iterations=0))
    with pytest.raises(margin.SolverError, match=r"the marginal on a, d .* iteration limit"):
        synopsis.count(OTHER[0])


def test_a_table_multiplies_the_covariances_of_its_attributes():
    synopsis = made(mechanism=Hierarchical(attributes=["b"]))
    assert isinstance(synopsis, TableSynopsis)
    full = np.array(synopsis.variance)
    for axis, size in enumerate(DOMAIN.sizes):
        full = np.kron(full, synopsis.covariances.get(axis, np.eye(size)))
    one, other = {"a": 1, "b": [0, 2]}, {"b": 0, "e": [1, 2]}
    rows = []
    for where in (one, other):
        box = [
            np.isin(np.arange(n), where.get(name, range(n)))
            for name, n in zip(DOMAIN, DOMAIN.sizes, strict=True)
        ]
        rows.append(functools.reduce(np.kron, box).astype(np.float64))
    expected = np.stack(rows) @ full @ np.stack(rows).T
    assert synopsis.count(one).variance == pytest.approx(expected[0, 0])
    assert synopsis.ratio(one, other).covariance == pytest.approx(expected[0, 1])
    assert synopsis.count(one).estimate == pytest.approx(synopsis.table.ravel() @ rows[0])


def test_a_flat_table_adds_up_variances():
    synopsis = made(mechanism=Flat())
    assert synopsis.count({}).variance == pytest.approx(72 * synopsis.variance)
    assert synopsis.difference({"a": 0}, {"a": 1}).variance == pytest.approx(72 * synopsis.variance)


def test_separate_marginals_know_the_variance_of_cells_only():
    synopsis = made(mechanism=Direct())
    assert isinstance(synopsis, MarginalSynopsis)
    view = synopsis.held[0].attributes
    one = synopsis.count(dict.fromkeys(view, 1))
    assert one.variance == synopsis.held[0].variance[(1,) * len(view)]
    several = synopsis.count({view[0]: 1})
    assert several.estimate > 0 and math.isnan(several.variance)
    assert math.isnan(synopsis.difference({view[0]: 1}, dict.fromkeys(view, 1)).variance)


def test_an_even_spread_does_not_know_what_it_misses():
    synopsis = made(mechanism=Uniform())
    total, half = synopsis.count({}), synopsis.count({"a": 1})
    assert not total.reconstructed and total.variance == pytest.approx(synopsis.variance)
    assert half.estimate == pytest.approx(total.estimate / 2)
    assert half.reconstructed and math.isnan(half.variance)
    assert half.noise_variance == pytest.approx(synopsis.variance / 4)


def test_records_count_but_know_no_error():
    synopsis = margin.simulate(
        codes(), domain=DOMAIN, budget=margin.ApproxDP(1, "1e-6"), mechanism=DualQuery(), seed=0
    ).synopsis
    assert isinstance(synopsis, RecordSynopsis)
    assert synopsis.count({}).estimate == pytest.approx(synopsis.total)
    assert math.isnan(synopsis.count({"a": 1}).variance)


def _cells(kinds=(Leaves, Leaves), theta=1):
    """All cells of a table of 3 x 2, without sampling."""
    domain = Domain({"x": 3, "y": ["no", "yes"]})
    axes = tuple(kind(size) for kind, size in zip(kinds, domain.sizes, strict=True))
    nodes = np.indices([axis.nodes for axis in axes]).reshape(2, -1).T
    return CellSynopsis(
        domain=domain,
        axes=axes,
        codes=nodes.astype(np.int64),
        values=np.arange(1, len(nodes) + 1),
        theta=theta,
        tau=0.0,
        two_sided=True,
        variance=4.0,
    )


def test_kept_cells_have_independent_errors():
    synopsis = _cells()
    found = synopsis.count({"x": [0, 2]})
    estimate = synopsis.sum({"x": [0, 2]})
    assert found.estimate == estimate and found.variance == estimate.standard_error**2 == 16.0
    assert synopsis.difference({"x": [0, 1]}, {"x": 2}).variance == pytest.approx(4 * 6)
    # Two cells are in both.
    assert synopsis.ratio({"x": [0, 1]}, {"x": [1, 2]}).covariance == pytest.approx(4 * 2)
    assert synopsis.ratio({"x": 0, "y": "no"}, {"y": "yes"}).covariance == 0.0
    filtered = _cells(theta=2)
    found = filtered.count({"y": "no"})
    assert found.noise_variance == pytest.approx(4 * 3)
    # Nothing tells how many rows the filter dropped.
    for answer in (
        filtered.sum({"y": ["no"]}),
        filtered.sum(lambda cell: cell["y"] == 0),
        filtered.range(y=(0, 1)),
        filtered.point({"x": 0, "y": "no"}),
    ):
        assert np.isnan(answer.standard_error) and answer > 0
    assert found.reconstructed and np.isnan(found.interval(0.95)).all()


def test_nodes_of_a_tree_have_unknown_covariances():
    synopsis = _cells((Tree, Leaves))
    assert synopsis.count({"x": [0, 1]}).variance > 0
    assert math.isnan(synopsis.difference({"x": 0}, {"x": 1}).variance)


def test_items_are_counted_one_by_one():
    synopsis = ColumnCounts(
        domain=Domain({"item": ["milk", "bread", "tea"]}),
        counts=np.array([5.0, 3.0, 1.0]),
        variance=np.array([1.0, 2.0, 3.0]),
        ranking=np.zeros(0, np.int64),
        parameters={},
    )
    assert synopsis.count({"item": "bread"}) == Count(estimate=3.0, noise_variance=2.0)
    difference = synopsis.difference({"item": "milk"}, {"item": "tea"})
    assert difference == Difference(estimate=4.0, noise_variance=4.0)
    for where, found in [({}, "all items"), ({"item": ["milk", "tea"]}, "2 items")]:
        with pytest.raises(DomainError, match=f"exactly one item.*{found}"):
            synopsis.count(where)


def test_sets_of_items_are_no_cells():
    synopsis = ItemsetCounts(
        domain=Domain({"item": ["milk", "bread"]}),
        itemsets=((0, 1),),
        counts=np.array([5.0]),
        variance=np.array([1.0]),
    )
    with pytest.raises(DomainError, match="itemsets, which are not cells"):
        synopsis.count({"item": "milk"})


@pytest.mark.parametrize("method", ["difference", "ratio"])
@pytest.mark.parametrize("wrong", [{"q": 1}, {"a": 2}, {"b": []}, ["a"]])
def test_wrong_conditions_are_refused_in_either_place(method, wrong):
    for pair in [(wrong, {}), ({}, wrong)]:
        with pytest.raises(DomainError):
            getattr(made(), method)(*pair)
    with pytest.raises(DomainError):
        made().count(wrong)
