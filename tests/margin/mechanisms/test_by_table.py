"""The expected error of each table, at the levels at which it is asked."""

import itertools
import math

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, Neighbours, PureDP, Workload
from margin import mechanisms as all_mechanisms
from margin.designs import least_squares_error
from margin.domain.level_views import attribute_at, level_view
from margin.mechanisms import strategies
from margin.mechanisms.axis_queries import asked_queries
from margin.mechanisms.by_table import largest_errors, of_views, table_errors, weighted
from margin.mechanisms.strategies.dense import Coordinates, Dense
from margin.private import Private, linear_variances

PATHS = [["A", "a1"], ["A", "a2"], ["A", "a3"], ["B", "b1"], ["B", "b2"], ["C", "c1"]]
PLACE = {"levels": {"names": ["state", "county"], "paths": PATHS}}
AGE = {"bins": [0, 20, 65, 120], "ordered": True}
DOMAIN = Domain({"sex": 2, "place": PLACE, "age": AGE, "one": 1})
TABLES = [
    ["place@state", "sex"],
    ["age", "place@state", "one"],
    ["place", "age"],
    ["place@state"],
    ["sex", "age"],
]
WORKLOAD = Workload.of(DOMAIN, TABLES, weights=[1, 2, 3, 1, 2])


def matrix(names):
    """The matrix that adds up the cells of the full table to the counts of a table."""
    cells = math.prod(DOMAIN.sizes)
    view = level_view(DOMAIN, names)
    axes = DOMAIN.axes(view.view)
    other = tuple(axis for axis in range(len(DOMAIN)) if axis not in axes)
    order = np.argsort(np.argsort(axes))
    columns = []
    for cell in np.eye(cells):
        table = cell.reshape(DOMAIN.sizes).sum(axis=other).transpose(order)
        columns.append(view.rolled_up(table).ravel())
    return np.array(columns).T


def test_errors_of_views_are_those_of_least_squares():
    views = [["sex", "place", "age"], ["place", "age"], ["sex", "age"], ["place"]]
    variances = [4.0, 1.0, 0.5, 0.25]
    axes = [sorted(DOMAIN.axes(view)) for view in views]
    queries = np.concatenate([matrix(view) for view in views])
    noise = np.concatenate(
        [np.full(len(matrix(v)), s) for v, s in zip(views, variances, strict=True)]
    )
    covariance = np.linalg.pinv(queries.T @ (queries / noise[:, None]))
    errors = table_errors(DOMAIN, WORKLOAD, of_views(DOMAIN, axes, variances))
    for names, error in zip(TABLES, errors, strict=True):
        own = matrix(names)
        assert error == pytest.approx(np.trace(own @ covariance @ own.T)), names
    # Without levels it is the closed form of `designs`, also of many tables at once.
    whole = Workload.all_kway(DOMAIN, 2)
    total = weighted(whole, table_errors(DOMAIN, whole, of_views(DOMAIN, axes, variances)))
    asked = [DOMAIN.axes(view) for view in whole]
    assert total == pytest.approx(
        least_squares_error(DOMAIN.sizes, axes, variances, workload=asked)
    )


def test_a_table_that_no_view_holds_has_no_closed_form():
    precision = of_views(DOMAIN, [(0, 1), (2,)], [1.0, 1.0])
    for errors in (
        table_errors(DOMAIN, WORKLOAD, precision),
        largest_errors(DOMAIN, WORKLOAD, precision),
    ):
        assert [math.isinf(error) for error in errors] == [False, True, True, False, True]


@pytest.mark.parametrize("asks", [{"place": "levels"}, {"age": "ranges"}, {"age": "prefixes"}])
def test_a_level_that_a_view_names_is_asked_alone(asks):
    workload = Workload.of(DOMAIN, TABLES, asked=asks)
    grams = {name: asked.gram for name, asked in asked_queries(DOMAIN, workload).items()}
    precision = of_views(DOMAIN, [(0, 1, 2)], [1.0])
    errors = table_errors(DOMAIN, workload, precision)
    # The noise of a table is independent in all cells: a query of m cells has m times its variance.
    whole = 36.0
    (name,) = asks
    for names, error in zip(TABLES, errors, strict=True):
        factor = np.trace(grams[name]) / DOMAIN[name].size if name in names else 1
        assert error == pytest.approx(whole * factor), names


