"""Signatures of pages: `sign_page` and `verify_page`.

The signature covers every byte of the page. It is in a file beside the page, because a page that
held its own signature would not be the page that was signed.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from ..signature import is_signed, public_key, secret_key, signature_of

__all__ = ["is_page", "sign_page", "signature_path", "verify_page"]

_CONTEXT = b"margin page, signature 1\n"
"""Prefix of every signed text. It keeps a signature made for another purpose from being valid for a
page, and the reverse."""

_DATA = re.compile(rb'<script type="application/json" id="data">([^<]*)</script>')
"""The content of a page: `page` escapes every "<" in it."""


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a path has the ending of a page."""
    return Path(path).suffix.lower() in (".html", ".htm")


def sign_page(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Sign a page that `write_report` wrote; return the file of the signature.

    This file has the name of the page and ``.sig``, and replaces an earlier one. Give both files to
    the readers. A page that is written again needs a new signature.

    Parameters
    ----------
    path
        The page of a release. That of a simulation is refused.
    key
        The file of the secret key, from `margin.keygen`.

    Raises
    ------
    FileError
        If the file is not the page of a release, if a file cannot be read or written, if `key` does
        not hold a secret key, or if the package `cryptography` is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> from margin.report import write_report
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = write_report(made, folder / "a.html")
    ...     public = margin.keygen(folder / "agency.pem")
    ...     signature = sign_page(folder / "a.html", folder / "agency.pem")
    ...     content = verify_page(folder / "a.html", public)
    >>> signature.name, content["title"]
    ('a.html.sig', 'a')
    """
    path = Path(path)
    secret = secret_key(Path(key))
    written = _read(path)
    if _content(path, written).get("private") is not True:
        raise FileError(
            f"{str(path)!r} must be the page of a release, but it is that of a simulation, which "
            "is not private; sign the page of a release"
        )
    signature = signature_path(path)
    with replacing(signature) as file:
        file.write(signature_of(secret, _CONTEXT + written))
    return signature


def verify_page(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> dict[str, Any]:
    """Check the signature of a page, and return the content of the page.

    Parameters
    ----------
    path
        The page. The file of its signature must be beside it.
    key
        The file of the public key. Get it from the agency that published, not from the same place
        as the page.

    Returns
    -------
    dict
        The content: the title, the statement of protection, the tables and who published them.

    Raises
    ------
    FileError
        If the page is not signed, was signed with another key, or was changed after it was signed;
        if `key` does not hold a public key; or if the package `cryptography` is not installed.

    Examples
    --------
    See `sign_page`.
    """
    path = Path(path)
    public = public_key(Path(key))
    written = _read(path)
    beside = signature_path(path)
    if not beside.is_file():
        raise FileError(
            f"{str(path)!r} must be signed, but there is no file {beside.name!r} beside it; get "
            "this file from the publisher of the page, too"
        )
    if not is_signed(public, _read(beside), _CONTEXT + written):
        raise FileError(
            f"{str(path)!r} must have a valid signature of the key {str(key)!r}, but it was signed "
            "with another key, or changed after it was signed; do not trust it"
        )
    return _content(path, written)


def signature_path(path: Path) -> Path:
    """The file of the signature of a page."""
    return path.with_name(f"{path.name}.sig")


def _content(path: Path, written: bytes) -> dict[str, Any]:
    """The content of a page, which must be one of `margin report`."""
    found = _DATA.findall(written)
    try:
        content = json.loads(found[0]) if len(found) == 1 else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise FileError(
            f"{str(path)!r} must be a page that margin report wrote, but it is not; write it again"
        )
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileError(
            f"{str(path)!r} cannot be read ({reason}); check the path and its permissions"
        ) from None
