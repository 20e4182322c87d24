"""The commands `margin report` and `margin explore`."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from .errors import FileError
from .store import load
from .synopsis import Synopsis

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add both to the parsers of a command line."""
    report = commands.add_parser("report", help="write a page that shows a .margin file to anyone, without a network")
    report.add_argument("file", type=Path, metavar="OUT.margin")
    report.add_argument("-o", "--output", type=Path, help="default: OUT.html beside it")
    report.add_argument("--title", help="the heading; the file's name by default")
    _allow(report)
    report.set_defaults(command=_report)

    explore = commands.add_parser("explore", help="show a .margin file in the browser, every marginal answered live")
    explore.add_argument("file", type=Path, metavar="OUT.margin")
    explore.add_argument("--port", type=int, default=0, help="on this machine; a free one by default")
    explore.add_argument("--no-browser", action="store_true", help="only print the address")
    _allow(explore)
    explore.set_defaults(command=_explore)


def _allow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace the page that is there")
    parser.add_argument("--allow-simulation", action="store_true", help="show a simulation, which is not private")


def _loaded(parsed: argparse.Namespace) -> Synopsis:
    loaded = load(parsed.file, allow_simulation=parsed.allow_simulation)
    return loaded if isinstance(loaded, Synopsis) else loaded.synopsis


def _report(parsed: argparse.Namespace) -> str:
    from .report import write_report

    output = parsed.output or parsed.file.with_suffix(".html")
    if output.exists() and not parsed.force:
        raise FileError(f"{str(output)!r} exists already; choose another name or add --force")
    write_report(_loaded(parsed), output, title=parsed.title or parsed.file.stem)
    return f"{output}: {output.stat().st_size / 1e6:.1f} MB, opens in any browser"


def _explore(parsed: argparse.Namespace) -> str:
    import webbrowser

    from .report import explore

    server = explore(_loaded(parsed), title=parsed.file.stem, port=parsed.port)
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    print(f"{address} shows {parsed.file}; Ctrl-C ends it", file=sys.stderr, flush=True)
    if not parsed.no_browser:
        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()
    return ""
