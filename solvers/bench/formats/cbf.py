"""CBF, the Conic Benchmark Format: writing a `Model`, and reading one.

A quadratic objective becomes one rotated quadratic cone: a new column h with cost one, and
(h, 1, root of the square times the column, ...) in the cone 2 a b >= |rest|**2. In CBF the
exponential cone is the closure of { (t, s, r): t >= s exp(r / s), s > 0 }, which is the order of
`Model` turned round. Source: H. A. Friberg, CBLIB 2014, Mathematical Programming Computation 8,
2016, and the description of version 3 of the format.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from ...types import Flags, Floats, Integers
from ..models.model import Model
from .numbers import written

__all__ = ["cbf", "read_cbf"]

_Block = tuple[str, Any, Floats]
"""A cone with the rows of an affine map into it, and their constants."""


def cbf(model: Model, name: str) -> Iterator[str]:
    """The lines of the file."""
    curved = np.flatnonzero(model.square)
    extra = int(len(curved) > 0)
    columns = model.columns + extra
    domains = np.where((model.least == 0) & (model.most == np.inf), "L+", "F").tolist()
    runs = [(kind, len(list(run))) for kind, run in groupby(domains + ["F"] * extra)]
    yield f"# {name}"
    yield from ("VER", "3", "", "OBJSENSE", "MIN", "")
    yield from ("VAR", f"{columns} {len(runs)}", *(f"{kind} {size}" for kind, size in runs), "")
    whole = np.flatnonzero(model.whole).tolist()
    if whole:
        yield from ("INT", str(len(whole)), *map(str, whole), "")
    blocks = [block for block in _blocks(model, np.array(domains) == "L+") if block[1].shape[0]]
    if blocks:
        rows = sum(block[1].shape[0] for block in blocks)
        yield from ("CON", f"{rows} {len(blocks)}")
        yield from (f"{kind} {part.shape[0]}" for kind, part, _ in blocks)
        yield ""
    costs = np.append(model.cost, np.ones(extra))
    yield from _entries("OBJACOORD", costs)
    if model.offset:
        yield from ("OBJBCOORD", written(model.offset), "")
    if blocks:
        matrix = sparse.vstack([part for _, part, _ in blocks]).tocoo()
        yield from ("ACOORD", str(matrix.nnz))
        triples = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
        yield from (f"{row} {column} {written(value)}" for row, column, value in triples)
        yield ""
        yield from _entries("BCOORD", np.concatenate([constant for _, _, constant in blocks]))


def _entries(title: str, values: Floats) -> Iterator[str]:
    """A list of the entries that are not zero."""
    places = np.flatnonzero(values).tolist()
    yield from (title, str(len(places)))
    yield from (f"{place} {written(values[place])}" for place in places)
    yield ""


def _blocks(model: Model, positive: Flags) -> Iterator[_Block]:
    """The constraints of a model: affine maps into cones."""
    curved = np.flatnonzero(model.square)
    extra = sparse.csr_array((model.rows + model.columns, int(len(curved) > 0)))
    # Bounds of columns other than zero and infinity are rows behind the rows of the model.
    rows = sparse.vstack([model.matrix, sparse.eye_array(model.columns)])
    rows = sparse.hstack([rows, extra]).tocsr()
    lower = np.concatenate([model.lower, np.where(positive, -np.inf, model.least)])
    upper = np.concatenate([model.upper, np.where(positive, np.inf, model.most)])
    same = lower == upper
    equal = np.flatnonzero(same)
    above = np.flatnonzero(np.isfinite(lower) & ~same)
    below = np.flatnonzero(np.isfinite(upper) & ~same)
    yield "L=", rows[equal], -lower[equal]
    yield "L+", rows[above], -lower[above]
    yield "L-", rows[below], -upper[below]
    if len(curved):
        yield "QR", *_square_cone(model, curved)
    turned = np.arange(3 * model.cones).reshape(-1, 3)[:, ::-1]
    width = sparse.csr_array((3, int(len(curved) > 0)))
    for three in turned:
        yield "EXP", sparse.hstack([model.cone[three], width]), model.shift[three]


def _square_cone(model: Model, curved: Integers) -> tuple[Any, Floats]:
    """The rows (h, 1, root of square times column, ...)."""
    count = len(curved)
    places = np.concatenate([[0], 2 + np.arange(count)])
    columns = np.concatenate([[model.columns], curved])
    values = np.concatenate([[1.0], np.sqrt(model.square[curved])])
    shape = (count + 2, model.columns + 1)
    constant = np.zeros(count + 2)
    constant[1] = 1.0
    return sparse.csr_array((values, (places, columns)), shape=shape), constant


@dataclass
class _Parts:
    """What has been read of a file."""

    columns: int = 0
    rows: int = 0
    domains: list[tuple[str, int]] = field(default_factory=list)
    cones: list[tuple[str, int]] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    cost: dict[int, float] = field(default_factory=dict)
    offset: float = 0.0
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    constant: dict[int, float] = field(default_factory=dict)


def read_cbf(text: str) -> Model:
    """Read a model: linear and exponential cones, integers, and a quadratic objective as above.

    Raises
    ------
    ValueError
        If the file maximises, or has cones that a `Model` cannot hold.
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    parts = _parsed([line for line in lines if line])
    rows, places, values = (
        np.array([entry[part] for entry in parts.entries], float if part == 2 else np.int64)
        for part in range(3)
    )
    matrix = sparse.csr_array((values, (rows, places)), shape=(parts.rows, parts.columns))
    constant = np.zeros(parts.rows)
    constant[list(parts.constant)] = list(parts.constant.values())
    cost = np.zeros(parts.columns)
    cost[list(parts.cost)] = list(parts.cost.values())
    return _model(parts, matrix, constant, cost)


