"""`Auto` and `Adaptive`: the measurement is chosen by its expected error."""

import itertools
import math

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, Auto, Domain, DomainError, PriView, PureDP, Residual, Workload
from margin.mechanisms import SpanningTree
from margin.mechanisms.choosing import offers as _offers
from margin.mechanisms.choosing.candidates import Candidates
from margin.mechanisms.choosing.contests import contestants
from margin.mechanisms.choosing.strength import Strength, learned
from margin.private.counts import LARGEST_ANSWERS
from margin.solvers import Newton, Tables
from margin.testing import check_mechanism

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
BUDGETS = [PureDP(1), ZCDP("0.1")]


def binary(count, **more):
    return Domain({f"x{axis:0{2 if count < 100 else 3}}": 2 for axis in range(count)}, **more)


def coins(rows, count, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (rows, count))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [Auto(), Auto(structure="weak"), Adaptive(), Adaptive(rounds=2, structure="strong")],
    ids=repr,
)
def test_they_are_private(mechanism):
    check_mechanism(mechanism, pairs=2)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_noise_part_is_that_of_the_mechanism(budget, k):
    """For very many rows nothing is gained from counts being non-negative, and the closed forms
    must agree."""
    work = Workload.all_kway(DOMAIN, k)
    found = Candidates(
        DOMAIN,
        work,
        budget,
    ).priced(Strength.of("medium"), 1e12)
    assert {type(candidate.mechanism) for candidate in found} <= {PriView, Residual, SpanningTree}
    covered = 0
    for candidate in found:
        assert candidate.error == candidate.noise + candidate.missed
        if candidate.missed == 0:
            covered += 1
            expected = candidate.mechanism.expected_error(
                DOMAIN,
                work,
                budget,
            )
            assert candidate.noise == pytest.approx(expected, rel=1e-3)
        elif not isinstance(candidate.mechanism, SpanningTree):
            with pytest.raises(DomainError):
                candidate.mechanism.expected_error(
                    DOMAIN,
                    work,
                    budget,
                )
    assert covered
    errors = [candidate.error for candidate in found]
    assert errors == pytest.approx(sorted(errors), rel=1e-3)


@pytest.mark.slow
def test_a_sample_stands_for_a_large_workload():
    domain = Domain({f"x{axis}": 2 + axis % 3 for axis in range(14)})
    work = Workload.all_kway(domain, 4)
    assert len(work) > 1000
    for candidate in Candidates(domain, work, ZCDP(1)).priced(Strength.of("medium"), 1e9):
        if candidate.missed == 0:
            expected = candidate.mechanism.expected_error(
                domain,
                work,
                ZCDP(1),
            )
            assert candidate.noise == pytest.approx(expected, rel=0.1)


def test_more_structure_misses_more_and_more_rows_make_it_matter():
    work = Workload.all_kway(DOMAIN, 3)

    def prices(structure, rows):
        found = Auto(structure=structure).prices(
            DOMAIN,
            work,
            ZCDP(1),
            rows=rows,
        )
        # How much of a tree is found depends on the structure, too.
        return {it.note: it for it in found if not isinstance(it.mechanism, SpanningTree)}

    weak, strong = prices("weak", 1000), prices("strong", 1000)
    assert weak.keys() == strong.keys()
    for note in weak:
        assert weak[note].missed <= strong[note].missed
        assert weak[note].noise == strong[note].noise
    assert any(weak[note].missed < strong[note].missed for note in weak)
    for note, candidate in prices("weak", 2000).items():
        assert candidate.missed == pytest.approx(4 * weak[note].missed)
        assert candidate.noise >= weak[note].noise


def test_small_domains_with_little_noise_are_measured_in_full():
    made = margin.simulate(
        coins(5000, 4),
        domain=binary(4),
        budget=PureDP(10),
        seed=0,
    ).synopsis
    assert [set(view) for view in made.names] == [set(made.domain)]


@pytest.mark.slow
def test_views_of_very_many_attributes_are_priced():
    domain = binary(40)
    found = Auto().prices(domain, [list(domain)], ZCDP(1), rows=1000)
    assert all(np.isfinite(candidate.error) for candidate in found)


