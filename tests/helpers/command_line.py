"""All commands with their examples, and how a test runs them."""

import argparse
import importlib.util
import shlex

import pytest

from margin.cli.main import _parser, main


def leaves(parser, name=""):
    """The full name and the parser of every command."""
    actions = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    if not actions:
        yield name, parser
    for action in actions:
        for word, inner in action.choices.items():
            yield from leaves(inner, f"{name} {word}".strip())


COMMANDS = dict(leaves(_parser()))
EXAMPLES = {name: parser.epilog.splitlines()[1:] for name, parser in COMMANDS.items()}
SHELLS = ["bash", "zsh", "fish"]
HAS_KEYS = importlib.util.find_spec("cryptography") is not None
WITH_KEYS = ("keygen", "sign", "verify")
# The examples of `bench` solve many instances; test_cli_bench.py runs its commands on a small one.
QUICK = [name for name in EXAMPLES if name.split()[0] not in ("bench", "completion")]
RUN = {line.strip(): name for name in QUICK for line in EXAMPLES[name]}
RUN |= {f"margin completion {shell}": "completion" for shell in SHELLS}
LAST = {name: lines[-1].strip() for name, lines in EXAMPLES.items()}


def words(line):
    """The arguments of an example, with new names for the files that it writes."""
    command, *arguments = shlex.split(line.split(" > ")[0].split("  #")[0])
    assert command == "margin"
    if arguments[0] in WITH_KEYS and not HAS_KEYS:
        pytest.skip("cryptography is not installed")
    if arguments[:2] == ["ledger", "create"]:
        arguments[2] = "new.db"
    if arguments[0] == "keygen":
        arguments[1] = "new.key"
    if "-o" in arguments:
        place = arguments.index("-o") + 1
        arguments[place] = f"new-{arguments[place]}"
    return arguments


def run(capsys, arguments):
    try:
        code = main(arguments)
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    return code, out, err
