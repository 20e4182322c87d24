"""The commands `margin keygen`, `margin sign` and `margin verify`."""

import argparse
import re
from dataclasses import dataclass
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
        does="sign the .margin file of a release, a folder of margin publish, or a page of margin "
        "report",
        examples=[
            "margin sign people.margin --key agency.key",
            "margin sign tables/ --key agency.key",
            "margin sign page.html --key agency.key",
        ],
    )
    sign.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin|FOLDER|PAGE.html",
        help="the .margin file, the folder of tables, or the page, to sign; the signature of a "
        "page goes to PAGE.html.sig",
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
        does="check the signature of a .margin file, of a folder of tables, or of a page",
        examples=[
            "margin verify people.margin --key agency.key.pub",
            "margin verify tables/ --key agency.key.pub",
            "margin verify page.html --key agency.key.pub",
        ],
    )
    verify.add_argument(
        "file",
        type=Path,
        metavar="FILE.margin|FOLDER|PAGE.html",
        help="the .margin file, the folder of tables, or the page, to check; PAGE.html.sig must be "
        "beside the page",
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
    from ..report.signing import is_page, sign_page
    from ..signature import sign

    values: dict[str, Any] = {"file": str(parsed.file), "key": str(parsed.key)}
    text = f"{parsed.file}: signed"
    earlier = _signature(parsed.file)
    if parsed.file.is_dir():
        sign_folder(parsed.file, parsed.key)
    elif is_page(parsed.file):
        values["signature"] = str(sign_page(parsed.file, parsed.key))
        text += f"; give readers {values['signature']}, too"
    else:
        sign(parsed.file, parsed.key)
    # The same key gives the same content the same signature.
    values["replaced"] = earlier is not None and earlier != _signature(parsed.file)
    if values["replaced"]:
        text += "; an earlier signature, of another key or another content, was replaced"
    return Said(text, values, is_kept=True)


def _signature(path: Path) -> bytes | None:
    """The signature that a file, a folder or a page has; None if it has none."""
    from ..publication.signing import SIGNATURE
    from ..report.signing import is_page, signature_path
    from ..store import read

    if path.is_dir():
        kept = path / SIGNATURE
    elif is_page(path):
        kept = signature_path(path)
    else:
        return read(path).signature
    try:
        return kept.read_bytes()
    except OSError:  # it is not there, or will be replaced unread
        return None


def _verify(parsed: argparse.Namespace) -> Said:
    from ..report.signing import is_page

    checked = _checked_folder if parsed.file.is_dir() else _checked_file
    if is_page(parsed.file) and not parsed.file.is_dir():
        checked = _checked_page
    found = checked(parsed.file, parsed.key)
    values = {
        "file": str(parsed.file),
        "key": str(parsed.key),
        "release": found.digest,
        "statement": found.statement,
    }
    lines = [f"{parsed.file}: valid signature of the key {parsed.key}{found.more}"]
    if found.digest is not None:
        lines.append(f"release: {found.digest}")
    return Said("\n".join([*lines, found.said]), values)


@dataclass(frozen=True)
class _Checked:
    """What a valid signature covers: the statement of privacy, in words and for programs; the
    digest of the release, which a page and a folder name; and what else was checked."""

    said: str
    statement: dict[str, Any]
    digest: str | None
    more: str = ""


def _checked_folder(folder: Path, key: Path) -> _Checked:
    """Check a folder of tables."""
    from ..publication import verify_folder

    manifest = verify_folder(folder, key)
    files = 1 + sum(len(table["files"]) for table in manifest["tables"])
    return _Checked(
        manifest["privacy"],
        manifest["statement"],
        _named_digest(manifest.get("imprint", {})),
        f"; all {files} files are as signed",
    )


def _checked_page(path: Path, key: Path) -> _Checked:
    """Check a page."""
    from ..report.signing import verify_page

    content = verify_page(path, key)
    said = " ".join(content["words"])
    return _Checked(said, content["statement"], _named_digest(content["imprint"]))


def _named_digest(imprint: dict[str, str]) -> str | None:
    """The digest of the release that the lines of a publication name."""
    found = re.match("sha256:[0-9a-f]{64}", imprint.get("Release", ""))
    return found[0] if found else None


def _checked_file(path: Path, key: Path) -> _Checked:
    """Check a .margin file."""
    from ..privacy.words import in_a_paragraph
    from ..signature import verify
    from ..store import release_digest

    synopsis = verify(path, key)
    assert synopsis.provenance is not None
    statement = synopsis.provenance.statement
    said = in_a_paragraph(statement, synopsis.domain, synopsis.provenance.base)
    return _Checked(said, statement.to_json(), release_digest(synopsis))
