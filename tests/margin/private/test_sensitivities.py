"""What neighbouring tables can change in the true answers of every gate method, by brute force.

Every method runs on small tables and on their neighbours, with each argument that enters a
sensitivity away from its default. The true answers are compared as they go to the noise or to the
choice, in integers of any length. No pair may be further apart than the event declares, and the
furthest pair must come as near to it as the case says: a sensitivity that is too large is found as
well as one that is too small.
"""

import inspect
import random
import textwrap
from fractions import Fraction as F

import numpy as np
import pytest

from margin import ZCDP, ApproxDP, Domain, PureDP, Strategy
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from margin.privacy.budget import Neighbours
from margin.privacy.rounds import Rounds
from margin.private import Keep, Private, cuts, items, queries
from margin.private.above import Comparisons
from margin.private.choose import Choices
from margin.private.cuts import Cuts
from margin.private.dependence import Dependence
from margin.private.distances import Distances
from margin.private.gate import Gate
from margin.private.items import Items
from margin.private.queries import Queries
from margin.private.sets import Sets
from margin.private.sketch import Sketches
from margin.private.strategy import Groups
from margin.queries import Conjunctions, Parities
from margin.sparse.axes import Halves, Leaves, Tree

TABLE = Domain({"a": 2, "b": 3, "c": 2})
ITEMS = Domain(dict.fromkeys("vwxyz", 2))
CELLS = Conjunctions.cells(TABLE, [["a", "b"], ["b", "c"]])
EVEN = Parities(ITEMS, [[0, 1], [2, 3], [1, 4]])

SIGNED = Strategy(("b", "a"), [[[1, -2, 3], [0, 4, -1]], [[2, -1], [-3, 1]]])
ALIKE = Strategy(("c",), [[[7, 7]]])  # only unequal numbers of rows move this
GROUPS = Strategy(("b", "a"), [Groups([1, 0, 2, 2, 0, 1])])
TOGETHER = Strategy(("a", "c"), [[[1, 2, 3, -4], [5, 0, -6, 1]]])


def rounds(gate, queries):
    draws = gate.sample_queries(
        queries, Rounds(step=F(1, 60), samples=(2, 3, 2), size=3, records=2)
    )
    for place in range(3):
        draws.draw(np.arange(len(queries)) % (2 * place + 1))


def frequent(gate):
    if isinstance(gate.budget, ApproxDP):  # no other budget has a delta
        gate.frequent_items(most=2, least=2)


