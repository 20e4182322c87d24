"""`LevelView`: a view in which attributes may stand at one of their levels, as "place@state"."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Floats, Integers
from ..errors import DomainError
from .attribute import Attribute
from .domain import Domain, View
from .levels import LEVEL_MARK

__all__ = ["LevelView", "attribute_at", "level_view", "split_level", "with_levels"]


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
        if not any(self.levels):
            return whole
        forms: dict[str, Attribute] = {}
        for name, attribute, level in zip(self.names, whole.values(), self.levels, strict=True):
            forms[name] = attribute if level is None else attribute.at_level(level)
        rules = [rule for rule in whole.impossible if rule.keys() <= forms.keys()]
        return Domain(forms, impossible=rules, rows=whole.rows)

    def cells(self) -> Iterator[dict[str, tuple[int, ...]]]:
        """For each cell the codes of its attributes, in the order of the cells.

        An attribute all of whose codes belong to the cell is left out.
        """
        every = []
        for name, group in zip(self.view, self.groups, strict=True):
            codes = np.arange(self.domain[name].size)
            starts = codes if group is None else np.flatnonzero(np.diff(group, prepend=-1))
            every.append([tuple(own.tolist()) for own in np.split(codes, starts[1:])])
        order = sorted(
            range(len(self.view)), key=lambda axis: self.domain.position[self.view[axis]]
        )
        for cell in itertools.product(*every):
            yield {
                self.view[axis]: cell[axis]
                for axis in order
                if len(cell[axis]) < self.domain[self.view[axis]].size
            }

    def rolled_up(self, table: Floats) -> Floats:
        """Sum the cells of a table on `view` to the cells of this view."""
        for axis, group in enumerate(self.groups):
            if group is not None:
                # The leaves of a node are consecutive.
                starts = np.flatnonzero(np.diff(group, prepend=-1))
                table = np.asarray(np.add.reduceat(table, starts, axis=axis))
        return table

    def variance_of_sums(self, variance: Floats) -> Floats:
        """The variances of the sums of cells of a table on `view`, from those of the cells.

        They are NaN where a sum has several cells with errors, since these may be dependent.
        """
        several = self.rolled_up((variance != 0).astype(np.float64)) > 1
        return np.where(several, np.nan, self.rolled_up(variance))


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
    if name in domain.left_out:
        raise DomainError(domain.left_out[name])
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


def attribute_at(domain: Domain, name: str) -> Attribute:
    """The attribute of a name, or the one whose categories are the nodes of the named level.

    Raises
    ------
    DomainError
        When the name stands for neither.
    """
    attribute, level = split_level(domain, name)
    return domain[attribute] if level is None else domain[attribute].at_level(level)


def with_levels(view: Sequence[str], levels: Sequence[str | None]) -> View:
    """The names of attributes at some levels, such as "place@state"."""
    pairs = zip(view, levels, strict=True)
    return tuple(name if level is None else f"{name}{LEVEL_MARK}{level}" for name, level in pairs)
