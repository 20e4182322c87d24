"""Tables that rules link: they agree on what the rules make them share, published or not."""

import dataclasses

import numpy as np
import pytest

import margin
from margin import Domain
from margin.synopses.estimate import from_measurements

JOBS = ["none", "clerk", "driver", "nurse"]
ATTRIBUTES = {
    "region": 4,
    "status": ["employed", "unemployed", "inactive"],
    "job": JOBS,
    "hours": ["none", "short", "long"],
    "sector": ["none", "public", "private"],
}
EMPLOYED_HAVE_JOBS = [
    {"status": "employed", "job": "none"},
    {"status": ["unemployed", "inactive"], "job": JOBS[1:]},
]
HOURS = [
    {"status": "employed", "hours": "none"},
    {"status": ["unemployed", "inactive"], "hours": ["short", "long"]},
]
SECTORS = [
    {"job": "none", "sector": ["public", "private"]},
    {"job": JOBS[1:], "sector": "none"},
    {"job": "nurse", "sector": "private"},
]
# What each category says: the name of the attribute that tells whether somebody works.
WORKS = {
    "status": [True, False, False],
    "job": [False, True, True, True],
    "hours": [False, True, True],
    "sector": [False, True, True],
}
RULES = {
    "one pair": EMPLOYED_HAVE_JOBS,
    "two pairs": EMPLOYED_HAVE_JOBS + HOURS,
    "a chain": EMPLOYED_HAVE_JOBS + HOURS + SECTORS,
}
PAIRS = {
    "one pair": [("status", "job")],
    "two pairs": [("status", "job"), ("status", "hours"), ("job", "hours")],
    "a chain": [("status", "job"), ("status", "sector"), ("job", "hours"), ("hours", "sector")],
}
CASES = [(rules, pair) for rules, pairs in PAIRS.items() for pair in pairs]


def domain_of(rules):
    return Domain(ATTRIBUTES, impossible=RULES[rules])


def made(domain, views, seed=0, sd=8.0, rows=2_000):
    """A synopsis of noisy tables of random rows."""
    rng = np.random.default_rng(seed)
    possible = domain.possible(domain.attributes)
    shares = rng.exponential(1.0, possible.shape) * possible
    array = rng.multinomial(rows, (shares / shares.sum()).ravel()).reshape(possible.shape)
    noisy = []
    for view in views:
        others = tuple(axis for axis, name in enumerate(domain) if name not in view)
        table = array.sum(axis=others)
        noisy.append((view, table + rng.normal(0.0, sd, table.shape), sd))
    return from_measurements(noisy, domain=domain)


def at_work(table, name):
    """The number of those who work in each region, from a table on region and another attribute."""
    return table.counts[:, WORKS[name]].sum(axis=1)


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize(("rules", "pair"), CASES, ids=str)
def test_published_tables_agree_on_what_rules_make_them_share(rules, pair, integers):
    views = [["region", name] for name in pair]
    one, other = made(domain_of(rules), views).tables(views, integers=integers)
    shared = at_work(one, pair[0]) - at_work(other, pair[1])
    if integers:
        assert not shared.any()
    else:
        assert np.abs(shared).max() < 1e-6


@pytest.mark.parametrize(("rules", "pair"), CASES, ids=str)
def test_answers_agree_and_use_what_both_tables_tell(rules, pair):
    domain = domain_of(rules)
    views = [["region", name] for name in pair]
    synopsis = made(domain, views)
    one, other = (synopsis.marginal(view) for view in views)
    np.testing.assert_allclose(at_work(one, pair[0]), at_work(other, pair[1]), atol=1e-6)
    for name, answer, held in zip(pair, (one, other), synopsis.views, strict=True):
        assert (held.noise_variance == answer.noise_variance).all()
        alone = made(domain, [["region", name]]).marginal(["region", name])
        assert answer.noise_variance.mean() < 0.97 * alone.noise_variance.mean()
        # The same number has the same error, whichever table tells it.
        (no,) = [code for code, works in enumerate(WORKS[name]) if not works][:1]
        if WORKS[name].count(False) == 1:
            count = synopsis.count({"region": 0, name: domain[name].name(no)})
            assert count.noise_variance == pytest.approx(answer.noise_variance[0, no])
    counts = [
        synopsis.count(
            {"region": 1, name: [domain[name].name(c) for c in np.flatnonzero(WORKS[name])]}
        )
        for name in pair
    ]
    assert counts[0].estimate == pytest.approx(counts[1].estimate)
    assert counts[0].noise_variance == pytest.approx(counts[1].noise_variance)


