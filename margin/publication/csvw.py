"""CSVW: the W3C's description of a CSV file, in a file of its own beside it."""

import json
from pathlib import Path
from typing import Any

from ..domain.marginal import Marginal
from .numbers import LEVEL, NUMBERS

__all__ = ["CSVW_ENDING", "write_csvw"]

CSVW_ENDING = ".csv-metadata.json"
"""The ending by which readers find the description of a CSV file."""

_MEANINGS = {
    "count": "published number of rows",
    "low": f"lower bound of the true number, {LEVEL:.0%}",
    "high": f"upper bound of the true number, {LEVEL:.0%}",
}


def write_csvw(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    titles: list[str],
) -> None:
    """Describe the CSV file of the same name: its columns, their types, its key and the privacy.

    Parameters
    ----------
    path
        The file to write: the name of the CSV file with `CSVW_ENDING`.
    table
        The table in the CSV file.
    manifest
        The manifest of the publication, with the `Source` of the table as "source".
    titles
        The heads of the attributes' columns in the CSV file.
    """
    columns: list[dict[str, Any]] = []
    for number, (attribute, title) in enumerate(zip(table.attributes, titles, strict=True), 1):
        about = {"titles": title, "dc:description": attribute, "datatype": "string"}
        columns.append({"name": f"attribute_{number}", "required": True, **about})
    key = [column["name"] for column in columns]
    for name in NUMBERS:
        about = {"titles": name, "dc:description": _MEANINGS[name], "datatype": "integer"}
        columns.append({"name": name, **about})
    description = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name.removesuffix(CSVW_ENDING) + ".csv",
        "dc:title": ", ".join(table.attributes),
        "dc:description": f"{manifest['source'].words} {manifest['meaning']}",
        "dc:rights": manifest["privacy"],
        "dialect": {"header": True, "encoding": "utf-8"},
        "tableSchema": {"columns": columns, "primaryKey": key},
    }
    path.write_text(json.dumps(description, ensure_ascii=False) + "\n", encoding="utf-8")
