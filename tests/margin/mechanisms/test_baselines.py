"""The mechanisms that PriView is compared with: their closed forms, the numbers of the papers, and
what they refuse."""

import dataclasses
import itertools
import math
from pathlib import Path

import cvxpy
import numpy as np
import pytest
from ordered_axes import ordered_axes

import margin
from margin import MWEM, ZCDP, Domain, DomainError, MatrixMechanism, PriView, PureDP, Workload
from margin.mechanisms import (
    PMW,
    DataCubes,
    Direct,
    Flat,
    Fourier,
    FourierLP,
    Hierarchical,
    Learning,
    Uniform,
    Wavelet,
)
from margin.mechanisms.asked import error_of_views
from margin.mechanisms.strategies import (
    EigenDesign,
    LowRank,
    OptimisedMarginals,
    Semidefinite,
    WeightedMarginals,
)
from margin.mechanisms.strategies.optimised_marginals import _cell_variances
from margin.privacy.budget import Neighbours
from margin.solvers import AbsoluteConsistency, JointProjection, MaximumConsistency, Newton, Simplex
from margin.synopses.noisy_tables import tables_of

DOMAIN = Domain(ordered_axes(a=2, b=3, c=2, d=4))
VIEWS = [("a", "b"), ("d", "b", "c"), ("c", "a"), ("d",)]
STRATEGIES = [
    None,
    OptimisedMarginals(),
    OptimisedMarginals(largest=True),
    WeightedMarginals(),
    EigenDesign(),
    LowRank(),
]
RAW = [
    Flat(),
    Direct(nonnegativity=None),
    Fourier(nonnegativity=None),
    DataCubes(),
    Hierarchical(attributes=["d", "b"], branching=3),
    Wavelet(),
    *(MatrixMechanism(strategy=strategy, nonnegativity=None) for strategy in STRATEGIES),
]
BUDGETS = [PureDP(1), ZCDP("0.5")]


def name_of(mechanism):
    return type(
        getattr(
            mechanism,
            "strategy",
            None,
        )
        or mechanism
    ).__name__


ROOT = Path(__file__).parents[3]


def binary(attributes):
    return Domain(ordered_axes(**{f"x{axis}": 2 for axis in range(attributes)}))


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, 400)
    return np.column_stack(
        [
            (
                kind
                + rng.integers(
                    0,
                    2,
                    400,
                )
            )
            % size
            for size in DOMAIN.sizes
        ]
    )


class Once:
    """A strategy that is chosen once for all runs."""

    def __init__(self, strategy):
        self.strategy, self.prepared = strategy, None

    def prepare(self, domain, workload, budget):
        self.prepared = self.prepared or self.strategy.prepare(
            domain,
            workload,
            budget,
        )
        return self.prepared


def squared_errors(mechanism, codes, domain, views, budget, runs):
    if getattr(mechanism, "strategy", None):
        mechanism = dataclasses.replace(mechanism, strategy=Once(mechanism.strategy))
    errors = []
    truths = margin.simulate(
        codes,
        domain=domain,
        budget=budget,
        mechanism=Uniform(),
        seed=0,
    ).truths(views)
    for seed in range(runs):
        made = margin.simulate(
            codes,
            domain=domain,
            budget=budget,
            mechanism=mechanism,
            workload=views,
            seed=seed,
        )
        answers = made.marginals(views)
        errors.append(
            sum(
                ((a.counts - t.counts) ** 2).sum()
                for a, t in zip(
                    answers,
                    truths,
                    strict=True,
                )
            )
        )
    return np.array(errors)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("mechanism", RAW, ids=name_of)
