"""The limit on the size of a view. It is checked before any row is read or any budget is spent."""

from collections.abc import Iterable

from ..errors import DomainError
from .domain import Domain, View

__all__ = ["MAX_CELLS", "countable"]

MAX_CELLS = 2**27
"""The largest number of cells in the table of one view."""


def countable(domain: Domain, views: Iterable[Iterable[str]]) -> tuple[View, ...]:
    """Check that views belong to the domain and are small enough to count; return them as tuples.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `MAX_CELLS` cells.
    """
    checked = tuple(map(domain.view, views))
    for view in checked:
        cells = domain.cells(view)
        if cells > MAX_CELLS:
            raise DomainError(
                f"a view must have at most {MAX_CELLS} cells to be counted, but view "
                f"{', '.join(view)} has {cells}; leave out an attribute or merge categories"
            )
    return checked
