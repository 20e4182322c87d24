"""The order of the categories of an attribute: of bins and periods, of numbers, or as declared."""

from collections.abc import Mapping

from .attribute import Attribute
from .values import Number, number, written

__all__ = ["codes_in_order", "numbers_of", "ranks_of"]


def codes_in_order(attribute: Attribute) -> tuple[int, ...]:
    """The codes of the categories in ascending order, without those of `other` and `missing`; empty
    if the attribute has no order.

    Examples
    --------
    >>> codes_in_order(Attribute(values=[5, 1, 3], missing="?"))
    (1, 2, 0)
    >>> codes_in_order(Attribute(bins=[0, 18, 65], other="old"))
    (0, 1)
    >>> codes_in_order(Attribute(values=["F", "M"]))
    ()
    """
    if attribute.bins is not None:
        return tuple(range(len(attribute.bins) - 1))
    if attribute.dates is not None:
        return tuple(range(len(attribute.dates.labels)))
    places = numbers_of(attribute) or ranks_of(attribute)
    return tuple(sorted(places, key=places.__getitem__))


def numbers_of(attribute: Attribute) -> Mapping[int, Number]:
    """The number of each category by its code; empty if one is no number, apart from those of
    `other` and `missing`, which are then left out."""
    extras = (attribute.other, attribute.missing)
    numbers = {}
    for code in range(attribute.size):
        label = attribute.label(code)
        known = number(written(label) or "")
        if known is not None:
            numbers[code] = known
        elif label not in extras:
            return {}
    return numbers


def ranks_of(attribute: Attribute) -> Mapping[int, Number]:
    """The place of each category in the declared order by its code; empty if none is declared.
    The categories of `other` and `missing` have no place."""
    if not attribute.ordered:
        return {}
    extras = (attribute.other_code, attribute.missing_code)
    return {code: code for code in range(attribute.size) if code not in extras}
