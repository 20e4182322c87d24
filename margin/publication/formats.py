"""The files of one table: CSV with its description, Parquet, JSON-stat and SDMX-CSV."""

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..domain.marginal import Marginal
from ..synopses.source import Source
from .csvw import CSVW_ENDING, write_csvw
from .numbers import NUMBERS, whole_numbers
from .sdmx import write_sdmx_csv
from .spreadsheets import BYTE_ORDER_MARK, for_spreadsheet
from .terms import descriptions, dublin_core

__all__ = ["ENDINGS", "FORMATS", "write_table"]

FORMATS = ("csv", "csvw", "parquet", "json-stat", "sdmx-csv")
"""The formats of tables. "csvw" describes the file of "csv"."""

ENDINGS = {
    "csv": ".csv",
    "csvw": CSVW_ENDING,
    "parquet": ".parquet",
    "json-stat": ".json",
    "sdmx-csv": ".sdmx.csv",
}
"""The ending of the files of each format."""


def write_table(
    form: str,
    path: Path,
    table: Marginal,
    *,
    about: dict[str, Any],
    spreadsheet: bool,
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
        The manifest, of which files take what they have room for, with the `Source` of the table
        as "source", and its words as "how".
    spreadsheet
        Whether CSV files are for spreadsheets; see `publish`.
    """
    WRITERS[form](path, table, about, spreadsheet)


def _write_csv(
    path: Path,
    table: Marginal,
    _: dict[str, Any],
    spreadsheet: bool,
) -> None:
    label = for_spreadsheet if spreadsheet else _unchanged
    categories = [map(label, form.names) for form in table.domain.values()]
    cells = itertools.product(*categories)
    numbers = zip(*whole_numbers(table).values(), strict=True)
    with path.open("x", newline="", encoding="utf-8") as file:
        file.write(BYTE_ORDER_MARK if spreadsheet else "")
        writer = csv.writer(file)
        writer.writerow([*map(label, table.attributes), *NUMBERS])
        writer.writerows([*cell, *row] for cell, row in zip(cells, numbers, strict=True))


def _unchanged(label: Any) -> Any:
    return label


def _write_parquet(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: bool,
) -> None:
    """Write a Parquet file, whose metadata hold the statement of privacy and who publishes it."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = table.to_arrow().select(list(table.attributes))
    for name, numbers in whole_numbers(table).items():
        columns = columns.append_column(name, pa.array(numbers, pa.int64()))
    about = {name: manifest[name] for name in ("software", "privacy", "statement", "meaning")}
    about |= _made(manifest["source"])
    about["dcterms"] = dublin_core(manifest, table.attributes)
    described = descriptions(table, manifest)
    if described:
        about["attributes"] = described
    written = columns.replace_schema_metadata({"margin": json.dumps(about, ensure_ascii=False)})
    parquet.write_table(written, path)


def _write_json_stat(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: bool,
) -> None:
    """Write a data set in JSON-stat 2.0; its last dimension has count, low and high."""
    dimensions: dict[str, Any] = {}
    described = descriptions(table, manifest)
    for name, form in table.domain.items():
        labels = {str(code): str(label) for code, label in enumerate(form.names)}
        dimensions[name] = {"label": name, "category": {"index": list(labels), "label": labels}}
        if name in described:
            dimensions[name]["note"] = [described[name]]
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
    columns = whole_numbers(table)
    terms = dublin_core(manifest, table.attributes)
    dataset = {
        "version": "2.0",
        "class": "dataset",
        "label": terms["title"],
        "updated": terms["issued"],
        "note": [manifest["privacy"], manifest["meaning"], manifest["how"]],
        "id": list(dimensions),
        "size": [*table.counts.shape, len(NUMBERS)],
        "role": {"metric": [measure]},
        "dimension": dimensions,
        "value": list(itertools.chain.from_iterable(zip(*columns.values(), strict=True))),
        "extension": {"margin": _made(manifest["source"]), "dcterms": terms},
    }
    if "publisher" in terms:
        dataset["source"] = terms["publisher"]
    text = json.dumps(dataset, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _made(source: Source) -> dict[str, Any]:
    """How a table was made, as JSON values."""
    return {"source": source.value, "reconstructed": source.has_no_view}


def _write_csvw(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    spreadsheet: bool,
) -> None:
    label = for_spreadsheet if spreadsheet else _unchanged
    write_csvw(path, table, manifest, [str(label(name)) for name in table.attributes])


def _write_sdmx_csv(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: bool,
) -> None:
    # Every name and category follows an identifier, so no spreadsheet reads it as a formula.
    write_sdmx_csv(path, table, manifest)


WRITERS: dict[str, Callable[[Path, Marginal, dict[str, Any], bool], None]] = {
    "csv": _write_csv,
    "csvw": _write_csvw,
    "parquet": _write_parquet,
    "json-stat": _write_json_stat,
    "sdmx-csv": _write_sdmx_csv,
}
