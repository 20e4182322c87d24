"""`check_fit`: every column of a table that does not fit a domain, with counts. It shows values of
the data, so it is for the holder of the data only."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._names import did_you_mean
from ..domain.attribute import UNSEEN, Attribute
from ..domain.domain import Domain
from ..domain.values import written
from ..errors import DataError
from ..interrupts import watched
from .encode import Encoder, one_chunk, plain_values
from .files import FileSource
from .folders import FilesSource
from .opening import open_source
from .rows_per_person import possible_identities
from .source import Source, Tabular

__all__ = ["Misfit", "check_fit"]

_MOST_COUNTED = 100_000
"""Largest number of different values that are counted one by one, for each column."""

_SHOWN = 5
"""Number of values that a misfit shows."""

_MOST_NAMES = 20
"""Largest number of columns that a message lists."""

_MANY_OTHERS = 0.5
"""Share of the rows in `other` above which a column is listed."""

_NULL_WORDS = {"na", "n/a", "null", "none", "nan", "."}
"""Texts, in small letters, by which other programs write that a value is missing. In `margin` they
are texts like all others."""

_DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")
"""Numbers such as 12,50 or 1.234,50."""

_DAY_FIRST = re.compile(r"[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})")
"""Dates such as 31.12.2025 or 12/31/25."""


@dataclass
class Misfit:
    """What does not fit in one column, or fits only as `other`.

    It is derived from the data, so it is not private.

    Attributes
    ----------
    column
        The name of the attribute.
    problem
        Why the column cannot be read at all; empty if it can.
    missing
        Number of rows with a null or an empty cell, if the attribute declares no category for them.
    unseen
        Number of rows with a value that has no category.
    values
        The most frequent of these values, each with its number of rows and with a hint such as
        "; did you mean 'female'?".
    has_bins
        Whether the attribute declares bins.
    rows
        Number of rows of the table.
    others
        Number of rows that are counted in the category of other values, if these are most rows or
        some of them hold a text such as NA, which may stand for a missing value.
    advice
        What to do about values that are written in the manner of another country or program; else
        empty.
    is_unit
        Whether the column is the one that names the unit of each row.
    """

    column: str
    problem: str = ""
    missing: int = 0
    unseen: int = 0
    values: list[tuple[str, int, str]] = field(default_factory=list)
    has_bins: bool = False
    rows: int = 0
    others: int = 0
    advice: str = ""
    is_unit: bool = False

    @property
    def fits(self) -> bool:
        """Whether a release would take the column, though most of it may be `other`."""
        return not (self.problem or self.missing or self.unseen)

    def lines(self) -> list[str]:
        """The misfit in words, one line for each problem."""
        lines = [self.problem] if self.problem else []
        if self.missing and self.is_unit:
            lines.append(
                f"names no unit in {_rows(self.missing)} (null, NaN or blank), but every row must: "
                "leave such rows out, or give each of them its own id"
            )
        elif self.missing:
            rows = _rows(self.missing)
            declare = 'add "missing": "unknown" to the attribute'
            lines.append(f"empty in {rows} (null or blank): {declare}")
        shown = ", ".join(f"{value!r} ({_rows(rows)}{hint})" for value, rows, hint in self.values)
        if self.unseen:
            declare = "widen the bins" if self.has_bins else "declare the value"
            declare += ', or add "other": "other" to the attribute'
            lines.append(
                f"a value without a category in {_rows(self.unseen)}, such as {shown}: "
                f"{self.advice or declare}"
            )
        if self.others:
            lines.append(
                f'counted as "other" in {self.others:,} of {_rows(self.rows)}, such as {shown}: '
                f"{self.advice or 'declare the values that should have a category of their own'}"
            )
        return lines


def check_fit(
    data: object,
    domain: Domain,
    *,
    unit: str | None = None,
) -> list[Misfit]:
    """Compare a table with a domain. All columns and all rows are looked at.

    A column of which most rows are counted as `other` fits, but is listed, too: most often its
    values are written in another way than the declaration expects. So is a column with texts such
    as NA among them, by which other programs write that a value is missing.

    The result is not private: it shows numbers of rows and values of the data. Use it before a
    release, on the machine that holds the data, and do not publish it.

    Parameters
    ----------
    data
        Data that `open_source` accepts and that has named columns.
    domain
        The declared attributes.
    unit
        The column that names the unit of each row, as for `release`.

    Returns
    -------
    list of Misfit
        One for each column that does not fit or is mostly `other`, and one for the unit column if a
        row does not name its unit; empty if there is none.

    Raises
    ------
    DataError
        When the table cannot be read.

    Examples
    --------
    >>> table = {"sex": ["F", "M", "f", None], "age": [3, 4, 5, 200]}
    >>> found = check_fit(table, Domain({"sex": ["F", "M"], "age": {"bins": [0, 18, 120]}}))
    >>> [(misfit.column, misfit.missing, misfit.unseen) for misfit in found]
    [('sex', 1, 1), ('age', 0, 1)]
    """
    source = open_source(data)
    if not isinstance(source, Tabular):
        raise DataError(
            "only a table with named columns can be compared with a domain, but "
            f"{type(source).__name__} has none; pass a file, a query, a data frame or a dict"
        )
    with watched():
        misfits = {name: Misfit(name, problem) for name, problem in _unreadable(source, domain)}
        present = [name for name in domain if name not in misfits]
        columns = [_Column(name, domain[name]) for name in present]
        units, without = _unit_column(source, unit)
        read = list(dict.fromkeys([*present, *([units.name] if units else [])]))
        if read:
            for arrays in source.columns(read):
                # The attributes come first; a unit that is not declared is the last column.
                for column, array in zip(columns, arrays, strict=False):
                    column.add(array)
                if units:
                    units.add(arrays[read.index(units.name)])
    for column in columns:
        if column.missing or column.unseen or column.has_odd_others:
            misfits[column.name] = column.misfit()
    found = [misfits[name] for name in domain if name in misfits]
    if units:
        without = units.misfit()
    return [*found, without] if without else found


def _unit_column(
    source: Source,
    unit: str | None,
) -> "tuple[_Units | None, Misfit | None]":
    """The unit column if there is one to look at, or what is wrong with it."""
    if unit is None:
        return None, None
    problems = _unreadable(source, Domain({unit: 1}))
    if problems:
        return None, Misfit(unit, problems[0][1], is_unit=True)
    return _Units(unit), None


def _unreadable(source: Source, domain: Domain) -> list[tuple[str, str]]:
    """The attributes whose columns cannot be read, with the reasons.

    DataError if no column can be read for the same reason, such as a file that does not exist.
    """
    problems: list[tuple[str, str]] = []
    known = _names(source)
    for name, attribute in domain.items():
        try:
            source.check(Domain({name: attribute}))
        except DataError as error:
            is_named = name in known or name.strip() in map(str.strip, known)
            if is_named or not known:
                problems.append((name, str(error)))
            else:
                problems.append((name, _no_column(name, known)))
    reasons = {problem.replace(repr(name), "") for name, problem in problems}
    if len(problems) == len(domain) and len(reasons) == 1 and not known:
        raise DataError(problems[0][1])
    return problems


def _no_column(name: str, known: Sequence[str]) -> str:
    """The problem of an attribute without a column, with the names of the columns."""
    listed = ", ".join(map(repr, known[:_MOST_NAMES]))
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    hint = did_you_mean(name, known)
    return f"there is no such column; the columns are {listed}{more}{hint}"


def _names(source: Source) -> list[str]:
    """The names of the columns of a file; empty for other sources."""
    try:
        if isinstance(source, FileSource):
            return [field.name for field in source.fields()]
        if isinstance(source, FilesSource):
            return [field.name for field in source.query()[1]]
    except DataError:
        return []
    return []


class _Units:
    """The unit column, and what does not fit in it so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows = 0
        self._without = 0
        self._problem = ""

    def add(self, array: Any) -> None:
        """Look at the values of some rows, an Arrow array."""
        self._rows += len(array)
        try:
            self._without += possible_identities(self.name, array).null_count
        except DataError as error:
            self._problem = str(error)

    def misfit(self) -> Misfit | None:
        """The result; None if every row names its unit."""
        found = Misfit(
            self.name,
            self._problem,
            missing=self._without,
            rows=self._rows,
            is_unit=True,
        )
        return None if found.fits else found


