"""`Ledger`: what has been spent on data sets, kept in a file that outlives the process.

A charge is on the disk before anything is drawn. If the machine stops in between, budget is lost,
never privacy; there is no way to give a charge back. No clock is read, and nothing in the file is
derived from the rows. The file binds no one who may replace it: every release therefore carries a
`Token`, by which `Ledger.check` finds an old copy put back.
"""

import contextlib
import dataclasses
import json
import os
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from .._numbers import UNIT, shown, text
from ..errors import BudgetError, DomainError, FileError
from .budget import Budget
from .ledger_file import Entry, append, reading, writing
from .statement import Statement, for_unit

__all__ = ["Charge", "Dataset", "Ledger", "Token"]


@dataclass(frozen=True, kw_only=True)
class Token:
    """The receipt of a charge, kept in the release.

    Attributes
    ----------
    ledger, dataset
        Random names of the ledger and of the data set.
    sequence
        The number of the ledger's entry.
    head
        A hash of that entry and all before it.
    """

    ledger: str
    dataset: str
    sequence: int
    head: str


class Ledger:
    """The budgets of data sets, in an SQLite file.

    Two processes never both get what is left for one only. A data set has one budget, of one kind,
    for ever: rows that come and go belong to the same people. Charges of another kind are
    converted, rounded up, when a rule is proved: rho-zCDP data sets (`ZCDP`, and `ApproxDP`, which
    is spent as zCDP) take a pure epsilon as a rho of epsilon**2 / 2; pure data sets take pure
    charges only.

    A data set has one unit of protection: a unit column or none, a largest number of rows of one
    unit, and which tables are neighbours. Guarantees for other units do not add up with it, and are
    refused.

    Every use reads and checks the whole chain of entries, at about 10 microseconds each.

    Parameters
    ----------
    path
        The file; `register` makes it when it is not there. A file that is there but empty is
        damage, and refused. It must be on a local disk.

    Examples
    --------
    >>> import tempfile
    >>> from margin.privacy.budget import PureDP
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "agency.db")
    >>> ledger.register("census", PureDP(2))
    >>> ledger.dataset("census").charge(PureDP("0.5")).sequence
    2
    >>> ledger.spent("census"), ledger.remaining("census")
    (Fraction(1, 2), Fraction(3, 2))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def register(
        self, name: str, budget: Budget, *, unit: str | None = None, max_rows: int | None = None
    ) -> None:
        """Declare a data set and all that may ever be spent on it.

        Parameters
        ----------
        name
            Of the data set: 1 to 200 printable characters. Spaces around it are dropped, and it is
            brought to Unicode's normal form C, so that no two names look alike but for that.
        budget
            All that may be spent, for which neighbours.
        unit, max_rows
            As they will be given to `release`. By default what is protected is one row, or as many
            rows of a person as the budget says.

        Raises
        ------
        BudgetError
            When the name is taken or not a plain text, or the budget is none.
        FileError
            When the file cannot be written or is not a sound ledger.
        """
        plain = _plain_name(name)
        _check_budget(budget)
        whole = Statement(budget=for_unit(budget, unit, max_rows), unit=unit)
        detail = json.dumps({"name": plain, "statement": whole.to_json()})
        with writing(self.path, create=True) as (db, entries):
            if plain in _datasets(self.path, entries):
                raise BudgetError(
                    f"data set {plain!r} is registered already; its budget cannot be changed"
                )
            number = secrets.token_hex(16)
            append(
                db,
                entries,
                dataset=number,
                action="register",
                units=whole.budget.units,
                detail=detail,
            )

    def dataset(self, name: str) -> "Dataset":
        """The data set of that name, to be passed to `release(..., ledger=...)`."""
        self._state(name)
        return Dataset(self, _plain_name(name))

    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order of their registration."""
        with reading(self.path) as entries:
            return tuple(_datasets(self.path, entries))

    def budget(self, name: str) -> Budget:
        """All that may be spent on a data set."""
        return self.statement(name).budget

    def statement(self, name: str) -> Statement:
        """What is protected of a data set, and all that may be spent on it."""
        return self._state(name)[0]

    def charges(self, name: str) -> tuple[Statement, ...]:
        """What each charge to a data set was for, in order."""
        with reading(self.path) as entries:
            registered = _find(self.path, entries, name)
            return tuple(
                _statement(self.path, entry) for entry in _charges(entries, registered.dataset)
            )

    def spent(self, name: str) -> Fraction:
        """What has been spent on a data set: epsilon if its budget is `PureDP`, else rho."""
        return self._state(name)[1] * UNIT

    def remaining(self, name: str) -> Fraction:
        """What may still be spent on a data set: epsilon if its budget is `PureDP`, else rho."""
        whole, spent = self._state(name)
        return (whole.budget.units - spent) * UNIT

    def charge(self, name: str, budget: Budget, *, statement: Statement | None = None) -> Token:
        """Record that a release spends all of `budget`; when this returns, the record is on the
        disk.

        Parameters
        ----------
        name
            Of the data set.
        budget
            What is spent.
        statement
            What is protected; by default what the budget says, for no unit column.

        Raises
        ------
        BudgetError
            When it is more than what remains, protects another unit, or no rule converts it.
            Nothing is recorded.
        FileError
            When the file is missing, locked, read-only, full or not sound. Nothing may be released
            then.
        """
        _check_budget(budget)
        said = Statement(budget=budget) if statement is None else statement
        if said.budget != budget:
            raise BudgetError("the statement of a charge must be about the budget that is charged")
        return self._charge(name, said, secrets.token_hex(16))

    def _charge(self, name: str, said: Statement, mark: str) -> Token:
        """`charge`, with the random mark by which the entry can be found again."""
        with writing(self.path) as (db, entries):
            registered = _find(self.path, entries, name)
            whole = _statement(self.path, registered)
            units = _cost(name, whole, said)
            _check_rest(name, whole.budget, _sum(entries, registered.dataset), units)
            detail = json.dumps({"statement": said.to_json()})
            number = registered.dataset
            entry = append(
                db, entries, dataset=number, action="charge", units=units, detail=detail, salt=mark
            )
        return Token(
            ledger=entries[0].dataset, dataset=number, sequence=entry.sequence, head=entry.head
        )

    def _has(self, mark: str) -> bool:
        """Whether a charge with that mark is on the disk."""
        with reading(self.path) as entries:
            return any(entry.salt == mark for entry in entries)

    def verify(self) -> int:
        """Check every entry against its hash, every charge and sum against its budget; returns the
        number of charges.

        Raises
        ------
        FileError
            When an entry, the table or a trigger has been changed; when a name is registered twice,
            or a charge is for no data set, for another unit, or for less than it cost. What is cut
            off at the end shows in `check` only.
        """
        with reading(self.path) as entries:
            datasets = _datasets(self.path, entries)
            for entry in entries[1:]:
                if not _is_consistent(self.path, entry, datasets):
                    wrong = f"entry {entry.sequence} does not fit the data set that it is for"
                    raise FileError(f"{str(self.path)!r} is damaged: {wrong}; get a true copy")
            for registered in datasets.values():
                if (
                    _sum(entries, registered.dataset)
                    > _statement(self.path, registered).budget.units
                ):
                    raise FileError(
                        f"{str(self.path)!r} is damaged: a data set is overspent; get a true copy"
                    )
            return sum(entry.action == "charge" for entry in entries)

    def check(
        self,
        tokens: Mapping[str, Token | None],
        *,
        statements: Mapping[str, Statement] | None = None,
    ) -> list[str]:
        """What is wrong between this ledger and the tokens of releases, by name; empty when nothing
        is.

        Finds releases whose charge this ledger lacks (an old copy was put back, or its end cut
        off), releases that share a charge, releases without any charge, and, where their statements
        are given, releases that state something else than their charge.
        """
        told = {} if statements is None else statements
        with reading(self.path) as entries:
            charges = {entry.sequence: entry for entry in entries if entry.action == "charge"}
            heads = {number: (entry.head, entry.dataset) for number, entry in charges.items()}
        problems, seen = [], dict[tuple[str, int], str]()
        for name, token in tokens.items():
            if token is None:
                problems.append(f"{name}: was charged to no ledger")
                continue
            if token.ledger != entries[0].dataset:
                problems.append(f"{name}: was charged to another ledger")
            elif heads.get(token.sequence) != (token.head, token.dataset):
                problems.append(
                    f"{name}: its charge, entry {token.sequence}, is not in this ledger: an old copy?"
                )
            elif name in told and told[name] != _statement(self.path, charges[token.sequence]):
                problems.append(
                    f"{name}: states something else than its charge, entry {token.sequence}: was it changed?"
                )
            other = seen.setdefault((token.ledger, token.sequence), name)
            if other != name:
                problems.append(f"{name}: has the same charge, entry {token.sequence}, as {other}")
        return problems

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def _state(self, name: str) -> tuple[Statement, int]:
        with reading(self.path) as entries:
            registered = _find(self.path, entries, name)
            return _statement(self.path, registered), _sum(entries, registered.dataset)


