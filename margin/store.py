"""The .margin file: a zip of JSON and one .npy array, with checksums, and never a pickle.

It holds the domain, the views and their consistent tables, the noise variances, the budget spent, the mechanism with
its parameters, and the version of the library: nothing that was not declared or paid for, not even a time.
"""

import dataclasses
import hashlib
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np

from .budget import budget_from_json
from .domain import Domain
from .errors import FileError, MarginError
from .ledger import Token
from .release import Simulation, describe
from .solvers import Ladder, Newton, Solver, Tables
from .synopsis import Provenance, ViewSynopsis

__all__ = ["load", "save"]

FORMAT = 1
_MANIFEST, _TABLES, _CHECKSUMS = "manifest.json", "tables.npy", "checksums.json"
_MAX_BYTES = 1 << 33
_FIELDS = {
    "format",
    "private",
    "version",
    "domain",
    "spent",
    "charge",
    "mechanism",
    "reconstruction",
    "views",
    "variances",
}
_SOLVERS: Mapping[str, type[Newton] | type[Ladder]] = {"Newton": Newton, "Ladder": Ladder}


def save(synopsis: ViewSynopsis, path: str | os.PathLike[str]) -> None:
    """Write a synopsis; the file appears whole or not at all.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release or simulation, or the file cannot be written.
    """
    provenance = synopsis.provenance
    if provenance is None:
        raise FileError("only what `release` or `simulate` returned can be saved")
    manifest = {
        "format": FORMAT,
        "private": provenance.private,
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "spent": provenance.spent.to_json(),
        "mechanism": provenance.mechanism,
        "reconstruction": describe(synopsis.reconstruction),
        "views": synopsis.names,
        "variances": synopsis.tables.variances,
        "charge": None if provenance.token is None else dataclasses.asdict(provenance.token),
    }
    array = io.BytesIO()
    np.save(array, np.concatenate([value.ravel() for value in synopsis.tables.values]), allow_pickle=False)
    members = {_MANIFEST: _encoded(manifest), _TABLES: array.getvalue()}
    members[_CHECKSUMS] = _encoded({name: hashlib.sha256(content).hexdigest() for name, content in members.items()})
    _write(Path(path), members)


@overload
def load(path: str | os.PathLike[str], *, reconstruction: Solver | None = None) -> ViewSynopsis: ...


@overload
def load(
    path: str | os.PathLike[str], *, reconstruction: Solver | None = None, allow_simulation: bool
) -> ViewSynopsis | Simulation: ...


def load(
    path: str | os.PathLike[str], *, reconstruction: Solver | None = None, allow_simulation: bool = False
) -> ViewSynopsis | Simulation:
    """Read a .margin file.

    Parameters
    ----------
    path
        The file.
    reconstruction
        The solver for what no view covers; by default the one that the release was made with.
    allow_simulation
        Whether the file of a simulation, which is not private, may be read.

    Returns
    -------
    ViewSynopsis or Simulation
        A `Simulation` only from the file of one, and then without the truth.

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
            synopsis = _synopsis(manifest, members[_TABLES], reconstruction)
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


def _synopsis(manifest: Any, array: bytes, reconstruction: Solver | None) -> ViewSynopsis:
    if not isinstance(manifest, dict) or set(manifest) != _FIELDS or not isinstance(manifest["private"], bool):
        raise ValueError("unexpected fields")
    domain = Domain(manifest["domain"])
    names = tuple(domain.view(view) for view in manifest["views"])
    axes = [tuple(sorted(domain.axes(view))) for view in names]
    shapes = [tuple(domain.sizes[axis] for axis in view) for view in axes]
    flat = np.load(io.BytesIO(array), allow_pickle=False)
    sizes = [math.prod(shape) for shape in shapes]
    if flat.dtype != np.float64 or flat.shape != (sum(sizes),) or not np.isfinite(flat).all():
        raise ValueError("unexpected array")
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    tables = Tables(
        sizes=domain.sizes,
        views=tuple(axes),
        values=tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)),
        variances=tuple(float(variance) for variance in manifest["variances"]),
    )
    provenance = Provenance(
        mechanism=manifest["mechanism"],
        spent=budget_from_json(manifest["spent"]),
        private=manifest["private"],
        version=str(manifest["version"]),
        token=_token(manifest["charge"]),
    )
    solver = _solver(manifest["reconstruction"]) if reconstruction is None else reconstruction
    return ViewSynopsis(domain=domain, names=names, tables=tables, reconstruction=solver, provenance=provenance)


def _solver(described: Mapping[str, Any]) -> Solver:
    """The solver of a description, or the default when it is not one of ours."""
    parameters = dict(described)
    made = _SOLVERS.get(parameters.pop("name"))
    return Newton() if made is None else made(**parameters)


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
            if sorted(archive.namelist()) != sorted([_MANIFEST, _TABLES, _CHECKSUMS]):
                problem = "is not a .margin file"
            elif sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                problem = f"unpacks to more than {_MAX_BYTES} bytes"
            else:
                members = {name: archive.read(name) for name in archive.namelist()}
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
