"""`Recipe`: what an instance of the catalogue is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Recipe"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Recipe:
    """An instance before it is made.

    Attributes
    ----------
    name
        The name of the instance.
    family
        The name of its family.
    size
        ``small``, ``medium`` or ``large``; see `Instance`.
    make
        A function that makes the problem; it can be pickled.
    version
        Counts up when the problem of this name changes.
    """

    name: str
    family: str
    size: str
    make: Callable[[], Any]
    version: int = 1
