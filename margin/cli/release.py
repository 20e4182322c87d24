"""The command `margin release`, which reads a private table."""

import argparse
import contextlib
import faulthandler
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from .._numbers import text
from ..errors import Fate, FileError, MarginError, ResourceError, fates_of, note_lost
from ..interrupts import shielded, watched
from ..interrupts.loading import loading
from .arguments.budget import add_budget, add_unit, budget_of, unit_of
from .arguments.known import add_known, known_of
from .arguments.mechanisms import add_options, mechanism_of
from .arguments.table import add_table, table_of
from .arguments.workload import USUAL, add_workload, views_of, workload_of
from .claims import claimed, reserved
from .common import (
    Said,
    add_command,
    add_domain,
    measured_views,
    painted,
    printable,
    spent_of,
)
from .ledger import charged
from .outputs import add_force, check_release_file, numbered
from .receipts import changed_domain

if TYPE_CHECKING:
    from ..privacy.budget import Budget
    from ..privacy.ledger import Dataset, Token

__all__ = ["add_commands"]

_START = "margin release people.csv --domain domain.json --epsilon 1"
_EXAMPLES = [
    f"{_START} -o people.margin",
    "margin release people.parquet --domain domain.json --rho 0.1 --workload 2way -o people.margin",
    f"{_START} --unit person_id --rows-per-person 3 -o people.margin",
    f"{_START} --ledger agency.db --dataset people --label 'spring 2026' -o people.margin",
    f"{_START} --base last_year.margin -o people.margin",
    f"{_START} --known states.csv -o people.margin",
    f"{_START} --mechanism 'HighPass(theta=9)' -o c.margin",
    "margin release --sql \"SELECT * FROM 'people.parquet'\" --domain domain.json --epsilon 1 "
    "-o people.margin",
    'margin release --sql "SELECT * FROM rows" --table rows=people.csv --domain domain.json '
    "--epsilon 1 -o people.margin",
]

_LOADING = 120
"""Seconds after which a process that still loads its libraries is ended."""

_MOST_TABLES = 100_000
"""Largest number of tables of a workload that are looked at after the release."""

_NAMED = 3
"""Number of reconstructed tables of a workload that are named."""

_CODES = (
    "exit codes: 0 success, 2 an error that the message explains, 3 the ledger refuses the\n"
    "release because too little of the budget is left, 4 the release failed after its budget\n"
    "was spent, 75 another program uses the ledger, the table or the output, so try again\n"
    "later; see margin --help for the others"
)

_DIFFERS = (
    "if the release before is of another kind, such as the number of rows of a person, nothing is "
    "wrong; where categories were changed, tables of the two do not compare; where only public "
    "totals were, they do; if nobody meant to change it, put the former domain back: margin info "
    "--json prints that of the earlier file"
)
"""What a changed domain means, and what to do if it was a mistake."""

_ADDED = "only public totals were added, so tables of the two compare"
"""What is said instead if the earlier domain is this one without some of its totals."""

_NOISIER = 1.1
"""How many times as wide as those of the base the bounds of the total must be to be mentioned."""

_NO_LEDGER = (
    "the budget was charged to no ledger; with --ledger and --dataset, a ledger adds up what all "
    "releases of this data spend"
)
"""What a release without a ledger lacks."""

_NOTHING = "no noise was drawn, and nothing has been charged"


def add_commands(commands: Any) -> None:
    """Add `margin release` to the parser of the command line."""
    release = add_command(
        commands,
        "release",
        _release,
        does="make a differentially private synopsis of a table",
        examples=_EXAMPLES,
    )
    release.description = f"{release.description}\n\n{_CODES}"
    add_table(release)
    add_domain(release)
    add_unit(release)
    add_budget(release, rows="; with --unit, at most M rows of each person are counted")
    _add_ledger(release)
    release.add_argument(
        "--views",
        nargs="+",
        metavar="W",
        help="the views to measure, for PriView and DualQuery, written as for --workload",
    )
    add_options(release)
    release.add_argument(
        "--base",
        type=Path,
        metavar="BASE.margin",
        help="an earlier release with the same domain, such as that of last year; the new one "
        "learns how far to trust it, and contains it",
    )
    add_known(release)
    add_workload(
        release,
        default=None,
        words=f"without --mechanism {USUAL}; otherwise the mechanism decides",
    )
    release.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT.margin",
        help="the .margin file to write",
    )
    add_force(release)