def test_measured_errors_are_the_closed_forms(
    mechanism,
    budget,
    codes,
):
    """Thirty runs; six standard errors of their mean are allowed."""
    expected = mechanism.expected_error(DOMAIN, VIEWS, budget)
    errors = squared_errors(
        mechanism,
        codes,
        DOMAIN,
        VIEWS,
        budget,
        30,
    )
    assert abs(errors.mean() - expected) < 6 * errors.std() / math.sqrt(30)
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=budget,
        mechanism=mechanism,
        workload=VIEWS,
        seed=0,
    )
    assert sum(a.variance.sum() for a in made.marginals(VIEWS)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize(
    "strategy",
    [None, OptimisedMarginals(), OptimisedMarginals(largest=True), WeightedMarginals()],
)
def test_measured_errors_over_200_runs_are_within_5_percent(
    strategy,
    budget,
):
    """Of marginals of eight attributes, whose 256 cells or coefficients leave the mean an error of
    one percent."""
    domain = binary(9)
    codes = np.random.default_rng(1).integers(0, 2, (1000, 9))
    views = [domain.attributes[:8], domain.attributes[1:]]
    strategies = [MatrixMechanism(strategy=strategy, nonnegativity=None)] if strategy else []
    for mechanism in strategies or [
        Flat(),
        Direct(nonnegativity=None),
        Fourier(nonnegativity=None),
        DataCubes(),
    ]:
        errors = squared_errors(
            mechanism,
            codes,
            domain,
            views,
            budget,
            200,
        )
        assert errors.mean() == pytest.approx(
            mechanism.expected_error(
                domain,
                views,
                budget,
            ),
            rel=0.05,
        )


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_weights_count(budget):
    """Twice the weight of all is twice the error; the best shares follow the weights."""
    once = Workload.of(DOMAIN, VIEWS)
    twice = Workload.of(DOMAIN, VIEWS, weights=[2.0] * 4)
    uneven = Workload.of(
        DOMAIN,
        VIEWS,
        weights=[1.0, 1.0, 1.0, 50.0],
    )
    for mechanism in RAW:
        error = mechanism.expected_error(DOMAIN, once, budget)
        iterative = name_of(mechanism) == "LowRank"  # whose steps depend a little on the scale
        assert mechanism.expected_error(DOMAIN, twice, budget) == pytest.approx(
            2 * error,
            rel=1e-3 if iterative else 1e-6,
        )
    best = OptimisedMarginals().prepare(DOMAIN, uneven, budget)
    blind = best.with_shares(
        OptimisedMarginals()
        .prepare(
            DOMAIN,
            once,
            budget,
        )
        .shares
    )
    assert best.expected_error(budget) < 0.99 * blind.expected_error(budget)


@pytest.mark.parametrize(("k", "least"), [(2, 16), (3, 26), (4, 36), (5, 46)])
def test_where_direct_passes_flat(k, least):
    """PriView, section 3.2: the ratio of the errors of one marginal, 2**k C(d,k)**2 to 2**d, in
    closed form."""
    budget = PureDP(
        "0.001"
    )  # fine steps of noise: the discrete Laplace variance is that of the continuous one

    def errors(d):
        domain, shrink = binary(d), math.comb(d, k)
        view = [domain.attributes[:k]]
        flat = Flat(max_cells=2**d).expected_error(
            domain,
            view,
            budget,
        )
        direct = Direct().expected_error(
            domain,
            view,
            PureDP(budget.epsilon / shrink),
        )
        return flat, direct

    flat, direct = errors(least)
    assert direct < flat
    flat, direct = errors(least - 1)
    assert direct > flat


def test_the_numbers_of_the_paper_at_16_attributes():
    """Section 3: Flat 65,536 and Direct 57,600 units of 2 / epsilon**2 for each pair; Fourier less
    by about 2**k."""
    domain, budget = binary(16), PureDP("0.001")
    pairs = Workload.all_kway(domain, 2)
    unit = 120 * 2 / 0.001**2
    assert Flat().expected_error(domain, pairs, budget) / unit == pytest.approx(65_536, rel=1e-6)
    assert Direct().expected_error(domain, pairs, budget) / unit == pytest.approx(57_600, rel=1e-6)
    assert Fourier().expected_error(domain, pairs, budget) / unit == pytest.approx(
        (1 + 16 + 120) ** 2,
        rel=1e-6,
    )


SMALL = [
    (DOMAIN, None),
    (DOMAIN, [("a", "b", "c"), ("d",), ("b", "d")]),
    (Domain({"x": 5, "y": 6}), [("x",), ("y",), ("x", "y")]),
    (binary(5), None),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "views"),
    SMALL,
    ids=["pairs", "mixed", "two", "binary"],
)
def test_optimised_marginals_are_the_optimum_of_the_semidefinite_programme(
    domain,
    views,
):
    """To 1e-4; and nothing else unbiased has less error with Gaussian noise."""
    budget = ZCDP("0.5")
    ours = MatrixMechanism(strategy=OptimisedMarginals()).expected_error(
        domain,
        views,
        budget,
    )
    optimum = MatrixMechanism(strategy=Semidefinite()).expected_error(
        domain,
        views,
        budget,
    )
    assert ours == pytest.approx(optimum, rel=1e-4)
    # The order of categories does not matter here, so all attributes are taken for ordered.
    names = list(domain)
    others = [Flat(), Direct(), Fourier(), DataCubes()]
    others += [Hierarchical(attributes=names), Wavelet(attributes=names)]
    others += [MatrixMechanism(strategy=strategy) for strategy in STRATEGIES]
    for other in others:
        assert ours <= other.expected_error(domain, views, budget) * (1 + 1e-9), name_of(other)


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_the_largest_variance_is_as_small_as_convex_programming_makes_it(power):
    budget = ZCDP(1) if power == 1 else PureDP(1)
    workload = Workload.of(
        DOMAIN,
        VIEWS,
        weights=[1.0, 2.0, 0.5, 1.0],
    )
    prepared = OptimisedMarginals(largest=True).prepare(
        DOMAIN,
        workload,
        budget,
    )
    variances = _cell_variances(prepared).toarray()
    steep = [s.l2_squared if power == 1 else s.l1**2 for s in prepared.strategies]
    shares = np.array(prepared.shares) / sum(prepared.shares)
    ours = (variances @ (steep / shares ** (1 / power))).max()
    noise = cvxpy.Variable(len(steep))
    spent = cvxpy.sum(cvxpy.multiply(np.array(steep, float) ** power, cvxpy.power(noise, -power)))
    worst = cvxpy.Problem(cvxpy.Minimize(spent), [variances @ noise <= 1]).solve()
    assert ours == pytest.approx(worst ** (1 / power), rel=1e-4)


