"""The non-zero cells of a table of any size: GROUP BY, in memory while rows are few, else by
DuckDB, which spills; or where the rows are, on a cluster."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..data.encode import quietly
from ..data.scratch import scratch
from ..data.source import Source
from ..domain.domain import Domain, View
from ..errors import DataError
from ..sparse.grid import Grid, counted, ordered

__all__ = ["Cells", "Counted", "cells_in", "nonzero_cells"]

Batch = Mapping[str, npt.NDArray[Any]]

_IN_MEMORY = 1 << 22
"""So many words of cells are grouped in memory."""


class Cells(Protocol):
    """The nodes of a grid whose counts are not zero, wherever these are held."""

    @property
    def number(self) -> int:
        """How many there are."""

    def blocks(self) -> Iterator[tuple[Integers, Integers]]:
        """All of them, some at a time: words (nodes, words) and counts (nodes,). No node comes
        twice; the next time there are the same again, perhaps in another order."""

    def close(self) -> None:
        """Let go of what holds them."""


class Counted(NamedTuple):
    """Nodes in memory, in order."""

    words: Integers
    counts: Integers

    @property
    def number(self) -> int:
        """See `Cells`."""
        return len(self.words)

    def blocks(self) -> Iterator[tuple[Integers, Integers]]:
        """See `Cells`: one block."""
        yield self.words, self.counts

    def close(self) -> None:
        """See `Cells`."""


@runtime_checkable
class Groups(Protocol):
    """A source that groups its rows where they are, on a cluster."""

    def cells(self, domain: Domain, view: View, leaves: Grid, nodes: Grid, /) -> Cells:
        """See `cells_in`."""


def cells_in(source: Source, domain: Domain, view: View, leaves: Grid, nodes: Grid) -> Cells:
    """The nodes that some row of a source is in. Where the source can group its rows itself, they
    stay there.

    Parameters
    ----------
    leaves
        The cells of the view.
    nodes
        The nodes of axes over these cells: the cells themselves, or of trees.
    """
    if isinstance(source, Groups):
        return source.cells(domain, view, leaves, nodes)
    words, counts = nonzero_cells(iter(source.batches(domain)), view, leaves)
    return (
        Counted(words, counts)
        if nodes.axes == leaves.axes
        else Counted(*nodes.spread(leaves.unpack(words), counts))
    )


def nonzero_cells(batches: Iterator[Batch], view: View, grid: Grid) -> tuple[Integers, Integers]:
    """The cells that some row is in, as words of the grid, in order, and how many rows are: (cells,
    words), (cells,).

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
    return counted(words)


def _by_engine(blocks: Iterator[Integers], width: int) -> tuple[Integers, Integers]:
    """DuckDB's GROUP BY over a stream of words: it keeps to its memory limit and spills to a folder
    that is removed."""
    import pyarrow as pa

    from ..data.files import connect, quoted

    names = [f"w{place}" for place in range(width)]
    refused: list[DataError] = []

    def record_batches() -> Iterator[Any]:
        try:
            for block in blocks:
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.ascontiguousarray(column)) for column in block.T], names
                )
        except DataError as error:  # which the engine would wrap in one of its own
            refused.append(error)

    schema = pa.schema([(name, pa.int64()) for name in names])
    with scratch() as folder, closing(connect()) as connection:
        connection.execute(f"SET temp_directory = {quoted(folder)}")
        connection.execute("SET preserve_insertion_order = false")
        connection.register("cells", pa.RecordBatchReader.from_batches(schema, record_batches()))
        keys = ", ".join(names)
        query = f"SELECT {keys}, count(*) AS rows FROM cells GROUP BY {keys}"
        found = quietly(
            lambda: connection.execute(query).fetchnumpy(),
            "the rows could not be grouped: the disk is too small",
        )
    if refused:
        raise refused[0]
    words = np.stack([np.asarray(found[name], np.int64) for name in names], axis=1)
    order = ordered(words)
    return words[order], np.asarray(found["rows"], np.int64)[order]
