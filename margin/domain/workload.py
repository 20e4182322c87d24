"""`Workload`: the views that are to be answered, and how much each matters."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real

from ..errors import DomainError
from .domain import Domain, View

__all__ = ["Workload"]

_MOST_VIEWS = 10_000_000
"""A gigabyte of them."""


@dataclass(frozen=True)
class Workload:
    """Views of a domain that matter, in order, each with a weight; made by `of` or `all_kway`,
    which check them.

    Attributes
    ----------
    views
        The views, in order.
    weights
        How much the squared error of a cell of each view counts, > 0; 1 for each when not given.
    kway
        The number of attributes of each view, where these are all views of so many, of weight one.
    """

    views: tuple[View, ...]
    weights: tuple[float, ...] = ()
    kway: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        weights = self.weights or (1.0,) * len(self.views)
        object.__setattr__(self, "weights", _checked(weights, self.views))

    @classmethod
    def of(
        cls,
        domain: Domain,
        views: "Workload | Mapping[View, float] | Iterable[Iterable[str]]",
        weights: Sequence[float] | None = None,
    ) -> "Workload":
        """A workload of some views.

        Parameters
        ----------
        domain
            What the views are of.
        views
            Lists of attribute names; or a mapping from such tuples to weights; or a workload, whose
            weights it keeps.
        weights
            One for each view, in place of those that come with `views`.

        Raises
        ------
        DomainError
            When there is no view, one is not of the domain, or weights are not as many finite
            numbers > 0 as views.

        Examples
        --------
        >>> Workload.of(Domain({"a": 2, "b": 2}), [["a", "b"], ["a"]], weights=[1, 3]).weights
        (1.0, 3.0)
        """
        if isinstance(views, str | bytes) or not isinstance(views, Iterable):
            raise DomainError("a workload is a list of views, each a list of attribute names")
        if weights is None and isinstance(views, Workload):
            weights = views.weights
        elif weights is None and isinstance(views, Mapping):
            weights = tuple(views.values())
        checked = tuple(domain.view(view) for view in views)
        if not checked:
            raise DomainError("a workload needs at least one view")
        if weights is None:
            return cls(checked)
        every = views.kway if isinstance(views, Workload) and weights is views.weights else None
        if every is not None and math.comb(len(domain), every) != len(checked):
            every = None
        return cls(checked, _checked(weights, checked), kway=every)

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> "Workload":
        """Every view of `k` attributes of a domain.

        Raises
        ------
        DomainError
            Unless 1 <= k <= the number of attributes, or when there are more than ten million.

        Examples
        --------
        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).views
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(domain):
            raise DomainError(
                f"k ({k}) must be an integer from 1 to the number of attributes ({len(domain)})"
            )
        if (count := math.comb(len(domain), k)) > _MOST_VIEWS:
            raise DomainError(
                f"there are {count:,} views of {k} attributes, too many to list; name some of them, "
                "such as a thousand drawn at random"
            )
        return cls(tuple(itertools.combinations(domain.attributes, k)), kway=k)

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)


def _checked(weights: object, views: Sequence[View]) -> tuple[float, ...]:
    if isinstance(weights, str | bytes) or not isinstance(weights, Iterable):
        raise DomainError("weights must be a list of numbers, one for each view")
    given = tuple(weights)
    if len(given) != len(views):
        raise DomainError(
            f"{len(given)} weights are given for {len(views)} views; give one for each"
        )
    for view, weight in zip(views, given, strict=True):
        if (
            isinstance(weight, bool)
            or not isinstance(weight, Real)
            or not 0 < float(weight) < math.inf
        ):
            raise DomainError(
                f"the weight of view {', '.join(view)} ({weight!r}) must be a finite number > 0; leave out a view "
                "that does not matter"
            )
    return tuple(map(float, given))
