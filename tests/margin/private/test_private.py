import ast
import math
import threading
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import ZCDP, BudgetError, DataError, Domain, DomainError, Private, PureDP
from margin._numbers import UNIT
from margin.audit.event_cost import cost
from margin.data.baskets import Baskets
from margin.data.opening import open_source
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace, noisy_sum
from margin.privacy.budget import Neighbours
from margin.privacy.event import Event
from margin.privacy.statement import Statement
from margin.privacy.words import in_words
from margin.private import Keep, Largest
from margin.private.choose import Contest, _Compared
from margin.private.item_counts import truncated
from margin.sparse.axes import Leaves, Tree

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
CODES = np.array([[0, 0, 0], [0, 2, 1], [1, 1, 1], [1, 1, 0]])
PACKAGE = Path(margin.__file__).parent


class Book:
    """A ledger that notes what it is asked, and whether anything was drawn before."""

    def __init__(self, entropy=None, refuse=False):
        self.charges, self.entropy, self.refuse = [], entropy, refuse

    def charge(self, budget):
        assert self.entropy is None or not self.entropy.taken
        if self.refuse:
            raise BudgetError("the ledger is full")
        self.charges.append(budget)


class CountingEntropy(SeededEntropy):
    taken = 0

    def take(self, n):
        self.taken += n
        return super().take(n)


def private(budget=PureDP(1), codes=CODES, **more):
    more.setdefault("entropy", SeededEntropy(1))
    return Private(open_source(codes), domain=DOMAIN, budget=budget, **more)


@pytest.mark.parametrize("budget", [PureDP(2), ZCDP("0.1"), margin.ApproxDP(1, "1e-6")], ids=repr)
def test_the_noise_has_the_scale_that_was_paid_for(budget):
    """20,000 draws a view; the variance of a sum of squares is known, and six standard errors are
    allowed.

    Only a part of the budget is spent: test_composition.py tests what all of an approximate one
    buys.
    """
    domain = Domain({"x": 20_000, "y": 1})
    views = [["x"], ["x", "y"]]
    gate = Private(
        open_source(np.zeros((0, 2), int)), domain=domain, budget=budget, entropy=SeededEntropy(4)
    )
    first, second = gate.measure(views, shares=[1, 3], spend="0.8")
    for marginal, share in ((first, 0.2), (second, 0.6)):
        units = share * budget.units * 1e-12
        if isinstance(budget, PureDP):
            ratio = math.exp(-units)
            expected = 2 * ratio / (1 - ratio) ** 2
        else:
            expected = 1 / (2 * units)
        assert marginal.variance.flat[0] == pytest.approx(expected, rel=1e-3)
        assert np.mean(marginal.counts**2) == pytest.approx(expected, rel=6 * math.sqrt(5 / 20_000))


def test_noise_is_added_to_the_true_counts():
    """With so large a budget the noise is zero but with probability below 1e-300."""
    (marginal,) = private(PureDP(1000)).measure([["b", "a"]])
    assert marginal.attributes == ("b", "a")
    assert marginal.counts.tolist() == [[1, 0], [0, 2], [1, 0]]


def test_every_cell_gets_noise_zero_or_not():
    counts = (
        private(PureDP("0.001"), codes=np.zeros((0, 3), int)).measure([["a", "b", "c"]])[0].counts
    )
    assert np.count_nonzero(counts) == counts.size


def test_views_and_charges_add_up_to_the_budget_exactly():
    gate = private(PureDP("0.1"))
    gate.measure([["a"], ["b"], ["c"]])
    assert gate._account.spent == gate.budget.units and gate._account.remaining == 0
    with pytest.raises(BudgetError):
        gate.measure([["a"]])


def test_the_ledger_is_charged_before_anything_is_drawn():
    entropy = CountingEntropy(1)
    book = Book(entropy)
    private(PureDP(1), entropy=entropy, ledger=book).measure([["a"]])
    assert book.charges == [PureDP(1)] and entropy.taken


