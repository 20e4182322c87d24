"""Signatures: `keygen`, and `sign` and `verify` for .margin files.

`margin.publication` has `sign_folder` and `verify_folder` for published folders.

A valid signature shows that the file holds exactly what the holder of the secret key signed. The
checksums in the file do not show this: they protect from accidents, but anyone can open the file of
a simulation, mark it as a release and compute new checksums. Only the holder of the secret key can
sign, and everyone with the public key can check. The signature is Ed25519 (RFC 8032), computed by
the package `cryptography` over the list of SHA-256 sums of all other members of the file.

A zip file can carry data outside its members, such as a comment, or bytes before and after the
archive. Such data is neither read nor signed. To pass a file on without it, save what `verify`
returned to a new file.
"""

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._replace import unwritable
from .errors import FileError
from .interrupts.shortage import raise_shortage
from .store import Contents, read, understood, write
from .synopses.synopsis import Synopsis

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["is_signed", "keygen", "public_key", "secret_key", "sign", "signature_of", "verify"]

_CONTEXT = b"margin file, signature 1\n"
"""Prefix of every signed text. It keeps a signature made for another purpose from being valid for a
file, and the reverse."""

_KEY_BYTES = 10_000
"""Largest number of bytes that are read of a key file."""

_EXISTS = "exists already, but a key is never replaced; choose another name"


