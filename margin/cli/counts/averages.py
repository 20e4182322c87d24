"""`margin count --mean`, `--median` and `--quantile`: of all rows of the conditions, or of those of
each category."""

import argparse
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DomainError
from ..arguments.conditions import where_of
from ..common import Said, explained_all, left_out, printable, titled
from .asking import not_in_order, shown, uncertainty
from .each import categories_inside, columns

if TYPE_CHECKING:
    import margin

    from ...domain.attribute import Value
    from ...synopses.counts.count import Mean
    from ...synopses.counts.quantile import Quantile
    from ...synopses.source import Source

__all__ = ["average_of", "averages_asked"]

_MEAN = (
    "The mean takes the middle of each bin for the values in it, and the bounds do not allow for "
    "what the values differ from it."
)

_WHOLE = (
    "Values are taken for whole numbers, so a bin of 1 to under 3 holds 1 and 2, and its middle is "
    "1.5."
)

_NOT_WHOLE = (
    "If the values are whole numbers, such as nights, the middles are too high by half of one: add "
    "--whole."
)

_QUANTILE = (
    "Counts tell which category holds the {name}, and not where in it: with about 95 % "
    "probability, the true {name} lies between the bounds."
)

_OUTSIDE = "Not in the order of {attribute!r}, and so left out of the {name}: {labels}."


def averages_asked(parsed: argparse.Namespace) -> list[str]:
    """The options that ask for a mean or a quantile."""
    return [f"--{name}" for name in ("mean", "median", "quantile") if getattr(parsed, name)]


def average_of(synopsis: "margin.Synopsis", parsed: argparse.Namespace) -> Said:
    """The mean or the quantile of an attribute, with bounds; for each category with --by."""
    domain = synopsis.domain
    attribute, share = _asked(parsed)
    name = "mean" if share is None else "median" if share == 0.5 else f"{share:g}-quantile"
    where = where_of(domain, parsed.conditions)
    labels: list[Value | None] = [None]
    if parsed.by is not None:
        labels = [*categories_inside(domain, where, parsed.by)]

    groups = []
    for label in labels:
        inside = where if label is None else {**where, parsed.by: [label]}
        groups.append(_group(synopsis, attribute, share, inside, whole=parsed.whole))

    ways = dict.fromkeys((group.source, group.has_bounds) for group in groups)
    notes = explained_all(synopsis, ways)
    about = [_QUANTILE.format(name=name)]
    if share is None:
        about = [f"{_MEAN} {_WHOLE if parsed.whole else _NOT_WHOLE}"]
    outside = ", ".join(map(repr, _outside(domain, attribute)))
    if outside:
        about.append(_OUTSIDE.format(attribute=attribute, name=name, labels=outside))
    compared = not_in_order(domain, parsed.conditions)
    notes += [*(textwrap.fill(printable(line), 88) for line in about), *compared.lines]
    document: dict[str, Any] = {"where": where, "attribute": attribute}
    if share is not None:
        document["quantile"] = share
    else:
        document["whole"] = parsed.whole
    document |= {"left_out": left_out(synopsis) or None, **compared.values}
    if parsed.by is None:
        (group,) = groups
        title = name if share in (None, 0.5) else "quantile"
        average, low, high = group.texts
        lines = titled({title: average, "95 %": f"{low} to {high}"})
        return Said("\n".join([lines, *notes]), document | group.values)
    rows = [[str(label), *group.texts] for label, group in zip(labels, groups, strict=True)]
    document["by"] = parsed.by
    document["categories"] = [
        {"category": label, **group.values} for label, group in zip(labels, groups, strict=True)
    ]
    table = columns([parsed.by, name, "low", "high"], rows)
    return Said("\n".join([*table, *notes]), document)


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The mean or the quantile of some rows: its texts with both bounds, its JSON values, and how
    it was made."""

    texts: list[str]
    values: dict[str, Any]
    source: "Source"
    has_bounds: bool


def _group(
    synopsis: "margin.Synopsis",
    attribute: str,
    share: float | None,
    where: "dict[str, list[Value]]",
    *,
    whole: bool,
) -> _Group:
    """The mean, or the quantile below which a share lies, of the rows of a condition."""
    from ...domain.level_views import split_level
    from ...domain.where import chosen_codes

    number: Mean | Quantile
    if share is None:
        number = synopsis.mean(attribute, where=where, whole=whole)
        values: dict[str, Any] = uncertainty(number, "mean")
        numbers = [values[key] for key in ("mean", "low", "high")]
        texts = ["-" if one is None else shown(one, is_share=False) for one in numbers]
        has_bounds = values["low"] is not None
    else:
        number = synopsis.quantile(attribute, share, where)
        values, texts = _values(number), _texts(number)
        has_bounds = not all(math.isnan(one.variance) for one in number.excess)
    names = dict.fromkeys(chosen_codes(synopsis.domain, where))
    names[split_level(synopsis.domain, attribute)[0]] = None
    source = number.source or synopsis.source(tuple(names))
    return _Group(
        texts=texts,
        values={**values, "reconstructed": number.reconstructed, "source": source.value},
        source=source,
        has_bounds=has_bounds,
    )


def _outside(domain: "margin.Domain", attribute: str) -> "list[Value]":
    """The categories that have no place in the order of an attribute."""
    from ...domain.level_views import attribute_at
    from ...domain.order import codes_in_order

    form = attribute_at(domain, attribute)
    ordered = codes_in_order(form)
    return [form.name(code) for code in range(form.size) if code not in ordered]


def _asked(parsed: argparse.Namespace) -> tuple[str, float | None]:
    """The attribute, and the share of the rows below the number; None for the mean."""
    from ...domain.values import number

    if parsed.mean is not None:
        return parsed.mean, None
    if parsed.median is not None:
        return parsed.median, 0.5
    text, attribute = parsed.quantile
    share = number(text)
    if share is None or not 0 < share < 1:
        raise DomainError(
            f"--quantile needs a share > 0 and < 1 and an attribute, but the share is {text!r}; "
            "write it as in --quantile 0.9 income"
        )
    return attribute, float(share)


def _values(quantile: "Quantile") -> dict[str, Any]:
    """A quantile as JSON values. The edges are null where a bin has no limit, or for categories
    that are no bins."""
    edges = (math.nan, math.nan) if quantile.edges is None else quantile.interval(0.95)
    low, high = (edge if math.isfinite(edge) else None for edge in edges)
    return {
        "holds": quantile.estimate,
        "low": low,
        "high": high,
        "between": list(quantile.between(0.95)),
    }


def _texts(quantile: "Quantile") -> list[str]:
    """The category that holds a quantile, and its bounds: edges, or the first and the last
    category. None is named if each of several categories may hold it."""
    kept = quantile.between(0.95)
    bounds = [f"{edge:,g}" for edge in quantile.interval(0.95)] if quantile.edges else []
    if not bounds:
        bounds = [str(kept[0]), str(kept[-1])]
    is_open = 1 < len(kept) == len(quantile.categories)
    named = None if is_open else quantile.estimate
    return ["-" if named is None else str(named), *bounds]
