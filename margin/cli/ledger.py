"""The command line of ledgers: margin ledger create | show | verify | check."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from ..errors import FileError, MarginError
from .budget import add_budget, add_unit, budget_of
from .common import Said, add_command, add_group, printable

if TYPE_CHECKING:
    from ..privacy.ledger import Dataset, Token
    from ..privacy.statement import Statement

__all__ = ["add_commands", "charged"]


def add_commands(commands: Any) -> None:
    """Add `ledger` to the parsers of a command line."""
    ledger = add_group(commands, "ledger", "keep what has been spent on data sets")
    create = add_command(
        ledger,
        "create",
        _create,
        does="register a data set, in a new ledger or one that is there",
        examples=[
            "margin ledger create agency.db --name people --epsilon 3",
            "margin ledger create agency.db --name visits --epsilon 3 --unit person_id --max-rows 5",
        ],
    )
    show = add_command(
        ledger,
        "show",
        _show,
        does="say what has been spent and what remains",
        examples=["margin ledger show agency.db", "margin ledger show agency.db --json"],
    )
    verify = add_command(
        ledger,
        "verify",
        _verify,
        does="check that no entry has been changed",
        examples=["margin ledger verify agency.db"],
    )
    check = add_command(
        ledger,
        "check",
        _check,
        does="compare with releases; finds an old copy of the ledger put back",
        examples=["margin ledger check agency.db --releases releases"],
    )
    for command in (create, show, verify, check):
        command.add_argument("ledger", type=Path, metavar="LEDGER.db")
    create.add_argument("--name", required=True, help="of the data set")
    add_budget(create)
    add_unit(create)
    check.add_argument(
        "--releases", type=Path, required=True, metavar="DIR", help="folder of .margin files"
    )


def charged(ledger: Path | None, dataset: str | None) -> "Dataset | None":
    """The data set that the options --ledger and --dataset name, if they do."""
    if (ledger is None) != (dataset is None):
        raise MarginError("give --ledger and --dataset together")
    return None if ledger is None or dataset is None else margin.Ledger(ledger).dataset(dataset)


def _create(parsed: argparse.Namespace) -> Said:
    ledger = margin.Ledger(parsed.ledger)
    ledger.register(parsed.name, budget_of(parsed), unit=parsed.unit, max_rows=parsed.max_rows)
    dataset = ledger.dataset(parsed.name).name
    statement = ledger.statement(dataset)
    values = {
        "ledger": str(parsed.ledger),
        "dataset": dataset,
        "budget": statement.budget.to_json(),
        "statement": statement.to_json(),
    }
    said = (
        f"{parsed.ledger}: {dataset}: {statement.budget.describe()}; protects {statement.protects}"
    )
    return Said(printable(said), values)


def _show(parsed: argparse.Namespace) -> Said:
    from .._numbers import text

    ledger = margin.Ledger(parsed.ledger)
    datasets, lines = [], []
    for name in ledger.datasets():
        statement = ledger.statement(name)
        spent, remaining = text(ledger.spent(name)), text(ledger.remaining(name))
        whole = f"{statement.budget.describe()}; protects {statement.protects}"
        lines.append(printable(f"{name}: {spent} spent, {remaining} remain; {whole}"))
        datasets.append(
            {
                "dataset": name,
                "spent": spent,
                "remaining": remaining,
                "budget": statement.budget.to_json(),
                "statement": statement.to_json(),
                "charges": [charge.to_json() for charge in ledger.charges(name)],
            }
        )
    return Said("\n".join(lines), {"ledger": str(parsed.ledger), "datasets": datasets})


def _verify(parsed: argparse.Namespace) -> Said:
    charges = margin.Ledger(parsed.ledger).verify()
    return Said(
        f"{parsed.ledger}: sound, {charges} charges",
        {"ledger": str(parsed.ledger), "charges": charges},
    )


def _check(parsed: argparse.Namespace) -> Said:
    if not parsed.releases.is_dir():
        raise FileError(f"{str(parsed.releases)!r} is not a folder")
    tokens: dict[str, Token | None] = {}
    statements: dict[str, Statement] = {}
    problems = []
    for path in sorted(parsed.releases.rglob("*.margin")):
        try:
            provenance = margin.load(path).provenance
        except FileError as error:
            problems.append(str(error))
            continue
        assert provenance is not None
        tokens[str(path)], statements[str(path)] = provenance.token, provenance.statement
    problems += margin.Ledger(parsed.ledger).check(tokens, statements=statements)
    if problems:
        raise FileError("\n".join(problems))
    return Said(
        f"{parsed.ledger}: {len(tokens)} release{'s' if len(tokens) != 1 else ''}, each with a charge of its own",
        {"ledger": str(parsed.ledger), "releases": list(tokens)},
    )
