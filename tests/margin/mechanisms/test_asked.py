"""Components in bases for prefixes, ranges and levels, against dense linear algebra."""

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, Domain, Neighbours, PriView, PureDP
from margin.domain.workload import Workload
from margin.mechanisms import Residual
from margin.mechanisms.axis_queries import AxisQueries, asked_queries
from margin.mechanisms.by_table import weighted
from margin.mechanisms.components import precise_shares
from margin.mechanisms.profiles import largest_variance
from margin.mechanisms.query_bases.basis import rounded
from margin.mechanisms.query_bases.choice import options
from margin.mechanisms.query_bases.plan import AskedComponents
from margin.noise.laws import variances_of
from margin.private.linear import Answers
from margin.solvers import WeightedSum
from margin.testing import check_mechanism

_TREE = {"names": ["state", "county"], "paths": [["A", "a"], ["A", "b"], ["B", "c"], ["A", "d"]]}
_DOMAIN = Domain(
    {
        "age": {"size": 5, "ordered": True},
        "sex": 2,
        "one": 1,
        "income": {"size": 4, "ordered": True},
        "place": {"levels": _TREE},
    }
)
_ASKED = {"age": "prefixes", "income": "ranges", "place": "levels"}
_VIEWS = [["age", "income"], ["income", "sex", "place"], ["one", "age"], ["sex"]]
_BUDGETS = [
    ZCDP(0.5),
    ZCDP(0.5, neighbours=Neighbours.REPLACE_ROW),
    PureDP(1),
    PureDP(1, neighbours=Neighbours.REPLACE_ROW),
]


def _workload(weights=(1.0, 2.0, 0.5, 1.0)):
    return Workload.of(_DOMAIN, _VIEWS, weights=weights, asked=_ASKED)


def _plan(budget):
    workload = _workload()
    return AskedComponents("test", _DOMAIN, workload, asked_queries(_DOMAIN, workload), budget)


def _on_all_cells(view, matrices):
    """A product of matrices on some attributes, as a matrix over all cells of the domain."""
    matrix = np.ones((1, 1))
    for name, attribute in _DOMAIN.items():
        own = matrices[view.index(name)] if name in view else np.ones((1, attribute.size))
        matrix = np.kron(matrix, own)
    return matrix


def _queries(view):
    """The asked queries of a view, over all cells of the domain."""
    kinds = asked_queries(_DOMAIN, _workload())
    cells = {name: AxisQueries("cells", attribute.size) for name, attribute in _DOMAIN.items()}
    return _on_all_cells(view, [kinds.get(name, cells[name]).matrix for name in view])


def _measured(plan):
    """The measured queries over all cells, each divided by its standard deviation, and their
    covariance."""
    rows = []
    for strategy, variance in zip(plan.strategies, plan.variances, strict=True):
        matrices = [factor.matrix for factor in strategy.factors]
        rows.append(_on_all_cells(strategy.view, matrices) / math.sqrt(variance))
    matrix = np.concatenate(rows)
    return matrix, np.linalg.pinv(matrix.T @ matrix, rcond=1e-10)


@pytest.mark.parametrize("kind", ["cells", "prefixes", "ranges", "levels"])
def test_gram_matrices_are_those_of_the_queries(kind):
    queries = AxisQueries(kind, 6)
    if kind == "levels":
        queries = AxisQueries.levels([np.array([0, 0, 0, 1, 1, 2]), np.arange(6)])
    assert len(queries.matrix) == queries.count
    assert np.array_equal(queries.matrix.T @ queries.matrix, queries.gram)


@pytest.mark.parametrize("grid", [4, 128, 1 << 20])
def test_rounding_keeps_the_basis_exact(grid):
    for option in options(AxisQueries("prefixes", 9)):
        basis = rounded(option.rows, grid)
        rows = basis.factor.matrix
        assert np.abs(rows).max() <= grid
        assert np.allclose(rows @ basis.spread, 0, atol=1e-9)
        assert np.allclose(basis.inverse @ rows, np.eye(9) - basis.spread[:, None], atol=1e-9)


def test_rounding_to_1024_costs_less_than_a_thousandth():
    queries = AxisQueries("ranges", 40)
    for option in options(queries):
        basis = rounded(option.rows, 1 << 10)
        of_rows, of_total = basis.costs(queries.gram)
        assert of_rows * basis.factor.l2_squared <= 1.001 * option.of_rows
        assert of_total == pytest.approx(option.of_total, rel=0.01)


