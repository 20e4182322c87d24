"""Encoding a column at once means what `Attribute.code` means, value by value."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from margin.data import encode
from margin.data.encode import Encoder, check_type, code_type, encode_batches, locate, quietly
from margin.domain.attribute import UNSEEN, Attribute
from margin.domain.domain import Domain
from margin.errors import DataError

INF = math.inf
BIG = 2**53

edges = st.one_of(
    st.integers(-6, 6),
    st.floats(-6, 6),
    st.sampled_from([BIG, BIG + 1, BIG + 2, 2**63, -(2**63), 2**64, 1e19, 0.5]),
)
attributes = st.one_of(
    st.integers(1, 300).map(lambda size: Attribute(size=size)),
    st.builds(
        lambda size, a, b: Attribute(size=size, other=a % size, missing=b % size),
        *[st.integers(1, 300)] * 3,
    ),
    st.builds(
        lambda inner, low, high, extras: Attribute(
            bins=[*low, *sorted(set(inner)), *high], **extras
        ),
        st.lists(edges, min_size=2, max_size=6).filter(lambda inner: len(set(inner)) > 1),
        st.sampled_from([[], [-INF]]),
        st.sampled_from([[], [INF]]),
        st.sampled_from([{}, {"other": "rest"}, {"missing": "?"}, {"other": 2, "missing": "?"}]),
    ),
    st.builds(
        lambda values, extras: Attribute(values=values, **extras),
        st.sampled_from(
            [
                ["a", "b", ""],
                [1, "a", 2.5],
                [0, 1],
                ["0", "1", "x y"],
                [True, False],
                [0.5, BIG + 1, "01"],
            ]
        ),
        st.sampled_from(
            [{}, {"other": "rest"}, {"missing": "?"}, {"other": "rest", "missing": "rest"}]
        ),
    ),
)
words = st.sampled_from(
    [
        "a",
        " b",
        "",
        " ",
        "0",
        "1",
        "01",
        "1.0",
        "2.5",
        "true",
        "x y",
        "nan",
        "inf",
        "-3",
        "1e3",
        "?",
        "é",
    ]
)
integers = st.one_of(
    st.integers(-3, 8), st.sampled_from([255, 256, BIG, BIG + 1, 2**63 - 1, -(2**63)])
)
floats = st.one_of(
    st.floats(), st.integers(-3, 8).map(float), st.sampled_from([float(BIG), 0.5, 2.0**63])
)
decimals = st.decimals(-9999, 9999, places=2)
KINDS = [
    (pa.int64(), integers),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint8(), st.integers(0, 255)),
    (pa.uint64(), st.one_of(st.integers(0, 9), st.sampled_from([BIG, BIG + 1, 2**63, 2**64 - 1]))),
    (pa.float64(), floats),
    (pa.float32(), st.floats(width=32)),
    (pa.float16(), st.floats(width=16)),
    (pa.bool_(), st.booleans()),
    (pa.string(), words),
    (pa.large_string(), words),
    (pa.string_view(), words),
    (pa.decimal128(6, 2), decimals),
    *([(pa.decimal32(6, 2), decimals)] if hasattr(pa, "decimal32") else []),
    (pa.decimal256(50, 2), decimals),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.null(), st.none()),
]


@st.composite
def columns(draw):
    """An Arrow column with nulls, of any type that can be read, perhaps a slice, perhaps by a
    dictionary."""
    kind, values = draw(st.sampled_from(KINDS))
    column = pa.array(draw(st.lists(st.one_of(st.none(), values), max_size=12)), kind)
    if draw(st.booleans()):
        column = column[draw(st.integers(0, 3)) :]
    if draw(st.booleans()) and str(kind) not in ("null", "decimal32(6, 2)"):
        column = column.dictionary_encode()
    return column


def kept(column, mask):
    """Some values of a column; not every type has a filter of its own."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(
            column.indices.filter(pa.array(mask, pa.bool_())), column.dictionary
        )
    return pa.array(
        [value for value, keep in zip(column.to_pylist(), mask, strict=True) if keep], column.type
    )


def agrees(attribute, column):
    """Whether the encoder does to a column what the attribute does to each of its values."""
    expected = [attribute.code(value) for value in column.to_pylist()]
    encoder = Encoder("col", attribute)
    if UNSEEN in expected:
        with pytest.raises(DataError, match="'col'"):
            encoder.encode(column)
        column = kept(column, [code != UNSEEN for code in expected])
        expected = [code for code in expected if code != UNSEEN]
    for codes in (encoder.encode(column), encoder.encode(column)):
        assert codes.dtype == code_type(attribute)
        assert codes.tolist() == expected


