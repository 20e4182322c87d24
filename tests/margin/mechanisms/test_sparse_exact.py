"""The exact distribution of a published summary of a sparse table, by enumeration on tiny tables.

The code of the library is run once for each combination of outcomes of its random primitives. In
these runs each primitive is replaced by a choice among its outcomes with their exact probabilities,
as fractions. Other tests show that each primitive has these probabilities. So the distribution of
the result is known without any sampling error. It is compared with the definition: noise on every
cell, a priority for every cell, and then a rule.
"""

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction as F
from functools import cache
from math import comb, prod

import numpy as np
import pytest
from held import Scattered, held
from hypothesis import given
from hypothesis import strategies as st

import margin
from margin import Domain, PureDP
from margin.data.source import CodesSource
from margin.mechanisms import FilterPriority, PrioritySample
from margin.noise import kept_cells as summaries
from margin.noise import laws
from margin.noise import priorities as ranks
from margin.noise.entropy import SeededEntropy
from margin.noise.kept_cells import Entering, Keep, More
from margin.noise.priorities import code_of, grid_point, priorities
from margin.private import Private, sparse_noise
from margin.private.sparse_noise import Largest, kept_cells, largest_cells
from margin.sparse.axes import Leaves, Tree, nested
from margin.sparse.grid import Grid

RATIO = F(1, 3)  # exp(-epsilon): noise x has a probability proportional to RATIO**|x|


# The definition


@cache
def noise_law(clamp):
    """Discrete Laplace noise clamped to +-clamp: a probability for each value."""
    inside = {x: (1 - RATIO) / (1 + RATIO) * RATIO ** abs(x) for x in range(1 - clamp, clamp)}
    return {**inside, clamp: RATIO**clamp / (1 + RATIO), -clamp: RATIO**clamp / (1 + RATIO)}


@cache
def noisy_law(clamp, count):
    """A count and noise, clamped; from noise on a range so wide that it makes no difference."""
    law = Counter()
    for x, p in noise_law(10).items():
        law[max(-clamp, min(clamp, count + x))] += p
    return dict(law)


@cache
def priority_law(points, size):
    """P(priority >= t) = min(1, size / t) for each point t."""
    reach = [min(F(1), F(size, t)) for t in points] + [F(0)]
    return {t: reach[i] - reach[i + 1] for i, t in enumerate(points) if reach[i] > reach[i + 1]}


@cache
def entering(clamp, keep):
    """P(v, and it is kept) for an empty cell."""
    return {
        v: p * min(F(1), F(abs(v), keep.tau))
        for v, p in noisy_law(clamp, 0).items()
        if (abs(v) if keep.two_sided else v) >= keep.theta
    }


@cache
def binomial_law(trials, p):
    return {k: comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}


@dataclass(frozen=True)
class World:
    """Noisy counts are clamped to +-clamp; priorities are rounded down to `points`."""

    clamp: int
    points: tuple[int, ...]

    def noisy_law(self, count):
        return noisy_law(self.clamp, count)

    def priority_law(self, size, least=1):
        """Of the priorities that are at least `least`."""
        return priority_law(self.points, max(size, least))

    def cell_law(self, count, theta):
        """Pairs of a noisy count and its priority; the priority is zero below theta."""
        law = {}
        for v, p in self.noisy_law(count).items():
            for t, q in self.priority_law(abs(v)).items() if abs(v) >= theta else ((0, F(1)),):
                law[v, t] = p * q
        return law

    def published(self, cells, size, inner=lambda passing: passing):
        """What is published of (noisy count, priority) of all cells: the kept ones, and the cut."""
        passing = inner([place for place, (_, t) in enumerate(cells) if t])
        if len(passing) <= size:
            return tuple((place, cells[place][0]) for place in passing), 0
        points = [*self.points, 2 * self.points[-1]]
        cut = min(t for t in points if sum(cells[p][1] >= t for p in passing) <= size)
        return tuple((place, cells[place][0]) for place in passing if cells[place][1] >= cut), cut

    def defined(self, counts, rule, inner=lambda passing: passing):
        """The law of the published cells, one by one."""
        law = Counter()
        for cells, probability in products([self.cell_law(count, rule.theta) for count in counts]):
            law[
                self.published(
                    cells,
                    rule.size,
                    inner,
                )
            ] += probability
        return law

    def entering(self, keep):
        return entering(self.clamp, keep)


