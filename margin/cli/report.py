"""The commands `margin report` and `margin explore`."""

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from ..interrupts import watched
from .common import Said, add_command, add_force, add_synopsis, check_free, opened

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin report` and `margin explore` to the parser of the command line."""
    _add_report(commands)
    _add_explore(commands)


def _date(text: str) -> datetime.date:
    """The date that a text stands for, as the type of an option."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2025-12-31, but it is {text!r}; write it like this"
        ) from None


def _add_report(commands: Any) -> None:
    report = add_command(
        commands,
        "report",
        _report,
        does="write an HTML page that shows a .margin file; it opens without a network",
        examples=[
            "margin report people.margin",
            'margin report people.margin -o census.html --title "Census" --licence "CC BY 4.0"',
        ],
    )
    add_synopsis(report)
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.html",
        help="the file to write; default: the name of the .margin file, with the ending .html",
    )
    report.add_argument("--title", help="the heading of the page; default: the name of the file")
    report.add_argument(
        "--description",
        metavar="TEXT",
        help="what the table is and what a row is, in a sentence below the heading",
    )
    report.add_argument("--population", metavar="TEXT", help="who is in the table")
    report.add_argument("--period", metavar="TEXT", help="the time that the table describes")
    report.add_argument("--contact", metavar="TEXT", help="whom readers can ask")
    report.add_argument("--licence", metavar="TEXT", help="under which licence others may use it")
    report.add_argument("--cite", metavar="TEXT", help="how to cite it; default: a proposal")
    report.add_argument(
        "--date",
        type=_date,
        default=datetime.date.today(),
        metavar="YYYY-MM-DD",
        help="the date of publication; default: today",
    )
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
    from ..report import Imprint, write_report

    output: Path = parsed.output or parsed.file.with_suffix(".html")
    check_free(output, parsed)
    imprint = Imprint(
        date=parsed.date,
        contact=parsed.contact,
        licence=parsed.licence,
        citation=parsed.cite,
        description=parsed.description,
        population=parsed.population,
        period=parsed.period,
    )
    write_report(
        opened(parsed),
        output,
        title=parsed.title or parsed.file.stem,
        imprint=imprint,
    )
    size = output.stat().st_size
    text = f"{output}: {size / 1e6:.1f} MB, opens in any browser"
    return Said(text, {"output": str(output), "bytes": size})


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
