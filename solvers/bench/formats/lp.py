"""Writing a `Model` as LP, the format of linear, integer and quadratic programmes for people.

The constant of the objective is the cost of a last column, `one`, which is fixed at 1. Readers
differ about a number without a column there: CBC passes over it, and Gurobi takes it for the name
of a column.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ..models.model import Model
from .numbers import written

__all__ = ["lp"]

_ONE = "one"
"""The name of the column of the constant."""

_TERMS = 8
"""The number of terms in a line; some readers take lines of at most 560 characters."""


def lp(model: Model, name: str) -> Iterator[str]:
    """The lines of the file; rows without any bound are left out.

    Raises
    ------
    ValueError
        If the model has exponential cones.
    """
    if model.cones:
        raise ValueError(
            "LP files hold linear, integer and quadratic programmes, but this one has exponential "
            "cones; export it as .cbf"
        )
    yield f"\\ {name}"
    yield "Minimize"
    yield " obj:"
    # Every column stands in the objective, so that readers keep the order of the columns.
    yield from _sum(enumerate(model.cost.tolist()))
    if model.offset:
        yield f"  {'-' if model.offset < 0 else '+'} {written(abs(model.offset))} {_ONE}"
    if model.quadratic:
        yield " + ["
        squares = np.flatnonzero(model.square).tolist()
        yield from _sum(((place, float(model.square[place])) for place in squares), power="^2")
        yield " ] / 2"
    yield "Subject To"
    for row in range(model.rows):
        yield from _row(model, row)
    yield "Bounds"
    for column in range(model.columns):
        yield _bound(float(model.least[column]), f"x{column}", float(model.most[column]))
    if model.offset:
        yield _bound(1.0, _ONE, 1.0)
    if model.integral:
        yield "General"
        for column in np.flatnonzero(model.whole).tolist():
            yield f" x{column}"
    yield "End"


def _row(model: Model, row: int) -> Iterator[str]:
    """A row with its bounds; two rows if it has two different ones."""
    lower, upper = float(model.lower[row]), float(model.upper[row])
    span = slice(model.matrix.indptr[row], model.matrix.indptr[row + 1])
    indices, values = model.matrix.indices[span].tolist(), model.matrix.data[span].tolist()
    entries = list(zip(indices, values, strict=True)) or [(0, 0.0)]
    sides = [("=", lower)] if lower == upper else [(">=", lower), ("<=", upper)]
    for number, (sign, side) in enumerate(sides):
        if np.isfinite(side):
            yield f" r{row}{'' if sign == '=' else 'lu'[number]}:"
            yield from _sum(entries)
            yield f" {sign} {written(side)}"


def _sum(entries: Iterable[tuple[int, float]], power: str = "") -> Iterator[str]:
    """A sum of columns with their factors, some terms in a line."""
    terms: list[str] = []
    for column, value in entries:
        sign = "-" if value < 0 else "+"
        terms.append(f"{sign} {written(abs(value))} x{column}{power}")
        if len(terms) == _TERMS:
            yield "  " + " ".join(terms)
            terms = []
    if terms:
        yield "  " + " ".join(terms)


def _bound(least: float, column: str, most: float) -> str:
    """Both bounds of a column."""
    if least == -np.inf and most == np.inf:
        return f" {column} free"
    if least == most:
        return f" {column} = {written(least)}"
    lower = "-inf" if least == -np.inf else written(least)
    upper = "+inf" if most == np.inf else written(most)
    return f" {lower} <= {column} <= {upper}"