def keygen(path: str | os.PathLike[str]) -> Path:
    """Make a key pair: a secret key for signing, and a public key for checking.

    The secret key is written to `path`, readable by its owner only. The public key is written to
    `path` + ".pub". Both are PEM files. The secret key is not encrypted: keep it as safe as the
    data.

    Parameters
    ----------
    path
        The file of the secret key.

    Returns
    -------
    Path
        The file of the public key, to be given to everyone who checks signatures.

    Raises
    ------
    FileError
        If one of the files exists already (a key is never replaced) or cannot be written, or if the
        package `cryptography` is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     public = margin.keygen(pathlib.Path(folder) / "agency.pem")
    >>> public.name
    'agency.pem.pub'
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
        raise FileError(f"{str(public)!r} {_EXISTS}")
    _write_new(Path(path), text, mode=0o600)
    _write_new(public, public_text, mode=0o644)
    return public


def sign(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> None:
    """Sign the .margin file of a release.

    The signature is stored in the file and replaces an earlier one. Sign right after the release,
    on the same machine: a signature shows only that the file has not changed *since* it was signed.

    Parameters
    ----------
    path
        The .margin file of a release. The file of a simulation is refused.
    key
        The file of the secret key, from `keygen`.

    Raises
    ------
    FileError
        If the file is not the file of a release, if a file cannot be read or written, if `key` does
        not hold a secret key, or if the package `cryptography` is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     made.save(folder / "a.margin")
    ...     public = margin.keygen(folder / "agency.pem")
    ...     margin.sign(folder / "a.margin", folder / "agency.pem")
    ...     checked = margin.verify(folder / "a.margin", public)
    >>> checked.domain == made.domain
    True
    """
    secret = secret_key(Path(key))
    contents = read(Path(path))
    understood(Path(path), contents, allow_simulation=False)
    written = signature_of(secret, _CONTEXT + contents.checksums)
    write(Path(path), Contents(contents.members, contents.checksums, written))


def verify(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Synopsis:
    """Check the signature of a .margin file and return its release.

    The returned release is read from the same bytes that were checked.

    Parameters
    ----------
    path
        A .margin file.
    key
        The file of the public key. Get it from the agency that released, not from the same place as
        the file.

    Returns
    -------
    Synopsis
        The release in the file.

    Raises
    ------
    FileError
        If the file is not signed, was signed with another key, or was changed after it was signed;
        if it is not the file of a release; if `key` does not hold a public key; or if the package
        `cryptography` is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     made.save(folder / "a.margin")
    ...     public = margin.keygen(folder / "agency.pem")
    ...     margin.sign(folder / "a.margin", folder / "agency.pem")
    ...     checked = margin.verify(folder / "a.margin", public)
    >>> checked.domain == made.domain
    True
    """
    public = public_key(Path(key))
    contents = read(Path(path))
    if contents.signature is None:
        raise FileError(
            f"{str(path)!r} must be signed, but it is not; ask its publisher for a signed file"
        )
    if not is_signed(public, contents.signature, _CONTEXT + contents.checksums):
        raise FileError(
            f"{str(path)!r} must have a valid signature of the key {str(key)!r}, but it was signed "
            "with another key, or changed after it was signed; do not trust it"
        )
    synopsis = understood(Path(path), contents, allow_simulation=False)
    assert isinstance(synopsis, Synopsis)
    return synopsis


def signature_of(secret: "Ed25519PrivateKey", text: bytes) -> bytes:
    """Sign a text, and write the signature as JSON. The text begins with what it is about."""
    return json.dumps({"kind": "ed25519", "signature": secret.sign(text).hex()}).encode()


def is_signed(
    public: "Ed25519PublicKey",
    signature: bytes,
    text: bytes,
) -> bool:
    """Whether this is a signature of a text, from `signature_of` with the secret key that belongs
    to this public key; False for a malformed one."""
    from cryptography.exceptions import InvalidSignature

    try:
        written = json.loads(signature)
        if written.keys() != {"kind", "signature"} or written["kind"] != "ed25519":
            return False
        public.verify(bytes.fromhex(written["signature"]), text)
    except (InvalidSignature, ValueError, TypeError, AttributeError, RecursionError):
        return False
    return True


def secret_key(path: Path) -> "Ed25519PrivateKey":
    """Read the file of a secret key; FileError if it is none."""
    ed25519, serialization = _library()
    read = partial(serialization.load_pem_private_key, password=None)
    key: Ed25519PrivateKey = _key(path, ed25519.Ed25519PrivateKey, read, "secret")
    return key


def public_key(path: Path) -> "Ed25519PublicKey":
    """Read the file of a public key; FileError if it is none."""
    ed25519, serialization = _library()
    key: Ed25519PublicKey = _key(
        path, ed25519.Ed25519PublicKey, serialization.load_pem_public_key, "public"
    )
    return key


def _key(
    path: Path,
    kind: type,
    load: Any,
    shown: str,
) -> Any:
    """Read a key from a file. `load` parses its bytes, and the result must be of class `kind`."""
    problem = ""
    try:
        with path.open("rb") as file:
            key = load(file.read(_KEY_BYTES))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"cannot be read ({reason}); check the path and its permissions"
    # The library raises many classes for a malformed key. Its messages may quote the file, which
    # may be secret, so they are dropped.
    except Exception:
        key = None
    if not problem and not isinstance(key, kind):
        problem = (
            f"does not hold a {shown} Ed25519 key in PEM format without a password; "
            f"{_instead(path, shown)}"
        )
    if problem:
        raise FileError(f"the key file {str(path)!r} {problem}")
    return key


def _instead(path: Path, shown: str) -> str:
    """What to do about a file that does not hold the key that is needed."""
    other = path.with_suffix("") if path.suffix == ".pub" else Path(f"{path}.pub")
    if (path.suffix == ".pub") == (shown == "secret") and other.is_file():
        return f"give the {shown} key {str(other)!r}"
    return "make a key pair with `margin keygen`"


def _write_new(
    path: Path,
    text: bytes,
    *,
    mode: int,
) -> None:
    """Write a file that does not exist yet, with these permissions from the start."""
    problem = ""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        problem = f"{str(path)!r} {_EXISTS}"
    except OSError as error:
        problem = unwritable(path, error)
    if problem:
        raise FileError(problem)


def _library() -> tuple[Any, Any]:
    """Import the modules `ed25519` and `serialization` of `cryptography`; FileError if missing."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise_shortage(error)
        raise FileError(
            "signing and checking signatures need the package cryptography, but it is not "
            "installed; run pip install cryptography"
        ) from None
    return ed25519, serialization
