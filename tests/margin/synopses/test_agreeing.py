"""`Synopsis.tables`: every kind of synopsis gives tables that agree exactly."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import Domain, DomainError, PureDP
from margin.domain.level_views import level_view
from margin.mechanisms import DataCubes, Direct, Flat, Uniform
from margin.solvers import Greedy, Tables, agree
from margin.synopses import agreeing

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 3}
VIEWS = [["b", "a"], ["a", "c", "e"], ["d"], ["d", "b"], ["e", "d", "c"], ["c", "e"]]
RULES = [{"a": 1, "b": [0, 2]}, {"c": 0, "d": 1, "e": 2}]
DOMAINS = {
    "plain": Domain(SIZES),
    "with rules": Domain(SIZES, impossible=RULES),
    "with rows": Domain(SIZES, rows=400),
    "with both": Domain(SIZES, impossible=RULES, rows=400),
}
MECHANISMS = {
    "Auto": None,
    "views": margin.PriView(views=[["a", "b"], ["b", "c", "d"], ["e"]]),
    "adaptive": margin.Adaptive(),
    "each marginal": Direct(nonnegativity=None),
    "data cubes": DataCubes(),
    "full table": Flat(),
    "uniform": Uniform(),
    "records": margin.DualQuery(response=Greedy(), records=1),
}


def rows_of(domain, count=400, seed=0):
    """Random dependent rows that satisfy the rules."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, 20 * count)
    codes = [(rng.integers(0, size, 20 * count) * (1 + hidden)) % size for size in domain.sizes]
    rows = np.stack(codes, axis=1)
    allowed = domain.possible(domain.attributes)[tuple(rows.T)]
    return rows[allowed][:count]


def simulated(domain, mechanism, budget=PureDP("0.5"), seed=0):
    return margin.simulate(
        rows_of(domain),
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=VIEWS if mechanism is not None and "Direct" in repr(mechanism) else None,
        seed=seed,
    )


def check(domain, views, tables, integers=True):
    assert [list(table.attributes) for table in tables] == [list(view) for view in views]
    values = []
    for table in tables:
        assert table.counts.shape == domain.shape(table.attributes) and (table.counts >= 0).all()
        assert not table.counts[~domain.possible(table.attributes)].any()
        assert not table.variance[~domain.possible(table.attributes)].any()
        values.append(table.counts.transpose(np.argsort(domain.axes(table.attributes))))
    together = Tables(
        sizes=domain.sizes,
        views=tuple(tuple(sorted(domain.axes(view))) for view in views),
        values=tuple(values),
        variances=(1.0,) * len(views),
    )
    if integers:
        assert agree(together) and all((value % 1 == 0).all() for value in values)
    else:
        scaled = [np.rint(value * 1e6 / max(together.total, 1e-9)) for value in values]
        projected = [together.with_values(scaled).project(row, ()) for row in range(len(views))]
        assert np.ptp(projected) <= 50
    if domain.rows is not None:
        assert [table.total for table in tables] == pytest.approx([domain.rows] * len(tables))


@pytest.mark.parametrize("declared", DOMAINS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "records" else [])
        for name in MECHANISMS
    ],
)
def test_tables_agree(name, declared):
    domain = DOMAINS[declared]
    try:
        synopsis = simulated(domain, MECHANISMS[name]).synopsis
    except DomainError:
        pytest.skip("the mechanism does not take this domain")
    for integers in (True, False):
        check(domain, VIEWS, synopsis.tables(VIEWS, integers=integers), integers)
    again = synopsis.tables(VIEWS)
    for one, other in zip(synopsis.tables(VIEWS), again, strict=True):
        assert np.array_equal(one.counts, other.counts)


SEPARATE = simulated(DOMAINS["with rules"], None).synopsis
EVERY = [view for size in range(1, 5) for view in itertools.permutations(SIZES, size)]


@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=8), st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_any_workload_agrees(views, seed):
    domain = DOMAINS["with rules"]
    tables = SEPARATE.tables(views, seed=seed)
    check_each = {frozenset(view): table for view, table in zip(views, tables, strict=True)}
    once = [list(table.attributes) for table in check_each.values()]
    check(domain, once, list(check_each.values()))
    for view, table in zip(views, tables, strict=True):
        first = check_each[frozenset(view)]
        order = [first.attributes.index(name) for name in view]
        assert np.array_equal(first.counts.transpose(order), table.counts)


def test_the_variance_is_that_of_the_answer_and_of_rounding():
    domain = DOMAINS["with rules"]
    answers, tables = SEPARATE.marginals(VIEWS), SEPARATE.tables(VIEWS)
    exact = SEPARATE.tables(VIEWS, integers=False)
    for answer, table, fitted in zip(answers, tables, exact, strict=True):
        assert table.reconstructed is answer.reconstructed is fitted.reconstructed
        assert np.array_equal(fitted.variance, answer.variance)
        possible = domain.possible(table.attributes)
        added = (table.variance - answer.variance)[possible]
        assert added == pytest.approx(np.full(added.size, added[0]))
        assert added[0] == pytest.approx(((table.counts - fitted.counts) ** 2).mean())