def test_a_ledger_that_refuses_stops_the_release():
    entropy = CountingEntropy(1)
    with pytest.raises(BudgetError, match="full"):
        private(entropy=entropy, ledger=Book(refuse=True)).measure([["a"]])
    assert not entropy.taken


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([],), DomainError),
        (([["a", "a"]],), DomainError),
        (([["a"], ["nobody"]],), DomainError),
        (([["a"], ["b"]], [1]), DomainError),
        (([["a"], ["b"]], [1, 0]), BudgetError),
        (([["a"], ["b"]], [1, -1]), BudgetError),
        (([["a"], ["b"]], [1, math.nan]), BudgetError),
        (([["a"], ["b"]], [1, 1e-30]), BudgetError),
    ],
)
def test_what_cannot_be_measured_costs_nothing(arguments, error):
    entropy, book = CountingEntropy(1), Book()
    gate = private(entropy=entropy, ledger=book)
    views, *shares = arguments
    with pytest.raises(error):
        gate.measure(views, shares=shares[0] if shares else None)
    assert not entropy.taken and not book.charges and not gate._account.spent


def test_rows_outside_the_domain_cost_nothing_even_in_columns_that_are_not_measured():
    entropy, book = CountingEntropy(1), Book()
    gate = private(codes=np.array([[0, 0, 7]]), entropy=entropy, ledger=book)
    # The second time is no different: nothing of a failed count is kept.
    for _ in range(2):
        with pytest.raises(DataError, match="'c'"):
            gate.measure([["a"]])
    assert not entropy.taken and not book.charges and not gate._account.spent


def test_the_ledger_is_not_charged_for_an_answer_that_the_account_refuses():
    entropy, book = CountingEntropy(1), Book()
    gate = private(PureDP("0.1"), entropy=entropy, ledger=book)
    event = Event(
        method="measure",
        about=("a",),
        units=gate.budget.units + 1,
        sampler=DiscreteLaplace(F(1)),
        l1=1,
        l2_squared=1,
    )
    with pytest.raises(BudgetError):
        gate._noisy([event], [np.zeros(2, np.int64)])
    assert not entropy.taken and not book.charges and not gate.events


def test_an_interrupt_that_was_lost_is_told_before_the_charge(monkeypatch):
    def lost():
        raise KeyboardInterrupt

    entropy, book = CountingEntropy(1), Book()
    monkeypatch.setattr("margin.private.gate.check", lost)
    gate = private(entropy=entropy, ledger=book)
    with pytest.raises(KeyboardInterrupt):
        gate.measure([["a"]])
    assert not entropy.taken and not book.charges and not gate._account.spent


