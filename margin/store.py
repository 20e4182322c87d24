"""The .margin file: a zip of JSON and .npy arrays, with checksums, and never a pickle.

It holds the domain, what the synopsis consists of, the budget spent, the mechanism with its parameters, and the version
of the library: nothing that was not declared or paid for, not even a time.
"""

import dataclasses
import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .budget import budget_from_json
from .domain import Domain
from .errors import FileError, MarginError
from .ledger import Token
from .release import Simulation
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
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["load", "save"]

FORMAT = 2
_MANIFEST, _CHECKSUMS, _ARRAY = "manifest.json", "checksums.json", ".npy"
_MAX_BYTES = 1 << 33
_FIELDS = {"format", "private", "version", "domain", "spent", "charge", "mechanism", "kind", "synopsis"}
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


def save(synopsis: Synopsis, path: str | os.PathLike[str]) -> None:
    """Write a synopsis; the file appears whole or not at all.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release or simulation, is of a user's own kind, or the file cannot be
        written.
    """
    provenance = synopsis.provenance
    if provenance is None:
        raise FileError("only what `release` or `simulate` returned can be saved")
    if _KINDS.get(type(synopsis).__name__) is not type(synopsis):
        raise FileError(f"a {type(synopsis).__name__} is not a kind of synopsis that a .margin file can hold")
    packed = synopsis.pack()
    manifest = {
        "format": FORMAT,
        "private": provenance.private,
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "spent": provenance.spent.to_json(),
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
    members[_CHECKSUMS] = _encoded({name: hashlib.sha256(content).hexdigest() for name, content in members.items()})
    _write(Path(path), members)


@overload
def load(path: str | os.PathLike[str]) -> Synopsis: ...


@overload
def load(path: str | os.PathLike[str], *, allow_simulation: bool) -> Synopsis | Simulation[Synopsis]: ...


def load(path: str | os.PathLike[str], *, allow_simulation: bool = False) -> Synopsis | Simulation[Synopsis]:
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
        Of the kind that was saved. A `Simulation` only from the file of one, and then without the truth.

    Raises
    ------
    FileError
        When the file is missing, not a .margin file, damaged, of another format, or a simulation that is not allowed.
    """
    members = _read(Path(path))
    problem = ""
    try:
        manifest = json.loads(members[_MANIFEST], parse_constant=_no_constant)
        if isinstance(manifest, dict) and (manifest.get("format") is True or manifest.get("format") != FORMAT):
            problem = f"has a format that this version does not know (it knows {FORMAT}); install a newer version"
        else:
            synopsis = _synopsis(manifest, members)
    except (MarginError, ValueError, TypeError, KeyError, AttributeError, EOFError) as error:
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


def _synopsis(manifest: Any, members: Mapping[str, bytes]) -> Synopsis:
    if not isinstance(manifest, dict) or set(manifest) != _FIELDS or not isinstance(manifest["private"], bool):
        raise ValueError("unexpected fields")
    arrays = {name[: -len(_ARRAY)]: _array(content) for name, content in members.items() if name != _MANIFEST}
    provenance = Provenance(
        mechanism=manifest["mechanism"],
        spent=budget_from_json(manifest["spent"]),
        private=manifest["private"],
        version=str(manifest["version"]),
        token=_token(manifest["charge"]),
    )
    packed = Packed(dict(manifest["synopsis"]), arrays)
    return _KINDS[manifest["kind"]].unpack(packed, domain=Domain(manifest["domain"]), provenance=provenance)


def _array(content: bytes) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.load(io.BytesIO(content), allow_pickle=False)
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
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).encode()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _write(path: Path, members: Mapping[str, bytes]) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    problem = ""
    try:
        with part.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in members.items():
                    # A bare ZipInfo carries a fixed date: equal releases make equal files, and no time is told.
                    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(f"{str(path)!r} cannot be written: {problem}")


def _read(path: Path) -> dict[str, bytes]:
    problem = ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) != len(set(names)) or not _is_margin(set(names)):
                problem = "is not a .margin file"
            elif sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                problem = f"unpacks to more than {_MAX_BYTES} bytes"
            else:
                members = {name: archive.read(name) for name in names}
                checksums = json.loads(members.pop(_CHECKSUMS))
                if checksums != {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}:
                    problem = "is damaged: a checksum does not match; get a fresh copy"
    except FileNotFoundError:
        problem = "does not exist"
    except (OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zipfile.BadZipFile, zlib.error):
        problem = "is not a .margin file, or is damaged; get a fresh copy"
    if problem:
        raise FileError(f"{str(path)!r} {problem}")
    return members


def _is_margin(names: set[str]) -> bool:
    return {_MANIFEST, _CHECKSUMS} <= names and all(n.endswith(_ARRAY) for n in names - {_MANIFEST, _CHECKSUMS})
