"""Conditions select codes; wrong ones are refused with a message that names the way out."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin import Domain, DomainError
from margin.domain.where import chosen_codes

DOMAIN = Domain(
    {
        "sex": ["F", "M"],
        "age": {"bins": [0, 18, 65, 120.5], "missing": "?"},
        "children": 5,
        "year": {"values": [2001, "2003", 2005], "missing": "never"},
        "region": ["north", "north, far", "south"],
        "place": {
            "levels": {
                "names": ["state", "county"],
                "paths": [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"], ["NV"]],
            }
        },
        "visit": {"dates": {"from": "2019-11-01", "to": "2020-04-30", "by": "month"}},
        "change": {"bins": [float("-inf"), -0.5, 0.1, float("inf")]},
    }
)

SELECTED = [
    ({}, {}),
    ({"sex": "F"}, {"sex": (0,)}),
    ({"sex": ["M", "F"]}, {}),
    ({"sex": {"M"}}, {"sex": (1,)}),
    ({"region": ("south", "north")}, {"region": (0, 2)}),
    ({"region": "north, far"}, {"region": (1,)}),
    ({"region": range(2)}, {"region": (0, 1)}),
    ({"children": 3}, {"children": (3,)}),
    ({"children": "3"}, {"children": (3,)}),
    ({"children": np.int64(3)}, {"children": (3,)}),
    ({"children": np.array([3, 0, 3])}, {"children": (0, 3)}),
    ({"children": range(4, 0, -2)}, {"children": (2, 4)}),
    ({"year": range(2002, 2010)}, {"year": (1, 2)}),
    ({"year": [2001.0, None]}, {"year": (0, 3)}),
    ({"age": (18, 120.5)}, {"age": (1, 2)}),
    ({"age": "[18, 65)"}, {"age": (1,)}),
    ({"age": {"[18, 65)", "?"}}, {"age": (1, 3)}),
    ({"age": None}, {"age": (3,)}),
    ({"change": (float("-inf"), 0.1)}, {"change": (0, 1)}),
    ({"change": (None, 0.1)}, {"change": (0, 1)}),
    ({"sex": "F", "age": (0, 18)}, {"sex": (0,), "age": (0,)}),
    ({"age": (0, 18), "sex": "F"}, {"sex": (0,), "age": (0,)}),
    ({"place@state": "CA"}, {"place": (0, 1)}),
    ({"place@state": ["CA", "NV"]}, {}),
    ({"place@county": "NV"}, {"place": (3,)}),
    ({"place@state": "NV", "sex": "F", "place": ["Clark", "Fresno"]}, {"sex": (0,), "place": (2,)}),
    ({"visit@year": 2020}, {"visit": (2, 3, 4, 5)}),
    ({"visit@year": range(2000, 2020)}, {"visit": (0, 1)}),
    ({"visit@quarter": "2020-Q1", "visit": ["2020-03", "2020-04"]}, {"visit": (4,)}),
]

REFUSED = [
    (["sex"], "of type list"),
    ({"sez": "F"}, "unknown attribute 'sez'.*did you mean 'sex'"),
    ({"region": "sotuh"}, "no category 'sotuh'; its categories are 'north',.*mean 'south'"),
    ({"children": 5}, "no category 5; its categories are 0, 1, 2, 3, 4"),
    ({"sex": []}, "at least one category of attribute 'sex'"),
    ({"sex": {"F": 1}}, "declares no category"),
    ({"sex": [["F"]]}, "declares no category"),
    ({"sex": None}, "declares no category None"),
    ({"sex": b"F"}, "declares no category"),
    ({"children": range(3, 6)}, r"codes from 0 to 4.*range\(3, 6\)"),
    ({"children": range(-1, 2)}, "codes from 0 to 4"),
    ({"region": range(0)}, "at least one"),
    ({"year": range(3)}, "at least one declared value of attribute 'year'"),
    ({"age": range(18)}, r"takes no range.*\(0, 18\)"),
    ({"age": 20}, "declares no bin 20; name a bin by its label"),
    ({"age": "[18, 66)"}, r"did you mean '\[18, 65\)'"),
    ({"age": [18, 65]}, "declares no bin 18"),
    ({"age": (18, 66)}, "its edges are 0, 18, 65, 120.5"),
    # This end is not open: larger values are in another category.
    ({"age": (18, None)}, "two of its edges.*None is an open end"),
    ({"change": (None, None, 0.1)}, "two of its edges"),
    ({"age": (65, 18)}, "low < high"),
    ({"age": (18, 18)}, "low < high"),
    ({"age": (0, 18, 65)}, "two of its edges"),
    ({"age": ()}, "two of its edges"),
    ({"age": (0, "18")}, "two of its edges"),
    ({"age": (False, 18)}, "two of its edges"),
    ({"place@stat": "CA"}, "no level 'stat'; .*did you mean 'state'"),
    ({"place@county": "Fresn"}, "'place@county' declares no category 'Fresn'.*mean 'Fresno'"),
    ({"sex@state": "CA"}, "attribute 'sex': .*declares no levels"),
    ({"place@state": "CA", "place": "Clark"}, "on attribute 'place' must leave at least one"),
    ({"age": (float("nan"), 18)}, "two of its edges"),
    ({"visit": "2020-03-15"}, "counts whole months, but '2020-03-15' .*name the month '2020-03'"),
    ({"visit": ["2020-02", datetime.date(2020, 3, 1)]}, "lies within a month"),
    ({"visit": "2020-03-01 00:00"}, "lies within a month"),
    ({"visit": "2021-03-15"}, "declares no category '2021-03-15'"),
    ({"visit@year": "2020-03-15"}, "declares no category '2020-03-15'"),
]


@pytest.mark.parametrize(("where", "codes"), SELECTED)
def test_conditions_select_codes_in_the_order_of_the_domain(where, codes):
    found = chosen_codes(DOMAIN, where)
    assert found == codes and list(found) == list(codes)


@pytest.mark.parametrize(("where", "message"), REFUSED)
def test_wrong_conditions_are_refused(where, message):
    with pytest.raises(DomainError, match=message):
        chosen_codes(DOMAIN, where)


@given(st.sets(st.integers(0, 6), min_size=1))
def test_a_list_of_categories_selects_them(codes):
    domain = Domain({"a": 7, "b": [f"x{code}" for code in range(7)]})
    expected = tuple(sorted(codes))
    found = chosen_codes(domain, {"a": list(codes), "b": {f"x{code}" for code in codes}})
    # All categories restrict nothing.
    assert found == ({} if len(codes) == 7 else {"a": expected, "b": expected})
