"""How the command line is told which views matter."""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

import margin

from ..errors import FileError

__all__ = ["add_workload", "views_of", "workload_of"]


def add_workload(parser: argparse.ArgumentParser, *, default: str | None = "2way") -> None:
    """Add --workload."""
    parser.add_argument(
        "--workload",
        nargs="+",
        default=None if default is None else [default],
        metavar="W",
        help="2way, 3way, ...: all views of so many attributes; or A,B,C for each view; or a JSON file with a list of "
        f"lists{'' if default is None else f'; default: {default}'}",
    )


def workload_of(domain: "margin.Domain", given: Sequence[str]) -> "margin.Workload":
    """The workload of what followed --workload.

    Raises
    ------
    FileError
        When a JSON file cannot be read or does not hold a list of lists.
    DomainError
        When a view is not one of the domain.
    """
    if len(given) == 1 and (kway := re.fullmatch(r"([0-9]{1,3})-?way", given[0])):
        return margin.Workload.all_kway(domain, int(kway[1]))
    return margin.Workload.of(domain, views_of(given))


def views_of(given: Sequence[str]) -> list[list[str]]:
    """The views of texts such as "age,sex", or of a JSON file.

    Raises
    ------
    FileError
        When the file cannot be read or does not hold a list of lists.
    """
    if len(given) != 1 or not given[0].endswith(".json"):
        return [view.split(",") for view in given]
    try:
        views = json.loads(Path(given[0]).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{given[0]!r} cannot be read as JSON") from None
    if not (isinstance(views, list) and all(isinstance(view, list) for view in views)):
        raise FileError(f"{given[0]!r} must hold a list of views, each a list of attribute names")
    return views
