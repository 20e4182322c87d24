"""The command `margin publish`, which writes a folder of tables that agree exactly."""

import argparse
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from ..errors import FileError
from .arguments.categories import add_categories
from .arguments.imprint import add_imprint, hint, imprint_of, read_about
from .arguments.workload import FORMS, views_of
from .common import (
    Said,
    add_command,
    add_spreadsheet,
    add_synopsis,
    opened,
    reconstructed_hint,
)

__all__ = ["add_commands"]

_FORMATS = ["csv", "csvw", "parquet", "json-stat", "sdmx-csv"]
"""`publication.FORMATS`, written out so that --help needs no import."""


_SHOWN = 40
"""Largest number of tables in the list of quality that is printed."""


def add_commands(commands: Any) -> None:
    """Add `margin publish` to the parser of the command line."""
    publish = add_command(
        commands,
        "publish",
        _publish,
        does="write tables of whole numbers that agree exactly to a folder, with a README",
        examples=[
            "margin publish people.margin --tables 2way -o tables/",
            "margin publish people.margin --tables 1way age,sex,region -o tables/ --format csv",
            'margin publish people.margin --tables 2way -o tables/ --title "Census" '
            '--licence "CC BY 4.0"',
            "margin publish people.margin --tables 2way -o tables/ --about about.json",
            "margin publish people.margin --tables 2way -o new/ --categories changes.json",
        ],
    )
    add_synopsis(publish)
    add_categories(publish)
    publish.add_argument(
        "--tables",
        nargs="+",
        required=True,
        metavar="T",
        help=f"the tables: {FORMS}",
    )
    publish.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the folder to write; it must not exist",
    )
    publish.add_argument(
        "--format",
        nargs="+",
        choices=_FORMATS,
        default=_FORMATS,
        help="the formats of the tables; csvw describes the CSV files; default: all of them",
    )
    publish.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of the search for whole numbers, which needs no secret; default: 0",
    )
    publish.add_argument(
        "--uncertain",
        type=float,
        default=30.0,
        metavar="PERCENT",
        help="in the list of quality, a cell is uncertain if its half-width of 95 %% is above this "
        "percentage of its count; default: 30",
    )
    add_imprint(publish, "the name of the .margin file")
    add_spreadsheet(publish)
    publish.add_argument(
        "--force",
        action="store_true",
        help="replace the folder if it holds an earlier publication",
    )


def _publish(parsed: argparse.Namespace) -> Said:
    from ..publication.folder import check_folder, publish
    from ..publication.quality import QUALITY, check_limit, listed, told
    from ..synopses.source import Source

    folder: Path = parsed.output
    check_folder(folder, replace=parsed.force)
    read_about(parsed)
    if parsed.seed < 0:
        raise FileError(f"--seed ({parsed.seed}) must be >= 0; pass such a number")
    check_limit(parsed.uncertain)
    synopsis = opened(parsed)
    formats = list(dict.fromkeys(parsed.format))
    manifest = publish(
        synopsis,
        views_of(synopsis.domain, parsed.tables),
        folder,
        title=parsed.title or parsed.file.stem,
        imprint=imprint_of(parsed),
        formats=formats,
        replace=parsed.force,
        seed=parsed.seed,
        spreadsheet=parsed.spreadsheet,
        uncertain=parsed.uncertain,
    )
    hint(parsed, synopsis)
    tables = manifest["tables"]
    cells = sum(table["cells"] for table in tables)
    sources = Counter(Source(table["source"]) for table in tables)
    made = ", ".join(f"{number:,} {source.short}" for source, number in sources.items())
    plural = "table" if len(tables) == 1 else "tables"
    text = (
        f"{folder}: {len(tables):,} {plural}, {cells:,} cells, each with the total "
        f"{manifest['total']:,}; {made}. They agree exactly."
    )
    widened = sum(table["widened"] for table in tables)
    if widened:
        text += (
            f"\nAgreement moved {widened:,} of {cells:,} counts out of the bounds of their "
            "answers; the bounds are widened to these counts."
        )
    # Blanks separate tables, and commas the attributes of one table.
    if len(tables) > 1 and all(name in synopsis.domain for name in parsed.tables):
        joined = ",".join(parsed.tables)
        text += (
            "\nEach attribute has a table of its own. For one table of all these attributes, "
            f"write --tables {joined}"
        )
    text += reconstructed_hint(sources)
    text += f"\n\n{listed(tables[:_SHOWN])}"
    others = len(tables) - _SHOWN
    if others > 0:
        named = "table is" if others == 1 else f"{others:,} tables are"
        text += f"\nthe other {named} in {folder / QUALITY}"
    text += f"\n{textwrap.fill(told(parsed.uncertain), 88)}"
    values = {
        "output": str(folder),
        "tables": len(tables),
        "cells": cells,
        "reconstructed": sum(table["reconstructed"] for table in tables),
        "sources": {source.value: number for source, number in sources.items()},
        "widened": widened,
        "total": manifest["total"],
        "formats": formats,
        "uncertain_above": manifest["uncertain_above"],
        "quality": [{"table": table["name"], **table["quality"]} for table in tables],
    }
    return Said(text, values, is_kept=True)
