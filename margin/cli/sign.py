"""The commands `margin keygen`, `margin sign` and `margin verify`."""

import argparse
from pathlib import Path
from typing import Any

from .common import Said, add_command

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add all three to the parsers of a command line."""
    keygen = add_command(
        commands,
        "keygen",
        _keygen,
        does="make a secret key to sign .margin files with, and the public key to check them",
        examples=["margin keygen agency.key"],
    )
    keygen.add_argument(
        "key", type=Path, metavar="KEYFILE", help="the secret key; the public one: KEYFILE.pub"
    )

    sign = add_command(
        commands,
        "sign",
        _sign,
        does="sign the .margin file of a release",
        examples=["margin sign people.margin --key agency.key"],
    )
    sign.add_argument("file", type=Path, metavar="OUT.margin")
    sign.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="KEYFILE",
        help="the secret key, of margin keygen",
    )

    verify = add_command(
        commands,
        "verify",
        _verify,
        does="check that a .margin file is as the holder of a key signed it",
        examples=["margin verify people.margin --key agency.key.pub"],
    )
    verify.add_argument("file", type=Path, metavar="OUT.margin")
    verify.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="PUBKEY",
        help="the public key of who released it",
    )


def _keygen(parsed: argparse.Namespace) -> Said:
    from ..signature import keygen

    public = keygen(parsed.key)
    text = f"{parsed.key}: secret, keep it where the data is\n{public}: public, give it to all who check"
    return Said(text, {"secret": str(parsed.key), "public": str(public)})


def _sign(parsed: argparse.Namespace) -> Said:
    from ..signature import sign

    sign(parsed.file, parsed.key)
    return Said(f"{parsed.file}: signed", {"file": str(parsed.file), "key": str(parsed.key)})


def _verify(parsed: argparse.Namespace) -> Said:
    from ..signature import verify

    synopsis = verify(parsed.file, parsed.key)
    assert synopsis.provenance is not None
    statement = synopsis.provenance.statement
    return Said(
        f"{parsed.file}: as the holder of {parsed.key} signed it\n{statement.describe()}",
        {"file": str(parsed.file), "key": str(parsed.key), "statement": statement.to_json()},
    )
