"""The calls that lead from a lower room to a higher one: this is the only place where they are
looked up.

A marginal and a synopsis offer to draw and to save themselves. Pictures and files are made by rooms
that know all forms of results, so those rooms import these, not the other way round. `upwards`
finds such a function when it is called.
"""

from importlib import import_module
from typing import Any

__all__ = ["upwards"]

_MODULES = {
    "plot_error": "margin.plots.results",
    "plot_marginal": "margin.plots.results",
    "save": "margin.store",
}


def upwards(name: str) -> Any:
    """The function of a higher room that has this name."""
    return getattr(import_module(_MODULES[name]), name)
