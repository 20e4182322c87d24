"""The instances and the solvers that the words of a command line name."""

import argparse
from typing import Any

from ...errors import MarginError
from ..arguments.own import own
from ..common import did_you_mean, split_names

__all__ = ["chosen", "solver_of"]


def chosen(parsed: argparse.Namespace) -> list[Any]:
    """The instances that the options name."""
    from ...solvers import bench

    try:
        given = split_names(getattr(parsed, "instances", []))
        if given:
            return [
                bench.load(name) if name.endswith(".npz") else bench.instance(name)
                for name in given
            ]
        return bench.instances(family=parsed.family, size=parsed.size)
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
