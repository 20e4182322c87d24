"""Frequent sets of items (`PrivBasis`, `DiffPart`) and count sketches."""

import itertools

import numpy as np
import pytest
import scipy.sparse

import margin
from margin import ZCDP, Domain, DomainError, Neighbours, PureDP
from margin.data.opening import open_source
from margin.mechanisms import CountSketch, DiffPart, PrivBasis
from margin.noise.entropy import SeededEntropy
from margin.private import Private
from margin.sparse.hashing import buckets
from margin.testing import check_mechanism

SIX = Domain(dict.fromkeys("abcdef", 2))
EXACT = PureDP(10**5)


def table(rows=4000, items=16, seed=1):
    """Sets in which some items come together."""
    rng = np.random.default_rng(seed)
    held = rng.random((rows, items)) < 0.6 / np.arange(1, items + 1)
    held[:, 5] |= held[:, 3] & (rng.random(rows) < 0.9)
    return held


def support(held, items):
    return int(held[:, list(items)].all(axis=1).sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [PrivBasis(k=4), PrivBasis(k=9, items=4), DiffPart(fanout=2, threshold=1.0)],
    ids=repr,
)
def test_the_contract_of_mechanisms(mechanism, tmp_path):
    budgets = (
        PureDP(1),
        ZCDP("0.5", rows_per_person=2),
        PureDP(1, neighbours=Neighbours.REPLACE_ROW),
    )
    check_mechanism(mechanism, domain=SIX, budgets=budgets, pairs=12)
    for held in (table(60, 6), np.zeros((0, 6), bool)):
        synopsis = margin.release(
            held.astype(int),
            domain=SIX,
            budget=PureDP(1),
            mechanism=mechanism,
        )
        synopsis.save(tmp_path / "out.margin")
        again = margin.load(tmp_path / "out.margin")
        assert again.itemsets == synopsis.itemsets and (again.counts == synopsis.counts).all()
        (tmp_path / "out.margin").unlink()
        with pytest.raises(DomainError, match="this synopsis holds itemsets, which are not cells"):
            synopsis.marginal(["item"])


@pytest.mark.parametrize(("k", "items"), [(20, 7), (40, 14)])
def test_basis_finds_the_most_frequent_sets(k, items):
    """Without noise: all that are made of the chosen items and of one basis; counts are exact."""
    held = table()
    data = scipy.sparse.csr_matrix(held.astype(np.int8))
    mechanism = PrivBasis(k=k, items=items)
    synopsis = margin.simulate(
        data,
        domain={"item": 16},
        budget=EXACT,
        mechanism=mechanism,
        seed=1,
    ).synopsis
    assert len(synopsis.itemsets) == k and len(set(synopsis.itemsets)) == k
    assert synopsis.counts == pytest.approx(
        [support(held, found) for found in synopsis.itemsets],
        abs=1,
    )
    every = [c for size in (1, 2, 3) for c in itertools.combinations(range(16), size)]
    best = sorted((support(held, c) for c in every), reverse=True)[:k]
    found = sorted((support(held, c) for c in synopsis.itemsets), reverse=True)
    assert sum(found) >= 0.9 * sum(best)


def test_basis_beats_chance_under_noise():
    held = table()
    data = scipy.sparse.csr_matrix(held.astype(np.int8))
    synopsis = margin.simulate(
        data,
        domain={"item": 16},
        budget=PureDP(1),
        mechanism=PrivBasis(k=10),
        seed=1,
    ).synopsis
    every = [c for size in (1, 2, 3) for c in itertools.combinations(range(16), size)]
    best = set(sorted(every, key=lambda c: -support(held, c))[:10])
    assert len(best & set(synopsis.itemsets)) >= 8


def test_division_finds_the_very_sets():
    held = np.zeros((900, 9), bool)
    for rows, items in (
        (slice(0, 300), [0, 4]),
        (slice(300, 500), [8]),
        (slice(500, 900), [0, 1, 2, 5]),
    ):
        held[rows, items] = True
    synopsis = margin.simulate(
        scipy.sparse.csr_matrix(held.astype(np.int8)),
        domain={"item": 9},
        budget=PureDP(20),
        mechanism=DiffPart(),
        seed=1,
    ).synopsis
    assert synopsis.itemsets[:3] == ((0, 1, 2, 5), (0, 4), (8,))
    assert synopsis.counts[:3] == pytest.approx([400, 300, 200], abs=5)
    assert synopsis.top(1) == [(0, 1, 2, 5)]


