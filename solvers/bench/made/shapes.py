"""`sizes_of`: the numbers of categories that a word of a name stands for."""

import math
import re
from collections.abc import Mapping

__all__ = ["check_cells", "sizes_of"]

Axes = tuple[int, ...]

_MOST_CELLS = 1 << 24
"""Largest number of cells of a table that is generated."""


def sizes_of(word: str, mixed: Mapping[str, Axes]) -> Axes | None:
    """The sizes of ``b8``, of ``3x4x5``, or of a word of `mixed`; None for anything else.

    >>> sizes_of("b3", {}), sizes_of("3x4", {}), sizes_of("m2", {"m2": (5, 2)}), sizes_of("x", {})
    ((2, 2, 2), (3, 4), (5, 2), None)
    """
    binary = re.fullmatch(r"b([1-9]\d{0,3})", word)
    if binary:
        return (2,) * int(binary[1])
    if re.fullmatch(r"\d+(x\d+)+", word):
        sizes = tuple(map(int, word.split("x")))
        return sizes if min(sizes) >= 2 else None
    return mixed.get(word)


def check_cells(sizes: Axes) -> None:
    """Refuse a table that would fill the memory."""
    if math.prod(sizes) > _MOST_CELLS:
        raise ValueError(
            f"a generated table must have at most {_MOST_CELLS} cells, but this one has "
            f"{math.prod(sizes)}; take fewer or smaller attributes"
        )
