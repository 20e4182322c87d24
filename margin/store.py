"""The .margin file format: a zip archive of JSON texts and .npy arrays, with checksums.

A file holds the domain, the fields of the synopsis, the statement of protection, the mechanism with
its parameters and the course of its run, and the version of the library. The base of a release is
in the file, too: the rows of a public table, or the content of an earlier release. Everything in it
was declared, was public, or was paid for; not even the time of the release is stored. Nothing is
pickled. A file can be signed; see `signature`.

A file may come from a stranger, so its content is checked before it is used. No name in it is ever
opened as a path. An array is decompressed only up to the length that the domain and the fields of
the synopsis allow.
"""

import dataclasses
import hashlib
import io
import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ._replace import replacing
from ._version import __version__
from .data.files import SUFFIXES
from .domain.domain import Domain, refuse_files
from .errors import FileError
from .interrupts.shortage import shortage
from .privacy.event import Course
from .privacy.ledger import Token
from .privacy.statement import Bound, Statement, is_digest
from .simulation import Simulation
from .synopses import (
    BoxSynopsis,
    CellSynopsis,
    ColumnCounts,
    ItemsetCounts,
    LevelSynopsis,
    MarginalSynopsis,
    RecordSynopsis,
    SketchSynopsis,
    TableSynopsis,
    UniformSynopsis,
    ViewSynopsis,
)
from .synopses.synopsis import Packed, Provenance, Synopsis
from .synopses.views.stored import replaced_solver

__all__ = ["Contents", "load", "read", "release_digest", "save", "understood", "write"]

FORMAT = 3
_MANIFEST = "manifest.json"
_CHECKSUMS = "checksums.json"
_SIGNATURE = "signature.json"
_TEXTS = (_MANIFEST, _CHECKSUMS, _SIGNATURE)
_ARRAY = ".npy"

_DEFLATED = 1 << 24
"""Largest text that is stored compressed, in bytes. A longer text is not compressed. A reader can
therefore refuse every longer compressed text as a decompression bomb."""

_SQLITE = b"SQLite format 3\0"

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")
"""What may be the number of a version of margin."""

_HEADER = 10_000
"""Largest header of an array, in bytes."""

_DEPTH = 60
"""Largest nesting depth of lists and objects in a manifest."""

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
"""The fields of every manifest."""

_OPTIONAL = {"base", "description"}
"""The fields that a manifest may have besides."""

_COURSE = "course of this run"
"""The name under which the mechanism of a manifest holds the course of the run. It is no name of a
parameter. Versions that do not know it read such a file, and show it as a parameter."""

_KINDS: Mapping[str, type[Synopsis]] = {
    kind.__name__: kind
    for kind in (
        BoxSynopsis,
        CellSynopsis,
        ColumnCounts,
        ItemsetCounts,
        SketchSynopsis,
        ViewSynopsis,
        LevelSynopsis,
        MarginalSynopsis,
        RecordSynopsis,
        TableSynopsis,
        UniformSynopsis,
    )
}


