"""What may be declared, what a value means, and what is refused."""

import json
import math
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.domain.attribute import UNSEEN, Attribute
from margin.domain.domain import Domain
from margin.errors import DomainError, FileError

INF = math.inf

letters = "aAbtrue01.-+_ \n\"'\\$é²٣語😀"
names = st.text(letters, min_size=1, max_size=8).filter(str.strip)
texts = st.text(letters, min_size=1, max_size=5)
plain = st.one_of(texts, st.integers(-5, 300), st.floats(-9, 9), st.booleans())
edges = st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True).map(sorted)


@st.composite
def forms(draw):
    """The JSON form of an attribute."""
    extras = {key: draw(texts) for key in ("other", "missing") if draw(st.booleans())}
    kind = draw(st.sampled_from(["size", "values", "bins"]))
    if kind == "size":
        size = draw(st.integers(1, 300))
        return {"size": size, **{key: draw(st.integers(0, size - 1)) for key in extras}}
    if kind == "bins":
        inner = draw(edges)
        bins = [*([None] * draw(st.booleans())), *inner, *([None] * draw(st.booleans()))]
        named = {"labels": [f"bin {code}" for code in range(len(bins) - 1)]}
        return {"bins": bins, **(named if draw(st.booleans()) else {}), **extras}
    kept = []
    for value in draw(st.lists(plain, min_size=1, max_size=6)):
        if not kept or Attribute(values=kept).code(value) == UNSEEN == Attribute(
            values=[value]
        ).code(kept[0]):
            try:
                Attribute(values=[*kept, value])
            except DomainError:
                continue
            kept.append(value)
    return {"values": kept, **extras}


MEANINGS = [
    (
        Attribute(size=3),
        [(0, 0), ("2", 2), (1.0, 1), (True, 1), (" 1 ", 1), ("1.0", 1), ("true", 1), (np.True_, 1)],
    ),
    (
        Attribute(size=3),
        [(3, -1), (-1, -1), (0.5, -1), ("x", -1), (None, -1), (INF, -1), ("1_0", -1), (2j, -1)],
    ),
    (
        Attribute(size=3, missing=2, other=0),
        [(None, 2), ("", 2), ("nan", 2), (float("nan"), 2), (7, 0), ("?", 0)],
    ),
    (Attribute(values=["a", "b"]), [("a", 0), (" b", 1), ("A", -1), ("", -1), (None, -1)]),
    (Attribute(values=["a", ""]), [("", 1), (" ", 1), (None, 1)]),
    (Attribute(values=["a", ""], missing="?"), [("", 1), (None, 2), ("?", 2)]),
    (
        Attribute(values=["a"], other="b", missing="c"),
        [("b", 1), ("z", 1), (None, 2), ("c", 2), ("nan", 1)],
    ),
    (
        Attribute(values=["1", 2, 3.5]),
        [(1, 0), ("1.0", 0), (True, 0), ("2", 1), (Decimal("2.00"), 1), ("3.50", 2)],
    ),
    (Attribute(values=["01", "1"]), [("01", 0), ("1", 1), (1, 1), ("001", 1)]),
    (Attribute(values=[0.1]), [(Decimal("0.1"), 0), ("0.10", 0), (0.1, 0), ("nan", -1)]),
    (
        Attribute(values=["true", "false"]),
        [(True, 0), (False, 1), ("True", 0), ("FALSE", 1), (1, 0)],
    ),
    (Attribute(values=[True, False]), [("true", 0), (0, 1), ("0", 1), ("yes", -1)]),
    (Attribute(values=["2020-01-31"]), [(date(2020, 1, 31), 0), ("2020-01-31", 0)]),
    (
        Attribute(bins=[0, 18, 65]),
        [(0, 0), (17.999, 0), (18, 1), ("65", 1), (65.1, -1), (-1, -1), ("x", -1)],
    ),
    (Attribute(bins=[0, 18], other=18), [(18, 0), (19, 1)]),
    (
        Attribute(bins=[None, 0, None], missing="?"),
        [(-INF, 0), (0, 1), (INF, 1), ("", 2), ("NaN", 2)],
    ),
    (
        Attribute(bins=[0.1, 2**53, 2**53 + 1]),
        [(Decimal("0.1"), 0), (2**53 - 1, 0), (2**53 + 1, 1), (2**53 + 2, -1)],
    ),
]


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [(attribute, value, code) for attribute, pairs in MEANINGS for value, code in pairs],
)
def test_what_a_value_means(attribute, value, code):
    assert attribute.code(value) == code


BAD = [
    ({}, "at least one attribute"),
    ([("a", 2)], "must be a mapping from attribute names to declarations.*of type list"),
    ({"": 2}, "name"),
    ({" ": 2}, "name"),
    ({3: 2}, "name"),
    ({"age": 0}, "'age'"),
    ({"age": -4}, "'age'"),
    ({"age": 2**31}, "'age'"),
    ({"age": 2.0}, "'age'"),
    ({"age": True}, "'age'"),
    ({"age": None}, "'age'"),
    ({"age": "3"}, "'age'"),
    ({"age": []}, "'age'"),
    ({"age": ["a", "a"]}, "'age'"),
    ({"age": ["a", " a "]}, "'age'"),
    ({"age": [1, "1"]}, "'age'"),
    ({"age": [1, 1.0]}, "'age'"),
    ({"age": [1, True]}, "'age'"),
    ({"age": ["true", True]}, "'age'"),
    ({"age": ["a", None]}, "'age'"),
    ({"age": ["a", float("nan")]}, "'age'"),
    ({"age": ["a", ["b"]]}, "'age'"),
    ({"age": {}}, "'age'"),
    ({"age": {"values": "abc"}}, "'age'"),
    ({"age": {"size": 2, "values": ["a"]}}, "'age'"),
    ({"age": {"values": ["a"], "extra": 1}}, "'age'.*extra"),
    ({"age": {"size": 3, "other": 3}}, "'age'.*other"),
    ({"age": {"size": 3, "missing": "?"}}, "'age'.*missing"),
    ({"age": {"values": ["a"], "other": ["b"]}}, "'age'"),
    ({"age": {"bins": [1]}}, "'age'"),
    ({"age": {"bins": 5}}, "'age'"),
    ({"age": {"bins": "12"}}, "'age'"),
    ({"age": {"bins": [1, 1]}}, "'age'"),
    ({"age": {"bins": [2, 1]}}, "'age'"),
    ({"age": {"bins": [0, None, 5]}}, "'age'"),
    ({"age": {"bins": [0, float("nan")]}}, "'age'"),
    ({"age": {"bins": [0, "5"]}}, "'age'"),
    ({"age": {"bins": [False, True]}}, "'age'"),
    ({"age": {"bins": [0, 10**400]}}, "'age'"),
    ({"$draft": "review", "age": 2}, "draft"),
]