def _add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the data set to charge."""
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="LEDGER.db",
        help="charge the budget to a data set of this ledger; needs --dataset",
    )
    parser.add_argument("--dataset", help="the name of the data set in the ledger")
    parser.add_argument(
        "--label",
        metavar="TEXT",
        help="a text that the ledger keeps with the charge, such as the name of the release or "
        "its period; never derive it from the data",
    )


def _release(parsed: argparse.Namespace) -> Said:
    with watched() as watch:
        watch.explain = lambda: f"interrupted; {_NOTHING}"
        with _telling(_NOTHING):
            _load()
        with claimed(parsed.output), contextlib.ExitStack() as room:
            # `margin.release` itself says it if the budget is lost.
            with _telling(_NOTHING):
                synopsis, ledger, workload = _released(parsed, room)
            path = _save(synopsis, parsed.output, replace=parsed.force)
        if path != parsed.output:
            start = painted("margin:", "beware", sys.stderr)
            told = f"another program made {str(parsed.output)!r} meanwhile, so the release is in"
            print(f"{start} {told} {str(path)!r}", file=sys.stderr)
        if ledger is None:
            start = painted("margin:", "beware", sys.stderr)
            print(f"{start} {_NO_LEDGER}", file=sys.stderr)
        with _telling(f"the release is complete, and {str(path)!r} is written"):
            return _described(synopsis, ledger, workload, path)


def _load() -> None:
    """Load the linear algebra that a release needs, before it claims its name and charges.

    Where the addresses of a process are limited, OpenBLAS may try for ever to allocate memory while
    it is loaded, and no Python code can handle a signal then. So a clock that does not depend on
    Python ends the process.
    """
    faulthandler.dump_traceback_later(_LOADING, exit=True, file=2)
    try:
        with loading():
            import scipy.linalg  # noqa: F401
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _telling(fate: str) -> Iterator[None]:
    """Say on an internal error or a shortage what became of the budget, if it does not say so
    yet."""
    try:
        yield
    except Exception as error:
        is_explained = isinstance(error, MarginError) and (
            error.budget_is_lost or not isinstance(error, ResourceError)
        )
        if not is_explained and not fates_of(error):
            error.add_note(Fate(fate))
        raise


def _released(
    parsed: argparse.Namespace,
    room: contextlib.ExitStack,
) -> "tuple[margin.Synopsis, Dataset | None, margin.Workload | None]":
    """Check the options, and make the release; also returns the data set that was charged, and the
    workload. The room for the output is reserved until `room` ends."""
    from ..bases.known import with_known
    from ..privacy.words import rows_not_declared

    # Check all options before the data is opened.
    budget = budget_of(parsed)
    domain = margin.Domain(parsed.domain)
    # An option that took the table would find the name of the table wrong.
    data = table_of(parsed)
    views = (
        None if parsed.views is None else [list(view) for view in views_of(domain, parsed.views)]
    )
    mechanism = mechanism_of(parsed, domain, views)
    check_release_file(parsed.output, parsed)
    room.enter_context(reserved(parsed.output))
    ledger = charged(parsed.ledger, parsed.dataset, parsed.label)
    workload = workload_of(domain, parsed.workload, parsed.asked)
    known = known_of(parsed.known)
    declared = domain
    if known is not None:
        domain = with_known(domain, known)
    if told := rows_not_declared(budget, domain):
        print(f"{painted('margin:', 'beware', sys.stderr)} {told}", file=sys.stderr)
    if ledger is not None:
        _tell_changed(ledger, domain, declared)
        _tell_converted(ledger, budget)
    base = None if parsed.base is None else margin.load(parsed.base)
    if base is not None:
        _tell_noisier(base, domain, budget)
    synopsis = margin.release(
        data,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=workload,
        ledger=ledger,
        **unit_of(parsed),
        base=base,
    )
    return synopsis, ledger, workload


def _tell_changed(
    ledger: "Dataset",
    domain: "margin.Domain",
    declared: "margin.Domain",
) -> None:
    """Say on stderr, before the charge, if the release before had another domain.

    Those who repeat a release with a file that somebody has changed would not know it otherwise.
    `declared` is the domain of the file, without the tables of --known.
    """
    from ..privacy.statement import digest

    before = ledger.ledger.charged(ledger.name)
    changed = changed_domain(digest(domain), before)
    if not changed:
        return
    # The ledger holds digests alone: compare with those of this domain with fewer totals.
    last = [charge.statement.domain for charge in before if charge.statement.domain][-1]
    with_fewer = {digest(declared), digest(declared.without_totals())}
    meaning = _ADDED if last in with_fewer else _DIFFERS
    start = painted("margin:", "beware", sys.stderr)
    print(f"{start} {printable(changed)}; {meaning}", file=sys.stderr)


def _tell_converted(ledger: "Dataset", budget: "Budget") -> None:
    """Say on stderr, before the charge, if an epsilon pays from a budget that is spent as rho.

    A job that forgets its --rho would have much more noise, and nobody would notice.
    """
    from ..privacy.budget import PureDP

    whole = ledger.ledger.statement(ledger.name).budget
    if not isinstance(budget, PureDP) or isinstance(whole, PureDP):
        return
    rho = text(budget.epsilon**2 / 2)
    start = painted("margin:", "beware", sys.stderr)
    told = f"epsilon = {text(budget.epsilon)} is charged to {ledger.name!r} as rho = {rho}"
    advice = f"--rho {rho} costs the same, and has less noise for nearly all workloads"
    print(f"{start} {printable(told)}; {advice}", file=sys.stderr)


def _tell_noisier(
    base: "margin.Synopsis",
    domain: "margin.Domain",
    budget: "Budget",
) -> None:
    """Say on stderr, before the charge, how much wider the bounds of the total are than the base's.

    A base makes small counts more accurate, but hardly the total, unless tables are mostly empty.
    The standard deviation of noise is proportional to rows / epsilon, or to rows / sqrt(rho).
    Nothing here depends on the data.
    """
    from ..privacy.budget import PureDP

    assert base.provenance is not None
    before = base.provenance.statement.budget
    if type(before) is not type(budget) or before.neighbours is not budget.neighbours:
        return
    if domain.rows is not None or base.domain.rows is not None or budget.number_of_rows_is_public:
        return
    share = budget.units / before.units
    times = budget.rows_per_person / before.rows_per_person
    times /= share if isinstance(budget, PureDP) else math.sqrt(share)
    if times < _NOISIER:
        return
    start = painted("margin:", "beware", sys.stderr)
    told = (
        "a base makes small counts more accurate, but hardly the total: by the budgets, the bounds "
        f"of the total will be up to {times:.1f} times as wide as those of the base, if both "
        "releases measure in the same way"
    )
    print(f"{start} {told}", file=sys.stderr)


def _described(
    synopsis: "margin.Synopsis",
    ledger: "Dataset | None",
    workload: "margin.Workload | None",
    path: Path,
) -> Said:
    """Describe the release by the first line of its summary, such as "45 views"."""
    from ..privacy.strength import given, strength

    summary = synopsis.summary()
    title, first = next(iter(summary.items()))
    number = first.split()[0].rstrip(",")
    provenance = synopsis.provenance
    assert provenance is not None
    guarantee = provenance.statement.guarantee
    charge = None if ledger is None else _charge_values(ledger, provenance.token)
    values = {
        "output": str(path),
        "guarantee": guarantee,
        "spent": spent_of(synopsis),
        "statement": provenance.statement.to_json(),
        "strength": asdict(strength(provenance.statement, synopsis.domain)),
        "charge": charge,
        "mechanism": provenance.mechanism,
        "base": provenance.base,
        "known": [list(view) for view in provenance.known],
        "summary": summary,
        "views": measured_views(synopsis),
    }
    if number == "1":
        title = title.removesuffix("s")
    described = f"{number} {title}" if number[0].isdigit() else f"{title} of {first}"
    # Attributes that the workload left out are easily taken for measured ones.
    lacking = summary.get("unmeasured")
    more = f"; not measured: {lacking}" if lacking else ""
    tables = None if workload is None else _reconstructed(synopsis, workload)
    if tables is not None and tables["reconstructed"]:
        more = f"; {_told(tables)}{more}"
    values["workload"] = tables
    # With public totals, the budget alone says less than what it protects.
    protected = given(provenance.statement, synopsis.domain)
    if protected:
        more = f"{more}; {protected[0].lower()}{protected[1:].rstrip('.')}"
    if charge is not None:
        left = "" if charge["remaining"] is None else f", {charge['remaining']} remaining"
        more = f"; charged to {charge['dataset']} as entry {charge['entry']}{left}{more}"
    text = printable(f"{path}: {described}; {guarantee}{more}")
    return Said(text, values, is_kept=True)


def _reconstructed(
    synopsis: "margin.Synopsis",
    workload: "margin.Workload",
) -> dict[str, Any] | None:
    """The number of tables of the workload, how many of them no measured table covers, and which.

    None if the workload has too many tables to look at each. Which tables a release measured is
    part of it: it follows from public choices, or from choices that the budget paid for. So these
    numbers and names are post-processing.
    """
    from ..synopses.source import Source

    if len(workload) > _MOST_TABLES:
        return None
    views = workload.names
    named = [list(view) for view in views if synopsis.source(view) is Source.RECONSTRUCTED]
    return {"tables": len(views), "reconstructed": len(named), "reconstructed_tables": named}


def _told(tables: dict[str, Any]) -> str:
    """How many tables of the workload are reconstructed, and the first ones, in words."""
    number, whole = tables["reconstructed"], tables["tables"]
    named = tables["reconstructed_tables"]
    verb = "is" if number == 1 else "are"
    nouns = "table" if whole == 1 else "tables"
    shown = [f"({', '.join(view)})" for view in named[:_NAMED]]
    if number > _NAMED:
        shown.append(f"and {number - _NAMED:,} more")
    listed = ", ".join(shown)
    return f"{number:,} of {whole:,} {nouns} of the workload {verb} reconstructed: {listed}"


def _charge_values(ledger: "Dataset", token: "Token | None") -> dict[str, Any]:
    """The charge of a release as JSON values, with what is left in the ledger.

    The release is complete: a ledger that cannot be read now does not make it fail.
    """
    assert token is not None
    try:
        remaining = text(ledger.ledger.remaining(ledger.name))
    except FileError:
        remaining = None
    return {
        "ledger": str(ledger.ledger.path),
        "dataset": ledger.name,
        "entry": token.sequence,
        "label": ledger.label or None,
        "remaining": remaining,
    }


def _save(
    synopsis: "margin.Synopsis",
    path: Path,
    *,
    replace: bool,
) -> Path:
    """Write the release; the result is the path of its file.

    It is another one than `path` only if another program has made a file of this name meanwhile:
    a release that is paid for is neither lost, nor does it replace a file.

    If the writing fails, the error says that the budget has been spent anyway. A signal that
    arrives meanwhile waits for the end of the writing. Then the release is complete, and signals
    are ignored from here on.
    """
    lost = f"the release was made and its budget spent, but {str(path)!r} was not written"
    with watched() as watch, shielded():
        watch.explain = lambda: f"interrupted; {lost}"
        try:
            written = _saved(synopsis, path, replace=replace)
        except FileError as error:
            problem = str(error)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(watch.explain()) from None
        except Exception as error:
            note_lost(error, lost)
            raise
        else:
            watch.complete()
            return written
    failed = FileError(f"{problem}; {lost}")
    failed.budget_is_lost = True
    raise failed


def _saved(
    synopsis: "margin.Synopsis",
    path: Path,
    *,
    replace: bool,
) -> Path:
    """Write the release to the first name that is free; see `_save`."""
    names = numbered(path)
    while True:
        name = next(names)
        try:
            synopsis.save(name, replace=replace)
        except FileError:
            if replace or not os.path.lexists(name):
                raise
        else:
            return name
