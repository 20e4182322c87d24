"""The instances and the solvers that the words of a command line name."""

import argparse
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ...interrupts.shortage import raise_shortage
from ..arguments.own import own
from ..common import did_you_mean, split_names

__all__ = ["PROGRAMMES", "chosen", "named", "of_solvers", "solver_name", "solver_of"]

PROGRAMMES = (".mps", ".lp", ".cbf", ".wcnf")
"""The endings of files that hold a programme alone."""


def chosen(parsed: argparse.Namespace) -> list[Any]:
    """The instances that the options name."""
    from ...solvers import bench

    try:
        given = split_names(getattr(parsed, "instances", []))
        if given and (parsed.family or parsed.size):
            raise MarginError(
                "either --instances or --family and --size choose the instances, but both are "
                "given; leave out one of them"
            )
        if given:
            return [named(name) for name in given]
        return bench.instances(family=parsed.family, size=parsed.size)
    except ValueError as error:
        raise MarginError(str(error)) from None


def named(name: str) -> Any:
    """The instance of this name, or of this file, whose name ends in .npz."""
    from ...solvers import bench

    if Path(name).suffix.lower() in PROGRAMMES:
        raise MarginError(
            f"an instance must be a name or a file that ends in .npz, but it is {name!r}, which "
            "holds a programme without its family, so that no answer could be checked; solve it "
            "with bench.read and an engine"
        )
    try:
        return bench.load(name) if name.endswith(".npz") else bench.instance(name)
    except (ValueError, OSError) as error:
        raise MarginError(str(error)) from None


def solver_of(given: str) -> Any:
    """The solver of a name of the roster, or of MODULE:OBJECT or FILE.py:OBJECT."""
    from ...solvers import bench

    place, colon, name = given.rpartition(":")
    if not colon:
        listed = bench.ROSTER.get(given)
        if listed is None:
            raise MarginError(
                f"unknown solver {given!r}{did_you_mean(given, bench.ROSTER)}; name one that "
                "`margin bench list` shows, or write MODULE:OBJECT for a solver of your own"
            )
        if not listed.is_installed:
            raise MarginError(
                f"the solver {given!r} needs the module {listed.needs}, which is not installed; "
                "run pip install '.[solvers,bench]' in your copy of the repository of margin"
            )
        return listed.make()
    found = own(place, name, "solver")
    return _made(found, given) if isinstance(found, type) else found


def solver_name(given: str) -> str:
    """The name that rows have for a solver: without the folder and the ending of its file.

    >>> solver_name("highs"), solver_name("folder/mine.py:MySolver")
    ('highs', 'mine:MySolver')
    """
    place, colon, name = given.rpartition(":")
    return f"{Path(place).stem}:{name}" if colon else given


def of_solvers(rows: list[Any], given: list[str]) -> list[Any]:
    """The rows of the solvers that are named, or all rows if none is."""
    known = list(dict.fromkeys(row["solver"] for row in rows))
    asked = [name if name in known else solver_name(name) for name in split_names(given, known)]
    for name in asked:
        if name not in known:
            raise MarginError(
                f"the rows must hold the solver {name!r}{did_you_mean(name, known)}, but they hold "
                f"{', '.join(known)}; name some of these"
            )
    return [row for row in rows if row["solver"] in asked] if asked else rows


def _made(kind: type, given: str) -> Any:
    """The object of a user's class, which takes no arguments."""
    try:
        return kind()
    except Exception as error:  # a user's constructor may raise anything
        raise_shortage(error)
        name = kind.__name__
        raise MarginError(
            f"the class of the solver {given!r} must make an object by {name}(), but that raised "
            f"{type(error).__name__} ({error}); let its parameters have defaults, or write an "
            f"object such as solver = {name}(...) into the file and name that one"
        ) from None
