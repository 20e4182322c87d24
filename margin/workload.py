"""`Workload`: the views that are to be answered."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .domain import Domain, View
from .errors import DomainError

__all__ = ["Workload"]


@dataclass(frozen=True)
class Workload:
    """Views of a domain that matter, in order; made by `of` or `all_kway`, which check them."""

    views: tuple[View, ...]

    @classmethod
    def of(cls, domain: Domain, views: "Workload | Iterable[Iterable[str]]") -> "Workload":
        """A workload of some views.

        Raises
        ------
        DomainError
            When there is no view, or one is not of the domain.
        """
        if isinstance(views, str | bytes) or not isinstance(views, Iterable):
            raise DomainError("a workload is a list of views, each a list of attribute names")
        checked = tuple(domain.view(view) for view in views)
        if not checked:
            raise DomainError("a workload needs at least one view")
        return cls(checked)

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> "Workload":
        """Every view of `k` attributes of a domain.

        Raises
        ------
        DomainError
            Unless 1 <= k <= the number of attributes.

        Examples
        --------
        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).views
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(domain):
            raise DomainError(f"k ({k}) must be an integer from 1 to the number of attributes ({len(domain)})")
        return cls(tuple(itertools.combinations(domain.attributes, k)))

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)