class _OtherFormatError(Exception):
    """The error for a manifest of another format number than this version reads. Its text is the
    problem."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        # Every format has these two. A file of a stranger may hold anything there.
        number, version = manifest["format"], manifest.get("version")
        which = f"format {number}" if number in range(1000) else "another format"
        writer = "the version of margin that wrote it"
        if isinstance(version, str) and _VERSION.fullmatch(version):
            writer = f"margin {version}, which wrote it"
            if version == __version__:
                writer = f"the commit of margin {version} that wrote it"
        super().__init__(
            f"has {which}, but margin {__version__} reads only format {FORMAT}; install {writer}, "
            "in an environment of its own"
        )


class Contents(NamedTuple):
    """The raw content of a .margin file: the bytes of its members, before they are parsed.

    Attributes
    ----------
    members
        The bytes of the manifest and of the arrays, by name.
    checksums
        The bytes of the list of SHA-256 sums: one for each of `members`. A signature of these bytes
        therefore covers the whole content.
    signature
        The bytes of the signature. None if the file is not signed.
    """

    members: dict[str, bytes]
    checksums: bytes
    signature: bytes | None


def save(
    synopsis: Synopsis,
    path: str | os.PathLike[str],
    *,
    replace: bool = True,
) -> None:
    """Write a synopsis to a .margin file. If this fails, an existing file stays as it was.

    A file holds no code. The solver of a `ViewSynopsis` is stored with its parameters if it is one
    of `margin.solvers`; of a solver of your own, the file holds the name alone, and `load` warns.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    path
        The file.
    replace
        Whether an existing file is replaced.

    Raises
    ------
    FileError
        If the synopsis is not the result of a release or simulation, if its class is not one of
        this package, or if the file cannot be written, or exists and may not be replaced.
    """
    contents = _contents(synopsis)
    write(Path(path), contents, replace=replace)


def release_digest(synopsis: Synopsis) -> str | None:
    """The digest of a release: "sha256:" and the SHA-256 of checksums.json in its .margin file.

    That member lists the digests of all others, so files of two releases have different digests,
    and a signature does not change it. Nor do categories that were changed after the release. None
    if no .margin file can hold the synopsis.

    Examples
    --------
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> release_digest(made) == release_digest(made)
    True
    """
    synopsis = synopsis.released
    if synopsis.provenance is None or _KINDS.get(type(synopsis).__name__) is not type(synopsis):
        return None
    return f"sha256:{hashlib.sha256(_contents(synopsis).checksums).hexdigest()}"


def _contents(synopsis: Synopsis) -> Contents:
    """The content of the file of a synopsis, without a signature; see `save`."""
    provenance = synopsis.provenance
    if provenance is None:
        raise FileError(
            "only the result of `release` or `simulate` can be saved, but this synopsis is not "
            "one; save what they return"
        )
    kind = type(synopsis).__name__
    if _KINDS.get(kind) is not type(synopsis):
        raise FileError(
            f"a .margin file can hold {', '.join(sorted(_KINDS))}, but not a {kind}; write the "
            "arrays of its fields yourself, such as with numpy.savez, beside the text of "
            "synopsis.provenance.statement.describe()"
        )
    packed = synopsis.pack()
    token = provenance.token
    manifest = {
        "format": FORMAT,
        "private": provenance.private,
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "statement": provenance.statement.to_json(),
        "mechanism": _with_course(provenance),
        "kind": kind,
        "synopsis": packed.fields,
        "charge": None if token is None else dataclasses.asdict(token),
    }
    if provenance.base is not None:
        manifest["base"] = provenance.base
    if provenance.description is not None:
        manifest["description"] = provenance.description
    members = {_MANIFEST: _encoded(manifest)}
    for name, array in packed.arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        members[name + _ARRAY] = buffer.getvalue()
    return Contents(members, _encoded(_sums(members)), None)


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
        The synopsis, of the class that was saved. If the file was written by a simulation, a
        `Simulation` without the true counts.

    Raises
    ------
    FileError
        If the file is missing, not a .margin file, damaged, of another format version, or a
        simulation although `allow_simulation` is False.

    Warns
    -----
    UserWarning
        If the release was saved with a solver of the user's own, which no file can hold. Marginals
        that no view covers are then reconstructed by the default solver, and may differ from those
        before; `ViewSynopsis.with_reconstruction` gives the solver again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made.save(pathlib.Path(folder) / "a.margin")
    ...     again = margin.load(pathlib.Path(folder) / "a.margin")
    >>> bool((again.marginal(["a"]).counts == made.marginal(["a"]).counts).all())
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise FileError(
            "load needs the path of a .margin file, but it got an object of type "
            f"{type(path).__name__}; pass a path, or release a table with margin.release"
        )
    return understood(Path(path), read(Path(path)), allow_simulation=allow_simulation)


def understood(
    path: Path,
    contents: Contents,
    *,
    allow_simulation: bool,
) -> Synopsis | Simulation[Synopsis]:
    """Make the synopsis from the members of a file; see `load`."""
    problem = ""
    try:
        manifest = _manifest(contents.members)
        synopsis = _synopsis(manifest, contents.members)
        is_views = isinstance(synopsis, ViewSynopsis)
        replaced = replaced_solver(manifest["synopsis"]) if is_views else None
    # A crafted file can make a library raise any error, including MemoryError and RecursionError.
    except Exception as error:
        kind = type(error).__name__
        problem = f"is damaged, or was not written by this library ({kind}); get a fresh copy"
        problem = _lacking(error) or problem
    if problem:
        raise FileError(f"{str(path)!r} {problem}")
    assert synopsis.provenance is not None
    course = synopsis.provenance.course
    if course is not None and not course.keeps_to_budget:
        raise FileError(
            f"{str(path)!r} must hold a release that was charged at most its budget, "
            f"{course.units} units of 1e-12, but its answers were charged {course.charged} units, "
            "so that the guarantee that it states does not hold; do not use it, and tell its "
            "publisher"
        )
    if not synopsis.provenance.private and not allow_simulation:
        raise FileError(
            f"{str(path)!r} must hold a private release, but it holds a simulation, which is not "
            "private; to read it anyway, pass allow_simulation=True (on the command line: "
            "--allow-simulation)"
        )
    if replaced is not None:
        warnings.warn(
            f"{str(path)!r} was saved with the solver {replaced}, which is none of margin.solvers "
            "and cannot be in a file; the default solver, Newton, answers in its place, and "
            "reconstructed marginals may differ from those before: give the solver again with "
            "with_reconstruction(...)",
            stacklevel=3,
        )
    return synopsis if synopsis.provenance.private else Simulation(synopsis)


def _manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Parse the manifest, and check its format number and its depth of nesting."""
    manifest = json.loads(members[_MANIFEST], parse_constant=_no_constant)
    if not isinstance(manifest, dict):
        raise ValueError(
            f"the manifest must be an object, but it is of type {type(manifest).__name__}; get a "
            "fresh copy of the file"
        )
    if manifest["format"] is True or manifest["format"] != FORMAT:
        raise _OtherFormatError(manifest)
    _check_depth(manifest)
    return manifest


