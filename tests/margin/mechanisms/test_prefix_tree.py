"""`PrefixTree` and `Private.sparse_cells(within=)`: sequences, prefix by prefix."""

import math

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP
from margin.data.source import CodesSource
from margin.mechanisms import PrefixTree
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import Neighbours
from margin.private import Keep, Private
from margin.sparse.axes import Leaves
from margin.testing import check_mechanism

STEPS = Domain({name: ["x", "y", "end"] for name in ("first", "second", "third")})
END = 2


def sequences(rows=4000, steps=4, places=5, seed=0):
    """Sequences from a Markov chain, and their domain."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(places, 0.4), places).cumsum(axis=1)
    codes = np.full((rows, steps), places)
    now = rng.integers(0, places, rows)
    going = np.ones(rows, bool)
    for step in range(steps):
        codes[going, step] = now[going]
        going &= rng.random(rows) < 0.7
        now = np.minimum((rng.random(rows)[:, None] > moves[now]).sum(axis=1), places - 1)
    labels = [*map(str, range(places)), "end"]
    return codes, Domain({f"step{number}": labels for number in range(steps)})


def released(codes, domain, mechanism, budget=PureDP(1), seed=1):
    simulated = margin.simulate(codes, domain=domain, budget=budget, mechanism=mechanism, seed=seed)
    return simulated.synopsis


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [PrefixTree(), PrefixTree(theta=2, consistent=False)])
def test_it_keeps_the_contract(mechanism):
    budgets = [
        PureDP(3),
        ZCDP("0.5", rows_per_person=2),
        ApproxDP(2, "1e-6"),
        PureDP(6, neighbours=Neighbours.REPLACE_ROW),
    ]
    check_mechanism(mechanism, domain=STEPS, budgets=budgets, pairs=20)


def test_with_next_to_no_noise_the_sequences_come_back():
    codes, domain = sequences()
    synopsis = released(codes, domain, PrefixTree(), PureDP(400))
    kept, values, _ = synopsis.cells()
    rows, counts = np.unique(codes, axis=0, return_counts=True)
    assert kept.tolist() == rows.tolist() and values.tolist() == counts.tolist()


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "4"])
def test_counts_are_not_negative_and_ends_are_final(epsilon, consistent):
    codes, domain = sequences()
    mechanism = PrefixTree(consistent=consistent)
    synopsis = released(codes, domain, mechanism, PureDP(epsilon))
    kept, _, weights = synopsis.cells()
    assert (weights > 0).all()
    over = kept == domain.sizes[0] - 1
    assert (over[:, 1:] >= over[:, :-1]).all()
    assert abs(weights.sum() - len(codes)) < 80 / float(epsilon)


def test_least_squares_lowers_the_error_of_prefixes():
    codes, domain = sequences(rows=5000)
    errors = {True: 0.0, False: 0.0}
    for seed in range(5):
        for consistent in errors:
            synopsis = released(codes, domain, PrefixTree(consistent=consistent), seed=seed)
            kept, _, weights = synopsis.cells()
            for depth in (1, 2, 3):
                for prefix in np.unique(codes[:, :depth], axis=0):
                    truth = (codes[:, :depth] == prefix).all(axis=1).sum()
                    answer = weights[(kept[:, :depth] == prefix).all(axis=1)].sum()
                    errors[consistent] += (answer - truth) ** 2
    assert errors[True] < 0.95 * errors[False]


def test_the_file_comes_back(tmp_path):
    codes, domain = sequences()
    synopsis = margin.release(codes, domain=domain, budget=PureDP(1), mechanism=PrefixTree())
    answer = synopsis.sum({"step0": ["1"]})
    assert math.isnan(answer.standard_error)
    synopsis.save(tmp_path / "tree.margin")
    again = margin.load(tmp_path / "tree.margin")
    assert again.cells()[0].tolist() == synopsis.cells()[0].tolist()
    assert float(again.sum({"step0": ["1"]})) == float(answer)


def test_a_domain_without_an_end_is_refused_before_anything_is_spent():
    with pytest.raises(DomainError, match="'b' does not declare the category 'end'"):
        released(np.zeros((3, 2), int), Domain({"a": 2, "b": 2}), PrefixTree())
    with pytest.raises(BudgetError, match="theta"):
        PrefixTree(theta=0)


def test_nobody_there():
    synopsis = released(np.empty((0, 3), int), STEPS, PrefixTree(theta=300))
    assert len(synopsis.cells()[0]) == 0 and float(synopsis.sum({"first": ["x"]})) == 0


# The cells below prefixes


def gate(codes, domain, budget, seed):
    source = CodesSource(np.array(codes, np.int64).reshape(-1, len(domain)))
    return Private(source, domain=domain, budget=budget, entropy=SeededEntropy(seed))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [Keep(2, 2, False), Keep(1, 4, True)], ids=str)
def test_cells_below_prefixes_have_the_law_of_these_cells(rule):
    """Means over n runs of numbers in [0, 1] differ from their expectation by sqrt(L / (2 n)) or
    more with probability 2 exp(-L) at most (Hoeffding); L = 20 for fewer than 100 means."""
    domain = Domain({"a": 2, "b": 3, "c": 2})
    codes = [[0, 1, 0]] * 3 + [[0, 2, 1]] + [[1, 1, 1]] * 5 + [[1, 0, 0]] * 2
    within = [[1, 1], [0, 2], [0, 0]]
    runs = 800
    reach = 9
    share = np.zeros((2, 2, 3, 2, reach + 1))
    for seed in range(runs):
        for place, asked in enumerate((within, None)):
            found = gate(codes, domain, PureDP(1), seed + place * runs).sparse_cells(
                ["a", "b", "c"], keep=rule, within=asked
            )
            assert all(isinstance(axis, Leaves) for axis in found.axes)
            assert found.codes.tolist() == sorted(found.codes.tolist())
            sizes = np.minimum(np.abs(found.counts), reach)
            share[(place, *found.codes.T, sizes)] += 1 / runs
    inside = np.zeros((2, 3), bool)
    inside[tuple(np.array(within).T)] = True
    assert not share[0][~inside].any()
    assert share[1][~inside].any()
    gap = 2 * math.sqrt(20 / (2 * runs))
    assert np.abs(share[0][inside] - share[1][inside]).max() < gap


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[]],
        [0, 1],
        [[0, 0, 0]],
        [[2, 0]],
        [[-1, 0]],
        [[0, 1], [0, 1]],
        [[0.0, 1.0]],
        [["0", "1"]],
        [[2**40, 0]],
    ],
    ids=str,
)
def test_bad_prefixes_are_refused_before_anything_is_charged(bad):
    private = gate([[0, 0, 0]], Domain({"a": 2, "b": 3, "c": 2}), PureDP(1), 1)
    with pytest.raises(DomainError, match="within must hold"):
        private.sparse_cells(["a", "b", "c"], keep=Keep(1, 1, True), within=bad)
    assert not private.events


def test_prefixes_and_axes_do_not_go_together():
    private = gate([[0, 0]], Domain({"a": 2, "b": 2}), PureDP(1), 1)
    axes = [Leaves(2), Leaves(2)]
    with pytest.raises(DomainError, match="either axes or within"):
        private.sparse_cells(["a", "b"], keep=Keep(1, 1, True), axes=axes, within=[[0]])


def test_prefixes_of_a_table_of_many_words():
    """Cells that need several words each."""
    domain = Domain({f"s{number}": {"size": 10**6} for number in range(8)})
    codes = np.tile(np.arange(8) * 100_000 + 7, (300, 1))
    prefix = codes[:1, :5]
    found = gate(codes, domain, PureDP(1), 1).sparse_cells(
        domain.attributes, keep=Keep(200, 200, False), within=prefix
    )
    assert found.codes.tolist() == codes[:1].tolist()
    assert abs(int(found.counts[0]) - 300) < 60
