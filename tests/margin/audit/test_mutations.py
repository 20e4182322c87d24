"""Seeded bugs: each is a mistake that someone has made or could make, and each must be caught.

`MECHANISMS` are mechanisms that do wrong with a sound gate; `GATES` are mistakes in the library
itself, under mechanisms that do nothing wrong; `CHECKED` are mistakes that a test of a law or of a
source catches. The list in docs/guarantees.md is compared with this one.
"""

import inspect
import itertools
import re
import textwrap
import warnings
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from audit_checks import (
    MOSTLY,
    Ask,
    Draw,
    check_certificates,
    check_law_of_choices,
    check_law_of_largest,
    check_pure_epsilon,
)

from margin._numbers import UNIT
from margin.audit import BlackBox, neighbours
from margin.audit.distinguishing_event import largest_probability
from margin.audit.outputs.outcome import outcome
from margin.audit.recorder import Player, Recorder
from margin.audit.trial import Trial
from margin.audit.violation import Violation
from margin.counting import CountPlan
from margin.data import rows_per_person
from margin.data.opening import open_source
from margin.domain.domain import Domain
from margin.errors import DataError
from margin.noise import laws
from margin.noise.entropy import SeededEntropy
from margin.noise.kept_cells import Entering
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from margin.privacy import event
from margin.privacy.account import Account
from margin.privacy.budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from margin.privacy.rounds import Rounds
from margin.private import (
    Keep,
    Largest,
    Strategy,
    above,
    cell_counts,
    choose,
    counts,
    cuts,
    dependence,
    distances,
    frequent,
    gate,
    item_counts,
    items,
    linear,
    measure,
    queries,
    sets,
    sketch,
    sparse,
    sparse_noise,
)
from margin.private.strategy import Factor, Groups
from margin.queries import Conjunctions
from margin.sparse import grid
from margin.sparse.axes import Tree
from margin.testing import check_source

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
VIEWS = [["a", "b"], ["b", "c"]]
GUARANTEES = Path(__file__).parents[3] / "docs" / "guarantees.md"


def truth(gate, view=("a", "b", "c")):
    """What a mechanism must not touch."""
    return gate._tables([gate.domain.view(view)])[0]


class Standard:
    """Nothing wrong: two views."""

    def run(self, gate, workload):
        return [m.counts for m in gate.measure(VIEWS)]


class Twice:
    """Nothing wrong but that it asks for all of the budget two times, which must be refused."""

    def run(self, gate, workload):
        return [gate.measure(VIEWS, spend=1)[0].counts for _ in range(2)]


class Chooser:
    """Nothing wrong: a choice among views by how far they are from even tables."""

    def run(self, gate, workload):
        views = [["a"], ["b"], ["c"], ["a", "b"], ["b", "c"]]
        public = [np.full(gate.domain.shape(view), 3) for view in views]
        return gate.select(views, public, count=2)


class Sampler:
    """Nothing wrong: draws of cells and of their negations."""

    def run(self, gate, workload):
        cells = Conjunctions.cells(gate.domain, VIEWS)
        replaced = gate.budget.rows
        step = F(1, 18) if isinstance(gate.budget, ApproxDP) else F(1, 25)
        draws = gate.sample_queries(cells, Rounds(step=step / replaced, samples=(2, 5, 3), size=1))
        first = draws.draw(np.zeros(18, int))
        second = draws.draw(np.bincount(first % 18, minlength=18).clip(0, 1))
        return [first, second, draws.draw(np.arange(18) % 3)]


class Counter:
    """Nothing wrong: the number of rows, with noise."""

    def run(self, gate, workload):
        return [gate.count_rows()]


class Items:
    """Nothing wrong: counts of items, and the number of items to keep of a row."""

    def run(self, gate, workload):
        names = list(gate.domain)
        most = gate.select_most(names, [1, 2, 3], penalties=[0, 0, 0], spend="1/2")
        return most, gate.truncated_counts(names, most=2, grain=4).counts


class LinearQueries:
    """Nothing wrong: queries with signs, measured together and with shares."""

    def run(self, gate, workload):
        strategies = [
            Strategy(("a", "b"), [[[1, -1], [1, -1], [1, 1]], [[2, -1, 1], [1, 2, 1], [3, 1, 2]]]),
            Strategy.total(gate.domain),
        ]
        first = gate.measure_linear(strategies, spend="1/2")
        return [
            answers.values for answers in (*first, *gate.measure_linear(strategies, shares=[1, 2]))
        ]


class Sparse:
    """Nothing wrong: the large cells of a table."""

    def run(self, gate, workload):
        kept = gate.sparse_cells(["a", "b", "c"], keep=Keep(2, 2, False))
        return np.bincount(np.ravel_multi_index(tuple(kept.codes.T), (2, 3, 4)), kept.counts, 24)


class Trees:
    """Nothing wrong: a summary of all intervals."""

    def run(self, gate, workload):
        kept = gate.sparse_cells(["a", "c"], keep=Largest(6), axes=[Tree(2), Tree(4)])
        return kept.codes, kept.counts, kept.cut


class Baskets:
    """Nothing wrong: how many items to keep with which factor, counts of few items a row, the most
    frequent items."""

    def run(self, gate, workload):
        names = list(gate.domain)
        scaled = gate.select_scaled(
            names, [1, 2], scales=[1, 2], penalties=[[0, 0], [1, 1]], spend="1/5", grain=12
        )
        few = gate.sampled_counts(names, most=2, spend="1/5").counts
        chosen = gate.select_items(names, count=2, spend="1/5")
        waves = gate.walsh_counts(names, first=3, most=2, grain=4, spend="1/5")
        return scaled, few, chosen, waves, gate.chosen_counts(names, chosen=[0, 3]).counts


SOUND = [
    Standard(),
    Twice(),
    LinearQueries(),
    Chooser(),
    Sampler(),
    Counter(),
    Items(),
    Sparse(),
    Trees(),
    Baskets(),
]
ITEMS = Domain(dict.fromkeys("abcdef", 2))
ITEM_METHODS = {name for part in (items.Items, sets.Sets, frequent.Frequent) for name in vars(part)}


