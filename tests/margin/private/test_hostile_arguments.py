"""Arguments of the gate that are not what they say: sensitivities are of what is used, or the call
is refused.

A mechanism may pass anything to `Private`: subclasses that answer for themselves, arrays that
change after they were checked, numbers with an arithmetic of their own. What reaches the noise must
be what the event declares.
"""

import contextlib
import copy
import itertools
import pickle
import threading
from fractions import Fraction
from numbers import Integral

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP, Strategy
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import Neighbours
from margin.privacy.rounds import Rounds
from margin.private import Keep, Private
from margin.private.strategy import Factor
from margin.queries import Conjunctions, Parities
from margin.sparse.axes import Leaves, Level, Tree

DOMAIN = Domain({"a": 2, "b": 2})
ITEMS = Domain(dict.fromkeys("xyz", 2))
LEAST = -(2**63)


class Watched(Private):
    """Keeps what goes to the noise or to the choice, and what is declared of it."""

    def _answer(self, events, true, draw):
        self.true = [np.array(one) if isinstance(one, np.ndarray) else one for one in true]
        self.declared = list(events)
        return super()._answer(events, true, draw)


def gate(rows=3, domain=DOMAIN, budget=PureDP("0.01")):
    codes = np.ones((rows, len(domain)), np.int64)
    return Watched(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(1))


def moves(call, domain=DOMAIN, budget=PureDP("0.01")):
    """How far the true answers move, in L1, from 2 to 3 rows, and what is declared; or (0, 1) when
    it is refused."""
    seen = []
    for rows in (2, 3):
        private = gate(rows, domain, budget)
        try:
            call(private)
        except margin.MarginError:
            assert not private._account.spent and not hasattr(private, "true")
            return 0, 1
        seen.append([one.ravel().tolist() for one in private.true])
    declared = sum(event.l1 for event in private.declared)
    return sum(
        abs(x - y) for one, two in zip(*seen, strict=True) for x, y in zip(one, two, strict=True)
    ), declared


# Numbers.


@pytest.mark.parametrize(
    "matrix", [[[LEAST, 1]], [[LEAST + 1, 0]], [[2**63 - 1, 0]], [[0, LEAST], [1, 1]]], ids=str
)
def test_no_number_is_small_because_its_absolute_value_wraps_around(matrix):
    with pytest.raises(DomainError, match=r"2\*\*20"):
        Factor(np.array(matrix, np.int64))


CALLS = {
    "public answers": lambda gate, bad: gate.select(
        [["a"], ["b"]], [np.array([bad, 0]), np.zeros(2)]
    ),
    "weights": lambda gate, bad: gate.select([["a"], ["b"]], [np.zeros(2)] * 2, weights=[bad, 1]),
    "public answers of distances": lambda gate, bad: gate.total_distance(
        [["a"], ["b"]], [[0, 0], [bad, 0]]
    ),
    "weights of distances": lambda gate, bad: gate.total_distance(
        [["a"], ["b"]], [[0, 0], [0, 0]], weights=[bad, 1]
    ),
    "attributes of pairs": lambda gate, bad: gate.total_dependence([["a", "b"], ["a", bad]]),
    "penalties": lambda gate, bad: gate.select(
        [["a"], ["b"]], [np.zeros(2)] * 2, penalties=[0, bad]
    ),
    "boxes": lambda gate, bad: gate.select_cuts(["a"], [[[0, bad]]], [0]),
    "axes of boxes": lambda gate, bad: gate.select_cuts(["a"], [[[0, 2]]], [bad]),
    "answers": lambda gate, bad: gate.query_errors(CELLS, [0, 0, bad, 0], records=1, size=1),
    "answers of a round": lambda gate, bad: gate.sample_queries(CELLS, ROUNDS).draw([0, 0, bad, 0]),
    "penalties of a grid": lambda gate, bad: gate.select_most(
        ["a", "b"], [1, 2], penalties=[bad, 0]
    ),
    "penalties of factors": lambda gate, bad: gate.select_scaled(
        ["a", "b"], [1], scales=[1, 2], penalties=[[bad, 0]]
    ),
    "a grid": lambda gate, bad: gate.select_most(["a", "b"], [1, bad], penalties=[0, 0]),
    "a factor": lambda gate, bad: gate.select_scaled(
        ["a", "b"], [1], scales=[1, bad], penalties=[[0, 0]]
    ),
    "longest": lambda gate, bad: gate.select_scaled(
        ["a", "b"], [1], scales=[1], penalties=[[0]], longest=bad
    ),
    "most": lambda gate, bad: gate.truncated_counts(["a", "b"], most=2, grain=bad),
    "groups": lambda gate, bad: gate.truncated_counts(["a", "b"], most=2, groups=[0, bad]),
    "grain": lambda gate, bad: gate.walsh_counts(["a", "b"], first=1, most=1, grain=bad),
    "chosen": lambda gate, bad: gate.chosen_counts(["a", "b"], chosen=[bad]),
    "rows of a sketch": lambda gate, bad: gate.sketch_counts(["a"], rows=bad, width=2, key=1),
}
CELLS = Conjunctions.cells(DOMAIN, [["a", "b"]])
ROUNDS = Rounds(step=Fraction(1, 10**6), samples=(1, 1), size=3)


