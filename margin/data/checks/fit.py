"""`check_fit`: every column of a table that does not fit a domain, and every statement of the
domain that is not true of the table. It shows values of the data, so it is for the holder of the
data only."""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import positive_integer
from ..._names import did_you_mean
from ..._types import Integers
from ...domain.attribute import UNSEEN, Attribute, Value
from ...domain.domain import Domain
from ...domain.spelling import Spellings
from ...domain.values import written
from ...errors import DataError, TryAgainError
from ...interrupts import watched
from ..encode import Encoder, one_chunk, plain_values
from ..failures import MixedTypesError
from ..files import MEMORY, FileSource, identifier, quoted
from ..folders import FilesSource
from ..opening import open_source
from ..queries.causes import FailedQueryError
from ..queries.tables import LackedColumnError
from ..rows_per_person import possible_identities
from ..source import Source, Tabular
from .statements import FalseStatement, Rules, Totals, Unchecked
from .units import CellBounds, UnitNumbers, UnitRows
from .unread import Unread, naming_files, unread_files

__all__ = ["Fit", "Misfit", "check_fit"]

_MOST_COUNTED = 100_000
"""Largest number of different values that are counted one by one, for each column."""

_SHOWN = 5
"""Number of values that a misfit shows."""

_MOST_NAMES = 20
"""Largest number of columns that a message lists."""

_MANY_OTHERS = 0.5
"""Share of the rows in `other` above which a column is listed."""

_MOST_COMPARED = 200
"""Number of values in `other` whose spelling is compared with the categories."""

_NULL_WORDS = {"na", "n/a", "null", "none", "nan", "."}
"""Texts, in small letters, by which other programs write that a value is missing. In `margin` they
are texts like all others; only "nan" is missing where no declared value is a text."""

_MERGE = "correct the spelling in a query with --sql, or declare it as one more spelling"
"""What to do about misspelt values that are counted as `other`."""

_MERGE_LEAF = (
    "correct the spelling in a query with --sql, by CASE column WHEN 'as written' THEN 'leaf' ELSE "
    "column END: a leaf has one spelling"
)
"""The same for an attribute with levels."""

_DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")
"""Numbers such as 12,50 or 1.234,50."""