def test_many_attributes_can_be_planned():
    """All pairs of 100 attributes of ten values; all triples are measured in the documents."""
    domain = Domain({f"x{axis}": 10 for axis in range(100)})
    pairs = Workload.all_kway(domain, 2)
    ours = MatrixMechanism().expected_error(domain, pairs, ZCDP(1))
    assert ours < Direct().expected_error(domain, pairs, ZCDP(1))
    assert ours < MatrixMechanism(strategy=OptimisedMarginals(largest=True)).expected_error(
        domain, pairs, ZCDP(1),
    ) * (1 + 1e-6)  # fmt: skip


def test_low_rank_finds_the_identity_where_it_is_best():
    """Under pure differential privacy the full table answers its own marginals best."""
    domain, views = Domain({"x": 5, "y": 6}), [("x",), ("y",), ("x", "y")]
    flat = Flat().expected_error(domain, views, PureDP(1))
    found = MatrixMechanism(strategy=LowRank()).expected_error(
        domain,
        views,
        PureDP(1),
    )
    assert flat * 0.5 < found < flat * 1.2


def test_data_cubes_choose_few_cuboids():
    """Low dimensions: the full table, as PriView says in section 3.4. Many attributes: neither that
    nor all pairs."""
    nine = binary(9)
    assert DataCubes().cuboids(nine, Workload.all_kway(nine, 2), PureDP(1)) == [nine.attributes]
    sixteen = binary(16)
    chosen = DataCubes().cuboids(sixteen, None, PureDP(1))
    assert 1 < len(chosen) < 120
    for pair in itertools.combinations(sixteen.attributes, 2):
        assert any(set(pair) <= set(view) for view in chosen)


def precise_marginals(cuboids, views, budget, most):
    """The marginals of which each cell can be read with a variance of at most `most`."""
    (noise, *_) = budget.counts_at_once(len(cuboids))
    return sum(
        any(
            set(view) <= set(cuboid) and 2 ** (len(cuboid) - len(view)) * noise.variance <= most
            for cuboid in cuboids
        )
        for view in views
    )


@pytest.mark.parametrize("precise", [3.0, 10.0, 40.0, 200.0, 10_000.0])
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.5")])
def test_data_cubes_make_most_marginals_precise(precise, budget):
    """PMOST: at least 1 - 1/e of the best choice of cuboids, found by trying all."""
    domain = binary(4)
    views = [("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x0",), ("x3",)]
    lattice = [
        view for size in (1, 2, 3, 4) for view in itertools.combinations(domain.attributes, size)
    ]
    best = max(
        precise_marginals(cuboids, views, budget, precise)
        for count in (1, 2, 3)
        for cuboids in itertools.combinations(lattice, count)
    )
    mechanism = DataCubes(precise=precise)
    if not best:
        with pytest.raises(DomainError, match="noise variance of one cuboid"):
            mechanism.cuboids(domain, views, budget)
        return
    chosen = mechanism.cuboids(domain, views, budget)
    assert precise_marginals(chosen, views, budget, precise) >= (1 - 1 / math.e) * best
    assert len(chosen) == 1 or precise < 10_000


