"""The entry point of the command line. The other files of this folder define the commands."""

import argparse
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .._ending import begun
from .._secrecy import masked
from .._version import __version__, installed_commit
from ..errors import BudgetSpentError, MarginError, TryAgainError, fates_of
from ..interrupts import handlers_kept, watched
from ..interrupts.progress import progress
from ..interrupts.shortage import shortage
from . import compare as cli_compare
from . import domain as cli_domain
from . import ledger as cli_ledger
from . import plan as cli_plan
from . import publish as cli_publish
from . import read as cli_read
from . import records as cli_records
from . import release as cli_release
from . import report as cli_report
from . import sign as cli_sign
from .arguments.words import in_words_of_the_command
from .bench import commands as cli_bench
from .common import (
    INTERRUPTED,
    Parser,
    Said,
    add_command,
    did_you_mean,
    painted,
)
from .counts import count as cli_count
from .outputs import add_force, check_release_file, numbered
from .printing import printed

__all__ = ["command", "main"]

_SUCCESS, _INTERNAL_ERROR, _USER_ERROR, _BUDGET_SPENT, _BUDGET_LOST = 0, 1, 2, 3, 4

_TRY_AGAIN = 75
"""The exit code for what another program does at this moment: EX_TEMPFAIL of sysexits.h."""

_SEVERAL = ("+", "*")
"""The `nargs` of options that take several values."""

_NOTHING = "nothing has been charged"
_BEFORE = f"interrupted before the command began; {_NOTHING}"

_ELSEWHERE = {
    ("margin release", "--seed"): "the noise of a release comes from the operating system, so that "
    "nobody can repeat it; for experiments use margin.simulate(..., seed=0) in Python",
    ("margin plan", "--views"): "views belong to a mechanism; name those of your own in a release, "
    "as in margin release ... --mechanism PriView --views 2way",
    ("margin plan", "--unit"): "a plan reads no table; use --rows-per-person here",
    **{
        (f"margin {command}", "--ways"): "name the sizes of views as in --workload 2way"
        for command in ("release", "plan", "compare")
    },
}
"""Options that a command does not have on purpose, with what to do instead."""

_DEMO = Path("demo.margin")

_COMPLETION = {
    "bash": 'eval "$(margin completion bash)"   # add this line to ~/.bashrc',
    "zsh": 'eval "$(margin completion zsh)"    # add this line to ~/.zshrc',
    "fish": "margin completion fish | source     # add this line to ~/.config/fish/config.fish",
}
"""The lines that switch on completion, by shell."""

_DESCRIPTION = """\
Differentially private release of marginals: counts of all combinations of the values of some
attributes, with a privacy guarantee.
"""

_EPILOG = """\
first steps:
  margin demo                        release a generated table, compare answers with the truth
  margin domain suggest people.csv   draft the file that declares the attributes of your table
  margin domain check people.csv domain.json     list what does not fit, before a release
  margin COMMAND --help              show the options of a command, and examples

exit codes:
  0 success
  1 internal error
  2 user error, which the message explains
  3 the ledger refuses the release, since too little of the budget is left
  4 the release failed after its budget was spent; there is no file
  75 another program uses the ledger, the table or the output, or a database server is away; nothing
     was charged: try again later
  130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command in a program that goes on, and return its exit code; see `command`."""
    with handlers_kept():
        return command(arguments)


def command(arguments: Sequence[str] | None = None) -> int:
    """Run one command in a process of its own, and return its exit code.

    The exit code is 0 for success, 1 for an internal error, 2 for a user error that the message
    explains, 3 for a release that costs more than what is left in the ledger, 4 for a release that
    failed after its budget was spent, 75 for a `TryAgainError`, and 130 for an interrupt. Before
    the command begins, an interrupt is the exception KeyboardInterrupt. Once the command has
    written its result, signals are ignored, also after this function has returned: a scheduler must
    not take a complete release for a failed one.
    """
    try:
        with watched(ends=True, text=_BEFORE):
            parser, parsed = _parsed(arguments)
    except Exception as error:  # such as no thread for the watch
        code, problem = _explained(error)
        return _told(code, f"{problem}; {_NOTHING}")
    try:
        with watched(ends=True) as watch:
            begun()
            code = _run(parsed)
            watch.complete()
            return code
    except (Exception, KeyboardInterrupt) as error:
        if parsed.debug:
            print(
                masked(traceback.format_exc()),
                end="",
                file=sys.stderr,
            )
        code, problem = _explained(error)
        problem = in_words_of_the_command(problem, parser.options)
    return _told(code, problem)