MECHANISMS = [
    margin.PriView(),
    margin.PriView(views=[["sex", "place"], ["place", "age"], ["sex", "age"]]),
    all_mechanisms.DataCubes(),
    all_mechanisms.Direct(),
    all_mechanisms.Flat(),
    all_mechanisms.Fourier(),
    all_mechanisms.Hierarchical(),
    all_mechanisms.Wavelet(),
    all_mechanisms.LevelCounts(),
    all_mechanisms.Residual(order=3),
    all_mechanisms.MatrixMechanism(),
    all_mechanisms.MatrixMechanism(strategy=strategies.WeightedMarginals()),
    all_mechanisms.MatrixMechanism(strategy=strategies.EigenDesign()),
]


@pytest.fixture
def measured(monkeypatch):
    """What a mechanism measures: pairs of a matrix over the full table and a noise variance."""
    found = []

    def measure(self, views, **options):
        made = of_tables(self, views, **options)
        for table in made:
            found.append((matrix(list(table.domain)), float(table.variance.flat[0])))
        return made

    def measure_linear(self, asked, **options):
        made = of_queries(self, asked, **options)
        for strategy, answers in zip(asked, made, strict=True):
            queries = np.ones((1, 1))
            for factor in strategy.factors:
                queries = np.kron(queries, factor.matrix)
            found.append((queries @ matrix(strategy.view), answers.variance))
        return made

    of_tables, of_queries = Private.measure, Private.measure_linear
    monkeypatch.setattr(Private, "measure", measure)
    monkeypatch.setattr(Private, "measure_linear", measure_linear)
    return found


def expected(measured, names, gram=None):
    """The summed error variance of a table by least squares from all that is measured."""
    queries = np.concatenate([rows for rows, _ in measured])
    noise = np.concatenate([np.full(len(rows), variance) for rows, variance in measured])
    covariance = np.linalg.pinv(queries.T @ (queries / noise[:, None]), hermitian=True)
    own = matrix(names)
    covariance = own @ covariance @ own.T
    return float(np.trace(covariance if gram is None else gram @ covariance))


def largest(measured, names, queries=None):
    """The largest error variance of a count of a table, or of some queries, by least squares."""
    rows = np.concatenate([rows for rows, _ in measured])
    noise = np.concatenate([np.full(len(rows), variance) for rows, variance in measured])
    covariance = np.linalg.pinv(rows.T @ (rows / noise[:, None]), hermitian=True)
    own = matrix(names) if queries is None else queries @ matrix(names)
    return float((own @ covariance @ own.T).diagonal().max())


@pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)], ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_the_error_of_each_table_is_that_of_what_is_measured(mechanism, budget, measured):
    codes = np.random.default_rng(0).integers(0, DOMAIN.sizes, (500, len(DOMAIN)))
    margin.simulate(
        codes, domain=DOMAIN, budget=budget, mechanism=mechanism, workload=WORKLOAD, seed=0
    )
    errors = mechanism.table_errors(DOMAIN, WORKLOAD, budget)
    most = mechanism.largest_errors(DOMAIN, WORKLOAD, budget)
    for place, (names, error) in enumerate(zip(TABLES, errors, strict=True)):
        # `Direct` answers each table from its own measurement alone.
        direct = isinstance(mechanism, all_mechanisms.Direct)
        own = [measured[place]] if direct else measured
        assert error == pytest.approx(expected(own, names), rel=1e-4), names
        assert most[place] == pytest.approx(largest(own, names), rel=1e-4), names
    found = mechanism.expected_error(DOMAIN, WORKLOAD, budget)
    assert found == pytest.approx(weighted(WORKLOAD, errors), rel=1e-4)