def test_the_numbers_of_precise_marginals_in_the_documents():
    sizes = {"a": 10, "b": 8, "c": 6, "d": 5, "e": 4, "f": 2, "g": 2, "h": 2}
    domain = Domain(sizes)
    views = [view for k in (1, 2, 3) for view in itertools.combinations(sizes, k)]

    def precise(cuboids, most):
        variance = PureDP(1).counts_at_once(len(cuboids))[0].variance
        cells = domain.cells
        return sum(
            any(
                set(view) <= set(cuboid) and cells(cuboid) / cells(view) * variance <= most
                for cuboid in cuboids
            )
            for view in views
        )

    limits = (100, 1000, 3000, 10_000, 30_000)
    worst = DataCubes().cuboids(domain, views, PureDP(1))
    counts = {
        "precise": [
            precise(DataCubes(precise=most).cuboids(domain, views, PureDP(1)), most)
            for most in limits
        ],
        "worst": [precise(worst, most) for most in limits],
        "full": [precise([tuple(sizes)], most) for most in limits],
        "each": [precise(views, most) for most in limits],
    }
    lines = zip(limits, *counts.values(), strict=True)
    page = (ROOT / "docs" / "mechanisms" / "strategies.md").read_text()
    for line in lines:
        assert "| " + " | ".join(f"{number:,}" for number in line) + " |" in page


def test_a_marginal_that_is_not_made_precise_has_no_known_error(codes):
    mechanism = DataCubes(precise=3.0)
    views = [("a", "b"), ("c", "d")]
    assert len(mechanism.cuboids(DOMAIN, views, PureDP(1))) == 1
    with pytest.raises(DomainError, match="no cuboid contains"):
        mechanism.expected_error(DOMAIN, views, PureDP(1))
    made = margin.simulate(
        codes, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism, workload=views, seed=1
    )
    assert made.synopsis.marginal(["c", "d"]).counts.shape == DOMAIN.shape(["c", "d"])


@pytest.mark.parametrize(
    "consistency",
    [AbsoluteConsistency(), MaximumConsistency()],
    ids=repr,
)
def test_linear_programmes_make_cuboids_consistent(consistency, codes):
    views = [("a", "b"), ("b", "c"), ("c", "d")]
    mechanism = DataCubes(consistency=consistency)
    budget = ZCDP("0.01")
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=budget,
        mechanism=mechanism,
        workload=views,
        seed=1,
    ).synopsis
    first, *rest = made.views
    for view in rest:
        assert view.total == pytest.approx(first.total)
    with pytest.raises(DomainError, match="ResidualConsistency"):
        mechanism.expected_error(DOMAIN, views, budget)


def test_fourier_lp_is_non_negative_and_near(codes):
    budget = PureDP(5)
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=budget,
        mechanism=FourierLP(),
        workload=VIEWS,
        seed=1,
    )
    assert made.synopsis.table.min() >= 0
    for view in VIEWS:
        assert np.linalg.norm(made.marginal(view).counts - made.truth(view).counts) < 150


def test_learning_has_an_error_that_no_budget_removes(codes):
    """Its noise vanishes; only a polynomial of full degree leaves no error."""
    views = [("a", "b", "c", "d"), ("c", "b", "a")]
    errors = {}
    for gamma in (0.4, 0.2, 1e-6):
        mechanism = Learning(gamma=gamma, nonnegativity=None)
        (errors[gamma],) = squared_errors(
            mechanism,
            codes,
            DOMAIN,
            views,
            PureDP(10**6),
            1,
        )
    assert errors[0.4] > 0 and errors[0.2] > 0 and errors[1e-6] == 0


@pytest.mark.parametrize("mechanism", [Uniform(), Learning(gamma=0.4)], ids=repr)
def test_what_is_approximated_has_no_interval(codes, mechanism, tmp_path):
    """Noise is not all of the error, and nothing tells the rest. Of single attributes the
    polynomial is exact."""
    made = margin.release(
        codes,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=mechanism,
        workload=[("a", "b", "c"), ("d",)],
    )
    made.save(tmp_path / "file.margin")
    for synopsis in (made, margin.load(tmp_path / "file.margin")):
        answer = synopsis.marginal(["c", "a", "b"])
        assert answer.reconstructed and np.isfinite(answer.noise_variance).all()
        assert np.isnan(answer.interval(0.95)).all()
        exact = np.isfinite(synopsis.marginal(["d"]).interval(0.95)).all()
        assert exact == isinstance(mechanism, Learning)


