"""The instances and the solvers that the words of a command line name."""

import argparse
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ..arguments.own import own
from ..common import did_you_mean, split_names

__all__ = ["chosen", "named", "solver_of"]

_PROGRAMMES = (".mps", ".lp", ".cbf", ".wcnf")
"""The endings of files that hold a programme alone."""


def chosen(parsed: argparse.Namespace) -> list[Any]:
    """The instances that the options name."""
    from ...solvers import bench

    try:
        given = split_names(getattr(parsed, "instances", []))
        if given:
            return [named(name) for name in given]
        return bench.instances(family=parsed.family, size=parsed.size)
    except ValueError as error:
        raise MarginError(str(error)) from None


def named(name: str) -> Any:
    """The instance of this name, or of this file, whose name ends in .npz."""
    from ...solvers import bench

    if Path(name).suffix.lower() in _PROGRAMMES:
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
    return found() if isinstance(found, type) else found