CASES = {
    "measure": (
        TABLE,
        lambda gate: gate.measure([["a", "b"], ["c"], ["c", "b", "a"]], shares=[1, 5, 2]),
    ),
    "measure_linear": (TABLE, lambda gate: gate.measure_linear([SIGNED, TOGETHER], shares=[3, 1])),
    "measure_linear, equal columns": (TABLE, lambda gate: gate.measure_linear([ALIKE])),
    "select": (
        TABLE,
        lambda gate: gate.select(
            [["a"], ["b"], ["a", "c"], ["c"]],
            [[5, 0], [1, 9, 2], [[0, 3], [8, 1]], [2, 2]],
            count=2,
            weights=[2, 7, 5, 0],
            penalties=[3, -1, 0, 4],
        ),
    ),
    "total_distance": (
        TABLE,
        lambda gate: gate.total_distance(
            [["a"], ["b", "c"], ["a"], ["c", "b", "a"]],
            [[20, 0], [[20, 3], [8, 1], [9, 0]], [30, -1], np.full((2, 3, 2), 4)],
            weights=[2, 7, 5, 0],
        ),
    ),
    "total_distance, zeros": (
        TABLE,
        lambda gate: gate.total_distance([["a"], ["c", "b"]], [[0, 0], np.zeros((2, 3))]),
    ),
    # Each of two pairs is named several times: so its factor is more than is lost by rounding down.
    "total_dependence": (
        TABLE,
        lambda gate: gate.total_dependence([["a", "b"], ["c", "b"], ["a", "b"]] * 3),
    ),
    "total_dependence, one pair": (TABLE, lambda gate: gate.total_dependence([["c", "b"]])),
    "measure_linear, groups": (TABLE, lambda gate: gate.measure_linear([GROUPS])),
    "select_cuts": (
        TABLE,
        lambda gate: gate.select_cuts(
            ["b", "a"], [[[0, 3], [0, 1]], [[1, 3], [1, 2]]], [0, 0], spend="1/2"
        ),
    ),
    "count_rows": (TABLE, lambda gate: gate.count_rows()),
    "sample_queries": (TABLE, lambda gate: rounds(gate, CELLS)),
    "sample_queries, parities": (ITEMS, lambda gate: rounds(gate, EVEN)),
    "query_errors": (
        TABLE,
        lambda gate: gate.query_errors(
            CELLS, np.arange(len(CELLS)) % 5, records=4, size=6, spend="2/3"
        ),
    ),
    "query_errors, one query": (
        TABLE,
        lambda gate: gate.query_errors(Conjunctions(TABLE, [[0]], [[1]]), [0], records=3, size=5),
    ),
    "sparse_cells": (TABLE, lambda gate: gate.sparse_cells(["a", "b", "c"], keep=Keep(1, 3, True))),
    "sparse_cells, below prefixes": (
        TABLE,
        lambda gate: gate.sparse_cells(
            ["b", "a", "c"], keep=Keep(1, 3, True), within=[[2, 1], [0, 0], [0, 1], [1, 1]]
        ),
    ),
    "sparse_cells, trees": (
        TABLE,
        lambda gate: gate.sparse_cells(
            ["a", "b", "c"], keep=Keep(1, 3, True), axes=[Tree(2), Tree(3), Leaves(2)]
        ),
    ),
    "sparse_cells, halves": (
        TABLE,
        lambda gate: gate.sparse_cells(
            ["a", "b", "c"], keep=Keep(1, 3, True), axes=[Halves(2), Tree(3), Halves(2)]
        ),
    ),
    "sketch_counts": (TABLE, lambda gate: gate.sketch_counts(["b", "c"], rows=3, width=4, key=5)),
    "above_threshold": (
        TABLE,
        lambda gate: gate.above_threshold(CELLS, np.arange(len(CELLS)) % 3, threshold=2, start=1),
    ),
    "frequent_items": (ITEMS, frequent),
    "truncated_counts": (
        ITEMS,
        lambda gate: gate.truncated_counts(["z", "v", "w", "x"], most=2, grain=12),
    ),
    "truncated_counts, groups": (
        ITEMS,
        lambda gate: gate.truncated_counts(most=2, grain=12, groups=[1, 0, 1, 1, 0]),
    ),
    "sampled_counts": (ITEMS, lambda gate: gate.sampled_counts(most=3)),
    "walsh_counts, some": (ITEMS, lambda gate: gate.walsh_counts(first=3, most=2, grain=6)),
    "walsh_counts, all": (ITEMS, lambda gate: gate.walsh_counts(first=8, most=1, grain=6)),
    "select_most": (
        ITEMS,
        lambda gate: gate.select_most(None, [3, 1, 5, 2], penalties=[1, 0, 2, 9]),
    ),
    "select_scaled": (
        ITEMS,
        lambda gate: gate.select_scaled(
            None,
            [3, 1],
            scales=[6, 1, "4/3"],
            penalties=[[0, 1, 2], [2, 1, 0]],
            grain=60,
            longest=4,
        ),
    ),
    "select_scaled, all items": (
        ITEMS,
        lambda gate: gate.select_scaled(
            None, [2, 5], scales=[1, "3/2"], penalties=[[0, 0], [1, 2]], grain=60
        ),
    ),
    "select_items": (ITEMS, lambda gate: gate.select_items(["x", "v", "z"], count=2)),
    "chosen_counts": (
        ITEMS,
        lambda gate: gate.chosen_counts(["x", "v", "z", "w"], chosen=[3, 0, 1]),
    ),
    "select_sets": (ITEMS, lambda gate: gate.select_sets(None, [(0, 1), (2,), (1, 3, 4)], count=2)),
    "basis_tables": (ITEMS, lambda gate: gate.basis_tables(None, [(4, 1, 2), (2, 3)])),
    "pattern_counts": (
        ITEMS,
        lambda gate: gate.pattern_counts(
            None, [(((0,),), ((1,),)), (((0, 1),), ()), (((2, 3), (4,)), ((0,),)), (((0,),), ())]
        ),
    ),
}

