"""Statements of a guarantee: the unit of protection, the budget and the domain, as JSON and as
text."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .._numbers import shown
from ..domain.domain import Domain
from ..errors import BudgetError, DomainError
from .budget import Budget, Neighbours, budget_from_json

__all__ = [
    "ONE_ROW",
    "OTHER_RELEASES",
    "Bound",
    "Statement",
    "bound_of",
    "digest",
    "for_data_set",
    "for_unit",
    "is_digest",
    "not_protected",
]

ONE_ROW = (
    "All that one row says is protected together, whether the row is about a person or, for "
    "example, about a household. If a person or a household has several rows in this table, each "
    "of them is protected by itself only."
)
"""What the protection of one row means for those whom it is about."""

OTHER_RELEASES = (
    "This is about one release: all numbers that were made from the table in one run of the "
    "software, wherever they are published. Whoever is in other releases as well, such as those of "
    "other periods, is protected less: the guarantees add up."
)
"""What the statement of one release leaves out. A ledger adds up the releases of a data set."""

_FIELDS = {"unit", "bound", "rows", "neighbours", "budget", "domain"}
_NEIGHBOURS = {neighbours.name.lower(): neighbours for neighbours in Neighbours}
_APART = {"neighbours", "rows_per_person"}  # of a budget's JSON: a statement holds them itself


class Bound(Enum):
    """How it is known that no unit has more rows than the guarantee covers.

    Examples
    --------
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> made.provenance.statement.bound is margin.Bound.NOT_NEEDED
    True
    """

    NOT_NEEDED = "not needed"
    """No guarantee is needed: the unit is one row."""

    DECLARED = "declared"
    """The owner of the data declared it with `rows_per_person=`. The software did not check it."""

    ENFORCED = "enforced"
    """The software counted at most this many rows of each unit (`unit=`)."""

    DECLARED_AND_ENFORCED = "declared and enforced"
    """As `ENFORCED`; the owner of the data also declared that no unit has more rows
    (`no_more_rows=`), so that none was left out. The guarantee does not rest on the declaration."""

    EACH_RELEASE = "each release"
    """Each release counts at most its own number of rows of each unit. Only a data set of a ledger
    has this bound: its releases may have different numbers (docs/proofs/units.md)."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Statement:
    """The declared guarantee of a release: who is protected, by which budget, over which domain.

    A charge to a ledger carries the same statement.
    It holds declarations only, and nothing that depends on the rows.

    Attributes
    ----------
    budget
        The budget that is spent: its kind and numbers, which tables are neighbours, and the largest
        number of rows of one unit (`rows_per_person`).
    unit
        The column that identifies the units; None if no column does.
    bound
        How the largest number of rows of one unit is known: see `Bound`. The default follows from
        `unit` and `budget`.
    domain
        The digest of the declared domain (see `digest`); None for a charge that was made without a
        release. Counts of items have their own domain, with a different digest.

    Raises
    ------
    BudgetError
        When `budget` is not a budget, or `bound` does not fit the unit and the budget.
    DomainError
        When `unit` is not the name of a column.

    Examples
    --------
    >>> from margin.privacy.budget import PureDP
    >>> said = Statement(budget=PureDP(1, rows_per_person=3), unit="person_id")
    >>> said.to_json()["bound"], said.to_json()["rows"]
    ('enforced', 3)
    >>> print(Statement(budget=PureDP(1)).whom.split(":")[0])
    Protects one row
    """

    budget: Budget
    unit: str | None = None
    bound: Bound | None = None
    domain: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            kind = type(self.budget).__name__
            raise BudgetError(
                f"budget must be PureDP, ZCDP or ApproxDP, not {kind}; pass one of these"
            )
        if self.unit is not None:
            _check_unit_name(self.unit)

        # The first possible bound is the default.
        if self.unit is not None:
            possible = [Bound.ENFORCED, Bound.DECLARED_AND_ENFORCED, Bound.EACH_RELEASE]
        elif self.rows == 1:
            possible = [Bound.NOT_NEEDED, Bound.DECLARED]
        else:
            possible = [Bound.DECLARED]
        if self.bound is None:
            object.__setattr__(self, "bound", possible[0])
        if self.bound not in possible:
            raise BudgetError(
                f"bound must be {' or '.join(repr(one.value) for one in possible)} for this unit "
                f"of protection, but it is {shown(self.bound)}; pass "
                "it, or leave bound out"
            )
        if self.bound is Bound.EACH_RELEASE and self.rows != 1:
            raise BudgetError(
                "a budget for releases that each have their own number of rows must have "
                f"rows_per_person=1, but it has rows_per_person={self.rows}; leave it out"
            )

    @property
    def rows(self) -> int:
        """The largest number of rows of one unit that a release counts, or that are protected
        together if there is no unit; 1, without a meaning, if each release has its own number."""
        return self.budget.rows_per_person

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation of the budget."""
        return self.budget.neighbours

    @property
    def protects(self) -> str:
        """The unit of protection in words, such as "one row", to follow "protects"."""
        replaced = " against replacement" if self.neighbours is Neighbours.REPLACE_ROW else ""
        if self.unit is not None:
            rows = f"at most {self.rows} of them counted"
            if self.bound is Bound.EACH_RELEASE:
                rows = "of which each release counts its own number"
            return f"all rows with the same {self.unit!r}, {rows}{replaced}"
        if self.rows == 1:
            return f"one row{replaced}"
        return f"all rows of a person, at most {self.rows} as declared{replaced}"

    def describe(self) -> str:
        """The statement as text: who is protected, who is not, and the budget."""
        return f"{self.whom} Guarantee: {self.guarantee}."

    @property
    def guarantee(self) -> str:
        """The budget in words: its kind, its numbers, and which tables are neighbours."""
        said = self.budget.describe()
        if self.unit is None or self.neighbours is Neighbours.REPLACE_ROW:
            return said
        # The budget alone knows no column, nor that a unit may have more rows than are counted.
        start, neighbours, _ = said.partition("neighbours: ")
        counted = "one of them is" if self.rows == 1 else f"at most {self.rows} of them are"
        kept = "" if self.bound is Bound.EACH_RELEASE else f" ({counted} counted)"
        return f"{start}{neighbours}add or remove all rows with the same {self.unit!r}{kept}"

    @property
    def contents(self) -> str:
        """What a reader may learn of somebody who is known to be in the table."""
        if self.unit is not None:
            return f"what the rows with the same {self.unit!r} say"
        return "what a row says" if self.rows == 1 else "what the rows of a person say"

    @property
    def whom(self) -> str:
        """Who is protected and who is not, in two or three sentences."""
        public = ""
        if self.budget.number_of_rows_is_public:
            change = "said something else"
            public = " The number of rows is public."
        elif self.neighbours is Neighbours.REPLACE_ROW:
            change = "said something else, or were fewer or more"
        else:
            change = "were added or left out"
        alike = "the guarantee limits how much more or less probable any result would be if"
        if self.unit is not None:
            counted = f"The software counts at most {self.rows}"
            if self.bound is Bound.EACH_RELEASE:
                counted = "Each release counts at most its own number"
            kept = f"{counted} of them, so totals may be too low."
            if self.none_left_out:
                kept = f"{counted} of them. {self.none_left_out} The software did not check this."
            return (
                f"Protects all rows with the same {self.unit!r}, however many the table holds:"
                f" {alike} all of them {change}. {kept}{public}"
            )
        if self.rows == 1:
            return f"Protects one row: {alike} any one row {change}. {ONE_ROW}{public}"
        return (
            f"Protects all rows of a person who has at most {self.rows}: {alike} all of them"
            f" {change}. That nobody has more was declared; the software did not check it.{public}"
        )

    @property
    def left_out(self) -> str:
        """What readers of a count must know of rows that were not counted; empty if all were, or if
        the owner of the data declared so (`none_left_out`)."""
        if self.bound is not Bound.ENFORCED:
            return ""
        are = "is" if self.rows == 1 else "are"
        return (
            f"Of the rows with the same {self.unit!r}, at most {self.rows} {are} counted: if there "
            f"are more, {self.rows} of them {are} chosen at random. For example, {self.rows + 5} "
            f"such rows would count as {self.rows}. So counts and totals may be too low, and "
            "whoever has more rows weighs less in totals and in percentages. This release does not "
            "say how many rows were left out. The bounds are for the rows that were counted and do "
            "not allow for the rows left out."
        )

    @property
    def none_left_out(self) -> str:
        """That all rows were counted, as the owner of the data declared; empty if nobody did.

        Examples
        --------
        >>> from margin import PureDP
        >>> stated = Bound.DECLARED_AND_ENFORCED
        >>> Statement(budget=PureDP(1), unit="person_id", bound=stated).none_left_out
        "The publisher states that no two rows have the same 'person_id', so none was left out."
        """
        if self.bound is not Bound.DECLARED_AND_ENFORCED:
            return ""
        most = "no two rows have" if self.rows == 1 else f"at most {self.rows} rows have"
        return f"The publisher states that {most} the same {self.unit!r}, so none was left out."

    def same_unit(self, other: "Statement") -> bool:
        """True if both protect the same unit; only then may their budgets be added up.

        With a column of units, all rows of a unit are protected, however many. So the numbers of
        rows that are counted may differ (docs/proofs/units.md). Without one, they may not.
        """
        if (self.unit, self.neighbours) != (other.unit, other.neighbours):
            return False
        return self.unit is not None or self.rows == other.rows

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON values; `from_json` reads them back."""
        assert self.bound is not None
        budget = self.budget.to_json()
        numbers = {name: value for name, value in budget.items() if name not in _APART}
        return {
            "unit": self.unit,
            "bound": self.bound.value,
            "rows": None if self.bound is Bound.EACH_RELEASE else self.rows,
            "neighbours": self.neighbours.name.lower(),
            "budget": numbers,
            "domain": self.domain,
        }

    @classmethod
    def from_json(cls, record: object) -> "Statement":
        """Read a statement from the dictionary that `to_json` wrote.

        Raises
        ------
        BudgetError, DomainError
            When `record` is anything else.
        """
        if not isinstance(record, dict) or record.keys() != _FIELDS:
            fields = ", ".join(sorted(_FIELDS))
            keys = shown(list(record)) if isinstance(record, dict) else "none"
            raise BudgetError(
                f"a statement must be an object with exactly the keys {fields}, but its keys are "
                f"{keys}; correct them"
            )
        bounds = [bound.value for bound in Bound]
        if record["bound"] not in bounds:
            raise BudgetError(
                f"bound of a statement ({shown(record['bound'])}) must be one of: "
                f"{', '.join(bounds)}; name one of these"
            )
        bound = Bound(record["bound"])
        rows = record["rows"]
        domain = record["domain"]
        neighbours = record["neighbours"]
        expected = type(None) if bound is Bound.EACH_RELEASE else int
        if type(rows) is not expected:
            raise BudgetError(
                "the rows of a statement must be a whole number, or null if the bound is 'each "
                f"release', but they are {shown(rows)}; correct them"
            )
        if not isinstance(neighbours, str) or neighbours not in _NEIGHBOURS:
            names = ", ".join(_NEIGHBOURS)
            raise BudgetError(
                f"neighbours of a statement ({shown(neighbours)}) must be one of: {names}; name "
                "one of these"
            )
        if not isinstance(record["budget"], dict) or record["budget"].keys() & _APART:
            raise BudgetError(
                "the budget of a statement must be an object with a kind and the numbers of that "
                f"kind only, but it is {shown(record['budget'])}; remove everything else"
            )
        if domain is not None and not is_digest(domain):
            raise BudgetError(
                "the domain of a statement must be null, or 'sha256:' and 64 hexadecimal digits, "
                f"but it is {shown(domain)}; correct it"
            )

        person = "1" if rows is None else str(rows)
        apart = {"neighbours": _NEIGHBOURS[neighbours].value, "rows_per_person": person}
        return cls(
            budget=budget_from_json({**record["budget"], **apart}),
            unit=record["unit"],
            bound=bound,
            domain=domain,
        )


