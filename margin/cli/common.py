"""Helpers that all commands share: options and what they print."""

import argparse
import difflib
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import margin

from .._secrecy import masked
from ..errors import FileError
from .arguments.categories import recoded
from .printing import Said, painted, printed

if TYPE_CHECKING:
    from ..privacy.budget import Budget
    from ..synopses.source import Source

__all__ = [
    "Parser",
    "Said",
    "add_command",
    "add_domain",
    "add_group",
    "add_spreadsheet",
    "add_synopsis",
    "budget_values",
    "did_you_mean",
    "explained",
    "explained_all",
    "left_out",
    "measured_views",
    "opened",
    "painted",
    "printable",
    "reconstructed_hint",
    "spent_of",
    "split_names",
    "titled",
]

_UNKNOWN = "The error of a number without bounds is not known."


INTERRUPTED = 130
"""The exit code of a command that Ctrl-C or SIGTERM ended."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line.

    Attributes
    ----------
    options
        The options of the command that is parsed.
    chosen
        The words of this command, such as "margin plan"; empty before they are known.
    """

    options: Collection[str] = ()
    chosen: str = ""

    def print_help(self, file: Any = None) -> None:
        """Print the help to stdout; exit with code 2 if that is not possible."""
        text = self.format_help().rstrip("\n")
        code = printed(Said(text, None), text)
        if code:
            self.exit(code)

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with code 2."""
        start = painted("margin:", "bad", sys.stderr)
        more = re.fullmatch("unrecognized arguments: (.*)", message)
        if more and _are_tables(more[1].split()):
            message = (
                "one table is expected, but more files are named; quote a pattern, as in "
                "'clicks/*.parquet', so that the shell passes it on, or name the folder"
            )
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            known = re.findall("[A-Za-z0-9_.-]+", choice[2])
            if choice[1] in ("help", "version") and "COMMAND" in message:
                message += f" (did you mean '--{choice[1]}'?)"
            else:
                message += did_you_mean(choice[1], known)
        self.exit(2, f"{start} {masked(message)}; see {self.chosen or self.prog} --help\n")


def _are_tables(words: Sequence[str]) -> bool:
    """Whether all words end like the names of data files."""
    from ..data.files import SUFFIXES  # here, so that the command line starts without numpy

    return all(word.lower().endswith(SUFFIXES) for word in words)


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], Said | None],
    *,
    does: str,
    examples: Sequence[str],
) -> argparse.ArgumentParser:
    """Add a command, with the options that all commands have.

    Parameters
    ----------
    commands
        The result of `add_subparsers` or `add_group`.
    name
        The name of the command.
    run
        The function that runs the command with the parsed arguments.
    does
        One line that says what the command does, for the help text.
    examples
        Complete command lines, for the help text.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="print the result as JSON",
    )
    command.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )
    command.set_defaults(command=run)
    return command


def add_group(
    commands: Any,
    name: str,
    does: str,
) -> Any:
    """Add a group of commands, such as `ledger`. The result is the first argument of
    `add_command`."""
    group = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
    )
    return group.add_subparsers(
        required=True,
        metavar="COMMAND",
    )


def add_domain(parser: argparse.ArgumentParser) -> None:
    """Add the option --domain, for the file of the declared domain."""
    parser.add_argument(
        "--domain",
        type=Path,
        required=True,
        metavar="DOMAIN.json",
        help="a JSON file that declares the attributes and their values; a bin [a, b) holds a and "
        "not b, and the last bin holds both",
    )


def add_synopsis(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the .margin file that a command reads."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin",
        help="the .margin file to read",
    )
    parser.add_argument(
        "--allow-simulation",
        action="store_true",
        help="also read the file of a simulation, which is not private",
    )


def add_spreadsheet(parser: argparse.ArgumentParser) -> None:
    """Add --spreadsheet: CSV is then for spreadsheets; see `for_spreadsheet`."""
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="in CSV, put ' before each text that a spreadsheet would run as a formula "
        "(a text that begins with = + - or @), and begin with the mark by which it reads UTF-8",
    )


