"""`Workload`: the views to answer, each with a weight, and what is asked of their attributes."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from .._names import did_you_mean
from .._numbers import shown
from ..errors import DomainError
from .domain import Domain, GivenDomain, View, domain_of, refuse_table
from .kway_views import KWayViews, Repeated
from .level_views import level_view, with_levels

__all__ = ["Workload", "refuse_names"]

_ASKS = ("cells", "prefixes", "ranges", "levels")
"""What can be asked of an attribute."""

_MOST_VIEWS = 10_000_000
"""Largest number of views that are visited one by one; lists of them take about a gigabyte."""

_MOST_COUNTED = 2**63 - 1
"""Largest length of a sequence in Python on most machines."""


@dataclass(frozen=True)
class Workload:
    """A list of the views that a release should answer accurately, each with a weight. Make one
    with `of` or `all_kway`, which check the views.

    Attributes
    ----------
    views
        The views, in order. In a workload of all k-way views they are computed when they are asked
        for, so that a workload of billions of views takes no memory.
    weights
        The weight of the squared error of each cell of a view, > 0; 1 for each view when not given.
    kway
        The number k if the workload consists of all views of k attributes with weight 1 and no
        levels; otherwise None.
    levels
        For each view the level of each of its attributes, None for the attribute itself; empty if
        no view has a level. `views` name the attributes only: a view on a level is a sum of cells
        of the view on the attribute.
    asked
        What is asked of an attribute in every view that it is in: "cells", the count of each
        category; "prefixes", the counts of all categories up to each one; "ranges", the counts of
        all categories from one to another; or "levels", the counts of the nodes of each level.
        "cells" is asked of attributes that are left out. Sums of several attributes are products of
        these.

    Examples
    --------
    >>> import margin
    >>> domain = margin.Domain({"a": 2, "b": 3, "c": 2})
    >>> margin.Workload.all_kway(domain, 2).views
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """

    views: Sequence[View]
    weights: Sequence[float] = ()
    kway: int | None = field(
        default=None,
        compare=False,
    )
    levels: tuple[tuple[str | None, ...], ...] = ()
    asked: Mapping[str, str] = field(
        default_factory=dict,
        hash=False,
    )

    def __post_init__(self) -> None:
        weights = self.weights or Repeated(1.0, len(self.views))
        object.__setattr__(self, "weights", _checked(weights, self.views))

    @classmethod
    def of(
        cls,
        domain: GivenDomain,
        views: "Workload | Mapping[View, float] | Iterable[Iterable[str]]",
        weights: Sequence[float] | None = None,
        *,
        asked: Mapping[str, str] | None = None,
    ) -> "Workload":
        """A workload of the given views.

        Parameters
        ----------
        domain
            The domain of the views, as `release` takes it.
        views
            The views: lists of attribute names, a mapping from tuples of names to weights, or
            another workload with its weights. "place@state" names a level of an attribute.
        weights
            One weight for each view. They replace weights that `views` has.
        asked
            What is asked of some attributes: "cells", "prefixes", "ranges" or "levels". It replaces
            what `views` asks.

        Raises
        ------
        DomainError
            When there is no view, when the list holds names instead of views, when a view is
            not one of the domain, when the number of weights is not the number of views, when a
            weight is not a finite number > 0, or when prefixes or ranges are asked of an attribute
            that is not ordered, or levels of one without.

        Examples
        --------
        >>> Workload.of(Domain({"a": 2, "b": 2}), [["a", "b"], ["a"]], weights=[1, 3]).weights
        (1.0, 3.0)
        >>> ages = Domain({"age": {"bins": [0, 18, 65, 120], "ordered": True}, "sex": 2})
        >>> dict(Workload.of(ages, [["age", "sex"]], asked={"age": "prefixes"}).asked)
        {'age': 'prefixes'}
        """
        if isinstance(views, str | bytes) or not isinstance(views, Iterable):
            raise DomainError(
                "a workload must be a list of views, each a list of attribute names, such as "
                f'[["age", "sex"]], but it is of type {type(views).__name__}; put the views into a '
                "list; for all views of two attributes, pass Workload.all_kway(domain, 2)"
            )
        refuse_table("a workload", views)
        if weights is None and isinstance(views, Workload):
            weights = views.weights
        elif weights is None and isinstance(views, Mapping):
            weights = tuple(views.values())
        if asked is None:
            asked = views.asked if isinstance(views, Workload) else {}
        names = views.names if isinstance(views, Workload) else views
        given = refuse_names("a workload", names)
        domain = domain_of(domain)
        checked, levels = _checked_views(domain, given)
        if not checked:
            raise DomainError(
                "a workload needs at least one view, but the list is empty; add the views to answer"
            )
        asks = _checked_asks(domain, asked)
        if weights is None:
            return cls(checked, levels=levels, asked=asks)
        # A workload of all k-way views stays one if this domain has just as many.
        kway = None
        if isinstance(views, Workload) and weights is views.weights:
            kway = views.kway
        if kway is not None and math.comb(len(domain), kway) != len(checked):
            kway = None
        weights = _checked(weights, checked)
        return cls(checked, weights, kway=kway, levels=levels, asked=asks)

    @classmethod
    def all_kway(
        cls,
        domain: Domain | Mapping[str, Any],
        k: int,
    ) -> "Workload":
        """The workload of all views of `k` attributes of a domain, each with weight 1.

        Raises
        ------
        DomainError
            When `k` is below 1 or above the number of attributes, or when there are 2**63 such
            views or more.

        Examples
        --------
        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).views
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        >>> len(Workload.all_kway(Domain({f"a{place}": 2 for place in range(45)}), 8))
        215553195
        """
        if not isinstance(domain, Mapping):
            raise DomainError(
                "all_kway needs a Domain and a number, but the first is of type "
                f"{type(domain).__name__}; call it as in Workload.all_kway(domain, 2)"
            )
        domain = domain_of(domain)
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(domain):
            raise DomainError(
                f"k ({k}) is the number of attributes of a view, so it must be a whole number from "
                f"1 to {len(domain)}, the number of attributes of the domain; pass such a number"
            )
        count = math.comb(len(domain), k)
        if count > _MOST_COUNTED:
            raise DomainError(_too_many("counted", _MOST_COUNTED, count, k))
        return cls(KWayViews(domain.attributes, k), kway=k)

    def check_listed(self) -> None:
        """Raise DomainError if there are more than ten million views, before they are visited."""
        if len(self) > _MOST_VIEWS:
            raise DomainError(_too_many("listed", _MOST_VIEWS, len(self), len(self.views[0])))

    @property
    def names(self) -> Sequence[View]:
        """The views with their levels as they are asked for, such as ("place@state", "sex")."""
        if not self.levels:
            return self.views
        pairs = zip(self.views, self.levels, strict=True)
        return tuple(with_levels(view, levels) for view, levels in pairs)

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)


def refuse_names(what: str, views: Iterable[Iterable[str]]) -> Iterable[Iterable[str]]:
    """Return views, unless they are a list of names alone, which can be read in two ways.

    `what` is what the message of the DomainError calls the views.
    """
    if isinstance(views, KWayViews | Mapping):
        return views
    given = tuple(views)
    if len(given) < 2 or not all(isinstance(view, str) for view in given):
        return given
    names = list(given)
    tables = [[name] for name in names]
    raise DomainError(
        f"{what} must be a list of views, each a list of attribute names, but it is "
        f"{shown(names)}; write {shown([names])} for one table, or {shown(tables)} for "
        f"{len(names)} tables"
    )


def _checked_views(
    domain: Domain,
    names: Iterable[Iterable[str]],
) -> tuple[Sequence[View], tuple[tuple[str | None, ...], ...]]:
    """Check the names of views; return the views, and their levels if one of them has a level."""
    if isinstance(names, KWayViews):
        domain.view(names.attributes)
        return names, ()
    if not domain.level_names:
        # There may be millions of views.
        return tuple(domain.view(view) for view in names), ()
    found = [level_view(domain, view) for view in names]
    has_levels = any(any(one.levels) for one in found)
    levels = tuple(one.levels for one in found) if has_levels else ()
    return tuple(one.view for one in found), levels


def _checked_asks(domain: Domain, asked: object) -> dict[str, str]:
    """Check what is asked of attributes. "cells", which is asked anyway, is left out."""
    if not isinstance(asked, Mapping):
        raise DomainError(
            "asked must be a mapping from attributes to what is asked of them, such as {'age': "
            f"'prefixes'}}, but it is of type {type(asked).__name__}; write it in this form"
        )
    for name, ask in asked.items():
        attribute = domain[name]
        if ask not in _ASKS:
            raise DomainError(
                f"what is asked of attribute {name!r} must be one of {', '.join(_ASKS)}, but it is "
                f"{ask!r}; name one of these{did_you_mean(ask, _ASKS)}"
            )
        if ask in ("prefixes", "ranges") and not attribute.ordered:
            raise DomainError(
                f"{ask} can be asked of ordered attributes only, but attribute {name!r} is not "
                'declared as ordered; declare it with "ordered": true, or ask for cells'
            )
        if ask == "levels" and attribute.levels is None:
            raise DomainError(
                f"levels can be asked of attributes with levels only, but attribute {name!r} "
                'declares none; declare "levels", or ask for cells'
            )
    return {name: ask for name, ask in asked.items() if ask != "cells"}


def _too_many(
    done: str,
    most: int,
    count: int,
    k: int,
) -> str:
    """The message of a refusal of too many views."""
    return (
        f"at most {most:,} views can be {done}, but there are {count:,} views of {k} attributes; "
        "name some of them, such as a thousand drawn at random"
    )


def _checked(weights: object, views: Sequence[View]) -> Sequence[float]:
    if isinstance(weights, Repeated) and len(weights) == len(views):
        return weights
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
