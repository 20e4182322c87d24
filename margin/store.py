"""The .margin file: a zip of JSON and .npy arrays, with checksums, and never a pickle.

It holds the domain, what the synopsis consists of, what is protected, the mechanism with its
parameters, and the version of the library: nothing that was not declared or paid for, not even a
time. It may be signed (`signature`).

A file may come from anyone. What it says is checked before it is believed: no name in it is ever
opened, and an array is inflated only when it is no longer than the domain and the fields of the
synopsis leave room for.
"""

import dataclasses
import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ._replace import replacing
from .domain.domain import Domain
from .errors import FileError
from .privacy.ledger import Token
from .privacy.statement import Statement
from .simulation import Simulation
from .synopses import (
    CellSynopsis,
    ColumnCounts,
    ItemsetCounts,
    MarginalSynopsis,
    RecordSynopsis,
    SketchSynopsis,
    TableSynopsis,
    UniformSynopsis,
    ViewSynopsis,
)
from .synopses.synopsis import Packed, Provenance, Synopsis

__all__ = ["Contents", "load", "read", "save", "understood", "write"]

FORMAT = 3
_MANIFEST, _CHECKSUMS, _SIGNATURE, _ARRAY = (
    "manifest.json",
    "checksums.json",
    "signature.json",
    ".npy",
)
_TEXTS = (_MANIFEST, _CHECKSUMS, _SIGNATURE)

_DEFLATED = 1 << 24
"""Bytes of the longest text that is kept compressed. A longer one is kept as it is, so that it
cannot be a bomb."""

_HEADER = 10_000
"""Bytes of the longest header of an array."""

_DEPTH = 60
"""How deep lists and objects of a manifest may lie in each other."""

_FIELDS = {
    "format",
    "private",
    "version",
    "domain",
    "statement",
    "charge",
    "mechanism",
    "kind",
    "synopsis",
}
_KINDS: Mapping[str, type[Synopsis]] = {
    kind.__name__: kind
    for kind in (
        CellSynopsis,
        ColumnCounts,
        ItemsetCounts,
        SketchSynopsis,
        ViewSynopsis,
        MarginalSynopsis,
        RecordSynopsis,
        TableSynopsis,
        UniformSynopsis,
    )
}


class _OtherFormatError(Exception):
    """A manifest of another version."""


class Contents(NamedTuple):
    """What a file holds, before it is understood.

    `checksums` are the bytes of the file's list of SHA-256 sums, one of each other member but the
    signature: whoever signs them signs all. `signature` is None where there is none.
    """

    members: dict[str, bytes]
    checksums: bytes
    signature: bytes | None


def save(synopsis: Synopsis, path: str | os.PathLike[str]) -> None:
    """Write a synopsis; the file appears whole or not at all.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release or simulation, is of a user's own kind, or
        the file cannot be written.
    """
    provenance = synopsis.provenance
    if provenance is None:
        raise FileError("only what `release` or `simulate` returned can be saved")
    if _KINDS.get(type(synopsis).__name__) is not type(synopsis):
        raise FileError(
            f"a {type(synopsis).__name__} is not a kind of synopsis that a .margin file can hold"
        )
    packed = synopsis.pack()
    manifest = {
        "format": FORMAT,
        "private": provenance.private,
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "statement": provenance.statement.to_json(),
        "mechanism": provenance.mechanism,
        "kind": type(synopsis).__name__,
        "synopsis": packed.fields,
        "charge": None if provenance.token is None else dataclasses.asdict(provenance.token),
    }
    members = {_MANIFEST: _encoded(manifest)}
    for name, array in packed.arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        members[name + _ARRAY] = buffer.getvalue()
    write(Path(path), Contents(members, _encoded(_sums(members)), None))


@overload
def load(path: str | os.PathLike[str]) -> Synopsis: ...


@overload
def load(
    path: str | os.PathLike[str], *, allow_simulation: bool
) -> Synopsis | Simulation[Synopsis]: ...


def load(
    path: str | os.PathLike[str], *, allow_simulation: bool = False
) -> Synopsis | Simulation[Synopsis]:
    """Read a .margin file.

    Parameters
    ----------
    path
        The file.
    allow_simulation
        Whether the file of a simulation, which is not private, may be read.

    Returns
    -------
    Synopsis or Simulation
        Of the kind that was saved. A `Simulation` only from the file of one, and then without the
        truth.

    Raises
    ------
    FileError
        When the file is missing, not a .margin file, damaged, of another format, or a simulation
        that is not allowed.
    """
    return understood(Path(path), read(Path(path)), allow_simulation=allow_simulation)


def understood(
    path: Path, contents: Contents, *, allow_simulation: bool
) -> Synopsis | Simulation[Synopsis]:
    """What the contents of a file mean; see `load`."""
    problem = ""
    try:
        synopsis = _synopsis(_manifest(contents.members), contents.members)
    # A crafted file can make any part of any library raise anything, MemoryError and RecursionError
    # included.
    except Exception as error:
        problem = f"is damaged or was not written by this library ({type(error).__name__})"
    if problem:
        raise FileError(f"{str(path)!r} {problem}")
    assert synopsis.provenance is not None
    if synopsis.provenance.private:
        return synopsis
    if not allow_simulation:
        raise FileError(
            f"{str(path)!r} is a simulation and not private; pass allow_simulation=True to read it all the same"
        )
    return Simulation(synopsis)