def test_two_threads_charge_the_ledger_once():
    """The first charge waits, so that the other thread may come in if the gate lets it."""

    class Slow(Book):
        def charge(self, budget):
            self.charges.append(budget)
            both.wait(timeout=0.3)

    both, book = threading.Event(), Slow()
    gate = private(ledger=book)

    def measure():
        gate.measure([["a"]], spend="1/2")

    threads = [threading.Thread(target=measure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert book.charges == [PureDP(1)] and len(gate.events) == 2


@pytest.mark.parametrize(
    ("neighbours", "rows", "l1", "l2_squared"),
    [
        (Neighbours.ADD_REMOVE_ROW, 1, 1, 1),
        (Neighbours.ADD_REMOVE_ROW, 3, 3, 9),
        (Neighbours.REPLACE_ROW, 1, 2, 2),
        (Neighbours.REPLACE_ROW, 3, 6, 18),
    ],
)
def test_the_unit_of_privacy_is_carried_into_the_noise(neighbours, rows, l1, l2_squared):
    unit = {"neighbours": neighbours, "rows_per_person": rows}
    for budget, expected in [
        (PureDP(1, **unit), DiscreteLaplace(F(2 * l1))),
        (ZCDP(1, **unit), DiscreteGaussian(F(l2_squared))),
    ]:
        gate = private(budget)
        gate.measure([["a"], ["b"]])
        assert [event.sampler for event in gate.events] == [expected, expected]
        assert {(event.l1, event.l2_squared) for event in gate.events} == {(l1, l2_squared)}
    gate = private(PureDP(1, **unit))
    choose(gate)
    assert {event.spread for event in gate.events} == {2 * l1}
    assert sum(event.sampler.rate * event.spread for event in gate.events) == 1


def choose(gate, **more):
    return gate.select(
        [["a"], ["b"], ["c"]], [np.zeros(2), np.zeros(3), np.array([2.0, 2.0])], **more
    )


def compare(gate, **more):
    return gate.total_distance(
        [["a"], ["b"], ["c"]], [np.zeros(2), np.zeros(3), np.array([2.0, 2.0])], **more
    )


def depend(gate, **more):
    return gate.total_dependence([["a", "b"], ["c", "b"]], **more)


def sparse(gate, **more):
    return gate.sparse_cells(["a", "b", "c"], **{"keep": Keep(3, 3, False), **more})


def prioritise(gate, **more):
    return gate.sparse_cells(["a", "b", "c"], **{"keep": Largest(4), **more})


def truncate(gate, **more):
    return gate.truncated_counts(["a", "c"], **{"most": 1, **more})


def choose_most(gate, **more):
    return gate.select_most(["a", "c"], **{"grid": [1, 2], "penalties": [0, 0], **more})


def choose_scaled(gate, **more):
    return gate.select_scaled(
        ["a", "c"], **{"grid": [2, 1], "scales": [1, "3/2"], "penalties": [[0, 0], [0, 0]], **more}
    )


def choose_items(gate, **more):
    return gate.select_items(["a", "c"], **{"count": 2, **more})


def count_few(gate, **more):
    return gate.sampled_counts(["a", "c"], **{"most": 1, **more})


def count_chosen(gate, **more):
    return gate.chosen_counts(["a", "c"], **{"chosen": [1], **more})


def count_waves(gate, **more):
    return gate.walsh_counts(["a", "c"], **{"first": 2, "most": 1, **more})


ITEMS = [choose_scaled, choose_items, count_few, count_chosen, count_waves]
METHODS = [*ITEMS, prioritise, choose, compare, depend, sparse, truncate, choose_most]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1"), margin.ApproxDP(1, "1e-6")], ids=repr)
def test_every_method_charges_what_it_spends_before_it_draws(method, budget):
    entropy = CountingEntropy(1)
    book = Book(entropy)
    gate = private(budget, entropy=entropy, ledger=book)
    method(gate, spend="1/4")
    spent = gate._account.spent
    assert (
        budget.units // 4 - 10
        <= spent
        == sum(event.units for event in gate.events)
        <= budget.units // 4
    )
    method(gate)
    assert budget.units - 10 <= gate._account.spent <= budget.units and book.charges == [budget]
    for event in gate.events:
        assert 0 < cost(event, budget) <= event.units * UNIT


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spend", [0, -1, "2", 1.5, math.nan, "x", True, 1e-30])
def test_bad_parts_of_the_budget_cost_nothing(method, spend):
    gate = private(entropy=CountingEntropy(1))
    with pytest.raises(BudgetError, match="spend"):
        method(gate, spend=spend)
    assert not gate._entropy.taken and not gate._account.spent


@pytest.mark.parametrize(
    ("method", "more"),
    [
        (choose, {"count": 0}),
        (choose, {"count": 4}),
        (choose, {"weights": [1, 1]}),
        (choose, {"weights": [0, 0, 0]}),
        (choose, {"weights": [1, -1, 1]}),
        (choose, {"weights": [1, 2**21, 1]}),
        (choose, {"weights": [1, 0.5, 1]}),
        (choose, {"penalties": [0, math.nan, 0]}),
        (compare, {"weights": [1, 1]}),
        (compare, {"weights": [0, 0, 0]}),
        (compare, {"weights": [1, -1, 1]}),
        (compare, {"weights": [2**19, 2**19, 1]}),
        (compare, {"weights": [1, 0.5, 1]}),
        (compare, {"weights": [1, math.nan, 1]}),
        (compare, {"weights": [True, True, True]}),
        (sparse, {"keep": Keep(0, 3, False)}),
        (sparse, {"keep": Keep(1.5, 3, False)}),
        (sparse, {"keep": Keep(3, 2, False)}),
        (sparse, {"keep": Keep(1, 2**125, True)}),
        (sparse, {"keep": Keep(1, 2**70 + 1, True)}),
        (sparse, {"axes": []}),
        (sparse, {"axes": [Leaves(2), Leaves(3), Leaves(3)]}),
        (prioritise, {"keep": Largest(0)}),
        (prioritise, {"keep": Largest(10**8)}),
        (choose_scaled, {"scales": []}),
        (choose_scaled, {"scales": [1, "1/2"]}),
        (choose_scaled, {"longest": 1}),
        (choose_scaled, {"penalties": [[0, 0]]}),
        (choose_items, {"count": 0}),
        (choose_items, {"count": 3}),
        (count_few, {"most": 0}),
        (count_chosen, {"chosen": []}),
        (count_chosen, {"chosen": [0, 0]}),
        (count_chosen, {"chosen": [2]}),
        (count_waves, {"first": 3}),
        (count_waves, {"first": 0}),
        (truncate, {"most": 0}),
        (truncate, {"grain": 0}),
        (truncate, {"grain": 2**41}),
        (choose_most, {"grid": []}),
        (choose_most, {"grid": [0, 1]}),
        (choose_most, {"penalties": [0]}),
    ],
)
def test_bad_arguments_cost_nothing(method, more):
    gate = private(entropy=CountingEntropy(1))
    with pytest.raises(margin.MarginError):
        method(gate, **more)
    assert not gate._entropy.taken and not gate._account.spent


def test_arguments_of_the_wrong_shape_cost_nothing():
    gate = private(entropy=CountingEntropy(1))
    for call in (
        lambda: gate.select([["a"]], []),
        lambda: gate.select([["a"]], [np.zeros(3)]),
        lambda: gate.select([["a"]], [np.array(["x", "y"])]),
        lambda: gate.select([["a"]], [np.full(2, 2.0**41)]),
        lambda: gate.total_distance([], []),
        lambda: gate.total_distance([["a"]], []),
        lambda: gate.total_distance([["a"]], [np.zeros(3)]),
        lambda: gate.total_distance([["a"]], [[math.nan, 0]]),
        lambda: gate.total_distance([["a"]] * 2, [np.full(2, 2.0**38)] * 2),
        lambda: gate.total_dependence([]),
        lambda: gate.total_dependence([["a"]]),
        lambda: gate.total_dependence([["a", "b"], ["a", "b", "c"]]),
        lambda: gate.total_dependence([["a", "nobody"]]),
        lambda: gate.truncated_counts(["b"], most=1),
        lambda: gate.sparse_cells(["nobody"], keep=Keep(1, 1, False)),
    ):
        with pytest.raises(DomainError):
            call()
    assert not gate._entropy.taken and not gate._account.spent


def test_a_choice_prefers_what_is_furthest_from_the_truth():
    """Tables a: [2, 2], b: [1, 2, 1], c: [2, 2]; with so large a budget the best are chosen but for
    chance 1e-100."""
    assert choose(private(PureDP(10**4)), count=2) == (0, 1) or choose(
        private(PureDP(10**4)), count=2
    ) == (1, 0)
    assert choose(private(PureDP(10**4)), penalties=[5, 4, -9]) == (2,)
    assert choose(private(PureDP(10**4)), weights=[1, 3, 1]) == (1,)


def test_choices_of_a_contest_are_those_of_its_views_and_answers():
    """The candidates shrink from choice to choice, and the first one comes twice."""
    views = [["a"], ["b"], ["c"]]
    public = [np.array([0.4, 1.6]), np.zeros(3), np.array([2.0, 2.0])]
    for seed in range(20):
        plain, quick = (private(PureDP(3), entropy=SeededEntropy(seed)) for _ in range(2))
        contest = quick.contest(views, public)
        for places in ([0, 1, 2, 0], [2, 0, 2], [1, 1]):
            more = {"weights": [1] * (len(places) - 1) + [0], "spend": "1/4"}
            expected = plain.select(
                [views[place] for place in places],
                [public[place] for place in places],
                penalties=places,
                **more,
            )
            assert quick.select(contest.only(places), penalties=places, **more) == expected
        # The same is recorded as by single calls.
        assert quick.events == plain.events


def test_each_contest_has_distances_of_its_own():
    """Also if its views are as many as those of another."""
    gate = private(PureDP(10**4))
    contests = [
        gate.contest([["a"], ["b"]], [np.zeros(2), np.zeros(3)]),
        gate.contest([["a"], ["b"]], [np.full(2, 9), np.full(3, 9)]),
    ]
    for _ in range(2):
        assert [gate._gaps(one).tolist() for one in contests] == [[4, 4], [14, 23]]


def test_what_a_single_choice_compares_is_not_kept():
    gate = private(PureDP(10**4))
    gate.select([["a"], ["b"]], [np.zeros(2), np.zeros(3)], spend="1/2")
    assert not gate._contests


def test_a_contest_does_not_follow_changes_of_its_answers():
    gate = private(PureDP(10**4))
    public = [np.zeros(2), np.zeros(3)]
    contest = gate.contest([["a"], ["b"]], public)
    public[0][:] = 10**6
    assert [answer.tolist() for answer in contest.answers] == [[0, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="read-only"):
        contest.answers[0][:] = 10**6
    with pytest.raises(ValueError, match="WRITEABLE"):
        contest.answers[0].setflags(write=True)
    assert gate._gaps(contest).tolist() == [4, 4]


def test_wrong_contests_are_refused_and_cost_nothing():
    gate = private()
    other = Private(
        open_source(CODES),
        domain=Domain({"a": 2, "b": 3, "c": 2}),
        budget=PureDP(1),
        entropy=SeededEntropy(1),
    )
    contest = gate.contest([["a"], ["b"]], [np.zeros(2), np.zeros(3)])
    for call in (
        lambda: contest.only([]),
        lambda: contest.only([2]),
        lambda: contest.only([-1]),
        lambda: gate.contest([["a"]], [np.zeros(3)]),
        lambda: gate.contest([], []),
        lambda: gate.select(contest, [np.zeros(2), np.zeros(3)]),
        lambda: gate.select([["a"]]),
        lambda: gate.select(contest, count=3),
        lambda: gate.select(contest, penalties=[1]),
        lambda: other.select(contest),
        # Nobody has checked the answers of this contest.
        lambda: gate.select(Contest(_Compared(gate.domain, [("a",)], [np.zeros(2)]), (0,))),
    ):
        with pytest.raises(DomainError):
            call()
    assert not gate._account.spent and not other._account.spent


def test_public_answers_may_be_marginals():
    gate = private(PureDP(10**4))
    measured = gate.measure([["a"], ["b"]], spend="1/2")
    assert gate.select([["a"], ["b"]], [measured[0], np.zeros(3)]) == (1,)


def test_sparse_cells_are_those_of_the_whole_table():
    """A threshold that noise never passes, and then one that empty cells do."""
    gate = private(PureDP(2000))
    kept = gate.sparse_cells(["c", "b", "a"], keep=Keep(1, 1, False), spend="1/2")
    assert kept.counts.tolist() == [1, 1, 1, 1]
    table = np.zeros((2, 3, 2), int)
    table[tuple(kept.codes.T)] = kept.counts
    truth = np.zeros((2, 3, 2), int)
    for a, b, c in CODES.tolist():
        truth[c, b, a] += 1
    assert (table == truth).all()


@pytest.mark.parametrize("attributes", [20, 62, 200, 900])
def test_a_huge_table_costs_no_more_than_a_small_one(attributes):
    domain = Domain({f"x{place}": 2 for place in range(attributes)})
    codes = np.random.default_rng(1).integers(0, 2, (200, attributes))
    gate = Private(open_source(codes), domain=domain, budget=PureDP(1), entropy=SeededEntropy(1))
    kept = gate.sparse_cells(domain.attributes, keep=Keep(attributes, attributes, False))
    assert kept.counts.min(initial=attributes) >= attributes and kept.codes.shape == (
        kept.counts.size,
        attributes,
    )
    assert kept.counts.size < 100 and kept.codes.max(initial=0) <= 1


def test_too_low_a_threshold_or_too_large_a_table_is_refused():
    domain = Domain({f"x{place}": 2 for place in range(1001)})
    gate = Private(
        open_source(np.zeros((1, 1001), int)),
        domain=domain,
        budget=PureDP(1),
        entropy=CountingEntropy(1),
    )
    with pytest.raises(DomainError, match="raise theta to about"):
        gate.sparse_cells(domain.attributes[:40], keep=Keep(3, 3, False))
    with pytest.raises(DomainError, match="raise theta to about"):
        gate.sparse_cells(domain.attributes[:900], keep=Largest(5))
    with pytest.raises(DomainError, match="leave attributes out"):
        gate.sparse_cells(domain.attributes, keep=Keep(3000, 3000, False))
    with pytest.raises(DomainError, match="trees for fewer"):
        gate.sparse_cells(domain.attributes[:30], keep=Keep(9, 9, True), axes=[Tree(2)] * 30)
    assert not gate._entropy.taken and not gate._account.spent


def test_a_row_of_many_items_counts_less_for_each():
    domain = Domain(dict.fromkeys("abcd", 2))
    codes = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    gate = Private(
        open_source(codes), domain=domain, budget=PureDP(10**6), entropy=SeededEntropy(1)
    )
    counts = gate.truncated_counts(list("abcd"), most=2, grain=1000, spend="1/2")
    assert counts.counts.tolist() == [2.5, 1.5, 0.5, 0.5] and counts.attributes == ("item",)
    assert gate.select_most(list("abcd"), [1, 2, 4], penalties=[0, 0, 100], spend="1/4") == 1


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.booleans(), min_size=6, max_size=6), max_size=8),
    st.integers(1, 7),
    st.integers(1, 50),
)
def test_no_row_adds_more_than_its_share(table, most, grain):
    held = np.array(table, bool).reshape(-1, 6)

    def counts(rows):
        return truncated(Baskets(rows.sum(axis=1), np.nonzero(rows)[1]), 6, most, grain)

    for row in held:
        added = counts(row[None, :])
        assert (
            added.sum() <= grain * most
            and (added**2).sum() <= grain**2 * most
            and (added >= 0).all()
        )
    assert (counts(held) == sum((counts(row[None, :]) for row in held), np.zeros(6))).all()


