"""The shortcut and the laborious way have one law: two samples of whole summaries, compared by many
statistics.

Each case compares some hundred means at 7 standard errors (a normal variable is as far with
probability 3e-12) and a few distributions by Kolmogorov and Smirnov at 1e-9: over all cases
together a false alarm has a probability below 1e-6 for a new seed. MARGIN_REPETITIONS sets the
number of summaries that are made one by one; 100,000 take half an hour.
"""

import math
import os
from fractions import Fraction as F

import numpy as np
import pytest
from held import Scattered
from scipy import stats

from margin.noise.entropy import SeededEntropy
from margin.noise.kept_cells import Keep
from margin.noise.laws import DiscreteLaplace
from margin.private import sparse_noise
from margin.private.cell_counts import Counted
from margin.private.sparse_noise import Largest, kept_cells, largest_cells
from margin.sparse.axes import Halves, Leaves, Tree, nested
from margin.sparse.grid import Grid

RUNS = int(os.environ.get("MARGIN_REPETITIONS", 800))
FAR = 7.0

LINE = (Leaves(60),)
PLANE = (Leaves(13), Leaves(7))
CASES = {
    "one-sided filter": (LINE, Keep(2, 2, False)),
    "two-sided filter": (PLANE, Keep(3, 3, True)),
    "threshold sample": (LINE, Keep(1, 6, True)),
    "threshold sample, low tau": (PLANE, Keep(1, 2, True)),
    "filter, then threshold": (LINE, Keep(2, 5, True)),
    "priority sample": (LINE, Largest(12)),
    "priority sample of nearly all": (PLANE, Largest(75)),
    "filter, then priority": (LINE, Largest(12, 3)),
    "tree, filter": ((Tree(29),), Keep(3, 3, True)),
    "tree, priority": ((Tree(29),), Largest(15)),
    "two trees, nested filter and priority": (
        (Tree(6), Tree(5)),
        Largest(
            20,
            3,
            nested=True,
        ),
    ),
    "halves, filter": ((Halves(29),), Keep(2, 2, True)),
    "halves, priority": ((Halves(29), Leaves(2)), Largest(15)),
}