@pytest.mark.parametrize("make", [Learning, Learning.paper])
def test_learning_keeps_within_gamma(codes, make):
    for gamma in (0.4, 0.25, 0.125):
        mechanism = dataclasses.replace(make(gamma=gamma), nonnegativity=None)
        made = margin.simulate(
            codes,
            domain=DOMAIN,
            budget=PureDP(10**6),
            mechanism=mechanism,
            seed=0,
            workload=[("d", "a", "b")],
        )
        error = made.marginal(["d", "a", "b"]).counts - made.truth(["d", "a", "b"]).counts
        assert np.abs(error).max() <= gamma * 400 + 1e-6


def test_mwem_learns_what_is_worst(codes):
    """Correlated attributes: with a generous budget it comes near, and near is far better than
    uniform."""
    generous = PureDP(100)
    pairs = Workload.all_kway(DOMAIN, 2)
    errors = {
        mechanism: squared_errors(
            mechanism,
            codes,
            DOMAIN,
            pairs,
            generous,
            1,
        )[0]
        for mechanism in (Uniform(), MWEM(rounds=8), MWEM(rounds=8, reconstruction=Newton()))
    }
    uniform, table, views = errors.values()
    assert table < uniform / 50 and views < uniform / 50


def test_mwem_rounds_follow_the_comparison():
    """ceil(4 log2 9) + 2 = 15, and each of 2 T + 1 answers gets an equal part."""
    domain = binary(9)
    seen = []

    class Watched(MWEM):
        def run(self, private, workload):
            synopsis = super().run(private, workload)
            seen.extend(private.events)
            return synopsis

    margin.simulate(
        np.zeros((5, 9), int),
        domain=domain,
        budget=PureDP(1),
        mechanism=Watched(replays=1),
        seed=0,
    )
    assert len(seen) == 31 and {event.units for event in seen} == {10**12 // 31}


def test_mwem_of_figure_1_by_hand():
    """The published algorithm, written out with the measurements of the run: each is used once,
    and the mean is over the tables before each round."""
    domain = Domain({"a": 2, "b": 3, "c": 2})
    codes = np.random.default_rng(2).integers(0, 2, (400, 3))
    seen = []

    class Watched:
        def run(self, private, workload):
            measure = private.measure

            class Seen:
                def __getattr__(self, name):
                    return getattr(private, name)

                def measure(self, views, **options):
                    found = measure(views, **options)
                    seen.extend(found)
                    return found

                def measure_linear(self, strategies, **options):
                    found = private.measure_linear(strategies, **options)
                    seen.append(float(found[0].values.sum()))
                    return found

            return MWEM.paper(rounds=3).run(Seen(), workload)

    pairs = [["a", "b"], ["b", "c"], ["a", "c"]]
    made = margin.simulate(
        codes, domain=domain, budget=PureDP(5), mechanism=Watched(), workload=pairs, seed=0
    )
    rows, *measured = seen
    table = np.full((2, 3, 2), rows / 12)
    tables = []
    for marginal in measured:
        tables.append(table)
        dropped = ({0, 1, 2} - set(domain.axes(marginal.attributes))).pop()
        wrong = (marginal.counts - table.sum(axis=dropped)) / (2 * rows)
        table = table * np.exp(np.expand_dims(wrong, dropped))
        table *= rows / table.sum()
    assert len(tables) == 3
    mean = sum(tables) / 3
    assert made.marginal(["a", "b", "c"]).counts == pytest.approx(mean)


def test_uniform_is_even(codes):
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=PureDP(10**6),
        mechanism=Uniform(),
        seed=0,
    )
    assert (made.marginal(["d", "a"]).counts == 50).all()
    huge = binary(200)
    made = margin.simulate(
        np.zeros((3, 200), int),
        domain=huge,
        budget=PureDP(10**6),
        mechanism=Uniform(),
        seed=0,
    )
    assert made.marginal(["x7", "x3"]).counts.tolist() == [[0.75, 0.75], [0.75, 0.75]]
    with pytest.raises(DomainError, match="cells"):
        made.marginal(huge.attributes[:40])


@pytest.mark.parametrize(
    "mechanism",
    [Direct(), Fourier(), MatrixMechanism(), Learning()],
    ids=name_of,
)
def test_negative_counts_are_spread_and_the_total_kept(
    mechanism,
    codes,
):
    raw = type(mechanism)(nonnegativity=None)
    budget = PureDP("0.2")
    ours, plain = (
        margin.simulate(
            codes,
            domain=DOMAIN,
            budget=budget,
            mechanism=m,
            workload=VIEWS,
            seed=2,
        )
        for m in (mechanism, raw)
    )
    negative = 0
    for view in VIEWS:
        counts = plain.marginal(view).counts
        negative += (counts < 0).sum()
        assert ours.marginal(view).counts.min() >= 0
        assert ours.marginal(view).counts.sum() == pytest.approx(max(counts.sum(), 0.0))
    assert negative