def _parsed(lines: list[str]) -> _Parts:
    """Read the sections of a file, one after another."""
    parts = _Parts()
    at = 0

    def take(count: int) -> list[list[str]]:
        nonlocal at
        at += count
        return [line.split() for line in lines[at - count : at]]

    while at < len(lines):
        title = lines[at]
        at += 1
        if title == "VER":
            take(1)
        elif title == "OBJSENSE":
            if take(1)[0] != ["MIN"]:
                raise ValueError("the file must minimise, but it maximises; turn its signs")
        elif title in ("VAR", "CON"):
            count, cones = map(int, take(1)[0])
            kinds = [(kind, int(size)) for kind, size in take(cones)]
            if title == "VAR":
                parts.columns, parts.domains = count, kinds
            else:
                parts.rows, parts.cones = count, kinds
        elif title == "INT":
            parts.whole = [int(one) for (one,) in take(int(take(1)[0][0]))]
        elif title == "OBJACOORD":
            parts.cost = {int(one): float(value) for one, value in take(int(take(1)[0][0]))}
        elif title == "OBJBCOORD":
            parts.offset = float(take(1)[0][0])
        elif title == "ACOORD":
            triples = take(int(take(1)[0][0]))
            parts.entries = [(int(i), int(j), float(value)) for i, j, value in triples]
        elif title == "BCOORD":
            parts.constant = {int(one): float(value) for one, value in take(int(take(1)[0][0]))}
        else:
            raise ValueError(
                f"the sections of a CBF file must be of linear, exponential and integer "
                f"programmes, but one is {title}; use a solver that reads it itself"
            )
    return parts


def _model(parts: _Parts, matrix: sparse.csr_array, constant: Floats, cost: Floats) -> Model:
    """Put the cones of a file together to a model."""
    least, most = _domain_bounds(parts.domains)
    square = np.zeros(parts.columns)
    linear: list[Integers] = []
    lower: list[Floats] = []
    upper: list[Floats] = []
    exponential: list[Integers] = []
    height: int | None = None
    start = 0
    for kind, size in parts.cones:
        rows = np.arange(start, start + size)
        start += size
        if kind == "EXP":
            exponential.append(rows[::-1])
        elif kind == "QR" and height is None:
            height, square = _squares(matrix[rows], constant[rows], cost)
        elif kind in _SIDES:
            below, above = _SIDES[kind]
            linear.append(rows)
            lower.append(np.where(below, -constant[rows], -np.inf))
            upper.append(np.where(above, -constant[rows], np.inf))
        else:
            raise ValueError(
                f"the cones must be linear or exponential, or the one of a quadratic objective, "
                f"but one is {kind}; use a solver that reads CBF itself"
            )
    kept = np.array([place for place in range(parts.columns) if place != height], np.int64)
    all_linear = np.concatenate([np.zeros(0, np.int64), *linear])
    all_cones = np.concatenate([np.zeros(0, np.int64), *exponential])
    whole = np.zeros(parts.columns, np.bool_)
    whole[parts.whole] = True
    return Model(
        cost=cost[kept],
        square=square[kept],
        offset=parts.offset,
        matrix=matrix[all_linear][:, kept],
        lower=np.concatenate([np.zeros(0), *lower]),
        upper=np.concatenate([np.zeros(0), *upper]),
        least=least[kept],
        most=most[kept],
        whole=whole[kept],
        cone=matrix[all_cones][:, kept],
        shift=constant[all_cones],
    )


_SIDES = {"L=": (True, True), "L+": (True, False), "L-": (False, True), "F": (False, False)}
"""Whether an affine map into this cone has a lower and an upper bound."""


def _domain_bounds(domains: list[tuple[str, int]]) -> tuple[Floats, Floats]:
    """The bounds of the columns; ValueError for cones that are not linear."""
    bounds = {"F": (-np.inf, np.inf), "L+": (0, np.inf), "L-": (-np.inf, 0), "L=": (0, 0)}
    unknown = [kind for kind, _ in domains if kind not in bounds]
    if unknown:
        raise ValueError(
            f"the columns must lie in linear cones, but some lie in {unknown[0]}; write the cone "
            "as a constraint"
        )
    sizes = [size for _, size in domains]
    least = np.repeat([float(bounds[kind][0]) for kind, _ in domains], sizes)
    most = np.repeat([float(bounds[kind][1]) for kind, _ in domains], sizes)
    return least, most


def _squares(rows: sparse.csr_array, constant: Floats, cost: Floats) -> tuple[int, Floats]:
    """The column h and the squares of a rotated cone (h, 1, factor times column, ...)."""
    entries = rows.tocoo()
    first = entries.col[entries.row == 0]
    rest = entries.row >= 2
    shaped = (
        len(first) == 1
        and not (entries.row == 1).any()
        and (np.bincount(entries.row, minlength=rows.shape[0])[2:] <= 1).all()
        and constant[0] == 0
        and constant[1] == 1
        and not constant[2:].any()
        and cost[first[0]] == 1
        and entries.data[entries.row == 0] == 1
    )
    if not shaped:
        raise ValueError(
            "a rotated quadratic cone must be that of a quadratic objective, but this one is "
            "another; use a solver that reads CBF itself"
        )
    square = np.zeros(len(cost))
    np.add.at(square, entries.col[rest], entries.data[rest] ** 2)
    return int(first[0]), square
