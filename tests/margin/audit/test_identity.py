"""The audit's own identity of units is the same relation as the library's."""

import datetime as dt
import decimal
import itertools
import uuid

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.audit.identity import AMBIGUOUS, identity_of
from margin.domain.values import identity

ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))
VALUES = [
    *(7, 7.0, "7", " 7 ", "07", "7.0", "+7", "7.", ".7e1", "70e-1", np.float32(7), np.int8(7)),
    *(decimal.Decimal("7.00"), np.uint64(7), "7_0", "\u0667", "7e400", "70e399", "7e9999"),
    *(True, np.bool_(True), "TRUE", "true", 1, "1.0", "yes", False, "False", 0, -0.0, "-0", "0.0"),
    *(0.1, np.float32(0.1), np.float16(0.1), "0.1", "0.10", decimal.Decimal("0.1")),
    *(5e10, 50_000_000_000, "5e10", "5E+10", 2.0**53, 2**53, str(2**53), np.float32(2**24)),
    *(np.float64(1e300), 1e300, "1e300", 10**30, float("inf"), "inf", "+Infinity", "-inf"),
    *(decimal.Decimal("Infinity"), decimal.Decimal("NaN"), float("nan"), "nan", None, pd.NA),
    *(pd.NaT, np.datetime64("NaT"), "", "  ", "\u00a0", "A-17", "a-17", "e\u0301", "\u00e9"),
    *(dt.date(2024, 1, 2), "2024-01-02", "2024-01-02 00:00", "2024-01-02T00:00:00.000"),
    *(dt.datetime(2024, 1, 2), pd.Timestamp("2024-01-02"), np.datetime64("2024-01-02")),
    *(np.datetime64("2024-01-02T00", "h"), "2024-01-02 05:30+05:30", "2024-01-02 05:30 +0530"),
    *(dt.datetime(2024, 1, 2, 5, 30, tzinfo=ZONE), "2024-01-02T00:00Z", "2024-01-02Z", "2024-1-2"),
    *("2024-01-02 05+05:30", "2024-01-02 05:00+05", "2024-01- 2", "2024-02-30", "20240102"),
    *(dt.datetime(2024, 1, 2, 3, 4, 5, 250_000), "2024-01-02 03:04:05.25", "0001-01-01"),
    *(pd.Timestamp(1, unit="ns"), "1970-01-01T00:00:00.000000001", np.datetime64(1, "ns")),
    *(dt.time(12, 30, 5), "12:30:05", dt.time(12, 30, 5, 250_000), "12:30:05.25", dt.time(1, 2)),
    *(uuid.UUID(int=5), str(uuid.UUID(int=5)), "2024-01-02T00:00:00.0000000000", "Infinityx"),
]


def by_the_library(value):
    try:
        return identity(value)
    except ValueError:
        return AMBIGUOUS


def test_the_audit_and_the_library_identify_the_same_values():
    theirs = [by_the_library(value) for value in VALUES]
    ours = [identity_of(value) for value in VALUES]
    for (a, our_a, their_a), (b, our_b, their_b) in itertools.combinations(
        zip(VALUES, ours, theirs, strict=True), 2
    ):
        assert (our_a == our_b) == (their_a == their_b), (a, b)
    for value, our, their in zip(VALUES, ours, theirs, strict=True):
        assert (our is None) == (their is None), value
        assert (our == AMBIGUOUS) == (their == AMBIGUOUS), value


@given(st.floats(width=32, allow_nan=False))
def test_a_float_of_either_width_is_its_own_text(number):
    for value in (number, np.float32(number)):
        found = identity_of(value)
        assert found == AMBIGUOUS or found == identity_of(str(value))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers(0, 3))
def test_a_decimal_is_its_own_text(number, zeros):
    assert identity_of(number) == identity_of(f"{number}{'0' * zeros}")


@pytest.mark.parametrize("text", ["A-17", "7x", "e5", "+-1", "1 2", "truee"])
def test_other_texts_are_themselves(text):
    assert identity_of(text) == ("text", text)