class _Column:
    """One column, and what does not fit in it so far."""

    def __init__(self, name: str, attribute: Attribute) -> None:
        self.name = name
        self.missing = 0
        self.unseen = 0
        self.rows = 0
        self.others = 0
        self._attribute = attribute
        self._encoder = Encoder(name, attribute)
        self._values: Counter[str] = Counter()
        self._other_values: Counter[str] = Counter()

    @property
    def has_odd_others(self) -> bool:
        """Whether the rows in `other` are probably a mistake in the declaration."""
        return self.others > _MANY_OTHERS * self.rows or bool(_null_words(self._other_values))

    def add(self, array: Any) -> None:
        """Look at the values of some rows, an Arrow array."""
        import pyarrow as pa

        self.rows += len(array)
        other = self._attribute.other_code
        try:
            codes = self._encoder.encode(array)
        except DataError:
            self._count(array)
        else:
            # Only the rows in `other` are looked at one by one.
            if other != UNSEEN and (codes == other).any():
                self._count(array.filter(pa.array(codes == other)))

    def _count(self, array: Any) -> None:
        """Count the values that do not fit, by one look at each distinct value."""
        import pyarrow as pa

        plain = one_chunk(array) if isinstance(array, pa.ChunkedArray) else array
        if isinstance(plain.type, pa.BaseExtensionType):
            plain = plain.storage
        if pa.types.is_dictionary(plain.type):
            plain = plain.dictionary.take(plain.indices)
        counted = plain.value_counts()
        values = plain_values(counted.field("values"))
        for value, rows in zip(values, counted.field("counts").to_pylist(), strict=True):
            if value is None or self._attribute.is_missing(value):
                if self._attribute.missing is None:
                    self.missing += rows
                continue
            code = self._attribute.code(value)
            if code == UNSEEN:
                self.unseen += rows
                _note(self._values, value, rows)
            elif code == self._attribute.other_code:
                self.others += rows
                _note(self._other_values, value, rows)

    def misfit(self) -> Misfit:
        """The result."""
        labels = [str(label) for label in self._attribute.labels] if _is_listed(self) else []
        values = []
        counted = self._values or self._other_values
        null_words = _null_words(counted)
        shown = dict.fromkeys([*null_words, *dict(counted.most_common(_SHOWN))])
        for value in itertools.islice(shown, _SHOWN):
            rows = counted[value]
            values.append((value, rows, _hint(value, labels)))
        return Misfit(
            self.name,
            missing=self.missing,
            unseen=self.unseen,
            values=values,
            has_bins=self._attribute.bins is not None,
            rows=self.rows,
            others=self.others if self.has_odd_others and not self._values else 0,
            advice=_advice(self._attribute, [value for value, _, _ in values], null_words),
        )


