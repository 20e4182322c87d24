"""`publish`: a folder of tables that agree exactly, with a manifest that states what they are.

The folder has a file for each table and format, and ``manifest.json``. It appears complete or not
at all. The manifest holds the statement of privacy, the domain, and for each table its attributes
and the SHA-256 of each file.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._version import __version__
from .domain.marginal import Marginal
from .errors import DomainError, FileError
from .synopses.synopsis import Synopsis

__all__ = ["FORMATS", "publish"]

FORMATS = ("csv", "parquet", "json-stat")
"""The formats of tables."""

_MANIFEST = "manifest.json"
_ENDINGS = {"csv": ".csv", "parquet": ".parquet", "json-stat": ".json"}
_NUMBERS = ("count", "low", "high")
_LEVEL = 0.95

_NAME_LENGTH = 80
"""Largest number of characters of a file's name that come from names of attributes."""

_MEANING = (
    "count is the published number of rows. Any two tables have exactly the same counts on the "
    "attributes that they share, and all tables have the same total. low and high bound the true "
    "number with a probability of 95 %: they allow for the noise that was added on purpose and, in "
    "tables with reconstructed = true, for an estimate of what the measured tables do not say. "
    "They are null where the error is not known."
)

_Columns = dict[str, Any]
_Label = Callable[[Any], Any]


def publish(
    synopsis: Synopsis,
    workload: Iterable[Iterable[str]],
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = FORMATS,
    replace: bool = False,
    seed: int = 0,
    csv_label: _Label = lambda label: label,
) -> dict[str, Any]:
    """Write tables of whole numbers that agree exactly to a folder; see `Synopsis.tables`.

    Parameters
    ----------
    synopsis
        The result of a release, or of a simulation, of which the manifest then says that it is not
        private.
    workload
        The tables: views of the domain.
    folder
        The folder to write. It must not exist, unless `replace` is true and it was written by this
        function.
    formats
        Formats from `FORMATS`.
    replace
        Whether to replace an earlier publication in the same folder.
    seed
        As for `Synopsis.tables`.
    csv_label
        A function that is applied to each name and category in CSV files.

    Returns
    -------
    dict
        The content of the manifest.

    Raises
    ------
    DomainError
        When the views cannot be answered, an attribute is named like a column of numbers, or the
        synopsis does not come from a complete release.
    FileError
        When a format is unknown, or the folder exists or cannot be written.
    """
    target = Path(folder)
    check_folder(target, replace=replace)
    _check_formats(formats)
    _check_names(synopsis)
    tables = synopsis.tables(workload, integers=True, seed=seed)
    manifest = _about(synopsis, tables, seed)
    with _replacing(target) as part:
        for number, table in enumerate(tables, 1):
            name = _file_name(number, table)
            files = {}
            for form in formats:
                file = part / (name + _ENDINGS[form])
                _WRITERS[form](file, table, manifest, csv_label)
                digest = hashlib.sha256(file.read_bytes()).hexdigest()
                files[form] = {"name": file.name, "sha256": digest}
            manifest["tables"].append(_entry(table, files))
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
        (part / _MANIFEST).write_text(text + "\n", encoding="utf-8")
    return manifest


def check_folder(target: Path, *, replace: bool) -> None:
    """Check that a publication can be written to a folder.

    Raises
    ------
    FileError
        If the folder exists, unless it is a publication and `replace` is true; or if the folder
        above it does not exist.
    """
    if not target.parent.is_dir():
        raise FileError(
            f"the folder of {str(target)!r} must exist, but it does not; create it first, or "
            "choose another folder"
        )
    if not target.exists():
        return
    if not (target / _MANIFEST).is_file():
        raise FileError(
            f"the output must be a new folder, but {str(target)!r} exists and is no publication; "
            "choose another name"
        )
    if not replace:
        raise FileError(
            f"the output must be a new folder, but {str(target)!r} exists already; choose another "
            "name, or add --force (replace=True) to replace it"
        )


def _check_formats(formats: Sequence[str]) -> None:
    for form in formats:
        if form not in FORMATS:
            raise FileError(
                f"a format must be one of {', '.join(FORMATS)}, but one is {form!r}; name one of "
                "these"
            )
    if not formats:
        raise FileError(f"formats must name at least one of {', '.join(FORMATS)}; name one")


def _check_names(synopsis: Synopsis) -> None:
    for name in synopsis.domain:
        if name in _NUMBERS:
            raise DomainError(
                f"tables have the columns {', '.join(_NUMBERS)}, but an attribute is named "
                f"{name!r} too; release with another name"
            )


