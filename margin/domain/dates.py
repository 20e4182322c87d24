"""`Dates`: an attribute's categories as years, quarters, months, weeks or days of the calendar."""

import contextlib
import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._names import did_you_mean
from ..errors import DomainError
from .values import instant, written

__all__ = ["Dates"]

_KEYS = ("from", "to", "by")
"""The keys of the JSON form."""

_MOST_PERIODS = 1_000_000
"""Largest number of categories."""

_ABOVE = {"year": (), "quarter": ("year",), "month": ("year", "quarter"), "week": ()}
_ABOVE["day"] = ("year", "quarter", "month")
"""The larger periods that each kind of period lies within. A week may lie in two years."""


_DAY_LENGTH = len("2020-01-31")


@dataclass(frozen=True)
class Dates:
    """The periods of the calendar from one date to another, each of which is a category.

    A date, or a date and time, belongs to the period that contains its day. A time with a zone is
    converted to UTC first, so its day is the day in UTC; see `margin.domain.values`. The first and
    the last period count as a whole. The label of a period stands for it as well.

    Attributes
    ----------
    by
        "year", "quarter", "month", "week" (from Monday to Sunday, as in ISO 8601) or "day".
    first, last
        The numbers of the first and the last period, counted from the period of 1 January of the
        year 1 on.

    Examples
    --------
    >>> dates = Dates.of({"from": "2020-11-01", "to": "2021-01-31", "by": "month"})
    >>> dates.labels
    ('2020-11', '2020-12', '2021-01')
    >>> dates.code("2020-12-24"), dates.code("2021-01-01 00:30"), dates.code("2021-02-01")
    (1, 2, None)
    """

    by: str
    first: int
    last: int

    @classmethod
    def of(cls, form: object) -> "Dates":
        """Check the form `{"from": date, "to": date, "by": period}`.

        A date is a text such as "2020-01-31", the label of a period, or a `datetime.date`.

        Raises
        ------
        DomainError
            When the form is another one, a date does not exist, or `to` is before `from`.
        """
        example = '{"from": "2020-01-01", "to": "2025-12-31", "by": "month"}'
        if not isinstance(form, Mapping) or set(form) != set(_KEYS):
            raise DomainError(
                f"dates must be a mapping with the keys {', '.join(_KEYS)}, such as {example}; "
                "write it in this form"
            )
        by = form["by"]
        if not isinstance(by, str) or by not in _NUMBERS:
            raise DomainError(
                f"by ({by!r}) must be one of {', '.join(_NUMBERS)}; name one of these"
                f"{did_you_mean(by, _NUMBERS)}"
            )
        first, last = (_declared_number(key, form[key], by) for key in ("from", "to"))
        if not first <= last < first + _MOST_PERIODS:
            problem = "after" if first > last else f"less than {_MOST_PERIODS:,} {by}s before"
            wanted = "must not be" if first > last else "must be"
            raise DomainError(f"from {wanted} {problem} to; correct one of the two dates")
        return cls(by, first, last)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the periods, in order, such as "2020", "2020-Q1", "2020-01", "2020-W05" and
        "2020-01-31"."""
        numbers = range(self.first, self.last + 1)
        return tuple(_label(_FIRST_DAYS[self.by](number), self.by) for number in numbers)

    def code(self, text: str) -> int | None:
        """The code of the period that contains the date in a text; None if there is none.

        The text is one that `margin.domain.values.written` returns.
        """
        day = _day(text)
        if day is None:
            return None
        number = _NUMBERS[self.by](day)
        return number - self.first if self.first <= number <= self.last else None

    def is_part(self, text: str) -> bool:
        """Whether a text stands for a time that is only a part of a period: a time within a day, or
        a day within a longer period. The text is one that `written` returns."""
        if _day(text) is None:
            return False
        return self.by != "day" or not _is_midnight(text)

    def edge(self, text: str, *, after: bool = False) -> int | None:
        """The code of the period that begins with the day in a text, or after that day.

        It is the number of periods if the last one ends there. None if no period begins there, or
        the text is a time within a day.
        """
        day = _day(text)
        if day is None or not _is_midnight(text):
            return None
        number = _NUMBERS[self.by](day)
        # The neighbouring day lies in another period, or outside the calendar.
        end = datetime.date.max if after else datetime.date.min
        step = datetime.timedelta(days=1 if after else -1)
        if day != end and _NUMBERS[self.by](day + step) == number:
            return None
        edge = number + after - self.first
        return edge if 0 <= edge <= self.last - self.first + 1 else None

    def nearest_edges(self, code: int) -> list[str]:
        """The first day of a period, and that of the period after it."""
        days = []
        for number in (self.first + code, self.first + code + 1):
            # The calendar ends with the year 9999.
            with contextlib.suppress(ValueError, OverflowError):
                days.append(_FIRST_DAYS[self.by](number).isoformat())
        return days

    @property
    def level_names(self) -> tuple[str, ...]:
        """The kinds of periods that these lie within, from the largest, followed by their own kind;
        empty if there is only their own."""
        above = _ABOVE[self.by]
        return (*above, self.by) if above else ()

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """For each period the labels of the periods that it lies within, and its own."""
        first_days = map(_FIRST_DAYS[self.by], range(self.first, self.last + 1))
        return [tuple(_label(day, by) for by in self.level_names) for day in first_days]

    def to_json(self) -> dict[str, str]:
        """The JSON form: the labels of the first and the last period."""
        ends = [_label(_FIRST_DAYS[self.by](number), self.by) for number in (self.first, self.last)]
        return {"from": ends[0], "to": ends[1], "by": self.by}


def _day(text: str) -> datetime.date | None:
    """The day of a text that stands for a date, or for a date and time; None for any other text."""
    form = instant(text)
    return None if form is None else datetime.date.fromisoformat(form[:10])


def _is_midnight(text: str) -> bool:
    """Whether a text that stands for a date gives no time, or midnight."""
    form = instant(text)
    return form is not None and len(form) == _DAY_LENGTH


def _declared_number(
    key: str,
    value: Any,
    by: str,
) -> int:
    """The number of the period that `from` or `to` declares."""
    is_date = isinstance(value, str | int | datetime.date)
    text = written(value) if is_date else None
    day = _day(text or "") or _day_of_label(text or "", by)
    if day is None:
        raise DomainError(
            f"{key} ({value!r}) must be a date that exists, such as '2020-01-31'; correct it"
        )
    return _NUMBERS[by](day)


def _day_of_label(text: str, by: str) -> datetime.date | None:
    """The first day of the period with a label; None for any other text."""
    try:
        if by == "week":
            day = datetime.date.fromisoformat(f"{text}-1")
        elif by == "quarter":
            year, quarter = text.split("-Q")
            day = datetime.date(int(year), 3 * int(quarter) - 2, 1)
        else:
            day = datetime.date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        return None
    return day if _label(day, by) == text else None


def _label(day: datetime.date, by: str) -> str:
    """The name of the period of a kind that contains a day."""
    if by == "year":
        return f"{day.year:04d}"
    if by == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if by == "month":
        return f"{day.year:04d}-{day.month:02d}"
    if by == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return day.isoformat()


_NUMBERS: Mapping[str, Callable[[datetime.date], int]] = {
    "year": lambda day: day.year - 1,
    "quarter": lambda day: 4 * (day.year - 1) + (day.month - 1) // 3,
    "month": lambda day: 12 * (day.year - 1) + day.month - 1,
    # Day 1 of the calendar, 1 January of the year 1, is a Monday.
    "week": lambda day: (day.toordinal() - 1) // 7,
    "day": lambda day: day.toordinal() - 1,
}
"""The number of the period that contains a day, by kind."""

_FIRST_DAYS: Mapping[str, Callable[[int], datetime.date]] = {
    "year": lambda number: datetime.date(number + 1, 1, 1),
    "quarter": lambda number: datetime.date(number // 4 + 1, 3 * (number % 4) + 1, 1),
    "month": lambda number: datetime.date(number // 12 + 1, number % 12 + 1, 1),
    "week": lambda number: datetime.date.fromordinal(7 * number + 1),
    "day": lambda number: datetime.date.fromordinal(number + 1),
}
"""The first day of the period with a number, by kind."""
