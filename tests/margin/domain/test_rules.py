"""What no row can be, and how many rows there are: declared in the domain."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from margin.domain.domain import Domain
from margin.errors import DomainError

PEOPLE = {
    "age": {"bins": [0, 18, 65, 120]},
    "marital": ["single", "married", "widowed"],
    "children": {"size": 4},
    "income": {"values": ["low", "high"], "missing": "not stated", "other": "odd"},
}
YOUNG = {"age": "0 to under 18", "marital": ["married", "widowed"]}


def test_categories_are_named_by_label_by_value_or_as_missing():
    one = Domain(PEOPLE, impossible=[YOUNG, {"age": "[0, 18)", "income": "not stated"}])
    same = Domain(
        PEOPLE,
        impossible=[
            {"income": None, "age": 7},
            {"marital": ("widowed", "married"), "age": [17.5, 0]},
        ],
    )
    assert one == same and hash(one) == hash(same)
    assert one.impossible == (
        {"age": "0 to under 18", "income": "not stated"},
        {"age": "0 to under 18", "marital": ["married", "widowed"]},
    )


def test_it_says_which_cells_are_possible():
    domain = Domain(PEOPLE, impossible=[YOUNG])
    expected = np.ones((3, 3), bool)
    expected[0, 1:] = False
    assert (domain.possible(["age", "marital"]) == expected).all()
    assert (
        domain.possible(["marital", "children", "age"]) == expected.T[:, None, :].repeat(4, axis=1)
    ).all()
    assert domain.possible(["age", "income"]).all() and Domain({"a": 2}).possible("a").all()


def test_what_rules_leave_nothing_for_is_impossible():
    """No category of b goes with a = 0."""
    domain = Domain(
        {"a": 2, "b": 3, "c": 2}, impossible=[{"a": 0, "b": [0, 1]}, {"a": 0, "b": 2, "c": [0, 1]}]
    )
    assert domain.possible("a").tolist() == [False, True]
    assert domain.possible(["c", "a"]).tolist() == [[False, True]] * 2


@st.composite
def domains(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    names = [f"a{place}" for place in range(len(sizes))]
    rule = st.fixed_dictionaries(
        {},
        optional={
            n: st.lists(st.integers(0, s - 1), min_size=1, max_size=s)
            for n, s in zip(names, sizes, strict=True)
        },
    ).filter(bool)
    rules = draw(st.lists(rule, max_size=4))
    full = np.zeros(sizes, bool)
    for some in rules:
        full[
            np.ix_(*[some.get(name, range(size)) for name, size in zip(names, sizes, strict=True)])
        ] = True
    assume(not full.all())
    return Domain(
        dict(zip(names, sizes, strict=True)),
        impossible=rules,
        rows=draw(st.none() | st.integers(1, 99)),
    ), full


@given(domains())
@settings(max_examples=40)
def test_possible_is_what_some_possible_cell_adds_to(made):
    domain, impossible = made
    for size in range(1, len(domain) + 1):
        for view in itertools.permutations(domain, size):
            axes = domain.axes(view)
            dropped = tuple(axis for axis in range(len(domain)) if axis not in axes)
            expected = (~impossible).any(axis=dropped).transpose(np.argsort(np.argsort(axes)))
            assert (domain.possible(view) == expected).all()


@given(domains())
@settings(max_examples=40)
def test_files_keep_rules_and_rows(made):
    domain, _ = made
    for other in (
        Domain.from_json(domain.to_json()),
        Domain(json.loads(domain.to_json())),
        Domain(domain),
    ):
        assert other == domain and hash(other) == hash(domain) and other.rows == domain.rows
        assert other.impossible == domain.impossible
    assert pickle.loads(pickle.dumps(domain)) == domain


def test_labels_of_every_kind_go_through_files():
    domain = Domain(
        PEOPLE,
        impossible=[
            YOUNG,
            {"income": ["odd", None], "age": "[65, 120]"},
            {"children": 3, "age": 1},
        ],
    )
    assert Domain.from_json(domain.to_json()) == domain
    assert len(domain.impossible) == 3


def test_a_view_has_the_rules_that_name_no_others():
    domain = Domain(PEOPLE, impossible=[YOUNG, {"age": 3, "children": 3}], rows=50)
    part = domain.restrict(["marital", "age"])
    assert part.impossible == (YOUNG,) and part.rows == 50
    assert part == Domain(
        {name: PEOPLE[name] for name in ("marital", "age")}, impossible=[YOUNG], rows=50
    )
    assert not domain.restrict(["children"]).impossible


def test_rules_and_rows_tell_domains_apart():
    plain = Domain(PEOPLE)
    assert (
        len(
            {
                plain,
                Domain(PEOPLE, impossible=[YOUNG]),
                Domain(PEOPLE, rows=5),
                Domain(PEOPLE, rows=6),
            }
        )
        == 4
    )


def test_a_domain_that_is_given_keeps_its_own_and_gets_more():
    before = Domain(PEOPLE, impossible=[YOUNG], rows=7)
    after = Domain(before, impossible=[{"children": 3, "age": 2}])
    assert after.rows == 7 and len(after.impossible) == 2
    assert Domain(before, rows=7) == before
    with pytest.raises(DomainError, match="declared as 7 and as 8"):
        Domain(before, rows=8)


def test_a_file_may_declare_both(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({**PEOPLE, "$impossible": [YOUNG], "$rows": 12}))
    assert Domain(path) == Domain(PEOPLE, impossible=[YOUNG], rows=12)


@pytest.mark.parametrize(
    ("impossible", "says"),
    [
        ("age", "must be a list of rules"),
        ({"age": 3}, "must be a list of rules"),
        (5, "must be a list of rules"),
        ([3], "rule 1 of impossible must be a mapping"),
        ([YOUNG, {}], "rule 2 of impossible must be a mapping"),
        ([{"agee": 3}], "must name attributes of the domain, but 'agee'"),
        ([{"age": []}], "must list at least one category of 'age'"),
        ([{"age": 130}], "attribute 'age' declares no category 130"),
        ([{"age": None}], "declares no category None"),
        (
            [{"income": "hihg", "age": 3}],
            "declares no category 'hihg'",
        ),  # and is not taken for the other
        ([{"age": {"bins": 3}}], "declares no category"),
        ([{"age": [0, 20, 100]}], "must leave at least one combination"),
        (
            [{"age": 0}, {"age": [20, 70], "children": [0, 1, 2, 3]}],
            "must leave at least one combination",
        ),
    ],
)
def test_wrong_rules_are_refused(impossible, says):
    with pytest.raises(DomainError, match=says):
        Domain(PEOPLE, impossible=impossible)


@pytest.mark.parametrize("rows", [0, -3, 2.5, True, "many", float("nan")])
def test_wrong_numbers_of_rows_are_refused(rows):
    with pytest.raises(DomainError, match="rows"):
        Domain(PEOPLE, rows=rows)


def test_rules_too_entangled_to_tell_are_refused():
    names = [f"a{place}" for place in range(40)]
    with pytest.raises(DomainError, match="are too large to be treated exactly"):
        Domain(dict.fromkeys(names, 2), impossible=[dict.fromkeys(names, 1)])


def test_rules_about_too_many_categories_are_refused():
    with pytest.raises(DomainError, match="at most 16,777,216 categories, but 'a' has 33,554,432"):
        Domain({"a": 2**25, "b": 2}, impossible=[{"a": 0, "b": 1}])


def test_many_rules_on_many_attributes_are_no_trouble():
    """Children have no value but the first in sixty attributes: 5 ** 60 cells, of which few
    matter."""
    names = [f"a{place}" for place in range(60)]
    domain = Domain(
        {"age": 100, **dict.fromkeys(names, 5)},
        impossible=[{"age": range(18), name: [1, 2, 3, 4]} for name in names],
    )
    assert domain.possible(["a3", "age"]).sum() == 5 * 82 + 18
    assert domain.possible(["a3", "a7"]).all()