@dataclass(frozen=True)
class Dataset:
    """One data set of a ledger."""

    ledger: Ledger
    name: str

    def charge(self, budget: Budget, /) -> Token:
        """See `Ledger.charge`."""
        return self.ledger.charge(self.name, budget)


class _Chargeable(Protocol):
    def charge(self, budget: Budget, /) -> Token | None: ...


class Charge:
    """The one charge of a release, of which one can ask afterwards whether it was made.

    Parameters
    ----------
    ledger
        What is charged.
    statement
        What the release protects; it goes into the entry of a `Dataset`.
    """

    def __init__(self, ledger: _Chargeable, statement: Statement) -> None:
        self._ledger = ledger
        self._statement = statement
        self._mark = secrets.token_hex(16)
        self._begun = False

    def charge(self, budget: Budget, /) -> Token | None:
        """See `Ledger.charge`."""
        _check_budget(budget)
        self._begun = True
        if not isinstance(self._ledger, Dataset):
            return self._ledger.charge(budget)
        said = dataclasses.replace(self._statement, budget=budget)
        return self._ledger.ledger._charge(self._ledger.name, said, self._mark)

    def is_made(self) -> bool | None:
        """Whether the charge is on the disk, as the ledger says; None when a ledger of a user's own
        cannot be asked.

        Raises
        ------
        FileError
            When the ledger cannot be read.
        """
        if not self._begun:
            return False
        return self._ledger.ledger._has(self._mark) if isinstance(self._ledger, Dataset) else None


