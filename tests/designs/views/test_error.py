import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.designs import covering_views, expected_error


def projection(sizes, view):
    """The matrix, shape (cells of view, cells), that sums a full table to a marginal."""
    places = np.indices(sizes).reshape(len(sizes), -1)
    shape = [sizes[j] for j in view]
    index = (
        np.ravel_multi_index([places[j] for j in view], shape)
        if view
        else np.zeros(places.shape[1], int)
    )
    return np.eye(math.prod(shape))[:, index]


def least_squares_error(sizes, views, shares, workload, power):
    rows = np.vstack(
        [projection(sizes, v) * s ** (power / 2) for v, s in zip(views, shares, strict=True)]
    )
    answers = np.vstack([projection(sizes, marginal) for marginal in workload])
    return np.trace(
        answers @ np.linalg.pinv(rows.T @ rows, rcond=1e-12, hermitian=True) @ answers.T
    )


@settings(max_examples=30)
@given(data=st.data(), power=st.sampled_from([1, 2]))
def test_it_is_the_variance_of_least_squares(data, power):
    d = data.draw(st.integers(1, 4))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=d, max_size=d))
    some = st.sets(st.integers(0, d - 1)).map(sorted).map(tuple)
    views = data.draw(st.lists(some, min_size=1, max_size=6))
    weights = data.draw(st.lists(st.floats(0.1, 3), min_size=len(views), max_size=len(views)))
    shares = [w / sum(weights) for w in weights]
    inside = [
        one
        for view in views
        for n in range(len(view) + 1)
        for one in itertools.combinations(view, n)
    ]
    workload = data.draw(st.lists(st.sampled_from(inside), min_size=1, max_size=5))
    found = expected_error(sizes, views, shares, workload=workload, power=power)
    assert found == pytest.approx(
        least_squares_error(sizes, views, shares, workload, power), rel=1e-9
    )


@pytest.mark.parametrize("power", [1, 2])
def test_only_the_proportions_of_the_shares_count(power):
    views, workload = [(0, 1), (1, 2)], [(0, 1), (1,)]
    errors = [
        expected_error([2, 3, 4], views, shares, workload=workload, power=power)
        for shares in ([1, 3], [25, 75])
    ]
    assert errors[0] == pytest.approx(errors[1], rel=1e-12)


def test_one_view_of_everything_has_its_own_error():
    assert expected_error([3, 4], [(0, 1)], [1.0], workload=[(0, 1)], power=2) == pytest.approx(12)
    assert expected_error([3, 4], [(0, 1)], [1.0], workload=[(0,), (0,)], power=2) == pytest.approx(
        24
    )


def test_an_uncovered_marginal_has_infinite_error_unless_it_has_a_single_value_there():
    assert expected_error([2, 3], [(0,), (1,)], [1, 1], workload=[(0, 1)], power=1) == math.inf
    assert expected_error([2, 1], [(0,)], [1.0], workload=[(0, 1)], power=1) == pytest.approx(2)
    assert expected_error([2, 2], [(0,)], [1.0], workload=[], power=1) == 0


def test_the_order_of_attributes_does_not_matter():
    a = expected_error([2, 3, 4], [(2, 0), (1,)], [1, 1], workload=[(2, 0)], power=2)
    assert a == expected_error([2, 3, 4], [(0, 2), (1,)], [1, 1], workload=[(0, 2)], power=2)


def test_all_pairs_of_a_hundred_attributes_are_quick():
    sizes = np.random.default_rng(0).integers(2, 20, 100).tolist()
    views = covering_views(sizes, max_cells=1024)
    pairs = list(itertools.combinations(range(100), 2))
    start = time.process_time()
    assert math.isfinite(expected_error(sizes, views, [1.0] * len(views), workload=pairs, power=2))
    assert time.process_time() - start < 2  # a tenth of that when nothing else runs
    assert (
        expected_error(sizes, views[1:], [1.0] * (len(views) - 1), workload=pairs, power=2)
        == math.inf
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sizes": [2, 0]}, r"sizes\[1\] \(0\) must be >= 1"),
        (
            {"views": [(0, 2)]},
            r"views\[0\] \(0, 2\) must hold attributes of 0\.\.1 only, because there are 2",
        ),
        ({"views": [(0, 0)]}, r"views\[0\] \(0, 0\) must name each attribute once"),
        ({"views": [("a",)]}, r"views\[0\]\[0\] \('a'\) must be an int"),
        ({"workload": [(-1,)]}, r"workload\[0\]\[0\] \(-1\) must be >= 0"),
        (
            {"shares": []},
            "shares must hold 1 numbers, but it holds 0; give one number for each view",
        ),
        (
            {"shares": [0.0]},
            r"shares\[0\] \(0\.0\) must be a finite number > 0; change it or drop the view",
        ),
        ({"shares": [math.nan]}, r"shares\[0\] \(nan\) must be a finite number > 0"),
        ({"power": 3}, r"power \(3\) must be 1 or 2; pass 1 if the variance"),
        ({"power": True}, r"power \(True\) must be 1 or 2"),
    ],
)
def test_bad_arguments_name_themselves(changes, says):
    given = {
        "sizes": [2, 3],
        "views": [(0, 1)],
        "shares": [1.0],
        "workload": [(0,)],
        "power": 2,
        **changes,
    }
    with pytest.raises(ValueError, match=says):
        expected_error(
            given["sizes"],
            given["views"],
            given["shares"],
            workload=given["workload"],
            power=given["power"],
        )