def _told(code: int, problem: str) -> int:
    """Print why a command failed; the result is its exit code."""
    print(painted("margin:", "bad", sys.stderr), problem, file=sys.stderr)
    return code


def _parsed(arguments: Sequence[str] | None) -> tuple[Parser, argparse.Namespace]:
    """The parser of all commands, and the arguments that it reads; those of the process if None."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    given = sys.argv[1:] if arguments is None else arguments
    return parser, parser.parse_args(_ordered(given, parser))


def _run(parsed: argparse.Namespace) -> int:
    """Run a command, and print its output; the result is its exit code."""
    with progress():
        said: Said | None = parsed.command(parsed)
    if said is None:
        return _SUCCESS
    return printed(said, _as_json(said.values) if parsed.json else said.text)


def _as_json(values: Any) -> str:
    """Values as JSON. Letters that stdout cannot encode are escaped as JSON escapes them."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    return json.dumps(
        _finite(values),
        indent=1,
        ensure_ascii=not is_unicode,
        allow_nan=False,
    )


def _finite(values: Any) -> Any:
    """Values with null in place of numbers that JSON does not have: NaN and infinities."""
    if isinstance(values, Mapping):
        return {name: _finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]
    is_lacking = isinstance(values, float) and not math.isfinite(values)
    return None if is_lacking else values


def _ordered(arguments: Sequence[str], whole: Parser) -> list[str]:
    """The arguments of a command with its options, and their values, at the end.

    argparse gives all positional arguments to the first place where some of them stand. Without
    this, an option between them would end the list.
    """
    words = list(arguments)
    if "--" in words:
        return words
    # Find the command, which may have two words.
    parser: argparse.ArgumentParser = whole
    start = 0
    while start < len(words):
        inner = _inner(parser, words[start])
        if inner is not None:
            parser = inner
        elif words[start].startswith("-"):
            _check_known(parser, words[start])
        else:
            break
        start += 1
    whole.options = list(parser._option_string_actions)
    whole.chosen = parser.prog
    positional: list[str] = []
    options: list[str] = []
    # An option of several values that is given again adds to them.
    lists: dict[str, list[str]] = {}
    rest = words[start:]
    while rest:
        word = rest.pop(0)
        if not _is_option(word):
            positional.append(word)
            continue
        _check_known(parser, word)
        name, equals, value = word.partition("=")
        option = _option(parser, name)
        taken = 0 if equals or option is None else _taken(option, rest)
        values = rest[:taken]
        del rest[:taken]
        if option is not None and option.nargs in _SEVERAL:
            first = option.option_strings[0]
            lists.setdefault(first, []).extend([value] if equals else values)
        else:
            options += [word, *values]
    for first, values in lists.items():
        options += [first, *values]
    return words[:start] + positional + options


