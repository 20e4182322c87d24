"""Which views can be counted at all: known before any row is read, and before anything is spent."""

from collections.abc import Iterable

from ..errors import DomainError
from .domain import Domain, View

__all__ = ["MAX_CELLS", "countable"]

MAX_CELLS = 2**27
"""The most cells that the table of one view may have."""


def countable(domain: Domain, views: Iterable[Iterable[str]]) -> tuple[View, ...]:
    """The views, checked: each one of the domain, and of at most `MAX_CELLS` cells.

    Raises
    ------
    DomainError
        When one is not.
    """
    checked = tuple(map(domain.view, views))
    for view in checked:
        if (cells := domain.cells(view)) > MAX_CELLS:
            raise DomainError(
                f"view {', '.join(view)} has {cells} cells; at most {MAX_CELLS} can be counted"
            )
    return checked