@pytest.mark.parametrize("budget", _BUDGETS, ids=str)
def test_sensitivities_bound_every_pair_of_neighbours(budget):
    for strategy in _plan(budget).strategies:
        columns = np.ones((1, 1), np.int64)
        for factor in strategy.factors:
            columns = np.kron(columns, factor.matrix)
        changes = columns.T
        if budget.neighbours is Neighbours.REPLACE_ROW:
            changes = (changes[:, None] - changes[None]).reshape(-1, len(columns))
        l1, l2_squared = strategy.sensitivity(budget)
        assert np.abs(changes).sum(axis=1).max() <= l1
        largest = (changes**2).sum(axis=1).max()
        assert largest <= l2_squared
        if budget.neighbours is not Neighbours.REPLACE_ROW:
            assert largest == l2_squared


@pytest.mark.parametrize("budget", [ZCDP(0.5), PureDP(1)], ids=str)
def test_expected_error_is_that_of_generalised_least_squares(budget):
    plan = _plan(budget)
    _, covariance = _measured(plan)
    workload = plan.workload
    error = 0.0
    for view, weight in zip(workload.views, workload.weights, strict=True):
        queries = _queries(view)
        error += weight * float(((queries @ covariance) * queries).sum())
    found = weighted(workload, plan.table_errors(workload))
    assert found == pytest.approx(error, rel=1e-6)
    mechanism = Residual(order=3)
    assert mechanism.expected_error(_DOMAIN, workload, budget) == pytest.approx(error, rel=1e-6)


def test_tables_are_generalised_least_squares():
    plan = _plan(ZCDP(0.5))
    rng = np.random.default_rng(1)
    answers = [
        Answers(strategy, rng.normal(size=strategy.shape) * math.sqrt(variance), variance)
        for strategy, variance in zip(plan.strategies, plan.variances, strict=True)
    ]
    tables, _ = plan.measure(SimpleNamespace(measure_linear=lambda *_, **__: tuple(answers)))
    matrix, covariance = _measured(plan)
    scaled = [np.ravel(answer.values) / math.sqrt(answer.variance) for answer in answers]
    estimate = covariance @ matrix.T @ np.concatenate(scaled)
    for axes, table in zip(tables.views, tables.values, strict=True):
        view = tuple(_DOMAIN.attributes[axis] for axis in axes)
        cells = _on_all_cells(view, [np.eye(_DOMAIN[name].size) for name in view])
        assert np.allclose(table.ravel(), cells @ estimate, atol=1e-6)


def test_covariances_are_those_of_generalised_least_squares():
    plan = _plan(ZCDP(0.5))
    _, covariance = _measured(plan)
    noise = plan.noise(dict(zip(plan.sets, plan.variances, strict=True)))
    rng = np.random.default_rng(2)
    axes = [(0, 3), (1, 3, 4), (0,), ()]
    sums = [WeightedSum(a, rng.normal(size=[_DOMAIN.sizes[i] for i in a])) for a in axes]
    rows = []
    for one in sums:
        view = tuple(_DOMAIN.attributes[axis] for axis in one.axes)
        cells = _on_all_cells(view, [np.eye(_DOMAIN[name].size) for name in view])
        rows.append(np.ravel(one.weights) @ cells)
    expected = np.array(rows) @ covariance @ np.array(rows).T
    assert np.allclose(noise.covariance(sums), expected, rtol=1e-6)
    cells = _on_all_cells(("age", "income"), [np.eye(5), np.eye(4)])
    variances = np.einsum("ij,jk,ik->i", cells, covariance, cells)
    assert np.allclose(noise.cell_variances((0, 3)).ravel(), variances, rtol=1e-6)
    # Sums over groups of codes of "sex", "income" and "place".
    groups = [None, np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]
    indicators = [np.eye(2), np.kron(np.eye(2), [1, 1]), np.array([[1, 1, 1, 0], [0, 0, 0, 1]])]
    cells = _on_all_cells(("sex", "income", "place"), indicators)
    variances = np.einsum("ij,jk,ik->i", cells, covariance, cells)
    assert np.allclose(noise.cell_variances((1, 3, 4), groups).ravel(), variances, rtol=1e-6)


