"""`describe`: a mechanism, or a part of one, as JSON values."""

import dataclasses
from typing import Any

__all__ = ["describe"]


def describe(value: object) -> Any:
    """A mechanism or a part of one as JSON values: its class's name and its parameters."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parameters = {
            field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return {"name": type(value).__name__, **parameters}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"name": type(value).__name__}