@pytest.mark.parametrize("known", [{("sex", "age"): np.full((2, 3), 50)}, {}], ids=["known", ""])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_the_tables_add_up_to_the_error_of_the_workload(mechanism, known):
    """Also where tables are known, and where what is asked is all pairs."""
    domain = Domain(DOMAIN, known=known)
    views = [[name.partition("@")[0] for name in names] for names in TABLES]
    some = Workload.of(DOMAIN, views, weights=[1, 2, 3, 1, 2])
    for workload in (some, Workload.all_kway(DOMAIN, 2)):
        errors = mechanism.table_errors(domain, workload, ZCDP("0.5"))
        if math.inf in errors:
            with pytest.raises(margin.MarginError):
                mechanism.expected_error(domain, workload, ZCDP("0.5"))
            continue
        total = mechanism.expected_error(domain, workload, ZCDP("0.5"))
        assert weighted(workload, errors) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)], ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "asks",
    [{"place": "levels"}, {"age": "prefixes"}, {"place": "levels", "age": "ranges"}],
    ids=["levels", "prefixes", "levels and ranges"],
)
def test_so_it_is_where_more_than_cells_is_asked(asks, mechanism, budget, measured):
    workload = Workload.of(DOMAIN, TABLES, asked=asks)
    codes = np.random.default_rng(0).integers(0, DOMAIN.sizes, (500, len(DOMAIN)))
    margin.simulate(
        codes, domain=DOMAIN, budget=budget, mechanism=mechanism, workload=workload, seed=0
    )
    queries = asked_queries(DOMAIN, workload)
    errors = mechanism.table_errors(DOMAIN, workload, budget)
    most = mechanism.largest_errors(DOMAIN, workload, budget)
    assert mechanism.prices_asked
    found = mechanism.expected_error(DOMAIN, workload, budget)
    assert found == pytest.approx(weighted(workload, errors), rel=1e-4)
    direct = isinstance(mechanism, all_mechanisms.Direct)
    for place, (names, error, largest_error) in enumerate(zip(TABLES, errors, most, strict=True)):
        own = [measured[place]] if direct else measured
        rows = np.ones((1, 1))
        for name in names:
            size = attribute_at(DOMAIN, name).size
            rows = np.kron(rows, queries[name].matrix if name in queries else np.eye(size))
        assert error == pytest.approx(expected(own, names, rows.T @ rows), rel=1e-4), names
        assert largest_error == pytest.approx(largest(own, names, rows), rel=1e-4), names


@pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP("0.3"), PureDP(1, neighbours=Neighbours.REPLACE_ROW)], ids=repr
)
def test_a_plan_tells_the_error_of_each_table_of_each_row(budget):
    found = margin.plan(DOMAIN, workload=WORKLOAD, budget=budget, rows=10_000)
    counts = [6, 9, 18, 3, 6]
    told = 0
    for number, row in enumerate(found.table, 1):
        if row.name == "SpanningTree":
            with pytest.raises(
                margin.MarginError, match=r"\(table_errors\), but SpanningTree does not"
            ):
                found.tables(number)
            continue
        tables = found.tables(number)
        assert [table.view for table in tables] == [tuple(names) for names in TABLES]
        assert [table.counts for table in tables] == counts
        for table in tables:
            assert table.reconstructed == (table.largest_error is None)
            if not table.reconstructed:
                assert table.typical_error <= table.largest_error * (1 + 1e-9)
        assert any(table.reconstructed for table in tables) == bool(row.missed or row.error is None)
        if row.error is None or row.missed:
            continue
        total = sum(
            weight * table.counts * table.typical_error**2
            for weight, table in zip(WORKLOAD.weights, tables, strict=True)
        )
        # The candidates of `Auto` also count on the removal of negative counts.
        assert row.error <= total * (1 + 1e-4)
        if "of up to" not in row.note:
            assert row.error == pytest.approx(total, rel=1e-4)
            weighted_counts = sum(w * n for w, n in zip(WORKLOAD.weights, counts, strict=True))
            assert row.per_cell == pytest.approx(math.sqrt(row.error / weighted_counts))
        told += 1
    assert told >= 8
    assert found.tables() == found.tables(found.first)
    assert found.table[found.first - 1].default
    with pytest.raises(margin.MarginError, match=f"from 1 to {len(found.table)}"):
        found.tables(0)


def test_a_plan_names_the_tables_that_its_first_choice_would_reconstruct():
    sizes = {"a": 6, "b": 5, "c": 4, "d": 3}
    tables = [["a", "b", "c"], ["a", "d"], ["b", "d"], ["c", "d"]]
    told = 0
    for rho, rows in itertools.product(("0.00001", "0.01", "100"), (100, 10_000)):
        found = margin.plan(sizes, workload=tables, budget=ZCDP(rho), rows=rows)
        lacking = [table.view for table in found.tables() if table.reconstructed]
        remark = " ".join(found.remarks)
        told += bool(lacking)
        assert found.table[found.first - 1].default and bool(remark) == bool(lacking)
        if lacking:
            assert f"{found.first} would reconstruct {len(lacking)} of 4 tables" in remark
            listed = [f"({', '.join(view)})" for view in lacking[:3]]
            assert all(name in remark for name in listed) and remark in str(found)
            assert ("and others" in remark) == (len(lacking) > 3)
        # Without a number of rows, nothing is known of the choice.
        assert not margin.plan(sizes, workload=tables, budget=ZCDP(rho)).remarks
    assert 0 < told < 6


