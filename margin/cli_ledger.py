"""The command line of ledgers: margin ledger create | show | verify | check."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._numbers import text
from .budget import Budget
from .errors import FileError, MarginError
from .ledger import Dataset, Ledger, Token
from .store import load

__all__ = ["add_commands", "charged"]


def add_commands(
    commands: Any, add_budget: Callable[[argparse.ArgumentParser], None], budget: Callable[[argparse.Namespace], Budget]
) -> None:
    """Add `ledger` to the commands; `add_budget` adds the options of which `budget` makes a budget."""
    ledger = commands.add_parser("ledger", help="keep what has been spent on data sets")
    actions = ledger.add_subparsers(required=True, metavar="COMMAND")

    create = actions.add_parser("create", help="register a data set, in a new ledger or one that is there")
    create.add_argument("ledger", type=Path)
    create.add_argument("--name", required=True, help="of the data set")
    add_budget(create)
    create.set_defaults(command=lambda parsed: _create(parsed, budget(parsed)))

    for name, command, help_text in (
        ("show", _show, "what has been spent and what remains"),
        ("verify", _verify, "check that no entry has been changed"),
        ("check", _check, "compare with releases: finds an old copy put back"),
    ):
        action = actions.add_parser(name, help=help_text)
        action.add_argument("ledger", type=Path)
        action.set_defaults(command=command)
    action.add_argument("--releases", type=Path, required=True, metavar="DIR", help="folder of .margin files")


def charged(ledger: Path | None, dataset: str | None) -> Dataset | None:
    """The data set that the options --ledger and --dataset name, if they do."""
    if (ledger is None) != (dataset is None):
        raise MarginError("give --ledger and --dataset together")
    return None if ledger is None or dataset is None else Ledger(ledger).dataset(dataset)


def _create(parsed: argparse.Namespace, budget: Budget) -> str:
    Ledger(parsed.ledger).register(parsed.name, budget)
    return f"{parsed.ledger}: {parsed.name}: {budget.describe()}"


def _show(parsed: argparse.Namespace) -> str:
    ledger = Ledger(parsed.ledger)
    return "\n".join(
        f"{name}: {text(ledger.spent(name))} spent, {text(ledger.remaining(name))} remain; "
        f"{ledger.budget(name).describe()}"
        for name in ledger.datasets()
    )


def _verify(parsed: argparse.Namespace) -> str:
    return f"{parsed.ledger}: sound, {Ledger(parsed.ledger).verify()} charges"


def _check(parsed: argparse.Namespace) -> str:
    if not parsed.releases.is_dir():
        raise FileError(f"{str(parsed.releases)!r} is not a folder")
    tokens: dict[str, Token | None] = {}
    problems = []
    for path in sorted(parsed.releases.rglob("*.margin")):
        try:
            provenance = load(path).provenance
        except FileError as error:
            problems.append(str(error))
            continue
        tokens[str(path)] = None if provenance is None else provenance.token
    problems += Ledger(parsed.ledger).check(tokens)
    if problems:
        raise FileError("\n".join(problems))
    return f"{parsed.ledger}: {len(tokens)} release{'s' if len(tokens) != 1 else ''}, each with a charge of its own"