def tried(mechanism, budget=PureDP(1), pairs=40, runs=0):
    """An audit that gives one finding after another, so that a test of a mistake may stop at the
    first."""
    items = (
        isinstance(mechanism, Items | Baskets) or getattr(mechanism, "method", "") in ITEM_METHODS
    )
    domain = getattr(mechanism, "domain", ITEMS if items else DOMAIN)

    def flat(out):
        parts = out if isinstance(out, list) else [out]
        return np.concatenate([np.ravel(part) for part in parts])

    tables = list(neighbours(domain, budget, pairs))
    black_box = BlackBox(runs=runs, output=flat) if runs else None
    return Trial(
        mechanism=mechanism, domain=domain, budget=budget, tables=tables, black_box=black_box
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP("0.5"), PureDP(1, neighbours=Neighbours.REPLACE_ROW)], ids=repr
)
@pytest.mark.parametrize("mechanism", SOUND, ids=lambda mechanism: type(mechanism).__name__)
def test_sound_mechanisms_pass(mechanism, budget):
    assert list(tried(mechanism, budget, pairs=16).findings()) == []


# Mechanisms that go past the gate


def exact_total(gate):
    return [*Standard().run(gate, None), truth(gate).sum()]


def total_kept(gate):
    first, second = Standard().run(gate, None)
    return [first + (truth(gate).sum() - first.sum()) / first.size, second]


def only_cells_that_exist(gate):
    table = gate.measure([["a", "b", "c"]])[0].counts
    return table[truth(gate) > 0]


def zero_stays_zero(gate):
    table = gate.measure([["a", "b", "c"]])[0].counts
    return np.where(truth(gate) > 0, table, 0)


def branch_on_size(gate):
    return gate.measure(VIEWS if truth(gate).sum() > 9 else VIEWS[:1])[0].counts


def view_chosen_on_the_data(gate):
    no, yes = truth(gate, ["a"])
    return gate.measure([VIEWS[0] if yes > no else VIEWS[1]])[0].counts


def spend_by_number_of_rows(gate):
    return gate.measure(VIEWS, spend=F(1, 1 + int(truth(gate).sum())))[0].counts


def shares_by_the_data(gate):
    return gate.measure(VIEWS, shares=[1 + int(truth(gate, ["a"])[0]), 1])[0].counts


def crash_as_a_signal(gate):
    if truth(gate).max() > 3:
        raise DataError("too many rows in a cell")
    return gate.measure(VIEWS)[0].counts


def data_in_an_error(gate):
    raise DataError(f"{truth(gate).sum()} rows are too few")


def prints_the_rows(gate):
    print(truth(gate).sum())
    return gate.measure(VIEWS)[0].counts


def warns_of_the_rows(gate):
    warnings.warn(f"only {truth(gate).sum()} rows", stacklevel=1)
    return gate.measure(VIEWS)[0].counts


def own_float_noise(gate):
    return truth(gate) + np.random.default_rng().laplace(scale=1.0, size=24).reshape(2, 3, 4)


def own_seeded_noise(gate):
    return truth(gate) + np.random.default_rng(0).laplace(scale=1.0, size=24).reshape(2, 3, 4)


def domain_learnt(gate):
    return gate.measure([["a", "b"]])[0].counts, (truth(gate, ["c"]) > 0).tolist()


def better_of_two(gate):
    tries = [gate.measure([["a", "b"]], spend="1/2")[0].counts for _ in range(2)]
    return min(tries, key=lambda counts: np.abs(counts - truth(gate, ["a", "b"])).sum())


def again_until_close(gate):
    for _ in range(4):
        counts = gate.measure([["a"]], spend="1/4")[0].counts
        if np.abs(counts - truth(gate, ["a"])).max() < 3:
            break
    return counts


def clipped_to_the_largest(gate):
    return np.minimum(gate.measure(VIEWS)[0].counts, truth(gate, VIEWS[0]).max())


def rounded_to_the_truth_when_close(gate):
    counts, true = gate.measure([["a", "b"]])[0].counts, truth(gate, ["a", "b"])
    return np.where(np.abs(counts - true) <= 2, true, counts)


def sensitive_public_answer(gate):
    gate.select([["a"], ["b"]], [truth(gate, ["a"]), np.zeros(3)], spend="1/2")
    return 0


def rows_learnt(gate):
    cells = Conjunctions.cells(gate.domain, VIEWS)
    size = 1 + gate._number_of_rows()
    return gate.sample_queries(cells, Rounds(step=1, samples=(1,), size=size)).draw(
        np.zeros(18, int)
    )


def truth_as_answers(gate):
    cells = Conjunctions.cells(gate.domain, VIEWS)
    draws = gate.sample_queries(cells, Rounds(step=F(1, 99), samples=(1, 1), size=1))
    return [draws.draw(gate._query_counts(cells)[0]) for _ in range(2)]


def broken(gate):
    return gate.nothing


def reads_the_source(gate):
    return [len(batch["a"]) for batch in gate._source.batches(gate.domain)]


MECHANISMS = [
    exact_total,
    total_kept,
    only_cells_that_exist,
    zero_stays_zero,
    branch_on_size,
    view_chosen_on_the_data,
    spend_by_number_of_rows,
    shares_by_the_data,
    crash_as_a_signal,
    data_in_an_error,
    prints_the_rows,
    warns_of_the_rows,
    own_float_noise,
    own_seeded_noise,
    domain_learnt,
    better_of_two,
    again_until_close,
    clipped_to_the_largest,
    rounded_to_the_truth_when_close,
    sensitive_public_answer,
    reads_the_source,
    rows_learnt,
    truth_as_answers,
    broken,
]


@pytest.mark.parametrize("ask", ["FAR", "LARGE", "TOTAL", "RULED"])
def test_sound_answers_on_large_tables_pass(ask):
    assert list(tried(globals()[ask], pairs=16).findings()) == []


@pytest.mark.slow
@pytest.mark.parametrize("wrong", MECHANISMS, ids=lambda wrong: wrong.__name__)
def test_a_mechanism_that_goes_past_the_gate_is_caught(wrong):
    class Wrong:
        def run(self, gate, workload):
            return wrong(gate)

    assert any(tried(Wrong(), pairs=120).findings())


# Mistakes in the library


def half_the_scale(patch):
    noise = PureDP.noise
    patch.setattr(PureDP, "noise", lambda self, charge, **bounds: noise(self, 2 * charge, **bounds))


def half_the_variance(patch):
    noise = ZCDP.noise
    patch.setattr(ZCDP, "noise", lambda self, charge, **bounds: noise(self, 2 * charge, **bounds))


