"""`publish`: a folder of tables that agree exactly, with a manifest that states what they are.

The folder has a file for each table and format, ``README.txt`` for people, ``quality.csv``, and
``manifest.json``. It appears complete or not at all. The manifest holds the statement of privacy,
the domain, and for each table its attributes and the SHA-256 of each file.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .._replace import no_folder, unwritable
from .._version import __version__
from ..domain.marginal import Marginal
from ..errors import DomainError, FileError
from ..privacy.statement import Statement
from ..privacy.strength import strength
from ..privacy.words import in_a_paragraph
from ..synopses.source import Source, bounds_told
from ..synopses.synopsis import Synopsis, check_synopsis
from .apart import pairs_apart, told_apart
from .formats import ENDINGS, FORMATS, write_table
from .imprint import Imprint
from .numbers import LEVEL, NUMBERS, farthest_bound
from .quality import LIMIT, QUALITY, check_limit, quality_of, write_quality
from .readme import README, readme
from .rows import unsaid
from .units import by_unit

__all__ = ["FORMAT", "MANIFEST", "check_folder", "publish"]

FORMAT = "margin publication 1"
"""What a manifest is, and the version of its keys."""

MANIFEST = "manifest.json"
"""The name of the file that describes a folder."""

_NAME_LENGTH = 80
"""Largest number of characters of a file's name that come from names of attributes."""

_COUNT = (
    "count is the published number of rows, a whole number. The counts were adjusted "
    "until the tables agree: two tables that share attributes have exactly the same counts for "
    "these, and all tables have the same total. So a count may differ a little from that on the "
    "page of the release, where totals need not agree."
)

_BOUNDS = (
    "The bounds are those of the answers of the release, as on its page. They allow for the noise "
    "that was added on purpose{}, and are rounded outwards to whole numbers. What was changed so "
    "that tables agree moves counts, not bounds; a bound is wider only if a count would lie "
    "outside. About 1 in 20 bounds misses the true number. So bounds of 0 and 1 do not prove "
    "that nobody is there, and a combination that cannot occur may have a small count, and bounds "
    "above 0, because of the noise, unless it was declared as impossible. Where the error is not "
    "known, there are no bounds: they are empty in CSV files, and null in others."
)

_ESTIMATED = (
    " and, in tables that were not only measured, for an estimate of what the measured tables do "
    "not say"
)
"""What bounds also allow for."""


