"""`Ledger`: what has been spent on data sets, kept in a file that outlives the process.

A charge is on the disk before anything is drawn. If the machine stops in between, budget is lost, never privacy; there
is no way to give a charge back. No clock is read, and nothing in the file is derived from the rows. The file binds no
one who may replace it: every release therefore carries a `Token`, by which `Ledger.check` finds an old copy put back.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ._ledger_file import Entry, append, reading, writing
from ._numbers import UNIT, shown, text
from .budget import Budget, budget_from_json
from .errors import BudgetError, FileError

__all__ = ["Dataset", "Ledger", "Token"]


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

    Two processes never both get what is left for one only. A data set has one budget, of one kind, for ever: rows that
    come and go belong to the same people. Charges of another kind are converted, rounded up, when a rule is proved:
    rho-zCDP data sets (`ZCDP`, and `ApproxDP`, which is spent as zCDP) take a pure epsilon as a rho of epsilon**2 / 2;
    pure data sets take pure charges only. Neighbours and rows_per_person must be those of the data set.

    Every use reads and checks the whole chain of entries, at about 10 microseconds each.

    Parameters
    ----------
    path
        The file; `register` makes it when it is not there. It must be on a local disk.

    Examples
    --------
    >>> import tempfile
    >>> from margin.budget import PureDP
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "agency.db")
    >>> ledger.register("census", PureDP(2))
    >>> ledger.dataset("census").charge(PureDP("0.5")).sequence
    2
    >>> ledger.spent("census"), ledger.remaining("census")
    (Fraction(1, 2), Fraction(3, 2))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def register(self, name: str, budget: Budget) -> None:
        """Declare a data set and all that may ever be spent on it.

        Raises
        ------
        BudgetError
            When the name is taken or not a plain text, or the budget is none.
        FileError
            When the file cannot be written or is not a sound ledger.
        """
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
            raise BudgetError("the name of a data set must be a text of 1 to 200 printable characters")
        _check_budget(budget)
        detail = json.dumps({"name": name, "budget": budget.to_json()})
        with writing(self.path, create=True) as (db, entries):
            if name in _datasets(entries):
                raise BudgetError(f"data set {name!r} is registered already; its budget cannot be changed")
            append(db, entries, dataset=secrets.token_hex(16), action="register", units=budget.units, detail=detail)

    def dataset(self, name: str) -> "Dataset":
        """The data set of that name, to be passed to `release(..., ledger=...)`."""
        self._state(name)
        return Dataset(self, name)

    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order of their registration."""
        with reading(self.path) as entries:
            return tuple(_datasets(entries))

    def budget(self, name: str) -> Budget:
        """All that may be spent on a data set."""
        return self._state(name)[0]

    def spent(self, name: str) -> Fraction:
        """What has been spent on a data set: epsilon if its budget is `PureDP`, else rho."""
        return self._state(name)[1] * UNIT

    def remaining(self, name: str) -> Fraction:
        """What may still be spent on a data set: epsilon if its budget is `PureDP`, else rho."""
        budget, spent = self._state(name)
        return (budget.units - spent) * UNIT

    def charge(self, name: str, budget: Budget) -> Token:
        """Record that a release spends all of `budget`; when this returns, the record is on the disk.

        Raises
        ------
        BudgetError
            When it is more than what remains, or no rule converts it. Nothing is recorded.
        FileError
            When the file is missing, locked, read-only, full or not sound. Nothing may be released then.
        """
        _check_budget(budget)
        with writing(self.path) as (db, entries):
            registered = _find(entries, name)
            total = _budget(registered)
            units = total.cost_of(budget)
            left = total.units - _sum(entries, registered.dataset)
            if units > left:
                raise BudgetError(
                    f"{text(units * UNIT)} was asked of data set {name!r}, but {text(left * UNIT)} remain "
                    f"of {text(total.units * UNIT)} (in {'epsilon' if total.kind == 'pure' else 'rho'})"
                )
            detail = json.dumps(budget.to_json())
            entry = append(db, entries, dataset=registered.dataset, action="charge", units=units, detail=detail)
        return Token(ledger=entries[0].dataset, dataset=entry.dataset, sequence=entry.sequence, head=entry.head)

    def verify(self) -> int:
        """Check every entry against its hash and every sum against its budget; returns the number of charges.

        Raises
        ------
        FileError
            When an entry, the table or a trigger has been changed. What is cut off at the end shows in `check` only.
        """
        with reading(self.path) as entries:
            for registered in _datasets(entries).values():
                if _sum(entries, registered.dataset) > _budget(registered).units:
                    raise FileError(f"{str(self.path)!r} is damaged: a data set is overspent; get a true copy")
            return sum(entry.action == "charge" for entry in entries)

    def check(self, tokens: Mapping[str, Token | None]) -> list[str]:
        """What is wrong between this ledger and the tokens of releases, by name; empty when nothing is.

        Finds releases whose charge this ledger lacks (an old copy was put back, or its end cut off), releases that
        share a charge, and releases without any charge.
        """
        with reading(self.path) as entries:
            heads = {entry.sequence: (entry.head, entry.dataset) for entry in entries if entry.action == "charge"}
        problems, seen = [], dict[tuple[str, int], str]()
        for name, token in tokens.items():
            if token is None:
                problems.append(f"{name}: was charged to no ledger")
                continue
            if token.ledger != entries[0].dataset:
                problems.append(f"{name}: was charged to another ledger")
            elif heads.get(token.sequence) != (token.head, token.dataset):
                problems.append(f"{name}: its charge, entry {token.sequence}, is not in this ledger: an old copy?")
            other = seen.setdefault((token.ledger, token.sequence), name)
            if other != name:
                problems.append(f"{name}: has the same charge, entry {token.sequence}, as {other}")
        return problems

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def _state(self, name: str) -> tuple[Budget, int]:
        with reading(self.path) as entries:
            registered = _find(entries, name)
            return _budget(registered), _sum(entries, registered.dataset)


@dataclass(frozen=True)
class Dataset:
    """One data set of a ledger."""

    ledger: Ledger
    name: str

    def charge(self, budget: Budget, /) -> Token:
        """See `Ledger.charge`."""
        return self.ledger.charge(self.name, budget)


def _check_budget(budget: object) -> None:
    if not isinstance(budget, Budget):
        raise BudgetError(f"budget must be PureDP, ZCDP or ApproxDP, not {type(budget).__name__}")


def _datasets(entries: tuple[Entry, ...]) -> dict[str, Entry]:
    return {json.loads(entry.detail)["name"]: entry for entry in entries if entry.action == "register"}


def _find(entries: tuple[Entry, ...], name: str) -> Entry:
    found = _datasets(entries).get(name)
    if found is None:
        raise BudgetError(f"data set {shown(name)} is not registered in this ledger")
    return found


def _budget(registered: Entry) -> Budget:
    return budget_from_json(json.loads(registered.detail)["budget"])


def _sum(entries: tuple[Entry, ...], dataset: str) -> int:
    return sum(entry.units for entry in entries if entry.action == "charge" and entry.dataset == dataset)