def products(laws):
    """The outcomes of independent draws, and their probabilities."""
    for drawn in itertools.product(*(law.items() for law in laws)):
        yield tuple(value for value, _ in drawn), prod((p for _, p in drawn), start=F(1))


SMALL = World(1, (1, 2))
WIDE = World(2, (1, 2, 4))


# Running the code once for each way in which its primitives may come out


class Ways:
    """Walks through all sequences of choices."""

    def __init__(self):
        self.path, self.depth, self.probability = [], 0, F(1)

    def choose(self, law):
        """One outcome of a law; the next time another."""
        outcomes = [(value, p) for value, p in law.items() if p]
        if self.depth == len(self.path):
            self.path.append([0, len(outcomes)])
        value, p = outcomes[self.path[self.depth][0]]
        self.depth += 1
        self.probability *= p
        return value

    def law_of(self, run):
        """The law of what `run` returns."""
        outer = self.path, self.depth, self.probability
        self.path, law = [], Counter()
        while True:
            self.depth, self.probability = 0, F(1)
            result = run()
            law[result] += self.probability
            while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
                self.path.pop()
            if not self.path:
                break
            self.path[-1][0] += 1
        self.path, self.depth, self.probability = outer
        return law


class Noise:
    """Clamped where the samplers are: at twice what their sums are."""

    scale = F(9, 10)

    def __init__(self, ways, world):
        self.ways, self.world = ways, world

    def sample(self, count, entropy):
        return np.array(
            [self.ways.choose(noise_law(2 * self.world.clamp)) for _ in range(count)],
            np.int64,
        )


def primitives(monkeypatch, world):
    """The primitives as choices."""
    ways = Ways()

    def binomial(trials, law, entropy):
        p = sum(world.entering(law.keep).values())
        if isinstance(law, More):
            before = sum(world.entering(law.before).values())
            p = (p - before) / (1 - before)
        return ways.choose(binomial_law(trials, p))

    def ranked(sizes, entropy, *, least=1):
        return np.array(
            [code_of(ways.choose(world.priority_law(size, least))) for size in sizes.tolist()],
            np.int64,
        )

    def sample(self, count, entropy):
        law = world.entering(self.keep)
        return np.array([ways.choose(conditional(law)) for _ in range(count)], np.int64)

    def uniform(bound, count, entropy):
        return np.array(
            [ways.choose({u: F(1, bound) for u in range(bound)}) for _ in range(count)],
            np.int64,
        )

    def first(count, propose):
        """What is accepted of one trial, as a law; and as many draws from it."""
        trial = ways.law_of(lambda: tuple(map(tuple, propose(1).tolist())))
        accepted = conditional({drawn[0]: p for drawn, p in trial.items() if drawn})
        return np.array([ways.choose(accepted) for _ in range(count)], np.int64)

    def empty_cells(grid, true, number, entropy, before=None):
        taken = {int(word) for words, _ in true.blocks() for word in words[:, 0]}
        taken |= set() if before is None else set(before[:, 0].tolist())
        free = [place for place in range(grid.cells) if place not in taken]
        choices = list(itertools.combinations(free, number))
        chosen = ways.choose({choice: F(1, len(choices)) for choice in choices})
        return np.array(chosen, np.int64).reshape(-1, 1)

    monkeypatch.setattr(laws, "LARGEST_SUM", world.clamp)
    monkeypatch.setattr(laws, "_CLAMP", 2 * world.clamp)
    monkeypatch.setattr(ranks, "_DIGITS", 1)
    monkeypatch.setattr(sparse_noise, "_LEVEL_DIGITS", 1)
    monkeypatch.setattr(sparse_noise, "binomial", binomial)
    monkeypatch.setattr(sparse_noise, "empty_cells", empty_cells)
    monkeypatch.setattr(Entering, "sample", sample)
    monkeypatch.setattr(summaries, "uniform", uniform)
    monkeypatch.setattr(summaries, "_first", first)
    for module in (summaries, sparse_noise):
        monkeypatch.setattr(module, "priorities", ranked)
    return ways


