"""The commands `margin ledger create`, `add`, `show` and `verify`; `check` is in `receipts`."""

import argparse
import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from ..errors import MarginError
from .arguments.budget import add_budget, budget_of
from .common import Said, add_command, add_group, budget_values, printable
from .receipts import changed_domain, check_releases, numbered_entry, tell_if_open

if TYPE_CHECKING:
    from ..privacy.ledger import Charged, Dataset
    from ..privacy.statement import Statement
    from ..privacy.strength import Strength

__all__ = ["add_commands", "charged"]

_PARTS = (2, 3, 4, 5)
"""Numbers of equal releases for which `margin ledger show` divides what remains."""

_NUMBERS = "entries are numbered over the whole ledger; the registration of a data set is one, too"
"""Why the first charge that `margin ledger show` lists is not entry 1."""


def add_commands(commands: Any) -> None:
    """Add `margin ledger` and its commands to the parser of the command line."""
    ledger = add_group(commands, "ledger", "keep a record of the budget spent on each data set")
    create = add_command(
        ledger,
        "create",
        _create,
        does="register a data set and its budget; creates the ledger if it does not exist",
        examples=[
            "margin ledger create agency.db --dataset people --epsilon 3",
            "margin ledger create agency.db --dataset visits --epsilon 3 --unit person_id",
            "margin ledger create agency.db --dataset people --epsilon 3 --if-missing",
        ],
    )
    add = add_command(
        ledger,
        "add",
        _add,
        does="register a data set and its budget in a ledger that exists; never creates one",
        examples=[
            'margin ledger add agency.db --dataset "visits 2026-03" --epsilon 1 --if-missing',
        ],
    )
    show = add_command(
        ledger,
        "show",
        _show,
        does="print the spent and the remaining budget of each data set, and its charges",
        examples=["margin ledger show agency.db", "margin ledger show agency.db --json"],
    )
    verify = add_command(
        ledger,
        "verify",
        _verify,
        does="check that no entry of a ledger has been changed",
        examples=["margin ledger verify agency.db"],
    )
    check = add_command(
        ledger,
        "check",
        check_releases,
        does="compare a ledger with released files; detects an older copy of the ledger",
        examples=["margin ledger check agency.db --releases releases"],
    )
    for command in (create, add, show, verify, check):
        command.add_argument(
            "ledger",
            type=Path,
            metavar="LEDGER.db",
            help="the ledger file",
        )
    for command in (create, add):
        _add_dataset(command)
    check.add_argument(
        "--releases",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder with the .margin files of all releases",
    )


def _add_dataset(command: argparse.ArgumentParser) -> None:
    """Add the options that describe a new data set."""
    command.add_argument(
        "--dataset",
        required=True,
        help="the name of the data set",
    )
    command.add_argument(
        "--if-missing",
        action="store_true",
        help="succeed if the data set is registered already with the same budget and unit",
    )
    add_budget(command, rows="; with --unit, M has no effect, because each release has its own")
    command.add_argument(
        "--unit",
        metavar="COLUMN",
        help="protect all rows with the same value of this column (such as a person's id) "
        "together, instead of one row, in each release with the same --unit",
    )


def charged(
    ledger: Path | None,
    dataset: str | None,
    label: str | None,
) -> "Dataset | None":
    """Find the data set that the options --ledger and --dataset name; None if neither is given.

    Raises
    ------
    MarginError
        If only one of the options is given, --label without them, or the ledger has no such data
        set.
    """
    if ledger is None and dataset is None:
        if label is not None:
            raise MarginError(
                "--label is kept in a ledger, but no ledger is given; add --ledger and --dataset"
            )
        return None
    if ledger is None or dataset is None:
        found = "--dataset" if ledger is None else "--ledger"
        raise MarginError(
            f"--ledger and --dataset must be given together, but only {found} is given; add the "
            "other, or leave out both"
        )
    return margin.Ledger(ledger).dataset(dataset, label=label or "")


def _add(parsed: argparse.Namespace) -> Said:
    return _registered(parsed, create=False)


def _create(parsed: argparse.Namespace) -> Said:
    return _registered(parsed, create=True)


def _registered(parsed: argparse.Namespace, *, create: bool) -> Said:
    """Register a data set; `create` says whether a ledger may be made for it."""
    from ..privacy.strength import for_contents

    ledger = margin.Ledger(parsed.ledger)
    is_new = ledger.register(
        parsed.dataset,
        budget_of(parsed),
        unit=parsed.unit,
        if_missing=parsed.if_missing,
        create=create,
    )
    dataset = ledger.dataset(parsed.dataset).name
    statement = ledger.statement(dataset)
    contents = for_contents(statement)
    values = {
        "ledger": str(parsed.ledger),
        "dataset": dataset,
        "created": is_new,
        "budget": _total(statement),
        "statement": statement.to_json(),
        "given_totals": dataclasses.asdict(contents),
    }
    guarantee = f"{statement.guarantee}; protects {statement.protects}"
    if not is_new:
        guarantee = f"is registered already: {guarantee}"
    if contents.steps > 1:
        guarantee += (
            f"; if a release declares public totals (--known, $rows), {statement.contents} is "
            f"protected with {contents.in_full} in all, and whether someone is in the table is not "
            "hidden"
        )
    text = printable(f"{parsed.ledger}: {dataset}: {guarantee}")
    odds = _of_odds(ledger, dataset, statement)
    return Said("\n".join([text, *odds]), values, is_kept=True)


