"""The version of the solver inside a package, such as CBC inside PuLP.

The process that solves asks for it, after a solve: the package is loaded there, and nowhere else.
"""

import importlib
import re
import subprocess
import sys
from functools import cache
from typing import Any

__all__ = ["CBC", "HIGHS", "HIGHS_OF_SCIPY", "SCIP", "version_inside"]

CBC = "CBC"
HIGHS = "HiGHS"
HIGHS_OF_SCIPY = "HiGHS of scipy"
SCIP = "SCIP"

_MODULES = {CBC: "pulp", HIGHS: "highspy", HIGHS_OF_SCIPY: "scipy", SCIP: "pyscipopt"}
"""The package that each solver is inside of."""

_PATIENCE = 10.0
"""Seconds for a program to tell its version."""


@cache
def version_inside(name: str) -> str:
    """The version of the solver of this name; empty if its package is not loaded or does not tell.

    >>> version_inside("no such solver")
    ''
    """
    package = sys.modules.get(_MODULES.get(name, ""))
    if package is None:
        return ""
    try:
        return _ASKED[name](package)
    except (AttributeError, ImportError, OSError, subprocess.SubprocessError):
        return ""


def _cbc(pulp: Any) -> str:
    """The version that the program CBC of PuLP prints."""
    path = pulp.PULP_CBC_CMD().path
    done = subprocess.run(
        [path, "-stop"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    found = re.search(r"^Version: (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def _highs(highspy: Any) -> str:
    """The numbers that the library HiGHS was compiled with."""
    parts = ("MAJOR", "MINOR", "PATCH")
    return ".".join(str(getattr(highspy, f"HIGHS_VERSION_{part}")) for part in parts)


def _highs_of_scipy(_scipy: Any) -> str:
    """The same of the HiGHS that scipy has compiled in; scipy tells it in a private module only."""
    return _highs(importlib.import_module("scipy.optimize._highspy._core"))


def _scip(pyscipopt: Any) -> str:
    """The three numbers of SCIP's version."""
    model = pyscipopt.Model()
    return f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"


_ASKED = {CBC: _cbc, HIGHS: _highs, HIGHS_OF_SCIPY: _highs_of_scipy, SCIP: _scip}
