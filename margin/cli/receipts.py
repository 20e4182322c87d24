"""The command `margin ledger check`: which charge of a ledger belongs to which release."""

import argparse
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import margin

from ..errors import FileError
from .claims import abandoned, is_held
from .common import Said, printable

if TYPE_CHECKING:
    from ..privacy.ledger import Charged, Token
    from ..privacy.statement import Statement

__all__ = ["changed_domain", "check_releases", "numbered_entry", "tell_if_open"]


class _Leftover(NamedTuple):
    """A file that a command left when it was killed.

    Attributes
    ----------
    file
        Its path.
    whole
        Whether it holds a whole release.
    token
        The receipt of this release; None if it has none.
    is_claim
        Whether it is the empty file of a claim.
    """

    file: Path
    whole: bool
    token: "Token | None"
    is_claim: bool = False


def check_releases(parsed: argparse.Namespace) -> Said:
    """Compare a ledger with the files of releases; see `margin ledger check --help`."""
    if not parsed.releases.is_dir():
        raise FileError(
            f"--releases must be a folder, but {str(parsed.releases)!r} is not; give the folder "
            "that holds the .margin files"
        )
    # Collect the receipt and the statement of every release.
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
        tokens[str(path)] = provenance.token
        statements[str(path)] = provenance.statement
    leftovers = _leftovers(parsed.releases)
    tell_if_open(parsed.ledger)
    ledger = margin.Ledger(parsed.ledger)
    problems += ledger.check(tokens, statements=statements)

    # A charge and its release have equal receipts.
    charges = {name: ledger.charged(name) for name in ledger.datasets()}
    files = {token: name for name, token in tokens.items() if token is not None}
    releases = f"{len(tokens)} release{'' if len(tokens) == 1 else 's'}"
    lines = [f"{parsed.ledger}: {releases}, each with its own charge"]
    if problems:
        lines = [f"{parsed.ledger}: {releases}, and these problems:"]
        lines += [f"  {problem}" for problem in problems]
    lines += _paired(charges, files, parsed.releases)
    by_token = {charge.token: charge for some in charges.values() for charge in some}
    lines += [_told(leftover, by_token, files) for leftover in leftovers]
    values = {
        "ledger": str(parsed.ledger),
        "releases": list(tokens),
        "problems": problems,
        "charges": [
            {
                "dataset": name,
                "entry": charge.sequence,
                "label": charge.label or None,
                "file": files.get(charge.token),
            }
            for name, some in charges.items()
            for charge in some
        ],
        "without_release": {
            name: [charge.sequence for charge in some if charge.token not in files]
            for name, some in charges.items()
            if any(charge.token not in files for charge in some)
        },
        "leftovers": [
            {
                "file": str(leftover.file),
                "whole": leftover.whole,
                "entry": by_token[leftover.token].sequence if leftover.token in by_token else None,
                "copy_of": None if leftover.token is None else files.get(leftover.token),
            }
            for leftover in leftovers
        ],
    }
    return Said("\n".join(map(printable, lines)), values, code=2 if problems else 0)


def tell_if_open(ledger: Path) -> None:
    """Say on stderr that every user of the machine can write a ledger, or replace it.

    The chain of hashes has no key, so whoever can do this can make a ledger that forgets charges. A
    group may share a ledger on purpose, so its right is not told. The modes of Windows say nothing.
    """
    if os.name != "posix" or not ledger.exists():
        return
    file = stat.S_IMODE(ledger.stat().st_mode)
    folder = stat.S_IMODE(ledger.resolve().parent.stat().st_mode)
    # In a folder with the sticky bit, such as /tmp, only its owner can replace a file.
    replaceable = folder & stat.S_IWOTH and not folder & stat.S_ISVTX
    if file & stat.S_IWOTH or replaceable:
        which = ledger if file & stat.S_IWOTH else ledger.resolve().parent
        told = (
            f"every user of this machine can write {str(which)!r}, and so make the ledger forget "
            f"what was spent; take this right away, as by chmod o-w {which}"
        )
        print(f"margin: {printable(told)}", file=sys.stderr)


def numbered_entry(charge: "Charged") -> str:
    """The number of a charge with its label, such as "entry 2 (spring 2026)"."""
    label = f" ({charge.label})" if charge.label else ""
    return f"entry {charge.sequence}{label}"


def changed_domain(domain: str | None, before: "Sequence[Charged]") -> str:
    """Say that a release has another domain than the one before it; empty if it has the same one.

    The digests of domains are declarations, so this says nothing about the data.

    Parameters
    ----------
    domain
        The digest of the release's domain; None for a charge that names none.
    before
        The earlier charges to the data set, in order. Those that name no domain are skipped.
    """
    declared = [charge for charge in before if charge.statement.domain is not None]
    if domain is None or not declared or declared[-1].statement.domain == domain:
        return ""
    told = f"the domain differs from that of the release before, {numbered_entry(declared[-1])}"
    # Two publications of one data set may take turns.
    same = [charge for charge in declared if charge.statement.domain == domain]
    return f"{told}, but is that of {numbered_entry(same[-1])}" if same else told


def _paired(
    charges: Mapping[str, "tuple[Charged, ...]"],
    files: Mapping["Token", str],
    folder: Path,
) -> list[str]:
    """List the charges of each data set with their files, then those without a file."""
    lines = []
    for name, some in charges.items():
        lines += [
            f"charged to {name}: {numbered_entry(charge)}: {files[charge.token]}"
            for charge in some
            if charge.token in files
        ]
        lacking = [numbered_entry(charge) for charge in some if charge.token not in files]
        if lacking:
            lines.append(
                f"charged to {name} without a release in {str(folder)!r}: {', '.join(lacking)}; a "
                "release that failed or was interrupted after its charge leaves no file"
            )
    return lines


def _leftovers(folder: Path) -> list[_Leftover]:
    """Find the files that killed commands left in a folder.

    A command reserves room under such a name, and writes a file there first. SIGKILL and a loss of
    power leave it there.
    """
    found = []
    for path in sorted(folder.rglob(".margin-*.part")):
        if not path.is_file() or is_held(path):
            continue
        try:
            provenance = margin.load(path).provenance
        except FileError:
            found.append(_Leftover(path, whole=False, token=None))
            continue
        assert provenance is not None
        found.append(_Leftover(path, whole=True, token=provenance.token))
    claims = abandoned(folder)
    return found + [_Leftover(path, whole=False, token=None, is_claim=True) for path in claims]


def _told(
    leftover: _Leftover,
    charges: Mapping["Token", "Charged"],
    files: Mapping["Token", str],
) -> str:
    """Say what a leftover is, and what to do with it."""
    if leftover.is_claim:
        return f"{leftover.file}: is the claim of a command that was killed; delete it"
    start = f"{leftover.file}: was left by a command that was killed"
    if not leftover.whole:
        return f"{start}, and holds no whole release; delete it, unless a command is writing it now"
    if leftover.token is not None and leftover.token in files:
        return f"{start}, and is a copy of {files[leftover.token]}; delete it"
    whose = ""
    if leftover.token is not None and leftover.token in charges:
        whose = f" of {numbered_entry(charges[leftover.token])}"
    return (
        f"{start}, but holds the whole release{whose}; to keep it, give it a name that ends in "
        ".margin"
    )