def _note(counted: Counter[str], value: object, rows: int) -> None:
    """Count a value, as long as not too many different ones are counted."""
    text = written(value) or ""
    if text in counted or len(counted) < _MOST_COUNTED:
        counted[text] += rows


def _null_words(values: Iterable[str]) -> list[str]:
    """The texts among some values that may stand for a missing one."""
    return [value for value in values if value.casefold() in _NULL_WORDS]


def _advice(attribute: Attribute, values: Sequence[str], null_words: Sequence[str]) -> str:
    """What to do about missing values, numbers and dates that are written in the manner of other
    programs and countries; else empty."""
    if null_words:
        word = null_words[0]
        return (
            f'{word} is a text, not a missing value; leave such cells blank (na = "" in R, '
            f"nullif(column, '{word}') in --sql), or declare it as a spelling of a category: "
            f'"values": {{..., "not stated": ["{word}"]}}, "missing": "not stated"'
        )
    convert = "convert the column in a query with --sql, by"
    if attribute.bins is not None and values and all(map(_DECIMAL_COMMA.fullmatch, values)):
        whole = "replace(column, '.', '')" if any("." in value for value in values) else "column"
        return f"these numbers have a decimal comma; {convert} replace({whole}, ',', '.')"
    if attribute.dates is not None and values and all(map(_DAY_FIRST.fullmatch, values)):
        return (
            f"dates must be written as YYYY-MM-DD; {convert} "
            "try_strptime(column, '%d.%m.%Y')::DATE, in the order of your dates"
        )
    return ""


def _is_listed(column: _Column) -> bool:
    """Whether the categories of an attribute are listed texts, which may be misspelt."""
    values: Sequence[object] | None = column._attribute.values
    return values is not None and any(isinstance(value, str) for value in values)


def _hint(value: str, labels: Sequence[str]) -> str:
    """A suggestion for a misspelt value.

    A value that differs from a label in upper and lower case only gets this label. A value that
    looks like a code, with digits or without small letters, gets no other: a wrong code is not a
    misspelt one.
    """
    for label in labels:
        if label.lower() == value.lower():
            return f"; did you mean {label!r}?"
    is_code = any(map(str.isdigit, value)) or value.upper() == value
    return "" if is_code else did_you_mean(value, labels)


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
