"""What all commands have in common: how they are declared, what they say, which files they read and
write."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

import margin

from .._replace import replacing, tried
from ..data.secrecy import masked
from ..errors import FileError

__all__ = [
    "Parser",
    "Said",
    "add_command",
    "add_force",
    "add_group",
    "add_spreadsheet",
    "add_synopsis",
    "check_free",
    "check_picture",
    "draw",
    "for_spreadsheet",
    "opened",
    "painted",
    "printable",
    "titled",
]


class Said(NamedTuple):
    """What a command says: a text for people, and the same as JSON values for programs."""

    text: str
    values: Any


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(
            2,
            f"{painted('margin:', 'bad', sys.stderr)} {masked(message)}; see {self.prog} --help\n",
        )


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], Said | None],
    *,
    does: str,
    examples: Sequence[str],
) -> argparse.ArgumentParser:
    """Add a command to the parsers of a command line, with what all commands have.

    Parameters
    ----------
    commands
        What `add_subparsers` returned.
    name
        Of the command.
    run
        Runs it.
    does
        What it does, in a line.
    examples
        Whole command lines.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--json", action="store_true", help="print JSON, for programs")
    command.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )
    command.set_defaults(command=run)
    return command


def add_group(commands: Any, name: str, does: str) -> Any:
    """Add a name under which commands stand, such as `ledger`; returns what `add_command` takes."""
    group = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
    return group.add_subparsers(required=True, metavar="COMMAND")


def add_synopsis(parser: argparse.ArgumentParser) -> None:
    """Add the .margin file that a command reads."""
    parser.add_argument("file", type=Path, metavar="OUT.margin")
    parser.add_argument(
        "--allow-simulation", action="store_true", help="also of a simulation, which is not private"
    )


def add_spreadsheet(parser: argparse.ArgumentParser) -> None:
    """Add --spreadsheet, which changes what `for_spreadsheet` changes."""
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="in CSV, put ' before texts that a spreadsheet would run as formulae (those that begin with = + - @)",
    )


def for_spreadsheet(label: Any) -> Any:
    """A label that no spreadsheet runs as a formula: one that could be gets a quotation mark in
    front.

    Texts only: a number is no formula. What begins one is as OWASP lists it ("CSV injection").
    """
    text = label.lstrip(" ") if isinstance(label, str) else ""
    return f"'{label}" if text.startswith(_FORMULAE) else label


def opened(parsed: argparse.Namespace) -> "margin.Synopsis":
    """The synopsis that was named."""
    loaded = margin.load(parsed.file, allow_simulation=parsed.allow_simulation)
    return loaded if isinstance(loaded, margin.Synopsis) else loaded.synopsis


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add --force, without which no file is replaced."""
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")


def check_free(path: Path, parsed: argparse.Namespace) -> None:
    """Refuse, before anything is done, a place that cannot be written, or holds a file that may not
    be replaced.

    Raises
    ------
    FileError
        In either case.
    """
    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise FileError(f"{str(path)!r} cannot be written: {why}")
    if path.exists() and not parsed.force:
        raise FileError(
            f"{str(path)!r} is there already: choose another name, or add --force to replace it"
        )
    try:
        tried(path)
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def check_picture(path: Path, parsed: argparse.Namespace) -> None:
    """`check_free`, for a picture: its ending says of which kind.

    Raises
    ------
    FileError
        When the ending says nothing, too.
    """
    if path.suffix not in _PICTURES:
        raise FileError(f"{str(path)!r} must end in {', '.join(_PICTURES[:-1])} or {_PICTURES[-1]}")
    check_free(path, parsed)


def draw(figure: Any, path: Path) -> None:
    """Save a matplotlib figure.

    Raises
    ------
    FileError
        When it cannot be written.
    """
    with replacing(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix.removeprefix("."))


_FORMULAE = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_PICTURES = (".png", ".svg", ".pdf")
_STYLES = {"bold": "1", "bad": "1;31", "beware": "33"}


def painted(text: str, style: str, stream: TextIO) -> str:
    """A text in colour if it goes to a terminal, and neither NO_COLOR nor a plain terminal speaks
    against it."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def printable(text: object) -> str:
    """A text without what could steer a terminal: names and categories come from files, perhaps of
    strangers."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text)
    )


def titled(lines: dict[str, str]) -> str:
    """Texts with their titles in a column in front; a text may have several lines."""
    return "\n".join(
        f"{'' if place else title:<12}{printable(line)}"
        for title, text in lines.items()
        for place, line in enumerate(text.split("\n"))
    )
