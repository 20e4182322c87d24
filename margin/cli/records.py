"""The command `margin records`: write synthetic rows to a CSV or Parquet file."""

import argparse
import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from .._replace import replacing
from ..errors import FileError, MarginError
from .common import (
    Said,
    add_command,
    add_spreadsheet,
    add_synopsis,
    opened,
)
from .outputs import add_force, check_free

if TYPE_CHECKING:
    from ..metrics import RecordsDistance

__all__ = ["add_commands"]

_WRITERS = (".csv", ".parquet")


def add_commands(commands: Any) -> None:
    """Add `margin records` to the parser of the command line."""
    records = add_command(
        commands,
        "records",
        _records,
        does="write synthetic rows that follow the counts of a .margin file",
        examples=[
            "margin records people.margin -n 1000 -o rows.csv",
            "margin records people.margin -n 1000 -o rows.parquet",
        ],
    )
    add_synopsis(records)
    records.add_argument(
        "-n",
        type=int,
        required=True,
        metavar="N",
        help="number of rows",
    )
    add_spreadsheet(records)
    records.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the file to write; its name must end in .csv or .parquet",
    )
    add_force(records)


def _records(parsed: argparse.Namespace) -> Said:
    from ..publication.spreadsheets import BYTE_ORDER_MARK, for_spreadsheet

    path: Path = parsed.output
    if path.suffix not in _WRITERS:
        raise FileError(
            f"the output must end in {' or '.join(_WRITERS)}, but it is {str(path)!r}; change its "
            "ending"
        )
    check_free(path, parsed)
    synopsis = opened(parsed)
    codes = synopsis.records(parsed.n)
    columns = {
        name: _values(form, codes[:, axis])
        for axis, (name, form) in enumerate(synopsis.domain.items())
    }
    mark = ""
    if parsed.spreadsheet and path.suffix == ".csv":
        mark = BYTE_ORDER_MARK
        columns = {for_spreadsheet(name): _safe(column) for name, column in columns.items()}
    _write(path, columns, mark)
    distances = _distances(synopsis, codes)
    values = {
        "output": str(path),
        "rows": parsed.n,
        "attributes": list(synopsis.domain),
        "distances": [dataclasses.asdict(distance) for distance in distances],
    }
    text = f"{path}: {parsed.n:,} synthetic rows of {len(synopsis.domain):,} attributes"
    return Said("\n".join([text, *map(str, distances)]), values, is_kept=True)


def _distances(synopsis: "margin.Synopsis", codes: Any) -> list["RecordsDistance"]:
    """How far tables of two and of three attributes are from the answers of the release."""
    from ..metrics import records_distance

    found = []
    for size in (2, 3):
        # Some synopses answer no table of this size.
        with contextlib.suppress(MarginError):
            found.append(records_distance(synopsis, codes, size=size))
    return found


def _values(attribute: "margin.Attribute", codes: Any) -> Any:
    """Convert a column of codes to values, as an Arrow array. Values of mixed types become texts,
    and days become dates."""
    import pyarrow as pa

    if attribute.values is None and attribute.bins is None:
        return pa.array(codes)
    labels = attribute.names
    if len({type(label) for label in labels}) > 1:
        labels = tuple(map(str, labels))
    column = pa.array(labels).take(pa.array(codes))
    # `other` and `missing` add categories that may be no dates.
    is_day = attribute.dates is not None and attribute.dates.by == "day"
    has_others = attribute.other is not None or attribute.missing is not None
    return column.cast(pa.date32()) if is_day and not has_others else column


def _safe(column: Any) -> Any:
    """Change each text of a column that a spreadsheet would run as a formula."""
    import pyarrow as pa

    from ..publication.spreadsheets import for_spreadsheet

    if not pa.types.is_string(column.type):
        return column
    return pa.array([for_spreadsheet(value) for value in column.to_pylist()])


def _write(path: Path, columns: dict[str, Any], mark: str) -> None:
    """Write a mark and the columns to a file. If this fails, an existing file stays as it was."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table(columns)
    write = csv.write_csv if path.suffix == ".csv" else parquet.write_table
    with replacing(path) as file:
        file.write(mark.encode())
        write(table, file)
