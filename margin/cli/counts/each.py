"""`margin count --by`: a number, or a share, for each category of an attribute or of a level."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DomainError
from ..arguments.conditions import where_of
from ..common import Said, explained_all, left_out, printable
from .asking import not_in_order, shown, uncertainty

if TYPE_CHECKING:
    import margin

    from ...domain.attribute import Value
    from ...synopses.source import Source

__all__ = ["categories_inside", "check_conditions", "columns", "each_of"]


def each_of(
    synopsis: "margin.Synopsis",
    conditions: Sequence[str],
    of: Sequence[str] | None,
    by: str,
) -> Said:
    """The number of rows of each category that satisfy the conditions; with `of`, the share of
    these rows of the category that satisfy the conditions, too."""
    from ...domain.where import chosen_codes

    domain = synopsis.domain
    check_conditions(conditions, of)
    name = "count" if of is None else "share"
    where, base = where_of(domain, [*conditions, *(of or [])]), where_of(domain, of or [])
    found = []
    for label in categories_inside(domain, where, by):
        # The condition on one category says more than one of the same name.
        own = {by: [label]}
        inside = {**where, **own}
        number = synopsis.count(inside) if of is None else synopsis.ratio(inside, {**base, **own})
        source = number.source or synopsis.source(chosen_codes(domain, inside))
        found.append((label, number, source))
    rows = []
    categories: list[dict[str, Any]] = []
    for label, number, source in found:
        values = uncertainty(number, name)
        texts = [_text(values[key], is_share=of is not None) for key in (name, "low", "high")]
        rows.append([str(label), *texts])
        made = {"reconstructed": number.reconstructed, "source": source.value}
        categories.append({"category": label, **values, **made})
    meanings = _meanings(synopsis, [(source, _has_bounds(one)) for _, one, source in found])
    bases = {} if of is None else {"--of": {**base, by: [label for label, _, _ in found]}}
    outside = not_in_order(domain, conditions, bases, of or [])
    document = {
        "where": where,
        **({} if of is None else {"of": base}),
        "by": by,
        "categories": categories,
        "left_out": left_out(synopsis) or None,
        **outside.values,
    }
    lines = [*columns([by, name, "low", "high"], rows), *meanings, *outside.lines]
    return Said("\n".join(lines), document)


def check_conditions(conditions: Sequence[str], of: Sequence[str] | None) -> None:
    """Raise DomainError if shares are asked, but not of what."""
    if of is not None and not conditions:
        raise DomainError(
            "--of needs conditions before it, whose share is asked, but there are none; write them "
            "as in margin count FILE.margin smoker=yes --of --by region"
        )


def categories_inside(
    domain: "margin.Domain",
    where: "Mapping[str, Sequence[Value]]",
    by: str,
) -> "list[Value]":
    """The categories of which the conditions leave rows.

    Raises
    ------
    DomainError
        If there is none.
    """
    from ...domain.level_views import attribute_at
    from ...domain.where import chosen_codes
    from ...synopses.counts.conditions import common

    codes = chosen_codes(domain, where)
    found = [
        label
        for label in attribute_at(domain, by).names
        if common(codes, chosen_codes(domain, {by: [label]})) is not None
    ]
    if not found:
        raise DomainError(
            f"a category of {by!r} must be among the rows of the conditions, but none is; drop or "
            "correct a condition"
        )
    return found


def _has_bounds(number: "margin.synopses.Count") -> bool:
    return not math.isnan(number.interval(0.95)[0])


def _meanings(
    synopsis: "margin.Synopsis",
    made: "Sequence[tuple[Source, bool]]",
) -> list[str]:
    """How the numbers were made, each way once."""
    ways = dict.fromkeys(made)
    return explained_all(synopsis, ways)


def _text(number: float | None, *, is_share: bool) -> str:
    """A number of rows, or a share in percent; a dash if it is not known, as the share of a number
    of rows that is not positive."""
    return "-" if number is None else shown(number, is_share=is_share)


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in lines: categories to the left, numbers to the right."""
    texts = [[printable(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for first, *numbers in texts:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return lines
