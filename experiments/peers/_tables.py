"""Tables and queries on which systems are compared, as integer codes."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from margin import DataError, Domain, FileError, datasets
from margin.datasets import Dataset

Axes = tuple[int, ...]

MOST_CELLS = 1 << 23
"""Of the queries of one size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coded:
    """A table of codes: sizes by attribute, rows of shape (n, attributes), and its origin."""

    sizes: dict[str, int]
    rows: NDArray[np.int64]
    note: str

    @property
    def domain(self) -> Domain:
        return Domain(self.sizes)

    @property
    def data(self) -> Any:
        """The rows as an Arrow table."""
        return pa.table({name: self.rows[:, axis] for axis, name in enumerate(self.sizes)})


@functools.lru_cache(maxsize=2)
def table(name: str) -> Coded | None:
    """One of TABLES, or None if it is a published table whose file is missing."""
    try:
        return TABLES[name]()
    except (FileError, DataError):
        return None


def queries(sizes: Sequence[int], k: int, count: int) -> list[Axes]:
    """Random sets of k attributes, in rising order: the same for the same arguments, and the first
    of more.

    Those after the first are left out where the tables of all before have MOST_CELLS together: with
    six of Adult's attributes, a table has 700,000 cells on average.
    """
    rng = np.random.default_rng(2026)
    drawn = [tuple(sorted(rng.choice(len(sizes), k, replace=False).tolist())) for _ in range(count)]
    reached = np.cumsum([math.prod(sizes[axis] for axis in axes) for axes in drawn])
    return drawn[: max(1, int(np.searchsorted(reached, MOST_CELLS, side="right")))]


def _coded(made: Dataset) -> Coded:
    names = made.domain.attributes
    rows = np.column_stack([made.data[name].to_numpy() for name in names]).astype(np.int64)
    return Coded(sizes=dict(zip(names, made.domain.sizes, strict=True)), rows=rows, note=made.note)


def _first(made: Dataset, rows: int) -> Coded:
    coded = _coded(made)
    return Coded(sizes=coded.sizes, rows=coded.rows[:rows], note=f"{coded.note}; {rows:,} rows")


def _adult() -> Coded:
    """Adult as 13 columns: age and hours in 10 equal bins, gain and loss in zero and 9 bins on a
    logarithmic scale; without the sampling weight, and without the text of education, which has its
    number."""
    made = datasets.adult(download=False)
    steps = np.arange(1, 9)
    numbers = {
        "age": lambda years: np.clip((years - 17) * 10 // 73, 0, 9),
        "education-num": lambda years: years - 1,
        "capital-gain": lambda gain: _logarithmic(gain, 10 ** (2 + steps / 3)),
        "capital-loss": lambda loss: _logarithmic(loss, 100 * 50 ** (steps / 9)),
        "hours-per-week": lambda hours: np.clip((hours - 1) * 10 // 98, 0, 9),
    }
    sizes, columns = {}, []
    for name in made.domain.attributes:
        if name in numbers:
            sizes[name] = 16 if name == "education-num" else 10
            columns.append(numbers[name](made.data[name].to_numpy()))
        elif name not in ("fnlwgt", "education"):
            labels = made.domain[name].labels
            sizes[name] = len(labels)
            values = pyarrow.compute.cast(made.data[name], pa.string())
            columns.append(pyarrow.compute.index_in(values, pa.array(labels)).to_numpy())
    return Coded(
        sizes=sizes, rows=np.column_stack(columns).astype(np.int64), note=f"{made.note}; 13 columns"
    )


def _logarithmic(values: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(values > 0, 1 + np.searchsorted(edges, values, side="right"), 0)


def _kdd99() -> Coded:
    """KDD Cup 99 as bits: for each of the 38 numeric attributes whether its value is positive."""
    made = datasets.kdd99(download=False)
    names = [
        name
        for name in made.domain.attributes
        if name not in ("protocol_type", "service", "flag", "label")
    ]
    rows = np.column_stack([(made.data[name].to_numpy() > 0) for name in names]).astype(np.int64)
    return Coded(
        sizes=dict.fromkeys(names, 2), rows=rows, note=f"{made.note}; numbers above zero or not"
    )


TABLES: dict[str, Callable[[], Coded]] = {
    "Adult-13": _adult,
    "Kosarak-32": lambda: _first(datasets.kosarak(download=False), 100_000),
    "MSNBC-9": lambda: _coded(datasets.msnbc(download=False)),
    "KDD99-38": _kdd99,
    "latent-16": lambda: _coded(datasets.latent_classes(rows=100_000)),
    "categories": lambda: _coded(datasets.correlated(rows=50_000)),
    "tiny": lambda: _coded(datasets.latent_classes((2,) * 6, rows=2_000)),
}
PUBLISHED = ("Adult-13", "Kosarak-32", "MSNBC-9", "KDD99-38")