# How near the furthest pair comes to what is declared, for rows that are added or removed and for
# rows that are
# replaced: in L1 for Laplace noise, in squared L2 for Gaussian noise, in spread for a choice; the
# event that is least
# near counts. One where nothing is stated. Elsewhere the bound holds for all domains and arguments
# at once, and these
# small ones do not reach it.
REACHED = {
    "measure_linear": (
        1,
        F(7, 9),
    ),  # for the L1 norm no use is made of what two columns have in common
    "measure_linear, equal columns": (
        1,
        0,
    ),  # one row by one row: nothing moves, and noise is never left out
    "select": (
        F(6, 7),
        F(6, 7),
    ),  # weights 7 and 5 in opposite directions; twice the largest is declared
    # The distance from zeros is the number of rows.
    "total_distance, zeros": (1, 0),
    # Rows that come to twice as many equal ones move n / (n + 1) = 2/3 of the bound, which is
    # squared for Gaussian noise; test_dependence.py has more equal rows. The bound for a replaced
    # row is that of one that goes and one that comes, which do not both move the answer so far.
    "total_dependence": (F(4, 9), F(1, 9)),
    # The same, rounded down.
    "total_dependence, one pair": (F(4, 9), F(1, 16)),
    "query_errors": (F(1, 6), F(1, 6)),  # a row is in two of the twelve cells that are asked about
    "query_errors, one query": (
        1,
        F(1, 2),
    ),  # a count moves by one when a row is replaced, not by two
    "sparse_cells, halves": (1, F(5, 6)),  # the sum over all codes stays when rows are replaced
    "sketch_counts": (1, F(2, 3)),  # by the hash functions of this key
    "sampled_counts": (1, F(5, 6)),  # two rows of three of five items share one
    "walsh_counts, some": (1, F(5, 8)),  # two rows of two items, with signs
    "walsh_counts, all": (1, F(12, 17)),
    # These tables have too few rows: three rows that go and three that come would have to move one
    # score up and another down, each by three.
    "select_cuts": (1, F(1, 2)),
    "select_most": (1, F(1, 2)),  # the losses of the rows that go and that come have the same sign
    "select_scaled": (
        F(1, 2),
        F(1, 4),
    ),  # no pair moves one score up and another down by the full D
    "select_scaled, all items": (F(1, 2), F(1, 4)),
    "chosen_counts": (
        1,
        F(1, 2),
    ),  # what goes and what comes are different items: half of them each at most
}


class Watched(Private):
    """Keeps what is declared and what is true."""

    def __init__(self, codes, domain, budget):
        super().__init__(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(1))
        self.seen = []

    def _answer(self, events, true, draw):
        answers = [plain(one) for one in true]
        if len(events) == 1 < len(answers):
            # One choice in each of several parts of the table.
            answers = [answers]
        self.seen += zip(
            events, answers * len(events) if len(answers) < len(events) else answers, strict=True
        )
        return super()._answer(events, true, draw)


def plain(true):
    """True answers by place, as integers of any length."""
    if hasattr(true, "blocks"):
        words = [
            pair
            for found, counts in true.blocks()
            for pair in zip(found.tolist(), counts.tolist(), strict=True)
        ]
        return {tuple(word): int(count) for word, count in words}
    if isinstance(true, tuple):
        words, counts = true
        return {
            tuple(word): count for word, count in zip(words.tolist(), counts.tolist(), strict=True)
        }
    return dict(enumerate(np.asarray(true).ravel().tolist()))


def people(rng, domain, m):
    """The rows of one person: copies of any one row, and m rows of any kinds."""
    kinds = [list(row) for row in np.ndindex(*domain.sizes)]
    rng.shuffle(kinds)
    yield from ([row] * m for row in kinds)
    for _ in range(6):
        yield [rng.choice(kinds) for _ in range(rng.randint(1, m))]


def pairs(domain, budget):
    """Neighbouring tables of codes, in both directions."""
    rng, m = random.Random(1), budget.rows_per_person
    persons = list(people(rng, domain, m))
    shared = [
        [],
        persons[0] * 2,
        persons[1] + persons[2],
        [row for person in persons[:7] for row in person],
    ]
    for common in shared:
        for person in persons:
            others = [[]]
            if budget.neighbours is Neighbours.REPLACE_ROW:
                opposite = [
                    [size - 1 - code for size, code in zip(domain.sizes, row, strict=True)]
                    for row in person
                ]
                others = [opposite, rng.choice(persons)]
                others = [other if m > 1 else other[:1] for other in others]
                others += [opposite[:1], []] if m > 1 else []  # also by fewer
            for other in others:
                yield common + person, common + other
                yield common + other, common + person


