"""Marginals at levels: each cell is the sum of the cells below it, with the variance of the sum."""

import functools
import json
import tracemalloc

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, DomainError, PriView, PureDP, Workload
from margin.domain.level_views import level_view
from margin.mechanisms import (
    Auto,
    Direct,
    DPSense,
    FilterPriority,
    Flat,
    Residual,
    Uniform,
)
from margin.solvers import IPF, Newton

PATHS = [[f"S{tract // 5}", f"C{tract // 2}x{tract // 5}", f"T{tract}"] for tract in range(12)]
FORMS = {
    "sex": {"values": {"F": ["f", "female"], "M": ["male"]}},
    "place": {"levels": {"names": ["state", "county", "tract"], "paths": PATHS}},
    "smokes": 2,
    "visit": {"dates": {"from": "2020-01-01", "to": "2020-12-31", "by": "month"}, "missing": "?"},
}
DOMAIN = Domain(FORMS)
RULED = Domain(
    FORMS,
    impossible=[{"place": ["T0", "T7"], "sex": "F"}, {"visit": None, "smokes": 1}],
    rows=2000,
)
VIEWS = [["sex", "place"], ["place", "smokes"], ["visit", "smokes"]]
ASKED = [
    ["place@state"],
    ["place@county", "sex"],
    ["sex", "place@state"],
    ["visit@quarter", "smokes"],
    ["place@state", "visit@year"],
    ["place@tract", "sex"],
]


@functools.cache
def codes():
    rng = np.random.default_rng(1)
    return np.column_stack([rng.integers(0, size, 2000) for size in DOMAIN.sizes])


@functools.cache
def made(mechanism=None, domain=DOMAIN):
    mechanism = mechanism or PriView(views=VIEWS)
    workload = VIEWS if isinstance(mechanism, Direct | Residual) else None
    return margin.simulate(
        codes(), domain=domain, budget=PureDP(1), mechanism=mechanism, workload=workload, seed=3
    )


MECHANISMS = {
    "views": PriView(views=VIEWS),
    "another solver": PriView(views=VIEWS, reconstruction=IPF()),
    "auto": Auto(),
    "components": Residual(),
    "each marginal": Direct(),
    "the full table": Flat(),
    "no table": Uniform(),
    "cells": FilterPriority(size=200),
}


# Their counts of conditions allow for rules; the others' counts include excluded cells.
RULES = ("views", "another solver", "auto", "components")