@pytest.mark.parametrize(
    "nonnegativity",
    [Simplex(), JointProjection()],
    ids=name_of,
)
def test_flat_can_be_made_non_negative(nonnegativity, codes):
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=PureDP("0.2"),
        mechanism=Flat(nonnegativity=nonnegativity),
        seed=0,
    )
    assert made.synopsis.table.min() >= 0


def test_the_error_of_ranges(codes):
    """Measured over all ranges of an attribute of twelve values, and the published order of the
    methods."""
    domain = Domain({"age": 12, "sex": 2})
    rows = np.column_stack([codes[:, 0] * 6 + codes[:, 3], codes[:, 2]])
    truth = np.bincount(rows[:, 0], minlength=12)
    ranges = [range(i, j) for i in range(12) for j in range(i + 1, 13)]
    for mechanism in (Hierarchical(attributes=["age"]), Wavelet(attributes=["age"])):
        for budget in BUDGETS:
            errors, variances = [], []
            for seed in range(30):
                made = margin.simulate(
                    rows,
                    domain=domain,
                    budget=budget,
                    mechanism=mechanism,
                    seed=seed,
                ).synopsis
                found = [made.count({"age": one}) for one in ranges]
                errors.append(
                    np.mean(
                        [
                            (f.estimate - truth[list(one)].sum()) ** 2
                            for f, one in zip(found, ranges, strict=True)
                        ]
                    )
                )
                variances = [f.variance for f in found]
            expected = mechanism.range_error(domain, "age", budget)
            assert np.mean(variances) == pytest.approx(expected)
            assert abs(np.mean(errors) - expected) < 6 * np.std(errors) / math.sqrt(30)
    long = Domain(ordered_axes(age=1024))
    flat = Flat().expected_error(long, [["age"]], ZCDP("0.5")) / 3
    for mechanism in (Hierarchical(), Wavelet()):
        assert mechanism.range_error(long, "age", ZCDP("0.5")) < flat / 10


SYNOPSES = [
    Uniform(),
    Flat(),
    Direct(),
    Fourier(),
    FourierLP(),
    DataCubes(),
    MWEM(rounds=2, replays=2),
    MWEM.paper(rounds=2),
    Learning(),
    MatrixMechanism(),
    MatrixMechanism(strategy=EigenDesign()),
    Hierarchical(attributes=["d"]),
    Wavelet(),
]


@pytest.mark.parametrize("mechanism", SYNOPSES, ids=name_of)
def test_a_synopsis_survives_a_file(mechanism, codes, tmp_path):
    made = margin.release(
        codes,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=mechanism,
        workload=VIEWS,
    )
    made.save(tmp_path / "file.margin")
    again = margin.load(tmp_path / "file.margin")
    assert type(again) is type(made) and again.summary() == made.summary()
    assert again.provenance.mechanism["name"] == type(mechanism).__name__
    for view in [*VIEWS, ("b", "a"), ("b", "d"), ("c",)]:
        ours, theirs = made.marginal(view), again.marginal(view)
        assert (ours.counts == theirs.counts).all()
        assert np.array_equal(ours.variance, theirs.variance, equal_nan=True)


def test_a_synopsis_of_marginals_says_what_it_holds(codes):
    made = margin.release(
        codes,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=Direct(),
        workload=VIEWS,
    )
    assert (made.marginal(["b", "a"]).counts == made.marginal(["a", "b"]).counts.T).all()
    assert np.isnan(made.marginal(["b"]).variance).all()
    with pytest.raises(
        DomainError,
        match=r"\(a, b\), \(d, b, c\), \(c, a\), \(d\); ask for one of them",
    ):
        made.marginal(["a", "d"])


def test_a_range_is_checked(codes):
    made = margin.release(
        codes,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=Flat(),
    )
    assert made.count({}).variance == pytest.approx(48 * made.variance)
    for wrong in ({"d": range(5)}, {"d": range(3, 1)}, {"d": range(-1, 2)}, {"nobody": 0}):
        with pytest.raises(DomainError):
            made.count(wrong)


WIDE = binary(64)
ORDERED = Domain(ordered_axes(age=2**13))


class Refusing:
    """A ledger that must not be reached."""

    def charge(self, budget):
        raise AssertionError("charged")