@pytest.mark.parametrize("integers", [True, False])
def test_an_attribute_that_another_one_determines_has_the_same_sums(integers):
    paths = [("north", "n1"), ("north", "n2"), ("north", "n3"), ("south", "s1"), ("south", "s2")]
    domain = Domain(
        {
            "place": {"levels": {"names": ["state", "place"], "paths": paths}},
            "state": ["north", "south"],
            "age": 3,
        },
        determined={"state": "place@state"},
    )
    views = [["place", "age"], ["state", "age"]]
    synopsis = made(domain, views)
    places, states = synopsis.tables(views, integers=integers)
    np.testing.assert_allclose(places.counts[:3].sum(axis=0), states.counts[0], atol=1e-6)
    levels = synopsis.marginal(["place@state", "age"])
    answer = synopsis.marginal(["state", "age"])
    np.testing.assert_allclose(levels.counts, answer.counts, atol=1e-6)
    np.testing.assert_allclose(levels.noise_variance, answer.noise_variance, rtol=1e-9)


def test_the_bounds_hold_as_often_as_they_say():
    """400 bounds of 95 %: 5 standard deviations are 0.054, which happens once in a million."""
    domain = domain_of("one pair")
    views = [["region", "status"], ["region", "job"]]
    rng = np.random.default_rng(3)
    truth = {"status": np.array([[300, 80, 90]] * 4), "job": np.array([[170, 120, 90, 90]] * 4)}
    held = []
    for _ in range(400):
        noisy = [
            (view, truth[view[1]] + rng.normal(0.0, sd, truth[view[1]].shape), sd)
            for view, sd in zip(views, (9.0, 5.0), strict=True)
        ]
        synopsis = from_measurements(noisy, domain=domain)
        low, high = synopsis.count({"region": 0, "status": "employed"}).interval(0.95)
        held.append(low <= 300 <= high)
    assert abs(np.mean(held) - 0.95) < 0.054


def test_a_file_whose_tables_do_not_agree_is_linked_when_it_is_read(tmp_path):
    domain = domain_of("one pair")
    views = [["region", "status"], ["region", "job"]]
    synopsis = margin.simulate(
        {name: np.array([0]) for name in ("region",)}
        | {"status": np.array(["employed"]), "job": np.array(["clerk"])}
        | {"hours": np.array(["none"]), "sector": np.array(["none"])},
        domain=domain,
        budget=margin.PureDP(1),
        mechanism=margin.PriView(views=views),
        seed=0,
    ).synopsis
    rng = np.random.default_rng(0)
    values = [table + rng.uniform(50, 90, table.shape) for table in synopsis.held.values]
    apart = dataclasses.replace(synopsis.held, values=tuple(values))
    apart = margin.solvers.ResidualConsistency()(dataclasses.replace(apart, zeros=None))
    unlinked = synopsis.with_tables(dataclasses.replace(apart, zeros=synopsis.held.zeros))
    one, other = (unlinked.marginal(view) for view in views)
    assert np.abs(at_work(one, "status") - at_work(other, "job")).max() > 1
    assert (one.noise_variance > 0).all()
    unlinked.save(tmp_path / "apart.margin")
    read = margin.load(tmp_path / "apart.margin", allow_simulation=True)
    one, other = (read.marginal(view) for view in views)
    np.testing.assert_allclose(at_work(one, "status"), at_work(other, "job"), atol=1e-4)
    assert one.noise_variance.mean() < unlinked.marginal(views[0]).noise_variance.mean()


@pytest.mark.parametrize("nonnegativity", [margin.solvers.JointProjection(), None])
def test_linked_tables_are_written_as_they_are_answered(nonnegativity, tmp_path):
    """Levels change how negative counts are removed; links are kept all the same."""
    paths = [("north", "n1"), ("north", "n2"), ("south", "s1")]
    domain = Domain(
        {
            "place": {"levels": {"names": ["state", "place"], "paths": paths}},
            "state": ["north", "south"],
            "age": 12,
        },
        determined={"state": "place@state"},
    )
    rows = {"place": ["n1", "s1", "n1"], "state": ["north", "south", "north"], "age": [3, 4, 4]}
    views = [["place", "age"], ["state", "age"]]
    synopsis = margin.simulate(
        rows,
        domain=domain,
        budget=margin.PureDP(1),
        mechanism=margin.PriView(views=views, nonnegativity=nonnegativity),
        seed=2,
    ).synopsis
    places, states = (synopsis.marginal(view) for view in views)
    np.testing.assert_allclose(places.counts[:2].sum(axis=0), states.counts[0], atol=1e-6)
    synopsis.save(tmp_path / "made.margin")
    read = margin.load(tmp_path / "made.margin", allow_simulation=True)
    for view, answer in zip(views, (places, states), strict=True):
        assert (read.marginal(view).counts == answer.counts).all()
        assert (read.marginal(view).noise_variance == answer.noise_variance).all()