def _synopsis(manifest: dict[str, Any], members: Mapping[str, bytes]) -> Synopsis:
    """Make the synopsis that a manifest and its arrays describe."""
    if set(manifest) - _OPTIONAL != _FIELDS or not isinstance(manifest["private"], bool):
        raise ValueError(
            f"the manifest must have the keys {', '.join(sorted(_FIELDS))}, and private must be "
            f"true or false, but it has the keys {', '.join(sorted(manifest))}; get a fresh copy "
            "of the file"
        )
    kind = _KINDS[manifest["kind"]]
    domain = _domain(manifest["domain"])
    fields = dict(manifest["synopsis"])
    mechanism, course = _without_course(manifest["mechanism"])
    provenance = Provenance(
        mechanism=mechanism,
        statement=_statement(manifest["statement"]),
        private=manifest["private"],
        version=str(manifest["version"]),
        token=_token(manifest["charge"]),
        base=_stated(manifest.get("base"), private=manifest["private"]),
        known=tuple(domain.known),
        description=_description(manifest.get("description")),
        course=course,
    )
    arrays = {}
    for name, content in members.items():
        if name != _MANIFEST:
            arrays[name.removesuffix(_ARRAY)] = _array(content)
    synopsis = kind.unpack(
        Packed(fields, arrays),
        domain=domain,
        provenance=provenance,
    )
    base = synopsis.base if isinstance(synopsis, ViewSynopsis) else None
    if provenance.base != (None if base is None else base.stated):
        raise ValueError(
            "a file must state the base that it holds, but it states another one or none; get a "
            "fresh copy of the file"
        )
    return synopsis


def _with_course(provenance: Provenance) -> Any:
    """The mechanism of a manifest, with the course of the run if it is known."""
    mechanism = provenance.mechanism
    if provenance.course is None or not isinstance(mechanism, dict):
        return mechanism
    return {**mechanism, _COURSE: provenance.course.to_json()}


def _without_course(written: Any) -> tuple[Any, Course | None]:
    """The mechanism of a manifest, and the course of the run; None if there is none."""
    if not isinstance(written, dict) or _COURSE not in written:
        return written, None
    mechanism = {name: value for name, value in written.items() if name != _COURSE}
    return mechanism, Course.from_json(written[_COURSE])


def _description(text: Any) -> str | None:
    """The sentence of a manifest about its table, which must be a text if there is one."""
    if text is None or isinstance(text, str):
        return text
    raise ValueError(
        "the description of a manifest must be a text, but it is of type "
        f"{type(text).__name__}; get a fresh copy of the file"
    )


def _domain(declared: Any) -> Domain:
    """Make the domain of a manifest. It must be an object: `Domain` would open a text as a path."""
    if not isinstance(declared, dict):
        raise ValueError(
            "the domain of a manifest must be an object, but it is of type "
            f"{type(declared).__name__}; get a fresh copy of the file"
        )
    refuse_files(declared)
    return Domain(declared)


