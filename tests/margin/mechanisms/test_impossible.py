"""Rules of a domain, and a public number of rows: what answers and records of each mechanism make
of them."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import (
    MWEM,
    ZCDP,
    Adaptive,
    Domain,
    DualQuery,
    HighPass,
    MatrixMechanism,
    Neighbours,
    PriView,
    Residual,
    from_measurements,
    load,
    release,
    simulate,
)
from margin.cli.main import main
from margin.errors import DomainError
from margin.mechanisms import (
    AdaptiveGrid,
    Compressive,
    CountSketch,
    DataCubes,
    Direct,
    DPCube,
    Flat,
    Fourier,
    FourierLP,
    Haar,
    Hierarchical,
    KDTree,
    Learning,
    PrioritySample,
    QuadTree,
    SparseProjection,
    Uniform,
    UniformGrid,
    Wavelet,
)
from margin.mechanisms.strategies import OptimisedMarginals, WeightedMarginals
from margin.queries import Conjunctions
from margin.solvers import (
    Anneal,
    ByComponents,
    Clip,
    LatticeConsistency,
    LeastSquares,
    Newton,
    Ripple,
    Simplex,
)
from margin.synopses import RecordSynopsis, ViewSynopsis
from margin.testing import check_mechanism

RULES = [
    {"age": "child", "marital": ["married", "widowed"]},
    {"age": "child", "work": "yes"},
    {"marital": "single", "children": [2, 3], "work": "no"},
]
DOMAIN = Domain(
    {
        "age": {"values": ["child", "adult", "old"], "ordered": True},
        "marital": ["single", "married", "widowed"],
        "work": ["no", "yes"],
        "children": {"size": 4, "ordered": True},
        "region": 2,
    },
    impossible=RULES,
)
ROWS = 900
BUDGET = ZCDP(0.02)
EVERY = [view for size in (1, 2, 3, 4, 5) for view in itertools.combinations(DOMAIN, size)]


@pytest.fixture(scope="module")
def table():
    """Rows, one in ten breaking a rule."""
    rng = np.random.default_rng(4)
    codes = np.stack(
        [
            rng.integers(
                0,
                size,
                20 * ROWS,
            )
            for size in DOMAIN.sizes
        ],
        axis=1,
    )
    broken = DOMAIN.zeros.broken(codes)
    return np.concatenate([codes[~broken][: ROWS * 9 // 10], codes[broken][: ROWS // 10]])


VIEW_MECHANISMS = [
    PriView(),
    PriView(nonnegativity=None),
    PriView(consistency=LatticeConsistency(), nonnegativity=Ripple()),
    PriView(nonnegativity=Simplex()),
    PriView(nonnegativity=Clip()),
    PriView(reconstruction=Newton(context=5)),
    PriView(reconstruction=LeastSquares(solver="SCIPY")),
    PriView(views=[["age", "region"], ["marital", "work"], ["children", "age"]]),
    Residual(order=2),
    Residual(order=2, nonnegativity=None),
    Adaptive(),
]
OTHERS = [
    Uniform(),
    Flat(),
    Flat(nonnegativity=None),
    Direct(),
    Direct(nonnegativity=None),
    Fourier(),
    FourierLP(),
    Haar(HighPass(theta=5, two_sided=True)),
    Hierarchical(),
    Wavelet(),
    QuadTree(attributes=["age", "marital", "children"]),
    KDTree(attributes=["marital", "age"]),
    UniformGrid(attributes=["marital", "age"]),
    AdaptiveGrid(attributes=["marital", "children", "work"]),
    DPCube(attributes=["age", "work", "region"]),
    HighPass(theta=5),
    PrioritySample(size=50),
    DataCubes(),
    Learning(),
    MatrixMechanism(strategy=OptimisedMarginals()),
    MatrixMechanism(strategy=WeightedMarginals()),
    MWEM(rounds=2),
    DualQuery(rounds=8, samples=50, size=ROWS),
    CountSketch(width=64, rows=3),
    SparseProjection(dimensions=128),
    Compressive(sparsity=20),
    Compressive(sparsity=20, wavelet=True),
]


def short(mechanism):
    return repr(mechanism)[:60]


def asked_of(synopsis, workload):
    """The marginals that a synopsis answers."""
    for view in workload:
        try:
            yield synopsis.marginal(view)
        except DomainError:
            continue


@pytest.mark.parametrize(
    "mechanism",
    [*VIEW_MECHANISMS, *OTHERS],
    ids=short,
)
def test_no_answer_has_what_is_impossible(mechanism, table):
    asked = [["age", "marital"], ["marital", "children", "work"], ["age", "work", "region"]]
    synopsis = simulate(
        table,
        domain=DOMAIN,
        budget=BUDGET,
        mechanism=mechanism,
        workload=asked,
        seed=1,
    ).synopsis
    answered = list(asked_of(synopsis, EVERY))
    assert answered
    for marginal in answered:
        empty = ~DOMAIN.possible(marginal.attributes)
        assert not marginal.counts[empty].any(), marginal.attributes
        assert isinstance(synopsis, RecordSynopsis) or not marginal.variance[empty].any(), (
            marginal.attributes
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        *VIEW_MECHANISMS,
        Uniform(),
        Flat(),
        Direct(),
        QuadTree(attributes=["age", "marital"]),
        AdaptiveGrid(attributes=["age", "work", "marital"], nonnegative=False),
        DPCube(attributes=["marital", "age"]),
    ],
    ids=short,
)
def test_answers_add_up_to_a_public_number_of_rows(mechanism, table):
    domain = Domain(DOMAIN, rows=ROWS)
    asked = [["age", "marital"], ["marital", "children", "work"], ["age", "work", "region"]]
    synopsis = simulate(
        table,
        domain=domain,
        budget=BUDGET,
        mechanism=mechanism,
        workload=asked,
        seed=2,
    ).synopsis
    for marginal in asked_of(synopsis, EVERY):
        assert marginal.total == pytest.approx(ROWS)
        assert not marginal.counts[~DOMAIN.possible(marginal.attributes)].any()


@pytest.mark.parametrize(
    "mechanism",
    [VIEW_MECHANISMS[0], VIEW_MECHANISMS[2], VIEW_MECHANISMS[8]],
    ids=short,
)
def test_covered_answers_agree_with_each_other(mechanism, table):
    synopsis = simulate(
        table,
        domain=DOMAIN,
        budget=BUDGET,
        mechanism=mechanism,
        seed=3,
    ).synopsis
    answers = [synopsis.marginal(view) for view in EVERY if synopsis.coverage_error(view) == 0]
    singles = {}
    for marginal in answers:
        for name in marginal.attributes:
            known = singles.setdefault(name, synopsis.marginal([name]).counts)
            assert marginal.project([name]).counts == pytest.approx(known, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 400]))
@settings(max_examples=15)
def test_records_keep_every_rule(seed, n):
    """Also the rule on three attributes that are in no view together."""
    rng = np.random.default_rng(seed)
    views = [["age", "region"], ["marital", "age"], ["work", "children"]]
    noisy = [
        (
            view,
            rng.normal(
                20,
                30,
                DOMAIN.shape(view),
            ),
            30.0,
        )
        for view in views
    ]
    synopsis = from_measurements(noisy, domain=Domain(DOMAIN, rows=500))
    codes = synopsis.records(n)
    assert codes.shape == (n, len(DOMAIN)) and not DOMAIN.zeros.broken(codes).any()


class Stubborn:
    """A solver that takes no notice of constraints."""

    def solve(self, instance, *, seed=0):
        return Anneal(sweeps=5).solve(dataclasses.replace(instance, constraints=()), seed=seed)


@pytest.mark.parametrize(
    "response",
    [Anneal(sweeps=10), ByComponents(), Stubborn()],
    ids=lambda r: type(r).__name__,
)
def test_records_of_dual_query_keep_every_rule(
    response,
    table,
    caplog,
):
    mechanism = DualQuery(
        rounds=10,
        samples=60,
        records=3,
        response=response,
    )
    domain = Domain(DOMAIN, rows=ROWS)
    synopsis = simulate(
        table,
        domain=domain,
        budget=ZCDP(0.5),
        mechanism=mechanism,
        seed=0,
    ).synopsis
    assert synopsis.total == ROWS
    assert not DOMAIN.zeros.broken(synopsis.records(synopsis.table.rows)).any()
    assert ("responses failed" in caplog.text) == isinstance(response, Stubborn)


def test_rules_make_answers_better(table):
    """With the same noise: if the data keeps the rules, knowing them helps, in views and beyond."""
    kept = table[~DOMAIN.zeros.broken(table)]
    plain = Domain(dict(DOMAIN))
    errors = []
    for domain in (plain, DOMAIN):
        total = 0.0
        for seed in range(8):
            simulation = simulate(
                kept,
                domain=domain,
                budget=BUDGET,
                mechanism=Residual(),
                seed=seed,
            )
            views = [view for view in EVERY if len(view) == 3]
            pairs = zip(
                simulation.marginals(views),
                simulation.truths(views),
                strict=True,
            )
            total += sum(((mine.counts - truth.counts) ** 2).sum() for mine, truth in pairs)
        errors.append(total)
    assert errors[1] < 0.9 * errors[0]


def test_a_row_that_breaks_a_rule_is_counted_and_no_matter_of_refusal(table):
    """Whether a release succeeds, and what it measures, does not depend on whether rows keep the
    rules."""
    for rows in (table, table[DOMAIN.zeros.broken(table)], table[~DOMAIN.zeros.broken(table)]):
        synopsis = release(rows, domain=DOMAIN, budget=ZCDP(10))
        assert synopsis.marginal(["region"]).total == pytest.approx(len(rows), abs=200)


def test_declared_rows_that_are_wrong_are_no_matter_of_refusal(table):
    for neighbours in Neighbours:
        budget = ZCDP(1, neighbours=neighbours)
        synopsis = release(
            table,
            domain=Domain(DOMAIN, rows=5 * ROWS),
            budget=budget,
        )
        assert synopsis.marginal(["age"]).total == pytest.approx(5 * ROWS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [PriView(views=[["a", "b"], ["b", "c", "d"]]), Direct()],
    ids=short,
)
def test_rules_and_rows_let_nothing_out(mechanism):
    """The audit replays neighbours of which one has a row that breaks a rule, and of numbers other
    than declared."""
    domain = Domain(
        {"a": 2, "b": 3, "c": 2, "d": 4},
        impossible=[{"a": 0, "b": [0, 1]}, {"c": 1, "d": 3}],
        rows=50,
    )
    check_mechanism(
        mechanism,
        domain=domain,
        workload=[["a", "b"], ["b", "c", "d"]],
        pairs=8,
    )


def test_info_tells_them(tmp_path, table, capsys):
    release(
        table,
        domain=Domain(DOMAIN, rows=ROWS),
        budget=BUDGET,
        mechanism=Flat(),
    ).save(tmp_path / "out.margin")
    assert main(["info", str(tmp_path / "out.margin")]) == 0
    told = capsys.readouterr().out
    assert "age child with marital married or widowed" in told and "900, declared as public" in told


def test_files_keep_them(tmp_path, table):
    domain = Domain(DOMAIN, rows=ROWS)
    for mechanism in (PriView(), Residual(order=2), Flat(), Uniform()):
        synopsis = release(
            table,
            domain=domain,
            budget=BUDGET,
            mechanism=mechanism,
        )
        synopsis.save(tmp_path / "out.margin")
        again = load(tmp_path / "out.margin")
        assert again.domain == domain and again.domain.zeros == domain.zeros
        for view in (["age", "marital"], ["marital", "children", "work"]):
            one, other = synopsis.marginal(view), again.marginal(view)
            assert one.counts == pytest.approx(other.counts)
            assert one.variance == pytest.approx(other.variance, nan_ok=True)


def test_queries_are_of_one_domain_with_its_rules(table):
    plain = Domain(dict(DOMAIN))
    with pytest.raises(DomainError, match="another domain"):
        release(
            table,
            domain=DOMAIN,
            budget=ZCDP(1),
            mechanism=DualQuery(
                queries=Conjunctions.random(
                    plain,
                    2,
                    10,
                    0,
                )
            ),
        )


def test_known_totals_leave_no_variance_in_the_total(table):
    views = PriView(views=[["age", "marital", "work"], ["work", "children", "region"]])
    plain, known = (
        release(
            table,
            domain=domain,
            budget=BUDGET,
            mechanism=views,
        )
        for domain in (DOMAIN, Domain(DOMAIN, rows=ROWS))
    )
    assert isinstance(known, ViewSynopsis) and known.held.variance(()) == 0 < plain.held.variance(
        ()
    )
    assert (known.marginal(["age"]).variance < plain.marginal(["age"]).variance).all()


@pytest.mark.parametrize(
    "mechanism",
    [Direct(nonnegativity=None), Flat()],
    ids=short,
)
def test_estimates_with_negative_counts_are_moved_evenly(
    mechanism,
    table,
):
    """To the nearest that keep the rules and the number of rows."""
    asked, view = [["age", "marital"]], ["age", "marital"]
    plain, ruled = (
        simulate(
            table,
            domain=domain,
            budget=BUDGET,
            mechanism=mechanism,
            workload=asked,
            seed=0,
        ).synopsis
        for domain in (Domain(dict(DOMAIN)), Domain(DOMAIN, rows=ROWS))
    )
    possible = DOMAIN.possible(view if isinstance(mechanism, Direct) else DOMAIN.attributes)
    before, after = (
        some.marginal(view).counts if isinstance(mechanism, Direct) else some.table
        for some in (plain, ruled)
    )
    if isinstance(mechanism, Flat):
        after = ruled.marginal(list(DOMAIN)).counts
    moved = (after - before)[possible]
    assert moved == pytest.approx(np.full(len(moved), moved[0])) and not after[~possible].any()
    assert after.sum() == pytest.approx(ROWS)