def table(axes):
    """Some counts in few cells, small and large."""
    shape = tuple(axis.size for axis in axes)
    counts = np.zeros(shape, np.int64)
    flat = counts.ravel()
    flat[[1, 2, flat.size // 2, flat.size - 1]] = [1, 30, 4, 9]
    return counts


def nodes_of(axes, counts):
    """Every node's value, from the definition: an interval's sum, or its first half less its
    second."""
    values = counts
    for along, axis in enumerate(axes):
        if isinstance(axis, Leaves):
            continue
        codes = np.arange(axis.size)
        rows = []
        for level in axis.levels:
            for place in range(level.width):
                inside = codes >> level.shift == place
                sign = (
                    np.where(
                        (codes >> (level.shift - 1)) & 1,
                        -1,
                        1,
                    )
                    if level.signed
                    else 1
                )
                rows.append(inside * sign)
        values = np.moveaxis(
            np.tensordot(np.array(rows), values, axes=(1, along)),
            0,
            along,
        )
    return values.ravel()


def shortcut(
    axes,
    keep,
    noise,
    runs,
    seed,
    *,
    counts=None,
    held_as=lambda cells: cells,
):
    grid, entropy = Grid(axes), SeededEntropy(seed)
    counts = table(axes) if counts is None else counts
    places = np.argwhere(counts)
    true = held_as(Counted(*grid.spread(places, counts[tuple(places.T)])))
    dense, cuts = np.zeros((runs, grid.cells)), np.zeros(runs)
    draw = largest_cells if isinstance(keep, Largest) else kept_cells
    for run in range(runs):
        kept = draw(grid, noise, true, keep, entropy)
        dense[run, kept.words[:, 0]] = kept.counts
        cuts[run] = kept.cut
        assert len(kept.words) == len(np.unique(kept.words))
    return dense, cuts


def laborious(axes, keep, noise, runs, seed, *, counts=None):
    values = nodes_of(axes, table(axes) if counts is None else counts)
    rng = np.random.default_rng(seed)
    noisy = values + noise.sample(runs * values.size, SeededEntropy(seed)).reshape(runs, -1)
    r = 1 - rng.random(noisy.shape)
    size = np.abs(noisy)
    if isinstance(keep, Keep):
        passes = (size if keep.two_sided else noisy) >= keep.theta
        return np.where(
            passes & (size > r * keep.tau if keep.tau > keep.theta else passes),
            noisy,
            0,
        ), np.zeros(runs)
    passes = size >= keep.theta
    if keep.nested:
        codes = np.argwhere(np.ones([axis.nodes for axis in axes], bool))
        for run in range(runs):
            passed = np.flatnonzero(passes[run])
            passes[run, passed[~nested(axes, codes[passed])]] = False
    priorities = np.where(passes, size / r, 0.0)
    order = np.sort(priorities, axis=1)[:, ::-1]
    cuts = order[:, keep.size] if keep.size < order.shape[1] else np.zeros(runs)
    return np.where(priorities > cuts[:, None], noisy, 0), cuts


def statistics(dense, cuts, empty):
    """Means to be compared: arrays (runs, statistics)."""
    kept = dense != 0
    weights = np.sign(dense) * np.maximum(np.abs(dense), cuts[:, None])
    number, new = kept.sum(axis=1), kept[:, empty].sum(axis=1)
    yield kept
    yield dense
    yield dense**2
    yield weights
    yield kept[:, :-1] & kept[:, 1:]
    yield dense[:, :-1] * dense[:, 1:]
    for size in range(1, 15):
        yield (np.abs(dense[:, empty]) == size).sum(axis=1)[:, None]
        yield (dense[:, empty] == -size).sum(axis=1)[:, None]
    yield np.stack(
        [
            number,
            number**2,
            new,
            new**2,
            number * new,
            weights.sum(axis=1),
            weights.sum(axis=1) ** 2,
        ],
        axis=1,
    )


def compared(ours, theirs, empty):
    for mine, other in zip(statistics(*ours, empty), statistics(*theirs, empty), strict=True):
        often = (
            np.count_nonzero(mine, axis=0) + np.count_nonzero(other, axis=0) >= 60
        )  # for a normal law to be near
        mine, other = mine[:, often].astype(float), other[:, often].astype(float)
        error = np.sqrt((mine.var(axis=0) + other.var(axis=0)) / len(mine))
        assert (np.abs(mine.mean(axis=0) - other.mean(axis=0)) <= FAR * error + 1e-9).all()
    for mine, other in (
        (ours[1], theirs[1]),
        (ours[0][:, empty].sum(axis=1), theirs[0][:, empty].sum(axis=1)),
    ):
        assert stats.ks_2samp(mine, other, method="asymp").pvalue > 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_shortcut_and_laborious_have_one_law(name):
    """Summary by summary."""
    axes, keep = CASES[name]
    noise = DiscreteLaplace(F(3, 2))
    seed = sum(map(ord, name))
    empty = nodes_of(axes, table(axes)) == 0
    assert 20 < empty.size < 500 and empty.any()
    compared(
        shortcut(
            axes,
            keep,
            noise,
            RUNS,
            seed,
        ),
        laborious(axes, keep, noise, RUNS, seed + 1),
        empty,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "keep",
    [
        Keep(
            2,
            5,
            True,
        ),
        Largest(12),
        Largest(12, 3),
        Largest(40),
    ],
    ids=repr,
)
def test_cells_that_come_block_by_block_have_the_same_law(
    keep,
    monkeypatch,
):
    """Two or three at a time, in any order, with room for few: of most of them only the leading
    ones are held."""
    monkeypatch.setattr(sparse_noise, "_AT_ONCE", 2)
    counts = np.zeros(60, np.int64)
    counts[10:] = np.arange(50) % 7
    noise, seed = DiscreteLaplace(F(3, 2)), 11
    mine = shortcut(
        LINE,
        keep,
        noise,
        RUNS,
        seed,
        counts=counts,
        held_as=Scattered,
    )
    compared(
        mine,
        laborious(LINE, keep, noise, RUNS, seed + 1, counts=counts),
        counts == 0,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name, (_, keep) in CASES.items() if isinstance(keep, Keep)],
)
def test_a_hundred_thousand_repetitions_in_one_domain(name):
    """Cells are kept independently: one summary of a domain with the table 10^5 times in it is as
    many summaries."""
    axes, keep = CASES[name]
    noise, runs, parts = DiscreteLaplace(F(3, 2)), 100_000, 10
    seed = sum(map(ord, name)) + 7
    counts = table(axes)
    values = nodes_of(axes, counts)
    grid = Grid((Leaves(runs), *axes))
    places = np.argwhere(counts)
    codes = np.concatenate(
        [np.repeat(np.arange(runs), len(places))[:, None], np.tile(places, (runs, 1))],
        axis=1,
    )
    true = Counted(*grid.spread(codes, np.tile(counts[tuple(places.T)], runs)))
    kept = kept_cells(grid, noise, true, keep, SeededEntropy(seed))
    dense = np.zeros((runs, values.size), np.int16)
    dense[kept.words[:, 0] // values.size, kept.words[:, 0] % values.size] = kept.counts
    kept_often, entered = (dense != 0).mean(axis=0), np.zeros(values.size)
    # To spare memory, each part has a tenth of the repetitions, and its own comparison.
    for part in range(parts):
        mine = dense[part::parts].astype(float)
        other = laborious(axes, keep, noise, len(mine), seed + part)
        compared((mine, np.zeros(len(mine))), other, values == 0)
        entered += (other[0] != 0).mean(axis=0) / parts
    error = np.sqrt((kept_often * (1 - kept_often) + entered * (1 - entered)) / runs)
    assert (np.abs(kept_often - entered) <= FAR * error + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong"),
    [("one-sided filter", F(7, 4)), ("priority sample", F(9, 5))],
)
def test_the_comparison_has_power(name, wrong):
    """Noise of another scale is seen in a tenth of the repetitions."""
    axes, keep = CASES[name]
    runs = 1500
    samples = []
    for draw, scale in ((shortcut, wrong), (laborious, F(3, 2))):
        dense, cuts = draw(axes, keep, DiscreteLaplace(scale), runs, 1)
        kept = (dense != 0).sum(axis=1).astype(float)
        samples.append(cuts if isinstance(keep, Largest) else kept)
    mine, other = samples
    error = math.sqrt((mine.var() + other.var()) / runs)
    assert abs(mine.mean() - other.mean()) > FAR * error
