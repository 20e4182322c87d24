"""Ledgers: a file that records what has been spent on each data set, across processes.

A charge is on the disk before any noise is drawn. If the machine stops in between, budget is lost,
but never privacy. A charge cannot be given back. No clock is read, and nothing in the file is
derived from the rows. Anyone who can write the file can also replace it by an older copy. Every
release therefore carries a `Token`, from which `Ledger.check` detects such a copy.
"""

import contextlib
import dataclasses
import difflib
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
from ..errors import BudgetError, BudgetSpentError, DomainError, LedgerLockedError
from .budget import Budget
from .ledger_file import Entry, append, damaged, reading, writing
from .statement import Bound, Statement, for_data_set
from .strength import Strength, together

__all__ = ["Charge", "Charged", "Dataset", "Ledger", "Token", "is_nearly_spent"]

_USEFUL = Fraction(1, 1000)
"""Share of a budget below which what remains pays for no useful release. The noise of a release
that spends it has more than 1,000 times the standard deviation that the whole budget allows, or 31
times if the budget is a rho."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Token:
    """The receipt of one charge to a ledger; the release that was charged keeps it.

    Attributes
    ----------
    ledger, dataset
        Random identifiers of the ledger and of the data set.
    sequence
        Number of the charge's entry in the ledger.
    head
        Hash of that entry and of all entries before it.
    """

    ledger: str
    dataset: str
    sequence: int
    head: str


@dataclass(
    frozen=True,
    kw_only=True,
)
class Charged:
    """One charge in a ledger, as `Ledger.charged` lists it.

    Attributes
    ----------
    sequence
        Number of its entry in the ledger.
    statement
        The guarantee of the release that was charged.
    label
        The text that its user gave it; empty if there is none.
    token
        The receipt. The file of the release that was charged keeps an equal one
        (`Provenance.token`), unless the release failed after the charge.
    """

    sequence: int
    statement: Statement
    label: str
    token: Token


_LISTED = 12
"""Largest number of data sets that a message names."""


class Ledger:
    """A file (SQLite) that records the budget of each data set and every charge to it.

    Two processes that charge at the same time never spend more than the budget together. A data set
    has one budget, which never changes, because rows that come and go belong to the same people.
    Charges of another kind are converted, rounded up, if a proved rule exists. Data sets in rho
    (`ZCDP`, and `ApproxDP`, which is spent as zCDP) accept a pure epsilon as rho = epsilon**2 / 2.
    Pure data sets accept pure charges only.

    A data set has one unit of protection and one neighbouring relation. The unit is a column, one
    row, or all rows of a person, as many as the budget declares. A release that protects another
    unit is refused, because its guarantee does not add up with the others. With a unit column, each
    release has its own `rows_per_person`: all of them protect all rows of a unit, and the charge is
    for the whole unit (docs/proofs/units.md).

    Every use reads and checks the whole chain of entries, which takes about 10 microseconds per
    entry.

    Parameters
    ----------
    path
        The file. `register` creates it if it does not exist. An existing but empty file is damaged
        and is refused. The file must be on a local disk.

    Examples
    --------
    >>> import tempfile
    >>> from margin.privacy.budget import PureDP
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "agency.db")
    >>> ledger.register("census", PureDP(2))  # whether it was new
    True
    >>> ledger.dataset("census").charge(PureDP("0.5")).sequence
    2
    >>> ledger.spent("census"), ledger.remaining("census")
    (Fraction(1, 2), Fraction(3, 2))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def register(
        self,
        name: str,
        budget: Budget,
        *,
        unit: str | None = None,
        if_missing: bool = False,
        create: bool = True,
    ) -> bool:
        """Declare a data set and the total that may ever be spent on it.

        Parameters
        ----------
        name
            Name of the data set: 1 to 200 printable characters. Spaces around it are removed, and
            it is converted to Unicode normal form C, so that equal-looking spellings are one name.
        budget
            The total that may be spent, with the neighbouring relation.
        unit
            The value that you will pass to `release`. By default the unit of protection is one row,
            or all rows of a person, as many as the budget declares. With a unit, the budget's
            `rows_per_person` has no effect: each release has its own.
        if_missing
            Accept a data set that is already registered with the same budget and the same unit.
        create
            Make the file if there is none. Without it, a ledger that was lost is not replaced by
            one that knows of no charge.

        Returns
        -------
        bool
            True if the data set was registered now; False if it was registered before.

        Raises
        ------
        BudgetError
            When the name is already registered (with `if_missing`: with another budget or unit) or
            is not a plain text, when `budget` is not a budget, or when `unit` does not fit it.
        DomainError
            When `unit` is not the name of a column.
        FileError
            When the file cannot be written or is damaged, or, without `create`, does not exist.
        """
        plain = _plain_name(name)
        _check_budget(budget)
        whole = for_data_set(budget, unit)
        detail = json.dumps({"name": plain, "statement": whole.to_json()})
        with writing(self.path, create=create) as (db, entries):
            registered = _datasets(self.path, entries).get(plain)
            if registered is not None:
                before = _statement(self.path, registered)
                if if_missing and before == whole:
                    return False
                raise BudgetError(
                    f"data set {plain!r} is already registered with {before.guarantee} (protects "
                    f"{before.protects}), and this cannot be changed; charge it as it is. Do not "
                    "register the same people under a second name: their charges would not be "
                    "added up"
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
        return True

    def dataset(self, name: str, *, label: str = "") -> "Dataset":
        """The data set with that name, to pass to `release(..., ledger=...)`.

        Parameters
        ----------
        name
            Name of the data set.
        label
            A text that the ledger keeps with each charge, such as the name of the release: up to
            200 printable characters. You state it; never derive it from the data. The ledger does
            not protect it.

        Raises
        ------
        BudgetError
            When there is no such data set, or the label has another form.
        FileError
            When the file is missing, locked or damaged.
        """
        self._state(name)
        return Dataset(self, _plain_name(name), label=label)

    def datasets(self) -> tuple[str, ...]:
        """The names of all data sets, in the order of their registration."""
        with reading(self.path) as entries:
            return tuple(_datasets(self.path, entries))

    def budget(self, name: str) -> Budget:
        """The total that may be spent on a data set. If it has a unit column, the budget's
        `rows_per_person` is 1, without a meaning."""
        return self.statement(name).budget

    def statement(self, name: str) -> Statement:
        """The unit of protection of a data set, and the total that may be spent on it."""
        return self._state(name)[0]

    def charges(self, name: str) -> tuple[Statement, ...]:
        """The guarantee of each release that was charged to a data set, in order."""
        return tuple(charge.statement for charge in self.charged(name))

    def charged(self, name: str) -> tuple[Charged, ...]:
        """Each charge to a data set, with the number of its entry and its label, in order.

        `check` and the receipt of a release (`Token.sequence`) give charges the same numbers. Which
        charge belongs to which release is told by their receipts, which are equal.
        """
        with reading(self.path) as entries:
            registered = _find(self.path, entries, name)
            return tuple(
                Charged(
                    sequence=entry.sequence,
                    statement=_statement(self.path, entry),
                    label=_label(self.path, entry),
                    token=_token(entries, entry),
                )
                for entry in _charges(entries, registered.dataset)
            )

    def spent(self, name: str) -> Fraction:
        """The amount spent on a data set: epsilon if its budget is `PureDP`, else rho."""
        return self._state(name)[1] * UNIT

    def remaining(self, name: str) -> Fraction:
        """The amount that may still be spent on a data set: epsilon for `PureDP`, else rho."""
        whole, spent = self._state(name)
        return (whole.budget.units - spent) * UNIT

    def public_totals(self, name: str) -> tuple[bool | None, ...]:
        """For each charge, True if the release declared the total of its table as public.

        None for a charge of an earlier version, which did not record it.
        """
        with reading(self.path) as entries:
            registered = _find(self.path, entries, name)
            charges = _charges(entries, registered.dataset)
            return tuple(_total_is_public(self.path, entry) for entry in charges)

    def strength(self, name: str) -> Strength | None:
        """The guarantee of all releases together, for what the rows of a person say.

        It is the sum of their budgets, unless the total of a table is public and neighbours add or
        remove rows: then it is twice the sum (four times for rho). None if nothing is spent.
        """
        whole, spent = self._state(name)
        return together(whole, spent * UNIT, self.public_totals(name))

    def charge(
        self,
        name: str,
        budget: Budget,
        *,
        statement: Statement | None = None,
        total_is_public: bool = False,
    ) -> Token:
        """Record that a release spends all of `budget`.

        When this method returns, the record is on the disk.

        Parameters
        ----------
        name
            Name of the data set.
        budget
            The budget that the release spends.
        statement
            The guarantee of the release. By default it follows from the budget, without a unit
            column.
        total_is_public
            Whether the release declares the total of its table as public; see `strength`.

        Raises
        ------
        BudgetSpentError
            When the budget is more than what remains. Nothing is recorded.
        BudgetError
            When the budget protects another unit, or when no rule converts it. Nothing is recorded.
        FileError
            When the file is missing, locked, read-only, full or damaged. Do not release anything
            then.
        """
        _check_budget(budget)
        said = Statement(budget=budget) if statement is None else statement
        if said.budget != budget:
            raise BudgetError(
                "the statement of a charge must have the budget that is charged "
                f"({budget.describe()}), but it has another ({said.budget.describe()}); pass a "
                "statement with the same budget"
            )
        return self._charge(name, said, secrets.token_hex(16), total_is_public)

    def _charge(
        self,
        name: str,
        said: Statement,
        mark: str,
        total_is_public: bool,
        label: str = "",
    ) -> Token:
        """Record a charge with a random mark, by which `_has` can find the entry again."""
        with writing(self.path) as (db, entries):
            registered = _find(self.path, entries, name)
            whole = _statement(self.path, registered)
            units = _cost(name, whole, said)
            _check_rest(name, whole.budget, _sum(entries, registered.dataset), units)
            record = {"statement": said.to_json(), "total_is_public": total_is_public}
            detail = json.dumps({**record, "label": label} if label else record)
            entry = append(
                db,
                entries,
                dataset=registered.dataset,
                action="charge",
                units=units,
                detail=detail,
                salt=mark,
            )
        return _token(entries, entry)

    def _has(self, mark: str) -> bool:
        """True if a charge with that mark is on the disk."""
        with reading(self.path) as entries:
            return any(entry.salt == mark for entry in entries)

    def verify(self) -> int:
        """Check every entry against its hash, and every charge and sum against its budget.

        Returns
        -------
        int
            Number of charges.

        Raises
        ------
        FileError
            When an entry, the table or a trigger has been changed, when a name is registered twice,
            or when a charge is for an unknown data set, for another unit, or for less than it cost.
            Entries that were cut off at the end can be detected by `check` only.
        """
        with reading(self.path) as entries:
            datasets = _datasets(self.path, entries)
            for entry in entries[1:]:
                if not _is_consistent(self.path, entry, datasets):
                    wrong = f"entry {entry.sequence} does not fit its data set"
                    raise damaged(self.path, wrong)
            for registered in datasets.values():
                spent = _sum(entries, registered.dataset)
                if spent > _statement(self.path, registered).budget.units:
                    raise damaged(self.path, "more than the budget of a data set is spent")
            return sum(entry.action == "charge" for entry in entries)

    def check(
        self,
        tokens: Mapping[str, Token | None],
        *,
        statements: Mapping[str, Statement] | None = None,
    ) -> list[str]:
        """Compare the receipts of releases with this ledger.

        The result is a list of problems in words, empty if there are none. It finds releases whose
        charge is missing in this ledger (the ledger is an older copy, or its end was cut off),
        releases that share a charge, and releases without a charge. With `statements` it also finds
        releases that state another guarantee than their charge.

        Parameters
        ----------
        tokens
            The token of each release, by the name of the release; None for a release without one.
        statements
            The statements of releases, by the same names.

        Raises
        ------
        FileError
            When the file is missing, locked or damaged.
        """
        told = {} if statements is None else statements
        with reading(self.path) as entries:
            charges = {entry.sequence: entry for entry in entries if entry.action == "charge"}
        problems: list[str] = []
        seen: dict[Token, str] = {}
        for name, token in tokens.items():
            if token is None:
                problems.append(
                    f"{name}: was charged to no ledger, so its budget is missing in all sums; add "
                    "what it states to them by hand, and release with a ledger from now on"
                )
                continue
            charge = charges.get(token.sequence)
            if token.ledger != entries[0].dataset:
                problems.append(f"{name}: was charged to another ledger; check it there")
            elif charge is None or (charge.head, charge.dataset) != (token.head, token.dataset):
                problems.append(
                    f"{name}: its charge, entry {token.sequence}, is not in this ledger; if the"
                    " ledger is an older copy, put the newest one back, or charge it again before"
                    " the next release (docs/howto/unattended.md)"
                )
            elif name in told and told[name] != _statement(self.path, charge):
                problems.append(
                    f"{name}: its statement differs from its charge, entry {token.sequence};"
                    " was the release changed?"
                )
            # One charge pays for one release.
            other = seen.setdefault(token, name)
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
    """One data set of a ledger, which `release(..., ledger=)` can charge.

    Attributes
    ----------
    ledger
        The ledger that holds the data set.
    name
        Name of the data set in this ledger.
    label
        The text that each charge keeps; see `Ledger.dataset`.
    """

    ledger: Ledger
    name: str
    label: str = ""

    def __post_init__(self) -> None:
        if not _is_label(self.label):
            raise BudgetError(
                "a label must be a text of at most 200 printable characters, but it is "
                f"{shown(self.label)}; shorten it, or leave it out"
            )

    def charge(self, budget: Budget, /) -> Token:
        """Record that a release spends all of `budget` on this data set; see `Ledger.charge`."""
        _check_budget(budget)
        said = Statement(budget=budget)
        return self.ledger._charge(self.name, said, secrets.token_hex(16), False, self.label)


class _Chargeable(Protocol):
    def charge(self, budget: Budget, /) -> Token | None: ...


class Charge:
    """The one charge that a release makes; `is_made` tells afterwards whether it was recorded.

    Parameters
    ----------
    ledger
        The data set, or a user's own ledger, that is charged.
    statement
        The guarantee of the release. It is recorded in the entry of a `Dataset`.
    total_is_public
        Whether the release declares the total of its table as public; recorded likewise.
    """

    def __init__(
        self,
        ledger: _Chargeable,
        statement: Statement,
        *,
        total_is_public: bool,
    ) -> None:
        self._ledger = ledger
        self._statement = statement
        self._total_is_public = total_is_public
        self._mark = secrets.token_hex(16)
        self._begun = False

    def charge(self, budget: Budget, /) -> Token | None:
        """Record durably that the release spends all of `budget`; see `Ledger.charge`."""
        _check_budget(budget)
        self._begun = True
        if not isinstance(self._ledger, Dataset):
            return self._ledger.charge(budget)
        said = dataclasses.replace(self._statement, budget=budget)
        ledger, name = self._ledger.ledger, self._ledger.name
        label = self._ledger.label
        try:
            return ledger._charge(name, said, self._mark, self._total_is_public, label)
        except LedgerLockedError:
            # SQLite did not begin or did not commit, so there is no charge to look for.
            self._begun = False
            raise

    def is_made(self) -> bool | None:
        """True if the charge is on the disk; None if a user's own ledger was charged, which cannot
        be asked.

        Raises
        ------
        FileError
            When the ledger cannot be read.
        """
        if not self._begun:
            return False
        if not isinstance(self._ledger, Dataset):
            return None
        return self._ledger.ledger._has(self._mark)


def _check_budget(budget: object) -> None:
    if not isinstance(budget, Budget):
        raise BudgetError(
            f"budget must be PureDP, ZCDP or ApproxDP, not {type(budget).__name__}; pass one of "
            "these"
        )


def _plain_name(name: object) -> str:
    plain = unicodedata.normalize("NFC", name).strip() if isinstance(name, str) else ""
    if not plain or len(plain) > 200 or not plain.isprintable():
        raise BudgetError(
            "the name of a data set must be a text of 1 to 200 printable characters, but it is "
            f"{shown(name)}; choose such a name"
        )
    return plain


def _cost(
    name: str,
    whole: Statement,
    said: Statement,
) -> int:
    """The cost of a release in units of the data set's budget.

    BudgetError when it protects another unit than the data set, when it does not say how many rows
    of a unit it counts, or when no rule converts it.
    """
    if not said.same_unit(whole):
        rows = "" if whole.unit is not None else ", the same rows_per_person="
        raise BudgetError(
            f"a release that protects {said.protects} cannot be charged to data set {shown(name)}, "
            f"which protects {whole.protects}, because these guarantees do not add up; use the "
            f"same unit={rows} and the same neighbours="
        )
    if said.bound is Bound.EACH_RELEASE:
        raise BudgetError(
            "the statement of a charge must say how many rows of a unit its release counts, but it "
            "is that of a data set; leave its bound out"
        )
    # With a unit, the total pays for releases with any number of rows (docs/proofs/units.md).
    total: Budget = dataclasses.replace(  # type: ignore[type-var]
        whole.budget, rows_per_person=said.rows
    )
    return total.cost_of(said.budget)


def _check_rest(
    name: str,
    total: Budget,
    spent: int,
    units: int,
) -> None:
    left = total.units - spent
    if units <= left:
        return
    measure = "epsilon" if total.kind == "pure" else "rho"
    advice = "spend less"
    if is_nearly_spent(total, left * UNIT):
        advice = (
            f"the budget is {'practically ' if left else ''}used up, so make no further release "
            "from this data set, and use the files that are released already"
        )
    error = BudgetSpentError(
        f"a release from data set {name!r} may spend at most what remains of its budget, "
        f"{text(left * UNIT)} of {text(total.units * UNIT)} (in {measure}), but this one asks "
        f"for {text(units * UNIT)}; {advice}"
    )
    error.remaining, error.asked = left * UNIT, units * UNIT
    raise error


def is_nearly_spent(total: Budget, remaining: Fraction) -> bool:
    """Whether so little remains of the budget of a data set that it pays for no useful release.

    Parameters
    ----------
    total
        The budget.
    remaining
        What remains of it: epsilon if it is `PureDP`, else rho.

    Examples
    --------
    >>> from margin import PureDP
    >>> is_nearly_spent(PureDP(3), Fraction("0.001")), is_nearly_spent(PureDP(3), Fraction("0.1"))
    (True, False)
    """
    return remaining < _USEFUL * total.units * UNIT


def _datasets(path: Path, entries: tuple[Entry, ...]) -> dict[str, Entry]:
    """The registrations by name; FileError when a name or a number is registered twice."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.action != "register":
            continue
        name = str(_detail(path, entry).get("name"))
        if name in found or any(entry.dataset == other.dataset for other in found.values()):
            raise damaged(path, "a data set is registered twice")
        found[name] = entry
    return found


def _find(
    path: Path,
    entries: tuple[Entry, ...],
    name: str,
) -> Entry:
    datasets = _datasets(path, entries)
    plain = _plain_name(name) if isinstance(name, str) else ""
    found = datasets.get(plain)
    if found is None:
        by_lower = {other.casefold(): other for other in datasets}
        close = difflib.get_close_matches(plain.casefold(), by_lower, n=1)
        names = ", ".join(map(repr, list(datasets)[:_LISTED])) or "none"
        hint = f"did you mean {by_lower[close[0]]!r}?" if close else f"its data sets are {names}"
        raise BudgetError(
            f"data set {shown(name)} must be registered in this ledger, but it is not; {hint}"
        )
    return found


def _detail(path: Path, entry: Entry) -> dict[str, Any]:
    """The JSON object in an entry; FileError when there is none."""
    with contextlib.suppress(ValueError, RecursionError):
        detail = json.loads(entry.detail)
        if isinstance(detail, dict):
            return detail
    raise damaged(path, f"entry {entry.sequence} holds no JSON object")


def _statement(path: Path, entry: Entry) -> Statement:
    """The statement of a registration or of a charge; FileError when it is not readable."""
    problem = ""
    try:
        said = Statement.from_json(_detail(path, entry).get("statement"))
        # Earlier versions registered a number of rows with a unit.
        if entry.action == "register" and said.unit is not None:
            return for_data_set(said.budget, said.unit)
        return said
    except (BudgetError, DomainError) as error:
        problem = str(error)
    raise damaged(path, f"entry {entry.sequence}: {problem}")


def _total_is_public(path: Path, entry: Entry) -> bool | None:
    """Whether a charge says that the total was public; None if it does not say."""
    public = _detail(path, entry).get("total_is_public")
    if public is None or isinstance(public, bool):
        return public
    raise damaged(path, f"entry {entry.sequence} holds a value that is not true or false")


def _label(path: Path, entry: Entry) -> str:
    """The label of a charge; empty if it has none, as charges of earlier versions."""
    label = _detail(path, entry).get("label", "")
    if _is_label(label):
        return str(label)
    raise damaged(path, f"entry {entry.sequence} holds a label that is no plain text")


def _is_label(label: object) -> bool:
    return isinstance(label, str) and len(label) <= 200 and label.isprintable()


def _is_consistent(
    path: Path,
    entry: Entry,
    datasets: Mapping[str, Entry],
) -> bool:
    """True if an entry (not the first) has the content and the units that the software writes."""
    said = _statement(path, entry)
    _total_is_public(path, entry)
    _label(path, entry)
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


def _token(entries: tuple[Entry, ...], charge: Entry) -> Token:
    """The receipt of a charge. The first entry names the ledger."""
    return Token(
        ledger=entries[0].dataset,
        dataset=charge.dataset,
        sequence=charge.sequence,
        head=charge.head,
    )


def _charges(entries: tuple[Entry, ...], dataset: str) -> list[Entry]:
    return [entry for entry in entries if entry.action == "charge" and entry.dataset == dataset]


def _sum(entries: tuple[Entry, ...], dataset: str) -> int:
    return sum(entry.units for entry in _charges(entries, dataset))
