"""`Recoding`: categories of a domain that are renamed or put together after a release."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Integers
from ..attribute import Attribute
from ..domain import Domain
from ..level_views import level_view, split_level
from ..rules import labelled
from .categories import recoded_attribute, sentences
from .changes import Changes, checked_changes
from .facts import determining, new_known, new_rules
from .grouped_view import GroupedView
from .left_out import levels_left_out

__all__ = ["Recoding"]


@dataclass(
    frozen=True,
    eq=False,
)
class Recoding:
    """Categories that get another name, or are put together as one, after the release.

    A category of the result is a set of declared categories. So its count is the sum of theirs,
    and nothing is read from the data: this is post-processing.

    Attributes
    ----------
    before, after
        The domain as it was released, and the one with the new categories.
    groups
        For each changed attribute the new code of each code, shape (categories,).
    changes
        For each attribute or level that is named, each new category with those that it stands for.
    """

    before: Domain
    after: Domain
    groups: Mapping[str, Integers]
    changes: Changes

    @classmethod
    def of(cls, domain: Domain, form: object) -> "Recoding":
        """Check the form of a change.

        Parameters
        ----------
        domain
            The domain as it was released.
        form
            A mapping from attributes to mappings from new categories to one category or a list of
            those that they stand for, as in ``{"place": {"Centre": ["North", "South"]}}``. Other
            categories stay. "place@state" names a level, whose nodes are renamed or put together.

        Raises
        ------
        DomainError
            When the form is another one, a category is not declared or named twice, or a new name
            is that of another category.

        Examples
        --------
        >>> domain = Domain({"place": ["North", "South", "West"]})
        >>> recoding = Recoding.of(domain, {"place": {"Centre": ["North", "West"]}})
        >>> recoding.after["place"].labels, recoding.groups["place"].tolist()
        (('Centre', 'South'), [0, 1, 0])
        """
        changes = checked_changes(domain, form)
        forms: dict[str, Attribute] = {}
        groups: dict[str, Integers] = {}
        for name, attribute in domain.items():
            own = {
                full: new for full, new in changes.items() if split_level(domain, full)[0] == name
            }
            if own:
                forms[name], groups[name] = recoded_attribute(name, attribute, own)
        attributes = {**domain, **forms}
        rules = new_rules(domain, attributes, groups)
        determined = {
            name: given
            for name, given in domain.determined.items()
            if not {name, determining(domain, given)} & groups.keys()
        }
        after = Domain(
            attributes,
            impossible=[labelled(attributes, rule) for rule in rules],
            rows=domain.rows,
            known=dict(new_known(domain, attributes, groups)),
            determined=determined or None,
        )
        after._left_out = levels_left_out(domain, after, groups)
        return cls(domain, after, groups, changes)

    def view(self, names: Iterable[str]) -> GroupedView:
        """The view of the released domain whose sums are a view of the new one. Names may be
        levels."""
        asked = level_view(self.after, names)
        groups: list[Integers | None] = []
        for name, node in zip(asked.view, asked.groups, strict=True):
            group = self.groups.get(name)
            groups.append(group if node is None else node if group is None else node[group])
        return GroupedView(self.before, asked.view, tuple(groups), asked.rolled)

    def codes(self, chosen: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        """The released codes of some new codes, by attribute."""
        found = {}
        for name, codes in chosen.items():
            group = self.groups.get(name)
            own = codes if group is None else np.flatnonzero(np.isin(group, codes)).tolist()
            found[name] = tuple(own)
        return found

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What was changed, in a sentence for each new category."""
        told = []
        for name, new in self.changes.items():
            told += [f"{name}: {sentence}." for sentence in sentences(new)]
        return tuple(told)