@pytest.mark.parametrize("bad", [LEAST, LEAST + 1, 2**63 - 1, 2**63, -(2**64), 2**70], ids=str)
@pytest.mark.parametrize("case", CALLS)
def test_numbers_beyond_64_bits_are_refused_before_anything_is_charged(case, bad):
    private = gate()
    with pytest.raises((margin.MarginError, OverflowError)) as raised:
        CALLS[case](private, bad)
    assert not private._account.spent and not hasattr(private, "true")
    assert (
        isinstance(raised.value, margin.MarginError) or case == "public answers"
    )  # numpy cannot hold it: no array


def test_penalties_times_the_grain_do_not_wrap_around():
    private = gate()
    with pytest.raises(DomainError, match=r"2\*\*60"):
        private.select_scaled(["a", "b"], [1], scales=[1], penalties=[[2**40]], grain=2**30)
    assert not private._account.spent


# Strategies.


class Flatters(Strategy):
    """Says that nothing changes, and answers with large numbers."""

    l1 = l2_squared = 1
    least_product = 0

    def sensitivity(self, budget):
        return 1, 1

    def answers(self, table):
        return table.sum(keepdims=True) * 10**6

    def check(self, domain):
        pass


def enlarged():
    """A matrix that is changed after it was checked, its norms having been looked at."""
    strategy = Strategy(("a",), [[[1, 1]]])
    assert strategy.l1 == 1 and strategy.factors[0].l1 == 1
    strategy.factors[0].matrix.flags.writeable = True
    strategy.factors[0].matrix[:] = 1000
    return strategy


def exchanged():
    strategy = Strategy(("a",), [[[1, 1]]])
    assert strategy.l1 == 1
    strategy.factors[0].matrix = np.array([[1000, 1000]])
    return strategy


def noted():
    """Norms that were written down where the cached ones are."""
    strategy = Strategy(("a",), [[[1000, 1000]]])
    for noted in (strategy, strategy.factors[0]):
        noted.__dict__.update(l1=1, l2_squared=1, least_product=0)
    strategy.factors[0].largest = 1
    return strategy


class Small(Factor):
    l1 = l2_squared = 1
    least_product = 0

    def __init__(self):
        self.matrix, self.rows, self.columns, self.largest = np.array([[1000, 1000]]), 1, 2, 1


def pretending():
    return Strategy(("a",), [Small()])


class Changing:
    """A matrix that is another one each time it is looked at."""

    def __init__(self):
        self.looks = itertools.count()

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 1]]) * 1000 ** (next(self.looks) % 2)


