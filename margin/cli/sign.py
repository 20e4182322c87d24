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
        does="sign the .margin file of a release, or a folder of margin publish",
        examples=[
            "margin sign people.margin --key agency.key",
            "margin sign tables/ --key agency.key",
        ],
    )
    sign.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin|FOLDER",
        help="the .margin file, or the folder of tables, to sign",
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
        does="check the signature of a .margin file, or of a folder of tables",
        examples=[
            "margin verify people.margin --key agency.key.pub",
            "margin verify tables/ --key agency.key.pub",
        ],
    )
    verify.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin|FOLDER",
        help="the .margin file, or the folder of tables, to check",
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
    values = {"secret": str(parsed.key), "public": str(public)}
    return Said("\n".join(lines), values, is_kept=True)


def _sign(parsed: argparse.Namespace) -> Said:
    from ..publication import sign_folder
    from ..signature import sign

    if parsed.file.is_dir():
        sign_folder(parsed.file, parsed.key)
    else:
        sign(parsed.file, parsed.key)
    values = {"file": str(parsed.file), "key": str(parsed.key)}
    return Said(f"{parsed.file}: signed", values, is_kept=True)


def _verify(parsed: argparse.Namespace) -> Said:
    checked = _checked_folder if parsed.file.is_dir() else _checked_file
    said, statement, more = checked(parsed.file, parsed.key)
    values = {"file": str(parsed.file), "key": str(parsed.key), "statement": statement}
    text = f"{parsed.file}: valid signature of the key {parsed.key}{more}\n{said}"
    return Said(text, values)


def _checked_folder(folder: Path, key: Path) -> tuple[str, dict[str, Any], str]:
    """Check a folder: what its manifest says on privacy, its statement, and what was checked."""
    from ..publication import verify_folder

    manifest = verify_folder(folder, key)
    files = 1 + sum(len(table["files"]) for table in manifest["tables"])
    return manifest["privacy"], manifest["statement"], f"; all {files} files are as signed"


def _checked_file(path: Path, key: Path) -> tuple[str, dict[str, Any], str]:
    """The same of a .margin file."""
    from ..privacy.words import in_a_paragraph
    from ..signature import verify

    synopsis = verify(path, key)
    assert synopsis.provenance is not None
    statement = synopsis.provenance.statement
    said = in_a_paragraph(statement, synopsis.domain, synopsis.provenance.base)
    return said, statement.to_json(), ""