def test_views_are_counted_once():
    class Counted:
        def __init__(self):
            self.source, self.passes = open_source(CODES), 0

        def check(self, domain):
            self.source.check(domain)

        def batches(self, domain):
            self.passes += 1
            return self.source.batches(domain)

    source = Counted()
    gate = Private(source, domain=DOMAIN, budget=PureDP(1), entropy=SeededEntropy(1))
    for _ in range(3):
        gate.measure([["a"], ["b"]], spend="0.1")
    gate.select([["a"], ["b"]], [np.zeros(2), np.zeros(3)], spend="0.1")
    assert source.passes == 1


def test_parts_of_the_budget_add_up_exactly():
    gate = private(PureDP("0.3"))
    for _ in range(3):
        gate.measure([["a"]], spend="1/3")
    with pytest.raises(BudgetError, match="the budget is used up"):
        gate.measure([["a"]])
    with pytest.raises(BudgetError, match="at most what remains of the budget, 0 of"):
        gate.measure([["a"]], spend="1/3")


def imported(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}"} | {
                alias.name for alias in node.names
            }
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "mechanisms").glob("*.py")), ids=lambda path: path.stem
)
def test_mechanisms_import_nothing_that_reads_data(path):
    forbidden = {
        "..source",
        "..files",
        "..encode",
        "..counting",
        "..counting.plan",
        "..entropy",
        "duckdb",
        "pyarrow",
    }
    assert not imported(path) & forbidden


