"""Signatures of .margin files: that what a file holds is what the holder of a key released, bit by
bit.

A checksum protects from accidents. It does not keep anybody from opening the file of a simulation,
marking it as a release and computing new checksums. A signature does: only the holder of the secret
key can make one, and whoever has the public key can check it. Ed25519 of the `cryptography` package
(RFC 8032) signs the list of SHA-256 sums of all other members of the file.

What a zip file can carry beside its members, such as a comment or bytes before and behind, is not
read and not signed: what is passed on should be saved anew from what `verify` returned.
"""

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FileError
from .store import Contents, read, understood, write
from .synopses.synopsis import Synopsis

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["keygen", "sign", "verify"]

_CONTEXT = b"margin file, signature 1\n"
"""Stands before what is signed: the key cannot be made to sign something else by way of a file, nor
the reverse."""

_KEY_BYTES = 10_000


def keygen(path: str | os.PathLike[str]) -> Path:
    """Make a pair of keys: the secret one in `path`, for its owner's eyes only, the public one in
    `path` + ".pub".

    The secret key is not encrypted: keep it where the data is kept. Both are PEM files.

    Returns
    -------
    Path
        Of the public key, to be given to those who will check.

    Raises
    ------
    FileError
        When a file cannot be written, or is there already: a key is never replaced. When
        `cryptography` is missing.
    """
    ed25519, serialization = _library()
    secret = ed25519.Ed25519PrivateKey.generate()
    text = secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_text = secret.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    public = Path(f"{path}.pub")
    if public.exists():
        raise FileError(
            f"{str(public)!r} is there already: a key is never replaced; choose another name"
        )
    _write_new(Path(path), text, mode=0o600)
    _write_new(public, public_text, mode=0o644)
    return public


def sign(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> None:
    """Sign the file of a release; the signature is kept in the file, and replaces any other.

    Sign on the machine that released, at once: a signature says that the file has not changed
    *since*.

    Parameters
    ----------
    path
        A .margin file. That of a simulation is refused.
    key
        The file of the secret key, from `keygen`.

    Raises
    ------
    FileError
        When the file is not one of a release, a file cannot be read or written, the key is none, or
        `cryptography` is missing.
    """
    secret = _secret_key(Path(key))
    contents = read(Path(path))
    understood(Path(path), contents, allow_simulation=False)
    signature = secret.sign(_CONTEXT + contents.checksums)
    written = json.dumps({"kind": "ed25519", "signature": signature.hex()}).encode()
    write(Path(path), Contents(contents.members, contents.checksums, written))


def verify(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Synopsis:
    """The release in a file, if it was signed with the secret key that belongs to a public one.

    What is returned comes from the very bytes that were checked.

    Parameters
    ----------
    path
        A .margin file.
    key
        The file of the public key, from whoever released: not from where the file came from.

    Raises
    ------
    FileError
        When the file is not signed, or not with that key, or was changed since; when it is not the
        file of a release; when the key is none, or `cryptography` is missing.
    """
    public = _public_key(Path(key))
    contents = read(Path(path))
    if contents.signature is None:
        raise FileError(f"{str(path)!r} is not signed: ask whoever released it for a signed file")
    if not _is_valid(public, contents):
        raise FileError(
            f"{str(path)!r} is not as the holder of the key {str(key)!r} signed it: it was signed with another key, or "
            f"changed since; do not trust it"
        )
    synopsis = understood(Path(path), contents, allow_simulation=False)
    assert isinstance(synopsis, Synopsis)
    return synopsis


def _is_valid(public: "Ed25519PublicKey", contents: Contents) -> bool:
    from cryptography.exceptions import InvalidSignature

    assert contents.signature is not None
    try:
        written = json.loads(contents.signature)
        if written.keys() != {"kind", "signature"} or written["kind"] != "ed25519":
            return False
        public.verify(bytes.fromhex(written["signature"]), _CONTEXT + contents.checksums)
    except (InvalidSignature, ValueError, TypeError, AttributeError, RecursionError):
        return False
    return True


def _secret_key(path: Path) -> "Ed25519PrivateKey":
    ed25519, serialization = _library()
    read = partial(serialization.load_pem_private_key, password=None)
    key: Ed25519PrivateKey = _key(path, ed25519.Ed25519PrivateKey, read, "secret")
    return key


def _public_key(path: Path) -> "Ed25519PublicKey":
    ed25519, serialization = _library()
    key: Ed25519PublicKey = _key(
        path, ed25519.Ed25519PublicKey, serialization.load_pem_public_key, "public"
    )
    return key


def _key(path: Path, kind: type, load: Any, shown: str) -> Any:
    problem = ""
    try:
        with path.open("rb") as file:
            key = load(file.read(_KEY_BYTES))
    except OSError as error:
        problem = f"cannot be read ({error.strerror or type(error).__name__})"
    except (
        Exception
    ):  # whatever the library makes of a text that is no key; what it says may quote it
        key = None
    if not problem and not isinstance(key, kind):
        problem = f"is no {shown} Ed25519 key in PEM, without a password; make a pair with `margin keygen`"
    if problem:
        raise FileError(f"the key {str(path)!r} {problem}")
    return key


def _write_new(path: Path, text: bytes, *, mode: int) -> None:
    problem = ""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        problem = "is there already: a key is never replaced; choose another name"
    except OSError as error:
        problem = f"cannot be written: {error.strerror or type(error).__name__}"
    if problem:
        raise FileError(f"{str(path)!r} {problem}")


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise FileError(
            "signing and verifying need the package cryptography: pip install 'margin[sign]'"
        ) from None
    return ed25519, serialization