def test_mean_precisions_are_those_of_the_moments():
    from margin.solvers.basis import transform

    plan = _plan(ZCDP(0.5))
    _, covariance = _measured(plan)
    noise = plan.noise(dict(zip(plan.sets, plan.variances, strict=True)))
    axes = (1, 3, 4)
    shape = tuple(_DOMAIN.sizes[axis] for axis in axes)
    cells = _on_all_cells(("sex", "income", "place"), [np.eye(size) for size in shape])
    functions = transform(shape)
    moments = functions.analyse(np.eye(math.prod(shape))).T @ cells * math.sqrt(functions.cells)
    variances = np.einsum("ij,jk,ik->i", moments, covariance, moments)
    found = noise.mean_precisions(axes)
    for mask in range(8):
        own = variances[functions.component == mask]
        assert 1 / found[mask] == pytest.approx(own.mean(), rel=1e-6)


# Sizes, number of attributes whose prefixes are asked, and the error of ResidualPlanner+ for all
# views of 1, 2, 3 and up to 3 attributes at privacy cost 1 (rho = 1/2), as published.
_PUBLISHED = {
    "CPS": ((50, 100, 7, 4, 2), 2, (3.081, 5.823, 7.302, 7.570)),
    "Adult": (
        (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
        5,
        (5.081, 17.274, 45.223, 45.174),
    ),
    "Loans": (
        (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15),
        4,
        (4.681, 14.502, 34.168, 34.144),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _PUBLISHED)
def test_errors_are_at_most_those_that_residual_planner_plus_publishes(name):
    sizes, ordered, published = _PUBLISHED[name]
    domain = Domain(
        {f"a{i}": {"size": n, "ordered": True} if i < ordered else n for i, n in enumerate(sizes)}
    )
    asked = {f"a{i}": "prefixes" for i in range(ordered)}
    orders = [(1,), (2,), (3,), (1, 2, 3)]
    for lengths, error in zip(orders, published, strict=True):
        views = [v for k in lengths for v in itertools.combinations(domain.attributes, k)]
        workload = Workload.of(domain, views, asked=asked)
        squares = Residual(order=max(lengths)).expected_error(domain, workload, ZCDP("0.5"))
        # Half a unit of the last published digit.
        assert math.sqrt(squares / sum(map(domain.cells, views))) <= error + 0.0005


def test_ranges_of_one_attribute_reach_the_optimum():
    queries = AxisQueries("ranges", 64)
    errors = [(math.sqrt(o.of_rows) + math.sqrt(o.of_total)) ** 2 for o in options(queries)]
    # The optimum of the semidefinite programme over all matrices on 64 values.
    assert min(errors) / queries.count == pytest.approx(5.300183, rel=2e-4)


@pytest.mark.slow
def test_many_values_are_measured_in_blocks_better_than_by_wavelets():
    queries = AxisQueries("ranges", 300)
    gaussian = options(queries)
    haar = options(queries, laplace=True)[-1]
    assert min(option.of_rows for option in gaussian) < 0.8 * haar.of_rows * 9
    for option in gaussian:
        inverse = np.linalg.inv(np.concatenate([np.ones((1, 300)), option.rows]))
        own = inverse[:, 1:]
        assert ((queries.gram @ own) * own).sum() == pytest.approx(option.of_rows, rel=1e-6)


def test_a_release_answers_ranges_with_its_error(tmp_path):
    rng = np.random.default_rng(3)
    table = {
        "age": rng.integers(0, 5, 500),
        "sex": rng.integers(0, 2, 500),
        "one": np.zeros(500, int),
        "income": rng.integers(0, 4, 500),
        "place": rng.choice(["a", "b", "c", "d"], 500),
    }
    budget = ZCDP(1)
    synopsis = margin.release(
        table, domain=_DOMAIN, budget=budget, workload=_workload(), mechanism=Residual(order=3)
    )
    path = tmp_path / "asked.margin"
    synopsis.save(path)
    for one in (synopsis, margin.load(path)):
        count = one.count({"age": range(1, 4), "income": range(2)})
        weights = np.zeros((5, 4))
        weights[1:4, :2] = 1
        assert count.noise_variance == pytest.approx(
            float(synopsis.noise.covariance([WeightedSum((0, 3), weights)])[0, 0])
        )
        true = ((table["age"] >= 1) & (table["age"] < 4) & (table["income"] < 2)).sum()
        # A normal error exceeds six standard deviations with a probability of 2e-9.
        assert abs(count.estimate - true) < 6 * math.sqrt(count.variance)
        marginal = one.marginal(["income", "age"])
        variances = synopsis.noise.cell_variances((0, 3))
        assert np.allclose(marginal.noise_variance.T, variances)
    assert len(synopsis.views) == len(synopsis.held.views)


@pytest.mark.parametrize("kind", ["prefixes", "ranges"])
def test_counts_are_not_negative_and_ranges_are_better_for_it(kind):
    domain = Domain({"age": {"size": 80, "ordered": True}, "sex": 2})
    workload = Workload.of(domain, [["age", "sex"]], asked={"age": kind})
    table = {"age": [3, 3, 40] * 30, "sex": [0, 1, 1] * 30}
    true = np.zeros((80, 2))
    np.add.at(true, (table["age"], table["sex"]), 1)
    queries = AxisQueries(kind, 80).matrix
    squares = []
    for nonnegativity in (None, margin.solvers.JointProjection()):
        counts = (
            margin.simulate(
                table,
                domain=domain,
                budget=ZCDP(0.1),
                workload=workload,
                mechanism=Residual(nonnegativity=nonnegativity),
                seed=1,
            )
            .synopsis.marginal(["age", "sex"])
            .counts
        )
        squares.append(float(((queries @ (counts - true)) ** 2).sum()))
    assert counts.min() >= 0
    assert squares[1] < squares[0]


@pytest.mark.slow
def test_squared_errors_of_releases_are_as_expected():
    domain = Domain({"age": {"size": 6, "ordered": True}, "sex": 2})
    workload = Workload.of(domain, [["age", "sex"]], asked={"age": "ranges"})
    mechanism = Residual(order=2, nonnegativity=None)
    table = {"age": [0, 3, 5, 5], "sex": [0, 1, 1, 0]}
    matrix = np.kron(AxisQueries("ranges", 6).matrix, np.eye(2))
    true = matrix @ np.bincount([0, 7, 11, 10], minlength=12)
    squares = []
    for seed in range(600):
        done = margin.simulate(
            table,
            domain=domain,
            budget=ZCDP(0.1),
            workload=workload,
            mechanism=mechanism,
            seed=seed,
        )
        answers = matrix @ done.synopsis.marginal(["age", "sex"]).counts.ravel()
        squares.append(float(((answers - true) ** 2).sum()))
    mean, deviation = np.mean(squares), np.std(squares) / math.sqrt(600)
    expected = mechanism.expected_error(domain, workload, ZCDP(0.1))
    # A normal mean exceeds five standard deviations with a probability of 6e-7.
    assert abs(mean - expected) < 5 * deviation


@pytest.mark.parametrize("budget", [ZCDP(0.5), PureDP(1)], ids=str)
def test_auto_prices_each_candidate_by_the_asked_queries(budget):
    workload = _workload()
    candidates = margin.Auto().prices(_DOMAIN, workload, budget, rows=100)
    assert [one.error for one in candidates] == sorted(one.error for one in candidates)
    for candidate in candidates[:4]:
        if not isinstance(candidate.mechanism, margin.PriView):
            error = candidate.mechanism.expected_error(_DOMAIN, workload, budget)
            assert candidate.error == error
            continue
        # All cells of a view have noise of one variance.
        views, shares = candidate.mechanism.views, candidate.mechanism.shares
        variances = variances_of(budget.counts_at_once(len(views) if shares is None else shares))
        rows = [
            _on_all_cells(view, [np.eye(_DOMAIN[name].size) for name in view]) / math.sqrt(variance)
            for view, variance in zip(views, variances, strict=True)
        ]
        matrix = np.concatenate(rows)
        covariance = np.linalg.pinv(matrix.T @ matrix, rcond=1e-10)
        expected = 0.0
        for view, weight in zip(workload.views, workload.weights, strict=True):
            queries = _queries(view)
            expected += weight * float(((queries @ covariance) * queries).sum())
        assert candidate.error == pytest.approx(expected, rel=1e-6)


def test_auto_takes_the_best_candidate_for_what_is_asked():
    line = Domain({"age": {"size": 60, "ordered": True}, "sex": 2})
    asked = Workload.of(line, [["age", "sex"]], asked={"age": "ranges"})
    table = {"age": [3, 40, 59], "sex": [0, 1, 1]}
    budget = ZCDP(1)
    first = margin.Auto().prices(line, asked, budget, rows=3)[0]
    assert isinstance(first.mechanism, Residual)
    synopsis = margin.release(table, domain=line, budget=budget, workload=asked)
    assert synopsis.noise is not None
    paths = [[f"s{i // 9}", f"c{i}"] for i in range(5000)]
    tree = Domain({"place": {"levels": {"names": ["state", "county"], "paths": paths}}})
    levels = Workload.of(tree, [["place"]], asked={"place": "levels"})
    best = margin.Auto().prices(tree, levels, budget, rows=3)[0]
    assert isinstance(best.mechanism, margin.mechanisms.LevelCounts)


def test_views_that_are_best_for_the_workload_are_a_candidate_for_what_is_asked():
    """Two small views are less noise than a cover of all that is asked by equal shares."""
    paths = [[f"s{i // 6}", f"c{i}"] for i in range(30)]
    place = {"levels": {"names": ["state", "county"], "paths": paths}}
    domain = Domain({"place": place, "age": 8, "sex": 2, "job": 5})
    asked = Workload.of(
        domain,
        [["place", "age"], ["place", "sex"], ["job"]],
        asked={"place": "levels"},
    )
    candidates = margin.Auto().prices(domain, asked, PureDP(1), rows=10_000)
    planned = margin.PriView().planned(domain, asked, PureDP(1))
    assert candidates[0].mechanism.views == planned.views
    found = margin.plan(domain, workload=asked, budget=PureDP(1), rows=10_000)
    assert found.table[0].default
    # The errors of all rows are of the levels, so they rise.
    errors = [row.error for row in found.table if row.error is not None]
    assert errors == pytest.approx(sorted(errors), rel=1e-3) and len(errors) > 6


def _largest(plan):
    """The largest weighted variance of a query, from dense matrices."""
    _, covariance = _measured(plan)
    found = []
    for view, weight in zip(plan.workload.views, plan.workload.weights, strict=True):
        queries = _queries(view)
        found.append(weight * float(np.einsum("ij,jk,ik->i", queries, covariance, queries).max()))
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [ZCDP(0.5), PureDP(1)], ids=str)
def test_shares_for_the_largest_variance_are_a_minimum(budget):
    plan = dataclasses.replace(_plan(budget), largest=True)
    profiles = plan.profiles
    best = _largest(plan)
    by_closed_form = []
    variances = dict(zip(plan.sets, plan.variances, strict=True))
    for view, weight in zip(plan.workload.views, plan.workload.weights, strict=True):
        varying = tuple(name for name in plan.bases if name in view)
        by_closed_form.append(weight * largest_variance(varying, variances, profiles)[0])
    assert max(by_closed_form) == pytest.approx(best, rel=1e-6)
    assert best < _largest(_plan(budget))
    rng = np.random.default_rng(4)
    for _ in range(8):
        other = dataclasses.replace(plan)
        shares = np.array(plan.shares) * np.exp(rng.normal(0, 0.2, len(plan.shares)))
        other.__dict__["shares"] = precise_shares(shares)
        assert _largest(other) >= best * 0.998


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prefixes", "ranges"])
def test_it_is_private(kind):
    line = Domain({"x": {"size": 3, "ordered": True}, "y": 2})
    workload = Workload.of(line, [["x", "y"]], asked={"x": kind})
    check_mechanism(Residual(workload=workload), domain=line, pairs=12)


def _people(leveled):
    """A domain with an attribute that may have levels, and a table of 40,000 rows."""
    rng = np.random.default_rng(0)
    paths = [[f"state {code // 5}", f"county {code}"] for code in range(20)]
    counties = [county for _, county in paths]
    place = {"levels": {"names": ["state", "county"], "paths": paths}} if leveled else counties
    domain = Domain(
        {
            "place": place,
            "age": {"size": 12, "ordered": True},
            "visits": {"size": 8, "ordered": True},
            "sex": 2,
        }
    )
    table = {
        "place": np.array(counties)[rng.choice(20, 40_000, p=rng.dirichlet(np.full(20, 0.5)))],
        "age": rng.integers(0, 12, 40_000),
        "visits": np.minimum(rng.poisson(2, 40_000), 7),
        "sex": rng.integers(0, 2, 40_000),
    }
    return domain, table


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6")], ids=str)
@pytest.mark.parametrize(
    ("leveled", "asked"),
    [
        (True, {}),
        (True, {"place": "levels", "age": "prefixes"}),
        (False, {"age": "ranges"}),
        (False, {"age": "prefixes", "visits": "ranges"}),
    ],
)
def test_errors_are_those_of_the_noise_whatever_is_asked(leveled, asked, budget):
    """Views have very different noise here: the removal of negative counts must know it."""
    domain, table = _people(leveled)
    pairs = Workload.of(domain, list(itertools.combinations(domain, 2)), asked=asked)
    made = margin.simulate(
        table, domain=domain, budget=budget, mechanism=PriView(), workload=pairs, seed=1
    )
    for answer, truth in zip(made.marginals(pairs), made.truths(pairs), strict=True):
        squares = np.square(answer.counts - truth.counts).mean()
        assert squares < 4 * answer.noise_variance.mean()