def _show(parsed: argparse.Namespace) -> Said:
    from .._numbers import text
    from ..privacy.ledger import is_nearly_spent

    ledger = margin.Ledger(parsed.ledger)
    datasets = []
    lines = []
    for name in ledger.datasets():
        statement = ledger.statement(name)
        spent = text(ledger.spent(name))
        remaining = text(ledger.remaining(name))
        whole = f"{statement.guarantee}; protects {statement.protects}"
        lines.append(printable(f"{name}: {spent} spent, {remaining} remaining; {whole}"))
        left = _left(ledger, name, statement)
        if is_nearly_spent(statement.budget, ledger.remaining(name)):
            lines.append("  the budget is used up: what remains pays for no useful release")
        elif left is not None:
            lines.append(f"  {_divided(ledger.remaining(name), left)}")
        totals = ledger.public_totals(name)
        strength = ledger.strength(name)
        if strength is not None and strength.steps > 1:
            lines.append(f"  {_given_totals(statement, strength, totals)}")
        elif strength is not None and strength.is_rho:
            lines.append(f"  spent in all: {strength.in_full}")
        lines += _of_odds(ledger, name, statement)
        charges = ledger.charged(name)
        for place, charge in enumerate(charges):
            changed = changed_domain(charge.statement.domain, charges[:place])
            parts = [f"  {numbered_entry(charge)}: {_amount(charge)}", changed]
            lines.append(printable("; ".join(filter(None, parts))))
        datasets.append(
            {
                "dataset": name,
                "spent": spent,
                "remaining": remaining,
                "remaining_at_once": left and {"epsilon": left.epsilon, "delta": left.delta},
                "budget": _total(statement),
                "statement": statement.to_json(),
                "strength": None if strength is None else dataclasses.asdict(strength),
                "charges": [
                    {
                        "entry": charge.sequence,
                        "label": charge.label or None,
                        **charge.statement.to_json(),
                    }
                    for charge in charges
                ],
                "public_totals": list(totals),
            }
        )
    if any(dataset["charges"] for dataset in datasets):
        lines.append(_NUMBERS)
    return Said("\n".join(lines), {"ledger": str(parsed.ledger), "datasets": datasets})


def _total(statement: "Statement") -> dict[str, Any]:
    """The budget of a data set as JSON values. Its rows of a person are null if each release has
    its own number."""
    values = budget_values(statement.budget, statement.guarantee)
    return {**values, "rows_per_person": statement.to_json()["rows"]}


def _left(ledger: "margin.Ledger", name: str, statement: "Statement") -> "Strength | None":
    """What remains as (epsilon, delta), if one release spends it. None if nothing remains, or if
    epsilons of the data set add up by themselves."""
    from ..privacy.budget import PureDP
    from ..privacy.strength import together

    if isinstance(statement.budget, PureDP):
        return None
    return together(statement, ledger.remaining(name), [])


def _divided(remaining: Fraction, left: "Strength") -> str:
    """Say what remains at once, and how to divide it. Parts in rho add up to the whole, but
    epsilons do not: at the same delta, half the rho is about 0.7 times the epsilon."""
    from .._numbers import text
    from ..privacy.budget import UNIT

    shares = [f"{text(remaining // (number * UNIT) * UNIT)} for {number}" for number in _PARTS]
    return (
        f"{text(remaining)} of rho remains: at once, {left.converted}; of n equal releases, give "
        f"each --rho {text(remaining)} / n, such as {', '.join(shares)}"
    )


def _amount(charge: "Charged") -> str:
    """The numbers of the budget of a charge, such as "epsilon = 1", and how many rows of a unit
    its release counted."""
    said = charge.statement
    numbers = said.budget.describe().partition(", ")[2].partition(", neighbours")[0]
    if said.unit is None:
        return numbers
    return f"{numbers}, counted at most {said.rows} of the rows with the same {said.unit!r}"


def _given_totals(
    statement: "Statement",
    strength: "Strength",
    totals: Sequence[bool | None],
) -> str:
    """Say what all releases of a data set protect together, given the totals that are public."""
    declared = sum(public is True for public in totals)
    unknown = sum(public is None for public in totals)
    reasons = []
    if declared:
        reasons.append(f"{declared} of {len(totals)} releases declared public totals")
    if unknown:
        reasons.append(f"{unknown} of {len(totals)} do not say whether they did")
    return (
        f"{statement.contents} is protected with {strength.in_full} in all, since "
        f"{' and '.join(reasons)}; whether someone is in the table is not hidden"
    )


def _of_odds(ledger: "margin.Ledger", name: str, statement: "Statement") -> list[str]:
    """By which factor all releases of a data set together change odds, in lines: with what is
    spent, and with the whole budget if some of it is left."""
    from ..privacy.strength import together
    from ..privacy.words import change_of_odds

    spent, remaining = ledger.spent(name), ledger.remaining(name)
    amounts = {"what is spent": spent}
    if remaining:
        amounts["the whole budget"] = spent + remaining
    totals = ledger.public_totals(name)
    lines = []
    for words, amount in amounts.items():
        found = together(statement, amount, totals)
        # For somebody who is known to be in the table, as if a total were public.
        contents = together(statement, amount, [True])
        if found is not None and contents is not None:
            changed = change_of_odds(statement, found, contents)
            lines.append(printable(f"  with {words}, the results {changed}"))
    return lines


def _verify(parsed: argparse.Namespace) -> Said:
    tell_if_open(parsed.ledger)
    charges = margin.Ledger(parsed.ledger).verify()
    text = f"{parsed.ledger}: no entry was changed; {charges} charge{'' if charges == 1 else 's'}"
    return Said(text, {"ledger": str(parsed.ledger), "charges": charges})
