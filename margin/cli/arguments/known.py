"""The option of the command line that names tables of public counts."""

import argparse
from pathlib import Path

from ...errors import DomainError

__all__ = ["add_known", "known_of"]


def add_known(parser: argparse.ArgumentParser) -> None:
    """Add the option --known, for public counts."""
    parser.add_argument(
        "--known",
        type=Path,
        action="append",
        default=[],
        metavar="TABLE.csv",
        help="public counts that all answers keep exactly, such as the population of each state: a "
        "CSV or JSON file with a column for each attribute or level, such as place@state, and a "
        "column 'count'; may be repeated",
    )


def known_of(paths: list[Path]) -> dict[tuple[str, ...], Path] | None:
    """The files of known tables, by the views that their columns name; None if there are none.

    Raises
    ------
    DataError
        If a file cannot be read.
    DomainError
        If two files have the same columns, or one has no column of counts.
    """
    from ...bases.known import view_of

    known: dict[tuple[str, ...], Path] = {}
    for path in paths:
        view = view_of(path)
        if view in known:
            raise DomainError(
                f"--known must name one file for each view, but {str(known[view])!r} and "
                f"{str(path)!r} have the same columns; leave one of them out"
            )
        known[view] = path
    return known or None
