"""The command `margin records`: synthetic rows as a CSV or Parquet file."""

import argparse
from pathlib import Path
from typing import Any

import margin

from .cli_common import Said, add_command, add_force, add_synopsis, check_free, opened
from .errors import FileError

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
    records.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ending in .csv or .parquet")
    add_force(records)


def _records(parsed: argparse.Namespace) -> Said:
    path: Path = parsed.output
    if path.suffix not in _WRITERS:
        raise FileError(f"{str(path)!r} must end in {' or '.join(_WRITERS)}")
    check_free(path, parsed)
    synopsis = opened(parsed)
    codes = synopsis.records(parsed.n)
    _write(path, {name: _values(form, codes[:, axis]) for axis, (name, form) in enumerate(synopsis.domain.items())})
    values = {"output": str(path), "rows": parsed.n, "attributes": list(synopsis.domain)}
    return Said(f"{path}: {parsed.n:,} synthetic rows of {len(synopsis.domain):,} attributes", values)


def _values(attribute: "margin.Attribute", codes: Any) -> Any:
    """The categories of some codes, as an Arrow array; as texts where they are of several types."""
    import pyarrow as pa

    if attribute.values is None and attribute.bins is None:
        return pa.array(codes)
    labels = attribute.labels
    if len({type(label) for label in labels}) > 1:
        labels = tuple(map(str, labels))
    return pa.array(labels).take(pa.array(codes))


def _write(path: Path, columns: dict[str, Any]) -> None:
    """All of the file, or none."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table(columns)
    part = path.with_name(f"{path.name}.part")
    problem = ""
    try:
        csv.write_csv(table, part) if path.suffix == ".csv" else parquet.write_table(table, part)
        part.replace(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(f"{str(path)!r} cannot be written: {problem}")
