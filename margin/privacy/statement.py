"""`Statement`: what is protected, how well, and over which domain; for programs and for people."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..domain.domain import Domain
from ..errors import BudgetError, DomainError
from .budget import Budget, Neighbours, budget_from_json

__all__ = ["Bound", "Statement", "digest", "for_unit"]

_FIELDS = {"unit", "bound", "rows", "neighbours", "budget", "domain"}
_NEIGHBOURS = {neighbours.name.lower(): neighbours for neighbours in Neighbours}


class Bound(Enum):
    """Who answers for the largest number of rows of one unit."""

    NOT_NEEDED = "not needed"
    """Nobody has to: the unit is one row."""

    DECLARED = "declared"
    """The owner of the data, who declared it with `rows_per_person=`. The software did not check.
    """

    ENFORCED = "enforced"
    """This software, which counted no more rows of a unit than that (`unit=`)."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a release, or a charge to a ledger, protects. It holds declarations only, nothing of the
    data.

    Attributes
    ----------
    budget
        The budget that is spent: its kind and numbers, which tables are neighbours, and the largest
        number of rows of one unit (`rows_per_person`).
    unit
        The column whose values name the units; None where the unit is not named by a column.
    bound
        Who answers for the largest number of rows; by default, what follows from the other two.
    domain
        The digest of the declared domain (see `digest`); None for a charge made by hand. Counts of
        items have a domain of their own, whose digest is another.

    Raises
    ------
    BudgetError
        When the budget is none, or the bound cannot be that of the unit.

    Examples
    --------
    >>> from margin.privacy.budget import PureDP
    >>> said = Statement(budget=PureDP(1, rows_per_person=3), unit="person_id")
    >>> said.to_json()["bound"], said.to_json()["rows"]
    ('enforced', 3)
    >>> print(Statement(budget=PureDP(1)).describe())
    Protects one row: the results would be almost equally likely if any one row was added or left out. ...
    """

    budget: Budget
    unit: str | None = None
    bound: Bound | None = None
    domain: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            kind = type(self.budget).__name__
            raise BudgetError(f"budget must be PureDP, ZCDP or ApproxDP, not {kind}")
        if self.unit is not None and (not isinstance(self.unit, str) or not self.unit):
            raise DomainError(f"unit must be the name of a column, not {self.unit!r}")
        if self.unit is not None:
            possible = [Bound.ENFORCED]
        elif self.rows == 1:
            possible = [Bound.NOT_NEEDED, Bound.DECLARED]
        else:
            possible = [Bound.DECLARED]
        if self.bound is None:
            object.__setattr__(self, "bound", possible[0])
        if self.bound not in possible:
            raise BudgetError(f"bound must be {possible[0].value!r} for this unit of protection")

    @property
    def rows(self) -> int:
        """The largest number of rows of one unit that are protected together."""
        return self.budget.rows_per_person

    @property
    def neighbours(self) -> Neighbours:
        """Which tables are neighbours."""
        return self.budget.neighbours

    @property
    def protects(self) -> str:
        """The unit of protection, as the object of a sentence."""
        replaced = ", replaced" if self.neighbours is Neighbours.REPLACE_ROW else ""
        if self.unit is not None:
            return f"all rows with the same {self.unit!r}, at most {self.rows} of them counted{replaced}"
        if self.rows == 1:
            return f"one row{replaced}"
        return f"all rows of a person, at most {self.rows} as declared{replaced}"

    def describe(self) -> str:
        """The statement for people: whom it protects, whom it does not, and the budget."""
        return f"{self.whom} Guarantee: {self.budget.describe()}."

    @property
    def whom(self) -> str:
        """Whom it protects and whom it does not, in one or two sentences."""
        if self.budget.number_of_rows_is_public:
            change, public = "said something else", " The number of rows is public."
        elif self.neighbours is Neighbours.REPLACE_ROW:
            change, public = "said something else, or were fewer or more", ""
        else:
            change, public = "were added or left out", ""
        alike = "the results would be almost equally likely if"
        if self.unit is not None:
            return (
                f"Protects all rows with the same {self.unit!r}, however many the table holds: {alike} "
                f"all of them {change}. The software counts at most {self.rows} of them.{public}"
            )
        if self.rows == 1:
            return (
                f"Protects one row: {alike} any one row {change.replace('were', 'was')}. "
                f"A person who has several rows is not protected as a whole.{public}"
            )
        return (
            f"Protects all rows of a person who has at most {self.rows}: {alike} all of them {change}. "
            f"That nobody has more was declared; the software did not check it.{public}"
        )

    def same_unit(self, other: "Statement") -> bool:
        """Whether both protect the same unit, so that their budgets may be added up."""
        ours = (self.unit, self.rows, self.neighbours)
        return ours == (other.unit, other.rows, other.neighbours)

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON values, of which `from_json` makes an equal one."""
        assert self.bound is not None
        apart = ("neighbours", "rows_per_person")
        numbers = {
            name: value for name, value in self.budget.to_json().items() if name not in apart
        }
        return {
            "unit": self.unit,
            "bound": self.bound.value,
            "rows": self.rows,
            "neighbours": self.neighbours.name.lower(),
            "budget": numbers,
            "domain": self.domain,
        }

    @classmethod
    def from_json(cls, record: object) -> "Statement":
        """The statement that `to_json` wrote; BudgetError or DomainError when `record` is anything
        else."""
        if not isinstance(record, dict) or record.keys() != _FIELDS:
            raise BudgetError(f"a statement must be an object with {', '.join(sorted(_FIELDS))}")
        rows, domain = record["rows"], record["domain"]
        neighbours = record["neighbours"]
        if (
            type(rows) is not int
            or not isinstance(neighbours, str)
            or neighbours not in _NEIGHBOURS
        ):
            raise BudgetError("a statement must have a whole number of rows, and neighbours")
        if not isinstance(record["budget"], dict) or record["budget"].keys() & {
            "neighbours",
            "rows_per_person",
        }:
            raise BudgetError(
                "the budget of a statement must be an object of a kind and its numbers"
            )
        if domain is not None and not _is_digest(domain):
            raise BudgetError(
                "the domain of a statement must be 'sha256:' and 64 hexadecimal digits"
            )
        if record["bound"] not in [bound.value for bound in Bound]:
            raise BudgetError(f"bound must be one of: {', '.join(bound.value for bound in Bound)}")
        apart = {"neighbours": _NEIGHBOURS[neighbours].value, "rows_per_person": str(rows)}
        return cls(
            budget=budget_from_json({**record["budget"], **apart}),
            unit=record["unit"],
            bound=Bound(record["bound"]),
            domain=domain,
        )


