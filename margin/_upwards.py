"""Late imports from a lower layer to a higher one. This is the only file that makes them.

A marginal and a synopsis have methods that draw and save them, compare the digests of their files,
or make another form of synopsis. The layers that do so import the classes of all results, so these
classes cannot import those layers. `upwards` imports the function when the method is called.
"""

from importlib import import_module
from typing import Any

__all__ = ["upwards"]

_MODULES = {
    "plot_error": "margin.plots.results",
    "plot_marginal": "margin.plots.results",
    "recoded": "margin.synopses.recoding.recoded",
    "release_digest": "margin.store",
    "save": "margin.store",
}


def upwards(name: str) -> Any:
    """Import a function of a higher layer by its name: one of `_MODULES`."""
    return getattr(import_module(_MODULES[name]), name)