def _manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    manifest = json.loads(members[_MANIFEST], parse_constant=_no_constant)
    if not isinstance(manifest, dict):
        raise ValueError("unexpected manifest")
    if manifest["format"] is True or manifest["format"] != FORMAT:
        raise _OtherFormatError
    _check_depth(manifest)
    return manifest


def _synopsis(manifest: dict[str, Any], members: Mapping[str, bytes]) -> Synopsis:
    if set(manifest) != _FIELDS or not isinstance(manifest["private"], bool):
        raise ValueError("unexpected fields")
    kind, domain, fields = (
        _KINDS[manifest["kind"]],
        _domain(manifest["domain"]),
        dict(manifest["synopsis"]),
    )
    provenance = Provenance(
        mechanism=manifest["mechanism"],
        statement=Statement.from_json(manifest["statement"]),
        private=manifest["private"],
        version=str(manifest["version"]),
        token=_token(manifest["charge"]),
    )
    arrays = {
        name[: -len(_ARRAY)]: _array(content)
        for name, content in members.items()
        if name != _MANIFEST
    }
    return kind.unpack(Packed(fields, arrays), domain=domain, provenance=provenance)


def _domain(declared: Any) -> Domain:
    """The domain of a manifest. Only an object is one: `Domain` would open a text as a path."""
    if not isinstance(declared, dict):
        raise ValueError("unexpected domain")
    return Domain(declared)


def _check_depth(value: Any) -> None:
    """Refuse what lies deeper than what a release writes: whoever walks through it later may do so
    by recursion."""
    level = [value]
    for _ in range(_DEPTH):
        inner = [
            list(it.values()) if isinstance(it, dict) else it
            for it in level
            if isinstance(it, dict | list)
        ]
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return
    raise ValueError("unexpected depth")


def _array(content: bytes) -> NDArray[np.generic]:
    """The array of a member, whose header must describe all of its bytes and no more."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("unexpected array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers as Python 2 wrote them
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=_HEADER)
    expected = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or expected != len(content) - stream.tell():
        raise ValueError("unexpected array")
    stream.seek(0)
    array: NDArray[np.generic] = np.load(stream, allow_pickle=False)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("unexpected array")
    return array


def _token(written: Any) -> Token | None:
    if written is None:
        return None
    kinds = {"ledger": str, "dataset": str, "sequence": int, "head": str}
    if {name: type(value) for name, value in written.items()} != kinds:
        raise ValueError("unexpected receipt")
    return Token(**written)


def _encoded(value: object) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _sums(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}


def write(path: Path, contents: Contents) -> None:
    """Write the contents of a file; it appears whole or not at all.

    Raises
    ------
    FileError
        When it cannot be written.
    """
    signature = {} if contents.signature is None else {_SIGNATURE: contents.signature}
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in {
            **contents.members,
            _CHECKSUMS: contents.checksums,
            **signature,
        }.items():
            plain = name in _TEXTS and len(content) > _DEFLATED
            # A bare ZipInfo carries a fixed date: equal releases make equal files, and no time is
            # told.
            archive.writestr(
                zipfile.ZipInfo(name),
                content,
                zipfile.ZIP_STORED if plain else zipfile.ZIP_DEFLATED,
            )


def read(path: Path) -> Contents:
    """The contents of a file, inflated no further than what they declare, and equal to their
    checksums.

    Raises
    ------
    FileError
        When the file is missing, not a .margin file, or damaged.
    """
    problem = ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) != len(set(names)) or not _is_margin(set(names)):
                problem = "is not a .margin file"
            else:
                contents = _inflated(archive)
                if json.loads(contents.checksums) != _sums(contents.members):
                    problem = "is damaged: a checksum does not match; get a fresh copy"
    except FileNotFoundError:
        problem = "does not exist"
    except _OtherFormatError:
        problem = f"has a format that this version does not know (it knows {FORMAT}); install a newer version"
    # See `understood`.
    except Exception as error:
        problem = f"is not a .margin file, or is damaged ({type(error).__name__}); get a fresh copy"
    if problem:
        raise FileError(f"{str(path)!r} {problem}")
    return contents


def _inflated(archive: zipfile.ZipFile) -> Contents:
    """First the texts, of which none can be a bomb, then the arrays, for which the texts leave
    room."""
    members: dict[str, bytes] = {}
    listed = {member.filename: member for member in archive.infolist()}
    for name in filter(listed.__contains__, _TEXTS):
        if listed[name].compress_type != zipfile.ZIP_STORED and listed[name].file_size > _DEFLATED:
            raise ValueError("unexpected length")
        members[name] = _member(archive, listed.pop(name))
    checksums, signature = members.pop(_CHECKSUMS), members.pop(_SIGNATURE, None)
    manifest = _manifest(members)
    room = _KINDS[manifest["kind"]].room(
        dict(manifest["synopsis"]), domain=_domain(manifest["domain"])
    )
    for name, member in listed.items():
        if member.file_size > 8 * room[name[: -len(_ARRAY)]] + _HEADER:
            raise ValueError("unexpected length")
        members[name] = _member(archive, member)
    return Contents(members, checksums, signature)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, of which it is known how many there should be: no more are inflated."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("unexpected compression")
    with archive.open(member) as file:
        content = file.read(member.file_size) if member.file_size else b""
        if len(content) != member.file_size or file.read(1):
            raise ValueError("unexpected length")
    return content


def _is_margin(names: set[str]) -> bool:
    return {_MANIFEST, _CHECKSUMS} <= names and all(
        name.endswith(_ARRAY) for name in names - set(_TEXTS)
    )
