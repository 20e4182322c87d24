"""The privacy guarantee in plain words, for readers who do not know epsilon."""

import math
from collections.abc import Mapping
from typing import Any

from ..domain.domain import Domain
from .budget import Budget, Neighbours
from .statement import ONE_ROW, OTHER_RELEASES, Statement, not_protected
from .strength import (
    LARGEST_LOSS,
    Strength,
    earlier_releases,
    for_contents,
    given,
    spent_before,
    strength,
    with_base,
)

__all__ = [
    "ROWS",
    "change_of_odds",
    "how_strong",
    "in_a_paragraph",
    "in_words",
    "rows_not_declared",
]

ROWS = "rows"
"""What rows are called if the publisher does not say what they are."""

_EVENT = 0.01
"""Probability of the event in the example."""

_IN_FULL = 100.0
"""Factor up to which two decimals are written."""

_MOST_WRITTEN = 1e15
"""Factor from which a formula is shorter than its digits, which readers would have to count."""

_LIMITS = (
    "These percentages are limits, not findings: they do not say that anybody is so sure, or that "
    "anything was found out. They hold even for somebody who knows all other rows. On their scale, "
    "50 % would mean that the results tell nothing about {}, and 100 % that there is no limit."
)
"""What a percentage is and what it is not, with its scale."""

_SMALL = 1e-3
"""Probability below which "1 in 2,000" is easier to read than a decimal."""


def in_words(
    statement: Statement,
    domain: Domain | None = None,
    base: Mapping[str, Any] | None = None,
    *,
    row_name: str = ROWS,
    unit_name: str | None = None,
) -> list[str]:
    """Explain what a release promises to a person in the table, in five short paragraphs.

    Two more say what the domain declares as known, and which releases the base consists of: then
    the limits are those of all these releases together. The last paragraph has the numbers of the
    guarantee, which only few readers need.
    `row_name` is what the publisher calls the rows, such as "homes", and `unit_name` what one of
    those is called who are protected together, such as "owner"; None for the name of the column.

    Examples
    --------
    >>> from margin import PureDP
    >>> print(in_words(Statement(budget=PureDP("0.1")))[0])
    Can somebody find out about you from these numbers? To a limited degree. Random noise blurs \
what your row changes in them: the limits below say how much more the numbers can tell about you \
than if the table did not have your row.
    """
    found, _ = _nearest_and_contents(statement, base, domain)
    known = "" if domain is None else not_protected(domain)
    paragraphs = [
        _in_short(statement, found),
        spent_before(statement, base, domain, charges=False),
        _plainly(statement, base, domain, unit_name),
        f"{_rows_are(row_name)}{_who(statement, found, unit_name)} {OTHER_RELEASES}",
        _what_not(),
        known,
        f"{_compared(statement, found)} {how_strong(statement, domain, unit_name, base)}",
    ]
    return [paragraph for paragraph in paragraphs if paragraph]