def _check_depth(value: Any) -> None:
    """Raise ValueError if a value is nested too deeply for later code, which may use recursion."""
    level = [value]
    for _ in range(_DEPTH):
        # Collect the lists and objects that lie one level deeper.
        deeper = []
        for outer in level:
            parts = outer.values() if isinstance(outer, dict) else outer
            deeper += [part for part in parts if isinstance(part, dict | list)]
        level = deeper
        if not level:
            return
    raise ValueError(
        f"the lists and objects of a manifest must lie at most {_DEPTH} levels deep, but they lie "
        "deeper; get a fresh copy of the file"
    )


def _array(content: bytes) -> NDArray[np.generic]:
    """Read the array in a member of a file. ValueError if its size is not what its header
    states."""
    # Parse the header, without making the array.
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(
            "an array must be in the .npy format 1.0, but it is in another format; get a fresh "
            "copy of the file"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about headers written by Python 2
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=_HEADER)
    expected = math.prod(shape) * dtype.itemsize
    present = len(content) - stream.tell()
    if dtype.hasobject or min(shape, default=0) < 0 or expected != present:
        raise ValueError(
            f"an array of shape {shape} and type {dtype} must have {expected} bytes and hold no "
            f"objects, but it has {present} bytes or holds objects; get a fresh copy of the file"
        )
    # Now that its size is known to be right, make the array.
    stream.seek(0)
    array: NDArray[np.generic] = np.load(stream, allow_pickle=False)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            "an array must hold finite numbers, but one of them is not finite; get a fresh copy of "
            "the file"
        )
    return array


def _token(written: Any) -> Token | None:
    """Read the receipt of a ledger from a manifest; None if there is none."""
    if written is None:
        return None
    kinds = {"ledger": str, "dataset": str, "sequence": int, "head": str}
    if {name: type(value) for name, value in written.items()} != kinds:
        raise ValueError(
            "a receipt must have ledger, dataset and head, which are texts, and sequence, an "
            "integer, but it has other keys or types; get a fresh copy of the file"
        )
    return Token(**written)


def _statement(written: Any) -> Statement:
    """Read the statement of a release, which says itself how many rows of a unit it counts."""
    said = Statement.from_json(written)
    if said.bound is Bound.EACH_RELEASE:
        raise ValueError(
            "the statement of a release must say how many rows of a unit it counts, but it is that "
            "of a data set of a ledger; get a fresh copy of the file"
        )
    return said


def _stated(written: Any, *, private: bool) -> dict[str, Any] | None:
    """Read the statement of the base from a manifest; None if there is none.

    A base may be an earlier release with a base of its own. All bases of a release are public or
    releases, because a simulation protects nobody.
    """
    base = written
    while base is not None:
        if base["kind"] == "public table" and isinstance(base["source"], str):
            break
        _statement(base["statement"])
        _token(base["charge"])
        digest = base.get("digest")  # earlier versions wrote none
        if digest is not None and not is_digest(digest):
            raise ValueError(
                "the digest of a base must be 'sha256:' and 64 hexadecimal digits, but it is not; "
                "get a fresh copy of the file"
            )
        flags = base["private"], base.get("total_is_public", False)
        if base["kind"] != "release" or set(map(type, flags)) != {bool} or flags[0] < private:
            raise ValueError(
                "the statement of a base must be that of a public table or of a release, and the "
                "base of a private release must be private, but it is not; get a fresh copy of the "
                "file"
            )
        base = base["base"]
    stated: dict[str, Any] | None = written
    return stated


def _encoded(value: object) -> bytes:
    return json.dumps(
        value,
        indent=1,
        allow_nan=False,
    ).encode()


def _no_constant(name: str) -> float:
    raise ValueError(
        f"a manifest must hold finite numbers, but it holds {name}; get a fresh copy of the file"
    )


def _sums(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}


def _lacking(error: Exception) -> str:
    """What the machine may have lacked when a file was read, as its problem; else empty."""
    found = shortage(error)
    return "" if found is None else f"cannot be read: {found.text}; or the file is damaged"


def write(
    path: Path,
    contents: Contents,
    *,
    replace: bool = True,
) -> None:
    """Write the members of a file. If this fails, an existing file stays as it was.

    Raises
    ------
    FileError
        If the file cannot be written, or exists and `replace` is False.
    """
    members = {**contents.members, _CHECKSUMS: contents.checksums}
    if contents.signature is not None:
        members[_SIGNATURE] = contents.signature
    opened = replacing(path, only_new=not replace)
    with opened as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            too_long = name in _TEXTS and len(content) > _DEFLATED
            compression = zipfile.ZIP_STORED if too_long else zipfile.ZIP_DEFLATED
            # A plain ZipInfo has a fixed date. So equal releases make equal files, and the time of
            # the release stays unknown.
            archive.writestr(zipfile.ZipInfo(name), content, compression)


