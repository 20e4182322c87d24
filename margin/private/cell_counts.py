"""Counting the non-empty cells of a table of any size.

Rows are grouped in memory while they are few; otherwise by DuckDB, which can use the disk, or on
the cluster that holds them.
"""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..data.encode import quietly
from ..data.failures import unknown
from ..data.scratch import scratch
from ..data.source import Source
from ..domain.domain import Domain, View
from ..errors import MarginError
from ..sparse.grid import Grid, counted, ordered

__all__ = ["Cells", "Counted", "cells_in", "nonzero_cells"]

Batch = Mapping[str, npt.NDArray[Any]]

_IN_MEMORY = 1 << 22
"""Largest number of words that are grouped in memory."""


class Cells(Protocol):
    """The true counts of the nodes of a grid that are not zero, in memory or elsewhere.

    A node is a cell of the table, or a node of a tree over cells; it is packed into integer words.
    """

    @property
    def number(self) -> int:
        """Number of nodes whose count is not zero."""

    def blocks(self) -> Iterator[tuple[Integers, Integers]]:
        """All nodes, block by block: their words, shape (nodes, words), and counts, (nodes,).

        Each node comes once. A second call gives the same nodes, possibly in another order.
        """

    def close(self) -> None:
        """Release the memory or the connection that holds the nodes."""


class Counted(NamedTuple):
    """Non-zero nodes in memory: words in ascending order, shape (nodes, words), and counts."""

    words: Integers
    counts: Integers

    @property
    def number(self) -> int:
        """Number of nodes."""
        return len(self.words)

    def blocks(self) -> Iterator[tuple[Integers, Integers]]:
        """All nodes in one block: their words and their counts."""
        yield self.words, self.counts

    def close(self) -> None:
        """Do nothing: memory is released with the object."""


@runtime_checkable
class Groups(Protocol):
    """A source that counts equal rows where they are stored, on a cluster."""

    def cells(
        self,
        domain: Domain,
        view: View,
        leaves: Grid,
        nodes: Grid,
        /,
    ) -> Cells:
        """Count the rows in each node; see `cells_in` for the arguments and the result."""


def cells_in(
    source: Source,
    domain: Domain,
    view: View,
    leaves: Grid,
    nodes: Grid,
) -> Cells:
    """Count the rows in each node of a view; only nodes that contain a row are returned.

    A source that can group its rows itself does so.

    Parameters
    ----------
    source, domain, view
        The rows, their domain, and the attributes of the table.
    leaves
        The grid of the cells of the view.
    nodes
        The grid of the nodes of axes over these cells: the cells themselves, or nodes of trees.
    """
    if isinstance(source, Groups):
        return source.cells(domain, view, leaves, nodes)
    words, counts = nonzero_cells(iter(source.batches(domain)), view, leaves)
    if nodes.axes == leaves.axes:
        return Counted(words, counts)
    words, counts = nodes.spread(leaves.unpack(words), counts)
    return Counted(words, counts)


def nonzero_cells(
    batches: Iterator[Batch],
    view: View,
    grid: Grid,
) -> tuple[Integers, Integers]:
    """Count the rows in each cell of a view; only cells that contain a row are returned.

    The result is two arrays. The first holds the cells as words of the grid, in ascending order:
    shape (cells, words). The second holds the number of rows in each cell: shape (cells,). The
    result does not depend on the order of the rows.
    """
    packed = (grid.pack([batch[name] for name in view]) for batch in batches)
    held = []
    size = 0
    for words in packed:
        held.append(words)
        size += words.size
        if size > _IN_MEMORY:
            return _by_engine(itertools.chain(held, packed), len(grid.groups))
    if not held:
        return counted(np.empty((0, len(grid.groups)), np.int64))
    return counted(np.concatenate(held))


def _by_engine(blocks: Iterator[Integers], width: int) -> tuple[Integers, Integers]:
    """Count equal cells in DuckDB, for tables with more cells than fit into memory.

    `blocks` holds the words of each row's cell, shape (rows, width). The result has the same form
    as that of `nonzero_cells`. DuckDB stays within its memory limit and writes the rest to a
    temporary folder, which is removed.
    """
    import pyarrow as pa

    from ..data.files import connected, quoted

    names = [f"w{place}" for place in range(width)]
    refused: list[MarginError] = []

    def record_batches() -> Iterator[Any]:
        try:
            for block in blocks:
                columns = [pa.array(np.ascontiguousarray(column)) for column in block.T]
                yield pa.RecordBatch.from_arrays(columns, names)
        except MarginError as error:
            # Raised again below: DuckDB would replace it by an error of its own.
            refused.append(error)

    schema = pa.schema([(name, pa.int64()) for name in names])
    with scratch() as folder, closing(connected()) as connection:
        connection.execute(f"SET temp_directory = {quoted(folder)}")
        connection.execute("SET preserve_insertion_order = false")
        connection.register("cells", pa.RecordBatchReader.from_batches(schema, record_batches()))
        keys = ", ".join(names)
        query = f"SELECT {keys}, count(*) AS rows FROM cells GROUP BY {keys}"
        found = quietly(
            lambda: connection.execute(query).fetchnumpy(),
            partial(unknown, what="the rows, grouped by their cells,"),
        )
    if refused:
        raise refused[0]
    columns = [np.asarray(found[name], np.int64) for name in names]
    words = np.stack(columns, axis=1)
    order = ordered(words)
    return words[order], np.asarray(found["rows"], np.int64)[order]
