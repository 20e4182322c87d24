"""Libraries that are not required: imported when something asks for them."""

import importlib
from typing import Any

from .errors import MarginError

__all__ = ["needed"]


def needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MarginError(f"this needs {name}: pip install {name}") from None