@pytest.mark.parametrize(
    ("mechanism", "domain", "says"),
    [
        (Flat(), WIDE, r"Flat needs about 10\*\*19 cells .* raise max_cells.* use PriView"),
        (MWEM(), WIDE, r"MWEM needs about 10\*\*19 cells .* raise max_cells.* use PriView"),
        (PMW(), WIDE, r"PMW needs about 10\*\*19 cells .* raise max_cells.* use PriView"),
        (FourierLP(), WIDE, r"FourierLP needs .* raise max_cells.* use Fourier"),
        (DataCubes(), WIDE, r"DataCubes needs .* lattice here, .* use PriView"),
        (
            DataCubes(consistency=MaximumConsistency()),
            binary(15),
            r"MaximumConsistency needs 32,768 cells",
        ),
        (DataCubes(), binary(25), r"DataCubes needs .* lattice"),
        (Hierarchical(), WIDE, r"Hierarchical needs .* bins"),
        (Wavelet(), WIDE, r"Wavelet needs .* bins"),
        # The full table fits, but 3**24 queries do not.
        (Hierarchical(), binary(24), r"Hierarchical needs .* queries, .* 2,104 GiB .* Direct"),
        (Wavelet(), ORDERED, r"Wavelet needs 8,192 values .* wider bins"),
        (
            MatrixMechanism(strategy=EigenDesign()),
            WIDE,
            r"EigenDesign needs .* raise max_cells.* OptimisedMarginals",
        ),
        (
            MatrixMechanism(strategy=LowRank()),
            WIDE,
            r"LowRank needs .* raise max_cells.* OptimisedMarginals",
        ),
        (
            MatrixMechanism(strategy=Semidefinite()),
            binary(7),
            r"Semidefinite needs 128 .* raise max_cells.* OptimisedMarginals",
        ),
    ],
    ids=lambda value: name_of(value) if not isinstance(value, Domain | str) else "",
)
def test_a_domain_beyond_reach_is_refused_before_any_charge(
    mechanism,
    domain,
    says,
):
    with pytest.raises(DomainError, match=says):
        margin.release(
            np.zeros((2, len(domain)), int),
            domain=domain,
            budget=PureDP(1),
            mechanism=mechanism,
            ledger=Refusing(),
        )


@pytest.mark.parametrize(
    "mechanism",
    [
        MWEM(rounds=1, replays=1, max_cells=31),
        PMW(rounds=1, max_cells=31),
        Flat(max_cells=31),
        FourierLP(max_cells=31),
        MatrixMechanism(strategy=EigenDesign(max_cells=31)),
        MatrixMechanism(strategy=LowRank(max_cells=31)),
        MatrixMechanism(strategy=Semidefinite(max_cells=31)),
    ],
    ids=name_of,
)
def test_a_limit_that_is_a_parameter_is_named_and_can_be_raised(mechanism):
    """The refusal says what to raise, and with it raised by one the mechanism answers."""

    def answer(mechanism):
        return margin.simulate(
            np.zeros((40, 5), int),
            domain=binary(5),
            budget=ZCDP(1),
            mechanism=mechanism,
            workload=[["x0", "x1"]],
            seed=0,
        )

    with pytest.raises(DomainError, match=r"needs 32 .* its max_cells is 31; raise max_cells"):
        answer(mechanism)
    strategy = getattr(mechanism, "strategy", None)
    if strategy is None:
        raised = dataclasses.replace(mechanism, max_cells=32)
    else:
        raised = dataclasses.replace(
            mechanism, strategy=dataclasses.replace(strategy, max_cells=32)
        )
    assert answer(raised).marginal(["x0", "x1"]).counts.shape == (2, 2)


@pytest.mark.parametrize(
    "mechanism",
    [Direct(), Fourier(), MatrixMechanism(), Learning()],
    ids=name_of,
)
def test_what_needs_no_full_table_takes_many_attributes(mechanism):
    views = [("x1", "x63"), ("x5", "x6", "x7")]
    rows = np.zeros((10, 64), int)
    made = margin.simulate(
        rows,
        domain=WIDE,
        budget=PureDP(10**4),
        mechanism=mechanism,
        workload=views,
        seed=0,
    )
    assert made.marginal(["x63", "x1"]).total == pytest.approx(10, abs=8)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MWEM(rounds=0),
        lambda: MWEM(replays=1.5),
        lambda: MWEM(replays=-1),
        lambda: MWEM(average=True, reconstruction=Newton()),
        lambda: MWEM(max_cells=True),
        lambda: Learning(gamma=0),
        lambda: Learning(gamma=1),
        lambda: Learning(gamma="1/2"),
        lambda: Hierarchical(branching=1),
        lambda: Hierarchical(attributes="age"),
        lambda: Wavelet(attributes=3),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(DomainError):
        make()


