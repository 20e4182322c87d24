"""Dual Query as a mechanism: its contract, its parameters, and that what it spends does not hang on
its solver."""

import dataclasses
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import margin
from margin import (
    ApproxDP,
    BudgetError,
    DataError,
    Domain,
    DomainError,
    DualQuery,
    Ledger,
    Neighbours,
    Private,
    PureDP,
    SolverError,
    load,
    release,
    simulate,
)
from margin._numbers import UNIT
from margin.audit import BlackBox, audit
from margin.data import PackedSource
from margin.data.opening import open_source
from margin.noise import selection
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import ZCDP, CertifiedDP
from margin.privacy.rounds import Rounds
from margin.private.queries import scores_of
from margin.queries import BitTable, Conjunctions, Parities
from margin.solvers import Anneal, ByComponents, Enumerate, Greedy, Highs, Pulp, Status
from margin.synopses import RecordSynopsis, SolvedRound
from margin.synopses.rounds import pack_rounds, unpack_rounds
from margin.testing import check_mechanism

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
BINARY = Domain(dict.fromkeys("abcdefgh", 2))
REPLACE = {"neighbours": Neighbours.REPLACE_ROW}
BUDGETS = [
    PureDP(1),
    PureDP(2, **REPLACE),
    ZCDP("0.1"),
    ZCDP("0.5", rows_per_person=3),
    ApproxDP(1, "1e-3", **REPLACE),
]


