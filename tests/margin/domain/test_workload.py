import itertools
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


MANY = Workload.all_kway(Domain({f"a{place}": 2 for place in range(45)}), 8)


def test_more_views_than_memory_holds_are_refused_where_they_are_visited():
    expected = "at most 10,000,000 views can be listed, but there are 215,553,195 views of 8 "
    with pytest.raises(DomainError, match=expected + "attributes; name some"):
        MANY.check_listed()
    with pytest.raises(DomainError, match="views can be counted"):
        Workload.all_kway(Domain({f"a{place}": 2 for place in range(100)}), 50)


def test_views_of_a_large_workload_are_computed_when_asked():
    assert len(MANY) == len(MANY.weights) == 215_553_195
    assert MANY.views[0] == tuple(f"a{place}" for place in range(8))
    assert MANY.views[-1] == tuple(f"a{place}" for place in range(37, 45))
    assert MANY.views[10**8] in MANY.views
    assert MANY.views[10**8][::-1] not in MANY.views
    assert MANY.weights[10**8] == 1.0
    assert next(iter(MANY)) == MANY.views[0]
    assert "215,553,195 views of 8 attributes" in repr(MANY.views)


@pytest.mark.parametrize(("count", "k"), [(1, 1), (5, 1), (5, 3), (6, 6), (7, 4)])
def test_all_kway_views_are_as_the_tuple_of_all_combinations(count, k):
    domain = Domain({f"a{place}": 2 for place in range(count)})
    workload = Workload.all_kway(domain, k)
    expected = tuple(itertools.combinations(domain.attributes, k))
    written = Workload(expected)
    assert tuple(workload.views) == expected
    assert [workload.views[place] for place in range(len(expected))] == list(expected)
    assert workload.views[::2] == expected[::2]
    assert workload.views[::-1] == expected[::-1]
    assert all(view in workload.views for view in expected)
    assert workload == written
    assert written == workload
    assert hash(workload) == hash(written)
    assert Workload.of(domain, workload).kway == k
    assert repr(workload.views) == repr(expected)
    with pytest.raises(IndexError):
        workload.views[len(expected)]


LEVELS = Domain(
    {
        "age": {"bins": [0, 18, 65, 120], "ordered": True},
        "sex": ["F", "M"],
        "place": {"levels": {"names": ["state", "county"], "paths": [["CA", "x"], ["NV", "y"]]}},
    }
)


def test_levels_and_what_is_asked_are_kept():
    asked = {"age": "prefixes", "place": "levels", "sex": "cells"}
    views = [["place@state", "age"], ["sex", "place"]]
    workload = Workload.of(LEVELS, views, [1, 2], asked=asked)
    assert workload.views == (("place", "age"), ("sex", "place"))
    assert workload.levels == (("state", None), (None, None))
    assert workload.names == (("place@state", "age"), ("sex", "place"))
    assert workload.asked == {"age": "prefixes", "place": "levels"}
    again = Workload.of(LEVELS, workload)
    assert again == workload and hash(again) == hash(workload)
    assert "asked={'age': 'prefixes', 'place': 'levels'}" in repr(workload)
    assert Workload.of(LEVELS, workload, asked={}).asked == {}
    assert Workload.of(LEVELS, views) != workload
    assert Workload.of(LEVELS, [["place", "age"]]).names == (("place", "age"),)
    every = Workload.of(LEVELS, Workload.all_kway(LEVELS, 2), asked=asked)
    assert (every.kway, every.asked["age"]) == (2, "prefixes")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["age"], "asked must be a mapping"),
        ({"aeg": "cells"}, "unknown attribute 'aeg'.*did you mean 'age'"),
        ({"age": "prefix"}, "one of cells, prefixes, ranges, levels, .*did you mean 'prefixes'"),
        ({"age": ["ranges"]}, "one of cells, prefixes"),
        ({"sex": "ranges"}, "'sex' is not declared as ordered"),
        ({"place": "prefixes"}, "'place' is not declared as ordered"),
        ({"age": "levels"}, "'age' declares none"),
        ({"place@state": "cells"}, "'place@state' is a level, but an attribute is needed here"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, message):
    with pytest.raises(DomainError, match=message):
        Workload.of(LEVELS, [["age"]], asked=asked)
