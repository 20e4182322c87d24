import math

import numpy as np
import pytest

from margin import Domain, DomainError, Workload

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


def test_weights_are_one_unless_given():
    assert Workload.of(DOMAIN, [["a", "b"], "c"]).weights == (1.0, 1.0)
    assert Workload.all_kway(DOMAIN, 2).weights == (1.0,) * 3
    assert Workload((("a",), ("b",))).weights == (1.0, 1.0)


@pytest.mark.parametrize("weights", [[1, 2.5], (np.float64(1), np.int64(2)), iter([1, 3])])
def test_weights_are_kept(weights):
    given = list(weights)
    workload = Workload.of(DOMAIN, [["a"], ["b", "c"]], weights=given)
    assert workload.weights == tuple(map(float, given))
    assert Workload.of(DOMAIN, workload) == workload
    assert Workload.of(DOMAIN, workload, weights=[5, 5]).weights == (5.0, 5.0)


def test_a_mapping_from_views_to_weights_is_a_workload():
    workload = Workload.of(DOMAIN, {("a", "b"): 2, ("c",): 1})
    assert (workload.views, workload.weights) == ((("a", "b"), ("c",)), (2.0, 1.0))


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, True, "1", None])
def test_a_weight_that_is_no_finite_number_above_zero_is_refused(weight):
    with pytest.raises(DomainError, match="the weight of view a"):
        Workload.of(DOMAIN, [["a"], ["b"]], weights=[weight, 1])
    with pytest.raises(DomainError, match="the weight of view a"):
        Workload((("a",),), (weight,))


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], [], "12", 3])
def test_weights_must_be_as_many_as_views(weights):
    with pytest.raises(DomainError, match="weights"):
        Workload.of(DOMAIN, [["a"], ["b"]], weights=weights)


@pytest.mark.parametrize("views", [[], "a", [["a", "a"]], [["z"]], 3])
def test_views_that_are_none_are_refused(views):
    with pytest.raises(DomainError):
        Workload.of(DOMAIN, views)


def test_more_views_than_memory_holds_are_refused():
    with pytest.raises(
        DomainError,
        match="at most 10,000,000 views can be listed, but there are 215,553,195 views of 8 "
        "attributes; name some",
    ):
        Workload.all_kway(Domain({f"a{place}": 2 for place in range(45)}), 8)