def conditional(law):
    total = sum(law.values())
    return {value: p / total for value, p in law.items()}


def enumerated(
    monkeypatch,
    world,
    counts,
    rule,
    *,
    held_as=lambda cells: cells,
    axes=None,
):
    """The law of what the library publishes of a table."""
    ways = primitives(monkeypatch, world)
    grid = Grid(axes or (Leaves(len(counts)),))
    places = np.flatnonzero(counts)
    true = held_as(held(places.reshape(-1, 1), np.array(counts)[places]))
    draw = largest_cells if isinstance(rule, Largest) else kept_cells

    def run():
        kept = draw(grid, Noise(ways, world), true, rule, None)
        return tuple(
            zip(
                kept.words[:, 0].tolist(),
                kept.counts.tolist(),
                strict=True,
            )
        ), int(kept.cut)

    return ways.law_of(run)


def close(none, one):
    """Whether the same may come out of both, with probabilities whose ratio is at most
    exp(epsilon)."""
    return set(none) == set(one) and all(RATIO <= none[out] / one[out] <= 1 / RATIO for out in none)


# The comparison


@pytest.mark.parametrize(
    ("world", "tables", "rule", "starts"),
    [
        (WIDE, [(0, 0), (1, 0)], Largest(1), [1, 2, 4]),
        (WIDE, [(0, 0), (0, 1)], Largest(1, 2), [2, 4]),
        (SMALL, [(0, 0, 0), (1, 0, 0)], Largest(1), [1, 2]),
        (SMALL, [(0, 1, 1), (0, 1, 0)], Largest(2), [1, 2]),
    ],
    ids=repr,
)
def test_what_is_published_has_the_law_of_its_definition(
    world,
    tables,
    rule,
    starts,
    monkeypatch,
):
    """For each level at which the sample may start, and all halvings after it: equal fractions.

    And privacy itself: a row more or less changes no probability of any output by more than a
    factor of exp(epsilon), outputs being the kept cells, their counts and the cut.
    """
    laws = [world.defined(counts, rule) for counts in tables]
    for start in starts:
        monkeypatch.setattr(
            sparse_noise,
            "_start",
            lambda *_, level=start: Keep(
                rule.theta,
                level,
                True,
            ),
        )
        found = [
            enumerated(
                monkeypatch,
                world,
                counts,
                rule,
            )
            for counts in tables
        ]
        assert sum(found[0].values()) == sum(found[1].values()) == 1
        assert found == laws
        assert close(*found)


