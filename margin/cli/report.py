"""The commands `margin report` and `margin explore`."""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from .common import Said, add_command, add_force, add_synopsis, check_free, opened

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add both to the parsers of a command line."""
    report = add_command(
        commands,
        "report",
        _report,
        does="write a page that shows a .margin file to anyone, without a network",
        examples=[
            "margin report people.margin",
            'margin report people.margin -o census.html --title "Census"',
        ],
    )
    add_synopsis(report)
    report.add_argument(
        "-o", "--output", type=Path, metavar="OUT.html", help="default: OUT.html beside it"
    )
    report.add_argument("--title", help="the heading; the file's name by default")
    add_force(report)

    explore = add_command(
        commands,
        "explore",
        _explore,
        does="show a .margin file in the browser, every marginal answered live, until Ctrl-C",
        examples=[
            "margin explore people.margin",
            "margin explore people.margin --port 8000 --no-browser",
        ],
    )
    add_synopsis(explore)
    explore.add_argument(
        "--port", type=int, default=0, help="on this machine; a free one by default"
    )
    explore.add_argument(
        "--idle", type=float, metavar="MINUTES", help="end after so long without a request"
    )
    explore.add_argument("--no-browser", action="store_true", help="only print the address")


def _report(parsed: argparse.Namespace) -> Said:
    from ..report import write_report

    output: Path = parsed.output or parsed.file.with_suffix(".html")
    check_free(output, parsed)
    write_report(opened(parsed), output, title=parsed.title or parsed.file.stem)
    size = output.stat().st_size
    return Said(
        f"{output}: {size / 1e6:.1f} MB, opens in any browser",
        {"output": str(output), "bytes": size},
    )


def _explore(parsed: argparse.Namespace) -> None:
    import webbrowser

    from ..report import explore

    idle = None if parsed.idle is None else 60 * parsed.idle
    server = explore(opened(parsed), title=parsed.file.stem, port=parsed.port, idle=idle)
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    if parsed.json:
        print(json.dumps({"address": address}), flush=True)
    print(f"{address} shows {parsed.file}; Ctrl-C ends it", file=sys.stderr, flush=True)
    if not parsed.no_browser:
        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()
