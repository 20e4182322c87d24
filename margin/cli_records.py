"""The command `margin records`: synthetic rows as a CSV or Parquet file."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .attribute import Attribute
from .errors import FileError
from .store import load
from .synopsis import Synopsis

__all__ = ["add_commands"]

_WRITERS = (".csv", ".parquet")


def add_commands(commands: Any) -> None:
    """Add it to the parsers of a command line."""
    records = commands.add_parser("records", help="write synthetic rows from a .margin file, if its kind has some")
    records.add_argument("file", type=Path, metavar="OUT.margin")
    records.add_argument("-n", type=int, required=True, metavar="N", help="how many rows")
    records.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ending in .csv or .parquet")
    records.add_argument("--force", action="store_true", help="replace the file that is there")
    records.add_argument("--allow-simulation", action="store_true", help="of a simulation, which is not private")
    records.set_defaults(command=_records)


def _records(parsed: argparse.Namespace) -> str:
    path: Path = parsed.output
    if path.suffix not in _WRITERS:
        raise FileError(f"{str(path)!r} must end in {' or '.join(_WRITERS)}")
    if path.exists() and not parsed.force:
        raise FileError(f"{str(path)!r} is there already; give another name, or --force to replace it")
    loaded = load(parsed.file, allow_simulation=parsed.allow_simulation)
    synopsis = loaded if isinstance(loaded, Synopsis) else loaded.synopsis
    codes = synopsis.records(parsed.n)
    _write(path, {name: _values(form, codes[:, axis]) for axis, (name, form) in enumerate(synopsis.domain.items())})
    return f"{path}: {parsed.n:,} synthetic rows of {len(synopsis.domain):,} attributes"


def _values(attribute: Attribute, codes: NDArray[np.int64]) -> Any:
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