RULES = [
    Keep(
        1,
        1,
        True,
    ),
    Keep(2, 2, False),
    Keep(1, 4, True),
    Keep(1, 3, False),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_filters_and_threshold_samples_have_the_law_of_their_definition(
    rule,
    monkeypatch,
):
    found = []
    for counts in ((0, 0), (1, 0)):
        expected = Counter()
        options = []
        for count in counts:
            law, whole = {}, WIDE.noisy_law(0)
            for v, p in WIDE.noisy_law(count).items():
                share = WIDE.entering(rule).get(v, F(0)) / whole[v]
                law[v] = p * share
                law[None] = law.get(None, F(0)) + p * (1 - share)
            options.append({v: p for v, p in law.items() if p})
        for values, probability in products(options):
            expected[tuple((place, v) for place, v in enumerate(values) if v is not None), 0] += (
                probability
            )
        found.append(enumerated(monkeypatch, WIDE, counts, rule))
        assert found[-1] == expected
    assert close(*found)


@pytest.mark.parametrize("counts", [(1, 1, 0), (1, 1, 1)], ids=str)
def test_cells_that_come_block_by_block_have_the_law_of_their_definition(
    counts,
    monkeypatch,
):
    """There is room for one: what the second and the third bring in drops what cannot be kept."""
    monkeypatch.setattr(sparse_noise, "_AT_ONCE", -1)
    rule = Largest(1)

    class OneByOne(Scattered):
        def blocks(self):
            yield from (
                (self.cells.words[[place]], self.cells.counts[[place]])
                for place in range(self.number)
            )

    monkeypatch.setattr(
        sparse_noise,
        "_start",
        lambda *_: Keep(1, 2, True),
    )
    assert enumerated(monkeypatch, SMALL, counts, rule, held_as=OneByOne) == SMALL.defined(
        counts,
        rule,
    )


def test_nested_filters_and_samples_have_the_law_of_their_definition(monkeypatch):
    """A tree over two codes: the total, and each half, which is dropped when the total did not
    pass."""
    axes = (Tree(2),)
    codes = np.arange(axes[0].nodes)[:, None]

    def inner(passing):
        return [
            place
            for place, stays in zip(passing, nested(axes, codes[passing]), strict=True)
            if stays
        ]

    rule = Largest(1, 1, nested=True)
    for counts in ((0, 0, 0), (1, 0, 1)):
        assert enumerated(monkeypatch, SMALL, counts, rule, axes=axes) == SMALL.defined(
            counts,
            rule,
            inner,
        )


def test_sums_are_unbiased_exactly():
    """E[max(|v|, cut); kept] = |v|, but for a cut beyond the last point, which stands for 2**1000.

    Given all noisy counts, for each cell; the cut is beyond when `size` others reach the last
    point.
    """
    size, last = 1, WIDE.points[-1]
    for values in itertools.product([1, 2], repeat=3):
        for cell, v in enumerate(values):
            total, beyond = F(0), F(0)
            for drawn, probability in products([WIDE.priority_law(value) for value in values]):
                kept, cut = WIDE.published(
                    list(
                        zip(
                            values,
                            drawn,
                            strict=True,
                        )
                    ),
                    size,
                )
                total += probability * sum(
                    max(value, cut) for place, value in kept if place == cell
                )
                beyond += probability * (
                    sum(t == last for p, t in enumerate(drawn) if p != cell) >= size
                )
            assert total == v * (1 - beyond)


# The primitive of its own: priorities on the grid


def floor_to_grid(quotient, digits=20):
    """A fraction >= 1, rounded down to `digits` binary digits."""
    power = quotient.numerator.bit_length() - quotient.denominator.bit_length()
    power -= F(2) ** power > quotient
    unit = F(2) ** (power - digits + 1)
    return quotient // unit * unit


class Words:
    """Given words, then zeros."""

    private = False

    def __init__(self, first, rest):
        self.first, self.rest, self.taken = first, list(rest), [first]

    def take(self, n):
        if self.first is not None:
            first, self.first = self.first, None
            return first.to_bytes(8, "little")
        self.taken.append(self.rest.pop(0) if self.rest else 1 << 63)
        return self.taken[-1].to_bytes(n, "big")


def checked(size, least, word, rest=()):
    """The code of one priority; every U with the digits that were drawn must have the same code."""
    entropy = Words(word, rest)
    code = int(priorities(np.array([size]), entropy, least=least)[0])
    known = 0
    for part in entropy.taken:
        known = known << 64 | part
    whole = 1 << 64 * len(entropy.taken)
    top = F(2) ** 1000
    for rank in (
        F(2 * known + 1, 2 * whole),
        F(known * 2**80 + 1, whole * 2**80),
        F((known + 1) * 2**80 - 1, whole * 2**80),
    ):
        assert F(grid_point(code)) == min(top, floor_to_grid(F(max(size, least)) / rank))
    return len(entropy.taken)


SIZES = st.one_of(
    st.integers(1, 40),
    st.integers(1, 2**61),
    st.sampled_from([2**20, 2**20 + 1, 2**53 + 1, 2**61]),
)
LEVELS = st.one_of(
    st.just(1),
    st.integers(1, 31),
    st.builds(
        lambda a, b: a << b,
        st.integers(16, 31),
        st.integers(0, 119),
    ),
)


@given(
    SIZES,
    LEVELS,
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=3),
)
def test_a_priority_is_the_point_below_the_quotient(
    size,
    least,
    word,
    rest,
):
    checked(size, least, word, rest)