@pytest.mark.parametrize("integers", [True, False])
def test_intervals_are_those_of_the_answers_and_hold_the_counts(integers):
    answers, tables = SEPARATE.marginals(VIEWS), SEPARATE.tables(VIEWS, integers=integers)
    for answer, table in zip(answers, tables, strict=True):
        for one in (table, pickle.loads(pickle.dumps(table))):
            for level in (0.5, 0.95):
                low, high = answer.interval(level)
                found = one.interval(level)
                assert found[0] == pytest.approx(np.minimum(low, table.counts))
                assert found[1] == pytest.approx(np.maximum(high, table.counts))


def test_counts_that_agreement_moved_out_are_counted():
    answer, table = SEPARATE.marginal(VIEWS[0]), SEPARATE.tables(VIEWS)[0]
    low, high = answer.interval(0.95)
    counts = np.rint(table.counts)
    # One count far below its bounds, and another one above by less than one row.
    counts.flat[0], counts.flat[1] = low.flat[0] - 5, high.flat[1] + 0.9
    moved = agreeing._with_counts(answer, counts, 0.0, np.ones(counts.shape, np.bool_))
    outside = (counts < low - 1) | (counts > high + 1)
    assert outside.flat[0] and not outside.flat[1]
    assert moved.moved_out() == outside.sum() > 0
    assert answer.moved_out() == 0


PATHS = [[f"S{tract // 5}", f"C{tract // 2}x{tract // 5}", f"T{tract}"] for tract in range(12)]
LEVELLED = Domain(
    {
        "sex": 2,
        "place": {"levels": {"names": ["state", "county", "tract"], "paths": PATHS}},
        "smokes": 2,
    },
    impossible=[{"place": ["T0", "T1"], "sex": 1}],
    rows=500,
)


@pytest.mark.parametrize("integers", [True, False])
def test_levels_agree(integers):
    synopsis = simulated(LEVELLED, margin.PriView(views=[["sex", "place"], ["smokes"]])).synopsis
    asked = [["smokes", "place@state"], ["place@county", "sex"], ["place", "smokes"], ["place"]]
    answers = synopsis.marginals(asked)
    tables = synopsis.tables(asked, integers=integers)
    states, counties, tracts, places = (table.counts for table in tables)
    of_county = [level_view(LEVELLED, ["place@county"]), level_view(LEVELLED, ["place@state"])]
    assert [table.attributes for table in tables] == [one.attributes for one in answers]
    for one, other in (
        (tracts.sum(axis=1), places),
        (counties.sum(axis=1), of_county[0].rolled_up(places)),
        (states.sum(axis=0), of_county[1].rolled_up(places)),
        (states, of_county[1].rolled_up(tracts).T),
    ):
        assert one == pytest.approx(other, abs=0 if integers else 1e-6)
    assert counties[0, 1] == 0 == tables[1].variance[0, 1]
    for table, answer in zip(tables, answers, strict=True):
        assert table.counts.sum() == pytest.approx(500)
        assert not integers or (table.counts % 1 == 0).all()
        assert (table.variance >= answer.variance).all()


def test_no_rows_give_empty_tables():
    nothing = np.zeros((0, 5), int)
    for seed in range(20):
        synopsis = margin.simulate(
            nothing, domain=DOMAINS["plain"], budget=PureDP("0.1"), seed=seed
        ).synopsis
        tables = synopsis.tables(VIEWS)
        check(DOMAINS["plain"], VIEWS, tables)
        if synopsis.held.total <= 0:
            assert all(table.total == 0 for table in tables)
            return
    raise AssertionError("no seed gave a total of zero or below")


def test_a_rule_about_an_attribute_that_is_not_asked_still_holds():
    """c and d = 0 imply each other, and e = 1 forbids what is left; so a and e are bound by c."""
    domain = Domain(
        {"a": 2, "c": 2, "e": 2},
        impossible=[{"a": 0, "c": 0}, {"c": 1, "e": 0}],
    )
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (2000, 3))
    rows = rows[domain.possible(domain.attributes)[tuple(rows.T)]]
    synopsis = margin.simulate(rows, domain=domain, budget=PureDP(5), seed=1).synopsis
    (table,) = synopsis.tables([["a", "e"]])
    assert table.counts[0, 0] == 0
    assert np.abs(table.counts - synopsis.marginal(["a", "e"]).counts).max() < 1


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(agreeing, "_MOST_CELLS", 20)
    with pytest.raises(DomainError, match="at most 20 cells, but they have 22"):
        SEPARATE.tables([["b", "a"], ["a", "c", "d"], ["a", "b"]])
    monkeypatch.undo()
    monkeypatch.setattr(agreeing, "_MOST_ROWS", 20)
    with pytest.raises(DomainError, match="integers=False"):
        SEPARATE.tables(VIEWS)


@pytest.mark.slow
def test_agreement_costs_next_to_nothing():
    """The error over that of the separate answers, on the mean over workloads and budgets."""
    domain = DOMAINS["plain"]
    rng = np.random.default_rng(5)
    ratios = []
    for seed in range(30):
        budget = PureDP(["0.05", "0.2", "1"][seed % 3])
        made = simulated(domain, None, budget, seed=seed)
        picked = rng.choice(len(EVERY), 8, replace=False)
        views = list({frozenset(EVERY[place]): EVERY[place] for place in picked}.values())
        truths = made.truths(views)
        errors = [
            np.mean(
                [
                    np.sqrt(((answer.counts - truth.counts) ** 2).sum())
                    for answer, truth in zip(answers, truths, strict=True)
                ]
            )
            for answers in (made.synopsis.tables(views), made.synopsis.marginals(views))
        ]
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) <= 1.05
