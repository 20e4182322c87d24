"""A guarantee in plain words, for people who never heard of epsilon."""

import math

from ..privacy.budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from ..privacy.conversion import epsilon_of
from ..privacy.statement import Statement

__all__ = ["in_words"]

_DELTA = 1e-6


def in_words(statement: Statement) -> list[str]:
    """What a release promises to a person in the table: some short paragraphs.

    Examples
    --------
    >>> in_words(Statement(budget=PureDP("0.1")))[1]
    'How nearly: it moves the odds of any conclusion about a person by a factor of at most 1.11 (epsilon = 0.1).'
    """
    return [_who(statement), _how_much(statement.budget), _what_not()]


def _who(statement: Statement) -> str:
    rows, unit = statement.rows, statement.unit
    several = rows > 1 or unit is not None
    if unit is not None:
        whose = f"All rows with the same {unit!r}, together, are protected"
        bound = f" The software counted at most {rows} of them."
    elif several:
        whose = f"Up to {rows} rows of a person, together, are protected"
        bound = " That nobody has more was declared; the software did not check it."
    else:
        whose, bound = "Each row of the table is protected", ""
    if statement.budget.number_of_rows_is_public:
        change = "whether it says one thing or another"
        return f"{whose}: what was published is nearly as likely {change}. The number of rows is public.{bound}"
    if statement.neighbours is Neighbours.REPLACE_ROW:
        change = f"whether they are these or up to {rows} others"
        number = "The number of rows is protected as well."
        return f"{whose}: what was published is nearly as likely {change}. {number}{bound}"
    change = "they are" if several else "it is"
    return f"{whose}: what was published is nearly as likely whether {change} in the table or not.{bound}"


def _how_much(budget: Budget) -> str:
    if isinstance(budget, PureDP):
        epsilon = float(budget.epsilon)
        return (
            "How nearly: it moves the odds of any conclusion about a person by a factor of at most "
            f"{_factor(epsilon)} (epsilon = {epsilon:g})."
        )
    if isinstance(budget, ApproxDP):
        epsilon, delta = float(budget.epsilon), float(budget.delta)
    else:
        assert isinstance(budget, ZCDP)
        epsilon, delta = math.ceil(1000 * epsilon_of(budget.rho, _DELTA)) / 1000, _DELTA
    return (
        "How nearly: it moves the odds of any conclusion about a person by a factor of at most "
        f"{_factor(epsilon)}, but for a probability of {delta:g} (epsilon = {epsilon:g}, delta = {delta:g})."
    )


def _what_not() -> str:
    return (
        "It does not hide what is true of groups and could be learnt without any one person: that is what the counts "
        "are for. Noise was added on purpose; the error bars say how much."
    )


def _factor(epsilon: float) -> str:
    """exp(epsilon), rounded up."""
    factor = math.exp(min(epsilon, 700.0))
    return f"{math.ceil(100 * factor) / 100:.2f}" if factor < 100 else f"{factor * 1.005:.3g}"
