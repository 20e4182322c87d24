"""Exact division of a whole number of units in proportion to shares."""

import math
from fractions import Fraction
from numbers import Integral

from .._numbers import exact, shown, text
from ..errors import BudgetError

__all__ = ["split_units"]


def split_units(total: int, shares: object) -> tuple[int, ...]:
    """Divide `total` units into whole numbers that are proportional to `shares`.

    They sum to exactly `total`, and each is within one unit of its exact share. `shares` are
    positive weights, or the number of equal pieces.
    """
    pieces = _rounded_down(total, shares)
    if not pieces:
        raise BudgetError(
            f"shares ({shown(shares)}) must give at least one piece; pass at least one share"
        )
    # Rounding down leaves fewer units than there are pieces: the first pieces get one each.
    for i in range(total - sum(pieces)):
        pieces[i] += 1
    if min(pieces) < 1:
        raise BudgetError(
            f"each piece of a budget of {total} units must be at least one unit, but the smallest "
            "would be below it; use fewer shares, or shares that differ less"
        )
    return tuple(pieces)


def _rounded_down(total: int, shares: object) -> list[int]:
    if isinstance(shares, Integral) and not isinstance(shares, bool):
        count = int(shares)
        if count > total:
            raise BudgetError(
                f"each piece of a budget must be at least one unit, but {total} units cannot be "
                f"split into {count} pieces; use fewer pieces"
            )
        return [total // count] * count if count > 0 else []
    weights = _weights(shares)
    # Whole numbers in the same proportion: the arithmetic of fractions would take longer.
    common = math.lcm(*[weight.denominator for weight in weights])
    parts = [weight.numerator * (common // weight.denominator) for weight in weights]
    whole = sum(parts)
    return [total * part // whole for part in parts]


def _weights(shares: object) -> list[Fraction]:
    if isinstance(shares, str | bytes | bool) or not hasattr(shares, "__iter__"):
        raise BudgetError(
            f"shares ({shown(shares)}) must be a sequence of positive numbers, or the number of "
            "equal pieces; pass one of these"
        )
    weights: list[Fraction] = []
    read: dict[float, Fraction] = {}  # many shares may be equal, and reading one is slow
    for i, share in enumerate(shares):
        plain = isinstance(share, float) or type(share) is int
        known = read.get(share) if plain else None
        weight = exact(f"share {i}", share) if known is None else known
        if known is None and weight <= 0:
            raise BudgetError(
                f"share {i} ({text(weight)}) must be > 0; leave out answers that get nothing"
            )
        if plain:
            read[share] = weight
        weights.append(weight)
    return weights