@pytest.mark.parametrize("domain", [DOMAIN, RULED], ids=["free", "ruled"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_cell_is_the_sum_of_its_cells_and_the_count_of_its_condition(name, domain):
    simulation = made(MECHANISMS[name], domain)
    answered = 0
    for view in ASKED:
        try:
            marginal = simulation.marginal(view)
        except DomainError:
            # Not every marginal can be answered without views on it.
            assert name in ("each marginal", "cells")
            continue
        answered += 1
        assert marginal.attributes == tuple(view)
        attributes = [one.split("@")[0] for one in view]
        cells = simulation.marginal(attributes)
        sums = level_view(domain, view).rolled_up(cells.counts)
        assert marginal.counts == pytest.approx(sums, rel=1e-9, abs=1e-6)
        possible = level_view(domain, view).rolled_up(1.0 * domain.possible(attributes))
        assert not marginal.variance[possible == 0].any()
        if domain is RULED and name not in RULES:
            continue
        for place in np.ndindex(marginal.counts.shape):
            labels = [marginal.domain[one].label(at) for one, at in zip(view, place, strict=True)]
            count = simulation.synopsis.count(dict(zip(view, labels, strict=True)))
            assert marginal.counts[place] == pytest.approx(count.estimate, rel=1e-6, abs=1e-6)
            for own, other in (
                (marginal.noise_variance, count.noise_variance),
                (marginal.missed_variance, count.missed_variance),
            ):
                assert own[place] == pytest.approx(other, rel=1e-6, abs=1e-6, nan_ok=True)
    assert answered


def test_what_is_known_of_the_errors():
    """Sums of cells of views have known errors; those of separate marginals have none."""
    for view in ASKED:
        marginal = made().marginal(view)
        assert marginal.reconstructed == (view == ["place@state", "visit@year"])
        assert np.isfinite(marginal.variance).all() and (marginal.noise_variance > 0).all()
        low, high = marginal.interval()
        assert ((low <= marginal.counts) & (marginal.counts <= high)).all()
    direct = made(Direct()).marginal(["place@state", "sex"])
    assert np.isnan(direct.noise_variance).all()
    # A level of single leaves is the attribute itself.
    leaves = made(Direct()).marginal(["place@tract", "sex"])
    assert (leaves.noise_variance == made(Direct()).marginal(["place", "sex"]).variance).all()


@pytest.mark.parametrize("budget", [PureDP("1e-5"), PureDP("1e-6")], ids=repr)
def test_without_a_positive_total_levels_are_zero_and_their_errors_unknown(budget):
    """The sum of a table of noise is negative in about half of the releases."""
    empty = np.zeros((0, len(DOMAIN)), np.int64)
    mechanism = PriView(views=VIEWS)
    for seed in range(40):
        synopsis = margin.simulate(
            empty, domain=DOMAIN, budget=budget, mechanism=mechanism, seed=seed
        ).synopsis
        if synopsis.held.total <= 0:
            found = synopsis.marginal(["place@state", "visit@year"])
            assert not found.counts.any() and np.isnan(found.noise_variance).all()
            return
    pytest.fail("one of 40 totals is not positive")


def test_a_level_of_one_node_has_what_the_table_without_it_says():
    """A year is all twelve months, so no codes of the months are asked for."""
    dates = {"from": "2020-01-01", "to": "2020-12-31", "by": "month"}
    forms = {"sex": ["F", "M"], "smokes": 2, "visit": {"dates": dates}}
    mechanism = PriView(views=[["sex"], ["smokes"], ["visit"]])
    rows = np.random.default_rng(4).integers(0, 2, (500, 3))
    synopsis = margin.simulate(
        rows, domain=Domain(forms), budget=PureDP(1), mechanism=mechanism, seed=1
    ).synopsis
    found = synopsis.marginal(["sex", "visit@year", "smokes"])
    expected = synopsis.marginal(["sex", "smokes"])
    assert found.counts.shape == (2, 1, 2)
    for name in ("counts", "noise_variance", "missed_variance"):
        theirs = getattr(found, name)[:, 0]
        assert theirs == pytest.approx(getattr(expected, name), rel=1e-6), name


def test_intervals_hold_the_truth():
    """Of 960 cells, 95 % are expected inside: 91 % is 5.7 standard deviations below (1e-8)."""
    inside = []
    for seed in range(40):
        simulation = margin.simulate(
            codes(), domain=DOMAIN, budget=PureDP(1), mechanism=PriView(views=VIEWS), seed=seed
        )
        for view in (["place@county", "sex"], ["visit@quarter", "smokes"]):
            marginal, truth = simulation.marginal(view), simulation.truth(view)
            low, high = marginal.interval(0.95)
            inside.append(((low <= truth.counts) & (truth.counts <= high)).mean())
    assert np.mean(inside) > 0.91


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.02")], ids=repr)
@pytest.mark.parametrize(
    "view", [["place@county", "sex"], ["visit@quarter"], ["place@state"]], ids=str
)
def test_a_base_hardly_widens_the_intervals_of_levels(view, budget):
    """A base adds no more than a fifth to the standard deviation, and the truth is inside.

    Of at least 36 cells in 12 runs, 95 % are expected inside; at most three quarters of them are
    with a probability below 1e-6.
    """
    inside = []
    squares = {True: 0.0, False: 0.0}
    mechanism = PriView(views=VIEWS)
    for seed in range(12):
        earlier = margin.simulate(
            codes(), domain=DOMAIN, budget=budget, mechanism=mechanism, seed=100 + seed
        ).synopsis
        for base in (earlier, None):
            simulation = margin.simulate(
                codes(), domain=DOMAIN, budget=budget, mechanism=mechanism, seed=seed, base=base
            )
            marginal = simulation.marginal(view)
            squares[base is not None] += marginal.variance.sum()
            if base is not None:
                low, high = marginal.interval(0.95)
                truth = simulation.truth(view).counts
                inside.append(((low <= truth) & (truth <= high)).mean())
    assert squares[True] < 1.2**2 * squares[False]
    assert np.mean(inside) > 0.75


def test_errors_of_levels_take_little_memory():
    """The sums are computed over the whole array, 2**18 cells, a few of them at a time."""
    forms = {"place": {"levels": {"names": ["state", "place"], "paths": _paths(64)}}}
    domain = Domain(forms | {"age": 64, "sex": 2, "work": 32})
    rows = np.column_stack([np.random.default_rng(0).integers(0, n, 500) for n in domain.sizes])
    mechanism = Residual(order=1, reconstruction=Newton(context=4))
    synopsis = margin.simulate(
        rows, domain=domain, budget=PureDP(1), mechanism=mechanism, seed=0
    ).synopsis
    synopsis.marginal(["place", "sex"])  # the whole array is reconstructed once
    tracemalloc.start()
    try:
        answer = synopsis.marginal(["place@state", "sex"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # One array of the weights of all 32 sums would take 67 MB, and there are several.
    assert peak < 120e6
    count = synopsis.count({"place": ["P0", "P1", "P2", "P3"], "sex": 1})
    assert answer.noise_variance[0, 1] == pytest.approx(count.noise_variance)
    assert answer.missed_variance[0, 1] == pytest.approx(count.missed_variance)


def _paths(count):
    return [[f"S{at // 4:02}", f"P{at}"] for at in range(count)]


def test_many_are_answered_as_one_by_one():
    asked = [["place"], ["place@state", "sex"], ["sex", "smokes"], ["place@state"]]
    for workload in (asked, Workload.of(DOMAIN, asked)):
        together = made().synopsis.marginals(workload)
        truths = made().truths(workload)
        for view, answer, truth in zip(asked, together, truths, strict=True):
            assert (answer.counts == made().marginal(view).counts).all()
            assert answer.attributes == truth.attributes == tuple(view)
            assert truth.total == 2000
    tracts, counties = made().truths([["place"], ["place@county"]])
    assert (
        counties.counts.tolist() == np.add.reduceat(tracts.counts, [0, 2, 4, 5, 6, 8, 10]).tolist()
    )


def test_levels_outlive_a_file(tmp_path):
    made(domain=RULED).save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin", allow_simulation=True)
    assert loaded.domain == RULED
    for view in ASKED:
        own, other = loaded.marginal(view), made(domain=RULED).marginal(view)
        assert (own.counts == other.counts).all() and (own.variance == other.variance).all()


def test_exports_keep_the_names():
    marginal = made().marginal(["place@state", "sex"])
    assert marginal.to_pandas().index.names == ["place@state", "sex"]
    assert marginal.to_arrow().column_names[:2] == ["place@state", "sex"]
    assert marginal.to_polars().columns[:2] == ["place@state", "sex"]
    assert marginal.to_xarray().sizes == {"place@state": 3, "sex": 2}
    attributes = json.loads(marginal.to_json())["attributes"]
    assert attributes == {"place@state": ["S0", "S1", "S2"], "sex": ["F", "M"]}
    assert marginal.project(["place@state"]).counts.sum() == pytest.approx(marginal.total)


@pytest.mark.parametrize("mechanism", [Auto(), Residual(), PriView(), Direct(), Flat()])
def test_a_workload_on_levels_can_be_released(mechanism):
    workload = Workload.of(
        DOMAIN,
        [["place@state", "sex"], ["visit@year", "smokes"], ["place", "smokes"]],
        asked={"visit": "prefixes", "place": "levels"},
    )
    rows = {
        name: [DOMAIN[name].label(code) for code in column]
        for name, column in zip(DOMAIN, codes().T.tolist(), strict=True)
    }
    synopsis = margin.release(
        rows, domain=DOMAIN, budget=PureDP(1000), mechanism=mechanism, workload=workload
    )
    for view in workload.names:
        assert synopsis.marginal(view).total == pytest.approx(2000, abs=20)


def test_items_of_a_row_do_not_add_up():
    paths = [["fruit", "apple"], ["fruit", "pear"], ["bread", "roll"]]
    domain = Domain({"item": {"levels": {"names": ["kind", "item"], "paths": paths}}})
    baskets = [["apple", "pear"], ["apple"], ["roll"]] * 20
    rows = margin.data.Pairs(
        {
            "user": [user for user, items in enumerate(baskets) for _ in items],
            "item": [item for items in baskets for item in items],
        }
    )
    synopsis = margin.simulate(
        rows, domain=domain, budget=PureDP(1), mechanism=DPSense(), seed=0
    ).synopsis
    assert synopsis.marginal(["item@item"]).counts.shape == (3,)
    with pytest.raises(DomainError, match="a row may hold several"):
        synopsis.marginal(["item@kind"])
