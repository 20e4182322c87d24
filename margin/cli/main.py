"""The command line. Commands and their options are in files beside this one, cli_*.py; here they
are put together."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..data.secrecy import masked
from ..errors import MarginError
from . import compare as cli_compare
from . import ledger as cli_ledger
from . import plan as cli_plan
from . import read as cli_read
from . import records as cli_records
from . import release as cli_release
from . import report as cli_report
from . import sign as cli_sign
from .common import Parser, Said, add_command, add_force, check_free, painted
from .progress import shown

__all__ = ["main"]

_DONE, _UNFORESEEN, _MISTAKE, _INTERRUPTED = 0, 1, 2, 130

_COMPLETION = {
    "bash": 'eval "$(margin completion bash)"   # in ~/.bashrc, for every shell to come',
    "zsh": 'eval "$(margin completion zsh)"    # in ~/.zshrc',
    "fish": "margin completion fish | source     # in ~/.config/fish/config.fish",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0: done; 1: an unforeseen failure; 2: a mistake that the message explains; 130: interrupted.
    """
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    parsed = parser.parse_args(arguments)
    try:
        with shown():
            said: Said | None = parsed.command(parsed)
        if said is not None:
            print(
                json.dumps(said.values, indent=1, ensure_ascii=False) if parsed.json else said.text,
                flush=True,
            )
        return _DONE
    except BrokenPipeError:
        # Who reads has had enough. Nothing is left to be written when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _DONE
    except (Exception, KeyboardInterrupt) as error:
        if parsed.debug:
            print(masked(traceback.format_exc()), end="", file=sys.stderr)
        code, problem = _explained(error)
    print(painted("margin:", "bad", sys.stderr), problem, file=sys.stderr)
    return code


def _explained(error: BaseException) -> tuple[int, str]:
    """An exit code, and a line that says what went wrong and what to do."""
    if isinstance(error, MarginError):
        return _MISTAKE, masked(str(error))
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED, str(error) or "interrupted"
    # The text of an unforeseen error may quote the data, so it is not shown unless asked for.
    return _UNFORESEEN, f"internal error ({type(error).__name__}); run again with --debug to see it"


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="margin",
        description="Differentially private release of marginals: counts by any set of attributes, with a guarantee.",
        epilog="start with:\n"
        "  margin demo                          a made-up table, released, and its answers beside the truth\n"
        "  margin domain suggest people.csv     draft the file that declares what your table may hold\n"
        "  margin COMMAND --help                options of a command, and examples\n\n"
        "exit codes: 0 done, 1 unforeseen failure, 2 mistake that the message explains, 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"margin {__version__}")
    parser.add_argument(
        "--debug",
        action="store_true",
        help="show the traceback of an error, which may quote the data",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = add_command(
        commands,
        "demo",
        _demo,
        does="release a made-up table and show answers beside the truth",
        examples=["margin demo", "margin demo --epsilon 0.1 -o small.margin"],
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.margin",
        help="default: demo.margin, or demo-2.margin",
    )
    demo.add_argument("--epsilon", default="1", metavar="E", help="default: 1")
    add_force(demo)

    cli_release.add_commands(commands)
    cli_read.add_commands(commands)
    cli_report.add_commands(commands)
    cli_records.add_commands(commands)
    cli_plan.add_commands(commands)
    cli_compare.add_commands(commands)
    cli_ledger.add_commands(commands)
    cli_sign.add_commands(commands)

    completion = add_command(
        commands,
        "completion",
        _completion,
        does="print what makes a shell complete commands, options and attributes",
        examples=list(_COMPLETION.values()),
    )
    completion.add_argument("shell", choices=list(_COMPLETION))
    return parser


def _demo(parsed: argparse.Namespace) -> Said:
    from .demo import demo

    output = parsed.output or _unused("demo")
    check_free(output, parsed)
    return demo(output, parsed.epsilon)


def _unused(stem: str) -> Path:
    """The first of stem.margin, stem-2.margin, ... that is not there."""
    path, number = Path(f"{stem}.margin"), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}-{number}.margin")
    return path


def _completion(parsed: argparse.Namespace) -> Said:
    from argcomplete.shell_integration import shellcode

    script = shellcode(["margin"], shell=parsed.shell)
    return Said(script, {"shell": parsed.shell, "script": script})
