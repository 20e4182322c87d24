"""The privacy guarantee in plain words, for readers who do not know epsilon."""

import math

from ..privacy.budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from ..privacy.conversion import epsilon_of
from ..privacy.statement import Statement

__all__ = ["in_words"]

_DELTA = 1e-6
"""The delta at which zero-concentrated differential privacy is explained."""


def in_words(statement: Statement) -> list[str]:
    """Explain what a release promises to a person in the table, in three short paragraphs.

    Examples
    --------
    >>> print(in_words(Statement(budget=PureDP("0.1")))[0])
    Each row of the table is protected: the results would be almost equally likely ...
    """
    return [_who(statement), _how_much(statement.budget), _what_not()]


def _who(statement: Statement) -> str:
    """Say which rows are protected, and against which change."""
    rows, unit = statement.rows, statement.unit
    one = unit is None and rows == 1
    if unit is not None:
        whose = f"All rows with the same {unit!r} are protected together"
        bound = f" The software counted at most {rows} of them."
    elif one:
        whose = "Each row of the table is protected"
        bound = ""
    else:
        whose = f"Up to {rows} rows of one person are protected together"
        bound = (
            " The owner of the data declared that nobody has more rows; "
            "the software did not check this."
        )
    them = "it" if one else "them"
    if statement.budget.number_of_rows_is_public:
        change = "if it said something else"
        number = " The number of rows is public."
    elif statement.neighbours is Neighbours.REPLACE_ROW:
        change = f"if up to {rows} other rows stood in place of {them}"
        number = " The number of rows is protected as well."
    else:
        change = f"with {them} and without {them}"
        number = ""
    return f"{whose}: the results would be almost equally likely {change}.{number}{bound}"


def _how_much(budget: Budget) -> str:
    """Say how strong the protection is, as a factor of odds."""
    start = (
        "Strength: the results change the odds of any conclusion about a person "
        "by a factor of at most "
    )
    if isinstance(budget, PureDP):
        epsilon = float(budget.epsilon)
        return f"{start}{_factor(epsilon)} (epsilon = {epsilon:g})."
    if isinstance(budget, ApproxDP):
        epsilon, delta = float(budget.epsilon), float(budget.delta)
    else:
        assert isinstance(budget, ZCDP)
        # Convert to (epsilon, delta) and round epsilon up.
        delta = _DELTA
        epsilon = math.ceil(1000 * epsilon_of(budget.rho, delta)) / 1000
    exception = f"except with a probability of {delta:g}"
    return f"{start}{_factor(epsilon)}, {exception} (epsilon = {epsilon:g}, delta = {delta:g})."


def _what_not() -> str:
    """Say what the guarantee does not promise."""
    return (
        "The guarantee does not hide facts about groups, which could be learnt without the data "
        "of any one person. The counts are published to show such facts. Random noise was added "
        "to them on purpose; the error bars show how much."
    )


def _factor(epsilon: float) -> str:
    """Write the factor exp(epsilon), rounded up, as a text."""
    factor = math.exp(min(epsilon, 700.0))
    if factor < 100:
        return f"{math.ceil(100 * factor) / 100:.2f}"
    return f"{factor * 1.005:.3g}"
