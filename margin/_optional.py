"""Optional libraries, which are imported on first use."""

import importlib
import sys
from typing import Any

from .errors import MarginError
from .interrupts.shortage import raise_shortage

__all__ = ["is_instance", "needed"]


def needed(name: str) -> Any:
    """Import an optional library and return its module; MarginError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise_shortage(error)
        raise MarginError(
            f"this function needs the package {name}, but it is not installed; run pip install "
            f"{name}"
        ) from None


def is_instance(value: object, package: str, name: str) -> bool:
    """Whether an object is of the class `name` of an optional package, which is not imported.

    Another thread may be importing the package at this moment. Then its module is in `sys.modules`
    before it has the name. A module without the name has not offered the class yet, so the object
    is not one of it.

    >>> is_instance({}, "pandas", "DataFrame")
    False
    """
    kind = getattr(sys.modules.get(package), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