def test_it_is_the_default():
    table = {name: coins(100, 3)[:, axis] for axis, name in enumerate(binary(3))}
    made = margin.release(table, domain=binary(3), budget=PureDP(1))
    assert made.provenance.mechanism["name"] == "Adaptive"
    assert made.provenance.mechanism["rounds"] is None
    assert made.marginal(["x01"]).counts.shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "context"),
    [
        ([2] * 10, 10),
        ([4, 3, 5], 3),
        ([2] * 30, 12),
        pytest.param([8, 5, 9, 2] * 3, 12, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("mechanism", [Auto(), Adaptive()], ids=str)
def test_answers_are_by_all_attributes_or_with_some_around_them(
    mechanism,
    sizes,
    context,
):
    domain = Domain({f"a{axis}": size for axis, size in enumerate(sizes)})
    table = np.random.default_rng(0).integers(
        0,
        2,
        (1000, len(sizes)),
    )
    made = margin.simulate(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanism=mechanism,
        seed=0,
    ).synopsis
    assert made.reconstruction == Newton(context=context)


def test_the_workload_decides():
    domain = binary(20)
    chosen = {
        k: Auto()
        .prices(
            domain,
            Workload.all_kway(domain, k),
            ZCDP(10),
            rows=1e6,
        )[0]
        .mechanism
        for k in (1, 2, 3)
    }
    assert [chosen[k].order for k in (1, 2, 3) if isinstance(chosen[k], Residual)] == [1, 2, 3]


def test_a_declared_number_of_rows_is_not_paid_for():
    spent = {}
    for rows in (None, 300):
        private = []

        class Spy:
            def run(self, gate, workload, *, seen=private):
                synopsis = Auto().run(gate, workload)
                seen.extend(gate.events)
                return synopsis

        margin.simulate(
            coins(300, 3),
            domain=binary(3, rows=rows),
            budget=PureDP(1),
            mechanism=Spy(),
            seed=0,
        )
        spent[rows] = [event.units for event in private]
    assert sum(spent[None]) == sum(spent[300]) == PureDP(1).units
    assert spent[None][0] == PureDP(1).units // 100
    assert len(spent[300]) == len(spent[None]) - 1


def test_many_attributes_get_a_cover_of_pairs(monkeypatch):
    """Where they have more pairs than are compared."""
    assert math.comb(30, 2) > 400
    monkeypatch.setattr(_offers, "MOST_SETS", 400)
    domain = binary(30)
    (only,) = Auto().prices(domain, None, ZCDP(1), rows=1000)
    covered = {pair for view in only.mechanism.views for pair in itertools.combinations(view, 2)}
    assert covered == set(itertools.combinations(domain, 2))


@pytest.mark.parametrize("mechanism", [Auto(), Adaptive()], ids=repr)
def test_few_views_of_many_attributes_are_compared_by_themselves(mechanism):
    domain, asked = binary(260), [["x000", "x001"], ["x001", "x002", "x100"]]
    codes = coins(500, 260)
    assert len(Auto().prices(domain, asked, ZCDP(1), rows=1000)) > 3
    made = margin.simulate(
        codes,
        domain=domain,
        budget=ZCDP(1000),
        mechanism=mechanism,
        workload=asked,
        seed=0,
    )
    for view in asked:
        np.testing.assert_allclose(
            made.marginal(view).counts,
            made.truth(view).counts,
            atol=5,
        )


def probes(codes, sizes, views, deviation, seed=0):
    rng = np.random.default_rng(seed)
    values = []
    for view in views:
        shape = [sizes[axis] for axis in view]
        counts = np.bincount(
            np.ravel_multi_index(codes[:, view].T, shape),
            minlength=int(np.prod(shape)),
        )
        values.append(
            counts.reshape(shape)
            + rng.normal(
                0,
                deviation,
                shape,
            )
        )
    return Tables(
        sizes=tuple(sizes),
        views=tuple(views),
        values=tuple(values),
        variances=(deviation**2,) * len(views),
    )


VIEWS = [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_what_is_there_is_learnt():
    """Independent attributes have no structure; the parity of two as a third has as much as there
    can be."""
    before, plain, views = (
        Strength.of("medium"),
        coins(200_000, 10),
        [tuple(range(5)), tuple(range(5, 10))],
    )
    knotted = plain.copy()
    knotted[:, 2] = plain[:, 0] ^ plain[:, 1]
    knotted[:, 7] = plain[:, 5] ^ plain[:, 6]
    none = learned(probes(plain, [2] * 10, views, 3.0), before)
    full = learned(probes(knotted, [2] * 10, views, 3.0), before)
    assert none.pairs < before.pairs / 2 and none.singles < before.singles / 2
    assert full.pairs > 5 * before.pairs
    assert full.singles < before.singles / 2  # pairs alone are independent


def test_what_noise_hides_is_not_learnt():
    before = Strength.of("weak")
    for seed in range(4):
        after = learned(
            probes(
                coins(1000, 8),
                [2] * 8,
                VIEWS,
                1e5,
                seed,
            ),
            before,
        )
        for name in ("singles", "pairs", "triples"):
            assert getattr(after, name) == pytest.approx(getattr(before, name), rel=0.05)


def test_noise_in_small_parts_is_not_taken_for_structure():
    """Of rare values that have nothing to do with each other; what is estimated from noisy pairs is
    noisy, too."""
    before = Strength.of("medium")
    codes = (np.random.default_rng(0).random((100_000, 12)) < 0.03).astype(np.int64)
    for seed in range(4):
        after = learned(
            probes(
                codes,
                [2] * 12,
                [tuple(range(6)), tuple(range(6, 12))],
                600.0,
                seed,
            ),
            before,
        )
        assert after.singles < before.singles
        assert after.pairs < 1.5 * before.pairs


def test_the_measured_number_of_rows_is_kept_while_learning(monkeypatch):
    """The sum of a noisy table of 4,096 cells says little about the number of rows.

    The noise of the count has the scale 1,000. It is above 16,000 with a probability of 1e-7.
    """
    totals = []

    def spy(tables, before):
        totals.append(tables.total)
        return before

    monkeypatch.setattr("margin.mechanisms.choosing.adaptive.pays", lambda *_: True)
    monkeypatch.setattr("margin.mechanisms.choosing.adaptive.learned", spy)
    domain = Domain({f"x{axis}": 16 for axis in range(6)})
    codes = np.random.default_rng(0).integers(0, 16, (20_000, 6))
    for seed in range(4):
        margin.simulate(
            codes,
            domain=domain,
            budget=PureDP("0.1"),
            mechanism=Adaptive(rounds=0),
            workload=Workload.all_kway(domain, 2),
            seed=seed,
        )
    assert totals == pytest.approx([20_000] * 4, abs=16_000)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_all_of_the_budget_is_spent_and_no_more(budget, rounds):
    spy = Watched(Adaptive(rounds=rounds))
    made = margin.simulate(
        coins(2000, 6),
        domain=binary(6),
        budget=budget,
        mechanism=spy,
        seed=1,
    ).synopsis
    assert sum(event.units for event in spy.events) == budget.units
    methods = [event.method for event in spy.events]
    # A look makes choices of its own. If strong pairs are best, no rounds follow.
    looked = methods.index("total_distance") + 1 if "total_distance" in methods else 0
    assert methods[looked:].count("select") <= rounds
    assert "select" in methods or not rounds
    for view in itertools.combinations(made.domain, 3):
        counts = made.marginal(view).counts
        assert counts.min() >= 0 and np.isfinite(counts).all()


@pytest.mark.slow
def test_rounds_go_where_the_gap_is():
    """Among many independent attributes one is the parity of two others; pairs do not show it."""
    codes = coins(20_000, 20)
    codes[:, 7] = codes[:, 2] ^ codes[:, 15]
    knot = ("x02", "x07", "x15")
    domain, budget = binary(20), ZCDP("0.002")

    def error(rounds):
        mechanism = Adaptive(rounds=rounds, structure="weak")
        made = margin.simulate(
            codes,
            domain=domain,
            budget=budget,
            mechanism=mechanism,
            seed=0,
        )
        return np.abs(made.marginal(knot).counts - made.truth(knot).counts).sum() / len(codes)

    assert error(4) < 0.2 < 0.5 < error(0)


SCATTERED = Domain(
    {f"a{axis:02}": size for axis, size in enumerate([8, 7, 9, 6, 10, 8, 7, 9, 6, 5, 8, 9])}
)
"""A cover of its pairs has 42 views, too many for a small budget."""


def follow(seed=0, rows=30_000):
    """Twelve columns: the second follows the first, the last but one the fourth; else they are
    independent."""
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [
            rng.integers(
                0,
                size,
                rows,
            )
            for size in SCATTERED.sizes
        ],
        axis=1,
    )
    codes[:, 1] = codes[:, 0] % 7
    codes[:, 10] = codes[:, 3]
    return codes


def test_pairs_are_chosen_where_a_cover_would_drown_in_noise():
    budget, codes, spy = PureDP(0.1), follow(), Watched(Adaptive())
    made = margin.simulate(
        codes,
        domain=SCATTERED,
        budget=budget,
        mechanism=spy,
        seed=0,
    )
    assert {("a00", "a01"), ("a03", "a10")} <= set(made.synopsis.names)
    assert {name for view in made.synopsis.names for name in view} == set(SCATTERED)
    assert sum(event.method == "select" for event in spy.events) <= len(SCATTERED)
    assert sum(event.units for event in spy.events) == budget.units
    without = margin.simulate(
        codes,
        domain=SCATTERED,
        budget=budget,
        mechanism=PriView(views=[[name] for name in SCATTERED]),
        seed=0,
    )

    def error(release):
        views = [("a00", "a01", "a05"), ("a03", "a07", "a10"), ("a02", "a06", "a11")]
        return sum(
            np.linalg.norm(release.marginal(view).counts - release.truth(view).counts)
            for view in views
        )

    assert error(made) < 0.7 * error(without)


@pytest.mark.parametrize(
    ("budget", "parameters"),
    [(PureDP(10), {}), (ZCDP("0.0005"), {})],
    ids=["little noise", "zCDP"],
)
def test_pairs_are_not_chosen_elsewhere(budget, parameters):
    spy = Watched(Adaptive(**parameters))
    margin.simulate(
        follow(),
        domain=SCATTERED,
        budget=budget,
        mechanism=spy,
        seed=0,
    )
    methods = [event.method for event in spy.events]
    # A look for strong pairs may be made, and is judged.
    assert "select" not in methods or "total_distance" in methods
    assert sum(event.units for event in spy.events) == budget.units


@pytest.mark.parametrize(
    ("parameters", "workload"),
    [({"count_share": 0.5}, None), ({}, [[name] for name in SCATTERED])],
    ids=["much for the count", "no pair is asked for"],
)
def test_all_is_spent_whether_there_are_pairs_to_choose_or_not(parameters, workload):
    spy = Watched(Adaptive(**parameters))
    margin.simulate(
        follow(),
        domain=SCATTERED,
        budget=PureDP(0.1),
        mechanism=spy,
        workload=workload,
        seed=0,
    )
    assert sum(event.units for event in spy.events) == PureDP(0.1).units
    if workload is not None:
        assert not [event for event in spy.events if event.method == "select"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Auto(structure="some"), "structure"),
        (lambda: Auto(structure=3), "structure"),
        (lambda: Auto(count_share=0), "count_share"),
        (lambda: Auto(count_share=1), "count_share"),
        (lambda: Auto(count_share=True), "count_share"),
        (lambda: Adaptive(structure="some"), "structure"),
        (lambda: Adaptive(rounds=-1), "rounds"),
        (lambda: Adaptive(rounds=1.5), "rounds"),
        (lambda: Adaptive(rounds=True), "rounds"),
        (lambda: Adaptive(learn_share=0), "learn_share"),
        (lambda: Adaptive(rounds_share="x"), "rounds_share"),
        (lambda: Adaptive(learn_share=0.5, rounds_share=0.495), "leave some"),
        (lambda: Adaptive(count_share=0), "count_share"),
        (lambda: Adaptive(max_cells=0), "max_cells"),
        (
            lambda: Auto().prices(
                DOMAIN,
                None,
                PureDP(1),
                rows=0,
            ),
            "rows",
        ),
        (
            lambda: Auto().prices(
                DOMAIN,
                None,
                PureDP(1),
                rows=float("nan"),
            ),
            "rows",
        ),
    ],
)
def test_bad_parameters_are_refused(make, says):
    with pytest.raises(DomainError, match=says):
        make()