_DAY_FIRST = re.compile(
    r"[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})([ T]+(?P<time>[0-9]{1,2}:[0-9]{2}.*))?"
)
"""Dates such as 31.12.2025 or 12/31/25, also with a time."""


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
        Number of rows with a null, an empty cell or NaN, if the attribute declares no category for
        them.
    unseen
        Number of rows with a value that has no category.
    values
        The most frequent of these values, each with its number of rows and with a hint such as
        "; did you mean 'female'?".
    files
        For each of these values the first file that holds it, if the table consists of many files.
        If the files hold the column in different types, for each type the first file.
    has_bins, has_levels
        Whether the attribute declares bins, or levels.
    rows
        Number of rows of the table.
    others
        Number of rows that are counted in the category of other values, if these are most rows or
        some of them hold a text such as NA, which may stand for a missing value, or a value that
        looks like a misspelt category.
    advice
        What to do about dates outside, and about values that are written in the manner of another
        country or program; else empty.
    is_unit
        Whether the column is the one that names the unit of each row.
    """

    column: str
    problem: str = ""
    missing: int = 0
    unseen: int = 0
    values: list[tuple[str, int, str]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    has_bins: bool = False
    has_levels: bool = False
    rows: int = 0
    others: int = 0
    advice: str = ""
    is_unit: bool = False

    @property
    def fits(self) -> bool:
        """Whether a release would take the column, though most of it may be `other`."""
        return not (self.problem or self.missing or self.unseen)

    def told(self) -> list[tuple[str, str]]:
        """What is wrong, each with what to do about it. What to do is empty if the column cannot be
        read, because the reason says it."""
        told = [(self.problem, "")] if self.problem else []
        if self.missing and self.is_unit:
            told.append(
                (
                    f"names no unit in {_rows(self.missing)} (null, NaN or blank), but every row "
                    "must",
                    "leave such rows out, or give each of them its own id",
                )
            )
        elif self.missing:
            found = f"no value in {_rows(self.missing)} (null, blank or NaN)"
            told.append((found, 'add "missing": "unknown" to the attribute'))
        shown = ", ".join(
            f"{value!r} ({_rows(rows)}{self._place(value)}{hint})"
            for value, rows, hint in self.values
        )
        if self.unseen:
            found = f"a value without a category in {_rows(self.unseen)}, such as {shown}"
            declare = "widen the bins" if self.has_bins else "declare the value"
            if self.has_levels:
                declare = f"{_MERGE_LEAF}; or declare a leaf for it"
            declare += ', or add "other": "other" to the attribute'
            told.append((found, self.advice or declare))
        if self.others:
            found = f'counted as "other" in {self.others:,} of {_rows(self.rows)}, such as {shown}'
            of_leaves = "declare a leaf for each value that should have a category of its own"
            of_values = "declare the values that should have a category of their own"
            declare = of_leaves if self.has_levels else of_values
            told.append((found, self.advice or declare))
        return told

    def _place(self, value: str) -> str:
        """The first file that holds a value, as a part of a text."""
        return f", first in {self.files[value]!r}" if value in self.files else ""

    def lines(self) -> list[str]:
        """The misfit in words, one line for each problem."""
        return [": ".join(filter(None, pair)) for pair in self.told()]

    def to_json(self) -> dict[str, Any]:
        """The misfit for programs. Its texts are those of `lines`. The numbers of rows are None if
        the column cannot be read."""
        told = self.told()
        numbers = {
            "missing": self.missing,
            "unseen": self.unseen,
            "others": self.others,
            "rows": self.rows,
        }
        return {
            "column": self.column,
            "fits": self.fits,
            "is_unit": self.is_unit,
            "problem": "; ".join(found for found, _ in told),
            "advice": "; ".join(advice for _, advice in told if advice),
            **(dict.fromkeys(numbers) if self.problem else numbers),
            "values": [list(shown) for shown in self.values],
            "files": self.files,
            "has_bins": self.has_bins,
        }


@dataclass(frozen=True)
class Gathered:
    """How many rows of a column are in its category of other values, and in that of missing ones.

    It is derived from the data, so it is not private.

    Attributes
    ----------
    column
        The name of the attribute.
    other, missing
        The labels of the two categories; None if the attribute does not declare one.
    other_rows, missing_rows
        Number of rows in each; None likewise.
    rows
        Number of rows of the table.
    """

    column: str
    other: Value | None
    other_rows: int | None
    missing: Value | None
    missing_rows: int | None
    rows: int

    def line(self) -> str:
        """The numbers in words; empty if they are 0."""
        parts = []
        if self.other_rows:
            told = f"{self.other_rows:,} of {_rows(self.rows)}"
            parts.append(f"{told} in {self.other!r}, the category of other values")
        if self.missing_rows:
            told = f"{self.missing_rows:,} of {_rows(self.rows)}"
            parts.append(f"{told} in {self.missing!r}, the category of missing values")
        return "; ".join(parts)


@dataclass(frozen=True)
class Fit:
    """What of a table does not fit a domain. It is derived from the data, so it is not private.

    Attributes
    ----------
    misfits
        One for each column that does not fit or is mostly `other`, and one for the unit column if a
        row does not name its unit.
    false
        The rules that rows break, the determined attributes that rows contradict, and the public
        totals that differ from the counted rows in some release.
    rows_against_rules
        Number of rows that break at least one rule or contradict a determined attribute; None if
        no row was read.
    units
        How many rows the units have; None without a unit column that can be read.
    gathered
        One for each column that can be read and declares a category of other or of missing values.
    unread
        One for each file that cannot be read. All other fields are about the rows that can be read.
    unchecked
        The rules, determined attributes and known tables that name a column that is missing or
        cannot be read.
    rows
        Number of rows that were looked at; None if no column could be read.
    """

    misfits: list[Misfit]
    false: list[FalseStatement]
    rows_against_rules: int | None
    units: UnitNumbers | None = None
    gathered: list[Gathered] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    rows: int | None = None

    @property
    def fits(self) -> bool:
        """Whether a release would take the table, and all that the domain states is true of it,
        whichever rows of a unit are drawn."""
        return all(misfit.fits for misfit in self.misfits) and not (self.false or self.unread)


def check_fit(
    data: object,
    domain: Domain,
    *,
    unit: str | None = None,
    rows_per_person: int | None = None,
) -> Fit:
    """Compare a table with a domain. All columns and all rows are looked at.

    A column of which most rows are counted as `other` fits, but is listed, too: most often its
    values are written in another way than the declaration expects. So is a column with texts such
    as NA among them, by which other programs write that a value is missing, and one with values
    that look like a misspelt category.

    A release does not check what the domain states about rows, because a refusal would reveal that
    a row exists. This function does: it counts the rows that break a rule or contradict a
    determined attribute, and compares the public number of rows and the known tables with the
    table. Statements about a column that cannot be read are listed as unchecked. Files that cannot
    be read are listed, and the others are looked at. Public totals are not compared then. If a
    query fails, each of its files is read by itself, and those that are damaged are listed.

    The result is not private: it shows numbers of rows and values of the data. Use it before a
    release, on the machine that holds the data, and do not publish it.

    Parameters
    ----------
    data
        Data that `open_source` accepts and that has named columns.
    domain
        The declared attributes.
    unit, rows_per_person
        The column that names the unit of each row, and how many rows of a unit are counted, as for
        `release`. Public totals are compared with the counted rows, as soon as all columns fit.
        Which rows count is drawn anew in each release, so they are compared with all that could be
        drawn (`UnitRows`): the result does not depend on a draw.

    Raises
    ------
    DataError
        When the table cannot be read; or when the domain declares public totals and `unit` is given
        without `rows_per_person`.
    BudgetError
        When `rows_per_person` is not a positive whole number.

    Examples
    --------
    >>> table = {"sex": ["F", "M", "f", None], "age": [3, 4, 5, 200]}
    >>> found = check_fit(table, Domain({"sex": ["F", "M"], "age": {"bins": [0, 18, 120]}}))
    >>> [(misfit.column, misfit.missing, misfit.unseen) for misfit in found.misfits]
    [('sex', 1, 1), ('age', 0, 1)]
    >>> rule = {"sex": "F", "age": 7}
    >>> domain = Domain({"sex": ["F", "M"], "age": {"bins": [0, 18, 120]}}, impossible=[rule])
    >>> check_fit({"sex": ["F", "M"], "age": [3, 4]}, domain).rows_against_rules
    1
    """
    try:
        source = open_source(data)
    except MixedTypesError as error:
        return _unread(error)
    if not isinstance(source, Tabular):
        raise DataError(
            "only a table with named columns can be compared with a domain, but "
            f"{type(source).__name__} has none; pass a file, a query, a data frame or a dict"
        )
    if unit is not None and rows_per_person is None and domain.rows is not None:
        raise DataError(
            "the public totals of a domain are those of the counted rows, but it is not known how "
            "many rows of a unit are counted; add --rows-per-person M (rows_per_person=), as for "
            "the release"
        )
    if rows_per_person is not None:
        positive_integer("rows_per_person", rows_per_person)
    unread = unread_files(source)
    if isinstance(source, FilesSource):
        lost = {one.file for one in unread}
        paths = tuple(path for path in source.paths if str(path) not in lost)
        source = replace(source, paths=paths, shows_folders=True)
    if unread and not (isinstance(source, FilesSource) and source.paths):
        return Fit([], [], None, unread=unread)
    try:
        with watched(), naming_files(source):
            return _compared(source, domain, unread, unit, rows_per_person)
    except FailedQueryError:
        # The database does not say which file is the cause, so each is read by itself.
        damaged = unread_files(source, to_the_end=True)
        if not damaged:
            raise
        return Fit([], [], None, unread=damaged)


def _compared(
    source: Tabular,
    domain: Domain,
    unread: list[Unread],
    unit: str | None,
    rows_per_person: int | None,
) -> Fit:
    """`check_fit` of the files that can be read; `unread` are the others, and those that cannot be
    read to their end are added to it."""
    with ExitStack() as stack:
        try:
            misfits = {misfit.column: misfit for misfit in _unreadable(source, domain)}
        except MixedTypesError as error:
            return _unread(error)
        present = [name for name in domain if name not in misfits]
        columns = [_Column(name, domain[name]) for name in present]
        rules = Rules(domain, set(present))
        totals = Totals(domain, set(present))
        units, without = None, _unreadable_unit(source, unit)
        if unit is not None and without is None:
            limit = getattr(source, "memory_limit", MEMORY)
            held = UnitRows(totals.sizes, rows_per_person, limit)
            units = _Units(unit, stack.enter_context(held))
        read = list(dict.fromkeys([*present, *([units.name] if units else [])]))
        rows = 0
        if read:
            for file, arrays in _batches(source, read, unread):
                rows += len(arrays[0])
                # The attributes come first; a unit that is not declared is the last column.
                pairs = zip(columns, arrays, strict=False)
                codes = {column.name: column.add(array, file) for column, array in pairs}
                if codes:
                    rules.add(codes)
                cells = totals.cells(codes, len(arrays[0]))
                totals.add(cells, len(arrays[0]))
                if units:
                    units.add(arrays[read.index(units.name)], cells)
        for column in columns:
            misfit = column.misfit()
            if misfit:
                misfits[column.name] = misfit
        found = [misfits[name] for name in domain if name in misfits]
        numbers = None
        if units:
            without = units.misfit()
            numbers, bounds = units.found()
            if numbers:
                totals.limit(numbers.rows - numbers.left_out, bounds)
        if without:
            found.append(without)
        false = rules.found()
        # Which rows count is not known until all of them fit, and can be read.
        if not unread and (unit is None or all(one.fits for one in found)):
            false += totals.found()
    gathered = [column.gathered() for column in columns if column.gathers]
    unchecked = rules.unchecked + totals.unchecked
    number = rows if read else None
    return Fit(found, false, rules.rows, numbers, gathered, unread, unchecked, number)


def _unread(error: MixedTypesError) -> Fit:
    """The result for a query that reads files of different types together: no row can be read."""
    problem = f"{error.named}; until then the query cannot run, so nothing else was looked at"
    return Fit([Misfit(error.column, problem, files=error.files)], [], None)


def _batches(
    source: Tabular,
    names: Sequence[str],
    unread: list[Unread],
) -> Iterator[tuple[str, Sequence[Any]]]:
    """The named columns in batches of rows, each with its file if the table consists of many; else
    with an empty text. Files that cannot be read to their end are added to `unread`."""

    def failed(path: Path, error: DataError) -> None:
        unread.append(Unread(str(path), str(error)))

    if isinstance(source, FilesSource):
        for path, arrays in source.columns_by_file(names, failed=failed):
            yield str(path), arrays
        return
    try:
        for arrays in source.columns(names):
            yield "", arrays
    except DataError as error:
        if not isinstance(source, FileSource):
            raise
        failed(source.path, error)


def _unreadable_unit(source: Source, unit: str | None) -> Misfit | None:
    """Why the unit column cannot be read; None if it can, or if there is none."""
    problems = [] if unit is None else _unreadable(source, Domain({unit: 1}))
    return replace(problems[0], is_unit=True) if problems else None


def _unreadable(source: Source, domain: Domain) -> list[Misfit]:
    """The attributes whose columns cannot be read, with the reasons.

    Raises
    ------
    MixedTypesError
        If a query reads files of different types together, so that it cannot run.
    TryAgainError
        If another program writes the table, or its server cannot be reached now.
    FailedQueryError
        If a query fails for a reason that may be one of its files.
    DataError
        If no column can be read for the same reason, such as a file that does not exist.
    """
    problems: list[Misfit] = []
    known = _names(source)
    for name, attribute in domain.items():
        try:
            source.check(Domain({name: attribute}))
        except MixedTypesError as error:
            if not isinstance(source, FilesSource):
                raise
            problems.append(Misfit(name, error.named, files=error.files))
        except (TryAgainError, FailedQueryError):
            raise
        except DataError as error:
            is_named = name in known or name.strip() in map(str.strip, known)
            if is_named or not known:
                told = error.named if isinstance(error, LackedColumnError) else str(error)
                problems.append(Misfit(name, told))
            else:
                problems.append(Misfit(name, _no_column(name, known)))
    reasons = {misfit.problem.replace(repr(misfit.column), "") for misfit in problems}
    if len(problems) == len(domain) and len(reasons) == 1 and not known:
        raise DataError(problems[0].problem)
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
    """The unit column, what does not fit in it so far, and the rows of each unit."""

    def __init__(
        self,
        name: str,
        held: UnitRows,
    ) -> None:
        self.name = name
        self._rows = 0
        self._without = 0
        self._problem = ""
        self._held = held

    def add(self, array: Any, cells: Sequence[Integers]) -> None:
        """Look at the values of some rows, an Arrow array, and at their cells in known tables."""
        self._rows += len(array)
        try:
            units = possible_identities(self.name, array)
        except DataError as error:
            self._problem = str(error)
            return
        self._without += units.null_count
        if not self._problem:
            self._held.add(units, cells)

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

    def found(self) -> tuple[UnitNumbers | None, list[CellBounds]]:
        """How many rows the units have, and the bounds on the counts of known tables; None and none
        if units cannot be told apart."""
        return (None, []) if self._problem else self._held.found()


class _Column:
    """One column, and what does not fit in it so far."""

    def __init__(self, name: str, attribute: Attribute) -> None:
        self.name = name
        self.missing = 0
        self.unseen = 0
        self.rows = 0
        self.others = 0
        self._in_missing = 0
        self._attribute = attribute
        self._encoder = Encoder(name, attribute)
        self._values: Counter[str] = Counter()
        self._other_values: Counter[str] = Counter()
        self._files: dict[str, str] = {}

    def _misspelt(self, spellings: Spellings) -> list[str]:
        """The values in `other` that look like a category, the most frequent ones first."""
        common = self._other_values.most_common(_MOST_COMPARED)
        return [value for value, _ in common if spellings.hint(value)]

    def _spellings(self) -> Spellings:
        """The categories with which spellings are compared."""
        labels = self._attribute.labels if _is_listed(self) else []
        return Spellings([str(label) for label in labels])

    def add(self, array: Any, file: str) -> NDArray[np.integer[Any]]:
        """Look at the values of some rows, an Arrow array, of a file. Returns their codes, shape
        (rows,): `UNSEEN` where the attribute has no category."""
        codes = self._codes(array, file)
        self.rows += len(array)
        if self._attribute.missing is not None:
            self._in_missing += int(np.count_nonzero(codes == self._attribute.missing_code))
        return codes

    def _codes(self, array: Any, file: str) -> NDArray[np.integer[Any]]:
        """The codes of some rows; those that do not fit, or are in `other`, are counted."""
        import pyarrow as pa

        other = self._attribute.other_code
        try:
            codes = self._encoder.encode(array)
        except DataError:
            return self._count(array, file)
        # Only the rows in `other` are looked at one by one.
        if other != UNSEEN and (codes == other).any():
            self._count(array.filter(pa.array(codes == other)), file)
        return codes

    def _count(self, array: Any, file: str) -> NDArray[np.int64]:
        """Count the values that do not fit, by one look at each distinct value. Returns the codes
        of all rows."""
        values, places = _distinct(array)
        codes = np.array([self._attribute.code(value) for value in values], np.int64)
        numbers = np.bincount(places, minlength=len(values)).tolist()
        for value, code, rows in zip(values, codes.tolist(), numbers, strict=True):
            if not rows:
                continue
            if value is None or self._attribute.is_missing(value):
                if self._attribute.missing is None:
                    self.missing += rows
            elif code == UNSEEN:
                self.unseen += rows
                self._note(self._values, value, rows, file)
            elif code == self._attribute.other_code:
                self.others += rows
                self._note(self._other_values, value, rows, file)
        return codes[places]

    def _note(
        self,
        counted: Counter[str],
        value: object,
        rows: int,
        file: str,
    ) -> None:
        """Count a value, as long as not too many different ones are counted."""
        text = written(value) or ""
        if text in counted or len(counted) < _MOST_COUNTED:
            counted[text] += rows
            if file:
                self._files.setdefault(text, file)

    @property
    def gathers(self) -> bool:
        """Whether the attribute declares a category of other or of missing values."""
        return self._attribute.other is not None or self._attribute.missing is not None

    def gathered(self) -> Gathered:
        """The numbers of rows in these categories."""
        attribute = self._attribute
        other_rows = None if attribute.other is None else self.others
        missing_rows = None if attribute.missing is None else self._in_missing
        # If both are one category, it also holds the rows with other values.
        if missing_rows is not None and attribute.other_code == attribute.missing_code:
            missing_rows -= self.others
        return Gathered(
            self.name, attribute.other, other_rows, attribute.missing, missing_rows, self.rows
        )

    def misfit(self) -> Misfit | None:
        """The result; None if the column fits, and its rows in `other` look right."""
        if not (self.missing or self.unseen or self.others):
            return None
        counted = self._values or self._other_values
        null_words = _null_words(counted)
        spellings = self._spellings()
        misspelt = [] if self._values else self._misspelt(spellings)
        is_mostly_other = self.others > _MANY_OTHERS * self.rows
        # Probably a mistake of the declaration, or of spelling. Values without a category come
        # before it.
        has_odd_others = not self._values and bool(is_mostly_other or null_words or misspelt)
        if not (self.missing or self.unseen or has_odd_others):
            return None
        shown = dict.fromkeys([*null_words, *misspelt, *dict(counted.most_common(_SHOWN))])
        values = [
            (value, counted[value], spellings.hint(value))
            for value in itertools.islice(shown, _SHOWN)
        ]
        advice = _advice(self.name, self._attribute, [value for value, _, _ in values], null_words)
        merge = _MERGE if self._attribute.levels is None else _MERGE_LEAF
        return Misfit(
            self.name,
            missing=self.missing,
            unseen=self.unseen,
            values=values,
            files={value: self._files[value] for value, _, _ in values if value in self._files},
            has_bins=self._attribute.bins is not None,
            has_levels=self._attribute.levels is not None,
            rows=self.rows,
            others=self.others if has_odd_others else 0,
            advice=advice or (merge if misspelt else ""),
        )


def _distinct(array: Any) -> tuple[Sequence[object], NDArray[np.int64]]:
    """The distinct values of an Arrow array, None for a null, and the place of each row's value
    among them."""
    import pyarrow as pa

    plain = one_chunk(array) if isinstance(array, pa.ChunkedArray) else array
    if isinstance(plain.type, pa.BaseExtensionType):
        plain = plain.storage
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary.take(plain.indices)
    if pa.types.is_null(plain.type):
        return [None], np.zeros(len(plain), np.int64)
    encoded = plain.dictionary_encode()
    values = [*plain_values(encoded.dictionary), None]
    places = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return values, places.astype(np.int64)


def _null_words(values: Iterable[str]) -> list[str]:
    """The texts among some values that may stand for a missing one."""
    return [value for value in values if value.casefold() in _NULL_WORDS]


def _advice(
    name: str,
    attribute: Attribute,
    values: Sequence[str],
    null_words: Sequence[str],
) -> str:
    """What to do about dates outside, and about missing values, numbers and dates that are written
    in the manner of other programs and countries; else empty."""
    if null_words:
        return _of_null_words(name, attribute, null_words)
    convert = "convert the column in a query with --sql, by"
    if attribute.bins is not None and values and all(map(_DECIMAL_COMMA.fullmatch, values)):
        whole = "replace(column, '.', '')" if any("." in value for value in values) else "column"
        return f"these numbers have a decimal comma; {convert} replace({whole}, ',', '.')"
    days = [_DAY_FIRST.fullmatch(value) for value in values]
    if attribute.dates is not None and days and all(days):
        has_time = any(day and day["time"] for day in days)
        form = "%d.%m.%Y %H:%M" if has_time else "%d.%m.%Y"
        return (
            f"dates must be written as YYYY-MM-DD; {convert} "
            f"try_strptime(column, '{form}')::DATE, in the form of your dates"
        )
    if attribute.dates is not None and values:
        extend = 'extend "from" or "to" for dates outside'
        has_other = attribute.other is not None
        return extend if has_other else f'{extend}, or add "other": "other" to the attribute'
    return ""


def _of_null_words(
    name: str,
    attribute: Attribute,
    null_words: Sequence[str],
) -> str:
    """What to do about texts that stand for a missing value. Only listed values have spellings; the
    name of the missing category is itself a value of all attributes but bins and sizes."""
    word = null_words[0]
    column = _in_query(name)
    null = column
    for one in null_words:
        null = f"nullif({null}, {quoted(one)})"
    advice = (
        f'{word} is a text, not a missing value; leave such cells blank (na = "" in R, or --sql '
        f'"SELECT * REPLACE ({null} AS {column}) FROM rows" --table rows=FILE)'
    )
    missing = attribute.missing
    if attribute.levels is not None or attribute.dates is not None:
        return f'{advice}, or name the category of missing values so: "missing": "{word}"'
    if attribute.values is not None:
        label = "not stated" if missing is None else missing
        return (
            f"{advice}, or declare it as a spelling of a category: "
            f'"values": {{..., "{label}": ["{word}"]}}, "missing": "{label}"'
        )
    if missing is not None:
        return advice
    label = '"not stated"' if attribute.bins is not None else "followed by one of its integers"
    return f'{advice}, and add "missing": {label} to the attribute'


def _in_query(name: str) -> str:
    """The name of a column in a query that stands between double quotes in a shell."""
    import duckdb

    if name.isidentifier():
        # A reserved word, such as `group`, is no name by itself.
        with contextlib.suppress(duckdb.Error), contextlib.closing(duckdb.connect()) as connection:
            connection.extract_statements(f"SELECT * REPLACE ({name} AS {name}) FROM rows")
            return name
    return identifier(name).replace('"', '\\"')


def _is_listed(column: _Column) -> bool:
    """Whether the categories of an attribute are listed texts, which may be misspelt."""
    values: Sequence[object] | None = column._attribute.values
    return values is not None and any(isinstance(value, str) for value in values)


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
