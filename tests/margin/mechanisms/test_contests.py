"""Choices among views: what competes, what goes to the gate, and what is chosen."""

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin import ZCDP, Domain, PureDP, Workload
from margin.mechanisms.choosing.contests import (
    CONTESTANTS,
    break_evens,
    choose_in_turn,
    comparable,
    contestants,
    l2_share,
    luck,
    mean_noise,
    penalty,
)
from margin.mechanisms.choosing.tree import _Forest
from margin.noise.entropy import SeededEntropy
from margin.private.choose import LARGEST_PENALTY
from margin.private.counts import LARGEST_ANSWERS


class Distances(list):
    """A contest: the distances of its views."""

    def only(self, places):
        return [self[place] for place in places]


class Best:
    """A gate that always chooses a candidate of the largest score."""

    budget = PureDP(100)

    def __init__(self, distances):
        self.distances, self.calls = distances, []

    def contest(self, views, public):
        pairs = zip(views, public, strict=True)
        return Distances([abs(self.distances[view] - answer) for view, answer in pairs])

    def select(self, distances, *, weights, penalties, spend):
        self.calls.append(spend)
        return (int(np.argmax(np.multiply(weights, np.subtract(distances, penalties)))),)


class Families:
    """The rule that some views are refused, and that at most one view of a family is chosen."""

    def __init__(self, refused, families):
        self.refused, self.families, self.taken = refused, families, set()

    def take(self, view):
        if view in self.refused:
            return False
        self.taken.add(view % self.families)
        return True

    def allows(self, view):
        return view % self.families not in self.taken


@given(
    st.lists(st.tuples(*[st.integers(0, 20)] * 4), min_size=1, max_size=9),
    st.sets(st.integers(0, 8)),
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
)
def test_views_are_chosen_by_distance_less_penalty_until_none_is_worth_it(
    cases, refused, families, most, by_luck
):
    distances, answers, least, noise = zip(*cases, strict=True)
    gate = Best(distances)
    views = range(len(cases))
    chosen, choices = choose_in_turn(
        gate,
        views,
        answers,
        least,
        noise,
        rule=Families(refused, families),
        most=most,
        each=Fraction(1, 50),
        by_luck=by_luck,
    )
    # The same by brute force.
    scores = {view: abs(case[0] - case[1]) - case[2] - case[3] for view, case in enumerate(cases)}
    expected, made = [], 0
    while scores and made < most:
        made += 1
        best = max(scores, key=scores.__getitem__)
        lucky = luck(gate.budget, Fraction(1, 50), [least[view] for view in scores])
        if scores.pop(best) < (0 if by_luck else lucky):
            break
        if best not in refused:
            expected.append(best)
            for view in list(scores):
                if view % families == best % families:
                    del scores[view]
    assert chosen == expected
    # The choice that ends them is paid for, too.
    assert choices == made and gate.calls == [Fraction(1, 50)] * made


@given(st.lists(st.integers(10, 10**6), min_size=15, max_size=15, unique=True), st.integers(2, 6))
def test_a_forest_is_the_maximum_spanning_tree(weights, count):
    pairs = list(itertools.combinations(range(count), 2))
    strengths = dict(zip(pairs, weights, strict=False))
    chosen, _ = choose_in_turn(
        Best(strengths),
        pairs,
        [0] * len(pairs),
        [0] * len(pairs),
        [0] * len(pairs),
        rule=_Forest(range(count)),
        most=count - 1,
        each=Fraction(1, 50),
        by_luck=False,
    )
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in strengths.items())
    tree = nx.maximum_spanning_tree(graph)
    assert {frozenset(pair) for pair in chosen} == {frozenset(edge) for edge in tree.edges}


