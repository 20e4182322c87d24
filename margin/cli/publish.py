"""The command `margin publish`, which writes a folder of tables that agree exactly."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import margin

from ..errors import FileError
from .common import Said, add_command, add_spreadsheet, add_synopsis, for_spreadsheet, opened
from .workload import views_of

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin publish` to the parser of the command line."""
    publish = add_command(
        commands,
        "publish",
        _publish,
        does="write tables of whole numbers that agree exactly to a folder, with a manifest",
        examples=[
            "margin publish people.margin --tables all:2 -o tables/",
            "margin publish people.margin --tables all:1 age,sex,region -o tables/ --format csv",
        ],
    )
    add_synopsis(publish)
    publish.add_argument(
        "--tables",
        nargs="+",
        required=True,
        metavar="T",
        help="the tables: all:2 for all tables of two attributes; A,B,C for one table, where "
        "A@LEVEL is a level of an attribute; or a JSON file with a list of lists of these",
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
        choices=["csv", "parquet", "json-stat"],
        default=["csv", "parquet", "json-stat"],
        help="the formats of the tables; default: all three",
    )
    publish.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of the search for whole numbers, which needs no secret; default: 0",
    )
    add_spreadsheet(publish)
    publish.add_argument(
        "--force",
        action="store_true",
        help="replace the folder if it holds an earlier publication",
    )


def _publish(parsed: argparse.Namespace) -> Said:
    from ..publication.folder import check_folder, publish

    folder: Path = parsed.output
    check_folder(folder, replace=parsed.force)
    if parsed.seed < 0:
        raise FileError(f"--seed ({parsed.seed}) must be >= 0; pass such a number")
    synopsis = opened(parsed)
    formats = list(dict.fromkeys(parsed.format))
    manifest = publish(
        synopsis,
        _views(synopsis.domain, parsed.tables),
        folder,
        formats=formats,
        replace=parsed.force,
        seed=parsed.seed,
        csv_label=for_spreadsheet if parsed.spreadsheet else lambda label: label,
    )
    tables = manifest["tables"]
    cells = sum(table["cells"] for table in tables)
    reconstructed = sum(table["reconstructed"] for table in tables)
    text = (
        f"{folder}: {len(tables):,} tables, {cells:,} cells, each with the total "
        f"{manifest['total']:,}; {reconstructed:,} reconstructed. They agree exactly."
    )
    values = {
        "output": str(folder),
        "tables": len(tables),
        "cells": cells,
        "reconstructed": reconstructed,
        "total": manifest["total"],
        "formats": formats,
    }
    return Said(text, values)


def _views(domain: "margin.Domain", given: Sequence[str]) -> list[tuple[str, ...]]:
    """The views of the values of --tables, each once.

    Raises
    ------
    FileError
        If a JSON file cannot be read or does not hold a list of lists.
    DomainError
        If a view is not one of the domain.
    """
    views: dict[frozenset[str], tuple[str, ...]] = {}
    for text in given:
        every = re.fullmatch(r"all:([0-9]{1,3})", text)
        if every:
            workload = margin.Workload.all_kway(domain, int(every[1]))
        else:
            workload = margin.Workload.of(domain, views_of([text]))
        for view in workload.names:
            views.setdefault(frozenset(view), view)
    return list(views.values())
