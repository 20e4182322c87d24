"""Writing a `Model` as MPS, the format of linear, integer and quadratic programmes.

The files have free format: fields are separated by spaces, and numbers have all their digits. The
word FREE on the first line says so to CBC, which takes files for fixed format otherwise; other
readers pass over it. The constant of the objective stands in the right-hand sides, with its sign
turned, as HiGHS, SCIP and CBC read it; GLPK does not turn the sign.
HiGHS can write MPS, too, but only 15 digits, and it marks a continuous column without entries as an
integer if it follows one.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ..models.model import Model
from .numbers import written

__all__ = ["mps"]


def mps(model: Model, name: str) -> Iterator[str]:
    """The lines of the file; rows without any bound are left out, and so are empty sections.

    Raises
    ------
    ValueError
        If the model has exponential cones.
    """
    if model.cones:
        raise ValueError(
            "MPS holds linear, integer and quadratic programmes, but this one has exponential "
            "cones; export it as .cbf"
        )
    kept = np.flatnonzero(np.isfinite(model.lower) | np.isfinite(model.upper)).tolist()
    yield f"NAME {name} FREE"
    yield "ROWS"
    yield " N obj"
    for row in kept:
        yield f" {_kind(model, row)} r{row}"
    yield "COLUMNS"
    yield from _columns(model, set(kept))
    yield from _section("RHS", _sides(model, kept))
    yield from _section("RANGES", _ranges(model, kept))
    bounds = (line for column in range(model.columns) for line in _bounds(model, column))
    yield from _section("BOUNDS", bounds)
    yield from _section("QUADOBJ", _squares(model))
    yield "ENDATA"


def _section(name: str, lines: Iterable[str]) -> Iterator[str]:
    """A section with its name, or nothing: some readers fail at a name without lines."""
    held = list(lines)
    if held:
        yield name
        yield from held


def _sides(model: Model, kept: list[int]) -> Iterator[str]:
    """The constant of the objective, and one side of each row."""
    if model.offset:
        yield f" RHS obj {written(-model.offset)}"
    for row in kept:
        side = model.upper[row] if _kind(model, row) == "L" else model.lower[row]
        if side:
            yield f" RHS r{row} {written(side)}"


def _ranges(model: Model, kept: list[int]) -> Iterator[str]:
    """The distance between the two sides of a row, where there are two."""
    for row in kept:
        if _kind(model, row) == "G" and np.isfinite(model.upper[row]):
            yield f" RANGES r{row} {written(model.upper[row] - model.lower[row])}"


def _squares(model: Model) -> Iterator[str]:
    """The diagonal of the quadratic part."""
    for column in np.flatnonzero(model.square).tolist():
        yield f" x{column} x{column} {written(model.square[column])}"


def _kind(model: Model, row: int) -> str:
    """E for an equation, G if there is a lower bound, L otherwise."""
    if model.lower[row] == model.upper[row]:
        return "E"
    return "G" if np.isfinite(model.lower[row]) else "L"


def _columns(model: Model, kept: set[int]) -> Iterator[str]:
    """The entries column by column; runs of integers stand between markers."""
    matrix = model.matrix.tocsc()
    inside = False
    for column in range(model.columns):
        if bool(model.whole[column]) != inside:
            inside = not inside
            yield f" M{column} 'MARKER' '{'INTORG' if inside else 'INTEND'}'"
        # The cost stands here even if it is zero, so that no column is missing.
        yield f" x{column} obj {written(model.cost[column])}"
        span = slice(matrix.indptr[column], matrix.indptr[column + 1])
        entries = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        for row, value in entries:
            if row in kept:
                yield f" x{column} r{row} {written(value)}"
    if inside:
        yield " M 'MARKER' 'INTEND'"


def _bounds(model: Model, column: int) -> Iterator[str]:
    """Both bounds of a column, also where readers have defaults: these differ."""
    least, most = float(model.least[column]), float(model.most[column])
    if least == most:
        yield f" FX BND x{column} {written(least)}"
    elif least == -np.inf and most == np.inf:
        yield f" FR BND x{column}"
    else:
        # PuLP takes PL for a lower bound of zero, too, so LO comes after it. It takes MI for an
        # upper bound of zero, too, so UP comes last.
        if most == np.inf:
            yield f" PL BND x{column}"
        yield f" LO BND x{column} {written(least)}" if least > -np.inf else f" MI BND x{column}"
        if most < np.inf:
            yield f" UP BND x{column} {written(most)}"