def opened(parsed: argparse.Namespace) -> "margin.Synopsis":
    """Load the synopsis of the .margin file that the command reads, with the categories of
    --categories.

    Raises
    ------
    FileError
        If the file cannot be read; or if it stands behind the attributes or conditions.
    """
    # While a shell completes a line, these are None.
    behind = getattr(parsed, "attributes", None) or getattr(parsed, "conditions", None) or ()
    releases = [word for word in behind if str(word).endswith(".margin")]
    if releases and parsed.file.suffix != ".margin" and not parsed.file.exists():
        raise FileError(
            f"the .margin file must stand first, but {str(parsed.file)!r} does; write "
            f"{releases[0]} before all other words"
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        loaded = margin.load(parsed.file, allow_simulation=parsed.allow_simulation)
    # A warning of Python would come with a line of our code.
    for warning in told:
        print(f"margin: {warning.message}", file=sys.stderr)
    synopsis = loaded if isinstance(loaded, margin.Synopsis) else loaded.synopsis
    return recoded(synopsis, parsed)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest a known name for a misspelt one, such as " (did you mean 'Auto'?)"; empty if no known
    name is similar. Upper and lower case make no difference."""
    by_lower = {other.lower(): other for other in known}
    similar = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean {by_lower[similar[0]]!r}?)" if similar else ""


def split_names(given: Iterable[str], known: Collection[str] = ()) -> list[str]:
    """Names that are written with commas, with blanks between arguments, or both.

    A known name that holds a comma stays whole.

    >>> split_names(["age,sex", "region"])
    ['age', 'sex', 'region']
    """
    names = []
    for word in given:
        parts = [word] if word in known else word.split(",")
        names += [part for part in parts if part in known or part.strip()]
    return names


def printable(text: object) -> str:
    """Replace control characters in a text, since they could manipulate a terminal.

    Names and categories come from files, and a file may come from a stranger.
    """
    unprintable = "\N{REPLACEMENT CHARACTER}"
    letters = [letter if letter.isprintable() else unprintable for letter in str(text)]
    return "".join(letters)


def explained(
    synopsis: "margin.Synopsis",
    source: "Source",
    *,
    has_bounds: bool,
) -> str:
    """How an answer was made, what its bounds mean and which rows it leaves out, in lines for a
    terminal."""
    return "\n".join(explained_all(synopsis, [(source, has_bounds)]))


def explained_all(
    synopsis: "margin.Synopsis",
    ways: "Iterable[tuple[Source, bool]]",
) -> list[str]:
    """What `explained` says of answers that were made in several ways, each paragraph once.

    Parameters
    ----------
    ways
        How answers were made, and whether they have bounds.
    """
    limits = left_out(synopsis)
    provenance = synopsis.provenance
    base = None if provenance is None else provenance.base
    stated = "" if provenance is None else provenance.statement.none_left_out
    meanings = [
        source.told(some_left_out=bool(limits), base=base) if has_bounds else _UNKNOWN
        for source, has_bounds in ways
    ]
    texts = filter(None, dict.fromkeys([*meanings, limits, stated]))
    return [textwrap.fill(text, 88) for text in texts]


def reconstructed_hint(sources: "Mapping[Source, int]") -> str:
    """What a publisher can do about reconstructed tables, as a line below what was written; empty
    if there are none.

    Parameters
    ----------
    sources
        The number of tables by how they were made.
    """
    from ..synopses.source import Source

    if not sources.get(Source.RECONSTRUCTED):
        return ""
    return (
        "\nReconstructed tables are estimates from smaller tables, and groups in them must not be "
        "compared. For the next release, name the tables that matter with --workload, and to have "
        "each of them measured also with --mechanism PriView --views. To publish chosen tables "
        "only, use margin publish --tables"
    )


def budget_values(budget: "Budget", guarantee: str | None = None) -> dict[str, Any]:
    """A budget as JSON values, the same for all commands: the neighbours in the words of its
    guarantee, that of `Statement.guarantee` if there is a statement, and the rows of a person as a
    number."""
    neighbours = (guarantee or budget.describe()).partition("neighbours: ")[2]
    return {
        **budget.to_json(),
        "neighbours": neighbours,
        "rows_per_person": budget.rows_per_person,
    }


def spent_of(synopsis: "margin.Synopsis") -> dict[str, Any]:
    """The budget of a release as JSON values; see `budget_values`."""
    assert synopsis.provenance is not None
    statement = synopsis.provenance.statement
    return budget_values(statement.budget, statement.guarantee)


def measured_views(synopsis: "margin.Synopsis") -> list[list[str]] | None:
    """The attributes of each measured view; None for a release of another form."""
    from ..synopses import ViewSynopsis

    if not isinstance(synopsis, ViewSynopsis):
        return None
    return [list(names) for names in synopsis.names]


def left_out(synopsis: "margin.Synopsis") -> str:
    """What readers must know of rows that a release did not count; empty if it counted all."""
    return "" if synopsis.provenance is None else synopsis.provenance.statement.left_out


def titled(lines: dict[str, str]) -> str:
    """Format texts with their titles in a left column. A text may have several lines."""
    output = []
    for title, text in lines.items():
        first, *others = text.split("\n")
        output.append(f"{title:<12}{printable(first)}")
        output += [f"{'':<12}{printable(line)}" for line in others]
    return "\n".join(output)
