"""A guarantee in plain words, for people who never heard of epsilon."""

import math

from .._conversion import epsilon_of
from ..budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP

__all__ = ["in_words"]

_DELTA = 1e-6


def in_words(budget: Budget) -> list[str]:
    """What a budget promises to a person in the table: some short paragraphs.

    Examples
    --------
    >>> in_words(PureDP("0.1"))[1]
    'How nearly: it moves the odds of any conclusion about a person by a factor of at most 1.11 (epsilon = 0.1).'
    """
    return [_who(budget), _how_much(budget), _what_not()]


def _who(budget: Budget) -> str:
    rows = budget.rows_per_person
    whose = (
        f"Up to {rows} rows of a person, together, are protected" if rows > 1 else "Each row of the table is protected"
    )
    if budget.neighbours is Neighbours.REPLACE_ROW:
        change = "whether they say one thing or another" if rows > 1 else "whether it says one thing or another"
        return f"{whose}: what was published is nearly as likely {change}. The number of rows is public."
    change = "they are" if rows > 1 else "it is"
    return f"{whose}: what was published is nearly as likely whether {change} in the table or not."


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