def test_true_counts_and_noise_meet_as_integers():
    """In the gate, the only arithmetic with true counts is the clamped sum with integer draws."""
    tree = ast.parse((PACKAGE / "private" / "gate.py").read_text())
    assert not [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and "true" in ast.dump(node.left)
    ]
    sums = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "noisy_sum" in ast.unparse(node.func)
    ]
    assert [ast.unparse(node) for node in sums] == ["noisy_sum(true, drawn[begin:stop])"]
    counts = np.array([3], dtype=np.int64)
    assert noisy_sum(counts, PureDP(1).noise(10**12).sample(1, SeededEntropy(0))).dtype == np.int64


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_number_of_rows_is_public_only_where_one_row_replaces_one(neighbours, rows):
    """A person of three rows for one of one: with several rows a person the number is hidden by
    noise that is paid."""
    budget = PureDP(1, neighbours=neighbours, rows_per_person=rows)
    gate = private(budget)
    number = gate.count_rows()
    public = neighbours is Neighbours.REPLACE_ROW and rows == 1
    assert budget.number_of_rows_is_public == public
    if public:
        assert number == len(CODES) and not gate.events and not gate._account.spent
        return
    (event,) = gate.events
    assert (event.l1, event.l2_squared) == (rows, rows**2) and event.sampler == DiscreteLaplace(
        F(rows)
    )
    assert gate._account.spent == budget.units


def test_the_guarantee_says_whether_the_number_of_rows_is_protected():
    replaced = {"neighbours": Neighbours.REPLACE_ROW}
    assert "The number of rows is public" in in_words(Statement(budget=PureDP(1, **replaced)))[2]
    several = PureDP(1, **replaced, rows_per_person=3)
    assert "The number of rows is protected" in in_words(Statement(budget=several))[2]
    assert several.describe().endswith(
        "replace all rows of a person, 3 at most, by others, 3 at most"
    )