def _is_json(path: Path) -> bool:
    """Whether a file looks like JSON, such as a domain that is given instead of a release."""
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] in (b"{", b"[")


def read(path: Path) -> Contents:
    """Read the members of a file and compare them with their checksums.

    No member is decompressed beyond its declared and allowed length.

    Raises
    ------
    FileError
        If the file is missing, not a .margin file, or damaged.
    """
    problem = ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) != len(set(names)) or not _is_margin(set(names)):
                problem = "is not a .margin file; give a file that `margin release` wrote"
            else:
                contents = _inflated(archive)
                if json.loads(contents.checksums) != _sums(contents.members):
                    problem = "is damaged (a checksum does not match); get a fresh copy"
    except FileNotFoundError:
        problem = "does not exist; check the path"
    except _OtherFormatError as error:
        problem = str(error)
    # As in `understood`, a crafted file can raise any error.
    except Exception as error:
        kind = type(error).__name__
        problem = f"is not a .margin file, or is damaged ({kind}); get a fresh copy"
        problem = _lacking(error) or problem
        if kind == "BadZipFile" and _is_json(path):
            problem = "is a JSON file, not a .margin file; give a file that `margin release` wrote"
        elif kind == "BadZipFile" and _is_ledger(path):
            problem = "is a ledger, not a .margin file; `margin ledger show` prints it"
        elif kind == "BadZipFile" and path.name.endswith(SUFFIXES):
            problem = (
                "is a table of rows, not a .margin file; release it first, with `margin release`, "
                "and give the file that this writes"
            )
        elif kind == "IsADirectoryError":
            problem = "is a folder, not a .margin file; give a file that `margin release` wrote"
    if problem:
        raise FileError(f"{str(path)!r} {problem}")
    return contents


def _is_ledger(path: Path) -> bool:
    """Whether a file begins as those of SQLite, the format of a ledger, do."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _inflated(archive: zipfile.ZipFile) -> Contents:
    """Decompress the members of an archive; ValueError if one is longer than allowed."""
    members: dict[str, bytes] = {}
    listed = {member.filename: member for member in archive.infolist()}
    # Read the texts first. A long text must be stored uncompressed, so it cannot be a bomb.
    for name in _TEXTS:
        if name not in listed:
            continue
        member = listed.pop(name)
        if member.compress_type != zipfile.ZIP_STORED and member.file_size > _DEFLATED:
            raise ValueError(
                f"{name} must be stored uncompressed, because it has more than {_DEFLATED} bytes, "
                "but it is compressed; get a fresh copy of the file"
            )
        members[name] = _member(archive, member)
    checksums = members.pop(_CHECKSUMS)
    signature = members.pop(_SIGNATURE, None)
    # The manifest limits the length of each array.
    manifest = _manifest(members)
    kind = _KINDS[manifest["kind"]]
    domain = _domain(manifest["domain"])
    room = kind.room(dict(manifest["synopsis"]), domain=domain)
    # Read the arrays, whose elements have at most 8 bytes each.
    for name, member in listed.items():
        most = 8 * room[name.removesuffix(_ARRAY)] + _HEADER
        if member.file_size > most:
            raise ValueError(
                f"{name} must have at most {most} bytes, but it has {member.file_size}; get a "
                "fresh copy of the file"
            )
        members[name] = _member(archive, member)
    return Contents(members, checksums, signature)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Decompress one member, up to its declared length; ValueError if the length is wrong."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(
            f"{member.filename} must be stored or deflated, but it is compressed in another way "
            f"({member.compress_type}); get a fresh copy of the file"
        )
    with archive.open(member) as file:
        content = file.read(member.file_size) if member.file_size else b""
        if len(content) != member.file_size or file.read(1):
            raise ValueError(
                f"{member.filename} must have {member.file_size} bytes, but it has fewer or more; "
                "get a fresh copy of the file"
            )
    return content


def _is_margin(names: set[str]) -> bool:
    """Whether a file whose members have these names can be a .margin file."""
    others = names - set(_TEXTS)
    complete = {_MANIFEST, _CHECKSUMS} <= names
    return complete and all(name.endswith(_ARRAY) for name in others)