SUMS_ALONE = "with --asked place=levels"
NO_LEAVES = "no table names place itself"


@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize(
    ("tables", "upper", "lowest"),
    [
        ([["place@state", "sex"]], True, False),
        ([["place@state", "sex"], ["place"]], True, True),
        ([["place@state"], ["place@county", "sex"]], True, True),
        ([["place@county"]], False, True),
        ([["place", "sex"]], False, True),
        ([["sex"]], False, False),
    ],
)
def test_a_plan_says_how_upper_levels_are_measured_with_less_noise(tables, upper, lowest, levels):
    asked = {"place": "levels"} if levels else {}
    workload = Workload.of(DOMAIN, tables, asked=asked)
    found = margin.plan(DOMAIN, workload=workload, budget=PureDP(1), mechanisms=[margin.PriView()])
    said = str(found)
    assert (SUMS_ALONE in said) == (upper and not levels)
    assert (NO_LEAVES in said) == (upper and not lowest)
    assert len(found.remarks) == levels + (upper and not levels) + (upper and not lowest)
    assert ("choose what they measure for these" in said) == levels


def test_the_option_that_a_plan_names_for_upper_levels_makes_their_errors_smaller():
    """What the remark says of `Residual` is so: all levels are measured, and states gain by it."""
    paths = [[f"s{state}", f"s{state}c{county}"] for state in range(5) for county in range(20)]
    place = {"levels": {"names": ["state", "county"], "paths": paths}}
    domain = Domain({"place": place, "sex": ["F", "M"]})
    errors = {}
    for ask in ("cells", "levels"):
        tables = [["place@state", "sex"], ["place", "sex"]]
        workload = Workload.of(domain, tables, asked={"place": ask})
        mechanism = margin.mechanisms.Residual()
        errors[ask] = mechanism.largest_errors(domain, workload, ZCDP("0.1"))[0]
    assert errors["levels"] < 0.5 * errors["cells"]


def test_a_plan_says_what_is_protected_given_public_totals():
    known = Domain(DOMAIN, known={("sex",): [3, 4]})
    (remark,) = margin.plan(known, workload=[["sex", "age"]], budget=PureDP(1)).remarks
    assert "what a row says is protected with epsilon = 2 x 1 = 2" in remark


def test_the_error_per_count_counts_what_is_asked():
    """Ranges are more counts than cells, each with its own error."""
    workload = Workload.of(DOMAIN, [["age"], ["place@state", "sex"]], asked={"age": "ranges"})
    found = margin.plan(DOMAIN, workload=workload, budget=ZCDP("0.5"))
    by_name = {row.name: (number, row) for number, row in enumerate(found.table, 1)}
    number, row = by_name["Residual"]
    assert row.per_cell == pytest.approx(math.sqrt(row.error / (6 + 6)))
    assert [table.counts for table in found.tables(number)] == [6, 6]
    # All rows have the error of the same counts. The ranges of 3 values have 10 cells together.
    number, row = by_name["Flat"]
    assert row.per_cell == pytest.approx(math.sqrt(row.error / (6 + 6)))
    assert [table.counts for table in found.tables(number)] == [6, 6]
    variance = margin.mechanisms.Flat().expected_error(DOMAIN, [["age"]], ZCDP("0.5")) / 36
    assert row.error == pytest.approx(variance * (36 * 10 / 3 + 36))


class OfCells:
    """A mechanism whose error is a number, whatever is asked."""

    def expected_error(self, domain, workload, budget):
        return 2.0

    def table_errors(self, domain, workload, budget):
        return [2.0] * len(workload)


class OfAsked(OfCells):
    """The same, and it says that the number is of what is asked."""

    prices_asked = True


@pytest.mark.parametrize("asks", [{}, {"age": "cells"}, {"age": "ranges"}, {"place": "levels"}])
def test_a_plan_shows_an_error_of_asked_counts_alone(asks):
    """An error that may be of cells has no place beside errors of ranges."""
    workload = Workload.of(DOMAIN, [["age", "place"]], asked=asks)
    strategy = all_mechanisms.MatrixMechanism(strategy=OwnStrategy())
    mechanisms = [OfCells(), OfAsked(), strategy]
    found = margin.plan(DOMAIN, workload=workload, budget=ZCDP(1), mechanisms=mechanisms)
    shown = {row.name: row for row in found.table}
    more = bool(set(asks.values()) - {"cells"})
    assert shown["OfAsked"].error == 2.0
    for name in ("OfCells", "MatrixMechanism"):
        assert (shown[name].error is None) == more
        assert ("prices_asked = True" in shown[name].note) == more
    number = [row.name for row in found.table].index("OfCells") + 1
    if more:
        with pytest.raises(margin.MarginError, match="prices_asked = True"):
            found.tables(number)
    else:
        assert found.tables(number)[0].typical_error == pytest.approx(math.sqrt(2 / 18))
    (asked,) = asks.items() or [("age", "cells")]
    assert (f"{asked[1]} of {asked[0]}" in shown["OfCells"].note) == more


