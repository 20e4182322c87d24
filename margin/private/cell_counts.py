"""The non-zero cells of a table of any size: GROUP BY, in memory while rows are few, else by DuckDB, which spills."""

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..domain import Domain, View
from ..encode import quietly
from ..errors import DataError
from ..source import Source
from .grid import Grid, merged, ordered

__all__ = ["cells_in", "nonzero_cells"]

Integers = npt.NDArray[np.int64]
Batch = Mapping[str, npt.NDArray[Any]]

_IN_MEMORY = 1 << 22
"""So many words of cells are grouped in memory."""


@runtime_checkable
class Groups(Protocol):
    """A source that groups its rows where they are, on a cluster."""

    def distinct(self, domain: Domain, view: View, /) -> Iterator[tuple[Batch, Integers]]:
        """The distinct rows of a view, batch by batch, no row twice, and how often each comes."""


def cells_in(source: Source, domain: Domain, view: View, grid: Grid) -> tuple[Integers, Integers]:
    """The non-zero cells of a source, see `nonzero_cells`; where it can group them itself, only these are moved."""
    if not isinstance(source, Groups):
        return nonzero_cells(iter(source.batches(domain)), view, grid)
    words, counts = [np.empty((0, len(grid.groups)), np.int64)], [np.empty(0, np.int64)]
    for batch, times in source.distinct(domain, view):
        words.append(grid.pack([batch[name] for name in view]))
        counts.append(times)
    return merged(np.concatenate(words), np.concatenate(counts))


def nonzero_cells(batches: Iterator[Batch], view: View, grid: Grid) -> tuple[Integers, Integers]:
    """The cells that some row is in, as words of the grid, in order, and how many rows are: (cells, words), (cells,).

    Nothing depends on the order of the rows.
    """
    packed = (grid.pack([batch[name] for name in view]) for batch in batches)
    held, size = [], 0
    for words in packed:
        held.append(words)
        size += words.size
        if size > _IN_MEMORY:
            return _by_engine(itertools.chain(held, packed), len(grid.groups))
    words = np.concatenate(held) if held else np.empty((0, len(grid.groups)), np.int64)
    return merged(words, np.ones(len(words), np.int64))


def _by_engine(blocks: Iterator[Integers], width: int) -> tuple[Integers, Integers]:
    """DuckDB's GROUP BY over a stream of words: it keeps to its memory limit and spills to a folder that is removed."""
    import pyarrow as pa

    from ..files import connect

    names = [f"w{place}" for place in range(width)]
    refused: list[DataError] = []

    def record_batches() -> Iterator[Any]:
        try:
            for block in blocks:
                yield pa.RecordBatch.from_arrays([pa.array(np.ascontiguousarray(column)) for column in block.T], names)
        except DataError as error:  # which the engine would wrap in one of its own
            refused.append(error)

    schema = pa.schema([(name, pa.int64()) for name in names])
    with tempfile.TemporaryDirectory(prefix="margin-") as folder, closing(connect()) as connection:
        connection.execute(f"SET temp_directory = '{folder}'")
        connection.execute("SET preserve_insertion_order = false")
        connection.register("cells", pa.RecordBatchReader.from_batches(schema, record_batches()))
        keys = ", ".join(names)
        query = f"SELECT {keys}, count(*) AS rows FROM cells GROUP BY {keys}"
        found = quietly(
            lambda: connection.execute(query).fetchnumpy(), "the rows could not be grouped: the disk is too small"
        )
    if refused:
        raise refused[0]
    words = np.stack([np.asarray(found[name], np.int64) for name in names], axis=1)
    order = ordered(words)
    return words[order], np.asarray(found["rows"], np.int64)[order]
