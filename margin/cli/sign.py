"""The commands `margin keygen`, `margin sign` and `margin verify`."""

import argparse
from pathlib import Path
from typing import Any

from .common import Said, add_command

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `margin keygen`, `margin sign` and `margin verify` to the parser of the command line."""
    _add_keygen(commands)
    _add_sign(commands)
    _add_verify(commands)


def _add_keygen(commands: Any) -> None:
    keygen = add_command(
        commands,
        "keygen",
        _keygen,
        does="make a key pair: a secret key to sign .margin files, a public key to check them",
        examples=["margin keygen agency.key"],
    )
    keygen.add_argument(
        "key",
        type=Path,
        metavar="KEYFILE",
        help="the file to write the secret key to; the public key goes to KEYFILE.pub",
    )


def _add_sign(commands: Any) -> None:
    sign = add_command(
        commands,
        "sign",
        _sign,
        does="sign the .margin file of a release",
        examples=["margin sign people.margin --key agency.key"],
    )
    sign.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin",
        help="the .margin file to sign",
    )
    sign.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="KEYFILE",
        help="the file of the secret key, made by margin keygen",
    )


def _add_verify(commands: Any) -> None:
    verify = add_command(
        commands,
        "verify",
        _verify,
        does="check the signature of a .margin file",
        examples=["margin verify people.margin --key agency.key.pub"],
    )
    verify.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin",
        help="the .margin file to check",
    )
    verify.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="PUBKEY",
        help="the file of the publisher's public key",
    )


def _keygen(parsed: argparse.Namespace) -> Said:
    from ..signature import keygen

    public = keygen(parsed.key)
    lines = [
        f"{parsed.key}: secret key; keep it as safe as the data",
        f"{public}: public key; give it to everyone who checks your files",
    ]
    return Said("\n".join(lines), {"secret": str(parsed.key), "public": str(public)})


def _sign(parsed: argparse.Namespace) -> Said:
    from ..signature import sign

    sign(parsed.file, parsed.key)
    return Said(f"{parsed.file}: signed", {"file": str(parsed.file), "key": str(parsed.key)})


def _verify(parsed: argparse.Namespace) -> Said:
    from ..privacy.strength import beside
    from ..signature import verify

    synopsis = verify(parsed.file, parsed.key)
    assert synopsis.provenance is not None
    statement = synopsis.provenance.statement
    values = {"file": str(parsed.file), "key": str(parsed.key), "statement": statement.to_json()}
    base = synopsis.provenance.base
    said = f"{statement.describe()} {beside(statement, synopsis.domain, base)}".rstrip()
    text = f"{parsed.file}: valid signature of the key {parsed.key}\n{said}"
    return Said(text, values)