def _inner(parser: argparse.ArgumentParser, word: str) -> argparse.ArgumentParser | None:
    """The parser of a command of a parser; None if there is no such command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: argparse.ArgumentParser | None = action.choices.get(word)
            return found
    return None


def _is_option(word: str) -> bool:
    return re.fullmatch("-[A-Za-z].*|--[A-Za-z].*", word) is not None


def _check_known(parser: argparse.ArgumentParser, word: str) -> None:
    """Refuse an unknown option. argparse would first name the options that are missing, such as
    the one that is misspelt."""
    name = word.partition("=")[0]
    known = parser._option_string_actions
    if name.startswith("--") and not any(own.startswith(name) for own in known):
        elsewhere = _ELSEWHERE.get((parser.prog, name))
        if elsewhere is not None:
            parser.error(f"there is no option {name}: {elsewhere}")
        parser.error(f"there is no option {name}{did_you_mean(name, known)}")


def _option(parser: argparse.ArgumentParser, name: str) -> argparse.Action | None:
    """The option with a name, or with a name that begins like this; None if there is not just one.
    argparse reports the others."""
    known = parser._option_string_actions
    if name in known:
        return known[name]
    found = {id(known[other]): known[other] for other in known if other.startswith(name)}
    return next(iter(found.values())) if len(found) == 1 else None


def _taken(option: argparse.Action, rest: Sequence[str]) -> int:
    """The number of the next words that are values of an option."""
    if option.nargs is None:
        return 1
    if isinstance(option.nargs, int):
        return option.nargs
    if option.nargs == "?":
        return int(bool(rest) and not _is_option(rest[0]))
    return next((at for at, word in enumerate(rest) if _is_option(word)), len(rest))


def _explained(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and its message for the user."""
    if isinstance(error, BudgetSpentError):
        return _BUDGET_SPENT, masked(str(error))
    if isinstance(error, MarginError):
        code = _TRY_AGAIN if isinstance(error, TryAgainError) else _USER_ERROR
        code = _BUDGET_LOST if error.budget_is_lost else code
        ends: list[str] = [*fates_of(error)]
        # A scheduler starts the command again after this code, so its log must say why it may.
        if code == _TRY_AGAIN and not ends:
            ends = [_NOTHING]
        return code, "; ".join([masked(str(error)), *ends])
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, str(error) or "interrupted"
    fates = fates_of(error)
    is_lost = any(fate.budget_is_lost for fate in fates)
    lacking = shortage(error)
    if lacking is not None:
        code = _BUDGET_LOST if is_lost else _USER_ERROR
        return code, "; ".join([lacking.text, *fates])
    # The text of any other error may quote the data. It is shown only on request.
    code = _BUDGET_LOST if is_lost else _INTERNAL_ERROR
    told = "; ".join([f"internal error ({type(error).__name__})", *fates])
    return code, f"{told}; --debug shows the error, which may quote the data"


class _Version(argparse.Action):
    """Prints the version, and the commit of the installation if it is known, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        commit = installed_commit()
        version = f"margin {__version__}" + (f", commit {commit}" if commit else "")
        parser.exit(printed(Said(version, None), version))


def _parser() -> Parser:
    parser = Parser(
        prog="margin",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the version, and the commit if it is known, and exit",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="show the traceback of an error; it may quote the data",
    )
    commands = parser.add_subparsers(
        required=True,
        metavar="COMMAND",
    )
    _add_demo(commands)
    cli_domain.add_commands(commands)
    cli_release.add_commands(commands)
    cli_read.add_commands(commands)
    cli_count.add_commands(commands)
    cli_report.add_commands(commands)
    cli_publish.add_commands(commands)
    cli_records.add_commands(commands)
    cli_plan.add_commands(commands)
    cli_compare.add_commands(commands)
    cli_bench.add_commands(commands)
    cli_ledger.add_commands(commands)
    cli_sign.add_commands(commands)
    _add_completion(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = add_command(
        commands,
        "demo",
        _demo,
        does="release a generated table and compare some answers with the truth",
        examples=["margin demo", "margin demo --epsilon 0.1 -o small.margin"],
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.margin",
        help="the file to write; default: demo.margin, or demo-2.margin if it exists, and so on",
    )
    demo.add_argument(
        "--epsilon",
        default="1",
        metavar="E",
        help="the epsilon of pure differential privacy; default: 1",
    )
    add_force(demo)


def _add_completion(commands: Any) -> None:
    completion = add_command(
        commands,
        "completion",
        _completion,
        does="print the script that lets a shell complete commands, options and attributes",
        examples=list(_COMPLETION.values()),
    )
    completion.add_argument(
        "shell",
        choices=list(_COMPLETION),
        help="the shell",
    )


def _demo(parsed: argparse.Namespace) -> Said:
    from .demo import demo

    output = parsed.output or next(path for path in numbered(_DEMO) if not path.exists())
    check_release_file(output, parsed)
    return demo(output, parsed.epsilon)


def _completion(parsed: argparse.Namespace) -> Said:
    from argcomplete.shell_integration import shellcode

    script = shellcode(["margin"], shell=parsed.shell)
    return Said(script, {"shell": parsed.shell, "script": script})