def changing():
    strategy = Strategy(("a",), [[[1, 1]]])
    strategy.factors[0].matrix = Changing()
    return strategy


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "make",
    [lambda: Flatters(("a",), [[[1000, 1000]]]), enlarged, exchanged, noted, pretending, changing],
    ids=["subclass", "enlarged", "exchanged", "noted", "pretending", "changing"],
)
def test_norms_are_those_of_the_matrix_that_is_used(make, neighbours):
    moved, declared = moves(
        lambda private: private.measure_linear([make()]), budget=PureDP(1, neighbours=neighbours)
    )
    assert moved <= declared


def test_the_same_factor_in_many_strategies_is_copied_once(monkeypatch):
    made = []
    right = Factor.__init__
    monkeypatch.setattr(
        Factor, "__init__", lambda self, matrix: made.append(1) or right(self, matrix)
    )
    factor = Factor([[1, 1]])
    gate().measure_linear(
        [Strategy(("a",), [factor]), Strategy(("b",), [factor]), Strategy(("a", "b"), [factor] * 2)]
    )
    assert len(made) == 2


# Arrays that change between the check and the use.


class Meddling(list):
    """Public answers, of which reading one changes the one before."""

    def __iter__(self):
        before = None
        for array in super().__iter__():
            if before is not None:
                before[:] = LEAST
            yield array
            before = array


def test_public_answers_are_those_that_were_checked():
    private = gate()
    views = [["a"], ["b"]]
    private.select(views, Meddling([np.zeros(2, np.int64), np.zeros(2, np.int64)]), spend="1/2")
    assert private.true[0].tolist() == [3, 3]
    private.total_distance(views, Meddling([np.zeros(2, np.int64), np.zeros(2, np.int64)]))
    assert private.true[0].tolist() == [6]


class Slippery(np.ndarray):
    """Seems small whenever it is asked."""

    def max(self, *args, **more):
        return 0

    min = max


def test_a_subclass_of_arrays_is_not_asked_how_large_it_is():
    large = np.full(2, 2**50).view(Slippery)
    assert large.max() == 0
    for call in (
        lambda private: private.select([["a"]], [large]),
        lambda private: private.total_distance([["a"]], [large]),
        lambda private: private.total_distance([["a"], ["b"]], [[0, 0]] * 2, weights=large),
        lambda private: private.query_errors(
            CELLS, np.full(4, 2**50).view(Slippery), records=1, size=1
        ),
    ):
        with pytest.raises(DomainError, match=r"2\*\*40"):
            call(gate())


class Doubled(list):
    """Items of which another number comes each time."""

    def __iter__(self):
        self.times = getattr(self, "times", 0) + 1
        return iter([0, 0, 0] if self.times == 1 else [0, 1, 2])


def test_chosen_items_are_read_once():
    moved, declared = moves(lambda private: private.chosen_counts(chosen=Doubled()), domain=ITEMS)
    assert moved <= declared


class Multiplied(list):
    """One pair when it is read first, and a hundred each time after."""

    def __iter__(self):
        self.times = getattr(self, "times", 0) + 1
        return iter([["a", "b"]] * (1 if self.times == 1 else 100))

    def __len__(self):
        return 1


class Longer(list):
    """A pair when it is read first, and another view each time after."""

    def __iter__(self):
        self.times = getattr(self, "times", 0) + 1
        return iter(["a", "b"] if self.times == 1 else ["a"])

    def __len__(self):
        return 2


def test_pairs_are_read_once():
    """What is declared is for as many pairs as are counted: half of 20 rows, for one pair."""
    codes = np.repeat([[0, 0], [1, 1]], 10, axis=0)
    for pairs in (Multiplied(), [Longer()]):
        private = Watched(
            CodesSource(codes), domain=DOMAIN, budget=PureDP(1), entropy=SeededEntropy(1)
        )
        private.total_dependence(pairs)
        assert private.true[0].tolist() == [10]
        assert [event.l1 for event in private.declared] == [2]


# Numbers with an arithmetic of their own.


class Generous(Fraction):
    """A part of the budget that is small when compared and large when multiplied."""

    def __mul__(self, other):
        return Fraction(1000) * other

    __rmul__ = __mul__

    def __le__(self, other):
        return True

    __lt__ = __ge__ = __gt__ = __le__