def in_a_paragraph(
    statement: Statement,
    domain: Domain,
    base: Mapping[str, Any] | None = None,
    *,
    row_name: str = ROWS,
    unit_name: str | None = None,
) -> str:
    """The statement, how strong it is, and what is known; before these, what the release and those
    in its base add up to, which is also the strength that is told. `row_name` and `unit_name` are
    as for `in_words`.

    Examples
    --------
    >>> from margin import PureDP
    >>> said = in_a_paragraph(Statement(budget=PureDP(1)), Domain({"sex": ["F", "M"]}))
    >>> said.startswith("Protects one row:") and "by a factor of at most 2.72" in said
    True
    """
    before = spent_before(statement, base, domain)
    has_earlier = bool(earlier_releases(base))
    sentences = [
        before if has_earlier else "",
        _rows_are(row_name) + statement.describe(),
        OTHER_RELEASES,
        _unit_is(statement, unit_name),
        "" if has_earlier else before,
        how_strong(statement, domain, unit_name, base),
        not_protected(domain),
        given(statement, domain, base),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _in_short(statement: Statement, found: Strength) -> str:
    """Answer what a person asks first: that something may be found out, and beside what.

    How much is left to the sentences that follow, because it depends on the budget.
    """
    if statement.unit is not None:
        them = f"the rows with your value of the column {statement.unit!r}"
    else:
        them = "your row" if statement.rows == 1 else "your rows"
    return (
        "Can somebody find out about you from these numbers? To a limited degree. Random noise "
        f"blurs what {_yours(statement)} in them: the limits below say how much more the numbers "
        f"can tell about you than {_change(statement, found, them)}."
    )


def _yours(statement: Statement) -> str:
    """The rows of a reader with a verb, to follow "what"."""
    one = statement.unit is None and statement.rows == 1
    return "your row changes" if one else "your rows change"


def _rows_are(row_name: str) -> str:
    """Say what the rows are; empty if the publisher does not."""
    return "" if row_name == ROWS else f"The rows are {row_name}. "


def _unit_is(statement: Statement, unit_name: str | None) -> str:
    """Say who counts as one of those who are protected; empty if there is no such column."""
    if statement.unit is None:
        return ""
    return (
        f"Everybody with the same value of the column {statement.unit!r} counts as one "
        f"{unit_name or statement.unit}. Whoever has two such values is protected for each of them "
        "by itself."
    )


def _who(statement: Statement, found: Strength, unit_name: str | None) -> str:
    """Say which rows are protected, and against which change."""
    rows, unit = statement.rows, statement.unit
    one = unit is None and rows == 1
    if unit is not None:
        name = unit_name or unit
        whose = f"All rows of one {name} are protected together"
        bound = (
            f" Of the rows of one {name}, the software counted at most {rows}, chosen at random, "
            "so totals may be too low, and percentages are of the counted rows."
        )
        if statement.none_left_out:
            bound = f" {statement.none_left_out} The software did not check this."
    elif one:
        whose = "Each row of the table is protected"
        bound = f" {ONE_ROW}"
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
    sentences = [f"{whose}.", _unit_is(statement, unit_name), f"{number}{bound}".strip()]
    return " ".join(filter(None, sentences))


def rows_not_declared(budget: Budget, domain: Domain) -> str:
    """Say that totals have noise for no reason; empty if the number of rows is not public, or is
    declared.

    Examples
    --------
    >>> from margin import Neighbours, PureDP
    >>> budget = PureDP(1, neighbours=Neighbours.REPLACE_ROW)
    >>> rows_not_declared(budget, Domain({"a": 2}, rows=9))
    ''
    >>> rows_not_declared(budget, Domain({"a": 2}))[:45]
    'the number of rows is public with this budget'
    """
    if not budget.number_of_rows_is_public or domain.rows is not None:
        return ""
    return (
        "the number of rows is public with this budget, but the domain does not declare it, so "
        'totals have noise: declare it before you release, as "$rows" in the file of the domain '
        "or rows= in Python, and they are exact"
    )


def _compared(statement: Statement, found: Strength) -> str:
    """Say what a guarantee is: that two tables give the same results almost as often."""
    return (
        "Noise is random, so the same table could have given other results. The guarantee compares "
        "how probable each result is with the table as it is, and how probable it would be "
        f"{_change(statement, found)}. It limits how far the two can differ."
    )


def _change(statement: Statement, found: Strength, them: str | None = None) -> str:
    """The change of the table against which its rows, called `them`, are protected."""
    rows = statement.rows
    one = statement.unit is None and rows == 1
    them = them or ("this row" if one else "these rows")
    if found.steps > 1:
        return f"if {them} said something else, with the same public totals"
    if statement.budget.number_of_rows_is_public:
        return f"if {them} said something else"
    if statement.neighbours is Neighbours.REPLACE_ROW:
        return f"if up to {rows} other rows stood in place of {them}"
    return f"if the table did not have {them}"


def how_strong(
    statement: Statement,
    domain: Domain | None,
    unit_name: str | None = None,
    base: Mapping[str, Any] | None = None,
) -> str:
    """How strong the protection is, as a factor of odds, with an example.

    Let a reader know all other rows, and compare two tables that the reader thinks possible. The
    results change the odds of one against the other by the ratio of their probabilities, which
    the guarantee bounds, with a delta except for a small probability (docs/proofs/odds.md). If
    neighbours add or remove rows, a table with a row and one without it are one step apart, but two
    tables in which the row says different things are two. `unit_name` is as for `in_words`. With
    earlier releases in `base`, the factor is that of all results together.

    Examples
    --------
    >>> from margin import PureDP
    >>> print(how_strong(Statement(budget=PureDP(1)), None))
    Strength: the results change the odds that a row is in the table by a factor of at most 2.72 ...
    """
    found, known = _nearest_and_contents(statement, base, domain)
    results = _results_of("the results", statement, base)
    given_totals = "given the public totals, " if found.steps > 1 else ""
    said = (
        f"Strength: {given_totals}{results} change {_odds(statement, found, unit_name)} "
        f"by a factor of at most {_factor(found)}"
    )
    sentences = [f"{said} ({found.numbers}).", _of_odds(found), _example(statement, found)]
    if known.steps > found.steps:
        sentences.append(
            f"For somebody who is known to be in the table, a larger factor holds: {results} "
            f"change the odds of any conclusion about {_contents(statement, unit_name)} by a "
            f"factor of at most {_factor(known)} ({known.numbers}). {_two_steps(statement)} "
            f"{_of_even_odds(known)}"
        )
    return " ".join(sentences)


def _two_steps(statement: Statement) -> str:
    """Say why the factor for what a row says is larger than that for whether it is there."""
    one = statement.unit is None and statement.rows == 1
    steps = "one row is taken out" if one else "the rows are taken out"
    return (
        "It is larger because tables that say something else are two steps apart: "
        f"{steps}, and {'another one is' if one else 'others are'} put in."
    )


def _plainly(
    statement: Statement,
    base: Mapping[str, Any] | None,
    domain: Domain | None,
    unit_name: str | None,
) -> str:
    """How sure the results can make somebody who is 50 % sure, before the terms are explained."""
    found, known = _nearest_and_contents(statement, base, domain)
    results = _results_of("these results", statement, base)
    one = statement.unit is None and statement.rows == 1
    name = unit_name or statement.unit or "person"
    whose, are = ("a row", "is") if one else (f"the rows of one {name}", "are")
    start = "In short, given the public totals" if found.steps > 1 else "In short"
    if found.steps < known.steps:
        says = "it says" if one else "they say"
        said = (
            f"{start}: whoever was 50 % sure that {whose} {are} in the table "
            f"{_sure(found, results)}. If "
            f"{whose} {are} known to be there, whoever was 50 % sure of something that {says} "
            f"{_sure(known, results)}."
        )
    else:
        says = "says" if one else "say"
        said = (
            f"{start}: whoever was 50 % sure of something that {whose} {says} "
            f"{_sure(found, results)}."
        )
    return f"{said} {_LIMITS.format(whose)}"


def _sure(found: Strength, results: str) -> str:
    """How sure the results can make somebody who was 50 % sure, to follow "whoever"."""
    beyond = f" (except with a probability of {_chance(found.chance)})" if found.chance else ""
    return f"is at most {_of_even(found)} % sure after {results}{beyond}"


def _of_one(statement: Statement, unit_name: str | None) -> str:
    """The rows that are protected together, in words, if a column says which these are."""
    return f"the rows of one {unit_name}" if unit_name else f"the rows with one {statement.unit!r}"


def _contents(statement: Statement, unit_name: str | None = None) -> str:
    """What a reader may learn of somebody who is known to be in the table."""
    if statement.unit is not None:
        return f"what {_of_one(statement, unit_name)} say"
    return "what their row says" if statement.rows == 1 else "what their rows say"


def _odds(statement: Statement, found: Strength, unit_name: str | None = None) -> str:
    """The odds that the results change by the factor of a guarantee.

    Between a table with the rows of a person and one without them, these are the odds that the rows
    are there. Between tables in which the rows say different things, they are those of any
    conclusion about the rows.
    """
    if statement.unit is not None:
        whom = _of_one(statement, unit_name)
    else:
        whom = "a row" if statement.rows == 1 else "a person"
    if found.steps < for_contents(statement).steps:
        are = "is" if statement.unit is None else "are"
        return f"the odds that {whom} {are} in the table"
    return f"the odds of any conclusion about {whom}"


def _example(statement: Statement, found: Strength) -> str:
    """Say what the guarantee means for an event that is otherwise improbable.

    Let an event have the probabilities p and q on two neighbouring tables. The definition of
    (epsilon, delta)-differential privacy says q <= exp(epsilon) p + delta, and, for the opposite
    event and the tables exchanged, 1 - p <= exp(epsilon) (1 - q) + delta.
    """
    factor = math.exp(min(found.epsilon, LARGEST_LOSS))
    by_event = factor * _EVENT + found.delta
    by_opposite = 1 - (1 - _EVENT - found.delta) / factor
    most = math.ceil(1e4 * min(by_event, by_opposite)) / 100
    converted = f" ({found.converted})" if found.is_rho else ""
    return (
        f"For example, take results that would have a probability of {100 * _EVENT:g} % "
        f"{_change(statement, found)}. With the table as it is, their probability is at most "
        f"{most:g} %{converted}."
    )


def _nearest_and_contents(
    statement: Statement,
    base: Mapping[str, Any] | None,
    domain: Domain | None,
) -> tuple[Strength, Strength]:
    """The guarantee that readers are told: between the nearest tables that agree on what is public,
    and for what the rows of a person say.

    It is that of a release and of the earlier releases in its base together, since the results hold
    all of them. It is that of the release alone if there are none, or if they have no single
    number; then `_results_of` says so.
    """
    found = with_base(statement, base, domain)
    contents = with_base(statement, base, domain, contents=True)
    if found is None or contents is None:
        return strength(statement, domain), for_contents(statement)
    return found, contents


def _results_of(
    results: str,
    statement: Statement,
    base: Mapping[str, Any] | None,
) -> str:
    """Name the releases whose results are meant; `results` as it is without earlier releases."""
    earlier = earlier_releases(base)
    if not earlier:
        return results
    if with_base(statement, base) is None:
        return "the results of this release alone"
    others = "the earlier one" if len(earlier) == 1 else "the earlier ones"
    return f"the results of this release and of {others}"


def change_of_odds(
    statement: Statement,
    found: Strength,
    contents: Strength,
) -> str:
    """Say by which factor results change odds, to follow the results.

    Parameters
    ----------
    statement
        Who is protected.
    found
        The guarantee between the nearest tables that agree on what is public.
    contents
        The guarantee for what the rows of a person say who is known to be in the table.

    Examples
    --------
    >>> from margin import PureDP
    >>> one = Statement(budget=PureDP(1))
    >>> print(change_of_odds(one, strength(one, None), strength(one, None)))
    change the odds that a row is in the table by a factor of at most 2.72
    """
    said = f"change {_odds(statement, found)} by a factor of at most {_factor(found)}"
    if contents.steps == found.steps:
        return said
    return (
        f"{said}; if somebody is known to be in the table, they change the odds of any conclusion "
        f"about {_contents(statement)} by a factor of at most {_factor(contents)}"
    )


def _what_not() -> str:
    """Say what the guarantee does not promise."""
    return (
        "The guarantee does not hide facts about groups, which could be learnt without the data "
        "of any one person. The counts are published to show such facts. Random noise was added "
        "on purpose. The bounds of a number allow for this noise."
    )


def _factor(found: Strength) -> str:
    """Write the factor exp(loss), rounded up, and the probability of an exception."""
    factor = _rounded(found)
    text = f"{factor:.2f}" if factor <= _IN_FULL else f"{factor:,.0f}"
    if math.isinf(factor):
        text = f"exp({math.ceil(found.loss)})"
    if not found.chance:
        return text
    return f"{text}, except with a probability of {_chance(found.chance)}"


def _rounded(found: Strength) -> float:
    """The factor exp(loss), rounded up; infinite if a formula is shorter."""
    factor = found.factor
    if factor < _IN_FULL:
        return math.ceil(100 * factor) / 100
    if factor >= _MOST_WRITTEN:
        return math.inf
    # Round up to three digits.
    unit = 10.0 ** (math.floor(math.log10(factor)) - 2)
    return math.ceil(factor / unit) * unit


def _of_odds(found: Strength) -> str:
    """Say what odds are, with an example, and why the factor is not exp(epsilon)."""
    said = f"Odds are a probability divided by that of the opposite. {_of_even_odds(found)}"
    if not found.chance:
        return said
    return (
        f"{said} It is larger than exp(epsilon), because the odds may change by more than "
        "exp(epsilon) with a larger probability."
    )


def _of_even_odds(found: Strength) -> str:
    """Say what the factor makes of even odds.

    A probability of 50 % has the odds 1. The odds f are those of the probability f / (1 + f).
    """
    most = f"{_of_even(found)} %"
    return f"Before it is rounded up, this factor turns a probability of 50 % into at most {most}."


def _of_even(found: Strength) -> str:
    """What the factor makes of a probability of 50 %, in per cent, rounded up once: it is computed
    from the factor itself, not from the rounded one. Always two decimals, since two such limits
    stand in one sentence."""
    probability = 1 - 1 / (1 + found.factor)
    return f"{math.ceil(1e4 * probability) / 100:.2f}"


def _chance(probability: float) -> str:
    """A probability in words, rounded up."""
    if probability > _SMALL:
        return f"{math.ceil(1e4 * probability) / 1e4:g}"
    one_in = 1 / max(probability, 1 / _MOST_WRITTEN)
    # Round down to three digits. The first factor allows for rounding errors of floats.
    unit = 10.0 ** (math.floor(math.log10(one_in)) - 2)
    return f"at most 1 in {math.floor(one_in * (1 + 1e-9) / unit) * unit:,.0f}"