def gaussian_for_pure(patch):
    patch.setattr(PureDP, "noise", lambda self, charge, **bounds: DiscreteGaussian(F(1)))


def each_view_gets_all(patch):
    patch.setattr(
        measure,
        "split_units",
        lambda total, shares: (total,) * (shares if isinstance(shares, int) else len(shares)),
    )
    patch.setattr(Account, "charge", lambda self, units: None)


def each_strategy_gets_all(patch):
    patch.setattr(linear, "split_units", lambda total, shares: (total,) * len(shares))
    patch.setattr(Account, "charge", lambda self, units: None)


def rows_for_columns(patch):
    patch.setattr(Factor, "l1", property(lambda self: int(np.abs(self.matrix).sum(axis=1).max())))


def largest_number_for_columns(patch):
    patch.setattr(Factor, "l2_squared", property(lambda self: self.largest**2))


def one_factor_for_all(patch):
    patch.setattr(Strategy, "l1", property(lambda self: self.factors[0].l1))


def signs_as_counts(patch):
    patch.setattr(
        Strategy,
        "sensitivity",
        lambda self, budget: budget.sensitivity(l1=self.l1, l2_squared=self.l2_squared),
    )


def nothing_is_charged(patch):
    patch.setattr(gate.Gate, "_charge", lambda self, units: None)


def the_account_forgets(patch):
    patch.setattr(Account, "spent", property(lambda self: 0))
    patch.setattr(Account, "remaining", property(lambda self: self._budget.units))


def replacement_counts_once(patch):
    patch.setattr(Budget, "rows", property(lambda self: self.rows_per_person))


def one_row_a_person(patch):
    patch.setattr(Budget, "sensitivity", lambda self, *, l1=1, l2_squared=1: (l1, l2_squared))


def m_instead_of_m_squared(patch):
    patch.setattr(
        Budget,
        "sensitivity",
        lambda self, *, l1=1, l2_squared=1: (self.rows * l1, self.rows * l2_squared),
    )


