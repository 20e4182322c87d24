"""`LevelView`: a view in which attributes may stand at one of their levels, as "place@state"."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Floats, Integers
from ..errors import DomainError
from .attribute import Attribute
from .domain import Domain, View
from .levels import LEVEL_MARK

__all__ = ["LevelView", "group_sums", "level_view", "split_level", "with_levels"]


@dataclass(
    frozen=True,
    eq=False,
)
class LevelView:
    """A view whose cells are sums of cells of the view on its attributes.

    Attributes
    ----------
    domain
        The domain of the attributes.
    view
        The attributes, without levels.
    levels
        The level of each attribute; None for the attribute itself.
    """

    domain: Domain
    view: View
    levels: tuple[str | None, ...]

    @property
    def names(self) -> View:
        """The names of the axes, such as ("place@state", "sex")."""
        return with_levels(self.view, self.levels)

    @cached_property
    def groups(self) -> tuple[Integers | None, ...]:
        """For each attribute the node of each of its codes, shape (categories,), in ascending
        order; None for the attribute itself."""
        found: list[Integers | None] = []
        for name, level in zip(self.view, self.levels, strict=True):
            tree = self.domain[name].levels
            if tree is None or level is None:
                found.append(None)
            else:
                found.append(tree.groups[tree.index(level)])
        return tuple(found)

    @cached_property
    def rolled(self) -> Domain:
        """The domain of the names: at a level an attribute has its nodes as categories.

        It keeps the number of rows, and the rules that name none but the attributes without level.
        """
        whole = self.domain.restrict(self.view, checked=True)
        forms: dict[str, Attribute] = {}
        for name, attribute, level in zip(self.names, whole.values(), self.levels, strict=True):
            forms[name] = attribute if level is None else attribute.at_level(level)
        rules = [rule for rule in whole.impossible if rule.keys() <= forms.keys()]
        return Domain(forms, impossible=rules, rows=whole.rows)

    def rolled_up(self, table: Floats) -> Floats:
        """Sum the cells of a table on `view` to the cells of this view."""
        for axis, group in enumerate(self.groups):
            if group is not None:
                table = group_sums(table, group, axis)
        return table


def level_view(domain: Domain, names: Iterable[str]) -> LevelView:
    """Check the names of a view, in which "place@state" is a level of attribute "place".

    Raises
    ------
    DomainError
        When there is no name, or an attribute or a level is unknown, or an attribute occurs twice.

    Examples
    --------
    >>> paths = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]]
    >>> domain = Domain({"place": {"levels": {"names": ["state", "county"], "paths": paths}}})
    >>> view = level_view(domain, ["place@state"])
    >>> view.view, view.rolled_up(np.array([3.0, 4.0, 5.0])).tolist()
    (('place',), [7.0, 5.0])
    """
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Iterable):
        names = domain.view(names)
    pairs = [split_level(domain, name) for name in names]
    view = tuple(name for name, _ in pairs)
    levels = tuple(level for _, level in pairs)
    if any(levels) and len(set(view)) < len(view):
        repeated = next(name for name in view if view.count(name) > 1)
        raise DomainError(
            f"a view must name each attribute once, but attribute {repeated!r} occurs more than "
            "once; name it at its lowest level, which determines the levels above"
        )
    return LevelView(domain, domain.view(view), levels)


def split_level(domain: Domain, name: str) -> tuple[str, str | None]:
    """The attribute that a name stands for, and its level; None for the attribute itself.

    Raises
    ------
    DomainError
        When the name stands for neither an attribute nor a level. An attribute without level is
        not checked.
    """
    if not isinstance(name, str) or name in domain or LEVEL_MARK not in name:
        return name, None
    attribute, _, level = name.rpartition(LEVEL_MARK)
    try:
        domain[attribute].level_index(level)
    except DomainError as error:
        problem = str(error)
        if attribute in domain:
            problem = f"attribute {attribute!r}: {problem}"
    else:
        return attribute, level
    raise DomainError(problem)


def with_levels(view: Sequence[str], levels: Sequence[str | None]) -> View:
    """The names of attributes at some levels, such as "place@state"."""
    pairs = zip(view, levels, strict=True)
    return tuple(name if level is None else f"{name}{LEVEL_MARK}{level}" for name, level in pairs)


def group_sums(
    table: Floats,
    group: Integers,
    axis: int,
) -> Floats:
    """Sum the entries of each group along an axis. `group` ascends and holds every number from 0
    to its last one."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sums: Floats = np.add.reduceat(table, starts, axis=axis)
    return sums