def _about(
    synopsis: Synopsis,
    tables: Sequence[Marginal],
    seed: int,
) -> dict[str, Any]:
    """The manifest without its tables."""
    provenance = synopsis.provenance
    if provenance is None:
        raise DomainError(
            "a publication needs the result of a release, but this synopsis is not yet one; use "
            "the synopsis that release() returns"
        )
    statement = provenance.statement
    said = statement.describe() if provenance.private else "None: this is a simulation."
    return {
        "format": "margin publication 1",
        "software": f"margin {__version__}",
        "private": provenance.private,
        "privacy": said,
        "statement": statement.to_json(),
        "mechanism": provenance.mechanism,
        "released_with": f"margin {provenance.version}",
        "domain": json.loads(synopsis.domain.to_json()),
        "meaning": _MEANING,
        "level": _LEVEL,
        "total": int(tables[0].total),
        "seed": seed,
        "tables": [],
    }


def _entry(table: Marginal, files: dict[str, Any]) -> dict[str, Any]:
    return {
        "attributes": list(table.attributes),
        "cells": table.counts.size,
        "reconstructed": table.reconstructed,
        "files": files,
    }


def _file_name(number: int, table: Marginal) -> str:
    """A name that every file system takes, such as "007-age-sex"; the number makes it unique."""
    joined = "-".join(table.attributes)
    return f"{number:03d}-{re.sub(r'[^A-Za-z0-9_-]+', '_', joined)[:_NAME_LENGTH]}"


def _numbers(table: Marginal) -> dict[str, list[int | None]]:
    """The columns of numbers by name, cell by cell; None where a bound is not known.

    The true count is a whole number, so the bounds are rounded to the whole numbers between them.
    """
    low, high = table.interval(_LEVEL)
    columns = {"count": table.counts, "low": np.ceil(low), "high": np.floor(high)}
    return {
        name: [None if np.isnan(number) else int(number) for number in values.flat]
        for name, values in columns.items()
    }


def _write_csv(
    path: Path,
    table: Marginal,
    _: dict[str, Any],
    label: _Label,
) -> None:
    import csv

    categories = [map(label, form.labels) for form in table.domain.values()]
    cells = itertools.product(*categories)
    numbers = zip(*_numbers(table).values(), strict=True)
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*map(label, table.attributes), *_NUMBERS])
        writer.writerows([*cell, *row] for cell, row in zip(cells, numbers, strict=True))


def _write_parquet(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: _Label,
) -> None:
    """Write a Parquet file, which carries the statement of privacy in its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = table.to_arrow().select(list(table.attributes))
    for name, numbers in _numbers(table).items():
        columns = columns.append_column(name, pa.array(numbers, pa.int64()))
    about = {name: manifest[name] for name in ("software", "privacy", "statement", "meaning")}
    about["reconstructed"] = table.reconstructed
    written = columns.replace_schema_metadata({"margin": json.dumps(about, ensure_ascii=False)})
    parquet.write_table(written, path)


def _write_json_stat(
    path: Path,
    table: Marginal,
    manifest: dict[str, Any],
    _: _Label,
) -> None:
    """Write a data set in JSON-stat 2.0; its last dimension has count, low and high."""
    dimensions: dict[str, Any] = {}
    for name, form in table.domain.items():
        labels = {str(code): str(label) for code, label in enumerate(form.labels)}
        dimensions[name] = {"label": name, "category": {"index": list(labels), "label": labels}}
    # A name that no attribute has.
    measure = "measure"
    while measure in dimensions:
        measure += "_"
    dimensions[measure] = {
        "label": "number of rows",
        "category": {
            "index": list(_NUMBERS),
            "label": {"count": "count", "low": "lower bound", "high": "upper bound"},
        },
    }
    columns = _numbers(table)
    form = {
        "version": "2.0",
        "class": "dataset",
        "label": ", ".join(table.attributes),
        "note": [manifest["privacy"], manifest["meaning"]],
        "id": list(dimensions),
        "size": [*table.counts.shape, len(_NUMBERS)],
        "role": {"metric": [measure]},
        "dimension": dimensions,
        "value": list(itertools.chain.from_iterable(zip(*columns.values(), strict=True))),
        "extension": {"margin": {"reconstructed": table.reconstructed}},
    }
    text = json.dumps(form, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


_WRITERS: dict[str, Callable[[Path, Marginal, dict[str, Any], _Label], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json-stat": _write_json_stat,
}


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Make a new folder that becomes `target` when the `with` block ends without an error.

    An older publication at `target` is then removed.
    """
    part = target.with_name(f".margin-{secrets.token_hex(8)}.part")
    old = target.with_name(f".margin-{secrets.token_hex(8)}.old")
    problem = ""
    try:
        part.mkdir()
        yield part
        for file in part.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        if target.exists():
            target.rename(old)
        part.rename(target)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        # The older publication stays if the new one cannot take its place.
        if old.exists() and not target.exists():
            old.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    if problem:
        raise FileError(
            f"{str(target)!r} cannot be written ({problem}); choose a folder that you can write to"
        )
