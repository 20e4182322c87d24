"""Optional libraries, which are imported on first use."""

import importlib
from typing import Any

from .errors import MarginError
from .interrupts.shortage import raise_shortage

__all__ = ["needed"]


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