def correlated(rows, seed=0):
    """Rows of eight bits that follow two hidden ones."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((rows, 2)) < 0.4
    return (hidden[:, [0, 0, 0, 0, 1, 1, 1, 1]] ^ (rng.random((rows, 8)) < 0.1)).astype(np.int64)


CODES = correlated(20_000)


class CountingEntropy(SeededEntropy):
    taken = 0

    def take(self, n):
        self.taken += n
        return super().take(n)


class Book:
    charges: list

    def __init__(self):
        self.charges = []

    def charge(self, budget):
        self.charges.append(budget)


def private(budget, codes=CODES, domain=BINARY, **more):
    more.setdefault("entropy", CountingEntropy(1))
    return Private(
        open_source(codes),
        domain=domain,
        budget=budget,
        **more,
    )


def small(**more):
    """A quick run."""
    return DualQuery(
        **{
            "queries": Conjunctions.random(BINARY, 3, 60, 1),
            "rounds": 4,
            "samples": 30,
            "step": 1,
            **more,
        }
    )


QUICK = {"response": Greedy(), "records": 1}
KINDS = {
    "ours": DualQuery(rounds=None, **QUICK),
    "paper": DualQuery.paper(response=Greedy()),
    "with an estimate of the error": DualQuery(estimate_error=True, **QUICK),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    KINDS.values(),
    ids=KINDS.keys(),
)
def test_it_keeps_to_its_budget(mechanism):
    check_mechanism(mechanism, pairs=6)


@pytest.mark.parametrize(
    "budget",
    [ApproxDP(1, "1e-3", **REPLACE), ApproxDP(1, "1e-3")],
    ids=repr,
)
def test_the_audit_follows_certified_rounds(budget):
    assert audit(DualQuery(response=Greedy(), records=2), domain=DOMAIN, budget=budget, pairs=6).ok


def test_the_black_box_finds_nothing():
    mechanism = DualQuery(
        queries=Conjunctions.cells(DOMAIN, [["a", "b"]]),
        size=10,
        rounds=3,
        samples=2,
        step=1,
        records=1,
        response=Greedy(),
    )
    black_box = BlackBox(runs=200, output=lambda synopsis: synopsis.answer(mechanism.queries))
    budget = PureDP("0.6")
    found = audit(mechanism, domain=DOMAIN, budget=budget, pairs=1, black_box=black_box)
    assert found.ok, found.findings


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget",
    [
        PureDP(1, **REPLACE),
        ZCDP("0.05", **REPLACE),
        ApproxDP(
            1,
            "1e-6",
            **REPLACE,
        ),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "queries",
    [
        Conjunctions.random(
            BINARY,
            3,
            300,
            1,
        ),
        Parities.random(BINARY, 3, 56, 1),
    ],
    ids=["and", "parity"],
)
def test_answers_are_near_the_truth(budget, queries):
    """20,000 rows; records made without looking have a mean error of 0.1 here."""
    synopsis = simulate(
        CODES,
        domain=BINARY,
        budget=budget,
        mechanism=DualQuery(queries=queries),
        seed=1,
    ).synopsis
    truth = queries.counts(BitTable.of_codes(BINARY, CODES)) / len(CODES)
    answers = synopsis.answer(queries)
    assert np.abs(answers - truth).mean() < 0.03 and np.abs(answers - truth).max() < 0.15
    assert ((answers >= 0) & (answers <= 1)).all()


def test_categories_are_answered_with_valid_records():
    rng = np.random.default_rng(1)
    first = rng.choice(4, 5000, p=[0.6, 0.2, 0.15, 0.05])
    codes = np.stack(
        [
            rng.integers(
                0,
                2,
                5000,
            ),
            first % 3,
            rng.integers(0, 2, 5000),
            first,
        ],
        axis=1,
    )
    synopsis = simulate(
        codes,
        domain=DOMAIN,
        budget=PureDP(5, **REPLACE),
        mechanism=DualQuery(),
        seed=1,
    ).synopsis
    records = synopsis.records(synopsis.table.rows)
    assert (records >= 0).all() and (records < np.array(DOMAIN.sizes)).all()
    marginal = synopsis.marginal(["d", "b"])
    assert marginal.counts.shape == (4, 3) and marginal.total == pytest.approx(5000)
    assert np.isnan(marginal.variance).all()
    expected = np.zeros((4, 3))
    np.add.at(
        expected,
        (records[:, 3], records[:, 1]),
        5000 / len(records),
    )
    assert marginal.counts == pytest.approx(expected)
    assert (
        np.abs(marginal.counts[:, 0] - np.bincount(codes[codes[:, 1] == 0, 3], minlength=4)).max()
        < 700
    )


def test_workloads_of_views_are_answered_cell_by_cell():
    run = {"domain": DOMAIN, "budget": PureDP(1, **REPLACE), "seed": 1}
    codes = np.zeros((50, 4), int)
    synopsis = simulate(
        codes,
        workload=[["a", "b"], ["d"]],
        mechanism=DualQuery(),
        **run,
    ).synopsis
    assert isinstance(synopsis, RecordSynopsis) and synopsis.total == 50


# What is spent


class Crashes:
    def solve(self, instance, *, seed=0):
        if instance.terms > 1:
            raise RuntimeError("out of memory")
        return Greedy().solve(instance, seed=seed)


class Lies:
    """Claims to be optimal, and returns values that do not exist."""

    def solve(self, instance, *, seed=0):
        found = Greedy().solve(instance, seed=seed)
        return (
            found
            if instance.terms == 1
            else type(
                "Lie",
                (),
                {"record": np.full(len(instance.sizes), 7), "status": Status.OPTIMAL},
            )()
        )


class Empty:
    """Times out without an incumbent."""

    def solve(self, instance, *, seed=0):
        found = Greedy().solve(instance, seed=seed)
        return (
            found
            if instance.terms == 1
            else type(
                "Late",
                (),
                {"record": None, "status": Status.TIME_LIMIT},
            )()
        )


SOLVERS = [Anneal(sweeps=5), Greedy(), Crashes(), Lies(), Empty()]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_what_is_spent_does_not_hang_on_the_solver(budget):
    spent = []
    for response in SOLVERS:
        gate = private(budget)
        synopsis = small(
            response=response,
            size=None if budget.neighbours is Neighbours.REPLACE_ROW else 20_000,
        ).run(gate, None)
        assert synopsis.table.rows >= 4
        spent.append(
            (gate._account.spent, [(e.units, e.spread, e.draws, e.sampler) for e in gate.events])
        )
    assert all(one == spent[0] for one in spent)


@pytest.mark.parametrize(
    "response",
    SOLVERS,
    ids=lambda solver: type(solver).__name__,
)
def test_failing_solvers_pass_the_audit(response):
    assert audit(
        DualQuery(response=response, records=2),
        domain=DOMAIN,
        budget=PureDP(2, **REPLACE),
        pairs=4,
    ).ok


class Missing:
    def solve(self, instance, *, seed=0):
        return type(
            "None",
            (),
            {"record": None, "status": Status.MISSING},
        )()


class Broken:
    def solve(self, instance, *, seed=0):
        raise ImportError("no such library")


class Silent:
    def solve(self, instance, *, seed=0):
        raise LookupError


BROKEN = r"Broken cannot .* raised ImportError in test_dualquery.py, line \d+ \(no such library\); "
SILENT = r"Silent cannot .* raised LookupError in test_dualquery.py, line \d+; "


@pytest.mark.parametrize(
    ("response", "message", "cause"),
    [
        (Missing(), "Missing cannot be used here: on one public query, .*; choose", type(None)),
        (Broken(), BROKEN, ImportError),
        (Silent(), SILENT, LookupError),
    ],
)
def test_a_solver_that_cannot_work_is_found_out_before_anything_is_spent(response, message, cause):
    gate, book = private(PureDP(1), ledger=(ledger := Book())), ledger
    with pytest.raises(SolverError, match=message) as caught:
        small(response=response).run(gate, None)
    assert type(caught.value.__cause__) is cause
    assert not gate._entropy.taken and not book.charges and not gate._account.spent


def test_a_comparison_keeps_the_cause_of_a_solver_that_cannot_work():
    found = margin.compare(
        CODES,
        domain=BINARY,
        budget=PureDP(1),
        mechanisms={"broken": small(response=Broken()), "missing": small(response=Missing())},
        workload=[BINARY.attributes[:1]],
        runs=1,
    )
    rows = {row.name: row for row in found.rows}
    assert "no such library" in rows["broken"].problem
    assert "ImportError: no such library" in rows["broken"].traceback
    assert not rows["missing"].traceback


@pytest.mark.parametrize(
    ("mechanism", "error", "message"),
    [
        (lambda: small(step=10**6), BudgetError, "rounds"),
        (
            lambda: small(rounds=None, step=10**6, samples=10**6),
            BudgetError,
            "epsilon must be at least",
        ),
        (
            lambda: small(rounds=5000, samples=5000),
            BudgetError,
            "cost more than the budget has left",
        ),
        (
            lambda: small(
                queries=Conjunctions.random(
                    DOMAIN,
                    2,
                    5,
                    1,
                )
            ),
            DomainError,
            "another domain",
        ),
        (lambda: small(samples=[3, 4], rounds=3), BudgetError, "samples"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_charge(
    mechanism,
    error,
    message,
):
    gate, book = private(PureDP("0.001", **REPLACE), ledger=(ledger := Book())), ledger
    with pytest.raises(error, match=message):
        mechanism().run(gate, None)
    assert not gate._entropy.taken and not book.charges and not gate._account.spent


@pytest.mark.parametrize("estimate_error", [False, True])
def test_the_least_epsilon_is_enough(estimate_error):
    for budget, name in (
        (PureDP("1e-6", **REPLACE), "epsilon"),
        (ZCDP("1e-9", **REPLACE), "rho"),
        (ApproxDP("1e-4", "1e-6", **REPLACE), "epsilon"),
    ):
        mechanism = small(rounds=None, samples=500, step=20, estimate_error=estimate_error)
        with pytest.raises(BudgetError, match=f"{name} must be at least ([0-9.e-]+)") as caught:
            mechanism.run(private(budget), None)
        least = str(caught.value).split("at least ")[1]
        delta = ("1e-6",) if isinstance(budget, ApproxDP) else ()
        more = type(budget)(least, *delta, **REPLACE)
        assert mechanism.run(private(more), None).table.rows


@pytest.mark.parametrize(
    "bad",
    [
        {"queries": [["a"]]},
        {"response": Anneal},
        {"response": "highs"},
        {"rounds": 0},
        {"records": 0},
        {"pool": 1.5},
        {"size": -1},
        {"step": 0},
        {"step": "x"},
        {"samples": 0},
        {"samples": [1, 0]},
        {"accounting": "best"},
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(margin.MarginError):
        small(**bad)


def test_data_that_does_not_fit_costs_nothing():
    gate = private(PureDP(1, **REPLACE), codes=np.full((3, 8), 2))
    with pytest.raises(DataError):
        small().run(gate, None)
    assert not gate._account.spent and not gate._entropy.taken


# Certified rounds


@pytest.mark.slow
def test_an_approximate_budget_buys_certified_rounds():
    """More rounds than its rho pays for; all of it is then gone, and the release says so."""
    budget = ApproxDP(1, "1e-3", **REPLACE)
    gate = private(budget)
    mechanism = small(rounds=None)
    mechanism.run(gate, None)
    played = gate.events[0].rounds
    assert played.units(budget) > budget.units and played.epsilon(budget) <= 1
    assert gate._account.remaining == 0 and isinstance(gate.spent, CertifiedDP)
    more = Rounds(
        step=played.step,
        samples=(*played.samples, *played.samples[:3]),
        size=played.size,
        records=played.records,
    )
    assert more.epsilon(budget) > F(999, 1000)
    with pytest.raises(BudgetError, match="the budget is used up"):
        gate.measure([["a"]])


def test_a_ledger_takes_no_certified_rounds(tmp_path):
    budget = ApproxDP(1, "1e-3", **REPLACE)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.register("people", ZCDP(1, **REPLACE))
    gate = private(budget, ledger=ledger.dataset("people"))
    small(rounds=None).run(gate, None)
    assert gate.events[0].rounds.units(budget) <= budget.units and gate.spent == budget


def test_the_rest_of_epsilon_is_certified_after_something_pure_but_not_after_gaussian_noise():
    budget = ApproxDP(1, "1e-3", **REPLACE)
    rounds = Rounds(step=1, samples=(50,) * 100, size=11_200)
    assert F(9, 10) < rounds.epsilon(budget) <= 1 and rounds.units(budget) > budget.units
    pure, gaussian = private(budget), private(budget)
    assert pure.affords(rounds)
    choice = [["a"], ["b"]], [np.zeros(2), np.zeros(2)]
    epsilon = F(1, 2) * (1 - rounds.epsilon(budget))
    pure.select(*choice, spend=epsilon**2 / 8 / (budget.units * UNIT))
    assert pure.affords(rounds)
    pure.select(*choice, spend=F(1, 50))
    assert not pure.affords(rounds)
    gaussian.measure([["a"]], spend="1e-6")
    assert not gaussian.affords(rounds)


def test_after_certified_rounds_other_answers_get_the_epsilon_that_these_leave():
    budget = ApproxDP(1, "1e-3", **REPLACE)
    rounds = Rounds(step=1, samples=(50,) * 60, size=5_200)
    queries = Conjunctions.random(BINARY, 3, 60, 1)
    gate = private(budget)
    gate.sample_queries(queries, rounds, spend="0.95").draw(np.zeros(60, int))
    assert isinstance(gate.spent, CertifiedDP)
    left = budget.epsilon - rounds.epsilon(budget)

    def choose(epsilon):
        share = epsilon**2 / 8 / (budget.units * UNIT)
        gate.select([["a"], ["b"]], [np.zeros(2), np.zeros(2)], spend=share)

    with pytest.raises(BudgetError, match="the rounds leave"):
        choose(left * F(101, 100))
    choose(left * F(60, 100))
    with pytest.raises(BudgetError, match="the rounds leave"):
        choose(left * F(41, 100))
    choose(left * F(39, 100))
    assert len(gate.events) == 3


def test_only_one_play_is_certified_and_all_else_is_counted():
    """Two plays opened together, of one and the same rounds: the second would make delta count
    twice."""
    budget = ApproxDP(1, "1e-3", **REPLACE)
    rounds = Rounds(step=1, samples=(50,) * 60, size=5_200)
    assert rounds.units(budget) > budget.units * F(95, 100) and rounds.epsilon(budget) <= F(95, 100)
    queries = Conjunctions.random(BINARY, 3, 60, 1)
    gate = private(budget)
    one, other = (
        gate.sample_queries(
            queries,
            rounds,
            spend=spend,
        )
        for spend in ("0.95", "0.95")
    )
    one.draw(np.zeros(60, int))
    spent = gate._account.spent
    with pytest.raises(BudgetError, match="certified already"):
        other.draw(np.zeros(60, int))
    with pytest.raises(BudgetError):  # what rho would pay for, had nothing been certified
        gate.sample_queries(queries, rounds).draw(np.zeros(60, int))
    with pytest.raises(BudgetError, match="every answer must be pure"):
        gate.measure([["a"]], spend="0.04")
    assert gate._account.spent == spent
    one.draw(np.zeros(60, int))


def test_a_release_says_what_it_guarantees(tmp_path):
    mechanism = small(rounds=None)
    for budget, kind in (
        (ApproxDP(1, "1e-3", **REPLACE), CertifiedDP),
        (PureDP(1, **REPLACE), PureDP),
    ):
        synopsis = release(
            CODES,
            domain=BINARY,
            budget=budget,
            mechanism=mechanism,
        )
        assert type(synopsis.spent) is kind
        synopsis.save(tmp_path / "out.margin")
        loaded = load(tmp_path / "out.margin")
        assert loaded.spent == synopsis.spent and loaded.total == 20_000
        assert (loaded.answer(mechanism.queries) == synopsis.answer(mechanism.queries)).all()
        assert (loaded.records(7) == synopsis.records(7)).all()
        assert (loaded.marginal(["h", "a"]).counts == synopsis.marginal(["h", "a"]).counts).all()


def test_where_rows_are_added_their_number_is_measured_or_declared():
    for budget in (PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-3")):
        gate = private(budget)
        synopsis = small(
            samples=3000,
            step=2,
            rounds=None,
            records=1,
        ).run(gate, None)
        assert gate.events[0].method == "count_rows" and abs(synopsis.total - 20_000) < 2500
        assert synopsis.total == gate.events[1].rounds.size
        gate = private(budget)
        assert small(size=15_000).run(gate, None).total == 15_000
        assert {event.method for event in gate.events} == {"sample_queries"}


def test_the_negation_trap():
    """With fewer rows than declared, a negation counts its own rows; the scores move one way only
    when a row comes."""
    queries = Conjunctions(BINARY, [[0]], [[1]])
    seen = []

    class Seen(Private):
        def _answer(self, events, true, draw):
            seen.append(true[0].copy())
            return super()._answer(events, true, draw)

    for rows in (CODES[:4], CODES[:5]):
        gate = Seen(
            open_source(rows),
            domain=BINARY,
            budget=PureDP(9),
            entropy=SeededEntropy(1),
        )
        draws = gate.sample_queries(
            queries,
            Rounds(
                step=1,
                samples=(1, 1),
                size=100,
                records=2,
            ),
        )
        draws.draw([0])
        draws.draw([1])
    ones = int(CODES[:4, 0].sum())
    assert seen[1].tolist() == [2 * ones - 100, 2 * (4 - ones) - 100]
    change = seen[3] - seen[1]
    assert sorted(change.tolist()) == [0, 2]


def test_draws_follow_the_exponential_mechanism():
    """40,000 draws among 2 queries and 2 negations; each within 6 standard deviations of what it
    should be: 1e-8."""
    queries = Conjunctions(BINARY, [[0], [4]], [[1], [0]])
    rounds = Rounds(step=3, samples=(1, 40_000), size=100, records=1)
    gate = private(PureDP(10**5, **REPLACE), codes=CODES[:80])
    draws = gate.sample_queries(queries, rounds)
    draws.draw([0, 0])
    drawn = draws.draw([1, 0])
    truth = np.array([CODES[:80, 0].sum(), (CODES[:80, 4] == 0).sum()])
    scores = np.concatenate([truth - [100, 0], 80 - truth - [0, 100]])
    p = np.exp(3 / 100 * scores)
    p /= p.sum()
    times = np.bincount(drawn, minlength=4)
    assert (np.abs(times - 40_000 * p) < 6 * np.sqrt(40_000 * p * (1 - p))).all()
    with pytest.raises(BudgetError, match="all 2 rounds have been drawn"):
        draws.draw([0, 0])


def test_paper_mode_uses_the_published_accounting():
    budget = ApproxDP(1, "1e-3", **REPLACE)
    queries = Conjunctions.random(BINARY, 3, 60, 1)
    from margin.mechanisms.learning.dualquery import privacy

    gate = private(budget)
    quick = DualQuery.paper(queries=queries, samples=200, response=Greedy())
    synopsis = quick.run(gate, None)
    rounds = synopsis.table.rows
    cost = [
        privacy(
            20_000,
            2,
            t,
            200,
            1e-3,
            "per_round",
        )
        for t in (rounds, rounds + 1)
    ]
    assert cost[0] <= 1 < cost[1]


# How each round was solved


def test_paper_mode_gives_each_round_to_a_solver_of_integer_programmes():
    assert DualQuery.paper().response == Pulp(time_limit=20, published=True)
    queries = Conjunctions.random(BINARY, 3, 60, 1)
    for response in (Pulp(published=True), Highs(published=True), Enumerate()):
        mechanism = DualQuery.paper(queries=queries, samples=40, rounds=3, response=response)
        gate = private(PureDP(100, **REPLACE), codes=CODES[:500])
        synopsis = mechanism.run(gate, None)
        if synopsis.rounds[0].status is Status.MISSING:
            pytest.skip(f"{response} is not installed")
        assert len(synopsis.rounds) == synopsis.table.rows == 3
        name = getattr(response, "name", type(response).__name__)
        for one in synopsis.rounds:
            assert one.solver == name and one.status is Status.OPTIMAL
            assert one.value == one.bound <= 40 and one.seconds > 0


def test_rounds_say_what_happened_when_the_solver_failed():
    failing = {Crashes(): Status.FAILED, Lies(): Status.FAILED, Empty(): Status.TIME_LIMIT}
    for response, status in failing.items():
        synopsis = small(response=response, records=2).run(private(PureDP(2, **REPLACE)), None)
        assert len(synopsis.rounds) == synopsis.table.rows == 8
        for one in synopsis.rounds:
            assert one.solver == "random record" and one.status is status
            assert one.value <= one.bound
    annealed = small(response=Anneal(sweeps=5)).run(private(PureDP(2, **REPLACE)), None)
    assert {one.solver for one in annealed.rounds} == {"Anneal"}


class Claims:
    """Says that the record of zeros is the best one."""

    def solve(self, instance, *, seed=0):
        zeros = np.zeros(len(instance.sizes), instance.record_type)
        return instance.respond(zeros, status=Status.OPTIMAL)


def test_a_false_optimum_of_an_own_solver_is_found_and_the_better_record_is_taken():
    exact = small(response=Enumerate()).run(private(PureDP(2, **REPLACE)), None)
    claimed = small(response=Claims()).run(private(PureDP(2, **REPLACE)), None)
    best, first = exact.rounds[0], claimed.rounds[0]
    assert first.status is Status.FAILED and first.solver == "Claims"
    assert 0 < first.value <= best.value == best.bound <= first.bound


def test_rounds_are_saved_and_crafted_ones_are_refused(tmp_path):
    run = {"domain": BINARY, "budget": PureDP(1, **REPLACE), "seed": 3}
    mechanism = small(response=Enumerate())
    synopsis = simulate(CODES, mechanism=mechanism, **run).synopsis
    synopsis.save(tmp_path / "a.margin")
    again = load(tmp_path / "a.margin", allow_simulation=True).synopsis
    # A file holds no time, which would not follow from the noisy draws.
    assert all(math.isnan(one.seconds) for one in again.rounds)
    timeless = [dataclasses.replace(one, seconds=0.0) for one in synopsis.rounds]
    assert [dataclasses.replace(one, seconds=0.0) for one in again.rounds] == timeless
    assert len(again.rounds) == synopsis.table.rows
    assert all(isinstance(one, SolvedRound) for one in again.rounds)
    assert "proved to be best" in again.summary()["responses"]
    fields, arrays = pack_rounds(synopsis.rounds)
    wrong = [
        (fields, arrays | {"solved": arrays["solved"][:-1]}, "solved must have shape"),
        (fields, arrays | {"solved": arrays["solved"] - 10}, "or a negative place"),
        (fields | {"solvers": [3]}, arrays, "solvers and statuses must be texts"),
    ]
    for crafted_fields, crafted_arrays, says in wrong:
        with pytest.raises(ValueError, match=says):
            unpack_rounds(crafted_fields, crafted_arrays)


# Theorem 4.6


def test_the_parameters_of_theorem_4_6():
    """T = 16 ln|Q| / alpha^2, eta = alpha / 4, s = 48 ln(2 |X| T / beta) / alpha^2."""
    queries = Conjunctions(DOMAIN, [[0, 1], [1, 3]], [[1, 2], [0, 3]])
    mechanism = DualQuery.for_accuracy("0.1", "0.05", queries=queries)
    rounds = 16 * np.log(4) / 0.01  # two queries and their negations
    draws = 48 * np.log(2 * (2 * 3 * 4) * mechanism.rounds / 0.05) / 0.01  # attributes a, b and d
    assert mechanism.step == F(1, 40)
    assert 0 <= mechanism.rounds - rounds < 1 and 0 <= mechanism.samples - draws < 1
    assert mechanism.records == mechanism.pool == 1 and mechanism.response == ByComponents()
    for alpha, beta in ((0, "0.1"), (1, "0.1"), ("0.1", 0), ("0.1", 1)):
        with pytest.raises(BudgetError, match="must be a number > 0 and < 1"):
            DualQuery.for_accuracy(alpha, beta, queries=queries)
    with pytest.raises(DomainError, match="queries must be"):
        DualQuery.for_accuracy("0.1", "0.1", queries=None)


def test_errors_are_within_alpha():
    """The theorem fails with a probability of at most beta = 1e-6."""
    queries = Conjunctions.cells(BINARY, [["a", "b"], ["c", "d"], ["a", "e"]])
    mechanism = DualQuery.for_accuracy("0.5", "1e-6", queries=queries)
    budget = PureDP(10**6, **REPLACE)
    run = {"domain": BINARY, "budget": budget, "mechanism": mechanism, "seed": 5}
    synopsis = simulate(CODES, **run).synopsis
    assert all(one.status is Status.OPTIMAL for one in synopsis.rounds)
    truth = queries.counts(BitTable.of_codes(BINARY, CODES)) / len(CODES)
    assert np.abs(synopsis.answer(queries) - truth).max() <= 0.5


def test_equal_seeds_give_equal_records_and_wide_tables_are_read_as_they_are():
    words = BitTable.of_codes(BINARY, CODES).words
    run = {"domain": BINARY, "budget": PureDP(1, **REPLACE), "mechanism": small(), "seed": 3}
    one, other = (
        simulate(CODES, **run).synopsis,
        simulate(PackedSource(words, rows=len(CODES)), **run).synopsis,
    )
    assert (one.table.words == other.table.words).all()


def test_an_estimate_of_the_error_is_paid_for():
    budget = PureDP(2, **REPLACE)
    queries = Conjunctions.random(BINARY, 3, 200, 1)
    synopsis = simulate(
        CODES,
        domain=BINARY,
        budget=budget,
        mechanism=small(queries=queries, estimate_error=True),
        seed=1,
    ).synopsis
    error = np.abs(
        synopsis.answer(queries) - queries.counts(BitTable.of_codes(BINARY, CODES)) / 20_000
    )
    assert synopsis.mean_error == pytest.approx(error.mean(), abs=0.02)
    assert synopsis.largest_error == pytest.approx(error.max(), abs=0.02)
    assert "estimate" in "".join(synopsis.summary().values())
    assert (
        simulate(
            CODES,
            domain=BINARY,
            budget=budget,
            mechanism=small(),
            seed=1,
        ).synopsis.mean_error
        is None
    )


@pytest.mark.parametrize("n", [0, -1, 1.5, True, 2**40])
def test_a_bad_number_of_records_is_refused(n):
    synopsis = simulate(
        CODES,
        domain=BINARY,
        budget=PureDP(1, **REPLACE),
        mechanism=small(),
        seed=1,
    ).synopsis
    with pytest.raises(DomainError, match="record"):
        synopsis.records(n)


def test_what_a_synopsis_cannot_answer_is_told():
    records = simulate(
        CODES,
        domain=BINARY,
        budget=PureDP(1, **REPLACE),
        mechanism=small(),
        seed=1,
    ).synopsis
    with pytest.raises(DomainError, match="domain"):
        records.answer(Conjunctions.random(DOMAIN, 2, 3, 1))
    wide = Domain({f"x{i}": 2 for i in range(30)})
    made = simulate(
        np.zeros((3, 30), int),
        domain=wide,
        budget=PureDP(1, **REPLACE),
        mechanism=DualQuery(
            queries=Conjunctions.random(
                wide,
                2,
                9,
                1,
            )
        ),
        seed=1,
    )
    with pytest.raises(DomainError, match="cells"):
        made.synopsis.marginal(wide.attributes)


def test_records_come_about_equally_often():
    synopsis = simulate(
        CODES,
        domain=BINARY,
        budget=PureDP(1, **REPLACE),
        mechanism=small(),
        seed=1,
    ).synopsis
    rows = synopsis.table.rows
    assert (synopsis.records(3 * rows) == np.repeat(synopsis.records(rows), 3, axis=0)).all()
    assert len(set(itertools.chain(map(tuple, synopsis.records(rows).tolist())))) >= 1


@pytest.mark.parametrize("rate", ["1/3", "1e-9", 7])
def test_choices_among_many_are_made_by_the_same_classes(rate):
    """The compiled pass over candidates gives the integers of numpy; both orders are stable."""
    scores = np.random.default_rng(1).integers(
        -(10**9),
        10**9,
        40_000,
    )
    makers = (selection._classes, selection._classes_at_once)
    one, other = (
        make(
            scores,
            int(scores.max()),
            F(rate),
            46,
        )
        for make in makers
    )
    assert (one[0] == other[0]).all() and (one[1] == other[1]).all()
    ordered = selection._ordered(one[0], np.cumsum(one[1]) - one[1])
    assert (ordered == np.argsort(one[0], kind="stable")).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_no_refusal_tells_how_many_rows_there_are(rows):
    """Arguments just below what is refused work whatever the rows are: counts are cut off, not
    refused."""
    domain = margin.Domain({"a": 2, "b": 2})
    queries = Conjunctions.random(domain, 1, 2, 0)
    gate = margin.Private(
        open_source(np.ones((rows, 2), int)),
        domain=domain,
        budget=PureDP(1000),
        entropy=SeededEntropy(1),
    )
    mean, largest = gate.query_errors(
        queries,
        np.zeros(len(queries), int),
        records=(1 << 59) // len(queries),
        size=1,
    )
    assert np.isfinite([mean, largest]).all()


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(1, 2**58),
)
def test_counts_that_are_cut_off_move_no_further_than_a_row_does(
    count,
    others,
    multiplier,
):
    """Neither a score nor its negation's goes down, nor up by more than the multiplier, and none is
    above 2**61."""
    rows, answered = count + others, np.array([min(3, multiplier)])
    before = scores_of(
        np.array([count]),
        rows,
        answered,
        multiplier,
        1,
    )
    for after in (
        scores_of(
            np.array([count + 1]),
            rows + 1,
            answered,
            multiplier,
            1,
        ),
        scores_of(
            np.array([count]),
            rows + 1,
            answered,
            multiplier,
            1,
        ),
    ):
        assert (after - before >= 0).all() and (after - before <= multiplier).all()
    assert np.abs(before).max() <= 2**61