def test_a_row_counts_for_the_first_pattern_that_it_fits():
    held = table(200, 6)
    gate = Private(
        open_source(held.astype(int)),
        domain=SIX,
        budget=EXACT,
        entropy=SeededEntropy(1),
    )
    counts, _ = gate.pattern_counts(
        patterns=[(((0, 1),), ()), (((1, 2),), ((3,),)), ((), ((0,),))],
        spend="1/2",
    )
    first = held[:, [0, 1]].any(axis=1)
    second = ~first & held[:, [1, 2]].any(axis=1) & ~held[:, 3]
    third = ~first & ~second & ~held[:, 0]
    assert counts.tolist() == [first.sum(), second.sum(), third.sum()]
    for patterns in ([], [(((),), ())], [(((9,),), ())], [(((1, 1),), ())]):
        with pytest.raises(DomainError):
            gate.pattern_counts(patterns=patterns)
    for bases in ([], [[0] * 2], [range(6), []]):
        with pytest.raises(DomainError):
            gate.basis_tables(bases=bases)
    with pytest.raises(DomainError):
        gate.select_sets(candidates=[[0]], count=2)


# Sketches


@pytest.mark.parametrize(
    "mechanism",
    [
        CountSketch(width=7),
        CountSketch(
            width=3,
            rows=2,
            median=False,
        ),
    ],
    ids=repr,
)
def test_the_contract_of_sketches(mechanism, tmp_path):
    check_mechanism(
        mechanism,
        budgets=(PureDP(1), ZCDP("0.5", rows_per_person=2)),
        pairs=12,
    )
    data = np.zeros((30, 2), int)
    synopsis = margin.release(
        data,
        domain={"x": 4, "y": 5},
        budget=PureDP(1),
        mechanism=mechanism,
    )
    synopsis.save(tmp_path / "out.margin")
    again = margin.load(tmp_path / "out.margin")
    assert (again.sums == synopsis.sums).all() and again.point({"x": 0, "y": 0}) == synopsis.point(
        {"x": 0, "y": 0}
    )
    assert (
        pytest.approx(synopsis.marginal(["x", "y"]).counts) == again.marginal(["y", "x"]).counts.T
    )
    with pytest.raises(DomainError, match="single cells"):
        synopsis.marginal(["x"])


@pytest.mark.parametrize("median", [True, False])
def test_a_sketch_estimates_large_cells_of_a_huge_table(median):
    domain = Domain({"x": 10**9, "y": 10**9, "z": 10**9})
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 10**9, (2000, 3))
    codes[:500] = [5, 6, 7]
    mechanism = CountSketch(width=4096, rows=5, median=median)
    synopsis = margin.simulate(
        codes,
        domain=domain,
        budget=PureDP(5),
        mechanism=mechanism,
        seed=1,
    ).synopsis
    assert synopsis.point({"x": 5, "y": 6, "z": 7}) == pytest.approx(500, abs=30)
    assert abs(synopsis.counts(rng.integers(0, 10**9, (500, 3)))).mean() < 10
    with pytest.raises(DomainError, match="single cells"):
        synopsis.marginal(["x", "y", "z"])


def test_signs_and_buckets_are_fair_and_pairwise_independent():
    columns = [np.arange(40_000) % 200, np.arange(40_000) // 200]
    where, sign = buckets(columns, 16, 0, 3)
    other, sign_there = buckets(columns, 16, 1, 3)
    assert abs(int(sign.sum())) < 1500 and abs(int((sign * sign_there).sum())) < 1500
    assert np.bincount(where, minlength=16).min() > 2000
    assert abs((where == other).mean() - 1 / 16) < 0.02
    again, _ = buckets(columns, 16, 0, 3)
    assert (again == where).all()


@pytest.mark.parametrize(
    ("more", "error"),
    [({"rows": 10**5, "width": 10**5}, DomainError), ({"key": -1}, DomainError)],
)
def test_bad_sketches_are_refused(more, error):
    gate = Private(
        open_source(np.zeros((1, 6), int)),
        domain=SIX,
        budget=EXACT,
        entropy=SeededEntropy(1),
    )
    with pytest.raises(error):
        gate.sketch_counts(["a"], **{"rows": 2, "width": 3, "key": 0, **more})