def apart(event, ours, theirs):
    """How far two true answers are apart, and how far they may be: by name."""
    if isinstance(ours, list):
        # All combinations of choices are candidates: their scores are sums.
        parts = [apart(event, *pair)["spread"][0] for pair in zip(ours, theirs, strict=True)]
        return {"spread": (sum(parts), event.spread)}
    moved = [ours.get(key, 0) - theirs.get(key, 0) for key in ours.keys() | theirs.keys()] or [0]
    if isinstance(event.sampler, ExponentialMechanism):
        return {"spread": (max(moved) - min(moved), event.spread)}
    if event.method == "above_threshold":  # each score by itself; the threshold is public
        factor = 2 if len(ours) > 1 else 1
        return {"l1": (factor * max(map(abs, moved)), event.l1)} if factor > 1 else {}
    l1, l2_squared = sum(map(abs, moved)), sum(number**2 for number in moved)
    return {"l1": (l1, event.l1), "l2_squared": (l2_squared, event.l2_squared)}


def decisive(event):
    """Which of them the noise of an event depends on."""
    return {DiscreteLaplace: "l1", DiscreteGaussian: "l2_squared", ExponentialMechanism: "spread"}[
        type(event.sampler)
    ]


def least_ratio(case, budget):
    """Of all events the least ratio of the furthest pair to what is declared; AssertionError where
    it is above one."""
    domain, call = CASES[case]
    known = {}

    def answers(rows):
        key = tuple(map(tuple, rows))
        if key not in known:
            gate = Watched(np.array(rows, np.int64).reshape(-1, len(domain)), domain, budget)
            call(gate)
            known[key] = gate.seen
        return known[key]

    ratios = {}
    for one, other in pairs(domain, budget):
        first, second = answers(one), answers(other)
        assert [about(event) for event, _ in first] == [about(event) for event, _ in second]
        for place, ((event, ours), (_, theirs)) in enumerate(zip(first, second, strict=True)):
            for name, (found, allowed) in apart(event, ours, theirs).items():
                assert found <= allowed, (case, event.method, name, one, other)
                if name == decisive(event) and allowed:
                    ratios[place] = max(ratios.get(place, F(0)), F(found, allowed))
    return min(ratios.values(), default=None)


def about(event):
    """An event without the identity of its rounds."""
    return (
        event.method,
        event.about,
        event.units,
        event.sampler,
        event.l1,
        event.l2_squared,
        event.spread,
    )


UNITS = [
    PureDP(1),
    ZCDP("0.3", rows_per_person=3),
    ApproxDP(1, "1e-5", neighbours=Neighbours.REPLACE_ROW),
    PureDP(1, neighbours=Neighbours.REPLACE_ROW, rows_per_person=3),
]