def half_the_spread(patch):
    choices = gate.Gate._choices
    patch.setattr(
        gate.Gate,
        "_choices",
        lambda self, m, a, c, spread: choices(self, m, a, c, max(1, spread // 2)),
    )


def twice_the_rate(patch):
    selection = Budget.selection
    patch.setattr(
        Budget,
        "selection",
        lambda self, charge, *, spread: selection(self, 4 * charge, spread=spread),
    )


def gap_squared(patch):
    patch.setattr(choose, "gaps", lambda tables, public: counts.gaps(tables, public) ** 2)


def no_truncation(patch):
    patch.setattr(
        items,
        "truncated",
        lambda sets, size, most, grain: grain * np.bincount(sets.items, minlength=size),
    )


def truncation_one_too_late(patch):
    right = item_counts.truncated
    patch.setattr(
        items, "truncated", lambda sets, size, most, grain: right(sets, size, most + 1, grain)
    )


def truncation_rounded_up(patch):
    def wrong(sets, size, most, grain):
        each = np.where(sets.sizes > most, -(-grain * most // np.maximum(sets.sizes, 1)) + 1, grain)
        return np.bincount(sets.items, np.repeat(each, sets.sizes), size).astype(np.int64)

    patch.setattr(items, "truncated", wrong)


def adding(patch, change):
    add = gate.Gate._add_noise
    patch.setattr(
        gate.Gate,
        "_add_noise",
        lambda self, events, tables: change(add(self, events, tables), tables),
    )


def noise_halved_afterwards(patch):
    adding(
        patch, lambda noisy, tables: [t + (n - t) // 2 for n, t in zip(noisy, tables, strict=True)]
    )


def no_noise_on_empty_cells(patch):
    adding(
        patch,
        lambda noisy, tables: [np.where(t == 0, 0, n) for n, t in zip(noisy, tables, strict=True)],
    )


def no_noise_on_full_cells(patch):
    adding(
        patch,
        lambda noisy, tables: [np.where(t > 0, t, n) for n, t in zip(noisy, tables, strict=True)],
    )


def noise_of_one_sign(patch):
    adding(
        patch, lambda noisy, tables: [t + np.abs(n - t) for n, t in zip(noisy, tables, strict=True)]
    )


def negative_results_clipped_in_the_gate(patch):
    adding(
        patch,
        lambda noisy, tables: [np.where(n < 0, t, n) for n, t in zip(noisy, tables, strict=True)],
    )


def float_noise(patch):
    rng = np.random.default_rng(1)
    adding(patch, lambda noisy, tables: [t + rng.laplace(size=t.shape) for t in tables])


def one_noise_for_all_views(patch):
    def change(noisy, tables):
        draws = (noisy[0] - tables[0]).ravel()
        return [t + np.resize(draws, t.shape) for t in tables]

    adding(patch, change)


def one_noise_for_all_cells(patch):
    adding(
        patch,
        lambda noisy, tables: [t + (n - t).flat[0] for n, t in zip(noisy, tables, strict=True)],
    )


def always_the_best(patch):
    patch.setattr(
        choose, "peel", lambda mechanisms, scores, entropy: np.argsort(-scores)[: len(mechanisms)]
    )


def draws_with_thrice_the_rate(patch):
    draw = ExponentialMechanism.draw
    patch.setattr(
        ExponentialMechanism,
        "draw",
        lambda self, scores, count, entropy: draw(
            ExponentialMechanism(3 * self.rate), scores, count, entropy
        ),
    )


def tables_without_empty_rows(patch):
    tables = gate.Gate._tables
    change = lambda table: table[table.reshape(len(table), -1).any(axis=1)]  # noqa: E731
    patch.setattr(
        gate.Gate, "_tables", lambda self, views: [change(table) for table in tables(self, views)]
    )


def rows_counted_twice(patch):
    tables = gate.Gate._tables
    patch.setattr(gate.Gate, "_tables", lambda self, views: [2 * t for t in tables(self, views)])


def batches_counted_twice(patch):
    accumulate = CountPlan.accumulate
    patch.setattr(
        CountPlan, "accumulate", lambda self, batch: [accumulate(self, batch) for _ in range(2)]
    )


def entropy_that_repeats(patch):
    take = SeededEntropy.take

    def again(self, n):
        self._calls = 0
        return take(self, n)

    patch.setattr(SeededEntropy, "take", again)


def sparse_without_empty_cells(patch):
    patch.setattr(sparse_noise, "binomial", lambda trials, p, entropy: 0)


def half_as_many_empty_cells(patch):
    draw = sparse_noise.binomial
    patch.setattr(
        sparse_noise, "binomial", lambda trials, p, entropy: draw(trials, p, entropy) // 2
    )


def trees_count_as_cells(patch):
    make = sparse.Grid.__init__

    def wrong(self, axes):
        make(self, axes)
        self.touched = 1

    patch.setattr(sparse.Grid, "__init__", wrong)


def rows_keep_all_their_items(patch):
    patch.setattr(
        items, "few_counts", lambda sets, size, most: np.bincount(sets.items, minlength=size)
    )


def scores_against_whole_rows(patch):
    right = items.scaled_gaps
    patch.setattr(
        items,
        "scaled_gaps",
        lambda sets, size, grid, scales, longest, grain: right(
            sets, size, grid, scales, size, grain
        ),
    )


def waves_of_one_item(patch):
    patch.setattr(items, "isqrt", lambda value: 1)


def sparse_threshold_on_the_truth(patch):
    large = sparse.kept_cells

    def wrong(grid, noise, true, keep, entropy):
        found = large(grid, noise, true, keep, entropy)
        kept = np.isin(found.words, true[0]).ravel()
        return sparse_noise.Kept(found.words[kept], found.counts[kept])

    patch.setattr(sparse, "kept_cells", wrong)


def half_the_range(patch):
    patch.setattr(Rounds, "rate", property(lambda self: 2 * self.step / (self.size * self.records)))


def one_round_is_charged(patch):
    patch.setattr(Rounds, "cost", lambda self, budget: self.step * budget.rows / self.size / 100)


def half_the_certificate(patch):
    certificate = Rounds.epsilon
    patch.setattr(Rounds, "epsilon", lambda self, budget: certificate(self, budget) / 2)


def negations_by_the_other_sign(patch):
    scores = queries.scores_of

    def wrong(counts, rows, answered, multiplier, size):
        asked = scores(counts, rows, answered, multiplier, size)[: counts.size]
        return np.concatenate([asked, -asked])

    patch.setattr(queries, "scores_of", wrong)


def a_draw_too_many(patch):
    draw = ExponentialMechanism.draw
    patch.setattr(
        ExponentialMechanism,
        "draw",
        lambda self, s, count, entropy: draw(self, s, count + 1, entropy),
    )


def all_of_the_budget_at_every_call(patch):
    patch.setattr(gate.Gate, "_is_all", lambda self, units: True)


def a_whole_budget_buys_too_much(patch):
    bought = ApproxDP.at_once
    patch.setattr(
        ApproxDP,
        "at_once",
        lambda *args: tuple(DiscreteGaussian(noise.sigma2 * F(24, 25)) for noise in bought(*args)),
    )


def epsilon_and_rho_both(patch):
    patch.setattr(
        ApproxDP,
        "laplace_at_once",
        lambda self, l1=1: DiscreteLaplace(l1 / (self.epsilon * F(26, 25))),
    )


def rewritten(patch, owner, name, old, new):
    """Put a changed text of a function in its place: where `old`, a regular expression, is
    found."""
    function = inspect.unwrap(vars(owner)[name])
    text, times = re.subn(old, new, textwrap.dedent(inspect.getsource(function)))
    assert times, f"{name} has changed: plant the mistake anew"
    made = {}
    exec(compile(text, inspect.getfile(function), "exec"), function.__globals__, made)
    patch.setattr(owner, name, made[name])


def spread_of_the_first_weight(patch):
    rewritten(
        patch, choose.Choices, "select", r"(spread = .*)weight\.max\(\)", r"\1weight[0].clip(1)"
    )


def distances_of_the_largest_weight(patch):
    rewritten(
        patch,
        distances.Distances,
        "total_distance",
        r"largest = total\(weight\)",
        "largest = int(weight.max())",
    )


def replaced_rows_count_once_in_distances(patch):
    once = "budget.rows_per_person *"
    rewritten(patch, distances.Distances, "total_distance", r"budget\.rows \*", once)


def pairs_count_once_in_dependence(patch):
    rewritten(patch, dependence.Dependence, "total_dependence", r"len\(checked\)\)", "1)")


def persons_count_as_a_row_in_dependence(patch):
    rewritten(patch, dependence.Dependence, "total_dependence", r"self\.budget\.rows,", "1,")


def boxes_that_overlap(patch):
    patch.setattr(cuts, "_check_boxes", lambda boxes, along, shape: None)


def cuts_by_the_difference_of_both_parts(patch):
    rewritten(patch, cuts, "_scores", r"-np\.maximum\(.*\)", "-np.abs(2 * low - below[-1])")


def always_the_best_cuts(patch):
    mechanism = "mechanism = self.budget.selection(1000 * event.units, spread=spread)"
    rewritten(patch, cuts.Cuts, "select_cuts", r"mechanism = .*", mechanism)


def a_group_counts_twice(patch):
    right = Groups.times
    patch.setattr(Groups, "times", lambda self, table, axis: 2 * right(self, table, axis))


def spread_of_the_ends_of_a_grid(patch):
    rewritten(
        patch,
        items.Items,
        "select_most",
        r"choices\.max\(\) - choices\.min\(\)",
        "choices[-1] - choices[0]",
    )


def bound_without_the_factor(patch):
    rewritten(patch, items.Items, "select_scaled", r"bound = .*", "bound = unit * top")


def as_many_empty_cells_as_cells(patch):
    number = "min(binomial(grid.cells, law, entropy), grid.cells - true.number)"
    rewritten(patch, sparse_noise, "kept_cells", r"number = binomial\(.*", f"number = {number}")
    patch.setattr(sparse, "kept_cells", sparse_noise.kept_cells)


def more_cells_by_the_law_of_all(patch):
    class Wrong(Entering):
        def __init__(self, scale, keep, before):
            super().__init__(scale, keep)
            object.__setattr__(self, "before", before)

    patch.setattr(sparse_noise, "More", Wrong)


def least_product_of_least_products(patch):
    patch.setattr(
        Strategy,
        "least_product",
        property(lambda self: int(np.prod([f.least_product for f in self.factors]))),
    )


def as_many_waves_as_items(patch):
    rewritten(patch, items.Items, "walsh_counts", r"l2_squared=size \*", "l2_squared=count *")


def errors_of_half_the_queries(patch):
    moved = r"\(records \* number, records\)"
    rewritten(patch, queries.Queries, "query_errors", moved, "(records * (number // 2), records)")


def rho_for_epsilon(patch):
    def wrong(events):
        events = list(events)
        return (
            None
            if any(isinstance(e.sampler, DiscreteGaussian) for e in events)
            else sum(e.units for e in events) * UNIT
        )

    for module in (event, gate, queries):
        patch.setattr(module, "pure_epsilon", wrong)


def items_kept_by_the_place_of_the_row(patch):
    mixed = "_mix(mixed ^ whole[rows] ^ rows.astype(np.uint64))"
    rewritten(patch, item_counts, "few_counts", r"_mix\(mixed \^ whole\[rows\]\)", mixed)
    patch.setattr(items, "few_counts", item_counts.few_counts)


def antithetic_noise(patch):
    def change(noisy, tables):
        draws = np.concatenate([(n - t).ravel() for n, t in zip(noisy, tables, strict=True)])
        draws[draws.size - draws.size // 2 :] = -draws[: draws.size // 2]
        ends = np.cumsum([t.size for t in tables])[:-1]
        return [t + d.reshape(t.shape) for t, d in zip(tables, np.split(draws, ends), strict=True)]

    adding(patch, change)


def noise_of_a_view_reversed_for_the_next(patch):
    def change(noisy, tables):
        first = {}
        results = []
        for n, t in zip(noisy, tables, strict=True):
            draws = (n - t).ravel()
            draws = first[t.size][::-1] if t.size in first else first.setdefault(t.size, draws)
            results.append(t + draws.reshape(t.shape))
        return results

    adding(patch, change)


def rows_count_for_all_patterns(patch):
    rewritten(patch, sets.Sets, "pattern_counts", r"free &= ~fits", "pass")


def rule_of_the_number_of_empty_cells(patch):
    rule = sparse.Sparse._rule

    def wrong(self, keep, grid, noise):
        held = len(
            {
                tuple(row)
                for batch in self._source.batches(self.domain)
                for row in zip(*batch.values(), strict=True)
            }
        )
        return rule(self, keep(grid.cells - held, noise) if callable(keep) else keep, grid, noise)

    patch.setattr(sparse.Sparse, "_rule", wrong)


def cells_of_one_row_dropped_when_spilled(patch):
    rewritten(
        patch,
        cell_counts,
        "_by_engine",
        r"GROUP BY \{keys\}",
        "GROUP BY {keys} HAVING count(*) > 1",
    )
    patch.setattr(cell_counts, "_IN_MEMORY", 0)


def rows_bounded_by_unit_and_attribute(patch):
    rewritten(
        patch,
        rows_per_person.BoundedSource,
        "_first_rows",
        r"PARTITION BY unit",
        "PARTITION BY unit, c0",
    )


def norm_in_32_bits(patch):
    squares = lambda matrix: (matrix.astype(np.int32) ** 2).sum(axis=0, dtype=np.int32)  # noqa: E731
    patch.setattr(Factor, "l2_squared", property(lambda self: int(squares(self.matrix).max())))


def certified_beside_what_was_done(patch):
    rewritten(patch, gate.Gate, "_check_certified", r"\(\*self\._events, \*events\)", "events")
    rewritten(patch, queries.Queries, "_charge_for", r" \+ before\b", "")


def items_peeled_at_the_rate_of_all(patch):
    rewritten(
        patch,
        items.Items,
        "select_items",
        r"event\.units, spread",
        "sum(e.units for e in events), spread",
    )


def threshold_of_too_large_a_delta(patch):
    gap = frequent.least_gap
    patch.setattr(
        frequent, "least_gap", lambda scale, **more: gap(scale, **more | {"delta": F(1, 5)})
    )


def threshold_on_the_true_counts(patch):
    rewritten(
        patch,
        frequent.Frequent,
        "_above",
        r"large = noisy >= rule\.threshold",
        "large = counts[frequent] >= rule.threshold",
    )


def rare_items_get_noise_too(patch):
    rewritten(
        patch,
        frequent.Frequent,
        "_above",
        r"frequent = counts >= rule\.least",
        "frequent = counts >= 1",
    )


def threshold_without_noise(patch):
    rewritten(
        patch,
        above.Comparisons,
        "_first_above",
        r"limit = .*",
        "limit = level",
    )


def comparisons_at_half_the_noise(patch):
    rewritten(
        patch,
        above.Comparisons,
        "above_threshold",
        r"\(1, 2\), strict=True",
        "(1, 1), strict=True",
    )


def one_noise_for_all_comparisons(patch):
    rewritten(
        patch,
        above.Comparisons,
        "_first_above",
        r"score_noise\.sample\(scores\.size, self\._entropy\)",
        "np.repeat(score_noise.sample(1, self._entropy), scores.size)",
    )


def a_block_of_noise_again(patch):
    again = "block[:] = drawn[: block.size] if start else draw(block.size)"
    rewritten(patch, laws, "_in_blocks", r"block\[:\] = draw\(block\.size\)", again)
    patch.setattr(laws, "_BLOCK", 8)


def one_draw_without_rejection(patch):
    early = "if count == 1:\n        return proposal.sample(1, entropy)\n    kept: list"
    rewritten(patch, DiscreteGaussian, "_reject", "kept: list", early)
    patch.setattr(laws, "_LARGEST_TABLE_SIGMA2", 0)


def replaced_rows_count_once_in_choices(patch):
    rewritten(patch, choose.Choices, "select", r"budget\.rows \*", "budget.rows_per_person *")


def sketches_without_m_squared(patch):
    rewritten(patch, sketch.Sketches, "sketch_counts", r"budget\.rows\*\*2", "budget.rows")


def cells_logged_when_spilled(patch):
    told = "logging.getLogger('margin').info('%d cells', len(words)); order = ordered(words)"
    rewritten(
        patch, cell_counts, "_by_engine", r"order = ordered\(words\)", f"import logging; {told}"
    )
    patch.setattr(cell_counts, "_IN_MEMORY", 0)


def cells_in_the_order_of_their_first_word(patch):
    first = lambda words: np.argsort(words[:, 0], kind="stable")  # noqa: E731
    patch.setattr(sparse_noise, "ordered", first)
    # Cells of small tables have two words each.
    patch.setattr(grid, "_WORD", 8)


def noise_that_repeats_far_away(patch):
    def change(noisy, tables):
        (draws,) = [(n - t).ravel() for n, t in zip(noisy, tables, strict=True)]
        draws[200:300] = draws[50:150]
        return [tables[0] + draws.reshape(tables[0].shape)]

    adding(patch, change)


def coins_on_the_true_counts(patch):
    rewritten(patch, sparse_noise, "kept_cells", r"chosen\(noisy,", "chosen(counts,")
    patch.setattr(sparse, "kept_cells", sparse_noise.kept_cells)


def empty_cells_even_in_their_last_code(patch):
    draw = sparse_noise.empty_cells

    def wrong(grid, true, number, entropy, **more):
        found = draw(grid, true, 8 * number + 16 * bool(number), entropy, **more)
        return found[found[:, -1] % 2 == 0][:number]

    patch.setattr(sparse_noise, "empty_cells", wrong)


def even_noise_of_large_scales(patch):
    draw = DiscreteLaplace.sample

    def wrong(self, count, entropy):
        drawn = draw(self, count, entropy)
        return drawn // 2 * 2 if self.scale > 8 else drawn

    patch.setattr(DiscreteLaplace, "sample", wrong)


def type_of_the_answer_by_the_truth(patch):
    narrow = lambda n, t: n.astype(np.int32) if t.max() < 3 else n  # noqa: E731
    adding(patch, lambda noisy, tables: list(map(narrow, noisy, tables)))


def two_rounds_by_the_same_random_numbers(patch):
    draw, numbers = ExponentialMechanism.draw, []

    def wrong(self, scores, count, entropy):
        if not numbers:
            numbers.extend([entropy.take(16)] * 2)
        return draw(self, scores, count, SeededEntropy(int.from_bytes(numbers.pop(), "big")))

    patch.setattr(ExponentialMechanism, "draw", wrong)


def ids_told_by_their_texts(patch):
    patch.setattr(rows_per_person, "identities", lambda name, column: column.cast(pa.string()))


def ledger_not_charged_for_approximate(patch):
    rewritten(
        patch,
        gate.Gate,
        "_charge",
        "self._ledger is not None",
        "self._ledger is not None and not isinstance(self.budget, ApproxDP)",
    )


def bought_at_once_with_a_ledger(patch):
    rewritten(patch, gate.Gate, "_is_all", " and self._ledger is None", "")


def tables_made_to_have_the_declared_total(patch):
    tables = gate.Gate._tables

    def wrong(self, views):
        found = tables(self, views)
        rows = self.domain.rows
        if rows is None:
            return found
        return [table * rows // max(1, int(table.sum())) for table in found]

    patch.setattr(gate.Gate, "_tables", wrong)


def tables_emptied_that_break_a_rule(patch):
    tables = gate.Gate._tables

    def wrong(self, views):
        found = tables(self, views)
        open_cells = map(self.domain.possible, views)
        broken = [table[~free].any() for table, free in zip(found, open_cells, strict=True)]
        return [0 * table for table in found] if any(broken) else found

    patch.setattr(gate.Gate, "_tables", wrong)


class On(Ask):
    """A mechanism of one question on a domain of its own."""

    def __init__(self, domain, *arguments, **options):
        super().__init__(*arguments, **options)
        self.domain = domain


NINE = Domain({f"a{place}": 1000 for place in range(9)})
FAR = On(NINE, "sparse_cells", list(NINE), keep=Keep(59, 59, False))
LARGE = On(Domain({"a": 20, "b": 30}), "measure", [["a", "b"]])
TOTAL = On(Domain(DOMAIN, rows=50), "measure", VIEWS)
RULED = On(Domain(DOMAIN, impossible=[{"a": 0, "b": 1}]), "measure", VIEWS)
REPLACE = PureDP(1, neighbours=Neighbours.REPLACE_ROW)
PERSON = ZCDP("0.5", rows_per_person=3)
WIDE = PureDP("0.1")
APPROX = ApproxDP("0.2", "1e-3")
WEIGHTS = Ask(
    "select", [["a"], ["b"], ["c"]], [np.zeros(2), np.zeros(3), np.zeros(4)], weights=[1, 3, 5]
)
# Some cells far below their public answers, others above.
DISTANCES = Ask(
    "total_distance",
    [["a"], ["b"], ["c"]],
    [[500, 0], [500, 0, 0], [500, 0, 500, 0]],
    weights=[1, 3, 5],
)
# There are nine pairs, so that rounding down loses little. One replaced row moves the answer by at
# most half of what is declared. So a wrong number of rows is found only with several rows a person.
DEPENDENCE = Ask("total_dependence", [["b", "c"]] * 9)
SCALES = Ask("select_scaled", None, [1, 2], scales=[1, 4], penalties=[[0, 0], [1, 1]], grain=12)
SIGNS = Ask("measure_linear", [Strategy(("a", "c"), [[[1, -2]], [[1, -1, 3, -4], [2, 0, -6, 1]]])])
PATTERNS = Ask("pattern_counts", None, [(((0, 1),), ()), (((1, 2, 3),), ()), ((), ((4,),))])
RULE = Ask(
    "sparse_cells", ["a", "b", "c"], keep=lambda cells, noise: Keep(1 + cells // 12, 4, True)
)
FREQUENT = Ask("frequent_items", most=2, least=4)
FIRST = Ask("above_threshold", MOSTLY, np.zeros(7, int), threshold=9)
CERTIFIED = Draw(before="9/100", times=10, step="1/62", samples=(50,) * 4, size=1)
GATES = [
    (half_the_scale, Standard(), PureDP(1), 0),
    (half_the_variance, Standard(), ZCDP("0.5"), 0),
    (gaussian_for_pure, Standard(), PureDP(1), 0),
    (each_view_gets_all, Standard(), PureDP(1), 0),
    (each_strategy_gets_all, LinearQueries(), PureDP(1), 0),
    (rows_for_columns, LinearQueries(), PureDP(1), 0),
    (largest_number_for_columns, LinearQueries(), ZCDP("0.5"), 0),
    (one_factor_for_all, LinearQueries(), PureDP(1), 0),
    (signs_as_counts, LinearQueries(), ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW), 0),
    (nothing_is_charged, Twice(), PureDP(1), 0),
    (the_account_forgets, Twice(), PureDP(1), 0),
    (replacement_counts_once, Standard(), REPLACE, 0),
    (one_row_a_person, Standard(), PERSON, 0),
    (m_instead_of_m_squared, Standard(), PERSON, 0),
    (half_the_spread, Chooser(), PureDP(1), 0),
    (half_the_range, Sampler(), PureDP(1), 0),
    (one_round_is_charged, Sampler(), PureDP(1), 0),
    (half_the_certificate, Sampler(), APPROX, 0),
    (all_of_the_budget_at_every_call, LinearQueries(), APPROX, 0),
    (a_whole_budget_buys_too_much, Standard(), APPROX, 0),
    (epsilon_and_rho_both, Sparse(), APPROX, 0),
    (negations_by_the_other_sign, Sampler(), PureDP(1), 0),
    (a_draw_too_many, Sampler(), PureDP(1), 0),
    (twice_the_rate, Chooser(), ZCDP("0.5"), 0),
    (gap_squared, Chooser(), PureDP(1), 0),
    (no_truncation, Items(), PureDP(1), 0),
    (truncation_one_too_late, Items(), PureDP(1), 0),
    (truncation_rounded_up, Items(), PureDP(1), 0),
    (noise_halved_afterwards, Standard(), PureDP(1), 0),
    (no_noise_on_empty_cells, Standard(), PureDP(1), 0),
    (no_noise_on_full_cells, Standard(), PureDP(1), 0),
    (noise_of_one_sign, Standard(), ZCDP("0.5"), 0),
    (negative_results_clipped_in_the_gate, Standard(), PureDP(1), 0),
    (float_noise, Standard(), PureDP(1), 0),
    (one_noise_for_all_views, Standard(), WIDE, 0),
    (one_noise_for_all_cells, Standard(), PureDP(1), 400),
    (always_the_best, Chooser(), PureDP("0.2"), 0),
    (draws_with_thrice_the_rate, Sampler(), PureDP("0.5"), 0),
    (tables_without_empty_rows, Standard(), PureDP(1), 0),
    (rows_counted_twice, Standard(), PureDP(1), 0),
    (batches_counted_twice, Standard(), PureDP(1), 0),
    (entropy_that_repeats, Standard(), PureDP(1), 400),
    (half_as_many_empty_cells, Sparse(), PureDP(1), 0),
    (trees_count_as_cells, Trees(), PureDP(1), 0),
    (rows_keep_all_their_items, Baskets(), PureDP(1), 0),
    (scores_against_whole_rows, Baskets(), PureDP(1), 0),
    (waves_of_one_item, Baskets(), PureDP(1), 0),
    (sparse_without_empty_cells, Sparse(), PureDP(1), 1200),
    (sparse_threshold_on_the_truth, Sparse(), PureDP(1), 1200),
    (spread_of_the_first_weight, WEIGHTS, PureDP(1), 0),
    (distances_of_the_largest_weight, DISTANCES, PureDP(1), 0),
    (replaced_rows_count_once_in_distances, DISTANCES, REPLACE, 0),
    (pairs_count_once_in_dependence, DEPENDENCE, PureDP(1), 0),
    (persons_count_as_a_row_in_dependence, DEPENDENCE, PERSON, 0),
    (boxes_that_overlap, Ask("select_cuts", ["b"], [[[0, 3]]] * 2, [0, 0]), PureDP(1), 0),
    (
        cuts_by_the_difference_of_both_parts,
        Ask("select_cuts", ["b"], [[[0, 3]]], [0]),
        PureDP(1),
        0,
    ),
    (
        always_the_best_cuts,
        Ask("select_cuts", ["c", "b"], [[[0, 4], [0, 2]], [[0, 4], [2, 3]]], [0, 0]),
        PureDP("0.02"),
        0,
    ),
    (
        a_group_counts_twice,
        Ask("measure_linear", [Strategy(("b",), [Groups([0, 1, 1])])]),
        PureDP(1),
        0,
    ),
    (
        spread_of_the_ends_of_a_grid,
        Ask("select_most", None, [1, 4, 2], penalties=[0, 0, 0]),
        PureDP(1),
        0,
    ),
    (bound_without_the_factor, SCALES, PureDP(1), 0),
    (as_many_empty_cells_as_cells, Sparse(), PureDP(1), 0),
    (least_product_of_least_products, SIGNS, ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW), 0),
    (
        as_many_waves_as_items,
        Ask("walsh_counts", list("abcde"), first=8, most=5, grain=3),
        ZCDP("0.5"),
        0,
    ),
    (
        errors_of_half_the_queries,
        Ask("query_errors", MOSTLY, np.zeros(7, int), records=3, size=1),
        PureDP(1),
        0,
    ),
    (items_kept_by_the_place_of_the_row, Ask("sampled_counts", most=2), PureDP(1), 0),
    (antithetic_noise, Standard(), PureDP(1), 0),
    (antithetic_noise, Standard(), ZCDP("0.5"), 0),
    (noise_of_a_view_reversed_for_the_next, Ask("measure", [["a", "b"], ["b", "a"]]), PureDP(1), 0),
    (rows_count_for_all_patterns, PATTERNS, PureDP(1), 0),
    (rule_of_the_number_of_empty_cells, RULE, PureDP(1), 0),
    (cells_of_one_row_dropped_when_spilled, Sparse(), PureDP(1), 0),
    (
        norm_in_32_bits,
        Ask("measure_linear", [Strategy(("b",), [np.full((2, 3), 1 << 20)])]),
        ZCDP("0.5"),
        0,
    ),
    (certified_beside_what_was_done, CERTIFIED, ApproxDP(1, "1e-6"), 0),
    (rho_for_epsilon, CERTIFIED, ApproxDP(1, "1e-6"), 0),
    (threshold_of_too_large_a_delta, FREQUENT, ApproxDP(1, "1e-2"), 0),
    (threshold_on_the_true_counts, FREQUENT, ApproxDP(1, "1e-2"), 0),
    (rare_items_get_noise_too, FREQUENT, ApproxDP(1, "1e-1"), 0),
    (threshold_without_noise, FIRST, PureDP("0.05"), 0),
    (comparisons_at_half_the_noise, FIRST, PureDP(1), 0),
    (one_noise_for_all_comparisons, FIRST, PureDP(1), 0),
    (items_peeled_at_the_rate_of_all, Ask("select_items", count=4), PureDP(1), 0),
    (a_block_of_noise_again, Standard(), PureDP(1), 0),
    (
        one_draw_without_rejection,
        Ask("measure_linear", [Strategy.total(DOMAIN)]),
        ZCDP("0.5"),
        0,
    ),
    (replaced_rows_count_once_in_choices, Chooser(), REPLACE, 0),
    (
        sketches_without_m_squared,
        Ask("sketch_counts", ["a", "b", "c"], rows=5, width=3, key=17),
        PERSON,
        0,
    ),
    (cells_logged_when_spilled, Sparse(), PureDP(1), 0),
    (cells_in_the_order_of_their_first_word, Sparse(), PureDP(1), 0),
    (noise_that_repeats_far_away, LARGE, PureDP(1), 0),
    (coins_on_the_true_counts, Sparse(), PureDP(1), 0),
    (empty_cells_even_in_their_last_code, FAR, PureDP(1), 0),
    (type_of_the_answer_by_the_truth, Standard(), PureDP(1), 0),
    (even_noise_of_large_scales, Standard(), WIDE, 0),
    (two_rounds_by_the_same_random_numbers, Sampler(), PureDP(1), 0),
    (ledger_not_charged_for_approximate, Standard(), APPROX, 0),
    (bought_at_once_with_a_ledger, Standard(), APPROX, 0),
    (tables_made_to_have_the_declared_total, TOTAL, PureDP(1), 0),
    (tables_emptied_that_break_a_rule, RULED, PureDP(1), 0),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "mechanism", "budget", "runs"),
    [pytest.param(*gate, id=f"{gate[0].__name__}-{type(gate[1]).__name__}") for gate in GATES],
)
def test_a_mistake_in_the_library_is_caught(mistake, mechanism, budget, runs, monkeypatch):
    mistake(monkeypatch)
    trial = tried(mechanism, budget, pairs=40, runs=runs)
    assert any(trial.findings())
    if runs:
        # The first pair shows each of these mistakes.
        first = replace(trial, tables=trial.tables[:1])
        (event,), _ = first.black_box_events(SeededEntropy(0))
        assert event.finding(largest_probability(budget))


CHECKED = [
    (items_peeled_at_the_rate_of_all, lambda: check_law_of_choices(Ask("select_items", count=2))),
    (twice_the_rate, lambda: check_law_of_choices(Ask("select_items", count=1), PureDP("1/2"))),
    (more_cells_by_the_law_of_all, lambda: check_law_of_largest(40)),
    (rho_for_epsilon, check_pure_epsilon),
    (half_the_certificate, check_certificates),
    (rows_bounded_by_unit_and_attribute, lambda: check_units()),
    (ids_told_by_their_texts, lambda: check_units()),
]


def check_units():
    ids = ["p1", "7", " 7.0", "p2"]
    rows = [{"id": ids[number % 4], "a": number % 2} for number in range(8)]
    columns = lambda rows: {name: [row[name] for row in rows] for name in ("id", "a")}  # noqa: E731
    check_source(
        columns, domain=Domain({"a": 2}), rows=rows, unit="id", rows_per_person=2, tables=10
    )


@pytest.mark.parametrize(
    ("mistake", "check"), CHECKED, ids=[mistake.__name__ for mistake, _ in CHECKED]
)
def test_a_mistake_is_caught_by_a_check(mistake, check, monkeypatch):
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def test_units_are_bounded():
    check_units()


def a_row_too_many_of_a_person(patch):
    made = rows_per_person.BoundedSource.__init__
    patch.setattr(
        rows_per_person.BoundedSource,
        "__init__",
        lambda self, rows, unit, m, key: made(self, rows, unit, m + 1, key),
    )


def one_bound_for_all_people(patch):
    identities = rows_per_person.identities
    patch.setattr(
        rows_per_person,
        "identities",
        lambda name, column: identities(name, pa.array([0] * len(column))),
    )


def rows_of_a_person_kept_by_the_place_in_the_table(patch):
    """By where they stand among everybody's: others' rows decide which of mine count."""
    places = itertools.count()

    def order(people, codes, key):
        return np.array([hash((key, next(places))) for _ in range(len(people))], np.int64)

    patch.setattr(rows_per_person, "order", order)


UNITS = [
    a_row_too_many_of_a_person,
    one_bound_for_all_people,
    rows_of_a_person_kept_by_the_place_in_the_table,
]


def bounded():
    """The outcomes of a release of at most two rows a person, and of its replay without one person
    who has 300."""
    rng = np.random.default_rng(1)
    people = np.concatenate([np.full(300, 99), np.repeat(np.arange(40), 6)])
    codes = rng.integers(0, DOMAIN.sizes, (people.size, 3))
    codes[:, 2] = np.where(people == 99, codes[:, 2] % 2, 2 + codes[:, 2] % 2)
    columns = {"person": people, **dict(zip("abc", codes.T, strict=True))}
    tables = [columns, {name: column[300:] for name, column in columns.items()}]
    key = bytes([1] * 16)  # with which the rows of that person come first
    sources = [rows_per_person.bound(open_source(table), "person", 2, key) for table in tables]
    settings = {
        "domain": DOMAIN,
        "budget": PureDP(1, rows_per_person=2),
        "entropy": SeededEntropy(1),
    }
    recorder, player = Recorder(sources[0], **settings), Player(sources[1], **settings)
    recorder.tape = []
    before = outcome(Standard(), recorder, None)
    player.tape = list(recorder.tape)
    return before, outcome(Standard(), player, None)


def test_a_sound_bound_passes():
    before, after = bounded()
    assert before == after


@pytest.mark.parametrize("mistake", UNITS, ids=lambda mistake: mistake.__name__)
def test_a_mistake_in_the_bound_of_a_person_is_caught(mistake, monkeypatch):
    mistake(monkeypatch)
    with pytest.raises(Violation, match="true answers differ by"):
        bounded()


def test_all_are_listed():
    names = {wrong.__name__ for wrong in [*MECHANISMS, *UNITS]}
    names |= {mistake[0].__name__ for mistake in [*GATES, *CHECKED]}
    assert len(names) >= 50
    text = GUARANTEES.read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| ((?:grey|law|black|check|, )+) \|$", text, re.MULTILINE
    )
    assert names == {name for name, _ in rows} and len(rows) == len(names)
    assert {gate[0].__name__ for gate in GATES if gate[3]} == {
        name for name, layer in rows if "black" in layer
    }
