import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.designs import choose_views, covering_views, expected_error

sizes_lists = st.lists(st.integers(1, 12), min_size=1, max_size=9)


def held(views, one):
    return any(set(one) <= set(view) for view in views)


@settings(max_examples=60)
@given(sizes=sizes_lists, t=st.integers(1, 3), limit=st.sampled_from([1, 8, 30, 256, 4096]))
def test_every_set_is_held_within_the_limit(sizes, t, limit):
    views = covering_views(sizes, max_cells=limit, t=t)
    t = min(t, len(sizes))
    for one in itertools.combinations(range(len(sizes)), t):
        assert held(views, one)
    for view in views:
        assert list(view) == sorted(set(view))
        assert math.prod(sizes[a] for a in view) <= limit or sum(sizes[a] > 1 for a in view) <= t


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, 9), min_size=4, max_size=8), data=st.data())
def test_given_sets_are_held_and_no_view_is_superfluous(sizes, data):
    sets = data.draw(
        st.lists(
            st.lists(st.sampled_from(range(4)), min_size=1, max_size=3, unique=True),
            min_size=1,
            max_size=6,
        )
    )
    views = covering_views(sizes, max_cells=64, sets=sets)
    assert all(held(views, one) for one in sets)
    for view in views:
        others = [other for other in views if other != view]
        assert not all(held(others, one) for one in sets)


def test_what_fits_in_one_view_is_one_view():
    assert covering_views([2, 3, 4], max_cells=24) == ((0, 1, 2),)
    assert choose_views([5], power=2) == ((0,),)
    assert choose_views([2] * 8, power=1) == (tuple(range(8)),)


def test_binary_attributes_get_blocks_of_eight():
    views = choose_views([2] * 32, power=2)
    assert len(views) == 20 and {len(view) for view in views} == {8}


def test_a_set_beyond_the_limit_is_a_view_of_its_own():
    assert (0, 1) in covering_views([100, 50, 2, 2], max_cells=256)


@pytest.mark.parametrize("power", [1, 2])
def test_the_chosen_views_have_the_least_error_of_the_grid(power):
    sizes = [10, 9, 16, 7, 15, 6, 5, 2, 10, 10, 10, 42, 2]
    pairs = list(itertools.combinations(range(13), 2))
    errors = [
        expected_error(sizes, views, [1.0] * len(views), workload=pairs, power=power)
        for views in (
            covering_views(sizes, max_cells=limit) for limit in (256, 512, 1024, 2048, 4096)
        )
    ]
    chosen = choose_views(sizes, power=power)
    assert expected_error(sizes, chosen, [1.0] * len(chosen), workload=pairs, power=power) == min(
        errors
    )


def test_attributes_of_one_value_join_every_view_within_the_limit():
    views = covering_views([2, 1, 3, 1, 4, 5], max_cells=24)
    assert all({1, 3} <= set(view) for view in views)
    assert covering_views([1, 1, 1], max_cells=1) == ((0, 1, 2),)
    assert covering_views([1, 300, 1], max_cells=256) == ((0, 1), (0, 2), (1, 2))


def test_fewer_attributes_than_must_meet_are_one_view():
    assert covering_views([3, 4], max_cells=5, t=3) == ((0, 1),)
    assert covering_views([300], max_cells=5) == ((0,),)


def test_attributes_in_no_given_set_are_left_out():
    assert covering_views([2, 2, 2, 2], max_cells=4, sets=[(2, 1), (1,)]) == ((1, 2),)
    assert covering_views([2, 2], max_cells=4, sets=[()]) == ((),)


def test_all_pairs_as_sets_are_as_good_as_t():
    pairs = list(itertools.combinations(range(32), 2))
    assert len(covering_views([2] * 32, max_cells=256, sets=pairs)) == 20
    singles = [(a,) for a in range(32)]
    assert len(covering_views([2] * 32, max_cells=256, sets=singles + pairs)) == 20


def test_sets_of_several_lengths_within_a_set_beyond_the_limit_need_no_other_view():
    views = covering_views([20, 20, 20, 2], max_cells=256, sets=[(0, 1, 2), (0, 1), (1, 3)])
    assert views == ((0, 1, 2), (1, 3))


