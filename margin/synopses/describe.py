"""`describe`: the name and parameters of a mechanism as JSON values."""

import dataclasses
from typing import Any

__all__ = ["describe"]


def describe(value: object) -> Any:
    """Describe a mechanism, or a part of one, by JSON values: the name of its class and its
    parameters.

    An object that is not a dataclass is described by the name of its class alone.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        parameters = {name: describe(getattr(value, name)) for name in names}
        return {"name": type(value).__name__, **parameters}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    # Plain values are JSON values already.
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"name": type(value).__name__}
