"""`margin count --minus`: the difference of two numbers, or of two shares, of one release."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..arguments.conditions import where_of
from ..common import Said, explained, left_out, titled
from .asking import not_in_order, ratio_of, shown, signed_lines, uncertainty

if TYPE_CHECKING:
    import margin

    from ...synopses.counts.count import Count, Difference
    from ...synopses.source import Source

__all__ = ["difference_of"]

_FEW = "A share is of too few rows, or an error is not known, so the difference has no bounds."


def difference_of(
    synopsis: "margin.Synopsis",
    conditions: Sequence[str],
    of: Sequence[str] | None,
    minus: Sequence[str],
) -> Said:
    """The number of rows of the conditions less that of `minus`; with `of`, the share of the rows
    of `of` that satisfy the conditions less that of the rows of `minus`."""
    is_share = of is not None
    name = "share" if is_share else "count"
    numbers: list[Count]
    if of is None:
        wheres = [where_of(synopsis.domain, own) for own in (conditions, minus)]
        numbers = [synopsis.count(where) for where in wheres]
        asked: list[dict[str, Any]] = [{"where": where} for where in wheres]
    else:
        found = [ratio_of(synopsis, conditions, own) for own in (of, minus)]
        wheres = [where for where, _, _ in found]
        numbers = [ratio for _, _, ratio in found]
        asked = [{"where": where, "of": base} for where, base, _ in found]
    difference = numbers[0] - numbers[1]
    source = _source(synopsis, difference, wheres)

    lines = signed_lines("difference", difference, is_share=is_share)
    groups = (of, minus) if of is not None else (conditions, minus)
    for title, number, group in zip(("of", "less"), numbers, groups, strict=True):
        one = shown(number.estimate, is_share=is_share)
        lines[title] = f"{one} ({' '.join(group) or 'all rows'})"
    has_bounds = not math.isnan(difference.variance)
    meaning = explained(synopsis, source, has_bounds=has_bounds)
    if not has_bounds and is_share:
        meaning = f"{_FEW}\n{meaning}"
    if of is None:
        outside = not_in_order(synopsis.domain, [*conditions, *minus])
    else:
        bases = {"--of": found[0][1], "--minus": found[1][1]}
        outside = not_in_order(synopsis.domain, conditions, bases, [*of, *minus])
    first, second = (
        {**one, name: number.estimate} for one, number in zip(asked, numbers, strict=True)
    )
    values = {
        **uncertainty(difference, "difference"),
        "reconstructed": difference.reconstructed,
        "source": source.value,
        "left_out": left_out(synopsis) or None,
        "first": first,
        "second": second,
        **outside.values,
    }
    return Said("\n".join([titled(lines), meaning, *outside.lines]), values)


def _source(
    synopsis: "margin.Synopsis",
    difference: "Difference",
    wheres: Sequence[dict[str, Any]],
) -> "Source":
    """How the less certain of the two numbers was made."""
    from ...domain.where import chosen_codes
    from ...synopses.source import Source

    if difference.source is not None:
        return difference.source
    if difference.variance == 0 and synopsis.domain.constraints is not None:
        return Source.KNOWN
    sources = [synopsis.source(chosen_codes(synopsis.domain, where)) for where in wheres]
    return max(sources, key=list(Source).index)
