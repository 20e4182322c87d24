"""The privacy guarantee in plain words, for readers who do not know epsilon."""

import math
from collections.abc import Mapping
from typing import Any

from ..domain.domain import Domain
from .budget import Neighbours
from .statement import Statement, not_protected
from .strength import Strength, beside, spent_before, strength, with_base

__all__ = ["how_strong", "in_a_paragraph", "in_words"]

_EVENT = 0.01
"""Probability of the event in the example."""


def in_words(
    statement: Statement,
    domain: Domain | None = None,
    base: Mapping[str, Any] | None = None,
) -> list[str]:
    """Explain what a release promises to a person in the table, in three short paragraphs.

    Two more say what the domain declares as known, and which releases the base consists of.

    Examples
    --------
    >>> from margin import PureDP
    >>> print(in_words(Statement(budget=PureDP("0.1")))[0])
    Each row of the table is protected: the guarantee limits how much the probability of any ...
    """
    found = strength(statement, domain)
    known = "" if domain is None else not_protected(domain)
    paragraphs = [
        _who(statement, found),
        how_strong(statement, domain),
        _what_not(),
        known,
        _earlier(statement, base, domain),
    ]
    return [paragraph for paragraph in paragraphs if paragraph]


def in_a_paragraph(
    statement: Statement,
    domain: Domain,
    base: Mapping[str, Any] | None = None,
) -> str:
    """The statement, how strong it is, and what a reader must know besides it; see `beside`.

    Examples
    --------
    >>> from margin import PureDP
    >>> said = in_a_paragraph(Statement(budget=PureDP(1)), Domain({"sex": ["F", "M"]}))
    >>> said.startswith("Protects one row:") and "by a factor of at most 2.72" in said
    True
    """
    sentences = [
        statement.describe(),
        how_strong(statement, domain),
        beside(statement, domain, base),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _who(statement: Statement, found: Strength) -> str:
    """Say which rows are protected, and against which change."""
    rows, unit = statement.rows, statement.unit
    one = unit is None and rows == 1
    if unit is not None:
        whose = f"All rows with the same {unit!r} are protected together"
        bound = f" The software counted at most {rows} of them, so totals may be too low."
    elif one:
        whose = "Each row of the table is protected"
        bound = (
            " A person who has several rows is not protected as a whole. For example, if a row is "
            "a household, all that it says about its members is protected with it. But a person "
            "in two households is in two rows, and each row is protected only by itself."
        )
    else:
        whose = f"Up to {rows} rows of one person are protected together"
        bound = (
            " The owner of the data declared that nobody has more rows; "
            "the software did not check this."
        )
    if found.steps > 1:
        number = " Whether someone is in the table is not hidden."
    elif statement.budget.number_of_rows_is_public:
        number = " The number of rows is public."
    elif statement.neighbours is Neighbours.REPLACE_ROW:
        number = " The number of rows is protected as well."
    else:
        number = ""
    limited = "the guarantee limits how much the probability of any result changes"
    return f"{whose}: {limited} {_change(statement, found)}.{number}{bound}"


def _change(statement: Statement, found: Strength) -> str:
    """The change of the table against which its rows are protected."""
    rows = statement.rows
    one = statement.unit is None and rows == 1
    them = "it" if one else "them"
    if found.steps > 1:
        return f"if {'it' if one else 'they'} said something else, with the same public totals"
    if statement.budget.number_of_rows_is_public:
        return "if it said something else"
    if statement.neighbours is Neighbours.REPLACE_ROW:
        return f"if up to {rows} other rows stood in place of {them}"
    return f"if the table were published without {them}"


def how_strong(statement: Statement, domain: Domain | None) -> str:
    """How strong the protection is, as a factor of odds, with an example.

    Examples
    --------
    >>> from margin import PureDP
    >>> print(how_strong(Statement(budget=PureDP(1)), None))
    Strength: the results change the odds of any conclusion about one row by a factor of at most ...
    """
    found = strength(statement, domain)
    if statement.unit is not None:
        whom = f"the rows with one {statement.unit!r}"
    elif statement.rows > 1:
        whom = "a person"
    else:
        whom = "one row"
    start = "Strength: the results"
    if found.steps > 1:
        start = "Strength: given the public totals, the results"
    start += f" change the odds of any conclusion about {whom} by a factor of at most "
    numbers = found.numbers
    if found.delta:
        numbers = f"epsilon = {found.epsilon:g}, delta = {found.delta:.3g}"
    return f"{start}{_factor(found)} ({numbers}). {_example(statement, found)}"


def _example(statement: Statement, found: Strength) -> str:
    """Say what the guarantee means for an event that is otherwise improbable.

    Let an event have the probabilities p and q on two neighbouring tables. The definition of
    (epsilon, delta)-differential privacy says q <= exp(epsilon) p + delta, and, for the opposite
    event and the tables exchanged, 1 - p <= exp(epsilon) (1 - q) + delta.
    """
    factor = math.exp(min(found.epsilon, 700.0))
    by_event = factor * _EVENT + found.delta
    by_opposite = 1 - (1 - _EVENT - found.delta) / factor
    most = math.ceil(1e4 * min(by_event, by_opposite)) / 100
    return (
        f"For example, a conclusion that readers would draw from the results with a probability "
        f"of {100 * _EVENT:g} % {_change(statement, found)} is drawn with a probability of at most "
        f"{most:g} % from the table as it is."
    )


def _earlier(
    statement: Statement,
    base: Mapping[str, Any] | None,
    domain: Domain | None,
) -> str:
    """Say which earlier releases were used, and how strong the protection is with them."""
    said = spent_before(statement, base, domain, charges=False)
    found = with_base(statement, base, domain)
    if found is None:
        return said
    return (
        f"{said} Together, they change the odds of any conclusion by a factor of at most "
        f"{_factor(found)}."
    )


def _what_not() -> str:
    """Say what the guarantee does not promise."""
    return (
        "The guarantee does not hide facts about groups, which could be learnt without the data "
        "of any one person. The counts are published to show such facts. Random noise was added "
        "to them on purpose; the error bars show how much."
    )


def _factor(found: Strength) -> str:
    """Write the factor exp(epsilon), rounded up, and the probability of an exception."""
    factor = math.exp(min(found.epsilon, 700.0))
    text = f"{factor * 1.005:.3g}"
    if factor < 100:
        text = f"{math.ceil(100 * factor) / 100:.2f}"
    if not found.delta:
        return text
    return f"{text}, except with a probability of {found.delta:.3g}"