def test_a_single_attribute_and_attributes_of_one_value():
    domain = Domain(ordered_axes(a=1, b=3))
    rows = np.array([[0, 2], [0, 1]])
    for mechanism in [
        *SYNOPSES[:-2],
        Hierarchical(),
        Wavelet(),
        MatrixMechanism(strategy=LowRank()),
    ]:
        made = margin.simulate(
            rows,
            domain=domain,
            budget=PureDP(10**6),
            mechanism=mechanism,
            seed=0,
        )
        assert made.marginal(["b", "a"]).counts.shape == (3, 1)
        alone = Domain(ordered_axes(b=3))
        made = margin.simulate(
            rows[:, 1:],
            domain=alone,
            budget=ZCDP(1),
            mechanism=mechanism,
            seed=0,
        )
        assert made.marginal(["b"]).counts.shape == (3,)


def test_replaced_rows_are_paid_for(codes):
    """Signed components cost four times, not twice, what they cost when a row is added."""
    add, replace = ZCDP("0.5"), ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW)
    pair = [["a", "c"]]
    for mechanism, factor in ((Flat(), 2), (Direct(), 2)):
        ratio = mechanism.expected_error(
            DOMAIN,
            pair,
            replace,
        ) / mechanism.expected_error(
            DOMAIN,
            pair,
            add,
        )
        assert ratio == pytest.approx(factor, rel=1e-6)
    ratio = Fourier().expected_error(
        DOMAIN,
        pair,
        replace,
    ) / Fourier().expected_error(
        DOMAIN,
        pair,
        add,
    )
    assert 2 < ratio <= 4


def test_priview_is_in_the_same_line(codes):
    """All of them can be compared in one loop."""
    for mechanism in (PriView(), *SYNOPSES):
        made = margin.simulate(
            codes,
            domain=DOMAIN,
            budget=PureDP(1),
            mechanism=mechanism,
            workload=VIEWS,
            seed=0,
        )
        assert made.marginal(["a", "b"]).counts.shape == (2, 3)


@pytest.mark.parametrize(
    "mechanism",
    [Fourier(), MatrixMechanism(strategy=OptimisedMarginals()), FourierLP(max_cells=2**64)],
    ids=name_of,
)
def test_a_marginal_of_too_many_attributes_is_refused_before_any_charge(mechanism):
    view = [WIDE.attributes[:40]]
    with pytest.raises(DomainError, match=f"{name_of(mechanism)} needs .* components of marginals"):
        margin.release(
            np.zeros((2, 64), int),
            domain=WIDE,
            budget=ZCDP(1),
            mechanism=mechanism,
            workload=view,
            ledger=Refusing(),
        )


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_weighted_marginals_drop_what_is_of_no_use(k):
    """Shares that vanish are not bought; what is left answers every marginal, at the price that was
    planned."""
    domain = binary(9)
    workload = Workload.all_kway(domain, k)
    for budget in BUDGETS:
        mechanism = MatrixMechanism(strategy=WeightedMarginals(), nonnegativity=None)
        made = margin.simulate(
            np.zeros((4, 9), int),
            domain=domain,
            budget=budget,
            mechanism=mechanism,
            seed=0,
            workload=workload,
        )
        variance = sum(marginal.variance.sum() for marginal in made.marginals(workload))
        assert variance == pytest.approx(mechanism.expected_error(domain, workload, budget))
        assert variance <= 1.001 * min(
            m.expected_error(
                domain,
                workload,
                budget,
            )
            for m in (Direct(), DataCubes())
        )


@pytest.mark.parametrize("rows", [None, 500])
def test_the_error_of_views_is_that_of_the_tables(rows):
    domain = Domain({"a": 2, "b": 3, "c": 4, "d": 2}, rows=rows)
    views = [("b", "a"), ("b", "c"), ("a", "d", "c"), ("d",)]
    variances = [2.0, 3.0, 5.0, 0.5]
    workload = Workload.of(domain, [["a", "b"], ["d", "c"], ["b"], ["a", "d", "c"]])
    tables = tables_of(domain, views, [np.zeros(domain.shape(view)) for view in views], variances)
    errors = [
        weight * domain.cells(view) * tables.variance(tuple(sorted(domain.axes(view))))
        for view, weight in zip(workload, workload.weights, strict=True)
    ]
    assert error_of_views(domain, views, variances, workload) == pytest.approx(sum(errors))
