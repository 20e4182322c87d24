"""The command `margin records`: synthetic rows as a CSV or Parquet file."""

import argparse
from pathlib import Path
from typing import Any

import margin

from .._replace import replacing
from ..errors import FileError
from .common import (
    Said,
    add_command,
    add_force,
    add_spreadsheet,
    add_synopsis,
    check_free,
    for_spreadsheet,
    opened,
)

__all__ = ["add_commands"]

_WRITERS = (".csv", ".parquet")


def add_commands(commands: Any) -> None:
    """Add it to the parsers of a command line."""
    records = add_command(
        commands,
        "records",
        _records,
        does="write synthetic rows from a .margin file, if its kind has some",
        examples=[
            "margin records people.margin -n 1000 -o rows.csv",
            "margin records people.margin -n 1000 -o rows.parquet",
        ],
    )
    add_synopsis(records)
    records.add_argument("-n", type=int, required=True, metavar="N", help="how many rows")
    add_spreadsheet(records)
    records.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="ending in .csv or .parquet",
    )
    add_force(records)


def _records(parsed: argparse.Namespace) -> Said:
    path: Path = parsed.output
    if path.suffix not in _WRITERS:
        raise FileError(f"{str(path)!r} must end in {' or '.join(_WRITERS)}")
    check_free(path, parsed)
    synopsis = opened(parsed)
    codes = synopsis.records(parsed.n)
    columns = {
        name: _values(form, codes[:, axis])
        for axis, (name, form) in enumerate(synopsis.domain.items())
    }
    if parsed.spreadsheet and path.suffix == ".csv":
        columns = {for_spreadsheet(name): _safe(column) for name, column in columns.items()}
    _write(path, columns)
    values = {"output": str(path), "rows": parsed.n, "attributes": list(synopsis.domain)}
    return Said(
        f"{path}: {parsed.n:,} synthetic rows of {len(synopsis.domain):,} attributes", values
    )


def _values(attribute: "margin.Attribute", codes: Any) -> Any:
    """The categories of some codes, as an Arrow array; as texts where they are of several types."""
    import pyarrow as pa

    if attribute.values is None and attribute.bins is None:
        return pa.array(codes)
    labels = attribute.labels
    if len({type(label) for label in labels}) > 1:
        labels = tuple(map(str, labels))
    return pa.array(labels).take(pa.array(codes))


def _safe(column: Any) -> Any:
    """A column whose texts no spreadsheet runs."""
    import pyarrow as pa

    return (
        pa.array(list(map(for_spreadsheet, column.to_pylist())))
        if pa.types.is_string(column.type)
        else column
    )


def _write(path: Path, columns: dict[str, Any]) -> None:
    """All of the file, or none."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table(columns)
    with replacing(path) as file:
        csv.write_csv(table, file) if path.suffix == ".csv" else parquet.write_table(table, file)
