"""`UnitRows`: how many rows each unit has, and in which cells of the known tables, whatever a
release draws. The result is for the holder of the data only."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._types import Integers
from ...interrupts import check
from ..encode import quietly
from ..failures import unknown
from ..files import MEMORY, connected, quoted
from ..parts import Parts
from ..rows_per_person import part_of
from ..scratch import scratch

__all__ = ["CellBounds", "UnitNumbers", "UnitRows"]

log = logging.getLogger("margin")

_KEY = bytes(16)
"""The key of the hash that divides rows into parts. It changes no number."""

_ALL_COUNT = 2**50
"""A bound on the rows of a unit that leaves out none."""


@dataclass(frozen=True)
class UnitNumbers:
    """How many rows the units of a table have. It is derived from the data, so it is not private.

    Attributes
    ----------
    rows
        Number of rows that name their unit.
    units
        Number of units.
    most
        Largest number of rows of a unit.
    limited
        Number of units with more rows than a release counts; 0 if no bound is given.
    counted
        The largest number of rows of a unit that a release counts; None if it is not given.
    left_out
        Number of rows that a release does not count.
    """

    rows: int
    units: int
    most: int
    limited: int
    counted: int | None
    left_out: int

    def line(self) -> str:
        """The numbers in words."""
        most = f"at most {_rows(self.most)} each"
        told = f"{self.rows:,} rows of {self.units:,} different units, {most}"
        if self.counted is None:
            return told
        if not self.limited:
            return f"{told}; a release counts all of them"
        have = "unit has" if self.limited == 1 else "units have"
        return (
            f"{told}; {self.limited:,} {have} more than {_rows(self.counted)}, and a release "
            f"leaves {_rows(self.left_out)} out"
        )


@dataclass(frozen=True)
class CellBounds:
    """The smallest and the largest number of counted rows in each cell of a table, over all draws.

    Attributes
    ----------
    lowest, highest
        The bounds, each of shape (cells,).
    units
        Number of units of which the draw decides in which cells they count.
    """

    lowest: Integers
    highest: Integers
    units: int


class UnitRows:
    """The unit of each row and its cells in some tables, to bound what a release counts.

    **What is certain.** A release counts m rows of each unit u, or all n(u) rows if these are
    fewer: k(u) = min(m, n(u)) rows. A random key orders the combinations of codes of the unit, and
    the first k(u) rows count. Let n(u, c) of the rows be in cell c of a table. Then

    max(0, k(u) - (n(u) - n(u, c))) <= rows of u counted in c <= min(m, n(u, c)).

    No draw leaves these bounds. An order that puts the combinations in c last reaches the lower
    one, and an order that puts them first the upper one: all rows of a combination are in the same
    cell. The orders of different units are drawn independently, so the sums over the units are the
    best bounds on a count. The number of all counted rows is the sum of k(u), whatever is drawn.

    **When a draw matters.** If n(u) <= m, or all rows of u are in c, both bounds are equal. If u
    has more than m rows, and some but not all of them are in c, they differ: with n(u, c) >= m, the
    upper bound is m and the lower one less; otherwise the upper bound is n(u, c) and the lower one
    is 0 or n(u, c) - (n(u) - m). So all draws give one table if and only if no unit with more than
    m rows has rows in two cells.

    As in `rows_per_person.BoundedSource`, a hash of the unit divides the rows into parts that
    DuckDB groups one at a time. So the memory does not grow with the number of rows.

    Parameters
    ----------
    sizes
        The number of cells of each table.
    rows_per_person
        The number m. None if all rows count.
    memory_limit
        Largest amount of memory of the embedded DuckDB, such as "500MB".
    """

    def __init__(
        self,
        sizes: Sequence[int],
        rows_per_person: int | None,
        memory_limit: str = MEMORY,
    ) -> None:
        import pyarrow as pa

        self._sizes = sizes
        self._given = rows_per_person
        self._memory_limit = memory_limit
        cells = [(f"c{at}", pa.int64()) for at in range(len(sizes))]
        self._schema = pa.schema([("unit", pa.string()), *cells])
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._folder = self._stack.enter_context(scratch())
        self._parts = self._stack.enter_context(Parts(self._folder, self._schema))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, units: Any, cells: Sequence[NDArray[np.int64]]) -> None:
        """Add some rows.

        Parameters
        ----------
        units
            The unit of each row: an Arrow array of texts. Rows with a null are left out.
        cells
            For each table the cell of each row, shape (rows,); -1 if it is in none.
        """
        import pyarrow as pa

        batch = pa.record_batch([units.cast(pa.string()), *map(pa.array, cells)], self._schema)
        named = batch.filter(units.is_valid()) if units.null_count else batch
        self._parts.add(named, part_of(named.column(0), _KEY))

    def found(self) -> tuple[UnitNumbers, list[CellBounds]]:
        """The numbers of the units, and the bounds on the counts of each table. No rows can be
        added afterwards."""
        lowest = [np.zeros(size, np.int64) for size in self._sizes]
        highest = [np.zeros(size, np.int64) for size in self._sizes]
        split = [0] * len(self._sizes)
        rows = units = most = limited = counted = 0
        for part in self._grouped():
            # Table 0 has all rows in one cell.
            for at in np.flatnonzero(part["which"] == 0):
                rows += int(part["rows"][at])
                units += int(part["units"][at])
                limited += int(part["limited"][at])
                counted += int(part["highest"][at])
                most = max(most, int(part["most"][at]))
            for place in range(len(self._sizes)):
                own = part["which"] == place + 1
                split[place] += int(part["split"][own].sum())
                # Rows in no cell are in -1.
                inside = own & (part["cell"] >= 0)
                cells = part["cell"][inside]
                lowest[place][cells] += part["lowest"][inside]
                highest[place][cells] += part["highest"][inside]
        bounds = list(map(CellBounds, lowest, highest, split))
        return UnitNumbers(rows, units, most, limited, self._given, rows - counted), bounds

    def _grouped(self) -> Iterator[dict[str, NDArray[np.int64]]]:
        """Numbers for each cell of each table, as columns, one part of the units at a time."""
        failed = partial(unknown, what="the rows, grouped by their unit,")
        log.info("grouping the rows of each unit")
        with closing(connected(self._memory_limit)) as connection:
            connection.execute(f"SET temp_directory = {quoted(self._folder)}")
            connection.execute("SET preserve_insertion_order = false")
            for rows in self._parts.tables():
                connection.register("rows", rows)
                yield quietly(lambda: connection.sql(self._query()).fetchnumpy(), failed)
                check()

    def _query(self) -> str:
        """SQL for the bounds of the class docstring, with n(u, c) as `own` and n(u) as `whole`."""
        places = ", ".join(map(str, range(len(self._sizes) + 1)))
        cells = ", ".join(["0", *(f"c{at}" for at in range(len(self._sizes)))])
        most = min(self._given or _ALL_COUNT, _ALL_COUNT)
        return f"""
            WITH cells AS (
                SELECT unit, unnest([{places}]) AS which, unnest([{cells}]) AS cell FROM rows
            ), own AS (
                SELECT unit, which, cell, count(*) AS own FROM cells GROUP BY unit, which, cell
            ), of_units AS (
                SELECT
                    which, cell, own, sum(own) OVER of_unit AS whole,
                    cell = min(cell) OVER of_unit AS is_first
                FROM own
                WINDOW of_unit AS (PARTITION BY unit, which)
            )
            SELECT
                which, cell,
                sum(greatest(0, least({most}, whole) - (whole - own)))::BIGINT AS lowest,
                sum(least({most}, own))::BIGINT AS highest,
                -- A unit is in the first of its cells once.
                count(*) FILTER (whole > {most} AND own < whole AND is_first) AS split,
                sum(own)::BIGINT AS rows,
                count(*) AS units,
                max(whole)::BIGINT AS most,
                count(*) FILTER (whole > {most}) AS limited
            FROM of_units
            GROUP BY which, cell
        """


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
