"""What is counted behind `Private` besides the tables of views: gaps, non-zero cells, items; all in whole numbers."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..domain import Domain, View
from ..errors import DomainError

__all__ = ["cells_of", "digest", "gaps", "items", "nonzero_cells", "truncated", "whole"]

Integers = npt.NDArray[np.int64]
Batch = Mapping[str, npt.NDArray[Any]]

_LARGEST = 1 << 40


def whole(name: str, value: object, shape: tuple[int, ...]) -> Integers:
    """A public array of that shape, rounded to integers; DomainError naming it when it is not one."""
    array: npt.NDArray[Any] = np.asarray(getattr(value, "counts", value))
    if array.shape != shape:
        raise DomainError(f"{name} has shape {array.shape}, but the view's table has {shape}")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or np.abs(array).max(initial=0) > _LARGEST:
        raise DomainError(f"{name} must hold finite numbers of at most 2**40 in size")
    rounded: Integers = (array if array.dtype.kind in "iu" else np.rint(array)).astype(np.int64, copy=False)
    return rounded


def gaps(tables: Sequence[Integers], public: Sequence[Integers]) -> Integers:
    """The L1 distance of each table from the public one: array (views,)."""
    return np.array([np.abs(t - p).sum() for t, p in zip(tables, public, strict=True)], np.int64)


def nonzero_cells(batches: Iterator[Batch], domain: Domain, view: View) -> tuple[Integers, Integers]:
    """The cells of a view that some row is in, ascending, and how many rows are: two arrays (non-zero cells,)."""
    cells, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for batch in batches:
        flat = np.zeros(len(next(iter(batch.values()))), np.int64)
        for name in view:
            flat = flat * domain[name].size + batch[name].astype(np.int64)
        found, times = np.unique(flat, return_counts=True)
        cells, where = np.unique(np.concatenate([cells, found]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([counts, times]), cells.size).astype(np.int64)
    return cells, counts


def items(batches: Iterator[Batch], names: View) -> Iterator[npt.NDArray[np.bool_]]:
    """Batch by batch which items the rows hold: arrays (rows, items), True where the code is one."""
    for batch in batches:
        yield np.stack([batch[name] == 1 for name in names], axis=1)


def truncated(held: npt.NDArray[np.bool_], most: int, grain: int) -> Integers:
    """How much the rows add to each item when each row adds at most grain * most: array (items,).

    A row of c items adds grain to each, or floor(grain * most / c) when c > most: at most grain * most in L1, and as no
    addend is above grain, at most grain**2 * most in squared L2.
    """
    sizes = held.sum(axis=1)
    each = np.where(sizes > most, grain * most // np.maximum(sizes, 1), grain)
    return np.asarray(each @ held, np.int64)


def cells_of(domain: Domain, view: View, most: int) -> int:
    """The number of cells of a view, at most `most`."""
    cells = math.prod(domain.shape(view))
    if cells > most:
        raise DomainError(f"view {', '.join(view)} has {cells} cells; at most {most} are possible here")
    return cells


def digest(*arrays: Integers) -> str:
    """A text that stands for public arrays."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array, np.int64).data)
    return hashed.hexdigest()
