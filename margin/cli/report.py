"""The commands `margin report` and `margin explore`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ..interrupts import watched
from .arguments.categories import add_categories
from .arguments.imprint import add_imprint, hint, imprint_of, read_about
from .arguments.workload import FORMS, views_of
from .common import (
    Said,
    add_command,
    add_synopsis,
    opened,
    reconstructed_hint,
)
from .outputs import add_force, check_free

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin report` and `margin explore` to the parser of the command line."""
    _add_report(commands)
    _add_explore(commands)


def _add_report(commands: Any) -> None:
    report = add_command(
        commands,
        "report",
        _report,
        does="write an HTML page that shows a .margin file; it opens without a network",
        examples=[
            "margin report people.margin",
            'margin report people.margin -o census.html --title "Census" --licence "CC BY 4.0"',
            "margin report people.margin --about about.json",
            "margin report people.margin --tables age,sex region,sex",
        ],
    )
    add_synopsis(report)
    add_categories(report)
    report.add_argument(
        "--tables",
        nargs="+",
        metavar="T",
        help="the only tables that the page shows, with the smaller tables of their attributes: "
        f"{FORMS}; default: as many tables as fit",
    )
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.html",
        help="the file to write; default: the name of the .margin file, with the ending .html",
    )
    add_imprint(report, "the name of the file")
    add_force(report)


def _add_explore(commands: Any) -> None:
    explore = add_command(
        commands,
        "explore",
        _explore,
        does="show a .margin file in the browser and answer any marginal, until Ctrl-C",
        examples=[
            "margin explore people.margin",
            "margin explore people.margin --port 8000 --no-browser",
        ],
    )
    add_synopsis(explore)
    add_categories(explore)
    explore.add_argument(
        "--port",
        type=int,
        default=0,
        help="the port of the server, which only this machine can reach; default: a free port",
    )
    explore.add_argument(
        "--idle",
        type=float,
        metavar="MINUTES",
        help="stop after this many minutes without a request; default: never",
    )
    explore.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address, but open no browser",
    )


def _report(parsed: argparse.Namespace) -> Said:
    from ..report import write_report

    output: Path = parsed.output or parsed.file.with_suffix(".html")
    check_free(output, parsed)
    read_about(parsed)
    synopsis = opened(parsed)
    sources = write_report(
        synopsis,
        output,
        title=parsed.title or parsed.file.stem,
        imprint=imprint_of(parsed),
        tables=None if parsed.tables is None else views_of(synopsis.domain, parsed.tables),
    )
    hint(parsed, synopsis)
    size = output.stat().st_size
    text = f"{output}: {size / 1e6:.1f} MB, opens in any browser"
    number = sum(sources.values())
    if number:
        made = ", ".join(f"{tables:,} {source.short}" for source, tables in sources.items())
        text += f"; {number:,} {'table' if number == 1 else 'tables'}: {made}"
    values = {
        "output": str(output),
        "bytes": size,
        "tables": number,
        "sources": {source.value: tables for source, tables in sources.items()},
    }
    return Said(f"{text}{reconstructed_hint(sources)}", values, is_kept=True)


def _explore(parsed: argparse.Namespace) -> None:
    import webbrowser

    from ..report import explore

    idle = None if parsed.idle is None else 60 * parsed.idle
    server = explore(
        opened(parsed),
        title=parsed.file.stem,
        port=parsed.port,
        idle=idle,
    )
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    if parsed.json:
        print(json.dumps({"address": address}), flush=True)
    print(
        f"{address} shows {parsed.file}; press Ctrl-C to stop",
        file=sys.stderr,
        flush=True,
    )
    if not parsed.no_browser:
        webbrowser.open(address)
    with watched() as watch:
        try:
            with server:
                server.serve_forever()
        except KeyboardInterrupt:
            watch.taken()
