"""The files that commands write: their names and endings, and whether they can be written."""

import argparse
import importlib.util
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._replace import no_folder, replacing, tried, unwritable
from ..errors import FileError, MarginError

__all__ = [
    "add_force",
    "check_free",
    "check_picture",
    "check_release_file",
    "draw",
    "numbered",
]

_OTHER_FORMATS = (
    *(".csv", ".tsv", ".gz", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".xls"),
    *(".html", ".txt", ".zip", ".db", ".sqlite", ".xml", ".yaml"),
)
"""Endings of files that are no release."""

_PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add --force, which allows a command to replace an existing file."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace the output file if it exists",
    )


def check_free(path: Path, parsed: argparse.Namespace) -> None:
    """Check, before any work is done, that the output file can be written.

    Raises
    ------
    FileError
        If the file cannot be written, or if it exists and --force is not given.
    """
    if path.is_dir():
        raise FileError(
            f"the output must be a file, but {str(path)!r} is a folder; give the name of a file"
        )
    if not path.parent.is_dir():
        raise FileError(no_folder(path))
    if path.exists() and not parsed.force:
        raise FileError(
            f"the output must be a new file, but {str(path)!r} exists already; choose another "
            "name, or add --force to replace it"
        )
    try:
        tried(path)
    except OSError as error:
        raise FileError(unwritable(path, error)) from None


def numbered(path: Path) -> Iterator[Path]:
    """Names for a file, to take the first that is free: o.margin, o-2.margin, o-3.margin and so
    on."""
    yield path
    for number in itertools.count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")


def check_release_file(path: Path, parsed: argparse.Namespace) -> None:
    """Check that a .margin file can be written, before any work: its ending, and `check_free`.

    Raises
    ------
    FileError
        If the ending is that of another format, or as for `check_free`.
    """
    if path.suffix.lower() in _OTHER_FORMATS:
        raise FileError(
            f"a release is written to a .margin file, but {str(path)!r} ends in {path.suffix}; "
            f"write {path.stem}.margin, and make tables of it with margin publish, margin marginal "
            "or margin records"
        )
    check_free(path, parsed)


def check_picture(path: Path, parsed: argparse.Namespace) -> None:
    """Check that a picture can be written, before any work: the ending of the file name, whether
    matplotlib is installed, and `check_free`.

    Raises
    ------
    FileError
        If the ending does not belong to a known picture format, or as for `check_free`.
    MarginError
        If matplotlib is not installed.
    """
    if path.suffix not in _PICTURES:
        *others, last = _PICTURES
        raise FileError(
            f"the name of a picture must end in {', '.join(others)} or {last}, but it is "
            f"{str(path)!r}; change its ending"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise MarginError(
            "--picture needs the package matplotlib, but it is not installed; run pip install "
            "matplotlib, or leave out --picture"
        )
    check_free(path, parsed)


def draw(figure: Any, path: Path) -> None:
    """Save a matplotlib figure.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    with replacing(path) as file:
        figure.savefig(
            file,
            dpi=150,
            format=path.suffix.removeprefix("."),
        )