def test_a_part_of_the_budget_is_the_number_that_was_checked():
    private = gate()
    private.measure([["a"]], spend=Generous(1, 4))
    assert private._account.spent == private.budget.units // 4
    private.measure([["a"], ["b"]], shares=[Generous(1), 3], spend="1/2")
    assert [event.units for event in private.declared] == [
        private.budget.units // 8,
        private.budget.units // 8 * 3,
    ]


class Rising:
    """A real number that is larger each time it is read."""

    def __init__(self):
        self.reads = 0

    def __float__(self):
        self.reads += 1
        return 0.01 if self.reads == 1 else 1.0


@pytest.fixture
def rising():
    from numbers import Real

    Real.register(Rising)
    return Rising()


def test_a_part_of_the_budget_is_read_once(rising):
    """Rounds that cost more than a hundredth of epsilon are not certified within a hundredth."""
    budget = ApproxDP(1, "1e-6")
    private = gate(budget=budget)
    with pytest.raises(BudgetError, match="cost more"):
        private.sample_queries(
            CELLS, Rounds(step=Fraction(1, 10), samples=(1, 40), size=3), spend=rising
        )
    assert rising.reads == 1


class Count:
    """A whole number that says that it is large enough."""

    def __index__(self):
        return -5

    def __lt__(self, other):
        return False


def test_a_whole_number_is_the_one_that_was_checked():
    Integral.register(Count)
    for call in (
        lambda private: private.sketch_counts(["a"], rows=Count(), width=2, key=1),
        lambda private: private.truncated_counts(["a", "b"], most=Count()),
        lambda private: private.select_items(["a", "b"], count=Count()),
    ):
        with pytest.raises(BudgetError, match="whole number"):
            call(gate())


# Rounds, queries, axes.


class Cheap(Rounds):
    def cost(self, budget):
        return Fraction(1, 10**9)

    def units(self, budget):
        return 1

    def epsilon(self, budget):
        return Fraction(1, 10**9)

    def multiplier(self, place):
        return 10**6 * place


@pytest.mark.parametrize(
    "budget", [PureDP("0.01"), ZCDP("0.0001"), ApproxDP("0.01", "1e-9")], ids=repr
)
def test_rounds_cost_what_their_numbers_say(budget):
    private = gate(budget=budget)
    dear = Cheap(step=Fraction(1), samples=(5, 5), size=3)
    assert not private.affords(dear)
    with pytest.raises(BudgetError, match="cost more"):
        private.sample_queries(CELLS, dear)
    cheap = Cheap(step=Fraction(1, 10**6), samples=(1, 1), size=3)
    draws = private.sample_queries(CELLS, cheap)
    for _ in range(2):
        draws.draw(np.zeros(4, int))
    assert private.declared[0].spread == 1 and private.true[0].max() <= 3


class Loud(Conjunctions):
    def counts(self, table):
        return super().counts(table) * 1000


def test_a_subclass_of_queries_does_not_count():
    loud = Loud(DOMAIN, [[0], [1]], [[0], [1]])
    for call in (
        lambda private: private.query_errors(loud, [0, 0], records=1, size=1),
        lambda private: private.sample_queries(loud, ROUNDS),
    ):
        with pytest.raises(DomainError, match="no subclass"):
            call(gate())


def shouting():
    asked = Conjunctions(DOMAIN, [[0], [1]], [[0], [1]])
    asked.__dict__["counts"] = lambda table: np.full(2, 1000 * table.rows)
    return asked


def unmarked():
    """All literals say that a bit is zero, and so do the bits beyond the last row, which this says
    need not be left out: a row more would change the count by 63."""
    asked = Conjunctions(DOMAIN, [[0], [1]], [[0], [0]])
    asked.__dict__["_negative"] = np.empty(0, np.int64)
    return asked


def out_of_place():
    """A value that its attribute does not have: another line, or memory behind the last one."""
    asked = Conjunctions(Domain({"a": 3, "b": 3}), [[0], [1]], [[0], [0]])
    asked.values[:] = 200
    return asked


