"""SDMX-CSV 2.0, the table format of statistical agencies."""

import csv
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..domain.marginal import Marginal
from .numbers import NUMBERS, whole_numbers

__all__ = ["write_sdmx_csv"]

_FLOW = "MARGIN:TABLE__{dimensions}(1.0)"
"""The identifier of the data flow of a table: agency, name and version.

Tables with different dimensions have different structures. No identifier has two underscores in
a row, so the name tells the dimensions apart."""

_MEASURES = {"count": "OBS_VALUE", "low": "LOW_95", "high": "HIGH_95"}
"""The identifiers of the columns of numbers."""

_RESERVED = ("STRUCTURE", "STRUCTURE_ID", "ACTION", *_MEASURES.values())
"""Column names that no dimension may have."""


def write_sdmx_csv(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
) -> None:
    """Write a table as SDMX-CSV 2.0 with both identifiers and names (``labels=both``).

    A dimension is written as "SEX: sex", and a category as its code and its label, "0: F". So names
    and categories may be any text, while identifiers keep to the letters that SDMX allows. Each
    attribute has the same identifier in all tables of a publication.
    """
    identifiers = _identifiers([*manifest["domain"], *table.attributes])
    flow = _FLOW.format(dimensions="__".join(identifiers[name] for name in table.attributes))
    dimensions = [f"{identifiers[name]}: {name}" for name in table.attributes]
    categories = [
        [f"{code}: {label}" for code, label in enumerate(form.names)]
        for form in table.domain.values()
    ]
    numbers = zip(*whole_numbers(table).values(), strict=True)
    measures = [_MEASURES[name] for name in NUMBERS]
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["STRUCTURE", "STRUCTURE_ID", "ACTION", *dimensions, *measures])
        for cell, row in zip(itertools.product(*categories), numbers, strict=True):
            # "I" marks information: the file states numbers and changes no others.
            writer.writerow(["dataflow", flow, "I", *cell, *row])


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name: capital letters, digits and underscores, all different."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
        first = plain if plain[:1].isalpha() else f"X_{plain}"
        taken = {*found.values(), *_RESERVED}
        numbered = (f"{first}_{number}" for number in itertools.count(2))
        candidates = itertools.chain([first], numbered)
        found[name] = next(one for one in candidates if one not in taken)
    return found
