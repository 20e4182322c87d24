"""Differentially private release of marginals, which are tables of counts over some attributes.

>>> import margin
>>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
>>> synopsis = margin.release(table, domain={"sex": 2, "smokes": 2}, budget=margin.PureDP(1.0))
>>> synopsis.marginal(["smokes", "sex"]).counts.shape
(2, 2)
"""

from typing import Any

import lazy_loader

# `__init__.pyi` lists the public names and their modules. A module is imported when one of its
# names is first used.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import the module of a public name, once. Ctrl-C meanwhile says that nothing was charged."""
    if name not in __all__:
        return _other(name)
    from .interrupts import watched

    with watched(text="interrupted while margin was imported; nothing has been charged"):
        return _load(name)


def _other(name: str) -> Any:
    """A module of this package; an AttributeError says where a name is, if it is elsewhere."""
    try:
        return _load(name)
    except AttributeError:
        if not name.startswith("_"):
            from ._names import PEERS, did_you_mean

            for room in ("mechanisms", "solvers", "synopses", "data"):
                if name in _load(room).__all__:
                    raise AttributeError(
                        f"module 'margin' has no attribute {name!r}; it is margin.{room}.{name}"
                    ) from None
            if name in PEERS:
                raise AttributeError(
                    f"module 'margin' has no attribute {name!r}, a mechanism of others; compare it "
                    "with those of margin on a table that is not secret by python -m experiments "
                    "peers, in a copy of the repository"
                ) from None
            meant = did_you_mean(name, __all__)
            if meant:
                raise AttributeError(f"module 'margin' has no attribute {name!r}{meant}") from None
        raise