def digest(domain: Domain) -> str:
    """The SHA-256 of a domain's canonical JSON, which identifies the declared domain.

    The canonical JSON has sorted keys, no spaces, and ASCII characters only.

    Examples
    --------
    >>> digest(Domain({"a": 2, "b": 2})) == digest(Domain({"b": 2, "a": 2}))
    True
    >>> digest(Domain({"a": 2}))[:15]
    'sha256:7e8059f4'
    """
    values = json.loads(domain.to_json())
    canonical = json.dumps(
        values,
        sort_keys=True,
        separators=(",", ":"),
    )
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


def not_protected(domain: Domain) -> str:
    """Say what a guarantee does not protect because it is known, in a sentence; empty if nothing is
    known but perhaps the number of rows.

    Examples
    --------
    >>> not_protected(Domain({"sex": ["F", "M"]}, known={("sex",): [3, 4]}))[:58]
    'What is known is not protected: the counts of (sex) were d'
    """
    if not domain.known:
        return ""
    listed = " and ".join(f"({', '.join(names)})" for names in domain.known)
    return (
        f"What is known is not protected: the counts of {listed} were declared as public, and all "
        "answers agree with them. The guarantee is for tables that agree on them."
    )


def for_unit(
    budget: Budget,
    unit: str | None,
    rows_per_person: int | None,
) -> Budget:
    """Extend a budget from one row to all rows of a unit, of which at most `rows_per_person` count.

    Parameters
    ----------
    budget
        The budget as declared.
    unit
        The column that identifies the units; None for no such column.
    rows_per_person
        The largest number of rows of one unit that are counted. None to keep the budget's
        rows_per_person, which must then be above 1.

    Raises
    ------
    BudgetError
        When `rows_per_person` is given without `unit`, or `unit` without a number of rows, or the
        budget does not fit them.
    DomainError
        When `unit` is not the name of a column.
    """
    if unit is None:
        if rows_per_person is not None:
            raise BudgetError(
                "rows_per_person limits the rows of one unit, but no unit is given; name its "
                "column with unit=, or declare the number in the budget, as in PureDP(1, "
                "rows_per_person=3)"
            )
        return budget
    _check_unit_name(unit)
    if budget.neighbours is not Neighbours.ADD_REMOVE_ROW:
        raise BudgetError(
            "unit= needs a budget with neighbours=ADD_REMOVE_ROW, because the number of rows is "
            "not public when rows belong to units, but this budget has "
            f"neighbours={budget.neighbours}; change the budget or leave unit= out"
        )
    if rows_per_person is None and budget.rows_per_person == 1:
        raise BudgetError(
            f"unit= needs the largest number of rows of one {unit!r} that are counted, but it is "
            "not given; pass rows_per_person=3 (--rows-per-person 3), or another number: further "
            "rows are left out, so a small number makes totals too low, and a large one adds noise"
        )
    if rows_per_person is None:
        return budget
    if budget.rows_per_person not in (1, rows_per_person):
        raise BudgetError(
            f"rows_per_person ({rows_per_person}) and that of the budget "
            f"({budget.rows_per_person}) must be equal; leave one of them out"
        )
    return dataclasses.replace(budget, rows_per_person=rows_per_person)  # type: ignore[type-var]