@pytest.mark.parametrize("make", [shouting, unmarked, out_of_place], ids=lambda make: make.__name__)
def test_queries_are_counted_from_copies_that_are_checked_anew(make):
    asked = make()
    domain = asked.domain

    def call(private):
        private.query_errors(asked, [0, 0], records=1, size=1)

    seen = []
    for rows in (64, 65):
        private = gate(rows, domain)
        try:
            call(private)
        except DomainError:
            assert make is out_of_place and not private._account.spent
            return
        seen.append(int(private.true[0][0]))
    assert abs(seen[0] - seen[1]) <= private.declared[0].l1


def test_counts_of_other_queries_are_not_taken_for_these():
    """A forged digest brings the counts of four queries, and four are declared."""
    private = gate()
    private.query_errors(CELLS, np.zeros(4, int), records=1, size=1, spend="1/2")
    one = Parities(DOMAIN, [[0, 1]])
    one.__dict__["digest"] = CELLS.digest
    with pytest.raises(DomainError, match="shape"):
        private.query_errors(one, [0], records=1, size=1)


def test_each_workload_gets_its_own_counts():
    """Counts of queries are kept from call to call, of these queries only."""
    others = Conjunctions.cells(DOMAIN, [["a"], ["b"]])
    together = gate()
    for queries in (CELLS, others, CELLS):
        private = gate()
        for asked in (private, together):
            asked.query_errors(queries, np.zeros(4, int), records=1, size=1, spend="1/9")
        np.testing.assert_array_equal(together.true, private.true)


class Everywhere(Leaves):
    """A row is in one node when asked how many it touches, and in a hundred afterwards."""

    looks = 0

    @property
    def levels(self):
        Everywhere.looks += 1
        return (Level(0, 0, self.size, False),) * (1 if Everywhere.looks < 3 else 100)


def test_axes_are_those_whose_nodes_are_known():
    with pytest.raises(DomainError, match="Leaves, Tree or Halves"):
        gate().sparse_cells(["a", "b"], keep=Keep(1, 3, True), axes=[Everywhere(2), Leaves(2)])
    tree = Tree(2)
    tree.__dict__["levels"] = tree.levels[:1]
    private = gate()
    private.sparse_cells(["a", "b"], keep=Keep(1, 3, True), axes=[tree, Leaves(2)])
    assert private.declared[0].l1 == 2


# Copies and threads.


class Meanwhile:
    """Entropy that has another thread do something while noise is drawn."""

    private = False

    def __init__(self, action):
        self._action = action
        self._entropy = SeededEntropy(1)
        self.thread = threading.Thread(target=self._try)

    def _try(self):
        with contextlib.suppress(margin.MarginError):
            self._action()

    def take(self, n):
        if self.thread.ident is None:
            self.thread.start()
            self.thread.join(0.2)  # it ends by now, or waits for this draw
        return self._entropy.take(n)


def test_two_threads_never_draw_the_same_round():
    entropy = Meanwhile(lambda: rounds.draw([0]))
    private = Private(
        CodesSource(np.ones((3, 2), np.int64)),
        domain=DOMAIN,
        budget=PureDP(10),
        entropy=SeededEntropy(1),
    )
    queries = Parities(DOMAIN, np.array([[0, 1]]))
    rounds = private.sample_queries(queries, Rounds(step="0.01", samples=(1, 1), size=10))
    private._entropy = entropy
    rounds.draw([0])
    entropy.thread.join()
    assert [event.about[1] for event in private.events] == [0, 1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_the_gate_has_no_copy(copied):
    with pytest.raises(TypeError, match="cannot be copied"):
        copied(gate())


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(5, "1e-6")])
@pytest.mark.parametrize("samples", [(1,), (2, 3), (1, 1, 4)])
def test_rounds_are_charged_to_the_unit(budget, samples):
    private = gate(budget=budget)
    rounds = Rounds(step="0.123", samples=samples, size=7)
    play = private.sample_queries(Parities(DOMAIN, np.array([[0, 1]])), rounds)
    for _ in samples:
        play.draw([0])
        assert (
            private._account.spent
            == sum(event.units for event in private.events)
            == rounds.units(budget)
        )
