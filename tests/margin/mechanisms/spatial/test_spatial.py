"""Quad-trees, kd-trees, grids and DPCube: budget, least squares, agreement, sizes, refusals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ordered_axes import ordered_axes

import margin
from margin import ZCDP, ApproxDP, Domain, DomainError, MarginError, Private, PureDP
from margin.data.source import CodesSource
from margin.mechanisms import AdaptiveGrid, DPCube, KDTree, QuadTree, UniformGrid
from margin.mechanisms.spatial.grids import _parts
from margin.mechanisms.spatial.regions import (
    Level,
    cut,
    divided,
    epsilon_of,
    geometric,
    gridded,
    tree_of,
    undivided,
)
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import Neighbours
from margin.synopses.boxes import box_of_cells

MECHANISMS = [
    QuadTree(),
    QuadTree.paper(),
    QuadTree(height=2, ratio=1.0, least_rows=20.0),
    KDTree(),
    KDTree(height=3, nonnegative=False, median_share="3/10"),
    KDTree.hybrid(private_levels=1, height=4),
    UniformGrid(),
    UniformGrid.paper(),
    AdaptiveGrid(),
    AdaptiveGrid.paper(),
    DPCube(),
    DPCube(nonnegative=False, cell_share="1/2"),
]
BUDGETS = [
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(2, neighbours=Neighbours.REPLACE_ROW),
    ZCDP("0.5", rows_per_person=3),
]
MAP = Domain(ordered_axes(x=13, y=6))


def points(domain, rows=500, seed=0):
    """Points in two clusters, and a few anywhere."""
    rng = np.random.default_rng(seed)
    sizes = np.array(domain.sizes)
    centres = rng.random((2, len(sizes))) * sizes
    near = centres[rng.integers(0, 2, rows)] + rng.normal(size=(rows, len(sizes)))
    anywhere = rng.random((rows, len(sizes))) * sizes
    places = np.where(rng.random((rows, 1)) < 0.9, near, anywhere)
    return np.clip(places, 0, sizes - 1).astype(np.int64)


class Noted(Private):
    """Keeps what is answered."""

    def _answer(self, events, true, draw):
        answer = super()._answer(events, true, draw)
        self.answers = [*getattr(self, "answers", []), answer]
        return answer


def run(mechanism, domain=MAP, budget=PureDP(1), codes=None, seed=1):
    codes = points(domain) if codes is None else codes
    gate = Noted(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(seed))
    return mechanism.run(gate, None), gate


def short(value):
    return repr(value)[:50]


# Every mechanism under every budget


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_the_budget_is_spent_to_the_last_unit(mechanism, budget):
    small, line = Domain(ordered_axes(x=1, y=1)), Domain(ordered_axes(x=40))
    for domain in (MAP, Domain(MAP, rows=500), small, line):
        _, gate = run(mechanism, domain, budget)
        assert sum(event.units for event in gate.events) == budget.units


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_leaves_divide_the_map_and_levels_agree(mechanism):
    synopsis, _ = run(mechanism)
    leaves = synopsis.boxes[synopsis.leaves]
    covered = np.zeros(MAP.sizes, int)
    for (left, right), (top, bottom) in leaves:
        covered[left:right, top:bottom] += 1
    assert (covered == 1).all()
    for node in range(len(synopsis.boxes)):
        children = np.flatnonzero(synopsis.parents == node)
        if children.size:
            assert synopsis.counts[node] == pytest.approx(synopsis.counts[children].sum())
            box = synopsis.boxes[node]
            low, high = box.T.tolist()
            ranges = {"x": range(low[0], high[0]), "y": range(low[1], high[1])}
            assert synopsis.count(ranges).estimate == pytest.approx(synopsis.counts[node])
    assert synopsis.marginal(["y"]).total == pytest.approx(synopsis.counts[0])
    if mechanism.nonnegative:
        assert synopsis.counts.min() >= 0


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_a_known_number_of_rows_is_kept_and_costs_nothing(mechanism):
    for domain, budget in (
        (Domain(MAP, rows=500), PureDP(1)),
        (MAP, ZCDP(1, neighbours=Neighbours.REPLACE_ROW)),
    ):
        synopsis, gate = run(mechanism, domain, budget)
        assert synopsis.count({}).estimate == pytest.approx(500)
        assert synopsis.count({}).variance == pytest.approx(0, abs=1e-9)
        # No event is about the total alone.
        assert all(np.size(answer[0]) > 1 for answer in gate.answers if isinstance(answer, list))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_with_much_budget_the_smallest_regions_are_exact(mechanism):
    synopsis, _ = run(mechanism, budget=PureDP(10**6))
    truth = np.zeros(MAP.sizes)
    np.add.at(truth, tuple(points(MAP).T), 1)
    for leaf in synopsis.leaves:
        cells = truth[tuple(slice(*side) for side in synopsis.boxes[leaf].tolist())]
        assert synopsis.counts[leaf] == pytest.approx(cells.sum(), abs=1e-3)
        # Trees of a given height, and trees that cut at medians, may end above single cells.
        assert cells.size == 1 or getattr(mechanism, "height", None) or type(mechanism) is KDTree


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [QuadTree.paper(), UniformGrid.paper(), AdaptiveGrid.paper()],
    ids=short,
)
@pytest.mark.parametrize("budget", [PureDP("0.5"), ZCDP("0.1")], ids=repr)
def test_the_stated_variance_is_that_of_the_noise(mechanism, budget):
    """400 releases. The ratio of the mean square to the variance stated has a standard error of at
    most (5 / 400)**0.5 = 0.11 for sums of Laplace noise: 0.65 is 5.9 of them."""
    domain = Domain(ordered_axes(x=8, y=8))
    codes = points(domain, 300)
    ratios = []
    for seed in range(400):
        synopsis, _ = run(mechanism, domain, budget, codes, seed)
        # A leaf: within it, no rows are taken to be spread evenly.
        box = synopsis.boxes[synopsis.leaves[seed % len(synopsis.leaves)]]
        ranges = {
            name: range(low, end) for name, (low, end) in zip("xy", box.tolist(), strict=True)
        }
        truth = ((codes >= box[:, 0]) & (codes < box[:, 1])).all(axis=1).sum()
        found = synopsis.count(ranges)
        ratios.append((found.estimate - truth) ** 2 / found.variance)
    assert abs(np.mean(ratios) - 1) < 0.65


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.sampled_from(MECHANISMS),
    st.integers(0, 10**6),
)
def test_any_sizes_and_any_number_of_attributes(sizes, mechanism, seed):
    domain = Domain(ordered_axes(**{f"x{place}": size for place, size in enumerate(sizes)}))
    synopsis, gate = run(mechanism, domain, PureDP(1), points(domain, 60, seed), seed)
    assert sum(event.units for event in gate.events) == PureDP(1).units
    assert box_of_cells(synopsis.boxes[synopsis.leaves], domain.sizes).min() >= 0
    whole = synopsis.count({})
    assert whole.estimate == pytest.approx(synopsis.counts[0]) and whole.variance > 0
    assert synopsis.marginal(domain.attributes).total == pytest.approx(whole.estimate, abs=1e-6)


# Least squares and shares


def test_the_quad_tree_is_the_least_squares_estimate_of_all_levels():
    """Normal equations over the cells, from the noisy answers themselves."""
    synopsis, gate = run(QuadTree.paper())
    (answers,) = gate.answers
    rows, values, weights = [], [], []
    for noisy, event in zip(answers, gate.events, strict=True):
        level = synopsis.boxes[sum(map(len, values)) :][: len(noisy)]
        members = box_of_cells(level, MAP.sizes).ravel()
        rows.append((np.arange(len(noisy))[:, None] == members).astype(float))
        values.append(np.asarray(noisy, float))
        weights.append(np.full(len(noisy), 1 / event.sampler.variance))
    table, y, weight = np.concatenate(rows), np.concatenate(values), np.concatenate(weights)
    cells = np.linalg.solve(table.T @ (weight[:, None] * table), table.T @ (weight * y))
    found = synopsis.marginal(["x", "y"]).counts
    np.testing.assert_allclose(found.ravel(), cells, atol=1e-8)
    np.testing.assert_allclose(synopsis.counts, table @ cells, atol=1e-8)


def test_shares_grow_by_the_published_ratio():
    """epsilon_i = 2**((h - i) / 3) times a constant, where i = h at the root (section 4.2)."""
    _, gate = run(QuadTree(height=3), Domain(ordered_axes(x=8, y=8)))
    units = [event.units for event in gate.events]
    for upper, lower in itertools.pairwise(units):
        assert lower / upper == pytest.approx(2 ** (1 / 3))
    _, gate = run(QuadTree(height=3), Domain(ordered_axes(x=8, y=8)), ZCDP(1))
    units = [event.units for event in gate.events]
    for upper, lower in itertools.pairwise(units):
        assert lower / upper == pytest.approx(2 ** (1 / 2))


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=repr)
@pytest.mark.parametrize("attributes", [1, 2, 3])
def test_no_shares_give_a_smaller_sum_of_variances(budget, attributes):
    """sum_i n_i v(share_i) over the levels i, for random changes of the shares."""
    levels = 5
    number = 2.0 ** ((attributes - 1) * np.arange(levels))
    power = 2 if isinstance(budget, PureDP) else 1

    def total(shares):
        return (number / (np.array(shares) / np.sum(shares)) ** power).sum()

    best = geometric(budget, levels, attributes, None)
    rng = np.random.default_rng(attributes)
    for _ in range(50):
        other = np.array(best) * np.exp(rng.normal(0, 0.2, levels))
        assert total(best) <= total(other) * (1 + 1e-12)


# Grids


def test_the_published_sizes_of_grids():
    """m = sqrt(N epsilon / 10); the coarse grid has max(10, m / 4) parts."""
    domain = Domain(ordered_axes(x=200, y=200), rows=14_000)
    codes = points(domain, 14_000)
    synopsis, _ = run(UniformGrid(), domain, PureDP(1), codes)
    epsilon = epsilon_of(PureDP(1), Fraction(1))
    assert len(synopsis.leaves) == math.ceil(math.sqrt(14_000 * epsilon / 10)) ** 2
    _, gate = run(AdaptiveGrid(), domain, PureDP(1), codes)
    coarse, fine = (np.asarray(answer[0]) for answer in gate.answers)
    assert len(coarse) == 10**2
    units = gate.events[1].units
    half = epsilon_of(PureDP(1), Fraction(units, PureDP(1).units))
    parts = np.maximum(1, np.ceil(np.sqrt(np.maximum(coarse, 0) * half / 5)))
    assert len(fine) == (np.minimum(parts, 20) ** 2).sum()
    domain = Domain(ordered_axes(x=300, y=300), rows=64_000)
    _, gate = run(AdaptiveGrid(), domain, PureDP(4), points(domain, 64_000))
    epsilon = epsilon_of(PureDP(4), Fraction(1))
    uniform = math.ceil(math.sqrt(64_000 * epsilon / 10))
    assert len(gate.answers[0][0]) == math.ceil(uniform / 4) ** 2


def test_the_number_of_rows_costs_its_share():
    _, gate = run(UniformGrid(count_share="1/20"))
    assert [event.units for event in gate.events] == list(PureDP(1).split([1, 19]))


def test_epsilon_is_that_of_laplace_noise_of_the_same_variance():
    assert epsilon_of(PureDP("0.1"), Fraction(1, 2)) == pytest.approx(0.05, rel=1e-3)
    variance = ZCDP("0.02").count_noise(ZCDP("0.02").units).variance
    assert epsilon_of(ZCDP("0.02"), Fraction(1)) == pytest.approx(math.sqrt(2 / variance))


@pytest.mark.parametrize(("attributes", "expected"), [(1, 100), (2, 32), (3, 16)])
def test_parts_balance_noise_and_borders(attributes, expected):
    """The minimum over m of sqrt(m**d) + a N / m has the exponent 2 / (d + 2)."""
    parts = _parts(np.array([1000.0]), attributes)
    assert parts.tolist() == [[math.ceil(1000 ** (2 / (attributes + 2)))] * attributes]
    assert parts[0, 0] == expected
    assert _parts(np.array([-50.0, 0.0]), 2).tolist() == [[1, 1], [1, 1]]


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 15), min_size=1, max_size=3),
    st.lists(st.integers(1, 20), min_size=3, max_size=3),
)
def test_grids_divide_evenly(sizes, parts):
    parts = parts[: len(sizes)]
    levels = gridded(sizes, parts)
    tree_of(levels)
    for level in levels:
        assert box_of_cells(level.boxes, tuple(sizes)).min() >= 0
    expected = np.minimum(parts, sizes)
    assert len(levels[-1].boxes) == expected.prod()
    smallest, largest = levels[-1].widths.min(axis=0), levels[-1].widths.max(axis=0)
    assert (largest - smallest <= 1).all()
    grid = divided(undivided(sizes), np.array([parts]))
    assert {box.tobytes() for box in grid.boxes} == {box.tobytes() for box in levels[-1].boxes}


# Trees


def test_some_boxes_are_cut_and_the_others_stay():
    level = Level(
        np.array([[[0, 4], [0, 2]], [[4, 5], [0, 2]], [[5, 9], [0, 2]]]), np.zeros(3, int)
    )
    below = cut(level, np.array([0, 2]), 0, np.array([1, 8]))
    assert below.parents.tolist() == [0, 0, 1, 2, 2]
    assert below.boxes[:, 0].tolist() == [[0, 1], [1, 4], [4, 5], [5, 8], [8, 9]]


def test_a_kd_tree_cuts_at_medians_and_a_hybrid_at_middles_below():
    domain = Domain(ordered_axes(x=64, y=64))
    rng = np.random.default_rng(3)
    codes = np.minimum(rng.exponential(6, (4000, 2)), 63).astype(np.int64)
    synopsis, gate = run(KDTree.hybrid(private_levels=1), domain, PureDP(50), codes)
    assert [event.method for event in gate.events][:2] == ["select_cuts"] * 2
    assert "select_cuts" not in [event.method for event in gate.events][2:]
    x = synopsis.boxes[1, 0, 1]
    assert abs((codes[:, 0] < x).mean() - 0.5) < 0.1
    # The boxes below the first division are cut at their middles.
    box = synopsis.boxes[1]
    first = np.flatnonzero(synopsis.parents == 1)[0]
    assert synopsis.boxes[first, 0].tolist() == [box[0, 0], box[0].sum() // 2]


def test_the_budget_of_a_kd_tree_goes_in_halves():
    mechanism = KDTree(height=2, median_share="1/2")
    _, gate = run(mechanism, Domain(ordered_axes(x=64, y=64)))
    chosen = [event.units for event in gate.events if event.method == "select_cuts"]
    assert chosen == [PureDP(1).units // 8] * 4
    assert sum(event.units for event in gate.events) == PureDP(1).units


def test_pruning_leaves_out_boxes_below_few_rows():
    whole, _ = run(QuadTree(nonnegative=False))
    pruned, _ = run(QuadTree(nonnegative=False, least_rows=40))
    assert len(pruned.boxes) < len(whole.boxes)
    inner = np.setdiff1d(np.arange(len(pruned.boxes)), pruned.leaves)
    assert (pruned.counts[inner] >= 40).all()
    assert pruned.count({}).estimate == pytest.approx(whole.count({}).estimate)
    assert pruned.count({}).variance == pytest.approx(whole.count({}).variance)


# DPCube


def test_regions_are_the_best_partition():
    """All partitions of an 4 x 2 map into regions of its quad-tree, by recursion."""
    from margin.mechanisms.spatial.dpcube import _regions

    sizes = (4, 2)
    tree, boxes = tree_of(gridded(sizes, sizes))
    for seed in range(30):
        rng = np.random.default_rng(seed)
        counts = rng.choice([0.0, 8.0], sizes) + rng.normal(0, 1, sizes)
        variance = 1.0
        penalty = 2 * variance * math.log(8)

        def best(node, counts=counts, penalty=penalty):
            cells = counts[tuple(slice(*side) for side in boxes[node])]
            whole = ((cells - cells.mean()) ** 2).sum() + penalty
            children = np.flatnonzero(tree.parents == node)
            if not children.size:
                return whole
            return min(whole, sum(best(child) for child in children))

        cells = np.zeros(len(boxes))
        cells[tree.leaves] = counts[tuple(boxes[tree.leaves, :, 0].T)]
        regions = _regions(tree, cells, variance)
        cost = 0.0
        for region in regions:
            inside = counts[tuple(slice(*side) for side in boxes[region])]
            cost += ((inside - inside.mean()) ** 2).sum() + penalty
        assert box_of_cells(boxes[regions], sizes).min() >= 0
        assert cost == pytest.approx(best(0))


def test_dpcube_finds_the_empty_part_of_a_map():
    domain = Domain(ordered_axes(x=32, y=32))
    codes = np.random.default_rng(1).integers(0, 8, (5000, 2))
    _, gate = run(DPCube(), domain, PureDP(1), codes)
    assert len(np.asarray(gate.answers[-1][0])) < 200


# Arguments


@pytest.mark.parametrize(
    "make",
    [
        lambda: QuadTree(height=0),
        lambda: QuadTree(height=2.5),
        lambda: QuadTree(ratio=0),
        lambda: QuadTree(ratio=math.inf),
        lambda: QuadTree(least_rows=-1),
        lambda: QuadTree(attributes="x"),
        lambda: KDTree(height=0),
        lambda: KDTree(private_levels=0),
        lambda: KDTree(median_share=1),
        lambda: KDTree(median_share="0"),
        lambda: KDTree(ratio=-1),
        lambda: KDTree(least_rows=0),
        lambda: UniformGrid(c=0),
        lambda: UniformGrid(count_share="2"),
        lambda: AdaptiveGrid(alpha=1),
        lambda: AdaptiveGrid(c=-1),
        lambda: AdaptiveGrid(c2=0),
        lambda: AdaptiveGrid(count_share=0),
        lambda: DPCube(cell_share=1),
    ],
)
def test_arguments_are_checked(make):
    with pytest.raises(MarginError):
        make()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_a_map_that_is_too_large_is_refused_before_any_charge(mechanism):
    domain = Domain(ordered_axes(x=1 << 12, y=1 << 12))
    codes = np.zeros((3, 2), np.int64)
    gate = Private(CodesSource(codes), domain=domain, budget=PureDP(1), entropy=SeededEntropy(1))
    with pytest.raises(DomainError, match=f"{type(mechanism).__name__} needs .* wider bins"):
        mechanism.run(gate, None)
    assert gate.events == ()


def test_other_attributes_are_not_released():
    domain = Domain({"sex": 2, "x": 6, "y": 5})
    mechanism = QuadTree(attributes=["y", "x"])
    synopsis = margin.simulate(
        points(domain), domain=domain, budget=PureDP(1), mechanism=mechanism, seed=1
    ).synopsis
    assert synopsis.marginal(["x", "y"]).counts.shape == (6, 5)
    with pytest.raises(DomainError, match="sex"):
        synopsis.marginal(["sex"])