@pytest.mark.parametrize("d", [12, 16, 24, 40])
@pytest.mark.parametrize("power", [1, 2])
def test_binary_domains_get_blocks_of_at_most_eight(d, power):
    assert max(map(len, choose_views([2] * d, power=power))) == 8


@pytest.mark.slow
def test_two_hundred_mixed_attributes_are_covered():
    sizes = np.random.default_rng(1).integers(2, 20, 200).tolist()
    views = covering_views(sizes, max_cells=512)
    together = np.zeros((200, 200), dtype=bool)
    for view in views:
        together[np.ix_(view, view)] = True
        assert math.prod(sizes[a] for a in view) <= 512
    assert together.all()


@pytest.mark.slow
def test_four_hundred_mixed_attributes_are_covered():
    sizes = np.random.default_rng(2).integers(2, 6, 400).tolist()
    together = np.zeros((400, 400), dtype=bool)
    for view in covering_views(sizes, max_cells=1024):
        together[np.ix_(view, view)] = True
    assert together.all()


def test_too_many_sets_are_refused():
    with pytest.raises(ValueError, match=r"t \(3\) gives 166167000 sets of 1000 attributes"):
        covering_views([2, 3] * 500, max_cells=256, t=3)


def test_views_are_the_same_for_the_same_arguments():
    sizes = [3, 7, 2, 9, 4, 6, 2, 5, 11]
    assert covering_views(sizes, max_cells=100, seed=3) == covering_views(
        sizes, max_cells=100, seed=3
    )


def brute_error(sizes, views, shares, workload, power):
    """The trace of the covariance of the least-squares answers, through a dense pseudo-inverse."""
    cells = np.indices(sizes).reshape(len(sizes), -1)

    def projection(view):
        shape = [sizes[a] for a in view]
        return np.eye(math.prod(shape))[np.ravel_multi_index([cells[a] for a in view], shape)].T

    shares = np.asarray(shares) / sum(shares)
    rows = np.concatenate(
        [projection(view) * share ** (power / 2) for view, share in zip(views, shares, strict=True)]
    )
    covariance = np.linalg.pinv(rows.T @ rows)
    return sum(np.trace(projection(b) @ covariance @ projection(b).T) for b in workload)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_expected_error_is_that_of_least_squares(seed, power):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4).tolist()
    views = [
        tuple(sorted(rng.choice(4, rng.integers(1, 4), replace=False).tolist())) for _ in range(6)
    ]
    workload = [
        one
        for size in (1, 2, 3)
        for one in itertools.combinations(range(4), size)
        if held(views, one)
    ]
    shares = rng.uniform(0.2, 3.0, len(views)).tolist()
    found = expected_error(sizes, views, shares, workload=workload, power=power)
    assert found == pytest.approx(brute_error(sizes, views, shares, workload, power), rel=1e-9)


def test_what_is_not_covered_has_infinite_error():
    assert expected_error([2, 2], [(0,)], [1.0], workload=[(0, 1)], power=2) == math.inf


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: covering_views([], max_cells=4), "sizes"),
        (lambda: covering_views([2, 0], max_cells=4), "sizes"),
        (lambda: covering_views([2, True], max_cells=4), "sizes"),
        (lambda: covering_views([2, 2], max_cells=0), "max_cells"),
        (lambda: covering_views([2, 2], max_cells=2.5), "max_cells"),
        (lambda: covering_views([2, 2], max_cells=4, t=0), "t "),
        (lambda: covering_views([2, 2], max_cells=4, sets=[]), "sets"),
        (lambda: covering_views([2, 2], max_cells=4, sets=[(0, 0)]), "sets"),
        (lambda: covering_views([2, 2], max_cells=4, sets=[(2,)]), "sets"),
        (lambda: choose_views([2, 2], power=2, limits=[]), "limits"),
        (lambda: expected_error([2], [(0,)], [1.0], workload=[(0,)], power=3), "power"),
        (lambda: expected_error([2], [(0,)], [0.0], workload=[(0,)], power=1), "shares"),
        (lambda: expected_error([2], [(0,)], [1.0, 1.0], workload=[(0,)], power=1), "shares"),
    ],
)
def test_bad_arguments_name_themselves(call, says):
    with pytest.raises(ValueError, match=says):
        call()
