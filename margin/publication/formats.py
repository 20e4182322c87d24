"""The files of one table: CSV, Parquet and JSON-stat."""

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..domain.marginal import Marginal

__all__ = ["ENDINGS", "FORMATS", "LEVEL", "NUMBERS", "Label", "write_table"]

FORMATS = ("csv", "parquet", "json-stat")
"""The formats of tables."""

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "json-stat": ".json"}
"""The ending of the files of each format."""

NUMBERS = ("count", "low", "high")
"""The columns of numbers, which follow those of the attributes."""

LEVEL = 0.95
"""The probability that low and high contain the true count."""

Label = Callable[[Any], Any]


def write_table(
    form: str,
    path: Path,
    table: Marginal,
    *,
    about: dict[str, Any],
    csv_label: Label,
) -> None:
    """Write a table of whole numbers to a new file.

    Parameters
    ----------
    form
        One of `FORMATS`.
    path
        The file.
    table
        The table.
    about
        The manifest, of which files take what they have room for.
    csv_label
        A function that is applied to each name and category in CSV files.
    """
    WRITERS[form](path, table, about, csv_label)


def _numbers(table: Marginal) -> dict[str, list[int | None]]:
    """The columns of numbers by name, cell by cell; None where a bound is not known.

    The true count is a whole number, so the bounds are rounded to the whole numbers between them.
    """
    low, high = table.interval(LEVEL)
    columns = {"count": table.counts, "low": np.ceil(low), "high": np.floor(high)}
    return {
        name: [None if np.isnan(number) else int(number) for number in values.flat]
        for name, values in columns.items()
    }


def _write_csv(
    path: Path,
    table: Marginal,
    _: dict[str, Any],
    label: Label,
) -> None:
    categories = [map(label, form.labels) for form in table.domain.values()]
    cells = itertools.product(*categories)
    numbers = zip(*_numbers(table).values(), strict=True)
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*map(label, table.attributes), *NUMBERS])
        writer.writerows([*cell, *row] for cell, row in zip(cells, numbers, strict=True))


def _write_parquet(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: Label,
) -> None:
    """Write a Parquet file, which carries the statement of privacy in its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = table.to_arrow().select(list(table.attributes))
    for name, numbers in _numbers(table).items():
        columns = columns.append_column(name, pa.array(numbers, pa.int64()))
    about = {name: manifest[name] for name in ("software", "privacy", "statement", "meaning")}
    about["reconstructed"] = table.reconstructed
    written = columns.replace_schema_metadata({"margin": json.dumps(about, ensure_ascii=False)})
    parquet.write_table(written, path)


def _write_json_stat(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: Label,
) -> None:
    """Write a data set in JSON-stat 2.0; its last dimension has count, low and high."""
    dimensions: dict[str, Any] = {}
    for name, form in table.domain.items():
        labels = {str(code): str(label) for code, label in enumerate(form.labels)}
        dimensions[name] = {"label": name, "category": {"index": list(labels), "label": labels}}
    # A name that no attribute has.
    measure = "measure"
    while measure in dimensions:
        measure += "_"
    dimensions[measure] = {
        "label": "number of rows",
        "category": {
            "index": list(NUMBERS),
            "label": {"count": "count", "low": "lower bound", "high": "upper bound"},
        },
    }
    columns = _numbers(table)
    dataset = {
        "version": "2.0",
        "class": "dataset",
        "label": ", ".join(table.attributes),
        "note": [manifest["privacy"], manifest["meaning"]],
        "id": list(dimensions),
        "size": [*table.counts.shape, len(NUMBERS)],
        "role": {"metric": [measure]},
        "dimension": dimensions,
        "value": list(itertools.chain.from_iterable(zip(*columns.values(), strict=True))),
        "extension": {"margin": {"reconstructed": table.reconstructed}},
    }
    text = json.dumps(dataset, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Path, Marginal, dict[str, Any], Label], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json-stat": _write_json_stat,
}
