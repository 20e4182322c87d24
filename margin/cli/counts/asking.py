"""What the forms of `margin count` share: shares, and numbers with their bounds in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import DomainError
from ..arguments.conditions import in_order, outside_order, where_of
from ..common import explained, left_out, titled

if TYPE_CHECKING:
    import margin

    from ...domain.attribute import Value
    from ...synopses.counts.count import Count, Difference, Ratio
    from ...synopses.source import Source

__all__ = ["NotInOrder", "not_in_order", "ratio_of", "shown", "signed_lines", "told", "uncertainty"]


_WRITTEN = 12
"""Largest number of categories in a condition that a line proposes."""


def ratio_of(
    synopsis: "margin.Synopsis",
    conditions: Sequence[str],
    of_conditions: Sequence[str],
) -> "tuple[dict[str, list[Value]], dict[str, list[Value]], Ratio]":
    """The share of the rows of --of that satisfy the conditions, too, after the conditions of its
    two numbers of rows."""
    from ...domain.where import chosen_codes
    from ...synopses.counts.conditions import common

    if not conditions:
        raise DomainError(
            "--of needs conditions before it, whose share is asked, but there are none; write them "
            "as in margin count FILE.margin smoker=yes --of sex=F"
        )
    of = where_of(synopsis.domain, of_conditions)
    asked = where_of(synopsis.domain, conditions)
    chosen = [chosen_codes(synopsis.domain, each) for each in (asked, of)]
    if common(*chosen) is None:
        raise DomainError(
            "--of gives the share of its rows that satisfy the conditions before it, too, but no "
            "row can satisfy both; for any other ratio or a difference use Python, as in "
            'synopsis.ratio({"sex": "male"}, {"sex": "female"}) or synopsis.difference(...)'
        )
    where = where_of(synopsis.domain, [*conditions, *of_conditions])
    ratio = synopsis.ratio(where, of)
    if math.isnan(ratio.estimate):
        raise DomainError(
            "a share needs a positive number of rows that satisfy --of, but the estimate is not "
            "positive; drop some of its conditions"
        )
    return where, of, ratio


def told(
    synopsis: "margin.Synopsis",
    count: "Count",
    source: "Source",
    name: str,
) -> tuple[str, dict[str, Any]]:
    """A number with its bounds and how it was made: as a text, and as JSON values.

    `name` is "count" or "share".
    """
    write = partial(shown, is_share=name == "share")
    low, high = count.interval(0.95)
    lines = {name: write(count.estimate)}
    has_bounds = not math.isnan(low)
    if has_bounds:
        lines["95 %"] = f"{write(low)} to {write(high)}"
    meaning = explained(synopsis, source, has_bounds=has_bounds)
    values = {
        **uncertainty(count, name),
        "reconstructed": count.reconstructed,
        "source": source.value,
        "left_out": left_out(synopsis) or None,
    }
    return f"{titled(lines)}\n{meaning}", values


def uncertainty(count: "Count", name: str) -> dict[str, float | None]:
    """A number under its name, its bounds and its standard deviations; None if not known."""
    low, high = count.interval(0.95)
    numbers = {
        name: count.estimate,
        "low": low,
        "high": high,
        "noise_sd": math.sqrt(count.noise_variance),
        "missed_sd": math.sqrt(count.missed_variance),
    }
    return {title: None if math.isnan(number) else number for title, number in numbers.items()}


@dataclass(frozen=True, kw_only=True)
class NotInOrder:
    """What to know of the categories that are in no order, of attributes that are compared.

    Attributes
    ----------
    lines
        What to tell of each attribute.
    values
        The same for programs: all these categories by their attribute, and those of them that only
        a denominator counts.
    """

    lines: tuple[str, ...]
    values: Mapping[str, Any]


def not_in_order(
    domain: "margin.Domain",
    conditions: Sequence[str],
    bases: "Mapping[str, Mapping[str, Sequence[Value]]] | None" = None,
    of: Sequence[str] = (),
) -> NotInOrder:
    """The categories that no comparison selects, and which of them a denominator counts. The lines
    also tell of missing and other values in a denominator.

    A comparison among the conditions leaves them out of the numerator of a share. The denominator
    holds them unless its own conditions leave them out, too. Then the share is not that of the
    categories in order, which is what readers take it for.

    Parameters
    ----------
    conditions
        Those of the number, or of the numerator.
    bases
        The rows of each denominator, by the option that asks for it.
    of
        All conditions of denominators.
    """
    outside = outside_order(domain, [*conditions, *of])
    lines = []
    in_denominator: dict[str, list[Value]] = {}
    for name, labels in outside_order(domain, conditions).items():
        held, options = _held(domain, bases or {}, name, labels)
        if held:
            in_denominator[name] = held
            lines.append(_denominator(name, held, options, in_order(domain, name)))
    for name, labels in outside.items():
        left = [label for label in labels if label not in in_denominator.get(name, ())]
        if left:
            lines.append(f"Not in the order of {name!r}, and so not counted: {_listed(left)}.")
    lines += _unknown(domain, conditions, bases or {})
    values = {"not_in_order": outside, "in_denominator": in_denominator}
    return NotInOrder(lines=tuple(lines), values=values)


def _unknown(
    domain: "margin.Domain",
    conditions: Sequence[str],
    bases: "Mapping[str, Mapping[str, Sequence[Value]]]",
) -> list[str]:
    """What to tell of missing and other values of attributes whose categories are named: a
    denominator counts them, unless its own conditions leave them out."""
    from ...domain.attribute import UNSEEN
    from ...domain.level_views import attribute_at

    if not bases:
        return []
    compared = outside_order(domain, conditions)
    lines = []
    for name, selected in where_of(domain, conditions).items():
        attribute = attribute_at(domain, name)
        codes = {attribute.missing_code, attribute.other_code} - {UNSEEN}
        labels = [attribute.name(code) for code in sorted(codes)]
        # Whoever selects such values has thought of them.
        if name in compared or set(labels) & set(selected):
            continue
        held, options = _held(domain, bases, name, labels)
        if held:
            stated = [label for label in attribute.names if label not in labels]
            lines.append(_unknown_line(name, held, options, _one_of(name, stated)))
    return lines


def _held(
    domain: "margin.Domain",
    bases: "Mapping[str, Mapping[str, Sequence[Value]]]",
    name: str,
    labels: "Sequence[Value]",
) -> "tuple[list[Value], str]":
    """The categories of an attribute that some denominator counts, and the options that ask for
    these denominators, in words."""
    holding = {
        option: [label for label in labels if _holds(domain, base, name, label)]
        for option, base in bases.items()
    }
    held = [label for label in labels if any(label in found for found in holding.values())]
    return held, " and ".join(option for option, found in holding.items() if found)


def _unknown_line(
    name: str,
    labels: "Sequence[Value]",
    options: str,
    condition: str,
) -> str:
    """What to tell of missing and other values that a denominator counts."""
    values = " or ".join(map(repr, labels))
    return (
        f"Rows whose {name!r} is {values} are among the rows of {options}, so the share is of "
        f"all these rows. For the share without them, add {condition} to {options}."
    )


def _one_of(name: str, labels: "Sequence[Value]") -> str:
    """A condition that selects some categories, to be written; in words if they are many, or if
    one has a comma, which stands between categories."""
    texts = list(map(str, labels))
    if len(texts) > _WRITTEN or any("," in text for text in texts):
        return f"{name}= and the other categories, with commas between them,"
    return repr(f"{name}={','.join(texts)}")


def _holds(
    domain: "margin.Domain",
    base: "Mapping[str, Sequence[Value]]",
    name: str,
    label: "Value",
) -> bool:
    """Whether rows of a category are among those of a denominator."""
    from ...domain.where import chosen_codes
    from ...synopses.counts.conditions import common

    return common(chosen_codes(domain, base), chosen_codes(domain, {name: [label]})) is not None


def _denominator(
    name: str,
    labels: "Sequence[Value]",
    options: str,
    condition: str | None,
) -> str:
    """What to tell of categories that only a denominator counts."""
    limit = f"{condition!r}" if condition else f"{name}= and its categories in order"
    return (
        f"Not in the order of {name!r}: {_listed(labels)}. They are among the rows of {options}, "
        f"so the share is of all these rows. For the share of those in order, add {limit} to "
        f"{options}."
    )


def _listed(labels: "Sequence[Value]") -> str:
    return ", ".join(map(repr, labels))


def shown(number: float, *, is_share: bool) -> str:
    """A number of rows, or a share in percent. Zero has no sign."""
    if is_share:
        return f"{round(100 * number, 2) + 0.0:.2f} %"
    return f"{round(number, 1) + 0.0:,.1f}"


def signed_lines(
    name: str,
    number: "Difference",
    *,
    is_share: bool,
) -> dict[str, str]:
    """A change or a difference with its bounds, if they are known: a text for each title. Those of
    shares are in percentage points."""
    unit = " points" if is_share else ""
    low, high = number.interval(0.95)
    lines = {name: f"{_signed(number.estimate, is_share)}{unit}"}
    if not math.isnan(low):
        lines["95 %"] = f"{_signed(low, is_share)} to {_signed(high, is_share)}{unit}"
    return lines


def _signed(number: float, is_share: bool) -> str:
    """A change or a difference with its sign; that of shares in percentage points."""
    digits = 2 if is_share else 1
    scaled = round(100 * number if is_share else number, digits)
    return f"{scaled:+,.{digits}f}" if scaled else f"{0:.{digits}f}"
