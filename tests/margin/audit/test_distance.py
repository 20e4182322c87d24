"""The distance of true answers, in integers of any size."""

import numpy as np
import pytest

from margin.audit.distance import distance, sparse_distance
from margin.audit.violation import Violation


def test_distances_are_of_numbers_of_any_size():
    low, high = np.array([-(2**63), 5]), np.array([2**63 - 1, 5])
    found = distance(low, high)
    assert found.l1 == found.spread == 2**64 - 1 and found.l2_squared == (2**64 - 1) ** 2
    assert distance(np.array([0]), np.array([-(2**63)])).l1 == 2**63
    assert (
        distance(np.array([0, 1], np.uint64), np.array([2**64 - 1, 0], np.uint64)).spread == 2**64
    )
    assert distance(np.array([4, 4]), np.array([7, 7])).spread == 0
    assert distance(np.array([4, 4]), np.array([7, 4])).spread == 3
    assert (
        sparse_distance((np.array([[1, 2]]), np.array([3])), (np.array([[1, 3]]), np.array([3]))).l1
        == 6
    )


@pytest.mark.parametrize("other", [np.zeros(3, int), np.zeros(2, np.int32), np.zeros(2)])
def test_answers_of_another_shape_or_type_are_refused(other):
    with pytest.raises(Violation):
        distance(np.zeros(2, int), other)


def test_answers_that_are_no_integers_are_refused():
    with pytest.raises(Violation, match="integers"):
        distance(np.zeros(2), np.zeros(2))
