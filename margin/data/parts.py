"""Rows divided into parts by a hash, in memory while they are few and in files after that."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encode import quietly
from .failures import unknown

__all__ = ["PARTS", "Parts"]

PARTS = 128
"""Number of parts. Each of them has an open file."""

_HELD = 1 << 21
"""Largest number of rows in memory, over all parts."""


class Parts:
    """Rows in `PARTS` parts. As long as there are few rows, they stay in memory and are one part.

    Parameters
    ----------
    folder
        A private folder for the files.
    schema
        The Arrow schema of the rows.
    """

    def __init__(self, folder: Path, schema: Any) -> None:
        self._folder = folder
        self._schema = schema
        self._held: list[list[Any]] = [[] for _ in range(PARTS)]
        self._rows = 0
        self._files = ExitStack()
        self._writers: list[Any] = []

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, batch: Any, parts: NDArray[np.uint8]) -> None:
        """Add a batch of rows; `parts` has the number of the part of each row, shape (rows,)."""
        import pyarrow as pa

        # Sort the rows by their part, so that each part is a slice.
        ordered = np.argsort(parts, kind="stable")
        ends = np.cumsum(np.bincount(parts, minlength=PARTS)).tolist()
        sorted_batch = batch.take(pa.array(ordered))
        start = 0
        for held, end in zip(self._held, ends, strict=True):
            if end > start:
                held.append(sorted_batch.slice(start, end - start))
            start = end
        self._rows += len(parts)
        if self._rows > _HELD:
            self._write()

    def tables(self) -> Iterator[Any]:
        """Each part as an Arrow table or reader. No rows can be added afterwards."""
        import pyarrow as pa

        if not self._writers:
            yield pa.Table.from_batches([it for held in self._held for it in held], self._schema)
            return
        self._write()
        self._files.close()
        for place in range(PARTS):
            path = self._path(place)
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
                yield reader
            path.unlink()

    def _path(self, place: int) -> Path:
        return self._folder / f"part{place}"

    def _write(self) -> None:
        """Move all rows in memory to the files."""
        import pyarrow as pa

        def write() -> None:
            for place in range(len(self._writers), PARTS):
                file = self._files.enter_context(pa.OSFile(str(self._path(place)), "wb"))
                writer = pa.ipc.new_stream(file, self._schema)
                self._writers.append(self._files.enter_context(writer))
            for writer, held in zip(self._writers, self._held, strict=True):
                table = pa.Table.from_batches(held, self._schema).combine_chunks()
                writer.write_table(table)
                held.clear()

        quietly(write, partial(unknown, what="what does not fit in memory"))
        self._rows = 0