def _check_budget(budget: object) -> None:
    if not isinstance(budget, Budget):
        raise BudgetError(f"budget must be PureDP, ZCDP or ApproxDP, not {type(budget).__name__}")


def _plain_name(name: object) -> str:
    plain = unicodedata.normalize("NFC", name).strip() if isinstance(name, str) else ""
    if not plain or len(plain) > 200 or not plain.isprintable():
        raise BudgetError("the name of a data set must be a text of 1 to 200 printable characters")
    return plain


def _cost(name: str, whole: Statement, said: Statement) -> int:
    """The units of a charge; BudgetError when it protects another unit than the data set, or no
    rule converts it."""
    if not said.same_unit(whole):
        raise BudgetError(
            f"a release that protects {said.protects} cannot be charged to data set {shown(name)}, which protects "
            f"{whole.protects}: these do not add up; use the same unit=, max_rows= or rows_per_person=, and neighbours="
        )
    return whole.budget.cost_of(said.budget)


def _check_rest(name: str, total: Budget, spent: int, units: int) -> None:
    left = total.units - spent
    if units > left:
        raise BudgetError(
            f"{text(units * UNIT)} was asked of data set {name!r}, but {text(left * UNIT)} remain "
            f"of {text(total.units * UNIT)} (in {'epsilon' if total.kind == 'pure' else 'rho'})"
        )


def _datasets(path: Path, entries: tuple[Entry, ...]) -> dict[str, Entry]:
    """The registrations by name; FileError when a name or a number is registered twice."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.action == "register":
            name = str(_detail(path, entry).get("name"))
            if name in found or any(entry.dataset == other.dataset for other in found.values()):
                raise FileError(
                    f"{str(path)!r} is damaged: a data set is registered twice; get a true copy"
                )
            found[name] = entry
    return found


def _find(path: Path, entries: tuple[Entry, ...], name: str) -> Entry:
    found = _datasets(path, entries).get(_plain_name(name) if isinstance(name, str) else "")
    if found is None:
        raise BudgetError(f"data set {shown(name)} is not registered in this ledger")
    return found


def _detail(path: Path, entry: Entry) -> dict[str, Any]:
    """What an entry says beside its number of units; FileError when it is nothing of ours."""
    with contextlib.suppress(ValueError, RecursionError):
        detail = json.loads(entry.detail)
        if isinstance(detail, dict):
            return detail
    raise FileError(
        f"{str(path)!r} is damaged: entry {entry.sequence} says nothing; get a true copy"
    )


def _statement(path: Path, entry: Entry) -> Statement:
    """The statement of a registration or of a charge."""
    problem = ""
    try:
        return Statement.from_json(_detail(path, entry).get("statement"))
    except (BudgetError, DomainError) as error:
        problem = str(error)
    raise FileError(f"{str(path)!r} is damaged: entry {entry.sequence}: {problem}; get a true copy")


def _is_consistent(path: Path, entry: Entry, datasets: Mapping[str, Entry]) -> bool:
    """Whether an entry behind the first says what the software would have written."""
    said = _statement(path, entry)
    registered = next((it for it in datasets.values() if it.dataset == entry.dataset), None)
    if registered is None:
        return False
    try:
        if entry.action == "register":
            name = _detail(path, entry)["name"]
            return bool(name == _plain_name(name)) and entry.units == said.budget.units
        cost = _cost("", _statement(path, registered), said)
    except BudgetError:
        return False
    return registered.sequence < entry.sequence and entry.units == cost


def _charges(entries: tuple[Entry, ...], dataset: str) -> list[Entry]:
    return [entry for entry in entries if entry.action == "charge" and entry.dataset == dataset]


def _sum(entries: tuple[Entry, ...], dataset: str) -> int:
    return sum(entry.units for entry in _charges(entries, dataset))