def test_a_mechanism_without_an_expected_error_is_listed_with_the_reason():
    mechanisms = [margin.DualQuery(), margin.mechanisms.Flat()]
    found = margin.plan(DOMAIN, workload=[["age"]], budget=ZCDP(1), mechanisms=mechanisms)
    assert [row.name for row in found.table] == ["Flat", "DualQuery"]
    assert found.table[1].error is None and "no expected_error" in found.table[1].note
    for wrong in (margin.mechanisms.Flat, "Flat", 3):
        with pytest.raises(margin.MarginError, match="expected_error or run"):
            margin.plan(DOMAIN, workload=[["age"]], budget=ZCDP(1), mechanisms=[wrong])


class OwnStrategy:
    """A strategy that does not say what its error is of."""

    def prepare(self, domain, workload, budget):
        return strategies.OptimisedMarginals().prepare(domain, workload, budget)


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize(
    "asks", [{}, {"age": "ranges"}, {"age": "prefixes", "place": "levels"}], ids=str
)
def test_the_costs_of_a_strategy_are_the_eigenvalues_of_what_is_asked(asks, everything):
    """W'W is that of all queries, each view with its weight."""
    views = [["place", "sex"], ["age", "sex"], ["age"]]
    workload = Workload.of(DOMAIN, views, weights=[1, 2, 5], asked=asks)
    queries = asked_queries(DOMAIN, workload)
    gram = np.zeros((36, 36))
    for names, weight in zip(views, workload.weights, strict=True):
        rows = np.ones((1, 1))
        for name in names:
            asked = queries.get(name)
            rows = np.kron(rows, np.eye(DOMAIN[name].size) if asked is None else asked.matrix)
        own = rows @ matrix(names)
        gram += weight * own.T @ own
    found = Coordinates("it", DOMAIN, workload, max_cells=36, everything=everything)
    assert (len(found.basis) == 36) == everything
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(len(found.basis)), atol=1e-10)
    np.testing.assert_allclose(found.basis.T * found.costs @ found.basis, gram, atol=1e-8)


