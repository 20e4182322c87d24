"""What a value means, stated once more in plain Python by another way, and compared with the
library's reading."""

import datetime
import re
import unicodedata
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import DECLARED, KINDS

from margin.data.opening import open_source
from margin.domain.attribute import UNSEEN, Attribute
from margin.domain.domain import Domain
from margin.domain.values import identity

INFINITY = "infinite"
NOTHING = "nothing"


def text_of(value):
    """A value as a person would write it down, or NOTHING."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return NOTHING
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return utc.isoformat()
    return unicodedata.normalize("NFC", str(value)).strip()


def number_of(text):
    """The exact number of a text: a Fraction, or INFINITY with a sign, or None."""
    low = text.lower()
    if low in ("true", "false"):
        return Fraction(low == "true")
    if low.lstrip("+-") in ("inf", "infinity") and len(low) - len(low.lstrip("+-")) < 2:
        return f"-{INFINITY}" if low[0] == "-" else INFINITY
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,4})?", low, re.ASCII):
        return Fraction(Decimal(low))
    return None


def moment_of(text):
    """The date and time of a text, in UTC; None when it is none."""
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def meaning(text):
    """What a text stands for."""
    found = number_of(text)
    return moment_of(text) if found is None else found


def expected(attribute, value):
    """The code of a value by the words of the documents."""
    text = text_of(value)
    other = UNSEEN if attribute.other is None else attribute.labels.index(attribute.other)
    if text == NOTHING or not text:
        return attribute.labels.index(attribute.missing)
    if attribute.values is None:
        return expected_number(attribute, text, other)
    declared = [text_of(label) for label in attribute.values]
    codes = list(range(len(declared)))
    for code, others in enumerate(attribute.spellings):
        declared += map(text_of, others)
        codes += [code] * len(others)
    if text in declared:
        return codes[declared.index(text)]
    # A declared text such as "07" may be a code, and stands for nothing else.
    meanings = [
        None if re.fullmatch(r"\+.*|-?0\d.*", label) else meaning(label) for label in declared
    ]
    stands_for = meaning(text)
    if stands_for is not None and stands_for in meanings:
        return codes[meanings.index(stands_for)]
    if attribute.dates is not None and isinstance(stands_for, datetime.datetime):
        period = period_of(stands_for.date(), attribute.dates.by)
        return declared.index(period) if period in declared else other
    return other


def period_of(day, by):
    """The label of the period that contains a day."""
    quarter = {1: "Q1", 4: "Q2", 7: "Q3", 10: "Q4"}[day.month - (day.month - 1) % 3]
    forms = {"year": "%Y", "quarter": f"%Y-{quarter}", "month": "%Y-%m", "week": "%G-W%V"}
    year, *rest = day.strftime(forms.get(by, "%Y-%m-%d")).split("-")
    # `strftime` does not fill years with zeros on every system.
    return "-".join([year.zfill(4), *rest])


def expected_number(attribute, text, other):
    found = number_of(text)
    if text.lower() == "nan":
        return attribute.labels.index(attribute.missing)
    if found is None:
        return other
    if attribute.bins is None:
        inside = (
            not isinstance(found, str) and found.denominator == 1 and 0 <= found < attribute.size
        )
        return int(found) if inside else other
    edges = [number_of(str(edge)) for edge in attribute.bins]
    finite = [edge for edge in edges if not isinstance(edge, str)]
    if isinstance(found, str):
        return 0 if found.startswith("-") else len(edges) - 2
    return sum(edge <= found for edge in finite)


VALUES = [value for pool, _ in KINDS.values() for value in pool]


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!r}")
def test_a_value_has_the_meaning_that_the_documents_give(name, value):
    attribute = DECLARED[name]
    assert attribute.code(value) == expected(attribute, value)
    (batch,) = open_source({"v": [value, "x", None, 3]}).batches(Domain({"v": attribute}))
    assert batch["v"].tolist() == [expected(attribute, each) for each in (value, "x", None, 3)]


numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    st.floats(width=32, allow_nan=False).map(np.float32),
    st.decimals(allow_nan=False, min_value=-(10**9), max_value=10**9),
)
written = st.one_of(
    numbers.map(str),
    st.text(st.sampled_from("0123456789.eE+- "), max_size=8),
    st.datetimes().map(str),
)


@given(st.one_of(numbers, written))
def test_any_number_has_the_meaning_that_the_documents_give(value):
    for attribute in DECLARED.values():
        assert attribute.code(value) == expected(attribute, value)


@given(written, written)
def test_two_ids_are_one_when_they_mean_the_same(one, other):
    texts = [text_of(one), text_of(other)]
    if "" in texts:
        return
    meanings = [meaning(text) for text in texts]
    same = texts[0] == texts[1] or (meanings[0] is not None and meanings[0] == meanings[1])
    assert (identity(one) == identity(other)) == same


def test_a_declared_code_with_a_zero_before_it_is_a_text():
    attribute = Attribute(values=["07", "8"], other="other")
    assert [attribute.code(value) for value in ("07", 7, "7", "8", 8, "08")] == [0, 2, 2, 1, 1, 1]
