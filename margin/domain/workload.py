"""`Workload`: the views to answer, each with a weight."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real

from ..errors import DomainError
from .domain import Domain, View

__all__ = ["Workload"]

_MOST_VIEWS = 10_000_000
"""Largest number of views in a workload of all k-way views; they take about a gigabyte."""


@dataclass(frozen=True)
class Workload:
    """A list of the views that a release should answer accurately, each with a weight. Make one
    with `of` or `all_kway`, which check the views.

    Attributes
    ----------
    views
        The views, in order.
    weights
        The weight of the squared error of each cell of a view, > 0; 1 for each view when not given.
    kway
        The number k if the workload consists of all views of k attributes with weight 1; otherwise
        None.
    """

    views: tuple[View, ...]
    weights: tuple[float, ...] = ()
    kway: int | None = field(
        default=None,
        compare=False,
    )

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
        """A workload of the given views.

        Parameters
        ----------
        domain
            The domain of the views.
        views
            The views: lists of attribute names, a mapping from tuples of names to weights, or
            another workload with its weights.
        weights
            One weight for each view. They replace weights that `views` has.

        Raises
        ------
        DomainError
            When there is no view, when a view is not one of the domain, when the number of weights
            is not the number of views, or when a weight is not a finite number > 0.

        Examples
        --------
        >>> Workload.of(Domain({"a": 2, "b": 2}), [["a", "b"], ["a"]], weights=[1, 3]).weights
        (1.0, 3.0)
        """
        if isinstance(views, str | bytes) or not isinstance(views, Iterable):
            raise DomainError(
                "a workload must be a list of views, each a list of attribute names, such as "
                f'[["age", "sex"]], but it is of type {type(views).__name__}; put the views into a '
                "list"
            )
        if weights is None and isinstance(views, Workload):
            weights = views.weights
        elif weights is None and isinstance(views, Mapping):
            weights = tuple(views.values())
        checked = tuple(domain.view(view) for view in views)
        if not checked:
            raise DomainError(
                "a workload needs at least one view, but the list is empty; add the views to answer"
            )
        if weights is None:
            return cls(checked)
        # A workload of all k-way views stays one if this domain has just as many.
        kway = None
        if isinstance(views, Workload) and weights is views.weights:
            kway = views.kway
        if kway is not None and math.comb(len(domain), kway) != len(checked):
            kway = None
        return cls(checked, _checked(weights, checked), kway=kway)

    @classmethod
    def all_kway(
        cls,
        domain: Domain,
        k: int,
    ) -> "Workload":
        """The workload of all views of `k` attributes of a domain, each with weight 1.

        Raises
        ------
        DomainError
            When `k` is below 1 or above the number of attributes, or when there are more than ten
            million such views.

        Examples
        --------
        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).views
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(domain):
            raise DomainError(
                f"k ({k}) must be a whole number from 1 to the number of attributes "
                f"({len(domain)}); pass such a number"
            )
        count = math.comb(len(domain), k)
        if count > _MOST_VIEWS:
            raise DomainError(
                f"at most {_MOST_VIEWS:,} views can be listed, but there are {count:,} views of "
                f"{k} attributes; name some of them, such as a thousand drawn at random"
            )
        return cls(tuple(itertools.combinations(domain.attributes, k)), kway=k)

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)


def _checked(weights: object, views: Sequence[View]) -> tuple[float, ...]:
    if isinstance(weights, str | bytes) or not isinstance(weights, Iterable):
        raise DomainError(
            "weights must be a list of numbers, one for each view, but it is of type "
            f"{type(weights).__name__}; put the weights into a list"
        )
    given = tuple(weights)
    if len(given) != len(views):
        raise DomainError(
            f"{len(given)} weights are given for {len(views)} views; give one weight for each view"
        )
    for view, weight in zip(views, given, strict=True):
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0 < float(weight) < math.inf:
            raise DomainError(
                f"the weight of view {', '.join(view)} ({weight!r}) must be a finite number > 0; "
                "leave out a view that does not matter"
            )
    return tuple(map(float, given))