@pytest.mark.parametrize(
    "strategy",
    [strategies.EigenDesign(), strategies.Semidefinite(), strategies.OptimisedMarginals()],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("ask", ["ranges", "prefixes"])
def test_a_strategy_follows_what_is_asked(ask, strategy):
    """Its queries have a smaller error on what is asked than those that are best for cells."""
    if isinstance(strategy, strategies.Semidefinite):
        pytest.importorskip("cvxpy")
    domain, budget = Domain({"age": {"size": 8, "ordered": True}, "sex": 2}), ZCDP("0.01")
    cells = Workload.of(domain, [["age", "sex"]])
    asked = Workload.of(domain, [["age", "sex"]], asked={"age": ask})
    followed = strategy.prepare(domain, asked, budget).expected_error(budget)
    direct = all_mechanisms.Direct().expected_error(domain, asked, budget)
    assert followed < 0.85 * direct
    # The mechanism that is best for cells measures them as `Direct` does.
    alike = strategy.prepare(domain, cells, budget).expected_error(budget)
    direct = all_mechanisms.Direct().expected_error(domain, cells, budget)
    assert alike == pytest.approx(direct, rel=1e-4)
    if isinstance(strategy, strategies.Semidefinite):
        best = margin.Residual().expected_error(domain, asked, budget)
        assert followed == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("views", [[["age", "region"]], [["age"], ["region"]]], ids=["one", "two"])
@pytest.mark.parametrize("ask", ["cells", "prefixes", "ranges"])
def test_cells_fill_up_columns_also_beside_attributes_that_nobody_asks(ask, views):
    """They are cells of the attributes that the workload names, all of whose columns are alike."""
    domain = Domain({"age": {"size": 8, "ordered": True}, "region": 6, "sex": 2})
    workload = Workload.of(domain, views, asked={"age": ask})
    budget = ZCDP("0.01")
    mechanism = all_mechanisms.MatrixMechanism(strategy=strategies.EigenDesign())
    error = mechanism.expected_error(domain, workload, budget)
    best = margin.Residual().expected_error(domain, workload, budget)
    assert best * (1 - 1e-6) < error < 1.3 * best
    # Without the cells it is 1.055 times the best for ranges, and 1.28 times for prefixes.
    if len(views) == 1:
        assert error < {"cells": 1.0001, "ranges": 1.03, "prefixes": 1.25}[ask] * best
    # An attribute that the workload does not name makes no difference.
    alone = mechanism.expected_error(domain.restrict(["age", "region"]), workload, budget)
    assert error == pytest.approx(alone, rel=1e-4)
    prepared = mechanism.strategy.prepare(domain, workload, budget)
    assert prepared.is_complete
    queries = prepared.strategy.factors[0].matrix
    covariance = np.linalg.pinv(queries.T.astype(float) @ queries, rcond=1e-9, hermitian=True)
    axis = asked_queries(domain, workload).get("age")
    asked = {"age": np.eye(8) if axis is None else axis.matrix, "region": np.eye(6)}
    parts = []
    for view in views:
        factors = [asked[n] if n in view else np.ones((1, domain[n].size)) for n in domain]
        parts.append(np.kron(np.kron(*factors[:2]), factors[2]))
    rows = np.concatenate(parts)
    (variance,) = linear_variances([prepared.strategy], budget)
    expected = np.trace(rows @ covariance @ rows.T) * variance
    assert error == pytest.approx(expected, rel=1e-5)


def test_too_few_queries_are_not_complete():
    domain = Domain({"age": {"size": 5, "ordered": True}, "sex": 2})
    workload = Workload.of(domain, [["age"], ["sex"]], asked={"age": "ranges"})
    needed = Coordinates("it", domain, workload, max_cells=10)
    whole = Coordinates("it", domain, workload, max_cells=10, everything=True)
    assert Dense(domain, workload, needed, needed.basis).is_complete
    assert not Dense(domain, workload, whole, needed.basis).is_complete
    # As many queries as cells, but one of them twice.
    twice = np.concatenate([whole.basis[:-1], whole.basis[:1]])
    assert not Dense(domain, workload, whole, twice).is_complete


@pytest.mark.parametrize("ask", ["prefixes", "ranges"])
def test_level_counts_do_not_price_ranges_of_their_attribute(ask):
    """The leaves of a tree depend on each other, so that ranges are no sums of their variances."""
    ordered = {"levels": {"names": ["state", "county"], "paths": PATHS}, "ordered": True}
    domain = Domain({"place": ordered, "sex": 2})
    workload = Workload.of(domain, [["place", "sex"]], asked={"place": ask})
    mechanism = all_mechanisms.LevelCounts()
    with pytest.raises(margin.DomainError, match=f"cells and levels of 'place'.*its {ask}"):
        mechanism.expected_error(domain, workload, ZCDP(1))
    found = margin.plan(domain, workload=workload, budget=ZCDP(1), mechanisms=[mechanism])
    assert found.table[0].error is None and "use Residual" in found.table[0].note


@pytest.mark.parametrize("strategy", [strategies.EigenDesign(), None], ids=["eigen", "default"])
def test_the_removal_of_negative_counts_does_not_raise_the_error_of_ranges(strategy):
    """With `Simplex`, most ranges of a long tail of empty cells would be too small."""
    domain = Domain({"age": {"size": 32, "ordered": True}, "sex": 2})
    ages = np.minimum(31, np.random.default_rng(0).geometric(0.2, 2000) - 1)
    table = {"age": ages.tolist(), "sex": [0, 1] * 1000}
    workload = Workload.of(domain, [["age", "sex"]], asked={"age": "ranges"})
    mechanism = all_mechanisms.MatrixMechanism(strategy=strategy)
    ranges = asked_queries(domain, workload)["age"].matrix
    errors = []
    for seed in range(8):
        made = margin.simulate(
            table,
            domain=domain,
            budget=ZCDP("0.02"),
            mechanism=mechanism,
            workload=workload,
            seed=seed,
        )
        answer, truth = made.marginal(["age", "sex"]), made.truth(["age", "sex"])
        assert answer.counts.min() >= 0
        errors.append(((ranges @ (answer.counts - truth.counts)) ** 2).sum())
    # With these seeds it is about 0.7 of what is expected of noise alone; `Simplex` gives 1.5.
    assert np.mean(errors) < mechanism.expected_error(domain, workload, ZCDP("0.02"))