def digest(domain: Domain) -> str:
    """The SHA-256 of a domain's canonical JSON: keys sorted, no spaces, ASCII. It tells which
    domain was declared.

    Examples
    --------
    >>> digest(Domain({"a": 2, "b": 2})) == digest(Domain({"b": 2, "a": 2}))
    True
    >>> digest(Domain({"a": 2}))[:15]
    'sha256:7e8059f4'
    """
    values = json.loads(domain.to_json())
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


def for_unit(budget: Budget, unit: str | None, max_rows: int | None) -> Budget:
    """The budget that protects all rows of a unit, at most `max_rows` of which are counted.

    Raises
    ------
    BudgetError, DomainError
        When the unit is no name, or does not go with `max_rows` or with the budget.
    """
    if unit is None:
        if max_rows is not None:
            raise BudgetError("max_rows bounds the rows of a unit: name its column with unit=")
        return budget
    if not isinstance(unit, str) or not unit:
        raise DomainError(f"unit must be the name of a column, not {unit!r}")
    if budget.neighbours is not Neighbours.ADD_REMOVE_ROW:
        raise BudgetError(
            "unit= needs neighbours=ADD_REMOVE_ROW: with units, the number of rows is not public"
        )
    if max_rows is None:
        return budget
    if budget.rows_per_person not in (1, max_rows):
        raise BudgetError(
            f"max_rows ({max_rows}) and the budget's rows_per_person ({budget.rows_per_person}) must be equal; "
            f"leave one out"
        )
    return dataclasses.replace(budget, rows_per_person=max_rows)  # type: ignore[type-var]


def _is_digest(value: object) -> bool:
    if not isinstance(value, str) or not value.startswith("sha256:"):
        return False
    digits = value.removeprefix("sha256:")
    return len(digits) == 64 and set(digits) <= set("0123456789abcdef")