def publish(
    synopsis: Synopsis,
    workload: Iterable[Iterable[str]],
    folder: str | os.PathLike[str],
    *,
    title: str | None = None,
    imprint: Imprint | None = None,
    formats: Sequence[str] = FORMATS,
    replace: bool = False,
    seed: int = 0,
    spreadsheet: bool = False,
    uncertain: float = LIMIT,
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
    title
        What the manifest and the README call the publication. By default, the name of the folder.
    imprint
        Who publishes the folder, and when. By default, it has today's date and a proposal how to
        cite it.
    formats
        Formats from `FORMATS`.
    replace
        Whether to replace an earlier publication in the same folder.
    seed
        As for `Synopsis.tables`.
    spreadsheet
        Whether CSV files are for spreadsheets: they begin with a byte-order mark, and an apostrophe
        stands before each text that would run as a formula.
    uncertain
        The half-width in percent of its count above which a cell is uncertain in the list of
        quality, ``quality.csv``.

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
        When a format is unknown, csvw is asked without csv, `uncertain` is not > 0, or the folder
        exists or cannot be written.
    """
    check_synopsis(synopsis)
    target = Path(folder)
    check_folder(target, replace=replace)
    _check_formats(formats)
    check_limit(uncertain)
    _check_names(synopsis)
    tables = synopsis.tables(workload, integers=True, seed=seed)
    title = title or target.name
    imprint = imprint or Imprint()
    manifest = _about(synopsis, tables, seed, title=title, imprint=imprint)
    manifest["uncertain_above"] = float(uncertain)
    with _replacing(target) as part:
        for number, table in enumerate(tables, 1):
            name = _file_name(number, table)
            files = {}
            source = synopsis.source(table.attributes)
            how = source.told(some_left_out=manifest["left_out"] is not None, base=manifest["base"])
            apart = told_apart(synopsis, table.attributes)
            about = {**manifest, "source": source, "how": f"{how} {apart}".rstrip()}
            for form in formats:
                file = part / (name + ENDINGS[form])
                write_table(form, file, table, about=about, spreadsheet=spreadsheet)
                files[form] = _listed(file)
            entry = _entry(name, table, source, how, files)
            entry["quality"] = quality_of(table, uncertain)
            entry["unmeasured_pairs"] = list(map(list, pairs_apart(synopsis, table.attributes)))
            manifest["tables"].append(entry)
        write_quality(part / QUALITY, manifest, spreadsheet=spreadsheet)
        manifest["quality"] = _listed(part / QUALITY)
        statement = Statement.from_json(manifest["statement"])
        several = by_unit(statement, imprint.row_name, imprint.unit_name)
        (part / README).write_text(readme(manifest, several), encoding="utf-8")
        manifest["readme"] = _listed(part / README)
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
        (part / MANIFEST).write_text(text + "\n", encoding="utf-8")
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
        raise FileError(no_folder(target))
    if not target.exists():
        return
    if not (target / MANIFEST).is_file():
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
    if "csvw" in formats and "csv" not in formats:
        raise FileError(
            "the format csvw describes the file of csv, but csv is not among the formats; add csv"
        )
    if not formats:
        raise FileError(f"formats must name at least one of {', '.join(FORMATS)}; name one")


def _check_names(synopsis: Synopsis) -> None:
    for name in synopsis.domain:
        if name in NUMBERS:
            raise DomainError(
                f"tables have the columns {', '.join(NUMBERS)}, but an attribute is named "
                f"{name!r} too; release with another name"
            )


def _about(
    synopsis: Synopsis,
    tables: Sequence[Marginal],
    seed: int,
    *,
    title: str,
    imprint: Imprint,
) -> dict[str, Any]:
    """The manifest without its files."""
    provenance = synopsis.provenance
    if provenance is None:
        raise DomainError(
            "a publication needs the result of a release, but this synopsis is not yet one; use "
            "the synopsis that release() returns"
        )
    statement = provenance.statement
    description = imprint.description or provenance.description
    said = "None: this is a simulation."
    if provenance.private:
        said = in_a_paragraph(
            statement,
            synopsis.released.domain,
            provenance.base,
            row_name=imprint.row_name,
            unit_name=imprint.unit_name,
        )
    return {
        "format": FORMAT,
        "title": title,
        "description": description,
        "unsaid": unsaid(description=description, unit=statement.unit, contact=imprint.contact),
        "imprint": imprint.lines(title, synopsis),
        "software": f"margin {__version__}",
        "private": provenance.private,
        "privacy": said,
        "statement": statement.to_json(),
        "strength": dataclasses.asdict(strength(statement, synopsis.released.domain)),
        "base": provenance.base,
        "mechanism": provenance.mechanism,
        "released_with": f"margin {provenance.version}",
        "domain": json.loads(synopsis.domain.to_json()),
        "categories": synopsis.changed or None,
        "meaning": _meaning(statement, {synopsis.source(table.attributes) for table in tables}),
        "left_out": statement.left_out or None,
        "level": LEVEL,
        "total": int(tables[0].total),
        "seed": seed,
        "tables": [],
    }


def _meaning(statement: Statement, sources: Collection[Source]) -> str:
    """What the columns of numbers mean. Bounds are for counted rows if others were left out."""
    some_left_out = bool(statement.left_out)
    which = "the true number"
    if some_left_out:
        which = "the true number of counted rows, not of all rows"
    parts = [
        f"{_COUNT} low and high bound {which}, at {100 * LEVEL:g} %.",
        bounds_told(sources, some_left_out=some_left_out),
        statement.left_out or statement.none_left_out,
        _BOUNDS.format(_ESTIMATED if any(one.is_reconstructed for one in sources) else ""),
    ]
    return " ".join(part for part in parts if part)


def _listed(file: Path) -> dict[str, str]:
    """The name of a file and the SHA-256 of its content."""
    return {"name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def _entry(
    name: str,
    table: Marginal,
    source: Source,
    how: str,
    files: dict[str, Any],
) -> dict[str, Any]:
    return {
        "name": name,
        "attributes": list(table.attributes),
        "cells": table.counts.size,
        "source": source.value,
        "how": how,
        "reconstructed": source.has_no_view,
        "farthest_bound": farthest_bound(table),
        "widened": table.moved_out(),
        "files": files,
    }


def _file_name(number: int, table: Marginal) -> str:
    """A name that every file system takes, such as "007-age-sex"; the number makes it unique."""
    joined = "-".join(table.attributes)
    return f"{number:03d}-{re.sub(r'[^A-Za-z0-9_-]+', '_', joined)[:_NAME_LENGTH]}"


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
        problem = unwritable(target, error)
    finally:
        # The older publication stays if the new one did not take its place.
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    if problem:
        raise FileError(problem)