def bound_of(unit: str | None, *, no_more_rows: bool) -> Bound | None:
    """How the number of rows of a unit is known, for a release; None for what follows from `unit`.

    Parameters
    ----------
    unit
        The column that identifies the units; None for no such column.
    no_more_rows
        Whether the owner of the data declares that no unit has more rows than are counted.

    Raises
    ------
    BudgetError
        When it is declared without a unit.
    """
    if not no_more_rows:
        return None
    if unit is None:
        raise BudgetError(
            "no_more_rows declares that no unit has more rows than are counted, but no unit is "
            "given; name its column with unit=, or leave no_more_rows out"
        )
    return Bound.DECLARED_AND_ENFORCED


def for_data_set(budget: Budget, unit: str | None) -> Statement:
    """The statement of a data set of a ledger, which has a total and a unit of protection.

    With `unit`, the number of rows in the budget is dropped, because each release has its own.

    Raises
    ------
    BudgetError
        When the budget does not fit a unit.
    DomainError
        When `unit` is not the name of a column.
    """
    if unit is None:
        return Statement(budget=budget)
    one: Budget = dataclasses.replace(budget, rows_per_person=1)  # type: ignore[type-var]
    return Statement(
        budget=for_unit(one, unit, 1),
        unit=unit,
        bound=Bound.EACH_RELEASE,
    )


def _check_unit_name(unit: object) -> None:
    if not isinstance(unit, str) or not unit:
        raise DomainError(f"unit must be the name of a column, not {unit!r}; pass a non-empty text")


def is_digest(value: object) -> bool:
    """Whether a value has the form of a digest: "sha256:" and 64 hexadecimal digits."""
    if not isinstance(value, str) or not value.startswith("sha256:"):
        return False
    digits = value.removeprefix("sha256:")
    return len(digits) == 64 and set(digits) <= set("0123456789abcdef")