@given(
    SIZES,
    LEVELS,
    st.integers(0, 60),
    st.integers(2**19, 2**20 - 1),
    st.integers(-3, 3),
    st.data(),
)
def test_a_quotient_next_to_a_point_of_the_grid_is_settled_by_whole_numbers(
    size,
    least,
    octaves,
    place,
    apart,
    data,
):
    """U just below, at and just above where the priority is a point; also when more words are
    needed."""
    numerator = max(size, least)
    point = floor_to_grid(F(numerator) * 2**octaves * F(place, 2**19))
    edge = F(numerator) / point
    word = edge * 2**64 // 1
    if not 0 <= word + apart < 2**64:
        return
    rest = int((edge * 2**64 - word) * 2**64 // 1)
    following = data.draw(
        st.sampled_from([[rest], [max(0, rest - 1)], [min(2**64 - 1, rest + 1)], [0, 0], []])
    )
    checked(size, least, int(word) + apart, following)


@pytest.mark.parametrize("words", [0, 1, 3, 15, 16])
def test_the_least_ranks_end_at_the_last_point(words):
    """Words of zeros: the priority is known as soon as it is above the last point."""
    assert checked(3, 1, 0, [0] * words + [77]) == min(words + 3, 16)


def test_codes_number_the_points_in_order():
    points = [
        *range(1, 1 << 12),
        *(n << 40 for n in range(1 << 19, (1 << 19) + 99)),
        (1 << 61) - 1,
        1 << 1000,
    ]
    codes = [code_of(point) for point in points]
    assert all(
        floor_to_grid(F(p)) == F(grid_point(code))
        for p, code in zip(
            points,
            codes,
            strict=True,
        )
    )
    assert codes == sorted(codes) and grid_point(code_of(1) + 1) == 1 + 2.0**-19
    assert grid_point(code_of(1 << 1000) + 1) == 2.0**1000 * (1 + 2.0**-19)


def test_priorities_given_a_level_are_those_of_all_that_reach_it():
    """Two ways to one law: priorities until they reach the level, or given that they do."""
    entropy, level, size, number = SeededEntropy(3), 24, 5, 400_000
    every = priorities(np.full(number, size), entropy)
    reaching = every[every >= code_of(level)]
    given_it = priorities(
        np.full(reaching.size, size),
        entropy,
        least=level,
    )
    assert abs(reaching.size / number - size / level) < 6 * (size / level / number) ** 0.5
    for octave in range(1, 8):
        ours, theirs = (
            (codes >= code_of(level << octave)).mean() for codes in (given_it, reaching)
        )
        share = 2.0**-octave
        assert abs(ours - share) < 6 * (share / reaching.size) ** 0.5
        assert abs(theirs - share) < 6 * (share / reaching.size) ** 0.5


# The laws that a level brings, and what is public


def test_what_a_halved_level_adds_lies_between_the_levels():
    """From `More`: priorities that reach the lower level, and are below the higher one."""
    law = More(F(3), Keep(1, 8, True), Keep(1, 16, True))
    values, codes = law.with_priorities(5000, SeededEntropy(1))
    assert values.size == codes.size == 5000
    assert codes.min() >= code_of(8) and codes.max() < code_of(16)
    assert np.abs(values).max() > 8
    assert [part.size for part in law.with_priorities(0, SeededEntropy(1))] == [0, 0]


@pytest.mark.parametrize(
    "mechanism",
    [PrioritySample(size=20), FilterPriority(size=20, theta=2)],
    ids=repr,
)
def test_the_published_cut_is_a_point_of_the_grid(mechanism):
    domain = Domain({"a": 5000})
    for rows in (0, 1, 300):
        data = np.arange(rows)[:, None] * 7
        tau = margin.release(
            data,
            domain=domain,
            budget=PureDP("1/2"),
            mechanism=mechanism,
        ).tau
        assert tau > 0 and F(tau) == floor_to_grid(F(tau))


def test_the_rule_is_told_public_things_only():
    """A function that chooses the rule gets the number of cells and the noise, not the rows."""
    told = []

    def rule(cells, noise):
        told.append((cells, noise))
        return Keep(3, 3, True)

    for rows in (
        [],
        [[0, 0]],
        [[2, 1], [2, 1], [0, 3]],
        [[a, b] for a in range(3) for b in range(4)],
    ):
        codes = np.array(rows, np.int64).reshape(-1, 2)
        private = Private(
            CodesSource(codes),
            domain=Domain({"a": 3, "b": 4}),
            budget=PureDP(1),
            entropy=SeededEntropy(1),
        )
        private.sparse_cells(["a", "b"], keep=rule)
    assert len(told) == 4 and len(set(told)) == 1 and told[0][0] == 12
