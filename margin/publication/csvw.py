"""CSVW: the W3C's description of a CSV file, in a file of its own beside it."""

import json
from pathlib import Path
from typing import Any

from ..domain.marginal import Marginal
from .numbers import LEVEL, NUMBERS
from .terms import CONTACT, descriptions, dublin_core

__all__ = ["CSVW_ENDING", "write_csvw"]

CSVW_ENDING = ".csv-metadata.json"
"""The ending by which readers find the description of a CSV file."""

_MEANINGS = {
    "count": "published number of rows",
    "low": f"lower bound of the true number{{}}, {LEVEL:.0%}",
    "high": f"upper bound of the true number{{}}, {LEVEL:.0%}",
}
"""What the columns of numbers are. The place in braces says which rows bounds are for."""


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
        The manifest of the publication, with what is said of the table; see `write_table`.
    titles
        The heads of the attributes' columns in the CSV file.
    """
    columns: list[dict[str, Any]] = []
    heads = zip(table.domain, titles, strict=True)
    described = descriptions(table, manifest)
    for number, (attribute, title) in enumerate(heads, 1):
        meaning = f"{attribute}: {described[attribute]}" if attribute in described else attribute
        about = {"titles": title, "dc:description": meaning, "datatype": "string"}
        columns.append({"name": f"attribute_{number}", "required": True, **about})
    key = [column["name"] for column in columns]
    whose = " of counted rows" if manifest["left_out"] else ""
    for name in NUMBERS:
        meaning = _MEANINGS[name].format(whose)
        about = {"titles": name, "dc:description": meaning, "datatype": "integer"}
        columns.append({"name": name, **about})
    description = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name.removesuffix(CSVW_ENDING) + ".csv",
        **_terms(dublin_core(manifest, table.attributes)),
        "dc:description": f"{manifest['how']} {manifest['meaning']}",
        # Not "dc:rights", which is what a reader may do with the table.
        "skos:note": manifest["privacy"],
        "dialect": {"header": True, "encoding": "utf-8"},
        "tableSchema": {"columns": columns, "primaryKey": key},
    }
    path.write_text(json.dumps(description, ensure_ascii=False) + "\n", encoding="utf-8")


def _terms(said: dict[str, str]) -> dict[str, Any]:
    """The terms of `dublin_core` with the prefixes and the kinds of values of CSVW."""
    terms: dict[str, Any] = {f"dc:{term}": text for term, text in said.items() if term != CONTACT}
    terms["dc:issued"] = {"@value": said["issued"], "@type": "xsd:date"}
    if "publisher" in said:
        terms["dc:publisher"] = {"schema:name": said["publisher"]}
    # The licence of a link is the page that it leads to.
    if said.get("license", "").startswith(("http://", "https://")):
        terms["dc:license"] = {"@id": said["license"]}
    if CONTACT in said:
        terms[f"dcat:{CONTACT}"] = {"vcard:fn": said[CONTACT]}
    return terms