@pytest.mark.parametrize(("declared", "message"), BAD)
def test_a_wrong_declaration_is_refused_by_name(declared, message):
    with pytest.raises(DomainError, match=message):
        Domain(declared)


@pytest.mark.parametrize("value", ["--5", "-", "9" * 5000, "²", "-0", "+1"])
def test_texts_that_look_like_numbers_may_be_declared(value):
    attribute = Attribute(values=[value, "x"])
    assert attribute.code(value) == 0
    assert attribute.code("x") == 1


@given(forms())
def test_json_gives_the_attribute_back(form):
    attribute = Attribute.from_json(form)
    assert Attribute.from_json(json.loads(json.dumps(attribute.to_json()))) == attribute
    assert len(attribute.labels) == attribute.size


@given(forms())
def test_each_category_has_the_code_of_its_place(form):
    attribute = Attribute.from_json(form)
    if attribute.bins is None:
        assert [attribute.code(label) for label in attribute.labels] == list(range(attribute.size))


@given(forms(), st.one_of(plain, st.none(), st.decimals(allow_nan=False), st.dates(), st.floats()))
def test_every_value_has_a_code_or_is_unseen(form, value):
    attribute = Attribute.from_json(form)
    code = attribute.code(value)
    assert code == UNSEEN or 0 <= code < attribute.size
    if attribute.other is not None and attribute.missing is not None:
        assert code != UNSEEN


@given(st.dictionaries(names, forms(), min_size=1, max_size=5))
def test_json_gives_the_domain_back(declared):
    domain = Domain(declared)
    again = Domain.from_json(domain.to_json())
    assert again == domain
    assert hash(again) == hash(domain)
    assert list(again) == list(declared)


def test_views_and_their_shapes():
    domain = Domain({"a": 2, "b": ["x", "y", "z"], "c": {"bins": [0, 1, 2, 3, 4]}})
    assert domain.attributes == ("a", "b", "c")
    assert domain.sizes == (2, 3, 4)
    assert domain.view("b") == ("b",)
    assert domain.view(["c", "a"]) == ("c", "a")
    assert domain.axes(("c", "a")) == (2, 0)
    assert domain.shape(("c", "a")) == (4, 2)
    assert domain.cells(("c", "a")) == 8
    assert domain.restrict(("c", "a")).attributes == ("c", "a")
    assert domain.get("a").size == 2
    assert domain.get("z") is None
    assert "z" not in domain


@pytest.mark.parametrize("view", [[], ["z"], ["a", "z"], ["a", "a"], "z", [3], [["a"]], 3, None])
def test_a_wrong_view_is_refused(view):
    with pytest.raises(DomainError):
        Domain({"a": 2, "b": 3}).view(view)


def test_many_attributes_are_no_burden():
    declared = {f"a{place}": 2 for place in range(20_000)}
    domain = Domain.from_json(json.dumps(declared))
    assert domain.view(["a19999", "a0"]) == ("a19999", "a0")
    assert domain.cells(domain) == 2**20_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON, but it is not"),
        ('{"a": 2, "a": 3}', "declared twice"),
        ('{"b": {"size": 2, "size": 3}}', "declared twice"),
        ("[2, 3]", "mapping"),
        ("3", "mapping"),
        ("", "must be JSON, but it is not"),
    ],
)
def test_a_file_that_is_no_domain(tmp_path, text, message):
    path = tmp_path / "domain.json"
    path.write_text(text)
    with pytest.raises((DomainError, FileError), match=message):
        Domain(path)


def test_reading_a_domain_file(tmp_path):
    path = tmp_path / "domain.json"
    with pytest.raises(FileError, match="does not exist"):
        Domain(path)
    with pytest.raises(FileError, match="cannot be read"):
        Domain(tmp_path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(FileError, match="cannot be read"):
        Domain(path)
    path.write_bytes(b"\xef\xbb\xbf" + '{"größe": ["klein", "groß"]}'.encode())
    assert Domain(str(path))["größe"].labels == ("klein", "groß")


@pytest.mark.parametrize(
    "edge", ["2024-01-01", "2024-01-01 12:00", date(2024, 1, 1), "2024-02-30", "January", True]
)
def test_edges_of_bins_that_are_dates_are_led_to_dates(edge):
    with pytest.raises(DomainError, match="each edge of bins must be a number") as refused:
        Attribute(bins=[edge, "2025-01-01"])
    is_date = edge in ("2024-01-01", "2024-01-01 12:00", date(2024, 1, 1))
    assert ('{"dates": {"from": ' in str(refused.value)) == is_date
