"""What `Adaptive` learns from one noisy number about all pairs, and when it asks for it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, Domain, Neighbours, PureDP, Workload
from margin.mechanisms.choosing.candidates import Candidates
from margin.mechanisms.choosing.dependence import Learnt, PairDependence
from margin.mechanisms.choosing.strength import Strength
from margin.mechanisms.fitted import (
    COMMON_DOUBT,
    FOREST_TO_PAIRS,
    LEAST_DOUBT,
    SHARED_MOMENTS,
    SINGLES_STRENGTH,
)

MEDIUM = Learnt(strength=Strength.of("medium"), doubt=COMMON_DOUBT)
MANY = Fraction(1)


def binary(count, **more):
    return Domain({f"x{axis:02}": 2 for axis in range(count)}, **more)


class Told:
    """A gate that gives one stated number as the dependence of pairs."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def total_dependence(self, pairs, *, spend):
        self.asked.append((pairs, spend))
        return self.answer


def dependence_of(domain, budget, k=2):
    return PairDependence(domain, Workload.all_kway(domain, k), budget)


def answer_for(domain, strength, rows):
    """The root of the sum of squares of all pairs whose moments have the strength."""
    squares = 0.0
    for pair in itertools.combinations(domain, 2):
        first, second = domain.shape(pair)
        moments = (first - 1) * (second - 1)
        mean_square = strength**2 / (1 + moments / SHARED_MOMENTS)
        # C |t - r c' / n|**2 / n**2 is the sum of the squared moments.
        squares += rows**2 * moments * mean_square / (first * second)
    return math.sqrt(squares)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 9, 40), (5,) * 6], ids=repr)
@pytest.mark.parametrize("strength", [0.003, 0.03, 0.3])
def test_a_number_without_noise_tells_the_strength(sizes, strength):
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    budget = PureDP(10**4)
    told = Told(round(answer_for(domain, strength, 1e7)))
    learnt = dependence_of(domain, budget).ask(told, MEDIUM, 1e7, Fraction(1, 50))
    assert learnt.strength.singles == pytest.approx(strength, rel=0.02)
    factor = learnt.strength.singles / SINGLES_STRENGTH
    assert learnt.strength.pairs == pytest.approx(factor * MEDIUM.strength.pairs)
    assert learnt.strength.triples == pytest.approx(factor * MEDIUM.strength.triples)
    assert learnt.strength.forest == pytest.approx(FOREST_TO_PAIRS * learnt.strength.singles)
    assert learnt.doubt == pytest.approx(LEAST_DOUBT, rel=0.02)
    assert told.asked == [(list(itertools.combinations(domain, 2)), Fraction(1, 50))]


def test_the_model_is_that_of_the_gate():
    """Two equal halves of rows, (0, 0) and (1, 1): the moment of the pair is 1."""
    domain = binary(2)
    told = []

    class Ask:
        def run(self, private, workload):
            told.append(private.total_dependence([list(domain)], spend="1/2"))
            return margin.PriView().run(private, workload)

    codes = np.repeat([[0, 0], [1, 1]], 5_000, axis=0)
    budget = PureDP(10**4)
    margin.simulate(codes, domain=domain, budget=budget, mechanism=Ask(), seed=0)
    (told,) = told
    assert told == round(10_000 / 2)
    wide = SHARED_MOMENTS / (1 + SHARED_MOMENTS)  # one moment is nearly as strong as few
    assert answer_for(domain, 1.0, 10_000) == pytest.approx(told * math.sqrt(wide))


@pytest.mark.parametrize("answer", [-(10**9), -5_000, 0, 5_000, 10**9])
def test_any_number_is_taken(answer):
    """Noise may make the number negative, or larger than any table allows."""
    learnt = dependence_of(binary(6), PureDP("0.01")).ask(Told(answer), MEDIUM, 900, Fraction(1, 9))
    assert 0 < learnt.strength.singles < math.inf
    assert LEAST_DOUBT < learnt.doubt < 2 * COMMON_DOUBT


def test_a_number_that_is_all_noise_tells_nothing():
    """But that strengths above the largest one are not expected."""
    learnt = dependence_of(binary(6), PureDP("1e-6")).ask(Told(0), MEDIUM, 900, Fraction(1, 9))
    assert 0.75 * COMMON_DOUBT < learnt.doubt < math.hypot(COMMON_DOUBT, LEAST_DOUBT)
    assert 0.6 * SINGLES_STRENGTH < learnt.strength.singles < SINGLES_STRENGTH


def test_numbers_that_would_mislead_are_not_asked_for():
    """3,000 rows at epsilon 0.1: the noise is as large as any answer could be."""
    domain = Domain({f"x{place}": size for place, size in enumerate([15, 12, 2, 4, 7, 3, 5, 6])})
    considered = Candidates(domain, Workload.all_kway(domain, 2), PureDP("0.1"))
    asked = dependence_of(domain, PureDP("0.1"))
    assert asked.share(considered, MEDIUM, 3_000, most=MANY) is None


def test_larger_numbers_tell_of_more_structure():
    asked = dependence_of(Domain({"a": 2, "b": 5, "c": 9}), PureDP(1))
    found = [
        asked.ask(Told(answer), MEDIUM, 5_000, Fraction(1, 25)).strength.singles
        for answer in (-100, 0, 50, 100, 500, 1_000, 2_000)
    ]
    assert found == sorted(found)


