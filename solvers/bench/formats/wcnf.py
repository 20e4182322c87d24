"""Weighted MaxSAT: best responses and covers as DIMACS WCNF, and reading such files.

A solver of MaxSAT minimises the weight of the soft clauses that do not hold. `Clauses.offset` minus
this weight is the value of a best response, and `Clauses.offset` plus it the cost of a cover.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...response.best_response import BestResponse
from ...response.constraint import Constraint
from ...types import Integers
from ..families.cover import Cover

__all__ = ["Clauses", "clauses_of", "decoded", "read_wcnf", "wcnf"]

_OFFSET = "offset"


@dataclass
class Clauses:
    """Clauses of weighted MaxSAT, with literals as in DIMACS: i for variable i >= 1, -i for not i.

    Attributes
    ----------
    variables
        The number of variables.
    hard
        Clauses that must hold.
    soft
        Pairs of a weight, an integer >= 1, and a clause.
    offset
        The constant of the objective.
    """

    variables: int = 0
    hard: list[list[int]] = field(default_factory=list)
    soft: list[tuple[int, list[int]]] = field(default_factory=list)
    offset: int = 0

    def fresh(self) -> int:
        """Add a variable; returns its number."""
        self.variables += 1
        return self.variables


def clauses_of(problem: Any, family: str) -> Clauses:
    """The clauses of a `BestResponse` or of a `Cover`.

    Raises
    ------
    ValueError
        If the problem is of another family, or has a constraint that is no clause.
    """
    if isinstance(problem, Cover):
        return _cover(problem)
    if isinstance(problem, BestResponse):
        return _response(problem)
    raise ValueError(
        "weighted MaxSAT holds the families response and cover, but this problem is of the family "
        f"{family}; choose another format"
    )


def wcnf(problem: Any, name: str, family: str) -> Iterator[str]:
    """The lines of the file; the constant of the objective stands in a comment."""
    clauses = clauses_of(problem, family)
    top = 1 + sum(weight for weight, _ in clauses.soft)
    yield f"c {name}"
    yield f"c {_OFFSET} {clauses.offset}"
    yield f"p wcnf {clauses.variables} {len(clauses.hard) + len(clauses.soft)} {top}"
    weighted = [*((top, clause) for clause in clauses.hard), *clauses.soft]
    yield from (" ".join(map(str, [weight, *clause, 0])) for weight, clause in weighted)


def read_wcnf(text: str) -> Clauses:
    """Read a file of weighted MaxSAT, with a line ``p wcnf`` or in the form of 2022 without one.

    Raises
    ------
    ValueError
        If a line is none of this format.
    """
    read = Clauses()
    top: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        try:
            if not words or words[0] == "c":
                if words[1:2] == [_OFFSET]:
                    read.offset = int(words[2])
                continue
            if words[0] == "p":
                read.variables = int(words[2])
                top = int(words[4]) if len(words) > 4 else None
                continue
            clause = [int(word) for word in words[1:]]
            weight = None if words[0] == "h" else int(words[0])
            if clause.pop() != 0:
                raise ValueError
        except (ValueError, IndexError):
            raise ValueError(
                f"a line of weighted MaxSAT must be a weight, literals and 0, but line {number} is "
                "not; check the file"
            ) from None
        read.variables = max([read.variables, *map(abs, clause)])
        if weight is None or (top is not None and weight >= top):
            read.hard.append(clause)
        else:
            read.soft.append((weight, clause))
    return read


def decoded(problem: Any, literals: Iterable[int]) -> Integers:
    """The answer that the literals that hold stand for: a record, or the numbers of chosen sets."""
    true = {literal for literal in literals if literal > 0}
    if isinstance(problem, Cover):
        return np.array([place for place in range(problem.sets) if place + 1 in true], np.int64)
    record = []
    for first, size in zip(_first(problem), problem.sizes.tolist(), strict=True):
        if size == 2:
            record.append(int(first in true))
        else:
            record.append(next(code for code in range(size) if first + code in true))
    return np.array(record, np.int64)


def _cover(problem: Cover) -> Clauses:
    """A variable for each set; an item is a hard clause, and leaving a set out is soft."""
    rows = problem.matrix
    made = Clauses(variables=problem.sets)
    for item in range(problem.items):
        holders = rows.indices[rows.indptr[item] : rows.indptr[item + 1]]
        made.hard.append((holders + 1).tolist())
    made.soft = [(cost, [-place - 1]) for place, cost in enumerate(problem.cost.tolist())]
    return made


def _first(problem: BestResponse) -> list[int]:
    """The first variable of each attribute: one for a binary one, else one for each value."""
    widths = [1 if size == 2 else size for size in problem.sizes.tolist()]
    return (1 + np.cumsum([0, *widths])[:-1]).tolist()  # type: ignore[no-any-return]


def _response(problem: BestResponse) -> Clauses:
    """The clauses of a best response; variables of the attributes come first."""
    first = _first(problem)
    sizes = problem.sizes.tolist()
    made = Clauses(offset=int(problem.constant))
    for start, size in zip(first, sizes, strict=True):
        if size == 2:
            made.fresh()
            continue
        group = [made.fresh() for _ in range(size)]
        made.hard.append(group)
        made.hard += [[-one, -other] for one in group for other in group if one < other]
        assert group[0] == start

    def literal(attribute: int, value: int, negated: bool) -> int:
        if sizes[attribute] == 2:
            return first[attribute] if (value == 1) != negated else -first[attribute]
        variable = first[attribute] + value
        return -variable if negated else variable

    every = zip(
        problem.attribute.tolist(), problem.value.tolist(), problem.negated.tolist(), strict=True
    )
    literals = [literal(*one) for one in every]
    bounds = problem.offsets.tolist()
    for term, (weight, parity) in enumerate(
        zip(problem.weight.tolist(), problem.parity.tolist(), strict=True)
    ):
        members = literals[bounds[term] : bounds[term + 1]]
        if not weight:
            continue
        if not members:
            made.offset += weight  # no condition: the term holds at every record
        elif parity:
            _add_parity(made, members, weight)
        else:
            _add_conjunction(made, members, weight)
    for constraint in problem.constraints:
        pairs = zip(constraint.attribute.tolist(), constraint.value.tolist(), strict=True)
        made.hard.append(_clause(constraint, [literal(a, v, False) for a, v in pairs]))
    return made


def _add_conjunction(made: Clauses, members: list[int], weight: int) -> None:
    """A conjunction of positive weight is lost unless a new variable, which implies it, holds."""
    if weight < 0:
        made.soft.append((-weight, [-one for one in members]))
        return
    made.offset += weight
    held = members[0]
    if len(members) > 1:
        held = made.fresh()
        made.hard += [[-held, one] for one in members]
    made.soft.append((weight, [held]))


def _add_parity(made: Clauses, members: list[int], weight: int) -> None:
    """A chain of new variables, each the exclusive or of the one before and the next literal."""
    odd = members[0]
    for one in members[1:]:
        after = made.fresh()
        made.hard += [
            [-odd, -one, -after],
            [odd, one, -after],
            [odd, -one, after],
            [-odd, one, after],
        ]
        odd = after
    if weight > 0:
        made.offset += weight
        made.soft.append((weight, [-odd]))
    else:
        made.soft.append((-weight, [odd]))


def _clause(constraint: Constraint, literals: list[int]) -> list[int]:
    """The clause of a constraint: not all of its conditions hold, or at least one does."""
    single = len(np.unique(constraint.attribute)) == len(literals)
    if single and (constraint.coefficient == 1).all():
        if constraint.lower in (None, 0) and constraint.upper == len(literals) - 1:
            return [-one for one in literals]
        top = constraint.upper is None or constraint.upper >= len(literals)
        if constraint.lower == 1 and top:
            return literals
    raise ValueError(
        "a constraint must say that not all of its conditions hold, or that at least one does, to "
        "be a clause of MaxSAT, but one says something else; export the instance as .mps or .lp"
    )