@pytest.mark.parametrize("budget", UNITS, ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_no_neighbours_are_further_apart_than_declared_and_some_come_as_near_as_is_stated(
    case, budget
):
    least = least_ratio(case, budget)
    if case == "count_rows" and budget.number_of_rows_is_public:
        assert least is None  # no event: given as it is
        return
    if case == "frequent_items" and not isinstance(budget, ApproxDP):
        assert least is None  # refused
        return
    assert least >= REACHED.get(case, (1, 1))[budget.neighbours is Neighbours.REPLACE_ROW]


# Mistakes in what is declared, or in what is counted: where the function is looked up, its name,
# what is written in its
# place, and the case that must find it.
MISTAKES = [
    (Choices, "select", "int(weight.max())", "int(weight[0])", "select"),
    (Choices, "select", "2 * self.budget.rows", "self.budget.rows", "select"),
    (Distances, "total_distance", "self.budget.rows * largest", "largest", "total_distance"),
    (
        Distances,
        "total_distance",
        "total(weight)",
        "int(weight.max())",
        "total_distance",
    ),
    (
        Dependence,
        "total_dependence",
        "self.budget.rows, len(checked)",
        "1, len(checked)",
        "total_dependence",
    ),
    (
        Dependence,
        "total_dependence",
        "self.budget.rows, len(checked)",
        "self.budget.rows, 1",
        "total_dependence",
    ),
    (
        Items,
        "select_most",
        "choices.max() - choices.min()",
        "choices[-1] - choices[0]",
        "select_most",
    ),
    (Items, "select_scaled", "max(numerators) - denominator", "0", "select_scaled"),
    (Cuts, "select_cuts", "self.budget.rows", "1", "select_cuts"),
    (
        cuts,
        "_scores",
        "-np.maximum(low, below[-1] - low)",
        "-abs(2 * low - below[-1])",
        "select_cuts",
    ),
    (Items, "select_items", "self.budget.rows", "1", "select_items"),
    (Items, "sampled_counts", "(most, most)", "(most, 1)", "sampled_counts"),
    (Items, "walsh_counts", "first * each**2", "each**2", "walsh_counts, some"),
    (
        Items,
        "chosen_counts",
        "l1=places.size,\n        l2_squared=places.size,",
        "l1=1,\n        l2_squared=1,",
        "chosen_counts",
    ),
    (
        items,
        "truncated",
        "np.repeat(_shares(some, most, grain), some)",
        "grain",
        "truncated_counts",
    ),
    (
        Items,
        "truncated_counts",
        "grain**2 * most * together",
        "grain**2 * most",
        "truncated_counts, groups",
    ),
    (items, "few_counts", "rank < most", "rank <= most", "sampled_counts"),
    (Sets, "pattern_counts", "free &= ~fits", "free |= fits", "pattern_counts"),
    (Sketches, "sketch_counts", "self.budget.rows**2 * shape[0]", "shape[0]", "sketch_counts"),
    (
        Comparisons,
        "above_threshold",
        "moved = self.budget.rows_per_person",
        "moved = 1",
        "above_threshold",
    ),
    (Queries, "count_rows", "l1 = self.budget.rows_per_person", "l1 = 1", "count_rows"),
    (
        Queries,
        "query_errors",
        "(records * number, records)",
        "(records * number // 2, records)",
        "query_errors, one query",
    ),
    (Queries, "query_errors", "number, records)", "number, records // 2)", "query_errors"),
    (queries, "scores_of", "rows - counts, most", "-counts, most", "sample_queries"),
    (
        Strategy,
        "sensitivity",
        "m**2 * self.l2_squared if m > 1 else 0",
        "0",
        "measure_linear, equal columns",
    ),
    (Strategy, "sensitivity", "- self.least_product", "", "measure_linear"),
]


@pytest.mark.parametrize(
    ("owner", "name", "right", "wrong", "case"), MISTAKES, ids=lambda each: str(each)[:40]
)
def test_a_mistake_is_found(monkeypatch, owner, name, right, wrong, case):
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) >= 1, f"{name} does not say {right} any more"
    names = dict(vars(inspect.getmodule(function)))
    exec(source.replace(right, wrong), names)
    monkeypatch.setattr(owner, name, names[name])
    units = [ZCDP("0.3"), ZCDP("0.3", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2)]
    found = []
    for budget in units:
        try:
            least_ratio(case, budget)
        except AssertionError:
            found.append(budget)
    assert found


def test_no_gate_method_is_left_out():
    methods = {
        name
        for name, _ in inspect.getmembers(Private, inspect.isfunction)
        if not name.startswith("_")
    }
    silent = {"affords", "contest"}  # do not look at the rows
    assert {case.split(",")[0] for case in CASES} == methods - silent - set(vars(Gate))


def declared(domain, kind):
    """A domain that also declares what is public: rows, impossible cells, or known tables."""
    first, second = domain.attributes[:2]
    shape = domain.shape([first, second])
    if kind == "rows":
        return Domain(domain, rows=3)
    if kind == "rules":
        rules = [{first: 0, second: 0}, {second: shape[1] - 1, domain.attributes[2]: 1}]
        return Domain(domain, impossible=rules, rows=2)
    counts = np.ones(shape, int)
    counts[0, 0] = 0
    total = int(counts.sum())
    return Domain(domain, known={(first, second): counts, (domain.attributes[2],): [1, total - 1]})


@pytest.mark.parametrize("kind", ["rows", "rules", "known"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_public_changes_no_true_answer(case, kind, monkeypatch):
    """Rows count as without a declaration, whether or not the table agrees with it: so neighbours
    are as near as without, also if the declaration holds for neither of them."""
    # The queries of the cases name the domain without what is declared.
    monkeypatch.setattr(Watched, "_check_queries", lambda self, queries: None)
    domain, call = CASES[case]
    budget = ApproxDP(1, "1e-5") if case == "frequent_items" else PureDP(1, rows_per_person=2)
    rng = np.random.default_rng(5)
    for rows in (0, 1, 2, 3, 40):
        codes = rng.integers(0, domain.sizes, (rows, len(domain)))
        plain_gate = Watched(codes, domain, budget)
        public_gate = Watched(codes, declared(domain, kind), budget)
        call(plain_gate)
        call(public_gate)
        assert plain_gate.seen == public_gate.seen
        assert plain_gate.seen