@pytest.mark.parametrize(
    "budget", [PureDP(1), PureDP(1, neighbours=Neighbours.REPLACE_ROW)], ids=repr
)
def test_a_share_is_named_where_the_answer_decides(budget):
    """Twenty binary attributes: one-way tables, a tree or views of pairs.

    With many more rows views of pairs are the best for any likely structure."""
    domain = binary(20)
    considered = Candidates(domain, Workload.all_kway(domain, 2), budget)
    asked = dependence_of(domain, budget)
    share = asked.share(considered, MEDIUM, 5_000, most=MANY)
    assert share is not None and 0 < share <= Fraction(2, 25)
    assert asked.share(considered, MEDIUM, 10**6, most=MANY) is None


@pytest.mark.parametrize(
    ("domain", "k", "rows"),
    {
        "one attribute": (binary(1), 1, 900),
        "nothing but one-way tables is asked": (binary(9), 1, 900),
        "all in one small table": (binary(4), 2, 1e6),
        "attributes of one category": (Domain({"a": 1, "b": 1, "c": 5}), 2, 900),
    }.values(),
)
def test_no_share_is_named_where_nothing_depends_on_it(domain, k, rows):
    budget = PureDP(1)
    considered = Candidates(domain, Workload.all_kway(domain, k), budget)
    assert dependence_of(domain, budget, k).share(considered, MEDIUM, rows, most=MANY) is None


def test_what_other_steps_need_is_kept():
    domain = binary(20)
    considered = Candidates(domain, Workload.all_kway(domain, 2), PureDP(1))
    asked = dependence_of(domain, PureDP(1))
    assert asked.share(considered, MEDIUM, 5_000, most=Fraction(1, 100)) is None
    assert asked.share(considered, MEDIUM, 5_000, most=Fraction(1, 20)) == Fraction(1, 25)
    mechanism = Adaptive(learn_share=0.6, rounds_share=0.38, count_share=0.01)
    codes = np.random.default_rng(0).integers(0, 2, (5_000, 20))
    spy = Watched(mechanism)
    margin.simulate(codes, domain=domain, budget=PureDP(1), mechanism=spy, seed=0)
    assert sum(event.units for event in spy.events) == 10**12


@pytest.mark.parametrize("count", [60, 200, 20_000])
def test_of_many_pairs_a_fixed_sample_is_compared(count):
    domain = Domain({f"x{axis:05}": 2 for axis in range(count)})
    work = Workload([list(domain)[axis : axis + 10] for axis in range(0, count, 10)])
    asked = PairDependence(domain, work, PureDP(1))
    assert 800 < len(asked.pairs) <= 1_000
    assert len(set(asked.pairs)) == len(asked.pairs)
    assert all(first < second for first, second in asked.pairs)
    assert asked.pairs == PairDependence(domain, work, PureDP(1)).pairs
    # They come from all of the domain.
    assert {pair[0][:3] for pair in asked.pairs} >= {
        name[:3] for name in list(domain)[: count // 2]
    }


@pytest.mark.parametrize("epsilon", ["1e-9", 10**6])
def test_noise_of_any_size_is_taken(epsilon):
    domain = binary(20)
    considered = Candidates(domain, Workload.all_kway(domain, 2), PureDP(epsilon))
    asked = dependence_of(domain, PureDP(epsilon))
    assert asked.share(considered, MEDIUM, 900, most=MANY) is None
    learnt = asked.ask(Told(round(answer_for(domain, 0.2, 1e6))), MEDIUM, 1e6, Fraction(1, 9))
    assert 0 < learnt.strength.singles < 0.5


def test_pairs_of_large_tables_are_left_out():
    domain = Domain({"a": 2, "b": 1 << 13, "c": 1 << 13})
    assert dependence_of(domain, PureDP(1)).pairs == [("a", "b"), ("a", "c")]


def test_only_attributes_that_are_asked_are_compared():
    domain = binary(5)
    work = Workload([["x00", "x01"], ["x03"]])
    pairs = PairDependence(domain, work, PureDP(1)).pairs
    assert pairs == [("x00", "x01"), ("x00", "x03"), ("x01", "x03")]


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.05")], ids=repr)
def test_it_is_asked_once_and_under_pure_privacy_only(budget):
    codes = np.random.default_rng(0).integers(0, 2, (20_000, 20))
    spy = Watched(Adaptive())
    margin.simulate(codes, domain=binary(20), budget=budget, mechanism=spy, seed=0)
    methods = [event.method for event in spy.events]
    assert methods.count("total_dependence") == isinstance(budget, PureDP)
    assert sum(event.units for event in spy.events) == budget.units


def test_independent_attributes_are_measured_one_by_one():
    """The number says that pairs are as good as independent. Without it pairs are measured, too."""
    codes = (np.random.default_rng(0).random((20_000, 40)) < 0.2).astype(int)
    spy = Watched(Adaptive())
    made = margin.simulate(
        codes, domain=binary(40), budget=PureDP(1), mechanism=spy, seed=0
    ).synopsis
    lengths = {len(view) for view in made.held.views}
    assert lengths <= {0, 1}
