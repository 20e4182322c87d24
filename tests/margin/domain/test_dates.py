"""Dates as categories: each day belongs to the period that the calendar gives."""

import datetime
import functools
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import Attribute, Domain, DomainError
from margin.cli.arguments.conditions import where_of
from margin.domain.attribute import UNSEEN

KINDS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W-SUN", "day": "D"}
FROM, TO = datetime.date(1999, 11, 15), datetime.date(2004, 2, 29)


def attribute(by, **options):
    return Attribute(dates={"from": FROM, "to": TO.isoformat(), "by": by}, **options)


@settings(max_examples=50)
@given(
    st.sampled_from(sorted(KINDS)), st.dates(datetime.date(1998, 1, 1), datetime.date(2006, 1, 1))
)
def test_the_period_of_a_day_is_that_of_the_calendar(by, day):
    first, period, last = (pd.Period(each, KINDS[by]) for each in (FROM, day, TO))
    expected = period.ordinal - first.ordinal if first <= period <= last else UNSEEN
    dates = attribute(by)
    moment = datetime.datetime.combine(day, datetime.time(23, 59, 59))
    for value in (day, day.isoformat(), moment, str(moment), pd.Timestamp(day)):
        assert dates.code(value) == expected
    if expected != UNSEEN:
        # The label of a period stands for it, in data and in conditions.
        assert dates.code(dates.label(expected)) == expected
        assert dates.category(dates.label(expected)) == expected


@pytest.mark.parametrize("by", KINDS)
def test_declarations_are_kept(by):
    dates = attribute(by, other="out", missing="?")
    assert dates.ordered
    assert dates.size == pd.Period(TO, KINDS[by]).ordinal - pd.Period(FROM, KINDS[by]).ordinal + 3
    assert [dates.code(value) for value in (None, "x", 7, "1e-500", "123e-500", True)] == [
        dates.size - 1,
        *[dates.size - 2] * 5,
    ]
    assert Attribute.from_json(json.loads(json.dumps(dates.to_json()))) == dates


def test_labels():
    ends = {by: attribute(by).labels[:: attribute(by).size - 1] for by in KINDS}
    assert ends == {
        "year": ("1999", "2004"),
        "quarter": ("1999-Q4", "2004-Q1"),
        "month": ("1999-11", "2004-02"),
        "week": ("1999-W46", "2004-W09"),
        "day": ("1999-11-15", "2004-02-29"),
    }


def test_a_time_with_a_zone_belongs_to_its_day_in_utc():
    days = attribute("day")
    east = datetime.timezone(datetime.timedelta(hours=10))
    value = datetime.datetime(2000, 1, 2, 9, 59, tzinfo=east)
    written = ("2000-01-02T09:59:00+10:00", "2000-01-01 23:59Z", pd.Timestamp(value))
    for form in (value, *written):
        assert days.label(days.code(form)) == "2000-01-01"


def test_larger_periods_are_levels():
    days = attribute("day", missing="?")
    assert days.levels.names == ("year", "quarter", "month", "day")
    assert days.levels.sizes == (7, 19, 53, days.size)
    code = days.code("2003-08-31")
    nodes = [group[code] for group in days.levels.groups]
    labels = [labels[node] for labels, node in zip(days.levels.labels, nodes, strict=True)]
    assert labels == ["2003", "2003-Q3", "2003-08", "2003-08-31"]
    assert attribute("quarter").levels.names == ("year", "quarter")
    assert attribute("year").levels is None
    assert attribute("week").levels is None


def test_the_calendar_ends():
    years = Attribute(dates={"from": "0001", "to": 9999, "by": "year"}, other="out")
    assert years.size == 10_000
    odd = ["0001-01-01", "9999-12-31T23:59:59", "0001-01-01T00:00+01:00", "10000-01-01", "0000"]
    assert [years.code(value) for value in odd[:2]] == [0, 9998]
    assert [years.code(value) for value in odd[2:]] == [9999] * 3
    weeks = Attribute(dates={"from": "9999-12-01", "to": "9999-12-31", "by": "week"})
    assert weeks.labels[-1] == "9999-W52"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"from": "2020-01-01", "to": "2020-12-31"}, "the keys from, to, by"),
        ("2020", "dates must be a mapping"),
        ({"from": "2020-01-01", "to": "2019-12-31", "by": "day"}, "from must not be after to"),
        ({"from": "2020-02-30", "to": "2020-12-31", "by": "day"}, r"from \('2020-02-30'\) must be"),
        ({"from": 1.5, "to": "2020-12-31", "by": "day"}, r"from \(1.5\) must be a date"),
        ({"from": "2020-01-01", "to": None, "by": "day"}, r"to \(None\) must be a date"),
        ({"from": "2020-01-01", "to": "2020-12-31", "by": "months"}, "did you mean 'month'"),
        ({"from": "2020-01-01", "to": "2020-12-31", "by": ["day"]}, "by .* must be one of"),
        ({"from": "0001-01-01", "to": "9999-12-31", "by": "day"}, "less than 1,000,000 days"),
    ],
)
def test_wrong_dates_are_refused(form, message):
    with pytest.raises(DomainError, match=message):
        Attribute(dates=form)


@functools.cache
def days_of(by):
    """A domain, and the days of each period, by its label, found day by day."""
    domain = Domain({"visit": {"dates": {"from": "2020-01-01", "to": "2021-12-31", "by": by}}})
    days: dict[str, list[datetime.date]] = {}
    for number in range(760):
        day = datetime.date(2019, 12, 20) + datetime.timedelta(days=number)
        code = domain["visit"].code(day)
        if code != UNSEEN:
            days.setdefault(str(domain["visit"].label(code)), []).append(day)
    return domain, days


@pytest.mark.parametrize("by", KINDS)
@given(
    date=st.dates(datetime.date(2019, 12, 1), datetime.date(2022, 1, 31)),
    operator=st.sampled_from([">=", "<", ">", "<="]),
)
def test_a_comparison_with_a_date_selects_exactly_its_days_or_is_refused(by, date, operator):
    domain, days = days_of(by)
    holds = {">=": date.__le__, "<": date.__gt__, ">": date.__lt__, "<=": date.__ge__}[operator]
    sides = {label: set(map(holds, one)) for label, one in days.items()}
    expected = {label for label, found in sides.items() if found == {True}}
    is_exact = all(len(found) == 1 for found in sides.values())
    is_inside = date in {day for one in days.values() for day in one}
    conditions = [f"visit{operator}{date}"]
    if is_exact and is_inside and expected:
        assert set(where_of(domain, conditions)["visit"]) == expected
    elif is_inside and expected:
        with pytest.raises(DomainError, match="whole"):
            where_of(domain, conditions)