def test_rounds_of_very_many_rows_compare_few_views():
    """Public answers may add up to 2**39 at most; nothing may be refused after the charge."""
    domain = binary(6)
    names = list(domain)
    for rows, most in ((1e6, 35), (2.0**36, 4), (2.0**39, 0)):
        found = contestants(domain, Workload.all_kway(domain, 3), 4096, rows, (2, 3))
        assert len(found) <= most
        assert (len(found) + 1) * rows <= LARGEST_ANSWERS or not found
        assert all(set(view) <= set(names) for view in found)


def test_rounds_with_noise_beyond_all_counts_are_made():
    """What noise would cost is then cut off, since larger penalties are refused."""
    domain = Domain(dict.fromkeys("abcde", 8))
    for seed in range(6):
        codes = np.random.default_rng(seed).integers(0, 8, (100, 5))
        for mechanism in (Adaptive(rounds=2), Adaptive(rounds=2, nonnegativity=None)):
            made = margin.simulate(
                codes,
                domain=domain,
                budget=PureDP("1e-10"),
                mechanism=mechanism,
                seed=seed,
            )
            assert np.isfinite(made.marginal(["a", "b"]).counts).all()


@pytest.mark.parametrize(
    "mechanism",
    [Auto(), Adaptive()],
    ids=["Auto", "Adaptive"],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_spent(mechanism):
    domain = Domain({"a": 10**6, "b": 10**6})
    with pytest.raises(
        DomainError,
        match=r"at most 134217728 cells to be counted, .*; leave out an attribute or merge",
    ):
        margin.simulate(
            {"a": [1], "b": [2]},
            domain=domain,
            budget=PureDP(1),
            mechanism=mechanism,
            seed=0,
        )


@pytest.mark.slow
def test_learning_is_paid_for_only_where_it_may_pay():
    """Nothing is learnt about a domain that is best measured in full, or where noise hides
    everything."""

    for domain, rows in ((binary(4), 5000), (binary(20), 300)):
        codes = coins(rows, len(domain))
        plain, learning = (
            margin.simulate(
                codes,
                domain=domain,
                budget=PureDP(1),
                mechanism=mechanism,
                seed=0,
            )
            for mechanism in (Auto(), Adaptive(rounds=0))
        )
        for view in itertools.combinations(domain, 2):
            np.testing.assert_allclose(
                learning.marginal(view).counts,
                plain.marginal(view).counts,
                atol=1,
            )

    # With more rows the number about all pairs may tell something, long before small views do.
    made = margin.simulate(
        coins(500, 20),
        domain=binary(20),
        budget=PureDP(1),
        mechanism=Adaptive(rounds=0),
        seed=0,
    ).synopsis
    purposes = [step.purpose for step in made.provenance.course.steps]
    assert "learning how strongly pairs of attributes depend on each other" in purposes
    assert not any("small views" in purpose for purpose in purposes)

    spent = []

    class Spy:
        def run(self, gate, workload):
            synopsis = Adaptive(rounds=0).run(gate, workload)
            spent.extend(event.units / gate.budget.units for event in gate.events)
            return synopsis

    margin.simulate(
        coins(100_000, 24),
        domain=binary(24),
        budget=ZCDP("0.01"),
        mechanism=Spy(),
        seed=0,
    )
    assert spent[1:5] == pytest.approx([0.03 / 4] * 4, rel=1e-6)


@pytest.mark.parametrize("mechanism", [Auto(), Adaptive()], ids=["Auto", "Adaptive"])
def test_attributes_of_one_category_are_released(mechanism):
    domain = Domain({"one": 1, "a": 2, "alone": 1})
    table = {"one": [0, 0, 0], "a": [0, 1, 1], "alone": [0, 0, 0]}
    settings = {"domain": domain, "budget": PureDP(100), "mechanism": mechanism}
    synopsis = margin.simulate(table, **settings, seed=0).synopsis
    assert synopsis.marginal(["alone", "one"]).counts == pytest.approx(3, abs=1)
    assert synopsis.marginal(["a", "one"]).counts.shape == (2, 1)
