"""Signatures of published folders: `sign_folder` and `verify_folder`.

The manifest of a folder has the SHA-256 of every other file, so a signature of the manifest covers
the whole folder. It is in a file beside the manifest.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from ..signature import is_signed, public_key, secret_key, signature_of
from .folder import FORMAT, MANIFEST

__all__ = ["SIGNATURE", "sign_folder", "verify_folder"]

SIGNATURE = f"{MANIFEST}.sig"
"""The name of the file with the signature."""

_CONTEXT = b"margin publication, signature 1\n"
"""Prefix of every signed text. It keeps a signature made for another purpose from being valid for a
folder, and the reverse."""


def sign_folder(folder: str | os.PathLike[str], key: str | os.PathLike[str]) -> None:
    """Sign a folder that `publish` wrote.

    The signature is in ``manifest.json.sig`` and replaces an earlier one. Sign right after
    publishing, on the same machine: a signature shows only that no file has changed *since*.

    Parameters
    ----------
    folder
        A folder with the tables of a release. Tables of a simulation are refused.
    key
        The file of the secret key, from `margin.keygen`.

    Raises
    ------
    FileError
        If the folder is not a publication of a release, if a file in it was changed, added or
        removed, if a file cannot be read or written, if `key` does not hold a secret key, or if the
        package `cryptography` is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> from margin.publication import publish
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     manifest = publish(made, [["a"]], folder / "tables")
    ...     public = margin.keygen(folder / "agency.pem")
    ...     sign_folder(folder / "tables", folder / "agency.pem")
    ...     checked = verify_folder(folder / "tables", public)
    >>> checked == manifest
    True
    """
    folder = Path(folder)
    secret = secret_key(Path(key))
    written = _read(folder, MANIFEST)
    manifest = _manifest(folder, written)
    if manifest.get("private") is not True:
        raise FileError(
            f"{str(folder)!r} must hold the tables of a release, but they are those of a "
            "simulation, which is not private; publish a release"
        )
    _check_files(folder, manifest)
    with replacing(folder / SIGNATURE) as file:
        file.write(signature_of(secret, _CONTEXT + written))


def verify_folder(
    folder: str | os.PathLike[str],
    key: str | os.PathLike[str],
) -> dict[str, Any]:
    """Check the signature of a published folder, and that it holds exactly the signed files.

    Parameters
    ----------
    folder
        The folder.
    key
        The file of the public key. Get it from the agency that published, not from the same place
        as the folder.

    Returns
    -------
    dict
        The content of the manifest.

    Raises
    ------
    FileError
        If the folder is not signed or was signed with another key, if a file in it was changed,
        added or removed, if `key` does not hold a public key, or if the package `cryptography` is
        not installed.

    Examples
    --------
    See `sign_folder`.
    """
    folder = Path(folder)
    public = public_key(Path(key))
    written = _read(folder, MANIFEST)
    if not (folder / SIGNATURE).is_file():
        raise FileError(
            f"{str(folder)!r} must be signed, but it has no file {SIGNATURE}; ask its publisher "
            "for a signed folder"
        )
    if not is_signed(public, _read(folder, SIGNATURE), _CONTEXT + written):
        raise FileError(
            f"{str(folder)!r} must have a valid signature of the key {str(key)!r}, but it was "
            "signed with another key, or its manifest was changed; do not trust it"
        )
    manifest = _manifest(folder, written)
    _check_files(folder, manifest)
    return manifest


def _manifest(folder: Path, written: bytes) -> dict[str, Any]:
    """The manifest in a text, which must be that of a publication."""
    try:
        manifest = json.loads(written)
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _no_publication(folder)
    return manifest


def _sums(folder: Path, manifest: dict[str, Any]) -> dict[str, str]:
    """The SHA-256 of each file of a manifest, by its name."""
    try:
        # Folders of earlier versions have no list of quality.
        listed = [manifest["readme"], *filter(None, [manifest.get("quality")])]
        for table in manifest["tables"]:
            listed += table["files"].values()
        return {str(file["name"]): str(file["sha256"]) for file in listed}
    except (AttributeError, KeyError, TypeError):
        raise _no_publication(folder) from None


def _no_publication(folder: Path) -> FileError:
    return FileError(
        f"{str(folder / MANIFEST)!r} must be the manifest of a publication of this version, but it "
        "is not; publish the tables again"
    )


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Check that a folder holds the files of its manifest, unchanged, and no others."""
    sums = _sums(folder, manifest)
    found = {*_names(folder)} - {MANIFEST, SIGNATURE}
    # A listed name that leads out of the folder is not among those found.
    for name in sorted(found ^ sums.keys()):
        problem = "is missing" if name in sums else "is not listed there"
        raise FileError(
            f"{str(folder)!r} must hold exactly the files of its manifest, but {name!r} {problem}; "
            "get a fresh copy"
        )
    for name, expected in sums.items():
        if hashlib.sha256(_read(folder, name)).hexdigest() != expected:
            raise FileError(
                f"{str(folder / name)!r} must be as its manifest says, but it was changed; get a "
                "fresh copy"
            )


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise _unreadable(folder, error) from None


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise _unreadable(folder / name, error) from None


def _unreadable(path: Path, error: OSError) -> FileError:
    reason = error.strerror or type(error).__name__
    return FileError(
        f"{str(path)!r} cannot be read ({reason}); name a folder that margin publish wrote"
    )