@settings(max_examples=200)
@given(attributes, columns())
@example(Attribute(size=300, missing=299), pa.array([5, None], pa.uint8()))
@example(Attribute(bins=[0, BIG, BIG + 1, BIG + 2]), pa.array([BIG, BIG + 1, BIG - 1]))
@example(Attribute(bins=[0, 2**64], other=3), pa.array([2**64 - 1], pa.uint64()))
@example(Attribute(bins=[300, 400], other="x"), pa.array([5], pa.uint8()))
@example(Attribute(bins=[0.5, 0.7, 1.5, 2.5], other="x"), pa.array([0, 1, 2, 3]))
@example(Attribute(bins=[0, BIG + 1, BIG + 4]), pa.array([float(BIG), float(BIG + 2)]))
@example(Attribute(bins=[0, 5], other=3), pa.array([3, 9]))
def test_equal_to_the_attribute_value_by_value(attribute, column):
    agrees(attribute, column)


@given(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=20), st.permutations(["a", "b", "c", "z"]))
def test_the_order_of_a_dictionary_does_not_matter_nor_what_is_unused_in_it(places, words):
    attribute = Attribute(values=["a", "b", "c"])
    used = [place for place in places if words[place] != "z"]
    column = pa.DictionaryArray.from_arrays(pa.array(used, pa.int8()), pa.array(words))
    assert Encoder("col", attribute).encode(column).tolist() == [
        "abc".index(words[place]) for place in used
    ]


def test_a_dictionary_that_changes_from_batch_to_batch():
    encoder = Encoder("col", Attribute(values=["a", "b"], missing="?"))
    for words in (["a", "b"], ["b", "a"], ["b", None], ["a"]):
        column = pa.DictionaryArray.from_arrays(
            pa.array([0, None, len(words) - 1], pa.int32()), pa.array(words)
        )
        assert encoder.encode(column).tolist() == [
            encoder.attribute.code(value) for value in column.to_pylist()
        ]


def test_the_memory_of_values_is_bounded(monkeypatch):
    monkeypatch.setattr(encode, "_MOST_CACHED", 10)
    encoder = Encoder("col", Attribute(values=["7"], other="rest"))
    for start in range(0, 200, 25):
        # The declared value comes before the memory is full, and after.
        numbers = [7, *range(start, start + 25), 7]
        codes = encoder.encode(pa.array([f"{number}" for number in numbers] + ["7 ", "07"]))
        assert codes.tolist() == [*(int(number != 7) for number in numbers), 0, 0]
        assert len(encoder._known) <= 10


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65_536, "u2"), (65_537, "u4")]
)
def test_the_smallest_type_that_holds_the_codes(size, dtype):
    attribute = Attribute(size=size)
    assert code_type(attribute) == np.dtype(dtype)
    assert Encoder("col", attribute).encode(pa.array([size - 1, 0])).tolist() == [size - 1, 0]


@pytest.mark.parametrize(
    ("value", "attribute", "message"),
    [
        ("secret", Attribute(values=["a"]), "declare other="),
        ("secret", Attribute(size=4), "declare other="),
        ("secret", Attribute(bins=[0, 4]), "declare other="),
        (77_777, Attribute(size=4), "declare other="),
        (77_777.5, Attribute(bins=[0, 4]), "declare other="),
        (77_777.5, Attribute(size=4), "declare other="),
        (True, Attribute(values=["a"]), "declare other="),
        (Decimal("77777.25"), Attribute(values=["a"]), "declare other="),
        (datetime.date(1977, 7, 7), Attribute(values=["a"]), "declare other="),
        (None, Attribute(size=4), "declare missing="),
        ("", Attribute(values=["a"]), "declare missing="),
        (float("nan"), Attribute(bins=[0, 4]), "declare missing="),
        (float("nan"), Attribute(values=[1]), "declare missing="),
        (None, Attribute(values=["a"], other="b"), "declare missing="),
        ("secret", Attribute(values=["a"], missing="b"), "declare other="),
    ],
)
def test_what_is_not_provided_for_is_refused_without_being_shown(value, attribute, message):
    with pytest.raises(DataError, match=message) as caught:
        Encoder("col", attribute).encode(pa.array([value]))
    assert "'col'" in str(caught.value)
    assert not {"secret", "77777", "77_777", "1977"} & set(str(caught.value).split())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_bad_value_counts_for_more_than_a_null():
    with pytest.raises(DataError, match="other="):
        Encoder("col", Attribute(values=["a"])).encode(pa.array(["z", None]))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int8()),
        pa.struct({"a": pa.int8()}),
        pa.map_(pa.string(), pa.int8()),
        pa.binary(),
        pa.binary(8),
        pa.duration("s"),
        pa.dictionary(pa.int8(), pa.binary()),
        pa.month_day_nano_interval(),
        *([pa.uuid()] if hasattr(pa, "uuid") else []),
    ],
)
def test_a_type_without_plain_values_is_refused(kind):
    with pytest.raises(DataError, match="'col' is of type"):
        check_type("col", kind)
    with pytest.raises(DataError, match="'col'"):
        Encoder("col", Attribute(values=["a"], other="b", missing="c")).encode(pa.nulls(1, kind))