def test_contestants_are_small_parts_of_views_that_are_not_known():
    sizes = {"a": 2, "b": 3, "c": 1, "d": 50, "e": 4}
    domain = Domain(sizes, known={("b", "e"): np.full((3, 4), 1)})
    workload = Workload([["e", "a", "b"], ["c", "a", "d"], ["d", "b"], ["b", "d", "a"]])
    found = contestants(domain, workload, 60, 100.0, (2, 3))
    expected = set()
    for view in workload.views:
        for length in (2, 3):
            for names in itertools.combinations(sorted(set(view) - {"c"}), length):
                known = set(names) <= {"b", "e"}
                if np.prod([sizes[name] for name in names]) <= 60 and not known:
                    expected.add(names)
    assert expected and len(found) == len(expected) and set(found) == expected


@pytest.mark.parametrize("rows", [1.0, 1e8, 5e8, 1e10, 1e12])
def test_so_many_contestants_as_their_answers_may_add_up_to(rows):
    domain = Domain({f"x{place}": 2 for place in range(80)})
    found = contestants(domain, Workload.all_kway(domain, 2), 4, rows, (2,))
    assert len(found) <= CONTESTANTS
    assert 2 * rows * len(found) <= LARGEST_ANSWERS
    assert len(set(found)) == len(found)
    assert bool(found) == (2 * rows <= LARGEST_ANSWERS)


@given(st.lists(st.lists(st.floats(0, 1e12), min_size=1, max_size=4), min_size=1, max_size=4))
def test_public_answers_are_scaled_down_together_if_the_gate_would_refuse_them(tables):
    answers = [np.array(table) for table in tables]
    found = comparable(answers)
    size = sum(answer.sum() for answer in answers)
    assert sum(answer.sum() for answer in found) <= LARGEST_ANSWERS / 2 * (1 + 1e-9)
    factor = min(1.0, LARGEST_ANSWERS / (2 * size + 1))
    for answer, one in zip(answers, found, strict=True):
        assert one == pytest.approx(answer * factor)


@pytest.mark.parametrize("budget", [PureDP("0.3"), ZCDP("0.02")], ids=repr)
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1)], ids=str)
def test_the_mean_noise_is_that_of_a_measured_count(budget, share):
    """It is computed for normal noise; Laplace noise has 11 % less."""
    drawn = budget.count_noise(int(budget.units * share)).sample(40_000, SeededEntropy(1))
    assert mean_noise(budget, share) == pytest.approx(np.abs(drawn).mean(), rel=0.16)


@pytest.mark.parametrize("budget", [PureDP("0.5"), ZCDP("0.01")], ids=repr)
@given(
    least=st.lists(st.integers(0, 1_000), min_size=1, max_size=40),
    part=st.integers(1, 100),
)
def test_by_luck_all_views_without_a_gain_win_as_often_as_one_view_of_that_score(
    budget, least, part
):
    """The exponential mechanism by hand: weights exp(r s)."""
    each = Fraction(1, part)
    rate = float(budget.selection(int(budget.units * each), spread=2).rate)
    found = luck(budget, each, least)
    weight = 1 + sum(math.exp(-rate * distance) for distance in least)
    # The result is rounded up to a whole number.
    assert 0 <= found - math.log(weight) / rate < 1 + 1e-6
    # The probability that the choice ends, if no answer is wrong, is at least a half.
    scores = [-distance - found for distance in least]
    assert 1 / (1 + sum(math.exp(rate * score) for score in scores)) >= 0.5 - 1e-9


def test_penalties_are_at_most_what_the_gate_takes():
    assert penalty(2.5, 3) == 8
    assert penalty(1e12, 16_384) == LARGEST_PENALTY


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=30))
def test_the_ratio_of_distances_is_that_of_errors_that_grow_with_the_counts(counts):
    answer = np.array(counts)
    errors = answer**0.75
    expected = np.linalg.norm(errors) / np.abs(errors).sum()
    assert l2_share(answer) == pytest.approx(expected)


@given(
    st.floats(1e-3, 1e3),
    st.lists(st.lists(st.floats(0, 1e5), min_size=1, max_size=9), max_size=6),
)
def test_many_answers_at_once_break_even_as_each_by_itself(noise, tables):
    answers = [np.array(table) for table in tables]
    assert break_evens(noise, answers) == [break_evens(noise, [one])[0] for one in answers]