def test_what_a_library_raises_is_dropped():
    def fail():
        raise KeyError("secret")

    with pytest.raises(DataError, match="what to do") as caught:
        quietly(fail, "what to do")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    with pytest.raises(DataError, match="8 characters"):
        quietly(fail, lambda error: f"{len(str(error))} characters")
    invalid = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")
    )
    with pytest.raises(DataError, match="'col' holds values that cannot be read") as caught:
        Encoder("col", Attribute(values=["a"], other="b")).encode(invalid)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_batches_follow_the_domain():
    domain = Domain({"a": 2, "b": ["x", "y"]})
    (batch,) = encode_batches(
        ([pa.array([0, 1]), pa.chunked_array([[word], ["x"]])] for word in "y"), domain
    )
    assert {name: codes.tolist() for name, codes in batch.items()} == {"a": [0, 1], "b": [1, 0]}


def test_finding_columns():
    domain = Domain({"a": 2, "b": 2, "3": 2})
    assert locate(["b", "x", "a", 3, "x"], domain, "it") == {"a": 2, "b": 0, "3": 3}
    assert locate([" b", "B", "a ", "a", "3"], domain, "it") == {"a": 3, "b": 0, "3": 4}
    for names, message in [
        (["a", "b"], "no column named '3'"),
        (["a", "b", "3", "b"], "more than one column named 'b'"),
    ]:
        with pytest.raises(DataError, match=f"it has {message}"):
            locate(names, domain, "it")


# The code of a value does not depend on how many others there are.
CROWDS = [
    (Attribute(size=5, other=3, missing=4), pa.array([1, 9, None, -4])),
    (Attribute(size=5, other=3, missing=4), pa.array([1.0, 9.0, None, float("nan"), 0.5])),
    (Attribute(bins=[0, 2, 5], other="x", missing="?"), pa.array([1, 9, None, 5], pa.uint8())),
    (Attribute(bins=[0, 2, 5], other="x", missing="?"), pa.array([1.5, 9.0, None], pa.float32())),
    (Attribute(values=["a", "b"], other="x", missing="?"), pa.array(["b", "c", None, " a", ""])),
    (
        Attribute(values=["a", "b"], other="x", missing="?"),
        pa.array(["b", "c", None]).dictionary_encode(),
    ),
    (Attribute(values=["true", "2"], other="x", missing="?"), pa.array([True, False, None])),
]


@pytest.mark.parametrize(("attribute", "column"), CROWDS, ids=lambda value: str(value)[:30])
def test_the_code_of_a_value_is_the_same_among_many(attribute, column):
    """A batch of one value, and of one value among others, both of the largest size."""
    alone = [Encoder("col", attribute).encode(column[at : at + 1])[0] for at in range(len(column))]
    for place, code in enumerate(alone):
        crowd = np.full(encode.ROWS, place)
        assert (Encoder("col", attribute).encode(column.take(pa.array(crowd))) == code).all()
        crowd[-1] = (place + 1) % len(column)
        codes = Encoder("col", attribute).encode(column.take(pa.array(crowd)))
        assert (codes == np.array(alone)[crowd]).all()


PERIODS = {
    by: Attribute(
        dates={"from": "1969-12-30", "to": "2020-02-29", "by": by}, other="rest", missing="?"
    )
    for by in ("year", "quarter", "month", "week", "day")
}
# A certain time has a category of its own here, so times of one day have different codes.
PERIODS["a time"] = Attribute(
    dates={"from": "2020-01-01", "to": "2020-01-31", "by": "day"}, other="2020-01-05T12:00:00"
)


@given(
    st.sampled_from(sorted(PERIODS)),
    st.lists(st.one_of(st.none(), st.datetimes(), st.just(datetime.datetime(2020, 1, 5, 12)))),
    st.sampled_from([None, "UTC", "Europe/Berlin", "-08:00"]),
)
@settings(max_examples=40)
@example("day", [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None], "Europe/Berlin")
def test_a_time_has_the_code_of_its_day_in_utc(by, values, zone):
    attribute = PERIODS[by]
    if attribute.missing is None:
        values = [value for value in values if value is not None]
    column = pa.array(values, pa.timestamp("us")).cast(pa.int64()).view(pa.timestamp("us", zone))
    codes = Encoder("v", attribute).encode(column)
    assert codes.tolist() == [attribute.code(value) for value in values]


def test_a_time_beyond_the_calendar_belongs_to_no_period():
    column = pa.array([2**50, -(2**50), 0], pa.int64()).view(pa.timestamp("s"))
    assert Encoder("v", PERIODS["day"]).encode(column).tolist() == [
        PERIODS["day"].other_code,
        PERIODS["day"].other_code,
        2,
    ]
    unknown = Attribute(dates={"from": "2020", "to": "2021", "by": "year"})
    with pytest.raises(DataError, match="more dates, or shorter paths of levels"):
        Encoder("v", unknown).encode(column)
